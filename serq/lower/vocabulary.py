"""The names the language supplies: functions, distributions, context variables, roles."""

from __future__ import annotations

from serq.ir.nodes import BUILTIN_ATTRS, Aggregate, BinaryOp, Ctx, Dist, Fun, UnaryOp

FUNCTIONS: dict[str, tuple[Fun, tuple[str, ...]]] = {
    "min": (Fun.MIN, ("expr", "expr")),
    "max": (Fun.MAX, ("expr", "expr")),
    "abs": (Fun.ABS, ("expr",)),
    "floor": (Fun.FLOOR, ("expr",)),
    "ceil": (Fun.CEIL, ("expr",)),
    "sqrt": (Fun.SQRT, ("expr",)),
    "exp": (Fun.EXP, ("expr",)),
    "ln": (Fun.LN, ("expr",)),
    "pow": (Fun.POW, ("expr", "expr")),
    "queue": (Fun.QUEUE, ("stage",)),
    "busy": (Fun.BUSY, ("stage",)),
    "work": (Fun.WORK, ("stage",)),
    "est_lambda": (Fun.EST_LAMBDA, ("stage",)),
    "est_rho": (Fun.EST_RHO, ("stage",)),
    "est_wait": (Fun.EST_WAIT, ("stage",)),
    "price": (Fun.PRICE, ("stage", "expr", "expr")),
    "budget_left": (Fun.BUDGET_LEFT, ("stage",)),
    "used": (Fun.USED, ("pool",)),
    "free": (Fun.FREE, ("pool",)),
    "cachedin": (Fun.CACHED_IN, ("pool",)),
    "holders": (Fun.HOLDERS, ("pool",)),
    "queued": (Fun.QUEUED, ("pool",)),
    "preemptions": (Fun.PREEMPTIONS, ("counted",)),
    "rejected": (Fun.REJECTED, ("counted",)),
    "stuck": (Fun.STUCK, ("counted",)),
    "recomputed": (Fun.RECOMPUTED, ("counted",)),
}
"""Function → its IR name and the kinds of its arguments; ``counted`` is a pool or an engine."""

COUNTERS = frozenset(name for name, (_, kinds) in FUNCTIONS.items() if kinds == ("counted",))
"""What claims read beyond the language document: a program may still define such a name."""

ARITHMETIC = frozenset({"min", "max", "abs", "floor", "ceil", "sqrt", "exp", "ln", "pow"})
"""The functions of numbers alone, which constant positions may use too."""

STATE_QUERIES = frozenset(FUNCTIONS) - ARITHMETIC
"""The functions that read the deployment's state."""

DISTRIBUTIONS: dict[str, tuple[Dist, int]] = {
    "exp": (Dist.EXP, 1),
    "det": (Dist.DET, 1),
    "uniform": (Dist.UNIFORM, 2),
    "erlang": (Dist.ERLANG, 2),
    "h2": (Dist.H2, 2),
    "bernoulli": (Dist.BERNOULLI, 1),
}
"""Distribution → its IR name and how many parameters it takes."""

AGGREGATES = {
    "total": Aggregate.TOTAL,
    "count": Aggregate.COUNT,
    "largest": Aggregate.LARGEST,
    "smallest": Aggregate.SMALLEST,
    "prefix_total": Aggregate.PREFIX_TOTAL,
}

BINARY = {
    "+": BinaryOp.ADD,
    "-": BinaryOp.SUB,
    "*": BinaryOp.MUL,
    "/": BinaryOp.DIV,
    "^": BinaryOp.POW,
    "<": BinaryOp.LT,
    "<=": BinaryOp.LE,
    ">": BinaryOp.GT,
    ">=": BinaryOp.GE,
    "==": BinaryOp.EQ,
    "!=": BinaryOp.NE,
    "&&": BinaryOp.AND,
    "||": BinaryOp.OR,
}

UNARY = {"-": UnaryOp.NEG, "!": UnaryOp.NOT}

CONTEXT = {
    "now": Ctx.NOW,
    "waited": Ctx.WAITED,
    "size": Ctx.SIZE,
    "age": Ctx.AGE,
    "last": Ctx.LAST,
    "waiting": Ctx.QUEUED,
    "present": Ctx.N,
    "residents": Ctx.NRES,
    "decoders": Ctx.NDEC,
    "kv_decode": Ctx.KVB,
    "kv_prefill": Ctx.KVP,
    "tokens": Ctx.NTOK,
    "prefilled": Ctx.NPRE,
    "attention": Ctx.ATTN,
    "decoding": Ctx.DECODING,
    "admission": Ctx.ADMISSION,
    "remaining": Ctx.REMAINING,
    "position": Ctx.POSITION,
    "admitted": Ctx.ADMITTED,
    "preempted": Ctx.PREEMPTED,
    "demand": Ctx.DEMAND,
    "served": Ctx.SERVED,
    "arrived": Ctx.ARRIVED,
}
"""The context variables by their bare names; the evaluation moment says which exist where."""

LISTS = frozenset({"running", "batch"})
"""An engine's lists beside ``waiting``."""

SUPPLIED = frozenset(CONTEXT) | LISTS | {"inf"}
"""What no declaration and no attribute may be called."""

BUILTIN = {name: slot for slot, name in enumerate(BUILTIN_ATTRS)}

SCHEDULER_ATTRS = frozenset({"cached", "computed"})
"""The built-in attributes that an admission and a preemption set."""

KEYWORDS = frozenset(
    """
    let def fn use pool stage device engine workload server queue share pull push gauge claim
    every some iteration of at end given cap block evict lru by preempt none lifo requeue head tail
    fifo reserve held spill via when ps delay tokens granule state schedule execute request prefill
    decode growing advance running only admission first each most admit waiting while taking reuse
    exclusive branch else set arrive poisson renewal closed batch trace ordered init turn session
    hidden observe hold cache lease grow drop release load run with loop fork join choose in mark
    transfer tool from to on serve nic latency maxmin bottleneck cost sum
    """.split()  # noqa: SIM905
)

WORDS = (
    KEYWORDS
    | (frozenset(FUNCTIONS) - COUNTERS)
    | frozenset(DISTRIBUTIONS)
    | frozenset(AGGREGATES)
    | {"blocksize", "self"}
)
"""The words of the language: contextual, but no name for a definition or its parameters."""

NOT_CALLED = WORDS - {"tokens", "running", "waiting", "self"}
"""The words that no resource of a device may be called; `execute` calls none of the others."""

RESERVED_QUEUES = frozenset({"prefill", "decode", "transfer", "tool", "gateway", "link"})

ROLE_VERBS = {
    "gateway": "route",
    "prefill": "prefill",
    "decode": "decode",
    "link": "transfer",
}
"""Role → the verb of its entries."""

ROLE_PARAMETERS = {"route": 0, "prefill": 1, "decode": 1, "transfer": 1}
"""Verb → how many parameters its entries take."""
