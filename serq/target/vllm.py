"""A program whose engine is vLLM's, as vLLM's configuration; any other is refused with the reason.

What is read is the IR: the engine's procedure, budget, chunk cap and pools. What an iteration
takes of time (`execute`) is the machine's, not the scheduler's, and is not read.

Sources: vllm/config/scheduler.py (`max_num_batched_tokens`, `max_num_seqs`, `policy`,
`long_prefill_token_threshold`, `long_prefill_token_threshold_adaptive`), config/cache.py
(`block_size`, `enable_prefix_caching`, `num_gpu_blocks`).
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from math import inf
from typing import Any

from serq.diagnostics import Diagnostic, SerqError
from serq.ir.nodes import (
    Attr,
    Binary,
    BinaryOp,
    Call,
    Cond,
    Ctx,
    CtxVar,
    Expr,
    ExprArg,
    Fifo,
    Fork,
    Fun,
    Hold,
    Lru,
    Num,
    Pool,
    PoolArg,
    PreemptBy,
    Program,
    Ps,
    Run,
    ServeBy,
    Stage,
    Step,
    Unary,
    UnaryOp,
)

CODE = "target-vllm"


@dataclass
class _Refusals:
    """The reasons found so far; a program is refused with all of them at once."""

    source_map: Any
    found: list[Diagnostic]

    def add(self, what: str, why: str, node: object = None, help: str | None = None) -> None:
        span = self.source_map.span_of(node) if self.source_map is not None and node else None
        message = f"{what}: {why}"
        if not any(d.message == message for d in self.found):
            self.found.append(
                Diagnostic(CODE, message, span=span, where=None if span else "target", help=help)
            )


def vllm_config(program: Program, source_map: Any = None) -> dict[str, Any]:
    """vLLM's scheduler and cache configuration for the program's one engine.

    Returns ``{"target": "vllm", "engine": name, "config": {…}}``. Raises `SerqError` with one
    diagnostic for each construct that vLLM cannot run.
    """
    refuse = _Refusals(source_map, [])
    engines = [i for i, stage in enumerate(program.stages) if isinstance(stage.kind, Step)]
    if len(engines) != 1:
        refuse.add(
            f"{len(engines)} engines" if engines else "no engine",
            "the configuration is of one vLLM instance",
            help="export a program of one engine",
        )
        raise SerqError(refuse.found)
    index = engines[0]
    stage = program.stages[index]
    step = stage.kind
    assert isinstance(step, Step)
    _other_constructs(program, refuse)
    _procedure(stage, step, refuse)
    kv, slots = _pools(program, index, step, refuse)
    config: dict[str, Any] = {}
    if isinstance(step.budget, Num) and step.budget.value < inf:
        config["max_num_batched_tokens"] = _whole(step.budget.value, "tokens cap", step, refuse)
    else:
        refuse.add(
            f"`tokens cap` of engine `{stage.name}`",
            "vLLM's max_num_batched_tokens is one finite number",
            step.budget,
        )
    if slots is not None:
        config["max_num_seqs"] = _whole(slots.cap, f"cap of `{slots.name}`", slots, refuse)
    if kv is not None:
        block = kv.block or 1.0
        config["block_size"] = _whole(block, f"block of `{kv.name}`", kv, refuse)
        # one block more: vLLM keeps a null block that it never gives out (block_pool.py)
        config["num_gpu_blocks"] = (
            _whole(kv.cap / block, f"blocks of `{kv.name}`", kv, refuse, down=True) + 1
        )
    config |= _chunk(program, index, stage, step, refuse)
    if kv is not None and slots is not None:
        config["scheduling_policy"] = _policy(kv, slots, refuse)
        config["enable_prefix_caching"] = _prefix_caching(program, kv, refuse)
    if refuse.found:
        raise SerqError(refuse.found)
    return {"target": "vllm", "engine": stage.name, "config": config}


def _whole(value: float, what: str, node: object, refuse: _Refusals, down: bool = False) -> int:
    """The value as a whole number; infinite or fractional ones are refused."""
    if value == inf:
        refuse.add(what, "vLLM takes a finite number", node)
        return 0
    if not down and value != int(value):
        refuse.add(what, f"vLLM takes a whole number, not {value:g}", node)
    return int(value)


def _other_constructs(program: Program, refuse: _Refusals) -> None:
    for stage in program.stages:
        is_delay = isinstance(stage.kind, Ps) and stage.kind.capacity == CtxVar(Ctx.N)
        if isinstance(stage.kind, Fifo) or (isinstance(stage.kind, Ps) and not is_delay):
            kind = "fifo" if isinstance(stage.kind, Fifo) else "ps"
            refuse.add(
                f"stage `{stage.name}` ({kind})",
                "vLLM has no station beside its engine where requests share a server",
                stage,
            )
    for block in program.blocks:
        for stmt in block:
            if isinstance(stmt, Fork):
                refuse.add("`fork`", "a request of vLLM has no legs", stmt)
            if isinstance(stmt, Run) and stmt.also:
                refuse.add("a run over several stages", "vLLM moves no KV between stages", stmt)


def _procedure(stage: Stage, step: Step, refuse: _Refusals) -> None:
    name = f"engine `{stage.name}`"
    if stage.index is not None:
        refuse.add(name, "a family of engines is several vLLM instances", stage)
    if step.iteration is not None:
        refuse.add(
            f"the schedule of {name}",
            "vLLM's is `advance running; admit waiting while (running.preempted == 0);`",
            step,
        )
    if not isinstance(step.serve, ServeBy):
        refuse.add(f"`exclusive prefill` of {name}", "vLLM mixes prefills and decodes", step)
    elif step.serve.keys:
        refuse.add(
            f"the serving order of {name}",
            "vLLM serves its running requests in the order they were admitted",
            step.serve.keys[0],
            help="write `advance running` without `by` or `decode first`",
        )
    if step.granule is not None:
        refuse.add(f"`granule` of {name}", "vLLM's chunks are of any length", step.granule)


def _pools(
    program: Program, engine: int, step: Step, refuse: _Refusals
) -> tuple[Pool | None, Pool | None]:
    """The engine's memory and its request slots."""
    if len(program.pools) != 2 or step.memory is None:
        names = ", ".join(f"`{p.name}`" for p in program.pools) or "none"
        refuse.add(
            f"the pools ({names})",
            "vLLM has two: the KV cache on the engine's device and the request slots",
            help="declare `pool kv on DEVICE` and `pool reqs on ENGINE`",
        )
        return None, None
    kv = program.pools[step.memory]
    slots = program.pools[1 - step.memory]
    for pool in (kv, slots):
        where = f"pool `{pool.name}`"
        if not isinstance(pool.evict, Lru):
            refuse.add(f"`evict by` of {where}", "vLLM evicts the least recently used block", pool)
        if pool.spill is not None:
            refuse.add(f"`spill` of {where}", "vLLM's scheduler has one tier", pool)
        if pool.reserve_held:
            refuse.add(
                f"`reserve held` of {where}", "vLLM checks a reservation once, at admission", pool
            )
    if slots.admit_via != engine:
        refuse.add(f"pool `{slots.name}`", "vLLM admits its requests in a step", slots)
    if not isinstance(kv.preempt, PreemptBy):
        refuse.add(
            f"`preempt none` of pool `{kv.name}`",
            "vLLM preempts when a running request cannot grow",
            kv,
            help="write `preempt lifo;`",
        )
    return kv, slots


LIFO = PreemptBy((Unary(UnaryOp.NEG, CtxVar(Ctx.ADMISSION)),))


def _policy(kv: Pool, slots: Pool, refuse: _Refusals) -> str:
    """``fcfs`` or ``priority`` (scheduler.py:761-765, request_queue.py:159-164)."""
    if slots.queue is None and kv.queue is None:
        if isinstance(kv.preempt, PreemptBy) and kv.preempt != LIFO:
            refuse.add(
                f"`preempt by` of pool `{kv.name}`",
                "under first come first served vLLM preempts the request admitted last",
                kv,
                help="write `preempt lifo;`",
            )
        return "fcfs"
    keys = slots.queue
    if (
        keys is not None
        and kv.queue is None
        and len(keys) == 2
        and all(isinstance(key, Attr) for key in keys)
        and kv.preempt == PreemptBy(tuple(Unary(UnaryOp.NEG, key) for key in keys), tail=True)
    ):
        return "priority"
    refuse.add(
        f"`queue by` of pool `{slots.name if keys is not None else kv.name}`",
        "vLLM's waiting line is first come first served, or by (priority, arrival) with the victim "
        "preempted by the same in reverse",
        (keys or kv.queue or (None,))[0],
        help="`queue by (priority, t0)` beside `preempt by (-priority, -t0) requeue tail`",
    )
    return "fcfs"


def _prefix_caching(program: Program, kv: Pool, refuse: _Refusals) -> bool:
    memory = program.pools.index(kv)
    kinds = {
        stmt.cache is not None
        for block in program.blocks
        for stmt in block
        if isinstance(stmt, Hold)
        and any(p.pool.base <= memory < p.pool.base + p.pool.count for p in stmt.pools)
    }
    if len(kinds) == 2:
        refuse.add(
            f"holds on `{kv.name}` with and without `cache`",
            "vLLM's prefix caching is one switch for all requests",
        )
    return True in kinds


def _chunk(
    program: Program, engine: int, stage: Stage, step: Step, refuse: _Refusals
) -> dict[str, Any]:
    """vLLM's long-prefill threshold: a cap while more than one request runs or waits."""
    none = {"long_prefill_token_threshold": 0}
    chunk = step.chunk
    if chunk == Num(0.0):
        return none
    if isinstance(chunk, Cond) and chunk.orelse == Num(0.0):
        count = _more_than_one(chunk.test, program, engine)
        if count is not None:
            if isinstance(chunk.then, Num) and chunk.then.value == int(chunk.then.value):
                return {"long_prefill_token_threshold": int(chunk.then.value)}
            threshold = _adaptive(chunk.then, step.budget, count)
            if threshold is not None:
                return {
                    "long_prefill_token_threshold": threshold,
                    "long_prefill_token_threshold_adaptive": True,
                }
    refuse.add(
        f"`each at most` of engine `{stage.name}`",
        "vLLM lifts its cap for a request that is alone, and has no other rule"
        if isinstance(chunk, Num)
        else "vLLM caps a chunk by a constant, or by an equal share of the step's tokens, while "
        "more than one request runs or waits",
        chunk,
        help="each at most (running.count + waiting.count > 1 ? 512 : inf)",
    )
    return none


def _is_count(expr: Expr, program: Program, engine: int) -> bool:
    """``running.count + waiting.count``, the second over every pool the engine admits."""
    terms = list(_summands(expr))
    queues = sorted(i for i, pool in enumerate(program.pools) if pool.admit_via == engine)
    read = sorted(
        term.args[0].ref.base
        for term in terms
        if isinstance(term, Call) and term.fun is Fun.QUEUED and isinstance(term.args[0], PoolArg)
    )
    residents = sum(term == CtxVar(Ctx.NRES) for term in terms)
    return residents == 1 and read == queues and len(terms) == 1 + len(queues)


def _summands(expr: Expr) -> Iterator[Expr]:
    stack = [expr]
    while stack:
        term = stack.pop()
        if isinstance(term, Binary) and term.op is BinaryOp.ADD:
            stack += [term.left, term.right]
        else:
            yield term


def _more_than_one(test: Expr, program: Program, engine: int) -> Expr | None:
    """The count that the test holds above one: ``n > 1``, ``1 < n``, ``n >= 2`` or ``2 <= n``."""
    if not isinstance(test, Binary):
        return None
    forms = {
        BinaryOp.GT: (test.left, test.right, 1.0),
        BinaryOp.LT: (test.right, test.left, 1.0),
        BinaryOp.GE: (test.left, test.right, 2.0),
        BinaryOp.LE: (test.right, test.left, 2.0),
    }
    if test.op not in forms:
        return None
    count, bound, value = forms[test.op]
    return count if bound == Num(value) and _is_count(count, program, engine) else None


def _adaptive(cap: Expr, budget: Expr, count: Expr) -> int | None:
    """``max(t, floor(budget / n))`` with the engine's own budget: the threshold ``t``."""
    if not (isinstance(cap, Call) and cap.fun is Fun.MAX):
        return None
    args = [arg.expr for arg in cap.args if isinstance(arg, ExprArg)]
    share = Call(Fun.FLOOR, (ExprArg(Binary(BinaryOp.DIV, budget, count)),))
    numbers = [arg for arg in args if isinstance(arg, Num)]
    if len(args) == 2 and share in args and len(numbers) == 1:
        return int(numbers[0].value)
    return None
