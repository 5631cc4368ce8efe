"""JSON text to plain values, strictly and to any depth.

Python's own reader does the work. It recurses, so it runs where there is stack enough; versions of
Python that bound its depth all the same get a reader that loops. Both keep what the interchange
format needs and plain ``dict`` loses: a field written twice (`Repeated`), the sign of ``-0``, and
numbers that no double holds.
"""

from __future__ import annotations

import json
import math
import re
from collections import Counter
from json.decoder import scanstring  # type: ignore[attr-defined]
from typing import Any

from ..deep import run_deep

MAX_DEPTH = 20_000
"""Arrays and objects inside one another: about 10 000 nested expressions."""


class JsonError(Exception):
    """The text is not JSON; ``offset`` is the character where reading stopped."""

    def __init__(self, message: str, offset: int, *, too_deep: bool = False) -> None:
        super().__init__(message)
        self.message = message
        self.offset = offset
        self.too_deep = too_deep


class Repeated(dict[str, Any]):
    """An object that names a field more than once; ``names`` are those fields."""

    names: frozenset[str] = frozenset()


class TooLarge:
    """A number that no double holds; `text` is its spelling."""

    __slots__ = ("text",)

    def __init__(self, text: str) -> None:
        self.text = text


def _object(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
    result = dict(pairs)
    if len(result) == len(pairs):
        return result
    times = Counter(name for name, _ in pairs)
    repeated = Repeated(result)
    repeated.names = frozenset(name for name, count in times.items() if count > 1)
    return repeated


def _integer(text: str) -> int | float | TooLarge:
    if text == "-0":
        return -0.0
    if len(text) > 300:  # beyond any index, and Python refuses to convert thousands of digits
        return _real(text)
    return int(text)


def _real(text: str) -> float | TooLarge:
    value = float(text)
    return TooLarge(text) if math.isinf(value) else value


def _constant(text: str) -> Any:
    raise JsonError(f"`{text}` is not JSON", -1)


_DECODER = json.JSONDecoder(
    object_pairs_hook=_object,
    parse_int=_integer,
    parse_float=_real,
    parse_constant=_constant,
)


def parse(text: str) -> Any:
    """The value of a JSON text; objects are dicts, numbers ``int``, ``float`` or `TooLarge`.

    Raises `JsonError` for anything that is not JSON: ``NaN``, a trailing comma, a byte order mark,
    text after the value. Nesting is not bounded here, except by what the stack holds.
    """
    try:
        return run_deep(lambda: _DECODER.decode(text))
    except json.JSONDecodeError as error:
        raise JsonError(error.msg.lower(), error.pos) from None
    except JsonError as error:
        found = re.search(r"-?Infinity|NaN", text)
        raise JsonError(error.message, found.start() if found else 0) from None
    except RecursionError:
        pass
    return parse_deep(text)


_TOKEN = re.compile(
    r'[ \t\n\r]*(?:(?P<open>[{\[])|(?P<close>[}\]])|(?P<comma>,)|(?P<colon>:)|(?P<quote>")'
    r"|(?P<real>-?(?:0|[1-9][0-9]*)(?:\.[0-9]+(?:[eE][-+]?[0-9]+)?|[eE][-+]?[0-9]+))"
    r"|(?P<integer>-?(?:0|[1-9][0-9]*))|(?P<word>true|false|null)|(?P<end>\Z))"
)
_WORDS = {"true": True, "false": False, "null": None}


class _Open:
    """An array or object whose end has not been read."""

    __slots__ = ("items", "key", "kind")

    def __init__(self, kind: str) -> None:
        self.kind = kind
        self.items: list[Any] = []
        self.key: str | None = None

    def add(self, value: Any) -> None:
        if self.kind == "{":
            self.items.append((self.key, value))
            self.key = None
        else:
            self.items.append(value)

    def close(self) -> Any:
        return _object(self.items) if self.kind == "{" else self.items


def parse_deep(text: str) -> Any:
    """The same as `parse`, by a loop, and not beyond `MAX_DEPTH`."""
    stack: list[_Open] = []
    at = 0
    want = "value"  # value, first (value or end), key, first-key, colon, next (comma or end)
    while True:
        token = _TOKEN.match(text, at)
        if token is None:
            skipped = len(text[at:]) - len(text[at:].lstrip(" \t\n\r"))
            raise JsonError("a value was expected", at + skipped)
        kind, start = token.lastgroup, token.start(token.lastgroup or 0)
        at = token.end()
        value: Any
        if kind == "open" and want in ("value", "first"):
            if len(stack) >= MAX_DEPTH:
                raise JsonError(f"nested more than {MAX_DEPTH} deep", start, too_deep=True)
            stack.append(_Open(text[start]))
            want = "first" if text[start] == "[" else "first-key"
            continue
        if kind == "close":
            pair = (stack[-1].kind if stack else "") + text[start]
            if pair not in ("{}", "[]") or want not in ("first", "first-key", "next"):
                raise JsonError(f"`{text[start]}` was not expected", start)
            value = stack.pop().close()
        elif kind == "quote":
            try:
                value, at = scanstring(text, at, True)
            except json.JSONDecodeError as error:
                raise JsonError(error.msg.lower(), error.pos) from None
            if want in ("key", "first-key"):
                stack[-1].key = value
                want = "colon"
                continue
        elif kind == "colon" and want == "colon":
            want = "value"
            continue
        elif kind == "comma" and want == "next":
            want = "value" if stack[-1].kind == "[" else "key"
            continue
        elif kind == "integer":
            value = _integer(text[start:at])
        elif kind == "real":
            value = _real(text[start:at])
        elif kind == "word":
            value = _WORDS[text[start:at]]
        else:
            raise JsonError(_expected(want), start)
        if kind != "close" and want not in ("value", "first"):
            raise JsonError(_expected(want), start)
        if stack:
            stack[-1].add(value)
            want = "next"
            continue
        rest = re.compile(r"[ \t\n\r]*").match(text, at)
        assert rest is not None
        if rest.end() != len(text):
            raise JsonError("extra data", rest.end())
        return value


def _expected(want: str) -> str:
    return {
        "key": "a field name in double quotes was expected",
        "first-key": "a field name in double quotes was expected",
        "colon": "`:` was expected",
        "next": "`,` or the end of the array or object was expected",
    }.get(want, "a value was expected")
