"""The programs against vLLM's recorded answers, step by step, without network."""

from __future__ import annotations

from dataclasses import replace

import pytest
from oracle_cases import CACHE, MUTANTS, RECORDED, REQUESTS, Mutant, scenario, text

from serq.diagnostics import SerqError, Source
from serq.oracle import answer as answers
from serq.oracle import places, program
from serq.oracle.answer import Answer
from serq.oracle.check import Verdict, compare
from serq.oracle.program import Text
from serq.oracle.scenario import Scenario, Session, Turn

NAMES = [path.stem for path in places.scenarios()]


def recorded(name: str, version: str = "0.31.0") -> Answer:
    return answers.load(places.recorded(name, version))


def own(one: Scenario) -> Answer:
    """The answer of the scenario's own program."""
    return program.answer(one, Text.read(program.choose(one)))


def test_there_are_thirty_scenarios() -> None:
    """Thirty scenarios at least, under both policies, with and without the cache."""
    all_of_them = [scenario(name) for name in NAMES]
    assert len(all_of_them) >= 30
    kinds = {(one.policy, one.prefix_caching) for one in all_of_them}
    assert kinds == {(p, c) for p in ("fcfs", "priority") for c in (False, True)}


@pytest.mark.parametrize("version", RECORDED)
@pytest.mark.parametrize("name", NAMES)
def test_equal_in_every_step(name: str, version: str) -> None:
    """The program does in every step what vLLM's scheduler did."""
    outcome = compare(scenario(name), own, lambda _: recorded(name, version))
    assert outcome.verdict is Verdict.EQUAL, outcome.difference or outcome.error


@pytest.mark.parametrize("name", REQUESTS)
def test_published_request_scenarios(name: str) -> None:
    """First and last token steps and preemptions are those published for vLLM."""
    first, done, preemptions = REQUESTS[name]
    for found in (own(scenario(name)), recorded(name)):
        assert [one.first for one in found.requests] == first
        assert [one.done for one in found.requests] == done
        assert found.preemptions == preemptions


def test_published_cache_scenario() -> None:
    """The cache scenario has the published times and cached tokens, turn by turn."""
    for found in (own(scenario("cache_trace")), recorded("cache_trace")):
        rows = [
            (one.sent, one.first - one.sent, one.done - one.sent, *one.cached)  # type: ignore[operator]
            for one in found.requests
        ]
        assert rows == list(
            zip(CACHE["sent"], CACHE["ttft"], CACHE["latency"], CACHE["cached"], strict=True)
        )


def test_a_trace_with_hits_is_replayed() -> None:
    """Every request of the replay is sent, answered first, and hits as vLLM had it."""
    ours, theirs = own(scenario("replay")), recorded("replay")
    assert [(r.sent, r.first, r.cached) for r in ours.requests] == [
        (r.sent, r.first, r.cached) for r in theirs.requests
    ]
    hits = sum(r.cached != (0,) for r in theirs.requests)
    assert len(theirs.requests) >= 90 and 40 <= hits < len(theirs.requests)


def test_the_older_rule_for_a_lone_request() -> None:
    """vLLM 0.30.0 caps a request that is alone: one preemption instead of two, and named so."""
    theirs = recorded("alone", "0.30.0")
    assert theirs.preemptions == 1
    outcome = compare(scenario("alone"), own, lambda _: theirs)
    assert outcome.verdict is Verdict.OUTSIDE
    assert outcome.precondition is not None and outcome.precondition.name == "cap-of-one"


def test_the_adaptive_cap() -> None:
    """A fair share above the cap is taken by the adaptive rule alone; programs must be able to."""
    one = scenario("adaptive")
    fixed = compare(replace(one, adaptive=False), own, lambda _: recorded("adaptive"))
    assert fixed.verdict is Verdict.DIFFERS
    other = text("oracle/vllm_request.sq", ("cap_among", "limit"))
    with pytest.raises(SerqError, match="no definition `cap_among` of its cap"):
        program.answer(one, other)


@pytest.mark.parametrize("mutant", MUTANTS, ids=lambda mutant: mutant.name)
def test_mutants_are_caught(mutant: Mutant) -> None:
    """A program with one rule broken differs, and the first step it is broken in is named."""
    one = scenario(mutant.scenario)
    outcome = compare(
        one, lambda it: program.answer(it, mutant.text), lambda _: recorded(mutant.scenario)
    )
    assert outcome.verdict is Verdict.DIFFERS
    assert outcome.difference is not None
    assert outcome.difference.step == mutant.step
    assert outcome.difference.field.startswith(mutant.field)
    # Up to that step the two runs are one.
    assert outcome.ours is not None and outcome.theirs is not None
    before = [[s for s in a.steps if s.step < mutant.step] for a in (outcome.ours, outcome.theirs)]
    bare = [[(s.step, s.tokens, s.admitted, s.preempted, s.free) for s in b] for b in before]
    assert bare[0] == bare[1]


# --- the program's side ---------------------------------------------------------------------------


def test_programs_for_scenarios() -> None:
    """A scenario's own program has what it uses: cache, conversations, priorities, a trace."""
    names = {name: program.choose(scenario(name)).name for name in NAMES}
    assert names["alone"] == "vllm_request.sq"
    assert names["cache_trace"] == "vllm_session.sq"
    assert names["priority"] == "vllm_priority.sq"
    assert names["replay"] == "vllm_replay.sq"


@pytest.mark.parametrize("name", ["vllm_session", "vllm_priority"])
def test_richer_programs_agree_on_plain_scenarios(name: str) -> None:
    """The cache switched off and priorities equal, the richer programs run as the plain one."""
    one = scenario("preempt")
    found = program.answer(one, text(f"oracle/{name}.sq"))
    plain = own(one)
    if name == "vllm_session":
        assert found == plain
    else:  # PRIORITY preempts the first of equal requests, and so serves them in another order
        assert found.preemptions == plain.preemptions and found.steps != plain.steps


def test_a_program_without_observations() -> None:
    """Without its observations a program's times are read from its steps, the same."""
    bare = text(
        "oracle/vllm_session.sq",
        ("      branch (known == prompt) { observe first = now; }\n", ""),
        ("      observe done = now;\n", "      set finished = now;\n"),
        ("    observe sent = now;\n", ""),
    )
    for name in ("cache_trace", "many_cache", "single_token"):
        assert program.answer(scenario(name), bare) == own(scenario(name))


def test_an_input_the_program_lacks() -> None:
    """A program without an input that the scenario sets is refused, with the line to write."""
    other = text(
        "oracle/vllm_request.sq", ('args.number("chunk", inf)', "24"), ("chunk = 24", "cap = 24"),
        ("? chunk", "? cap"),
    )  # fmt: skip
    with pytest.raises(SerqError, match=r'let chunk = args\.number\("chunk", …\);'):
        program.answer(scenario("alone"), other)
    program.answer(scenario("hol"), other)


def test_an_attribute_the_program_lacks() -> None:
    """A program without an attribute that the scenario gives is refused, once per attribute."""
    with pytest.raises(SerqError) as caught:
        program.answer(scenario("cache_trace"), text("oracle/vllm_request.sq"))
    assert ["prefix" in one.message for one in caught.value.diagnostics] == [True]


def test_a_program_without_an_engine() -> None:
    """A program that has no engine to compare is refused."""
    inputs = "".join(
        f'let {name} = args.number("{name}", 1);'
        for name in ("budget", "max_seqs", "block_size", "blocks")
    )
    words = (
        f'fn main() {{ use "std/args"; {inputs} stage s : fifo; workload {{ arrive none; '
        "init { Size prompt = 1; Size o = 1; } session { turn; } } "
        "server { run s (cost(s, prompt)); } }"
    )
    bare = Text(Source("bare.sq", words), places.root())
    with pytest.raises(SerqError, match="the program has 0 engines"):
        program.answer(Scenario("s", 4, 9, 8, 2, (Session((Turn(4, 1),)),)), bare)


@pytest.mark.peer
@pytest.mark.parametrize("name", ["oracle/vllm_request", "oracle/vllm_session",
                                  "oracle/vllm_priority", "replay/vllm_replay"])  # fmt: skip
def test_the_reference_compiles_the_programs_alike(name: str) -> None:
    """The programs compile to the IR that the reference build makes of them."""
    import json
    import subprocess
    import sys

    from serq.ir.codec import to_json
    from serq.link import compile_text
    from serq.settings import Settings

    pytest.importorskip("pyserq")
    words = text(f"{name}.sq").source
    code = (
        "import sys, pyserq; sys.stdout.write("
        "pyserq.compile(source=sys.stdin.read(), horizon=100.0).to_json())"
    )
    peer = subprocess.run([sys.executable, "-c", code], input=words.text, capture_output=True,
                          text=True, check=True)  # fmt: skip
    mine = to_json(compile_text(words, settings=Settings(horizon=100.0)).program)
    assert json.loads(mine) == json.loads(peer.stdout)
