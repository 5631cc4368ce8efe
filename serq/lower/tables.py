"""What a program declares: the tables that names are looked up in."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, field

from serq.diagnostics import Span
from serq.lower.limits import Budget
from serq.lower.scope import Scope
from serq.lower.tree import subtree
from serq.syntax import ast


@dataclass(slots=True)
class Constant:
    """A ``let``. ``order`` is its place among the lets: one reads only those before it."""

    name: str
    value: float
    span: Span
    order: int
    inputs: frozenset[str] = frozenset()  # external inputs its value depends on


@dataclass(slots=True)
class Definition:
    """A ``def``; ``order`` is its place among the definitions."""

    name: str
    params: tuple[str, ...]
    body: ast.Expr | ast.Block
    decl: ast.DefDecl
    order: int
    place: Span  # where it comes in: the `def`, or the program's `use` of its library


@dataclass(slots=True)
class Family:
    """Members ``base … base + count - 1`` of the pools or stages, under one name.

    ``family`` is false for a single one declared without ``[N]``, which needs no index.
    """

    kind: str  # pool, stage
    name: str
    span: Span
    count: int
    family: bool
    base: int = -1

    def __post_init__(self) -> None:
        assert self.count >= 1


@dataclass(slots=True)
class PoolFamily(Family):
    decl: ast.PoolDecl | None = None
    cap: float = float("inf")
    block: float | None = None
    via: StageFamily | None = None  # the engine that admits its queue
    each_via: bool = False  # every member admitted by the one engine
    queue: Queue | None = None
    scope: Scope | None = None  # where its options are read


@dataclass(slots=True)
class StageFamily(Family):
    service: str = "fifo"  # fifo, ps, delay, step
    servers: int = 1  # of a fifo
    argument: ast.Expr | None = None
    scope: Scope | None = None
    engine: Engine | None = None
    queue: Queue | None = None
    role: str = ""  # of a queue's stage: its own "", "nic", "latency"
    latency: float | None = None


@dataclass(slots=True)
class Device:
    name: str
    span: Span
    count: int
    family: bool
    resources: dict[str, ast.TimeResource]
    capacities: dict[str, ast.Capacity]
    queue: Queue | None = None
    engine: Engine | None = None
    pools: dict[str, PoolFamily] = field(default_factory=dict)


@dataclass(slots=True)
class Engine:
    name: str
    span: Span
    decl: ast.EngineDecl
    device: Device | None
    stage: StageFamily
    queue: Queue | None = None
    capacities: dict[str, ast.Capacity] = field(default_factory=dict)
    registers: dict[str, int] = field(default_factory=dict)
    lets: dict[str, ast.ScheduleLet] = field(default_factory=dict)
    request: ast.RequestItem | None = None
    taking: tuple[ast.Taking, ...] = ()
    reuse: ast.Expr | None = None
    pools: dict[str, PoolFamily] = field(default_factory=dict)
    marks: dict[str, Span] = field(default_factory=dict)

    def item(self, kind: type) -> ast.EngineItem | None:
        """The first item of that class."""
        for item in self.decl.items:
            if isinstance(item, kind):
                return item
        return None


@dataclass(slots=True)
class Entry:
    verb: str
    item: ast.EntryItem
    queue: Queue
    source: Queue | None  # of `decode (prompt) from P`
    faulty: bool = False  # a fault in its head was reported: calls of it are not looked into

    @property
    def source_name(self) -> str | None:
        return None if self.item.source is None else self.item.source.name


@dataclass(slots=True)
class Queue:
    name: str
    span: Span
    decl: ast.QueueDecl
    count: int
    family: bool
    roles: tuple[str, ...] = ()
    pools: dict[str, PoolFamily] = field(default_factory=dict)
    devices: dict[str, Device] = field(default_factory=dict)
    stage: StageFamily | None = None
    engine: Engine | None = None
    nic: StageFamily | None = None
    nic_latency: StageFamily | None = None
    latency: StageFamily | None = None
    entries: list[Entry] = field(default_factory=list)

    def entry(self, verb: str, source: str | None) -> Entry | None:
        """The entry of that verb, and of the queue that its `from` names."""
        for entry in self.entries:
            if entry.verb == verb and entry.source_name == source:
                return entry
        return None

    def leased_pool(self) -> str | None:
        """The pool of its own that its entries lease, by the name within."""
        for entry in self.entries:
            for name in leases(entry.item.body):
                if name in self.pools:
                    return name
        return None


def leases(block: ast.Block) -> Iterator[str]:
    """The pools that the holds of a block lease by their bare names, in the order of the text."""
    for node in subtree(block):
        if isinstance(node, ast.HoldStmt) and node.lease is not None:
            path = node.lease.pool
            if len(path.parts) == 1 and path.parts[0].index is None:
                yield path.parts[0].ident.name


def always_leased(tables: Tables, block: ast.Block, pool: str) -> bool:
    """Whether every way through a block leases the pool."""
    return any(_leased(tables, statement, pool) for statement in block.statements)


def _leased(tables: Tables, s: ast.Stmt, pool: str) -> bool:
    match s:
        case ast.HoldStmt():
            path = s.lease.pool if s.lease is not None else None
            if path is not None and len(path.parts) == 1 and path.parts[0].ident.name == pool:
                return True
            return always_leased(tables, s.body, pool)
        case ast.BranchStmt(orelse=orelse) if orelse is not None:
            return always_leased(tables, s.then, pool) and always_leased(tables, orelse, pool)
        case ast.LoopStmt():
            return always_leased(tables, s.body, pool)
        case ast.CallStmt():
            used = tables.definitions.get(s.func.name)
            if used is not None and isinstance(used.body, ast.Block):
                return always_leased(tables, used.body, pool)
    return False


@dataclass(slots=True)
class Relation:
    """The KV goes from ``source`` to ``reader``; ``poster`` waits before each copy."""

    source: Queue
    reader: Queue
    poster: Queue
    latency: float | None
    policy: str
    span: Span


@dataclass(slots=True)
class Tables:
    """Everything a program declares, by name."""

    constants: dict[str, Constant] = field(default_factory=dict)
    definitions: dict[str, Definition] = field(default_factory=dict)
    pools: dict[str, PoolFamily] = field(default_factory=dict)
    stages: dict[str, StageFamily] = field(default_factory=dict)
    devices: dict[str, Device] = field(default_factory=dict)
    engines: dict[str, Engine] = field(default_factory=dict)
    queues: dict[str, Queue] = field(default_factory=dict)
    relations: list[Relation] = field(default_factory=list)
    faulty_relations: set[str] = field(default_factory=set)  # queues named in a refused one
    gauges: dict[str, ast.GaugeDecl] = field(default_factory=dict)
    claims: dict[str, ast.ClaimDecl] = field(default_factory=dict)
    workload: ast.WorkloadDecl | None = None
    server: ast.ServerDecl | None = None
    share: ast.ShareDecl | None = None
    pool_order: list[PoolFamily] = field(default_factory=list)
    stage_order: list[StageFamily] = field(default_factory=list)
    registers: list[tuple[str, Engine, float]] = field(default_factory=list)
    tool: StageFamily | None = None  # the workload's implicit stage
    attributes: dict[str, Span] = field(default_factory=dict)  # assigned anywhere, first place
    bindings: dict[str, Span] = field(default_factory=dict)  # of `at admission`, first place
    dotted: dict[str, Span] = field(default_factory=dict)  # fields of records, and marks
    marks: dict[str, Span] = field(default_factory=dict)
    observations: dict[str, Span] = field(default_factory=dict)
    budget: Budget = field(default_factory=Budget)
    terms: int = 0  # how many terms the aggregates have written out so far
    terms_reported: bool = False
    records: dict[str, ast.CostRecordStmt] = field(default_factory=dict)

    def number_families(self) -> None:
        """Give every family its base, in the order of declaration."""
        base = 0
        for pool in self.pool_order:
            pool.base = base
            base += pool.count
        base = 0
        for stage in self.stage_order:
            stage.base = base
            base += stage.count

    def families(self) -> Iterator[Family]:
        yield from self.pool_order
        yield from self.stage_order
