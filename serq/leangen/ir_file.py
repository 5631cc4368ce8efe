"""``lean/Serq/IR.lean``: the fragment's part of ``serq/ir/nodes.py`` as inductive types."""

from __future__ import annotations

import dataclasses
from enum import StrEnum
from pathlib import Path
from typing import Any

from serq.ir import nodes as ir
from serq.ir.nodes import BinaryOp, Ctx, Fun, Mode, UnaryOp
from serq.leangen.lean_text import render

QUERIES = (
    Fun.QUEUE,
    Fun.BUSY,
    Fun.WORK,
    Fun.USED,
    Fun.FREE,
    Fun.CACHED_IN,
    Fun.HOLDERS,
    Fun.QUEUED,
    Fun.BUDGET_LEFT,
)
ARITHMETIC = (Fun.MIN, Fun.MAX, Fun.FLOOR, Fun.CEIL)
OPERATORS = tuple(o for o in BinaryOp if o not in (BinaryOp.DIV, BinaryOp.POW))

EXPRESSIONS = (ir.Num, ir.Attr, ir.CtxVar, ir.Unary, ir.Binary, ir.Cond)
STATEMENTS = (
    ir.Turn,
    ir.Set,
    ir.Observe,
    ir.Hold,
    ir.Drop,
    ir.Release,
    ir.Run,
    ir.Branch,
    ir.Loop,
    ir.While,
    ir.Choose,
)

_RESERVED = {"then": "thn"}
"""Words of Lean that are fields in ``nodes``."""

_LEFT_OUT = {"lease", "also"}
"""Fields that say what the fragment does not have."""

_BLOCKS = {"body", "then", "orelse"}
"""Fields of statements that number a block: in Lean the block itself."""

_TYPES = {
    "int": "Nat",
    "float": "Nat",
    "Expr": "Expr",
    "Expr | None": "Option Expr",
    "Ref": "Ref",
    "Ref | None": "Option Ref",
    "tuple[Expr, ...]": "List Expr",
    "tuple[HoldPool, ...]": "List HoldPool",
    "Mode": "Mode",
    "Ctx": "Ctx",
    "UnaryOp": "UnaryOp",
    "BinaryOp": "BinaryOp",
}


def constructor(node: type[Any], width: int = 100) -> str:
    """A node class as a constructor: its fields, and for a statement the rest of its block."""
    statement = node in STATEMENTS
    pairs = []
    for field in dataclasses.fields(node):
        if field.name in _LEFT_OUT:
            continue
        block = statement and field.name in _BLOCKS
        kind = "Block" if block else _TYPES[str(field.type)]
        pairs.append((_RESERVED.get(field.name, field.name), kind))
    if statement and node is not ir.Loop:
        pairs.append(("k", "Block"))
    text = f"  | {node.__name__}"
    lines = []
    for part in _grouped(pairs):
        if len(text) + 1 + len(part) > width:
            lines.append(text)
            text = "     "
        text += f" {part}"
    return "\n".join([*lines, text])


def _grouped(pairs: list[tuple[str, str]]) -> list[str]:
    """Neighbouring fields of one type stand in one pair of parentheses."""
    groups: list[tuple[list[str], str]] = []
    for name, kind in pairs:
        if groups and groups[-1][1] == kind:
            groups[-1][0].append(name)
        else:
            groups.append(([name], kind))
    return [f"({' '.join(names)} : {kind})" for names, kind in groups]


def _rows(members: tuple[StrEnum, ...], breaks: tuple[StrEnum, ...] = ()) -> list[str]:
    """Enumeration members as lines of alternatives; a line ends before each of ``breaks``."""
    lines: list[list[str]] = [[]]
    for member in members:
        if member in breaks:
            lines.append([])
        lines[-1].append(member.value)
    return [" | ".join(line) for line in lines]


def text() -> str:
    """The file."""
    return render(
        "IR.lean.j2",
        context=_rows(tuple(Ctx), (Ctx.NTOK, Ctx.DECODING, Ctx.ADMITTED)),
        functions=_rows((*ARITHMETIC, *QUERIES), (Fun.QUEUE,)),
        unary=_rows(tuple(UnaryOp)),
        binary=_rows(OPERATORS),
        modes=_rows(tuple(Mode)),
        expressions={c.__name__: constructor(c) for c in EXPRESSIONS},
        statements=[constructor(c) for c in STATEMENTS],
    )


PATH = Path("lean", "Serq", "IR.lean")
