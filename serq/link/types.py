"""Attribute types: a workload's quantities, a server's values, costs of resources."""

from __future__ import annotations

from collections.abc import Sequence

from serq.ir import nodes
from serq.ir.nodes import BUILTIN_ATTRS
from serq.lower.vocabulary import SCHEDULER_ATTRS

COST_FUNCTIONS = frozenset({nodes.Fun.ABS, nodes.Fun.FLOOR, nodes.Fun.CEIL})
COST_PAIRS = frozenset({nodes.Fun.MIN, nodes.Fun.MAX})
KEEPING = frozenset({nodes.BinaryOp.ADD, nodes.BinaryOp.SUB})


def builtin_types() -> list[nodes.AttrType]:
    return [
        nodes.ValueType() if name in SCHEDULER_ATTRS else nodes.SizeType() for name in BUILTIN_ATTRS
    ]


def cost_of(expr: nodes.Expr, types: Sequence[nodes.AttrType | None]) -> nodes.Target | None:
    """The resources an expression is a cost of; None for a plain number.

    Operations that mix costs are refused by the validator; here the first cost decides.
    """
    while True:
        match expr:
            case nodes.Cost(target=target):
                return target
            case nodes.Attr(slot=slot):
                kind = types[slot]
                return kind.target if isinstance(kind, nodes.CostType) else None
            case nodes.Unary(op=nodes.UnaryOp.NEG, operand=operand):
                expr = operand
            case nodes.Call(fun=fun, args=(nodes.ExprArg(expr=inner),)) if fun in COST_FUNCTIONS:
                expr = inner
            case nodes.Call(fun=fun, args=(nodes.ExprArg(expr=a), nodes.ExprArg(expr=b))) if (
                fun in COST_PAIRS
            ):
                first = cost_of(b, types)
                if first is not None:
                    return first
                expr = a
            case nodes.Binary(op=op, left=left, right=right) if op in KEEPING:
                first = cost_of(right, types)
                if first is not None:
                    return first
                expr = left
            case nodes.Binary(op=nodes.BinaryOp.MUL, left=left, right=right):
                first = cost_of(right, types)
                if first is not None:
                    return first
                expr = left
            case nodes.Binary(op=nodes.BinaryOp.DIV, left=left):
                expr = left
            case nodes.Cond(then=then, orelse=orelse):
                first = cost_of(orelse, types)
                if first is not None:
                    return first
                expr = then
            case _:
                return None


def attribute_types(
    count: int,
    sets: Sequence[tuple[nodes.Set, nodes.Side]],
    chosen: Sequence[tuple[int, nodes.Side]],
) -> tuple[nodes.AttrType, ...]:
    """The type of every slot, by its first assignment; a cost read before it is set counts."""
    types: list[nodes.AttrType | None] = [*builtin_types()]
    types += [None] * (count - len(types))
    sides: dict[int, nodes.Side] = {}
    for assigned, side in sets:
        sides.setdefault(assigned.slot, side)
    for slot, side in chosen:
        sides.setdefault(slot, side)
    builtin = len(BUILTIN_ATTRS)
    changed = True
    while changed:
        changed = False
        for assigned, _ in sets:
            slot = assigned.slot
            if slot < builtin or types[slot] is not None:
                continue
            target = cost_of(assigned.expr, types)
            if target is not None:
                types[slot] = nodes.CostType(target)
                changed = True
    for slot, kind in enumerate(types):
        if kind is None:
            workload = sides.get(slot, nodes.Side.SERVER) is nodes.Side.WORKLOAD
            types[slot] = nodes.SizeType() if workload else nodes.ValueType()
    return tuple([kind for kind in types if kind is not None])
