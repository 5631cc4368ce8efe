"""What two runs gave, field by field, and what the reference build's own variation explains."""

from __future__ import annotations

import dataclasses
import json
from random import Random
from typing import Any

import peer
import pytest

from serq import interp
from serq.fuzz.case import RandomProgram
from serq.fuzz.choices import Choices, shrink
from serq.fuzz.programs import ProgramWriter
from serq.fuzz.results import Result, difference, of_report, unexplained
from serq.fuzz.targets import reference as target

VARYING = """fn main() {
  stage pause : delay;
  pool kv { cap 21; evict by (~uniform(0, 1)); }
  workload {
    arrive renewal(~exp(1));
    turn { set n = 1 + floor(~uniform(0, 20)); }
    session { turn; while (turn_no < 3) { tool (1); turn; } }
  }
  server {
    hold kv (cost(kv, min(6, 1 + n))) {
      run pause (cost(pause, ~erlang(2, 1)));
    } cache (cost(kv, min(6, 1 + n)))
    observe left = cachedin(kv);
  }
}
"""
"""The reference build draws the eviction keys of the entries in an order that it does not fix."""


def result(report: dict[str, Any], values: list[float] | None = None) -> Result:
    samples = {"observes": {"x": {"samples": values or []}}, "client": {}, "gauges": {}}
    return Result(json.dumps(report), json.dumps(samples))


def test_a_run_like_one_of_the_variants_is_explained() -> None:
    """Where the reference varies, any of its values will do."""
    variants = [result({"a": 1, "b": 2.5}), result({"a": 1, "b": 2.75})]
    assert unexplained(result({"a": 1, "b": 2.75}), variants) is None
    assert unexplained(result({"a": 1, "b": 2.6}), variants) is None


def test_a_field_that_does_not_vary_must_agree() -> None:
    """The variation of one field says nothing about another."""
    variants = [result({"a": 1, "b": 2.5}), result({"a": 1, "b": 2.75})]
    assert unexplained(result({"a": 2, "b": 2.5}), variants) == "report.a"
    assert unexplained(result({"a": 1.0, "b": 2.5}), variants) == "report.a"


def test_last_digits_explain_last_digits_only() -> None:
    """A field that varies a little may not be another number altogether."""
    variants = [result({"b": 2.5}), result({"b": 2.5000000000000004})]
    assert unexplained(result({"b": 2.500000000000001}), variants) is None
    assert unexplained(result({"b": 2.51}), variants) == "report.b"
    assert unexplained(result({"b": None}), variants) == "report.b"


def test_every_sample_counts() -> None:
    """A sample more, a sample less, and a sample of another value are differences."""
    same = result({}, [1.0, 2.0])
    for other in ([1.0], [1.0, 2.0, 3.0], [1.0, 2.5], [1, 2.0]):
        assert difference(result({}, other), same) is not None
        assert unexplained(result({}, other), [same, same]) is not None
    assert difference(same, result({}, [1.0, 2.0])) is None


def test_the_version_of_the_writer_is_no_field() -> None:
    """Two builds have two versions."""
    assert unexplained(result({"serq_version": "1"}), [result({"serq_version": "2"})]) is None


@peer.needs_peer
def test_a_reference_that_varies_hides_no_fault(monkeypatch: pytest.MonkeyPatch) -> None:
    """A wrong count in a program whose other fields vary is a difference."""
    case = RandomProgram(VARYING, horizon=60.0, seed=197)
    assert target.check(case).label in (target.VARIES, "equal")

    def wrong(program: Any) -> Any:
        report = interp.run(program)
        return dataclasses.replace(report, arrivals=report.arrivals + 1)

    monkeypatch.setattr(target, "run", wrong)
    found = target.check(case).difference
    assert found is not None and "arrivals" in found.where


@peer.needs_peer
def test_the_example_above_does_vary() -> None:
    """Without a program of this kind the test before would show nothing."""
    text = target.to_json(RandomProgram(VARYING, horizon=60.0, seed=197).compile())
    assert len({target._reference(text).report for _ in range(8)}) > 1


def test_our_own_runs_do_not_vary() -> None:
    """Two runs give the same report and the same samples."""
    program = RandomProgram(VARYING, horizon=60.0, seed=197).compile()
    assert of_report(interp.run(program)) == of_report(interp.run(program))


def test_choices_are_independent_and_can_be_made_again() -> None:
    """Programs of different numbers differ; the choices taken give the program again."""
    texts = []
    for number in range(40):
        choices = Choices(Random(f"7 {number}"))
        texts.append(ProgramWriter(choices).write())
        assert ProgramWriter(Choices(choices.taken)).write() == texts[-1]
    assert len(set(texts)) == 40


def test_choices_shrink_to_what_matters() -> None:
    """What is left is as short and as small as the condition allows."""
    seen: list[list[int]] = []

    def attempt(given: Any) -> list[int] | None:
        choices = Choices(given)
        taken = [choices.below(100) for _ in range(choices.below(50))]
        if not any(value >= 37 for value in taken):
            return None
        seen.append(choices.taken)
        return choices.taken

    taken = attempt(Random(3))
    assert taken is not None
    shrink(taken, attempt)
    assert min(seen, key=lambda kept: (len(kept), kept)) == [1, 37]


@peer.needs_peer
def test_an_error_in_both_is_of_one_reason(monkeypatch: pytest.MonkeyPatch) -> None:
    """A run that errs there for one reason and here for another is a difference."""
    text = VARYING.replace("(pause, ~erlang(2, 1))", "(pause, 2 - n)")
    case = RandomProgram(text, horizon=60.0, seed=1)
    assert target.check(case).label == "an error in both"
    monkeypatch.setitem(target.REASONS, "not-an-amount", ("another reason",))
    found = target.check(case).difference
    assert found is not None and "not-an-amount" in found.where
