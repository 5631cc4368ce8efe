"""What the checker's target takes for a fault: tracebacks, no place, another verdict."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any

import peer
import pytest

from serq.diagnostics import Diagnostic, SerqError, Source, Span
from serq.fuzz import reference
from serq.fuzz.case import RandomProgram
from serq.fuzz.targets import checker

GOOD = "fn main() { stage s : fifo; workload { arrive batch(1); } server { run s (cost(s, 1)); } }"
SPAN = Span(Source("t", GOOD), 0, 2)


@dataclass(frozen=True)
class Answered(RandomProgram):
    """A text whose compilation is given."""

    answer: Any = field(default=None, compare=False)

    def compile(self) -> Any:
        if isinstance(self.answer, BaseException):
            raise self.answer
        return super().compile() if self.answer is None else self.answer


def judged(answer: Any = None, text: str = GOOD) -> str:
    verdict = checker.check(Answered(text, 9.0, answer=answer))
    return verdict.label if verdict.difference is None else verdict.difference.where


def test_a_traceback_is_a_fault() -> None:
    """Whatever is raised that is not an error of the program."""
    assert judged(RecursionError("too deep")) == "RecursionError: too deep"


def test_an_undocumented_code_is_a_fault() -> None:
    """Every code is on the page of diagnostics."""
    error = SerqError([Diagnostic("no-such-code", "bad", SPAN)])
    assert judged(error) == "an undocumented code: no-such-code"


def test_an_error_without_a_place_is_a_fault() -> None:
    """Every diagnostic says where."""
    assert judged(SerqError([Diagnostic("no-main", "bad")])) == "no place: no-main"


@peer.needs_peer
def test_both_sides_must_accept() -> None:
    """A text that one side alone refuses is a difference, whichever it is."""
    assert judged() == "accepted by both"
    error = SerqError([Diagnostic("no-main", "bad", SPAN)])
    assert judged(error) == "refused here alone: no-main"
    bad = GOOD.replace("run s", "run t")
    assert judged(text=bad) == "refused by both"
    program = RandomProgram(GOOD, 9.0).compile()
    assert judged(program, text=bad).startswith("accepted here alone: ")


@peer.needs_peer
def test_another_ir_is_a_difference() -> None:
    """Accepted by both is not enough: the IR must be the same."""
    other = RandomProgram(GOOD.replace("fifo", "delay"), 9.0).compile()
    assert judged(other).startswith("IR ")


@peer.needs_peer
def test_what_is_refused_on_purpose_is_named(monkeypatch: pytest.MonkeyPatch) -> None:
    """The named list of codes: a refusal with one of them is no difference."""
    monkeypatch.setitem(checker.STRICTER, "no-main", "a test")
    error = SerqError([Diagnostic("no-main", "bad", SPAN)])
    assert judged(error) == "stricter: no-main"


@peer.needs_peer
def test_an_extension_is_named() -> None:
    """What the older IR cannot say is accepted here alone, and called so."""
    text = GOOD[:-1] + "pool p { cap 2; } claim c : at end (preemptions(p) == 0); }"
    assert judged(text=text) == "looser: claim-counters"


def test_without_the_reference_build_the_words_are_checked(monkeypatch: pytest.MonkeyPatch) -> None:
    """Where it is not installed, the target checks codes and places alone."""
    monkeypatch.setattr(reference, "AVAILABLE", False)
    assert judged() == "accepted"
    assert judged(text="fn main() {") == "refused"
