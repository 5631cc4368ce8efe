"""Calls in expressions: definitions, functions, ``cost``, time resources, aggregates."""

from __future__ import annotations

from typing import TYPE_CHECKING

from serq.diagnostics import Span
from serq.ir import nodes
from serq.lower.kernel import Reference
from serq.lower.references import EITHER
from serq.lower.scope import Closure, Local, Scope, Substituted
from serq.lower.tables import PoolFamily
from serq.lower.uses import enter
from serq.lower.vocabulary import AGGREGATES, FUNCTIONS
from serq.lower.walk import DrawRead, reads, time_resource
from serq.syntax import ast

if TYPE_CHECKING:
    from serq.link.expressions import Expressions

_OF_NUMBERS = [name for name, (_, kinds) in FUNCTIONS.items() if set(kinds) == {"expr"}]
_ALL = f"of numbers there are {', '.join(_OF_NUMBERS)}; a `def` stands above its use"
_INSTEAD = {
    "round": "write `floor(x + 0.5)`",
    "int": "write `floor(x)`",
    "trunc": "write `floor(x)`",
    "mod": "write `a - b * floor(a / b)`",
    "log": "the natural logarithm is `ln(x)`; another base is `ln(x) / ln(b)`",
    "log2": "write `ln(x) / ln(2)`",
    "log10": "write `ln(x) / ln(10)`",
    "if": "write `c ? a : b`",
}


class Calls:
    """Links the calls of one program's expressions."""

    def __init__(self, link: Expressions) -> None:
        self.link = link
        self.tables = link.tables

    def call(self, call: ast.Call, scope: Scope) -> nodes.Expr:
        name = call.func.name
        definition = self.tables.definitions.get(name)
        if definition is not None:
            body = enter(self.tables, definition, call, scope, self.link.faults)
            if body is None:
                return nodes.Num(0.0)
            if isinstance(definition.body, ast.Block):
                return self.link.fault(
                    "statements-as-value",
                    f"`{name}` is a definition of statements, not of an expression",
                    call.span,
                    scope,
                    notes=((f"`{name}` is defined here", definition.decl.target.span),),
                )
            return self.link.expr(definition.body, body)
        resource = time_resource(call, scope)
        if resource is not None:
            return self._time_resource(call, resource, scope)
        if name == "cost":
            return self._cost(call, scope)
        if name == "blocksize":
            return self._blocksize(call, scope)
        if name in AGGREGATES:
            return self._aggregate(call, scope)
        if name not in FUNCTIONS:
            known: dict[str, Span | None] = dict.fromkeys([*FUNCTIONS, "cost", "blocksize"])
            known |= {n: d.decl.target.span for n, d in self.tables.definitions.items()}
            return self.link.unknown(
                "unknown-function", "function", name, call.func.span, scope, known,
                otherwise=_INSTEAD.get(name.lower(), _ALL),
            )  # fmt: skip
        fun, kinds = FUNCTIONS[name]
        if len(call.args) != len(kinds):
            return self.link.fault(
                "argument-count",
                f"`{name}` takes {len(kinds)} argument(s), not {len(call.args)}",
                call.func.span,
                scope,
            )
        args: list[nodes.Arg] = []
        for arg, kind in zip(call.args, kinds, strict=True):
            linked = self._argument(arg, kind, call, scope)
            if linked is None:
                return nodes.Num(0.0)
            args.append(linked)
        return nodes.Call(fun, tuple(args))

    def _argument(self, arg: ast.Expr, kind: str, call: ast.Call, scope: Scope) -> nodes.Arg | None:
        if kind == "expr":
            return nodes.ExprArg(self.link.expr(arg, scope))
        counted = kind == "counted"
        if not isinstance(arg, ast.Path):
            what = "a pool or an engine" if counted else f"a {kind}"
            self.link.fault(
                "not-a-resource",
                f"`{call.func.name}` reads {what} here, and `{arg.span.text}` names none",
                arg.span,
                scope,
            )
            return None
        found = self.link.references.resolve(arg, scope, EITHER if counted else (kind,))
        if found is None:
            return None
        rules = found.scope.place.rules
        if rules is not None and not rules.may_query(found.family, arg, scope):
            return None
        ref = self.link.ref(found)
        pool = isinstance(found.family, PoolFamily)
        return nodes.PoolArg(ref) if pool else nodes.StageArg(ref)

    def _time_resource(
        self, call: ast.Call, resource: ast.TimeResource, scope: Scope
    ) -> nodes.Expr:
        name = call.func.name
        if len(resource.params) != len(call.args):
            return self.link.fault(
                "argument-count",
                f"`{name}` takes {len(resource.params)} argument(s), not {len(call.args)}",
                call.func.span,
                scope,
                notes=((f"`{name}` is declared here", resource.target.span),),
            )
        names: dict[str, Local] = {
            param.name: Substituted(Closure(arg, scope), "parameter")
            for param, arg in zip(resource.params, call.args, strict=True)
        }
        return self.link.expr(resource.body, scope.bind(names))

    def _cost(self, call: ast.Call, scope: Scope) -> nodes.Expr:
        if len(call.args) < 2:
            return self.link.fault(
                "argument-count",
                "`cost` takes the resources and then the quantity: `cost(kv, 3)`",
                call.func.span,
                scope,
            )
        refs: list[Reference] = []
        for arg in call.args[:-1]:
            if not isinstance(arg, ast.Path):
                return self.link.fault(
                    "not-a-resource",
                    f"`cost` names resources before its quantity, and `{arg.span.text}` is none",
                    arg.span,
                    scope,
                )
            found = self.link.references.resolve(arg, scope, EITHER, index=False)
            if found is None:
                return nodes.Num(0.0)
            if found.index is not None and not self._cost_index(found, arg):
                return nodes.Num(0.0)
            refs.append(found)
        quantity = self.link.expr(call.args[-1], scope)
        return nodes.Cost(self.link.target(tuple(refs)), quantity)

    def _cost_index(self, reference: Reference, arg: ast.Path) -> bool:
        """An index in a cost is checked and then forgotten: the consumer picks the member."""
        closure = reference.index
        assert closure is not None
        if any(isinstance(read, DrawRead) for read in reads(self.tables, closure)):
            self.link.fault(
                "cost-index-draws",
                "a cost names a family; an index in it may not draw",
                arg.span,
                closure.scope,
            )
            return False
        self.link.index(reference)
        return True

    def _blocksize(self, call: ast.Call, scope: Scope) -> nodes.Expr:
        if len(call.args) != 1 or not isinstance(call.args[0], ast.Path):
            return self.link.fault(
                "argument-count", "`blocksize` takes one pool", call.func.span, scope
            )
        found = self.link.references.resolve(call.args[0], scope, ("pool",))
        if found is None:
            return nodes.Num(0.0)
        if found.index is not None:
            self.link.index(found)
        assert isinstance(found.family, PoolFamily)
        if found.family.block is None:
            return self.link.fault(
                "no-block",
                f"pool `{found.family.name}` has no `block`",
                call.args[0].span,
                scope,
                notes=((f"`{found.family.name}` is declared here", found.family.span),),
            )
        return nodes.Num(found.family.block)

    def _aggregate(self, call: ast.Call, scope: Scope) -> nodes.Expr:
        name = call.func.name
        if len(call.args) != 1 or not isinstance(call.args[0], ast.Path):
            return self.link.fault(
                "argument-count", f"`{name}` takes one observation", call.func.span, scope
            )
        observed = call.args[0].span.text
        if observed not in self.link.observes:
            return self.link.unknown(
                "unknown-observation",
                "observation",
                observed,
                call.args[0].span,
                scope,
                self.tables.observations,
            )
        return nodes.Agg(AGGREGATES[name], self.link.observes[observed])
