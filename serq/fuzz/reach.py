"""What a run reached: admission waits, partial prefills, preemptions, stale events and so on.

`watching` counts them while runs go on, by wrapping the interpreter's own decisions; nothing of
it is there in an ordinary run.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from typing import Any

from serq.interp.code import Code
from serq.interp.engine import Engine
from serq.interp.flow import FlowSystem
from serq.interp.machine import Machine
from serq.interp.memory import Growth, Memory
from serq.interp.pool import Pool
from serq.interp.schedule import BranchStmt, ServeStmt
from serq.interp.session import JOINING
from serq.interp.stage import DelayStage, FifoStage, PsStage
from serq.ir.nodes import Share

REACHES = {
    "admission wait": "a hold waited for its pools",
    "head-of-line blocking": "a head that did not fit held back a queue of several",
    "rejection": "a hold that can never fit ended its session",
    "prefix hit": "an admission consumed a cached prefix",
    "eviction": "a cached prefix was cut or taken out",
    "growth": "an allocation grew",
    "growth wait": "a growth waited for room",
    "preemption": "a victim lost its hold",
    "self-preemption": "a grower was its own victim",
    "requeue head": "a victim waited ahead of its queue",
    "requeue tail": "a victim waited at the back of its queue",
    "re-admission": "a preempted hold was admitted again",
    "batch shrank": "a victim's tokens returned to the iteration's budget",
    "partial prefill": "an iteration gave a prefill a part of its tokens",
    "mixed iteration": "an iteration had prefills and decodes",
    "preempt-only iteration": "an iteration scheduled nothing and preempted",
    "engine admission": "an iteration admitted from a queue",
    "exclusive prefill": "a prefill had an iteration to itself by its schedule",
    "left out": "an iteration passed over a resident that its schedule's `only` excludes",
    "idle engine": "a try to schedule came to nothing",
    "lease end": "a lease was released or its session ended",
    "lease expiry": "a lease's time came",
    "stale expiry": "a lease's time came after its end",
    "stale completion": "the event of a job that was preempted",
    "stale rate": "a completion that a later change of rates had replaced",
    "stale flow rate": "a flow's end that a later change of rates had replaced",
    "load": "the KV of a transfer arrived in a hold",
    "spill": "an evicted prefix arrived in another pool",
    "leg": "a leg of a request started",
    "join wait": "a session waited for its legs",
    "fifo": "a job at a fifo stage ended",
    "delay": "a job at a delay ended",
    "ps": "a job at a processor-sharing stage ended",
    "max-min flow": "a flow ended under max-min shares",
    "bottleneck flow": "a flow ended under bottleneck shares",
    "iteration": "an engine's iteration ended",
}
"""Each situation that is counted, in words."""


@contextmanager
def watching(counts: Counter[str]) -> Iterator[Counter[str]]:
    """Count the situations of `REACHES` in every run until the block ends."""
    undo: list[tuple[type, str, Any]] = []

    def wrap(owner: type, name: str, make: Callable[[Any], Any]) -> None:
        original = getattr(owner, name)
        undo.append((owner, name, original))
        setattr(owner, name, make(original))

    for owner, name, make in _wrappers(counts):
        wrap(owner, name, make)
    try:
        yield counts
    finally:
        for owner, name, original in reversed(undo):
            setattr(owner, name, original)


def selects(schedule: Sequence[Any]) -> bool:
    """Whether a compiled schedule serves only some of the running requests."""
    for stmt in schedule:
        if isinstance(stmt, ServeStmt) and stmt.only is not None:
            return True
        if isinstance(stmt, BranchStmt) and (selects(stmt.then) or selects(stmt.orelse)):
            return True
    return False


def _wrappers(seen: Counter[str]) -> list[tuple[type, str, Callable[[Any], Any]]]:
    def admit(original: Any) -> Any:
        def wrapped(memory: Memory, session: Any, queue: Pool, demand: Any) -> None:
            seen["admission wait"] += memory.machine.now > session.joined
            seen["re-admission"] += bool(session.preempted_at)
            original(memory, session, queue, demand)
            seen["prefix hit"] += session.attrs[memory.slot_cached] > 0.0

        return wrapped

    def fits(original: Any) -> Any:
        def wrapped(memory: Memory, demand: Any) -> bool:
            room: bool = original(memory, demand)
            seen["head-of-line blocking"] += not room and len(demand[0][0].queue) > 1
            return room

        return wrapped

    def enlarge(original: Any) -> Any:
        def wrapped(memory: Memory, session: Any, alloc: Any, more: float) -> Growth:
            outcome: Growth = original(memory, session, alloc, more)
            seen["growth"] += outcome is Growth.GROWN
            seen["self-preemption"] += outcome is Growth.PREEMPTED
            return outcome

        return wrapped

    def preempt(original: Any) -> Any:
        def wrapped(memory: Memory, victim: Any, pool: Pool) -> None:
            job = victim.job
            served = job is not None and getattr(job, "served", False)
            original(memory, victim, pool)
            seen["preemption"] += 1
            seen["batch shrank"] += bool(served and not job.stage.running)
            seen["requeue tail" if pool.preempt_tail else "requeue head"] += 1

        return wrapped

    def launch(original: Any) -> Any:
        def wrapped(engine: Engine) -> None:
            batch = engine.batch
            partial = any(not job.decoding and job.take < job.left for job in batch)
            kinds = {job.decoding for job in batch}
            seen["partial prefill"] += partial
            seen["mixed iteration"] += len(kinds) == 2
            seen["preempt-only iteration"] += not batch
            seen["engine admission"] += engine.plan_admitted > 0.0
            seen["exclusive prefill"] += engine.exclusive and kinds == {0.0}
            unserved = len(batch) < len(engine.jobs) and engine.left > 0.0
            seen["left out"] += unserved and selects(engine.program)
            original(engine)

        return wrapped

    def start(original: Any) -> Any:
        def wrapped(engine: Engine) -> bool:
            started: bool = original(engine)
            seen["idle engine"] += engine.idle
            return started

        return wrapped

    def of_job(name: str) -> Callable[[Any], Any]:
        def make(original: Any) -> Any:
            def wrapped(stage: Any, job: Any) -> None:
                seen["stale completion" if job.gone else name] += 1
                original(stage, job)

            return wrapped

        return make

    def of_ps(original: Any) -> Any:
        def wrapped(stage: PsStage, version: int) -> None:
            seen["stale rate" if version != stage.version else "ps"] += 1
            original(stage, version)

        return wrapped

    def of_flow(original: Any) -> Any:
        def wrapped(system: FlowSystem, version: int) -> None:
            if version != system.version:
                seen["stale flow rate"] += 1
            else:
                fair = system.share is Share.MAX_MIN
                seen["max-min flow" if fair else "bottleneck flow"] += 1
            original(system, version)

        return wrapped

    def expire(original: Any) -> Any:
        def wrapped(memory: Memory, arg: Any) -> None:
            seen["stale expiry" if arg[1].over else "lease expiry"] += 1
            original(memory, arg)

        return wrapped

    def end_lease(original: Any) -> Any:
        def wrapped(memory: Memory, session: Any, lease: Any) -> None:
            seen["lease end"] += 1
            original(memory, session, lease)

        return wrapped

    def end_of_leg(original: Any) -> Any:
        def wrapped(machine: Machine, leg: Any) -> int:
            waited = leg.parent.status == JOINING
            seen["join wait"] += waited
            result: int = original(machine, leg)
            return result

        return wrapped

    def load(original: Any) -> Any:
        def wrapped(code: Code, *args: Any) -> Any:
            instruction = original(code, *args)

            def counted(session: Any) -> int:
                after: int = instruction(session)
                seen["load"] += 1
                return after

            return counted

        return wrapped

    def counted(name: str) -> Callable[[Any], Any]:
        def make(original: Any) -> Any:
            def wrapped(*args: Any) -> Any:
                seen[name] += 1
                return original(*args)

            return wrapped

        return make

    return [
        (Memory, "admit", admit),
        (Memory, "fits", fits),
        (Memory, "enlarge", enlarge),
        (Memory, "preempt", preempt),
        (Memory, "stall", counted("growth wait")),
        (Memory, "expire", expire),
        (Memory, "end_lease", end_lease),
        (Pool, "evict_one", counted("eviction")),
        (Engine, "_launch", launch),
        (Engine, "_start", start),
        (Engine, "_end", counted("iteration")),
        (Pool, "receive", counted("spill")),
        (Code, "_load", load),
        (Machine, "refuse", counted("rejection")),
        (Machine, "fork", counted("leg")),
        (Machine, "end_of_leg", end_of_leg),
        (FifoStage, "_complete", of_job("fifo")),
        (DelayStage, "_complete", of_job("delay")),
        (PsStage, "_complete", of_ps),
        (FlowSystem, "_complete", of_flow),
    ]
