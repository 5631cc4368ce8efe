"""``def``: names for expressions and for statements, put in where they are used."""

from __future__ import annotations

from collections.abc import Iterator

from serq.lower.faults import Frame
from serq.lower.scope import Closure, Local, Scope, Substituted
from serq.lower.tables import Definition
from serq.syntax import ast


def bind(definition: Definition, call: ast.Call | ast.CallStmt, scope: Scope) -> Scope | None:
    """The scope of the body of ``definition`` used by ``call``; None if the arguments are not as
    many as the parameters. The pure part of `uses.enter`: nothing is checked or reported."""
    if len(call.args) != len(definition.params):
        return None
    names: dict[str, Local] = {
        param: Substituted(Closure(arg, scope), "parameter")
        for param, arg in zip(definition.params, call.args, strict=True)
    }
    return scope.enter(names, Frame(f"`{definition.name}` is used here", call.span))


def subtree(node: object) -> Iterator[ast.Node]:
    """Every node of a piece of the syntax tree, the piece first, in the order of the text."""
    stack: list[object] = [node]
    while stack:
        item = stack.pop()
        if isinstance(item, tuple):
            stack.extend(reversed(item))
        elif isinstance(item, ast.Node):
            yield item
            fields = [getattr(item, name) for name in _fields(type(item))]
            stack.extend(reversed(fields))


_FIELDS: dict[type, tuple[str, ...]] = {}


def _fields(kind: type) -> tuple[str, ...]:
    names = _FIELDS.get(kind)
    if names is None:
        names = tuple(n for n in kind.__dataclass_fields__ if n != "span")  # type: ignore[attr-defined]
        _FIELDS[kind] = names
    return names
