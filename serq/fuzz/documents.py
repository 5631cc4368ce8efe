"""Two JSON documents side by side: the first field that differs, by the numbers' spelling."""

from __future__ import annotations

import json
from typing import Any


def first_difference(
    ours: str, theirs: str, ignore: tuple[str, ...] = ("serq_version",)
) -> str | None:
    """The first field where two JSON documents differ, as text, or None.

    Numbers are compared as they are spelled, so that −0 differs from 0 and 1 from 1.0; fields are
    compared in order. ``ignore`` names fields of the outermost object that may differ. ``theirs``
    is called the reference's.
    """
    if ours == theirs:
        return None
    options: dict[str, Any] = {
        "parse_float": Spelled,
        "parse_int": Spelled,
        "object_pairs_hook": _Object,
    }
    a, b = json.loads(ours, **options), json.loads(theirs, **options)
    if isinstance(a, _Object) and isinstance(b, _Object):
        a = _Object((k, v) for k, v in a if k not in ignore)
        b = _Object((k, v) for k, v in b if k not in ignore)
    return _difference(a, b, "")


class Spelled(str):
    """A number by its spelling."""


class _Object(list[Any]):
    """An object as its (name, value) pairs."""


def _label(value: Any, index: int) -> str:
    name = dict(value).get("name") if isinstance(value, _Object) else None
    return f"[{index}]" if name is None else f"[{index}: {name}]"


def _difference(a: Any, b: Any, path: str) -> str | None:
    if isinstance(a, _Object) and isinstance(b, _Object):
        for (key, x), (other, y) in zip(a, b, strict=False):
            if key != other:
                return f"{path}: field {key!r} where the reference has {other!r}"
            found = _difference(x, y, f"{path}.{key}" if path else key)
            if found is not None:
                return found
        if len(a) != len(b):
            more = (a if len(a) > len(b) else b)[min(len(a), len(b))][0]
            who = "we have" if len(a) > len(b) else "the reference has"
            return f"{path}: {who} a field {more!r} more"
        return None
    if type(a) is type(b) is list:
        for i, (x, y) in enumerate(zip(a, b, strict=False)):
            found = _difference(x, y, path + _label(x, i))
            if found is not None:
                return found
        if len(a) != len(b):
            return f"{path}: {len(a)} elements, the reference has {len(b)}"
        return None
    if type(a) is type(b) and a == b:
        return None
    return f"{path}: {_show(a)}, the reference has {_show(b)}"


def _show(value: Any) -> str:
    if isinstance(value, Spelled):
        return str(value)
    if isinstance(value, _Object):
        return "{" + ", ".join(name for name, _ in value) + "}"
    text = json.dumps(value, ensure_ascii=False)
    return text if len(text) <= 80 else text[:77] + "…"
