"""The rules of the language on the IR, the same for a program's text and for a document.

`validate` returns every independent issue: each module here is one group of rules, and each rule
speaks of what the program's text would call the thing.
"""

from __future__ import annotations

from ...deep import run_deep
from ..nodes import Program
from . import (
    amounts,
    assigned,
    calls,
    control,
    costs,
    engines,
    hidden,
    holds,
    lints,
    reads,
    settings,
    stages,
)
from .issues import Issue, Issues, Place
from .model import Model
from .structure import check_ranges, check_shape

__all__ = ["Issue", "Place", "validate"]


def validate(program: Program) -> list[Issue]:
    """Every broken rule of a program, in the order of the rules; none for a valid one.

    Never raises for what `serq.ir.codec.from_json` can read. A document that does not hang
    together (an index that names nothing, blocks that are no tree) is reported as that alone.
    """
    issues = Issues()
    run_deep(lambda: _check(program, issues))
    return issues.found


def _check(program: Program, issues: Issues) -> None:
    check_shape(program, issues)
    if issues:
        return
    model = Model(program, issues)
    check_ranges(model)
    if issues:
        return
    for rules in (
        settings,
        calls,
        reads,
        costs,
        assigned,
        control,
        holds,
        hidden,
        lints,
        amounts,
        stages,
        engines,
    ):
        rules.check(model)
