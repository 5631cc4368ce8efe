"""What the JSON of a dataclass looks like, said once and used in both directions.

A schema *opens* a JSON value into its children and a function that builds the node from them, and
*writes* a node as text with its children in their places. Both are driven by loops with their own
stacks, so the depth of a program is not limited by Python's.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Protocol

from .jsontext import MAX_DEPTH, Repeated, TooLarge


class BadValue(Exception):
    """A JSON value that does not fit its schema; ``step`` leads from the value to the culprit."""

    def __init__(self, code: str, message: str, step: str = "", path: str = "") -> None:
        super().__init__(message)
        self.code = code
        self.message = message
        self.step = step
        self.path = path


@dataclass(frozen=True, slots=True)
class Child:
    schema: Schema
    value: Any
    step: str


@dataclass(frozen=True, slots=True)
class Opened:
    """Children to decode, and what makes the node of the decoded ones."""

    children: list[Child]
    build: Callable[[list[Any]], Any]


class Schema(Protocol):
    def open(self, value: Any) -> Any:
        """The decoded leaf, or an `Opened`; raises `BadValue`."""

    def write(self, node: Any, indent: str) -> list[str | Piece]:
        """The text of ``node``, its children as pieces."""


Piece = tuple[Schema, Any, str]


def decode(schema: Schema, value: Any) -> Any:
    """The node of a JSON value. Raises `BadValue` with the path from the root."""
    stack: list[tuple[Opened, list[Any]]] = [(Opened([Child(schema, value, "")], _first), [])]
    while True:
        opened, done = stack[-1]
        if len(done) == len(opened.children):
            result = opened.build(done)
            stack.pop()
            if not stack:
                return result
            stack[-1][1].append(result)
            continue
        child = opened.children[len(done)]
        try:
            inner = child.schema.open(child.value)
        except BadValue as bad:
            path = "".join(o.children[len(d)].step for o, d in stack) + bad.step
            raise BadValue(bad.code, bad.message, path=path.removeprefix(".")) from None
        if isinstance(inner, Opened):
            stack.append((inner, []))
            if len(stack) > MAX_DEPTH:
                path = "".join(o.children[len(d)].step for o, d in stack[:8])
                message = f"what is here is nested more than {MAX_DEPTH} deep"
                raise BadValue("ir-too-deep", message, path=path.removeprefix("."))
        else:
            done.append(inner)


def encode(schema: Schema, node: Any) -> str:
    """The JSON text of a node, indented by two spaces a level."""
    out: list[str] = []
    stack: list[str | Piece] = [(schema, node, "")]
    while stack:
        item = stack.pop()
        if isinstance(item, str):
            out.append(item)
        else:
            inner, value, indent = item
            stack.extend(reversed(inner.write(value, indent)))
    return "".join(out)


def _first(values: list[Any]) -> Any:
    return values[0]


def kind_of(value: Any) -> str:
    """What a JSON value is, in words for a message."""
    if value is None:
        return "null"
    if isinstance(value, bool):
        return "true" if value else "false"
    if isinstance(value, TooLarge):
        return "a number too large for a double"
    if isinstance(value, (int, float)):
        return f"the number {value!r}" if isinstance(value, float) else f"the number {value:.20g}"
    if isinstance(value, str):
        return f'the string "{value if len(value) <= 40 else value[:37] + "..."}"'
    return "an array" if isinstance(value, list) else "an object"


def _article(noun: str) -> str:
    return f"{'an' if noun[0] in 'aeiou' else 'a'} {noun}"


def expected(what: str, value: Any) -> BadValue:
    return BadValue("ir-type", f"{what} is expected here, not {kind_of(value)}")


@dataclass(frozen=True, slots=True)
class Leaf:
    """A value without children: ``read`` checks it, ``show`` is its text."""

    read: Callable[[Any], Any]
    show: Callable[[Any], str]

    def open(self, value: Any) -> Any:
        return self.read(value)

    def write(self, node: Any, indent: str) -> list[str | Piece]:
        return [self.show(node)]


@dataclass(frozen=True, slots=True)
class Nullable:
    inner: Schema

    def open(self, value: Any) -> Any:
        return None if value is None else self.inner.open(value)

    def write(self, node: Any, indent: str) -> list[str | Piece]:
        return ["null"] if node is None else self.inner.write(node, indent)


def _array(items: Sequence[tuple[Schema, Any]], indent: str) -> list[str | Piece]:
    if not items:
        return ["[]"]
    inner = indent + "  "
    out: list[str | Piece] = []
    for i, (schema, value) in enumerate(items):
        out.append(("[\n" if i == 0 else ",\n") + inner)
        out.append((schema, value, inner))
    out.append("\n" + indent + "]")
    return out


@dataclass(frozen=True, slots=True)
class Many:
    """A JSON array of any length; a tuple."""

    item: Schema

    def open(self, value: Any) -> Any:
        if not isinstance(value, list):
            raise expected("an array", value)
        return Opened([Child(self.item, v, f"[{i}]") for i, v in enumerate(value)], tuple)

    def write(self, node: Any, indent: str) -> list[str | Piece]:
        return _array([(self.item, v) for v in node], indent)


@dataclass(frozen=True, slots=True)
class Fixed:
    """A JSON array of fixed length: the arguments of ``make``; ``take`` gives them back."""

    items: tuple[Schema, ...]
    make: Callable[..., Any]
    take: Callable[[Any], Sequence[Any]]

    def open(self, value: Any) -> Any:
        n = len(self.items)
        if not isinstance(value, list):
            raise expected(f"an array of {n} values", value)
        if len(value) != n:
            raise BadValue("ir-type", f"an array of {n} values is expected, not of {len(value)}")
        children = [
            Child(s, v, f"[{i}]") for i, (s, v) in enumerate(zip(self.items, value, strict=True))
        ]
        return Opened(children, lambda done: self.make(*done))

    def write(self, node: Any, indent: str) -> list[str | Piece]:
        return _array(list(zip(self.items, self.take(node), strict=True)), indent)


def attributes(*names: str) -> Callable[[Any], Sequence[Any]]:
    """A ``take`` that reads the named attributes of a node."""
    return lambda node: [getattr(node, name) for name in names]


@dataclass(frozen=True, slots=True)
class Field:
    """A field of an object: mandatory, or optional with a ``default``.

    ``omit``: not printed when the value is the default. ``null`` on input means absence only
    where the schema is `Nullable`.
    """

    name: str
    schema: Schema
    default: Any = ...
    omit: bool = False


@dataclass(frozen=True, slots=True)
class Struct:
    """A JSON object; fields it does not know are ignored, known ones may be written once."""

    make: Callable[..., Any]
    fields: tuple[Field, ...]
    what: str

    def open(self, value: Any) -> Any:
        if not isinstance(value, dict):
            raise expected(f"{self.what} (an object)", value)
        if isinstance(value, Repeated):
            for field in self.fields:
                if field.name in value.names:
                    message = f"`{field.name}` is given more than once"
                    raise BadValue("ir-duplicate-field", message, "." + field.name)
        children: list[Child] = []
        names: list[str] = []
        for field in self.fields:
            if field.name in value:
                names.append(field.name)
                children.append(Child(field.schema, value[field.name], "." + field.name))
            elif field.default is ...:
                raise BadValue("ir-missing-field", f"{self.what} lacks its field `{field.name}`")
        absent = {f.name: f.default for f in self.fields if f.name not in value}
        return Opened(
            children, lambda done: self.make(**absent, **dict(zip(names, done, strict=True)))
        )

    def write(self, node: Any, indent: str) -> list[str | Piece]:
        inner = indent + "  "
        out: list[str | Piece] = []
        for field in self.fields:
            value = getattr(node, field.name)
            if field.omit and value == field.default:
                continue
            lead = ",\n" if out else "{\n"
            out.append(f"{lead}{inner}{json.dumps(field.name)}: ")
            out.append((field.schema, value, inner))
        return [*out, "\n" + indent + "}"] if out else ["{}"]


@dataclass(frozen=True, slots=True)
class Unit:
    """A variant without a payload: its name as a string."""

    make: Callable[[], Any]


@dataclass(frozen=True, slots=True)
class Newtype:
    """A variant with one value: ``{"Num": 3.0}``; ``take`` gives the value of the node."""

    inner: Schema
    make: Callable[[Any], Any]
    take: Callable[[Any], Any]


Variant = Unit | Newtype


class Enum:
    """One of several variants, tagged by name; ``variants`` may be filled in after creation."""

    __slots__ = ("_tag", "_variants", "what")

    def __init__(self, what: str) -> None:
        self.what = what
        self._variants: Mapping[str, Variant] = {}
        self._tag: Callable[[Any], str] = str

    def define(self, variants: Mapping[str, Variant], tag: Callable[[Any], str]) -> Enum:
        """Fill in the variants; ``tag`` names the variant of a node."""
        self._variants = variants
        self._tag = tag
        return self

    def _unknown(self, name: str) -> BadValue:
        known = ", ".join(f"`{v}`" for v in self._variants)
        name = name if len(name) <= 40 else name[:37] + "..."
        return BadValue("ir-variant", f"`{name}` is no {self.what}; there are {known}")

    def open(self, value: Any) -> Any:
        if isinstance(value, str):
            variant = self._variants.get(value)
            if variant is None:
                raise self._unknown(value)
            if isinstance(variant, Newtype):
                raise BadValue("ir-type", f"`{value}` lacks its value")
            return variant.make()
        if not isinstance(value, dict):
            raise expected(_article(self.what), value)
        if len(value) != 1 or isinstance(value, Repeated):
            raise BadValue(
                "ir-type", f"{_article(self.what)} is an object with one field, its kind"
            )
        [(name, payload)] = value.items()
        variant = self._variants.get(name)
        if variant is None:
            raise self._unknown(name)
        if isinstance(variant, Unit):
            if payload is not None:
                message = f"`{name}` takes no value, found {kind_of(payload)}"
                raise BadValue("ir-type", message, "." + name)
            return variant.make()
        make = variant.make
        return Opened([Child(variant.inner, payload, "." + name)], lambda done: make(done[0]))

    def write(self, node: Any, indent: str) -> list[str | Piece]:
        name = self._tag(node)
        variant = self._variants[name]
        if isinstance(variant, Unit):
            return [json.dumps(name)]
        inner = indent + "  "
        head = f"{{\n{inner}{json.dumps(name)}: "
        return [head, (variant.inner, variant.take(node), inner), "\n" + indent + "}"]
