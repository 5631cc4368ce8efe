"""An engine's clauses to the IR's step stage: budget, cost, chunk, serve and iteration."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass

from serq.diagnostics import Span
from serq.ir import nodes
from serq.link.expressions import Expressions
from serq.lower.definitions import bind
from serq.lower.engine_values import CAP, EACH, EXECUTE, KEYS, PLAN
from serq.lower.scope import Closure, HeaderBinding, Place, ScheduleLetValue, Scope, Substituted
from serq.lower.tables import Engine
from serq.lower.tree import subtree
from serq.syntax import ast

INF = float("inf")


@dataclass(frozen=True, slots=True)
class Body:
    """The statements of a schedule, and the ``each at most`` they share."""

    statements: tuple[ast.ScheduleStmt, ...]
    cap: ast.Expr | None


class Schedules:
    """Links the clauses of engines, once for each member of a family."""

    def __init__(self, link: Expressions) -> None:
        self.link = link
        self.faults = link.faults

    def step(self, engine: Engine, member: int) -> nodes.Step:
        """The step stage of one member; an engine with missing clauses was reported before."""
        tokens = engine.item(ast.TokensItem)
        execute = engine.item(ast.ExecuteItem)
        granule = engine.item(ast.GranuleItem)
        budget: nodes.Expr = nodes.Num(INF)
        cost: nodes.Expr = nodes.Num(0.0)
        if isinstance(tokens, ast.TokensItem):
            budget = self._clause(tokens.value, engine, CAP)
            constant = self.link.constants.quiet(tokens.value, self._scope(engine, CAP))
            if constant is not None and not constant > 0:
                self._refuse(
                    "not-positive",
                    "`tokens cap` must be above 0, or no iteration could compute a token",
                    tokens.value.span,
                )
        if isinstance(execute, ast.ExecuteItem):
            cost = self._clause(execute.value, engine, EXECUTE)
        body = self._body(engine)
        chunk = self._chunk(body.cap, engine)
        grain = None
        if isinstance(granule, ast.GranuleItem):
            grain = self._granule(granule, engine)
        serve, iteration = self._procedure(engine, body.statements, grain)
        memory: int | None = None
        if engine.device is not None and engine.device.pools:
            pool = next(iter(engine.device.pools.values()))
            memory = pool.base + (member if pool.family else 0)
        return nodes.Step(budget, cost, chunk, grain, serve, memory, iteration)

    # --- clauses --------------------------------------------------------------------------------

    def _scope(self, engine: Engine, clause: str) -> Scope:
        place = Place(f"engine `{engine.name}`", engine, clause)
        scope = Scope(None, place=place)
        if clause == EACH:
            for name, let in engine.lets.items():
                scope = scope.bind({name: ScheduleLetValue(Closure(let.value, scope))})
        return scope

    def _clause(self, expr: ast.Expr, engine: Engine, clause: str) -> nodes.Expr:
        return self.link.expr(expr, self._scope(engine, clause))

    def _refuse(self, code: str, message: str, span: Span, help: str | None = None) -> None:
        self.faults.error(code, message, span, help=help)

    def _granule(self, item: ast.GranuleItem, engine: Engine) -> nodes.Expr | None:
        scope = Scope(None, place=Place(f"engine `{engine.name}`"))
        value = self.link.constants.number(item.value, scope, "the granule")
        if value is None:
            return None
        if not value > 0:
            self._refuse(
                "not-positive",
                "the granule must be above 0: a prefill takes a multiple of it",
                item.value.span,
                "write `inf` for the whole prompt or nothing",
            )
        number = nodes.Num(value)
        self.link.place(number, item.value.span, ())
        return number

    # --- each at most ---------------------------------------------------------------------------

    def _body(self, engine: Engine) -> Body:
        item = engine.item(ast.ScheduleItem)
        if not isinstance(item, ast.ScheduleItem):
            return Body((), None)
        if not item.body:
            self._refuse(
                "empty-schedule",
                "a schedule needs a statement: what the iteration does",
                item.span,
            )
        caps: list[tuple[ast.Expr | None, Span]] = []
        for statement in _flat(item.body):
            if isinstance(statement, ast.Advance | ast.Admit | ast.ExclusivePrefillItem):
                caps.append((statement.each_at_most, statement.span))
        for cap, span in caps[1:]:
            if cap != caps[0][0]:
                self._refuse(
                    "caps-differ",
                    "the statements of a schedule carry the same `each at most`, or none: an"
                    " iteration has one cap per run",
                    span if cap is None else cap.span,
                    "name the cap with a `let` in the schedule and write it in each",
                )
                break
        self._unused_lets(engine)
        return Body(item.body, caps[0][0] if caps else None)

    def _unused_lets(self, engine: Engine) -> None:
        """A ``let`` that no cap reads is linked all the same, so that a fault in it shows."""
        scope = self._scope(engine, EACH)
        for name in engine.lets:
            local = scope.find(name)
            assert isinstance(local, ScheduleLetValue)
            self.link.expr(local.value.expr, local.value.scope)

    def _chunk(self, cap: ast.Expr | None, engine: Engine) -> nodes.Expr:
        if cap is None:
            return nodes.Num(0.0)
        return self._cap(Closure(cap, self._scope(engine, EACH)))

    def _cap(self, closure: Closure) -> nodes.Expr:
        """A cap: a constant above 0, ``inf`` (written 0), a choice of such, or ``max(k, e)``."""
        closure = self._opened(closure)
        expr, scope = closure.expr, closure.scope
        constant = self.link.constants.quiet(expr, scope, written=True)
        if constant is not None:
            return self._constant_cap(constant, closure)
        if isinstance(expr, ast.Conditional):
            test = self.link.expr(expr.test, scope)
            cond = nodes.Cond(
                test,
                self._cap(Closure(expr.then, scope)),
                self._cap(Closure(expr.orelse, scope)),
            )
            self.link.place(cond, expr.span, scope.frames)
            return cond
        if self._has_inf(closure):
            self._arithmetic(closure)
        elif not self._floored(closure):
            self._refuse(
                "cap-could-be-zero",
                "an `each at most` is a constant above 0, `inf`, a `?:` of such caps, or"
                " `max(k, e)` with a constant `k` above 0: this one could give a run 0 tokens",
                expr.span,
                f"write `max(1, {expr.span.text})`",
            )
        return self.link.expr(expr, scope)

    def _constant_cap(self, value: float, closure: Closure) -> nodes.Expr:
        if value == INF:
            if not isinstance(closure.expr, ast.Number | ast.Path) and self._has_inf(closure):
                self._arithmetic(closure)
            value = 0.0
        elif not value > 0:
            self._refuse(
                "cap-could-be-zero",
                f"an `each at most` must be above 0, not {value:g}: the run would be given nothing",
                closure.span,
                "no cap is written `inf`",
            )
        number = nodes.Num(value)
        self.link.place(number, closure.span, closure.scope.frames)
        return number

    def _arithmetic(self, closure: Closure) -> None:
        self._refuse(
            "cap-arithmetic",
            "`inf` inside the arithmetic of an `each at most`: no cap is `inf` as a whole",
            closure.span,
            "write the choice outermost: `c ? k : inf`",
        )

    def _opened(self, closure: Closure) -> Closure:
        """The expression a name or a definition stands for."""
        while True:
            expr, scope = closure.expr, closure.scope
            if isinstance(expr, ast.Path) and len(expr.parts) == 1:
                local = scope.find(expr.parts[0].ident.name)
                match local:
                    case Substituted(value=value) | ScheduleLetValue(value=value):
                        closure = value
                        continue
                    case HeaderBinding(binding=binding):
                        closure = binding.value
                        continue
            if isinstance(expr, ast.Call):
                definition = self.link.tables.definitions.get(expr.func.name)
                if definition is not None and not isinstance(definition.body, ast.Block):
                    inner = bind(definition, expr, scope)
                    if inner is not None:
                        closure = Closure(definition.body, inner)
                        continue
            return closure

    def _has_inf(self, closure: Closure) -> bool:
        """Whether ``inf`` stands in an expression, what its names stand for included."""
        todo = [closure]
        while todo:
            inner = self._opened(todo.pop())
            for node in subtree(inner.expr):
                if isinstance(node, ast.Number) and node.value == INF:
                    return True
                if isinstance(node, ast.Path | ast.Call) and node is not inner.expr:
                    below = self._opened(Closure(node, inner.scope))
                    if below.expr is not node:
                        todo.append(below)
                if isinstance(node, ast.Path) and len(node.parts) == 1:
                    constant = self.link.tables.constants.get(node.parts[0].ident.name)
                    if constant is not None and constant.value == INF:
                        return True
        return False

    def _floored(self, closure: Closure) -> bool:
        """Whether an expression is ``max(k, e)`` with a constant ``k`` above 0."""
        closure = self._opened(closure)
        call = closure.expr
        if not isinstance(call, ast.Call) or call.func.name != "max" or len(call.args) != 2:
            return False
        for arg in call.args:
            value = self.link.constants.quiet(arg, closure.scope)
            if value is not None and value > 0:
                return True
        return any(self._floored(Closure(arg, closure.scope)) for arg in call.args)

    # --- the iteration --------------------------------------------------------------------------

    def _procedure(
        self,
        engine: Engine,
        body: Sequence[ast.ScheduleStmt],
        granule: nodes.Expr | None,
    ) -> tuple[nodes.ServeBy | nodes.ExclusivePrefill, tuple[nodes.IterStmt, ...] | None]:
        """vLLM's own procedure has no iteration body; any other schedule is one."""
        exclusive = [s for s in _flat(body) if isinstance(s, ast.ExclusivePrefillItem)]
        if exclusive:
            return self._exclusive(engine, body, exclusive[0]), None
        advance, admit = body if len(body) == 2 else (None, None)
        if (
            isinstance(advance, ast.Advance)
            and isinstance(admit, ast.Admit)
            and admit.gate is not None
            and self._is_vllm_gate(admit.gate, engine)
        ):
            if advance.only is None and admit.only is None:
                return nodes.ServeBy(self._order(advance, engine) or ()), None
            if advance.only is not None and admit.only is not None:
                first = self._clause(advance.only, engine, KEYS)
                second = self._clause(admit.only, engine, KEYS)
                if first == second:
                    return self._only(advance, first, second, admit, engine)
        return nodes.ServeBy(()), self._iteration(body, engine)

    def _only(
        self,
        advance: ast.Advance,
        first: nodes.Expr,
        second: nodes.Expr,
        admit: ast.Admit,
        engine: Engine,
    ) -> tuple[nodes.ServeBy, tuple[nodes.IterStmt, ...]]:
        """The procedure restricted by one ``only`` in both statements."""
        gate = admit.gate
        assert gate is not None
        preempted = nodes.CtxVar(nodes.Ctx.PREEMPTED)
        none = nodes.Unary(nodes.UnaryOp.NOT, preempted)
        serve = nodes.IterServe(first, None)
        admission = nodes.IterAdmit(second, none)
        for node, span in (
            (preempted, gate.span),
            (none, gate.span),
            (serve, advance.span),
            (admission, admit.span),
        ):
            self.link.place(node, span, ())
        return nodes.ServeBy(self._order(advance, engine) or ()), (serve, admission)

    def _exclusive(
        self, engine: Engine, body: Sequence[ast.ScheduleStmt], item: ast.ExclusivePrefillItem
    ) -> nodes.ExclusivePrefill:
        fits = (
            len(body) == 2
            and body[0] is item
            and isinstance(body[1], ast.Admit)
            and body[1].only is None
            and body[1].gate is not None
            and self._is_vllm_gate(body[1].gate, engine)
        )
        if not fits:
            self._refuse(
                "exclusive-prefill",
                "`exclusive prefill` takes back decodes already chosen, which no other statement"
                " can: its schedule is `exclusive prefill;` and `admit waiting while"
                " (running.preempted == 0);`",
                item.span,
            )
        return nodes.ExclusivePrefill()

    def _is_vllm_gate(self, gate: ast.Expr, engine: Engine) -> bool:
        """``running.preempted == 0``, or ``!running.preempted``."""
        closure = self._opened(Closure(gate, self._scope(engine, PLAN)))
        expr = closure.expr
        if isinstance(expr, ast.Unary) and expr.op == "!":
            return self._is_preempted(Closure(expr.operand, closure.scope))
        if isinstance(expr, ast.Binary) and expr.op == "==":
            for one, other in ((expr.left, expr.right), (expr.right, expr.left)):
                zero = self._opened(Closure(other, closure.scope)).expr
                if isinstance(zero, ast.Number) and zero.value == 0:
                    return self._is_preempted(Closure(one, closure.scope))
        return False

    def _is_preempted(self, closure: Closure) -> bool:
        path = self._opened(closure).expr
        if not isinstance(path, ast.Path) or any(part.index for part in path.parts):
            return False
        return [part.ident.name for part in path.parts] == ["running", "preempted"]

    def _order(self, advance: ast.Advance, engine: Engine) -> tuple[nodes.Expr, ...] | None:
        """The serving keys; None when no order is written."""
        if advance.order is None:
            return None
        if advance.order == "admission":
            return ()
        if advance.order == "decode first":
            decoding = nodes.CtxVar(nodes.Ctx.DECODING)
            key = nodes.Cond(decoding, nodes.Num(0.0), nodes.Num(1.0))
            for node in (decoding, key, key.then, key.orelse):
                self.link.place(node, advance.span, ())
            return (key,)
        return tuple([self._clause(key, engine, KEYS) for key in advance.keys])

    def _iteration(
        self, body: Sequence[ast.ScheduleStmt], engine: Engine
    ) -> tuple[nodes.IterStmt, ...]:
        out: list[nodes.IterStmt] = []
        for s in body:
            linked = self._statement(s, engine)
            if linked is not None:
                self.link.place(linked, s.span, ())
                out.append(linked)
        return tuple(out)

    def _statement(self, s: ast.ScheduleStmt, engine: Engine) -> nodes.IterStmt | None:
        match s:
            case ast.Advance():
                only = None if s.only is None else self._clause(s.only, engine, KEYS)
                return nodes.IterServe(only, self._order(s, engine))
            case ast.Admit():
                only = None if s.only is None else self._clause(s.only, engine, KEYS)
                gate = None if s.gate is None else self._clause(s.gate, engine, PLAN)
                return nodes.IterAdmit(only, gate)
            case ast.ScheduleBranch():
                return nodes.IterBranch(
                    self._clause(s.guard, engine, PLAN),
                    self._iteration(s.then, engine),
                    self._iteration(s.orelse, engine),
                )
            case ast.ScheduleSet():
                value = self._clause(s.value, engine, PLAN)
                register = engine.registers.get(s.target.name)
                if register is None:
                    self._refuse(
                        "not-a-register",
                        f"`{s.target.name}` is no state of engine `{engine.name}`: a schedule sets"
                        " only its engine's own state",
                        s.target.span,
                        f"declare it in the engine: `state {s.target.name} = 0;`",
                    )
                    return None
                return nodes.IterSet(register, value)
            case ast.ExclusivePrefillItem():
                return None


def _flat(body: Sequence[ast.ScheduleStmt]) -> Iterator[ast.ScheduleStmt]:
    """Every statement of a schedule, those in branches included."""
    for statement in body:
        yield statement
        if isinstance(statement, ast.ScheduleBranch):
            yield from _flat(statement.then)
            yield from _flat(statement.orelse)
