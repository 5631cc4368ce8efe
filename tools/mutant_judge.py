"""One tree against the answers on record: the process of `tools/mutants.py`.

`mutant_judge.py FILE N SEED` draws cases and records what the other sides answer, in the tree that
``PYTHONPATH`` names, and prints how many they are. `judge` puts a changed tree to them
(`mutant_server.py` calls it), the cheapest comparison first, and stops at the first case that is
answered otherwise.
"""

from __future__ import annotations

import json
import pickle
import signal
import sys
import warnings
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any, TypeVar

import serq
from serq.diagnostics import SerqError
from serq.fuzz.case import RandomProgram, from_file_text
from serq.fuzz.drawn import of_target
from serq.fuzz.lean_process import lean_process
from serq.fuzz.reference import Crashed, Refused, samples
from serq.fuzz.results import Result, difference, of_reference, of_report
from serq.fuzz.targets import TARGETS, invariants, metamorphic, vllm
from serq.interp import run
from serq.ir import nodes as ir
from serq.ir.codec import from_json, to_json
from serq.leangen.compare import StepTrace, first_difference, interpreted, line_of
from serq.leangen.fragment import Executable, executable
from serq.leangen.generate import library
from serq.leangen.normal import normal_form
from serq.oracle import answer as answers
from serq.oracle import places, program
from serq.oracle.answer import Answer
from serq.oracle.check import Verdict, compare
from serq.oracle.scenario import Scenario, load

T = TypeVar("T")

ROOT = Path(serq.__file__).parents[1]
PATIENCE = 20
"""Seconds of the processor for one case: a fault may well be that a run does not end."""


@dataclass
class Answered:
    """A program, its IR, and what the reference build's run of it gave."""

    case: RandomProgram
    document: str
    answer: Result

    def program(self) -> ir.Program:
        """The IR; its trace is a file of this process."""
        return replace(from_json(self.document), trace=self.case.settings().trace)


@dataclass
class Cases:
    """Cases with the answers of the other sides."""

    corpus: list[Answered] = field(default_factory=list)
    reference: list[Answered] = field(default_factory=list)
    lean: list[tuple[str, str, StepTrace]] = field(default_factory=list)
    vllm: list[tuple[Scenario, Answer]] = field(default_factory=list)
    texts: list[RandomProgram] = field(default_factory=list)
    calls: dict[str, list[frozenset[str]]] = field(default_factory=dict)
    """Comparison → for each case the functions of the package that it runs."""


# --- recording ------------------------------------------------------------------------------------


def record(programs: int, seed: int) -> Cases:
    """Cases on which this tree and the other sides agree."""
    out = Cases()
    files = sorted((ROOT / "tests" / "corpus").glob("*.sq"))
    out.corpus = _reference([from_file_text(p.read_text(), p.name) for p in files])
    cases = of_target(TARGETS["reference"], seed, programs)
    out.reference = _reference(cases)
    out.texts = [case for case in cases if _compiles(case)]
    process = lean_process()
    if process is not None:
        for case in of_target(TARGETS["lean"], seed, programs // 2):
            one = case if isinstance(case, ir.Program) else case.compile()
            made = executable(one).result
            if not isinstance(made, Executable):
                continue
            try:
                trace = process.run(one, made)
                if first_difference(interpreted(one), trace) is None:
                    out.lean.append((to_json(one), line_of(one, made), trace))
            except SerqError:
                continue
    for path in places.scenarios():
        out.vllm.append((load(path), answers.load(places.recorded(path.stem, "0.31.0"))))
    if vllm.missing() is None:
        for scenario in of_target(TARGETS["vllm"], seed, programs // 4):
            answer = vllm.scheduler(scenario)
            if vllm.judge(scenario, answer).label == "equal":
                out.vllm.append((scenario, answer))
    record_calls(out)
    return out


def record_calls(cases: Cases) -> None:
    """Which functions each case runs: one that does not run a fault's function cannot notice it."""
    for kind in ("interpreter", "generator"):
        for name, start in comparisons(cases, kind).items():
            if name in FOLLOWED:
                cases.calls[f"{kind}: {name}"] = _followed(start())


def _followed(judged: Judged) -> list[frozenset[str]]:
    out: list[frozenset[str]] = []
    seen: set[Any] = set()

    def follow(frame: Any, event: str, _: Any) -> None:
        if event == "call":
            seen.add(frame.f_code)

    while True:
        seen.clear()
        sys.setprofile(follow)
        try:
            next(judged)
        except StopIteration:
            return out
        finally:
            sys.setprofile(None)
        out.append(frozenset(_called(code) for code in seen) - {""})


def _called(code: Any) -> str:
    path = Path(code.co_filename)
    if not path.is_absolute() or ROOT not in path.parents:
        return ""  # made of the program, or somebody else's
    return f"{path.relative_to(ROOT)}: {code.co_qualname}"


def _compiles(case: RandomProgram) -> bool:
    try:
        case.compile()
    except SerqError:
        return False
    return True


def _reference(cases: list[RandomProgram]) -> list[Answered]:
    found = []
    for case in cases:
        try:
            one = case.compile()
            answer = samples(ir=to_json(one), timeout=PATIENCE)
        except (SerqError, Refused, Crashed):
            continue
        theirs = of_reference(answer)
        try:
            if difference(of_report(run(one)), theirs) is None:
                found.append(Answered(case, to_json(one), theirs))
        except SerqError:
            continue
    return found


# --- judging --------------------------------------------------------------------------------------

Judged = Iterator[str | None]
"""For each case what is different, or None."""

_passed: set[int] = set()
"""Numbers of the cases that the running comparison passes over."""


def _each(cases: Sequence[T]) -> Iterator[T | None]:
    """The cases, None in place of one that is passed over."""
    for number, case in enumerate(cases):
        yield None if number in _passed else case


def by_reference(cases: list[Answered]) -> Judged:
    for one in _each(cases):
        yield one and difference(of_report(run(one.program())), one.answer)


def by_lean(cases: list[tuple[str, str, StepTrace]]) -> Judged:
    """The interpreter against the recorded traces of Lean."""
    for case in _each(cases):
        found = case and first_difference(interpreted(from_json(case[0])), case[2])
        yield None if found is None else str(found)


def by_generator(cases: list[tuple[str, str, StepTrace]]) -> Judged:
    """What the generator makes of a program, where that is not what it made before."""
    for case in _each(cases):
        if case is None:
            yield None
            continue
        document, line, trace = case
        one = from_json(document)
        made = executable(one).result
        if not isinstance(made, Executable):
            yield "outside the fragment"
            continue
        if line_of(one, made) == line:
            yield None
            continue
        # The normal form is what Lean is given. The interpreter runs it as Lean does, and at once.
        form = replace(normal_form(one, made), arrivals=one.arrivals)
        found = first_difference(interpreted(form), trace)
        yield None if found is None else str(found)


def by_scheduler(cases: list[tuple[Scenario, Answer]]) -> Judged:
    texts: dict[Path, program.Text] = {}
    own = {path.stem: path for path in places.scenarios()}
    for case in _each(cases):
        if case is None:
            yield None
            continue
        recorded, answer = case
        # A scenario of the tree names its trace in the tree.
        scenario = load(own[recorded.name]) if recorded.name in own else recorded
        path = program.choose(scenario)
        text = texts.setdefault(path, program.Text.read(path))

        def ours(one: Scenario, text: program.Text = text) -> Answer:
            return program.answer(one, text)

        outcome = compare(scenario, ours, lambda _, answer=answer: answer)  # type: ignore[misc]
        good = outcome.verdict in (Verdict.EQUAL, Verdict.OUTSIDE)
        yield None if good else str(outcome.difference or outcome.error)


def by_itself(cases: list[RandomProgram]) -> Judged:
    """The invariants that need no other process."""
    for case in cases:
        one = case.compile()
        first = invariants.report(one)
        for again in (invariants.report(one, debug=True), invariants.report(one, fast=False)):
            if again != first:
                yield invariants.told(again, first)
                break
        else:
            yield None


def by_change(cases: list[RandomProgram]) -> Judged:
    """Programs changed in ways that change nothing."""
    for case in cases:
        found = metamorphic.check_all(case).difference
        yield None if found is None else found.where


def by_golden() -> Judged:
    """The reports on record of the examples, the quick ones."""
    sys.path.insert(0, str(ROOT / "tests"))
    import test_examples as examples

    names = [name for name in examples.PROGRAMS if not name.startswith("papers/")]
    for name in _each(names):
        if name is None:
            yield None
            continue
        horizon = examples.HORIZONS.get(name, 120)
        one = serq.compile(examples.EXAMPLES / name, horizon=horizon)
        report = json.loads(serq.run(one).json())
        report.pop("serq_version")
        path = (examples.GOLDEN / name).with_suffix(".json")
        yield None if report == json.loads(path.read_text()) else f"the report of {name}"


def by_files() -> Judged:
    """The generated Lean files, as they are committed."""
    for file in library(ROOT).files:
        path = ROOT / file.path
        same = path.is_file() and path.read_text() == file.text
        yield None if same else f"the generated file {file.path}"


def comparisons(cases: Cases, kind: str) -> dict[str, Callable[[], Judged]]:
    """What a mutant of a kind is put to, in order of cost."""
    if kind == "generator":
        return {
            "lean": lambda: by_generator(cases.lean),
            "generated files": by_files,
        }
    return {
        "corpus": lambda: by_reference(cases.corpus),
        "reference": lambda: by_reference(cases.reference),
        "lean": lambda: by_lean(cases.lean),
        "vllm": lambda: by_scheduler(cases.vllm),
        "examples": by_golden,
        "invariants": lambda: by_itself(cases.texts[:30]),
        "metamorphic": lambda: by_change(cases.texts[:6]),
    }


FOLLOWED = ("corpus", "reference", "lean", "vllm", "examples")
"""Comparisons whose cases that do not run a fault's function are passed over."""


class TooLong(Exception):
    """A case that did not end."""


def _ring(*_: Any) -> None:
    raise TooLong


def judge(cases: Cases, kind: str, function: str | None) -> dict[str, Any]:
    """Which comparison notices, after how many cases, and what.

    ``function`` is the one that was changed, None where it is not known.
    """
    put: dict[str, int] = {}
    signal.signal(signal.SIGPROF, _ring)
    for name, start in comparisons(cases, kind).items():
        put[name] = 0
        calls = cases.calls.get(f"{kind}: {name}", [])
        if not any(function in called for called in calls):
            calls = []  # where nothing is known of the function, every case may run it
        _passed.clear()
        _passed.update(number for number, called in enumerate(calls) if function not in called)
        judged = start()
        while True:
            most = PATIENCE if name != "generated files" else 20 * PATIENCE
            signal.setitimer(signal.ITIMER_PROF, most)
            try:
                found = next(judged)
            except StopIteration:
                break
            except TooLong:
                found = f"no end within {PATIENCE} s"
            except SerqError as error:
                found = f"an error: {error.diagnostics[0].code}"
            except Exception as error:
                found = f"{type(error).__name__}: {error}"
            finally:
                signal.setitimer(signal.ITIMER_PROF, 0)
            put[name] += 1
            if found is not None:
                return {"by": name, "after": put[name], "what": found[:200], "put": put}
    return {"by": None, "after": sum(put.values()), "what": "", "put": put}


def judge_file(path: str, kind: str, function: str | None) -> dict[str, Any]:
    """`judge` with the cases of a file."""
    with open(path, "rb") as file:
        return judge(pickle.load(file), kind, function)


def main() -> None:
    """Record."""
    warnings.simplefilter("ignore")
    path, programs, seed = sys.argv[1:]
    cases = record(int(programs), int(seed))
    with open(path, "wb") as file:
        pickle.dump(cases, file)
    names = ("corpus", "reference", "lean", "vllm")
    print(json.dumps({name: len(getattr(cases, name)) for name in names}))


if __name__ == "__main__":
    import mutant_judge  # so that what is stored is not of `__main__`

    mutant_judge.main()
