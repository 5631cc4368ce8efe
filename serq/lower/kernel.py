"""The kernel: the statements of the IR with names instead of slots, their sugar expanded.

A kernel statement remembers where it was written (``span``), which expansions put it there
(``frames``), and whose side it is on. Its expressions are closures over the syntax tree.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, field

from serq.diagnostics import Span
from serq.ir.nodes import Mode, Side
from serq.lower.faults import Frames
from serq.lower.scope import Bound, Closure, Scope
from serq.lower.tables import Family


@dataclass(frozen=True, slots=True)
class Reference:
    """A pool or stage as a statement names it; ``index`` is None when none is written."""

    family: Family
    index: Closure | None
    span: Span
    scope: Scope

    @property
    def frames(self) -> Frames:
        return self.scope.frames


@dataclass(frozen=True, slots=True)
class CostOf:
    """``cost(families, value)`` that no one wrote: the conversion a sugar form performs."""

    refs: tuple[Reference, ...]
    value: Closure
    span: Span


@dataclass(frozen=True, slots=True)
class BernoulliOf:
    """``~bernoulli(value)`` of a ``branch with``."""

    value: Closure
    span: Span


@dataclass(frozen=True, slots=True)
class NowAt:
    """The clock, read by a ``mark``."""

    span: Span
    frames: Frames


Value = Closure | CostOf | BernoulliOf | NowAt


@dataclass(slots=True, eq=False)
class Statement:
    span: Span
    frames: Frames
    side: Side


@dataclass(slots=True, eq=False)
class Block:
    statements: list[Statement] = field(default_factory=list)


@dataclass(slots=True, eq=False)
class Turn(Statement):
    pass


@dataclass(slots=True, eq=False)
class End(Statement):
    pass


@dataclass(slots=True, eq=False)
class Join(Statement):
    pass


@dataclass(slots=True, eq=False)
class Set(Statement):
    """``declared`` is the word written: ``set``, ``Size`` or ``Cost``."""

    name: str
    value: Value
    declared: str = "set"


@dataclass(slots=True, eq=False)
class Observe(Statement):
    name: str
    value: Value


@dataclass(slots=True, eq=False)
class Held:
    pool: Reference
    units: Value
    reserve: Value | None


@dataclass(slots=True, eq=False)
class Hold(Statement):
    pools: list[Held]
    reuse: Value | None
    bindings: list[Bound]
    body: Block
    cache: Value | None
    lease: tuple[Reference, Value] | None


@dataclass(slots=True, eq=False)
class Grow(Statement):
    pool: Reference
    amount: Value


@dataclass(slots=True, eq=False)
class Load(Statement):
    pool: Reference
    amount: Value


@dataclass(slots=True, eq=False)
class Drop(Statement):
    pool: Reference


@dataclass(slots=True, eq=False)
class Release(Statement):
    pool: Reference


@dataclass(slots=True, eq=False)
class Run(Statement):
    stages: list[Reference]
    mode: Mode
    work: Value
    growing: Reference | None


@dataclass(slots=True, eq=False)
class Branch(Statement):
    guard: Value
    then: Block
    orelse: Block


@dataclass(slots=True, eq=False)
class While(Statement):
    guard: Value
    body: Block


@dataclass(slots=True, eq=False)
class Loop(Statement):
    body: Block


@dataclass(slots=True, eq=False)
class Fork(Statement):
    body: Block


@dataclass(slots=True, eq=False)
class Choose(Statement):
    name: str
    count: Value
    keys: list[Value]


def blocks_of(statement: Statement) -> list[Block]:
    """The blocks directly inside a statement, in the order they are numbered."""
    match statement:
        case Branch():
            return [statement.then, statement.orelse]
        case Hold() | While() | Loop() | Fork():
            return [statement.body]
    return []


def every(block: Block) -> Iterator[Statement]:
    """Every statement of a block and the blocks in it, in the order of the text."""
    stack: list[Statement] = list(reversed(block.statements))
    while stack:
        statement = stack.pop()
        yield statement
        for inner in reversed(blocks_of(statement)):
            stack.extend(reversed(inner.statements))


def values_of(statement: Statement) -> Iterator[Value]:
    """The values a statement reads itself, the indices of its references included."""
    refs: list[Reference] = []
    match statement:
        case Set() | Observe():
            yield statement.value
        case Hold():
            for held in statement.pools:
                refs.append(held.pool)
                yield held.units
                if held.reserve is not None:
                    yield held.reserve
            if statement.reuse is not None:
                yield statement.reuse
            if statement.cache is not None:
                yield statement.cache
            if statement.lease is not None:
                refs.append(statement.lease[0])
                yield statement.lease[1]
        case Grow() | Load():
            refs.append(statement.pool)
            yield statement.amount
        case Drop() | Release():
            refs.append(statement.pool)
        case Run():
            refs += statement.stages
            yield statement.work
            if statement.growing is not None:
                refs.append(statement.growing)
        case Branch() | While():
            yield statement.guard
        case Choose():
            yield statement.count
            yield from statement.keys
    for ref in refs:
        if ref.index is not None:
            yield ref.index


def closures_of(value: Value) -> list[Closure]:
    """The closures a value is made of, indices of a conversion's resources not among them."""
    match value:
        case Closure():
            return [value]
        case CostOf(value=inner) | BernoulliOf(value=inner):
            return [inner]
    return []
