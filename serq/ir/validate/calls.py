"""Functions and draws: how many arguments, of what kind; constant indices of references."""

from __future__ import annotations

from .. import nodes as n
from ..constants import fold
from ..extensions import CLAIM_COUNTERS, EXTENDED_VERSION
from ..functions import COUNTERS, DRAW_ARGUMENTS, SIGNATURES, ArgKind, draw_name, function_name
from ..moments import moments
from ..text import number
from .issues import Place
from .model import Model
from .sites import ref_sites

_KINDS: dict[type, ArgKind] = {
    n.ExprArg: ArgKind.NUMBER,
    n.PoolArg: ArgKind.POOL,
    n.StageArg: ArgKind.STAGE,
}


def check(model: Model) -> None:
    """Arity and kinds of every call and draw, and every constant index."""
    for site in model.sites:
        for expr, place in model.inside(site):
            match expr:
                case n.Call():
                    _check_call(model, expr, place)
                    if expr.fun in COUNTERS and site.moment in moments(expr.fun):
                        _check_marked(model, expr.fun, place)
                case n.Sample(dist=dist, args=args):
                    _check_count(
                        model, place, f"~{draw_name(dist)}", DRAW_ARGUMENTS[dist], len(args)
                    )
    for stmt, place, _ in model.statements():
        for ref in ref_sites(model, stmt, place):
            _check_index(model, ref.ref, ref.kind, ref.place)


def _check_count(model: Model, place: Place, name: str, want: int, have: int) -> None:
    if want != have:
        arguments = "argument" if want == 1 else "arguments"
        model.issues.add(
            place, "argument-count", f"`{name}` takes {want} {arguments}, and {have} are given"
        )


def _check_call(model: Model, call: n.Call, place: Place) -> None:
    name, kinds = function_name(call.fun), SIGNATURES[call.fun]
    _check_count(model, place, name, len(kinds), len(call.args))
    for i, arg in enumerate(call.args):
        at = place.under(f".Call[1][{i}]", arg)
        if i < len(kinds) and not _fits(arg, kinds[i]):
            model.issues.add(
                at,
                "argument-kind",
                f"`{name}` takes {kinds[i].value} here, and {_KINDS[type(arg)].value} is given",
            )
        if isinstance(arg, n.PoolArg):
            _check_index(model, arg.ref, "pool", at.under(".Pool", arg.ref))
        elif isinstance(arg, n.StageArg):
            ref = at.under(".Stage", arg.ref)
            _check_index(model, arg.ref, "stage", ref)
            if call.fun is n.Fun.BUDGET_LEFT or call.fun in COUNTERS:
                _check_engine(model, call.fun, arg.ref, ref)


def _check_marked(model: Model, fun: n.Fun, place: Place) -> None:
    if CLAIM_COUNTERS not in model.program.extensions:
        model.issues.add(
            place,
            "ir-extension",
            f"`{function_name(fun)}` is no word of IR version {n.VERSION}: a document that uses it "
            f"has version {EXTENDED_VERSION} and `{CLAIM_COUNTERS}` among its extensions",
        )


def _fits(arg: n.Arg, kind: ArgKind) -> bool:
    """Whether an argument is of the kind that a function takes."""
    have = _KINDS[type(arg)]
    return have is not ArgKind.NUMBER if kind is ArgKind.COUNTED else have is kind


def _check_index(model: Model, ref: n.Ref, kind: str, place: Place) -> None:
    """A constant index names a member: a whole number from 0, below the family's count."""
    if ref.index is None:
        return
    value = fold(ref.index)
    if value is None or (value.is_integer() and 0 <= value < ref.count):
        return
    members = model.program.pools if kind == "pool" else model.program.stages
    name = members[ref.base].name
    have = "only member 0" if ref.count == 1 else f"members 0 to {ref.count - 1}"
    model.issues.add(
        place.under(".index", ref.index),
        "index-out-of-range",
        f"`{name}[{number(value)}]` does not exist: {kind} `{name}` has {have}",
    )


_ONLY_ENGINES: dict[n.Fun, tuple[str, str]] = {
    n.Fun.BUDGET_LEFT: ("budget-of-stage", "only an engine has a token budget"),
    n.Fun.PREEMPTIONS: ("counter-of-stage", "only an engine's requests are preempted"),
    n.Fun.REJECTED: ("counter-of-stage", "only an engine admits requests, and refuses them"),
    n.Fun.STUCK: ("counter-of-stage", "only an engine's requests are preempted"),
    n.Fun.RECOMPUTED: ("counter-of-stage", "only an engine's requests compute tokens again"),
}


def _check_engine(model: Model, fun: n.Fun, ref: n.Ref, place: Place) -> None:
    code, why = _ONLY_ENGINES[fun]
    for stage in range(ref.base, ref.base + ref.count):
        if not model.is_engine(stage):
            what = f"`{function_name(fun)}({model.stage_ref(ref)})`"
            model.issues.add(
                place,
                code,
                f"{what}: `{model.stage(stage)}` is no engine, and {why}",
                "name the engine, or a pool" if fun in COUNTERS else None,
            )
            return
