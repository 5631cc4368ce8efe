"""Expressions of the IR as the program's text would write them, for messages."""

from __future__ import annotations

from . import nodes as n
from .codec import number_text
from .functions import aggregate_name, draw_name, function_name
from .moments import Moment, spelling
from .nodes import BinaryOp

SIGNS: dict[BinaryOp, tuple[str, int]] = {
    BinaryOp.OR: ("||", 2),
    BinaryOp.AND: ("&&", 3),
    BinaryOp.LT: ("<", 4),
    BinaryOp.LE: ("<=", 4),
    BinaryOp.GT: (">", 4),
    BinaryOp.GE: (">=", 4),
    BinaryOp.EQ: ("==", 4),
    BinaryOp.NE: ("!=", 4),
    BinaryOp.ADD: ("+", 5),
    BinaryOp.SUB: ("-", 5),
    BinaryOp.MUL: ("*", 6),
    BinaryOp.DIV: ("/", 6),
    BinaryOp.POW: ("^", 8),
}
_DEEPEST = 6
"""Deeper than this, an expression is shown as an ellipsis: a message is read by a person."""


def number(value: float) -> str:
    """A number as a person writes it: ``20``, ``0.5``, ``inf``, ``NaN``."""
    if value != value:
        return "NaN"
    if value in (float("inf"), float("-inf")):
        return "inf" if value > 0 else "-inf"
    return number_text(value).removesuffix(".0")


def member(name: str, index: int | None) -> str:
    """The name of one pool or stage: ``kv``, or ``kv[2]`` in a family."""
    return name if index is None else f"{name}[{index}]"


def pool_name(program: n.Program, pool: int) -> str:
    """The name of a pool as the program writes it."""
    return member(program.pools[pool].name, program.pools[pool].index)


def stage_name(program: n.Program, stage: int) -> str:
    """The name of a stage as the program writes it."""
    return member(program.stages[stage].name, program.stages[stage].index)


def reference(
    program: n.Program, ref: n.Ref, kind: str, moment: Moment = Moment.SESSION, depth: int = 0
) -> str:
    """A reference to pools or stages (``kind``): ``kv``, ``kv[j]``."""
    members = program.pools if kind == "pool" else program.stages
    if not 0 <= ref.base < len(members):
        return f"{kind} {ref.base}"
    name = members[ref.base].name
    if ref.index is None:
        return member(name, members[ref.base].index if ref.count == 1 else None)
    return f"{name}[{show(program, ref.index, moment, depth=depth + 1)}]"


def target_text(program: n.Program, target: n.Target) -> str:
    """The resources of a cost: ``kv, reqs``."""
    if isinstance(target, n.JointTarget):
        return ", ".join(target_text(program, t) for t in target.targets)
    members: tuple[n.Pool, ...] | tuple[n.Stage, ...]
    members = program.pools if isinstance(target, n.PoolTarget) else program.stages
    return members[target.base].name if 0 <= target.base < len(members) else "?"


def show(
    program: n.Program,
    expr: n.Expr,
    moment: Moment = Moment.SESSION,
    *,
    level: int = 1,
    depth: int = 0,
) -> str:
    """An expression as text, with the names that the moment's clauses use.

    ``level``: the binding strength around it, which decides about parentheses. Names that the
    program does not have are shown as numbers, so any program can be shown.
    """
    if depth > _DEEPEST:
        return "…"

    def inner(e: n.Expr, at: int = 1) -> str:
        return show(program, e, moment, level=at, depth=depth + 1)

    match expr:
        case n.Num(value=value):
            return number(value)
        case n.Attr(slot=slot):
            return program.attrs[slot] if 0 <= slot < len(program.attrs) else f"attribute {slot}"
        case n.CtxVar(name=name):
            return spelling(name, moment)
        case n.Sample(dist=dist, args=args):
            return f"~{draw_name(dist)}({', '.join(inner(a) for a in args)})"
        case n.Call(fun=fun, args=args):
            shown = ", ".join(_argument(program, a, moment, depth) for a in args)
            return f"{function_name(fun)}({shown})"
        case n.Unary(op=op, operand=operand):
            sign = "-" if op is n.UnaryOp.NEG else "!"
            return _grouped(sign + inner(operand, 7), 7, level)
        case n.Binary(op=op, left=left, right=right):
            sign, own = SIGNS[op]
            below = own + 1 if own == 4 or op is BinaryOp.POW else own
            above = own if op is BinaryOp.POW else own + 1
            return _grouped(f"{inner(left, below)} {sign} {inner(right, above)}", own, level)
        case n.Cond(test=test, then=then, orelse=orelse):
            return _grouped(f"{inner(test, 2)} ? {inner(then, 2)} : {inner(orelse)}", 1, level)
        case n.Cost(target=target, expr=quantity):
            return f"cost({target_text(program, target)}, {inner(quantity)})"
        case n.Agg(aggregate=aggregate, observe=observe):
            known = 0 <= observe < len(program.observes)
            observed = program.observes[observe] if known else f"observation {observe}"
            return f"{aggregate_name(aggregate)}({observed})"
        case n.Reg(register=register):
            known = 0 <= register < len(program.registers)
            return program.registers[register].name if known else f"state {register}"


def _argument(program: n.Program, arg: n.Arg, moment: Moment, depth: int) -> str:
    match arg:
        case n.ExprArg(expr=expr):
            return show(program, expr, moment, depth=depth + 1)
        case n.PoolArg(ref=ref):
            return reference(program, ref, "pool", moment, depth)
        case n.StageArg(ref=ref):
            return reference(program, ref, "stage", moment, depth)


def _grouped(text: str, own: int, level: int) -> str:
    return f"({text})" if own < level else text
