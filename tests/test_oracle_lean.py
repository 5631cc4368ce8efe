"""The third side: Lean's step traces as answers, and Lean itself where it is installed."""

from __future__ import annotations

import pytest
from oracle_cases import scenario

from serq.leangen.compare import interpreted
from serq.oracle import answer as answers
from serq.oracle import lean, places, program
from serq.oracle.check import compare, third
from serq.oracle.program import Text


@pytest.mark.parametrize("name", ["alone", "cache_trace", "many_cache", "many_priority", "pair"])
def test_step_traces_are_answers(name: str) -> None:
    """A step trace, which names sessions alone, gives the answer with its requests by number."""
    one = scenario(name)
    text = Text.read(program.choose(one))
    compiled = program.build(one, text)
    pool = program.engine_memory(compiled, text.source.name)
    told = lean.told(one, compiled, pool, interpreted(compiled))
    mine = program.answer(one, text)
    assert (told.requests, told.steps, told.stuck) == (mine.requests, mine.steps, mine.stuck)
    assert told.scheduler == "lean"


@pytest.mark.slow
def test_lean_does_what_vllm_did() -> None:
    """Executed by Lean, scenarios of each kind go as vLLM's scheduler had them."""
    found = lean.available()
    if found is None:
        pytest.skip("no Lean is installed")
    names = ["alone", "cache_trace", "mixed", "priority_inversion", "replay", "adaptive"]
    cases = [(one, Text.read(program.choose(one))) for one in map(scenario, names)]
    verdicts = {}
    for (one, text), answer in zip(cases, lean.answers(*found, cases), strict=True):
        recorded = answers.load(places.recorded(one.name, "0.31.0"))
        outcome = compare(
            one, lambda it, text=text: program.answer(it, text), lambda _, r=recorded: r
        )  # type: ignore[misc]
        verdicts[one.name] = third(outcome, answer)
    assert not any(one.failed for one in verdicts.values()), verdicts
    # A fair share divides by a number of requests, which is no expression of the fragment.
    assert verdicts.pop("adaptive").words.startswith("not in the fragment")
    assert {one.words for one in verdicts.values()} == {"equal"}
