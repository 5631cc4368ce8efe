"""What a server may decide by."""

from __future__ import annotations

from ir_programs import (
    A_,
    B_,
    CACHED,
    COMPUTED,
    D_,
    FAM,
    KW,
    ONE,
    PP,
    SVC,
    TWO,
    Client,
    G,
    H,
    J,
    K,
    N,
    Q,
    attr,
    binary,
    branch,
    call,
    choose,
    cond,
    cost,
    document,
    drop,
    fork,
    grow,
    hold,
    load,
    loop,
    of_stage,
    pool,
    put,
    ref,
    run,
    see,
    take,
    while_,
)

from ir_cases import (
    HIDDEN,
    INNER,
    PLAIN,
    RUN,
    S1,
    S2,
    client,
    edited,
    no,
    sub,
    yes,
)

# --- hidden ---------------------------------------------------------------------------------------

SHOW = run(SVC, attr(H))
DECIDE = branch(binary("Eq", attr(H), ONE), [])
D_H = put(D_, attr(H))
D_IS = branch(binary("Eq", attr(D_), ONE), [])
GUARD_AT = ".Branch[0].Binary[1]"
no("hidden cached", document([RUN], hidden=[CACHED]), "hidden-scheduler", "hidden[0]")
no("hidden computed", document([RUN], hidden=[COMPUTED]), "hidden-scheduler", "hidden[0]")
no("hidden twice", document([RUN], hidden=[H, H]), "declared-twice", "hidden[1]")
no(
    "units by a hidden attribute",
    document([hold([take(KW, attr(H))], [])]),
    "hidden-read",
    f"{S1}.Hold.pools[0][1].Cost[1]",
)
no(
    "units by a revealed attribute",
    document([SHOW, hold([take(KW, attr(H))], [])]),
    "hidden-read",
    f"{S2}.Hold.pools[0][1].Cost[1]",
)
no(
    "a queue by a hidden attribute",
    edited(PLAIN, "pools", KW, "queue", to=[attr(H)]),
    "hidden-read",
    "pools[2].queue[0]",
)
no(
    "a victim by a hidden attribute",
    edited(PLAIN, "pools", PP, "preempt", to={"By": {"keys": [attr(H)]}}),
    "hidden-read",
    "pools[3].preempt.By.keys[0]",
)
no(
    "a victim by computed",
    edited(PLAIN, "pools", PP, "preempt", to={"By": {"keys": [attr(COMPUTED)]}}),
    "not-readable",
    "pools[3].preempt.By.keys[0]",
)
REVEAL = "hidden-unrevealed"
for label, body, path in (
    ("a branch", [DECIDE], S1 + GUARD_AT),
    ("a while", [while_(binary("Eq", attr(H), ONE), [RUN])], f"{S1}.While[0].Binary[1]"),
    ("a count", [choose(J, attr(H))], f"{S1}.Choose.count"),
    ("a key", [choose(J, TWO, sub(attr(J), attr(H)))], f"{S1}.Choose.key[0].Binary[2]"),
    ("a growth", [hold([take(KW)], [grow(KW, attr(H))])], f"{INNER}.Grow[1].Cost[1]"),
    ("a load", [hold([take(KW)], [load(KW, attr(H))])], f"{INNER}.Load[1].Cost[1]"),
    ("a lease", [hold([take(KW)], [], lease=[ref(KW), attr(H)])], f"{S1}.Hold.lease[1]"),
    ("a stage's index", [run(Q, index=attr(H))], f"{S1}.Run.stage.index"),
    ("a pool's index", [hold([take(FAM, index=attr(H))], [])], f"{S1}.Hold.pools[0][0].index"),
    (
        "the state by it",
        [branch(call("Used", pool(FAM, attr(H))), [])],
        f"{S1}.Branch[0].Call[1][0].Pool.index",
    ),
    ("what is set from it", [D_H, D_IS], S2 + GUARD_AT),
    (
        "what is set from that",
        [D_H, put(B_, attr(D_)), branch(attr(B_), [])],
        "blocks[2][3].Branch[0]",
    ),
    ("what may be set from it", [branch(attr(A_), [D_H]), D_IS], S2 + GUARD_AT),
    (
        "a header by what is set from it",
        [D_H, hold([take(KW, attr(D_))], [])],
        f"{S2}.Hold.pools[0][1].Cost[1]",
    ),
    (
        "a cost of it",
        [put(K, cost(of_stage(SVC), attr(H))), branch(binary("Lt", attr(K), attr(K)), [])],
        f"{S2}.Branch[0].Binary[1]",
    ),
    ("it after a run on one arm", [branch(attr(A_), [SHOW]), DECIDE], S2 + GUARD_AT),
    ("it after a run in a loop", [while_(attr(A_), [SHOW]), DECIDE], S2 + GUARD_AT),
    ("it after a run in a leg", [fork([SHOW]), DECIDE, "Join"], S2 + GUARD_AT),
    ("it before the loop's run", [loop([DECIDE, SHOW])], "blocks[3][0]" + GUARD_AT),
    (
        "it after a run that may not read it",
        [run(SVC, cond(attr(A_), attr(H), ONE)), DECIDE],
        S2 + GUARD_AT,
    ),
    (
        "it after a run that reads it last",
        [run(SVC, binary("And", attr(A_), attr(H))), DECIDE],
        S2 + GUARD_AT,
    ),
    (
        "two where one is revealed",
        [put(D_, binary("Add", attr(H), attr(G))), SHOW, D_IS],
        "blocks[2][3]" + GUARD_AT,
    ),
    (
        "it in the next pass",
        [while_(binary("Eq", attr(D_), ONE), [RUN, D_H])],
        f"{S1}.While[0].Binary[1]",
    ),
):
    no(f"a decision by {label}", document(body), REVEAL, path, HIDDEN)
for label, body in (
    ("a run's work", [SHOW]),
    ("an observation", [see(attr(H))]),
    ("a set", [D_H]),
    ("a cache", [hold([take(KW)], [RUN], cache=attr(H))]),
    ("a decision after its run", [SHOW, DECIDE]),
    ("a decision after a run of what is set from it", [D_H, run(SVC, attr(D_)), DECIDE, D_IS]),
    ("a decision after runs on both arms", [branch(attr(A_), [SHOW], [SHOW]), DECIDE]),
    ("a decision in the arm of the run", [branch(attr(A_), [SHOW, DECIDE])]),
    ("a decision after the run in a loop", [loop([SHOW, DECIDE])]),
    ("a decision after a run in a hold", [hold([take(KW)], [SHOW]), DECIDE]),
    ("a decision in a leg after the run", [SHOW, fork([DECIDE]), "Join"]),
    ("a decision after a leg's set", [fork([D_H]), D_IS, "Join"]),
    ("a decision by what is set anew", [D_H, put(D_, ONE), D_IS]),
    ("a header by what is revealed", [D_H, SHOW, hold([take(KW, attr(D_))], [])]),
    ("a drop by it", [drop(FAM, attr(H))]),
    ("the state read by it", [put(A_, call("Used", pool(FAM, attr(H))))]),
    (
        "a run whatever arm reads it",
        [run(SVC, cond(attr(A_), attr(H), binary("Add", attr(H), ONE))), DECIDE],
    ),
):
    yes(f"hidden: {label}", document(body))
yes("hidden: a client's decision", client(branch(attr(H), [Client(put(N, attr(H)))])))
yes(
    "hidden: a given",
    document(claims=[{"name": "c", "given": attr(H), "kind": "AtEnd", "expr": ONE}]),
)
no(
    "a decision in the next turn",
    document(session=[Client("Turn"), SHOW, DECIDE, Client("Turn"), DECIDE]),
    REVEAL,
    "blocks[2][4]" + GUARD_AT,
    HIDDEN,
)
