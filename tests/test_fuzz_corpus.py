"""Every case that a search ever found, run again by all sides that can run it."""

from __future__ import annotations

from pathlib import Path

import peer
import pytest

from serq.fuzz.case import RandomProgram, from_file_text
from serq.fuzz.lean_process import lean_process
from serq.fuzz.targets import checker, invariants, lean, reference, text

CORPUS = sorted((Path(__file__).parent / "corpus").glob("*.sq"))
each = pytest.mark.parametrize("path", CORPUS, ids=lambda path: path.stem)


def read(path: Path) -> RandomProgram:
    return from_file_text(path.read_text(), path.name)


def test_the_corpus_is_there() -> None:
    """The tests below have cases."""
    assert len(CORPUS) >= 3


@peer.needs_peer
@each
def test_the_reference_build_agrees(path: Path) -> None:
    """One IR, one report, or a refusal by both."""
    case = read(path)
    verdict = checker.check(case) if path.stem.startswith("checker") else reference.check(case)
    assert verdict.difference is None, verdict.difference


@pytest.mark.skipif(lean_process() is None, reason="no Lean is installed")
@each
def test_lean_agrees(path: Path) -> None:
    """A case of the fragment takes the same steps in Lean; one that Lean failed is of it."""
    verdict = lean.check(read(path))
    assert verdict.difference is None, verdict.difference
    if path.stem.startswith("lean"):
        assert verdict.label == "equal"


@each
def test_the_program_survives_formatting_and_json(path: Path) -> None:
    """The formatted, the printed and the stored program are the same program."""
    assert text.check(read(path)).difference is None


@each
def test_runs_do_not_hang_on_the_way_they_are_run(path: Path) -> None:
    """With checks, without the fast path and in other processes the report is the same."""
    assert invariants.check(read(path)).difference is None
