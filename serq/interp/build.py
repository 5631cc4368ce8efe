"""From the IR to a machine: every name resolved to an object, every expression compiled."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from serq.interp import claims
from serq.interp.coast import prepare
from serq.interp.code import Code
from serq.interp.engine import Engine
from serq.interp.expr import (
    AT_END,
    BUDGET,
    EVICT,
    GAP,
    GAUGE,
    GIVEN,
    ITERATION,
    PLAN,
    PS,
    SELECT,
    SERVE,
    STEP,
    VICTIM,
    compile_keys,
    compile_value,
    constant,
    reads,
)
from serq.interp.faults import Fault, number, walk
from serq.interp.flow import FlowSystem, SharedStage
from serq.interp.machine import Machine
from serq.interp.memory import amount
from serq.interp.pool import Entry, Pool
from serq.interp.record import Recorder
from serq.interp.schedule import AdmitStmt, BranchStmt, ServeStmt, SetStmt
from serq.interp.stage import DelayStage, FifoStage, PsStage, Stage
from serq.interp.stats import GaugeTrack, Samples
from serq.ir import nodes as ir
from serq.ir.nodes import Ctx, Fun

_LIVE_COUNTS = {Ctx.NRES, Ctx.NDEC, Ctx.KVB, Ctx.KVP}


def build(
    program: ir.Program, source_map: Any = None, recorder: Recorder | None = None, fast: bool = True
) -> Machine:
    """A machine in its initial state, before anything has arrived.

    ``fast`` lets its engines take the fast path (`serq.interp.coast`).
    """
    machine = Machine(program, source_map, recorder)
    machine.library.names["RNG"] = machine.streams.machine()
    machine.library.names["RNG_EVICT"] = machine.streams.eviction()
    kept = {
        node.observe
        for claim in program.claims
        for node in walk(claim.expr)
        if isinstance(node, ir.Agg)
    }
    machine.observes = [
        Samples(program.warmup, keep_everything=i in kept) for i in range(len(program.observes))
    ]
    for i, pool in enumerate(program.pools):
        machine.pools.append(Pool(i, pool.name, pool.index, pool.cap, pool.block, machine.gaps))
    _make_stages(machine)
    machine.estimates = _estimates(program)
    _finish_stages(machine)
    _finish_pools(machine)
    machine.code = Code(machine)
    library = machine.library
    if isinstance(program.arrival, ir.Renewal):
        stream = machine.streams.arrivals()
        library.names["RNG_GAP"] = stream
        scope = type(GAP)("", rng="RNG_GAP")
        machine.gap = compile_value(library, scope, program.arrival.gap)
    for gauge in program.gauges:
        machine.gauges.append((gauge.name, compile_value(library, GAUGE, gauge.expr), GaugeTrack()))
    for claim in program.claims:
        _make_claim(machine, claim)
    if fast:
        prepare(machine)
    return machine


def _shared(program: ir.Program) -> set[int]:
    """The stages that some run holds together with another, whole arrays."""
    shared: set[int] = set()
    for block in program.blocks:
        for stmt in block:
            if isinstance(stmt, ir.Run) and stmt.also:
                for ref in (stmt.stage, *stmt.also):
                    shared.update(range(ref.base, ref.base + ref.count))
    return shared


def _make_stages(machine: Machine) -> None:
    program = machine.program
    shared = _shared(program)
    system = FlowSystem(machine, program.share) if program.share is not None else None
    for i, stage in enumerate(program.stages):
        kind = stage.kind
        made: Stage
        match kind:
            case ir.Fifo(servers=servers):
                made = FifoStage(machine, i, stage.name, stage.index, servers)
            case ir.Ps(capacity=ir.CtxVar(name=Ctx.N)):
                made = DelayStage(machine, i, stage.name, stage.index)
            case ir.Ps(capacity=capacity):
                if i in shared:
                    phi = constant(capacity)
                    assert phi is not None and system is not None
                    made = SharedStage(machine, i, stage.name, stage.index, phi, system)
                else:
                    made = PsStage(machine, i, stage.name, stage.index, lambda present: present)
            case _:
                made = Engine(machine, i, stage.name, stage.index)
                machine.engines.append(made)
        machine.stages.append(made)


def _estimates(program: ir.Program) -> bool:
    """Whether some expression of the program reads a stage's estimators."""
    fields: list[Any] = [program]
    while fields:
        top = fields.pop()
        if isinstance(top, ir.Call) and top.fun in (
            Fun.PRICE, Fun.EST_LAMBDA, Fun.EST_RHO, Fun.EST_WAIT,
        ):  # fmt: skip
            return True
        if isinstance(top, tuple):
            fields.extend(top)
        elif hasattr(top, "__slots__") and not isinstance(top, str):
            fields.extend(getattr(top, name) for name in top.__slots__)
    return False


def _finish_stages(machine: Machine) -> None:
    program, library = machine.program, machine.library
    for stage, made in zip(program.stages, machine.stages, strict=True):
        kind = stage.kind
        if isinstance(made, PsStage) and isinstance(kind, ir.Ps):
            made.capacity = compile_value(library, PS, kind.capacity)
        elif isinstance(made, Engine) and isinstance(kind, ir.Step):
            _finish_engine(machine, made, kind)


def _finish_engine(machine: Machine, engine: Engine, step: ir.Step) -> None:
    library = machine.library
    engine.budget = compile_value(library, BUDGET, step.budget)
    engine.chunk = compile_value(library, BUDGET, step.chunk)
    engine.cost = compile_value(library, STEP, step.cost)
    engine.measure(reads(step.cost))
    if step.granule is not None:
        engine.granule = constant(step.granule)
    if step.memory is not None:
        engine.memory = machine.pools[step.memory]
    engine.registers = [
        i for i, r in enumerate(machine.program.registers) if r.stage == engine.position
    ]
    if isinstance(step.serve, ir.ExclusivePrefill):
        engine.exclusive = True
        return
    keys = step.serve.keys
    if step.iteration is None:
        gate = ir.Unary(ir.UnaryOp.NOT, ir.CtxVar(Ctx.PREEMPTED))
        statements: tuple[ir.IterStmt, ...] = (ir.IterServe(None, None), ir.IterAdmit(None, gate))
    else:
        statements = step.iteration
    engine.program = _schedule(machine, statements, keys)


def _schedule(
    machine: Machine, statements: tuple[ir.IterStmt, ...], keys: tuple[ir.Expr, ...]
) -> list[Any]:
    library = machine.library
    out: list[Any] = []

    def maybe(scope: Any, expr: ir.Expr | None) -> Any:
        return None if expr is None else compile_value(library, scope, expr)

    for stmt in statements:
        match stmt:
            case ir.IterServe(only=only, by=by):
                order = keys if by is None else by
                live = any(_live(expr) for expr in order)
                made = compile_keys(library, SERVE, order) if order else None
                out.append(ServeStmt(made, maybe(SERVE, only), live))
            case ir.IterAdmit(only=only, gate=gate):
                out.append(AdmitStmt(maybe(PLAN, gate), maybe(SERVE, only)))
            case ir.IterBranch(guard=guard, then=then, orelse=orelse):
                out.append(
                    BranchStmt(
                        compile_value(library, PLAN, guard),
                        _schedule(machine, then, keys),
                        _schedule(machine, orelse, keys),
                    )
                )
            case ir.IterSet(register=register, expr=expr):
                out.append(SetStmt(register, _finite(machine, register, expr)))
    return out


def _finite(machine: Machine, register: int, expr: ir.Expr) -> Callable[[Any], float]:
    """What a schedule sets a state to; a state holds a finite number."""
    value = compile_value(machine.library, PLAN, expr)
    name = machine.program.registers[register].name
    span = None if machine.source_map is None else machine.source_map.span_of(expr)

    def checked(engine: Any) -> float:
        x: float = value(engine)
        if x - x != 0.0:
            raise Fault(
                "state-not-finite",
                f"engine `{engine.name}` sets its state `{name}` to {number(x)}",
                "a state holds a finite number",
                span,
            )
        return x

    return checked


def _live(expr: ir.Expr) -> bool:
    """Whether a serving key can change while the residents before it are served."""
    for node in walk(expr):
        if isinstance(node, ir.CtxVar) and node.name in _LIVE_COUNTS:
            return True
        if isinstance(node, ir.Call) and any(not isinstance(a, ir.ExprArg) for a in node.args):
            return True
    return False


def _grown(program: ir.Program) -> set[int]:
    """The pools where some hold may come to wait for room to grow."""
    grown: set[int] = set()
    for block in program.blocks:
        for stmt in block:
            ref = None
            if isinstance(stmt, ir.Grow):
                ref = stmt.pool
            elif isinstance(stmt, ir.Run):
                ref = stmt.growing
            if ref is not None:
                grown.update(range(ref.base, ref.base + ref.count))
    return grown


def _finish_pools(machine: Machine) -> None:
    library = machine.library
    grown = _grown(machine.program)
    for pool, made in zip(machine.program.pools, machine.pools, strict=True):
        if isinstance(pool.evict, ir.EvictBy):
            made.evict_keys = compile_keys(library, EVICT, pool.evict.keys)
            made.freezes = True
        if isinstance(pool.preempt, ir.PreemptBy):
            made.preempt_keys = compile_keys(library, VICTIM, pool.preempt.keys)
            made.preempt_tail = pool.preempt.tail
        if pool.queue is not None:
            made.queue_keys = compile_keys(library, SELECT, pool.queue)
        made.reserve_held = pool.reserve_held
        if pool.admit_via is None or made.position in grown:
            machine.settled_pools.append(made)
        if pool.admit_via is not None:
            engine = machine.stages[pool.admit_via]
            assert isinstance(engine, Engine)
            made.admit_via = engine
            engine.queues.append(made)
        if pool.spill is not None:
            made.freezes = True
            made.spill = _spill(machine, made, pool.spill)


def _spill(machine: Machine, pool: Pool, spill: ir.Spill) -> Callable[[Entry, float], None]:
    """What happens to units evicted from the pool: a job on the link, and the tier caches them."""
    work_of = compile_value(machine.library, EVICT, spill.work)
    when = compile_value(machine.library, EVICT, spill.when)
    tier, link = machine.pools[spill.to], machine.stages[spill.via]

    def write(entry: Entry, units: float) -> None:
        part = Entry(entry.session, units, entry.last, entry.number, entry.frozen)
        part.live = entry.live
        if when(part) == 0.0:
            return
        work = amount(work_of(part), f"the work of a spill of pool `{pool.name}`")
        pool.spills += 1
        if work > 0.0:
            link.submit(machine.carrier(), work)
        tier.receive(entry, units, machine.now)

    return write


def _make_claim(machine: Machine, claim: ir.Claim) -> None:
    library = machine.library
    made: Any
    match claim.kind:
        case ir.AtEnd():
            made = claims.EndClaim(machine, claim.name, compile_value(library, AT_END, claim.expr))
        case ir.EveryIteration(stage=stage) | ir.SomeIteration(stage=stage):
            every = isinstance(claim.kind, ir.EveryIteration)
            test = compile_value(library, ITERATION, claim.expr)
            made = claims.IterationClaim(machine, claim.name, every, test)
            engine = machine.stages[stage]
            assert isinstance(engine, Engine)
            engine.claims.append(made)
            engine.measure(reads(claim.expr))
    machine.claims.append(made)
    if claim.given is not None:
        test = compile_value(library, GIVEN, claim.given)
        machine.givens.append(claims.given(made, test))
