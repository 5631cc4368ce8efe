"""The fast path of an engine: stretches of plain decode iterations.

Between two events of anything else, an engine whose residents all decode repeats one iteration:
each resident gets a token, some grow by a block, nobody is admitted and nobody ends. `coast` runs
such a stretch as one recurrence over local variables. It keeps the same additions in the same
order as iteration by iteration, so a report does not show which way it was run.

What a resident gets from the stretch (its tokens, its position, the client's last token) is
written back as the stretch ends. Everything an expression may read meanwhile (the clock, pools,
registers) is kept up to date, and what reads the rest switches the fast path off: a recorder, a
gauge that is not a matter of pools and counts, `work`, draws by the scheduler other than in costs
and evictions, keys or an `only` that can change.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from heapq import heappush
from math import floor, inf, log
from typing import TYPE_CHECKING, Any

from serq.interp.clock import LOG
from serq.interp.expr import draws, reads
from serq.interp.faults import walk
from serq.interp.memory import HoldSpec
from serq.interp.pool import SLACK, Pool
from serq.interp.schedule import AdmitStmt, BranchStmt, ServeStmt
from serq.interp.stats import LOG_STEP, ZERO_BUCKET
from serq.ir import nodes as ir
from serq.ir.functions import COUNTERS
from serq.ir.nodes import Ctx, Fun
from serq.ir.walk import everything

if TYPE_CHECKING:
    from serq.interp.engine import Engine, EngineJob
    from serq.interp.machine import Event, Machine

_WHOLE = 2.0**50
"""Below this, counting whole tokens up and down is exact, one by one or at once."""

_COUNTS = {Ctx.NTOK, Ctx.NPRE, Ctx.ADMITTED, Ctx.PREEMPTED, Ctx.NRES, Ctx.NDEC}
_OF_A_RESIDENT = {Ctx.DECODING, Ctx.ADMISSION, Ctx.NRES, Ctx.NDEC}
_OF_A_BATCH = {
    Ctx.NTOK, Ctx.NPRE, Ctx.NDEC, Ctx.NRES, Ctx.KVP, Ctx.ATTN, Ctx.DEMAND, Ctx.ARRIVED,
}  # fmt: skip
"""What an iteration's claim reads that is the same throughout a stretch."""
_PURE = {Fun.ABS, Fun.FLOOR, Fun.CEIL, Fun.SQRT, Fun.EXP, Fun.LN, Fun.MIN, Fun.MAX, Fun.POW}
_STILL = {
    Fun.QUEUED, Fun.HOLDERS, Fun.QUEUE, Fun.EST_LAMBDA, Fun.EST_RHO, Fun.EST_WAIT, *COUNTERS,
}  # fmt: skip
"""Queries whose answer does not change while nothing but decode iterations happens."""
_OF_A_GAUGE = _STILL | {Fun.USED, Fun.FREE, Fun.BUSY, Fun.PRICE}
"""Queries that only a growth, of all that a stretch does, can change."""


def _functions(expr: ir.Expr) -> set[Fun]:
    return {node.fun for node in walk(expr) if isinstance(node, ir.Call)}


def _steady(expr: ir.Expr, ctx: set[Ctx], functions: set[Fun]) -> bool:
    """Whether the expression reads these context variables and queries alone, and draws nothing."""
    return reads(expr) <= ctx and _functions(expr) <= functions | _PURE and not draws(expr)


class Plan:
    """What the stretches of an engine know of its program.

    ``steady`` says that the outcome of its schedule cannot change during a stretch, ``claims``
    are the claims that must be read on every iteration, ``counted`` those that would read the
    same, ``holds`` the holds whose demand neither draws nor follows the clock.
    """

    __slots__ = ("claims", "counted", "holds", "steady")

    def __init__(self, steady: bool, holds: set[HoldSpec]) -> None:
        self.steady = steady
        self.holds = holds
        self.claims: list[Any] = []
        self.counted: list[Any] = []


def prepare(machine: Machine) -> None:
    """Gives each engine its plan, unless something in the program switches the fast path off."""
    program = machine.program
    if not machine.engines or machine.recorder is not None:
        return
    if any(isinstance(n, ir.Call) and n.fun is Fun.WORK for n in everything(program)):
        return
    if not all(_steady(gauge.expr, set(), _OF_A_GAUGE) for gauge in program.gauges):
        return
    holds = {
        spec
        for spec in machine.code.holds
        if all(
            _steady(expr, set(), _STILL | {Fun.BUDGET_LEFT, Fun.CACHED_IN})
            for entry in spec.node.pools
            for expr in (entry.pool.index, entry.units, entry.reserve)
            if expr is not None
        )
    }
    for engine in machine.engines:
        step = program.stages[engine.position].kind
        assert isinstance(step, ir.Step)
        engine.plan = _plan(machine, engine, step, holds)


def _plan(machine: Machine, engine: Engine, step: ir.Step, holds: set[HoldSpec]) -> Plan | None:
    program = machine.program
    guards: list[ir.Expr] = []
    sets: list[ir.Expr] = []
    keys: list[ir.Expr] = []
    if not isinstance(step.serve, ir.ExclusivePrefill):
        keys += step.serve.keys
    for node in everything(step.iteration or ()):
        match node:
            case ir.IterServe(only=only, by=by):
                keys += by or ()
                if only is not None and not _steady(only, _OF_A_RESIDENT, set()):
                    return None
            case ir.IterAdmit(gate=gate) if gate is not None:
                guards.append(gate)
            case ir.IterBranch(guard=guard):
                guards.append(guard)
            case ir.IterSet(expr=expr):
                sets.append(expr)
    if any(draws(expr) for expr in (step.budget, step.chunk, *guards, *sets)):
        return None
    # Where all are served, the order of serving shows only in the order in which runs end.
    if not all(_steady(key, set(Ctx) - {Ctx.KVB, Ctx.KVP}, set()) for key in keys):
        return None
    if keys and any(
        draws(key)
        for pool in program.pools
        if isinstance(pool.evict, ir.EvictBy)
        for key in pool.evict.keys
    ):
        return None
    steady = (
        not sets
        and all(_steady(guard, _COUNTS, _STILL) for guard in guards)
        and _steady(step.budget, {Ctx.NRES, Ctx.NDEC}, _STILL)
    )
    made = Plan(steady, holds)
    exprs = [c.expr for c in program.claims if getattr(c.kind, "stage", None) == engine.position]
    for claim, expr in zip(engine.claims, exprs, strict=True):
        (made.counted if _steady(expr, _OF_A_BATCH, _STILL) else made.claims).append(claim)
    return made


# --- may a stretch begin ---


def _blocked(machine: Machine, pool: Pool, holds: set[HoldSpec]) -> bool:
    """Whether nobody can leave the pool's queue while allocations only grow.

    True when nobody is there, or when the head is the same throughout and asks a pool for more
    than it has free, in a demand that reads the head's attributes alone.
    """
    queue = pool.queue
    if not queue:
        return True
    head = queue[0]
    if pool.queue_keys is not None and not head.front and len(queue) > 1:
        return False
    spec = head.waiting
    if spec not in holds:
        return False
    for asked, units in spec.judged(head):
        if asked.used + asked.round_up(units) > asked.cap + SLACK:
            machine.memory.demand(head, pool)  # which may be at fault
            return True
    return False


def _alone(machine: Machine, engine: Engine, holds: set[HoldSpec]) -> bool:
    """Whether this instant settles with an iteration of the engine and nothing more."""
    if machine.ready or machine.touched:
        return False
    for pool in machine.settled_pools:
        if pool.growers or (pool.admit_via is None and not _blocked(machine, pool, holds)):
            return False
    for other in machine.engines:
        if other is engine:
            for pool in other.queues:
                if pool.queue:
                    if not _blocked(machine, pool, holds):
                        return False
                    break
        elif not other.running and (other.jobs or any(p.queue for p in other.queues)):
            return False
    return True


class _Stretch:
    """The residents of a stretch and their memory.

    ``due`` has, by iteration, the residents that need more room then, with their place in the
    batch; ``least`` is the least number of tokens that one of them has left, ``kv`` what they
    hold of the engine's memory, ``turns`` the client's view of them.
    """

    __slots__ = (
        "batch", "count", "due", "engine", "grown", "keys", "kv", "least", "memory", "turns",
    )  # fmt: skip

    def __init__(self, engine: Engine, batch: list[EngineJob]) -> None:
        self.engine = engine
        self.memory = engine.memory
        self.batch = batch
        self.count = float(len(batch))
        self.due: dict[int, list[tuple[int, EngineJob]]] = {}
        self.keys: Callable[..., tuple[float, ...]] | None = None
        self.least = inf
        self.kv = 0.0
        self.turns: list[Any] = []
        self.grown = True  # the first instant may hold other changes

    def whole(self) -> bool:
        """Takes stock; False unless all amounts are whole, so that their sums are exact."""
        memory, due, turns = self.memory, self.due, self.turns
        least = inf
        kv = 0.0
        for place, job in enumerate(self.batch):
            left = job.left
            if left < least:
                least = left
            if _WHOLE < left < inf:
                return False
            session = job.session
            turn = session.client
            if turn is not None:
                turns.append(turn)
            if memory is not None:
                for hold in session.holds:
                    for held in hold.allocs:
                        if held.pool is memory:
                            if held.units % 1.0 != 0.0:
                                return False
                            kv += held.units
            alloc = job.growing
            if alloc is not None:
                if alloc.position % 1.0 != 0.0 or alloc.units % 1.0 != 0.0:
                    return False
                room = alloc.units - alloc.position
                if not room < _WHOLE:
                    return False
                row = (place, job)
                when = int(room) if room > 0.0 else 0
                if when in due:
                    due[when].append(row)
                else:
                    due[when] = [row]
        self.least = least
        self.kv = kv
        # A session and its leg have one turn between them, whose tokens come at one time.
        return kv < _WHOLE and len(set(turns)) == len(turns)

    def grow(self, i: int) -> bool:
        """Makes room for the tokens of iteration ``i``; False if somebody might not fit."""
        rows = self.due.pop(i, None)
        if rows is None:
            return True
        if len(rows) > 1:
            rows.sort()
        memory = self.engine.machine.memory
        self.grown = True
        for place, job in rows:
            alloc = job.growing
            assert alloc is not None
            pool, units = alloc.pool, alloc.units
            need = pool.round_up(units + (alloc.position + i + 1.0 - units)) - units
            others = memory.outstanding(pool, alloc) if pool.reserve_held else 0.0
            room = pool.used + others + need
            if not room <= pool.cap or (pool.spill is not None and room + pool.cached > pool.cap):
                return False
            memory.extend(alloc, need)
            job.stalled = False
            if alloc.units % 1.0 != 0.0:
                return False
            if pool is self.memory:
                self.kv += need
            self.due.setdefault(int(alloc.units - alloc.position), []).append((place, job))
        return True

    def planned(self, i: int) -> bool:
        """Whether the schedule serves every resident a token now and then finds nothing to do."""
        engine = self.engine
        engine.plan_before = engine.machine.memory.preempts
        engine.plan_tokens = engine.plan_prefilled = engine.plan_admitted = 0.0
        engine.whole = engine.left = engine.budget(engine)
        if not engine.left >= self.count:
            return False
        if engine.exclusive:
            return self.grow(i)
        return self._run(engine.program, i) and engine.plan_tokens > 0.0

    def _run(self, statements: Sequence[Any], i: int) -> bool:
        engine = self.engine
        for stmt in statements:
            if isinstance(stmt, ServeStmt):
                if engine.plan_tokens:
                    continue
                if stmt.only is not None:
                    served = [stmt.only(job, engine) != 0.0 for job in engine.jobs]
                    if not any(served):
                        continue
                    if not all(served):
                        return False
                if not self.grow(i):
                    return False
                self.keys = stmt.keys
                engine.plan_tokens = self.count
                engine.left -= self.count
            elif isinstance(stmt, AdmitStmt):
                if stmt.gate is not None and engine.left > 0.0:
                    gate = stmt.gate(engine)
                    if gate != 0.0 and gate != 1.0:
                        return False
            elif isinstance(stmt, BranchStmt):
                guard = stmt.guard(engine)
                if guard != 0.0 and guard != 1.0:
                    return False
                if not self._run(stmt.then if guard else stmt.orelse, i):
                    return False
            else:
                engine.machine.registers[stmt.register] = stmt.expr(engine)
                self.grown = True  # a gauge may read it
        return True

    def end(self, ended: int, launched: bool) -> None:
        """Hands the residents what ``ended`` iterations gave them."""
        if ended:
            tokens = float(ended)
            now = self.engine.machine.now
            for job in self.batch:
                job.left -= tokens
                alloc = job.growing
                if alloc is not None:
                    alloc.position += tokens
            for turn in self.turns:
                turn.after += tokens
                turn.last = now
        if launched:
            engine = self.engine
            engine.batch = list(engine.jobs)  # in admission order, as the keys find them
            keys = self.keys
            if keys is not None:
                engine.batch.sort(key=lambda job: keys(job, engine))
            for job in engine.batch:
                job.take = 1.0
                job.served = True


# --- the stretch ---


def coast(engine: Engine, batch: list[EngineJob]) -> None:
    """An iteration that served ``batch``, all decoding, has just ended: run those that repeat it.

    Ends with an iteration scheduled in the usual way, or at an instant that is not settled yet.
    """
    machine = engine.machine
    heap = machine.heap
    now = machine.now
    plan = engine.plan
    b = engine.last
    assert plan is not None and b is not None
    following = heap[0][0] if heap else inf
    # Where another event comes before the next iteration's end, there is nothing to gain.
    if following <= now + b.cost or not _alone(machine, engine, plan.holds):
        return
    stretch = _Stretch(engine, batch)
    if not stretch.whole() or not stretch.least >= 1.0:
        return
    registers = machine.registers
    saved = registers.copy()
    if not stretch.planned(0):
        registers[:] = saved
        return

    least, count, n = stretch.least, stretch.count, len(stretch.turns)
    due, steady, claims = stretch.due, plan.steady, plan.claims
    horizon, warmup = machine.program.horizon, machine.warmup
    gauges, gaps, live = machine.gauges, machine.gaps, machine.live
    longest = LOG - len(gaps)
    cost_of: Callable[[Any], float] = engine.cost
    sequence = machine.sequence
    area_live = machine.area_live
    area_decodes, area_decode_only = engine.area_decodes, engine.area_decode_only
    total_served = engine.total_served
    sizes, steps, itl = engine.decode_batch, engine.decode_step, engine.gaps_seen
    seen, size_m, size_q, step_m, step_q = sizes.count, sizes.m, sizes.q, steps.m, steps.q
    buckets, itl_total, itl_count = itl.buckets, itl.total, itl.count
    b.tokens = b.decodes = b.residents = b.demand = count
    b.prefilled = b.kv_prefill = b.attention = 0.0
    engine.batch = batch
    checks = [*claims, *plan.counted]

    # The bucket of the latest gap, and the least and the greatest gap in it.
    row: list[float] = []
    low, high = inf, -inf
    i = 0  # iterations that have ended
    started = 0
    launched = True
    end = now
    while True:
        b.start = now
        b.served = total_served
        b.kv_decode = stretch.kv
        cost = cost_of(b)
        if not cost > 0.0:
            registers[:] = saved
            launched = False
            break
        b.cost = cost
        total_served += count
        started += 1
        if now >= warmup:
            seen += 1
            d = count - size_m
            size_m += d / seen
            size_q += d * (count - size_m)
            d = cost - step_m
            step_m += d / seen
            step_q += d * (cost - step_m)
        for claim in checks:
            claim.check(b)
        checks = claims
        sequence += 1
        end = now + cost
        if (
            end >= following
            or end > horizon
            or end <= now
            or i >= longest
            or not least - i - 1.0 > SLACK
        ):
            break
        if stretch.grown:
            stretch.grown = False
            engine.running = True
            for _, value, track in gauges:
                track.set(now, value())
            engine.running = False
        gap = end - now
        gaps.append(gap)
        area_live += live * gap
        area_decodes += count * gap
        area_decode_only += gap
        machine.now = now = end
        i += 1
        if n and now >= warmup:
            if low <= gap <= high:
                row[0] += n
            else:
                bucket = floor(log(gap) / LOG_STEP) if gap < inf else ZERO_BUCKET
                row = buckets.setdefault(bucket, [0, gap, gap])
                row[0] += n
                if gap < row[1]:
                    row[1] = gap
                elif gap > row[2]:
                    row[2] = gap
                _, low, high = row
            itl_count += n
            for _ in range(n):
                itl_total += gap
        if least - i < 1.0:
            launched = False
            break
        if steady:
            if i in due and not stretch.grow(i):
                launched = False
                break
        else:
            saved = registers.copy()
            if not stretch.planned(i):
                registers[:] = saved
                launched = False
                break

    if started > 1:
        for claim in plan.counted:
            claim.repeat(started - 1)
    machine.sequence = sequence
    machine.area_live = area_live
    engine.area_decodes, engine.area_decode_only = area_decodes, area_decode_only
    engine.since = now
    engine.iterations += started
    engine.coasted += i
    engine.total_served = total_served
    sizes.count, sizes.m, sizes.q = seen, size_m, size_q
    steps.count, steps.m, steps.q = seen, step_m, step_q
    itl.total, itl.count = itl_total, itl_count
    stretch.end(i, launched)
    if launched:
        engine.running = True
        event: Event = (end, sequence, engine._end, None)
        heappush(heap, event)
    else:
        engine.batch = []
