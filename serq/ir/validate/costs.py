"""Quantities and costs: nominal types, who owns what, assignment before use.

A cost is a number with the resources it is a cost of. Resource primitives want exactly their
cost; everything that decides or declares wants a plain number. The client's workload owns sizes,
the server owns values and the costs of the resources it uses.
"""

from __future__ import annotations

from .. import nodes as n
from ..functions import function_name
from ..moments import Moment
from ..nodes import BinaryOp, Fun, Side
from ..text import SIGNS, target_text
from ..walk import children
from .issues import ROOT, Place
from .model import Model, Site
from .sites import statement_sites

TYPE = "cost-type"
_KEEPS = frozenset({Fun.ABS, Fun.FLOOR, Fun.CEIL})
_PAIRS = frozenset({Fun.MIN, Fun.MAX})
_COMPARISONS = frozenset(
    {BinaryOp.LT, BinaryOp.LE, BinaryOp.GT, BinaryOp.GE, BinaryOp.EQ, BinaryOp.NE}
)
_CONVERT = "convert a quantity with `cost(resource, quantity)`"


class _Unknown:
    """The type of an expression that is wrong inside; nothing more is said about it."""


UNKNOWN = _Unknown()
Type = n.Target | None | _Unknown
"""A cost of these resources, a plain number (None), or unknown."""


def pool_target(ref: n.Ref) -> n.PoolTarget:
    return n.PoolTarget(ref.base, ref.count)


def joint(targets: list[n.PoolTarget | n.StageTarget]) -> n.Target:
    """The target of several resources as costs write it: sorted, each once."""
    unique = sorted(set(targets), key=lambda t: (isinstance(t, n.StageTarget), t.base, t.count))
    return unique[0] if len(unique) == 1 else n.JointTarget(tuple(unique))


def check(model: Model) -> None:
    """All rules of types on every expression and assignment."""
    _check_builtins(model)
    checker = _Types(model)
    for stmt, place, side in model.statements():
        checker.statement(stmt, place, side)
    checker.at_arrival = False
    for site in model.sites:
        if site.moment not in (Moment.SESSION, Moment.ADMIT):
            checker.plain_only(site)


def _check_builtins(model: Model) -> None:
    program = model.program
    server = {"cached": program.slot_cached, "computed": program.slot_computed}
    client = {
        name: getattr(program, f"slot_{name}")
        for name in ("serial", "turn", "new", "out", "think", "more", "forced")
    }
    for slots, kind, words in (
        (server, n.ValueType, "a value of the server"),
        (client, n.SizeType, "a size of the workload"),
    ):
        for slot in slots.values():
            if not isinstance(program.attr_types[slot], kind):
                model.issues.add(
                    ROOT.under(f".attr_types[{slot}]"),
                    "builtin-type",
                    f"the built-in attribute `{model.attr(slot)}` is {words}",
                )
    if isinstance(program.arrival, n.Sessions):
        _check_presets(model, program.arrival)


def _check_presets(model: Model, arrival: n.Sessions) -> None:
    for i, session in enumerate(arrival.sessions):
        lists = [(".attrs", session.attrs)]
        lists += [(f".turns[{t}]", turn) for t, turn in enumerate(session.turns or ())]
        for path, presets in lists:
            for k, (slot, _) in enumerate(presets):
                if not isinstance(model.program.attr_types[slot], n.SizeType):
                    model.issues.add(
                        ROOT.under(f".arrival.Sessions[{i}]{path}[{k}]"),
                        "preset-of-server",
                        f"a session brings sizes of the workload, and `{model.attr(slot)}` is "
                        "the server's",
                    )


class _Types:
    def __init__(self, model: Model) -> None:
        self.model = model
        self.program = model.program
        self.server_pools, self.server_stages = _used_by_server(model)
        self.arrival_blocks = {model.program.init, model.program.turn}
        self.at_arrival = False

    # --- statements -----------------------------------------------------------------------------

    def statement(self, stmt: n.Stmt, place: Place, side: Side) -> None:
        """Types of one statement's expressions and of what it assigns."""
        self.at_arrival = any(place.step.startswith(f"blocks[{b}][") for b in self.arrival_blocks)
        types: dict[str, tuple[Type, Site]] = {}
        for site in statement_sites(self.model, stmt, place):
            step = site.place.step if site.place.parent is place else None
            kind = self.type_of(site.expr, site.place, side)
            if step is None or not _takes_cost(step):
                self.wants_plain(kind, site)
            else:
                types[step] = (kind, site)
        match stmt:
            case n.Set(slot=slot):
                self.assigns(slot, types[".Set[1]"][0], place, side)
            case n.Choose(var=slot):
                self.chooses(slot, place, side)
            case n.Run(stage=stage, also=also):
                families = [n.StageTarget(r.base, r.count) for r in (stage, *also)]
                self.wants(joint(list(families)), types[".Run.work"])
            case n.Grow(pool=pool):
                self.wants(pool_target(pool), types[".Grow[1]"])
            case n.Load(pool=pool):
                self.wants(pool_target(pool), types[".Load[1]"])
            case n.Hold(pools=pools):
                self.hold(pools, types)

    def hold(self, pools: tuple[n.HoldPool, ...], types: dict[str, tuple[Type, Site]]) -> None:
        for i, pool in enumerate(pools):
            for part in (f".Hold.pools[{i}][1]", f".Hold.pools[{i}][2]"):
                if part in types:
                    self.wants(pool_target(pool.pool), types[part])
        if pools:
            whole = joint([pool_target(p.pool) for p in pools])
            for part in (".Hold.reuse", ".Hold.cache"):
                if part in types:
                    self.wants(whole, types[part])

    def assigns(self, slot: int, kind: Type, place: Place, side: Side) -> None:
        declared, name = self.program.attr_types[slot], self.model.attr(slot)
        if isinstance(kind, _Unknown):
            return
        want = declared.target if isinstance(declared, n.CostType) else None
        if kind != want:
            self.model.issues.add(
                place,
                "attribute-type",
                f"`{name}` is {self.words(want)}, and here it is set to {self.words(kind)}",
                "an attribute keeps one type in the whole program",
            )
        elif side is Side.WORKLOAD and isinstance(declared, n.ValueType):
            self.workload_value(name, place)
        elif side is Side.SERVER and isinstance(declared, n.SizeType):
            self.server_size(name, place)

    def chooses(self, slot: int, place: Place, side: Side) -> None:
        declared, name = self.program.attr_types[slot], self.model.attr(slot)
        if isinstance(declared, n.CostType):
            self.model.issues.add(
                place,
                "attribute-type",
                f"`choose` gives an index, and `{name}` is {self.words(declared.target)}",
            )
        elif side is Side.WORKLOAD and isinstance(declared, n.ValueType):
            self.workload_value(name, place)
        elif side is Side.SERVER and isinstance(declared, n.SizeType):
            self.server_size(name, place)

    def workload_value(self, name: str, place: Place) -> None:
        self.model.issues.add(
            place, "size-owner", f"`{name}` is a value of the server, and the workload sets it"
        )

    def server_size(self, name: str, place: Place) -> None:
        self.model.issues.add(
            place,
            "size-owner",
            f"the server sets `{name}`, a size that the workload owns",
            "compute a value under another name",
        )

    # --- what a position wants ------------------------------------------------------------------

    def words(self, kind: n.Target | None) -> str:
        return (
            "a plain number" if kind is None else f"a cost of `{target_text(self.program, kind)}`"
        )

    def wants(self, want: n.Target, have: tuple[Type, Site]) -> None:
        kind, site = have
        if not isinstance(kind, _Unknown) and kind != want:
            self.model.issues.add(
                site.place,
                TYPE,
                f"{site.what} is {self.words(want)}, and this is {self.words(kind)}",
                f"write `cost({target_text(self.program, want)}, …)`" if kind is None else None,
            )

    def wants_plain(self, kind: Type, site: Site) -> None:
        if kind is not None and not isinstance(kind, _Unknown):
            self.model.issues.add(
                site.place, TYPE, f"{site.what} is a plain number, and this is {self.words(kind)}"
            )

    def plain_only(self, site: Site) -> None:
        """Declarations, gauges and claims: no cost anywhere inside."""
        for expr, place in self.model.inside(site):
            if isinstance(expr, n.Cost):
                self.model.issues.add(
                    place, TYPE, f"{site.what} reads plain quantities, and no cost", None
                )
                return
        self.wants_plain(self.type_of(site.expr, site.place, Side.SERVER), site)

    # --- expressions ----------------------------------------------------------------------------

    def type_of(self, expr: n.Expr, place: Place, side: Side) -> Type:
        """The type of an expression; reports the innermost operations that make no sense."""
        match expr:
            case n.Attr(slot=slot):
                declared = self.program.attr_types[slot]
                if isinstance(declared, n.CostType):
                    return self.owned(declared.target, expr, place, side)
                return None
            case n.Cost(target=target, expr=quantity):
                inner = self.type_of(quantity, place.under(".Cost[1]", quantity), side)
                self.plain(inner, "the quantity of a `cost`", place.under(".Cost[1]", quantity))
                return self.owned(target, expr, place, side)
            case n.Unary(op=op, operand=operand):
                at = place.under(".Unary[1]", operand)
                inner = self.type_of(operand, at, side)
                if op is n.UnaryOp.NEG:
                    return inner
                self.plain(inner, "the operand of `!`", at)
                return None
            case n.Binary():
                return self.binary(expr, place, side)
            case n.Cond(test=test, then=then, orelse=orelse):
                at = place.under(".Cond[0]", test)
                self.plain(self.type_of(test, at, side), "the condition of `?:`", at)
                left = self.type_of(then, place.under(".Cond[1]", then), side)
                right = self.type_of(orelse, place.under(".Cond[2]", orelse), side)
                return self.equal(left, right, "the two values of `?:`", place)
            case n.Call(fun=fun, args=args) if fun in _PAIRS and len(args) == 2:
                kinds = [self.type_of(e, place.under(s, e), side) for s, e in children(expr)]
                if len(kinds) == 2:
                    what = f"the arguments of `{function_name(fun)}`"
                    return self.equal(kinds[0], kinds[1], what, place)
                return UNKNOWN
            case n.Call(fun=fun) if fun in _KEEPS:
                kinds = [self.type_of(e, place.under(s, e), side) for s, e in children(expr)]
                return kinds[0] if len(kinds) == 1 else UNKNOWN
        for step, child in children(expr):
            at = place.under(step, child)
            self.plain(self.type_of(child, at, side), _argument_of(expr, step), at)
        return None

    def binary(self, expr: n.Binary, place: Place, side: Side) -> Type:
        left_at, right_at = (place.under(s, e) for s, e in children(expr))
        left = self.type_of(expr.left, left_at, side)
        right = self.type_of(expr.right, right_at, side)
        sign = f"`{_sign(expr.op)}`"
        match expr.op:
            case BinaryOp.ADD | BinaryOp.SUB:
                return self.equal(left, right, f"the two sides of {sign}", place)
            case BinaryOp.MUL if left is None or right is None:
                return right if left is None else left
            case BinaryOp.DIV if right is None:
                return left
            case op if op in _COMPARISONS:
                self.equal(left, right, f"the two sides of {sign}", place)
                return None
        unknown = isinstance(left, _Unknown) or isinstance(right, _Unknown)
        if unknown or (left is None and right is None):
            return UNKNOWN if unknown else None
        self.model.issues.add(place, TYPE, f"{sign} makes no sense of {self.both(left, right)}")
        return UNKNOWN

    def both(self, left: Type, right: Type) -> str:
        assert not isinstance(left, _Unknown) and not isinstance(right, _Unknown)
        return f"{self.words(left)} and {self.words(right)}"

    def equal(self, left: Type, right: Type, what: str, place: Place) -> Type:
        if isinstance(left, _Unknown) or isinstance(right, _Unknown):
            return UNKNOWN
        if left == right:
            return left
        self.model.issues.add(
            place, TYPE, f"{what} are of one type, and here they are {self.both(left, right)}",
            _CONVERT if left is None or right is None else None,
        )  # fmt: skip
        return UNKNOWN

    def plain(self, kind: Type, what: str, place: Place) -> None:
        if kind is not None and not isinstance(kind, _Unknown):
            self.model.issues.add(
                place, TYPE, f"{what} is a plain number, and this is {self.words(kind)}"
            )

    def owned(self, target: n.Target, expr: n.Expr, place: Place, side: Side) -> Type:
        """A cost in the workload is of resources that the server does not use."""
        if self.at_arrival:
            message = "`init` and `turn` give sizes and observations, and read no costs"
            self.model.issues.add(place, "workload-cost", message)
            return UNKNOWN
        if side is Side.WORKLOAD and self.server_uses(target):
            self.model.issues.add(
                place,
                "workload-cost",
                f"the workload has no cost of `{target_text(self.program, target)}`, which the "
                "server uses",
                "send a size and convert it in the server",
            )
        return target

    def server_uses(self, target: n.Target) -> bool:
        match target:
            case n.JointTarget(targets=targets):
                return any(self.server_uses(t) for t in targets)
            case n.PoolTarget(base=base, count=count):
                return not self.server_pools.isdisjoint(range(base, base + count))
            case n.StageTarget(base=base, count=count):
                return not self.server_stages.isdisjoint(range(base, base + count))


_COSTED = frozenset(
    {".Set[1]", ".Observe[1]", ".Run.work", ".Grow[1]", ".Load[1]", ".Hold.reuse", ".Hold.cache"}
)


def _takes_cost(step: str) -> bool:
    """Whether a position of a statement may be a cost."""
    return step in _COSTED or step.startswith(".Hold.pools")


def _sign(op: BinaryOp) -> str:
    return SIGNS[op][0]


def _argument_of(expr: n.Expr, step: str) -> str:
    if step.endswith(".index"):
        return "an index"
    match expr:
        case n.Call(fun=fun):
            return f"an argument of `{function_name(fun)}`"
        case n.Sample(dist=dist):
            return f"an argument of `~{dist.value.lower()}`"
    return "this"


def _used_by_server(model: Model) -> tuple[set[int], set[int]]:
    """The pools and stages that the server's statements hold, grow, load and run."""
    pools: set[int] = set()
    stages: set[int] = set()
    for stmt, _, side in model.statements():
        if side is not Side.SERVER:
            continue
        match stmt:
            case n.Run(stage=stage, also=also, growing=growing):
                for ref in (stage, *also):
                    stages.update(range(ref.base, ref.base + ref.count))
                if growing is not None:
                    pools.update(range(growing.base, growing.base + growing.count))
            case n.Hold(pools=held):
                for pool in held:
                    pools.update(range(pool.pool.base, pool.pool.base + pool.pool.count))
            case n.Grow(pool=ref) | n.Load(pool=ref):
                pools.update(range(ref.base, ref.base + ref.count))
    return pools, stages
