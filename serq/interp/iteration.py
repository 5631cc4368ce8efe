"""Planning an iteration: whom an engine serves, admits and preempts, and how many tokens each gets.

The iteration serves the running requests in the schedule's order, grows their memory as they
advance (preempting where the pool may), and admits from the queues the engine admits while budget
is left. The procedure is vLLM v1's ``schedule()`` (scheduler.py:577-1128), or the program's own
schedule. What is planned stands in the engine: ``batch`` in serving order, ``entered``, the tokens
``left`` of the budget, and the counts that the schedule's expressions read.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

from serq.interp.faults import Fault, number
from serq.interp.memory import Growth
from serq.interp.schedule import AdmitStmt, BranchStmt, ServeStmt

if TYPE_CHECKING:
    from serq.interp.engine import Engine, EngineJob
    from serq.interp.pool import Pool
    from serq.interp.session import Session


def plan_iteration(engine: Engine) -> None:
    """Plan the iteration that would start now; the engine has just read its budget."""
    if engine.exclusive:
        _exclusive(engine)
    else:
        _run(engine, engine.program)


def serving_is_over(engine: Engine) -> bool:
    """Whether a grower preempted itself: that ends the iteration's serving (scheduler.py:807-813).

    Its own statement ends, and what the schedule serves after it serves nobody.
    """
    return engine.over


def _no_test(what: str, value: float) -> Fault:
    return Fault("guard-not-a-test", f"{what} is {number(value)}", "a guard is 0 or 1")


def _run(engine: Engine, statements: Sequence[Any]) -> None:
    for stmt in statements:
        engine.stopped = False
        if isinstance(stmt, ServeStmt):
            _serve(engine, stmt)
        elif isinstance(stmt, AdmitStmt):
            _admit(engine, stmt)
        elif isinstance(stmt, BranchStmt):
            guard = stmt.guard(engine)
            if guard != 0.0 and guard != 1.0:
                raise _no_test(f"a guard in the schedule of engine `{engine.name}`", guard)
            _run(engine, stmt.then if guard else stmt.orelse)
        else:
            engine.machine.registers[stmt.register] = stmt.expr(engine)


def _serve(engine: Engine, stmt: ServeStmt) -> None:
    """Serve the residents not yet served, in the statement's order."""
    if serving_is_over(engine):
        return
    order = _order(engine, stmt)
    if order is None:
        _serve_by_live_keys(engine, stmt)
        return
    batch, only = engine.batch, stmt.only
    for job in order:
        if not engine.left > 0.0:
            return
        if job.served or job.stalled or job.session.job is not job:  # or preempted meanwhile
            continue
        if only is not None and only(job, engine) == 0.0:
            continue
        if job.decoding and job.left >= 1.0 and engine.left >= 1.0:
            # What `_give` does for a token that there is room for.
            alloc = job.growing
            if alloc is None or alloc.position + 1.0 <= alloc.units:
                job.take = 1.0
                job.served = True
                batch.append(job)
                engine.left -= 1.0
                engine.plan_tokens += 1.0
                continue
        _give(engine, job)
        if engine.stopped:
            return


def _order(engine: Engine, stmt: ServeStmt) -> list[EngineJob] | None:
    """The residents in the order of serving; None if it may change while they are served."""
    keys = stmt.keys
    if keys is None:
        return engine.jobs.copy()
    if stmt.live or not engine.left > 0.0:
        return None
    jobs = [job for job in engine.jobs if not (job.served or job.stalled)]
    rows = [keys(job, engine) for job in jobs]
    if any(x != x for row in rows for x in row):
        return None  # NaN has no place in an order: the least is looked for, one by one
    return [jobs[i] for i in sorted(range(len(jobs)), key=rows.__getitem__)]


def _serve_by_live_keys(engine: Engine, stmt: ServeStmt) -> None:
    """Serve, again and again, the resident with the least keys now."""
    keys = stmt.keys
    assert keys is not None
    engine.visit = visit = engine.visit + 1
    while engine.left > 0.0:
        best: EngineJob | None = None
        least: tuple[float, ...] = ()
        for job in engine.jobs:
            if job.served or job.stalled or job.visited == visit:
                continue
            key = keys(job, engine)
            if best is None or key < least:
                best, least = job, key
        if best is None:
            return
        best.visited = visit
        if stmt.only is not None and stmt.only(best, engine) == 0.0:
            continue
        _give(engine, best)
        if engine.stopped:
            return


def _give(engine: Engine, job: EngineJob) -> None:
    """Give the job its tokens, growing its memory first where its run does."""
    take = engine.tokens(job, engine.left, engine.limit)
    if not take > 0.0:
        if engine.granule is not None and not job.decoding:
            engine.short = True
        return
    alloc = job.growing
    if alloc is not None:
        reach = alloc.position + take
        if reach > alloc.units:
            outcome = engine.machine.memory.enlarge(job.session, alloc, reach - alloc.units)
            if outcome is Growth.PREEMPTED:
                engine.stopped = engine.over = True
                return
            if outcome is Growth.STALLED:
                job.stalled = True
                engine.machine.memory.stall(job.session, alloc, reach - alloc.units)
                return
    job.take = take
    job.served = True
    engine.batch.append(job)
    engine.left -= take
    engine.plan_tokens += take
    if not job.decoding:
        engine.plan_prefilled += take


def _head(engine: Engine) -> tuple[Pool, Session] | None:
    """The first queue with somebody in it, and its selected head."""
    for pool in engine.queues:
        if pool.queue:
            return pool, engine.machine.memory.selected(pool)
    return None


def _admit_one(engine: Engine, left: float) -> bool:
    """Admit the head of the queues if it fits, and run it up to its first wait."""
    machine = engine.machine
    memory = machine.memory
    engine.attempt = left
    try:
        head = _head(engine)
        if head is None:
            return False
        pool, session = head
        demand = memory.demand(session, pool)
        if not memory.fits(demand):
            return False
        memory.admit(session, pool, demand)
    finally:
        engine.attempt = None
    engine.plan_admitted += 1.0
    engine.entered.append((session, session.attrs[machine.program.slot_cached]))
    machine.drain()
    return True


def _admit(engine: Engine, stmt: AdmitStmt) -> None:
    while engine.left > 0.0 and not engine.short and not engine.stopped:
        if stmt.gate is not None:
            gate = stmt.gate(engine)
            if gate != 0.0 and gate != 1.0:
                raise _no_test(f"the `while` of engine `{engine.name}`", gate)
            if not gate:
                return
        mark = engine.next_job
        if not _admit_one(engine, engine.left):
            return
        for job in [j for j in engine.jobs if j.number > mark]:
            if stmt.only is not None and stmt.only(job, engine) == 0.0:
                continue
            if engine.left > 0.0 and job.session.job is job:
                _give(engine, job)


def _exclusive(engine: Engine) -> None:
    """One prefill alone, or else the decodes; a fitting waiting prefill displaces them.

    A running prefill takes precedence, also one that waits for room to grow.
    """
    prefilling = False
    for job in list(engine.jobs):
        if not job.decoding and job.session.job is job:
            prefilling = True
            if job.stalled:
                continue
            _give(engine, job)
            if job.served or engine.stopped:
                return
    if prefilling:
        return
    for job in list(engine.jobs):
        if engine.left > 0.0 and job.session.job is job and job.decoding and not job.stalled:
            _give(engine, job)
            if engine.stopped:
                return
    while engine.left > 0.0 and engine.machine.memory.preempts == engine.plan_before:
        mark = engine.next_job
        if not _admit_one(engine, engine.whole):
            return
        for job in [j for j in engine.jobs if j.number > mark]:
            if not job.decoding:
                spent = engine.whole - engine.left
                engine.left = engine.whole
                _give(engine, job)
                if not job.served:  # without room to grow it displaces nobody
                    engine.left -= spent
                    return
                for other in engine.batch:
                    if other is not job:
                        other.served = False
                engine.batch = [job]
                return
            if engine.left > 0.0:
                _give(engine, job)
