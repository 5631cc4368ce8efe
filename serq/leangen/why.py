"""The fragment, explained: every construct of a program, and what keeps it out of Lean."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

from serq.diagnostics import Span
from serq.ir import nodes as ir
from serq.leangen.claims import claims
from serq.leangen.fragment import Outside, executable
from serq.leangen.reasons import Reason, Spans


@dataclass(frozen=True, slots=True)
class Construct:
    """A part of a program: its place in the IR (and in the text), and what it is."""

    path: str
    what: str
    span: Span | None


@dataclass(frozen=True, slots=True)
class Explained:
    """A construct, what keeps it out, and what the two executions' agreement depends on.

    ``run`` is about running it in Lean on given sessions, ``claims`` about stating claims.
    """

    construct: Construct
    run: tuple[str, ...]
    claims: tuple[str, ...]
    conditions: tuple[str, ...]


@dataclass(frozen=True, slots=True)
class Explanation:
    constructs: tuple[Explained, ...]
    runs: bool
    """Lean can run the program on the sessions it brings."""

    states: bool
    """Lean can state claims about the program."""


def explain(program: ir.Program, spans: Spans | None = None) -> Explanation:
    """Every construct of a program with the reasons that are about it."""
    as_run, as_claims = executable(program, spans), claims(program, spans)
    run_reasons = as_run.result.reasons if isinstance(as_run.result, Outside) else ()
    conditions = [*as_run.conditions, *as_claims.conditions]
    found = list(constructs(program, spans))
    rows = []
    for construct in found:
        rows.append(
            Explained(
                construct,
                _about(construct, run_reasons, found),
                _about(construct, as_claims.reasons, found),
                _about(construct, conditions, found),
            )
        )
    return Explanation(tuple(rows), not run_reasons, as_claims.claimed is not None)


def _about(
    construct: Construct, reasons: tuple[Reason, ...] | list[Reason], all_: list[Construct]
) -> tuple[str, ...]:
    """The reasons whose place lies in the construct and in no smaller one."""
    mine = []
    for reason in reasons:
        owners = [c for c in all_ if _within(reason.path, c.path)]
        owner = max(owners, key=lambda c: len(c.path), default=None)
        if owner is construct and reason.why not in mine:
            mine.append(reason.why)
    return tuple(mine)


def _within(path: str, outer: str) -> bool:
    return path == outer or path.startswith((f"{outer}.", f"{outer}["))


def constructs(program: ir.Program, spans: Spans | None = None) -> Iterator[Construct]:
    """The parts of a program, in the order of its IR."""

    def of(node: object) -> Span | None:
        return None if spans is None else spans.span_of(node)

    yield Construct("arrival", _arrival(program.arrival), of(program.arrival))
    if program.trace is not None:
        yield Construct("trace", f"trace {program.trace}", None)
    if program.share is not None:
        yield Construct("share", f"share {program.share.lower()}", None)
    for i, pool in enumerate(program.pools):
        yield from _pool(i, pool, of(pool))
    for i, stage in enumerate(program.stages):
        yield from _stage(i, stage, of(stage))
    for i, register in enumerate(program.registers):
        yield Construct(f"registers[{i}]", f"state {register.name}", of(register))
    for b, block in enumerate(program.blocks):
        for i, statement in enumerate(block):
            span = None if spans is None else spans.stmt_span(b, i)
            yield Construct(f"blocks[{b}][{i}]", _statement(program, statement), span)
    for i, claim in enumerate(program.claims):
        yield Construct(f"claims[{i}]", f"claim {claim.name}", of(claim))


def _arrival(arrival: ir.Arrival) -> str:
    match arrival:
        case ir.Poisson(rate):
            return f"arrive poisson({rate:g})"
        case ir.Sessions(sessions):
            return f"{len(sessions)} explicit sessions"
        case ir.Batch(size):
            return f"arrive batch({size})"
        case ir.Closed(population):
            return f"arrive closed({population})"
        case ir.Renewal():
            return "arrive renewal(…)"
        case ir.NoArrivals():
            return "arrive none"


def _named(kind: str, thing: ir.Pool | ir.Stage) -> str:
    return f"{kind} {thing.name}" + ("" if thing.index is None else f"[{thing.index}]")


def _pool(i: int, pool: ir.Pool, span: Span | None) -> Iterator[Construct]:
    path, name = f"pools[{i}]", _named("pool", pool)
    yield Construct(path, name, span)
    if isinstance(pool.evict, ir.EvictBy):
        yield Construct(f"{path}.evict", f"{name}: evict by", span)
    if isinstance(pool.preempt, ir.PreemptBy):
        yield Construct(f"{path}.preempt", f"{name}: preempt", span)
    if pool.queue is not None:
        yield Construct(f"{path}.queue", f"{name}: queue by", span)
    if pool.spill is not None:
        yield Construct(f"{path}.spill", f"{name}: spill", span)
    if pool.reserve_held:
        yield Construct(f"{path}.reserve_held", f"{name}: reserve held", span)


def _stage(i: int, stage: ir.Stage, span: Span | None) -> Iterator[Construct]:
    path = f"stages[{i}]"
    if not isinstance(stage.kind, ir.Step):
        yield Construct(path, _named("stage", stage), span)
        return
    name = _named("engine", stage)
    yield Construct(path, name, span)
    step = f"{path}.kind.Step"
    yield Construct(f"{step}.budget", f"{name}: tokens cap", span)
    yield Construct(f"{step}.cost", f"{name}: execute", span)
    yield Construct(f"{step}.chunk", f"{name}: each at most", span)
    yield Construct(f"{step}.serve", f"{name}: serving order", span)
    if stage.kind.granule is not None:
        yield Construct(f"{step}.granule", f"{name}: granule", span)
    if stage.kind.iteration is not None:
        yield Construct(f"{step}.iteration", f"{name}: schedule", span)


def _statement(program: ir.Program, s: ir.Stmt) -> str:
    match s:
        case ir.Set(slot, _):
            return f"set {program.attrs[slot]}"
        case ir.Observe(observe, _):
            return f"observe {program.observes[observe]}"
        case ir.Hold(pools):
            return "hold " + ", ".join(program.pools[p.pool.base].name for p in pools)
        case ir.Run(stage, mode, _, _, _):
            how = "" if mode is ir.Mode.PLAIN else f" {mode.lower()}"
            return f"run {program.stages[stage.base].name}{how}"
        case ir.Grow(pool) | ir.Load(pool) | ir.Drop(pool) | ir.Release(pool):
            return f"{type(s).__name__.lower()} {program.pools[pool.base].name}"
        case ir.Choose(var):
            return f"choose {program.attrs[var]}"
    return type(s).__name__.lower()
