"""Whether a document hangs together; settings and arrivals."""

from __future__ import annotations

from ir_programs import (
    A_,
    CACHED,
    KV,
    KW,
    NEW,
    ONE,
    REQS,
    SVC,
    TWO,
    ZERO,
    Client,
    E,
    N,
    attr,
    binary,
    branch,
    call,
    choose,
    cost,
    document,
    draw,
    drop,
    joint,
    loop,
    num,
    of_pool,
    of_stage,
    pool,
    put,
    ref,
    run,
    see,
)

from ir_cases import (
    CIRCLES,
    GAP,
    PLAIN,
    RUN,
    S1,
    STATE,
    edited,
    no,
    sub,
    yes,
)

# --- the document hangs together ------------------------------------------------------------------

no("types too short", edited(PLAIN, "attr_types", 17), "ir-shape", "attr_types")
no("sides too short", edited(PLAIN, "sides", 2, 0), "ir-shape", "sides")
no("sides of too few blocks", edited(PLAIN, "sides", 2), "ir-shape", "sides")
no("no such root", edited(PLAIN, "session", to=9), "ir-range", "session")
no("one block as two roots", edited(PLAIN, "turn", to=0), "ir-tree", "turn")
no(
    "no such body",
    edited(document([loop([RUN])]), "blocks", 2, 1, "Loop", to=7),
    "ir-range",
    f"{S1}.Loop",
)
no(
    "a body twice",
    edited(document([branch(ONE, [RUN])]), "blocks", 2, 1, "Branch", 2, to=3),
    "ir-tree",
    "blocks[2][1].Branch[2]",
)
no(
    "a body inside itself",
    edited(document([loop([RUN])]), "blocks", 2, 1, "Loop", to=2),
    "ir-tree",
    "blocks[2][1].Loop",
)
no("no such attribute set", document([put(99, ONE)]), "ir-range", f"{S1}.Set[0]")
no("no such attribute read", document([put(A_, attr(99))]), "ir-range", f"{S1}.Set[1].Attr")
no("no such attribute chosen", document([choose(99, TWO, ONE)]), "ir-range", f"{S1}.Choose.var")
no("no such observation", document([see(ONE, 9)]), "ir-range", f"{S1}.Observe[0]")
no("no such register", document([put(A_, {"Reg": 4})]), "ir-range", f"{S1}.Set[1].Reg")
no(
    "no such pool read",
    document([put(A_, call("Used", pool(9)))]),
    "ir-range",
    f"{S1}.Set[1].Call[1][0].Pool",
)
no(
    "a reference to nothing",
    document([put(A_, call("Used", pool(KV, count=0)))]),
    "ir-range",
    f"{S1}.Set[1].Call[1][0].Pool",
)
no(
    "a huge reference",
    document([drop(KV) | {"Drop": ref(2**64 - 1, count=2**64 - 1)}]),
    "ir-range",
    f"{S1}.Drop",
)
no(
    "no such stage run",
    document([edited(run(), "Run", "stage", "base", to=50)]),
    "ir-range",
    f"{S1}.Run.stage",
)
no(
    "no such cost",
    document([put(A_, cost({"Pool": {"base": 9, "count": 1}}, ONE))]),
    "ir-range",
    f"{S1}.Set[1].Cost[0]",
)
no(
    "a joint cost of one",
    document([put(A_, cost(joint(of_pool(KV)), ONE))]),
    "ir-shape",
    f"{S1}.Set[1].Cost[0]",
)
no(
    "a joint cost of none",
    document([put(A_, cost(joint(), ONE))]),
    "ir-shape",
    f"{S1}.Set[1].Cost[0]",
)
no(
    "a joint cost out of order",
    document([put(A_, cost(joint(of_pool(KW), of_pool(KV)), ONE))]),
    "ir-shape",
    f"{S1}.Set[1].Cost[0]",
)
no(
    "a joint cost with stages first",
    document([put(A_, cost(joint(of_stage(SVC), of_pool(KV)), ONE))]),
    "ir-shape",
    f"{S1}.Set[1].Cost[0]",
)
no("no such hidden slot", document([RUN], hidden=[40]), "ir-range", "hidden[0]")
no("no such built-in slot", document([RUN], slot_new=40), "ir-range", "slot_new")
no(
    "no such admitting stage",
    edited(PLAIN, "pools", REQS, "admit_via", to=20),
    "ir-range",
    "pools[1].admit_via",
)
no(
    "no such tier",
    edited(PLAIN, "pools", KW, "spill", to={"to": 9, "via": 0, "work": ONE, "when": ONE}),
    "ir-range",
    "pools[2].spill.to",
)
no(
    "no such link",
    edited(PLAIN, "pools", KW, "spill", to={"to": 0, "via": 9, "work": ONE, "when": ONE}),
    "ir-range",
    "pools[2].spill.via",
)
no(
    "no such memory",
    edited(PLAIN, "stages", E, "kind", "Step", "memory", to=30),
    "ir-range",
    "stages[1].kind.Step.memory",
)
no(
    "no such stage of a state",
    edited(PLAIN, "registers", 0, "stage", to=30),
    "ir-range",
    "registers[0].stage",
    STATE,
)
no(
    "no such stage of a claim",
    document(claims=[{"name": "c", "kind": {"EveryIteration": 30}, "expr": ONE}]),
    "ir-range",
    "claims[0].kind",
)
no(
    "no such attribute of a session",
    document([RUN], arrival={"Sessions": [{"attrs": [[50, 1.0]]}]}),
    "ir-range",
    "arrival.Sessions[0].attrs[0][0]",
)
yes("nothing at all", document())
yes("one run", PLAIN)
yes(
    "a block that nothing reaches",
    edited(edited(PLAIN, "blocks", to=[*PLAIN["blocks"], []]), "sides", to=[*PLAIN["sides"], []]),
)
yes("names twice", edited(PLAIN, "pools", KW, "name", to="kv"))
yes("an attribute with an empty name", edited(PLAIN, "attrs", 12, to=""))
yes("a session that never turns", document(session=[RUN, Client("End")]))
yes("statements after the end", document([{"Set": [A_, ONE]}], session=[Client("End"), RUN]))


# --- settings and arrivals ------------------------------------------------------------------------

no("a horizon of 0", document([RUN], horizon=0.0), "bad-setting", "horizon")
no("a negative horizon", document([RUN], horizon=-5.0), "bad-setting", "horizon")
no("a warm-up to the end", document([RUN], warmup=100.0), "bad-setting", "horizon")
no("a negative warm-up", document([RUN], warmup=-1.0), "bad-setting", "horizon")
no("no arrivals", document([RUN], arrivals=0), "bad-setting", "arrivals")
no(
    "arrivals of a closed workload",
    document([RUN], arrivals=3, arrival={"Closed": 3}),
    "bad-setting",
    "arrivals",
)
no(
    "arrivals of a batch",
    document([RUN], arrivals=3, arrival={"Batch": 3}),
    "bad-setting",
    "arrivals",
)
no("arrivals of nothing", document([RUN], arrivals=3, arrival="None"), "bad-setting", "arrivals")
no("a rate of 0", document([RUN], arrival={"Poisson": 0.0}), "not-a-rate", "arrival.Poisson")
no("a negative rate", document([RUN], arrival={"Poisson": -2.0}), "not-a-rate", "arrival.Poisson")
no("an empty batch", document([RUN], arrival={"Batch": 0}), "not-a-count", "arrival")
no(
    "too large a population",
    document([RUN], arrival={"Closed": 1_000_001}),
    "not-a-count",
    "arrival",
)
no("a gap of 0", document([RUN], arrival={"Renewal": ZERO}), "not-a-gap", "arrival.Renewal")
no(
    "an infinite gap",
    document([RUN], arrival={"Renewal": num("inf")}),
    "not-a-gap",
    "arrival.Renewal",
)
no(
    "a computed gap of 0",
    document([RUN], arrival={"Renewal": sub(ONE, ONE)}),
    "not-a-gap",
    "arrival.Renewal",
    GAP,
)
no(
    "a gap that is no number",
    document([RUN], arrival={"Renewal": binary("Div", ZERO, ZERO)}),
    "not-a-gap",
    "arrival.Renewal",
    GAP,
)
no(
    "a session with a value of the server",
    document([RUN], arrival={"Sessions": [{"attrs": [[A_, 1.0]]}]}),
    "preset-of-server",
    "arrival.Sessions[0].attrs[0]",
)
no(
    "a turn with a value of the server",
    document([RUN], arrival={"Sessions": [{"attrs": [], "turns": [[[N, 1.0]], [[CACHED, 1.0]]]}]}),
    "preset-of-server",
    "arrival.Sessions[0].turns[1][0]",
)
yes("a warm-up", document([RUN], warmup=99.0))
yes("arrivals of an open workload", document([RUN], arrivals=3))
yes("arrivals of a renewal", document([RUN], arrivals=3, arrival={"Renewal": draw("Exp", ONE)}))
yes("a gap drawn that may be 0", document([RUN], arrival={"Renewal": draw("Det", ZERO)}))
yes("a batch of one", document([RUN], arrival={"Batch": 1}))
yes("a million", document([RUN], arrival={"Closed": 1_000_000}))
yes("no session at all", document([RUN], arrival={"Sessions": []}))
yes(
    "sessions with sizes",
    document([RUN], arrival={"Sessions": [{"attrs": [[N, 1.0], [NEW, 2.0]]}]}),
)
yes("the largest seed", document([RUN], seed=2**64 - 1))
yes("a trace", document([RUN], trace="nowhere.csv", trace_ordered=True))


def with_blocks(*blocks):
    """The plain document with further blocks of the server, which nothing reaches."""
    sides = [["Server"] * len(block) for block in blocks]
    out = edited(PLAIN, "blocks", to=[*PLAIN["blocks"], *blocks])
    return edited(out, "sides", to=[*PLAIN["sides"], *sides])


no("a lone block inside itself", with_blocks([{"Loop": 3}]), "ir-tree", "blocks[3]", CIRCLES)
no(
    "lone blocks in a circle",
    with_blocks([{"Loop": 4}], [{"Fork": 3}]),
    "ir-tree",
    "blocks[3]",
    CIRCLES,
)
yes("a lone block under another", with_blocks([{"Loop": 4}], [RUN]))
