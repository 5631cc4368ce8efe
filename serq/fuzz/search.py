"""The search: random cases for a target until time or number is up, each fault shrunk once."""

from __future__ import annotations

import contextlib
import time
import warnings
from collections import Counter
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from random import Random
from typing import Any

from hypothesis import HealthCheck, Phase, Verbosity, given, settings
from hypothesis import seed as start_from
from hypothesis.errors import Flaky, HypothesisWarning

from serq.fuzz.choices import Choices, shrink
from serq.fuzz.target import Target
from serq.fuzz.verdict import Difference, Disagreement

CHUNK = 50
"""Cases drawn from one seed; the next chunk has the next seed."""

SHRINK_SECONDS = 60.0
"""Time that shrinking one case may take."""


@dataclass(frozen=True)
class Found:
    """A case whose sides differ, shrunk; ``seed`` and ``number`` say where the search met it."""

    case: Any
    difference: Difference
    seed: int
    number: int


@dataclass
class Outcome:
    """What a search did."""

    target: str
    seed: int
    cases: int = 0
    seconds: float = 0.0
    labels: Counter[str] = field(default_factory=Counter)
    found: list[Found] = field(default_factory=list)

    @property
    def rate(self) -> float:
        """Cases per second."""
        return self.cases / self.seconds if self.seconds else 0.0


class _Enough(BaseException):
    """Ends a chunk from inside; Hypothesis lets what is no Exception through."""


Watcher = Callable[[Outcome], None]


def search(
    target: Target,
    *,
    seed: int,
    seconds: float | None = None,
    cases: int | None = None,
    most_found: int = 10,
    watch: Watcher | None = None,
    shrink_seconds: float | None = None,
) -> Outcome:
    """Search for differences for so many seconds, or over so many cases, whatever ends first.

    Faults of one kind are told once. ``watch`` is called after every case, ``shrink_seconds``
    (`SHRINK_SECONDS` by default) are for each shrinking. The cases depend on
    the seed alone.
    """
    outcome = Outcome(target.name, seed)
    shrink_seconds = SHRINK_SECONDS if shrink_seconds is None else shrink_seconds
    started = time.monotonic()
    deadline = None if seconds is None else started + seconds
    chunk = 0
    seen: set[str] = set()
    while (cases is None or outcome.cases < cases) and len(outcome.found) < most_found:
        if deadline is not None and time.monotonic() >= deadline:
            break
        left = CHUNK if cases is None else min(CHUNK, cases - outcome.cases)
        run = _Chunk(target, outcome, seen, deadline, shrink_seconds, watch, started)
        if target.draw is not None:
            run.independent(target.draw, seed, outcome.cases)
        else:
            run.go(seed * 1_000_003 + chunk, left)
        chunk += 1
    outcome.seconds = time.monotonic() - started
    return outcome


class _Chunk:
    """Cases of one seed: generation, and shrinking when one differs in a way not seen before."""

    def __init__(
        self,
        target: Target,
        outcome: Outcome,
        seen: set[str],
        deadline: float | None,
        shrink_seconds: float,
        watch: Watcher | None,
        started: float,
    ) -> None:
        self.target = target
        self.outcome = outcome
        self.seen = seen
        self.deadline = deadline
        self.shrink_seconds = shrink_seconds
        self.watch = watch
        self.started = started
        self.kind: str | None = None
        self.best: tuple[int, Any, Difference] | None = None
        self.until = 0.0
        self.first = 0
        self.most = outcome.cases + CHUNK

    def go(self, seed: int, count: int) -> None:
        """Draw ``count`` cases and check them.

        A chunk is always the same size to Hypothesis, which draws otherwise where it may draw
        less; so a case can be met again by its number.
        """
        self.most = self.outcome.cases + count

        @start_from(seed)
        @settings(
            max_examples=CHUNK,
            database=None,
            deadline=None,
            suppress_health_check=list(HealthCheck),
            phases=[Phase.generate, Phase.shrink],
            report_multiple_bugs=False,
            print_blob=False,
            verbosity=Verbosity.quiet,
        )
        @given(self.target.cases())
        def one(case: Any) -> None:
            self.check(case)

        with warnings.catch_warnings():
            warnings.simplefilter("ignore", HypothesisWarning)
            with contextlib.suppress(_Enough, Disagreement, Flaky):
                one()
        self.keep()

    def independent(self, draw: Callable[[Choices], Any], seed: int, number: int) -> None:
        """Check the case of this number, whose choices depend on nothing but it and the seed."""

        def attempt(source: Random | Sequence[int]) -> list[int] | None:
            choices = Choices(source)
            case = draw(choices)
            try:
                self.check(case)
            except Disagreement:
                return choices.taken
            return None

        with contextlib.suppress(_Enough):
            taken = attempt(Random(f"{seed} {number}"))
            if taken is not None:
                shrink(taken, attempt)
        self.keep()

    def keep(self) -> None:
        """Put the smallest case that differs, if there is one, among those found."""
        if self.best is not None and self.kind is not None:
            _, case, difference = self.best
            self.seen.add(self.kind)
            self.outcome.found.append(Found(case, difference, self.outcome.seed, self.first))

    def check(self, case: Any) -> None:
        """Judge a case; one that differs is kept if it is the smallest of its kind so far."""
        now = time.monotonic()
        if self.kind is not None:
            if now >= self.until:
                raise _Enough
        elif self.outcome.cases >= self.most or (
            self.deadline is not None and now >= self.deadline
        ):
            raise _Enough
        verdict = self.target.judge(case)
        difference = verdict.difference
        if self.kind is None:
            self.outcome.cases += 1
            self.outcome.labels[verdict.label] += 1
            self.outcome.seconds = time.monotonic() - self.started
            if self.watch is not None:
                self.watch(self.outcome)
            if difference is None or difference.kind in self.seen:
                return
            self.kind = difference.kind
            self.first = self.outcome.cases
            self.until = time.monotonic() + self.shrink_seconds
        elif difference is None or difference.kind != self.kind:
            return
        size = sum(map(len, self.target.files(case).values()))
        if self.best is None or size <= self.best[0]:
            self.best = (size, case, difference)
        raise Disagreement(difference)
