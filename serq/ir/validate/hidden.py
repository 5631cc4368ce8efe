"""`hidden`: a server decides by a hidden attribute only after a run has revealed it.

A run whose work reads the attribute reveals it when it ends, to the requests that went that
way. What the server sets from hidden attributes is as unknown as they are. The client's own
statements are free; keys, headers and engines' clauses never read a hidden attribute directly
(`reads`).
"""

from __future__ import annotations

from dataclasses import dataclass, field

from .. import nodes as n
from ..nodes import BinaryOp, Side
from ..walk import attributes_read, children, stmt_refs
from .issues import ROOT, Place
from .model import Model, parts

Sources = frozenset[int]
NONE: Sources = frozenset()


@dataclass(slots=True)
class _State:
    """What is known at a point of the program.

    ``revealed``: the hidden slots that every path has revealed. ``may`` and ``must``: for a slot
    that the server has set, the hidden slots its value may depend on, and those it depends on
    whichever path was taken.
    """

    revealed: Sources = NONE
    may: dict[int, Sources] = field(default_factory=dict)
    must: dict[int, Sources] = field(default_factory=dict)

    def copy(self) -> _State:
        return _State(self.revealed, dict(self.may), dict(self.must))


def _join(a: _State, b: _State) -> _State:
    may = {s: a.may.get(s, NONE) | b.may.get(s, NONE) for s in a.may.keys() | b.may.keys()}
    must = {s: a.must.get(s, NONE) & b.must.get(s, NONE) for s in a.must.keys() & b.must.keys()}
    return _State(a.revealed & b.revealed, may, must)


def check(model: Model) -> None:
    """Every decision of the server that reads what no run has revealed."""
    for i, slot in enumerate(model.program.hidden):
        _check_declared(model, slot, i)
    if not model.hidden:
        return
    flow = _Flow(model)
    while flow.again:  # until what reaches the loops' heads no longer grows
        flow.again = False
        flow.block(model.program.session, _State())
    flow.reporting = True
    flow.block(model.program.session, _State())


def _check_declared(model: Model, slot: int, i: int) -> None:
    program = model.program
    place = ROOT.under(f".hidden[{i}]")
    if slot in (program.slot_cached, program.slot_computed):
        model.issues.add(
            place,
            "hidden-scheduler",
            f"`{model.attr(slot)}` cannot be hidden from the scheduler, which sets it",
        )
    if slot in program.hidden[:i]:
        model.issues.add(place, "declared-twice", f"`{model.attr(slot)}` is hidden twice")


class _Flow:
    def __init__(self, model: Model) -> None:
        self.model = model
        self.heads: dict[int, _State] = {}
        self.again = True
        self.reporting = False

    def block(self, block: int, state: _State) -> _State:
        """The state after a block; ``state`` is used up."""
        for stmt, place, side in self.model.body(block):
            state = self.statement(stmt, place, side is Side.SERVER, state)
        return state

    def statement(self, stmt: n.Stmt, place: Place, server: bool, state: _State) -> _State:
        if server:
            self.decisions(stmt, place, state)
        match stmt:
            case n.Turn():
                return _State()  # a turn brings new values, and its server starts from nothing
            case n.Set(slot=slot, expr=expr) if server:
                self.assign(slot, self.reads(expr, state), self.surely(expr, state), state)
            case n.Set(slot=slot):
                self.assign(slot, NONE, NONE, state)
            case n.Choose(var=slot, count=count, key=key):
                sources = [self.reads(e, state) for e in (count, *key)] if server else []
                self.assign(slot, NONE.union(*sources), NONE, state)
            case n.Run(work=work):
                state.revealed |= self.surely(work, state)
            case n.Hold(body=body):
                state = self.block(body, state)
            case n.Branch(then=then, orelse=orelse):
                other = state.copy()
                return _join(self.block(then, state), self.block(orelse, other))
            case n.Loop(body=body) | n.While(body=body):
                head = self.heads.get(body)
                before = state if head is None else _join(head, state)
                if server and isinstance(stmt, n.While):
                    at = place.under(".While[0]", stmt.guard)
                    self.decide(stmt.guard, at, "a `while`", before)
                after = _join(before, self.block(body, before.copy()))
                if head is None or head != after:
                    self.heads[body] = after
                    self.again = True
                return after.copy()
            case n.Fork(body=body):
                self.block(body, state.copy())
        return state

    def assign(self, slot: int, may: Sources, must: Sources, state: _State) -> None:
        state.may[slot] = may
        state.must[slot] = must

    # --- what an expression depends on ------------------------------------------------------------

    def _slot(self, slot: int, known: dict[int, Sources]) -> Sources:
        return frozenset({slot}) if slot in self.model.hidden else known.get(slot, NONE)

    def reads(self, expr: n.Expr, state: _State) -> Sources:
        """The hidden slots an expression's value may depend on."""
        return NONE.union(*(self._slot(s, state.may) for s in attributes_read(expr)))

    def surely(self, expr: n.Expr, state: _State) -> Sources:
        """The hidden slots that are read whichever arms of it are taken."""
        match expr:
            case n.Attr(slot=slot):
                return self._slot(slot, state.must)
            case n.Binary(op=BinaryOp.AND | BinaryOp.OR, left=left):
                return self.surely(left, state)
            case n.Cond(test=test, then=then, orelse=orelse):
                arms = self.surely(then, state) & self.surely(orelse, state)
                return self.surely(test, state) | arms
        return NONE.union(*(self.surely(child, state) for _, child in children(expr)))

    # --- decisions --------------------------------------------------------------------------------

    def decisions(self, stmt: n.Stmt, place: Place, state: _State) -> None:
        match stmt:
            case n.Branch(guard=guard):
                self.decide(guard, place.under(".Branch[0]", guard), "a `branch`", state)
            case n.Choose(count=count, key=key):
                self.decide(count, place.under(".Choose.count", count), "a `choose`", state)
                for i, expr in enumerate(key):
                    at = place.under(f".Choose.key[{i}]", expr)
                    self.decide(expr, at, "a `choose`", state)
            case n.Grow(amount=amount):
                self.decide(amount, place.under(".Grow[1]", amount), "a `grow`", state)
            case n.Load(amount=amount):
                self.decide(amount, place.under(".Load[1]", amount), "a `load`", state)
            case n.Hold(pools=pools, reuse=reuse, lease=lease):
                if lease is not None:  # the length of a lease is decided with the hold
                    at = place.under(".Hold.lease", lease).under("[1]", lease.time)
                    self.decide(lease.time, at, "the time of a lease", state)
                for i, pool in enumerate(pools):
                    at = place.under(f".Hold.pools[{i}]", pool)
                    self.decide(pool.units, at.under("[1]", pool.units), "an admission", state)
                    if pool.reserve is not None:
                        inner = at.under("[2]", pool.reserve)
                        self.decide(pool.reserve, inner, "an admission", state)
                if reuse is not None:
                    self.decide(reuse, place.under(".Hold.reuse", reuse), "an admission", state)
        if isinstance(stmt, (n.Run, n.Hold, n.Grow, n.Load)):
            for path, ref in stmt_refs(stmt):
                if ref.index is not None:
                    at = place.under(path, ref).under(".index", ref.index)
                    self.decide(ref.index, at, "the choice of a pool or stage", state)

    def decide(self, expr: n.Expr, place: Place, what: str, state: _State) -> None:
        if not self.reporting:
            return
        header = what == "an admission"
        for node, at in parts(expr, place):
            if not isinstance(node, n.Attr):
                continue
            if header and node.slot in self.model.hidden:
                continue  # a header never reads one directly, revealed or not: `reads` says so
            unknown = sorted(self._slot(node.slot, state.may) - state.revealed)
            if unknown:
                self.report(node.slot, unknown, at, what)

    def report(self, slot: int, unknown: list[int], place: Place, what: str) -> None:
        name = self.model.attr(slot)
        sources = ", ".join(f"`{self.model.attr(s)}`" for s in unknown)
        is_hidden = slot in self.model.hidden
        fact = "is hidden from the scheduler" if is_hidden else f"is set from the hidden {sources}"
        self.model.issues.add(
            place,
            "hidden-unrevealed",
            f"`{name}` {fact}, and {what} of the server reads it before a run reveals it",
            f"decide after a run whose work reads {sources}, or by what is known at admission",
        )
