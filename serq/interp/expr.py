"""Expressions as Python functions: compiled once per program, evaluated many times.

Each expression of the IR becomes flat Python statements over temporaries, so that a sum of 4 096
terms or a condition nested a thousand deep compiles, and nothing is walked at run time. Every
value is a Python float; a test is a Python boolean inside the generated code and 1.0 or 0.0 where
the program can see it. ``&&``, ``||`` and ``?:`` evaluate the operand they need only, since an
operand may draw or fail.
"""

from __future__ import annotations

from collections.abc import Callable, Generator, Iterable
from dataclasses import dataclass, field
from math import copysign, inf, nan
from typing import Any

from serq.interp import ieee
from serq.interp.faults import Members, walk
from serq.ir import nodes as ir
from serq.ir.nodes import BinaryOp, Ctx, Dist, Fun, UnaryOp

_LONG = 160
"""Characters of nested Python text above which a value gets a temporary of its own."""
_DEEP = 30
"""Nested ``if`` blocks above which an operand becomes a function of its own."""


@dataclass(frozen=True)
class Scope:
    """An evaluation moment: the generated function's parameters and how it reaches each value.

    ``attrs`` is the text of the attribute list, ``rng`` of the stream it draws from, ``session``
    of the session whose cached prefix ``cachedin`` reads; ``ctx`` has the context variables.
    """

    params: str
    attrs: str = ""
    rng: str = "RNG"
    session: str = "None"
    ctx: dict[Ctx, str] = field(default_factory=dict)


_NOW = {Ctx.NOW: "M.now"}
_RESIDENTS = {
    Ctx.NRES: "float(len(E.jobs))",
    Ctx.NDEC: "E.residents_decoding()",
    Ctx.KVB: "E.residents_kv(True)",
    Ctx.KVP: "E.residents_kv(False)",
}
_JOB = {
    Ctx.DECODING: "j.decoding",
    Ctx.ADMISSION: "j.admission",
    Ctx.REMAINING: "j.left",
}
_BATCH = {
    Ctx.NTOK: "b.tokens",
    Ctx.NPRE: "b.prefilled",
    Ctx.NDEC: "b.decodes",
    Ctx.NRES: "b.residents",
    Ctx.KVB: "b.kv_decode",
    Ctx.KVP: "b.kv_prefill",
    Ctx.ATTN: "(b.attention or -0.0)",  # as every sum of nothing
}

SESSION = Scope("s", "s.attrs", "s", "s", _NOW)
SUBMIT = Scope("s", "s.attrs", "s.rng", "s", _NOW)
SELECT = Scope("s", "s.attrs", "RNG", "s", _NOW | {Ctx.WAITED: "(M.now - s.joined)"})
EVICT = Scope(
    "e",
    "e.attrs()",
    "RNG_EVICT",
    "e.viewer()",
    _NOW
    | {
        Ctx.SIZE: "e.size",
        Ctx.LAST: "e.last",
        Ctx.AGE: "(M.now - e.last)",
        Ctx.QUEUED: "e.waiting()",
    },
)
VICTIM = Scope(
    "s, decoding, admission, position",
    "s.attrs",
    "RNG",
    "s",
    _NOW | {Ctx.DECODING: "decoding", Ctx.ADMISSION: "admission", Ctx.POSITION: "position"},
)
PS = Scope("present", ctx=_NOW | {Ctx.N: "present"})
BUDGET = Scope("E", ctx=_NOW | _RESIDENTS)
SERVE = Scope("j, E", "j.session.attrs", "RNG", "j.session", _NOW | _RESIDENTS | _JOB)
PLAN = Scope(
    "E",
    ctx=_RESIDENTS
    | {
        Ctx.NTOK: "(E.plan_tokens or -0.0)",
        Ctx.NPRE: "(E.plan_prefilled or -0.0)",
        Ctx.ADMITTED: "E.plan_admitted",
        Ctx.PREEMPTED: "E.plan_preempted",
    },
)
STEP = Scope("b", ctx=_NOW | _BATCH)
ITERATION = Scope(
    "b",
    ctx=_NOW
    | _BATCH
    | {Ctx.DEMAND: "b.demand", Ctx.SERVED: "b.served", Ctx.ARRIVED: "M.arrived_float()"},
)
GAUGE = Scope("")
GIVEN = Scope("s", "s.attrs", session="s")
AT_END = Scope("", ctx=_NOW)
GAP = Scope("")

Emission = Generator["tuple[str, Any]", str, str]


_COMPARE = {
    BinaryOp.LT: "<",
    BinaryOp.LE: "<=",
    BinaryOp.GT: ">",
    BinaryOp.GE: ">=",
    BinaryOp.EQ: "==",
    BinaryOp.NE: "!=",
}
_ARITHMETIC = {BinaryOp.ADD: "+", BinaryOp.SUB: "-", BinaryOp.MUL: "*"}
_ONE_ARG: dict[Fun, tuple[str, Callable[[float], float]]] = {
    Fun.ABS: ("abs", abs),
    Fun.FLOOR: ("floor", ieee.floor),
    Fun.CEIL: ("ceil", ieee.ceil),
    Fun.SQRT: ("sqrt", ieee.sqrt),
    Fun.EXP: ("exp", ieee.exp),
    Fun.LN: ("ln", ieee.ln),
}
_POOL_QUERY = {
    Fun.USED: "{0}.used",
    Fun.FREE: "({0}.cap - {0}.used)",
    Fun.CACHED_IN: "{0}.cached_of({1})",
    Fun.HOLDERS: "{0}.holders_float()",
    Fun.QUEUED: "float(len({0}.queue))",
}
_POOL_COUNTER = {
    Fun.PREEMPTIONS: "float({0}.preemptions)",
    Fun.REJECTED: "float({0}.rejected)",
    Fun.STUCK: "float({0}.stuck)",
    Fun.RECOMPUTED: "{0}.recomputed",
}
_ENGINE_COUNTER = {
    Fun.PREEMPTIONS: "float({0}.counters.preemptions)",
    Fun.REJECTED: "float({0}.counters.rejected)",
    Fun.STUCK: "float({0}.counters.stuck)",
    Fun.RECOMPUTED: "{0}.counters.recomputed",
}
_STAGE_QUERY = {
    Fun.QUEUE: "{0}.present()",
    Fun.BUSY: "{0}.busy()",
    Fun.WORK: "{0}.work()",
    Fun.EST_LAMBDA: "{0}.estimate.rate()",
    Fun.EST_RHO: "{0}.estimate.rho()",
    Fun.EST_WAIT: "{0}.estimate.wait()",
    Fun.BUDGET_LEFT: "{0}.budget_left()",
}
_DRAW = {Dist.EXP: "exp", Dist.UNIFORM: "between", Dist.ERLANG: "erlang", Dist.H2: "h2",
         Dist.BERNOULLI: "bernoulli"}  # fmt: skip


def reads(expr: ir.Expr) -> set[Ctx]:
    """The context variables that an expression reads somewhere."""
    return {node.name for node in walk(expr) if isinstance(node, ir.CtxVar)}


def draws(expr: ir.Expr) -> bool:
    """Whether evaluating the expression may consume uniforms of its stream."""
    return any(isinstance(node, ir.Sample) and node.dist is not Dist.DET for node in walk(expr))


class Library:
    """What generated code refers to by name: the run's objects and the arithmetic."""

    def __init__(self, machine: Any) -> None:
        self.machine = machine
        self.names: dict[str, Any] = {
            "M": machine, "RNG": None, "inf": inf, "nan": nan, "invalid": ieee.INVALID,
            "div": ieee.div, "power": ieee.pow, "floor": ieee.floor, "ceil": ieee.ceil,
            "sqrt": ieee.sqrt, "exp": ieee.exp, "ln": ieee.ln,
        }  # fmt: skip
        self._count = 0

    def member(self, kind: str, ref: ir.Ref, index: str | None) -> str:
        """The text of a reference's member; ``index`` is the text of its index, if it has one."""
        letter = "P" if kind == "pool" else "S"
        objects = self.machine.pools if kind == "pool" else self.machine.stages
        if index is None:
            name = f"{letter}{ref.base}"
            self.names[name] = objects[ref.base]
            return name
        name = f"{letter}{ref.base}_{ref.count}"
        if name not in self.names:
            self.names[name] = Members(kind, objects[ref.base : ref.base + ref.count])
        return f"{name}[{index}]"

    def fresh(self, stem: str) -> str:
        """A name that no generated function has yet."""
        self._count += 1
        return f"{stem}{self._count}"

    def define(self, name: str, params: str, lines: Iterable[str]) -> Callable[..., Any]:
        """Compiles a function with this body; its file name is its own name, for faults."""
        text = f"def {name}({params}):\n" + "\n".join(lines) + "\n"
        exec(compile(text, f"<{name}>", "exec"), self.names)
        function: Callable[..., Any] = self.names[name]
        return function


class Emitter:
    """Writes the statements that evaluate expressions of one scope into ``lines``."""

    def __init__(self, library: Library, scope: Scope) -> None:
        self.library = library
        self.scope = scope
        self.lines: list[str] = []
        self._level = 1
        self._temps = 0
        self._constants: dict[str, float] = {}

    # Texts are atoms (a name or a literal), or evaluate in one go where they are put.

    def line(self, text: str) -> None:
        self.lines.append("  " * self._level + text)

    def temp(self) -> str:
        self._temps += 1
        return f"t{self._temps}"

    def stored(self, text: str) -> str:
        """The text as an atom."""
        if text.isidentifier() or text in self._constants:
            return text
        name = self.temp()
        self.line(f"{name} = {text}")
        return name

    def value(self, expr: ir.Expr) -> str:
        """The text of the expression's value; what must be evaluated before it is emitted."""
        return self._drive("value", expr)

    def test(self, expr: ir.Expr) -> str:
        """The text of a Python boolean: whether the value is not 0."""
        return self._drive("test", expr)

    def ref(self, kind: str, ref: ir.Ref) -> str:
        """The text of the member that a reference names now."""
        index = None if ref.index is None else self.value(ref.index)
        return self.library.member(kind, ref, index)

    def function(self, name: str) -> Callable[..., Any]:
        """The emitted lines as a function."""
        return self.library.define(name, self.scope.params, self.lines)

    # A generator per node on an explicit stack: depth costs memory, not the Python stack.

    def _drive(self, kind: str, expr: ir.Expr) -> str:
        stack = [self._emit(kind, expr)]
        answer: str | None = None
        while True:
            try:
                request = stack[-1].send(answer) if answer is not None else next(stack[-1])
            except StopIteration as stop:
                stack.pop()
                answer = stop.value
                if not stack:
                    assert answer is not None
                    return answer
                continue
            stack.append(self._emit(*request))
            answer = None

    def _emit(self, kind: str, expr: Any) -> Emission:
        if kind == "test":
            return self._test(expr)
        if kind == "ref":
            return self._ref(*expr)
        return self._value(expr)

    def _constant(self, value: float) -> str:
        text = repr(value)
        if value != value and copysign(1.0, value) < 0.0:
            text = "invalid"  # 0/0, whose sign a rank of samples sees
        self._constants[text] = value
        return text

    def _short(self, text: str) -> str:
        return self.stored(text) if len(text) > _LONG else text

    def _before(self, mark: int, text: str) -> str:
        """``text`` in front of the lines emitted since ``mark``, which may draw or fail."""
        if len(self.lines) == mark or text.isidentifier() or text in self._constants:
            return text
        name = self.temp()
        self.lines.insert(mark, "  " * self._level + f"{name} = {text}")
        return name

    def _pair(self, left: Any, right: Any) -> Generator[tuple[str, Any], str, tuple[str, str]]:
        a = yield "value", left
        mark = len(self.lines)
        b = yield "value", right
        return self._before(mark, a), b

    def _lazy(self, kind: str, expr: ir.Expr) -> Generator[tuple[str, Any], str, tuple[Any, str]]:
        """The lines and the text of an operand that may not be needed."""
        lines, level = self.lines, self._level
        outlined = level > _DEEP
        self.lines, self._level = [], 1 if outlined else level + 1
        text = yield kind, expr
        inner = self.lines
        self.lines, self._level = lines, level
        if outlined and inner:
            name = self.library.fresh("part")
            self.library.define(name, self.scope.params, [*inner, f"  return {text}"])
            return [], f"{name}({self.scope.params})"
        return inner, text

    def _ref(self, kind: str, ref: ir.Ref) -> Emission:
        if ref.index is None:
            return self.library.member(kind, ref, None)
        index = yield "value", ref.index
        return self.library.member(kind, ref, index)

    def _value(self, expr: Any) -> Emission:
        match expr:
            case ir.Num(value=value):
                return self._constant(value)
            case ir.Attr(slot=slot):
                return f"{self.scope.attrs}[{slot}]"
            case ir.CtxVar(name=name):
                return self.scope.ctx[name]
            case ir.Reg(register=register):
                self.library.names["REGS"] = self.library.machine.registers
                return f"REGS[{register}]"
            case ir.Agg(aggregate=aggregate, observe=observe):
                return f"M.aggregate({str(aggregate)!r}, {observe})"
            case ir.Cost(expr=inner):
                return (yield "value", inner)
            case ir.Unary(op=UnaryOp.NEG, operand=operand):
                a = yield "value", operand
                if a in self._constants:
                    return self._constant(-self._constants[a])
                return self._short(f"(-{a})")
            case ir.Binary(op=op, left=left, right=right) if op in _ARITHMETIC:
                a, b = yield from self._pair(left, right)
                if a in self._constants and b in self._constants:
                    return self._constant(_fold(op, self._constants[a], self._constants[b]))
                return self._short(f"({a} {_ARITHMETIC[op]} {b})")
            case ir.Binary(op=BinaryOp.DIV | BinaryOp.POW as op, left=left, right=right):
                a, b = yield from self._pair(left, right)
                if a in self._constants and b in self._constants:
                    return self._constant(_fold(op, self._constants[a], self._constants[b]))
                if op is BinaryOp.DIV and self._constants.get(b, 0.0) != 0.0:
                    return self._short(f"({a} / {b})")
                return self._short(f"{'div' if op is BinaryOp.DIV else 'power'}({a}, {b})")
            case ir.Binary() | ir.Unary():
                t = yield "test", expr
                return self._short(f"(1.0 if {t} else 0.0)")
            case ir.Cond(test=test, then=then, orelse=orelse):
                return (yield from self._cond(test, then, orelse))
            case ir.Sample(dist=dist, args=args):
                return (yield from self._sample(dist, args))
            case ir.Call(fun=fun, args=args):
                return (yield from self._call(fun, args))
        raise AssertionError(f"no such expression: {expr!r}")

    def _test(self, expr: Any) -> Emission:
        match expr:
            case ir.Cost(expr=inner):
                return (yield "test", inner)
            case ir.Unary(op=UnaryOp.NOT, operand=operand):
                t = yield "test", operand
                return self._short(f"(not {t})")
            case ir.Binary(op=op, left=left, right=right) if op in _COMPARE:
                a, b = yield from self._pair(left, right)
                return self._short(f"({a} {_COMPARE[op]} {b})")
            case ir.Binary(op=BinaryOp.AND | BinaryOp.OR as op, left=left, right=right):
                word = "and" if op is BinaryOp.AND else "or"
                a = yield "test", left
                lines, b = yield from self._lazy("test", right)
                if not lines:
                    return self._short(f"({a} {word} {b})")
                name = self.temp()
                self.line(f"{name} = {a}")
                self.line(f"if {name}:" if word == "and" else f"if not {name}:")
                self.lines += lines
                self.line(f"  {name} = {b}")
                return name
        a = yield "value", expr
        if a in self._constants:
            return str(self._constants[a] != 0.0)
        return f"({a} != 0.0)"

    def _cond(self, test: Any, then: Any, orelse: Any) -> Emission:
        t = yield "test", test
        first, a = yield from self._lazy("value", then)
        second, b = yield from self._lazy("value", orelse)
        if not first and not second:
            return self._short(f"({a} if {t} else {b})")
        name = self.temp()
        self.line(f"if {t}:")
        self.lines += first
        self.line(f"  {name} = {a}")
        self.line("else:")
        self.lines += second
        self.line(f"  {name} = {b}")
        return name

    def _sample(self, dist: Dist, args: tuple[Any, ...]) -> Emission:
        texts: list[str] = []
        for arg in args:
            mark = len(self.lines)
            text = yield "value", arg
            texts = [self._before(mark, earlier) for earlier in texts] + [text]
        if dist is Dist.DET:
            return texts[0]
        return self._short(f"{self.scope.rng}.{_DRAW[dist]}({', '.join(texts)})")

    def _call(self, fun: Fun, args: tuple[Any, ...]) -> Emission:
        if fun in _ONE_ARG:
            name, function = _ONE_ARG[fun]
            a = yield "value", args[0].expr
            if a in self._constants:
                return self._constant(function(self._constants[a]))
            return self._short(f"{name}({a})")
        if fun is Fun.POW:
            return (yield "value", ir.Binary(BinaryOp.POW, args[0].expr, args[1].expr))
        if fun in (Fun.MIN, Fun.MAX):
            return (yield from self._least(fun, args[0].expr, args[1].expr))
        if fun in _POOL_QUERY:
            pool = yield "ref", ("pool", args[0].ref)
            if fun is Fun.FREE and not pool.isidentifier():
                pool = self.stored(pool)
            return _POOL_QUERY[fun].format(pool, self.scope.session)
        if fun in _POOL_COUNTER:
            if isinstance(args[0], ir.PoolArg):
                pool = yield "ref", ("pool", args[0].ref)
                return self._short(_POOL_COUNTER[fun].format(pool))
            stage = yield "ref", ("stage", args[0].ref)
            return self._short(_ENGINE_COUNTER[fun].format(stage))
        if fun is Fun.PRICE:
            stage = yield "ref", ("stage", args[0].ref)
            mark = len(self.lines)
            a, b = yield from self._pair(args[1].expr, args[2].expr)
            stage = self._before(mark, stage)
            return self._short(f"{stage}.estimate.price({a}, {b})")
        stage = yield "ref", ("stage", args[0].ref)
        return self._short(_STAGE_QUERY[fun].format(stage))

    def _least(self, fun: Fun, left: Any, right: Any) -> Emission:
        """min and max: a NaN is ignored, and of equal operands the second is the result."""
        a, b = yield from self._pair(left, right)
        if a in self._constants and b in self._constants:
            function = ieee.minimum if fun is Fun.MIN else ieee.maximum
            return self._constant(function(self._constants[a], self._constants[b]))
        mark = len(self.lines)
        if not (b.isidentifier() or b in self._constants):
            b = self.stored(b)
        a = self._before(mark, a) if a.isidentifier() or a in self._constants else a
        if not (a.isidentifier() or a in self._constants):
            name = self.temp()
            self.lines.insert(mark, "  " * self._level + f"{name} = {a}")
            a = name
        sign = "<" if fun is Fun.MIN else ">"
        if b in self._constants and self._constants[b] == self._constants[b]:
            return f"({a} if {a} {sign} {b} else {b})"
        return f"({a} if {a} {sign} {b} or {b} != {b} else {b})"


def _fold(op: BinaryOp, a: float, b: float) -> float:
    if op is BinaryOp.ADD:
        return a + b
    if op is BinaryOp.SUB:
        return a - b
    if op is BinaryOp.MUL:
        return a * b
    return ieee.div(a, b) if op is BinaryOp.DIV else ieee.pow(a, b)


def compile_value(library: Library, scope: Scope, expr: ir.Expr) -> Callable[..., float]:
    """The function of the scope's parameters that gives the expression's value."""
    emitter = Emitter(library, scope)
    emitter.line(f"return {emitter.value(expr)}")
    return emitter.function(library.fresh("value"))


def compile_keys(
    library: Library, scope: Scope, exprs: tuple[ir.Expr, ...]
) -> Callable[..., tuple[float, ...]]:
    """The function that gives several values, evaluated in order, as a tuple."""
    emitter = Emitter(library, scope)
    texts = [emitter.stored(emitter.value(expr)) for expr in exprs]
    emitter.line(f"return ({', '.join(texts)},)")
    return emitter.function(library.fresh("keys"))


def constant(expr: ir.Expr) -> float | None:
    """The expression's value if it reads nothing and draws nothing, else None."""
    simple = (ir.Num, ir.Unary, ir.Binary, ir.Cond, ir.Cost)
    for node in walk(expr):
        if isinstance(node, ir.Call):
            if node.fun not in _ONE_ARG and node.fun not in (Fun.MIN, Fun.MAX, Fun.POW):
                return None
        elif not isinstance(node, simple):
            return None
    return compile_value(Library(None), Scope(""), expr)()
