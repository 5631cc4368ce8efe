"""Least and greatest values of a translated expression, for checks that need no more than that."""

from __future__ import annotations

import math
from collections.abc import Mapping

from serq.ir.nodes import BinaryOp, Ctx, Fun
from serq.leangen import model as lean

Interval = tuple[float, float]


def bounds(expr: lean.Expr, ctx: Mapping[Ctx, Interval] | None = None) -> Interval:
    """An interval with every value of ``expr``; what ``ctx`` does not bound is any natural."""
    ctx = ctx or {}
    match expr:
        case lean.Num(value):
            return float(value), float(value)
        case lean.CtxVar(name):
            return ctx.get(name, (0.0, math.inf))
        case lean.Binary(op, left, right):
            return _binary(op, bounds(left, ctx), bounds(right, ctx))
        case lean.Call(fn, left, right):
            (a, b), (c, d) = bounds(left, ctx), bounds(right, ctx)
            if fn is Fun.MIN:
                return min(a, c), min(b, d)
            if fn is Fun.MAX:
                return max(a, c), max(b, d)
            if fn is Fun.FLOOR:
                return _divided(a, d, math.floor), _divided(b, c, math.floor)
            return _divided(a, d, math.ceil), _divided(b, c, math.ceil)
        case lean.Cond(_, then, orelse):
            (a, b), (c, d) = bounds(then, ctx), bounds(orelse, ctx)
            return min(a, c), max(b, d)
        case lean.Unary():
            return 0.0, 1.0
        case _:
            return 0.0, math.inf


def _divided(above: float, below: float, rounding: object) -> float:
    if math.isinf(above):
        return above
    if math.isinf(below):
        return 0.0
    return float(rounding(above / below))  # type: ignore[operator]


def _binary(op: BinaryOp, left: Interval, right: Interval) -> Interval:
    (a, b), (c, d) = left, right
    match op:
        case BinaryOp.ADD:
            return a + c, b + d
        case BinaryOp.SUB:
            return max(0.0, a - d), max(0.0, b - c)
        case BinaryOp.MUL:
            return _product(a, c), _product(b, d)
        case _:
            return 0.0, 1.0


def _product(a: float, b: float) -> float:
    return 0.0 if a == 0 or b == 0 else a * b
