"""Runs of random programs: one whose time hardly moves is given up, not waited for."""

from __future__ import annotations

from typing import Any

from serq import interp
from serq.interp.clock import LOG
from serq.interp.report import Report
from serq.ir import nodes as ir

MOST_EVENTS = 200_000
"""Events of one run, in round figures; a random program has a few thousand at most, unless two of
its sessions preempt one another every nanosecond."""


class TooLong(Exception):
    """The run has more events than `MOST_EVENTS`."""


def run(program: ir.Program, **options: Any) -> Report:
    """As `serq.interp.run`. Raises `TooLong`."""
    left = MOST_EVENTS // LOG

    def count(now: float, arrived: int) -> None:
        nonlocal left
        left -= 1
        if left < 0:
            raise TooLong(f"{MOST_EVENTS:,} events, and the time is {now}")

    return interp.run(program, progress=count, **options)
