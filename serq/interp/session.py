"""Sessions and what they hold: the mutable records that the machine moves about."""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING, Any

from serq.interp.random import EMPTY, KIND_STATEMENTS, Substream

if TYPE_CHECKING:
    from serq.interp.pool import Pool
    from serq.interp.random import Stream, Streams

READY, QUEUED, RUNNING, GROWING, JOINING, ENDED = range(6)
"""A session runs statements soon, waits in a pool's queue, has a job at a stage, waits for room
to grow, waits for its legs, or is over."""


class Alloc:
    """Units of one pool that one session holds, in the scope of a hold or leased after it.

    ``position`` is how far the KV in it is computed: the consumed prefix at first, advanced by a
    growing run or a load (``moved`` then). ``reserve`` is what the hold asked room for, ``since``
    the time of its admission.
    """

    __slots__ = (
        "cache",
        "hold",
        "moved",
        "pool",
        "position",
        "reserve",
        "session",
        "since",
        "units",
    )

    def __init__(
        self, session: Session, pool: Pool, units: float, position: float, reserve: float
    ) -> None:
        self.session = session
        self.pool = pool
        self.units = units
        self.position = position
        self.reserve = reserve
        self.since = 0.0
        self.moved = False
        self.hold: Hold | None = None
        self.cache: Callable[[Session], float] | None = None


class Hold:
    """A hold being executed: its statement (``spec``) and its allocations still held.

    ``demand`` is what it was admitted with, in every pool.
    """

    __slots__ = ("allocs", "demand", "leased", "moved", "spec")

    def __init__(self, spec: Any, demand: Any) -> None:
        self.spec = spec
        self.demand = demand
        self.allocs: list[Alloc] = []
        self.leased: Alloc | None = None
        self.moved = False


class Lease:
    """An allocation kept past its scope; ``until`` it expires, if it does."""

    __slots__ = ("alloc", "moved", "over", "until")

    def __init__(self, alloc: Alloc, moved: bool, until: float) -> None:
        self.alloc = alloc
        self.moved = moved
        self.until = until
        self.over = False


NEVER_ADMITTED = 2.0**64
"""The admission number of a session that no pool has admitted: it stands behind all others."""


class Session(Substream):
    """A session, or a leg of one: attributes, the next statement, holds, leases, its turn.

    It is the stream of the draws of its statements; ``rng`` is that of its init or turn block.

    ``pc`` is an index into the machine's code. ``admission`` is the number of its latest
    admission, ``preempted_at`` where each pool preempted it last, until a hold there ends. A leg's
    ``parent`` is the session that forked it.
    """

    __slots__ = (
        "admission",
        "attrs",
        "client",
        "front",
        "growing",
        "holds",
        "job",
        "joined",
        "leases",
        "legs",
        "legs_forked",
        "next_turn",
        "parent",
        "pc",
        "preempted_at",
        "ready_at",
        "ready_count",
        "rng",
        "since",
        "status",
        "stuck",
        "turn",
        "turns",
        "undone",
        "waiting",
    )  # fmt: skip

    def __init__(
        self, serial: int, attrs: list[float], pc: int, streams: Streams,
        number: int = 0, kind: int = KIND_STATEMENTS,
    ) -> None:  # fmt: skip
        self.serial = serial
        self._buffer = EMPTY  # as in `Substream`, whose call would cost as much as all of this
        self._streams = streams
        self._number = number
        self._kind = kind
        self._group = 0
        self.attrs = attrs
        self.pc = pc
        self.status = READY
        self.admission = NEVER_ADMITTED
        self.holds: list[Hold] = []
        self.leases: list[Lease] = []
        self.legs = 0
        self.legs_forked = 0
        self.parent: Session | None = None
        self.job: Any = None
        self.growing: Any = None
        self.waiting: Any = None
        self.front = False
        self.joined = 0.0
        self.since = 0.0
        self.preempted_at: dict[Pool, float] | None = None
        self.stuck = False
        self.undone: tuple[Pool, float, Any] | None = None
        """Preempted and not admitted again: the pool, the position reached there, the engine."""

        self.ready_at = -1.0
        self.ready_count = 0
        self.rng: Stream | None = None
        self.turn = 0
        self.turns: Any = None
        self.next_turn = 0
        self.client: Any = None

    def alloc_on(self, pool: Pool) -> Alloc | None:
        """The innermost hold's allocation on the pool."""
        for hold in reversed(self.holds):
            for alloc in hold.allocs:
                if alloc.pool is pool:
                    return alloc
        return None

    def held_on(self, pool: Pool) -> float:
        """All units the session's holds have on the pool."""
        total = 0.0
        for hold in self.holds:
            for alloc in hold.allocs:
                if alloc.pool is pool:
                    total += alloc.units
        return total
