"""What acts on a hold, leases, indices of holds."""

from __future__ import annotations

from ir_programs import (
    A_,
    B_,
    CACHED,
    FAM,
    KV,
    KW,
    ONE,
    OWN,
    PP,
    TWO,
    ZERO,
    Client,
    E,
    N,
    attr,
    branch,
    call,
    choose,
    cost,
    ctx,
    document,
    draw,
    drop,
    fork,
    grow,
    hold,
    load,
    num,
    of_pool,
    pool,
    put,
    ref,
    release,
    run,
    take,
)

from ir_cases import (
    EMPTY,
    INNER,
    RUN,
    S1,
    S2,
    no,
    sub,
    yes,
)

# --- holds ----------------------------------------------------------------------------------------

no("grow outside", document([grow(KW)]), "not-held", f"{S1}.Grow[0]")
no("load outside", document([load(KW)]), "not-held", f"{S1}.Load[0]")
no("release outside", document([release(KW)]), "not-held", f"{S1}.Release")
no("grow of another pool", document([hold([take(KW)], [grow(KV)])]), "not-held", f"{INNER}.Grow[0]")
no(
    "growing another pool",
    document([hold([take(KW)], [run(E, growing=ref(KV))])]),
    "not-held",
    f"{INNER}.Run.growing",
)
no(
    "grow by another index",
    document([hold([take(FAM, index=attr(A_))], [grow(FAM, index=ONE)])]),
    "not-held",
    f"{INNER}.Grow[0]",
)
no(
    "grow by an equal index written otherwise",
    document([hold([take(FAM, index=ONE)], [grow(FAM, index=sub(TWO, ONE))])]),
    "not-held",
    f"{INNER}.Grow[0]",
)
no(
    "grow in a leg",
    document([hold([take(KW)], [fork([grow(KW)]), "Join"])]),
    "not-held",
    "blocks[4][0].Grow[0]",
)
no(
    "release of another lease",
    document([hold([take(KW)], [RUN], lease=[ref(KW), ONE]), release(PP)]),
    "not-held",
    f"{S2}.Release",
)
no(
    "a lease of another pool",
    document([hold([take(KW)], [RUN], lease=[ref(KV), ONE])]),
    "lease-not-held",
    f"{S1}.Hold.lease[0]",
)
no(
    "a lease by another index",
    document([hold([take(FAM, index=attr(A_))], [RUN], lease=[ref(FAM, ONE), ONE])]),
    "lease-not-held",
    f"{S1}.Hold.lease[0]",
)
no(
    "a pool twice",
    document([hold([take(KW), take(KW)], [RUN])]),
    "held-twice",
    f"{S1}.Hold.pools[1][0]",
)
no(
    "a member twice",
    document([hold([take(FAM, index=attr(A_)), take(FAM, index=attr(A_))], [RUN])]),
    "held-twice",
    f"{S1}.Hold.pools[1][0]",
)
no(
    "an index set in the body",
    document([hold([take(FAM, index=attr(A_))], [put(A_, ONE)])]),
    "index-changes",
    f"{S1}.Hold.pools[0][0]",
)
no(
    "an index chosen deep in the body",
    document([hold([take(FAM, index=attr(A_))], [branch(ONE, [choose(A_, TWO, ONE)])])]),
    "index-changes",
    f"{S1}.Hold.pools[0][0]",
)
no(
    "an index that an inner hold sets",
    document([hold([take(FAM, index=attr(CACHED))], [hold([take(KW)], [])])]),
    "index-changes",
    f"{S1}.Hold.pools[0][0]",
)
no(
    "an index that a turn sets",
    document(
        session=[
            Client(
                hold([[ref(OWN, attr(N)), cost(of_pool(OWN), ONE), None]], [Client("Turn"), RUN])
            ),
            Client("End"),
        ]
    ),
    "index-changes",
    "blocks[2][0].Hold.pools[0][0]",
)
for label, index in (
    ("the clock", ctx("Now")),
    ("the state", call("Used", pool(KW))),
    ("a draw", draw("Det", ONE)),
):
    held = [take(FAM, index=index)]
    no(
        f"{label} as an index read again",
        document([hold(held, [grow(FAM, index=index)])]),
        "index-moves",
        f"{INNER}.Grow[0]",
    )
    no(
        f"{label} as an index in a preemptible hold",
        document([hold([take(PP)], [hold(held, [])])]),
        "index-moves",
        "blocks[3][0].Hold.pools[0][0]",
    )
    no(
        f"{label} as an index beside a preempting pool",
        document([hold([*held, take(PP)], [])]),
        "index-moves",
        f"{S1}.Hold.pools[0][0]",
    )
    yes(f"{label} as an index", document([hold(held, [RUN])]))
no(
    "cached as an index in a preemptible hold",
    document([hold([take(PP)], [hold([take(FAM, index=attr(CACHED))], [])])]),
    "index-moves",
    "blocks[3][0].Hold.pools[0][0]",
)
no(
    "a hold of nothing",
    document(
        [
            hold([take(KW)], [RUN])
            | {"Hold": {"pools": [], "reuse": None, "body": [RUN], "cache": None, "lease": None}}
        ]
    ),
    "hold-of-nothing",
    S1,
    EMPTY,
)
yes(
    "grow of an outer hold",
    document([hold([take(KW)], [hold([take(KV)], [grow(KW), load(KW), release(KW)])])]),
)
yes("growing the own hold", document([hold([take(KV)], [run(E, growing=ref(KV))])]))
yes(
    "grow by the same index",
    document([hold([take(FAM, index=attr(A_))], [grow(FAM, index=attr(A_))])]),
)
yes(
    "grow by cached",
    document([hold([take(FAM, index=attr(CACHED))], [grow(FAM, index=attr(CACHED))], cache=ONE)]),
)
yes("release of a lease", document([hold([take(KW)], [RUN], lease=[ref(KW), ONE]), release(KW)]))
yes(
    "release of a lease that comes later",
    document([release(KW), hold([take(KW)], [RUN], lease=[ref(KW), ONE])]),
)
yes(
    "release of a lease in a leg",
    document([fork([release(KW)]), hold([take(KW)], [RUN], lease=[ref(KW), ONE]), "Join"]),
)
yes("a leg with a hold of its own", document([fork([hold([take(KW)], [grow(KW)])]), "Join"]))
yes("two members", document([hold([take(FAM, index=ZERO), take(FAM, index=ONE)], [RUN])]))
yes(
    "two indices that may be one",
    document([hold([take(FAM, index=attr(A_)), take(FAM, index=ONE)], [RUN])]),
)
yes(
    "an index set before",
    document([put(A_, ONE), hold([take(FAM, index=attr(A_))], [put(B_, ONE)]), put(A_, TWO)]),
)
yes(
    "an index set in a leg",
    document([hold([take(FAM, index=attr(A_))], [fork([put(A_, ONE)]), "Join"])]),
)
yes(
    "an index by an attribute in a preemptible hold",
    document([hold([take(PP)], [hold([take(FAM, index=attr(A_))], [])])]),
)
yes("drop anywhere", document([drop(FAM, ctx("Now")), hold([take(KW)], [drop(KW)])]))
yes("a lease of any length", document([hold([take(KW)], [RUN], lease=[ref(KW), num(-1)])]))
