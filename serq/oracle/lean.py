"""The third side: the scenario in the Lean semantics, executed by Lean itself."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence

from serq.diagnostics import SerqError
from serq.interp.record import Key
from serq.interp.trace import read_trace
from serq.ir import nodes as ir
from serq.ir.rewrite import inline_trace
from serq.leangen.compare import EXEC_MAIN, StepTrace, executed
from serq.leangen.fragment import Executable, Outside, executable
from serq.oracle import program
from serq.oracle.answer import Answer, Step
from serq.oracle.program import Text
from serq.oracle.scenario import Scenario
from serq.toolchain.lean import Lean, find_lean
from serq.toolchain.places import LeanPackage, lean_package

Case = tuple[Scenario, Text]


def available() -> tuple[Lean, LeanPackage] | None:
    """A Lean that is installed, with the package; ``None`` where there is none."""
    package = lean_package()
    lean = find_lean(package)
    return None if lean is None else (lean, package)


def answers(lean: Lean, package: LeanPackage, cases: Sequence[Case]) -> list[Answer | str]:
    """What the Lean semantics does with each scenario, or why its program is outside."""
    built = lean.build(package, [EXEC_MAIN])
    if not built.ok:
        raise SerqError.of("lean-exec", "the Lean semantics does not build; see `serq lean build`")
    out: list[Answer | str] = [""] * len(cases)
    inside: list[tuple[int, ir.Program, Executable]] = []
    for i, (scenario, text) in enumerate(cases):
        try:
            compiled = _explicit(scenario, program.build(scenario, text))
        except SerqError as fault:
            out[i] = fault.diagnostics[0].message
            continue
        verdict = executable(compiled).result
        if isinstance(verdict, Outside):
            out[i] = f"not in the fragment: {verdict.reasons[0]}"
        else:
            inside.append((i, compiled, verdict))
    traces = executed(lean, package, [(compiled, made) for _, compiled, made in inside])
    for (i, compiled, _), trace in zip(inside, traces, strict=True):
        scenario, text = cases[i]
        pool = program.engine_memory(compiled, text.source.name)
        out[i] = told(scenario, compiled, pool, trace)
    return out


def _explicit(scenario: Scenario, compiled: ir.Program) -> ir.Program:
    """A trace becomes explicit sessions, which is how Lean takes it."""
    if scenario.trace is None:
        return compiled
    return inline_trace(compiled, read_trace(scenario.trace))


def told(scenario: Scenario, compiled: ir.Program, pool: int, trace: StepTrace) -> Answer:
    """The answer in a step trace, whose records name sessions and not their turns."""
    number = {key: n for n, key in enumerate(scenario.requests)}
    seen: dict[str, dict[int, int]] = {}
    for (name, session), samples in trace.observations.items():
        if name in program.TIMES:
            for turn, (_, value) in enumerate(samples):
                seen.setdefault(name, {})[number[session, turn]] = int(value)
    return program.told(scenario, "lean", _steps(scenario, compiled, pool, trace), seen)


def _steps(scenario: Scenario, compiled: ir.Program, pool: int, trace: StepTrace) -> Iterator[Step]:
    number = {key: n for n, key in enumerate(scenario.requests)}
    turn = dict.fromkeys(range(len(scenario.sessions)), 0)
    progress = [program.Progress(scenario, n) for n in range(len(number))]
    cap = compiled.pools[pool].cap

    def request(session: int) -> int:
        key: Key = (session, turn[session])
        return number[key]

    for one in trace.steps:
        step = Step(
            step=int(one.start) + 1,
            tokens=_numbered(request, one.batch),
            admitted=_numbered(request, one.admitted),
            preempted=tuple(request(session) for session in one.preempted),
            free=program.free_blocks(compiled, pool, cap - one.free[pool]),
        )
        yield step
        for n, cached in step.admitted:
            progress[n].admit(cached)
        for n, count in step.tokens:
            progress[n].advance(count, step.step)
            if progress[n].done is not None:  # the session's next request is another one
                turn[scenario.requests[n][0]] += 1


def _numbered(
    request: program.Numbering, pairs: Iterable[tuple[int, int | float]]
) -> tuple[tuple[int, int], ...]:
    return tuple((request(session), int(count)) for session, count in pairs)
