"""The targets of serq fuzz, the search, and what it writes down."""

from __future__ import annotations

import pytest
from click.testing import CliRunner
from hypothesis import HealthCheck, given, settings
from strategies import broken_programs, programs, station_programs

from serq.cli.fuzz import command
from serq.diagnostics import SerqError
from serq.fuzz.case import RandomProgram, from_file_text
from serq.fuzz.search import search
from serq.fuzz.targets import TARGETS

few = settings(
    max_examples=12, database=None, deadline=None, suppress_health_check=list(HealthCheck)
)

CASES = {"text": 5, "invariants": 10, "checker": 40}


@pytest.mark.slow
@pytest.mark.parametrize("name", CASES)
def test_no_difference_is_found(name: str) -> None:
    """Each target agrees on random cases of a fixed seed."""
    target = TARGETS[name]
    missing = target.missing()
    if missing is not None:
        pytest.skip(missing)
    outcome = search(target, seed=77, cases=CASES[name], shrink_seconds=10)
    assert outcome.cases == CASES[name]
    assert not outcome.found, [found.difference for found in outcome.found]


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
