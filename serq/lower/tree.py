"""Walking the syntax tree."""

from __future__ import annotations

from collections.abc import Iterator

from serq.syntax import ast


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


def targets(node: ast.Node) -> Iterator[ast.Ident]:
    """The names a statement assigns or binds."""
    match node:
        case ast.SetStmt(target=target) | ast.CostRecordStmt(target=target):
            yield target
        case ast.ChooseStmt(var=target):
            yield target
        case ast.HoldStmt(bindings=bindings) | ast.AdmissionStmt(bindings=bindings):
            yield from (binding.target for binding in bindings)


def bound_names(node: ast.Node) -> Iterator[ast.Ident]:
    """The names a node gives a meaning: what it assigns or binds, the index of an aggregate."""
    yield from targets(node)
    if isinstance(node, ast.Fold):
        yield node.var
