"""Constant expressions: what a ``let``, a ``cap``, a size or a rate evaluates to."""

from __future__ import annotations

import operator
from collections.abc import Callable, Mapping

from serq import ieee
from serq.diagnostics import Span
from serq.lower.definitions import bind
from serq.lower.faults import Faults, closest
from serq.lower.scope import (
    HeaderBinding,
    IndexValue,
    ScheduleLetValue,
    Scope,
    Substituted,
)
from serq.lower.tables import Constant, Tables
from serq.lower.vocabulary import ARITHMETIC, FUNCTIONS
from serq.syntax import ast


def _bool(test: Callable[[float, float], bool]) -> Callable[[float, float], float]:
    return lambda x, y: 1.0 if test(x, y) else 0.0


OPERATORS: Mapping[str, Callable[[float, float], float]] = {
    "+": operator.add,
    "-": operator.sub,
    "*": operator.mul,
    "/": ieee.div,
    "^": ieee.pow,
    "<": _bool(operator.lt),
    "<=": _bool(operator.le),
    ">": _bool(operator.gt),
    ">=": _bool(operator.ge),
    "==": _bool(operator.eq),
    "!=": _bool(operator.ne),
}

CALLS: Mapping[str, Callable[..., float]] = {
    "min": ieee.minimum,
    "max": ieee.maximum,
    "abs": abs,
    "floor": ieee.floor,
    "ceil": ieee.ceil,
    "sqrt": ieee.sqrt,
    "exp": ieee.exp,
    "ln": ieee.ln,
    "pow": ieee.pow,
}


class NotConstant(Exception):
    """The expression is no constant; carries the place and the reason."""

    def __init__(self, code: str, message: str, span: Span, help: str | None, scope: Scope) -> None:
        super().__init__(message)
        self.code, self.message, self.span, self.help, self.scope = code, message, span, help, scope


MAX_TERMS = 4096
"""An upper bound on the terms all aggregates of a program write out."""


class Constants:
    """Evaluates constant expressions over the lets that stand before a place."""

    def __init__(self, tables: Tables, faults: Faults, limit: int | None = None) -> None:
        self.tables = tables
        self.faults = faults
        self.limit = limit
        self.pending = 0  # terms of aggregates in the expression being evaluated
        self.used: list[Constant] = []

    def before(self, order: int) -> Constants:
        """An evaluator that sees only the lets before the one of that place."""
        return Constants(self.tables, self.faults, order)

    def number(self, expr: ast.Expr, scope: Scope, what: str) -> float | None:
        """The value; None when a fault was reported: not constant, or not a number."""
        self.pending = 0
        try:
            value = self.evaluate(expr, scope)
        except NotConstant as no:
            self.report(no)
            return None
        self.tables.terms += self.pending
        if value != value:
            self.faults.error(
                "not-a-number",
                f"{what} is not a number (NaN)",
                expr.span,
                help="a constant is a number or `inf`; `0/0` and `inf - inf` are neither",
                frames=scope.frames,
            )
            return None
        return value

    def report(self, no: NotConstant) -> None:
        """Report why an expression is no constant; too many terms are reported once."""
        if no.code == "too-many-terms":
            if self.tables.terms_reported:
                return
            self.tables.terms_reported = True
        self.faults.error(no.code, no.message, no.span, help=no.help, frames=no.scope.frames)

    def quiet(self, expr: ast.Expr, scope: Scope, *, written: bool = False) -> float | None:
        """The value of an expression that happens to be constant, else None.

        The terms of its aggregates count only if ``written``: the value stands in the IR.
        """
        self.pending = 0
        try:
            value = self.evaluate(expr, scope)
        except NotConstant:
            return None
        if written:
            self.tables.terms += self.pending
        return value

    def evaluate(self, expr: ast.Expr, scope: Scope) -> float:
        """The value, NaN included. Raises `NotConstant`."""
        self.tables.budget.step(expr.span)
        match expr:
            case ast.Number(value=value):
                return value
            case ast.Path():
                return self._name(expr, scope)
            case ast.Unary(op=op, operand=operand):
                value = self.evaluate(operand, scope)
                return -value if op == "-" else float(not ieee.truth(value))
            case ast.Binary(op="&&"):
                if not ieee.truth(self.evaluate(expr.left, scope)):
                    self._check(expr.right, scope)
                    return 0.0
                return float(ieee.truth(self.evaluate(expr.right, scope)))
            case ast.Binary(op="||"):
                if ieee.truth(self.evaluate(expr.left, scope)):
                    self._check(expr.right, scope)
                    return 1.0
                return float(ieee.truth(self.evaluate(expr.right, scope)))
            case ast.Binary():
                left = self.evaluate(expr.left, scope)
                return OPERATORS[expr.op](left, self.evaluate(expr.right, scope))
            case ast.Conditional():
                test = ieee.truth(self.evaluate(expr.test, scope))
                return self.evaluate(expr.then if test else expr.orelse, scope)
            case ast.Call():
                return self._call(expr, scope)
            case ast.Fold():
                return self._fold(expr, scope)
            case ast.Draw():
                raise NotConstant(
                    "constant-draws",
                    "a constant cannot draw a sample",
                    expr.span,
                    None,
                    scope,
                )

    def _check(self, expr: ast.Expr, scope: Scope) -> None:
        """An operand that is not needed must be a constant all the same."""
        self.evaluate(expr, scope)

    def _name(self, path: ast.Path, scope: Scope) -> float:
        name = path.parts[0].ident.name
        if len(path.parts) == 1 and path.parts[0].index is None:
            match scope.find(name):
                case Substituted(value=closure) | ScheduleLetValue(value=closure):
                    return self.evaluate(closure.expr, closure.scope)
                case HeaderBinding(binding=binding):
                    return self.evaluate(binding.value.expr, binding.value.scope)
                case IndexValue(value=value):
                    return value
                case None:
                    constant = self.tables.constants.get(name)
                    if constant is not None and self._visible(constant):
                        self.used.append(constant)
                        return constant.value
        if self._waits_at_nothing(path, scope):
            return 0.0
        near = closest(name, (c.name for c in self.tables.constants.values() if self._visible(c)))
        raise NotConstant(
            "not-constant",
            f"`{path.span.text}` is not a constant",
            path.span,
            f"did you mean `{near}`?"
            if near and near != name
            else "a constant is a number, `inf` or a `let` above",
            scope,
        )

    def _waits_at_nothing(self, path: ast.Path, scope: Scope) -> bool:
        """Whether this is the ``waiting.count`` of an engine that admits no queue."""
        engine = scope.place.engine
        names = [part.ident.name for part in path.parts]
        if engine is None or engine.stage.family or names != ["waiting", "count"]:
            return False
        return not any(pool.via is engine.stage for pool in self.tables.pool_order)

    def _visible(self, constant: Constant) -> bool:
        return self.limit is None or constant.order < self.limit

    def _call(self, call: ast.Call, scope: Scope) -> float:
        name = call.func.name
        definition = self.tables.definitions.get(name)
        if definition is not None:
            body = bind(definition, call, scope)
            if body is None or isinstance(definition.body, ast.Block):
                raise NotConstant(
                    "not-constant", f"`{name}` is no constant here", call.span, None, scope
                )
            return self.evaluate(definition.body, body)
        if name not in ARITHMETIC or len(call.args) != len(FUNCTIONS[name][1]):
            raise NotConstant(
                "not-constant",
                f"`{name}` with {len(call.args)} argument(s) is not a constant function",
                call.func.span,
                "a constant is made of numbers, lets, operators and arithmetic functions",
                scope,
            )
        return CALLS[name](*[self.evaluate(arg, scope) for arg in call.args])

    def _fold(self, fold: ast.Fold, scope: Scope) -> float:
        count = self.fold_count(fold, scope)
        self.pending += count
        if self.tables.terms + self.pending > MAX_TERMS:
            raise too_many(fold, self.tables.terms + self.pending, scope)
        total: float | None = None
        for j in range(count):
            value = self.evaluate(fold.body, scope.bind({fold.var.name: IndexValue(float(j))}))
            if total is None:
                total = value
            elif fold.op == "sum":
                total = total + value
            else:
                total = CALLS[fold.op](total, value)
        assert total is not None
        return total

    def fold_count(self, fold: ast.Fold, scope: Scope) -> int:
        """How many terms an aggregate has. Raises `NotConstant`."""
        value = self.evaluate(fold.count, scope)
        if not (value >= 1 and value == ieee.floor(value)) or value == float("inf"):
            raise NotConstant(
                "not-a-count",
                f"the count of `{fold.op} {fold.var.name} in` must be a positive whole number,"
                f" not {value:g}",
                fold.count.span,
                None,
                scope,
            )
        if value > MAX_TERMS:
            raise too_many(fold, int(value), scope)
        return int(value)


def too_many(fold: ast.Fold, terms: int, scope: Scope) -> NotConstant:
    return NotConstant(
        "too-many-terms",
        f"the program's aggregates write out {terms} terms, and may write out {MAX_TERMS} in all",
        fold.span,
        None,
        scope,
    )
