"""Pools, stages and engines of the IR as declarations of the text."""

from __future__ import annotations

from dataclasses import dataclass, field, replace
from math import inf
from typing import TypeVar

from serq.fuzz.spelling.names import Family, Spelled
from serq.fuzz.spelling.reasons import refuse
from serq.fuzz.spelling.values import NOWHERE, Values, constant, ident, not_folded, path
from serq.ir import nodes as ir
from serq.ir.moments import Moment
from serq.lower.vocabulary import WORDS
from serq.syntax import ast

T = TypeVar("T")

_NOT_PREEMPTED = ir.Unary(ir.UnaryOp.NOT, ir.CtxVar(ir.Ctx.PREEMPTED))


@dataclass
class EngineText:
    """An engine, the name of its device, and the pools that stand on either."""

    family: Family
    device: str
    memory: Family | None = None
    capacities: list[tuple[Family, bool]] = field(default_factory=list)  # (pool, its own size)


class Resources:
    """Writes the declarations of one program."""

    def __init__(self, spelled: Spelled, values: Values) -> None:
        self.spelled = spelled
        self.values = values
        self.program = spelled.program
        self.engines: dict[int, EngineText] = {}
        for family in spelled.stages:
            if isinstance(self._kind(family), ir.Step):
                alone = sum(isinstance(s.kind, ir.Step) for s in self.program.stages) == 1
                wanted = "gpu" if alone else f"gpu_{family.name}"
                self.engines[family.base] = EngineText(family, spelled.fresh(wanted, WORDS))
        self._check_members()
        self.owners = {pool.base: self._owner(pool) for pool in spelled.pools}
        for engine in self.engines.values():
            if engine.memory is None and self._memory(engine.family, 0) is not None:
                raise refuse("memory", f"of `{engine.family.name}`")
        self._check_registers()

    def declarations(self) -> list[ast.Item]:
        """Stages and engines in their order, then pools in theirs."""
        out: list[ast.Item] = []
        for family in self.spelled.stages:
            out += self._stage(family)
        return out + [self._pool(family) for family in self.spelled.pools]

    # --- what stands where ----------------------------------------------------------------------

    def _kind(self, family: Family) -> ir.Fifo | ir.Ps | ir.Step:
        return self.program.stages[family.base].kind

    def _memory(self, engine: Family, member: int) -> int | None:
        kind = self.program.stages[engine.base + member].kind
        assert isinstance(kind, ir.Step)
        return kind.memory

    def _check_members(self) -> None:
        """Members of a family differ in their index, their memory and who admits them alone."""
        for family in self.spelled.stages:
            first, *others = [
                replace(k, memory=None) if isinstance(k, ir.Step) else k
                for k in (s.kind for s in self._members(self.program.stages, family))
            ]
            if any(other != first for other in others):
                raise refuse("family", f"stage `{family.name}`")
        for family in self.spelled.pools:
            alike = [
                replace(pool, index=None, admit_via=None)
                for pool in self._members(self.program.pools, family)
            ]
            if any(other != alike[0] for other in alike):
                raise refuse("family", f"pool `{family.name}`")

    @staticmethod
    def _members(all_: tuple[T, ...], family: Family) -> tuple[T, ...]:
        return all_[family.base : family.base + family.count]

    def _owner(self, pool: Family) -> str | None:
        """Whom a pool stands on: an engine's device, an engine, both (``e.gpu``), or nobody."""
        alike = (pool.count, pool.indexed)
        via = [p.admit_via for p in self._members(self.program.pools, pool)]
        memory_of = [
            engine
            for engine in self.engines.values()
            if any(
                self._memory(engine.family, k) in range(pool.base, pool.base + pool.count)
                for k in range(engine.family.count)
            )
        ]
        if len(memory_of) > 1:
            raise refuse("memory", f"pool `{pool.name}` is that of two engines")
        for engine in memory_of:
            family = engine.family
            own = [self._memory(family, k) == pool.base + k for k in range(family.count)]
            if not all(own) or alike != (family.count, family.indexed):
                raise refuse("memory", f"pool `{pool.name}`")
            engine.memory = pool
        if via[0] is None:
            if any(v is not None for v in via):
                raise refuse("family", f"pool `{pool.name}`, which an engine admits in part")
            return memory_of[0].device if memory_of else None
        engine = self._admitting(pool, via)
        if memory_of:
            if memory_of[0] is not engine:
                raise refuse("memory", f"pool `{pool.name}`, which another engine admits")
            return f"{engine.family.name}.{engine.device}"
        return engine.family.name

    def _admitting(self, pool: Family, via: list[int | None]) -> EngineText:
        for engine in self.engines.values():
            family = engine.family
            each = [family.base + k for k in range(family.count)]
            if (pool.count, pool.indexed) == (family.count, family.indexed) and via == each:
                if engine.memory is not pool:
                    engine.capacities.append((pool, False))
                return engine
            sized = family.count == 1 and pool.indexed and engine.memory is not pool
            if sized and all(v == family.base for v in via):
                engine.capacities.append((pool, True))
                return engine
        raise refuse("family", f"pool `{pool.name}`, whose members different engines admit")

    def _check_registers(self) -> None:
        stages = [register.stage for register in self.program.registers]
        families = {engine.family.base: engine.family for engine in self.engines.values()}
        if stages != sorted(stages) or any(
            stage not in families or families[stage].indexed for stage in stages
        ):
            raise refuse("registers", ", ".join(r.name for r in self.program.registers))

    # --- pools ----------------------------------------------------------------------------------

    def _pool(self, family: Family) -> ast.Item:
        pool = self.program.pools[family.base]
        owner = self.owners[family.base]
        options: list[ast.PoolOption] = []
        if owner is None and pool.cap != inf:
            options.append(ast.CapOption(NOWHERE, constant(pool.cap)))
        if pool.block is not None:
            if not pool.block > 0:
                raise refuse("not positive", f"the block of `{family.name}`")
            options.append(ast.BlockOption(NOWHERE, constant(pool.block)))
        if isinstance(pool.evict, ir.EvictBy):
            keys = self._keys(pool.evict.keys, Moment.EVICT, family)
            options.append(ast.EvictOption(NOWHERE, keys))
        if isinstance(pool.preempt, ir.PreemptBy):
            keys = self._keys(pool.preempt.keys, Moment.VICTIM, family)
            requeue = "tail" if pool.preempt.tail else None
            options.append(ast.PreemptOption(NOWHERE, "by", keys, requeue))
        if pool.queue is not None:
            keys = self._keys(pool.queue, Moment.SELECT, family)
            options.append(ast.QueueOption(NOWHERE, keys))
        if pool.reserve_held:
            options.append(ast.ReserveOption(NOWHERE))
        if pool.spill is not None:
            options.append(self._spill(pool.spill))
        size = None if owner is not None else _size(family)
        on = None if owner is None else path(owner)
        return ast.PoolDecl(NOWHERE, ident(family.name), size, on, tuple(options))

    def _keys(
        self, keys: tuple[ir.Expr, ...], moment: Moment, family: Family
    ) -> tuple[ast.Expr, ...]:
        if not keys:
            raise refuse("not positive", f"keys of `{family.name}`")
        return tuple([self.values.expression(key, moment) for key in keys])

    def _spill(self, spill: ir.Spill) -> ast.SpillOption:
        to = [f for f in self.spelled.pools if f.base == spill.to]
        via = [f for f in self.spelled.stages if f.base == spill.via]
        if not to or not via:
            raise refuse("part of a family", "a spill to or over a later member")
        work = self.values.expression(spill.work, Moment.EVICT)
        when = self.values.expression(spill.when, Moment.EVICT)
        return ast.SpillOption(NOWHERE, path(to[0].name), path(via[0].name), work, when)

    # --- stages ---------------------------------------------------------------------------------

    def _stage(self, family: Family) -> list[ast.Item]:
        kind = self._kind(family)
        match kind:
            case ir.Step():
                return self._engine(self.engines[family.base], kind)
            case ir.Fifo(servers=servers):
                if servers < 1:
                    raise refuse("not positive", f"the servers of `{family.name}`")
                argument = None if servers == 1 else constant(float(servers))
                service = ast.StageKind(NOWHERE, "fifo", argument)
            case ir.Ps(capacity=ir.CtxVar(name=ir.Ctx.N)):
                service = ast.StageKind(NOWHERE, "delay", None)
            case ir.Ps(capacity=capacity):
                phi = self.values.expression(capacity, Moment.PS)
                service = ast.StageKind(NOWHERE, "ps", phi)
        return [ast.StageDecl(NOWHERE, ident(family.name), _size(family), service)]

    def _engine(self, engine: EngineText, kind: ir.Step) -> list[ast.Item]:
        family = engine.family
        resources: tuple[ast.Capacity, ...] = ()
        if engine.memory is not None:
            resources = (self._capacity(engine.memory, None),)
        device = ast.DeviceDecl(NOWHERE, ident(engine.device), _size(family), resources)
        if isinstance(kind.budget, ir.Num) and not kind.budget.value > 0:
            raise refuse("not positive", f"the tokens cap of `{family.name}`")
        items: list[ast.EngineItem] = [
            self._capacity(pool, _size(pool) if sized else None)
            for pool, sized in engine.capacities
        ]
        items.append(ast.TokensItem(NOWHERE, self._value(kind.budget, Moment.BUDGET)))
        if kind.granule is not None:
            not_folded(kind.granule, "a granule")
            items.append(ast.GranuleItem(NOWHERE, self._value(kind.granule, Moment.BUDGET)))
        for register in self.program.registers:
            if register.stage == family.base:
                start = constant(register.init)
                items.append(ast.StateItem(NOWHERE, ident(register.name), start))
        items.append(ast.ScheduleItem(NOWHERE, (), self._schedule(family, kind)))
        items.append(ast.ExecuteItem(NOWHERE, self._value(kind.cost, Moment.STEP)))
        name, on = ident(family.name), ident(engine.device)
        return [device, ast.EngineDecl(NOWHERE, name, _size(family), on, tuple(items))]

    def _capacity(self, pool: Family, size: ast.Expr | None) -> ast.Capacity:
        cap = constant(self.program.pools[pool.base].cap)
        return ast.Capacity(NOWHERE, ident(pool.name), size, cap)

    def _value(self, expr: ir.Expr, moment: Moment) -> ast.Expr:
        return self.values.expression(expr, moment)

    # --- schedules ------------------------------------------------------------------------------

    def _schedule(self, family: Family, kind: ir.Step) -> tuple[ast.ScheduleStmt, ...]:
        cap = self.values.cap(kind.chunk)
        gate = self._value(_NOT_PREEMPTED, Moment.PLAN)
        if isinstance(kind.serve, ir.ExclusivePrefill):
            if kind.iteration is not None:
                raise refuse("iteration", f"of `{family.name}`, beside exclusive prefill")
            first: ast.ScheduleStmt = ast.ExclusivePrefillItem(NOWHERE, cap)
            return first, ast.Admit(NOWHERE, None, gate, cap, (), None)
        keys = kind.serve.keys
        if kind.iteration is None:
            order = self._order(keys or None)
            return (
                ast.Advance(NOWHERE, None, *order, cap),
                ast.Admit(NOWHERE, None, gate, cap, (), None),
            )
        if kind.iteration == ():
            raise refuse("iteration", f"of `{family.name}`, which is empty")
        match kind.iteration:
            case (ir.IterServe(only=only, by=by), ir.IterAdmit(only=other, gate=gated)):
                standard = gated == _NOT_PREEMPTED or gated in _ZERO_PREEMPTED
                if standard and only is not None and only == other:
                    if by is not None or gated != _NOT_PREEMPTED:
                        raise refuse("iteration", f"of `{family.name}`")
                    predicate = self._value(only, Moment.ONLY)
                    return (
                        ast.Advance(NOWHERE, predicate, *self._order(keys or None), cap),
                        ast.Admit(NOWHERE, predicate, gate, cap, (), None),
                    )
                if standard and only is None and other is None:
                    raise refuse("iteration", f"of `{family.name}`")
        if keys:
            raise refuse("iteration", f"of `{family.name}`, beside serving keys")
        return self._body(kind.iteration, cap)

    def _order(self, keys: tuple[ir.Expr, ...] | None) -> tuple[str | None, tuple[ast.Expr, ...]]:
        if keys is None:
            return None, ()
        if not keys:
            return "admission", ()
        return "by", tuple([self._value(key, Moment.SERVE) for key in keys])

    def _body(
        self, body: tuple[ir.IterStmt, ...], cap: ast.Expr | None
    ) -> tuple[ast.ScheduleStmt, ...]:
        out: list[ast.ScheduleStmt] = []
        for statement in body:
            match statement:
                case ir.IterServe(only=only, by=by):
                    predicate = None if only is None else self._value(only, Moment.ONLY)
                    out.append(ast.Advance(NOWHERE, predicate, *self._order(by), cap))
                case ir.IterAdmit(only=only, gate=gate):
                    predicate = None if only is None else self._value(only, Moment.ONLY)
                    test = None if gate is None else self._value(gate, Moment.PLAN)
                    out.append(ast.Admit(NOWHERE, predicate, test, cap, (), None))
                case ir.IterBranch(guard=guard, then=then, orelse=orelse):
                    test = self._value(guard, Moment.PLAN)
                    arms = self._body(then, cap), self._body(orelse, cap)
                    out.append(ast.ScheduleBranch(NOWHERE, test, *arms))
                case ir.IterSet(register=register, expr=expr):
                    name = ident(self.program.registers[register].name)
                    out.append(ast.ScheduleSet(NOWHERE, name, self._value(expr, Moment.PLAN)))
        return tuple(out)


_PREEMPTED = ir.CtxVar(ir.Ctx.PREEMPTED)
_ZERO_PREEMPTED = (
    ir.Binary(ir.BinaryOp.EQ, _PREEMPTED, ir.Num(0.0)),
    ir.Binary(ir.BinaryOp.EQ, ir.Num(0.0), _PREEMPTED),
)


def _size(family: Family) -> ast.Expr | None:
    return constant(float(family.count)) if family.indexed else None
