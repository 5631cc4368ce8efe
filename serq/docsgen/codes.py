"""Which diagnostic codes the source uses, found by reading it."""

from __future__ import annotations

import ast
import re
from collections.abc import Iterator
from pathlib import Path

PACKAGE = Path(__file__).parent.parent

EMITTERS = frozenset({
    "Diagnostic", "of", "Fault", "error", "warn", "fault", "refuse", "_refuse", "here", "add",
    "unknown", "_unknown", "BadValue", "NotConstant", "Issue", "issue",
})  # fmt: skip
"""The functions that take a diagnostic's code."""

_CODE = re.compile(r"[a-z]+(?:-[a-z]+)+")


def _modules() -> Iterator[tuple[Path, ast.Module]]:
    for path in sorted(PACKAGE.rglob("*.py")):
        if path.name != "diagnostic_codes.py" and path.parent != Path(__file__).parent:
            yield path, ast.parse(path.read_text(encoding="utf-8"))


def _callee(call: ast.Call) -> str:
    if isinstance(call.func, ast.Attribute):
        return call.func.attr
    return call.func.id if isinstance(call.func, ast.Name) else ""


def emitted() -> dict[str, str]:
    """Text that is given to an emitter and looks like a code → where (``module.py:line``)."""
    found: dict[str, str] = {}
    for path, tree in _modules():
        for node in ast.walk(tree):
            if not isinstance(node, ast.Call) or _callee(node) not in EMITTERS:
                continue
            given = [*node.args, *(word.value for word in node.keywords)]
            for value in given:
                for text in _texts(value):
                    if _CODE.fullmatch(text):
                        found.setdefault(text, f"{path.relative_to(PACKAGE)}:{node.lineno}")
    return found


def _texts(node: ast.expr) -> Iterator[str]:
    """The texts that an argument may be: itself, or the arms of a choice."""
    if isinstance(node, ast.Constant) and isinstance(node.value, str):
        yield node.value
    elif isinstance(node, ast.IfExp):
        yield from _texts(node.body)
        yield from _texts(node.orelse)


def mentioned(codes: frozenset[str]) -> set[str]:
    """Those of the codes that stand anywhere in the source as a text of their own."""
    return {
        node.value
        for _, tree in _modules()
        for node in ast.walk(tree)
        if isinstance(node, ast.Constant) and isinstance(node.value, str) and node.value in codes
    }
