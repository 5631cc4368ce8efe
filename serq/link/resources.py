"""Pools, stages, gauges and claims to the IR."""

from __future__ import annotations

from serq.ir import nodes
from serq.link.expressions import Expressions
from serq.link.schedule import Schedules
from serq.lower.references import POOL, STAGE
from serq.lower.scope import Place, Scope
from serq.lower.tables import PoolFamily, StageFamily, Tables
from serq.syntax import ast


class Resources:
    """Links the declarations of one program."""

    def __init__(self, tables: Tables, link: Expressions) -> None:
        self.tables = tables
        self.link = link
        self.schedules = Schedules(link)

    # --- pools ----------------------------------------------------------------------------------

    def pools(self) -> tuple[nodes.Pool, ...]:
        out: list[nodes.Pool] = []
        for family in self.tables.pool_order:
            before = self.tables.terms
            for member in range(family.count):
                self.tables.terms = before  # a family's clauses are written once
                pool = self._pool(family, member)
                self.link.place(pool, family.span, ())
                out.append(pool)
        return tuple(out)

    def _pool(self, family: PoolFamily, member: int) -> nodes.Pool:
        decl = family.decl
        assert decl is not None
        what = f"pool `{family.name}`"
        scope = Scope(None, place=Place(what))
        evict: nodes.Lru | nodes.EvictBy = nodes.Lru()
        preempt: nodes.NoPreempt | nodes.PreemptBy = nodes.NoPreempt()
        queue: tuple[nodes.Expr, ...] | None = None
        spill: nodes.Spill | None = None
        reserve_held = False
        for option in decl.options:
            match option:
                case ast.EvictOption(keys=keys) if keys:
                    evict = nodes.EvictBy(self._keys(keys, scope))
                case ast.PreemptOption():
                    preempt = self._preempt(option, scope)
                case ast.QueueOption(keys=keys) if keys:
                    queue = self._keys(keys, scope)
                case ast.ReserveOption():
                    reserve_held = True
                case ast.SpillOption():
                    spill = self._spill(option, scope)
        via: int | None = None
        if family.via is not None:
            each = family.via.family and not family.each_via
            via = family.via.base + (member if each else 0)
        return nodes.Pool(
            family.name,
            member if family.family else None,
            family.cap,
            family.block,
            evict,
            preempt,
            queue,
            spill,
            via,
            reserve_held,
        )

    def _keys(self, keys: tuple[ast.Expr, ...], scope: Scope) -> tuple[nodes.Expr, ...]:
        return tuple([self.link.expr(key, scope) for key in keys])

    def _preempt(
        self, option: ast.PreemptOption, scope: Scope
    ) -> nodes.NoPreempt | nodes.PreemptBy:
        if option.rule == "none":
            return nodes.NoPreempt()
        if option.rule == "lifo":
            admission = nodes.CtxVar(nodes.Ctx.ADMISSION)
            last = nodes.Unary(nodes.UnaryOp.NEG, admission)
            self.link.place(admission, option.span, ())
            self.link.place(last, option.span, ())
            return nodes.PreemptBy((last,))
        return nodes.PreemptBy(self._keys(option.keys, scope), option.requeue == "tail")

    def _spill(self, option: ast.SpillOption, scope: Scope) -> nodes.Spill | None:
        references = self.link.references
        to = references.resolve(option.to, scope, POOL, index=False)
        via = references.resolve(option.via, scope, STAGE, index=False)
        if to is None or via is None:
            return None
        for found, path in ((to, option.to), (via, option.via)):
            if found.index is not None:
                self.link.faults.error(
                    "spill-index", "a spill names a pool and a stage without an index", path.span
                )
        work = self.link.expr(option.work, scope)
        when = self.link.expr(option.when, scope)
        spill = nodes.Spill(to.family.base, via.family.base, work, when)
        self.link.place(spill, option.span, ())
        return spill

    # --- stages ---------------------------------------------------------------------------------

    def stages(self) -> tuple[nodes.Stage, ...]:
        out: list[nodes.Stage] = []
        for family in self.tables.stage_order:
            before = self.tables.terms
            for member in range(family.count):
                self.tables.terms = before  # a family's clauses are written once
                kind = self._kind(family, member)
                index = member if family.family else None
                stage = nodes.Stage(family.name, index, kind)
                self.link.place(stage, family.span, ())
                self.link.place(kind, family.span, ())
                out.append(stage)
        return tuple(out)

    def _kind(self, family: StageFamily, member: int) -> nodes.Fifo | nodes.Ps | nodes.Step:
        if family.service == "fifo":
            return nodes.Fifo(family.servers)
        if family.service == "delay":
            present = nodes.CtxVar(nodes.Ctx.N)
            self.link.place(present, family.span, ())
            return nodes.Ps(present)
        if family.service == "step":
            assert family.engine is not None
            return self.schedules.step(family.engine, member)
        assert family.argument is not None
        scope = Scope(None, place=Place(f"stage `{family.name}`"))
        return nodes.Ps(self.link.expr(family.argument, scope))

    def registers(self) -> tuple[nodes.Register, ...]:
        return tuple(
            [
                nodes.Register(name, engine.stage.base, init)
                for name, engine, init in self.tables.registers
            ]
        )

    # --- gauges and claims ----------------------------------------------------------------------

    def gauges(self) -> tuple[nodes.Gauge, ...]:
        out: list[nodes.Gauge] = []
        for decl in self.tables.gauges.values():
            scope = Scope(None, place=Place(f"gauge `{decl.target.name}`"))
            gauge = nodes.Gauge(decl.target.name, self.link.expr(decl.value, scope))
            self.link.place(gauge, decl.target.span, ())
            out.append(gauge)
        return tuple(out)

    def claims(self) -> tuple[nodes.Claim, ...]:
        out: list[nodes.Claim] = []
        for decl in self.tables.claims.values():
            scope = Scope(None, place=Place(f"claim `{decl.target.name}`"))
            given = None if decl.given is None else self.link.expr(decl.given, scope)
            kind = self._claim_kind(decl, scope)
            claim = nodes.Claim(decl.target.name, given, kind, self.link.expr(decl.value, scope))
            self.link.place(claim, decl.target.span, ())
            self.link.place(kind, (decl.stage or decl.target).span, ())
            out.append(claim)
        return tuple(out)

    def _claim_kind(self, decl: ast.ClaimDecl, scope: Scope) -> nodes.ClaimKind:
        if decl.form == "end" or decl.stage is None:
            return nodes.AtEnd()
        found = self.link.references.resolve(decl.stage, scope, STAGE)
        if found is None:
            return nodes.AtEnd()
        member = 0
        if found.index is not None:
            value = self.link.constants.quiet(found.index.expr, found.index.scope)
            if value is None:
                self.link.faults.error(
                    "not-constant",
                    "a claim names a member by a constant index",
                    found.index.span,
                )
                return nodes.AtEnd()
            self.link.ref(found)
            member = int(value) if 0 <= value < found.family.count else 0
        if isinstance(found.family, StageFamily) and found.family.service != "step":
            self.link.faults.error(
                "not-an-engine",
                f"`{found.family.name}` is not an engine: only an engine has iterations",
                decl.stage.span,
                notes=((f"`{found.family.name}` is declared here", found.family.span),),
            )
            return nodes.AtEnd()
        stage = found.family.base + member
        if decl.form == "every":
            return nodes.EveryIteration(stage)
        return nodes.SomeIteration(stage)
