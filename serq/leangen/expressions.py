"""Expressions of the IR as expressions of the Lean library.

Constants are folded first, with the interpreter's arithmetic: only naturals may be left over, so a
constant never meets Lean's truncated subtraction. What is not constant is translated operator by
operator. `inf` may stand under ``min`` and disappears there.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass, replace

from serq import ieee
from serq.ir import nodes as ir
from serq.ir.constants import FUNCTIONS, OPERATORS
from serq.ir.functions import COUNTERS
from serq.ir.nodes import BinaryOp, Ctx, Fun, UnaryOp
from serq.leangen import model as lean
from serq.leangen.reasons import Log

LARGEST = 2.0**53
"""Beyond this not every natural is a double."""

LIFTS = 200
"""How many conditionals with an ``inf`` arm one expression may have: each doubles its text."""


@dataclass(frozen=True, slots=True)
class Moment:
    """What an expression may read where it stands, and how its value is used."""

    name: str
    ctx: frozenset[Ctx] = frozenset()
    pools: frozenset[Fun] = frozenset()
    stages: frozenset[Fun] = frozenset()
    attributes: bool = False
    integer: bool = False
    """The value only orders things: it may be negative, and nothing is truncated."""

    subtraction: bool = True
    aggregates: bool = False
    twice_attention: bool = False
    """``Attn`` is there as twice the attention work: its coefficient must be even."""


@dataclass(frozen=True, slots=True)
class _Infinite:
    """``inf`` where it is not yet clear that it disappears."""


Folded = float | lean.Expr
"""A constant, or an expression that is none."""

_Part = Folded | _Infinite | None
"""Nothing when the part is outside; the reason is logged then."""

_FOLD: dict[BinaryOp, Callable[[float, float], float]] = OPERATORS | {
    BinaryOp.AND: lambda a, b: float(ieee.truth(a) and ieee.truth(b)),
    BinaryOp.OR: lambda a, b: float(ieee.truth(a) or ieee.truth(b)),
}

_POOL_READS = {Fun.USED, Fun.FREE, Fun.CACHED_IN, Fun.HOLDERS, Fun.QUEUED}
_STAGE_READS = {Fun.QUEUE, Fun.BUSY, Fun.WORK, Fun.BUDGET_LEFT}

_SURFACE = {Fun.CACHED_IN: "cachedin", Fun.BUDGET_LEFT: "budget_left"}


class Translator:
    """Translates the expressions of one program.

    ``known`` gives attributes a value instead of reading them, ``now`` gives the clock one (for
    init blocks, whose values are worked out here).
    """

    def __init__(
        self, log: Log, known: dict[int, Folded] | None = None, now: Folded | None = None
    ) -> None:
        self.log = log
        self.known = {} if known is None else known
        self.now = now
        self._lifts = 0

    # -- what comes out

    def natural(self, expr: ir.Expr, path: str, moment: Moment) -> lean.Expr | None:
        """The expression as a natural number (an integer where the moment says so)."""
        self._lifts = 0
        part = self._part(expr, path, moment)
        if isinstance(part, _Infinite):
            self.log.out(path, "an infinite value is no natural number", expr)
            return None
        if isinstance(part, float):
            return self._number(part, path, moment, expr)
        return part

    def constant(self, expr: ir.Expr, path: str, what: str) -> float | None:
        """The value of an expression that must be constant."""
        with self.log.forgetting():
            part = self._part(expr, path, Moment(what))
        if isinstance(part, float):
            return part
        if isinstance(part, _Infinite):
            return math.inf
        self.log.out(path, f"{what} must be constant", expr)
        return None

    def natural_constant(self, expr: ir.Expr, path: str, what: str) -> int | None:
        value = self.constant(expr, path, what)
        return None if value is None else self.whole(value, path, what, expr)

    def whole(self, value: float, path: str, what: str, node: object = None) -> int | None:
        """A number that must be a natural one."""
        if not math.isfinite(value) or value < 0 or value != math.floor(value) or value > LARGEST:
            self.log.out(path, f"{what} is {_spell(value)}, not a natural number", node)
            return None
        return int(value)

    def folded(self, expr: ir.Expr, path: str, moment: Moment) -> Folded | None:
        """A constant as such, or the translated expression."""
        part = self._part(expr, path, moment)
        if isinstance(part, _Infinite):
            self.log.out(path, "an infinite value is no natural number", expr)
            return None
        return part

    def _number(self, value: float, path: str, moment: Moment, node: ir.Expr) -> lean.Expr | None:
        if moment.integer and value < 0 and math.isfinite(value):
            positive = self.whole(-value, path, "the constant", node)
            return None if positive is None else lean.Unary(UnaryOp.NEG, lean.Num(positive))
        whole = self.whole(value, path, "the constant", node)
        return None if whole is None else lean.Num(whole)

    # -- case by case

    def _part(self, expr: ir.Expr, path: str, moment: Moment) -> _Part:
        match expr:
            case ir.Num(value):
                return _Infinite() if value == math.inf else float(value)
            case ir.Attr(slot):
                if slot in self.known:
                    return self.known[slot]
                if not moment.attributes:
                    self.log.out(path, f"{moment.name} reads no attribute in Lean", expr)
                    return None
                return lean.Attr(slot)
            case ir.CtxVar(name):
                if name is Ctx.NOW and self.now is not None:
                    return self.now
                if name not in moment.ctx:
                    self.log.out(path, f"{moment.name} cannot read `{name}` in Lean", expr)
                    return None
                if name is Ctx.ATTN and moment.twice_attention:
                    why = "the attention work must have an even constant coefficient"
                    self.log.out(path, why, expr)
                    return None
                return lean.CtxVar(name)
            case ir.Cost(_, inner):
                return self._part(inner, f"{path}.Cost[1]", moment)
            case ir.Cond():
                return self._cond(expr, path, moment)
            case ir.Unary():
                return self._unary(expr, path, moment)
            case ir.Binary():
                return self._binary(expr, path, moment)
            case ir.Call():
                return self._call(expr, path, moment)
            case ir.Sample(dist, _):
                self.log.out(path, f"a draw ({dist.lower()}) is outside the fragment", expr)
                return None
            case ir.Agg(aggregate, observe):
                if not moment.aggregates:
                    self.log.out(path, "an aggregate is read only in a claim at the end", expr)
                    return None
                return lean.Agg(aggregate, observe)
            case ir.Reg():
                self.log.out(path, "an engine's state is outside the fragment", expr)
                return None

    def _value(self, expr: ir.Expr, path: str, moment: Moment) -> Folded | None:
        """A part that may not be infinite."""
        part = self._part(expr, path, moment)
        if isinstance(part, _Infinite):
            self.log.out(path, "an infinite value is no natural number", expr)
            return None
        return part

    def _as_expr(self, part: Folded, path: str, moment: Moment, node: ir.Expr) -> lean.Expr | None:
        return self._number(part, path, moment, node) if isinstance(part, float) else part

    def _cond(self, expr: ir.Cond, path: str, moment: Moment) -> _Part:
        test = self._value(expr.test, f"{path}.Cond[0]", moment)
        if isinstance(test, float):
            chosen, at = (expr.then, 1) if ieee.truth(test) else (expr.orelse, 2)
            return self._part(chosen, f"{path}.Cond[{at}]", moment)
        then = self._part(expr.then, f"{path}.Cond[1]", moment)
        orelse = self._part(expr.orelse, f"{path}.Cond[2]", moment)
        if then is None or orelse is None or test is None:
            return None
        if then == orelse:  # whatever the test says
            return then
        if isinstance(then, _Infinite) or isinstance(orelse, _Infinite):
            self.log.out(path, "`inf` may be an arm of `?:` only inside `min`", expr)
            return None
        left = self._as_expr(then, f"{path}.Cond[1]", moment, expr.then)
        right = self._as_expr(orelse, f"{path}.Cond[2]", moment, expr.orelse)
        return None if left is None or right is None else lean.Cond(test, left, right)

    def _unary(self, expr: ir.Unary, path: str, moment: Moment) -> _Part:
        inner = self._value(expr.operand, f"{path}.Unary[1]", moment)
        if inner is None:
            return None
        if expr.op is UnaryOp.NOT:
            if isinstance(inner, float):
                return float(not ieee.truth(inner))
            return lean.Unary(UnaryOp.NOT, inner)
        if isinstance(inner, float):
            return -inner
        if not moment.integer:
            self.log.out(path, "a negative value is no natural number", expr)
            return None
        return lean.Unary(UnaryOp.NEG, inner)

    def _binary(self, expr: ir.Binary, path: str, moment: Moment) -> _Part:
        at_left, at_right = f"{path}.Binary[1]", f"{path}.Binary[2]"
        before = self.log.mark()
        if expr.op is BinaryOp.MUL and moment.twice_attention:
            half = self._attention(expr, path, moment)
            if half is not None:
                return half
        left = self._value(expr.left, at_left, moment)
        if expr.op is BinaryOp.MUL and _is(left, 0.0):  # whatever the other factor is
            return left
        right = self._value(expr.right, at_right, moment)
        if expr.op is BinaryOp.MUL and _is(right, 0.0):
            self.log.forget(before)
            return right
        if left is None or right is None:
            return None
        if isinstance(left, float) and isinstance(right, float):
            return _FOLD[expr.op](left, right)
        simple = _neutral(expr.op, left, right)
        if simple is not None:
            return simple
        match expr.op:
            case BinaryOp.DIV:
                self.log.out(path, "a division is modelled only under `floor` or `ceil`", expr)
                return None
            case BinaryOp.POW:
                return self._power(left, right, path, expr)
            case BinaryOp.SUB:
                return self._difference(expr, left, right, path, moment)
        a = self._as_expr(left, at_left, moment, expr.left)
        b = self._as_expr(right, at_right, moment, expr.right)
        return None if a is None or b is None else lean.Binary(expr.op, a, b)

    def _attention(self, expr: ir.Binary, path: str, moment: Moment) -> lean.Expr | None:
        """``2k * attention`` as ``k`` times twice the attention."""
        for side, other in ((expr.left, expr.right), (expr.right, expr.left)):
            while isinstance(side, ir.Cost):
                side = side.expr
            if side == ir.CtxVar(Ctx.ATTN):
                with self.log.forgetting():
                    factor = self._part(other, path, moment)
                if isinstance(factor, float) and factor % 2 == 0:
                    half = self._number(factor / 2, path, moment, expr)
                    twice = lean.CtxVar(Ctx.ATTN)
                    if half is None or half == lean.Num(1):
                        return twice if half else None
                    return lean.Binary(BinaryOp.MUL, half, twice)
        return None

    def _power(self, base: Folded, exponent: Folded, path: str, node: ir.Expr) -> _Part:
        if isinstance(exponent, float) and exponent in (1.0, 2.0, 3.0, 4.0):
            assert not isinstance(base, float)
            result: lean.Expr = base
            for _ in range(int(exponent) - 1):
                result = lean.Binary(BinaryOp.MUL, result, base)
            return result
        self.log.out(path, "a power is modelled only for the exponents 1 to 4", node)
        return None

    def _difference(
        self, expr: ir.Binary, left: Folded, right: Folded, path: str, moment: Moment
    ) -> _Part:
        if not moment.subtraction and not moment.integer:
            self.log.out(path, f"{moment.name} may not subtract: Lean stops at 0", expr)
            return None
        a = self._as_expr(left, f"{path}.Binary[1]", moment, expr.left)
        b = self._as_expr(right, f"{path}.Binary[2]", moment, expr.right)
        if a is None or b is None:
            return None
        if not moment.integer:
            self.log.condition(path, "the difference is never negative (Lean stops at 0)", expr)
        return lean.Binary(BinaryOp.SUB, a, b)

    # -- calls

    def _call(self, expr: ir.Call, path: str, moment: Moment) -> _Part:
        if expr.fun in _POOL_READS or expr.fun in _STAGE_READS or expr.fun in COUNTERS:
            return self._read(expr, path, moment)
        if expr.fun in (Fun.MIN, Fun.MAX):
            return self._extreme(expr, path, moment)
        if expr.fun in (Fun.FLOOR, Fun.CEIL):
            return self._rounded(expr, path, moment)
        if expr.fun is Fun.ABS:
            return self._absolute(expr, path, moment)
        if expr.fun in FUNCTIONS:
            values = []
            for i, arg in enumerate(expr.args):
                assert isinstance(arg, ir.ExprArg)
                with self.log.forgetting():
                    value = self._part(arg.expr, f"{path}.Call[1][{i}]", moment)
                if not isinstance(value, float):
                    name = expr.fun.lower()
                    self.log.out(path, f"`{name}` is modelled only of constants", expr)
                    return None
                values.append(value)
            return FUNCTIONS[expr.fun](*values)
        self.log.out(path, f"`{expr.fun}` is outside the fragment", expr)
        return None

    def _read(self, expr: ir.Call, path: str, moment: Moment) -> _Part:
        name = _SURFACE.get(expr.fun, expr.fun.lower())
        if expr.fun not in moment.pools and expr.fun not in moment.stages:
            self.log.out(path, f"{moment.name} cannot read `{name}` in Lean", expr)
            return None
        (arg,) = expr.args
        if isinstance(arg, ir.ExprArg):
            self.log.out(path, f"`{name}` of an expression is outside the fragment", expr)
            return None
        kind = "Pool" if isinstance(arg, ir.PoolArg) else "Stage"
        ref = self.reference(arg.ref, f"{path}.Call[1][0].{kind}", moment)
        if ref is None:
            return None
        make = lean.PoolCall if isinstance(arg, ir.PoolArg) else lean.StageCall
        return make(expr.fun, ref.base, ref.count, ref.index)

    def reference(self, ref: ir.Ref, path: str, moment: Moment) -> lean.Ref | None:
        """A reference to a pool or a stage, with its index."""
        if ref.index is None:
            return lean.Ref(ref.base, ref.count, lean.Num(0))
        plain = replace(moment, integer=False)
        index = self.natural(ref.index, f"{path}.index", plain)
        return None if index is None else lean.Ref(ref.base, ref.count, index)

    def _extreme(self, expr: ir.Call, path: str, moment: Moment) -> _Part:
        """``min`` and ``max``; an infinite arm of a conditional disappears in a ``min``."""
        pieces: list[tuple[ir.Expr, str]] = []
        for i, arg in enumerate(expr.args):
            assert isinstance(arg, ir.ExprArg)
            pieces.append((arg.expr, f"{path}.Call[1][{i}].Expr"))
        total: _Part = None
        for number, (piece, at) in enumerate(pieces):
            if expr.fun is Fun.MIN and (lifted := self._lifted(piece, expr, number)) is not None:
                self._lifts += 1
                if self._lifts > LIFTS:
                    self.log.out(path, "too many conditionals with an `inf` arm", expr)
                    return None
                return self._part(lifted, path, moment)
            part = self._part(piece, at, moment)
            if part is None:
                return None
            total = part if number == 0 else self._pair(expr.fun, total, part, path, moment, expr)
            if total is None:
                return None
        return total

    def _lifted(self, piece: ir.Expr, call: ir.Call, number: int) -> ir.Expr | None:
        """``min(x, p ? a : inf)`` as ``p ? min(x, a) : min(x, inf)``."""
        inner = piece
        while isinstance(inner, ir.Cost):
            inner = inner.expr
        if not isinstance(inner, ir.Cond) or not self._has_infinite_arm(inner):
            return None
        if self._constant_test(inner.test) is not None:
            return None

        def put(arm: ir.Expr) -> ir.Expr:
            args = (*call.args[:number], ir.ExprArg(arm), *call.args[number + 1 :])
            return ir.Call(call.fun, args)

        return ir.Cond(inner.test, put(inner.then), put(inner.orelse))

    def _has_infinite_arm(self, cond: ir.Cond) -> bool:
        return any(
            (isinstance(arm, ir.Num) and arm.value == math.inf)
            or (isinstance(arm, ir.Cond) and self._has_infinite_arm(arm))
            for arm in (cond.then, cond.orelse)
        )

    def _constant_test(self, test: ir.Expr) -> float | None:
        with self.log.forgetting():
            part = self._part(test, "", Moment("a test"))
        return part if isinstance(part, float) else None

    def _pair(
        self, fun: Fun, a: _Part, b: _Part, path: str, moment: Moment, node: ir.Expr
    ) -> _Part:
        if isinstance(a, _Infinite) or isinstance(b, _Infinite):
            if fun is Fun.MAX:
                self.log.out(path, "an infinite value is no natural number", node)
                return None
            return b if isinstance(a, _Infinite) else a
        if isinstance(a, float) and isinstance(b, float):
            return FUNCTIONS[fun](a, b)
        assert a is not None
        assert b is not None
        left, right = self._as_expr(a, path, moment, node), self._as_expr(b, path, moment, node)
        return None if left is None or right is None else lean.Call(fun, left, right)

    def _rounded(self, expr: ir.Call, path: str, moment: Moment) -> _Part:
        (arg,) = expr.args
        assert isinstance(arg, ir.ExprArg)
        inner, at = arg.expr, f"{path}.Call[1][0].Expr"
        while isinstance(inner, ir.Cost):
            inner, at = inner.expr, f"{at}.Cost[1]"
        if not (isinstance(inner, ir.Binary) and inner.op is BinaryOp.DIV):
            part = self._value(inner, at, moment)
            return FUNCTIONS[expr.fun](part) if isinstance(part, float) else part
        above = self._value(inner.left, f"{at}.Binary[1]", moment)
        below = self._value(inner.right, f"{at}.Binary[2]", moment)
        if above is None or below is None:
            return None
        if not isinstance(below, float) or below <= 0 or below != math.floor(below):
            why = "a division is modelled only by a positive whole constant"
            self.log.out(f"{at}.Binary[2]", why, inner)
            return None
        if isinstance(above, float):
            return FUNCTIONS[expr.fun](ieee.div(above, below))
        divisor = self.whole(below, f"{at}.Binary[2]", "the divisor", inner.right)
        return None if divisor is None else lean.Call(expr.fun, above, lean.Num(divisor))

    def _absolute(self, expr: ir.Call, path: str, moment: Moment) -> _Part:
        """``abs(a - b)`` is the larger less the smaller: exact in naturals."""
        (arg,) = expr.args
        assert isinstance(arg, ir.ExprArg)
        inner, at = arg.expr, f"{path}.Call[1][0].Expr"
        if isinstance(inner, ir.Binary) and inner.op is BinaryOp.SUB:
            left = self._value(inner.left, f"{at}.Binary[1]", moment)
            right = self._value(inner.right, f"{at}.Binary[2]", moment)
            if left is None or right is None:
                return None
            if isinstance(left, float) and isinstance(right, float):
                return abs(left - right)
            if not moment.subtraction and not moment.integer:
                self.log.out(path, f"{moment.name} may not subtract", expr)
                return None
            a = self._as_expr(left, at, moment, inner.left)
            b = self._as_expr(right, at, moment, inner.right)
            if a is None or b is None:
                return None
            larger, smaller = lean.Call(Fun.MAX, a, b), lean.Call(Fun.MIN, a, b)
            return lean.Binary(BinaryOp.SUB, larger, smaller)
        part = self._value(inner, at, moment)
        if isinstance(part, float):
            return abs(part)
        if part is not None and moment.integer:
            return lean.Call(Fun.MAX, part, lean.Unary(UnaryOp.NEG, part))
        return part


def _neutral(op: BinaryOp, left: Folded, right: Folded) -> Folded | None:
    """``x + 0``, ``x - 0``, ``x * 1`` and their mirror images are ``x``."""
    if op is BinaryOp.ADD:
        if _is(left, 0.0):
            return right
        if _is(right, 0.0):
            return left
    if op is BinaryOp.SUB and _is(right, 0.0):
        return left
    if op is BinaryOp.MUL:
        if _is(left, 1.0):
            return right
        if _is(right, 1.0):
            return left
    return None


def _is(part: object, value: float) -> bool:
    return isinstance(part, float) and part == value


def _spell(value: float) -> str:
    return str(int(value)) if math.isfinite(value) and value == int(value) else repr(value)


def boolean_by_form(expr: lean.Expr) -> bool:
    """Whether an expression can only be 0 or 1."""
    match expr:
        case lean.Num(value):
            return value in (0, 1)
        case lean.Binary(op, _, _):
            return op not in (BinaryOp.ADD, BinaryOp.SUB, BinaryOp.MUL)
        case lean.Unary(op, _):
            return op is UnaryOp.NOT
        case lean.Cond(_, then, orelse):
            return boolean_by_form(then) and boolean_by_form(orelse)
        case lean.CtxVar(name):
            return name is Ctx.DECODING
        case _:
            return False
