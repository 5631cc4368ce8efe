"""Another unit of time: every time is 2^k times what it was.

What an expression reads of the clock is divided by 2^k and what it says of a duration is
multiplied by it, so the program decides and observes as before, to the last bit: a power of two
moves an exponent and rounds nothing.
"""

from __future__ import annotations

from dataclasses import fields, is_dataclass, replace
from typing import Any

from serq.deep import run_deep
from serq.ir import nodes as ir
from serq.ir.nodes import BinaryOp, Ctx, Fun

TIMES = {Ctx.NOW, Ctx.WAITED, Ctx.AGE, Ctx.LAST}
"""The context variables that are times."""


def scaled(program: ir.Program, factor: float) -> ir.Program:
    """The program in a unit of time in which every time is ``factor`` (a power of 2) larger."""
    return run_deep(lambda: _Scale(program, factor).program())


def _is_delay(kind: object) -> bool:
    return kind == ir.Ps(ir.CtxVar(Ctx.N))


class _Scale:
    """Rewrites one program."""

    def __init__(self, program: ir.Program, factor: float) -> None:
        self.before = program
        self.factor = factor
        # At a fifo and a delay, work is time; at a `ps` it is what the capacity does in a time,
        # at an engine it is tokens.
        self.timed = [isinstance(s.kind, ir.Fifo) or _is_delay(s.kind) for s in program.stages]

    def program(self) -> ir.Program:
        before, factor = self.before, self.factor
        moved: dict[str, Any] = {
            name: self.changed(getattr(before, name))
            for name in ("pools", "stages", "blocks", "gauges", "claims")
        }
        return replace(
            before,
            **moved,
            arrival=self.arrival(before.arrival),
            horizon=before.horizon * factor,
            warmup=before.warmup * factor,
        )

    def arrival(self, arrival: ir.Arrival) -> ir.Arrival:
        match arrival:
            case ir.Poisson(rate=rate):
                return ir.Poisson(rate / self.factor)
            case ir.Renewal(gap=gap):
                return ir.Renewal(self.longer(gap))
        return arrival

    def longer(self, expr: ir.Expr) -> ir.Expr:
        """A duration in the new unit."""
        expr = self.changed(expr)
        if isinstance(expr, ir.Num):
            return ir.Num(expr.value * self.factor)
        return ir.Binary(BinaryOp.MUL, expr, ir.Num(self.factor))

    def shorter(self, expr: ir.Expr) -> ir.Expr:
        """A value read in the new unit, in the old one."""
        if isinstance(expr, ir.Num):
            return ir.Num(expr.value / self.factor)
        return ir.Binary(BinaryOp.DIV, expr, ir.Num(self.factor))

    def work(self, expr: ir.Expr, stage: int) -> ir.Expr:
        """Work that is for a stage."""
        return self.longer(expr) if self.timed[stage] else self.changed(expr)

    def changed(self, node: Any) -> Any:
        """A node with every time in it in the new unit."""
        if isinstance(node, tuple):
            return tuple([self.changed(part) for part in node])
        match node:
            case ir.CtxVar(name=name) if name in TIMES:
                return self.shorter(node)
            case ir.Call():
                return self.call(node)
            case ir.Run(stage=stage, work=work):
                return replace(
                    node,
                    stage=self.changed(stage),
                    work=self.work(work, stage.base),
                    growing=self.changed(node.growing),
                    also=self.changed(node.also),
                )
            case ir.Lease(pool=pool, time=time):
                return ir.Lease(self.changed(pool), self.longer(time))
            case ir.Spill(via=via, work=work, when=when):
                return replace(node, work=self.work(work, via), when=self.changed(when))
            case ir.Ps(capacity=capacity) if not _is_delay(node):
                return ir.Ps(self.shorter(self.changed(capacity)))
            case ir.Step(cost=cost):
                made = {
                    f.name: self.changed(getattr(node, f.name))
                    for f in fields(node)
                    if f.name != "cost"
                }
                return ir.Step(cost=self.longer(cost), **made)
        if is_dataclass(node) and not isinstance(node, type):
            return replace(
                node, **{f.name: self.changed(getattr(node, f.name)) for f in fields(node)}
            )
        return node

    def call(self, call: ir.Call) -> ir.Expr:
        args = self.changed(call.args)
        match call.fun:
            case Fun.WORK:
                (arg,) = call.args
                assert isinstance(arg, ir.StageArg)
                made = ir.Call(call.fun, args)
                return self.shorter(made) if self.timed[arg.ref.base] else made
            case Fun.EST_WAIT:
                return self.shorter(ir.Call(call.fun, args))
            case Fun.EST_LAMBDA:
                return ir.Binary(BinaryOp.MUL, ir.Call(call.fun, args), ir.Num(self.factor))
            case Fun.PRICE:
                stage, hit, more = call.args
                assert isinstance(hit, ir.ExprArg)
                assert isinstance(more, ir.ExprArg)
                longer = (ir.ExprArg(self.longer(hit.expr)), ir.ExprArg(self.longer(more.expr)))
                return self.shorter(ir.Call(call.fun, (self.changed(stage), *longer)))
        return ir.Call(call.fun, args)


# --- what the report of the scaled program is ---------------------------------------------------

LONGER = {
    "": ("horizon", "end", "warmup"),
    "client": ("mean", "ci", "p99"),
    "claims": ("first",),
    "stages": ("mean_wait", "mean_service", "mean_decode_step", "mean_itl"),
    "pools": ("mean_wait",),
}
"""Part of the report → its fields that are times."""

SHORTER = {"stages": ("throughput",)}
"""Part of the report → its fields that are per time."""

ROUGH = ("itl_p50", "itl_p99")
"""Fields of a stage that are the middles of buckets 1 % wide: a time, but only so exactly."""


def expected(document: dict[str, Any], factor: float) -> dict[str, Any]:
    """The report and the samples of the program before, in the new unit of time."""

    def times(values: list[float]) -> list[float]:
        return [value * factor for value in values]

    def row(part: str, row: dict[str, Any]) -> dict[str, Any]:
        out = dict(row)
        for name in LONGER.get(part, ()):
            if out[name] is not None:
                out[name] *= factor
        for name in SHORTER.get(part, ()):
            out[name] /= factor
        for name in ROUGH:
            if out.get(name) is not None:
                out[name] *= factor
        return out

    report = row("", document["report"])
    for part in ("observes", "client", "gauges"):
        report[part] = {name: row(part, one) for name, one in report[part].items()}
    for part in ("claims", "stages", "pools"):
        if part in report:
            report[part] = [row(part, one) for one in report[part]]
    samples = document["samples"]
    return {
        "report": report,
        "samples": {
            "observes": {
                name: {**one, "times": times(one["times"])}
                for name, one in samples["observes"].items()
            },
            "client": {
                name: {**one, "times": times(one["times"]), "samples": times(one["samples"])}
                for name, one in samples["client"].items()
            },
            "gauges": {
                name: {**one, "times": times(one["times"])}
                for name, one in samples["gauges"].items()
            },
        },
    }
