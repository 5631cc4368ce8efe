"""Constant amounts, demands that never fit, and constant guards."""

from __future__ import annotations

import math

from .. import nodes as n
from ..constants import fold
from ..text import member, number
from .issues import Place
from .model import Model


def check(model: Model) -> None:
    """Amounts are numbers that are not negative; a hold's demand fits; a guard is a test."""
    for stmt, place, _ in model.statements():
        match stmt:
            case n.Run(stage=stage, work=work):
                shown = f"run {model.stage_ref(stage)}"
                _check_amount(model, work, place.under(".Run.work", work), shown)
            case n.Grow(pool=pool, amount=amount):
                shown = f"grow {model.pool_ref(pool)}"
                _check_amount(model, amount, place.under(".Grow[1]", amount), shown)
            case n.Load(pool=pool, amount=amount):
                shown = f"load {model.pool_ref(pool)}"
                _check_amount(model, amount, place.under(".Load[1]", amount), shown)
            case n.Hold(pools=pools):
                for i, held in enumerate(pools):
                    _check_demand(model, held, place.under(f".Hold.pools[{i}]", held))
            case n.Branch(guard=guard):
                _check_guard(model, guard, place.under(".Branch[0]", guard), "branch")
            case n.While(guard=guard):
                _check_guard(model, guard, place.under(".While[0]", guard), "while")


def _check_amount(model: Model, expr: n.Expr, place: Place, shown: str) -> bool:
    value = fold(expr)
    if value is None or value >= 0:
        return True
    model.issues.add(
        place,
        "not-an-amount",
        f"`{shown} ({number(value)})`: an amount is a number, and not negative",
    )
    return False


def _check_demand(model: Model, held: n.HoldPool, place: Place) -> None:
    ref = held.pool
    units = place.under("[1]", held.units)
    if not _check_amount(model, held.units, units, f"hold {model.pool_ref(ref)}"):
        return
    demands = [(fold(held.units), units)]
    if held.reserve is not None:
        demands.append((fold(held.reserve), place.under("[2]", held.reserve)))
    known = [(value, at) for value, at in demands if value is not None and value == value]
    if not known:
        return
    demand, at = max(known, key=lambda pair: pair[0])
    members = _members(model, ref)
    if any(_rounded(demand, pool.block) <= pool.cap for pool in members):
        return
    best = max(members, key=lambda pool: pool.cap)
    rounded = _rounded(demand, best.block)
    in_blocks = (
        f" ({number(rounded)} in blocks of {number(best.block)})"
        if best.block is not None and rounded != demand
        else ""
    )
    name = model.program.pools[ref.base].name
    cap = f"its cap {number(best.cap)}"
    if len(members) > 1:
        cap = f"the cap of every member ({number(best.cap)} at most)"
    elif best.index is not None:
        cap = f"the cap of `{member(name, best.index)}`, {number(best.cap)}"
    model.issues.add(
        at,
        "never-fits",
        f"the hold asks `{name}` for {number(demand)} units{in_blocks}, more than {cap}: it would "
        "be refused whenever it is reached",
    )


def _members(model: Model, ref: n.Ref) -> list[n.Pool]:
    """The pools a reference can name."""
    pools = list(model.program.pools[ref.base : ref.base + ref.count])
    value = None if ref.index is None else fold(ref.index)
    if value is not None and value.is_integer() and 0 <= value < ref.count:
        return [pools[int(value)]]
    return pools


def _rounded(units: float, block: float | None) -> float:
    """Units rounded up to blocks."""
    if block is None or not block > 0 or math.isinf(block) or math.isinf(units):
        return units
    blocks = units / block
    return units if math.isinf(blocks) else math.ceil(blocks) * block


def _check_guard(model: Model, guard: n.Expr, place: Place, word: str) -> None:
    value = fold(guard)
    if value is None or value in (0.0, 1.0):
        return
    model.issues.add(
        place,
        "not-a-test",
        f"`{word} ({number(value)})`: a guard is a test, 0 or 1",
        f"a probability is written `{word} (~bernoulli({number(value)}))`"
        if 0 < value < 1
        else None,
    )
