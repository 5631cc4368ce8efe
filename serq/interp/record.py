"""The step trace: what every engine's iterations did, one after the other.

A run tells its recorder of each iteration as it is scheduled and of each preemption as it happens.
`IterationRecorder` is the one that the comparisons with vLLM and with Lean read; any other object
with the two methods of `Recorder` will do. A recorder reads the run and changes nothing in it;
with one, every iteration runs one by one.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Protocol

if TYPE_CHECKING:
    from serq.interp.engine import Batch, Engine
    from serq.interp.machine import Machine
    from serq.interp.session import Session

Key = tuple[int, int]
"""A request: its session and turn, both from 0."""


class Recorder(Protocol):
    """What `serq.interp.run` takes as ``record``."""

    def iteration(self, engine: Engine, batch: Batch) -> None:
        """An iteration was scheduled and starts now, at ``batch.start``.

        It lasts ``batch.cost``. ``engine.batch`` are the residents it serves in serving order,
        each with the tokens it takes; ``engine.entered`` whom it admitted, each with the prefix
        consumed; the pools stand as they do while it runs.
        """

    def preemption(self, machine: Machine, victim: Session) -> None:
        """A session lost its hold, and is about to join its queue again."""


@dataclass(slots=True)
class Iteration:
    """One iteration: its start, what it served in order, and the units held as it starts.

    ``tokens`` and ``admitted`` have a request and its tokens, or units of prefix, each;
    ``preempted`` are the preemptions since the iteration before, whoever caused them; ``used``
    has the allocated units of every pool.
    """

    start: float
    tokens: list[tuple[Key, float]]
    admitted: list[tuple[Key, float]]
    preempted: list[Key]
    used: list[float]


@dataclass
class IterationRecorder:
    """A recorder that keeps the iterations of all engines, in the order they started."""

    iterations: list[Iteration] = field(default_factory=list)
    _preempted: list[Key] = field(default_factory=list)

    def preemption(self, machine: Machine, victim: Session) -> None:
        """Keep the preemption for the iteration that starts next."""
        self._preempted.append(request(machine, victim))

    def iteration(self, engine: Engine, batch: Batch) -> None:
        """Keep the iteration."""
        machine = engine.machine
        self.iterations.append(
            Iteration(
                start=batch.start,
                tokens=[(request(machine, job.session), job.take) for job in engine.batch],
                admitted=[(request(machine, one), cached) for one, cached in engine.entered],
                preempted=self._preempted,
                used=[pool.used for pool in machine.pools],
            )
        )
        self._preempted = []


def request(machine: Machine, session: Session) -> Key:
    """The session's current turn."""
    return session.serial, int(session.attrs[machine.program.slot_turn]) - 1
