"""Claims as Lean statements: their families, their propositions, what is refused."""

from __future__ import annotations

import pytest

from serq.diagnostics import Source
from serq.leangen.claims import ClaimVerdict, Statement, camel, claims
from serq.leangen.generate import _docstring, claim_sentences
from serq.link import compile_text
from serq.settings import Settings

PROGRAM = """
let bmax = 128;
fn main() {{
  pool kv {{ cap 100; }}
  device gpu {{ }}
  engine e on gpu {{
    tokens cap bmax;
    schedule {{ advance running; admit waiting while (running.preempted == 0); }}
    execute (1 + batch.tokens);
  }}
  workload {{ {workload} }}
  server {{
    observe length = p;
    hold kv (cost(kv, min(p, 100))) {{ run e prefill (cost(e, p)); }}
    observe response = now;
  }}
  {claims}
}}
"""

DRAWN = "arrive poisson(0.1); init { Size p = 1 + floor(~uniform(0, 9)); set t0 = now; }"
FIXED = "arrive renewal(10); init { Size p = 3; set t0 = now; }"
BURST = "arrive batch(20); init { Size p = 1 + floor(~uniform(0, 9)); }"


def verdict(claims_text: str, workload: str = DRAWN) -> ClaimVerdict:
    text = PROGRAM.format(workload=workload, claims=claims_text)
    linked = compile_text(Source("p.sq", text), settings=Settings(horizon=100))
    return claims(linked.program, linked.source_map)


def stated(claims_text: str, workload: str = DRAWN) -> Statement:
    found = verdict(claims_text, workload)
    assert found.claimed is not None, found.reasons
    (statement,) = found.claimed.statements
    return statement


def refused(claims_text: str, workload: str = DRAWN) -> str:
    found = verdict(claims_text, workload)
    assert found.claimed is None
    return "; ".join(map(str, found.reasons))


@pytest.mark.parametrize(
    ("expression", "proposition"),
    [
        ("demand < bmax || tokens == bmax", "r.demand < 128 ∨ r.tokens = 128"),
        ("served * (2 + 3) <= bmax * now", "r.served * 5 ≤ 128 * r.start"),
        ("!(decoders == residents)", "¬(r.decoders = r.residents)"),
        ("tokens > 0 && (prefilled > 0 || decoders > 0)",
         "r.tokens > 0 ∧ (r.prefilled > 0 ∨ r.decoders > 0)"),
        ("holders(kv) <= used(kv)", "(r.pool 0).holders ≤ (r.pool 0).used"),
        ("ceil(tokens / 8) <= 16", "(r.tokens + 7) / 8 ≤ 16"),
        ("floor(tokens / 8) <= 16", "r.tokens / 8 ≤ 16"),
        ("min(tokens, 4) >= 1", "Nat.min r.tokens 4 ≥ 1"),
        ("(tokens > 4 ? decoders : 1) > 0", "(if r.tokens > 4 then r.decoders else 1) > 0"),
        ("2 * (tokens + decoders) <= 3 * tokens", "2 * (r.tokens + r.decoders) ≤ 3 * r.tokens"),
        ("2 * attention <= arrived", "r.attention2 ≤ r.arrived"),
        ("tokens", "r.tokens ≠ 0"),
    ],
)  # fmt: skip
def test_a_claim_over_iterations_is_plain_arithmetic(expression: str, proposition: str) -> None:
    """The expression of a claim becomes a proposition over the record, constants folded."""
    statement = stated(f"claim c: every iteration of e ({expression});")
    assert statement.form == "EveryIteration"
    assert statement.proposition == proposition


def test_a_claim_at_the_end_reads_aggregates() -> None:
    """Aggregates are those of the observation's number."""
    statement = stated(
        "claim c: at end (total(response) + prefix_total(length) "
        "<= 9 * count(length) + largest(length));",
        BURST,
    )
    assert statement.form == "AtEnd"
    assert statement.proposition == ("total m 1 + prefixTotal m 0 ≤ 9 * count m 0 + largest m 0")


MEMORY = """
fn main() {{
  device gpu {{ kv cap 100; }}
  engine e on gpu {{
    reqs cap 4;
    tokens cap 64;
    request (n, m) {{
      set kept = n;
      at admission {{ known = max(kept, computed + 1); }}
      prefill (known) growing kv;
      decode (m) growing kv;
    }}
    schedule {{
      advance running;
      admit waiting while (running.preempted == 0)
        taking reqs (1), kv (min(known, budget_left(e))) reserve (known);
    }}
    execute (1);
  }}
  pool reqs on e {{ queue fifo; }}
  pool kv on gpu {{ block 4; preempt lifo; }}
  workload {{ arrive batch(9); init {{ set n = 1 + floor(~exp(9)); set m = floor(~exp(9)); }} }}
  server {{ e (n, m); }}
  {claims}
}}
"""
"""Pool 0 are the slots, pool 1 is the engine's memory."""


def counted(claims_text: str) -> Statement:
    text = MEMORY.format(claims=claims_text)
    found = claims(compile_text(Source("p.sq", text), settings=Settings(horizon=9)).program)
    assert found.claimed is not None, found.reasons
    (statement,) = found.claimed.statements
    return statement


@pytest.mark.parametrize(
    ("expression", "proposition"),
    [
        ("preemptions(e) == 0", "r.preempts = 0"),
        ("preemptions(kv) <= 2", "r.preempts ≤ 2"),
        ("preemptions(reqs) <= 2", "0 ≤ 2"),
        ("stuck(kv) == 0", "r.counters.stuckOnes.length = 0"),
        ("stuck(reqs) == 0", "0 = 0"),
        ("recomputed(e) < served", "r.counters.recomputed < r.served"),
        ("rejected(e) == 0", "rejectedVia r.counters.rejections = 0"),
        ("rejected(reqs) + rejected(kv) <= 1",
         "rejectedAt 0 r.counters.rejections + rejectedAt 1 r.counters.rejections ≤ 1"),
    ],
)  # fmt: skip
def test_counters_are_read_from_the_record(expression: str, proposition: str) -> None:
    """An engine's counters and its memory's are the record's; no other pool is preempted from."""
    assert counted(f"claim c: every iteration of e ({expression});").proposition == proposition


def test_counters_at_the_end_are_the_machines() -> None:
    """A claim at the end reads the same counters of the machine."""
    found = counted("claim c: at end (preemptions(kv) + stuck(e) <= rejected(reqs));")
    assert found.proposition == (
        "m.plan.preempts + m.counters.stuckOnes.length ≤ rejectedAt 0 m.counters.rejections"
    )


def test_what_the_server_sets_starts_at_zero() -> None:
    """Attributes that a program sets and reads, and init does not give, are 0 at the start."""
    found = counted("claim c: at end (preemptions(kv) == 0);")
    # 8 is computed; 11 and 12, kept and known, are the request's own
    zeros = "w.attr i 8 = 0 ∧ w.attr i 11 = 0 ∧ w.attr i 12 = 0"
    assert f"(∀ i, i < w.init.length → {zeros})" in found.conjuncts
    assert not any("= 0" in c for c in stated("claim c: at end (now > 0);").conjuncts)


def test_a_subtraction_has_a_side_proposition() -> None:
    """Every difference of a claim is stated not to be cut off at 0."""
    statement = stated(
        "claim c: at end (total(response) - total(length) <= 2 * (count(length) - 1));", BURST
    )
    assert statement.side == "total m 0 ≤ total m 1 ∧ 1 ≤ count m 0"
    assert stated("claim c: at end (total(response) >= 0);", BURST).side is None


def test_free_room_is_a_difference() -> None:
    """`free(p)` is the capacity less what is used, which is stated not to exceed it."""
    statement = stated("claim c: every iteration of e (free(kv) <= 100);")
    assert statement.proposition == "100 - (r.pool 0).used ≤ 100"
    assert statement.side == "(r.pool 0).used ≤ 100"


def test_the_family_of_a_poisson_workload() -> None:
    """Poisson arrivals are any gaps; a drawn attribute is any natural number."""
    statement = stated("claim c: every iteration of e (tokens <= bmax);")
    assert statement.conjuncts == (
        "w.init.length ≤ 500",
        "w.turns = []",
        "(∃ gs, w.gaps = some gs ∧ gs.length = w.init.length)",
    )


def test_the_family_of_a_constant_renewal() -> None:
    """A constant renewal pins the gaps."""
    statement = stated("claim c: every iteration of e (tokens <= bmax);", FIXED)
    assert statement.conjuncts[2] == "w.gaps = some (List.replicate w.init.length 10)"


def test_the_family_of_a_batch() -> None:
    """In a batch everybody starts at time 0."""
    assert stated("claim c: at end (now >= 0);", BURST).conjuncts[2] == "w.gaps = none"


def test_given_is_about_every_session() -> None:
    """A claim's `given` narrows its own family, with what init computes written out."""
    statement = stated("claim c given (p <= 9 && p >= 1): every iteration of e (tokens <= bmax);")
    assert statement.conjuncts[3] == ("∀ i, i < w.init.length → w.attr i 9 ≤ 9 ∧ w.attr i 9 ≥ 1")
    fixed = stated("claim c given (p <= 9): every iteration of e (tokens <= bmax);", FIXED)
    assert len(fixed.conjuncts) == 3


def test_given_may_not_depend_on_the_clock() -> None:
    """An attribute that init computes from the clock cannot stand in `given`."""
    found = refused("claim c given (t0 > 5): every iteration of e (tokens <= bmax);")
    assert "`t0` depends on the clock" in found


def test_given_may_not_subtract() -> None:
    """A difference in a premise could make it true by being cut off."""
    found = refused("claim c given (p - 3 >= 0): every iteration of e (tokens <= bmax);")
    assert "may not subtract" in found


def test_some_iteration_is_about_the_programs_own_path() -> None:
    """A witness lies on a path of the program: nothing is drawn, no arrival is left out."""
    claim = "claim c: some iteration of e (tokens < bmax);"
    assert stated(claim, FIXED).before == 10
    assert "needs a workload that draws nothing" in refused(claim)


def test_a_fractional_draw_is_outside() -> None:
    """A family's attributes are natural numbers, so what is drawn must be whole."""
    found = refused(
        "claim c: every iteration of e (tokens <= bmax);",
        "arrive poisson(0.1); init { Size p = ~exp(9); }",
    )
    assert "`p` is drawn and may be fractional" in found


def test_a_large_batch_is_outside() -> None:
    """A family has at most 500 sessions, so a larger batch is not one of its members."""
    found = refused("claim c: at end (now >= 0);", BURST.replace("20", "501"))
    assert "at most 500 sessions" in found


def test_what_a_claim_cannot_read_is_outside() -> None:
    """An observable that Lean's record does not have is named."""
    found = refused("claim c: every iteration of e (queue(e) < 5);")
    assert "`queue`" in found


@pytest.mark.parametrize(
    ("stem", "name"),
    [("kong_svf", "KongSvf"), ("a-b.c", "ABC"), ("2phase", "P2phase"), ("RAD", "RAD")],
)
def test_a_files_name_in_lean(stem: str, name: str) -> None:
    """The name of a program file becomes one Lean word."""
    assert camel(stem) == name


def test_the_sentence_of_a_claim_is_its_comment() -> None:
    """The comment lines directly above a claim say it in words."""
    text = "  // One.\n\n  // Two\n  // lines.\n  claim c: at end (1);\n  claim d: at end (1);\n"
    assert claim_sentences(text) == {"c": "Two lines."}


def test_a_comment_stays_one_comment() -> None:
    """A program's comment can neither end the Lean comment that it becomes nor open another."""
    text = _docstring("a -/ theorem x : False := sorry /- b -/- /-/")
    assert "-/" not in text
    assert "/-" not in text
