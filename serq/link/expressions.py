"""Expressions of the text to expressions of the IR, every name resolved."""

from __future__ import annotations

from serq.diagnostics import Span
from serq.ir import nodes
from serq.link.calls import Calls
from serq.link.source_map import SourceMap
from serq.lower.constants import MAX_TERMS, Constants, NotConstant, too_many
from serq.lower.engine_values import dotted_value
from serq.lower.faults import Faults, Frames, closest
from serq.lower.kernel import BernoulliOf, CostOf, NowAt, Reference, Value
from serq.lower.references import References
from serq.lower.scope import (
    BodyBinding,
    Closure,
    HeaderBinding,
    IndexValue,
    LaterBinding,
    Local,
    Rules,
    ScheduleLetValue,
    Scope,
    SourceQueue,
    Substituted,
)
from serq.lower.tables import Engine, PoolFamily, Tables
from serq.lower.vocabulary import (
    BINARY,
    BUILTIN,
    CONTEXT,
    DISTRIBUTIONS,
    SUPPLIED,
    UNARY,
)
from serq.syntax import ast


class Expressions:
    """Links expressions of one program; faults are reported and stand as the number 0."""

    def __init__(
        self,
        tables: Tables,
        slots: dict[str, int],
        observes: dict[str, int],
        owners: dict[str, Engine],
        source_map: SourceMap,
        faults: Faults,
    ) -> None:
        self.tables = tables
        self.slots = slots
        self.observes = observes
        self.owners = owners
        self.map = source_map
        self.faults = faults
        self.references = References(tables, faults)
        self.constants = Constants(tables, faults)
        self.calls = Calls(self)

    # --- values ---------------------------------------------------------------------------------

    def value(self, value: Value) -> nodes.Expr:
        """The IR of a statement's value."""
        match value:
            case Closure(expr=expr, scope=scope):
                return self.expr(expr, scope)
            case CostOf(refs=refs, value=inner, span=span):
                target = self.target(refs)
                cost = nodes.Cost(target, self.value(inner))
                self.place(cost, span, inner.scope.frames)
                return cost
            case BernoulliOf(value=inner, span=span):
                draw = nodes.Sample(nodes.Dist.BERNOULLI, (self.value(inner),))
                self.place(draw, span, inner.scope.frames)
                return draw
            case NowAt(span=span, frames=frames):
                now = nodes.CtxVar(nodes.Ctx.NOW)
                self.place(now, span, frames)
                return now

    def ref(self, reference: Reference) -> nodes.Ref:
        """The IR reference; a constant index is folded and must name a member."""
        family = reference.family
        index: nodes.Expr | None = None
        if reference.index is not None:
            index = self.index(reference)
        ref = nodes.Ref(family.base, family.count, index)
        self.place(ref, reference.span, reference.frames)
        return ref

    def index(self, reference: Reference) -> nodes.Expr:
        closure = reference.index
        assert closure is not None
        family = reference.family
        linked = self.value(closure)  # also where it is a constant: every name in it is one
        constant = self.constants.quiet(closure.expr, closure.scope)
        if constant is None:
            return linked
        if not (0 <= constant < family.count and constant == int(constant)):
            self.faults.error(
                "index-out-of-range",
                f"`{family.name}[{constant:g}]` names no {family.kind}: `{family.name}` has"
                f" {family.count} member(s), 0 to {family.count - 1}",
                reference.span,
                notes=((f"`{family.name}` is declared here", family.span),),
                frames=reference.frames,
            )
        number = nodes.Num(constant)
        self.place(number, closure.span, closure.scope.frames)
        return number

    def target(self, refs: tuple[Reference, ...]) -> nodes.Target:
        """The cost target of some families: pools before stages, each once, by base."""
        pools = {r.family.base: r.family for r in refs if isinstance(r.family, PoolFamily)}
        stages = {r.family.base: r.family for r in refs if not isinstance(r.family, PoolFamily)}
        targets: list[nodes.PoolTarget | nodes.StageTarget] = [
            nodes.PoolTarget(base, pools[base].count) for base in sorted(pools)
        ]
        targets += [nodes.StageTarget(base, stages[base].count) for base in sorted(stages)]
        return targets[0] if len(targets) == 1 else nodes.JointTarget(tuple(targets))

    def place(self, node: object, span: Span, frames: Frames) -> None:
        self.map.add(node, span, frames)

    # --- expressions ----------------------------------------------------------------------------

    def expr(self, expr: ast.Expr, scope: Scope) -> nodes.Expr:
        """The IR of an expression, each node new and placed in the source map."""
        self.tables.budget.node(expr.span)
        node = self._expr(expr, scope)
        if self.map.origin_of(node) is None:
            self.place(node, expr.span, scope.frames)
        return node

    def _expr(self, expr: ast.Expr, scope: Scope) -> nodes.Expr:
        match expr:
            case ast.Number(value=value):
                return nodes.Num(value)
            case ast.Path():
                return self._path(expr, scope)
            case ast.Unary(op=op, operand=operand):
                return nodes.Unary(UNARY[op], self.expr(operand, scope))
            case ast.Binary(op=op, left=left, right=right):
                return nodes.Binary(BINARY[op], self.expr(left, scope), self.expr(right, scope))
            case ast.Conditional():
                return nodes.Cond(
                    self.expr(expr.test, scope),
                    self.expr(expr.then, scope),
                    self.expr(expr.orelse, scope),
                )
            case ast.Draw():
                return self._draw(expr, scope)
            case ast.Fold():
                return self._fold(expr, scope)
            case ast.Call():
                return self.calls.call(expr, scope)

    def _draw(self, draw: ast.Draw, scope: Scope) -> nodes.Expr:
        name = draw.dist.name
        if name not in DISTRIBUTIONS:
            return self.unknown(
                "unknown-distribution", "distribution", name, draw.dist.span, scope, DISTRIBUTIONS
            )
        dist, count = DISTRIBUTIONS[name]
        if len(draw.args) != count:
            return self.fault(
                "argument-count",
                f"`~{name}` takes {count} argument(s), not {len(draw.args)}",
                draw.span,
                scope,
            )
        return nodes.Sample(dist, tuple([self.expr(arg, scope) for arg in draw.args]))

    def _fold(self, fold: ast.Fold, scope: Scope) -> nodes.Expr:
        name = fold.var.name
        taken = self._taken(name)
        local = scope.find(name)
        if taken is None and isinstance(local, Substituted) and local.what == "argument":
            taken = "a parameter"
        if taken is not None:
            self.faults.error(
                "index-name-taken",
                f"`{name}` is also {taken}: an index needs a name of its own",
                fold.var.span,
                frames=scope.frames,
            )
        try:
            count = self.constants.fold_count(fold, scope)
        except NotConstant as no:
            self.constants.report(no)
            return nodes.Num(0.0)
        self.tables.terms += count
        if self.tables.terms > MAX_TERMS:
            self.constants.report(too_many(fold, self.tables.terms, scope))
            return nodes.Num(0.0)
        result: nodes.Expr | None = None
        for j in range(count):
            term = self.expr(fold.body, scope.bind({name: IndexValue(float(j))}))
            if result is None:
                result = term
                continue
            if fold.op == "sum":
                result = nodes.Binary(nodes.BinaryOp.ADD, result, term)
            else:
                fun = nodes.Fun.MAX if fold.op == "max" else nodes.Fun.MIN
                result = nodes.Call(fun, (nodes.ExprArg(result), nodes.ExprArg(term)))
            self.place(result, fold.span, scope.frames)
        assert result is not None
        return result

    def _taken(self, name: str) -> str | None:
        """What else in the program has this name, in words."""
        tables = self.tables
        if name in SUPPLIED:
            return "a name the language supplies"
        if name in BUILTIN:
            return "a built-in attribute"
        if name in self.slots or name in tables.attributes:
            return "an attribute"
        for group, what in (
            (tables.constants, "a constant"),
            (tables.definitions, "a definition"),
            (tables.pools, "a pool"),
            (tables.stages, "a stage"),
            (tables.devices, "a device"),
            (tables.queues, "a queue"),
            (tables.gauges, "a gauge"),
            (tables.claims, "a claim"),
            (tables.observations, "an observation"),
        ):
            if name in group:
                return what
        return None

    # --- names ----------------------------------------------------------------------------------

    def _path(self, path: ast.Path, scope: Scope) -> nodes.Expr:
        first = path.parts[0]
        name = first.ident.name
        if len(path.parts) > 1:
            return dotted_value(self, path, scope)
        local = scope.find(name)
        if first.index is not None:
            return self.fault(
                "not-a-value",
                f"`{path.span.text}` is no number: a value has no members",
                path.span,
                scope,
            )
        if local is not None:
            return self._local(path, name, local, scope)
        place = scope.place
        constant = self.tables.constants.get(name)
        if constant is not None:
            return nodes.Num(constant.value)
        if place.rules is not None and self._is_attribute(name, place.rules):
            if name in self.tables.bindings:
                return self._outside(name, path, scope)
            own = place.rules.attribute(name, path.span, scope)
            if own is None or own not in self.slots:  # what sets it was refused
                return nodes.Num(0.0)
            return nodes.Attr(self.slots[own])
        if place.rules is None and name in self.slots:
            if name in self.tables.bindings and name not in BUILTIN:
                return self._outside(name, path, scope)
            if place.statement and name in self.owners:
                return self._request_name(name, path, scope)
            return nodes.Attr(self.slots[name])
        if place.engine is not None and name in place.engine.registers:
            return nodes.Reg(place.engine.registers[name])
        if name in CONTEXT:
            return self._context(name, path, scope)
        if name in self.tables.bindings:
            return self._outside(name, path, scope)
        register = self._register(name)
        if register is not None:
            return nodes.Reg(register)
        return self._unknown_name(name, path, scope)

    def _is_attribute(self, name: str, rules: Rules) -> bool:
        """Whether a bare name in an entry or a request can only be an attribute."""
        return name in self.slots or name in rules.own or name in rules.hidden

    def _request_name(self, name: str, path: ast.Path, scope: Scope) -> nodes.Expr:
        engine = self.owners[name]
        assert engine.request is not None
        return self.fault(
            "request-names",
            f"`{name}` is the own name of the request of `{engine.name}`, and is read outside it",
            path.span,
            scope,
            help=f"`mark` a moment in the request and read it as `{engine.name}.NAME`",
            notes=(("the request is here", engine.request.span),),
        )

    def _register(self, name: str) -> int | None:
        for number, (known, _, _) in enumerate(self.tables.registers):
            if known == name:
                return number
        return None

    def _outside(self, name: str, path: ast.Path, scope: Scope) -> nodes.Expr:
        return self.fault(
            "binding-outside",
            f"`{name}` is bound by an `at admission` and is read outside the hold that binds it",
            path.span,
            scope,
            help="name a value the rest of the program reads with `set`",
            notes=(("it is bound here", self.tables.bindings[name]),),
        )

    def _local(self, path: ast.Path, name: str, local: Local, scope: Scope) -> nodes.Expr:
        match local:
            case IndexValue(value=value):
                return nodes.Num(value)
            case Substituted(value=closure):
                return self.expr(closure.expr, closure.scope)
            case HeaderBinding(binding=binding):
                return self.expr(binding.value.expr, binding.value.scope)
            case BodyBinding():
                return nodes.Attr(self.slots[local.binding.attribute])
            case ScheduleLetValue(value=closure):
                return self.expr(closure.expr, closure.scope)
            case LaterBinding(reader=reader):
                return self.fault(
                    "binding-order",
                    f"`{reader}` reads `{name}`, which is bound after it: a binding sees the ones"
                    " before it",
                    path.span,
                    scope,
                )
            case SourceQueue():
                return self.fault(
                    "not-a-value",
                    f"`{name}` is the pool the request's source leased, not a number",
                    path.span,
                    scope,
                )

    def _context(self, name: str, path: ast.Path, scope: Scope) -> nodes.Expr:
        if scope.place.engine is not None:
            return dotted_value(self, path, scope)
        return nodes.CtxVar(CONTEXT[name])

    def attribute(self, path: ast.Path, scope: Scope) -> nodes.Expr:
        """A dotted name that is an attribute: a field of a cost record, a queue's value, a mark."""
        name = ".".join(part.ident.name for part in path.parts)
        if any(part.index is not None for part in path.parts):
            return self.fault(
                "not-a-value",
                f"`{path.span.text}` is no number: the values of a request have no member index",
                path.span,
                scope,
            )
        rules = scope.place.rules
        if rules is not None:
            if not rules.dotted(name, path.span, scope):
                return nodes.Num(0.0)
            name = rules.prefix + name
        if name not in self.slots:
            head = path.parts[0].ident.name
            known = {n: None for n in self.slots if n.startswith(f"{head}.")}
            return self.unknown("unknown-name", "value", name, path.span, scope, known)
        return nodes.Attr(self.slots[name])

    def _unknown_name(self, name: str, path: ast.Path, scope: Scope) -> nodes.Expr:
        tables = self.tables
        if name in tables.pools or (scope.place.home and name in scope.place.home.pools):
            return self.fault(
                "not-a-value",
                f"`{name}` is a pool, not a number",
                path.span,
                scope,
                help=f"read `used({name})`, `free({name})`, `holders({name})` or `queued({name})`",
            )
        if name in tables.stages:
            return self.fault(
                "not-a-value",
                f"`{name}` is a stage, not a number",
                path.span,
                scope,
                help=f"read `queue({name})`, `busy({name})` or `work({name})`",
            )
        if name in tables.records:
            fields = [f.resource.span.text for f in tables.records[name].fields]
            return self.fault(
                "not-a-value",
                f"`{name}` is a record of costs, which is not a value as a whole",
                path.span,
                scope,
                help=f"read a field: {', '.join(f'`{name}.{f}`' for f in fields)}",
            )
        if name in tables.definitions:
            return self.fault(
                "not-a-value",
                f"`{name}` is a definition: it is used with its arguments, `{name}(…)`",
                path.span,
                scope,
            )
        known: dict[str, Span | None] = {n: c.span for n, c in tables.constants.items()}
        known |= tables.attributes
        known |= dict.fromkeys(BUILTIN)
        return self.unknown("unknown-name", "name", name, path.span, scope, known)

    # --- faults ---------------------------------------------------------------------------------

    def fault(
        self,
        code: str,
        message: str,
        span: Span,
        scope: Scope,
        *,
        help: str | None = None,
        notes: tuple[tuple[str, Span | None], ...] = (),
    ) -> nodes.Expr:
        self.faults.error(code, message, span, help=help, notes=notes, frames=scope.frames)
        return nodes.Num(0.0)

    def unknown(
        self,
        code: str,
        what: str,
        name: str,
        span: Span,
        scope: Scope,
        known: object,
        otherwise: str | None = None,
    ) -> nodes.Expr:
        """The fault of a name that is not ``known``; ``otherwise`` helps where none is near."""
        places: dict[str, Span | None] = (
            {n: p if isinstance(p, Span) else None for n, p in known.items()}
            if isinstance(known, dict)
            else {}
        )
        near = closest(name, places)
        place = places.get(near) if near else None
        return self.fault(
            code,
            f"there is no {what} `{name}`",
            span,
            scope,
            help=f"did you mean `{near}`?" if near else otherwise,
            notes=((f"`{near}` is declared here", place),) if place else (),
        )
