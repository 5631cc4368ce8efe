"""An engine's ``request``: its call becomes the hold that a server would write."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING

from serq.diagnostics import Span
from serq.ir.nodes import Mode
from serq.lower import kernel
from serq.lower.admission import body_scope, header_scope
from serq.lower.entries import bind_parameters
from serq.lower.faults import Frame
from serq.lower.kernel import Block, CostOf, Held, Reference
from serq.lower.rules import OwnRules
from serq.lower.scope import Closure, IndexValue, Local, Place, Scope
from serq.lower.tables import Engine
from serq.lower.tree import subtree
from serq.lower.uses import assigned_names
from serq.syntax import ast

if TYPE_CHECKING:
    from serq.lower.statements import Statements, Where


class Requests:
    """Expands the requests of engines where they are called."""

    def __init__(self, statements: Statements) -> None:
        self.statements = statements
        self.tables = statements.tables
        self.faults = statements.faults
        self.called: set[str] = set()
        self.expanding: list[Engine] = []
        self.owners: dict[str, Engine] = {}
        for engine in self.tables.engines.values():
            self._takings(engine)
            self._own_names(engine)

    # --- before any call ------------------------------------------------------------------------

    def _takings(self, engine: Engine) -> None:
        """What the admission takes: the same in every ``admit waiting``, of its own pools."""
        schedule = engine.item(ast.ScheduleItem)
        admits = [node for node in subtree(schedule) if isinstance(node, ast.Admit)]
        if not admits:
            return
        first = admits[0]
        for admit in admits:
            if engine.request is None and admit.taking:
                self.faults.error(
                    "taking-without-request",
                    f"`taking` is what a request is admitted with, and engine `{engine.name}` has"
                    " no `request`",
                    admit.taking[0].span,
                )
                return
            if (admit.taking, admit.reuse) != (first.taking, first.reuse):
                self.faults.error(
                    "takings-differ",
                    f"every `admit waiting` of engine `{engine.name}` admits its request: they"
                    " write the same `taking`",
                    admit.taking[0].span if admit.taking else admit.span,
                    notes=(("the first one is here", first.span),),
                )
                return
        engine.taking, engine.reuse = first.taking, first.reuse
        self._taken_once(engine)

    def _taken_once(self, engine: Engine) -> None:
        device = engine.device
        known = [*engine.capacities, *(device.capacities if device is not None else ())]
        seen: dict[str, Span] = {}
        for taking in engine.taking:
            part = taking.pool.parts[0]
            name = part.ident.name
            if name in seen:
                self.faults.error(
                    "declared-twice",
                    f"`taking` names `{name}` twice",
                    taking.pool.span,
                    notes=(("the first one is here", seen[name]),),
                )
            seen.setdefault(name, taking.pool.span)
            if name not in known or len(taking.pool.parts) > 1 or part.index is not None:
                self.faults.error(
                    "taking-not-own",
                    f"`taking` names `{taking.pool.span.text}`, which is no capacity of engine"
                    f" `{engine.name}` or its device",
                    taking.pool.span,
                    help=f"it takes {', '.join(f'`{k}`' for k in known)}" if known else None,
                )

    def _own_names(self, engine: Engine) -> None:
        """A request's names are its own: no other request's, and not the rest of the program's."""
        if engine.request is None:
            return
        for name, span in assigned_names(self.tables, engine.request.body).items():
            other = self.owners.get(name)
            if other is not None and other.request is not None:
                self.faults.error(
                    "request-names",
                    f"`{name}` is set by the requests of `{other.name}` and of `{engine.name}`: one"
                    " attribute would carry both",
                    span,
                    help="rename it in one of them",
                    notes=((f"the request of `{other.name}` is here", other.request.span),),
                )
            self.owners[name] = engine

    # --- a call ---------------------------------------------------------------------------------

    def call(self, engine: Engine, s: ast.CallStmt, where: Where, out: Block) -> None:
        request = engine.request
        assert request is not None
        if not where.served:
            self.statements.refuse(
                "call-in-session",
                "an engine's request is called by the server; the session describes turns",
                s.span,
                where,
            )
            return
        if engine in self.expanding:
            self.statements.refuse(
                "entries-in-a-cycle",
                f"the request of `{engine.name}` calls itself",
                s.span,
                where,
            )
            return
        names = bind_parameters(
            self.statements, f"`{engine.name}`", request.params, s.args, s.func.span, where
        )
        if names is None:
            return
        self.called.add(engine.name)
        frame = Frame(f"the request of `{engine.name}` is called here", s.span)
        self.expanding.append(engine)
        self._expand(engine, request, names, frame, where, out)
        self.expanding.pop()

    def check_uncalled(self) -> Block:
        """The requests that nothing calls, expanded so that their faults show."""
        out = Block()
        where = self.statements.nowhere()
        for engine in self.tables.engines.values():
            request = engine.request
            if request is None or engine.name in self.called or engine.stage.family:
                continue
            names: dict[str, Local] = {p.name: IndexValue(1.0) for p in request.params}
            self.expanding.append(engine)
            self._expand(engine, request, names, None, where, out)
            self.expanding.pop()
        return out

    def _expand(
        self,
        engine: Engine,
        request: ast.RequestItem,
        names: dict[str, Local],
        frame: Frame | None,
        where: Where,
        out: Block,
    ) -> None:
        what = f"the request of `{engine.name}`"
        rules = OwnRules(
            self.tables,
            self.faults,
            what,
            engine,
            "",
            frozenset(assigned_names(self.tables, request.body)),
            frozenset(p.name for p in request.params),
            self.statements.hidden,
        )
        place = Place(what, rules=rules, statement=True)
        frames = where.scope.frames if frame is None else (*where.scope.frames, frame)
        scope = Scope(None, names, False, frames, place)
        inside = replace(
            where,
            block="request",
            scope=scope,
            held=False,
            forked=False,
            rules=rules,
            queue=None,
            engine=engine,
        )
        before, admission, after, cache = self._parts(engine, request, inside)
        for statement in before:
            self.statements.statement(statement, inside, out)
        if not engine.taking:
            for statement in after:
                self.statements.statement(statement, inside, out)
            return
        self._hold(engine, request, admission, after, cache, inside, out)

    def _parts(
        self, engine: Engine, request: ast.RequestItem, where: Where
    ) -> tuple[list[ast.Stmt], ast.AdmissionStmt | None, list[ast.Stmt], ast.CacheStmt | None]:
        """The statements before and after the admission, the admission, and the ``cache``."""
        before: list[ast.Stmt] = []
        after: list[ast.Stmt] = []
        admission: ast.AdmissionStmt | None = None
        cache: ast.CacheStmt | None = None
        statements = request.body.statements
        for position, s in enumerate(statements):
            match s:
                case ast.AdmissionStmt():
                    if admission is not None:
                        self.statements.refuse(
                            "declared-twice",
                            "a request is admitted once: it has one `at admission`",
                            s.span,
                            where,
                            notes=(("the first one is here", admission.span),),
                        )
                    else:
                        admission = s
                        before, after = after, []
                case ast.CacheStmt():
                    if position != len(statements) - 1:
                        self.statements.refuse(
                            "cache-last",
                            "`cache (…);` is the last item of a request: what it leaves cached",
                            s.span,
                            where,
                        )
                    cache = s
                case _:
                    after.append(s)
        for item, word in ((admission, "at admission"), (cache, "cache")):
            if item is not None and not engine.taking:
                self.statements.refuse(
                    "admission-takes-nothing",
                    f"`{word}` in the request of `{engine.name}`, which takes nothing at its"
                    " admission",
                    item.span,
                    where,
                    help="write `taking POOL (…)` on `admit waiting`",
                )
        return before, admission, after, cache

    def _hold(
        self,
        engine: Engine,
        request: ast.RequestItem,
        admission: ast.AdmissionStmt | None,
        after: list[ast.Stmt],
        cache: ast.CacheStmt | None,
        where: Where,
        out: Block,
    ) -> None:
        scope = where.scope
        holds = self.statements.admission
        bindings = holds.bind(() if admission is None else admission.bindings, where)
        header = header_scope(scope, bindings)
        pools: list[Held] = []
        refs: list[Reference] = []
        checked: list[Closure] = []
        for taking in engine.taking:
            reference = self.statements.pool(taking.pool, where)
            if reference is None:
                return
            refs.append(reference)
            units = Closure(taking.units, header)
            checked.append(units)
            reserve: CostOf | None = None
            if taking.reserve is not None:
                amount = Closure(taking.reserve, header)
                checked.append(amount)
                reserve = CostOf((reference,), amount, taking.reserve.span)
            pools.append(Held(reference, CostOf((reference,), units, taking.units.span), reserve))
        every = tuple(refs)
        reuse: CostOf | None = None
        if engine.reuse is not None:
            amount = Closure(engine.reuse, header)
            checked.append(amount)
            reuse = CostOf(every, amount, engine.reuse.span)
        if where.rules is not None:
            where.rules.check_header(checked)
        left: CostOf | None = None
        if cache is not None:
            left = CostOf(every, Closure(cache.amount, header), cache.amount.span)
        body = Block()
        inside = replace(where, scope=body_scope(scope, bindings), held=True)
        for statement in after:
            self.statements.statement(statement, inside, body)
        span = request.span if admission is None else admission.span
        hold = kernel.Hold(span, scope.frames, where.side, pools, reuse, bindings, body, left, None)
        holds.finish(hold, where)
        out.statements.append(hold)

    # --- statements of a request ----------------------------------------------------------------

    def run(self, s: ast.EngineRunStmt, where: Where, out: Block) -> None:
        """``prefill (e) growing P;``: the engine's own run in that mode."""
        engine = where.engine
        assert engine is not None
        stage = Reference(engine.stage, None, s.span, where.scope)
        growing = None if s.growing is None else self.statements.held_pool(s.growing, where)
        if s.growing is not None and growing is None:
            return
        mode = Mode.PREFILL if s.mode == "prefill" else Mode.DECODE
        work = CostOf((stage,), Closure(s.work, where.scope), s.work.span)
        out.statements.append(
            kernel.Run(s.span, where.scope.frames, where.side, [stage], mode, work, growing)
        )

    def is_foreign(self, name: str, where_rules: OwnRules | None) -> Engine | None:
        """The engine whose request owns a name, unless the place is in that request."""
        engine = self.owners.get(name)
        if engine is None:
            return None
        if where_rules is not None and (where_rules.owner is engine or where_rules.prefix):
            return None
        return engine
