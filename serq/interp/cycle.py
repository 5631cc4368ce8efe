"""Cycles of waits: a run that ends with sessions and legs that wait only for each other.

A leg waits for memory that a lease holds, and the lease's session waits at a ``join`` for that
leg, or inside a hold the leg needs: nothing later can free any of them. The error is a
certificate: who waits, since when, for what, and who holds it.
"""

from __future__ import annotations

from math import inf
from typing import TYPE_CHECKING

from serq.diagnostics import Diagnostic, SerqError, Span
from serq.interp.faults import number
from serq.interp.pool import SLACK, Pool
from serq.interp.session import JOINING, QUEUED, Alloc, Session

if TYPE_CHECKING:
    from serq.interp.machine import Machine

SHOWN = 12
"""Waits and holders that the certificate prints at most."""


def check(machine: Machine) -> None:
    """Raise the error if the run ends in a cycle of waits with somebody at a ``join``.

    A session that waits for room to grow is not counted: the pool's report names it
    (``growing_stalled``).
    """
    if not any(s.status == JOINING for s in machine.everyone):
        return
    cycle = Cycle(machine)
    joined = [s for s in cycle.stuck if s.status == JOINING]
    if joined:
        raise cycle.error(joined[0])


class Cycle:
    """Who cannot go on, however long the run lasted: ``stuck``, in the order they started."""

    def __init__(self, machine: Machine) -> None:
        self.machine = machine
        self.legs: dict[Session, list[Session]] = {}
        for s in machine.everyone:
            if s.parent is not None:
                self.legs.setdefault(s.parent, []).append(s)
        self.kept: set[Alloc] = set()
        """Leased allocations that only a release gives back."""
        self.expiry: dict[Alloc, float] = {}
        for s in machine.everyone:
            for lease in s.leases:
                self.expiry[lease.alloc] = lease.until
                if lease.until == inf:
                    self.kept.add(lease.alloc)
        self.queue_of = {s: pool for pool in machine.pools for s in pool.queue}
        self.stuck: dict[Session, None] = {
            s: None for s in machine.everyone if s.status in (QUEUED, JOINING)
        }
        while True:
            free = [s for s in self.stuck if self._goes_on(s)]
            if not free:
                return
            for s in free:
                del self.stuck[s]

    def owner(self, alloc: Alloc) -> Session:
        """Who gives the allocation back: a leg's lease is its session's once the leg ended."""
        holder = alloc.session
        if holder in self.machine.everyone or holder.parent is None:
            return holder
        return holder.parent

    def _goes_on(self, s: Session) -> bool:
        if s.status == JOINING:
            return not all(leg in self.stuck for leg in self.legs.get(s, ()))
        queue = self.queue_of[s]
        if self._behind(s, queue) is not None:
            return False
        return not any(self._short(s, queue))

    def _behind(self, s: Session, queue: Pool) -> Session | None:
        """The queue's head, if it blocks ``s`` for ever: with keys another may come to be it."""
        head = queue.queue[0]
        if head is not s and head in self.stuck and (queue.queue_keys is None or head.front):
            return head
        return None

    def _short(self, s: Session, queue: Pool) -> list[tuple[Pool, float, float]]:
        """The pools without room for what ``s`` asks that only the stuck could free."""
        short = []
        for pool, _, room in self.machine.memory.demand(s, queue):
            held = self.machine.memory.outstanding(pool) if pool.reserve_held else 0.0
            if pool.used + held + room <= pool.cap + SLACK:
                continue
            if pool.allocs and all(self._stays(alloc) for alloc in pool.allocs):
                short.append((pool, room, pool.used + held))
        return short

    def _stays(self, alloc: Alloc) -> bool:
        if self.expiry.get(alloc, inf) < inf:
            return False
        return self.owner(alloc) in self.stuck

    # --- the certificate ---

    def error(self, start: Session) -> SerqError:
        """The error: the waits that lead from ``start`` back to a session already named."""
        lines: list[tuple[str, Span | None]] = []
        chain: list[str] = []
        todo, seen = [start], {start}
        while todo:
            s = todo.pop(0)
            told, after, span = self._wait(s)
            lines.append((told, span))
            chain.append(who(s))
            for other in after:
                if other not in seen:
                    seen.add(other)
                    todo.append(other)
        if len(lines) > SHOWN:
            lines[SHOWN:] = [(f"and {len(lines) - SHOWN} more wait", None)]
        return SerqError(
            [
                Diagnostic(
                    "cycle-of-waits",
                    f"at the run's end, time {number(self.machine.now)}, "
                    f"{chain[0]}{' and its legs wait' if len(chain) > 1 else ' waits'} only for "
                    "what waits for each other: no later event can free any of them",
                    where="run",
                    help="give the lease a finite time, or ask for the memory before what "
                    "waits for it",
                    notes=tuple(lines),
                )
            ]
        )

    def _wait(self, s: Session) -> tuple[str, list[Session], Span | None]:
        """What ``s`` waits for, in words, whom it waits for, and where it stands."""
        since = f"since time {number(s.since)}"
        if s.status == JOINING:
            legs = self.legs.get(s, [])
            count = "a leg of its own" if len(legs) == 1 else f"{len(legs)} legs of its own"
            return f"{who(s)} waits at a `join` {since} for {count}", legs, None
        queue = self.queue_of[s]
        span = None
        if self.machine.source_map is not None:
            block, i = self.machine.code.places[s.waiting.pc]
            span = self.machine.source_map.stmt_span(block, i)
        head = self._behind(s, queue)
        if head is not None:
            told = f"{who(s)} waits in the queue of {name(queue)} {since} behind {who(head)}"
            return told, [head], span
        parts: list[str] = []
        others: dict[Session, None] = {}
        for pool, room, taken in self._short(s, queue):
            holders = []
            for alloc in pool.allocs:
                owner = self.owner(alloc)
                others[owner] = None
                how = "leases" if alloc in self.kept else "holds"
                holders.append(
                    f"{who(owner)} {how} {number(alloc.units)} since time {number(alloc.since)}"
                )
            if len(holders) > SHOWN:
                holders[SHOWN:] = [f"and {len(holders) - SHOWN} more hold the rest"]
            parts.append(
                f"{number(room)} units of {name(pool)}, of whose {number(pool.cap)} are taken "
                f"{number(taken)}: " + ", ".join(holders)
            )
        told = f"{who(s)} waits in the queue of {name(queue)} {since} for " + "; for ".join(parts)
        return told, list(others), span


def who(s: Session) -> str:
    """A session or a leg, as the certificate names it."""
    return f"session {s.serial}" if s.parent is None else f"a leg of session {s.serial}"


def name(pool: Pool) -> str:
    """A pool with its index, quoted."""
    return f"`{pool.name}`" if pool.index is None else f"`{pool.name}[{pool.index}]`"
