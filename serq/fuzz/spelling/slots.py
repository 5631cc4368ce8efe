"""Slots in the order the linker gives them, and explicit sessions as statements."""

from __future__ import annotations

from dataclasses import fields, is_dataclass, replace
from typing import Any

from serq.deep import run_deep
from serq.fuzz.spelling.reasons import refuse
from serq.ir import nodes as ir
from serq.ir.walk import stmt_blocks
from serq.link.types import attribute_types

BUILTIN = len(ir.BUILTIN_ATTRS)


def sessions_written_out(program: ir.Program) -> ir.Program:
    """A program that runs as one with explicit sessions does, its values chosen by ``serial``.

    What ``Sessions`` presets becomes assignments of ``init`` and ``turn``, the arrivals a batch.
    A program without explicit sessions is returned as it is.
    """
    if not isinstance(program.arrival, ir.Sessions) or not program.arrival.sessions:
        return program
    sessions = program.arrival.sessions
    serial, turn = ir.Attr(program.slot_serial), ir.Attr(program.slot_turn)

    def equal(a: ir.Expr, b: int) -> ir.Expr:
        return ir.Binary(ir.BinaryOp.EQ, a, ir.Num(float(b)))

    presets = [dict(data.attrs) for data in sessions]
    init: list[ir.Stmt] = []
    for slot in sorted({slot for preset in presets for slot in preset}):
        value: ir.Expr = ir.Attr(slot)
        for i in reversed(range(len(presets))):
            if slot in presets[i]:
                value = ir.Cond(equal(serial, i), ir.Num(presets[i][slot]), value)
        init.append(ir.Set(slot, value))
    first: list[ir.Stmt] = []
    rows = [
        (i, k, dict(row))
        for i, data in enumerate(sessions)
        for k, row in enumerate(data.turns or ())
    ]
    for slot in sorted({slot for _, _, row in rows for slot in row}):
        value = ir.Attr(slot)
        for i, k, row in reversed(rows):
            if slot in row:
                here = ir.Binary(ir.BinaryOp.AND, equal(serial, i), equal(turn, k + 1))
                value = ir.Cond(here, ir.Num(row[slot]), value)
        first.append(ir.Set(slot, value))
    more: ir.Expr = ir.Attr(program.slot_more)
    for i in reversed(range(len(sessions))):
        turns = sessions[i].turns
        if turns is not None:
            left = ir.Binary(ir.BinaryOp.LT, turn, ir.Num(float(len(turns))))
            more = ir.Cond(equal(serial, i), left, more)
    if more != ir.Attr(program.slot_more):
        first.append(ir.Set(program.slot_more, more))
    blocks, sides = list(program.blocks), list(program.sides)
    for number, statements, after in ((program.init, init, True), (program.turn, first, False)):
        own = blocks[number]
        blocks[number] = (*own, *statements) if after else (*statements, *own)
        sides[number] = (ir.Side.WORKLOAD,) * len(blocks[number])
    return replace(
        program, arrival=ir.Batch(len(sessions)), blocks=tuple(blocks), sides=tuple(sides)
    )


def in_first_order(program: ir.Program) -> ir.Program:
    """The program with attributes and observations in the order in which they first appear.

    What no statement assigns or observes is left out. Raises `SerqError` (``no-spelling``) where
    it is read all the same, and for types other than the linker gives.
    """
    slots = list(range(BUILTIN))
    observes: list[int] = []
    sets: list[tuple[ir.Set, ir.Side]] = []
    chosen: list[tuple[int, ir.Side]] = []
    for statement, side in _in_text_order(program):
        match statement:
            case ir.Set(slot=slot):
                sets.append((statement, side))
                if slot not in slots:
                    slots.append(slot)
            case ir.Choose(var=slot):
                chosen.append((slot, side))
                if slot not in slots:
                    slots.append(slot)
            case ir.Observe(observe=observe):
                if observe not in observes:
                    observes.append(observe)
    types = attribute_types(len(program.attrs), sets, chosen)
    for slot in slots:
        if types[slot] != program.attr_types[slot]:
            raise refuse("attributes", f"the type of `{program.attrs[slot]}`")
    if (slots, observes) == (
        list(range(len(program.attrs))),
        list(range(len(program.observes))),
    ):
        return program
    return run_deep(lambda: _moved(program, slots, observes))


def _in_text_order(program: ir.Program) -> list[tuple[ir.Stmt, ir.Side]]:
    out: list[tuple[ir.Stmt, ir.Side]] = []
    for root in (program.init, program.turn, program.session):
        stack = [iter(list(zip(program.blocks[root], program.sides[root], strict=True)))]
        while stack:
            pair = next(stack[-1], None)
            if pair is None:
                stack.pop()
                continue
            out.append(pair)
            for _, body in reversed(stmt_blocks(pair[0])):
                inside = zip(program.blocks[body], program.sides[body], strict=True)
                stack.append(iter(list(inside)))
    return out


def _moved(program: ir.Program, slots: list[int], observes: list[int]) -> ir.Program:
    to = {old: new for new, old in enumerate(slots)}
    seen = {old: new for new, old in enumerate(observes)}

    def slot(number: int) -> int:
        if number not in to:
            raise refuse("attributes", f"`{program.attrs[number]}`, which nothing assigns")
        return to[number]

    def observed(number: int) -> int:
        if number not in seen:
            raise refuse("observations", f"`{program.observes[number]}`")
        return seen[number]

    def changed(node: Any) -> Any:
        if isinstance(node, tuple):
            return tuple([changed(part) for part in node])
        match node:
            case ir.Attr(slot=number):
                return ir.Attr(slot(number))
            case ir.Set(slot=number, expr=expr):
                return ir.Set(slot(number), changed(expr))
            case ir.Choose(var=number, count=count, key=key):
                return ir.Choose(slot(number), changed(count), changed(key))
            case ir.Observe(observe=number, expr=expr):
                return ir.Observe(observed(number), changed(expr))
            case ir.Agg(aggregate=aggregate, observe=number):
                return ir.Agg(aggregate, observed(number))
        if is_dataclass(node) and not isinstance(node, type):
            return replace(node, **{f.name: changed(getattr(node, f.name)) for f in fields(node)})
        return node

    moved = ("pools", "stages", "arrival", "blocks", "gauges", "claims")
    made: dict[str, Any] = {name: changed(getattr(program, name)) for name in moved}
    return replace(
        program,
        **made,
        attrs=tuple(program.attrs[old] for old in slots),
        attr_types=tuple(program.attr_types[old] for old in slots),
        observes=tuple(program.observes[old] for old in observes),
        hidden=tuple(slot(number) for number in program.hidden),
    )
