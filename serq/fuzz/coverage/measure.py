"""Which side has compared which construct: counted from runs, program by program."""

from __future__ import annotations

import json
import os
import subprocess
import sys
import tempfile
from collections import Counter
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from functools import partial
from pathlib import Path

import serq
from serq.diagnostics import SerqError, Source
from serq.fuzz.case import RandomProgram
from serq.fuzz.coverage.constructs import used, written
from serq.fuzz.drawn import of_target
from serq.fuzz.reach import watching
from serq.fuzz.targets import TARGETS, lean, reference, vllm
from serq.fuzz.verdict import EQUAL, Verdict
from serq.ir import nodes as ir
from serq.ir.codec import to_json
from serq.leangen.generate import DIRECTORIES
from serq.link import compile_text
from serq.oracle import places
from serq.oracle import program as oracle_program
from serq.oracle.scenario import Scenario, load
from serq.settings import Settings
from serq.syntax.parser import parse

COLUMNS = {
    "interpreter test": "programs that the interpreter's own tests run",
    "reference build": "programs whose IR, report and samples are the reference build's",
    "Lean": "programs that the Lean semantics executes step by step as the interpreter does",
    "vLLM": "scenarios that vLLM's scheduler takes step by step as the program does",
    "claim": "programs with a claim proved in Lean",
}
"""Column → what is counted in it."""

TESTS = ("test_semantics_*.py", "test_closed_forms.py", "test_trace.py", "test_fast_path.py")
"""The interpreter's own tests: their expectations are worked out by hand, or closed forms."""

_ROOT = Path(serq.__file__).parents[1]


@dataclass
class Side:
    """What one column has seen: programs in all, and in how many a construct or situation was."""

    programs: int = 0
    constructs: Counter[str] = field(default_factory=Counter)
    situations: Counter[str] = field(default_factory=Counter)
    missing: str | None = None

    def add(self, constructs: set[str], reached: Counter[str]) -> None:
        """Take in one program."""
        self.programs += 1
        self.constructs.update(constructs)
        self.situations.update({name for name, count in reached.items() if count})

    def take(self, check: Callable[[], Verdict], constructs: Callable[[], set[str]]) -> None:
        """Take in the program of a check, if both of its sides were equal."""
        reached: Counter[str] = Counter()
        with watching(reached):
            label = check().label
        if label == EQUAL.label:
            self.add(constructs(), reached)


@dataclass
class Measured:
    """The table: a side for each column, measured over so many random cases of a seed."""

    cases: int
    seed: int
    sides: dict[str, Side]


def measure(cases: int, seed: int, say: Callable[[str], None] = lambda _: None) -> Measured:
    """Measure every column; a side that cannot run here has no counts and says why."""
    made: dict[str, Callable[[], Side]] = {
        "interpreter test": _tested,
        "reference build": lambda: _compared(cases, seed),
        "Lean": lambda: _executed(cases, seed),
        "vLLM": lambda: _scheduled(cases, seed),
        "claim": _claimed,
    }
    sides = {}
    for name in COLUMNS:
        say(name)
        sides[name] = made[name]()
    return Measured(cases, seed, sides)


def of_case(case: RandomProgram | ir.Program) -> set[str]:
    """The constructs of a random program, and of its text where it has one."""
    if isinstance(case, ir.Program):
        return used(case)
    return of_source(Source("<program>", case.text), case.compile())


def of_source(source: Source, program: ir.Program) -> set[str]:
    """The constructs of a text and of its IR."""
    return used(program) | written(parse(source))


def _compared(cases: int, seed: int) -> Side:
    side = Side(missing=reference.missing())
    if side.missing is not None:
        return side
    for case in of_target(TARGETS["reference"], seed, cases):
        side.take(partial(TARGETS["reference"].judge, case), partial(of_case, case))
    for source, program in _examples():
        check = partial(reference.check_runs, program, to_json(program))
        side.take(check, partial(of_source, source, program))
    return side


def _examples() -> Iterator[tuple[Source, ir.Program]]:
    """The examples and the programs of the linker's tests, with a short horizon."""
    for path in sorted([*_ROOT.glob("examples/**/*.sq"), *_ROOT.glob("tests/programs/*.sq")]):
        source = Source(path.name, path.read_text(encoding="utf-8"))
        try:
            linked = compile_text(source, settings=Settings(horizon=30.0), base_dir=path.parent)
        except SerqError:
            continue  # an input or a trace that only its own test has
        if linked.program.trace is None:
            yield source, linked.program


def _executed(cases: int, seed: int) -> Side:
    side = Side(missing=lean.missing())
    if side.missing is not None:
        return side
    for case in of_target(TARGETS["lean"], seed, cases):
        side.take(partial(TARGETS["lean"].judge, case), partial(of_case, case))
    return side


def _scheduled(cases: int, seed: int) -> Side:
    side = Side(missing=vllm.missing())
    if side.missing is not None:
        return side
    scenarios: list[Scenario] = [load(path) for path in places.scenarios()]
    for scenario in [*scenarios, *of_target(TARGETS["vllm"], seed, cases)]:
        side.take(partial(TARGETS["vllm"].judge, scenario), partial(_of_scenario, scenario))
    return side


def _of_scenario(scenario: Scenario) -> set[str]:
    text = oracle_program.Text.read(oracle_program.choose(scenario))
    return of_source(text.source, oracle_program.build(scenario, text))


def _claimed() -> Side:
    ledger = _ROOT / "lean" / "claims.json"
    if not ledger.is_file():
        return Side(missing="the list of claims is part of a checkout")
    side = Side()
    for name, entry in json.loads(ledger.read_text(encoding="utf-8")).items():
        proved = [claim for claim, state in entry["claims"].items() if state == "proved"]
        paths = (_ROOT / directory / f"{name}.sq" for directory in DIRECTORIES)
        path = next(filter(Path.is_file, paths), None)
        if not proved or path is None:
            continue
        source = Source(path.name, path.read_text(encoding="utf-8"))
        settings = Settings(horizon=float(entry["horizon"]))
        linked = compile_text(source, settings=settings, base_dir=path.parent)
        side.add(of_source(source, linked.program), Counter())
    return side


def _tested() -> Side:
    """The interpreter's own tests, in a process in which every run is recorded."""
    tests = sorted(str(path) for name in TESTS for path in (_ROOT / "tests").glob(name))
    if not tests:
        return Side(missing="the tests are part of a checkout")
    with tempfile.TemporaryDirectory() as directory:
        out = Path(directory) / "runs.json"
        plugin = "serq.fuzz.coverage.plugin"
        subprocess.run(
            [sys.executable, "-m", "pytest", "-q", "-p", plugin, *tests],
            env={**os.environ, "SERQ_COVERAGE": str(out)},
            cwd=_ROOT,
            check=False,
            capture_output=True,
        )
        if not out.is_file():
            return Side(missing="pytest is not installed")
        found = json.loads(out.read_text(encoding="utf-8"))
    counts = Counter(found["constructs"]), Counter(found["situations"])
    return Side(found["programs"], *counts)
