"""The three lints."""

from __future__ import annotations

from ir_programs import (
    A_,
    B_,
    CACHED,
    FAM,
    KW,
    ONE,
    PP,
    SVC,
    TWO,
    ZERO,
    Q,
    attr,
    binary,
    branch,
    call,
    cond,
    ctx,
    document,
    draw,
    fork,
    grow,
    hold,
    loop,
    num,
    pool,
    put,
    run,
    stage,
    take,
    while_,
)

from ir_cases import (
    GUARD,
    INNER,
    LINT,
    NAN,
    RUN,
    S1,
    S2,
    no,
    sub,
    yes,
)

# --- lints ----------------------------------------------------------------------------------------

STALE = put(A_, call("Used", pool(KW)))
BY_A = hold([take(KW, attr(A_))], [])
UNITS = ".Hold.pools[0][1].Cost[1]"
for label, body, path in (
    ("the state set before", [STALE, BY_A], S2 + UNITS),
    (
        "the state somewhere in it",
        [put(A_, binary("Add", ONE, call("Work", stage(SVC)))), BY_A],
        S2 + UNITS,
    ),
    (
        "the state in a reserve",
        [STALE, hold([take(KW, ONE, attr(A_))], [])],
        f"{S2}.Hold.pools[0][2].Cost[1]",
    ),
    (
        "the state in a cache",
        [STALE, hold([take(KW)], [], cache=attr(A_))],
        f"{S2}.Hold.cache.Cost[1]",
    ),
    ("the state set before a branch", [STALE, branch(attr(B_), [BY_A])], "blocks[3][0]" + UNITS),
    ("the state set in the same body", [hold([take(PP)], [STALE, BY_A])], "blocks[3][1]" + UNITS),
):
    no(f"stale: {label}", document(body), "stale-header", path, LINT)
for label, body in (
    ("set anew", [STALE, put(A_, ONE), BY_A]),
    ("set afterwards", [BY_A, STALE]),
    ("one level further", [STALE, put(B_, attr(A_)), hold([take(KW, attr(B_))], [])]),
    ("the clock", [put(A_, ctx("Now")), BY_A]),
    ("a draw", [put(A_, draw("Exp", ONE)), BY_A]),
    ("set on one arm", [branch(attr(B_), [STALE]), BY_A]),
    ("an index", [STALE, hold([take(FAM, index=attr(A_))], [])]),
    ("a growth", [STALE, hold([take(KW)], [grow(KW, attr(A_))])]),
    ("the state in the header itself", [hold([take(KW, call("Used", pool(KW)))], [])]),
):
    yes(f"stale: {label}", document(body))
READ = put(A_, attr(CACHED))
for label, body, code, path in (
    ("read", [hold([take(KW)], [READ])], "no-cache", f"{INNER}.Set[1]"),
    (
        "read on an arm",
        [hold([take(KW)], [branch(attr(B_), [], [READ])])],
        "no-cache",
        "blocks[5][0].Set[1]",
    ),
    ("a guard", [hold([take(KW)], [branch(attr(CACHED), [])])], "no-cache", f"{INNER}.Branch[0]"),
    (
        "an inner header",
        [hold([take(KW)], [hold([take(PP, attr(CACHED))], [], cache=ONE)])],
        "no-cache",
        INNER + UNITS,
    ),
    ("reuse", [hold([take(KW)], [RUN], reuse=ONE)], "no-cache", f"{S1}.Hold.reuse"),
    (
        "read after an inner hold",
        [hold([take(KW)], [hold([take(PP)], []), READ], cache=ONE)],
        "cached-of-inner",
        "blocks[3][1].Set[1]",
    ),
    (
        "read before an inner hold, again",
        [hold([take(KW)], [loop([READ, hold([take(PP)], [RUN])])], cache=ONE)],
        "cached-of-inner",
        "blocks[4][0].Set[1]",
    ),
):
    no(f"no cache: {label}", document(body), code, path, LINT)
for label, body in (
    ("read with a cache", [hold([take(KW)], [READ], cache=ZERO)]),
    ("read outside", [READ, hold([take(KW)], []), READ]),
    (
        "read in an inner hold with a cache",
        [hold([take(PP)], [hold([take(KW)], [READ], cache=ONE)])],
    ),
    ("read in the header", [hold([take(KW, attr(CACHED))], [])]),
    ("read in the cache", [hold([take(KW)], [hold([take(PP)], [])], cache=attr(CACHED))]),
    ("read before the inner hold", [hold([take(KW)], [READ, hold([take(PP)], [])], cache=ONE)]),
    ("read in a leg", [hold([take(KW)], [fork([READ]), "Join"])]),
    ("an index", [hold([take(KW)], [run(Q, index=attr(CACHED))])]),
    ("the own prefix", [hold([take(KW)], [put(A_, call("CachedIn", pool(KW)))])]),
    ("reuse with a cache", [hold([take(KW)], [RUN], reuse=ONE, cache=ONE)]),
):
    yes(f"cache: {label}", document(body))
for label, guard in (
    ("2", TWO),
    ("0.5", num(0.5)),
    ("inf", num("inf")),
    ("-1", num(-1)),
    ("1 + 1", binary("Add", ONE, ONE)),
    ("NaN", NAN),
    ("1 ? 2 : a", cond(ONE, TWO, attr(A_))),
):
    literal = label in ("2", "0.5", "inf", "-1")
    no(f"branch ({label})", document([branch(guard, [])]), "not-a-test", f"{S1}.Branch[0]", GUARD)
    no(
        f"while ({label})",
        document([while_(guard, [RUN])]),
        "not-a-test",
        f"{S1}.While[0]",
        None if literal else GUARD,
    )
for label, guard in (
    ("1", ONE),
    ("0", ZERO),
    ("1 - 1", sub(ONE, ONE)),
    ("~exp(1)", draw("Exp", ONE)),
    ("a", attr(A_)),
    ("a ? 2 : 3", cond(attr(A_), TWO, num(3))),
    ("0 && a", binary("And", ZERO, attr(A_))),
):
    yes(f"branch ({label})", document([branch(guard, [])]))
    yes(f"while ({label})", document([while_(guard, [RUN])]))
