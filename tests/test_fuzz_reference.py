"""Random programs here and in the reference build: one IR, one report, one list of samples."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable

import peer
import pytest

from serq.fuzz.reach import REACHES, watching
from serq.fuzz.search import Outcome, search
from serq.fuzz.targets import TARGETS
from serq.fuzz.targets import reference as target

FIXED, FRESH = 150, 150
"""Programs of a fixed seed, and of a seed that is new with every commit."""

RARE = {
    "stale completion", "batch shrank", "exclusive prefill", "left out", "spill", "rejection",
}  # fmt: skip
"""Situations that few programs get to; every other is met by several."""


def compare(seed: int, programs: int) -> tuple[Outcome, Counter[str]]:
    """The search, and in how many of the programs each situation was met."""
    met: Counter[str] = Counter()
    with watching(Counter()) as reached:

        def count(outcome: Outcome) -> None:
            met.update(name for name in REACHES if reached[name])
            reached.clear()

        outcome = search(
            TARGETS["reference"], seed=seed, cases=programs, shrink_seconds=20, watch=count
        )
    assert not outcome.found, "\n".join(
        f"seed {seed}, program {found.number}: {found.difference.where}\n"
        + found.case.file_text("")
        for found in outcome.found
    )
    return outcome, met


@peer.needs_peer
@pytest.mark.slow
def test_random_programs_compile_and_run_as_in_the_reference_build(
    fresh_seed: Callable[[str], int],
) -> None:
    """IR byte for byte, every field and every sample, over programs that reach every situation."""
    outcome, met = compare(20260, FIXED)
    more, met_too = compare(fresh_seed("reference"), FRESH)
    labels = outcome.labels + more.labels
    assert labels["equal"] >= 0.85 * (FIXED + FRESH), labels
    assert labels[target.VARIES] <= 0.03 * (FIXED + FRESH), labels
    met += met_too
    missed = sorted(n for n in REACHES if met[n] < (1 if n in RARE else 5))
    assert not missed, f"reached by too few programs: { ({n: met[n] for n in missed}) }"
