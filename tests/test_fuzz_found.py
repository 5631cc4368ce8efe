"""A found case: shrunk, written with both traces and the first difference, found again by seed."""

from __future__ import annotations

import re
from pathlib import Path
from typing import Any

import peer
import pytest
from click.testing import CliRunner
from strategies import programs

from serq.cli.fuzz import command
from serq.fuzz.case import RandomProgram, from_file_text
from serq.fuzz.case_files import case_files
from serq.fuzz.drawn import drawn
from serq.fuzz.search import search
from serq.fuzz.target import Target
from serq.fuzz.targets import TARGETS, lean, reference, vllm
from serq.fuzz.verdict import EQUAL, Verdict, differs
from serq.interp.memory import Memory
from serq.interp.stage import FifoStage
from serq.oracle import generate


def finds(word: str) -> Target:
    """A target whose sides differ on every program with this word in its text."""

    def check(case: RandomProgram) -> Verdict:
        if word in case.text:
            lines = case.text.count("\n")
            return differs(f"line {lines}: 3, the other has 4", ("Ours", "3"), ("Theirs", "4"))
        return EQUAL

    return Target(f"of {word}", "a test", programs, check, lambda: None, case_files)


def test_a_case_shrinks_to_a_few_lines() -> None:
    """Of the programs with a choice, the one that is shown has little else in it."""
    outcome = search(finds("choose "), seed=3, cases=300, shrink_seconds=8, most_found=1)
    assert len(outcome.found) == 1
    text = outcome.found[0].case.text
    assert "choose " in text
    assert text.count("\n") <= 24, text
    case = outcome.found[0].case
    assert case.compile().blocks


def test_a_case_is_met_again_by_its_number() -> None:
    """Few cases of a seed are the first of many, so a case has one number."""
    assert drawn(programs(), 6, 9) == drawn(programs(), 6, 30)[:9]
    seen: list[list[RandomProgram]] = []
    for count in (5, 20):
        cases: list[RandomProgram] = []

        def keep(case: RandomProgram, cases: list[RandomProgram] = cases) -> Verdict:
            cases.append(case)
            return EQUAL

        target = Target("kept", "a test", programs, keep, lambda: None, case_files)
        search(target, seed=6, cases=count)
        seen.append(cases)
    assert seen[1][:5] == seen[0]


def test_one_fault_is_told_once() -> None:
    """Differences that are alike but for their numbers are one fault."""
    outcome = search(finds("stage"), seed=1, cases=12, shrink_seconds=1)
    assert len(outcome.found) == 1
    assert outcome.labels["different"] > 1


def test_found_cases_are_written(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """A directory for each: the program and its command, both traces, the difference, the seed."""
    target = finds("poisson")
    monkeypatch.setitem(TARGETS, "tested", Target("tested", *_rest(target)))
    monkeypatch.setattr("serq.fuzz.search.SHRINK_SECONDS", 2.0)
    result = CliRunner().invoke(
        command, ["tested", "--cases", "8", "--seed", "4", "--out", str(tmp_path)]
    )
    assert result.exit_code == 1, result.output
    (where,) = tmp_path.iterdir()
    assert sorted(path.name for path in where.iterdir()) == [
        "difference.txt", "ours.txt", "program.sq", "theirs.txt",
    ]  # fmt: skip
    assert (where / "ours.txt").read_text() == "3"
    difference = (where / "difference.txt").read_text()
    assert re.search(r"line \d+: 3, the other has 4\n", difference)
    number = re.search(r"serq fuzz tested --seed 4, case (\d+)", difference)
    assert number is not None
    case = from_file_text((where / "program.sq").read_text(), "program.sq")
    assert "poisson" in case.text
    assert str(where) in result.output
    again = search(target, seed=4, cases=int(number[1]), shrink_seconds=1)
    assert len(again.found) == 1
    assert again.found[0].number == int(number[1])


def _rest(target: Target) -> tuple:
    return target.about, target.cases, target.check, target.missing, target.files


def test_throughput_is_told(tmp_path: Path) -> None:
    """The table has the cases, the rate and how they went, and the seed is printed."""
    result = CliRunner().invoke(command, ["text", "--cases", "3", "--out", str(tmp_path)])
    assert result.exit_code == 0, result.output
    assert re.search(r"seed \d+", result.output)
    assert re.search(r"text\s*│ 3\s*│ \d+\.\d\s*│", result.output)
    assert not list(tmp_path.iterdir())


QUEUE = """fn main() {
  stage desk : fifo;
  workload { arrive batch(4); }
  server { run desk (cost(desk, 1 + serial)); observe done = now; }
}"""


@peer.needs_peer
def test_a_fault_of_the_interpreter_differs_from_the_reference(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """The first field or sample that differs, with both reports."""
    case = RandomProgram(QUEUE, horizon=40.0)
    assert reference.check(case).label == "equal"
    monkeypatch.setattr(FifoStage, "submit", _last_first(FifoStage.submit))
    difference = reference.check(case).difference
    assert difference is not None
    assert "the reference has" in difference.where
    assert [side for side, _ in difference.traces] == ["ours", "reference"]
    assert all(trace.startswith('{"serq_version"') for _, trace in difference.traces)


def test_a_case_of_the_lean_fragment_is_shown_as_text() -> None:
    """An IR with explicit sessions is written as JSON, and as text where it has one."""
    from serq.fuzz.fragment_ir import random_program

    files = lean.files(random_program(1))
    assert "program.json" in files


@pytest.mark.skipif(lean.missing() is not None, reason="no Lean is installed")
def test_a_fault_of_the_interpreter_differs_from_lean(monkeypatch: pytest.MonkeyPatch) -> None:
    """The first step or observation that differs, with both traces."""
    case = RandomProgram(QUEUE, horizon=40.0)
    assert lean.check(case).label == "equal"
    monkeypatch.setattr(FifoStage, "submit", _last_first(FifoStage.submit))
    difference = lean.check(case).difference
    assert difference is not None
    assert difference.where == (
        "observation `done` 0 of session 1: the interpreter has (10, 10), Lean has (3, 3)"
    )
    assert [side for side, _ in difference.traces] == ["interpreter", "lean"]
    assert all("done of session 1" in trace for _, trace in difference.traces)


@pytest.mark.skipif(vllm.missing() is not None, reason="vLLM's scheduler is not set up")
def test_a_fault_of_the_interpreter_differs_from_vllm(monkeypatch: pytest.MonkeyPatch) -> None:
    """A queue served from its other end shows in some of the first scenarios, both traced."""
    cases = [generate.scenario(5, number, policy="fcfs") for number in range(8)]
    assert all(vllm.check(case).label == "equal" for case in cases)
    monkeypatch.setattr(Memory, "selected", lambda self, pool: pool.queue[-1])
    found = [verdict.difference for case in cases if (verdict := vllm.check(case)).difference]
    assert found
    assert [side for side, _ in found[0].traces] == ["interpreter", "vllm"]
    assert "vLLM has" in found[0].where


def _last_first(submit: Any) -> Any:
    def last_first(self: FifoStage, session: Any, work: float) -> None:
        before = len(self.line)
        submit(self, session, work)
        if len(self.line) > before:
            self.line.rotate(1)

    return last_first
