"""Run a scenario on every side and say whether they agree."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
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
    lean: Third | None = None

    @property
    def failed(self) -> bool:
        lean = self.lean is not None and self.lean.failed
        return lean or self.verdict in (Verdict.DIFFERS, Verdict.ERROR)


@dataclass(frozen=True)
class Third:
    """What the Lean semantics does: ``words`` for the table; ``failed`` if it is another thing."""

    words: str
    failed: bool = False


def third(outcome: Outcome, lean: Answer | str) -> Third:
    """Lean's answer, or why there is none, beside an outcome.

    Lean must do what the program does; where that is what vLLM does, it is equal to both.
    """
    if isinstance(lean, str):
        return Third(lean)
    if outcome.theirs is not None and first_difference(lean, outcome.theirs) is None:
        return Third("equal")
    if outcome.ours is None:
        return Third("another run than vLLM's", failed=True)
    found = first_difference(lean, outcome.ours)
    if found is None:
        return Third("as the program")
    return Third(f"differs, {found.sentence()}", failed=True)


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
