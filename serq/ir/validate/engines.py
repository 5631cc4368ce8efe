"""Engines: every path of a schedule does something, granule and caps, states, who admits."""

from __future__ import annotations

from .. import nodes as n
from ..constants import fold
from ..moments import Moment
from ..text import number
from .issues import ROOT, Place
from .model import Model
from .sites import iteration_statements


def check(model: Model) -> None:
    """The rules of engines, of their states, and of the pools they admit."""
    for i, stage in enumerate(model.program.stages):
        if isinstance(stage.kind, n.Step):
            place = ROOT.under(f".stages[{i}]", stage).under(".kind.Step", stage.kind)
            _check_engine(model, i, stage.kind, place)
    _check_registers(model)
    _check_pools(model)


def _check_engine(model: Model, index: int, step: n.Step, place: Place) -> None:
    name = model.stage(index)
    budget = fold(step.budget)
    if budget is not None and budget <= 0:
        model.issues.add(
            place.under(".budget", step.budget),
            "not-positive",
            f"engine `{name}`: a `tokens cap` of {number(budget)}: no iteration could compute a "
            "token",
        )
    _check_chunk(model, name, step.chunk, place.under(".chunk", step.chunk))
    if step.granule is not None:
        _check_granule(model, name, step, step.granule, place.under(".granule", step.granule))
    if step.iteration is None:
        return
    if isinstance(step.serve, n.ExclusivePrefill):
        model.issues.add(
            place.under(".iteration"),
            "exclusive-prefill",
            f"engine `{name}`: `exclusive prefill` takes back decodes already chosen, and stands "
            "in no other schedule than its own",
        )
    if not _acts(step.iteration):
        model.issues.add(
            place.under(".iteration"),
            "schedule-idle",
            f"engine `{name}`: a path through its schedule neither advances `running` nor admits "
            "`waiting`, and an engine that schedules nothing waits for an event",
        )
    for stmt, at in iteration_statements(step, place):
        if isinstance(stmt, n.IterSet):
            register = model.program.registers[stmt.register]
            if register.stage != index:
                model.issues.add(
                    at,
                    "state-of-other",
                    f"engine `{name}` sets `{register.name}`, a state of engine "
                    f"`{model.stage(register.stage)}`; a schedule sets its own engine's",
                )


def _acts(statements: tuple[n.IterStmt, ...]) -> bool:
    """Whether every path through statements advances or admits."""
    for stmt in statements:
        match stmt:
            case n.IterServe() | n.IterAdmit():
                return True
            case n.IterBranch(then=then, orelse=orelse):
                if _acts(then) and _acts(orelse):
                    return True
    return False


def _check_chunk(model: Model, name: str, chunk: n.Expr, place: Place) -> None:
    """A cap on a run's tokens: a constant (0 for none), `max(k, e)`, or a choice among such."""
    if isinstance(chunk, n.Cond):
        _check_chunk(model, name, chunk.then, place.under(".Cond[1]", chunk.then))
        _check_chunk(model, name, chunk.orelse, place.under(".Cond[2]", chunk.orelse))
        return
    value = fold(chunk)
    if value is not None:
        if not value >= 0:
            model.issues.add(
                place,
                "cap-could-be-zero",
                f"engine `{name}`: `each at most ({number(value)})` gives a run nothing",
                "no cap is written `inf`",
            )
        return
    floor = chunk_floor(chunk)
    if floor is None or not floor > 0:
        model.issues.add(
            place,
            "cap-could-be-zero",
            f"engine `{name}`: `each at most ({model.show(chunk, Moment.BUDGET)})` could give a "
            "run nothing",
            "a computed cap is `max(k, …)` with a constant k above 0",
        )


def chunk_floor(chunk: n.Expr) -> float | None:
    """The constant k of ``max(k, e)``."""
    if isinstance(chunk, n.Call) and chunk.fun is n.Fun.MAX:
        values = [fold(a.expr) for a in chunk.args if isinstance(a, n.ExprArg)]
        constants = [v for v in values if v is not None]
        return max(constants, default=None)
    return None


def _check_granule(model: Model, name: str, step: n.Step, granule: n.Expr, place: Place) -> None:
    value = granule.value if isinstance(granule, n.Num) else None
    if value is None or not value > 0:
        model.issues.add(
            place,
            "not-positive",
            f"engine `{name}`: a `granule` of {model.show(granule, Moment.BUDGET)}: a prefill "
            "takes a multiple of a constant above 0 (`inf` for the whole prompt or nothing)",
        )
        return
    if isinstance(step.serve, n.ExclusivePrefill):
        model.issues.add(
            place,
            "granule-exclusive",
            f"engine `{name}`: a `granule` under `exclusive prefill`: a prefill that takes no "
            "multiple of it would still keep every decode waiting",
        )
    cap = fold(step.chunk)
    if cap is None:
        cap = chunk_floor(step.chunk)
    if cap is not None and 0 < cap < value:
        model.issues.add(
            place,
            "granule-above-cap",
            f"engine `{name}`: a `granule` of {number(value)} where a run is given "
            f"{number(cap)} tokens at most: a longer prompt would never get one",
        )


def _check_registers(model: Model) -> None:
    names: set[str] = set()
    for i, register in enumerate(model.program.registers):
        place = ROOT.under(f".registers[{i}]", register)
        kind = model.program.stages[register.stage].kind
        if not isinstance(kind, n.Step) or kind.iteration is None:
            model.issues.add(
                place.under(".stage"),
                "state-of-other",
                f"state `{register.name}` belongs to `{model.stage(register.stage)}`, which has "
                "no schedule that could set it",
            )
        if register.init - register.init != 0:  # infinite or NaN
            model.issues.add(
                place.under(".init"),
                "not-finite",
                f"state `{register.name}` starts at {number(register.init)}, and not at a finite "
                "number",
            )
        if register.name in names:
            message = f"the state `{register.name}` is declared twice"
            model.issues.add(place.under(".name"), "declared-twice", message)
        names.add(register.name)


def _check_pools(model: Model) -> None:
    for i, pool in enumerate(model.program.pools):
        place = ROOT.under(f".pools[{i}]", pool)
        name = model.pool(i)
        if pool.admit_via is not None and not model.is_engine(pool.admit_via):
            model.issues.add(
                place.under(".admit_via"),
                "admitted-by-stage",
                f"pool `{name}` is admitted by `{model.stage(pool.admit_via)}`, which is no "
                "engine: only an engine's schedule admits",
            )
        if pool.block is not None and not pool.block > 0:
            model.issues.add(
                place.under(".block"),
                "not-positive",
                f"pool `{name}` has blocks of {number(pool.block)} units: a block is above 0",
            )
        orders = [(".queue", pool.queue, "queue by")]
        if isinstance(pool.evict, n.EvictBy):
            orders.append((".evict.By", pool.evict.keys, "evict by"))
        if isinstance(pool.preempt, n.PreemptBy):
            orders.append((".preempt.By.keys", pool.preempt.keys, "preempt by"))
        for path, keys, word in orders:
            if keys is not None and not keys:
                message = f"pool `{name}`: `{word}` has no key, and needs at least one"
                model.issues.add(place.under(path), "no-key", message)
