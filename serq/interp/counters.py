"""What an engine counts for claims, from the start of the run."""

from __future__ import annotations


class Counters:
    """``preemptions`` of its requests; requests ``rejected`` at the queues that it admits; sessions
    ``stuck``, preempted again without getting further; units ``recomputed`` after preemptions."""

    __slots__ = ("preemptions", "recomputed", "rejected", "stuck")

    def __init__(self) -> None:
        self.preemptions = self.rejected = self.stuck = 0
        self.recomputed = 0.0
