"""The syntax tree: one frozen dataclass per construct of the text, each with its span.

Spans do not take part in equality. Names keep their spelling and place (`Ident`), numbers their
spelling; comments are kept beside the tree by the parser.
"""

from __future__ import annotations

from dataclasses import dataclass, field

from serq.diagnostics import Span


@dataclass(frozen=True, slots=True)
class Node:
    span: Span = field(compare=False, repr=False)


@dataclass(frozen=True, slots=True)
class Ident(Node):
    name: str


# --- expressions --------------------------------------------------------------------------------


@dataclass(frozen=True, slots=True)
class Number(Node):
    """``inf`` is a number word; ``text`` is the spelling."""

    value: float
    text: str


@dataclass(frozen=True, slots=True)
class Part(Node):
    """One step of a path: a name, with or without an index."""

    ident: Ident
    index: Expr | None


@dataclass(frozen=True, slots=True)
class Path(Node):
    """A name as it stands: ``x``, ``kv[j]``, ``running.count``, ``D[j].kv``, ``P.nic[i]``."""

    parts: tuple[Part, ...]


@dataclass(frozen=True, slots=True)
class Call(Node):
    """A function, ``cost``, a time resource of a device, or a definition of an expression."""

    func: Ident
    args: tuple[Expr, ...]


@dataclass(frozen=True, slots=True)
class Draw(Node):
    """``~exp(2)``."""

    dist: Ident
    args: tuple[Expr, ...]


@dataclass(frozen=True, slots=True)
class Unary(Node):
    op: str  # - !
    operand: Expr


@dataclass(frozen=True, slots=True)
class Binary(Node):
    op: str  # + - * / ^ < <= > >= == != && ||
    left: Expr
    right: Expr


@dataclass(frozen=True, slots=True)
class Conditional(Node):
    test: Expr
    then: Expr
    orelse: Expr


@dataclass(frozen=True, slots=True)
class Fold(Node):
    """``max j in n (e)``: an aggregate over an index."""

    op: str  # max min sum
    var: Ident
    count: Expr
    body: Expr


Expr = Number | Path | Call | Draw | Unary | Binary | Conditional | Fold


# --- statements ---------------------------------------------------------------------------------


@dataclass(frozen=True, slots=True)
class Block(Node):
    statements: tuple[Stmt, ...]


@dataclass(frozen=True, slots=True)
class TurnStmt(Node):
    pass


@dataclass(frozen=True, slots=True)
class EndStmt(Node):
    pass


@dataclass(frozen=True, slots=True)
class JoinStmt(Node):
    pass


@dataclass(frozen=True, slots=True)
class SetStmt(Node):
    """``kind`` is the word written: ``set``, ``Size`` or ``Cost``."""

    kind: str
    target: Ident
    value: Expr


@dataclass(frozen=True, slots=True)
class CostField(Node):
    resource: Path
    value: Expr


@dataclass(frozen=True, slots=True)
class CostRecordStmt(Node):
    """``Cost c = { mem : e, svc : f };``."""

    target: Ident
    fields: tuple[CostField, ...]


@dataclass(frozen=True, slots=True)
class ObserveStmt(Node):
    target: Ident
    value: Expr


@dataclass(frozen=True, slots=True)
class Taking(Node):
    """A pool, the units wanted of it and the reserve: in ``hold`` and in ``taking``."""

    pool: Path
    units: Expr
    reserve: Expr | None


@dataclass(frozen=True, slots=True)
class Binding(Node):
    target: Ident
    value: Expr


@dataclass(frozen=True, slots=True)
class LeaseClause(Node):
    pool: Path
    time: Expr


@dataclass(frozen=True, slots=True)
class HoldStmt(Node):
    pools: tuple[Taking, ...]
    reuse: Expr | None
    bindings: tuple[Binding, ...]
    body: Block
    cache: Expr | None
    lease: LeaseClause | None


@dataclass(frozen=True, slots=True)
class GrowStmt(Node):
    pool: Path
    amount: Expr


@dataclass(frozen=True, slots=True)
class LoadStmt(Node):
    pool: Path
    amount: Expr


@dataclass(frozen=True, slots=True)
class DropStmt(Node):
    pool: Path


@dataclass(frozen=True, slots=True)
class ReleaseStmt(Node):
    pool: Path


@dataclass(frozen=True, slots=True)
class RunStmt(Node):
    """No stage: a queue's own. Several stages: one job that holds them all."""

    stages: tuple[Path, ...]
    mode: str | None  # prefill decode
    work: Expr
    growing: Path | None


@dataclass(frozen=True, slots=True)
class BranchStmt(Node):
    """``drawn`` marks ``branch with (p)``."""

    guard: Expr
    drawn: bool
    then: Block
    orelse: Block | None


@dataclass(frozen=True, slots=True)
class WhileStmt(Node):
    guard: Expr
    body: Block


@dataclass(frozen=True, slots=True)
class LoopStmt(Node):
    body: Block


@dataclass(frozen=True, slots=True)
class ForkStmt(Node):
    body: Block


@dataclass(frozen=True, slots=True)
class ChooseStmt(Node):
    var: Ident
    count: Expr
    keys: tuple[Expr, ...]


@dataclass(frozen=True, slots=True)
class Destination(Node):
    """``to kv (n)`` of a transfer or of an entry call."""

    pool: Path
    amount: Expr


@dataclass(frozen=True, slots=True)
class ServingStmt(Node):
    """``transfer`` or ``tool``: ``index`` of the role's stage, or the stages named by ``on``."""

    form: str  # transfer tool
    index: Expr | None
    stages: tuple[Path, ...]
    amount: Expr
    source: Path | None
    destination: Destination | None


@dataclass(frozen=True, slots=True)
class EngineRunStmt(Node):
    """``prefill (e) growing P;`` and ``decode (e) …;`` in an engine's request."""

    mode: str
    work: Expr
    growing: Path | None


@dataclass(frozen=True, slots=True)
class EntryCallStmt(Node):
    """``D[j].decode (prompt) from P[i];``, ``nic.transfer (n) from P to kv (m);``."""

    queue: Part
    verb: Ident
    args: tuple[Expr, ...]
    source: Part | None
    destination: Destination | None


@dataclass(frozen=True, slots=True)
class CallStmt(Node):
    """``NAME (arg, …);``: an engine's request or a definition of statements."""

    func: Ident
    args: tuple[Expr, ...]


@dataclass(frozen=True, slots=True)
class MarkStmt(Node):
    target: Ident


@dataclass(frozen=True, slots=True)
class AdmissionStmt(Node):
    """``at admission { x = e; … }`` in an engine's request."""

    bindings: tuple[Binding, ...]


@dataclass(frozen=True, slots=True)
class CacheStmt(Node):
    """``cache (e);`` in an engine's request."""

    amount: Expr


Stmt = (
    TurnStmt | EndStmt | JoinStmt | SetStmt | CostRecordStmt | ObserveStmt | HoldStmt | GrowStmt
    | LoadStmt | DropStmt | ReleaseStmt | RunStmt | BranchStmt | WhileStmt | LoopStmt | ForkStmt
    | ChooseStmt | ServingStmt | EngineRunStmt | EntryCallStmt | CallStmt | MarkStmt
    | AdmissionStmt | CacheStmt
)  # fmt: skip


# --- an engine's schedule -----------------------------------------------------------------------


@dataclass(frozen=True, slots=True)
class ScheduleLet(Node):
    target: Ident
    value: Expr


@dataclass(frozen=True, slots=True)
class Advance(Node):
    """``advance running …``; ``order`` is ``admission``, ``decode first``, ``by`` or None."""

    only: Expr | None
    order: str | None
    keys: tuple[Expr, ...]
    each_at_most: Expr | None


@dataclass(frozen=True, slots=True)
class Admit(Node):
    """``admit waiting …``."""

    only: Expr | None
    gate: Expr | None
    each_at_most: Expr | None
    taking: tuple[Taking, ...]
    reuse: Expr | None


@dataclass(frozen=True, slots=True)
class ExclusivePrefillItem(Node):
    each_at_most: Expr | None


@dataclass(frozen=True, slots=True)
class ScheduleBranch(Node):
    guard: Expr
    then: tuple[ScheduleStmt, ...]
    orelse: tuple[ScheduleStmt, ...]


@dataclass(frozen=True, slots=True)
class ScheduleSet(Node):
    target: Ident
    value: Expr


ScheduleStmt = Advance | Admit | ExclusivePrefillItem | ScheduleBranch | ScheduleSet


# --- declarations -------------------------------------------------------------------------------


@dataclass(frozen=True, slots=True)
class UseDecl(Node):
    path: str


@dataclass(frozen=True, slots=True)
class ArgsNumber(Node):
    """``args.number ("name", default)``."""

    name: str
    default: Expr


@dataclass(frozen=True, slots=True)
class LetDecl(Node):
    target: Ident
    value: Expr | ArgsNumber


@dataclass(frozen=True, slots=True)
class DefDecl(Node):
    """A definition: of an expression when ``body`` is one, otherwise of statements."""

    target: Ident
    params: tuple[Ident, ...]
    body: Expr | Block


@dataclass(frozen=True, slots=True)
class CapOption(Node):
    value: Expr


@dataclass(frozen=True, slots=True)
class BlockOption(Node):
    value: Expr


@dataclass(frozen=True, slots=True)
class EvictOption(Node):
    """No keys: ``lru``."""

    keys: tuple[Expr, ...]


@dataclass(frozen=True, slots=True)
class PreemptOption(Node):
    """``rule`` is ``none``, ``lifo`` or ``by``."""

    rule: str
    keys: tuple[Expr, ...]
    requeue: str | None  # head tail


@dataclass(frozen=True, slots=True)
class QueueOption(Node):
    """No keys: ``fifo``."""

    keys: tuple[Expr, ...]


@dataclass(frozen=True, slots=True)
class ReserveOption(Node):
    pass


@dataclass(frozen=True, slots=True)
class SpillOption(Node):
    to: Path
    via: Path
    work: Expr
    when: Expr


PoolOption = (
    CapOption | BlockOption | EvictOption | PreemptOption | QueueOption | ReserveOption
    | SpillOption
)  # fmt: skip


@dataclass(frozen=True, slots=True)
class PoolDecl(Node):
    """``pool kv on gpu { … }`` has an owner; ``on vllm.gpu`` is an owner of two parts."""

    target: Ident
    size: Expr | None
    owner: Path | None
    options: tuple[PoolOption, ...]


@dataclass(frozen=True, slots=True)
class StageKind(Node):
    """``fifo``, ``fifo (c)``, ``ps (e)``, ``delay``."""

    kind: str
    argument: Expr | None


@dataclass(frozen=True, slots=True)
class StageDecl(Node):
    target: Ident
    size: Expr | None
    kind: StageKind


@dataclass(frozen=True, slots=True)
class TimeResource(Node):
    target: Ident
    params: tuple[Ident, ...]
    body: Expr


@dataclass(frozen=True, slots=True)
class Capacity(Node):
    target: Ident
    size: Expr | None
    value: Expr


@dataclass(frozen=True, slots=True)
class DeviceDecl(Node):
    target: Ident
    size: Expr | None
    resources: tuple[TimeResource | Capacity, ...]


@dataclass(frozen=True, slots=True)
class TokensItem(Node):
    value: Expr


@dataclass(frozen=True, slots=True)
class GranuleItem(Node):
    value: Expr


@dataclass(frozen=True, slots=True)
class StateItem(Node):
    target: Ident
    value: Expr


@dataclass(frozen=True, slots=True)
class ScheduleItem(Node):
    lets: tuple[ScheduleLet, ...]
    body: tuple[ScheduleStmt, ...]


@dataclass(frozen=True, slots=True)
class ExecuteItem(Node):
    value: Expr


@dataclass(frozen=True, slots=True)
class RequestItem(Node):
    params: tuple[Ident, ...]
    body: Block


EngineItem = (
    Capacity | TokensItem | GranuleItem | StateItem | ScheduleItem | ExecuteItem | RequestItem
)


@dataclass(frozen=True, slots=True)
class EngineDecl(Node):
    """In a queue, ``target`` is None: the engine is named after the queue."""

    target: Ident | None
    size: Expr | None
    device: Ident
    items: tuple[EngineItem, ...]


@dataclass(frozen=True, slots=True)
class ArriveItem(Node):
    """``law`` is ``poisson``, ``renewal``, ``closed``, ``batch`` or ``none``."""

    law: str
    argument: Expr | None


@dataclass(frozen=True, slots=True)
class TraceItem(Node):
    path: str
    ordered: bool


@dataclass(frozen=True, slots=True)
class BlockItem(Node):
    """``init``, ``turn`` or ``session`` of a workload."""

    name: str
    body: Block


@dataclass(frozen=True, slots=True)
class HiddenItem(Node):
    names: tuple[Ident, ...]


WorkloadItem = ArriveItem | TraceItem | BlockItem | HiddenItem


@dataclass(frozen=True, slots=True)
class WorkloadDecl(Node):
    items: tuple[WorkloadItem, ...]


@dataclass(frozen=True, slots=True)
class ServerDecl(Node):
    body: Block


@dataclass(frozen=True, slots=True)
class ServeItem(Node):
    kind: StageKind
    latency: Expr | None


@dataclass(frozen=True, slots=True)
class NicItem(Node):
    kind: StageKind


@dataclass(frozen=True, slots=True)
class EntryItem(Node):
    """``prefill (prompt) { … }``, ``decode (prompt) from P { … }``, ``route { … }``."""

    verb: Ident
    params: tuple[Ident, ...]
    source: Ident | None
    body: Block


QueueItem = PoolDecl | DeviceDecl | EngineDecl | ServeItem | NicItem | EntryItem


@dataclass(frozen=True, slots=True)
class QueueDecl(Node):
    target: Ident
    size: Expr | None
    roles: tuple[Ident, ...]
    items: tuple[QueueItem, ...]


@dataclass(frozen=True, slots=True)
class ShareDecl(Node):
    policy: str  # maxmin bottleneck


@dataclass(frozen=True, slots=True)
class RelationDecl(Node):
    """``D pull P …``: the reader and its source. ``P push D …``: the source and its reader."""

    subject: Ident
    verb: str  # pull push
    other: Ident
    latency: Expr | None
    policy: str


@dataclass(frozen=True, slots=True)
class GaugeDecl(Node):
    target: Ident
    value: Expr


@dataclass(frozen=True, slots=True)
class ClaimDecl(Node):
    """``form`` is ``every``, ``some`` or ``end``."""

    target: Ident
    given: Expr | None
    form: str
    stage: Path | None
    value: Expr


Item = (
    UseDecl | LetDecl | DefDecl | PoolDecl | StageDecl | DeviceDecl | EngineDecl | WorkloadDecl
    | ServerDecl | QueueDecl | ShareDecl | RelationDecl | GaugeDecl | ClaimDecl
)  # fmt: skip


@dataclass(frozen=True, slots=True)
class Module(Node):
    """A file: what stands before ``fn main ()``, and its items (None in a library)."""

    preamble: tuple[UseDecl | LetDecl | DefDecl, ...]
    main: tuple[Item, ...] | None


# --- instance files -----------------------------------------------------------------------------


@dataclass(frozen=True, slots=True)
class Setting(Node):
    """``horizon 100;`` in the ``run { … }`` of an instance file."""

    target: Ident  # horizon warmup seed arrivals
    value: Number


@dataclass(frozen=True, slots=True)
class Instance(Node):
    """An instance file: values for the program's inputs, and settings of the run."""

    lets: tuple[LetDecl, ...]
    settings: tuple[Setting, ...]
