"""Runs that the Lean kernel evaluates: vLLM's scenarios and the regressions, one file each.

A scenario's theorem says that the run of the program gives the recorded answer of vLLM's
scheduler: what every request observed, and in every step who was served how many tokens in which
order, who was admitted, who preempted, and how many units of KV cache were allocated.
"""

from __future__ import annotations

import json
from collections.abc import Callable
from dataclasses import dataclass, replace
from pathlib import Path

from serq.diagnostics import SerqError, Source
from serq.ir import nodes as ir
from serq.leangen.claims import camel
from serq.leangen.fragment import Executable, Outside, executable
from serq.leangen.lean_text import render
from serq.link import compile_text
from serq.oracle import answer as answers
from serq.oracle import places, program, scenario, setup
from serq.settings import Settings

SCENARIOS = ("chunked", "hol", "longchunk", "mixed", "preempt", "seqcap", "alone", "cache_trace")
"""The scenarios of ``oracle/`` that have a theorem."""

REGRESSIONS = ("chunk_expr", "cost_ctx", "preempt_delay")

Pair = tuple[int, int]


@dataclass(frozen=True, slots=True)
class StepRow:
    """One iteration: its start, tokens by session, admissions with what was cached of each,
    preemptions, units of memory."""

    start: int
    batch: tuple[Pair, ...]
    admitted: tuple[Pair, ...]
    preempted: tuple[int, ...]
    used: int

    def __str__(self) -> str:
        batch, admitted = _pairs(self.batch), _pairs(self.admitted)
        preempted = ", ".join(map(str, self.preempted))
        return f"({self.start}, {batch}, {admitted}, [{preempted}], {self.used})"


def _pairs(pairs: tuple[Pair, ...]) -> str:
    return "[" + ", ".join(f"({a}, {b})" for a, b in pairs) + "]"


@dataclass(frozen=True, slots=True)
class Evaluation:
    """A theorem about one run: the program, and what its run shows."""

    name: str
    title: str
    about: str
    sources: str
    sentence: str
    program: ir.Program
    horizon: int
    observed: dict[str, tuple[Pair, ...]]
    preemptions: int
    steps: tuple[StepRow, ...] = ()
    memory: int = 0
    prefix: str = "vllm_"

    @property
    def module(self) -> str:
        return camel(self.name)

    @property
    def theorem(self) -> str:
        return self.prefix + self.name


def evaluations(package_root: Path) -> list[tuple[str, Callable[[], Evaluation]]]:
    """All of them by name, each made when it is called."""
    made: list[tuple[str, Callable[[], Evaluation]]] = []
    for name in SCENARIOS:
        made.append((name, lambda name=name: of_scenario(name)))  # type: ignore[misc]
    for name in REGRESSIONS:
        where = package_root / "lean" / "regressions" / name
        made.append((name, lambda where=where: of_regression(where)))  # type: ignore[misc]
    return made


def of_scenario(name: str) -> Evaluation:
    """vLLM's recorded answer to a scenario as a statement about the scenario's program."""
    case = scenario.load(places.root() / "oracle" / f"{name}.json")
    recorded = places.recorded(name, setup.DEFAULT)
    answer = answers.load(recorded)
    chosen = program.choose(case)
    built = program.build(case, program.Text.read(chosen))
    memory = program.engine_memory(built, chosen.name)
    session = [s for s, _ in case.requests]
    block = built.pools[memory].block or 1.0
    steps = tuple(
        StepRow(
            start=step.step - 1,
            batch=tuple((session[r], n) for r, n in step.tokens),
            admitted=tuple((session[r], cached) for r, cached in step.admitted),
            preempted=tuple(session[r] for r in step.preempted),
            used=int(built.pools[memory].cap - step.free * block),
        )
        for step in answer.steps
    )
    return Evaluation(
        name=name,
        title=f"The scenario `{name}` on vLLM's scheduler",
        about=case.about,
        sources=f"`oracle/{name}.json`, `oracle/recorded/{recorded.name}` and "
        f"`examples/{chosen.parent.name}/{chosen.name}`",
        sentence="The run of the program is what vLLM's scheduler does: every request's times, and "
        "in every step the\ntokens in serving order, the admissions with what was cached, the "
        "preemptions and the KV cache in\nuse.",
        program=built,
        horizon=max(r.done or 0 for r in answer.requests) + 5,
        observed=_request_times(answer, built),
        preemptions=answer.preemptions,
        steps=steps,
        memory=memory,
    )


def _request_times(answer: answers.Answer, built: ir.Program) -> dict[str, tuple[Pair, ...]]:
    """What the program's observations are to be, in serial order and then in the order made."""
    read: dict[str, Callable[[answers.Request], list[int]]] = {
        "sent": lambda r: [] if r.sent is None else [r.sent],
        "first": lambda r: [] if r.first is None else [r.first],
        "done": lambda r: [] if r.done is None else [r.done],
        "reused": lambda r: list(r.cached),
    }
    ordered = sorted(answer.requests, key=lambda r: (r.session, r.turn))
    return {
        name: tuple((r.session, value) for r in ordered for value in read[name](r))
        for name in built.observes
    }


def of_regression(where: Path) -> Evaluation:
    """A regression: a small program, its sessions, and the interpreter's answer as recorded."""
    data = json.loads(where.with_suffix(".json").read_text(encoding="utf-8"))
    path = where.with_suffix(".sq")
    source = Source(path.name, path.read_text(encoding="utf-8"))
    linked = compile_text(source, settings=Settings(horizon=float(data["horizon"])))
    slots = {name: slot for slot, name in enumerate(linked.program.attrs)}
    sessions = tuple(
        ir.SessionData(tuple((slots[a], float(v)) for a, v in session.items()))
        for session in data["sessions"]
    )
    return Evaluation(
        name=where.name,
        title=f"The regression `{where.name}`",
        about=data["about"],
        sources=f"`lean/regressions/{where.name}.sq` and `.json`",
        sentence="The run of the program gives the observations that the interpreter gave.",
        program=replace(linked.program, arrival=ir.Sessions(sessions)),
        horizon=data["horizon"],
        observed={n: tuple((s, v) for s, v in rows) for n, rows in data["observed"].items()},
        preemptions=data["preemptions"],
        prefix="regression_",
    )


def text_of(evaluation: Evaluation) -> str:
    """The generated file of one evaluation."""
    verdict = executable(evaluation.program)
    if isinstance(verdict.result, Outside):
        raise SerqError.of(
            "outside-lean",
            f"the program of `{evaluation.name}` is outside the Lean fragment: "
            + "; ".join(map(str, verdict.result.reasons)),
        )
    made: Executable = verdict.result
    observes = evaluation.program.observes
    return render(
        "OracleScenario.lean.j2",
        evaluation=evaluation,
        name=evaluation.module,
        executable=made,
        attributes=attribute_list(evaluation.program.attrs),
        observations=", ".join(f"{i} {name}" for i, name in enumerate(observes)),
        observed=[
            (observes.index(name), name, [f"({s}, {v})" for s, v in rows])
            for name, rows in evaluation.observed.items()
        ],
    )


def attribute_list(attrs: tuple[str, ...]) -> str:
    """The program's own attributes with their slots, for a file's head."""
    own = [f"{slot} {name}" for slot, name in enumerate(attrs) if slot >= len(ir.BUILTIN_ATTRS)]
    return ", ".join(own)
