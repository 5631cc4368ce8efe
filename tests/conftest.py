"""Seeds that are new in every run of the tests, printed at its end."""

from __future__ import annotations

import os
import random
from collections.abc import Callable
from typing import Any

import pytest


@pytest.fixture
def fresh_seed(record_property: Callable[[str, object], None]) -> Callable[[str], int]:
    """A function that gives a seed for the search of this name.

    The summary of the run names it. The environment variable SERQ_FUZZ_SEED takes its place, so
    that a run can be made again.
    """

    def seed(name: str) -> int:
        given = os.environ.get("SERQ_FUZZ_SEED")
        chosen = int(given) if given else random.SystemRandom().randrange(1 << 32)
        record_property("fresh seed", f"{name} {chosen}")
        return chosen

    return seed


def pytest_terminal_summary(terminalreporter: Any) -> None:
    """One line for each fresh seed, whether its test passed or failed."""
    seeds = [
        str(value)
        for reports in terminalreporter.stats.values()
        for report in reports
        for name, value in getattr(report, "user_properties", ())
        if name == "fresh seed" and report.when == "call"
    ]
    if seeds:
        terminalreporter.write_line("fresh seeds (again with SERQ_FUZZ_SEED): " + ", ".join(seeds))
