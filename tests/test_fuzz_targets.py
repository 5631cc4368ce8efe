"""Every target of serq fuzz on cases of a fixed seed and on fresh ones, and what they draw."""

from __future__ import annotations

import re
from collections.abc import Callable
from pathlib import Path

import pytest
from click.testing import CliRunner
from hypothesis import HealthCheck, given, settings
from strategies import broken_programs, programs, station_programs

from serq.cli.fuzz import command
from serq.diagnostics import SerqError
from serq.fuzz.case import RandomProgram, from_file_text
from serq.fuzz.search import search
from serq.fuzz.targets import TARGETS, metamorphic

few = settings(
    max_examples=12, database=None, deadline=None, suppress_health_check=list(HealthCheck)
)

CASES = {
    "text": 15,
    "invariants": 10,
    "checker": 60,
    "metamorphic": 40,
    "lean": 30,
    "vllm": 25,
}
"""Cases of each target that every run of the tests looks at, twice: `serq fuzz` looks further.

The reference build has tests of its own (test_fuzz_reference.py).
"""


def test_every_target_is_run() -> None:
    """No target is left out of the tests."""
    assert {*CASES, "reference"} == set(TARGETS)


@pytest.mark.slow
@pytest.mark.parametrize("name", CASES)
def test_no_difference_is_found(name: str) -> None:
    """Each target agrees on random cases of a fixed seed."""
    _agrees(name, 77)


@pytest.mark.slow
@pytest.mark.parametrize("name", CASES)
def test_no_difference_is_found_from_a_fresh_seed(
    name: str, fresh_seed: Callable[[str], int]
) -> None:
    """Each target agrees on cases new with every commit; the run's summary has the seed."""
    _agrees(name, fresh_seed(name))


def _agrees(name: str, seed: int) -> None:
    target = TARGETS[name]
    missing = target.missing()
    if missing is not None:
        pytest.skip(missing)
    outcome = search(target, seed=seed, cases=CASES[name], shrink_seconds=10)
    assert outcome.cases == CASES[name]
    assert not outcome.found, (seed, [found.difference for found in outcome.found])


@pytest.mark.parametrize(
    ("name", "label"),
    [("lean", "equal"), ("vllm", "equal"), ("text", "equal"), ("checker", "refused by both")],
)
def test_most_cases_are_compared(name: str, label: str) -> None:
    """A target is not kept busy by cases that it leaves out."""
    target = TARGETS[name]
    if target.missing() is not None or (name == "checker" and TARGETS["reference"].missing()):
        pytest.skip("a side is missing")
    outcome = search(target, seed=5, cases=12, shrink_seconds=5)
    assert outcome.labels[label] >= 6, outcome.labels


def test_a_program_whose_time_hardly_moves_is_not_waited_for() -> None:
    """A case of too many events is told as such, whichever comparison runs it."""
    case = RandomProgram(
        "fn main() { stage s : fifo; workload { arrive batch(1); } "
        "server { while (1) { run s (cost(s, 1e-12)); } } }",
        horizon=50.0,
    )
    assert TARGETS["invariants"].judge(case).label == "too long"
    changed = metamorphic.Case(case, "names", 0)
    assert TARGETS["metamorphic"].judge(changed).label == "too long"


@few
@given(programs())
def test_a_case_is_read_back_from_its_file(case: RandomProgram) -> None:
    """A corpus file keeps text, settings and trace."""
    again = from_file_text(case.file_text("a note"), "case.sq")
    assert case.text.strip() in again.text
    assert again.keywords() == case.keywords()


@few
@given(station_programs())
def test_well_formed_programs_compile(case: RandomProgram) -> None:
    """A drawn program of stations is accepted."""
    assert case.compile().stages


@few
@given(broken_programs())
def test_a_broken_program_is_refused_or_compiled(case: RandomProgram) -> None:
    """A changed text gives a program, or diagnostics with places."""
    try:
        case.compile()
    except SerqError as error:
        assert all(fault.span or fault.where for fault in error.diagnostics)


def test_a_file_without_its_command_is_refused() -> None:
    """A corpus file says how it runs."""
    with pytest.raises(SerqError, match="does not say how it runs"):
        from_file_text("fn main() { }", "case.sq")


def test_an_unknown_target_is_a_usage_error() -> None:
    """The names of the targets are told, with status 2."""
    result = CliRunner().invoke(command, ["referense"])
    assert result.exit_code == 2
    assert "reference" in result.output


def test_the_list_has_every_target() -> None:
    """`--list` shows each target."""
    result = CliRunner().invoke(command, ["--list"])
    assert result.exit_code == 0
    assert all(name in result.output for name in TARGETS)


def test_the_readme_has_every_target() -> None:
    """Its table has a row for each, with the command that runs it alone."""
    readme = (Path(__file__).parents[1] / "README.md").read_text(encoding="utf-8")
    for name in TARGETS:
        assert re.search(rf"^\| {name} \| .+ \| `serq fuzz {name}` \|$", readme, re.MULTILINE), name
