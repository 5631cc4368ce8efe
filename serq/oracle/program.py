"""The program's side: a scenario as a program's inputs and sessions, run by the interpreter."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass, replace
from functools import lru_cache
from pathlib import Path

from serq.diagnostics import Diagnostic, SerqError, Source
from serq.files import read_text
from serq.interp import Report, run
from serq.interp.record import Iteration, IterationRecorder, Key
from serq.ir import nodes as ir
from serq.link import compile_text
from serq.oracle import places
from serq.oracle.answer import Answer, Request, Step
from serq.oracle.scenario import Scenario
from serq.settings import Settings
from serq.syntax import ast
from serq.syntax.parser import parse

NEEDED = ("budget", "max_seqs", "block_size", "blocks")
"""The inputs that a program for the oracle declares with ``args.number``."""


ADAPTIVE = ("cap_among", "n > 1 ? max(chunk, floor(budget / n)) : inf")
"""The definition of the cap that an adaptive scenario replaces, and what it is there."""


def choose(scenario: Scenario) -> Path:
    """The example that has what the scenario uses, and no more than that."""
    if scenario.trace is not None:
        return places.program("replay/vllm_replay.sq")
    if scenario.policy == "priority":
        return places.program("oracle/vllm_priority.sq")
    conversations = any(len(session.turns) > 1 for session in scenario.sessions)
    if conversations or scenario.prefix_caching:
        return places.program("oracle/vllm_session.sq")
    return places.program("oracle/vllm_request.sq")


@dataclass(frozen=True)
class Text:
    """A program text and where its relative paths start."""

    source: Source
    directory: Path

    @classmethod
    def read(cls, path: Path) -> Text:
        return cls(Source(str(path), read_text(path, "program")), path.parent)


@dataclass(frozen=True)
class Declared:
    """What of a program can be set from outside: its inputs and its definitions, by name."""

    inputs: frozenset[str]
    definitions: frozenset[str]


@lru_cache(maxsize=8)
def declared(source: Source) -> Declared:
    """The names of the inputs and definitions in the program and its ``fn main``."""
    module = parse(source)
    items = (*module.preamble, *(module.main or ()))
    return Declared(
        frozenset(
            item.value.name
            for item in items
            if isinstance(item, ast.LetDecl) and isinstance(item.value, ast.ArgsNumber)
        ),
        frozenset(item.target.name for item in items if isinstance(item, ast.DefDecl)),
    )


def inputs(scenario: Scenario, known: frozenset[str], name: str) -> dict[str, float]:
    """What the scenario sets of the program's inputs; refuses a program that lacks one."""
    values: dict[str, float] = {
        "budget": scenario.budget,
        "max_seqs": scenario.max_seqs,
        "block_size": scenario.block_size,
        "blocks": scenario.num_blocks - 1,
    }
    needed = list(NEEDED)
    if scenario.chunk:
        values["chunk"] = scenario.chunk
        needed.append("chunk")
    values["caching"] = float(scenario.prefix_caching)
    if scenario.trace is not None:
        values |= {"sessions": len(scenario.sessions), "gap": scenario.gap}
        needed += ["sessions", "gap"]
    missing = [one for one in needed if one not in known]
    if missing:
        listed = ", ".join(f"`{one}`" for one in missing)
        raise SerqError.of(
            "oracle-program",
            f"the scenario `{scenario.name}` sets {listed}, which the program does not declare",
            where=name,
            help=f'declare the input: let {missing[0]} = args.number("{missing[0]}", …);',
        )
    return {one: value for one, value in values.items() if one in known}


def horizon(scenario: Scenario) -> float:
    """A time by which every request has ended, unless the program is stuck."""
    turns = [turn for session in scenario.sessions for turn in session.turns]
    tokens = sum(turn.prompt + turn.out for turn in turns)
    waits = sum(turn.think for turn in turns) + max(s.arrive for s in scenario.sessions)
    return float(1000 + waits + 20 * tokens)


def build(scenario: Scenario, text: Text) -> ir.Program:
    """The program with the scenario's numbers and its requests as explicit sessions.

    A scenario of a trace keeps the program's own arrivals, which read the trace.
    """
    there = declared(text.source)
    values = inputs(scenario, there.inputs, text.source.name)
    defs = dict([ADAPTIVE]) if scenario.adaptive else {}
    if scenario.adaptive and ADAPTIVE[0] not in there.definitions:
        raise SerqError.of(
            "oracle-program",
            f"the scenario `{scenario.name}` has an adaptive cap, and the program no definition "
            f"`{ADAPTIVE[0]}` of its cap",
            where=text.source.name,
            help=f"write the cap as def {ADAPTIVE[0]}(n) {{ n > 1 ? chunk : inf }}, which the "
            f"scenario makes {ADAPTIVE[1]}",
        )
    trace = None if scenario.trace is None else str(scenario.trace.resolve())
    settings = Settings(horizon=horizon(scenario), trace=trace)
    linked = compile_text(
        text.source, settings=settings, sets=dict(values), defs=defs, base_dir=text.directory
    )
    if scenario.trace is not None:
        return linked.program
    return replace(
        linked.program, arrival=sessions(scenario, linked.program, text.source.name), trace=None
    )


def sessions(scenario: Scenario, program: ir.Program, name: str) -> ir.Sessions:
    """The scenario's sessions, as presets of the attributes the program has for them."""
    slots = {attr: slot for slot, attr in enumerate(program.attrs)}
    faults: list[Diagnostic] = []

    def preset(attr: str, value: int, default: int = 0) -> tuple[tuple[int, float], ...]:
        if attr in slots:
            return ((slots[attr], float(value)),)
        if value != default and all(fault.where != f"{name}: {attr}" for fault in faults):
            faults.append(
                Diagnostic(
                    "oracle-program",
                    f"the scenario `{scenario.name}` gives its requests `{attr}`, an attribute "
                    "the program does not set",
                    where=f"{name}: {attr}",
                    help=f"set a first value in the workload: init {{ Size {attr} = 0; }}",
                )
            )
        return ()

    urgent = scenario.policy == "priority"  # first come, first served does not look at it
    data = tuple(
        ir.SessionData(
            attrs=preset("arrive", session.arrive)
            + preset("priority", session.priority if urgent else 0),
            turns=tuple(
                preset("prompt", turn.prompt)
                + preset("o", turn.out)
                + preset("prefix", turn.prefix)
                + preset("think", turn.think)
                for turn in session.turns
            ),
        )
        for session in scenario.sessions
    )
    if faults:
        raise SerqError(faults)
    return ir.Sessions(data)


def engine_memory(program: ir.Program, name: str) -> int:
    """The pool that is the memory of the program's one engine."""
    engines = [stage.kind for stage in program.stages if isinstance(stage.kind, ir.Step)]
    if len(engines) != 1 or engines[0].memory is None:
        raise SerqError.of(
            "oracle-program",
            f"the program has {len(engines)} engines; vLLM's scheduler is compared with one, "
            "whose device has a pool",
            where=name,
        )
    return engines[0].memory


def answer(scenario: Scenario, text: Text) -> Answer:
    """What the program does with the scenario, step by step."""
    program = build(scenario, text)
    pool = engine_memory(program, text.source.name)
    recorder = IterationRecorder()
    report = run(program, base_dir=text.directory, record=recorder)
    return told(
        scenario,
        "serq",
        steps(scenario, program, pool, recorder.iterations),
        observed(scenario, report),
    )


def steps(
    scenario: Scenario, program: ir.Program, pool: int, iterations: Iterable[Iteration]
) -> Iterator[Step]:
    """Iterations as steps: requests by number, free blocks of the engine's memory."""
    number = {key: n for n, key in enumerate(scenario.requests)}
    for one in iterations:
        yield Step(
            step=int(one.start) + 1,
            tokens=tuple((number[key], int(count)) for key, count in one.tokens),
            admitted=tuple((number[key], int(count)) for key, count in one.admitted),
            preempted=tuple(number[key] for key in one.preempted),
            free=free_blocks(program, pool, one.used[pool]),
        )


def free_blocks(program: ir.Program, pool: int, used: float) -> int:
    """The blocks of the engine's memory that nobody holds."""
    memory = program.pools[pool]
    return int((memory.cap - used) // (memory.block or 1.0))


Numbering = Callable[[int], int]
"""A session's number to the number of the request it has in flight."""

TIMES = ("sent", "first", "done")
"""The observations that are a request's times."""


def told(
    scenario: Scenario, scheduler: str, run_steps: Iterable[Step], seen: dict[str, dict[int, int]]
) -> Answer:
    """The answer in a run's steps and in what the program observes as sent, first and done.

    A program that observes none of them is read from its steps: the first token is known when
    the prompt is computed, the last when as many are sampled as the request asks for.
    """
    progress = [Progress(scenario, number) for number in range(len(scenario.requests))]
    kept = tuple(run_steps)
    for step in kept:
        for request in step.preempted:
            progress[request].preemptions += 1
        for request, cached in step.admitted:
            progress[request].admit(cached)
        for request, count in step.tokens:
            progress[request].advance(count, step.step)
    requests: list[Request] = []
    for n, (session, turn) in enumerate(scenario.requests):
        one = progress[n]
        began: int | None = scenario.sessions[session].arrive
        if turn:
            before = requests[-1].done
            began = None if before is None else before + scenario.turn(n - 1).think
        sent, first, done = (seen.get(name, {}) for name in TIMES)
        requests.append(
            Request(
                session=session,
                turn=turn,
                sent=sent.get(n, began),
                first=first.get(n, one.first),
                done=done.get(n, one.done),
                cached=tuple(one.cached),
                preemptions=one.preemptions,
            )
        )
    unfinished = any(request.done is None for request in requests)
    last = kept[-1].step if kept else 0
    return Answer(scheduler, "", tuple(requests), kept, last if unfinished else None)


class Progress:
    """One request, replayed from the tokens it was given."""

    def __init__(self, scenario: Scenario, number: int) -> None:
        turn = scenario.turn(number)
        self.prompt, self.out = turn.prompt, turn.out
        self.computed = self.sampled = self.preemptions = 0
        self.cached: list[int] = []
        self.first: int | None = None
        self.done: int | None = None

    def admit(self, cached: int) -> None:
        self.computed = cached
        self.cached.append(cached)

    def advance(self, count: int, step: int) -> None:
        self.computed += count
        if self.computed >= self.prompt + self.sampled:
            self.sampled += 1
            if self.first is None:
                self.first = step
            if self.sampled == self.out:
                self.done = step


def observed(scenario: Scenario, report: Report) -> dict[str, dict[int, int]]:
    """The times that the program observes, by name and request."""
    number = {key: n for n, key in enumerate(scenario.requests)}
    out: dict[str, dict[int, int]] = {}
    for name in TIMES:
        if name not in report.observes:
            continue
        seen = report.observes[name]
        found = out.setdefault(name, {})
        for value, session, turn in zip(seen.samples, seen.sessions, seen.turns, strict=True):
            key: Key = (int(session), int(turn) - 1)
            if key in number:
                found[number[key]] = int(value)
    return out
