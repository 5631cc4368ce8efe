"""The IR: what a program means, one frozen dataclass per JSON construct of version 13.

The dataclasses mirror the JSON of the interchange format name for name; ``codec`` maps the two.
Identity matters to one reader only: the source map beside the IR finds a node's span by the
node object, so whoever builds an IR from text makes a new node for every occurrence.
"""

from __future__ import annotations

from dataclasses import dataclass
from enum import StrEnum

VERSION = 13

BUILTIN_ATTRS = ("cached", "serial", "turn_no", "new", "out", "think", "more", "forced", "computed")
"""The attributes in slots 0 to 8 of every program."""


class Ctx(StrEnum):
    """A context variable: a value that the evaluation moment supplies."""

    NOW = "Now"
    WAITED = "Waited"
    SIZE = "Size"
    AGE = "Age"
    LAST = "Last"
    QUEUED = "Queued"
    N = "N"
    NTOK = "Ntok"
    NDEC = "Ndec"
    NPRE = "Npre"
    NRES = "Nres"
    KVB = "Kvb"
    KVP = "Kvp"
    ATTN = "Attn"
    DECODING = "Decoding"
    ADMISSION = "Admission"
    REMAINING = "Remaining"
    POSITION = "Position"
    ADMITTED = "Admitted"
    PREEMPTED = "Preempted"
    DEMAND = "Demand"
    SERVED = "Served"
    ARRIVED = "Arrived"


class Dist(StrEnum):
    EXP = "Exp"
    DET = "Det"
    UNIFORM = "Uniform"
    ERLANG = "Erlang"
    H2 = "H2"
    BERNOULLI = "Bernoulli"


class Fun(StrEnum):
    MIN = "Min"
    MAX = "Max"
    ABS = "Abs"
    FLOOR = "Floor"
    CEIL = "Ceil"
    SQRT = "Sqrt"
    EXP = "Exp"
    LN = "Ln"
    POW = "Pow"
    QUEUE = "Queue"
    BUSY = "Busy"
    WORK = "Work"
    USED = "Used"
    FREE = "Free"
    CACHED_IN = "CachedIn"
    HOLDERS = "Holders"
    QUEUED = "Queued"
    PRICE = "Price"
    BUDGET_LEFT = "BudgetLeft"
    EST_LAMBDA = "EstLambda"
    EST_RHO = "EstRho"
    EST_WAIT = "EstWait"
    PREEMPTIONS = "Preemptions"
    REJECTED = "Rejected"
    STUCK = "Stuck"
    RECOMPUTED = "Recomputed"


class UnaryOp(StrEnum):
    NEG = "Neg"
    NOT = "Not"


class BinaryOp(StrEnum):
    ADD = "Add"
    SUB = "Sub"
    MUL = "Mul"
    DIV = "Div"
    POW = "Pow"
    LT = "Lt"
    LE = "Le"
    GT = "Gt"
    GE = "Ge"
    EQ = "Eq"
    NE = "Ne"
    AND = "And"
    OR = "Or"


class Aggregate(StrEnum):
    """An aggregate of an observation's values, read in a claim at the end."""

    TOTAL = "Total"
    COUNT = "Count"
    LARGEST = "Largest"
    SMALLEST = "Smallest"
    PREFIX_TOTAL = "PrefixTotal"


class Mode(StrEnum):
    PLAIN = "Plain"
    PREFILL = "Prefill"
    DECODE = "Decode"


class Side(StrEnum):
    WORKLOAD = "Workload"
    SERVER = "Server"


class Share(StrEnum):
    MAX_MIN = "MaxMin"
    BOTTLENECK = "Bottleneck"


# --- references and expressions -----------------------------------------------------------------


@dataclass(frozen=True, slots=True)
class Ref:
    """Members ``base … base + count - 1`` of the pools or stages, selected by ``index``."""

    base: int
    count: int
    index: Expr | None = None


@dataclass(frozen=True, slots=True)
class Num:
    value: float


@dataclass(frozen=True, slots=True)
class Attr:
    slot: int


@dataclass(frozen=True, slots=True)
class CtxVar:
    """JSON ``{"Ctx": name}``."""

    name: Ctx


@dataclass(frozen=True, slots=True)
class Sample:
    dist: Dist
    args: tuple[Expr, ...]


@dataclass(frozen=True, slots=True)
class ExprArg:
    expr: Expr


@dataclass(frozen=True, slots=True)
class PoolArg:
    ref: Ref


@dataclass(frozen=True, slots=True)
class StageArg:
    ref: Ref


Arg = ExprArg | PoolArg | StageArg


@dataclass(frozen=True, slots=True)
class Call:
    fun: Fun
    args: tuple[Arg, ...]


@dataclass(frozen=True, slots=True)
class Unary:
    op: UnaryOp
    operand: Expr


@dataclass(frozen=True, slots=True)
class Binary:
    op: BinaryOp
    left: Expr
    right: Expr


@dataclass(frozen=True, slots=True)
class Cond:
    test: Expr
    then: Expr
    orelse: Expr


@dataclass(frozen=True, slots=True)
class PoolTarget:
    """JSON ``{"Pool": {"base": b, "count": n}}``: a family of pools as a cost's resource."""

    base: int
    count: int


@dataclass(frozen=True, slots=True)
class StageTarget:
    base: int
    count: int


@dataclass(frozen=True, slots=True)
class JointTarget:
    """Two or more resources: pools before stages, each by base, no duplicates."""

    targets: tuple[PoolTarget | StageTarget, ...]


Target = PoolTarget | StageTarget | JointTarget


@dataclass(frozen=True, slots=True)
class Cost:
    target: Target
    expr: Expr


@dataclass(frozen=True, slots=True)
class Agg:
    aggregate: Aggregate
    observe: int


@dataclass(frozen=True, slots=True)
class Reg:
    register: int


Expr = Num | Attr | CtxVar | Sample | Call | Unary | Binary | Cond | Cost | Agg | Reg


# --- statements ---------------------------------------------------------------------------------


@dataclass(frozen=True, slots=True)
class Turn:
    pass


@dataclass(frozen=True, slots=True)
class End:
    pass


@dataclass(frozen=True, slots=True)
class Join:
    pass


@dataclass(frozen=True, slots=True)
class Set:
    slot: int
    expr: Expr


@dataclass(frozen=True, slots=True)
class Observe:
    observe: int
    expr: Expr


@dataclass(frozen=True, slots=True)
class HoldPool:
    """JSON ``[ref, units, reserve | null]``."""

    pool: Ref
    units: Expr
    reserve: Expr | None = None


@dataclass(frozen=True, slots=True)
class Lease:
    """JSON ``[ref, expr]``: the allocation on ``pool`` stays for ``time`` after the scope."""

    pool: Ref
    time: Expr


@dataclass(frozen=True, slots=True)
class Hold:
    pools: tuple[HoldPool, ...]
    reuse: Expr | None
    body: int
    cache: Expr | None
    lease: Lease | None


@dataclass(frozen=True, slots=True)
class Grow:
    pool: Ref
    amount: Expr


@dataclass(frozen=True, slots=True)
class Load:
    pool: Ref
    amount: Expr


@dataclass(frozen=True, slots=True)
class Drop:
    pool: Ref


@dataclass(frozen=True, slots=True)
class Release:
    pool: Ref


@dataclass(frozen=True, slots=True)
class Run:
    stage: Ref
    mode: Mode
    work: Expr
    growing: Ref | None
    also: tuple[Ref, ...] = ()


@dataclass(frozen=True, slots=True)
class Branch:
    guard: Expr
    then: int
    orelse: int


@dataclass(frozen=True, slots=True)
class Loop:
    body: int


@dataclass(frozen=True, slots=True)
class While:
    guard: Expr
    body: int


@dataclass(frozen=True, slots=True)
class Fork:
    body: int


@dataclass(frozen=True, slots=True)
class Choose:
    var: int
    count: Expr
    key: tuple[Expr, ...]


Stmt = (
    Turn | End | Join | Set | Observe | Hold | Grow | Load | Drop | Release
    | Run | Branch | Loop | While | Fork | Choose
)  # fmt: skip


# --- pools --------------------------------------------------------------------------------------


@dataclass(frozen=True, slots=True)
class Lru:
    pass


@dataclass(frozen=True, slots=True)
class EvictBy:
    """JSON ``{"By": [expr …]}``."""

    keys: tuple[Expr, ...]


@dataclass(frozen=True, slots=True)
class NoPreempt:
    """JSON ``"None"``."""


@dataclass(frozen=True, slots=True)
class PreemptBy:
    """JSON ``{"By": {"keys": [expr …], "tail": bool}}``; ``tail`` is not printed when false."""

    keys: tuple[Expr, ...]
    tail: bool = False


@dataclass(frozen=True, slots=True)
class Spill:
    to: int
    via: int
    work: Expr
    when: Expr


@dataclass(frozen=True, slots=True)
class Pool:
    name: str
    index: int | None
    cap: float
    block: float | None
    evict: Lru | EvictBy
    preempt: NoPreempt | PreemptBy
    queue: tuple[Expr, ...] | None
    spill: Spill | None
    admit_via: int | None
    reserve_held: bool = False


# --- stages -------------------------------------------------------------------------------------


@dataclass(frozen=True, slots=True)
class Fifo:
    servers: int


@dataclass(frozen=True, slots=True)
class Ps:
    capacity: Expr


@dataclass(frozen=True, slots=True)
class ServeBy:
    """JSON ``{"By": [expr …]}``: the serving keys of an engine, none for admission order."""

    keys: tuple[Expr, ...]


@dataclass(frozen=True, slots=True)
class ExclusivePrefill:
    pass


@dataclass(frozen=True, slots=True)
class IterServe:
    """JSON ``{"Serve": {"only"?: expr, "by"?: [expr …]}}``."""

    only: Expr | None
    by: tuple[Expr, ...] | None


@dataclass(frozen=True, slots=True)
class IterAdmit:
    """JSON ``{"Admit": {"only"?: expr, "gate"?: expr}}``."""

    only: Expr | None
    gate: Expr | None


@dataclass(frozen=True, slots=True)
class IterBranch:
    guard: Expr
    then: tuple[IterStmt, ...]
    orelse: tuple[IterStmt, ...]


@dataclass(frozen=True, slots=True)
class IterSet:
    register: int
    expr: Expr


IterStmt = IterServe | IterAdmit | IterBranch | IterSet


@dataclass(frozen=True, slots=True)
class Step:
    """An engine: ``chunk`` 0 is no cap, ``memory`` the pool on the engine's device."""

    budget: Expr
    cost: Expr
    chunk: Expr
    granule: Expr | None
    serve: ServeBy | ExclusivePrefill
    memory: int | None
    iteration: tuple[IterStmt, ...] | None = None


@dataclass(frozen=True, slots=True)
class Stage:
    name: str
    index: int | None
    kind: Fifo | Ps | Step


# --- the program --------------------------------------------------------------------------------


@dataclass(frozen=True, slots=True)
class Poisson:
    rate: float


@dataclass(frozen=True, slots=True)
class Renewal:
    gap: Expr


@dataclass(frozen=True, slots=True)
class Closed:
    population: int


@dataclass(frozen=True, slots=True)
class Batch:
    size: int


@dataclass(frozen=True, slots=True)
class NoArrivals:
    """JSON ``"None"``."""


@dataclass(frozen=True, slots=True)
class SessionData:
    """One explicit session: slot presets, and optionally the presets of each of its turns."""

    attrs: tuple[tuple[int, float], ...]
    turns: tuple[tuple[tuple[int, float], ...], ...] | None = None


@dataclass(frozen=True, slots=True)
class Sessions:
    sessions: tuple[SessionData, ...]


Arrival = Poisson | Renewal | Closed | Batch | NoArrivals | Sessions


@dataclass(frozen=True, slots=True)
class SizeType:
    """JSON ``"Size"``: a quantity that the workload owns."""


@dataclass(frozen=True, slots=True)
class ValueType:
    """JSON ``"Value"``: a number that the server owns."""


@dataclass(frozen=True, slots=True)
class CostType:
    """JSON ``{"Cost": target}``: a cost of the target's resources."""

    target: Target


AttrType = SizeType | ValueType | CostType


@dataclass(frozen=True, slots=True)
class Gauge:
    name: str
    expr: Expr


@dataclass(frozen=True, slots=True)
class AtEnd:
    pass


@dataclass(frozen=True, slots=True)
class EveryIteration:
    stage: int


@dataclass(frozen=True, slots=True)
class SomeIteration:
    stage: int


ClaimKind = AtEnd | EveryIteration | SomeIteration


@dataclass(frozen=True, slots=True)
class Claim:
    name: str
    given: Expr | None
    kind: ClaimKind
    expr: Expr


@dataclass(frozen=True, slots=True)
class Register:
    name: str
    stage: int
    init: float


@dataclass(frozen=True, slots=True)
class Program:
    """A whole program with its execution settings; fields stand in the order of the JSON.

    ``extensions`` names what version 13 cannot say; with any, ``version`` is
    `serq.ir.codec.EXTENDED_VERSION`, so that a reader of 13 refuses the document.
    """

    version: int
    attrs: tuple[str, ...]
    attr_types: tuple[AttrType, ...]
    sides: tuple[tuple[Side, ...], ...]
    observes: tuple[str, ...]
    pools: tuple[Pool, ...]
    stages: tuple[Stage, ...]
    arrival: Arrival
    trace: str | None
    trace_ordered: bool
    init: int
    turn: int
    session: int
    blocks: tuple[tuple[Stmt, ...], ...]
    horizon: float
    warmup: float
    seed: int
    arrivals: int | None
    slot_cached: int
    slot_serial: int
    slot_turn: int
    slot_new: int
    slot_out: int
    slot_think: int
    slot_more: int
    slot_forced: int
    slot_computed: int
    hidden: tuple[int, ...]
    share: Share | None
    gauges: tuple[Gauge, ...]
    claims: tuple[Claim, ...]
    registers: tuple[Register, ...]
    extensions: tuple[str, ...] = ()
