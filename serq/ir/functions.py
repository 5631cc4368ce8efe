"""The functions and draws of the language: names in the text, numbers and kinds of arguments."""

from __future__ import annotations

from enum import StrEnum

from .nodes import Aggregate, Dist, Fun


class ArgKind(StrEnum):
    NUMBER = "a number"
    POOL = "a pool"
    STAGE = "a stage"
    COUNTED = "a pool or an engine"


_N, _P, _S, _C = ArgKind.NUMBER, ArgKind.POOL, ArgKind.STAGE, ArgKind.COUNTED

SIGNATURES: dict[Fun, tuple[ArgKind, ...]] = {
    Fun.MIN: (_N, _N),
    Fun.MAX: (_N, _N),
    Fun.ABS: (_N,),
    Fun.FLOOR: (_N,),
    Fun.CEIL: (_N,),
    Fun.SQRT: (_N,),
    Fun.EXP: (_N,),
    Fun.LN: (_N,),
    Fun.POW: (_N, _N),
    Fun.QUEUE: (_S,),
    Fun.BUSY: (_S,),
    Fun.WORK: (_S,),
    Fun.USED: (_P,),
    Fun.FREE: (_P,),
    Fun.CACHED_IN: (_P,),
    Fun.HOLDERS: (_P,),
    Fun.QUEUED: (_P,),
    Fun.PRICE: (_S, _N, _N),
    Fun.BUDGET_LEFT: (_S,),
    Fun.EST_LAMBDA: (_S,),
    Fun.EST_RHO: (_S,),
    Fun.EST_WAIT: (_S,),
    Fun.PREEMPTIONS: (_C,),
    Fun.REJECTED: (_C,),
    Fun.STUCK: (_C,),
    Fun.RECOMPUTED: (_C,),
}

ARITHMETIC = frozenset(f for f, kinds in SIGNATURES.items() if set(kinds) == {ArgKind.NUMBER})
"""The functions of numbers alone; the others read the live state of pools and stages."""

COUNTERS = frozenset(f for f, kinds in SIGNATURES.items() if ArgKind.COUNTED in kinds)
"""What a run counts from its start; claims alone read it (`serq.ir.extensions`)."""

DRAW_ARGUMENTS: dict[Dist, int] = {
    Dist.EXP: 1,
    Dist.DET: 1,
    Dist.UNIFORM: 2,
    Dist.ERLANG: 2,
    Dist.H2: 2,
    Dist.BERNOULLI: 1,
}

_SPELLED: dict[Fun, str] = {
    Fun.CACHED_IN: "cachedin",
    Fun.BUDGET_LEFT: "budget_left",
    Fun.EST_LAMBDA: "est_lambda",
    Fun.EST_RHO: "est_rho",
    Fun.EST_WAIT: "est_wait",
}


def function_name(fun: Fun) -> str:
    """The function's name in a program's text."""
    return _SPELLED.get(fun, fun.value.lower())


def draw_name(dist: Dist) -> str:
    """The distribution's name in a program's text, without its ``~``."""
    return dist.value.lower()


def aggregate_name(aggregate: Aggregate) -> str:
    """The name of an aggregate of observations in a program's text."""
    return "prefix_total" if aggregate is Aggregate.PREFIX_TOTAL else aggregate.value.lower()
