"""Expressions of the IR as expressions of the text."""

from __future__ import annotations

from collections.abc import Iterator
from math import copysign, inf

from serq.diagnostics import Source, Span
from serq.fuzz.spelling.names import Family, Spelled
from serq.fuzz.spelling.reasons import refuse
from serq.ir import nodes as ir
from serq.ir.constants import fold
from serq.ir.functions import aggregate_name, draw_name, function_name
from serq.ir.moments import Moment, spelling
from serq.ir.text import SIGNS, number
from serq.ir.walk import children, expressions
from serq.syntax import ast

NOWHERE = Span(Source("<ir>", ""), 0, 0)


def ident(name: str) -> ast.Ident:
    """A name without a place."""
    return ast.Ident(NOWHERE, name)


def path(name: str, index: ast.Expr | None = None) -> ast.Path:
    """A path without a place; ``name`` may have dots, the last part the index."""
    *before, last = name.split(".")
    parts = [ast.Part(NOWHERE, ident(word), None) for word in before]
    return ast.Path(NOWHERE, (*parts, ast.Part(NOWHERE, ident(last), index)))


def constant(value: float) -> ast.Expr:
    """A number where the text takes a constant expression."""
    if copysign(1.0, value) < 0:
        return ast.Unary(NOWHERE, "-", constant(-value))
    return ast.Number(NOWHERE, value, number(value))


def is_constant(expr: ir.Expr) -> bool:
    """Whether an expression is arithmetic of numbers alone, which the linker folds."""
    kinds = (ir.Num, ir.Unary, ir.Binary, ir.Cond, ir.Call)
    return all(
        isinstance(node, kinds)
        and not (
            isinstance(node, ir.Call) and any(not isinstance(a, ir.ExprArg) for a in node.args)
        )
        for node in expressions(expr)
    )


def not_folded(expr: ir.Expr, what: str) -> None:
    """Refuse constant arithmetic where the linker writes a number."""
    if not isinstance(expr, ir.Num) and is_constant(expr):
        raise refuse("constant arithmetic", what)


class Values:
    """Writes expressions of one program; numbers below 0 become constants of the program."""

    def __init__(self, spelled: Spelled) -> None:
        self.spelled = spelled
        self.program = spelled.program
        self.lets: dict[str, tuple[str, float]] = {}

    # --- references -----------------------------------------------------------------------------

    def family(self, families: list[Family], base: int, count: int) -> Family:
        """The family of exactly these members."""
        for family in families:
            if (family.base, family.count) == (base, count):
                return family
        raise refuse("part of a family", f"members {base} to {base + count - 1}")

    def reference(self, families: list[Family], ref: ir.Ref, moment: Moment) -> ast.Path:
        """A reference to a pool or stage."""
        index = None if ref.index is None else self.expression(ref.index, moment)
        return self._path(families, ref, index)

    def _path(self, families: list[Family], ref: ir.Ref, index: ast.Expr | None) -> ast.Path:
        family = self.family(families, ref.base, ref.count)
        if ref.index is None and family.indexed:
            raise refuse("part of a family", f"`{family.name}` without an index")
        if ref.index is not None:
            not_folded(ref.index, f"an index of `{family.name}`")
        return path(family.name, index)

    def pool(self, ref: ir.Ref, moment: Moment = Moment.SESSION) -> ast.Path:
        """A reference to a pool."""
        return self.reference(self.spelled.pools, ref, moment)

    def stage(self, ref: ir.Ref, moment: Moment = Moment.SESSION) -> ast.Path:
        """A reference to a stage."""
        return self.reference(self.spelled.stages, ref, moment)

    def target(self, target: ir.Target) -> list[ast.Expr]:
        """The resources of a cost."""
        match target:
            case ir.JointTarget(targets=targets):
                return [name for part in targets for name in self.target(part)]
            case ir.PoolTarget(base=base, count=count):
                return [path(self.family(self.spelled.pools, base, count).name)]
            case ir.StageTarget(base=base, count=count):
                return [path(self.family(self.spelled.stages, base, count).name)]

    # --- expressions ----------------------------------------------------------------------------

    def expression(self, expr: ir.Expr, moment: Moment = Moment.SESSION) -> ast.Expr:
        """An expression with the names that the moment's clauses use; works at any depth."""
        done: list[ast.Expr] = []
        stack: list[tuple[ir.Expr, bool]] = [(expr, False)]
        while stack:
            node, ready = stack.pop()
            inside = [child for _, child in children(node)]
            if inside and not ready:
                stack.append((node, True))
                stack += [(child, False) for child in reversed(inside)]
                continue
            split = len(done) - len(inside)
            arguments = done[split:]
            del done[split:]
            done.append(self._made(node, iter(arguments), moment))
        return done[0]

    def _made(self, expr: ir.Expr, parts: Iterator[ast.Expr], moment: Moment) -> ast.Expr:
        match expr:
            case ir.Num(value=value):
                return self._number(value)
            case ir.Attr(slot=slot):
                return path(self.program.attrs[slot])
            case ir.CtxVar(name=name):
                return path(spelling(name, moment))
            case ir.Sample(dist=dist):
                return ast.Draw(NOWHERE, ident(draw_name(dist)), tuple(parts))
            case ir.Call(fun=fun, args=args):
                made = [self._argument(arg, parts) for arg in args]
                return ast.Call(NOWHERE, ident(function_name(fun)), tuple(made))
            case ir.Unary(op=op):
                return ast.Unary(NOWHERE, "-" if op is ir.UnaryOp.NEG else "!", next(parts))
            case ir.Binary(op=op):
                return ast.Binary(NOWHERE, SIGNS[op][0], next(parts), next(parts))
            case ir.Cond():
                return ast.Conditional(NOWHERE, next(parts), next(parts), next(parts))
            case ir.Cost(target=target):
                return ast.Call(NOWHERE, ident("cost"), (*self.target(target), next(parts)))
            case ir.Agg(aggregate=aggregate, observe=observe):
                observed = path(self.program.observes[observe])
                return ast.Call(NOWHERE, ident(aggregate_name(aggregate)), (observed,))
            case ir.Reg(register=register):
                return path(self.program.registers[register].name)

    def _argument(self, arg: ir.Arg, parts: Iterator[ast.Expr]) -> ast.Expr:
        match arg:
            case ir.ExprArg():
                return next(parts)
            case ir.PoolArg(ref=ref):
                index = None if ref.index is None else next(parts)
                return self._path(self.spelled.pools, ref, index)
            case ir.StageArg(ref=ref):
                index = None if ref.index is None else next(parts)
                return self._path(self.spelled.stages, ref, index)

    def _number(self, value: float) -> ast.Expr:
        """A number; one below 0 is a constant's value, since ``-2`` is an operation."""
        if copysign(1.0, value) > 0:
            return constant(value)
        key = repr(value)
        if key not in self.lets:
            name = self.spelled.fresh(f"minus_{number(-value).replace('.', '_')}")
            self.lets[key] = (name, value)
        return path(self.lets[key][0])

    # --- caps -----------------------------------------------------------------------------------

    def cap(self, expr: ir.Expr) -> ast.Expr | None:
        """An engine's prefill cap; None for no cap, which is 0 in the IR."""
        if expr == ir.Num(0.0):
            return None
        if not isinstance(expr, ir.Num) and is_constant(expr):
            raise refuse("constant arithmetic", "a prefill cap")
        return self._cap(expr)

    def _cap(self, expr: ir.Expr) -> ast.Expr:
        match expr:
            case ir.Num(value=0.0):
                return constant(inf)
            case ir.Num(value=value) if 0.0 < value < inf:
                return constant(value)
            case ir.Cond(test=test, then=then, orelse=orelse) if not is_constant(expr):
                guard = self.expression(test, Moment.BUDGET)
                return ast.Conditional(NOWHERE, guard, self._cap(then), self._cap(orelse))
        if is_constant(expr):
            raise refuse("constant arithmetic", "a prefill cap")
        if not _floored(expr):
            raise refuse("cap that could be zero", "an engine's `each at most`")
        return self.expression(expr, Moment.BUDGET)


def _floored(expr: ir.Expr) -> bool:
    """Whether an expression is ``max(k, e)`` with a constant above 0 among its operands."""
    if not isinstance(expr, ir.Call) or expr.fun is not ir.Fun.MAX:
        return False
    operands = [arg.expr for arg in expr.args if isinstance(arg, ir.ExprArg)]
    if any(is_constant(e) and (fold(e) or 0.0) > 0 for e in operands):
        return True
    return any(_floored(e) for e in operands)
