"""Going through a syntax tree without recursion, however deep it is."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import fields
from typing import Any

from serq.syntax import ast

_parts: dict[type[ast.Node], tuple[str, ...]] = {}


def parts_of(kind: type[ast.Node]) -> tuple[str, ...]:
    """The fields of a kind of node, without its span."""
    known = _parts.get(kind)
    if known is None:
        known = _parts[kind] = tuple(f.name for f in fields(kind) if f.name != "span")
    return known


def children(node: ast.Node) -> list[ast.Node]:
    """The nodes directly below a node, in the order of the text."""
    out: list[ast.Node] = []
    for name in parts_of(type(node)):
        value = getattr(node, name)
        if isinstance(value, ast.Node):
            out.append(value)
        elif isinstance(value, tuple):
            out += [v for v in value if isinstance(v, ast.Node)]
    return out


def walk(node: ast.Node) -> Iterator[ast.Node]:
    """A node and everything below it, in the order of the text."""
    stack = [node]
    while stack:
        node = stack.pop()
        yield node
        stack.extend(reversed(children(node)))


def tallest(node: ast.Node, limit: int) -> ast.Node | None:
    """The first node more than ``limit`` levels below ``node``, None when there is none."""
    stack = [(node, 0)]
    while stack:
        node, depth = stack.pop()
        if depth > limit:
            return node
        stack.extend((child, depth + 1) for child in reversed(children(node)))
    return None


def same_tree(one: Any, other: Any) -> bool:
    """Whether two trees are equal, as ``==`` says it, at any depth; spans do not count.

    NaN equals itself here: a number is compared by its spelling.
    """
    stack = [(one, other)]
    while stack:
        a, b = stack.pop()
        if isinstance(a, ast.Number) and isinstance(b, ast.Number):
            if a.text != b.text:
                return False
        elif isinstance(a, ast.Node):
            if type(a) is not type(b):
                return False
            stack.extend((getattr(a, name), getattr(b, name)) for name in parts_of(type(a)))
        elif isinstance(a, tuple):
            if not isinstance(b, tuple) or len(a) != len(b):
                return False
            stack.extend(zip(a, b, strict=True))
        elif a != b:
            return False
    return True
