"""A program's run as a theorem that Lean's kernel evaluates: the steps the interpreter took.

``serq-exec`` runs the same definitions, compiled; here the kernel computes them itself, which is a
thousand times slower: for a few small programs.
"""

from __future__ import annotations

import math
from dataclasses import replace
from pathlib import Path

from serq.ir import nodes as ir
from serq.leangen.compare import StepTrace, interpreted
from serq.leangen.oracle import Evaluation, StepRow, text_of
from serq.toolchain.lean import Lean
from serq.toolchain.messages import BuildResult
from serq.toolchain.places import LeanPackage


def statement(name: str, program: ir.Program, trace: StepTrace) -> Evaluation:
    """That a run has the steps, observations and preemptions of ``trace``.

    Of the pools it says what is in use of the engine's memory, or of the first pool.
    """
    kinds = [stage.kind for stage in program.stages]
    memory = next((k.memory for k in kinds if isinstance(k, ir.Step) and k.memory is not None), 0)
    caps = [pool.cap for pool in program.pools]
    steps = tuple(
        StepRow(
            start=int(one.start),
            batch=tuple((s, int(n)) for s, n in one.batch),
            admitted=tuple((s, int(n)) for s, n in one.admitted),
            preempted=one.preempted,
            used=int(caps[memory] - one.free[memory]) if caps else 0,
        )
        for one in trace.steps
    )
    rows = sorted(trace.observations.items(), key=lambda row: row[0][1])
    return Evaluation(
        name=name,
        title="A random program",
        about="Its steps are the interpreter's.",
        sources="a search",
        sentence="The run of the program is what the interpreter did.",
        program=program,
        horizon=math.floor(program.horizon),
        observed={
            observe: tuple(
                (session, int(value))
                for (named, session), samples in rows
                if named == observe
                for _, value in samples
            )
            for observe in program.observes
        },
        preemptions=0 if trace.end is None else trace.end.preemptions,
        steps=steps,
        memory=memory,
        prefix="random_",
    )


def evaluate(
    lean: Lean,
    package: LeanPackage,
    statements: dict[str, Evaluation],
    directory: Path,
) -> BuildResult:
    """Have the kernel check each statement, one module each, in ``directory``."""
    source = directory / "src"
    source.mkdir(parents=True, exist_ok=True)
    for module, one in statements.items():
        (source / f"{module}.lean").write_text(text_of(one), encoding="utf-8")
    return lean.builder(package, directory / "out").build([source], list(statements))


def of_interpreter(name: str, program: ir.Program, horizon: float) -> Evaluation:
    """The statement that a program takes the interpreter's steps up to ``horizon``.

    Raises `SerqError` where the run ends with an error.
    """
    shorter = replace(program, horizon=min(horizon, program.horizon))
    return statement(name, shorter, interpreted(shorter))
