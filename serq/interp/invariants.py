"""Debug mode: what must be true of a run after every event.

`watch` makes a machine check itself each time an instant has settled. A rule that does not hold
is a fault of the interpreter, never of the program: it raises `BrokenInvariant`, which names the
time and the pool, stage or session.

The rules: the clock does not go back and nothing is scheduled in the past; used + cached ≤ cap in
every pool, each equal to the sum of its parts; every allocation belongs to one hold or lease of a
session that is there, in whole blocks; queues and growers hold exactly the sessions that wait
there, in order; every live session is at one place (a queue, a stage, a growth, a join), and
those that left have ended; an iteration serves residents only, within its budget; a job a stage
counts is there, and servers are not idle beside waiting jobs; no head that fits is left waiting
where no engine admits.
"""

from __future__ import annotations

from math import isclose
from typing import TYPE_CHECKING, Any, NoReturn

from serq.interp.engine import Engine
from serq.interp.flow import SharedStage
from serq.interp.session import ENDED, GROWING, JOINING, QUEUED, Alloc, Session
from serq.interp.stage import DelayStage, FifoStage, PsStage

if TYPE_CHECKING:
    from serq.interp.machine import Machine
    from serq.interp.pool import Pool
    from serq.interp.stage import Stage

_ROUNDING = 1e-6
"""Units and tokens by which sums of doubles may differ from what they should be."""


class BrokenInvariant(AssertionError):
    """The interpreter has broken a rule of its own."""


def watch(machine: Machine) -> None:
    """Check the machine after every event from now on; it must not have started."""
    machine.watched = True
    settle = machine.settle
    checks = Checks(machine)

    def settle_and_check() -> None:
        settle()
        checks.check()

    machine.settle = settle_and_check  # type: ignore[method-assign]


class Checks:
    """The rules for one machine, with what it was at the last check."""

    def __init__(self, machine: Machine) -> None:
        self.machine = machine
        self.clock = machine.now
        self.before: set[Session] = set()
        self.arrived = 0
        self.checked = 0
        tiers = [pool.spill.to for pool in machine.program.pools if pool.spill is not None]
        # What is spilled into a tier may pass its capacity until room is made there next.
        self.tiers = {id(machine.pools[i]) for i in tiers}

    def check(self) -> None:
        """Raise `BrokenInvariant` for the first rule that does not hold now."""
        self.checked += 1
        self._clock()
        for pool in self.machine.pools:
            self._amounts(pool)
            self._cache(pool)
            self._queue(pool)
        self._allocations()
        self._sessions()
        for stage in self.machine.stages:
            self._stage(stage)
        if not self.machine.engines:
            for pool in self.machine.pools:
                self._no_head_fits(pool)

    def _fail(self, what: str) -> NoReturn:
        raise BrokenInvariant(f"at time {self.machine.now!r}: {what}")

    def _clock(self) -> None:
        machine = self.machine
        if machine.now < self.clock:
            self._fail(f"the clock was {self.clock!r} before")
        self.clock = machine.now
        if machine.heap and machine.heap[0][0] < machine.now:
            self._fail(f"an event is scheduled for {machine.heap[0][0]!r}")

    # --- pools ---

    def _amounts(self, pool: Pool) -> None:
        where = _name(pool)
        used = sum(alloc.units for alloc in pool.allocs)
        if not _same(used, pool.used):
            self._fail(f"{where} has used {pool.used!r}, its allocations have {used!r}")
        if used > pool.cap + _ROUNDING and used > _ROUNDING:
            self._fail(f"{where} has {used!r} allocated of {pool.cap!r}")
        full = pool.used + pool.cached
        if full > pool.cap + _ROUNDING and full > _ROUNDING and id(pool) not in self.tiers:
            self._fail(f"{where} has used + cached = {full!r} of {pool.cap!r}")
        counts: dict[Session, int] = {}
        for alloc in pool.allocs:
            counts[alloc.session] = counts.get(alloc.session, 0) + 1
            if alloc.units < 0.0 or not _whole(alloc.units, pool.block):
                self._fail(f"{where} has an allocation of {alloc.units!r} units")
            if alloc.pool is not pool:
                self._fail(f"{where} counts an allocation of another pool")
        if counts != pool.holders:
            self._fail(f"{where} counts {len(pool.holders)} holders, there are {len(counts)}")

    def _cache(self, pool: Pool) -> None:
        where = _name(pool)
        cached = 0.0
        last = -1
        for number, entry in pool.entries.items():
            cached += entry.size
            if entry.number != number or number <= last:
                self._fail(f"{where} has cache entries out of the order of their release")
            last = number
            if not entry.size > 0.0:
                self._fail(f"{where} has a cache entry of {entry.size!r} units")
            if pool.mine.get(entry.owner) is not entry:
                self._fail(f"{where} has an entry its owner does not know")
            if entry.live and entry.owner is not entry.session:
                self._fail(f"{where} has a live entry that its session does not own")
        if not _same(cached, pool.cached):
            self._fail(f"{where} has cached {pool.cached!r}, its entries have {cached!r}")
        for owner, entry in pool.mine.items():
            if entry.owner is not owner or pool.entries.get(entry.number) is not entry:
                self._fail(f"{where} gives an owner an entry that is gone")
            if isinstance(owner, Session) and not entry.live:
                self._fail(f"{where} gives a session a dead entry")

    def _queue(self, pool: Pool) -> None:
        where = _name(pool)
        newcomers = False
        joined = 0.0
        for s in pool.queue:
            if s.status != QUEUED or s.waiting is None or s not in self.machine.everyone:
                self._fail(f"{_who(s)} is in the queue of {where} and does not wait")
            if s.front:
                if newcomers:
                    self._fail(f"{_who(s)}, preempted, is behind a newcomer at {where}")
                continue
            newcomers = True
            if s.joined < joined:
                self._fail(f"{_who(s)} is behind one that joined the queue of {where} later")
            joined = s.joined
        for s in pool.growers:
            if s.status != GROWING or s.growing is None or s.growing[0] is not pool:
                self._fail(f"{_who(s)} is a grower of {where} and does not wait for it")
            if s.growing[1] not in pool.allocs:
                self._fail(f"{_who(s)} grows an allocation that {where} does not have")

    def _no_head_fits(self, pool: Pool) -> None:
        if not pool.queue:
            return
        memory = self.machine.memory
        head = memory.selected(pool)
        if memory.fits(memory.demand(head, pool)):
            self._fail(f"{_who(head)} waits at {_name(pool)} for what fits")

    # --- sessions ---

    def _allocations(self) -> None:
        """Every allocation is one of a hold or of a lease, and the other way round."""
        owned: dict[Alloc, Session] = {}
        for s in self.machine.everyone:
            for hold in s.holds:
                for alloc in hold.allocs:
                    if alloc.session is not s or alloc in owned:
                        self._fail(f"{_who(s)} has a hold on what is not its own")
                    owned[alloc] = s
            for lease in s.leases:
                if lease.over or lease.alloc in owned:
                    self._fail(f"{_who(s)} has a lease that is over, or in a hold as well")
                if lease.until < self.machine.now:
                    self._fail(f"{_who(s)} has a lease that expired at {lease.until!r}")
                owned[lease.alloc] = s
        for pool in self.machine.pools:
            for alloc in pool.allocs:
                if owned.pop(alloc, None) is None:
                    self._fail(f"{_name(pool)} has an allocation nobody holds or leases")
        for alloc, s in owned.items():
            self._fail(f"{_who(s)} holds units that {_name(alloc.pool)} does not count")

    def _sessions(self) -> None:
        machine = self.machine
        everyone = machine.everyone
        if machine.ready and not machine.engines:  # an iteration's start may leave some ready
            self._fail(f"{_who(machine.ready[0])} is ready after the instant settled")
        for s in self.before:
            if s not in everyone and s.status != ENDED:
                self._fail(f"{_who(s)} is lost")
        left = sum(1 for s in self.before if s.parent is None and s not in everyone)
        new = machine.arrived - self.arrived
        live = [s for s in everyone if s.parent is None]
        known = sum(1 for s in live if s in self.before)
        if len(live) != machine.live or len(live) - known > new:
            self._fail(f"{machine.live} sessions are live, {len(live)} are there")
        if known + left != sum(1 for s in self.before if s.parent is None):
            self._fail("a session is lost")
        places: dict[Session, int] = {}
        for s in machine.ready:
            places[s] = places.get(s, 0) + 1
        for pool in machine.pools:
            for s in pool.queue:
                places[s] = places.get(s, 0) + 1
            for s in pool.growers:
                if s.job is None:
                    places[s] = places.get(s, 0) + 1
        legs: dict[Session, int] = {}
        for s in everyone:
            if s.parent is not None:
                legs[s.parent] = legs.get(s.parent, 0) + 1
        for s in everyone:
            here = places.get(s, 0) + (s.job is not None) + (s.status == JOINING)
            if here != 1:
                self._fail(f"{_who(s)} is at {here} places (status {s.status})")
            if s.job is not None and s.job.session is not s:
                self._fail(f"{_who(s)} waits for the job of {_who(s.job.session)}")
            if legs.get(s, 0) != s.legs or (s.status == JOINING and not s.legs):
                self._fail(f"{_who(s)} counts {s.legs} legs, {legs.get(s, 0)} are there")
        self.before = set(everyone)
        self.arrived = machine.arrived

    # --- stages ---

    def _stage(self, stage: Stage) -> None:
        jobs: list[Any]
        if isinstance(stage, FifoStage):
            jobs = [*stage.in_service, *stage.line]
            if len(stage.in_service) > stage.servers:
                self._fail(f"stage {stage.name} serves more jobs than it has servers")
            if stage.line and len(stage.in_service) < stage.servers:
                self._fail(f"stage {stage.name} has a free server and a waiting job")
        elif isinstance(stage, DelayStage):
            jobs = list(stage.jobs)
        elif isinstance(stage, PsStage):
            jobs = [row[2] for row in stage.heap]
        elif isinstance(stage, SharedStage):
            jobs = [flow for flow in stage.system.flows if stage in flow.stages]
            if stage.carried > stage.capacity * (1.0 + _ROUNDING):
                self._fail(f"stage {stage.name} carries {stage.carried!r}")
        else:
            assert isinstance(stage, Engine)
            jobs = list(stage.jobs)
            self._engine(stage)
        if len(jobs) != stage.n:
            self._fail(f"stage {stage.name} counts {stage.n} jobs, {len(jobs)} are there")
        for job in jobs:
            s = job.session
            if job.gone if not isinstance(stage, Engine) else False:
                self._fail(f"stage {stage.name} serves a job that is gone")
            if s.serial >= 0 and (s.job is not job or s not in self.machine.everyone):
                self._fail(f"stage {stage.name} serves {_who(s)}, who does not wait for it")

    def _engine(self, engine: Engine) -> None:
        admitted = [job.admission for job in engine.jobs]
        if admitted != sorted(admitted):
            self._fail(f"engine {engine.name} has residents out of the order of admission")
        if not engine.running:
            if engine.batch:
                self._fail(f"engine {engine.name} has a batch and no iteration")
            return
        tokens = 0.0
        for job in engine.batch:
            tokens += job.take
            if job not in engine.jobs:
                self._fail(f"engine {engine.name} serves {_who(job.session)}, no resident")
            if not 0.0 < job.take <= job.left + _ROUNDING:
                self._fail(f"engine {engine.name} gives {job.take!r} of {job.left!r} tokens")
            if job.decoding and job.take > 1.0:
                self._fail(f"engine {engine.name} decodes {job.take!r} tokens of one run")
            alloc = job.growing
            if alloc is not None and alloc.position + job.take > alloc.units + _ROUNDING:
                self._fail(
                    f"{_who(job.session)} computes to {alloc.position + job.take!r} with "
                    f"{alloc.units!r} units of {_name(alloc.pool)}"
                )
        if len(set(engine.batch)) != len(engine.batch):
            self._fail(f"engine {engine.name} serves a run twice in an iteration")
        if tokens > engine.whole + _ROUNDING:
            self._fail(f"engine {engine.name} computes {tokens!r} of {engine.whole!r} tokens")
        ends = [e for e in self.machine.heap if getattr(e[2], "__self__", None) is engine]
        if len(ends) != 1:
            self._fail(f"{len(ends)} events end the iteration of engine {engine.name}")


def _same(a: float, b: float) -> bool:
    return a == b or isclose(a, b, rel_tol=1e-9, abs_tol=_ROUNDING)


def _whole(units: float, block: float | None) -> bool:
    if block is None or not block > 0.0:
        return True
    blocks = units / block
    return blocks != blocks or abs(blocks - round(blocks)) < _ROUNDING


def _name(pool: Pool) -> str:
    return f"pool {pool.name}" + ("" if pool.index is None else f"[{pool.index}]")


def _who(s: Session) -> str:
    return f"session {s.serial}" if s.parent is None else f"a leg of session {s.serial}"
