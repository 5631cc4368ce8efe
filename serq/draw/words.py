"""What is written on the parts: numbers, expressions and policies in a reader's words."""

from __future__ import annotations

import re
from collections.abc import Iterable, Sequence
from math import inf

from serq.ir import nodes as n
from serq.ir.moments import Moment
from serq.ir.text import number, show
from serq.link.source_map import SourceMap

_COMMENT = re.compile(r"//[^\n]*")


def amount(value: float) -> str:
    """A number, its thousands apart: ``96 000``, ``0.004``, ``inf``."""
    text = number(value)
    sign, digits = ("−", text[1:]) if text.startswith("-") else ("", text)
    whole, dot, rest = digits.partition(".")
    if whole.isdigit() and len(whole) > 4:
        groups = [whole[max(0, end - 3) : end] for end in range(len(whole), 0, -3)]
        whole = " ".join(reversed(groups))
    return sign + whole + dot + rest


def amounts(values: Sequence[float]) -> str:
    """One number, or from the least to the greatest of a family whose members differ."""
    least, most = min(values), max(values)
    return amount(least) if least == most else f"{amount(least)} to {amount(most)}"


def elided(text: str) -> str:
    return text if len(text) <= 40 else text[:39] + "…"


def times(count: int) -> str:
    return f"×{amount(count)}"


def plural(count: float, word: str) -> str:
    return f"{amount(count)} {word}" + ("" if count == 1 else "s")


class Words:
    """Texts for one program; with a source map expressions read as they were written."""

    def __init__(self, program: n.Program, source_map: SourceMap | None) -> None:
        self.program = program
        self.map = source_map

    def expr(self, expr: n.Expr, moment: Moment = Moment.SESSION) -> str:
        """An expression as it stands in the text, else as the text would write it."""
        if isinstance(expr, n.Num):
            return amount(expr.value)
        span = None if self.map is None else self.map.span_of(expr)
        if span is not None and span.end > span.start:
            return _bare(" ".join(_COMMENT.sub(" ", span.text).split()))
        if isinstance(expr, n.Cost):
            return self.expr(expr.expr, moment)
        return show(self.program, expr, moment)

    def quantity(self, expr: n.Expr, moment: Moment = Moment.SESSION) -> str:
        """A cost without its resources: they are where the text stands."""
        while isinstance(expr, n.Cost):
            expr = expr.expr
        return self.expr(expr, moment)

    def exprs(self, exprs: Iterable[n.Expr], moment: Moment) -> str:
        return ", ".join(self.expr(e, moment) for e in exprs)

    def gateway(self, block: int, position: int) -> str | None:
        """The gateway whose route a statement was written in: the innermost use around it."""
        frames = () if self.map is None else self.map.stmt_frames(block, position)
        if self.map is None or not frames:
            return None
        for queue in self.map.queues.values():
            if "gateway" in queue.roles and frames[-1].text.startswith(f"`{queue.name}.route`"):
                return queue.name
        return None

    # --- policies -------------------------------------------------------------------------------

    def queue(self, pool: n.Pool) -> str:
        """How a pool's queue is ordered."""
        if pool.queue is None:
            return "fifo"
        if len(pool.queue) == 1:
            match pool.queue[0]:
                case n.Unary(op=n.UnaryOp.NEG, operand=n.CtxVar(name=n.Ctx.WAITED)):
                    return "longest waiting first"
        return f"least {self.exprs(pool.queue, Moment.SELECT)} first"

    def evict(self, pool: n.Pool) -> str:
        unit = " by block" if pool.block is not None else " by entry"
        if isinstance(pool.evict, n.Lru):
            return "LRU" + unit
        return f"least {self.exprs(pool.evict.keys, Moment.EVICT)} first{unit}"

    def preempt(self, pool: n.Pool) -> str | None:
        """Who gives way when a hold cannot grow; None where nobody does."""
        if isinstance(pool.preempt, n.NoPreempt):
            return None
        tail = ", to the tail" if pool.preempt.tail else ""
        match pool.preempt.keys:
            case (n.Unary(op=n.UnaryOp.NEG, operand=n.CtxVar(name=n.Ctx.ADMISSION)),):
                return "preempt last admitted" + tail
            case (n.CtxVar(name=n.Ctx.ADMISSION),):
                return "preempt first admitted" + tail
        return f"preempt least {self.exprs(pool.preempt.keys, Moment.VICTIM)}{tail}"

    def serve(self, keys: Sequence[n.Expr]) -> str:
        match tuple(keys):
            case ():
                return "in admission order"
            case (n.Cond(test=n.CtxVar(name=n.Ctx.DECODING), then=n.Num(), orelse=n.Num()),):
                return "decodes first"
            case (n.CtxVar(name=n.Ctx.REMAINING),):
                return "shortest remaining first"
            case (n.Unary(op=n.UnaryOp.NEG, operand=n.CtxVar(name=n.Ctx.REMAINING)),):
                return "longest remaining first"
        return f"least {self.exprs(keys, Moment.SERVE)} first"

    def arrival(self) -> str:
        program = self.program
        match program.arrival:
            case n.Poisson(rate=rate):
                text = f"Poisson arrivals, rate {amount(rate)}"
            case n.Renewal(gap=gap):
                text = f"arrivals with gaps {self.expr(gap, Moment.GAP)}"
            case n.Closed(population=population):
                text = f"closed: {plural(population, 'session')}, always the same"
            case n.Batch(size=size):
                text = f"a batch of {plural(size, 'session')} at time 0"
            case n.NoArrivals():
                text = "no arrivals"
            case n.Sessions(sessions=sessions):
                text = f"{plural(len(sessions), 'given session')} at time 0"
        if program.trace is not None:
            how = "in order" if program.trace_ordered else "drawn"
            text += f"; trace {program.trace}, {how}"
        return text

    # --- engines --------------------------------------------------------------------------------

    def budget(self, step: n.Step) -> str:
        if isinstance(step.budget, n.Num):
            value = step.budget.value
            return "" if value == inf else f"{amount(value)} tokens a step"
        return elided(f"{self.expr(step.budget, Moment.BUDGET)} tokens a step")

    def chunk(self, step: n.Step) -> str | None:
        """The cap on one request's tokens in a step; None where there is none."""
        if isinstance(step.chunk, n.Num) and step.chunk.value == 0:
            return None
        return f"{self.expr(step.chunk, Moment.BUDGET)}"

    def schedule(self, step: n.Step) -> list[str]:
        """What an iteration does, statement by statement."""
        if isinstance(step.serve, n.ExclusivePrefill):
            return ["one prefill alone, or decodes"]
        if step.iteration is None:
            order = self.serve(step.serve.keys)
            return [f"serve running {order}", "then admit waiting"]
        return self._iteration(step.iteration, step.serve, 0)

    def _iteration(self, body: Sequence[n.IterStmt], serve: n.ServeBy, depth: int) -> list[str]:
        out: list[str] = []
        pad = "· " * depth
        for stmt in body:
            match stmt:
                case n.IterServe(only=only, by=by):
                    which = "" if only is None else f" only {self.expr(only, Moment.ONLY)}"
                    keys = serve.keys if by is None else by
                    out.append(f"{pad}serve running{which} {self.serve(keys)}")
                case n.IterAdmit(only=only, gate=gate):
                    which = "" if only is None else f" only {self.expr(only, Moment.ONLY)}"
                    match gate:
                        case None:
                            when = ""
                        case n.Unary(op=n.UnaryOp.NOT, operand=n.CtxVar(name=n.Ctx.PREEMPTED)):
                            when = " unless preempting"
                        case n.Binary(
                            op=n.BinaryOp.EQ,
                            left=n.CtxVar(name=n.Ctx.PREEMPTED),
                            right=n.Num(value=0.0),
                        ):
                            when = " unless preempting"
                        case _:
                            when = f" while {self.expr(gate, Moment.PLAN)}"
                    out.append(f"{pad}admit waiting{which}{when}")
                case n.IterBranch(guard=guard, then=then, orelse=orelse):
                    out.append(f"{pad}if {self.expr(guard, Moment.PLAN)}")
                    out += self._iteration(then, serve, depth + 1)
                    if orelse:
                        out.append(f"{pad}else")
                        out += self._iteration(orelse, serve, depth + 1)
                case n.IterSet(register=register, expr=value):
                    name = self.program.registers[register].name
                    out.append(f"{pad}{name} := {self.expr(value, Moment.PLAN)}")
        return out


def _bare(text: str) -> str:
    """Without the parentheses around all of it."""
    while text.startswith("(") and text.endswith(")"):
        depth = 0
        for i, ch in enumerate(text):
            depth += (ch == "(") - (ch == ")")
            if depth == 0 and i < len(text) - 1:
                return text
        text = text[1:-1].strip()
    return text
