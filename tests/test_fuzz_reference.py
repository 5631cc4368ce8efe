"""Random programs here and in the reference build: one IR, one report, and much of it reached."""

from __future__ import annotations

from collections import Counter

import peer
import pytest

from serq.fuzz.reach import watching
from serq.fuzz.search import search
from serq.fuzz.targets import TARGETS

PROGRAMS = 100
REQUIRED = (
    "admission wait", "partial prefill", "growth", "preemption", "requeue head", "re-admission",
    "eviction", "stale rate", "fifo", "delay", "ps", "iteration",
)  # fmt: skip
"""Situations (`serq.fuzz.reach.REACHES`) that so few programs must reach."""


@peer.needs_peer
@pytest.mark.slow
def test_random_programs_compile_and_run_as_in_the_reference_build() -> None:
    """IR byte for byte and report in every field, over programs that reach what is required."""
    reached: Counter[str] = Counter()
    with watching(reached):
        outcome = search(TARGETS["reference"], seed=20260, cases=PROGRAMS, shrink_seconds=10)
    assert not outcome.found, [found.difference for found in outcome.found]
    assert outcome.labels["equal"] >= 0.85 * PROGRAMS, outcome.labels
    missed = sorted(name for name in REQUIRED if not reached[name])
    assert not missed, f"not reached: {', '.join(missed)}"
