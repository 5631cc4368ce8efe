"""Counters in claims: what is counted, who may read it, and that the IR says so.

The tables were computed by hand from the language page (*Counters*), not from the interpreter.
"""

from __future__ import annotations

import json
from dataclasses import replace

import peer
import pytest
from hypothesis import given, settings
from semantics import run
from strategies import fragment_programs

from serq.api import Loaded, Overrides, load
from serq.diagnostics import SerqError
from serq.fuzz.case import RandomProgram
from serq.ir.codec import from_json, to_json
from serq.ir.extensions import CLAIM_COUNTERS, EXTENDED_VERSION, marked, needed
from serq.ir.functions import COUNTERS
from serq.ir.moments import Moment, moments
from serq.ir.nodes import VERSION
from serq.ir.validate import validate
from serq.leangen.claims import claims
from serq.syntax.format import format_source


def engine(
    claims: str, requests: list[tuple[int, int]], *, cap: int = 160, cache: str = "",
    victim: str = "lifo", at: str = "0",
) -> str:  # fmt: skip
    """vLLM's request, all tokens of a batch in a unit of time; (prompt, output) of each session."""
    prompt = "".join(f"serial == {i} ? {p} : " for i, (p, _) in enumerate(requests)) + "0"
    output = "".join(f"serial == {i} ? {o} : " for i, (_, o) in enumerate(requests)) + "0"
    return f"""
fn main() {{
  device gpu {{ kv cap {cap}; }}
  engine vllm on gpu {{
    reqs cap 16;
    tokens cap 100;
    request (prompt, o) {{
      set kept = prompt;
      at admission {{ known = max(kept, computed + 1); }}
      set kept = known;
      prefill ({"known - cached" if cache else "known"}) growing kv;
      decode (o - 1 - (known - prompt)) growing kv;
      {cache}
    }}
    schedule {{
      advance running;
      admit waiting while (running.preempted == 0)
        taking reqs (1), kv (min(known, budget_left(vllm))) reserve (known);
    }}
    execute (1);
  }}
  pool reqs on vllm {{ queue fifo; }}
  pool kv on gpu {{ block 16; preempt {victim}; }}
  pool other {{ cap 1; }}
  stage d : delay;
  workload {{
    arrive batch({len(requests)});
    init {{ Size prompt = {prompt}; Size o = {output}; Size at = {at}; }}
    session {{ tool (at); turn; }}
  }}
  server {{ vllm (prompt, o); observe done = now; }}
  {claims}
}}"""


def linked(source: str) -> Loaded:
    """The program of a text."""
    return load(source=source, overrides=Overrides(horizon=500.0))


def results(source: str, horizon: float = 500) -> dict[str, str]:
    """What the run found of each claim, by name: the same with the fast path and without."""
    report = run(source, horizon)
    assert report.json() == run(source, horizon, fast=False).json()
    return {claim.name: claim.result for claim in report.claims.values()}


# --- what is counted ----------------------------------------------------------------------------


def test_preemptions_are_counted_of_the_pool_and_of_the_engine() -> None:
    """A preemption counts once at the pool that grew and once at the victim's engine."""
    # 160 units in blocks of 16; 80 + 30 tokens each: the second gives way in its own prefill.
    claims = """
      claim pool: at end (preemptions(kv) == 1);
      claim at_engine: at end (preemptions(vllm) == 1);
      claim others: at end (preemptions(reqs) == 0 && preemptions(other) == 0);"""
    assert set(results(engine(claims, [(80, 30), (80, 30)])).values()) == {"holds"}


def test_an_iteration_s_own_preemptions_are_in_its_counters() -> None:
    """The claim is read after the batch is scheduled: the preempting iteration sees its own."""
    claims = """
      claim before: every iteration of vllm (now >= 1 || preemptions(kv) == 0);
      claim from_then: every iteration of vllm (now < 1 || preemptions(kv) == 1);"""
    assert set(results(engine(claims, [(80, 30), (80, 30)])).values()) == {"holds"}


def test_what_is_computed_again_is_counted_at_the_admission_after() -> None:
    """Without a cache all of the position is lost, and it counts once the session is back."""
    # Preempted in iteration 1 with the 20 tokens of iteration 0; admitted again at time 30.
    claims = """
      claim waits: every iteration of vllm (now >= 30 || recomputed(kv) == 0);
      claim back: every iteration of vllm (now < 30 || recomputed(kv) == 20);
      claim at_engine: at end (recomputed(vllm) == 20);"""
    assert set(results(engine(claims, [(80, 30), (80, 30)])).values()) == {"holds"}


def test_what_the_cache_still_has_is_not_computed_again() -> None:
    """The prefix found at the next admission is not lost: 20 tokens less the block of 16."""
    claims = "claim c: at end (preemptions(kv) == 1 && recomputed(kv) == 4);"
    source = engine(claims, [(80, 30), (80, 30)], cache="cache (prompt + o);")
    assert results(source) == {"c": "holds"}


def test_a_session_that_gets_no_further_is_stuck_once() -> None:
    """Preempted again at the position of the last preemption counts, and once a session."""
    # Session 0 holds 2 of 4 units and computes nothing; session 1, admitted after it, asks for one
    # more again and again, and each time gives way itself: at position 0, at
    # times 2 to 8; at time 9 session 0 ends first.
    source = """
fn main() {
  stage d : delay;
  pool p { cap 4; preempt lifo; }
  workload { arrive batch(2); init { set at = serial; } session { tool (at); turn; } }
  server {
    branch (serial == 0) { hold p (cost(p, 2)) { run d (cost(d, 9)); } }
    else { hold p (cost(p, 2)) { run d (cost(d, 1)); grow p (cost(p, 1)); run d (cost(d, 1)); } }
  }
  claim several: at end (preemptions(p) == 7);
  claim one: at end (stuck(p) == 1);
}"""
    assert results(source) == {"several": "holds", "one": "holds"}


def test_rejections_are_counted_of_the_pool_that_is_asked_too_much() -> None:
    """A demand over a pool's cap counts there, and at the engine whose queue it would join."""
    # Session 1 reserves 200 units of 160, in numbers and attributes alone.
    claims = """
      claim asked: at end (rejected(kv) == 1 && rejected(vllm) == 1);
      claim others: at end (rejected(reqs) == 0 && rejected(other) == 0);"""
    found = results(engine(claims, [(80, 4), (200, 4)]))
    assert set(found.values()) == {"holds"}


def test_a_refusal_at_another_queue_is_not_the_engine_s() -> None:
    """A hold that queues at a pool no engine admits is refused there alone."""
    claims = "claim c: at end (rejected(other) == 2 && rejected(vllm) == 0);"
    source = engine(claims, [(8, 2), (8, 2)]).replace(
        "server { vllm (prompt, o);",
        "server { vllm (prompt, o); hold other (cost(other, prompt)) { }",
    )
    assert results(source) == {"c": "holds"}


def test_counters_are_of_the_whole_run() -> None:
    """The warm-up hides a preemption from the report's statistics, not from a claim."""
    claims = "claim c: at end (preemptions(kv) == 1);"
    source = engine(claims, [(80, 30), (80, 30)])
    report = run(source, 500, warmup=400)
    assert report.claims["c"].result == "holds"


# --- the language -------------------------------------------------------------------------------


@pytest.mark.parametrize("name", ["preemptions", "rejected", "stuck", "recomputed"])
@pytest.mark.parametrize("of", ["kv", "reqs", "other", "vllm"])
def test_every_counter_is_read_of_pools_and_engines_in_both_forms(name: str, of: str) -> None:
    """Both forms of claim read each counter of a pool, an engine's own pool and an engine."""
    claims = f"""
      claim at_all: every iteration of vllm ({name}({of}) >= 0);
      claim in_the_end: at end ({name}({of}) == 0);"""
    assert results(engine(claims, [(8, 2)])) == {"at_all": "holds", "in_the_end": "holds"}


@pytest.mark.parametrize(
    ("claim", "code", "words"),
    [
        ("at end (preemptions(d) == 0)", "counter-of-stage", "d"),
        ("every iteration of vllm (rejected(d) == 0)", "counter-of-stage", "d"),
        ("at end (stuck(nobody) == 0)", "unknown-resource", "nobody"),
        ("at end (preemptions() == 0)", "argument-count", "preemptions"),
        ("at end (preemptions(kv, vllm) == 0)", "argument-count", "preemptions"),
        ("at end (recomputed(3) == 0)", "not-a-resource", "3"),
    ],
)
def test_what_has_no_counters_is_refused(claim: str, code: str, words: str) -> None:
    """A counter takes one pool or engine; a stage that is no engine has none."""
    with pytest.raises(SerqError) as refused:
        linked(source=engine(f"claim c: {claim};", [(8, 2)]))
    (found,) = refused.value.diagnostics
    assert found.code == code and found.span is not None and found.span.text == words


@pytest.mark.parametrize(
    "text",
    [
        "gauge g = preemptions(kv);",
        "claim c given (stuck(kv) == 0): at end (1 == 1);",
    ],
)
def test_only_claims_read_counters(text: str) -> None:
    """A gauge and a `given` do not, nor does any statement."""
    with pytest.raises(SerqError) as refused:
        linked(source=engine(text, [(8, 2)]))
    (found,) = refused.value.diagnostics
    assert found.code == "not-readable" and "claim" in found.message


def test_a_statement_reads_no_counter() -> None:
    """What a session does may not depend on what has been counted."""
    source = engine("", [(8, 2)]).replace("observe done = now;", "observe done = rejected(kv);")
    with pytest.raises(SerqError) as refused:
        linked(source=source)
    assert [d.code for d in refused.value.diagnostics] == ["not-readable"]


def test_a_program_may_define_such_a_name() -> None:
    """The counters' names are no reserved words: programs that used them before still link."""
    source = engine("claim c: at end (stuck(3) == 6);", [(8, 2)]).replace(
        "fn main() {", "def stuck(x) { 2 * x }\nfn main() {", 1
    )
    loaded = linked(source=source)
    assert loaded.program.version == VERSION
    assert results(source) == {"c": "holds"}


def test_a_member_of_a_family_is_named_by_a_number() -> None:
    """A counter of a family's member takes a constant index."""
    source = """
fn main() {
  stage d : delay;
  pool p[2] { cap 1; }
  workload { arrive batch(1); init { set at = 0; } session { tool (at); turn; } }
  server { hold p[0] (cost(p, 2 + at)) { } }
  claim c: at end (rejected(p[0]) == 1 && rejected(p[1]) == 0);
}"""
    assert results(source) == {"c": "holds"}


def test_layout_keeps_a_counter() -> None:
    """The formatter leaves the call as it is written."""
    source = engine("claim c: at end (preemptions(kv) == 0);", [(8, 2)])
    assert "preemptions(kv) == 0" in format_source(source)


# --- the IR -------------------------------------------------------------------------------------


COUNTED = engine("claim c: at end (preemptions(kv) == 0);", [(8, 2)])


def test_the_document_is_marked() -> None:
    """A program whose claims read a counter carries the extension and its version, and no other."""
    program = linked(source=COUNTED).program
    assert (program.version, program.extensions) == (EXTENDED_VERSION, (CLAIM_COUNTERS,))
    plain = linked(source=engine("claim c: at end (now > 0);", [(8, 2)])).program
    assert (plain.version, plain.extensions) == (VERSION, ())


def test_the_document_is_read_back() -> None:
    """Printing and reading a marked document gives the program again."""
    program = linked(source=COUNTED).program
    assert from_json(to_json(program)) == program
    assert not validate(program)


def test_a_document_that_hides_a_counter_is_refused() -> None:
    """A counter in a document of version 13 is refused: that version has no such word."""
    document = json.loads(to_json(linked(source=COUNTED).program))
    document["version"] = VERSION
    del document["extensions"]
    issues = validate(from_json(json.dumps(document)))
    assert [i.code for i in issues] == ["ir-extension"]


def test_the_mark_goes_with_the_claim() -> None:
    """Without the claim a program needs no extension, and marking it again takes the mark away."""
    program = replace(linked(source=COUNTED).program, claims=())
    assert needed(program) == ()
    assert (marked(program).version, marked(program).extensions) == (VERSION, ())


@peer.needs_peer
def test_the_reference_build_refuses_the_document() -> None:
    """A reader of version 13 does not pass over what it does not know."""
    with pytest.raises(peer.Refused, match=str(EXTENDED_VERSION)):
        peer.compile(ir=to_json(linked(source=COUNTED).program))


def test_counters_are_read_in_claims_alone() -> None:
    """The table of moments: iterations' claims and claims at the end."""
    for counter in COUNTERS:
        assert moments(counter) == {Moment.ITERATION, Moment.END}


# --- random programs ----------------------------------------------------------------------------


@settings(max_examples=60, deadline=None)
@given(fragment_programs())
def test_claims_of_random_programs_of_the_fragment_are_stated_in_lean(case: RandomProgram) -> None:
    """No claim about counters is what keeps a program of the fragment out of Lean."""
    program = case.compile()
    found = claims(program)
    assert not any(reason.path.startswith("claims[") for reason in found.reasons)
    if found.claimed is not None:
        assert [s.name for s in found.claimed.statements] == [c.name for c in program.claims]
