"""Stages that serve work in time: fifo and processor sharing (a delay is ``ps(present)``).

A stage keeps its own statistics: the time integrals of the jobs present and of being busy, the
running means of waits and services, and the estimators behind ``est_*`` and ``price``.
"""

from __future__ import annotations

from collections import deque
from collections.abc import Callable
from heapq import heapify, heappop, heappush
from typing import TYPE_CHECKING, Any

from serq.interp import ieee
from serq.interp.clock import Timed, integrate
from serq.interp.session import READY
from serq.interp.stats import Tally

if TYPE_CHECKING:
    from serq.interp.machine import Machine
    from serq.interp.session import Session

_WEIGHT = 0.01
"""The weight of a new value in the estimators' exponential averages."""


class Estimate:
    """Measured rate, utilisation and wait of a stage, updated at each completion.

    Three exponential averages: of the gaps between successive jobs' starts (in order of
    completion, so a gap can be negative), of services, of waits.
    """

    __slots__ = ("_gap", "_last_start", "_service", "_wait")

    def __init__(self) -> None:
        self._gap: float | None = None
        self._service: float | None = None
        self._wait: float | None = None
        self._last_start: float | None = None

    def completed(self, submitted: float, started: float, ended: float) -> None:
        """Take in a completed job."""
        keep = 1.0 - _WEIGHT
        last = self._last_start
        self._last_start = started
        if last is not None:
            gap = started - last
            self._gap = gap if self._gap is None else keep * self._gap + _WEIGHT * gap
        x, w = ended - started, started - submitted
        self._service = x if self._service is None else keep * self._service + _WEIGHT * x
        self._wait = w if self._wait is None else keep * self._wait + _WEIGHT * w

    def rate(self) -> float:
        """Completions per clock unit."""
        return 1.0 / self._gap if self._gap is not None and self._gap > 0.0 else 0.0

    def rho(self) -> float:
        """Utilisation, at most 0.99."""
        return min(0.99, self.rate() * (self._service or 0.0))

    def wait(self) -> float:
        """The mean wait."""
        return self._wait or 0.0

    def price(self, hit: float, ds: float) -> float:
        """The delay that ``ds`` more service after ``hit`` costs this job and those behind it."""
        rate, rho = self.rate(), self.rho()
        miss = hit + ds
        idle = 1.0 - rho
        return (
            ds
            + ieee.div(rate * (miss * miss - hit * hit), 2.0 * idle)
            + ieee.div(rate * self.wait() * ds, idle)
        )


class Job:
    """Work of a session at a fifo or ps stage; ``gone`` once it was preempted."""

    __slots__ = ("ends", "gone", "session", "stage", "started", "submitted", "work")

    def __init__(self, stage: Any, session: Session, work: float, now: float) -> None:
        self.stage = stage
        self.session = session
        self.work = work
        self.submitted = now
        self.started = now
        self.ends = 0.0
        self.gone = False


class Stage(Timed):
    """What all kinds of stages have in common. ``n`` is the number of jobs present."""

    __slots__ = (
        "area_busy", "area_n", "completed", "estimate", "index", "machine", "n", "name",
        "position", "served", "service", "wait", "waited",
    )  # fmt: skip

    def __init__(self, machine: Machine, position: int, name: str, index: int | None) -> None:
        super().__init__(machine.gaps)
        self.machine = machine
        self.position = position
        self.name = name
        self.index = index
        self.n = 0
        self.area_n = 0.0
        self.area_busy = 0.0
        self.completed = 0
        self.wait = Tally()
        self.service = Tally()
        self.waited = self.wait.add
        self.served = self.service.add
        self.estimate = Estimate()

    def catch_up(self) -> None:
        start, stop = self.at, len(self.gaps)
        if start == stop:
            return
        self.at = stop
        n = self.n
        if n:
            if stop - start == 1:
                gap = self.gaps[start]
                self.area_n += n * gap
                self.area_busy += gap
            else:
                self.area_n = integrate(self.area_n, float(n), self.gaps, start, stop)
                self.area_busy = integrate(self.area_busy, 1.0, self.gaps, start, stop)

    def restart(self) -> None:
        self.area_n = self.area_busy = 0.0

    def finished(self, submitted: float, started: float) -> None:
        """Statistics of a job that ends now."""
        machine = self.machine
        now = machine.now
        if now >= machine.warmup:
            self.completed += 1
            # Names first: Python calls what a slot holds more slowly than what a name does.
            waited, served = self.waited, self.served
            waited(started - submitted)
            served(now - started)
        if machine.estimates:
            self.estimate.completed(submitted, started, now)

    def present(self) -> float:
        """Jobs here, waiting and in service."""
        return float(self.n)

    def busy(self) -> float:
        """Jobs in service."""
        raise NotImplementedError

    def work(self) -> float:
        """Unfinished work; −0 when there is none."""
        raise NotImplementedError

    def submit(self, session: Session, work: float) -> None:
        """A session's job of positive work starts here."""
        raise NotImplementedError

    def remove(self, job: Any) -> None:
        """A preempted job leaves unfinished."""
        raise NotImplementedError

    def settle(self) -> bool:
        """What the stage does once an instant's sessions have run; whether it woke any."""
        return False


class FifoStage(Stage):
    """``servers`` servers at rate 1, jobs in arrival order."""

    __slots__ = ("complete", "in_service", "line", "servers")

    def __init__(
        self, machine: Machine, position: int, name: str, index: int | None, servers: int
    ) -> None:
        super().__init__(machine, position, name, index)
        self.servers = servers
        self.in_service: list[Job] = []
        self.line: deque[Job] = deque()
        self.complete = self._complete  # bound once

    def submit(self, session: Session, work: float) -> None:
        self.catch_up()
        self.n += 1
        job = session.job = Job(self, session, work, self.machine.now)
        if len(self.in_service) < self.servers:
            self._start(job)
        else:
            self.line.append(job)

    def _start(self, job: Job) -> None:
        machine = self.machine
        job.started = now = machine.now
        job.ends = ends = now + job.work
        self.in_service.append(job)
        machine.sequence = number = machine.sequence + 1
        heappush(machine.heap, (ends, number, self.complete, job))

    def _complete(self, job: Job) -> None:
        if job.gone:
            return
        self.catch_up()
        self.n -= 1
        self.in_service.remove(job)
        self.finished(job.submitted, job.started)
        session = job.session
        session.job = None
        session.status = READY
        self.machine.ready.append(session)
        if self.line:
            self._start(self.line.popleft())

    def remove(self, job: Job) -> None:
        self.catch_up()
        self.n -= 1
        job.gone = True
        if job in self.in_service:
            self.in_service.remove(job)
            if self.line:
                self._start(self.line.popleft())
        else:
            self.line.remove(job)

    def busy(self) -> float:
        return float(len(self.in_service))

    def work(self) -> float:
        total = -0.0
        now = self.machine.now
        for job in self.in_service:
            total += max(0.0, job.work - (now - job.started))
        for job in self.line:
            total += job.work
        return total


class DelayStage(Stage):
    """Every job on its own at rate 1: it ends its work after it came, to the bit."""

    __slots__ = ("jobs",)

    def __init__(self, machine: Machine, position: int, name: str, index: int | None) -> None:
        super().__init__(machine, position, name, index)
        self.jobs: dict[Job, None] = {}

    def submit(self, session: Session, work: float) -> None:
        machine = self.machine
        self.catch_up()
        self.n += 1
        job = session.job = Job(self, session, work, machine.now)
        job.ends = ends = machine.now + work
        self.jobs[job] = None
        machine.sequence = number = machine.sequence + 1
        heappush(machine.heap, (ends, number, self._complete, job))

    def _complete(self, job: Job) -> None:
        if job.gone:
            return
        self.catch_up()
        self.n -= 1
        del self.jobs[job]
        self.finished(job.submitted, job.started)
        session = job.session
        session.job = None
        session.status = READY
        self.machine.ready.append(session)

    def remove(self, job: Job) -> None:
        self.catch_up()
        self.n -= 1
        job.gone = True
        del self.jobs[job]

    def busy(self) -> float:
        return float(self.n)

    def work(self) -> float:
        total = -0.0
        now = self.machine.now
        for job in self.jobs:
            total += max(0.0, job.work - (now - job.started))
        return total


class PsStage(Stage):
    """All jobs at once, each at ``capacity(n)/n``; one completion event for the next to end.

    The virtual time is the work that a job present from the start would have had done; a job
    ends when it reaches the job's tag, the virtual time it came at plus its work.
    """

    __slots__ = ("capacity", "changed", "due", "heap", "rate", "since", "version", "virtual")

    def __init__(
        self, machine: Machine, position: int, name: str, index: int | None,
        capacity: Callable[[float], float],
    ) -> None:  # fmt: skip
        super().__init__(machine, position, name, index)
        self.capacity = capacity
        self.heap: list[tuple[float, int, Job]] = []
        self.virtual = 0.0
        self.since = 0.0
        self.rate = 0.0
        self.version = 0
        self.changed = False
        self.due: tuple[float, int, Job]

    def _advance(self) -> None:
        now = self.machine.now
        self.virtual += (now - self.since) * self.rate
        self.since = now

    def _touch(self) -> None:
        if not self.changed:
            self.changed = True
            self.machine.touched.append(self)

    def submit(self, session: Session, work: float) -> None:
        machine = self.machine
        self.catch_up()
        self._advance()
        self.n += 1
        job = session.job = Job(self, session, work, machine.now)
        job.ends = self.virtual + work
        machine.sequence = number = machine.sequence + 1
        heappush(self.heap, (job.ends, number, job))
        self._touch()

    def settle(self) -> bool:
        """Re-rates the jobs after a change of their set and schedules the next completion."""
        if not self.changed:
            return False
        self.changed = False
        self.version += 1
        n = self.n
        if not n:
            self.rate = 0.0
            return False
        machine = self.machine
        self._advance()
        self.rate = rate = self.capacity(float(n)) / n
        if rate > 0.0:
            due = machine.now + max(0.0, self.heap[0][0] - self.virtual) / rate
            machine.sequence = number = machine.sequence + 1
            heappush(machine.heap, (due, number, self._complete, self.version))
            self.due = self.heap[0]
        return False

    def _complete(self, version: int) -> None:
        if version != self.version:
            return
        self.catch_up()
        self._advance()
        first = heappop(self.heap)
        if first is not self.due:  # a job that came since is rated with the next event
            self.heap[self.heap.index(self.due)] = first
            heapify(self.heap)
            first = self.due
        tag, _, job = first
        self.virtual = max(self.virtual, tag)
        self.n -= 1
        self.finished(job.submitted, job.started)
        session = job.session
        session.job = None
        session.status = READY
        self.machine.ready.append(session)
        self._touch()

    def remove(self, job: Job) -> None:
        self.catch_up()
        self._advance()
        self.n -= 1
        job.gone = True
        self.heap = [row for row in self.heap if row[2] is not job]
        self.heap.sort()
        self._touch()

    def busy(self) -> float:
        return float(self.n)

    def work(self) -> float:
        total = -0.0
        virtual = self.virtual + (self.machine.now - self.since) * self.rate
        for tag, _, _ in sorted(self.heap):
            total += max(0.0, tag - virtual)
        return total
