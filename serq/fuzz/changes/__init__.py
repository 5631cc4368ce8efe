"""Changes of a program that change nothing, or exactly one thing, of what it does.

Each `Change` says what of the IR and of the report may differ; everything else must be the same.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, replace
from random import Random
from typing import Any

from serq.diagnostics import Source
from serq.fuzz.case import RandomProgram
from serq.fuzz.changes import names, scale, trees
from serq.ir import nodes as ir
from serq.syntax import ast
from serq.syntax.parser import parse
from serq.syntax.printer import to_text

Document = dict[str, Any]
"""``report`` and ``samples``, as read from JSON."""


@dataclass(frozen=True)
class Changed:
    """A changed program, and what it must give.

    ``program`` is its IR where the change is one of the IR, else ``case`` is its text. ``ir`` is
    the IR it must have, None where another one is right. ``expected`` makes the document it must
    give out of that of the program before; ``seen`` is applied to what it gives.
    """

    case: RandomProgram | None
    program: ir.Program | None
    ir: ir.Program | None
    expected: Callable[[Document], Document]
    seen: Callable[[Document], Document]


Make = Callable[[RandomProgram, ir.Program, Random], Changed]
"""Changes a program, given as text and as IR, by random choices."""


@dataclass(frozen=True)
class Change:
    """One way to change a program: ``may`` says in words what of IR and report may differ."""

    name: str
    may: str
    make: Make


def _same(document: Document) -> Document:
    return document


def _tree(
    edit: Callable[[ast.Module, Random], ast.Module],
    *,
    same_ir: bool,
    expected: Callable[[Document], Document] = _same,
    seen: Callable[[Document], Document] = _same,
) -> Make:
    def make(case: RandomProgram, program: ir.Program, choices: Random) -> Changed:
        text = to_text(edit(parse(Source("<program>", case.text)), choices))
        other = replace(case, text=text)
        return Changed(other, None, program if same_ir else None, expected, seen)

    return make


def _scaled(case: RandomProgram, program: ir.Program, choices: Random) -> Changed:
    factor = 2.0 ** choices.choice([-3, -1, 1, 2, 5])
    other = scale.scaled(program, factor)
    return Changed(None, other, None, lambda d: scale.expected(d, factor), _same)


def _renamed(case: RandomProgram, program: ir.Program, choices: Random) -> Changed:
    new = names.new_names(parse(Source("<program>", case.text)), choices)
    other = replace(case, text=names.renamed(case.text, new))
    expected = names.of_program(program, new)
    return Changed(other, None, expected, lambda d: names.expected(d, new), _same)


def _without(part: str) -> Callable[[Document], Document]:
    """Without a whole part of the report."""

    def drop(document: Document) -> Document:
        return {
            side: {name: value for name, value in document[side].items() if name != part}
            for side in ("report", "samples")
        }

    return drop


def _without_unused(document: Document) -> Document:
    """Without the rows of what a change added."""

    def rows(value: Any) -> Any:
        if isinstance(value, dict):
            return {name: row for name, row in value.items() if name != trees.UNUSED}
        if isinstance(value, list):
            return [row for row in value if row["name"] != trees.UNUSED]
        return value

    return {
        part: {name: rows(value) for name, value in document[part].items()}
        for part in ("report", "samples")
    }


def _rows_sorted(document: Document) -> Document:
    """With gauges and claims in one order."""
    report, samples = dict(document["report"]), dict(document["samples"])
    for part in (report, samples):
        part["gauges"] = dict(sorted(part["gauges"].items()))
    if "claims" in report:
        report["claims"] = sorted(report["claims"], key=lambda row: str(row["name"]))
    return {"report": report, "samples": samples}


def _unused(edit: Callable[[ast.Module, Random], ast.Module]) -> Make:
    return _tree(edit, same_ir=False, seen=_without_unused)


def _dropped(part: str, edit: Callable[[ast.Module, Random], ast.Module]) -> Make:
    """The program without the declarations of a part of the report."""
    rest = _without(part)
    return _tree(edit, same_ir=False, expected=rest, seen=rest)


CHANGES: dict[str, Change] = {
    change.name: change
    for change in (
        Change(
            "declarations reordered",
            "nothing: the IR is the same",
            _tree(trees.reordered, same_ir=True),
        ),
        Change(
            "a let split",
            "nothing: the IR is the same",
            _tree(trees.constants_split, same_ir=True),
        ),
        Change("names", "the names, in the IR and in the report", _renamed),
        Change(
            "gauges and claims reordered",
            "the order of their rows",
            _tree(trees.rows_reordered, same_ir=False, expected=_rows_sorted, seen=_rows_sorted),
        ),
        Change("an unused pool", "its row among the pools", _unused(trees.with_pool)),
        Change("an unused stage", "its row among the stages", _unused(trees.with_stage)),
        Change("a constant gauge", "its row among the gauges", _unused(trees.with_gauge)),
        Change(
            "an observation",
            "its row among the observations, and its samples",
            _unused(trees.with_observation),
        ),
        Change("an unread attribute", "nothing", _unused(trees.with_attribute)),
        Change(
            "no gauges",
            "the gauges and their change points",
            _dropped("gauges", trees.without_gauges),
        ),
        Change(
            "no claims",
            "the claims",
            _dropped("claims", trees.without_claims),
        ),
        Change(
            "the clock",
            "times are 2^k times what they were, a throughput 2^-k times; `itl_p50` and `itl_p99`,"
            " the middles of buckets 1 % wide, are so but for 2 %",
            _scaled,
        ),
    )
}
"""Every change by name, the one whose failure says most first."""
