"""How a program uses its pools and stages: what each hold is for, who chooses whom.

Read off the statements once, before anything is placed.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, field

from serq.draw.stations import DELAY, Family, Station, Stations
from serq.draw.words import Words
from serq.ir import nodes as n
from serq.ir.constants import fold
from serq.ir.moments import Moment
from serq.ir.walk import attributes_read, stmt_refs


@dataclass
class PoolUse:
    """What holds do with a family of pools; texts in the order of the program, each once."""

    waits: bool = False
    units: dict[str, None] = field(default_factory=dict)
    reserves: dict[str, None] = field(default_factory=dict)
    caches: dict[str, None] = field(default_factory=dict)
    leases: dict[str, None] = field(default_factory=dict)
    inside: dict[str, None] = field(default_factory=dict)
    stations: dict[Station, None] = field(default_factory=dict)
    grows: bool = False
    held: bool = False


class Uses:
    """The uses of a program's parts; attaches pools without an owner to their one station."""

    def __init__(self, program: n.Program, stations: Stations, words: Words) -> None:
        self.program = program
        self.stations = stations
        self.words = words
        self.pools: dict[Family, PoolUse] = {f: PoolUse() for f in stations.pool_families}
        self.works: dict[Family, dict[n.Mode, dict[str, None]]] = {
            f: {} for f in stations.stage_families
        }
        self.joint: set[Family] = set()
        self.links: set[Family] = set()
        self.chosen: dict[int, dict[Station, None]] = {}
        self.client: dict[Family, dict[str, None]] = {}
        self.spanning: list[Family] = []
        self._client_stages()
        self._indexed()
        blocks = self.live_blocks()
        for block in blocks:
            self._held_at(block)
        self._free_pools()
        for block in blocks:
            self._block(block)

    def live_blocks(self) -> list[int]:
        """The blocks the session reaches, arms that a constant guard rules out left aside."""
        order: list[int] = []
        stack = [self.program.session]
        while stack:
            block = stack.pop()
            order.append(block)
            inner = [b for s in self.program.blocks[block] for b in bodies(s)]
            stack.extend(reversed(inner))
        return order

    def pool(self, ref: n.Ref) -> PoolUse:
        return self.pools[self.stations.family_of_pool[ref.base]]

    def runs_in(self, block: int, *, moves: bool = True) -> Iterator[n.Run]:
        """The runs of a block and what is inside it; without ``moves`` no transfer's."""
        position = 0
        stmts = self.program.blocks[block]
        while position < len(stmts):
            stmt = stmts[position]
            moved = None if moves else transfer_at(self.program, block, position)
            if moved is not None:
                position = moved.end
                continue
            position += 1
            if isinstance(stmt, n.Run):
                yield stmt
            for body in bodies(stmt):
                yield from self.runs_in(body, moves=moves)

    def _inside_words(self, block: int, home: Station | None) -> Iterator[str]:
        """What a hold is for: its runs in the order of the text, a transfer as one."""
        stmts = self.program.blocks[block]
        position = 0
        while position < len(stmts):
            moved = transfer_at(self.program, block, position)
            stmt = stmts[position]
            if moved is not None:
                yield "KV transfer"
                position = moved.end
                continue
            position += 1
            if isinstance(stmt, n.Run) and not self._is_client(stmt):
                yield self.run_word(stmt, home)
            for body in bodies(stmt):
                yield from self._inside_words(body, home)

    def _is_client(self, run: n.Run) -> bool:
        return self.stations.family_of_stage[run.stage.base] in self.client

    def run_word(self, run: n.Run, home: Station | None) -> str:
        """A run in a word or two: its mode at home, else the stage's name."""
        family = self.stations.family_of_stage[run.stage.base]
        mode = {n.Mode.PREFILL: "prefill", n.Mode.DECODE: "decode"}.get(run.mode, "")
        if mode and self.stations.stage(run.stage) is home:
            return mode
        return f"{family.name} {mode}".strip()

    # --- reading --------------------------------------------------------------------------------

    def _client_stages(self) -> None:
        """Delays that only the workload runs are the clients' own time."""
        program = self.program
        sides: dict[int, set[n.Side]] = {}
        for block, stmts in enumerate(program.blocks):
            for stmt, side in zip(stmts, program.sides[block], strict=True):
                if isinstance(stmt, n.Run):
                    for ref in (stmt.stage, *stmt.also):
                        sides.setdefault(ref.base, set()).add(side)
        for family in self.stations.stage_families:
            kind = program.stages[family.members[0]].kind
            used = set().union(*(sides.get(i, set()) for i in family.members))
            if kind == DELAY and used == {n.Side.WORKLOAD}:
                self.client[family] = {}
                station = self.stations.of_stage[family.members[0]]
                if station.servers == [family] and not (station.engines or station.pools):
                    self.stations.all.remove(station)

    def _indexed(self) -> None:
        """Which attributes pick a member of which station."""
        for stmts in self.program.blocks:
            for stmt in stmts:
                for _, ref in stmt_refs(stmt):
                    if ref.index is None:
                        continue
                    if isinstance(stmt, n.Run) and (ref is stmt.stage or ref in stmt.also):
                        station = self.stations.of_stage.get(ref.base)
                    else:
                        station = self.stations.of_pool.get(ref.base)
                    if station is not None:
                        for slot in sorted(attributes_read(ref.index)):
                            self.chosen.setdefault(slot, {})[station] = None

    def _block(self, block: int) -> None:
        for position, stmt in enumerate(self.program.blocks[block]):
            moved = transfer_at(self.program, block, position)
            if moved is not None:
                refs = (moved.run.stage, *moved.run.also)
                self.links.update(self.stations.family_of_stage[ref.base] for ref in refs)
            match stmt:
                case n.Run():
                    family = self.stations.family_of_stage[stmt.stage.base]
                    work = self.words.quantity(stmt.work)
                    every = [
                        self.stations.family_of_stage[r.base] for r in (stmt.stage, *stmt.also)
                    ]
                    for one in every:
                        self.works[one].setdefault(stmt.mode, {})[work] = None
                    if stmt.also:
                        self.joint.update(every)
                    if family in self.client:
                        self.client[family][work] = None
                    if stmt.growing is not None:
                        self.pool(stmt.growing).grows = True
                case n.Grow(pool=ref):
                    self.pool(ref).grows = True
                case n.Hold():
                    self._hold(stmt)

    def _hold(self, hold: n.Hold) -> None:
        words, stations = self.words, self.stations
        runs = list(self.runs_in(hold.body))
        grown = {r.growing.base for r in runs if r.growing is not None}
        for i, held in enumerate(hold.pools):
            use = self.pool(held.pool)
            home = stations.pool(held.pool)
            use.waits |= i == 0
            use.units[words.quantity(held.units, Moment.ADMIT)] = None
            if held.reserve is not None:
                use.reserves[words.quantity(held.reserve, Moment.ADMIT)] = None
            if hold.cache is not None and (not grown or held.pool.base in grown):
                use.caches[words.quantity(hold.cache)] = None
            if hold.lease is not None and hold.lease.pool == held.pool:
                use.leases[words.quantity(hold.lease.time)] = None
            use.inside.update(dict.fromkeys(self._inside_words(hold.body, home)))

    def _held_at(self, block: int) -> None:
        """At which stations the holds of a block are held."""
        for hold in self.program.blocks[block]:
            if not isinstance(hold, n.Hold):
                continue
            # A transfer's link is on the KV's way, not where it lies.
            runs = list(self.runs_in(hold.body, moves=False)) or list(self.runs_in(hold.body))
            for held in hold.pools:
                use = self.pool(held.pool)
                use.held = True
                for run in runs:
                    if not self._is_client(run):
                        for ref in (run.stage, *run.also):
                            use.stations[self.stations.stage(ref)] = None

    def _free_pools(self) -> None:
        """A pool held at one station is part of it; one held at several spans them."""
        for family in self.stations.free_pools():
            held_at = list(self.pools[family].stations)
            if len(held_at) == 1:
                self.stations.attach(family, held_at[0])
            elif held_at:
                self.spanning.append(family)
            else:
                station = Station(family.name, "" if self.pools[family].held else "memory tier")
                self.stations.all.append(station)
                self.stations.attach(family, station)


def bodies(stmt: n.Stmt) -> tuple[int, ...]:
    """The blocks a statement may enter; an arm that its constant guard rules out is none."""
    match stmt:
        case n.Hold(body=body) | n.Loop(body=body) | n.Fork(body=body):
            return (body,)
        case n.While(guard=guard, body=body):
            return () if fold(guard) == 0.0 else (body,)
        case n.Branch(guard=guard, then=then, orelse=orelse):
            value = fold(guard)
            return (then, orelse) if value is None else (then,) if value != 0.0 else (orelse,)
    return ()


@dataclass(frozen=True)
class Transfer:
    """A recognised transfer: from ``source`` to ``target``; ``end`` is the statement after it."""

    waits: tuple[n.Run, ...]
    run: n.Run
    source: n.Ref
    target: n.Ref
    amount: n.Expr
    end: int


def transfer_at(program: n.Program, block: int, position: int) -> Transfer | None:
    """`run` (waits and the links), `load` and `release` in a row; None where it is not."""
    stmts = program.blocks[block]
    runs: list[n.Run] = []
    while position < len(stmts) and isinstance(run := stmts[position], n.Run):
        if run.mode is not n.Mode.PLAIN:
            return None
        runs.append(run)
        position += 1
    if not runs or position + 1 >= len(stmts):
        return None
    load, release = stmts[position], stmts[position + 1]
    if not isinstance(load, n.Load) or not isinstance(release, n.Release):
        return None
    for run in runs[:-1]:  # what stands before the links' run are their latencies
        if not program.stages[run.stage.base].name.endswith(".latency"):
            return None
    return Transfer(tuple(runs[:-1]), runs[-1], release.pool, load.pool, load.amount, position + 2)
