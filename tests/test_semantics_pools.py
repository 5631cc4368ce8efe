"""Pools, step by step: queues, reservation, blocks, the cache, eviction, growth, preemption.

Every table was computed by hand from the language document (*Pools*, *Waiting selection*,
*Ties*), not from the interpreter.
"""

from __future__ import annotations

from semantics import batch, check

# --- queues and admission -----------------------------------------------------------------------


def test_a_queue_is_served_by_its_keys_and_then_in_joining_order() -> None:
    """Waiting holds go by the least key; equal keys in the order they joined the queue."""
    source = batch(
        "pool p { cap 1; queue by (k); }",
        "hold p (cost(p, 1)) { run d (cost(d, 1)); } observe done = now;",
        k=[0, 2, 1, 1],
    )
    check(source, 10, done=[(0, 1), (2, 2), (3, 3), (1, 4)])


def test_queue_keys_are_read_again_before_every_selection() -> None:
    """A key of the time waited has its value of the selection, not of the joining."""
    # At time 4 session 1 has waited 4 (key 10 - 4 = 6), session 2 has waited 1 (8 - 1 = 7).
    source = batch(
        "pool p { cap 1; queue by (k - waited); }",
        "hold p (cost(p, 1)) { run d (cost(d, w)); } observe done = now;",
        k=[0, 10, 8],
        w=[4, 1, 1],
        at=[0, 0, 3],
    )
    check(source, 10, done=[(0, 4), (1, 5), (2, 6)])


def test_a_head_that_does_not_fit_blocks_the_rest() -> None:
    """One unit is free from the start, but the one who wants it is behind the head."""
    source = batch(
        "pool p { cap 4; }",
        "hold p (cost(p, u)) { observe start = now; run d (cost(d, w)); }",
        u=[3, 2, 1],
        w=[2, 1, 1],
        at=[0, 0, 1],
    )
    check(source, 10, start=[(0, 0), (1, 2), (2, 2)])


def test_a_hold_s_end_admits_before_its_session_goes_on() -> None:
    """The next head holds the unit by the time the session reads the queue and the pool."""
    source = batch(
        "pool p { cap 1; }",
        """hold p (cost(p, 1)) { run d (cost(d, 1)); }
           observe waiting_then = queued(p); observe used_then = used(p);""",
        x=[0, 0, 0],
    )
    check(source, 10, waiting_then=[(0, 1), (1, 0), (2, 0)], used_then=[(0, 1), (1, 1), (2, 0)])


def test_units_are_read_at_every_attempt() -> None:
    """A hold asks for what its units are when it is tried: 4 at time 0, 1 at time 1."""
    source = batch(
        "pool q { cap 9; } pool p { cap 4; }",
        """branch (serial == 0) { hold q (cost(q, 3)) { run d (cost(d, 1)); } }
           else { branch (serial == 1) { hold p (cost(p, 2)) { run d (cost(d, 5)); } }
           else { hold p (cost(p, 1 + used(q))) { observe start = now; } } }""",
        x=[0, 0, 0],
    )
    check(source, 10, start=[(2, 1)])


RESERVE = (
    """hold p (cost(p, u)) reserve (cost(p, r)) { observe start = now; run d (cost(d, w)); }"""
)


def test_a_reserve_asks_for_room_once() -> None:
    """Reserved units that are not allocated are free to later admissions."""
    # Session 1: 2 used + 3 <= 10. Session 2: 5 used + 7 > 10 until session 0 ends at 4.
    source = batch("pool p { cap 10; }", RESERVE, u=[2, 3, 1], r=[8, 3, 7], w=[4, 6, 1])
    check(source, 10, start=[(0, 0), (1, 0), (2, 4)])


def test_reserve_held_counts_what_a_hold_has_not_allocated() -> None:
    """Session 0's other 6 units stay reserved: 2 + 6 + 3 > 10 until it ends."""
    source = batch(
        "pool p { cap 10; reserve held; }", RESERVE, u=[2, 3, 1], r=[8, 3, 7], w=[4, 6, 1]
    )
    check(source, 10, start=[(0, 0), (1, 4), (2, 4)])


GROW = """hold p (cost(p, u)) reserve (cost(p, r)) {
            run d (cost(d, w)); grow p (cost(p, g)); observe grown = now; run d (cost(d, 1));
          }"""


def test_a_holder_grows_into_its_own_reservation() -> None:
    """With reserve held another's growth beyond its reserve waits, the reserved one does not."""
    # At 0.5 session 1 wants 2 more: 3 used + 6 reserved by 0 + 2 > 10. At 1 session 0 takes its
    # 6: 3 + 1 (what 1 has reserved) + 6 <= 10. It ends at 2, and session 1 grows.
    source = batch(
        "pool p { cap 10; reserve held; }", GROW, u=[2, 1], r=[8, 2], w=[1, 0.5], g=[6, 2]
    )
    check(source, 10, grown=[(0, 1), (1, 2)])


def test_without_reserve_held_the_first_to_grow_takes_the_room() -> None:
    """The same growths: session 1's at 0.5 fits, session 0's waits until 1 ends at 1.5."""
    source = batch("pool p { cap 10; }", GROW, u=[2, 1], r=[8, 2], w=[1, 0.5], g=[6, 2])
    check(source, 10, grown=[(1, 0.5), (0, 1.5)])


def test_what_can_never_fit_is_rejected_as_it_joins() -> None:
    """Units of attributes above the cap end the session when it joins, not at its turn."""
    source = batch(
        "pool p { cap 10; }",
        "hold p (cost(p, u)) { run d (cost(d, 5)); } observe done = now;",
        u=[4, 8, 12],
        at=[0, 0, 0.5],
    )
    report = check(source, 0.75, done=[])
    assert (report.ended, report.pools[0].rejected) == (1, 1)


def test_a_reserve_above_the_cap_is_rejected_too() -> None:
    """The larger of units and reserve is judged against the cap, in whole blocks."""
    # 9 units are three blocks of 4: 12 > 11.
    source = batch(
        "pool p { cap 11; block 4; }",
        "hold p (cost(p, 1)) reserve (cost(p, r)) { run d (cost(d, 1)); } observe done = now;",
        r=[8, 9],
    )
    report = check(source, 5, done=[(0, 1)])
    assert (report.ended, report.pools[0].rejected) == (2, 1)


def test_units_that_read_the_state_wait_and_are_named_at_the_end() -> None:
    """A demand above the cap that reads a pool is not rejected: the report's over_cap names it."""
    source = batch(
        "pool p { cap 10; }", "hold p (cost(p, u + used(p))) { run d (cost(d, 1)); }", u=[12]
    )
    report = check(source, 5)
    assert (report.ended, report.pools[0].rejected) == (0, 0)
    assert report.pools[0].over_cap == ("p", 12.0)


def test_heads_of_two_queues_wait_for_one_pool_in_declaration_order() -> None:
    """Both heads want all of m; the queue of the pool declared first is served first."""
    source = batch(
        "pool a { cap 9; } pool b { cap 9; } pool m { cap 2; }",
        """branch (serial == 0) { hold m (cost(m, 2)) { run d (cost(d, 1)); } }
           else { branch (serial == 1) {
             hold b (cost(b, 1)), m (cost(m, 2)) { observe start = now; run d (cost(d, 1)); } }
           else {
             hold a (cost(a, 1)), m (cost(m, 2)) { observe start = now; run d (cost(d, 1)); } } }
        """,
        at=[0, 0.25, 0.5],
    )
    check(source, 10, start=[(2, 1), (1, 2)])


def test_head_of_line_blocking_across_two_pools() -> None:
    """A head short of kv blocks its queue's others, who would fit, but not kv's own queue."""
    # kv 10: session 0 has 8 until 3. Session 1 wants 5, session 2 behind it 1. Session 3 waits
    # for kv alone, in kv's queue: 8 + 1 fits. At 3: 1 + 5 + 1.
    source = batch(
        "pool reqs { cap 3; } pool kv { cap 10; }",
        """branch (serial == 3) {
             hold kv (cost(kv, 1)) { observe start = now; run d (cost(d, 4)); } }
           else { hold reqs (cost(reqs, 1)), kv (cost(kv, u)) {
             observe start = now; run d (cost(d, w)); } }""",
        u=[8, 5, 1, 1],
        w=[3, 1, 1, 4],
        at=[0, 0.25, 0.5, 1],
    )
    check(source, 10, start=[(0, 0), (3, 1), (1, 3), (2, 3)])


def test_a_pool_no_engine_admits_hands_out_units_at_the_instant_they_come_free() -> None:
    """release inside a hold gives the allocation back there, and the scope's end nothing more."""
    source = batch(
        "pool p { cap 4; }",
        """branch (serial == 0) {
             hold p (cost(p, 4)) { run d (cost(d, 1)); release p; run d (cost(d, 2)); }
             cache (cost(p, 3)) observe kept = cachedin(p); }
           else { hold p (cost(p, 1)) { observe start = now; run d (cost(d, 5)); } }""",
        at=[0, 0.5],
    )
    check(source, 10, start=[(1, 1)], kept=[(0, 3)])


# --- blocks and the cache -----------------------------------------------------------------------


def test_allocations_round_up_to_blocks_and_the_cache_rounds_down() -> None:
    """5 units are two blocks of 4, 2 more a third; 7 of them cached are one block."""
    source = batch(
        "pool p { cap 12; block 4; }",
        """hold p (cost(p, 5)) {
             observe units = used(p); grow p (cost(p, 2)); observe units = used(p);
             run d (cost(d, 1));
           } cache (cost(p, 7))
           observe kept = cachedin(p);""",
        x=[0],
    )
    check(source, 5, units=[(0, 8), (0, 12)], kept=[(0, 4)])


REUSE = """hold p (cost(p, u)) reuse (cost(p, r)) { observe hit = cached; run d (cost(d, 1)); }
           cache (cost(p, u))"""


def test_the_rest_of_a_partly_reused_prefix_is_dead_and_keeps_its_age() -> None:
    """Of 12 cached units 4 are reused; the other 8 serve nobody and are evicted first."""
    # Session 0 holds 12 at 0, and at 1 reuses floor(6/4) blocks: 8 dead units, then 4 live ones
    # released at 2. Session 1 takes 12 of 16 at 3: the 8 dead ones go, which are the older.
    source = batch(
        "pool p { cap 16; block 4; }",
        f"""branch (serial == 0) {{
              set u = 12; set r = 12; {REUSE}
              set u = 4; set r = 6; {REUSE}
              observe left = cachedin(p);
              run d (cost(d, 3));
              observe left = cachedin(p); }}
            else {{ hold p (cost(p, 12)) {{ run d (cost(d, 1)); }} }}""",
        at=[0, 3],
    )
    report = check(source, 10, hit=[(0, 0), (0, 4)], left=[(0, 4), (0, 4)])
    assert (report.pools[0].evicted_entries, report.pools[0].evicted_units) == (1, 8)


def test_the_lru_order_is_release_time_and_then_release_order() -> None:
    """Session 1's prefix is released first at time 1, so it is the one that goes."""
    # At 1, session 1's run, scheduled at 0, ends before session 0's second, scheduled at 0.5.
    source = batch(
        "pool p { cap 8; evict lru; }",
        """branch (serial == 2) { hold p (cost(p, 4)) { run d (cost(d, 1)); } }
           else {
             hold p (cost(p, 4)) { run d (cost(d, a)); run d (cost(d, 1 - a)); } cache (cost(p, 4))
             run d (cost(d, 4)); observe left = cachedin(p); }""",
        a=[0.5, 1, 0],
        at=[0, 0, 2],
    )
    check(source, 10, left=[(1, 0), (0, 4)])


def test_eviction_by_keys_takes_the_least_and_then_the_first_released() -> None:
    """Sessions 1 and 2 have the least key; session 1 released first and is evicted."""
    source = batch(
        "pool p { cap 12; evict by (v); }",
        """branch (serial == 3) { hold p (cost(p, 4)) { run d (cost(d, 1)); } }
           else { hold p (cost(p, 4)) { run d (cost(d, 1)); } cache (cost(p, 4))
                  run d (cost(d, 4)); observe left = cachedin(p); }""",
        v=[2, 1, 1, 0],
        at=[0, 0, 0, 2],
    )
    check(source, 10, left=[(0, 4), (1, 0), (2, 4)])


EVICT = """branch (serial == 1) { hold p (cost(p, 4)) { run d (cost(d, 1)); } }
           else { hold p (cost(p, 6)) { run d (cost(d, 1)); } cache (cost(p, 6))
                  run d (cost(d, 4)); observe left = cachedin(p); }"""


def test_with_blocks_eviction_cuts_the_tail() -> None:
    """2 units are missing: one block of 2 goes, the first 4 units of the prefix stay."""
    report = check(
        batch("pool p { cap 8; block 2; }", EVICT, at=[0, 2]), 10, left=[(0, 4)]
    )  # fmt: skip
    assert (report.pools[0].evicted_entries, report.pools[0].evicted_units) == (0, 2)


def test_without_blocks_eviction_takes_the_whole_entry() -> None:
    """2 units are missing: the entry of 6 goes."""
    report = check(batch("pool p { cap 8; }", EVICT, at=[0, 2]), 10, left=[(0, 0)])
    assert (report.pools[0].evicted_entries, report.pools[0].evicted_units) == (1, 6)


def test_a_hold_without_cache_leaves_the_prefix_where_it_is() -> None:
    """A hold that is memory alone consumes nothing; cache (0) consumes and keeps nothing."""
    source = batch(
        "pool p { cap 20; }",
        """hold p (cost(p, 4)) { run d (cost(d, 1)); } cache (cost(p, 4))
           hold p (cost(p, 2)) { observe left = cachedin(p); run d (cost(d, 1)); }
           observe left = cachedin(p);
           hold p (cost(p, 2)) { observe left = cachedin(p); observe hit = cached; }
           cache (cost(p, 0))
           observe left = cachedin(p);""",
        x=[0],
    )
    check(source, 10, left=[(0, 4), (0, 4), (0, 0), (0, 0)], hit=[(0, 4)])


def test_reuse_0_keeps_the_prefix_unusable_and_caches_the_new_one() -> None:
    """reuse (0) consumes nothing; what was cached is dead beside the new prefix."""
    source = batch(
        "pool p { cap 20; }",
        """hold p (cost(p, 4)) { run d (cost(d, 1)); } cache (cost(p, 4))
           hold p (cost(p, 3)) reuse (cost(p, 0)) { observe hit = cached; run d (cost(d, 1)); }
           cache (cost(p, 3))
           observe left = cachedin(p);""",
        x=[0],
    )
    check(source, 10, hit=[(0, 0)], left=[(0, 3)])


def test_what_stays_cached_is_what_was_computed() -> None:
    """No run or load: the allocation; a load: its tokens; both at most what cache asks."""
    source = batch(
        "pool p { cap 20; }",
        """hold p (cost(p, 8)) { run d (cost(d, 1)); } cache (cost(p, 10))
           observe kept = cachedin(p); drop p;
           hold p (cost(p, 8)) { load p (cost(p, 5)); run d (cost(d, 1)); } cache (cost(p, 8))
           observe kept = cachedin(p);
           hold p (cost(p, 8)) { load p (cost(p, 2)); run d (cost(d, 1)); } cache (cost(p, 8))
           observe kept = cachedin(p);
           hold p (cost(p, 8)) reuse (cost(p, 0)) { load p (cost(p, 6)); } cache (cost(p, 3))
           observe kept = cachedin(p);""",
        x=[0],
    )  # the third hold starts at the 5 tokens it consumed
    check(source, 10, kept=[(0, 8), (0, 5), (0, 7), (0, 3)])


ENDED = """branch (serial == 1) { hold p (cost(p, 4)) { run d (cost(d, 1)); } }
           else { hold p (cost(p, 6)) { run d (cost(d, 1)); } cache (cost(p, 6)) """


def test_an_ended_session_s_prefix_stays_cached_until_it_is_evicted() -> None:
    """end keeps the cache; a program that models dropping it writes drop."""
    kept = check(batch("pool p { cap 8; }", ENDED + "}", at=[0, 2]), 10)
    dropped = check(batch("pool p { cap 8; }", ENDED + "drop p; }", at=[0, 2]), 10)
    assert kept.pools[0].evicted_units == 6
    assert dropped.pools[0].evicted_units == 0


def test_the_prefix_of_a_waiting_session_may_be_evicted() -> None:
    """The wait channel: session 0 waits with 4 cached units, which session 2's hold takes."""
    # Session 1 has 4 of 8 from 2 to 5; session 0 asks 6 at 3 and waits. Session 2, in q's queue,
    # takes 4 at 4: the cache must go. At 5: 4 + 6 > 8. At 6 session 0 is admitted.
    source = batch(
        "pool q { cap 9; } pool p { cap 8; }",
        """branch (serial == 0) {
             hold p (cost(p, 4)) { run d (cost(d, 1)); } cache (cost(p, 4))
             run d (cost(d, 2));
             hold p (cost(p, 6)) { observe start = now; observe hit = cached; } cache (cost(p, 6)) }
           else { branch (serial == 1) { hold p (cost(p, 4)) { run d (cost(d, 3)); } }
           else { hold q (cost(q, 1)), p (cost(p, 4)) { run d (cost(d, 2)); } } }""",
        at=[0, 2, 4],
    )
    check(source, 10, start=[(0, 6)], hit=[(0, 0)])


# --- growth and preemption ----------------------------------------------------------------------


def test_growers_are_served_in_the_order_they_stalled() -> None:
    """The first that stalled blocks the second, whose growth would fit."""
    # cap 10, all held. Session 0 wants 3 at 1, session 1 wants 1 at 2. At 3 one unit comes free
    # (not enough for the first), at 4 two more: session 0 grows, ends at 5, session 1 grows.
    source = batch(
        "pool p { cap 10; }",
        """hold p (cost(p, u)) {
             run d (cost(d, w));
             branch (g > 0) { grow p (cost(p, g)); observe grown = now; run d (cost(d, 1)); }
           }""",
        u=[4, 3, 2, 1],
        w=[1, 2, 4, 3],
        g=[3, 1, 0, 0],
    )
    check(source, 10, grown=[(0, 4), (1, 5)])


VICTIM = """hold p (cost(p, u)) {
              observe start = now; run d (cost(d, w));
              branch (g > 0) { grow p (cost(p, g)); observe grown = now; run d (cost(d, 1)); }
            } observe done = now;"""
MANY = {"u": [4, 3, 3, 4], "w": [5, 2, 1, 2], "g": [0, 0, 2, 0], "prio": [1, 1, 2, 9]}


def test_the_victim_is_the_last_admitted_of_the_least_keys_and_re_enters_ahead() -> None:
    """Sessions 0 and 1 tie; 1 goes, and is admitted before a newcomer whose key is less."""
    # At 1 session 2 grows 3 to 5: session 1 gives back its 3 and waits, ahead of session 3. At 2
    # session 2 ends: 4 + 3, then 4 more do not fit until session 1 ends at 4.
    source = batch(
        "pool p { cap 10; queue by (k); preempt by (prio); }",
        VICTIM,
        at=[0, 0, 0, 0.5],
        k=[0, 5, 5, 1],
        **MANY,
    )
    report = check(
        source,
        10,
        start=[(0, 0), (1, 0), (2, 0), (1, 2), (3, 4)],
        grown=[(2, 1)],
        done=[(2, 2), (1, 4), (0, 5), (3, 6)],
    )
    assert report.pools[0].preemptions == 1


def test_with_requeue_tail_a_newcomer_passes_the_victim() -> None:
    """The same, but the victim joins as a newcomer, behind session 3."""
    source = batch(
        "pool p { cap 10; preempt by (prio) requeue tail; }", VICTIM, at=[0, 0, 0, 0.5], **MANY
    )
    check(
        source,
        10,
        start=[(0, 0), (1, 0), (2, 0), (3, 2), (1, 4)],
        grown=[(2, 1)],
        done=[(2, 2), (3, 4), (0, 5), (1, 6)],
    )


def test_a_growth_may_preempt_its_own_grower() -> None:
    """lifo takes the last admitted, the grower: it starts again, until the other has ended."""
    # cap 6, both hold 3; session 1 grows 2 at 1 and at 2 in vain; session 0 ends at 2.5.
    source = batch(
        "pool p { cap 6; preempt lifo; }", VICTIM, u=[3, 3], w=[2.5, 1], g=[0, 2]
    )  # fmt: skip
    report = check(
        source,
        10,
        start=[(0, 0), (1, 0), (1, 1), (1, 2)],
        grown=[(1, 3)],
        done=[(0, 2.5), (1, 4)],
    )
    assert (report.pools[0].preemptions, report.pools[0].stuck) == (2, 1)


def test_a_preempted_hold_starts_over_with_its_computed_position() -> None:
    """computed is where the hold had got (a load's 2), 0 at first and after the hold completes."""
    source = batch(
        "pool p { cap 6; preempt lifo; }",
        """observe at_computed = computed;
           hold p (cost(p, u)) {
             observe at_computed = computed;
             load p (cost(p, 2)); run d (cost(d, w));
             branch (g > 0) { grow p (cost(p, g)); }
           } observe at_computed = computed;""",
        u=[3, 3],
        w=[1.5, 1],
        g=[0, 2],
    )
    check(
        source,
        10,
        at_computed=[(0, 0), (1, 0), (0, 0), (1, 0), (1, 2), (0, 0), (1, 0)],
    )


def test_a_lease_is_no_victim() -> None:
    """The only other units are leased: a growth under lifo preempts its own grower, in vain."""
    # Session 0's lease of 3 ends at 1 + 2 = 3. Session 1 grows at 1.5 (admitted 0.5), 2.5, 3.5.
    source = batch(
        "pool p { cap 6; preempt lifo; }",
        """branch (serial == 0) { hold p (cost(p, 3)) { run d (cost(d, 1)); } lease p (2)
             run d (cost(d, 9)); }
           else { hold p (cost(p, 3)) { observe start = now; run d (cost(d, 1));
             grow p (cost(p, 1)); observe grown = now; } }""",
        at=[0, 0.5],
    )
    check(source, 10, start=[(1, 0.5), (1, 1.5), (1, 2.5)], grown=[(1, 3.5)])


# --- choose -------------------------------------------------------------------------------------


def test_choose_takes_the_least_keys_in_order_and_then_the_smallest_index() -> None:
    """The second key decides between equal firsts, the index between equal keys."""
    source = batch(
        "",
        """choose a in 3 by (a == 0, -a); observe picked = a;
           choose b in 3 by (b == 0, 7); observe picked = b;
           choose c in 3 by (1); observe picked = c;""",
        x=[0],
    )
    check(source, 5, picked=[(0, 2), (0, 1), (0, 0)])
