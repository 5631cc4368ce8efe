"""What each position of a program may read in Lean: the environments of ``lean/Serq/Exec``."""

from __future__ import annotations

from dataclasses import replace

from serq.ir.functions import COUNTERS
from serq.ir.nodes import Ctx, Fun
from serq.leangen.expressions import Moment

_POOLS = frozenset({Fun.USED, Fun.FREE, Fun.HOLDERS, Fun.QUEUED})
_OWN = _POOLS | {Fun.CACHED_IN}
_STAGES = frozenset({Fun.QUEUE, Fun.BUSY, Fun.WORK})
_RUNNING = frozenset({Ctx.NRES, Ctx.NDEC, Ctx.KVB, Ctx.KVP})

STATEMENT = Moment("a statement", frozenset({Ctx.NOW}), _OWN, _STAGES, attributes=True)
HEADER = Moment("a hold's header", frozenset({Ctx.NOW}), _OWN, _STAGES, attributes=True)
ENGINE_HEADER = replace(HEADER, stages=_STAGES | {Fun.BUDGET_LEFT})
"""The header of a hold that waits for the engine to admit it."""

CHOOSE_KEY = Moment(
    "the key of a `choose`", frozenset({Ctx.NOW}), _OWN, _STAGES, attributes=True, integer=True
)
QUEUE_KEY = Moment(
    "a queue key",
    frozenset({Ctx.NOW, Ctx.WAITED}),
    _OWN,
    _STAGES,
    attributes=True,
    integer=True,
)
ENGINE_QUEUE_KEY = replace(QUEUE_KEY, stages=_STAGES | {Fun.BUDGET_LEFT})
EVICT_KEY = Moment(
    "an eviction key",
    frozenset({Ctx.NOW, Ctx.SIZE, Ctx.AGE, Ctx.LAST, Ctx.QUEUED}),
    _POOLS,
    _STAGES,
    attributes=True,
    integer=True,
)
PREEMPT_KEY = Moment(
    "a preemption key",
    frozenset({Ctx.NOW, Ctx.DECODING, Ctx.ADMISSION, Ctx.POSITION}),
    _POOLS,
    _STAGES,
    attributes=True,
    integer=True,
)
SERVE_KEY = Moment(
    "a serving key",
    frozenset({Ctx.DECODING, Ctx.ADMISSION, Ctx.REMAINING}) | _RUNNING,
    _POOLS,
    _STAGES,
    attributes=True,
    integer=True,
)
ONLY = Moment(
    "an `only`",
    frozenset({Ctx.DECODING, Ctx.ADMISSION, Ctx.REMAINING}) | _RUNNING,
    _POOLS,
    _STAGES,
    attributes=True,
)
CHUNK = Moment("the chunk cap", _RUNNING | {Ctx.NOW}, _POOLS, _STAGES, subtraction=False)
COST = Moment(
    "the cost",
    frozenset({Ctx.NTOK, Ctx.NPRE, Ctx.NDEC, Ctx.KVB, Ctx.KVP, Ctx.ATTN, Ctx.NRES, Ctx.NOW}),
    twice_attention=True,
)
INIT = Moment("an init statement", frozenset({Ctx.NOW}), attributes=True)
GIVEN = Moment("a `given`", attributes=True, subtraction=False)
ITERATION_CLAIM = Moment(
    "a claim over iterations",
    frozenset(
        {
            Ctx.NTOK,
            Ctx.NPRE,
            Ctx.NDEC,
            Ctx.NRES,
            Ctx.KVB,
            Ctx.KVP,
            Ctx.ATTN,
            Ctx.DEMAND,
            Ctx.SERVED,
            Ctx.ARRIVED,
            Ctx.NOW,
        }
    ),
    _POOLS | COUNTERS,
    COUNTERS,
    twice_attention=True,
)
END_CLAIM = Moment("a claim at the end", frozenset({Ctx.NOW}), COUNTERS, COUNTERS, aggregates=True)
