"""The random programs that the pictures are tried with: drawn once, the same in every run."""

from __future__ import annotations

from functools import cache
from typing import Any

from hypothesis import HealthCheck, Phase, given, seed, settings

from serq.diagnostics import Source
from serq.fuzz.programs import programs
from serq.fuzz.stations import station_programs
from serq.link import Linked, compile_text

STRATEGIES = {"programs": programs, "stations": station_programs}
COUNT = 100


@cache
def random_programs(kind: str) -> list[tuple[str, Linked]]:
    """A hundred programs of a kind, with their text."""
    found: list[tuple[str, Linked]] = []

    @seed(20)
    @settings(
        max_examples=COUNT,
        deadline=None,
        database=None,
        phases=[Phase.generate],
        suppress_health_check=list(HealthCheck),
    )
    @given(STRATEGIES[kind]())
    def draw_one(case: Any) -> None:
        source = Source("<program>", case.text)
        found.append((case.text, compile_text(source, settings=case.settings())))

    draw_one()
    assert len(found) == COUNT
    return found
