"""Claims as Lean propositions: plain arithmetic over an iteration's record or a machine."""

from __future__ import annotations

from collections.abc import Callable

from serq.ir.functions import COUNTERS
from serq.ir.nodes import Aggregate, BinaryOp, Ctx, Fun, UnaryOp
from serq.leangen import model as lean

RECORD = {
    Ctx.NTOK: "tokens",
    Ctx.NPRE: "prefilled",
    Ctx.NDEC: "decoders",
    Ctx.NRES: "residents",
    Ctx.KVB: "kvDecode",
    Ctx.KVP: "kvPrefill",
    Ctx.ATTN: "attention2",
    Ctx.DEMAND: "demand",
    Ctx.SERVED: "served",
    Ctx.ARRIVED: "arrived",
    Ctx.NOW: "start",
}
"""The field of ``IterRec`` that a claim over iterations reads for a context variable."""

AGGREGATES = {
    Aggregate.TOTAL: "total",
    Aggregate.COUNT: "count",
    Aggregate.LARGEST: "largest",
    Aggregate.SMALLEST: "smallest",
    Aggregate.PREFIX_TOTAL: "prefixTotal",
}

_COMPARISONS = {
    BinaryOp.LT: "<",
    BinaryOp.LE: "≤",
    BinaryOp.GT: ">",
    BinaryOp.GE: "≥",
    BinaryOp.EQ: "=",
    BinaryOp.NE: "≠",
}
_JUNCTIONS = {BinaryOp.AND: "∧", BinaryOp.OR: "∨"}
_ARITHMETIC = {BinaryOp.ADD: ("+", 65), BinaryOp.SUB: ("-", 65), BinaryOp.MUL: ("*", 70)}

Leaf = Callable[[lean.Expr], str]
"""How an attribute, a context variable, a query or an aggregate is written."""


_POOL_FIELDS = {Fun.USED: "used", Fun.HOLDERS: "holders", Fun.QUEUED: "queued"}


def _counter(e: lean.PoolCall | lean.StageCall, preempts: str, counters: str) -> str:
    """A counter of the engine, or of a pool: all but rejections are those of its memory."""
    match e.fn:
        case Fun.PREEMPTIONS:
            return preempts
        case Fun.STUCK:
            return f"{counters}.stuckOnes.length"
        case Fun.RECOMPUTED:
            return f"{counters}.recomputed"
    if isinstance(e, lean.StageCall):
        return f"rejectedVia {counters}.rejections"
    assert isinstance(e.index, lean.Num)
    return f"rejectedAt {e.base + e.index.value} {counters}.rejections"


def over_record(e: lean.Expr) -> str:
    """Leaves read from the record ``r`` of an iteration."""
    match e:
        case lean.PoolCall() | lean.StageCall() if e.fn in COUNTERS:
            return _counter(e, "r.preempts", "r.counters")
        case lean.CtxVar(name):
            return f"r.{RECORD[name]}"
        case lean.PoolCall(fn, base, _, lean.Num(index)) if fn in _POOL_FIELDS:
            return f"(r.pool {base + index}).{_POOL_FIELDS[fn]}"
    raise TypeError(f"{e} stands in no claim over iterations")


def written_out(e: lean.Expr, caps: tuple[int, ...], memory: int | None) -> lean.Expr:
    """``free(p)`` as the capacity less what is used, a difference like any other; counters of
    preemptions at a pool that is not the engine's ``memory`` as 0: the fragment has none there."""
    match e:
        case lean.PoolCall(fn, base, _, lean.Num(index)) if fn in COUNTERS - {Fun.REJECTED}:
            return e if base + index == memory else lean.Num(0)
        case lean.PoolCall(Fun.FREE, base, count, lean.Num(index)):
            used = lean.PoolCall(Fun.USED, base, count, lean.Num(index))
            return lean.Binary(BinaryOp.SUB, lean.Num(caps[base + index]), used)
        case lean.Binary(op, left, right):
            return lean.Binary(
                op, written_out(left, caps, memory), written_out(right, caps, memory)
            )
        case lean.Call(fn, left, right):
            return lean.Call(fn, written_out(left, caps, memory), written_out(right, caps, memory))
        case lean.Unary(op, operand):
            return lean.Unary(op, written_out(operand, caps, memory))
        case lean.Cond(test, then, orelse):
            parts = (written_out(x, caps, memory) for x in (test, then, orelse))
            return lean.Cond(*parts)
    return e


def over_machine(e: lean.Expr) -> str:
    """Leaves read from the machine ``m`` at which every session has ended."""
    match e:
        case lean.PoolCall() | lean.StageCall() if e.fn in COUNTERS:
            return _counter(e, "m.plan.preempts", "m.counters")
        case lean.CtxVar(Ctx.NOW):
            return "m.now"
        case lean.Agg(aggregate, observe):
            return f"{AGGREGATES[aggregate]} m {observe}"
    raise TypeError(f"{e} stands in no claim at the end")


def over_workload(e: lean.Expr) -> str:
    """Leaves read from what session ``i`` of the workload ``w`` brings."""
    if isinstance(e, lean.Attr):
        return f"w.attr i {e.slot}"
    raise TypeError(f"{e} stands in no `given`")


class Writer:
    """Writes propositions and numbers; ``differences`` are the subtractions met on the way."""

    def __init__(self, leaf: Leaf) -> None:
        self._leaf = leaf
        self.differences: list[tuple[str, str]] = []

    def proposition(self, e: lean.Expr, outer: int = 0) -> str:
        """That the value of ``e`` is not 0. ``outer`` is the precedence of what stands around."""
        match e:
            case lean.Num(value):
                return "True" if value else "False"
            case lean.Binary(op, left, right) if op in _COMPARISONS:
                text = f"{self.number(left, 51)} {_COMPARISONS[op]} {self.number(right, 51)}"
                return _wrapped(text, 50, outer)
            case lean.Binary(op, left, right) if op in _JUNCTIONS:
                level = 35 if op is BinaryOp.AND else 30
                a = self.proposition(left, level + 1)
                b = self.proposition(right, level)
                return _wrapped(f"{a} {_JUNCTIONS[op]} {b}", level, outer)
            case lean.Unary(UnaryOp.NOT, operand):
                return f"¬{self.proposition(operand, 1024)}"
            case lean.Cond(test, then, orelse):
                parts = (self.proposition(x) for x in (test, then, orelse))
                return _wrapped("if {} then {} else {}".format(*parts), 0, outer + 1)
        return _wrapped(f"{self.number(e, 51)} ≠ 0", 50, outer)

    def number(self, e: lean.Expr, outer: int = 0) -> str:
        """The value of ``e``."""
        match e:
            case lean.Num(value):
                return str(value)
            case lean.Binary(op, left, right) if op in _ARITHMETIC:
                sign, level = _ARITHMETIC[op]
                a, b = self.number(left, level), self.number(right, level + 1)
                if op is BinaryOp.SUB:
                    pair = (self.number(left), self.number(right))
                    if pair not in self.differences:
                        self.differences.append(pair)
                return _wrapped(f"{a} {sign} {b}", level, outer)
            case lean.Call(Fun.FLOOR, left, right):
                return _wrapped(f"{self.number(left, 70)} / {self.number(right, 71)}", 70, outer)
            case lean.Call(Fun.CEIL, left, lean.Num(divisor)):
                above = f"({self.number(left, 65)} + {divisor - 1})"
                return _wrapped(f"{above} / {divisor}", 70, outer)
            case lean.Call(fn, left, right):
                name = "Nat.min" if fn is Fun.MIN else "Nat.max"
                arguments = f"{self.number(left, 1024)} {self.number(right, 1024)}"
                return _wrapped(f"{name} {arguments}", 1023, outer)
            case lean.Cond(test, then, orelse):
                parts = (self.proposition(test), self.number(then), self.number(orelse))
                return _wrapped("if {} then {} else {}".format(*parts), 0, outer + 1)
            case lean.Binary() | lean.Unary():
                return _wrapped(f"if {self.proposition(e)} then 1 else 0", 0, outer + 1)
        text = self._leaf(e)
        return _wrapped(text, 1023 if " " in text and not text.startswith("(") else 1024, outer)


def _wrapped(text: str, level: int, outer: int) -> str:
    return f"({text})" if level < outer else text
