"""Faults of a running program: what stops a run, and the error the user reads.

Deep inside a run nobody knows which session or statement is being executed, so the code there
raises `Fault`; the machine, which does know, turns it into a `SerqError` that names the session,
its turn, the time, the source line and the values read.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Any

from serq.diagnostics import Diagnostic, SerqError, Span
from serq.ir import nodes as ir


class Fault(Exception):
    """A run-time fault: a diagnostic code, a sentence, and what to write instead.

    ``span`` is where the text wrote what failed, for what is no statement of a session.
    """

    def __init__(
        self, code: str, message: str, help: str | None = None, span: Span | None = None
    ) -> None:
        super().__init__(message)
        self.code = code
        self.message = message
        self.help = help
        self.span = span


class Members(dict[float, Any]):
    """The members of a pool or stage reference by index; anything else is a fault.

    Keys are the doubles 0.0 … count - 1, so a look-up also tests that the index is whole.
    """

    def __init__(self, kind: str, objects: Sequence[Any]) -> None:
        super().__init__((float(i), x) for i, x in enumerate(objects))
        self.kind = kind

    def __missing__(self, index: float) -> Any:
        name = self[0.0].name
        count = len(self)
        raise Fault(
            "index-out-of-range",
            f"the index of {self.kind} `{name}` is {number(index)}, "
            f"which is not a whole number from 0 to {count - 1}",
            f"`{name}` has {count} member{'s' if count > 1 else ''}, counted from 0",
        )


def number(value: float) -> str:
    """A double as a person writes it: no trailing ``.0``, ``inf``, ``nan``."""
    if value == value and abs(value) < 1e16 and value == int(value):
        return str(int(value))
    return repr(value)


def children(node: Any) -> Iterator[Any]:
    """The direct sub-expressions of an expression, those of reference indices included."""
    match node:
        case ir.Sample(args=args):
            yield from args
        case ir.Call(args=args):
            for arg in args:
                if isinstance(arg, ir.ExprArg):
                    yield arg.expr
                elif arg.ref.index is not None:
                    yield arg.ref.index
        case ir.Unary(operand=operand):
            yield operand
        case ir.Binary(left=left, right=right):
            yield left
            yield right
        case ir.Cond(test=test, then=then, orelse=orelse):
            yield test
            yield then
            yield orelse
        case ir.Cost(expr=expr):
            yield expr


def walk(node: Any) -> Iterator[Any]:
    """The expression's nodes, in evaluation order, itself first."""
    stack = [node]
    while stack:
        top = stack.pop()
        yield top
        stack.extend(reversed(list(children(top))))


def expressions(stmt: Any) -> Iterator[Any]:
    """The expressions a statement evaluates itself (not those of its blocks)."""
    match stmt:
        case ir.Set(expr=expr) | ir.Observe(expr=expr):
            yield expr
        case ir.Hold(pools=pools, reuse=reuse, cache=cache, lease=lease):
            for entry in pools:
                yield from (x for x in (entry.pool.index, entry.units, entry.reserve) if x)
            yield from (x for x in (reuse, cache, lease and lease.time) if x)
        case ir.Grow(pool=pool, amount=amount) | ir.Load(pool=pool, amount=amount):
            yield from (x for x in (pool.index, amount) if x)
        case ir.Drop(pool=pool) | ir.Release(pool=pool):
            if pool.index:
                yield pool.index
        case ir.Run(stage=stage, work=work, growing=growing, also=also):
            refs = [stage, *also] + ([growing] if growing else [])
            yield from (r.index for r in refs if r.index)
            yield work
        case ir.Branch(guard=guard) | ir.While(guard=guard):
            yield guard
        case ir.Choose(count=count, key=key):
            yield count
            yield from key


def read_values(program: ir.Program, exprs: Iterator[Any], attrs: Sequence[float]) -> str:
    """``x = 3, y = 0.5``: the attributes that the expressions read, in order of reading."""
    slots: dict[int, None] = {}
    for expr in exprs:
        for node in walk(expr):
            if isinstance(node, ir.Attr):
                slots.setdefault(node.slot)
    return ", ".join(f"{program.attrs[slot]} = {number(attrs[slot])}" for slot in slots)


def located(
    fault: Fault, where: str, span: Span | None = None, notes: Sequence[str] = ()
) -> SerqError:
    """The fault as the error of a run; ``where`` names session, turn and time."""
    span = span or fault.span
    return SerqError(
        [
            Diagnostic(
                fault.code,
                f"{where}: {fault.message}",
                span=span,
                where=None if span else "run",
                help=fault.help,
                notes=tuple((note, None) for note in notes if note),
            )
        ]
    )
