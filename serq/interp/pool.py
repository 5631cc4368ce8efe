"""Pools: capacity, allocations, the prefix cache with its eviction, and the waiting queue.

A pool is a passive ledger here. Who is admitted, grown or preempted is decided in
`serq.interp.memory`, which sees sessions; this module keeps the amounts consistent.
"""

from __future__ import annotations

from collections import OrderedDict, deque
from collections.abc import Callable
from typing import TYPE_CHECKING, Any

from serq.interp import ieee
from serq.interp.clock import LONG, Timed, integrate
from serq.interp.session import ENDED, QUEUED
from serq.interp.stats import Welford

if TYPE_CHECKING:
    from serq.interp.session import Alloc, Session


SLACK = 1e-9
"""Units by which a sum of allocations may pass the capacity: rounding is not a shortage."""


class Entry:
    """A cached prefix: units of one session, or of nobody once a part of it was consumed.

    ``owner`` is the session while it is ``live``, then a mark of its own: what a spill writes of
    one prefix stays together.
    """

    __slots__ = ("frozen", "last", "live", "number", "owner", "session", "size")

    def __init__(
        self, session: Session, size: float, last: float, number: int, frozen: list[float] | None
    ) -> None:
        self.session = session
        self.owner: object = session
        self.size = size
        self.last = last
        self.number = number
        self.live = True
        self.frozen = frozen

    def attrs(self) -> list[float]:
        """The attributes an eviction key reads: the session's, while the prefix is its own.

        Those of a dead prefix are as of its death, those of an ended session as of its release.
        """
        if self.frozen is not None and (not self.live or self.session.status == ENDED):
            return self.frozen
        return self.session.attrs

    def viewer(self) -> Session | None:
        """Whose cached prefix a key's ``cachedin`` reads: nobody's for a dead prefix or session."""
        return self.session if self.live and self.session.status != ENDED else None

    def waiting(self) -> float:
        """1 if the entry's session waits in some pool's queue; 0 for a dead entry."""
        return 1.0 if self.live and self.session.status == QUEUED else 0.0


class Pool(Timed):
    """One pool. ``used`` are allocated units, ``cached`` those of all cache entries."""

    __slots__ = (
        "admissions",
        "admit_via",
        "allocs",
        "area_cached",
        "area_holders",
        "area_queue",
        "area_used",
        "block",
        "cached",
        "cap",
        "entries",
        "evict_keys",
        "evicted_entries",
        "evicted_units",
        "freezes",
        "growers",
        "holders",
        "index",
        "line",
        "memory_of",
        "mine",
        "name",
        "next_release",
        "over_cap",
        "position",
        "preempt_keys",
        "preempt_tail",
        "preemptions",
        "queue",
        "queue_keys",
        "recomputed",
        "rejected",
        "reserve_held",
        "reserved",
        "spill",
        "spills",
        "stuck",
        "used",
        "wait",
    )  # fmt: skip

    def __init__(
        self, position: int, name: str, index: int | None, cap: float, block: float | None,
        gaps: list[float],
    ) -> None:  # fmt: skip
        super().__init__(gaps)
        self.position = position
        self.name = name
        self.index = index
        self.cap = cap
        self.block = block
        self.used = 0.0
        self.cached = 0.0
        self.reserved = 0.0
        self.entries: OrderedDict[int, Entry] = OrderedDict()
        self.mine: dict[object, Entry] = {}
        self.next_release = 0
        self.allocs: dict[Alloc, None] = {}
        self.holders: dict[Session, int] = {}
        # The order in which the pool admitted its holders, with an entry per allocation: the
        # end of any of them takes the session's first entry out.
        self.line: list[Session] = []
        self.queue: deque[Session] = deque()
        self.growers: deque[Session] = deque()
        self.evict_keys: Callable[[Entry], tuple[float, ...]] | None = None
        self.freezes = False
        self.queue_keys: Callable[[Session], tuple[float, ...]] | None = None
        self.preempt_keys: Callable[..., tuple[float, ...]] | None = None
        self.preempt_tail = False
        self.reserve_held = False
        self.admit_via: Any = None
        self.memory_of: Any = None
        self.spill: Callable[[Entry, float], None] | None = None
        self.area_used = self.area_cached = self.area_queue = self.area_holders = 0.0
        self.wait = Welford()
        self.admissions = self.evicted_entries = self.preemptions = 0
        self.evicted_units = 0.0
        self.spills = self.rejected = self.stuck = 0
        self.recomputed = 0.0
        self.over_cap: tuple[str, float] | None = None

    # --- integrals ---

    def catch_up(self) -> None:
        start, stop = self.at, len(self.gaps)
        if start == stop:
            return
        self.at = stop
        gaps = self.gaps
        if stop - start < LONG:
            used, cached, waiting = self.used, self.cached, len(self.queue)
            holders = len(self.holders)
            area_used, area_cached = self.area_used, self.area_cached
            area_queue, area_holders = self.area_queue, self.area_holders
            for i in range(start, stop):
                gap = gaps[i]
                area_used += used * gap
                area_cached += cached * gap
                area_queue += waiting * gap
                area_holders += holders * gap
            self.area_used, self.area_cached = area_used, area_cached
            self.area_queue, self.area_holders = area_queue, area_holders
            return
        if self.used:
            self.area_used = integrate(self.area_used, self.used, gaps, start, stop)
        if self.cached:
            self.area_cached = integrate(self.area_cached, self.cached, gaps, start, stop)
        if self.queue:
            self.area_queue = integrate(self.area_queue, float(len(self.queue)), gaps, start, stop)
        if self.holders:
            present = float(len(self.holders))
            self.area_holders = integrate(self.area_holders, present, gaps, start, stop)

    def restart(self) -> None:
        self.area_used = self.area_cached = self.area_queue = self.area_holders = 0.0

    # --- amounts ---

    def allocate(self, alloc: Alloc) -> None:
        """A new allocation; a session with several counts as one holder."""
        self.used += alloc.units
        self.allocs[alloc] = None
        self.holders[alloc.session] = self.holders.get(alloc.session, 0) + 1
        if self.preempt_keys is not None:
            self.line.append(alloc.session)

    def free(self, alloc: Alloc) -> None:
        """An allocation ends."""
        self.used -= alloc.units
        del self.allocs[alloc]
        session = alloc.session
        if self.preempt_keys is not None:
            self.line.remove(session)
        count = self.holders[session] - 1
        if count:
            self.holders[session] = count
        else:
            del self.holders[session]

    def round_up(self, units: float) -> float:
        """Units as whole blocks, upwards."""
        block = self.block
        return units if block is None else ieee.ceil(ieee.div(units, block)) * block

    def round_down(self, units: float) -> float:
        """Units as whole blocks, downwards."""
        block = self.block
        return units if block is None else ieee.floor(ieee.div(units, block)) * block

    def holders_float(self) -> float:
        """The sessions that hold units here."""
        return float(len(self.holders))

    def cached_of(self, session: Session | None) -> float:
        """The session's own cached units, which its legs share; 0 without a session."""
        entry = None if session is None else self.mine.get(session.parent or session)
        return entry.size if entry is not None else 0.0

    # --- cache ---

    def make_room(self, need: float) -> None:
        """Evict until ``need`` more units fit next to the allocations, or nothing is left."""
        entries, used, limit = self.entries, self.used, self.cap + SLACK
        while entries and used + self.cached + need > limit:
            self.evict_one(need)

    def evict_one(self, need: float) -> None:
        """Cut the first entry in the pool's order: block by block from its tail, or all of it.

        It stays the first while it lasts, unless keys say who is: they are read for every block.
        """
        keys, block, spill = self.evict_keys, self.block, self.spill
        if keys is None:
            entry = next(iter(self.entries.values()))
        else:
            entry = min(self.entries.values(), key=keys)
        used, limit = self.used, self.cap + SLACK
        size, cached = entry.size, self.cached
        while True:
            cut = size if block is None else min(block, size)
            self.evicted_units += cut
            self.cached = cached = cached - cut
            entry.size = size = size - cut
            if spill is not None:
                spill(entry, cut)
            if size <= SLACK:
                self.evicted_entries += 1
                self.forget(entry)
                return
            if keys is not None or not used + cached + need > limit:
                return

    def forget(self, entry: Entry) -> None:
        """Take an entry out of the cache's order; its units are the caller's business."""
        del self.entries[entry.number]
        del self.mine[entry.owner]

    def take_prefix(self, session: Session, most: float | None) -> float:
        """Consume the session's own prefix up to ``most`` units, in whole blocks.

        What remains stays cached as a dead entry of the same age, which nobody can use.
        """
        entry = self.mine.pop(session, None)
        if entry is None:
            return 0.0
        entry.live = False
        keep = entry.size if most is None else min(self.round_down(most), entry.size)
        self.cached -= entry.size
        entry.size -= keep
        if entry.size <= SLACK:
            del self.entries[entry.number]
        else:
            self.cached += entry.size
            entry.owner = object()
            if self.freezes:
                entry.frozen = list(session.attrs)
            self.mine[entry.owner] = entry
        return keep

    def store(self, session: Session, units: float, now: float) -> None:
        """Cache ``units`` as the session's prefix, in place of any it had."""
        old = self.mine.get(session)
        if old is not None:
            self.cached -= old.size
            self.forget(old)
        frozen = list(session.attrs) if self.freezes else None
        entry = Entry(session, units, now, self.next_release, frozen)
        self.next_release += 1
        self.entries[entry.number] = entry
        self.mine[session] = entry
        self.cached += units

    def receive(self, entry: Entry, units: float, now: float) -> None:
        """Units evicted from another pool are cached here, as what they were there.

        They join what this pool has of the same prefix: the session's own, or a dead one that
        stays dead; the attributes kept for its keys stay those of the part that came first. What
        is cached here may then pass the capacity, until room is made again.
        """
        self.catch_up()
        self.make_room(0.0)
        session = entry.session
        old = self.mine.get(entry.owner)
        total, frozen = units, entry.frozen
        if old is not None:
            total += old.size
            frozen = old.frozen
            self.forget(old)
        made = Entry(session, total, now, self.next_release, frozen)
        self.next_release += 1
        self.entries[made.number] = made
        made.live, made.owner = entry.live, entry.owner
        self.mine[made.owner] = made
        self.cached += units

    def drop(self, session: Session) -> None:
        """Discard the session's own prefix."""
        entry = self.mine.get(session)
        if entry is not None:
            self.catch_up()
            self.cached -= entry.size
            self.forget(entry)
