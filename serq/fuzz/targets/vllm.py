"""Interpreter ↔ vLLM: a scheduler scenario, every step as the real scheduler takes it."""

from __future__ import annotations

import atexit
import json
from functools import cache, lru_cache
from pathlib import Path

from hypothesis import strategies as st

from serq.fuzz.verdict import EQUAL, Verdict, differs
from serq.oracle import generate, program, setup
from serq.oracle.answer import Answer
from serq.oracle.check import Verdict as OracleVerdict
from serq.oracle.check import compare
from serq.oracle.scenario import Scenario
from serq.oracle.vllm import Driver


def cases() -> st.SearchStrategy[Scenario]:
    """Scenarios with small memories: arrivals, caps, conversations, priorities."""
    return st.randoms(use_true_random=False).map(lambda choices: generate.drawn(choices, "random"))


def missing() -> str | None:
    """Why the target cannot run here."""
    if setup.ready(setup.DEFAULT):
        return None
    return "vLLM's scheduler is not set up (`serq oracle --setup`)"


def check(case: Scenario) -> Verdict:
    """Run the scenario in the program for it and in the scheduler."""
    return judge(case, scheduler(case))


def scheduler(case: Scenario) -> Answer:
    """What vLLM's scheduler does."""
    return _driver().answer(case)


def judge(case: Scenario, answer: Answer) -> Verdict:
    """The program for the scenario against an answer of the scheduler."""
    text = _text(program.choose(case))
    outcome = compare(case, lambda one: program.answer(one, text), lambda _: answer)
    if outcome.verdict is OracleVerdict.EQUAL:
        return EQUAL
    if outcome.verdict is OracleVerdict.OUTSIDE:
        return Verdict("outside a named precondition")
    theirs = ("vllm", _steps(outcome.theirs))
    if outcome.error is not None:
        where = f"an error of the interpreter: {outcome.error.diagnostics[0].code}"
        return differs(where, ("interpreter", str(outcome.error)), theirs)
    assert outcome.difference is not None
    found = outcome.difference
    where = f"{found.sentence()}: the interpreter has {found.left}, vLLM has {found.right}"
    return differs(where, ("interpreter", _steps(outcome.ours)), theirs)


def files(case: Scenario) -> dict[str, str]:
    """The scenario, as `serq oracle` reads it."""
    return {"scenario.json": json.dumps(case.to_json(), indent=1) + "\n"}


@cache
def _driver() -> Driver:
    driver = Driver(say=lambda _: None)
    atexit.register(driver.close)
    return driver


@lru_cache
def _text(path: Path) -> program.Text:
    return program.Text.read(path)


def _steps(answer: Answer | None) -> str:
    if answer is None:
        return ""
    return "\n".join(map(str, (*answer.steps, *answer.requests))) + "\n"
