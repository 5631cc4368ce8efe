"""Engines, step by step: who gets which tokens in which iteration.

Iterations last one unit (``execute (1)``) unless a test says otherwise. Every table was computed
by hand from the language document (*Engines*, *The iteration as a program*, *What the client
sees*), not from the interpreter.
"""

from __future__ import annotations

import peer
import pytest
from semantics import batch, check

from serq.api import Overrides, load
from serq.fuzz.targets import reference
from serq.ir.codec import to_json

VLLM = "advance running; admit waiting while (running.preempted == 0);"


def engine(
    tokens: str | int, kv: float = 1000, schedule: str = VLLM, *, rules: str = "preempt lifo;",
    reqs: str = "queue fifo;", execute: str = "1", more: str = "",
) -> str:  # fmt: skip
    """An engine e with reqs (cap 9) and the device's kv."""
    return f"""
      device gpu {{ kv cap {kv}; }}
      engine e on gpu {{
        reqs cap 9; tokens cap {tokens}; {more}
        schedule {{ {schedule} }}
        execute ({execute});
      }}
      pool reqs on e {{ {reqs} }}
      pool kv on gpu {{ {rules} }}
    """


REQUEST = """
  hold reqs (cost(reqs, 1)), kv (cost(kv, u)) {
    observe start = now;
    run e prefill (cost(e, n)) growing kv;
    observe first = now;
    run e decode (cost(e, o)) growing kv;
    observe done = now;
  }
"""


# --- the batch ----------------------------------------------------------------------------------


def test_running_requests_first_and_the_waiting_get_what_is_left() -> None:
    """Of 10 tokens the first prefill takes 6, the second 4, and 4 more beside a decode."""
    # 0: prefill 6 + 4.  1: decode, prefill 4.  2: decode, decode.
    source = batch(engine(10), REQUEST, n=[6, 8], o=[2, 1], u=[6, 8])
    report = check(source, 20, first=[(0, 1), (1, 2)], done=[(0, 3), (1, 3)])
    assert report.stages[1].iterations == 3


def test_each_at_most_caps_a_prefill() -> None:
    """A prefill of 7 alone takes 3, 3 and 1 tokens of a budget of 10."""
    source = batch(
        engine(10, schedule="advance running each at most (3); admit waiting each at most (3);"),
        REQUEST,
        n=[7],
        o=[1],
        u=[7],
    )
    check(source, 20, first=[(0, 3)], done=[(0, 4)])


def test_the_iteration_lasts_its_batch_s_time() -> None:
    """1 + 0.1 a token: 1.5 for a prefill of 5, 1.1 + kv for a decode with 6 units."""
    source = batch(
        engine(10, execute="1 + 0.1 * batch.tokens + batch.kv_decode"), REQUEST, n=[5], o=[1], u=[5]
    )
    check(source, 20, first=[(0, 1.5)], done=[(0, 1.5 + 1.1 + 6)])


def test_attention_is_the_chunks_against_their_positions() -> None:
    """n (K + n/2) a chunk: 3 * 1.5, 3 * (3 + 1.5), 1 * (6 + 0.5) for 7 tokens by 3."""
    source = batch(
        engine(3, execute="batch.attention + 1 * batch.decoding"), REQUEST, n=[7], o=[0], u=[7]
    )
    check(source, 99, first=[(0, 4.5 + 13.5 + 6.5)])


def test_a_run_of_no_tokens_completes_at_once() -> None:
    """A decode of 0 tokens takes no iteration."""
    source = batch(engine(10), REQUEST, n=[2], o=[0], u=[2])
    report = check(source, 20, first=[(0, 1)], done=[(0, 1)])
    assert report.stages[1].iterations == 1


def test_an_iteration_sees_every_arrival_up_to_its_instant() -> None:
    """A request whose event comes after the iteration's end, at the same time, is in the next."""
    source = batch(
        engine(10), REQUEST, session="tool (at); tool (at); turn;",
        n=[2, 2], o=[1, 0], u=[3, 3], at=[0, 0.5],
    )  # fmt: skip
    check(source, 20, start=[(0, 0), (1, 1)], first=[(0, 1), (1, 2)], done=[(0, 2), (1, 2)])


def test_a_pool_on_the_device_admits_at_once_and_a_pool_on_the_engine_in_an_iteration() -> None:
    """At 0.5 kv's own queue admits, reqs' queue waits for the iteration at 1."""
    source = batch(
        engine(10),
        """branch (serial == 1) { hold kv (cost(kv, 1)) { observe start = now;
             run e prefill (cost(e, 1)); observe first = now; } }
           else { hold reqs (cost(reqs, 1)), kv (cost(kv, 4)) { observe start = now;
             run e prefill (cost(e, 1)); observe first = now; } }""",
        at=[0, 0.5, 0.5],
    )
    check(
        source, 20, start=[(0, 0), (1, 0.5), (2, 1)], first=[(0, 1), (1, 2), (2, 2)]
    )  # fmt: skip


def test_budget_left_is_the_attempt_s_budget() -> None:
    """The second header is read with the 4 tokens that the first left."""
    source = batch(
        engine(10),
        """hold reqs (cost(reqs, 1)), kv (cost(kv, min(n, budget_left(e)))) {
             observe units = used(kv);
             run e prefill (cost(e, n)) growing kv;
             observe units = used(kv);
           }""",
        n=[6, 8],
    )
    check(source, 20, units=[(0, 6), (1, 10), (0, 10), (1, 8)])


def test_several_queues_go_in_declaration_order_and_a_blocked_head_stops_them() -> None:
    """Queue a goes before b; while a's head has no slot, b's head with one waits too."""
    # 0: session 1 (a) 4 tokens; session 2, a's head, has no slot: session 0 (b) waits as well.
    # 1: session 1's last 4. 2: sessions 2 (a) and 0 (b).
    source = batch(
        """device gpu { kv cap 99; }
           engine e on gpu { a cap 1; b cap 1; tokens cap 8;
             schedule { advance running each at most (4); admit waiting each at most (4); }
             execute (1); }
           pool a on e { } pool b on e { } pool kv on gpu { }""",
        """branch (serial == 0) {
             hold b (cost(b, 1)) { run e prefill (cost(e, n)); observe first = now; } }
           else { hold a (cost(a, 1)) { run e prefill (cost(e, n)); observe first = now; } }""",
        n=[4, 8, 4],
    )
    check(source, 20, first=[(1, 2), (2, 3), (0, 3)])


# --- orders -------------------------------------------------------------------------------------

SCARCE = (
    "advance running {order} each at most (2); "
    "admit waiting while (running.preempted == 0) each at most (2);"
)


def test_running_requests_in_admission_order() -> None:
    """3 tokens, 2 a prefill: the first admitted takes 2, the second what is left."""
    # left 9 4: 7 3, 5 2, 3 1, 1 0 -> first of 1 at 4; 0 at 5
    source = batch(
        engine(3, schedule=SCARCE.format(order="")), REQUEST, n=[9, 4], o=[0, 0], u=[9, 4]
    )
    check(source, 20, first=[(1, 4), (0, 5)])


def test_running_requests_by_keys() -> None:
    """The shortest remaining run is served first."""
    # left 9 4: 7 3 (admission), 6 1, 4 0, then session 2 (4 tokens) 1 of it beside 2: 2 3;
    # 0 2 -> first of 0 at 5; 0 at 6.
    source = batch(
        engine(3, schedule=SCARCE.format(order="by (remaining)")),
        REQUEST,
        n=[9, 4, 4],
        o=[0, 0, 0],
        u=[9, 4, 4],
    )
    check(source, 20, first=[(1, 3), (0, 5), (2, 6)])


def test_equal_keys_run_in_admission_order() -> None:
    """A constant key is admission order: 2 and 1 tokens, then 2 and 1, then the rest."""
    source = batch(
        engine(3, schedule=SCARCE.format(order="by (0 * remaining)")),
        REQUEST,
        n=[4, 4],
        o=[0, 0],
        u=[4, 4],
    )
    check(source, 20, first=[(0, 2), (1, 3)])


@pytest.mark.parametrize(
    ("order", "first", "done"),
    [
        ("decode first", [(1, 1), (0, 5)], [(1, 3), (0, 5)]),
        ("admission", [(1, 1), (0, 3)], [(0, 3), (1, 5)]),
    ],
)
def test_decode_first_serves_decodes_before_older_prefills(
    order: str, first: list[tuple[int, float]], done: list[tuple[int, float]]
) -> None:
    """One token an iteration while two run: the decode takes it first, or the older prefill."""
    # 0: one token each (budget 2). decode first: session 1 decodes at 1 and 2, then session 0's
    # other two tokens at 3 and 4. admission: session 0's at 1 and 2, then session 1's decodes.
    source = batch(
        engine(
            "running.count > 1 ? 1 : 2",
            schedule=f"advance running {order} each at most (1); admit waiting each at most (1);",
        ),
        REQUEST,
        n=[3, 1],
        o=[0, 2],
        u=[9, 9],
    )
    check(source, 20, first=first, done=done)


def test_a_granule_rounds_a_partial_prefill_down() -> None:
    """Of 6 tokens a prefill of 10 takes 4, one of 2 its remainder; the 6 left are a remainder."""
    source = batch(engine(6, more="granule 4;"), REQUEST, n=[10, 2], o=[0, 0], u=[10, 2])
    check(source, 20, first=[(1, 1), (0, 2)])


def test_a_prefill_short_of_a_granule_is_passed_over_and_admission_stops() -> None:
    """3 tokens are no granule of 4: nothing runs, nobody else is admitted, the engine is idle."""
    source = batch(engine(3, more="granule 4;"), REQUEST, n=[10, 2], o=[0, 0], u=[10, 2])
    report = check(source, 20, start=[(0, 0)], first=[])
    assert (report.stages[1].iterations, report.stages[1].idle_with_work) == (0, True)


def test_exclusive_prefill_runs_one_prefill_or_the_decodes() -> None:
    """A waiting prefill that fits takes the decodes' place and the whole budget."""
    # 0: prefill 0.  1: 0's decode is taken back, prefill 1 alone.  2: decodes 0, 1.  3, 4: 0.
    source = batch(
        engine(8, schedule="exclusive prefill; admit waiting while (running.preempted == 0);"),
        REQUEST,
        n=[2, 3],
        o=[3, 1],
        u=[9, 9],
        at=[0, 0.5],
    )
    check(source, 20, first=[(0, 1), (1, 2)], done=[(1, 3), (0, 5)])


def test_exclusive_prefill_prefers_the_prefill_that_runs() -> None:
    """A prefill of 12 takes 8, then 4 alone, though a second one of 3 would fit beside it."""
    source = batch(
        engine(8, schedule="exclusive prefill; admit waiting while (running.preempted == 0);"),
        REQUEST,
        n=[12, 3],
        o=[1, 1],
        u=[20, 9],
    )
    check(source, 20, first=[(0, 2), (1, 3)], done=[(0, 4), (1, 4)])


# --- only, registers ----------------------------------------------------------------------------

GATE = "advance running only (used(q) == 0); admit waiting only (used(q) == 0);"
GATED = """
  branch (serial == 0) {
    hold reqs (cost(reqs, 1)) { run e prefill (cost(e, 2)); observe first = now; }
  } else { branch (serial == 1) { hold q (cost(q, 1)) { run d (cost(d, 1.5)); } }
  else { observe passed = now; } }
"""


def test_an_engine_whose_requests_are_all_excluded_waits_for_an_event() -> None:
    """only keeps session 0 out while q is used, until 1.5; no iteration runs until then."""
    source = batch(
        "pool q { cap 1; }" + engine(9, schedule=GATE),
        GATED,
        x=[0, 0, 0],
        at=[0, 0, 0.5],
    )  # fmt: skip
    report = check(source, 20, first=[(0, 2.5)])
    assert report.stages[1].iterations == 1


def test_registers_are_undone_when_a_try_schedules_nothing() -> None:
    """The tries at 0 (after the admission) and 0.5 leave no count; the iteration at 1.5 does."""
    schedule = "set tries = tries + 1; " + GATE
    source = batch(
        "pool q { cap 1; }" + engine(9, schedule=schedule, more="state tries = 0;"),
        GATED.replace("reqs (cost(reqs, 1))", "kv (cost(kv, 1))"),
        more="gauge counted = tries;",
        at=[0, 0, 0.5],
    )
    report = check(source, 20, first=[(0, 2.5)])
    counted = report.gauges["counted"]
    assert list(zip(counted.times, counted.values, strict=True)) == [(0, 0), (1.5, 1)]


def test_only_keeps_phases_apart() -> None:
    """FasterTransformer's rule: an admitted prefill waits for the decode batch to end."""
    # 0: prefill 0.  1, 2: decode 0, 1 is admitted at 1 and excluded.  3: prefill 1.  4: decode.
    schedule = (
        "advance running only (in_phase()) decode first; "
        "admit waiting only (in_phase()) while (running.preempted == 0);"
    )
    source = batch(
        "def in_phase() { running.decoding > 0 ? decoding : !decoding }"
        + engine(8, schedule=schedule),
        REQUEST,
        n=[2, 2],
        o=[2, 1],
        u=[9, 9],
        at=[0, 0.5],
    )
    check(source, 20, start=[(0, 0), (1, 1)], first=[(0, 1), (1, 4)], done=[(0, 3), (1, 5)])


def test_a_schedule_branches_on_the_batch_so_far() -> None:
    """Admission stops once the batch has 5 tokens: the third prefill waits an iteration."""
    source = batch(
        engine(
            10,
            schedule="advance running; admit waiting while (batch.tokens < 5);",
        ),
        REQUEST,
        n=[3, 3, 3],
        o=[0, 0, 0],
        u=[3, 3, 3],
    )
    check(source, 20, first=[(0, 1), (1, 1), (2, 2)])


# --- growth and preemption ----------------------------------------------------------------------


def test_an_iteration_that_preempted_admits_nobody() -> None:
    """The victim would fit again at once, but is admitted in a later iteration."""
    # kv 6. 0: prefills (2 + 2). 1: decodes, 3 + 3. 2: session 0 needs 4: session 1, the last
    # admitted, goes; 4 + 2 would fit. 3: 5 + 2 > 6. 4: session 0 is done, session 1 starts over.
    source = batch(engine(8, kv=6), REQUEST, n=[2, 2], o=[3, 3], u=[2, 2])
    report = check(
        source,
        20,
        start=[(0, 0), (1, 0), (1, 4)],
        first=[(0, 1), (1, 1), (1, 5)],
        done=[(0, 4), (1, 8)],
    )
    assert report.pools[1].preemptions == 1


def test_a_grower_that_preempts_itself_ends_the_serving() -> None:
    """Session 2, after the grower in the order, gets no token in those iterations."""
    # kv 12: sessions 0 (6) and 2 (4) never grow, session 1's decode needs 3 and has 2.
    # 1: 0 decodes, 1 preempts itself, 2 is not served.  2: 0, 2; 1 starts over.  3: 0, 2 (1 is
    # last now) and 1 preempts itself; 2 is done.  4: 0; 1 starts over.  5: 1 decodes.
    source = batch(
        engine(8, kv=12, rules="preempt by (serial == 1 ? 0 : 1);"),
        REQUEST,
        n=[2, 2, 2],
        o=[4, 1, 2],
        u=[6, 2, 4],
    )
    report = check(
        source,
        20,
        start=[(0, 0), (1, 0), (2, 0), (1, 2), (1, 4)],
        first=[(0, 1), (1, 1), (2, 1), (1, 3), (1, 5)],
        done=[(2, 4), (0, 5), (1, 6)],
    )
    assert report.pools[1].preemptions == 2


def test_a_self_preemption_ends_the_serving_of_later_statements_too() -> None:
    """A statement after the grower's serves nobody in that iteration, and the queue is tried."""
    # The run above, with session 2 served by a statement of its own. 1: 1 preempts itself, and 2
    # gets nothing, though its statement comes. 2: 0, 2; 1 starts over. 3: 0; 1 preempts itself
    # (its statement comes first), 2 gets nothing. 4: 0, 2, which is done; 1 starts over.
    # language.md: "a grower that preempts itself ends the iteration's serving
    # (scheduler.py:807-813); then admit waiting admits from the queues the engine admits". The
    # reference build ends the one statement; the fuzzer's EXCEPTIONS name the case.
    check(
        two_statements(),
        20,
        reference=False,
        start=[(0, 0), (1, 0), (2, 0), (1, 2), (1, 4)],
        first=[(0, 1), (1, 1), (2, 1), (1, 3), (1, 5)],
        done=[(0, 5), (2, 5), (1, 6)],
    )
    source = two_statements().replace("while (running.preempted == 0)", "")
    # 1 to 4: 0 decodes, 1 preempts itself and starts over at once, 2 gets nothing.
    # 5: 1 and 2 decode; 1 is done. 6: 2.
    check(
        source,
        20,
        reference=False,
        start=[(0, 0), (1, 0), (2, 0), (1, 1), (1, 2), (1, 3), (1, 4)],
        done=[(0, 5), (1, 6), (2, 7)],
    )


SERVED = """
  hold reqs (cost(reqs, 1)), kv (cost(kv, u)) {
    observe resumed = computed;
    run e prefill (cost(e, n)) growing kv;
    observe first = now;
    run e decode (cost(e, o)) growing kv;
    observe done = now;
  }
"""


def test_a_victim_already_served_leaves_the_iteration_and_its_tokens_return() -> None:
    """Session 2's prefill takes the token that the served victim gives back."""
    # Order 1, 0, 2; victim 1; kv 20. Budget 12 while nobody runs, then 2.
    # 0: 2 + 2 + 8 tokens.  1: 1 and 0 decode (0 grows to 3: 20 units).  2: 1 is served, 0's growth
    # to 4 preempts it: its token goes to session 2 (4 -> 3 left); its position is 3, not 4.
    # 3: 0 decodes, 2 takes one.  4: 0 is gone, 2 takes its last two.  5: 1 starts over.
    source = batch(
        engine(
            "running.count > 0 ? 2 : 12",
            kv=20,
            schedule="advance running by (rank); admit waiting while (running.preempted == 0);",
            rules="preempt by (-(serial == 1));",
        ),
        SERVED,
        n=[2, 2, 12],
        o=[3, 3, 0],
        u=[2, 5, 12],
        rank=[1, 0, 2],
    )
    check(
        source,
        20,
        resumed=[(0, 0), (1, 0), (2, 0), (1, 3)],
        first=[(0, 1), (1, 1), (2, 5), (1, 6)],
        done=[(0, 4), (2, 5), (1, 9)],
    )


def test_a_victim_s_position_stays_cached_not_its_allocation() -> None:
    """Self-preempted at position 3 with 5 units, it finds 3 cached and computed 3."""
    # kv 7. 1: 3 + 3. 2: session 0 grows to 4, session 1 to 4: 8 > 7, it goes with position 3.
    # 3: session 0 (2 decodes) is done; session 1 is admitted with its 3 cached units.
    source = batch(
        engine(8, kv=7),
        """hold reqs (cost(reqs, 1)), kv (cost(kv, 2)) reuse (cost(reqs, kv, 9)) {
             observe hit = cached; observe resumed = computed;
             run e prefill (cost(e, 2)) growing kv;
             run e decode (cost(e, o)) growing kv;
             observe done = now;
           } cache (cost(reqs, kv, 99))""",
        o=[2, 2],
    )
    check(
        source,
        3.5,
        hit=[(0, 0), (1, 0), (1, 3)],
        resumed=[(0, 0), (1, 0), (1, 3)],
        done=[(0, 3)],
    )


def test_only_residents_of_the_engine_are_candidates() -> None:
    """A holder away from the engine is no victim, although it was admitted last."""
    # kv 4. Session 0 holds 2 from 0.5 to 2.5 in a delay. Session 1's decode at 1 needs 3: it
    # preempts itself, starts over at 2, and its decode at 3 has room.
    source = batch(
        engine(8, kv=4),
        f"""branch (serial == 0) {{
              hold kv (cost(kv, 2)) {{ run d (cost(d, 2)); observe away = now; }} }}
            else {{ {REQUEST} }}""",
        n=[0, 2],
        o=[0, 1],
        u=[0, 2],
        at=[0.5, 0],
    )
    check(
        source, 20, start=[(1, 0), (1, 2)], first=[(1, 1), (1, 3)], away=[(0, 2.5)], done=[(1, 4)]
    )


def test_a_growing_run_caches_to_the_position_it_reached() -> None:
    """6 of 8 units computed are kept; a hold that consumed 4 and ran 2 keeps 6."""
    source = batch(
        engine(10),
        """hold reqs (cost(reqs, 1)), kv (cost(kv, 8)) { run e prefill (cost(e, 6)) growing kv; }
           cache (cost(reqs, kv, 8))
           observe kept = cachedin(kv);
           hold reqs (cost(reqs, 1)), kv (cost(kv, 8)) reuse (cost(reqs, kv, 4)) {
             run e prefill (cost(e, 2)) growing kv; }
           cache (cost(reqs, kv, 8))
           observe kept = cachedin(kv);""",
        x=[0],
    )
    check(source, 20, kept=[(0, 6), (0, 6)])


# --- what the client sees -----------------------------------------------------------------------


def test_the_client_counts_the_token_of_a_resumed_prefill() -> None:
    """Four output tokens of session 1: prefill 1, decode 2, resumed prefill 5, decode 6."""
    # As in the iteration that preempts above, with vLLM's resumption: at 4 session 1 recomputes
    # max(2, 3 + 1) = 4 tokens and has 4 - 1 - (4 - 2) = 1 decode left.
    source = batch(
        engine(8, kv=6),
        """set kept = n;
           hold reqs (cost(reqs, 1)), kv (cost(kv, known))
                at admission (known = max(kept, computed + 1)) {
             set kept = known;
             run e prefill (cost(e, known)) growing kv;
             run e decode (cost(e, o - 1 - (known - n))) growing kv;
           }""",
        n=[2, 2],
        o=[4, 4],
    )
    check(
        source,
        20,
        client=True,
        ttft=[(0, 1), (1, 1)],
        tpot=[(0, 1), (1, 5 / 3)],
        response=[(0, 4), (1, 6)],
    )


def test_a_request_of_one_token_has_no_time_per_token() -> None:
    """Its last prefill samples the only token: a ttft, a response, no tpot."""
    source = batch(
        engine(3), "hold reqs (cost(reqs, 1)) { run e prefill (cost(e, n)); }", n=[5], at=[0.5]
    )
    check(source, 20, client=True, ttft=[(0, 2)], tpot=[], response=[(0, 2)])


def test_the_first_token_is_the_last_prefill_s_before_a_decode() -> None:
    """Two prefills, a decode, a third prefill: the second prefill's end gives the first token."""
    source = batch(
        engine(9),
        """run e prefill (cost(e, 2)); run d (cost(d, 2)); run e prefill (cost(e, 2));
           run e decode (cost(e, 2)); run d (cost(d, 1));""",
        n=[1],
    )  # 1; 3; 4; 6; answered at 7
    check(source, 20, client=True, ttft=[(0, 4)], tpot=[(0, 1.5)], response=[(0, 7)])


def test_without_an_engine_a_turn_has_a_response_only() -> None:
    """A turn that commits no token has neither ttft nor tpot; one that ends refused, nothing."""
    source = batch("", "run d (cost(d, 2)); branch (serial == 1) { end; }", x=[0, 0])
    check(source, 20, client=True, ttft=[], tpot=[], response=[(0, 2)])


# --- a stage declared above the engine ----------------------------------------------------------

# Session 0 comes at 0, session 1 at 5; the engine admits them, and their first run is a unit of
# work on the processor-sharing stage. numerics.md, 11: after settling, one pass in declaration
# order re-rates the ps stages and starts iterations. What an iteration's start lets run on a stage
# above the engine is rated by the pass of the next event.
CPU = "stage cpu : ps(1);"
ADMITS = """
  device gpu { compute (t) = t; }
  engine e on gpu {
    reqs cap 4; tokens cap 16;
    schedule { advance running; admit waiting; }
    execute (1);
  }
  pool reqs on e { queue fifo; }
"""
FIRST_THE_CPU = """
  hold reqs (cost(reqs, 1)) {
    run cpu (cost(cpu, 1)); observe ran = now;
    run e prefill (cost(e, 4)); observe done = now;
  }
"""


def test_a_job_that_an_admission_starts_below_the_engine_is_served_at_once() -> None:
    """The pass over the stages comes to a ps stage below the engine after the admission."""
    source = batch(ADMITS + CPU, FIRST_THE_CPU, at=[0, 5])
    check(source, 50, ran=[(0, 1), (1, 6)], done=[(0, 2), (1, 7)])


def test_a_job_that_an_admission_starts_above_the_engine_is_served_from_the_next_event_on() -> None:
    """It is rated by the pass of the next event, here the other session's arrival at 5."""
    # 5: session 0's job is rated alone and runs at 1 until 6. Session 1's comes after the pass; the
    # stage's virtual time goes on at 1 until the next event, at 6, where both have had their unit.
    # 6: session 0's prefill starts. 7: session 1's.
    source = batch(CPU + ADMITS, FIRST_THE_CPU, at=[0, 5])
    check(source, 50, ran=[(0, 6), (1, 6)], done=[(0, 7), (1, 8)])


def test_a_job_above_the_engine_is_served_where_no_event_follows() -> None:
    """With nothing else to wait for the stage takes the job up at once, instead of never."""
    # language.md: "ps(φ): every job at once, each at φ(present)/present". The reference build
    # ends this run without having served anybody.
    source = batch(CPU + ADMITS, FIRST_THE_CPU, at=[0])
    check(source, 50, reference=False, ran=[(0, 1)], done=[(0, 2)])


def two_statements() -> str:
    """The run of `test_a_self_preemption_ends_the_serving_of_later_statements_too`."""
    schedule = """
      advance running only (serial < 2);
      advance running only (serial == 2);
      admit waiting while (running.preempted == 0);
    """
    items = engine(8, kv=12, schedule=schedule, rules="preempt by (serial == 1 ? 0 : 1);")
    return batch(items, REQUEST, n=[2, 2, 2], o=[4, 1, 2], u=[6, 2, 4])


@peer.needs_peer
@pytest.mark.parametrize(
    ("name", "source"),
    [
        ("self-preemption", two_statements()),
        ("ps-after-admission", batch(CPU + ADMITS, FIRST_THE_CPU, at=[0])),
    ],
)
def test_the_fuzzer_names_where_the_reference_build_does_otherwise(name: str, source: str) -> None:
    """The run differs from the reference build's in what the named exception says, and no more."""
    assert name in reference.EXCEPTIONS
    program = load(source=source, overrides=Overrides(horizon=20.0)).program
    assert reference.check_runs(program, to_json(program)).label == f"equal but for {name}"
