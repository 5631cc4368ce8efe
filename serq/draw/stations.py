"""What a deployment is made of: families of pools and stages, grouped into stations.

A station is what a reader would point at: a queue with its pools, stage and NIC; an engine with
what it admits from and computes in; a plain stage. With a source map the groups and their names
are the text's; without, they follow from the IR (an engine's memory, the pools it admits) and
from dotted names (``P.kv`` belongs to ``P``).
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field

from serq.ir import nodes as n
from serq.link.source_map import SourceMap

DELAY = n.Ps(n.CtxVar(n.Ctx.N))


@dataclass(eq=False)
class Family:
    """Pools or stages of one name: ``members`` are their indices in the program."""

    name: str
    members: list[int]
    array: bool

    @property
    def count(self) -> int:
        return len(self.members)


@dataclass(eq=False)
class Station:
    """A place of the deployment; ``title`` as a reader knows it, ``role`` in a few words."""

    title: str
    role: str = ""
    device: str | None = None
    engines: list[Family] = field(default_factory=list)
    servers: list[Family] = field(default_factory=list)
    pools: list[Family] = field(default_factory=list)
    nics: list[Family] = field(default_factory=list)
    latencies: list[Family] = field(default_factory=list)
    full: str = ""

    @property
    def count(self) -> int:
        """How many members the station has: those of its largest family."""
        lead = self.engines or self.servers or self.pools or self.nics
        return max((f.count for f in lead), default=1)


def families(members: Sequence[n.Pool] | Sequence[n.Stage]) -> list[Family]:
    """Neighbours of one name whose indices count up from 0."""
    out: list[Family] = []
    every: Iterable[n.Pool | n.Stage] = members
    for i, member in enumerate(every):
        last = out[-1] if out else None
        if (
            last is not None
            and last.array
            and last.name == member.name
            and member.index == last.count
        ):
            last.members.append(i)
        else:
            out.append(Family(member.name, [i], member.index is not None))
    return out


class Stations:
    """The stations of a program, and which station a pool or a stage is part of."""

    def __init__(self, program: n.Program, source_map: SourceMap | None) -> None:
        self.program = program
        self.map = source_map
        self.pool_families = families(program.pools)
        self.stage_families = families(program.stages)
        self.all: list[Station] = []
        self.of_stage: dict[int, Station] = {}
        self.of_pool: dict[int, Station] = {}
        self.family_of_pool = {i: f for f in self.pool_families for i in f.members}
        self.family_of_stage = {i: f for f in self.stage_families for i in f.members}
        self._by_name: dict[str, Station] = {}
        self._queues()
        self._engines()
        self._dotted()
        self._plain()

    def free_pools(self) -> list[Family]:
        """The families of pools that are no station's."""
        return [f for f in self.pool_families if f.members[0] not in self.of_pool]

    def attach(self, pool: Family, station: Station) -> None:
        """Make a pool part of a station."""
        station.pools.append(pool)
        for i in pool.members:
            self.of_pool[i] = station

    def stage(self, ref: n.Ref) -> Station:
        return self.of_stage[ref.base]

    def pool(self, ref: n.Ref) -> Station | None:
        return self.of_pool.get(ref.base)

    # --- grouping -------------------------------------------------------------------------------

    def _new(self, title: str, role: str = "") -> Station:
        station = Station(title, role)
        self.all.append(station)
        self._by_name.setdefault(title, station)
        return station

    def _queues(self) -> None:
        if self.map is None:
            return
        for queue in self.map.queues.values():
            if queue.pools or queue.stage or queue.nic:
                self._new(queue.name, " · ".join(queue.roles))

    def _engines(self) -> None:
        """Engines with their memory and the pools they admit; a shared memory joins stations."""
        program = self.program
        known = {} if self.map is None else self.map.engines
        for family in self.stage_families:
            if not isinstance(program.stages[family.members[0]].kind, n.Step):
                continue
            info = known.get(family.name)
            pools = [f for f in self.pool_families if self._serves(family, f)]
            station = self._by_name.get(family.name)
            if station is None:
                joined = [self.of_pool[f.members[0]] for f in pools if f.members[0] in self.of_pool]
                station = joined[0] if joined else self._new(family.name, "engine")
            station.engines.append(family)
            if info is not None and info.device is not None:
                station.device = info.device
            self._claim_stages(station, family)
            for pool in pools:
                if pool.members[0] not in self.of_pool:
                    self.attach(pool, station)

    def _serves(self, engine: Family, pool: Family) -> bool:
        """Whether a pool is an engine's memory, or its queue is the engine's to admit from."""
        stages, pools = self.program.stages, self.program.pools
        memory = {kind.memory for i in engine.members if isinstance(kind := stages[i].kind, n.Step)}
        return any(i in memory or pools[i].admit_via in engine.members for i in pool.members)

    def _dotted(self) -> None:
        """``P.nic`` and ``P.kv`` belong to ``P``, where there is one."""
        heads = {f.name for f in self.stage_families} | set(self._by_name)
        for family in self.stage_families:
            head, dot, rest = family.name.partition(".")
            if not dot or head not in heads or family.members[0] in self.of_stage:
                continue
            station = self._by_name.get(head) or self._new(head)
            self._claim_stages(station, family)
            if rest.endswith("latency"):
                station.latencies.append(family)
            elif rest == "nic":
                station.nics.append(family)
            else:
                station.servers.append(family)
        for family in self.pool_families:
            head, dot, _ = family.name.partition(".")
            if dot and head in heads and family.members[0] not in self.of_pool:
                self.attach(family, self._by_name.get(head) or self._new(head))

    def _plain(self) -> None:
        for family in self.stage_families:
            if family.members[0] in self.of_stage:
                continue
            station = self._by_name.get(family.name) or self._new(family.name)
            station.servers.append(family)
            self._claim_stages(station, family)

    def _claim_stages(self, station: Station, family: Family) -> None:
        for i in family.members:
            self.of_stage[i] = station
