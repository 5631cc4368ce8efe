"""Holds: what acts on them stands inside them, and their indices keep naming one member."""

from __future__ import annotations

from dataclasses import dataclass

from .. import nodes as n
from ..functions import ARITHMETIC
from ..walk import attributes_read, expressions, same, stmt_blocks
from .issues import Place
from .model import Model


def check(model: Model) -> None:
    """Ownership of `grow`, `load`, `release`, `growing` and leases; the rules of indices."""
    leased = [
        stmt.lease.pool
        for stmt, _, _ in model.statements()
        if isinstance(stmt, n.Hold) and stmt.lease is not None
    ]
    pass_ = _Holds(model, leased)
    for root in model.roots:
        pass_.block(root, None)


@dataclass(frozen=True, slots=True)
class _Around:
    """The holds around a statement, the innermost first."""

    hold: n.Hold
    place: Place
    outer: _Around | None


class _Holds:
    def __init__(self, model: Model, leased: list[n.Ref]) -> None:
        self.model = model
        self.leased = leased
        self.assigned = _Assigned(model)
        self.reread: set[tuple[int, int]] = set()

    def block(self, block: int, around: _Around | None) -> None:
        for stmt, place, _ in self.model.body(block):
            match stmt:
                case n.Grow(pool=pool):
                    self.inside(pool, "grow", place.under(".Grow[0]", pool), around)
                case n.Load(pool=pool):
                    self.inside(pool, "load", place.under(".Load[0]", pool), around)
                case n.Release(pool=pool):
                    self.inside(pool, "release", place.under(".Release", pool), around)
                case n.Run(growing=growing) if growing is not None:
                    self.inside(growing, "growing", place.under(".Run.growing", growing), around)
                case n.Hold():
                    self.hold(stmt, place, around)
            inner = around
            if isinstance(stmt, n.Hold):
                inner = _Around(stmt, place, around)
            elif isinstance(stmt, n.Fork):
                inner = None
            for _, body in stmt_blocks(stmt):
                self.block(body, inner)

    # --- statements that act on a hold ------------------------------------------------------------

    def inside(self, ref: n.Ref, word: str, place: Place, around: _Around | None) -> None:
        """``ref`` is one of the holds around, written as it is there."""
        family = False
        while around is not None:
            for i, pool in enumerate(around.hold.pools):
                if same(pool.pool, ref):
                    self.read_again(ref, word, place, around, i)
                    return
                family = family or (pool.pool.base, pool.pool.count) == (ref.base, ref.count)
            around = around.outer
        if word == "release":
            if any(same(lease, ref) for lease in self.leased):
                return
            family = family or any((r.base, r.count) == (ref.base, ref.count) for r in self.leased)
        name = self.model.pool_ref(ref)
        acts = (
            "it gives back an enclosing hold's allocation, or a lease of it"
            if word == "release"
            else "it acts on an enclosing hold's allocation"
        )
        self.model.issues.add(
            place,
            "not-held",
            f"`{word} {name}` outside a hold of `{name}`: {acts}",
            "write the pool as the hold does, index included" if family else None,
        )

    def read_again(self, ref: n.Ref, word: str, place: Place, around: _Around, index: int) -> None:
        if ref.index is None or not _reads_state(ref.index):
            return
        name = self.model.pool_ref(ref)
        self.model.issues.add(
            place,
            "index-moves",
            f"`{word} {name}` reads the hold's index again, and it reads the state, the clock or "
            "a draw: the two may name different members",
            "set an attribute to the member before the hold, and index by it",
        )

    # --- the hold itself --------------------------------------------------------------------------

    def hold(self, hold: n.Hold, place: Place, around: _Around | None) -> None:
        issues = self.model.issues
        if not hold.pools:
            issues.add(place, "hold-of-nothing", "a hold takes no pool")
            return
        for i, pool in enumerate(hold.pools):
            at = place.under(f".Hold.pools[{i}]", pool).under("[0]", pool.pool)
            if any(same(pool.pool, before.pool) for before in hold.pools[:i]):
                issues.add(
                    at,
                    "held-twice",
                    f"the hold takes `{self.model.pool_ref(pool.pool)}` twice",
                    "hold it once, with the units (and any reserve) added",
                )
            if pool.pool.index is not None:
                self.index(pool.pool, hold, at, place, around)
        lease = hold.lease
        if lease is not None and not any(same(lease.pool, p.pool) for p in hold.pools):
            issues.add(
                place.under(".Hold.lease", lease).under("[0]", lease.pool),
                "lease-not-held",
                f"`lease {self.model.pool_ref(lease.pool)}`: the hold does not take that pool",
                "write the pool as the hold does, index included",
            )

    def index(
        self, ref: n.Ref, hold: n.Hold, at: Place, place: Place, around: _Around | None
    ) -> None:
        """A hold's index names one member at admission, inside, and after a preemption."""
        assert ref.index is not None
        issues, name = self.model.issues, self.model.pool_ref(ref)
        changed = sorted(attributes_read(ref.index) & self.assigned.block(hold.body))
        if changed:
            names = ", ".join(f"`{self.model.attr(slot)}`" for slot in changed)
            issues.add(
                at,
                "index-changes",
                f"`hold {name}`: its body changes {names}, which the index reads",
                "set another attribute to the member before the hold, and index by it",
            )
        preempting = self.preempting(_Around(hold, place, around))
        if preempting is None:
            return
        program = self.model.program
        set_inside = {program.slot_cached, program.slot_computed}
        if _reads_state(ref.index) or attributes_read(ref.index) & set_inside:
            issues.add(
                at,
                "index-moves",
                f"`hold {name}`: `{self.model.pool_ref(preempting)}` may preempt it, and then it "
                "is admitted anew and reads its index again, which reads the state, the clock, a "
                "draw, `cached` or `computed`",
                "set an attribute to the member before the hold, and index by it",
            )

    def preempting(self, around: _Around | None) -> n.Ref | None:
        """A pool of these holds that may take units from its holders."""
        while around is not None:
            for pool in around.hold.pools:
                if self.model.may_preempt(pool.pool):
                    return pool.pool
            around = around.outer
        return None


def _reads_state(expr: n.Expr) -> bool:
    """Whether an expression reads more than attributes and numbers."""
    return any(
        isinstance(e, (n.Sample, n.CtxVar, n.Reg, n.Agg))
        or (isinstance(e, n.Call) and e.fun not in ARITHMETIC)
        for e in expressions(expr)
    )


class _Assigned:
    """The slots that running a block may change, its legs (which have copies) left out."""

    def __init__(self, model: Model) -> None:
        self.model = model
        self.known: dict[int, frozenset[int]] = {}
        self.turn = self._by_turn()

    def _by_turn(self) -> frozenset[int]:
        program = self.model.program
        own = {
            program.slot_turn,
            program.slot_new,
            program.slot_out,
            program.slot_think,
            program.slot_more,
            program.slot_forced,
        }
        sizes = {s for s, kind in enumerate(program.attr_types) if isinstance(kind, n.SizeType)}
        return frozenset(own | sizes)

    def block(self, block: int) -> frozenset[int]:
        if block not in self.known:
            out: set[int] = set()
            for stmt in self.model.program.blocks[block]:
                match stmt:
                    case n.Set(slot=slot) | n.Choose(var=slot):
                        out.add(slot)
                    case n.Turn():
                        out |= self.turn
                    case n.Hold():
                        program = self.model.program
                        out |= {program.slot_cached, program.slot_computed}
                if not isinstance(stmt, n.Fork):
                    for _, body in stmt_blocks(stmt):
                        out |= self.block(body)
            self.known[block] = frozenset(out)
        return self.known[block]
