"""A found case: shrunk, written with both traces and the first difference, found again by seed."""

from __future__ import annotations

import re
from pathlib import Path

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
from serq.fuzz.targets import TARGETS, lean, reference
from serq.fuzz.verdict import EQUAL, Verdict, differs
from serq.interp.stage import FifoStage


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


@peer.needs_peer
def test_a_fault_of_the_interpreter_is_found_and_shrunk(monkeypatch: pytest.MonkeyPatch) -> None:
    """A fifo stage that serves the last job first differs from the reference build, both shown."""
    submit = FifoStage.submit

    def last_first(self: FifoStage, session: object, work: float) -> None:
        before = len(self.line)
        submit(self, session, work)  # type: ignore[arg-type]
        if len(self.line) > before:
            self.line.rotate(1)

    monkeypatch.setattr(FifoStage, "submit", last_first)
    monkeypatch.setattr(reference, "REPEATS", 1)  # nothing of the stage varies over there
    target = TARGETS["reference"]
    outcome = search(target, seed=2, cases=60, shrink_seconds=6, most_found=1)
    assert outcome.found
    found = outcome.found[0]
    assert [side for side, _ in found.difference.traces] == ["ours", "reference"]
    assert ": fifo" in found.case.text
    monkeypatch.undo()
    assert reference.check(found.case).difference is None


def test_a_case_of_the_lean_fragment_is_shown_as_text() -> None:
    """An IR with explicit sessions is written as JSON, and as text where it has one."""
    from serq.fuzz.fragment_ir import random_program

    files = lean.files(random_program(1))
    assert "program.json" in files
