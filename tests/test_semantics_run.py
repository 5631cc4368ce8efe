"""Stages, the order of events, the workload, gauges and claims, step by step.

Every table was computed by hand from the language document (*Ties*, *Stages*, *Arrivals and the
run*, *Workload*, *Gauges*, *Claims*), not from the interpreter.
"""

from __future__ import annotations

from pathlib import Path

import peer
import pytest
from semantics import batch, check, refused

from serq.interp.report import Report

# --- stages -------------------------------------------------------------------------------------

RUN = "run s (cost(s, w)); observe done = now;"


def test_a_fifo_serves_in_arrival_order_with_its_servers() -> None:
    """Two servers, works 3, 1 and 2: the third starts at 1; events of time 3 as scheduled."""
    check(batch("stage s : fifo(2);", RUN, w=[3, 1, 2]), 9, done=[(1, 1), (0, 3), (2, 3)])


def test_a_ps_stage_shares_its_capacity_of_those_present() -> None:
    """Three jobs at 2/3 each until 1.5; then min(1, 2) = 1 for the one with 1 left."""
    source = batch("stage s : ps(min(present, 2));", RUN, w=[1, 1, 2])
    check(source, 9, done=[(0, 1.5), (1, 1.5), (2, 2.5)])


def test_jobs_with_equal_finish_tags_end_in_the_order_they_started() -> None:
    """Session 0 yields at a run of no work, so session 1 starts first and ends first."""
    source = batch(
        "stage s : ps(1);", "branch (serial == 0) { run d (cost(d, w - 1)); }" + RUN, w=[1, 1]
    )
    check(source, 9, done=[(1, 2), (0, 2)])


def test_a_run_of_no_work_yields_to_the_ready() -> None:
    """Session 0 goes to the back of those that are ready, at the same instant."""
    source = batch("", "run d (cost(d, w)); observe done = now; run d (cost(d, 1));", w=[0, 0, 0])
    check(source, 9, done=[(0, 0), (1, 0), (2, 0)])
    source = batch(
        "", "branch (w == 0) { run d (cost(d, w)); } observe done = now;", w=[0, 1, 0]
    )  # fmt: skip
    check(source, 9, done=[(1, 0), (0, 0), (2, 0)])


def test_events_of_one_instant_happen_in_the_order_they_were_scheduled() -> None:
    """Session 1's run to 1 was scheduled at 0, session 0's second at 0.5."""
    source = batch(
        "", "run d (cost(d, w)); run d (cost(d, 1 - w)); observe done = now;", w=[0.5, 1, 0.25]
    )
    # session 2's second run ends at 1 too and was scheduled at 0.25
    check(source, 9, done=[(1, 1), (2, 1), (0, 1)])


FLOWS = "stage a : ps({0}); stage b : ps({1}); stage c : ps({2}); share {3};"
TWO = """
  branch (serial == 0) { run a, b (cost(a, b, w)); } else { run b, c (cost(b, c, w)); }
  observe done = now;
"""


@pytest.mark.parametrize(
    ("share", "done", "carried"),
    [
        # a 2, b 6, c 10. max-min: a stops the first at 2, b the second at 6 - 2 = 4: 9 / 4.
        ("maxmin", [(1, 2.25), (0, 4)], (2.25 + 1.75 * 2 / 6) / 4),
        # min(2/1, 6/2) = 2 and min(6/2, 10/1) = 3: 9 / 3; b carries 5 of 6, then 2.
        ("bottleneck", [(1, 3), (0, 4)], (3 * 5 / 6 + 2 / 6) / 4),
    ],
)
def test_two_flows_over_three_links(
    share: str, done: list[tuple[int, float]], carried: float
) -> None:
    """max-min fills the shared link, bottleneck leaves what the slower flow does not use."""
    report = check(batch(FLOWS.format(2, 6, 10, share), TWO, w=[8, 9]), 4, done=done)
    assert _stage(report, "b").utilization == pytest.approx(carried)


@pytest.mark.parametrize("share", ["maxmin", "bottleneck"])
def test_a_flow_s_rate_rises_when_another_ends(share: str) -> None:
    """3 each until 2; then the first's other 10 at min(5, 6)."""
    source = batch(FLOWS.format(5, 6, 4, share), TWO, w=[16, 6])
    check(source, 9, done=[(1, 2), (0, 4)])


@pytest.mark.parametrize(
    ("share", "done"),
    [
        # b fills at 2 each; the single one has a's other 8: 16 / 8.
        ("maxmin", [(2, 2), (0, 4), (1, 4)]),
        # the equal share of a: 12 / 3 = 4 = 16 / 4.
        ("bottleneck", [(0, 4), (1, 4), (2, 4)]),
    ],
)
def test_a_single_run_on_a_shared_stage_is_a_flow(
    share: str, done: list[tuple[int, float]]
) -> None:
    """Two flows over a (12) and b (4) and one on a alone, which the policy serves as well."""
    source = batch(
        f"stage a : ps(12); stage b : ps(4); share {share};",
        """branch (serial == 2) { run a (cost(a, w)); } else { run a, b (cost(a, b, w)); }
           observe done = now;""",
        w=[8, 8, 16],
    )
    check(source, 9, done=done)


def _stage(report: Report, name: str):  # type: ignore[no-untyped-def]
    return next(stage for stage in report.stages if stage.name == name)


# --- arrivals and the run -----------------------------------------------------------------------


def arriving(law: str, server: str, *, turn: str = "", more: str = "", session: str = "") -> str:
    """A program with an arrival law."""
    return f"""
    fn main() {{
      stage d : delay;
      workload {{ arrive {law}; {f"turn {{ {turn} }}" if turn else ""}
        {f"session {{ {session} }}" if session else ""} }}
      server {{ {server} }}
      {more}
    }}"""


def test_poisson_arrives_at_0_and_renewal_after_one_gap() -> None:
    """The first Poisson arrival is at time 0; a renewal of gap 2 has 2, 4, 6."""
    start = "observe start = now; run d (cost(d, 1));"
    check(arriving("poisson(1)", start), 99, settings={"arrivals": 1}, start=[(0, 0)])
    check(arriving("renewal(2)", start), 7, start=[(0, 2), (1, 4), (2, 6)])


def test_a_closed_population_replaces_a_session_as_it_ends() -> None:
    """Two at 0; each end at 1 starts the next session at once."""
    source = arriving("closed(2)", "observe start = now; run d (cost(d, 1));")
    check(source, 1.5, start=[(0, 0), (1, 0), (2, 1), (3, 1)])


def test_a_finite_run_ends_when_its_last_session_has() -> None:
    """Arrivals at 1, 2, 3, each takes 2: the run ends at 5 and averages over [0, 5]."""
    source = arriving("renewal(1)", "run d (cost(d, 2)); observe done = now;")
    report = check(source, 99, settings={"arrivals": 3}, done=[(0, 3), (1, 4), (2, 5)])
    assert (report.horizon, report.end, report.ended) == (99, 5, 3)
    assert report.mean_live == pytest.approx(6 / 5)


@pytest.mark.parametrize(
    ("settings", "code"),
    [
        ({"horizon": 4.5}, "not-drained"),
        ({"horizon": 2.5}, "arrivals-missing"),
        ({"horizon": 9, "warmup": 5.0}, "drained-in-warmup"),
    ],
)
def test_a_finite_run_that_does_not_drain_in_time_is_an_error(
    settings: dict[str, float], code: str
) -> None:
    """Sessions left or missing at the horizon, or all gone by the end of the warm-up (5)."""
    source = arriving("renewal(1)", "run d (cost(d, 2)); observe done = now;")
    assert code in refused(source, arrivals=3, **settings)


def test_samples_and_completions_count_from_the_warm_up_s_instant() -> None:
    """Of the ends at 1, 2, 3 the one at the warm-up's end counts; averages are over [2, 4]."""
    source = batch(
        "stage s : fifo;", RUN, more="gauge there = queue(s);", w=[1, 1, 1]
    )  # fmt: skip
    report = check(source, 4, settings={"warmup": 2.0}, done=[(1, 2), (2, 3)])
    stage = _stage(report, "s")
    assert (stage.completed, report.ended) == (2, 2)
    assert stage.utilization == pytest.approx(0.5)
    assert report.gauges["there"].mean == pytest.approx(0.5)


def test_a_sample_of_the_client_counts_when_it_is_recorded() -> None:
    """A turn that starts before the warm-up's end and is answered after it counts."""
    source = batch("", "run d (cost(d, w));", w=[1, 3])
    check(source, 4, client=True, settings={"warmup": 2.0}, response=[(1, 3)])


TRACE = """session,turn,new,out,think,forced
1,1,10,1,0
1,2,11,2,0.5
2,1,20,3,0,1
"""


def test_an_ordered_trace_replays_session_i_modulo_its_sessions(tmp_path: Path) -> None:
    """Sessions 0, 1, 2 replay a, b, a; more says whether a turn remains; the last repeats."""
    path = tmp_path / "t.csv"
    path.write_text(TRACE)
    source = """
    fn main() {
      stage d : delay;
      workload {
        arrive batch(3); trace "t.csv" ordered;
        session { turn; while (more) { tool (think + 1); turn; } tool (1); turn; }
      }
      server {
        observe got = new; observe left = more; observe flag = forced; run d (cost(d, 1)); }
    }"""
    # turns: all at 0; a's second at 1 + 1 (think 0 of the first) ... b's repeat at 1 + 1.
    check(
        source,
        9,
        settings={"trace": str(path)},
        got=[(0, 10), (1, 20), (2, 10), (0, 11), (1, 20), (2, 11), (0, 11), (2, 11)],
        left=[(0, 1), (1, 0), (2, 1), (0, 0), (1, 0), (2, 0), (0, 0), (2, 0)],
        flag=[(0, 0), (1, 1), (2, 0), (0, 0), (1, 1), (2, 0), (0, 0), (2, 0)],
    )


def test_an_unordered_trace_draws_a_session_s_recording_from_its_stream(tmp_path: Path) -> None:
    """Seed 5 and ten recorded sessions: 4 3 4 8 3 7 3 2 6 7 3 7 (api.md 3.2)."""
    path = tmp_path / "t.csv"
    path.write_text("".join(f"{i},1,{i},1,0\n" for i in range(10)))
    source = """
    fn main() {
      stage d : delay;
      workload { arrive batch(12); trace "t.csv"; }
      server { observe picked = new; run d (cost(d, 1)); }
    }"""
    check(
        source,
        2,
        settings={"trace": str(path), "seed": 5},
        picked=list(enumerate([4, 3, 4, 8, 3, 7, 3, 2, 6, 7, 3, 7])),
    )


# --- instants that do not settle, tests that are none -------------------------------------------


def test_a_loop_whose_computed_work_is_always_0_is_an_error() -> None:
    """A session that becomes ready a thousand times at one instant ends the run."""
    source = batch("", "loop { run d (cost(d, w)); }", w=[0])
    assert "does-not-settle" in refused(source, 5)


def test_a_hold_that_preempts_itself_for_ever_is_an_error() -> None:
    """It fits, grows past its pool and starts over, all at one instant."""
    source = batch(
        "pool p { cap 4; preempt lifo; }", "hold p (cost(p, u)) { grow p (cost(p, 3)); }", u=[2]
    )
    assert "does-not-settle" in refused(source, 5)


def test_an_iteration_with_tokens_lasts_a_positive_time() -> None:
    """A cost of 0 on a batch with tokens is an error."""
    source = batch(
        """device gpu { kv cap 9; } engine e on gpu { reqs cap 1; tokens cap 4;
             schedule { advance running; admit waiting; } execute (batch.tokens - 4); }
           pool reqs on e { } pool kv on gpu { }""",
        "hold reqs (cost(reqs, 1)) { run e prefill (cost(e, n)); }",
        n=[5],
    )
    assert "cost-not-positive" in refused(source, 5)


def test_a_guard_is_0_or_1_and_an_amount_is_not_negative() -> None:
    """A computed guard of 2 and a computed work of -1 end the run."""
    assert "guard-not-a-test" in refused(batch("", "branch (w) { run d (cost(d, 1)); }", w=[2]), 5)
    assert "not-an-amount" in refused(batch("", "run d (cost(d, w));", w=[-1]), 5)


# --- gauges and claims --------------------------------------------------------------------------


def test_a_gauge_is_read_at_the_end_of_an_instant() -> None:
    """At 1 one job leaves and another comes: the instant shows no 0 and no 2."""
    source = batch("stage s : fifo;", RUN, more="gauge there = queue(s);", w=[1, 1], at=[0, 1])
    report = check(source, 4, done=[(0, 1), (1, 2)])
    there = report.gauges["there"]
    assert list(zip(there.times, there.values, strict=True)) == [(0, 1), (2, 0)]
    assert (there.mean, there.min, there.max) == (0.5, 0, 1)


ENGINE = """
  device gpu { kv cap 99; }
  engine e on gpu { reqs cap 9; tokens cap 10; schedule { advance running;
    admit waiting while (running.preempted == 0); } execute (1); }
  pool reqs on e { } pool kv on gpu { }
"""
REQUEST = """
  hold reqs (cost(reqs, 1)) {
    run e prefill (cost(e, n)); run e decode (cost(e, o)); observe done = now;
  }
"""
CLAIMS = """
  claim bounded: every iteration of e (tokens <= 10);
  claim busy: every iteration of e (tokens >= 5);
  claim half: some iteration of e (tokens == 5);
  claim never: some iteration of e (tokens == 7);
  claim second: some iteration of e
    (now == 1 && demand == 5 && served == 10 && arrived == 2 && prefilled == 4 && decoders == 1);
  claim total: at end (total(done) == 6 && count(done) == 2 && prefix_total(done) == 9);
  claim extremes: at end (largest(done) > 3 || smallest(done) < 3);
  claim small given (serial < 1): every iteration of e (tokens <= 10);
"""


def _claims(report: Report) -> dict[str, tuple[str, int, int, float | None]]:
    return {c.name: (c.result, c.checked, c.failures, c.first) for c in report.claims.values()}


def test_claims_are_read_on_every_iteration_and_at_the_end() -> None:
    """Batches of 10 (6 + 4), 5 (1 + 4) and 2 tokens start at 0, 1 and 2; both requests end at 3."""
    source = batch(ENGINE, REQUEST, n=[6, 8], o=[2, 1], more=CLAIMS)
    report = check(source, 9, done=[(0, 3), (1, 3)])
    got = _claims(report)
    assert got["bounded"] == ("holds", 3, 0, None)
    assert got["busy"] == ("fails", 3, 1, 2)
    assert got["half"][0] == "witnessed" and got["half"][3] == 1
    assert got["never"][0] == "not_witnessed"
    assert got["second"][0] == "witnessed" and got["second"][3] == 1
    assert got["total"][0] == "holds"
    assert got["extremes"][0] == "fails"
    assert got["small"][0] == "out_of_scope"


def test_a_claim_at_the_end_is_not_evaluated_while_sessions_live() -> None:
    """At 2.5 both requests are at work: the run did not reach the end the claim is about."""
    source = batch(ENGINE, REQUEST, n=[6, 8], o=[2, 1], more=CLAIMS)
    got = _claims(check(source, 2.5, done=[]))
    assert got["total"][0] == "not_evaluated"
    assert got["busy"] == ("fails", 3, 1, 2)


def test_the_warm_up_does_not_apply_to_claims() -> None:
    """A claim is about the whole path: total counts what was observed before the warm-up."""
    source = batch(ENGINE, REQUEST, n=[6, 8, 1], o=[2, 1, 0], at=[0, 0, 4], more=CLAIMS)
    report = check(source, 9, settings={"warmup": 3.5}, done=[(2, 5)])
    got = _claims(report)
    assert got["half"][3] == 1
    assert got["total"][0] == "fails"  # 3 + 3 + 5


def test_a_program_runs_the_same_without_its_claims() -> None:
    """A claim reads and does not act."""
    with_claims = check(batch(ENGINE, REQUEST, n=[6, 8], o=[2, 1], more=CLAIMS), 9)
    without = check(batch(ENGINE, REQUEST, n=[6, 8], o=[2, 1]), 9)
    assert peer.first_difference(with_claims.json(), without.json(), ignore=("claims",)) is None
