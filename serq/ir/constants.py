"""The value of an expression that reads nothing."""

from __future__ import annotations

from collections.abc import Callable

from .. import ieee
from . import nodes as n
from .nodes import BinaryOp, Fun

FUNCTIONS: dict[Fun, Callable[..., float]] = {
    Fun.MIN: ieee.minimum,
    Fun.MAX: ieee.maximum,
    Fun.ABS: abs,
    Fun.FLOOR: ieee.floor,
    Fun.CEIL: ieee.ceil,
    Fun.SQRT: ieee.sqrt,
    Fun.EXP: ieee.exp,
    Fun.LN: ieee.ln,
    Fun.POW: ieee.pow,
}
"""The functions of numbers alone."""

OPERATORS: dict[BinaryOp, Callable[[float, float], float]] = {
    BinaryOp.ADD: lambda a, b: a + b,
    BinaryOp.SUB: lambda a, b: a - b,
    BinaryOp.MUL: lambda a, b: a * b,
    BinaryOp.DIV: ieee.div,
    BinaryOp.POW: ieee.pow,
    BinaryOp.LT: lambda a, b: float(a < b),
    BinaryOp.LE: lambda a, b: float(a <= b),
    BinaryOp.GT: lambda a, b: float(a > b),
    BinaryOp.GE: lambda a, b: float(a >= b),
    BinaryOp.EQ: lambda a, b: float(a == b),
    BinaryOp.NE: lambda a, b: float(a != b),
}
"""The arithmetic of the operators that evaluate both sides."""


def fold(expr: n.Expr) -> float | None:
    """The value of an expression that reads nothing, or None.

    As evaluation has it: an arm or an operand that is not reached need not be constant
    (``1 || a`` is 1, ``a && 0`` is no constant). A cost is the number inside. Recursive: a
    caller that may meet deep expressions runs inside `serq.deep.run_deep`.
    """
    match expr:
        case n.Num(value=value):
            return value
        case n.Unary(op=op, operand=operand):
            x = fold(operand)
            if x is None:
                return None
            return -x if op is n.UnaryOp.NEG else float(x == 0.0)
        case n.Binary(op=op, left=left, right=right):
            x = fold(left)
            if x is None:
                return None
            if op is BinaryOp.AND and x == 0.0:
                return 0.0
            if op is BinaryOp.OR and x != 0.0:
                return 1.0
            y = fold(right)
            if y is None:
                return None
            if op in (BinaryOp.AND, BinaryOp.OR):
                return float(y != 0.0)
            return OPERATORS[op](x, y)
        case n.Cond(test=test, then=then, orelse=orelse):
            x = fold(test)
            return None if x is None else fold(then if x != 0.0 else orelse)
        case n.Call(fun=fun, args=args) if fun in FUNCTIONS:
            values: list[float] = []
            for arg in args:
                x = fold(arg.expr) if isinstance(arg, n.ExprArg) else None
                if x is None:
                    return None
                values.append(x)
            if len(values) != (2 if fun in (Fun.MIN, Fun.MAX, Fun.POW) else 1):
                return None
            return FUNCTIONS[fun](*values)
        case n.Cost(expr=inner):
            return fold(inner)
    return None
