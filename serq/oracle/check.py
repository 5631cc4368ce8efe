"""Run a scenario on every side and say whether they agree."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field
from enum import StrEnum

from serq.diagnostics import SerqError
from serq.oracle.answer import Answer
from serq.oracle.compare import Difference, first_difference
from serq.oracle.preconditions import Precondition, broken_before
from serq.oracle.scenario import Scenario

Side = Callable[[Scenario], Answer]


class Verdict(StrEnum):
    """``outside``: they differ after a named precondition was broken, which is no fault."""

    EQUAL = "equal"
    DIFFERS = "differs"
    OUTSIDE = "outside"
    ERROR = "error"


@dataclass(frozen=True)
class Outcome:
    """One scenario's comparison of the program (``ours``) with ``theirs``."""

    scenario: Scenario
    verdict: Verdict
    ours: Answer | None = None
    theirs: Answer | None = None
    difference: Difference | None = None
    precondition: Precondition | None = None
    error: SerqError | None = None
    lean: str | None = field(default=None)

    @property
    def failed(self) -> bool:
        return self.verdict in (Verdict.DIFFERS, Verdict.ERROR)


def compare(scenario: Scenario, program: Side, scheduler: Side) -> Outcome:
    """Both sides' answers to the scenario, compared step by step.

    A fault of the program (it stops at run time) is an outcome; one of the scheduler's side, a
    missing record or driver, is raised.
    """
    theirs = scheduler(scenario)
    try:
        ours = program(scenario)
    except SerqError as fault:
        return Outcome(scenario, Verdict.ERROR, None, theirs, error=fault)
    found = first_difference(ours, theirs)
    if found is None:
        return Outcome(scenario, Verdict.EQUAL, ours, theirs)
    broken = broken_before(scenario, theirs, found)
    verdict = Verdict.OUTSIDE if broken else Verdict.DIFFERS
    return Outcome(scenario, verdict, ours, theirs, found, broken)
