"""Where a program's expressions stand and when they are read."""

from __future__ import annotations

from collections.abc import Iterator

from .. import nodes as n
from ..moments import Moment
from ..walk import stmt_exprs, stmt_refs
from .issues import ROOT, Place
from .model import Model, RefSite, Site

M = Moment


def all_sites(model: Model) -> Iterator[Site]:
    """Every expression of the program, except those inside others."""
    program = model.program
    for stmt, place, _ in model.statements():
        yield from statement_sites(model, stmt, place)
    for i, pool in enumerate(program.pools):
        yield from _pool_sites(model, i, pool)
    for i, stage in enumerate(program.stages):
        yield from _stage_sites(model, i, stage)
    if isinstance(program.arrival, n.Renewal):
        gap = program.arrival.gap
        place = ROOT.under(".arrival", program.arrival).under(".Renewal", gap)
        yield Site(gap, place, M.GAP, "the gap of `arrive renewal`")
    for i, gauge in enumerate(program.gauges):
        place = ROOT.under(f".gauges[{i}]", gauge).under(".expr", gauge.expr)
        yield Site(gauge.expr, place, M.GAUGE, f"gauge `{gauge.name}`")
    for i, claim in enumerate(program.claims):
        place = ROOT.under(f".claims[{i}]", claim)
        moment = M.END if isinstance(claim.kind, n.AtEnd) else M.ITERATION
        engine = None if isinstance(claim.kind, n.AtEnd) else claim.kind.stage
        if claim.given is not None:
            at = place.under(".given", claim.given)
            yield Site(claim.given, at, M.GIVEN, f"the `given` of claim `{claim.name}`")
        at = place.under(".expr", claim.expr)
        yield Site(claim.expr, at, moment, f"claim `{claim.name}`", stage=engine)


_STATEMENT_NAMES = {
    ".Set[1]": "a `set`",
    ".Observe[1]": "an `observe`",
    ".Hold.reuse": "the `reuse` of a hold",
    ".Hold.cache": "the `cache` of a hold",
    ".Hold.lease[1]": "the time of a lease",
    ".Grow[1]": "the amount of a `grow`",
    ".Load[1]": "the amount of a `load`",
    ".Run.work": "the work of a run",
    ".Branch[0]": "the guard of a `branch`",
    ".While[0]": "the guard of a `while`",
    ".Choose.count": "the count of a `choose`",
}


def statement_sites(model: Model, stmt: n.Stmt, place: Place) -> Iterator[Site]:
    """The expressions of one statement; indices of its references are among them."""
    for ref in ref_sites(model, stmt, place):
        if ref.ref.index is not None:
            at = ref.place.under(".index", ref.ref.index)
            yield Site(ref.ref.index, at, M.SESSION, f"the index of a {ref.kind}")
    holds = stmt.pools[0].pool if isinstance(stmt, n.Hold) and stmt.pools else None
    for path, expr in stmt_exprs(stmt):
        moment, what = M.SESSION, _STATEMENT_NAMES.get(path, "the keys of a `choose`")
        first = None
        if path.startswith(".Hold.pools"):
            moment, first = M.ADMIT, holds
            what = "the units of a hold" if path.endswith("[1]") else "the `reserve` of a hold"
        elif path == ".Hold.reuse":
            moment, first = M.ADMIT, holds
        yield Site(expr, place.under(path, expr), moment, what, holds=first)


def ref_sites(model: Model, stmt: n.Stmt, place: Place) -> Iterator[RefSite]:
    """The references of one statement."""
    for path, ref in stmt_refs(stmt):
        kind = "stage" if path == ".Run.stage" or path.startswith(".Run.also") else "pool"
        yield RefSite(ref, place.under(path, ref), kind)


def _pool_sites(model: Model, index: int, pool: n.Pool) -> Iterator[Site]:
    place = ROOT.under(f".pools[{index}]", pool)
    name = model.pool(index)

    def keys(
        expressions: tuple[n.Expr, ...], path: str, moment: Moment, word: str
    ) -> Iterator[Site]:
        for k, expr in enumerate(expressions):
            at = place.under(f"{path}[{k}]", expr)
            yield Site(expr, at, moment, f"the `{word}` keys of pool `{name}`", pool=index)

    if isinstance(pool.evict, n.EvictBy):
        yield from keys(pool.evict.keys, ".evict.By", M.EVICT, "evict by")
    if isinstance(pool.preempt, n.PreemptBy):
        yield from keys(pool.preempt.keys, ".preempt.By.keys", M.VICTIM, "preempt by")
    if pool.queue is not None:
        yield from keys(pool.queue, ".queue", M.SELECT, "queue by")
    if pool.spill is not None:
        spill = place.under(".spill", pool.spill)
        for field, word in (("work", "work"), ("when", "condition")):
            expr: n.Expr = getattr(pool.spill, field)
            what = f"the {word} of pool `{name}`'s `spill`"
            yield Site(expr, spill.under(f".{field}", expr), M.EVICT, what, pool=index)


def _stage_sites(model: Model, index: int, stage: n.Stage) -> Iterator[Site]:
    place = ROOT.under(f".stages[{index}]", stage)
    name = model.stage(index)
    match stage.kind:
        case n.Ps(capacity=capacity):
            at = place.under(".kind.Ps", capacity)
            yield Site(capacity, at, M.PS, f"the capacity of stage `{name}`", stage=index)
        case n.Step() as step:
            yield from _engine_sites(place.under(".kind.Step", step), index, name, step)


def _engine_sites(place: Place, index: int, name: str, step: n.Step) -> Iterator[Site]:
    clauses: list[tuple[str, n.Expr | None, Moment, str]] = [
        (".budget", step.budget, M.BUDGET, "the `tokens cap`"),
        (".cost", step.cost, M.STEP, "the `execute`"),
        (".chunk", step.chunk, M.BUDGET, "the `each at most`"),
        (".granule", step.granule, M.BUDGET, "the `granule`"),
    ]
    for path, expr, moment, word in clauses:
        if expr is not None:
            at = place.under(path, expr)
            yield Site(expr, at, moment, f"{word} of engine `{name}`", stage=index)
    by = f"the `advance running by` keys of engine `{name}`"
    if isinstance(step.serve, n.ServeBy):
        for k, expr in enumerate(step.serve.keys):
            yield Site(expr, place.under(f".serve.By[{k}]", expr), M.SERVE, by, stage=index)
    for stmt, at in iteration_statements(step, place):
        match stmt:
            case n.IterServe(only=only, by=keys):
                if only is not None:
                    what = f"an `only` of engine `{name}`'s schedule"
                    yield Site(only, at.under(".Serve.only", only), M.ONLY, what, stage=index)
                for k, expr in enumerate(keys or ()):
                    yield Site(expr, at.under(f".Serve.by[{k}]", expr), M.SERVE, by, stage=index)
            case n.IterAdmit(only=only, gate=gate):
                if only is not None:
                    what = f"an `only` of engine `{name}`'s schedule"
                    yield Site(only, at.under(".Admit.only", only), M.ONLY, what, stage=index)
                if gate is not None:
                    what = f"a `while` of engine `{name}`'s schedule"
                    yield Site(gate, at.under(".Admit.gate", gate), M.PLAN, what, stage=index)
            case n.IterBranch(guard=guard):
                what = f"a `branch` of engine `{name}`'s schedule"
                yield Site(guard, at.under(".Branch[0]", guard), M.PLAN, what, stage=index)
            case n.IterSet(expr=expr):
                what = f"a `set` of engine `{name}`'s schedule"
                yield Site(expr, at.under(".Set[1]", expr), M.PLAN, what, stage=index)


def iteration_statements(step: n.Step, place: Place) -> Iterator[tuple[n.IterStmt, Place]]:
    """Every statement of an engine's schedule, those inside branches included."""
    stack = [(s, place.under(f".iteration[{i}]", s)) for i, s in enumerate(step.iteration or ())][
        ::-1
    ]
    while stack:
        stmt, at = stack.pop()
        yield stmt, at
        if isinstance(stmt, n.IterBranch):
            for path, arm in ((".Branch[2]", stmt.orelse), (".Branch[1]", stmt.then)):
                stack.extend([(s, at.under(f"{path}[{i}]", s)) for i, s in enumerate(arm)][::-1])
