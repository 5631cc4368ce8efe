"""What may be read when: one table of evaluation moments and readable names.

An expression is evaluated at the moment its position fixes, and a moment supplies some values and
not others. The validator refuses by this table; messages, editor completion and the documentation
are made of it. `moments` says at which moments a value can be read at all, `note` what a row adds
to that in words.
"""

from __future__ import annotations

from enum import StrEnum

from .nodes import Ctx, Fun


class Moment(StrEnum):
    """When an expression is read; the value is the name of the table's column."""

    SESSION = "Session"
    ADMIT = "Admit"
    SELECT = "Select"
    EVICT = "Evict"
    VICTIM = "Victim"
    PS = "Ps"
    BUDGET = "Budget"
    SERVE = "Serve"
    ONLY = "Only"
    PLAN = "Plan"
    STEP = "Step"
    GAUGE = "Gauge"
    GIVEN = "Given"
    ITERATION = "Iteration"
    END = "End"
    GAP = "Gap"


M = Moment

POSITIONS: dict[Moment, str] = {
    M.SESSION: "a statement",
    M.ADMIT: "a hold's header",
    M.SELECT: "a pool's `queue by` keys",
    M.EVICT: "a pool's `evict by` keys or its `spill`",
    M.VICTIM: "a pool's `preempt by` keys",
    M.PS: "the capacity of a `ps` stage",
    M.BUDGET: "an engine's `tokens cap` or `each at most`",
    M.SERVE: "an engine's `advance running by` keys",
    M.ONLY: "an `only` of a schedule",
    M.PLAN: "a `branch`, `while` or `set` of a schedule",
    M.STEP: "an engine's `execute`",
    M.GAUGE: "a gauge",
    M.GIVEN: "a claim's `given`",
    M.ITERATION: "a claim over iterations",
    M.END: "a claim `at end`",
    M.GAP: "the gap of `arrive renewal`",
}
"""Where a moment's expressions stand, as a phrase after *in*."""

READ_WHEN: dict[Moment, str] = {
    M.SESSION: "when the session gets there (a hold's `cache`: when it releases)",
    M.ADMIT: "at every attempt to admit the hold",
    M.SELECT: "for every waiting hold, before each selection",
    M.EVICT: "for one entry of the cache",
    M.VICTIM: "for each candidate, when a growth does not fit",
    M.PS: "for the jobs of the stage",
    M.BUDGET: "as the iteration starts",
    M.SERVE: "for each running request, at its turn",
    M.ONLY: "for each running request, at its turn",
    M.PLAN: "as the iteration is planned",
    M.STEP: "after the batch is formed",
    M.GAUGE: "at the end of every instant, with no session",
    M.GIVEN: "for each session, once its `init` has run",
    M.ITERATION: "as an iteration starts, its batch scheduled",
    M.END: "once, when the run ends",
    M.GAP: "for each arrival",
}


class Kind(StrEnum):
    """What is readable beside context variables and functions of the state."""

    DRAW = "draw"
    ATTRIBUTE = "attribute"
    HIDDEN = "hidden attribute"
    REGISTER = "state of an engine"
    AGGREGATE = "aggregate of an observation"


Readable = Ctx | Fun | Kind

_ALL = frozenset(Moment)
_STATE = _ALL - {M.GIVEN, M.END, M.GAP}
_BATCH = frozenset({M.STEP, M.ITERATION})
_CLAIMS = frozenset({M.ITERATION, M.END})
_RUNNING = frozenset({M.BUDGET, M.SERVE, M.ONLY, M.PLAN, M.STEP, M.ITERATION})

_VARIABLES: dict[Ctx, frozenset[Moment]] = {
    Ctx.NOW: _ALL - {M.ONLY, M.PLAN, M.GAUGE, M.GIVEN, M.GAP},
    Ctx.WAITED: frozenset({M.SELECT}),
    Ctx.SIZE: frozenset({M.EVICT}),
    Ctx.AGE: frozenset({M.EVICT}),
    Ctx.LAST: frozenset({M.EVICT}),
    Ctx.QUEUED: frozenset({M.EVICT}),
    Ctx.N: frozenset({M.PS}),
    Ctx.POSITION: frozenset({M.VICTIM}),
    Ctx.DECODING: frozenset({M.VICTIM, M.SERVE, M.ONLY}),
    Ctx.ADMISSION: frozenset({M.VICTIM, M.SERVE, M.ONLY}),
    Ctx.REMAINING: frozenset({M.SERVE, M.ONLY}),
    Ctx.NRES: _RUNNING,
    Ctx.NDEC: _RUNNING,
    Ctx.KVB: _RUNNING,
    Ctx.KVP: _RUNNING,
    Ctx.NTOK: _BATCH | {M.PLAN},
    Ctx.NPRE: _BATCH | {M.PLAN},
    Ctx.ATTN: _BATCH,
    Ctx.ADMITTED: frozenset({M.PLAN}),
    Ctx.PREEMPTED: frozenset({M.PLAN}),
    Ctx.DEMAND: frozenset({M.ITERATION}),
    Ctx.SERVED: frozenset({M.ITERATION}),
    Ctx.ARRIVED: frozenset({M.ITERATION}),
}
_QUERIES: dict[Fun, frozenset[Moment]] = {
    Fun.USED: _STATE,
    Fun.FREE: _STATE,
    Fun.HOLDERS: _STATE,
    Fun.QUEUED: _STATE,
    Fun.QUEUE: _STATE,
    Fun.BUSY: _STATE,
    Fun.CACHED_IN: _STATE - {M.GAUGE, M.ITERATION},
    Fun.WORK: _STATE - {M.ONLY, M.PLAN, M.GAUGE, M.ITERATION},
    Fun.EST_LAMBDA: _STATE - {M.ITERATION},
    Fun.EST_RHO: _STATE - {M.ITERATION},
    Fun.EST_WAIT: _STATE - {M.ITERATION},
    Fun.PRICE: _STATE - {M.ITERATION},
    Fun.BUDGET_LEFT: _STATE - {M.VICTIM, M.BUDGET, M.GAUGE, M.ITERATION},
    Fun.PREEMPTIONS: _CLAIMS,
    Fun.REJECTED: _CLAIMS,
    Fun.STUCK: _CLAIMS,
    Fun.RECOMPUTED: _CLAIMS,
}
_KINDS: dict[Kind, frozenset[Moment]] = {
    Kind.DRAW: frozenset({M.SESSION, M.EVICT, M.PS, M.BUDGET, M.STEP, M.GAP}),
    Kind.ATTRIBUTE: frozenset(
        {M.SESSION, M.ADMIT, M.SELECT, M.EVICT, M.VICTIM, M.SERVE, M.ONLY, M.GIVEN}
    ),
    Kind.HIDDEN: frozenset({M.SESSION, M.GIVEN}),
    Kind.REGISTER: _ALL - {M.SESSION, M.PS, M.GIVEN, M.GAP},
    Kind.AGGREGATE: frozenset({M.END}),
}

READABLE: tuple[Readable, ...] = (*_VARIABLES, *_QUERIES, *_KINDS)
"""The rows of the table. Numbers and arithmetic are read at every moment and have no row."""


def moments(readable: Readable) -> frozenset[Moment]:
    """The moments at which a value can be read."""
    # three tables, since a variable and a function of one name are equal as keys
    if isinstance(readable, Ctx):
        return _VARIABLES[readable]
    return _QUERIES[readable] if isinstance(readable, Fun) else _KINDS[readable]


_NOTES: dict[Ctx | Kind, str] = {
    Kind.ATTRIBUTE: "not `computed` in a pool's `preempt by` keys, where `position` says where "
    "the candidate is now",
    Kind.HIDDEN: "a server's decisions only after a run whose work reads it",
    Kind.REGISTER: "by its own engine, by the keys of a pool it admits, by the header of a hold "
    "whose first pool it admits, by gauges, claims over its iterations and claims at the end",
    Ctx.NDEC: "in `execute` and in claims of the batch, elsewhere of the running requests",
    Ctx.KVB: "in `execute` and in claims of the batch, elsewhere of the running requests",
    Ctx.KVP: "in `execute` and in claims of the batch, elsewhere of the running requests",
    Ctx.NTOK: "in a schedule: of the batch so far",
    Ctx.NPRE: "in a schedule: of the batch so far",
}


def note(readable: Readable) -> str | None:
    """What the moments of a row do not say."""
    if readable is Fun.BUDGET_LEFT:
        return "not of an engine in its own schedule's `branch`, `while` and `set`"
    return None if isinstance(readable, Fun) else _NOTES.get(readable)


_PLAIN: dict[Ctx, str] = {
    Ctx.NOW: "now",
    Ctx.WAITED: "waited",
    Ctx.SIZE: "size",
    Ctx.AGE: "age",
    Ctx.LAST: "last",
    Ctx.QUEUED: "waiting",
    Ctx.N: "present",
    Ctx.DECODING: "decoding",
    Ctx.ADMISSION: "admission",
    Ctx.REMAINING: "remaining",
    Ctx.POSITION: "position",
    Ctx.ADMITTED: "waiting.admitted",
    Ctx.PREEMPTED: "running.preempted",
    Ctx.DEMAND: "demand",
    Ctx.SERVED: "served",
    Ctx.ARRIVED: "arrived",
}
_CLAIM: dict[Ctx, str] = {
    Ctx.NRES: "residents",
    Ctx.NDEC: "decoders",
    Ctx.NPRE: "prefilled",
    Ctx.NTOK: "tokens",
    Ctx.KVB: "kv_decode",
    Ctx.KVP: "kv_prefill",
    Ctx.ATTN: "attention",
}
_LISTS: dict[Ctx, str] = {
    Ctx.NRES: "count",
    Ctx.NDEC: "decoding",
    Ctx.NPRE: "prefilled",
    Ctx.NTOK: "tokens",
    Ctx.KVB: "kv_decode",
    Ctx.KVP: "kv_prefill",
    Ctx.ATTN: "attention",
}
_ALWAYS_BATCH = (Ctx.NTOK, Ctx.NPRE, Ctx.ATTN)


def spelling(name: Ctx, moment: Moment) -> str:
    """How the program's text writes a context variable in the clauses of a moment.

    ``Ntok`` is ``batch.tokens`` in an engine and ``tokens`` in a claim. Where the moment does not
    supply it, the bare name.
    """
    if name in _PLAIN:
        return _PLAIN[name]
    if moment not in _RUNNING or moment is M.ITERATION:
        return _CLAIM[name]
    if name in _ALWAYS_BATCH or (moment is M.STEP and name is not Ctx.NRES):
        return f"batch.{_LISTS[name]}"
    return f"running.{_LISTS[name]}"


def spellings(name: Ctx) -> dict[str, list[Moment]]:
    """Every way a context variable is written, with the moments that write it so."""
    out: dict[str, list[Moment]] = {}
    for moment in Moment:
        if moment in moments(name):
            out.setdefault(spelling(name, moment), []).append(moment)
    return out


def readable_at(moment: Moment) -> list[Readable]:
    """What a moment supplies, in the order of the table."""
    return [readable for readable in READABLE if moment in moments(readable)]


def places(readable: Readable) -> str:
    """Where a value can be read, as a phrase after *in*."""
    phrases = [POSITIONS[m] for m in Moment if m in moments(readable)]
    return phrases[0] if len(phrases) == 1 else ", ".join(phrases[:-1]) + " and " + phrases[-1]
