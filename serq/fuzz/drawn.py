"""Cases of a strategy as a list, the same for the same seed."""

from __future__ import annotations

import contextlib
import warnings
from random import Random
from typing import Any, TypeVar

from hypothesis import HealthCheck, Phase, Verbosity, given, settings
from hypothesis import seed as start_from
from hypothesis.errors import HypothesisWarning
from hypothesis.strategies import SearchStrategy

from serq.fuzz.choices import Choices
from serq.fuzz.target import Target

T = TypeVar("T")

CHUNK = 50
"""Cases drawn from one seed; the next chunk has the next seed."""


class _Enough(BaseException):
    """Ends a chunk from inside; Hypothesis lets what is no Exception through."""


def drawn(cases: SearchStrategy[T], seed: int, count: int) -> list[T]:
    """``count`` cases; they depend on the seed alone."""
    out: list[T] = []
    chunk = 0
    while len(out) < count:

        @start_from(seed * 1_000_003 + chunk)
        @settings(
            max_examples=CHUNK,  # always: Hypothesis draws otherwise where it may draw less
            database=None,
            deadline=None,
            suppress_health_check=list(HealthCheck),
            phases=[Phase.generate],
            verbosity=Verbosity.quiet,
        )
        @given(cases)
        def one(case: T) -> None:
            if len(out) == count:
                raise _Enough
            out.append(case)

        with warnings.catch_warnings():
            warnings.simplefilter("ignore", HypothesisWarning)
            with contextlib.suppress(_Enough):
                one()
        chunk += 1
    return out


def of_target(target: Target, seed: int, count: int) -> list[Any]:
    """The first ``count`` cases that a search of the target with this seed looks at."""
    draw = target.draw
    if draw is None:
        return drawn(target.cases(), seed, count)
    return [draw(Choices(Random(f"{seed} {number}"))) for number in range(count)]
