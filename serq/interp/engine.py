"""Engines: stages that run iterations over their residents, as an LLM server's scheduler does.

An iteration is planned when the engine is free (`serq.interp.iteration`: whom it serves, admits
and preempts), then lasts the time its cost gives; its tokens are applied when it ends.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING, Any

from serq.interp import ieee
from serq.interp.clock import integrate
from serq.interp.coast import coast
from serq.interp.counters import Counters
from serq.interp.faults import Fault, number
from serq.interp.iteration import plan_iteration
from serq.interp.pool import SLACK
from serq.interp.session import READY
from serq.interp.stage import Stage
from serq.interp.stats import Gaps, Welford
from serq.ir.nodes import Ctx

if TYPE_CHECKING:
    from serq.interp.coast import Plan
    from serq.interp.machine import Machine
    from serq.interp.pool import Pool
    from serq.interp.session import Alloc, Session


class EngineJob:
    """A resident: a prefill or decode run with ``left`` tokens to go.

    ``take`` is what the iteration being planned or run gives it, ``visited`` the number of the
    schedule statement that last considered it, ``stalled`` that it waits for room to grow,
    ``reach`` the position at which a growing run ends.
    """

    __slots__ = (
        "admission", "decoding", "growing", "left", "number", "reach", "served", "session", "stage",
        "stalled", "submitted", "take", "visited",
    )  # fmt: skip

    def __init__(
        self, stage: Engine, session: Session, decoding: float, left: float, alloc: Alloc | None,
        number: int, now: float,
    ) -> None:  # fmt: skip
        self.stage = stage
        self.session = session
        self.admission = session.admission
        self.decoding = decoding
        self.left = left
        self.growing = alloc
        self.reach = alloc.position + left if alloc is not None else 0.0
        self.number = number
        self.submitted = now
        self.take = 0.0
        self.served = False
        self.stalled = False
        self.visited = 0


class Batch:
    """A scheduled iteration, as its cost and the claims read it."""

    __slots__ = (
        "attention", "cost", "decodes", "demand", "kv_decode", "kv_prefill", "prefilled",
        "residents", "served", "start", "tokens",
    )  # fmt: skip

    def __init__(self) -> None:
        self.start = 0.0
        self.tokens = self.prefilled = self.decodes = self.residents = 0.0
        self.kv_decode = self.kv_prefill = self.attention = 0.0
        self.demand = self.served = self.cost = 0.0


class Engine(Stage):
    """A step stage; ``jobs`` are the residents in admission order, ``batch`` those it serves."""

    __slots__ = (
        "area_decode_only",
        "area_decodes",
        "area_mixed",
        "area_prefill_only",
        "attempt",
        "batch",
        "budget",
        "chunk",
        "claims",
        "coasted",
        "cost",
        "counters",
        "decode_batch",
        "decode_step",
        "entered",
        "exclusive",
        "gaps_seen",
        "granule",
        "idle",
        "iterations",
        "jobs",
        "last",
        "left",
        "limit",
        "memory",
        "needs",
        "next_job",
        "over",
        "plan",
        "plan_admitted",
        "plan_before",
        "plan_prefilled",
        "plan_tokens",
        "program",
        "queues",
        "reads",
        "registers",
        "running",
        "short",
        "since",
        "stopped",
        "total_served",
        "visit",
        "whole",
    )  # fmt: skip

    def __init__(self, machine: Machine, position: int, name: str, index: int | None) -> None:
        super().__init__(machine, position, name, index)
        self.jobs: list[EngineJob] = []
        self.batch: list[EngineJob] = []
        self.running = False
        self.budget: Callable[[Engine], float]
        self.chunk: Callable[[Engine], float]
        self.cost: Callable[[Batch], float]
        self.granule: float | None = None
        self.memory: Pool | None = None
        self.exclusive = False
        self.program: Sequence[Any] = ()
        self.registers: list[int] = []
        self.queues: list[Pool] = []
        self.claims: list[Any] = []
        self.reads: set[Ctx] = set()
        self.needs = (False, False, False, False)
        """What of a batch the cost and the claims read: see `measure`."""

        self.attempt: float | None = None
        self.left = self.whole = self.limit = 0.0
        self.visit = 0
        self.next_job = 0
        self.plan_tokens = self.plan_prefilled = self.plan_admitted = 0.0
        self.plan_before = 0
        self.entered: list[tuple[Session, float]] = []
        """Whom this iteration admitted, in order, with the prefix that each consumed."""

        self.stopped = self.over = self.short = False
        """The schedule's statement is over; the iteration's serving is; a granule left no room."""

        self.idle = False
        self.plan: Plan | None = None
        self.coasted = 0
        """Iterations that the fast path ran."""

        self.counters = Counters()
        self.last: Batch | None = None
        self.total_served = 0.0
        self.iterations = 0
        self.area_prefill_only = self.area_decode_only = self.area_mixed = 0.0
        self.area_decodes = self.since = 0.0
        self.decode_batch = Welford()
        self.decode_step = Welford()
        self.gaps_seen = Gaps()

    def measure(self, read: set[Ctx]) -> None:
        """An iteration's measures are taken for these readings, besides those known already."""
        self.reads |= read
        self.needs = (
            Ctx.KVB in self.reads,
            Ctx.KVP in self.reads,
            Ctx.ATTN in self.reads,
            Ctx.DEMAND in self.reads,
        )

    # --- statistics ---

    def catch_up(self) -> None:
        start, stop = self.at, len(self.gaps)
        if start == stop:
            return
        self.at = stop
        gaps = self.gaps
        if self.n:
            self.area_n = integrate(self.area_n, float(self.n), gaps, start, stop)
            self.area_busy = integrate(self.area_busy, 1.0, gaps, start, stop)

    def restart(self) -> None:
        super().restart()
        self.close_iteration()
        self.area_prefill_only = self.area_decode_only = self.area_mixed = 0.0
        self.area_decodes = 0.0

    def close_iteration(self) -> None:
        """Bring the integrals over iterations up to now; they are split at their ends only."""
        now = self.machine.now
        last = self.last
        if self.running and last is not None:
            passed = now - self.since
            self.area_decodes += last.decodes * passed
            if last.decodes:
                if last.prefilled:
                    self.area_mixed += passed
                else:
                    self.area_decode_only += passed
            elif last.tokens:
                self.area_prefill_only += passed
        self.since = now

    def gap(self, gap: float) -> None:
        """Time between two tokens of a turn, the second of which ended here."""
        if self.machine.now >= self.machine.warmup:
            self.gaps_seen.add(gap)

    def idle_with_work(self) -> bool:
        """Whether the run ended with residents or waiting heads that the last try left alone."""
        return (
            self.idle and not self.running and bool(self.jobs or any(p.queue for p in self.queues))
        )

    def busy(self) -> float:
        return float(len(self.batch)) if self.running else 0.0

    def work(self) -> float:
        total = -0.0
        for job in self.jobs:
            total += job.left
        return total

    # --- what expressions read ---

    @property
    def plan_preempted(self) -> float:
        """Preemptions of the iteration being planned."""
        return float(self.machine.memory.preempts - self.plan_before)

    def residents_decoding(self) -> float:
        """Residents in a decode run."""
        total = 0.0
        for job in self.jobs:
            total += job.decoding
        return total

    def residents_kv(self, decoding: bool) -> float:
        """Units of the engine's memory that the decoding (or prefilling) residents hold."""
        memory = self.memory
        total = 0.0
        if memory is not None:
            for job in self.jobs:
                if (job.decoding == 1.0) is decoding:
                    total += job.session.held_on(memory)
        return total

    def budget_left(self) -> float:
        """In an admission attempt what the iteration has left, else what the next would leave.

        The plan does not round to the granule, as the reference build's does not.
        """
        if self.attempt is not None:
            return self.attempt
        budget, limit = self.budget(self), self.chunk(self)
        planned = 0.0  # a sum of its own: what is left of fractional tokens depends on the order
        for job in self.jobs:
            if not budget - planned > 0.0:
                break
            planned += self._want(job, budget - planned, limit)
        return budget - planned

    # --- residents ---

    def enter(self, session: Session, decoding: float, work: float, alloc: Alloc | None) -> None:
        """A session's prefill or decode run of ``work`` > 0 tokens begins here."""
        self.catch_up()
        self.n += 1
        self.next_job += 1
        job = EngineJob(self, session, decoding, work, alloc, self.next_job, self.machine.now)
        session.job = job
        jobs = self.jobs
        i = len(jobs)
        while i and jobs[i - 1].admission > job.admission:
            i -= 1
        jobs.insert(i, job)

    def remove(self, job: EngineJob) -> None:
        self.catch_up()
        self.n -= 1
        self.jobs.remove(job)
        if job.served:
            self.batch.remove(job)
            job.served = False
            if self.running:  # what it was being given is taken for computed
                alloc = job.growing
                if alloc is not None:
                    alloc.position += job.take
                    alloc.moved = True
                    if alloc.hold is not None:
                        alloc.hold.moved = True
            else:
                self.left += job.take
                self.plan_tokens -= job.take
                if not job.decoding:
                    self.plan_prefilled -= job.take

    # --- an iteration ---

    def settle(self) -> bool:
        """Start an iteration if the engine is free and has something to look at."""
        if self.running:
            return False
        if not self.jobs:
            for pool in self.queues:
                if pool.queue:
                    break
            else:
                return False
        return self._start()

    def _want(self, job: EngineJob, left: float, limit: float) -> float:
        """What the job would take of ``left`` tokens if there were no granule."""
        if job.decoding:
            want = job.left if job.left < 1.0 else 1.0
            return want if want < left else left
        want = job.left
        if limit > 0.0 and limit < want:
            want = limit
        return left if left < want else want

    def tokens(self, job: EngineJob, left: float, limit: float) -> float:
        """What the job takes of ``left`` tokens."""
        want = self._want(job, left, limit)
        if self.granule is not None and not job.decoding and want < job.left:
            want = ieee.floor(ieee.div(want, self.granule)) * self.granule
        return want

    def _start(self) -> bool:
        machine = self.machine
        memory = machine.memory
        self.whole = self.left = self.budget(self)
        self.limit = self.chunk(self)
        self.plan_before = memory.preempts
        self.plan_tokens = self.plan_prefilled = self.plan_admitted = 0.0
        self.entered = []
        self.stopped = self.over = self.short = False
        self.batch = []
        registers = self.registers
        saved = [machine.registers[i] for i in registers] if registers else registers
        plan_iteration(self)
        preempted = memory.preempts != self.plan_before
        if self.batch or preempted:
            self.idle = False
            self._launch()
            return True
        if not self.plan_admitted:
            for i, value in zip(registers, saved, strict=True):
                machine.registers[i] = value
        self.idle = True
        return self.plan_admitted > 0.0

    def _launch(self) -> None:
        """The batch is complete: measure it, read its cost, schedule its end."""
        machine = self.machine
        self.catch_up()
        b = self.last = Batch()
        b.start = machine.now
        b.residents = float(len(self.jobs))
        b.served = self.total_served
        needs_kv_decode, needs_kv_prefill, needs_attention, needs_demand = self.needs
        memory = self.memory
        tokens = prefilled = decodes = 0.0
        for job in self.batch:
            take = job.take
            tokens += take
            alloc = job.growing
            if job.decoding:
                decodes += 1.0
                if needs_kv_decode and memory is not None:
                    b.kv_decode += job.session.held_on(memory)
            else:
                prefilled += take
                if needs_kv_prefill and memory is not None:
                    b.kv_prefill += job.session.held_on(memory)
                if needs_attention:
                    before = alloc.position if alloc is not None else 0.0
                    b.attention += take * (before + take / 2.0)
        b.tokens, b.prefilled, b.decodes = tokens, prefilled, decodes
        if needs_demand:
            for job in self.jobs:
                if job.decoding:
                    b.demand += min(1.0, job.left)
                else:
                    b.demand += min(job.left, self.limit) if self.limit > 0.0 else job.left
        cost = self.cost(b)
        if not cost > 0.0:
            if self.batch:
                raise Fault(
                    "cost-not-positive",
                    f"an iteration of engine `{self.name}` with {number(tokens)} tokens takes "
                    f"{number(cost)}",
                    "`execute` is positive for an iteration that schedules tokens",
                )
            cost = 0.0
        b.cost = cost
        self.iterations += 1
        self.total_served += tokens
        if decodes and machine.now >= machine.warmup:
            self.decode_batch.add(decodes)
            self.decode_step.add(cost)
        for claim in self.claims:
            claim.check(b)
        if machine.recorder is not None:
            machine.recorder.iteration(self, b)
        self.since = machine.now
        self.running = True
        machine.push(machine.now + cost, self._end, None)

    def _end(self, _: None) -> None:
        """The iteration ends: its tokens are applied, finished runs leave."""
        machine = self.machine
        now = machine.now
        self.catch_up()
        self.close_iteration()
        self.running = False
        client = machine.client
        counted = now >= machine.warmup
        done = False
        for job in self.batch:
            take = job.take
            job.left -= take
            job.served = False
            alloc = job.growing
            if alloc is not None:
                alloc.position += take
                alloc.moved = True
                if alloc.hold is not None:
                    alloc.hold.moved = True
            if job.decoding:
                turn = job.session.client
                if turn is None:
                    pass
                elif turn.first is None or turn.last is None:
                    client.token(job.session, self, now)
                else:  # the same, for most tokens
                    turn.after += 1.0
                    if counted:
                        self.gaps_seen.add(now - turn.last)
                    turn.last = now
                    turn.decoded = True
                    turn.stage = self
                    turn.interrupted = False
            if not job.left > SLACK:  # what rounding has left of fractional tokens is no work
                done = True
                if not job.decoding:
                    client.prefilled(job.session, self, now)
        batch, self.batch = self.batch, []
        if not done:
            last = self.last
            if self.plan is not None and last is not None:
                count = len(batch)
                if count and count == len(self.jobs) == last.decodes:
                    coast(self, batch)
        else:
            for job in batch:
                if job.left > SLACK:
                    continue
                alloc = job.growing
                if alloc is not None:  # not the sum of its chunks, which rounding may move
                    alloc.position = job.reach
                self.n -= 1
                session = job.session
                self.finished(job.submitted, job.submitted)
                session.job = None
                session.status = READY
                machine.ready.append(session)
            self.jobs = [job for job in self.jobs if job.left > SLACK]
