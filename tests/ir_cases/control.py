"""Legs, the end of a session, loops that let time pass."""

from __future__ import annotations

from ir_programs import (
    A_,
    KW,
    ONE,
    OWN,
    PP,
    SVC,
    ZERO,
    Client,
    attr,
    binary,
    branch,
    document,
    draw,
    fork,
    hold,
    loop,
    put,
    run,
    take,
    while_,
)

from ir_cases import (
    INNER,
    RUN,
    S1,
    SIDES,
    client,
    no,
    sub,
    yes,
)

# --- legs, ends, loops ----------------------------------------------------------------------------

no("a fork and no join", document([fork([RUN])]), "fork-without-join", S1)
no("a join and no fork", document(["Join"]), "join-without-fork", S1)
for word, stmt in (("end", "End"), ("join", "Join"), ("fork", fork([]))):
    no(f"a leg that may not {word}", document([fork([stmt]), "Join"]), "in-leg", "blocks[3][0]")
no(
    "a leg that turns",
    document(session=[Client("Turn"), RUN, Client(fork([Client("Turn")])), Client("Join")]),
    "in-leg",
    "blocks[3][0]",
)
no(
    "a fork in a preemptible hold",
    document([hold([take(PP)], [fork([RUN]), "Join"])]),
    "fork-in-preemptible",
    INNER,
)
no(
    "a fork deep in a preemptible hold",
    document([hold([take(PP)], [hold([take(KW)], [branch(ONE, [fork([])])])]), "Join"]),
    "fork-in-preemptible",
    "blocks[5][0]",
)
no(
    "an end in a server's hold",
    document([hold([take(KW)], [branch(attr(A_), ["End"])])]),
    "end-inside",
    "blocks[4][0]",
    SIDES,
)
yes("a leg", document([fork([RUN]), "Join"]))
yes("a join before the fork", document(["Join", fork([RUN])]))
yes("a leg that holds what may be preempted", document([fork([hold([take(PP)], [RUN])]), "Join"]))
yes("a fork in a plain hold", document([hold([take(KW)], [fork([RUN]), "Join"])]))
yes("a client's end in its hold", client(hold([take(OWN)], [Client("End")])))
yes(
    "a server's end in the client's hold",
    document(
        session=[
            Client(hold([take(OWN)], [Client("Turn"), branch(attr(A_), ["End"]), RUN])),
            Client("End"),
        ]
    ),
)
for label, body, good in (
    ("nothing", [], False),
    ("a run", [RUN], True),
    ("a run of no work", [run(SVC, ZERO)], False),
    ("a run of 1 - 1", [run(SVC, sub(ONE, ONE))], False),
    ("a run of a", [run(SVC, attr(A_))], True),
    ("a run of 0 * a", [run(SVC, binary("Mul", ZERO, attr(A_)))], True),
    ("a run of ~det(0)", [run(SVC, draw("Det", ZERO))], True),
    ("a run on one arm", [branch(attr(A_), [RUN])], False),
    ("a run on both arms", [branch(attr(A_), [RUN], [RUN])], True),
    ("a run or the end", [branch(attr(A_), [RUN], ["End"])], True),
    ("a run on the certain arm", [branch(ONE, [RUN])], False),
    ("an empty hold", [hold([take(KW)], [])], False),
    ("a hold with a run", [hold([take(KW)], [RUN])], True),
    ("a while", [while_(attr(A_), [RUN])], False),
    ("a loop", [loop([RUN])], True),
    ("the end", ["End"], True),
    ("a set", [put(A_, ONE)], False),
    ("a join", [fork([RUN]), "Join"], False),
    ("an inner idle loop", [loop([]), RUN], False),
):
    for word, make, path in (
        ("loop", loop, S1),
        ("while", lambda body: while_(attr(A_), body), S1),
    ):
        doc = document([make(body)])
        if good:
            yes(f"a {word} of {label}", doc)
        else:
            inner = label == "an inner idle loop"
            no(f"a {word} of {label}", doc, "no-progress", "blocks[3][0]" if inner else path)
no(
    "turns that take no time",
    document(session=[Client(loop([Client("Turn"), put(A_, ONE)]))]),
    "no-progress",
    "blocks[2][0]",
)
yes("turns that take time", document(session=[Client(loop([Client("Turn"), RUN]))]))
