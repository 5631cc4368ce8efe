"""Leases, transfers, legs and queues, step by step.

Every table was computed by hand from the language document (*Legs*, *Queues*, *A KV transfer*),
not from the interpreter.
"""

from __future__ import annotations

import pytest
from semantics import batch, check, refused, run


def disaggregated(relation: str, *, members: str = "", p: str = "P", d: str = "D") -> str:
    """A prefill queue with a fifo, a decode queue with a delay, NICs of 4 and 2 tokens a unit."""
    return f"""
    fn main() {{
      queue P{members} : prefill {{
        pool kv {{ cap 100; }} serve fifo; nic ps(4);
        prefill (prompt) {{ hold kv (cost(kv, prompt)) {{ run (cost(P, 1)); }} lease kv (inf) }}
      }}
      queue D{members} : decode {{
        pool kv {{ cap 100; }} serve delay; nic ps(2);
        decode (prompt) from P {{
          hold kv (cost(kv, prompt)) {{
            transfer (prompt) from P to kv (prompt);
            mark read_done;
            run (cost(D, 1));
          }}
        }}
      }}
      {relation}
      queue gw : gateway {{
        route {{ set i = serial; {p}.prefill (prompt); {d}.decode (prompt) from {p}; }} }}
      workload {{ arrive batch(2); turn {{ set n = 8; }} }}
      server {{ set prompt = n; gw.route(); observe read = D.read_done; observe done = now; }}
      gauge leased = used(P.kv);
    }}""".replace("used(P.kv)", "used(P[1].kv)" if members else "used(P.kv)")


@pytest.mark.parametrize("relation", ["D pull P", "P push D"])
@pytest.mark.parametrize("share", ["maxmin", "bottleneck"])
def test_a_pull_and_a_push_of_the_same_constants_give_the_same_numbers(
    relation: str, share: str
) -> None:
    """Who moves the bytes changes which side waits, not a time."""
    # Prefills end at 1 and 2, copies start 0.5 later. 1.5-2.5: 2 tokens of the first, at D's 2.
    # Then both share D's NIC, 1 each: the first's other 6 until 8.5; the second has 2 left: 9.5.
    report = check(
        disaggregated(f"{relation} latency 0.5 share {share};"),
        20,
        read=[(0, 8.5), (1, 9.5)],
        done=[(0, 9.5), (1, 10.5)],
    )
    leased = report.gauges["leased"]
    assert list(zip(leased.times, leased.values, strict=True)) == [(0, 16), (8.5, 8), (9.5, 0)]


def test_members_of_a_family_have_their_own_stages_and_nics() -> None:
    """Two pairs serve two requests side by side: each reads 8 tokens at 2 from 1.5 to 5.5."""
    check(
        disaggregated("D pull P latency 0.5 share maxmin;", members="[2]", p="P[i]", d="D[i]"),
        20,
        read=[(0, 5.5), (1, 5.5)],
        done=[(0, 6.5), (1, 6.5)],
    )


LINKED = """
    fn main() {{
      queue P : prefill {{ pool kv {{ cap 100; }} serve fifo;
        prefill (prompt) {{ hold kv (cost(kv, prompt)) {{ run (cost(P, 1)); }} lease kv (inf) }} }}
      queue net : link {{ {link} }}
      queue D : decode {{ pool kv {{ cap 100; }} serve delay;
        decode (prompt) from P {{
          hold kv (cost(kv, prompt)) {{ {copy}; observe read = now; run (cost(D, 1)); }} }} }}
      workload {{ arrive batch(1); turn {{ set n = 8; }} }}
      server {{ set prompt = n; P.prefill (prompt); D.decode (prompt) from P; }}
    }}"""


def test_a_link_s_latency_is_a_wait_before_each_transfer() -> None:
    """Prefill until 1, a wait of 0.25, 8 tokens at 2."""
    source = LINKED.format(
        link="serve ps(2) latency 0.25;", copy="transfer on net (prompt) from P to kv (prompt)"
    )
    check(source, 20, read=[(0, 5.25)])


def test_a_link_s_entry_says_what_the_copy_takes() -> None:
    """The entry runs 3 units of work a token on its own fifo: 1 + 24."""
    source = LINKED.format(
        link="serve fifo; transfer (n) { run (cost(net, 3 * n)); }",
        copy="net.transfer (prompt) from P to kv (prompt)",
    )
    check(source, 30, read=[(0, 25)])


# --- leases -------------------------------------------------------------------------------------

LATE = """
  branch (serial == 0) {
    hold p (cost(p, 4)) { run d (cost(d, 1)); } lease p (t)
    run d (cost(d, 5));
    hold q (cost(q, 4)) {
      transfer on link (4) from p to q (4);
      observe copied = now;
    } cache (cost(q, 4))
    observe kept = cachedin(q);
  } else {
    hold p (cost(p, 3)) { observe start = now; run d (cost(d, 9)); }
    observe end_of_1 = now;
  }
"""
POOLS = "pool p { cap 4; } pool q { cap 9; } stage link : fifo;"


def test_a_lease_that_expires_before_its_transfer() -> None:
    """The units go to the next holder at the expiry; the late copy releases nothing of his."""
    # lease from 1 to 4: session 1 starts at 4 and holds 3 until 13. The copy is from 6 to 10.
    source = batch(
        POOLS, LATE, t=[3, 0], at=[0, 0.5], more="gauge on_p = used(p);"
    )  # fmt: skip
    report = check(source, 20, start=[(1, 4)], copied=[(0, 10)], kept=[(0, 4)], end_of_1=[(1, 13)])
    on_p = report.gauges["on_p"]
    assert list(zip(on_p.times, on_p.values, strict=True)) == [(0, 4), (4, 3), (13, 0)]


@pytest.mark.parametrize("t", [9, 20, "inf"])
def test_a_transfer_before_the_expiry_ends_the_lease(t: float | str) -> None:
    """The transfer's release at 10 gives the units back, also at the very instant of the expiry."""
    source = batch(POOLS, LATE.replace("(t)", f"({t})"), at=[0, 0.5])
    check(source, 30, start=[(1, 10)], copied=[(0, 10)], end_of_1=[(1, 19)])


def test_a_lease_ends_with_its_session_and_its_cache_clause_applies() -> None:
    """Session 0 ends at 3: its 4 leased units go, 2 of them stay cached."""
    source = batch(
        "pool p { cap 4; }",
        """branch (serial == 0) {
             hold p (cost(p, 4)) { run d (cost(d, 1)); } cache (cost(p, 2)) lease p (inf)
             run d (cost(d, 2)); }
           else { hold p (cost(p, 3)) { observe start = now; run d (cost(d, 1)); } }""",
        at=[0, 0.5],
    )
    report = check(source, 10, start=[(1, 3)])
    assert report.pools[0].evicted_units == 2


def test_release_outside_a_hold_ends_a_lease_and_does_nothing_when_none_is_left() -> None:
    """The first release at 3 gives the units back, the second finds nothing."""
    source = batch(
        "pool p { cap 4; }",
        """branch (serial == 0) {
             hold p (cost(p, 4)) { run d (cost(d, 1)); } lease p (inf)
             run d (cost(d, 2)); release p; release p; observe left = used(p); }
           else { hold p (cost(p, 3)) { observe start = now; run d (cost(d, 1)); } }""",
        at=[0, 0.5],
    )
    check(source, 10, start=[(1, 3)], left=[(0, 3)])


# --- legs ---------------------------------------------------------------------------------------


def test_a_leg_runs_beside_the_session_and_sets_its_own_copy() -> None:
    """The leg ends at 2, the session is at its join at 1 and goes on at 2 with its own x."""
    source = batch(
        "",
        """set x = 1;
           fork { observe seen = x; set x = 5; run d (cost(d, 2)); observe seen = x; }
           set x = 3; run d (cost(d, 1)); observe at_join = now;
           join; observe joined = now; observe seen = x;
           join; observe joined = now;""",
    )
    check(source, 10, seen=[(0, 1), (0, 5), (0, 3)], at_join=[(0, 1)], joined=[(0, 2), (0, 2)])


def test_join_waits_for_every_leg() -> None:
    """Legs of 2 and 3 from 0 and of 1 from 1: the join passes at 3."""
    source = batch(
        "",
        """fork { run d (cost(d, 2)); } fork { run d (cost(d, 3)); }
           run d (cost(d, 1)); fork { run d (cost(d, 1)); }
           join; observe joined = now;""",
    )
    check(source, 10, joined=[(0, 3)])


def test_what_a_leg_leases_passes_to_its_session() -> None:
    """After the join the session's release takes the leg's lease; the cache is the request's."""
    source = batch(
        "pool p { cap 9; }",
        """fork { hold p (cost(p, 4)) { run d (cost(d, 1)); } cache (cost(p, 3)) lease p (inf) }
           join; observe units = used(p); release p; observe units = used(p);
           observe kept = cachedin(p);""",
    )
    check(source, 10, units=[(0, 4), (0, 0)], kept=[(0, 3)])


def test_a_refused_leg_ends_its_session() -> None:
    """The leg's hold can never fit: the session ends at 1, and what it leases goes back."""
    source = batch(
        "pool p { cap 4; }",
        """branch (serial == 0) {
             hold p (cost(p, 3)) { run d (cost(d, 0.5)); } lease p (inf)
             fork { run d (cost(d, 0.5)); hold p (cost(p, u)) { run d (cost(d, 1)); } }
             run d (cost(d, 9)); join; release p; observe joined = now; }
           else { hold p (cost(p, 4)) { observe start = now; } }""",
        u=[5, 0],
    )
    report = check(source, 5, start=[(1, 1)], joined=[])
    assert (report.ended, report.pools[0].rejected) == (2, 1)


def test_a_session_may_not_end_while_a_leg_runs() -> None:
    """The end of the session with a leg at work is a run-time error that says so."""
    source = batch("", "branch (serial == 1) { join; } fork { run d (cost(d, 2)); }", x=[0])
    assert "session-ends-with-leg" in refused(source, 5)


CYCLE = """
  fork { hold kv (cost(kv, 3)) { run d (cost(d, 1)); } lease kv (t) }
  run d (cost(d, 0.5));
  fork { run d (cost(d, 2)); hold kv (cost(kv, 2)) { run d (cost(d, 1)); } }
  join; observe joined = now; release kv;
"""


def test_a_finite_lease_breaks_a_cycle_of_waits() -> None:
    """The second leg waits from 2.5 for what the first has leased, until that expires at 1 + 20."""
    source = batch("pool kv { cap 4; }", CYCLE.replace("(t)", "(20)"))
    check(source, 30, joined=[(0, 22)])


def test_a_leg_that_fills_the_memory_its_session_waits_in_is_a_certified_cycle() -> None:
    """The error names who waits, since when, for what, and who holds it since when."""
    source = batch("pool kv { cap 4; }", CYCLE.replace("(t)", "(inf)"))
    told = refused(source, 30)
    assert "error[cycle-of-waits]" in told
    assert "session 0 waits at a `join` since time 0.5 for a leg of its own" in told
    assert (
        "a leg of session 0 waits in the queue of `kv` since time 2.5 for 2 units of `kv`, "
        "of whose 4 are taken 3: session 0 leases 3 since time 0"
    ) in told
    assert "hold kv (cost(kv, 2))" in told  # the line where the leg waits


def test_a_hold_around_the_join_closes_the_cycle_too() -> None:
    """vLLM's push with blocks registered first: session and leg want one pool's memory."""
    source = batch(
        "pool kv { cap 4; }",
        """fork { run d (cost(d, 1)); hold kv (cost(kv, 2)) { run d (cost(d, 1)); } }
           hold kv (cost(kv, 3)) { join; observe joined = now; run d (cost(d, 1)); }""",
    )
    told = refused(source, 30)
    assert "session 0 waits at a `join` since time 0 for a leg of its own" in told
    assert (
        "since time 1 for 2 units of `kv`, of whose 4 are taken 3: session 0 holds 3 since time 0"
    ) in told


def test_a_session_that_still_runs_may_yet_free_the_memory() -> None:
    """A holder that is at a stage when the run ends is no part of a cycle: there is no error."""
    source = batch(
        "pool kv { cap 6; }",
        "branch (serial == 1) { hold kv (cost(kv, 2)) { run d (cost(d, 99)); } end; }"
        + CYCLE.replace("(t)", "(inf)"),
        x=[0, 0],
    )
    check(source, 30, joined=[])


def test_a_leg_behind_a_head_that_waits_for_the_lease_is_in_the_cycle() -> None:
    """Head-of-line: session 1 wants all of kv, and the leg's 2 units, which are free, wait."""
    # The reference build reports no error here; "sessions and legs waiting only for each other,
    # one at a join and none for a lease that will expire, is an error" (*Legs*) decides.
    source = batch(
        "pool kv { cap 6; }",
        "branch (serial == 1) { hold kv (cost(kv, 6)) { run d (cost(d, 9)); } end; }"
        + CYCLE.replace("(t)", "(inf)"),
        at=[0, 1.5],
    )
    with pytest.raises(ValueError, match=r"since time 2\.5 behind session 1") as caught:
        run(source, 30)
    assert "session 1 waits in the queue of `kv` since time 1.5 for 6 units" in str(caught.value)
