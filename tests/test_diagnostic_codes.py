"""The table of diagnostic codes is complete, and each code's example gives that code."""

from __future__ import annotations

import re
from functools import cache

import pytest

from serq.diagnostic_codes import CODES
from serq.diagnostics import Severity
from serq.docsgen import codes
from serq.docsgen.fixtures import Fixture, Page, diagnostics, found, load, program, ran

NOT_SHOWN = frozenset({
    # sizes beyond a limit, or files and texts that no page should carry
    "more-errors", "nested-too-deep", "text-too-long", "unreadable-text", "too-large",
    "ir-too-deep",
    # a program that is given as text has no directory
    "no-directory",
    # faults of the machine, the network or the installation
    "cache-unwritable", "claims-file", "corpus-file", "disk-full", "fuzz-extra", "fuzz-target",
    "lean-audit", "lean-corrupt", "lean-download", "lean-exec", "lean-import-cycle",
    "lean-install", "lean-library-missing", "lean-native", "lean-not-installed", "lean-offline",
    "lean-platform", "no-spelling", "not-a-checkout", "oracle-driver", "oracle-files",
    "oracle-program", "oracle-setup", "lsp-extra",
    # a run of more iterations than a page has the time for
    "timeline-too-long",
})  # fmt: skip
"""Codes that the page has no example of."""


@cache
def page() -> Page:
    return load()


FIXTURES = list(load().fixtures.values())
PROGRAMS = [f for f in FIXTURES if f.wrong is not None or f.at is not None]
COMMANDS = [f for f in FIXTURES if f.command is not None]


def test_the_search_finds_codes_where_they_are_used() -> None:
    """The search of the source sees codes of every part of the product."""
    emitted = codes.emitted()
    assert {"syntax", "unknown-stage", "never-fits", "trace-row", "no-horizon"} <= (
        codes.mentioned(frozenset(CODES)) | set(emitted)
    )
    assert len(emitted) > 150


def test_every_code_that_is_used_is_in_the_table() -> None:
    """A diagnostic has a code that the documentation explains."""
    unknown = {code: where for code, where in codes.emitted().items() if code not in CODES}
    assert unknown == {}


def test_every_code_in_the_table_is_used() -> None:
    """The table explains no code that nothing gives."""
    assert set(CODES) - codes.mentioned(frozenset(CODES)) == set()


def test_every_code_has_an_example_or_a_reason() -> None:
    """The page has an entry for each code, and only those named here are without an example."""
    assert {f.code for f in FIXTURES} == set(CODES)
    assert {f.code for f in FIXTURES if f.unreachable is not None} == NOT_SHOWN


def test_codes_are_short_words() -> None:
    """A code is kebab-case, and its meaning one sentence."""
    for code, meaning in CODES.items():
        assert re.fullmatch(r"[a-z]+(-[a-z]+)*", code)
        assert meaning.endswith(".") and "\n" not in meaning


@pytest.mark.parametrize("fixture", PROGRAMS, ids=lambda f: f.code)
def test_the_wrong_program_gives_the_code(fixture: Fixture) -> None:
    """The example gives one diagnostic, the code's, with the caret under the marked words."""
    given = found(page(), fixture)
    assert [d.code for d in given] == [fixture.code]
    span = given[0].span
    assert (span is not None) == (fixture.mark is not None)
    if span is not None:
        assert (span.start, span.end) == fixture.mark
    else:
        assert given[0].where


def test_most_examples_have_a_caret() -> None:
    """Programs show where they are wrong: only a few run-time faults have no place."""
    without = {f.code for f in PROGRAMS if f.at is None and f.mark is None}
    assert without <= {"cost-not-positive", "cycle-of-waits", "gap-not-positive"}


def test_warnings_are_named() -> None:
    """A code that is a warning says so in its sentence."""
    for fixture in PROGRAMS:
        (diagnostic,) = found(page(), fixture)
        warning = diagnostic.severity is Severity.WARNING
        assert warning == CODES[fixture.code].startswith("Warning:")


@pytest.mark.parametrize("fixture", [f for f in PROGRAMS if f.right], ids=lambda f: f.code)
def test_the_right_program_has_no_fault(fixture: Fixture) -> None:
    """What the page says to write instead links without a fault or a doubt, and runs."""
    assert fixture.right is not None
    assert diagnostics(program(page(), fixture, fixture.right), fixture.run) == []


@pytest.mark.parametrize("fixture", COMMANDS, ids=lambda f: f.code)
def test_the_command_gives_the_code(fixture: Fixture) -> None:
    """The example's command fails with the code, at the marked place of its file."""
    assert fixture.command is not None
    status, said = ran(fixture.command, fixture.files)
    assert status == 1
    assert said.count(f"error[{fixture.code}]") == said.count("error[") == 1
    if fixture.place is not None:
        assert said.startswith(f"{fixture.place}: ")


@pytest.mark.parametrize("fixture", [f for f in COMMANDS if f.right_command], ids=lambda f: f.code)
def test_the_right_command_works(fixture: Fixture) -> None:
    """What the page says to call instead ends without a word on standard error."""
    assert fixture.right_command is not None
    assert ran(fixture.right_command, fixture.right_files or fixture.files) == (0, "")


def test_every_example_says_what_to_do() -> None:
    """Beside what is wrong, each entry has what to write or to do instead."""
    for fixture in FIXTURES:
        assert fixture.unreachable or fixture.right or fixture.instead or fixture.right_command
