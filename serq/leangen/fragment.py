"""Which programs the Lean library can run, and what they are there.

A program is inside the fragment exactly when it is translated: `executable` for a run on given
sessions, `claims` (in `serq.leangen.claims`) for statements about families of workloads. Both
give the translated object or the list of reasons, one per construct that is outside.
"""

from __future__ import annotations

import math
from collections.abc import Iterator
from dataclasses import dataclass, field

from serq.deep import run_deep
from serq.ir import nodes as ir
from serq.ir.nodes import BinaryOp, Ctx, UnaryOp
from serq.leangen import model as lean
from serq.leangen import moments
from serq.leangen.bounds import bounds
from serq.leangen.expressions import Folded, Moment, Translator, boolean_by_form
from serq.leangen.reasons import Log, Reason, Spans, StmtAt

DELAY = ir.Ps(ir.CtxVar(Ctx.N))


@dataclass(frozen=True, slots=True)
class Executable:
    """A program with its workload, as the Lean library runs it up to ``horizon``."""

    deployment: lean.Deployment
    program: lean.Block
    workload: lean.Workload
    horizon: int


@dataclass(frozen=True, slots=True)
class Outside:
    """Why a program is outside: every construct that keeps it out."""

    reasons: tuple[Reason, ...]


@dataclass(frozen=True, slots=True)
class Verdict:
    """Either inside or outside, and on what the agreement with the interpreter depends."""

    result: Executable | Outside
    conditions: tuple[Reason, ...] = field(default=())


def executable(program: ir.Program, spans: Spans | None = None) -> Verdict:
    """The program as something Lean can run, on the sessions its workload brings.

    The workload must be a matter of fact: explicit sessions (an ordered trace is inlined
    first), a batch or a renewal with a constant gap, and nothing may be drawn.
    """
    log = Log(spans)

    def work() -> Executable | None:
        parts = Parts(program, log)
        deployment = parts.deployment()
        workload, front = parts.workload()
        chain = parts.block(program.session, f"blocks[{program.session}]", lean.Done())
        horizon = math.floor(program.horizon)
        if log.reasons or deployment is None or workload is None or chain is None:
            return None
        for slot, expr in reversed(front):
            chain = lean.Set(slot, expr, chain)
        return Executable(deployment, chain, workload, horizon)

    result = run_deep(work)
    if result is None:
        return Verdict(Outside(tuple(log.reasons)), tuple(log.conditions))
    return Verdict(result, tuple(log.conditions))


class Parts:
    """Translates the parts of a program; what is outside goes to the log."""

    def __init__(self, program: ir.Program, log: Log) -> None:
        self.program = program
        self.log = log
        self.translate = Translator(log)
        self.boolean = boolean_attributes(program)
        steps = [i for i, s in enumerate(program.stages) if isinstance(s.kind, ir.Step)]
        self.engine = steps[0] if steps else None
        for i in steps[1:]:
            log.out(f"stages[{i}]", "a second engine is outside the fragment", program.stages[i])
        for i, register in enumerate(program.registers):
            log.out(f"registers[{i}]", f"the engine's state `{register.name}` is outside", register)
        if program.share is not None:
            log.out("share", "shared execution is outside the fragment")

    # -- resources

    def deployment(self) -> lean.Deployment | None:
        pools = [self._pool(p, f"pools[{i}]") for i, p in enumerate(self.program.pools)]
        stages = [self._stage(s, f"stages[{i}]") for i, s in enumerate(self.program.stages)]
        slots = self.program
        common = {
            "pools": tuple(p for p in pools if p is not None),
            "stages": tuple(s for s in stages if s is not None),
            "slot_cached": slots.slot_cached,
            "slot_serial": slots.slot_serial,
            "slot_turn": slots.slot_turn,
            "slot_more": slots.slot_more,
            "slot_computed": slots.slot_computed,
        }
        if self.engine is None:
            return lean.Deployment(**common)  # type: ignore[arg-type]
        engines = [
            self._engine(s, s.kind, f"stages[{i}].kind.Step")
            for i, s in enumerate(self.program.stages)
            if isinstance(s.kind, ir.Step)
        ]
        if engines[0] is None:
            return None
        return lean.Deployment(**common, **engines[0])  # type: ignore[arg-type]

    def _engine(self, stage: ir.Stage, kind: ir.Step, path: str) -> dict[str, object] | None:
        """The deployment's fields of an engine; those of a second one are only judged."""
        budget = self.translate.natural_constant(kind.budget, f"{path}.budget", "the token budget")
        chunk = self.translate.natural(kind.chunk, f"{path}.chunk", moments.CHUNK)
        cost = self.translate.natural(kind.cost, f"{path}.cost", moments.COST)
        if cost is not None:
            self._check_cost(cost, f"{path}.cost", kind.cost)
        if kind.granule is not None:
            self.log.out(f"{path}.granule", "a granule is outside the fragment", kind.granule)
        serve: tuple[lean.Expr, ...] | None = ()
        if isinstance(kind.serve, ir.ServeBy):
            serve = self._keys(kind.serve.keys, f"{path}.serve.By", moments.SERVE_KEY)
        else:
            self.log.out(f"{path}.serve", "`exclusive prefill` is outside the fragment", stage)
        only = self._only(kind, path)
        if budget is None or chunk is None or cost is None or serve is None:
            return None
        return {
            "budget": budget,
            "chunk": chunk,
            "cost": cost,
            "memory": kind.memory,
            "serve": serve,
            "only": only,
        }

    def _keys(
        self, keys: tuple[ir.Expr, ...], path: str, moment: Moment
    ) -> tuple[lean.Expr, ...] | None:
        found = [self.translate.natural(k, f"{path}[{i}]", moment) for i, k in enumerate(keys)]
        return None if None in found else tuple(k for k in found if k is not None)

    def _only(self, kind: ir.Step, path: str) -> lean.Expr | None:
        """The predicate of the two-statement iteration body."""
        match kind.iteration:
            case None:
                return None
            case (
                ir.IterServe(ir_only, None),
                ir.IterAdmit(admit_only, ir.Unary(UnaryOp.NOT, ir.CtxVar(Ctx.PREEMPTED))),
            ) if ir_only is not None and ir_only == admit_only:
                only = self.translate.natural(
                    ir_only, f"{path}.iteration[0].Serve.only", moments.ONLY
                )
                if only is not None and not boolean_by_form(only):
                    self.log.condition(
                        f"{path}.iteration[0].Serve.only", "the value is 0 or 1", ir_only
                    )
                return only
        self.log.out(
            f"{path}.iteration",
            "a schedule is modelled only as `advance running [only (p)] [order]` followed by "
            "`admit waiting [only (p)] while (running.preempted == 0)` with the same p",
            kind.iteration[0],
        )
        return None

    def _check_cost(self, cost: lean.Expr, path: str, node: ir.Expr) -> None:
        """Lean lets an iteration last at least 1; the interpreter takes the cost as it is.

        They agree when the cost is at least 1: always, or for every batch with a token where no
        iteration can come to nothing but preemptions.
        """
        if bounds(cost)[0] >= 1:
            return
        with_token = {Ctx.NTOK: (1.0, math.inf)}
        if bounds(cost, with_token)[0] >= 1 and not self._grows():
            return
        self.log.out(path, "the cost may be 0 in Lean's eyes: give it a constant part of 1", node)

    def _grows(self) -> bool:
        return any(
            isinstance(s, ir.Run) and s.growing is not None
            for block in self.program.blocks
            for s in block
        )

    def _pool(self, pool: ir.Pool, path: str) -> lean.Pool | None:
        cap = self.translate.whole(pool.cap, f"{path}.cap", f"the capacity of `{pool.name}`", pool)
        block: int | None = 0
        if pool.block is not None:
            block = self.translate.whole(pool.block, f"{path}.block", "the block size", pool)
        if pool.spill is not None:
            self.log.out(f"{path}.spill", "a spill is outside the fragment", pool.spill.when)
        if pool.reserve_held:
            self.log.out(f"{path}.reserve_held", "`reserve held` is outside the fragment", pool)
        evict: tuple[lean.Expr, ...] | None = ()
        if isinstance(pool.evict, ir.EvictBy):
            evict = self._keys(pool.evict.keys, f"{path}.evict.By", moments.EVICT_KEY)
        preempt: tuple[lean.Expr, ...] | None = ()
        tail = False
        if isinstance(pool.preempt, ir.PreemptBy):
            tail = pool.preempt.tail
            at = f"{path}.preempt.By.keys"
            preempt = self._keys(pool.preempt.keys, at, moments.PREEMPT_KEY)
        queue: tuple[lean.Expr, ...] | None = ()
        if pool.queue is not None:
            by_engine = pool.admit_via is not None
            moment = moments.ENGINE_QUEUE_KEY if by_engine else moments.QUEUE_KEY
            queue = self._keys(pool.queue, f"{path}.queue", moment)
        if cap is None or block is None or evict is None or preempt is None or queue is None:
            return None
        return lean.Pool(cap, block, evict, preempt, tail, queue, pool.admit_via is not None)

    def _stage(self, stage: ir.Stage, path: str) -> lean.StageKind | None:
        match stage.kind:
            case ir.Step():
                return lean.Step()
            case ir.Fifo(servers):
                return lean.Fifo(servers)
            case ir.Ps() as kind if kind == DELAY:
                return lean.Delay()
        self.log.out(
            f"{path}.kind", f"the processor-sharing stage `{stage.name}` is outside", stage
        )
        return None

    # -- statements

    def block(self, index: int, path: str, end: lean.Block) -> lean.Block | None:
        """A block as a chain that ends in ``end``."""
        chain: lean.Block | None = end
        statements = self.program.blocks[index]
        stop = len(statements)
        for i, statement in enumerate(statements):
            if isinstance(statement, ir.End | ir.Loop):  # nothing after it is ever run
                stop = i + 1
                break
        for i in reversed(range(stop)):
            rest = chain if chain is not None else lean.Done()
            made = self._statement(statements[i], f"{path}[{i}]", StmtAt(index, i), rest)
            chain = None if made is None or chain is None else made
        return chain

    def _statement(self, s: ir.Stmt, path: str, at: StmtAt, k: lean.Block) -> lean.Block | None:
        match s:
            case ir.Turn():
                return self._turn(k)
            case ir.End():
                return lean.End()
            case ir.Set(slot, expr):
                if slot in (self.program.slot_cached, self.program.slot_serial):
                    name = self.program.attrs[slot]
                    self.log.out(path, f"`{name}` may not be set in the fragment", at)
                    return None
                value = self.translate.natural(expr, f"{path}.Set[1]", moments.STATEMENT)
                return None if value is None else lean.Set(slot, value, k)
            case ir.Observe(observe, expr):
                value = self.translate.natural(expr, f"{path}.Observe[1]", moments.STATEMENT)
                return None if value is None else lean.Observe(observe, value, k)
            case ir.Hold():
                return self._hold(s, f"{path}.Hold", at, k)
            case ir.Drop(pool):
                ref = self.translate.reference(pool, f"{path}.Drop", moments.STATEMENT)
                return None if ref is None else lean.Drop(ref, k)
            case ir.Release(pool):
                ref = self.translate.reference(pool, f"{path}.Release", moments.STATEMENT)
                return None if ref is None else lean.Release(ref, k)
            case ir.Run():
                return self._run(s, f"{path}.Run", at, k)
            case ir.Branch(guard, then, orelse):
                test = self._guard(guard, f"{path}.Branch[0]")
                yes = self.block(then, f"blocks[{then}]", lean.Done())
                no = self.block(orelse, f"blocks[{orelse}]", lean.Done())
                if test is None or yes is None or no is None:
                    return None
                return lean.Branch(test, yes, no, k)
            case ir.Loop(body):
                inner = self.block(body, f"blocks[{body}]", lean.Done())
                return None if inner is None else lean.Loop(inner)
            case ir.While(guard, body):
                test = self._loop_guard(guard, f"{path}.While[0]")
                inner = self.block(body, f"blocks[{body}]", lean.Done())
                return None if test is None or inner is None else lean.While(test, inner, k)
            case ir.Choose(var, count, key):
                number = self.translate.natural(count, f"{path}.Choose.count", moments.STATEMENT)
                keys = self._keys(key, f"{path}.Choose.key", moments.CHOOSE_KEY)
                if number is None or keys is None:
                    return None
                return lean.Choose(var, number, keys, k)
            case ir.Grow() | ir.Load() | ir.Fork() | ir.Join():
                name = type(s).__name__.lower()
                self.log.out(path, f"`{name}` is outside the fragment", at)
                return None

    def _turn(self, k: lean.Block) -> lean.Block | None:
        """A turn loads its data; what the turn block computes without drawing follows."""
        chain = self.block(self.program.turn, f"blocks[{self.program.turn}]", k)
        return None if chain is None else lean.Turn(chain)

    def _guard(self, guard: ir.Expr, path: str) -> lean.Expr | None:
        test = self.translate.natural(guard, path, moments.STATEMENT)
        if test is not None and not is_boolean(guard, self.boolean):
            self.log.condition(path, "the guard is 0 or 1 (the interpreter refuses others)", guard)
        return test

    def _loop_guard(self, guard: ir.Expr, path: str) -> lean.Expr | None:
        """The guard of a ``while``: how often the body runs must not depend on truncation."""
        test = self.translate.natural(guard, path, moments.STATEMENT)
        if test is not None and not is_boolean(guard, self.boolean):
            self.log.out(path, "the guard of a `while` must be a comparison or a 0/1 value", guard)
        for slot in self._feeding(guard):
            for b, block in enumerate(self.program.blocks):
                for i, s in enumerate(block):
                    if isinstance(s, ir.Set) and s.slot == slot and _subtracts(s.expr):
                        name = self.program.attrs[slot]
                        why = f"`{name}` feeds the guard of a `while` and may not be a difference"
                        self.log.out(f"blocks[{b}][{i}].Set[1]", why, s.expr)
        if _subtracts(guard):
            self.log.out(path, "the guard of a `while` may not subtract", guard)
        return test

    def _feeding(self, guard: ir.Expr) -> set[int]:
        """The attributes that the guard's value comes from, directly or through others."""
        found: set[int] = set()
        todo = read_attributes(guard)
        while todo:
            slot = todo.pop()
            if slot in found:
                continue
            found.add(slot)
            for block in self.program.blocks:
                for s in block:
                    if isinstance(s, ir.Set) and s.slot == slot:
                        todo |= read_attributes(s.expr)
        return found

    def _hold(self, hold: ir.Hold, path: str, at: StmtAt, k: lean.Block) -> lean.Block | None:
        if hold.lease is not None:
            self.log.out(f"{path}.lease", "a lease is outside the fragment", at)
        first = hold.pools[0].pool
        named = self.program.pools[first.base : first.base + first.count]
        by_engine = all(p.admit_via is not None for p in named)
        header = moments.ENGINE_HEADER if by_engine else moments.HEADER
        pools: list[lean.HoldPool] = []
        for i, entry in enumerate(hold.pools):
            here = f"{path}.pools[{i}]"
            ref = self.translate.reference(entry.pool, f"{here}[0]", header)
            units = self.translate.natural(entry.units, f"{here}[1]", header)
            reserve = self._optional(entry.reserve, f"{here}[2]", header)
            if ref is not None and units is not None:
                pools.append(lean.HoldPool(ref, units, reserve))
        reuse = self._optional(hold.reuse, f"{path}.reuse", header)
        cache = self._optional(hold.cache, f"{path}.cache", moments.STATEMENT)
        body = self.block(hold.body, f"blocks[{hold.body}]", lean.Done())
        return None if body is None else lean.Hold(tuple(pools), reuse, body, cache, k)

    def _optional(self, expr: ir.Expr | None, path: str, moment: Moment) -> lean.Expr | None:
        return None if expr is None else self.translate.natural(expr, path, moment)

    def _run(self, run: ir.Run, path: str, at: StmtAt, k: lean.Block) -> lean.Block | None:
        if run.also:
            self.log.out(f"{path}.also", "a run over several stages is outside the fragment", at)
        stage = self.translate.reference(run.stage, f"{path}.stage", moments.STATEMENT)
        work = self.translate.natural(run.work, f"{path}.work", moments.STATEMENT)
        growing = None
        if run.growing is not None:
            growing = self.translate.reference(run.growing, f"{path}.growing", moments.STATEMENT)
            if growing is None or not self._may_grow(run.growing, f"{path}.growing", at):
                return None
        if stage is None or work is None:
            return None
        return lean.Run(stage, run.mode, work, growing, k)

    def _may_grow(self, ref: ir.Ref, path: str, at: StmtAt) -> bool:
        """A run grows the engine's memory, whose rule says whom to preempt; nothing else."""
        kind = None if self.engine is None else self.program.stages[self.engine].kind
        memory = kind.memory if isinstance(kind, ir.Step) else None
        if ref.count != 1:
            self.log.out(path, "growth in a family of engines is outside the fragment", at)
            return False
        if ref.base != memory:
            self.log.out(path, "a run may grow only the pool on the engine's device", at)
            return False
        if isinstance(self.program.pools[memory].preempt, ir.NoPreempt):
            name = self.program.pools[memory].name
            self.log.out(path, f"`{name}` grows without a rule whom to preempt", at)
            return False
        return True

    # -- workload

    def workload(self) -> tuple[lean.Workload | None, list[tuple[int, lean.Expr]]]:
        """The sessions, and the init sets that every one of them executes as it arrives."""
        match self.program.arrival:
            case ir.Sessions(sessions):
                return self._explicit(sessions), []
            case ir.NoArrivals():
                return lean.Workload(()), []
            case ir.Batch(size):
                return lean.Workload(((),) * size), self._init()
            case ir.Renewal(gap):
                step = self.translate.natural_constant(gap, "arrival.Renewal", "the gap")
                if step is None:
                    return None, []
                number = math.floor(self.program.horizon / step) if step else 0
                if self.program.arrivals is not None:
                    number = min(number, self.program.arrivals)
                return lean.Workload(((),) * number, gaps=(step,) * number), self._init()
            case ir.Poisson():
                why = "Poisson arrivals are drawn; Lean runs given ones"
                self.log.out("arrival.Poisson", why, self.program.arrival)
            case ir.Closed():
                why = "a closed population is outside the fragment"
                self.log.out("arrival.Closed", why, self.program.arrival)
        return None, []

    def _init(self) -> list[tuple[int, lean.Expr]]:
        if self.program.trace is not None:
            self.log.out("trace", "a trace must be inlined first (`serq ir --inline-trace`)")
        found = []
        for s, path, _ in self.init_sets():
            value = self.translate.natural(s.expr, path, moments.INIT)
            if value is not None:
                found.append((s.slot, value))
        return found

    def init_sets(self) -> Iterator[tuple[ir.Set, str, StmtAt]]:
        """The assignments of the init block, each with the path of its expression and its place."""
        init = self.program.init
        for i, s in enumerate(self.program.blocks[init]):
            path, at = f"blocks[{init}][{i}]", StmtAt(init, i)
            if isinstance(s, ir.Set):
                yield s, f"{path}.Set[1]", at
            else:
                self.log.out(path, "init may only set attributes in the fragment", at)

    def _explicit(self, sessions: tuple[ir.SessionData, ...]) -> lean.Workload | None:
        if self.program.trace is not None:
            self.log.out("trace", "a trace must be inlined first (`serq ir --inline-trace`)")
        init: list[lean.Pairs] = []
        turns: list[tuple[lean.Pairs, ...] | None] = []
        for i, session in enumerate(sessions):
            path = f"arrival.Sessions[{i}]"
            own = self._pairs(session.attrs, f"{path}.attrs")
            before = self._preset_init(i, {slot for slot, _ in own})
            init.append(tuple((before | dict(own)).items()))
            if session.turns is None:
                turns.append(None)
            else:
                loaded = enumerate(session.turns)
                turns.append(tuple(self._pairs(t, f"{path}.turns[{j}]") for j, t in loaded))
        if all(t is None for t in turns):
            turns = []
        return lean.Workload(tuple(init), tuple(turns))

    def _pairs(self, pairs: tuple[tuple[int, float], ...], path: str) -> lean.Pairs:
        found = []
        for j, (slot, value) in enumerate(pairs):
            whole = self.translate.whole(value, f"{path}[{j}]", f"`{self.program.attrs[slot]}`")
            if whole is not None:
                found.append((slot, whole))
        return tuple(found)

    def _preset_init(self, serial: int, own: set[int]) -> dict[int, int]:
        """What the init block, which runs at time 0, leaves of a session's attributes.

        An attribute in ``own`` is given by the session itself, so it may even be drawn.
        """
        known: dict[int, Folded] = {slot: 0.0 for slot in range(len(self.program.attrs))}
        known[self.program.slot_serial] = float(serial)
        translate = Translator(self.log, known, now=0.0)
        found: dict[int, int] = {}
        for s, path, at in self.init_sets():
            name = f"`{self.program.attrs[s.slot]}`"
            if s.slot in own:
                known.pop(s.slot, None)
                continue
            value = translate.constant(s.expr, path, f"the initial value of {name}")
            if value is not None:
                known[s.slot] = value
                whole = translate.whole(value, path, name, at)
                if whole:
                    found[s.slot] = whole
        return found


# --- questions about IR expressions -------------------------------------------------------------


def _parts_of(expr: ir.Expr) -> tuple[ir.Expr, ...]:
    match expr:
        case ir.Cost(_, inner) | ir.Unary(_, inner):
            return (inner,)
        case ir.Binary(_, left, right):
            return (left, right)
        case ir.Cond(test, then, orelse):
            return (test, then, orelse)
        case ir.Sample(_, args):
            return args
        case ir.Call(_, args):
            found: list[ir.Expr] = []
            for arg in args:
                if isinstance(arg, ir.ExprArg):
                    found.append(arg.expr)
                elif arg.ref.index is not None:
                    found.append(arg.ref.index)
            return tuple(found)
    return ()


def read_attributes(expr: ir.Expr) -> set[int]:
    """The slots of the attributes that an expression reads."""
    if isinstance(expr, ir.Attr):
        return {expr.slot}
    return set().union(*(read_attributes(part) for part in _parts_of(expr)))


def _subtracts(expr: ir.Expr) -> bool:
    """Whether the expression has a difference that is no constant."""
    if isinstance(expr, ir.Binary) and expr.op is BinaryOp.SUB and not _is_constant(expr):
        return True
    return any(_subtracts(part) for part in _parts_of(expr))


def _is_constant(expr: ir.Expr) -> bool:
    if isinstance(expr, ir.Num):
        return True
    parts = _parts_of(expr)
    return bool(parts) and not isinstance(expr, ir.Sample) and all(map(_is_constant, parts))


def is_boolean(expr: ir.Expr, attributes: set[int]) -> bool:
    """Whether an expression can only be 0 or 1, given the attributes that can only be that."""
    match expr:
        case ir.Num(value):
            return value in (0.0, 1.0)
        case ir.Attr(slot):
            return slot in attributes
        case ir.CtxVar(name):
            return name is Ctx.DECODING
        case ir.Unary(op, _):
            return op is UnaryOp.NOT
        case ir.Binary(op, _, _):
            return op not in (BinaryOp.ADD, BinaryOp.SUB, BinaryOp.MUL, BinaryOp.DIV, BinaryOp.POW)
        case ir.Cond(_, then, orelse):
            return is_boolean(then, attributes) and is_boolean(orelse, attributes)
        case ir.Cost(_, inner):
            return is_boolean(inner, attributes)
        case ir.Sample(dist, _):
            return dist is ir.Dist.BERNOULLI
    return False


def boolean_attributes(program: ir.Program) -> set[int]:
    """The attributes whose every assignment and every session's value is 0 or 1."""
    sets: dict[int, list[ir.Expr]] = {}
    for block in program.blocks:
        for s in block:
            if isinstance(s, ir.Set):
                sets.setdefault(s.slot, []).append(s.expr)
            elif isinstance(s, ir.Choose):
                sets.setdefault(s.var, []).append(ir.Num(2.0))
    if isinstance(program.arrival, ir.Sessions):
        for session in program.arrival.sessions:
            for pairs in (session.attrs, *(session.turns or ())):
                for slot, value in pairs:
                    sets.setdefault(slot, []).append(ir.Num(value))
    machine = {program.slot_cached, program.slot_serial, program.slot_turn, program.slot_computed}
    possible = set(range(len(program.attrs))) - machine
    while True:
        kept = {
            slot for slot in possible if all(is_boolean(e, possible) for e in sets.get(slot, ()))
        }
        if kept == possible:
            return kept
        possible = kept


def is_drawn(expr: ir.Expr) -> bool:
    """Whether an expression draws."""
    return isinstance(expr, ir.Sample) or any(map(is_drawn, _parts_of(expr)))
