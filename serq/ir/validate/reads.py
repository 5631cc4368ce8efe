"""What an expression reads exists at the moment it is read (`serq.ir.moments`)."""

from __future__ import annotations

from .. import nodes as n
from ..functions import ARITHMETIC, COUNTERS, aggregate_name, draw_name, function_name
from ..moments import POSITIONS, READ_WHEN, Kind, Moment, moments, places, spelling, spellings
from ..nodes import Ctx, Fun
from ..text import reference
from .issues import Place
from .model import Model, Site

M = Moment
CODE = "not-readable"

_NUMBERED = frozenset({M.GAUGE, M.ITERATION, M.END})


def check(model: Model) -> None:
    """Every read of every expression, by the table of moments."""
    for site in model.sites:
        for expr, place in model.inside(site):
            match expr:
                case n.CtxVar(name=name):
                    _check_variable(model, site, name, place)
                case n.Attr(slot=slot):
                    _check_attribute(model, site, slot, place)
                case n.Sample(dist=dist) if site.moment not in moments(Kind.DRAW):
                    _refuse_draw(model, site, draw_name(dist), place)
                case n.Call() if expr.fun not in ARITHMETIC:
                    _check_state(model, site, expr, place)
                case n.Reg(register=register):
                    _check_register(model, site, register, place)
                case n.Agg(aggregate=aggregate) if site.moment is not M.END:
                    name_ = f"{aggregate_name(aggregate)}(…)"
                    _refuse(model, site, place, name_, "in " + places(Kind.AGGREGATE))


def _refuse(
    model: Model, site: Site, place: Place, name: str, where: str, help: str | None = None
) -> None:
    model.issues.add(
        place, CODE, f"`{name}` cannot be read in {site.what}: it is read {where}", help
    )


def _check_variable(model: Model, site: Site, name: Ctx, place: Place) -> None:
    if site.moment in moments(name):
        return
    here = spelling(name, site.moment)
    if name is Ctx.NOW:
        model.issues.add(place, CODE, f"`now` cannot be read in {site.what}: {_why_no_clock(site)}")
        return
    ways = spellings(name)
    where = "; ".join(
        (f"as `{word}` in " if word != here else "in ") + _list([POSITIONS[m] for m in at])
        for word, at in ways.items()
    )
    _refuse(model, site, place, here, where)


def _list(phrases: list[str]) -> str:
    return phrases[0] if len(phrases) == 1 else ", ".join(phrases[:-1]) + " and " + phrases[-1]


def _why_no_clock(site: Site) -> str:
    match site.moment:
        case M.ONLY | M.PLAN:
            return (
                "an engine that schedules nothing waits for an event, and the clock moving is none"
            )
        case M.GAUGE:
            return "a gauge is held constant between events, and the clock moves"
        case M.GIVEN:
            return "it is a condition on one session's attributes"
    return "a gap is a number, or drawn"


def _check_attribute(model: Model, site: Site, slot: int, place: Place) -> None:
    name = model.attr(slot)
    if site.moment not in moments(Kind.ATTRIBUTE):
        model.issues.add(
            place,
            CODE,
            f"`{name}` is an attribute of a session, and {site.what} is read "
            f"{READ_WHEN[site.moment]}" + ("" if site.moment is M.GAUGE else ", with no session"),
        )
    elif slot in model.hidden and site.moment not in moments(Kind.HIDDEN):
        model.issues.add(
            place,
            "hidden-read",
            f"`{name}` is hidden from the scheduler, which reads {site.what}",
            "the work of a run, a hold's `cache` and an `observe` may read it",
        )
    elif site.moment is M.VICTIM and slot == model.program.slot_computed:
        model.issues.add(
            place,
            CODE,
            f"`{name}` is the position at the candidate's last preemption, not where it is now",
            "read `position`, where the candidate is now",
        )


def _refuse_draw(model: Model, site: Site, dist: str, place: Place) -> None:
    match site.moment:
        case M.GAUGE | M.GIVEN | M.ITERATION | M.END:
            why = "it reads and does not act, and a draw would move the run's streams"
        case _:
            why = f"read {READ_WHEN[site.moment]}, a draw would be another number each time"
    help = "sample into an attribute first" if site.moment in moments(Kind.ATTRIBUTE) else None
    model.issues.add(place, "draws", f"`~{dist}(…)`: {site.what} may not draw: {why}", help)


def _check_state(model: Model, site: Site, call: n.Call, place: Place) -> None:
    name = function_name(call.fun)
    if site.moment not in moments(call.fun):
        match site.moment:
            case _ if call.fun in COUNTERS:
                why = f"it is counted for claims, and read in {places(call.fun)}"
            case M.GIVEN:
                why = "it reads the session's attributes and the constants"
            case M.END:
                why = "it reads the constants, `now`, counters and the aggregates of observations"
            case M.GAP:
                why = "a gap reads nothing of the deployment"
            case _:
                why = _why_not(site, call.fun)
        model.issues.add(place, CODE, f"`{name}(…)` cannot be read in {site.what}: {why}")
        return
    if call.fun is Fun.BUDGET_LEFT and site.moment is M.PLAN:
        _check_own_budget(model, site, call, place)
    if site.moment in _NUMBERED:
        for i, arg in enumerate(call.args):
            if not isinstance(arg, n.ExprArg):
                kind = "pool" if isinstance(arg, n.PoolArg) else "stage"
                if arg.ref.index is not None and not isinstance(arg.ref.index, n.Num):
                    at = place.under(f".Call[1][{i}].{kind.capitalize()}.index", arg.ref.index)
                    shown = reference(model.program, arg.ref, kind, site.moment)
                    model.issues.add(
                        at,
                        "index-not-a-number",
                        f"`{shown}`: a {kind} that {site.what} names has a number for its index",
                    )


def _why_not(site: Site, fun: Fun) -> str:
    match fun:
        case Fun.CACHED_IN:
            return "it is the session's own cached prefix, and there is no session"
        case Fun.BUDGET_LEFT if site.moment is M.BUDGET:
            return "it plans an iteration from this very number"
        case Fun.BUDGET_LEFT if site.moment is M.VICTIM:
            return "a victim is chosen while the iteration that would answer is being planned"
        case Fun.BUDGET_LEFT:
            return "it plans an iteration, which may draw"
        case Fun.WORK if site.moment in (M.ONLY, M.PLAN):
            return "an engine that schedules nothing waits for an event, and work draining is none"
        case Fun.WORK if site.moment is M.GAUGE:
            return "it drains between events, and a gauge is held constant between them"
    return (
        "a claim reads the deployment through queue, busy, used, free, holders, queued and counters"
    )


def _check_own_budget(model: Model, site: Site, call: n.Call, place: Place) -> None:
    for arg in call.args:
        if isinstance(arg, n.StageArg) and site.stage is not None:
            ref = arg.ref
            if ref.base <= site.stage < ref.base + ref.count:
                model.issues.add(
                    place,
                    CODE,
                    f"{site.what} cannot read the budget that its own schedule leaves: "
                    "`budget_left` plans an iteration, and the schedule is the plan",
                )


def _check_register(model: Model, site: Site, register: int, place: Place) -> None:
    program = model.program
    name, engine = program.registers[register].name, program.registers[register].stage
    match site.moment:
        case M.GAUGE | M.END:
            return
        case M.SELECT | M.EVICT | M.VICTIM:
            fits = site.pool is not None and program.pools[site.pool].admit_via == engine
        case M.ADMIT:
            first = site.holds
            fits = first is not None and all(
                program.pools[p].admit_via == engine
                for p in range(first.base, first.base + first.count)
            )
        case M.BUDGET | M.SERVE | M.ONLY | M.PLAN | M.STEP | M.ITERATION:
            fits = site.stage == engine
        case _:
            fits = False
    if not fits:
        model.issues.add(
            place,
            "state-read",
            f"`{name}` is a state of engine `{model.stage(engine)}` and cannot be read in "
            f"{site.what}",
            "it is read by its engine's own clauses, the keys of a pool the engine admits, the "
            "header of a hold whose first pool it admits, gauges, claims over its own iterations "
            "and claims at the end",
        )
