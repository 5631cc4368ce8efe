"""The values an engine's clauses read: its lists ``running``, ``waiting`` and ``batch``."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

from serq.ir import nodes
from serq.ir.nodes import Ctx
from serq.lower.scope import Scope
from serq.lower.tables import Engine, PoolFamily
from serq.lower.vocabulary import CONTEXT, LISTS
from serq.syntax import ast

if TYPE_CHECKING:
    from serq.link.expressions import Expressions

CAP, EACH, KEYS, PLAN, EXECUTE = "tokens cap", "each at most", "only", "schedule", "execute"
"""The clauses of an engine, as far as the names they read differ."""

BEFORE = frozenset({CAP, EACH, KEYS, PLAN})


@dataclass(frozen=True, slots=True)
class Dotted:
    """A value of an engine's list: its variable, where it is read, and where else to look."""

    ctx: Ctx
    clauses: frozenset[str]
    elsewhere: str


VALUES: dict[tuple[str, str], Dotted] = {
    ("running", "count"): Dotted(Ctx.NRES, BEFORE | {EXECUTE}, ""),
    ("running", "decoding"): Dotted(Ctx.NDEC, BEFORE, "in `execute` read `batch.decoding`"),
    ("running", "kv_decode"): Dotted(Ctx.KVB, BEFORE, "in `execute` read `batch.kv_decode`"),
    ("running", "kv_prefill"): Dotted(Ctx.KVP, BEFORE, "in `execute` read `batch.kv_prefill`"),
    ("running", "preempted"): Dotted(
        Ctx.PREEMPTED,
        frozenset({PLAN}),
        "it says what the schedule did: a schedule's `branch`, `while` and `set` read it",
    ),
    ("waiting", "admitted"): Dotted(
        Ctx.ADMITTED,
        frozenset({PLAN}),
        "it says what the schedule did: a schedule's `branch`, `while` and `set` read it",
    ),
    ("batch", "tokens"): Dotted(
        Ctx.NTOK,
        frozenset({PLAN, EXECUTE}),
        "`execute` and a schedule's `branch`, `while` and `set` read it",
    ),
    ("batch", "prefilled"): Dotted(
        Ctx.NPRE,
        frozenset({PLAN, EXECUTE}),
        "`execute` and a schedule's `branch`, `while` and `set` read it",
    ),
    ("batch", "decoding"): Dotted(
        Ctx.NDEC, frozenset({EXECUTE}), "`execute` reads it; elsewhere read `running.decoding`"
    ),
    ("batch", "kv_decode"): Dotted(
        Ctx.KVB, frozenset({EXECUTE}), "`execute` reads it; elsewhere read `running.kv_decode`"
    ),
    ("batch", "kv_prefill"): Dotted(
        Ctx.KVP, frozenset({EXECUTE}), "`execute` reads it; elsewhere read `running.kv_prefill`"
    ),
    ("batch", "attention"): Dotted(Ctx.ATTN, frozenset({EXECUTE}), "`execute` reads it"),
}

KERNEL_NAMES = {
    "tokens": "batch.tokens",
    "prefilled": "batch.prefilled",
    "decoders": "running.decoding",
    "residents": "running.count",
    "kv_decode": "running.kv_decode",
    "kv_prefill": "running.kv_prefill",
    "attention": "batch.attention",
    "admitted": "waiting.admitted",
    "preempted": "running.preempted",
    "waiting": "waiting.count",
}
"""The kernel's bare names, which an engine's clauses do not read, and what they write."""


def dotted_value(link: Expressions, path: ast.Path, scope: Scope) -> nodes.Expr:
    """The IR of ``running.count`` and its like, or of a bare name in an engine's clause."""
    head = path.parts[0].ident.name
    if len(path.parts) == 1:
        return _bare(link, head, path, scope)
    engine, clause = scope.place.engine, scope.place.clause
    if head not in LISTS | {"waiting"} or any(part.index for part in path.parts):
        return link.attribute(path, scope)
    if engine is None:
        return link.fault(
            "engine-value",
            f"`{head}.…` is a value of an engine, read in its `tokens cap`, `schedule` and"
            " `execute`",
            path.span,
            scope,
        )
    leaf = path.parts[1].ident.name
    if (head, leaf) == ("waiting", "count") and len(path.parts) == 2:
        return waiting_count(link, engine, path, scope)
    value = VALUES.get((head, leaf)) if len(path.parts) == 2 else None
    if value is None:
        known = sorted(n for h, n in VALUES if h == head)
        known += ["count"] if head == "waiting" else []
        return link.fault(
            "unknown-name",
            f"`{head}` has no `{leaf}`",
            path.parts[1].ident.span,
            scope,
            help=f"it has {', '.join(f'`{n}`' for n in sorted(known))}",
        )
    if clause not in value.clauses:
        return link.fault(
            "engine-value",
            f"`{head}.{leaf}` is not read in `{clause}`",
            path.span,
            scope,
            help=value.elsewhere,
        )
    return nodes.CtxVar(value.ctx)


def _bare(link: Expressions, name: str, path: ast.Path, scope: Scope) -> nodes.Expr:
    written = KERNEL_NAMES.get(name)
    if written is not None:
        return link.fault(
            "engine-value",
            f"`{name}` is not read by its bare name in an engine",
            path.span,
            scope,
            help=f"an engine writes `{written}`",
        )
    return nodes.CtxVar(CONTEXT[name])


def waiting_count(link: Expressions, engine: Engine, path: ast.Path, scope: Scope) -> nodes.Expr:
    """The sessions waiting in the queues the engine admits, summed in the order of the pools."""
    if engine.stage.family:
        return link.fault(
            "waiting-of-family",
            f"`{engine.name}` is a family of engines: `waiting.count` would count the queues of"
            " every member",
            path.span,
            scope,
            help="count one queue with `queued(…)`",
        )
    total: nodes.Expr | None = None
    for pool in link.tables.pool_order:
        if pool.via is not engine.stage:
            continue
        for member in range(pool.count):
            queued = _queued(link, pool, member, path, scope)
            if total is None:
                total = queued
            else:
                total = nodes.Binary(nodes.BinaryOp.ADD, total, queued)
                link.place(total, path.span, scope.frames)
    return nodes.Num(0.0) if total is None else total


def _queued(
    link: Expressions, pool: PoolFamily, member: int, path: ast.Path, scope: Scope
) -> nodes.Expr:
    index = nodes.Num(float(member)) if pool.family else None
    ref = nodes.Ref(pool.base, pool.count, index)
    call = nodes.Call(nodes.Fun.QUEUED, (nodes.PoolArg(ref),))
    for node in (ref, call) if index is None else (index, ref, call):
        link.place(node, path.span, scope.frames)
    return call
