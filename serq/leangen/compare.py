"""The interpreter and the Lean semantics on one program: the first step at which they differ."""

from __future__ import annotations

import json
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field
from typing import Any

from serq.diagnostics import SerqError
from serq.interp.build import build
from serq.interp.counters import Counters
from serq.interp.engine import Batch, Engine
from serq.interp.machine import Machine
from serq.interp.record import IterationRecorder
from serq.interp.results import report as report_of
from serq.ir import nodes as ir
from serq.ir.codec import to_json
from serq.leangen.fragment import Executable
from serq.leangen.normal import normal_form
from serq.toolchain.lean import Lean
from serq.toolchain.places import LeanPackage

EXEC_MAIN = "Main"
"""The Lean module of ``serq-exec``."""

Number = int | float

Counted = tuple[Number, ...]
"""What claims read as counted: preemptions, rejections, stuck sessions, recomputed units."""


@dataclass(frozen=True, slots=True)
class Step:
    """One iteration: who was served how many tokens in which order, who came and who had to go."""

    start: Number
    batch: tuple[tuple[int, Number], ...]
    admitted: tuple[tuple[int, Number], ...]
    preempted: tuple[int, ...]
    free: tuple[Number, ...]
    counted: tuple[Counted, ...] = ()


Sample = tuple[Number, Number]
"""Time and value of an observation."""


@dataclass(frozen=True, slots=True)
class StepTrace:
    """What a run showed: its steps, and each session's observations in the order made."""

    steps: tuple[Step, ...]
    observations: dict[tuple[str, int], tuple[Sample, ...]] = field(default_factory=dict)
    ended: int | None = None
    end: End | None = None


@dataclass(frozen=True, slots=True)
class End:
    """The final state: preemptions and rejections in all, each pool's used and cached units, and
    the counters of the engine and of each pool."""

    preemptions: int
    rejected: int
    pools: tuple[tuple[Number, Number], ...]
    counted: tuple[Counted, ...] = ()


class _Recorder(IterationRecorder):
    """The iterations, and what had been counted as each started."""

    def __init__(self) -> None:
        super().__init__()
        self.counted: list[tuple[Counted, ...]] = []

    def iteration(self, engine: Engine, batch: Batch) -> None:
        super().iteration(engine, batch)
        self.counted.append(_counted(engine.machine))


def _counted(machine: Machine) -> tuple[Counted, ...]:
    """The counters of the engine, if there is one, and of each pool."""
    engines: list[Any] = [engine.counters for engine in machine.engines] or [Counters()]
    return tuple(
        (one.preemptions, one.rejected, one.stuck, _number(one.recomputed))
        for one in (*engines, *machine.pools)
    )


@dataclass(frozen=True, slots=True)
class Difference:
    """The first thing that is not the same on both sides."""

    where: str
    interpreter: object
    lean: object

    def __str__(self) -> str:
        return f"{self.where}: the interpreter has {self.interpreter}, Lean has {self.lean}"


def interpreted(program: ir.Program) -> StepTrace:
    """The interpreter's step trace. Raises `SerqError` where the run ends with an error."""
    recorder = _Recorder()
    machine = build(program, None, recorder)
    machine.run()
    report = report_of(machine)
    caps = [p.cap for p in program.pools]
    steps = tuple(
        Step(
            start=_number(one.start),
            batch=tuple((s, _number(n)) for (s, _), n in one.tokens),
            admitted=tuple((s, _number(n)) for (s, _), n in one.admitted),
            preempted=tuple(s for s, _ in one.preempted),
            free=tuple(_number(cap - u) for cap, u in zip(caps, one.used, strict=True)),
            counted=counted,
        )
        for one, counted in zip(recorder.iterations, recorder.counted, strict=True)
    )
    seen: dict[tuple[str, int], list[Sample]] = {}
    for name, observed in report.observes.items():
        rows = zip(observed.sessions, observed.times, observed.samples, strict=True)
        for session, time, value in rows:
            seen.setdefault((name, int(session)), []).append((_number(time), _number(value)))
    end = End(
        preemptions=sum(p.preemptions for p in report.pools),
        rejected=sum(p.rejected for p in report.pools),
        pools=tuple((_number(p.used), _number(p.cached)) for p in machine.pools),
        counted=_counted(machine),
    )
    return StepTrace(tuple(steps), {k: tuple(v) for k, v in seen.items()}, report.ended, end)


def _number(value: Any) -> Number:
    number = float(value)
    return int(number) if number.is_integer() else number


def executed(
    lean: Lean, package: LeanPackage, cases: Iterable[tuple[ir.Program, Executable]]
) -> list[StepTrace]:
    """The step traces of ``serq-exec`` for translated programs, all in one process.

    Raises `SerqError` (``lean-exec``) when it does not answer every line, refuses a program or
    runs out of fuel.
    """
    lines = [line_of(program, made) for program, made in cases]
    if not lines:
        return []
    main = package.source / f"{EXEC_MAIN}.lean"
    done = lean.run(package, ["--run", main], capture=True, text="\n".join(lines) + "\n")
    answers = [line for line in done.stdout.splitlines() if line.strip()]
    if done.returncode or len(answers) != len(lines):
        raise SerqError.of(
            "lean-exec",
            f"serq-exec answered {len(answers)} of {len(lines)} programs "
            f"and ended with status {done.returncode}: {done.stderr.strip()[-300:]}",
        )
    return [trace_of(json.loads(answer), i) for i, answer in enumerate(answers)]


def line_of(program: ir.Program, made: Executable) -> str:
    """The line that asks ``serq-exec`` to run a translated program."""
    return json.dumps(json.loads(to_json(normal_form(program, made))))


def trace_of(answer: dict[str, Any], number: int = 0) -> StepTrace:
    """The step trace in an answer of ``serq-exec``. Raises `SerqError` (``lean-exec``)."""
    for key in ("outside", "error"):
        if key in answer:
            raise SerqError.of("lean-exec", f"serq-exec refuses program {number}: {answer[key]}")
    if answer["outOfFuel"]:
        raise SerqError.of("lean-exec", f"serq-exec ran out of fuel on program {number}")
    steps = []
    counted: tuple[Counted, ...] = ()
    for one in answer["iterations"]:
        if "counted" in one:  # otherwise it is what it was
            counted = tuple(tuple(row) for row in one["counted"])
        step = Step(
            start=one["start"],
            batch=tuple((s, n) for s, n in one["batch"]),
            admitted=tuple((s, n) for s, n in one.get("admitted", ())),
            preempted=tuple(one.get("preempted", ())),
            free=tuple(one["free"]),
            counted=counted,
        )
        steps.append(step)
    seen: dict[tuple[str, int], list[Sample]] = {}
    for name, session, time, value in answer["observations"]:
        seen.setdefault((name, session), []).append((time, value))
    pools = tuple((used, cached) for used, cached in answer["pools"])
    counted = tuple(tuple(row) for row in answer["counted"])
    end = End(answer["preemptions"], answer["rejected"], pools, counted)
    return StepTrace(tuple(steps), {k: tuple(v) for k, v in seen.items()}, answer["ended"], end)


def first_difference(ours: StepTrace, lean: StepTrace) -> Difference | None:
    """The first step that differs, else the first observation, else what is left at the end."""
    for number, (a, b) in enumerate(zip(ours.steps, lean.steps, strict=False)):
        if a != b:
            return _in_step(number, a, b)
    if len(ours.steps) != len(lean.steps):
        shorter = min(len(ours.steps), len(lean.steps))
        return Difference(
            f"iteration {shorter}", _at(ours.steps, shorter), _at(lean.steps, shorter)
        )
    for key in sorted(ours.observations.keys() | lean.observations.keys()):
        mine, theirs = ours.observations.get(key, ()), lean.observations.get(key, ())
        for i in range(max(len(mine), len(theirs))):
            x, y = _at(mine, i), _at(theirs, i)
            if x != y:
                return Difference(f"observation `{key[0]}` {i} of session {key[1]}", x, y)
    if ours.ended != lean.ended:
        return Difference("ended sessions", ours.ended, lean.ended)
    if ours.end != lean.end:
        return Difference("the final state", ours.end, lean.end)
    return None


def _in_step(number: int, a: Step, b: Step) -> Difference:
    for name in ("start", "batch", "admitted", "preempted", "free", "counted"):
        mine, theirs = getattr(a, name), getattr(b, name)
        if mine != theirs:
            where = f"iteration {number} (start {a.start}): {name}"
            return Difference(where, mine, theirs)
    raise AssertionError("equal steps have no difference")


def _at(rows: Sequence[object], i: int) -> object:
    return rows[i] if i < len(rows) else "none"
