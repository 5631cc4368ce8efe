"""Warnings: programs that link and may mean something else. They change no exit status."""

from __future__ import annotations

from collections.abc import Sequence

from serq.ir import nodes
from serq.ir.nodes import BUILTIN_ATTRS
from serq.link.source_map import SourceMap
from serq.lower.faults import Faults

_KEEPING = frozenset({nodes.Fun.ABS, nodes.Fun.FLOOR, nodes.Fun.CEIL})
_CHOOSING = frozenset({nodes.Fun.MIN, nodes.Fun.MAX})


def warn(program: nodes.Program, source_map: SourceMap, faults: Faults) -> None:
    """Warn of a prefill or decode whose work is a time: an engine's work is in tokens."""
    times = _time_slots(program)
    for block in program.blocks:
        for statement in block:
            if not isinstance(statement, nodes.Run) or statement.mode is nodes.Mode.PLAIN:
                continue
            work = statement.work
            if isinstance(work, nodes.Cost):
                work = work.expr
            origin = source_map.origin_of(work)
            if origin is None or not is_time(work, times):
                continue
            mode = statement.mode.value.lower()
            faults.warn(
                "seconds-as-tokens",
                f"the work of this {mode} is a time, and an engine's work is in tokens",
                origin.span,
                help="multiply a time by a rate to make tokens of it",
            )


def is_time(expr: nodes.Expr, times: frozenset[int]) -> bool:
    """Whether an expression is surely a point or a span of time.

    A product or a quotient may convert the unit, so it is not; nor is a sum with something of
    another kind than a time or a number.
    """
    match expr:
        case nodes.CtxVar(name=nodes.Ctx.NOW):
            return True
        case nodes.Call(fun=nodes.Fun.EST_WAIT):
            return True
        case nodes.Attr(slot=slot):
            return slot in times
        case nodes.Unary(op=nodes.UnaryOp.NEG, operand=operand):
            return is_time(operand, times)
        case nodes.Call(fun=fun, args=(nodes.ExprArg(expr=inner),)) if fun in _KEEPING:
            return is_time(inner, times)
        case nodes.Call(fun=fun, args=(nodes.ExprArg(expr=a), nodes.ExprArg(expr=b))) if (
            fun in _CHOOSING
        ):
            return _both((a, b), times)
        case nodes.Binary(op=nodes.BinaryOp.ADD | nodes.BinaryOp.SUB, left=left, right=right):
            return _both((left, right), times)
        case nodes.Cond(then=then, orelse=orelse):
            return _both((then, orelse), times)
        case nodes.Cost(expr=inner):
            return is_time(inner, times)
    return False


def _both(parts: Sequence[nodes.Expr], times: frozenset[int]) -> bool:
    """Whether one part is a time and the other a time or a written number."""
    found = [is_time(part, times) for part in parts]
    return any(found) and all(
        is_one or isinstance(part, nodes.Num) for part, is_one in zip(parts, found, strict=True)
    )


def _time_slots(program: nodes.Program) -> frozenset[int]:
    """The attributes every assignment of which is a time."""
    sets: dict[int, list[nodes.Expr]] = {}
    chosen: set[int] = set(range(len(BUILTIN_ATTRS)))
    for block in program.blocks:
        for statement in block:
            match statement:
                case nodes.Set(slot=slot, expr=expr):
                    sets.setdefault(slot, []).append(expr)
                case nodes.Choose(var=var):
                    chosen.add(var)
    times: frozenset[int] = frozenset()
    while True:
        more = frozenset(
            slot
            for slot, exprs in sets.items()
            if slot not in chosen and all(is_time(expr, times) for expr in exprs)
        )
        if more == times:
            return times
        times = more
