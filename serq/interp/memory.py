"""Who gets memory: queues, admission, growth, preemption, release, leases.

The pools are ledgers (`serq.interp.pool`); the decisions that involve sessions are made here.
"""

from __future__ import annotations

from collections.abc import Callable
from enum import Enum
from math import inf
from typing import TYPE_CHECKING, Any

from serq.interp.faults import Fault, number
from serq.interp.pool import SLACK, Pool
from serq.interp.session import (
    ENDED,
    GROWING,
    QUEUED,
    READY,
    RUNNING,
    Alloc,
    Hold,
    Lease,
    Session,
)

if TYPE_CHECKING:
    from serq.interp.machine import Machine

Demand = list[tuple[Pool, float, float]]
"""What a hold asks of each of its pools: units to allocate and room to have, in whole blocks."""


class HoldSpec:
    """A hold statement, compiled.

    ``needs`` gives pool, units and reserve (None: the units) for each pool; ``judged`` the
    demands that read attributes and numbers alone, which are tested against the caps as the hold
    joins its queue; ``first`` the pool whose queue it joins. ``lease`` is the number of the pool
    entry that is leased and the function of the lease's time.
    """

    __slots__ = ("body", "cache", "end", "first", "judged", "lease", "needs", "node", "pc", "reuse")

    def __init__(self, node: Any, pc: int) -> None:
        self.node = node
        self.pc = pc
        self.body = pc + 1
        self.needs: Callable[[Session], tuple[tuple[Pool, float, float | None], ...]]
        self.judged: Callable[[Session], tuple[tuple[Pool, float], ...]]
        self.first: Callable[[Session], Pool]
        self.reuse: Callable[[Session], float] | None = None
        self.cache: Callable[[Session], float] | None = None
        self.lease: tuple[int, Callable[[Session], float]] | None = None


class Growth(Enum):
    """How an attempt to grow ended; a grower that was its own victim is queued again."""

    GROWN = 0
    STALLED = 1
    PREEMPTED = 2


def amount(value: float, what: str) -> float:
    """The value as an amount, which is not negative and not NaN; noise below 0 is 0."""
    if value >= 0.0:
        return value
    if value >= -SLACK:
        return 0.0
    raise Fault(
        "not-an-amount",
        f"{what} {'are' if what.startswith('the units') else 'is'} {number(value)}, "
        "which is negative or not a number",
        "an amount is at least 0",
    )


class Memory:
    """The pools' decisions of one run."""

    def __init__(self, machine: Machine) -> None:
        self.machine = machine
        self.next_admission = 0.0
        self.preempts = 0
        self.slot_cached = machine.program.slot_cached
        self.slot_computed = machine.program.slot_computed

    # --- queues ---

    def join(self, session: Session, spec: HoldSpec, front: bool = False) -> None:
        """The session waits for its hold, unless what it asks can never fit: then it ends."""
        first = spec.first(session)
        for pool, units in spec.judged(session):
            units = amount(units, f"the units asked of pool `{pool.name}`")
            if pool.round_up(units) > pool.cap + SLACK:
                pool.rejected += 1
                if first.admit_via is not None:
                    first.admit_via.counters.rejected += 1
                self.machine.refuse(session)
                return
        first.catch_up()
        session.status = QUEUED
        session.waiting = spec
        session.front = front
        session.joined = session.since = self.machine.now
        session.pc = spec.pc
        if front:
            first.queue.appendleft(session)
        else:
            first.queue.append(session)

    def leave_queue(self, session: Session) -> None:
        """A waiting session is taken out of its queue."""
        for pool in self.machine.pools:
            if session in pool.queue:
                pool.catch_up()
                pool.queue.remove(session)
                return

    def selected(self, pool: Pool) -> Session:
        """The waiting session whose turn it is: preempted ones first, then by the keys."""
        queue = pool.queue
        keys = pool.queue_keys
        if keys is None or queue[0].front or len(queue) == 1:
            return queue[0]
        return min(queue, key=keys)

    def demand(self, session: Session, queue: Pool) -> Demand:
        """What the waiting hold asks now; the first pool is the one it queues at."""
        out: Demand = []
        seen: set[int] = set()
        try:
            for pool, units, reserve in session.waiting.needs(session):
                if pool.position in seen:
                    raise Fault(
                        "same-pool-twice",
                        f"two of the hold's pools are both `{pool.name}`"
                        + (f"[{pool.index}]" if pool.index is not None else ""),
                        "a hold names each pool once",
                    )
                seen.add(pool.position)
                room = units = amount(units, f"the units asked of pool `{pool.name}`")
                if reserve is not None:
                    room = max(units, amount(reserve, f"the reserve asked of pool `{pool.name}`"))
                out.append((pool, pool.round_up(units), pool.round_up(room)))
        except Fault as fault:
            raise self.machine.error(session, fault) from None
        return out

    def fits(self, demand: Demand) -> bool:
        """Whether every pool has the room asked, next to allocations and reservations."""
        for pool, _, room in demand:
            if pool.reserve_held:
                room += self.outstanding(pool)
            if not pool.used + room <= pool.cap + SLACK:
                return False
        return True

    def outstanding(self, pool: Pool, but: Alloc | None = None) -> float:
        """What holds reserved and have not allocated, that of ``but`` left out."""
        total = 0.0
        for alloc in pool.allocs:
            if alloc is not but and alloc.reserve > alloc.units:
                total += alloc.reserve - alloc.units
        return total

    def find_over_cap(self) -> None:
        """As the run ends: the queues' heads that ask a pool for more than its cap."""
        for queue in self.machine.pools:
            if not queue.queue:
                continue
            label = queue.name if queue.index is None else f"{queue.name}[{queue.index}]"
            for pool, units, reserve in self.selected(queue).waiting.needs(self.selected(queue)):
                need = units if reserve is None else max(units, reserve)
                if pool.round_up(need) > pool.cap + SLACK and pool.over_cap is None:
                    pool.over_cap = (label, need)

    # --- admission ---

    def admit_all(self) -> bool:
        """Growers at every pool and heads where no engine admits, in declaration order."""
        some = False
        for pool in self.machine.settled_pools:
            if pool.growers and self.retry_growers(pool):
                some = True
            if pool.queue and pool.admit_via is None and self.admit_heads(pool):
                some = True
        return some

    def admit_heads(self, pool: Pool) -> bool:
        """Admit heads one after the other; the first that does not fit blocks the rest."""
        some = False
        while pool.queue:
            session = self.selected(pool)
            demand = self.demand(session, pool)
            if not self.fits(demand):
                break
            self.admit(session, pool, demand)
            some = True
        return some

    def admit(self, session: Session, queue: Pool, demand: Demand) -> None:
        """The session's hold begins: its prefix is consumed, room made, units allocated."""
        machine = self.machine
        spec = session.waiting
        reuse = spec.reuse(session) if spec.reuse is not None else None
        queue.catch_up()
        if queue.queue[0] is session:
            queue.queue.popleft()
        else:
            queue.queue.remove(session)
        if machine.now >= machine.warmup:
            queue.wait.add(machine.now - session.joined)
        hold = Hold(spec, demand)
        owner = session.parent or session
        consumed = 0.0
        undone, session.undone = session.undone, None
        again = undone[1] if undone is not None else 0.0
        for pool, units, room in demand:
            pool.catch_up()
            keep = pool.take_prefix(owner, reuse) if spec.cache is not None else 0.0
            if pool.entries:
                pool.make_room(units)
            alloc = Alloc(session, pool, units, keep, room if pool.reserve_held else 0.0)
            alloc.hold = hold
            alloc.since = machine.now
            hold.allocs.append(alloc)
            pool.allocate(alloc)
            pool.admissions += 1
            if keep > consumed:
                consumed = keep
            if undone is not None and pool is undone[0]:
                again -= keep
        if undone is not None and again > 0.0:
            undone[0].recomputed += again
            if undone[2] is not None:
                undone[2].counters.recomputed += again
        if spec.lease is not None:
            hold.leased = hold.allocs[spec.lease[0]]
        session.attrs[self.slot_cached] = consumed
        session.holds.append(hold)
        session.waiting = None
        session.admission = self.next_admission
        self.next_admission += 1.0
        session.pc = spec.body
        session.status = READY
        machine.ready.append(session)

    # --- release ---

    def end_hold(self, session: Session) -> None:
        """The scope ends: units go back or are leased, prefixes stay cached, heads are admitted."""
        hold = session.holds.pop()
        spec = hold.spec
        leased = hold.leased if hold.leased in hold.allocs else None
        until = spec.lease[1](session) if leased is not None else 0.0
        value = spec.cache(session) if spec.cache is not None and hold.allocs else None
        for alloc in hold.allocs:
            if alloc is not leased:
                self.give_back(session, alloc, hold.moved, value)
        if leased is not None:
            leased.reserve = 0.0
            leased.hold = None
            lease = Lease(leased, hold.moved, self.machine.now + until)
            leased.cache = spec.cache
            session.leases.append(lease)
            if until < inf:
                self.machine.push(lease.until, self.expire, (session, lease))
        session.attrs[self.slot_computed] = 0.0
        if session.preempted_at is not None:
            for pool, _, _ in hold.demand:
                session.preempted_at.pop(pool, None)
        self.admit_all()

    def give_back(self, session: Session, alloc: Alloc, moved: bool, value: float | None) -> None:
        """An allocation ends; ``value`` is what the cache clause keeps, None without one.

        Where a growing run or a load advanced any pool of the hold (``moved``), what it computed
        is kept: the position, which in a pool it did not advance is the prefix consumed there.
        """
        pool = alloc.pool
        pool.catch_up()
        pool.free(alloc)
        if value is not None:
            computed = alloc.position if moved else alloc.units
            units = pool.round_down(min(value, computed))
            if units > 0.0:
                pool.store(session.parent or session, units, self.machine.now)

    def release(self, session: Session, pool: Pool) -> None:
        """``release``: the innermost hold's allocation, or else a lease, is given back now."""
        for hold in reversed(session.holds):
            for alloc in hold.allocs:
                if alloc.pool is pool:
                    spec = hold.spec
                    value = spec.cache(session) if spec.cache is not None else None
                    self.give_back(session, alloc, hold.moved, value)
                    hold.allocs.remove(alloc)
                    if session.preempted_at is not None:
                        session.preempted_at.pop(pool, None)
                    self.admit_all()
                    return
        for lease in session.leases:
            if lease.alloc.pool is pool:
                self.end_lease(session, lease)
                session.leases.remove(lease)
                self.admit_all()
                return

    def end_lease(self, session: Session, lease: Lease) -> None:
        """A lease is over: its units go back and its hold's cache clause applies."""
        lease.over = True
        alloc = lease.alloc
        holder = alloc.session
        value = alloc.cache(holder) if alloc.cache is not None else None
        self.give_back(holder, alloc, lease.moved, value)

    def expire(self, arg: tuple[Session, Lease]) -> None:
        """A finite lease's time has come; nothing happens when it was released before."""
        _, lease = arg
        if lease.over:
            return
        session = lease.alloc.session
        owner = (
            session.parent
            if session.parent is not None and lease in session.parent.leases
            else session
        )
        self.end_lease(owner, lease)
        owner.leases.remove(lease)

    def release_all(self, session: Session) -> None:
        """The session ends: its holds, innermost first, then its leases."""
        while session.holds:
            hold = session.holds.pop()
            spec = hold.spec
            value = spec.cache(session) if spec.cache is not None and hold.allocs else None
            for alloc in hold.allocs:
                self.give_back(session, alloc, hold.moved, value)
        for lease in session.leases:
            self.end_lease(session, lease)
        session.leases.clear()

    # --- growth and preemption ---

    def enlarge(self, session: Session, alloc: Alloc, more: float) -> Growth:
        """Grow an allocation by ``more`` units, rounded to blocks, preempting if the pool may."""
        pool = alloc.pool
        while not self.grown(alloc, more):
            if pool.preempt_keys is None:
                return Growth.STALLED
            victim = self.victim(pool)
            if victim is None:
                return Growth.STALLED
            self.preempt(victim, pool)
            if victim is session:
                return Growth.PREEMPTED
        return Growth.GROWN

    def grown(self, alloc: Alloc, more: float) -> bool:
        """Whether the allocation had room to grow by ``more`` units, and did."""
        pool = alloc.pool
        need = pool.round_up(alloc.units + more) - alloc.units
        others = self.outstanding(pool, alloc) if pool.reserve_held else 0.0
        if not pool.used + others + need <= pool.cap + SLACK:
            return False
        self.extend(alloc, need)
        return True

    def extend(self, alloc: Alloc, need: float) -> None:
        """The allocation gets ``need`` more units, for which there is room next to the others."""
        pool = alloc.pool
        pool.catch_up()
        if pool.entries and need > 0.0:  # what spills wrote past the capacity may stay otherwise
            pool.make_room(need)
        pool.used += need
        alloc.units += need

    def candidates(self, pool: Pool) -> list[Session]:
        """Whom a growth on the pool may preempt, in their admission order."""
        engines = [e for e in self.machine.engines if e.memory is pool]
        if engines:
            residents = [job.session for engine in engines for job in engine.jobs]
            if len(engines) > 1:
                residents.sort(key=lambda s: s.admission)
            return [s for s in residents if s.alloc_on(pool) is not None]
        return [s for s in dict.fromkeys(pool.line) if s.alloc_on(pool) is not None]

    def victim(self, pool: Pool) -> Session | None:
        """The candidate with the least keys, of equal ones the last admitted."""
        keys = pool.preempt_keys
        assert keys is not None
        best: Session | None = None
        least: tuple[float, ...] = ()
        for place, session in enumerate(self.candidates(pool)):
            alloc = session.alloc_on(pool)
            assert alloc is not None
            job = session.job
            position = alloc.position
            if getattr(job, "growing", None) is alloc and job.served and job.stage.running:
                position += job.take  # what an iteration is giving it is taken for computed
            decoding = getattr(job, "decoding", 0.0)
            key = keys(session, decoding, float(place), position)
            if best is None or not least < key:
                best, least = session, key
        return best

    def preempt(self, victim: Session, pool: Pool) -> None:
        """The victim's hold on the pool is undone; it re-enters the queue of the hold."""
        alloc = victim.alloc_on(pool)
        assert alloc is not None
        engine = victim.job.stage if victim.job is not None else None
        counters = getattr(engine, "counters", None)
        self.withdraw(victim)
        position = alloc.position
        victim.attrs[self.slot_computed] = position
        while True:
            hold = victim.holds.pop()
            spec = hold.spec
            value = spec.cache(victim) if spec.cache is not None and hold.allocs else None
            for held in hold.allocs:
                self.give_back(victim, held, True, value)
            if alloc in hold.allocs:
                break
        pool.preemptions += 1
        self.preempts += 1
        if counters is not None:
            counters.preemptions += 1
        victim.undone = (pool, position, engine if counters is not None else None)
        if victim.preempted_at is None:
            victim.preempted_at = {}
        before = victim.preempted_at.get(pool)
        if before is not None and position <= before and not victim.stuck:
            victim.stuck = True
            pool.stuck += 1
            if counters is not None:
                counters.stuck += 1
        victim.preempted_at[pool] = position
        if victim.client is not None:
            victim.client.interrupted = True
        self.machine.record_preemption(victim)
        self.join(victim, spec, front=not pool.preempt_tail)

    def withdraw(self, session: Session) -> None:
        """Take a session out of whatever it waits for or is served by."""
        if session.growing is not None:
            session.growing[0].growers.remove(session)
            session.growing = None
        if session.job is not None:
            session.job.stage.remove(session.job)
            session.job = None
        elif session.status == QUEUED:
            self.leave_queue(session)
        elif session.status == READY and session in self.machine.ready:
            self.machine.ready.remove(session)
        session.status = ENDED

    # --- growers that wait ---

    def stall(self, session: Session, alloc: Alloc, more: float) -> None:
        """The session waits until there is room, at its ``grow`` or in an engine's run."""
        session.status = GROWING
        session.growing = (alloc.pool, alloc, more)
        session.since = self.machine.now
        alloc.pool.growers.append(session)

    def retry_growers(self, pool: Pool) -> bool:
        """Grow the stalled in the order they stalled; the first that does not fit blocks.

        They wait for room that others free: nobody is preempted for them any more.
        """
        some = False
        while pool.growers:
            session = pool.growers[0]
            _, alloc, more = session.growing
            if not self.grown(alloc, more):
                break
            some = True
            pool.growers.popleft()
            session.growing = None
            if session.job is not None:  # the engine's run goes on in its next iteration
                session.job.stalled = False
                session.status = RUNNING
            else:
                session.status = READY
                self.machine.ready.append(session)
        return some
