"""The Lean library's types as Python data: what a program of the fragment is translated to.

Class for class and field for field ``lean/Serq/IR.lean``. Values are naturals; a key, which only
orders things, is an integer. `lean_text` writes them as Lean terms, `exec_json` as the JSON that
``serq-exec`` reads.
"""

from __future__ import annotations

from dataclasses import dataclass, field

# These are the IR's own here too.
from serq.ir.nodes import Agg as Agg
from serq.ir.nodes import Attr as Attr
from serq.ir.nodes import BinaryOp, Fun, Mode, UnaryOp
from serq.ir.nodes import CtxVar as CtxVar
from serq.ir.nodes import Fifo as Fifo

# --- expressions --------------------------------------------------------------------------------


@dataclass(frozen=True, slots=True)
class Num:
    value: int


@dataclass(frozen=True, slots=True)
class Call:
    """``Min`` or ``Max`` of two numbers; ``Floor`` or ``Ceil`` of their quotient."""

    fn: Fun
    left: Expr
    right: Expr


@dataclass(frozen=True, slots=True)
class PoolCall:
    fn: Fun
    base: int
    count: int
    index: Expr


@dataclass(frozen=True, slots=True)
class StageCall:
    fn: Fun
    base: int
    count: int
    index: Expr


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
    thn: Expr
    orelse: Expr


Expr = Num | Attr | CtxVar | Call | PoolCall | StageCall | Unary | Binary | Cond | Agg


@dataclass(frozen=True, slots=True)
class Ref:
    base: int
    count: int
    index: Expr


@dataclass(frozen=True, slots=True)
class HoldPool:
    pool: Ref
    units: Expr
    reserve: Expr | None


# --- statements: a block is a chain, each statement with what follows it ------------------------


@dataclass(frozen=True, slots=True)
class Done:
    pass


@dataclass(frozen=True, slots=True)
class End:
    pass


@dataclass(frozen=True, slots=True)
class Turn:
    k: Block


@dataclass(frozen=True, slots=True)
class Set:
    slot: int
    expr: Expr
    k: Block


@dataclass(frozen=True, slots=True)
class Observe:
    observe: int
    expr: Expr
    k: Block


@dataclass(frozen=True, slots=True)
class Hold:
    pools: tuple[HoldPool, ...]
    reuse: Expr | None
    body: Block
    cache: Expr | None
    k: Block


@dataclass(frozen=True, slots=True)
class Drop:
    pool: Ref
    k: Block


@dataclass(frozen=True, slots=True)
class Release:
    pool: Ref
    k: Block


@dataclass(frozen=True, slots=True)
class Run:
    stage: Ref
    mode: Mode
    work: Expr
    growing: Ref | None
    k: Block


@dataclass(frozen=True, slots=True)
class Branch:
    guard: Expr
    thn: Block
    orelse: Block
    k: Block


@dataclass(frozen=True, slots=True)
class Loop:
    body: Block


@dataclass(frozen=True, slots=True)
class While:
    guard: Expr
    body: Block
    k: Block


@dataclass(frozen=True, slots=True)
class Choose:
    var: int
    count: Expr
    key: tuple[Expr, ...]
    k: Block


Block = (
    Done | End | Turn | Set | Observe | Hold | Drop | Release | Run | Branch | Loop | While | Choose
)  # fmt: skip


# --- resources ----------------------------------------------------------------------------------


@dataclass(frozen=True, slots=True)
class Pool:
    cap: int
    block: int = 0
    evict: tuple[Expr, ...] = ()
    preempt: tuple[Expr, ...] = ()
    tail: bool = False
    queue: tuple[Expr, ...] = ()
    admit_via: bool = False


@dataclass(frozen=True, slots=True)
class Delay:
    pass


@dataclass(frozen=True, slots=True)
class Step:
    pass


StageKind = Fifo | Delay | Step


@dataclass(frozen=True, slots=True)
class Deployment:
    pools: tuple[Pool, ...]
    stages: tuple[StageKind, ...]
    budget: int = 0
    chunk: Expr = field(default=Num(0))
    cost: Expr = field(default=Num(1))
    memory: int | None = None
    serve: tuple[Expr, ...] = ()
    only: Expr | None = None
    slot_cached: int = 0
    slot_serial: int = 1
    slot_turn: int = 2
    slot_more: int = 6
    slot_computed: int = 8


Pairs = tuple[tuple[int, int], ...]
"""Attribute slots and their values, in order of assignment."""


@dataclass(frozen=True, slots=True)
class Workload:
    """Session ``i`` starts with ``init[i]``; ``turns[i]`` are what its turns load, if any.

    ``gaps`` are the times between arrivals, the first after time 0; without them everybody
    starts at time 0.
    """

    init: tuple[Pairs, ...]
    turns: tuple[tuple[Pairs, ...] | None, ...] = ()
    gaps: tuple[int, ...] | None = None
