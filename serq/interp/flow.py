"""Flows: runs that hold several stages at once and share them by the program's policy.

Every stage array that some run holds together with another is shared for the whole run: each job
on it, a single-stage run included, is a flow with one rate at all its stages. The flows of all
shared stages are one system: one completion event stands for it.
"""

from __future__ import annotations

from heapq import heappush
from math import inf
from typing import TYPE_CHECKING, Any

from serq.interp import ieee
from serq.interp.clock import integrate
from serq.interp.stage import Stage
from serq.ir.nodes import Share

if TYPE_CHECKING:
    from serq.interp.machine import Machine
    from serq.interp.session import Session


class SharedStage(Stage):
    """A stage of the flow system: ``capacity`` is its φ, ``carried`` what its flows use of it."""

    __slots__ = ("capacity", "carried", "system")

    def __init__(
        self, machine: Machine, position: int, name: str, index: int | None, capacity: float,
        system: FlowSystem,
    ) -> None:  # fmt: skip
        super().__init__(machine, position, name, index)
        self.capacity = capacity
        self.system = system
        self.carried = 0.0
        system.stages.append(self)

    def catch_up(self) -> None:
        start, stop = self.at, len(self.gaps)
        if start == stop:
            return
        self.at = stop
        if self.n:
            share = self.carried / self.capacity
            self.area_n = integrate(self.area_n, float(self.n), self.gaps, start, stop)
            self.area_busy = integrate(self.area_busy, share, self.gaps, start, stop)

    def submit(self, session: Session, work: float) -> None:
        self.system.submit(session, (self,), work)

    def busy(self) -> float:
        return float(self.n)

    def work(self) -> float:
        total = -0.0
        system = self.system
        passed = self.machine.now - system.since
        for flow in system.flows:
            if self in flow.stages:
                total += max(0.0, flow.left - passed * flow.rate)
        return total

    def remove(self, job: Any) -> None:
        self.system.remove(job)


class Flow:
    """A job on one or more shared stages."""

    __slots__ = ("gone", "left", "rate", "session", "stage", "stages", "submitted")

    def __init__(
        self, session: Session, stages: tuple[SharedStage, ...], work: float, now: float
    ) -> None:
        self.session = session
        self.stages = stages
        self.stage = stages[0]
        self.left = work
        self.rate = 0.0
        self.submitted = now
        self.gone = False


class FlowSystem:
    """All flows of a run, in the order they started."""

    def __init__(self, machine: Machine, share: Share) -> None:
        self.machine = machine
        self.share = share
        self.stages: list[SharedStage] = []
        self.flows: list[Flow] = []
        self.since = 0.0
        self.version = 0
        self.changed = False
        self.first: Flow | None = None
        self.position = len(machine.program.stages)
        machine.flows = self

    def _advance(self) -> None:
        passed = self.machine.now - self.since
        self.since = self.machine.now
        for flow in self.flows:
            flow.left -= passed * flow.rate

    def _touch(self) -> None:
        if not self.changed:
            self.changed = True
            self.machine.touched.append(self)

    def submit(self, session: Session, stages: tuple[SharedStage, ...], work: float) -> None:
        """A session's job starts at these stages."""
        self._advance()
        for stage in stages:
            stage.catch_up()
            stage.n += 1
        flow = session.job = Flow(session, stages, work, self.machine.now)
        self.flows.append(flow)
        self._touch()

    def _leave(self, flow: Flow) -> None:
        self.flows.remove(flow)
        for stage in flow.stages:
            stage.catch_up()
            stage.n -= 1
        self._touch()

    def remove(self, flow: Flow) -> None:
        """A preempted job leaves unfinished."""
        self._advance()
        self._leave(flow)

    def settle(self) -> bool:
        """Sets the rates after a change of the flows and schedules the next end."""
        if not self.changed:
            return False
        self.changed = False
        self.version += 1
        machine = self.machine
        self._advance()
        if self.share is Share.MAX_MIN:
            self._max_min()
        else:
            self._bottleneck()
        for stage in self.stages:
            stage.catch_up()
            stage.carried = 0.0
        for flow in self.flows:
            for stage in flow.stages:
                stage.carried += flow.rate
        due, first = inf, None
        for flow in self.flows:
            ends = machine.now + ieee.div(max(0.0, flow.left), flow.rate)
            if ends < due:
                due, first = ends, flow
        self.first = first
        if first is not None:
            machine.sequence = number = machine.sequence + 1
            heappush(machine.heap, (due, number, self._complete, self.version))
        return False

    def _max_min(self) -> None:
        """Progressive filling: the stage with the least share per flow fixes its flows' rates."""
        left = {stage: stage.capacity for stage in self.stages}
        count = {stage: 0 for stage in self.stages}
        for flow in self.flows:
            for stage in flow.stages:
                count[stage] += 1
        open_flows = list(self.flows)
        while open_flows:
            tightest, share = None, inf
            for stage in self.stages:
                if count[stage] and (tightest is None or left[stage] / count[stage] < share):
                    tightest, share = stage, left[stage] / count[stage]
            rest = []
            for flow in open_flows:
                if tightest in flow.stages:
                    flow.rate = share
                    for stage in flow.stages:
                        left[stage] -= share
                        count[stage] -= 1
                else:
                    rest.append(flow)
            open_flows = rest

    def _bottleneck(self) -> None:
        """Each flow gets its equal share at the tightest of its stages."""
        for flow in self.flows:
            flow.rate = min(stage.capacity / stage.n for stage in flow.stages)

    def _complete(self, version: int) -> None:
        if version != self.version:
            return
        machine = self.machine
        self._advance()
        flow = self.first
        assert flow is not None
        self._leave(flow)
        for stage in flow.stages:
            stage.finished(flow.submitted, flow.submitted)
        session = flow.session
        session.job = None
        session.status = 0
        machine.ready.append(session)
