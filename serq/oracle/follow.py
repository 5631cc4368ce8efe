"""Follow an interpreted run at its engine: the iterations as the scheduler's steps."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any

Key = tuple[int, int]
"""A request: its session and turn, both from 0."""


@dataclass(slots=True)
class Iteration:
    """One iteration: its start, what it served in order, and the units held as it starts."""

    start: float
    tokens: list[tuple[Key, float]]
    admitted: list[tuple[Key, float]]
    preempted: list[Key]
    used: list[float]


@dataclass
class Follower:
    """A recorder for `serq.interp.run`: it keeps the iterations of the program's engine."""

    iterations: list[Iteration] = field(default_factory=list)
    _preempted: list[Key] = field(default_factory=list)

    def preemption(self, machine: Any, victim: Any) -> None:
        """Called by the interpreter when a session is preempted."""
        self._preempted.append(_key(machine, victim))

    def iteration(self, engine: Any, _batch: Any) -> None:
        """Called by the interpreter when an iteration has been scheduled."""
        machine = engine.machine
        self.iterations.append(
            Iteration(
                start=machine.now,
                tokens=[(_key(machine, job.session), job.take) for job in engine.batch],
                admitted=[(_key(machine, one), cached) for one, cached in engine.entered],
                preempted=self._preempted,
                used=[pool.used for pool in machine.pools],
            )
        )
        self._preempted = []


def _key(machine: Any, session: Any) -> Key:
    return session.serial, int(session.attrs[machine.program.slot_turn]) - 1
