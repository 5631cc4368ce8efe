"""A program of the IR as text: `written` gives a text that links to the same IR.

The text is flat: the IR has no queues, definitions or requests, so what came from them is written
as the pools, stages and statements it stands for. A name with a dot in it (``P.kv``) gets an
underscore. What the language has no words for is listed by name in `REASONS` and refused.
"""

from __future__ import annotations

from dataclasses import dataclass

from serq.fuzz.spelling.blocks import Statements, in_order
from serq.fuzz.spelling.names import spelled
from serq.fuzz.spelling.reasons import REASONS, refuse
from serq.fuzz.spelling.resources import Resources
from serq.fuzz.spelling.slots import in_first_order, sessions_written_out
from serq.fuzz.spelling.values import (
    NOWHERE,
    Values,
    constant,
    ident,
    not_folded,
    path,
)
from serq.ir import nodes as ir
from serq.ir.extensions import marked
from serq.ir.moments import Moment
from serq.settings import Settings
from serq.syntax import ast
from serq.syntax.format import format_source
from serq.syntax.printer import to_text

__all__ = ["REASONS", "Written", "sessions_written_out", "written"]


_SLOTS = ("cached", "serial", "turn", "new", "out", "think", "more", "forced", "computed")


@dataclass(frozen=True)
class Written:
    """A program's text, and what linking it gives.

    ``program`` is the program itself but for its names and the order of its blocks and slots;
    ``names`` says which names are others (old → new).
    """

    text: str
    program: ir.Program
    names: dict[str, str]

    def settings(self) -> Settings:
        """The settings to link the text with, trace path included (it stands in the text)."""
        p = self.program
        return Settings(p.horizon, p.warmup, p.seed, p.arrivals, None)


def written(program: ir.Program) -> Written:
    """The text of a program that links to it. Raises `SerqError` (``no-spelling``).

    The program is one that `serq.ir.validate.validate` accepts.
    """
    unmarked = marked(program)
    if (program.version, program.extensions) != (unmarked.version, unmarked.extensions):
        raise refuse("extension", ", ".join(program.extensions) or f"version {program.version}")
    if program.trace is None and program.trace_ordered:
        raise refuse("trace", "ordered")
    slots = tuple(getattr(program, f"slot_{name}") for name in _SLOTS)
    if slots != tuple(range(9)) or program.attrs[:9] != ir.BUILTIN_ATTRS:
        raise refuse("built-in slots", f"{slots}")
    names = spelled(in_first_order(in_order(program)))
    values = Values(names)
    resources = Resources(names, values)
    blocks = Statements(values).blocks()
    items: list[ast.Item] = resources.declarations()
    if program.share is not None:
        policy = "maxmin" if program.share is ir.Share.MAX_MIN else "bottleneck"
        items.append(ast.ShareDecl(NOWHERE, policy))
    if blocks.server is not None:
        workload = _workload(names.program, values)
        named = (("init", blocks.init), ("turn", blocks.turn), ("session", blocks.session))
        bodies = [
            ast.BlockItem(NOWHERE, name, body)
            for name, body in named
            if body is not None and (body.statements or name == "session")
        ]
        arrivals, hidden = workload
        items.append(ast.WorkloadDecl(NOWHERE, (*arrivals, *bodies, *hidden)))
        items.append(ast.ServerDecl(NOWHERE, blocks.server))
    elif program.trace is not None or not isinstance(program.arrival, ir.NoArrivals):
        raise refuse("session", "arrivals without a session")
    items += _gauges(names.program, values)
    items += _claims(names.program, values)
    lets = [
        ast.LetDecl(NOWHERE, ident(name), constant(value)) for name, value in values.lets.values()
    ]
    module = ast.Module(NOWHERE, (), (*lets, *items))
    text = format_source(to_text(module), "<ir>")
    return Written(text, names.program, names.names)


def _workload(
    program: ir.Program, values: Values
) -> tuple[list[ast.WorkloadItem], list[ast.WorkloadItem]]:
    """What stands above the blocks of the workload, and below them."""
    above: list[ast.WorkloadItem] = [_arrive(program.arrival, values)]
    if program.trace is not None:
        if any(sign in program.trace for sign in '"\n\\'):
            raise refuse("not a name", f"the trace {program.trace!r}")
        above.append(ast.TraceItem(NOWHERE, program.trace, program.trace_ordered))
    hidden = [ident(program.attrs[slot]) for slot in program.hidden]
    return above, [ast.HiddenItem(NOWHERE, tuple(hidden))] if hidden else []


def _arrive(arrival: ir.Arrival, values: Values) -> ast.ArriveItem:
    match arrival:
        case ir.Poisson(rate=rate):
            return ast.ArriveItem(NOWHERE, "poisson", constant(rate))
        case ir.Renewal(gap=gap):
            not_folded(gap, "the gap of a renewal")
            return ast.ArriveItem(NOWHERE, "renewal", values.expression(gap, Moment.GAP))
        case ir.Closed(population=count):
            return ast.ArriveItem(NOWHERE, "closed", constant(float(count)))
        case ir.Batch(size=count):
            return ast.ArriveItem(NOWHERE, "batch", constant(float(count)))
        case ir.NoArrivals():
            return ast.ArriveItem(NOWHERE, "none", None)
        case ir.Sessions(sessions=sessions):
            raise refuse("explicit sessions", f"{len(sessions)} of them")


def _gauges(program: ir.Program, values: Values) -> list[ast.Item]:
    return [
        ast.GaugeDecl(NOWHERE, ident(g.name), values.expression(g.expr, Moment.GAUGE))
        for g in program.gauges
    ]


def _claims(program: ir.Program, values: Values) -> list[ast.Item]:
    out: list[ast.Item] = []
    for claim in program.claims:
        given = None if claim.given is None else values.expression(claim.given, Moment.GIVEN)
        form, stage, moment = "end", None, Moment.END
        if not isinstance(claim.kind, ir.AtEnd):
            form = "every" if isinstance(claim.kind, ir.EveryIteration) else "some"
            moment = Moment.ITERATION
            number = claim.kind.stage
            for family in values.spelled.stages:
                if family.base <= number < family.base + family.count:
                    index = constant(float(number - family.base)) if family.indexed else None
                    stage = path(family.name, index)
        value = values.expression(claim.expr, moment)
        out.append(ast.ClaimDecl(NOWHERE, ident(claim.name), given, form, stage, value))
    return out
