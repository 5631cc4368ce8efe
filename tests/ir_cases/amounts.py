"""Constant amounts, demands that never fit, modes of runs, flows."""

from __future__ import annotations

import ir_programs as w
from ir_programs import (
    A_,
    FAM,
    KV,
    KW,
    ONE,
    SVC,
    TWO,
    ZERO,
    A,
    B,
    E,
    J,
    N,
    Q,
    attr,
    binary,
    choose,
    cond,
    cost,
    document,
    draw,
    grow,
    hold,
    joint,
    load,
    num,
    of_stage,
    ref,
    run,
    take,
)

from ir_cases import (
    INNER,
    NAN,
    RUN,
    S1,
    edited,
    no,
    sub,
    yes,
)

# --- amounts --------------------------------------------------------------------------------------

for label, amount, good in (
    ("0", ZERO, True),
    ("-1", num(-1), False),
    ("1 - 2", sub(ONE, TWO), False),
    ("NaN", NAN, False),
    ("inf", num("inf"), True),
    ("-a", {"Unary": ["Neg", attr(A_)]}, True),
    ("1 ? -1 : a", cond(ONE, num(-1), attr(A_)), False),
    ("~det(-1)", draw("Det", num(-1)), True),
):
    for word, make, path in (
        ("run", lambda e: [run(SVC, e)], f"{S1}.Run.work"),
        ("grow", lambda e: [hold([take(KW)], [grow(KW, e)])], f"{INNER}.Grow[1]"),
        ("load", lambda e: [hold([take(KW)], [load(KW, e)])], f"{INNER}.Load[1]"),
    ):
        doc = document(make(amount))
        if good:
            yes(f"{word} {label}", doc)
        else:
            no(f"{word} {label}", doc, "not-an-amount", path)
no(
    "negative units",
    document([hold([take(KW, num(-1))], [])]),
    "not-an-amount",
    f"{S1}.Hold.pools[0][1]",
)
no(
    "units that are no number",
    document([hold([take(KW, NAN)], [])]),
    "not-an-amount",
    f"{S1}.Hold.pools[0][1]",
)
no(
    "units above the cap",
    document([hold([take(KW, num(65))], [])]),
    "never-fits",
    f"{S1}.Hold.pools[0][1]",
)
no(
    "units above the cap in blocks",
    document([hold([take(KV, num(64.5))], [])]),
    "never-fits",
    f"{S1}.Hold.pools[0][1]",
)
no(
    "infinite units",
    document([hold([take(KW, num("inf"))], [])]),
    "never-fits",
    f"{S1}.Hold.pools[0][1]",
)
no(
    "a reserve above the cap",
    document([hold([take(KW, ONE, num(65))], [])]),
    "never-fits",
    f"{S1}.Hold.pools[0][2]",
)
no(
    "units above the cap beside any reserve",
    document([hold([take(KW, num(65), attr(A_))], [])]),
    "never-fits",
    f"{S1}.Hold.pools[0][1]",
)
no(
    "units above every member",
    document([hold([take(FAM, num(11), index=attr(A_))], [])]),
    "never-fits",
    f"{S1}.Hold.pools[0][1]",
)
no(
    "units above this member",
    document([hold([take(FAM, num(9), index=ONE)], [])]),
    "never-fits",
    f"{S1}.Hold.pools[0][1]",
)
yes("units at the cap", document([hold([take(KW, num(64))], [])]))
yes("units at the cap in blocks", document([hold([take(KV, num(63.5))], [])]))
yes("units that some member takes", document([hold([take(FAM, num(9), index=attr(A_))], [])]))
yes("units that this member takes", document([hold([take(FAM, num(9), index=TWO)], [])]))
yes("a growth beyond the cap", document([hold([take(KW)], [grow(KW, num(100))])]))
yes("a negative reserve", document([hold([take(KW, ONE, num(-1))], [])]))
yes("computed units", document([hold([take(KW, attr(N))], [])]))
yes("any cache", document([hold([take(KW)], [], cache=num(-1), reuse=num(1000))]))
no(
    "units that draw",
    document([hold([take(KW, draw("Exp", ONE))], [])]),
    "draws",
    f"{S1}.Hold.pools[0][1].Cost[1]",
)
yes("any count of a choice", document([choose(J, num(-1))]))
no(
    "a choice without a key",
    edited(document([choose(J)]), "blocks", 2, 1, "Choose", "key", to=[]),
    "no-key",
    S1,
)


# --- runs -----------------------------------------------------------------------------------------

AB = cost(joint(of_stage(A), of_stage(B)), ONE)
TO_B = [ref(B, ONE, kind="stage")]
FLOW = run(A, whole=AB, also=TO_B)
no("a plain run on an engine", document([run(E, mode="Plain")]), "run-mode", f"{S1}.Run.stage")
no("a prefill on a fifo", document([run(SVC, mode="Prefill")]), "run-mode", f"{S1}.Run.stage")
no("a decode on a ps", document([run(A, mode="Decode")]), "run-mode", f"{S1}.Run.stage")
no(
    "growing on a fifo",
    document([hold([take(KV)], [run(SVC, growing=ref(KV))])]),
    "growing-stage",
    f"{INNER}.Run.growing",
)
no("a flow without share", edited(document([FLOW]), "share"), "share-missing", S1)
no("share without a flow", document([RUN], share="MaxMin"), "share-unused", "share")
no(
    "a stage twice",
    document([run(A, whole=cost(of_stage(A), ONE), also=[ref(A, kind="stage")])]),
    "stage-twice",
    f"{S1}.Run.also[0]",
)
no(
    "a flow over a delay",
    document(
        [
            run(
                A,
                whole=cost(joint(of_stage(A), of_stage(w.TOOL)), ONE),
                also=[ref(w.TOOL, kind="stage")],
            )
        ]
    ),
    "flow-stage",
    f"{S1}.Run.also[0]",
)
no(
    "a flow over a fifo",
    document(
        [run(SVC, whole=cost(joint(of_stage(SVC), of_stage(A)), ONE), also=[ref(A, kind="stage")])]
    ),
    "flow-stage",
    f"{S1}.Run.stage",
)
no(
    "a flow over no capacity",
    edited(document([FLOW]), "stages", A, "kind", to={"Ps": ZERO}),
    "flow-stage",
    f"{S1}.Run.stage",
)
no(
    "a flow over a computed capacity",
    edited(document([FLOW]), "stages", A, "kind", to={"Ps": binary("Add", ONE, ONE)}),
    "flow-stage",
    f"{S1}.Run.stage",
)
no(
    "a flow with the work of one stage",
    document([run(A, also=TO_B)]),
    "cost-type",
    f"{S1}.Run.work",
)
yes("a flow", document([FLOW]))
yes("a flow by equal shares", document([FLOW], share="Bottleneck"))
yes("a flow beside a run on one of its stages", document([FLOW, run(A)]))
yes("an infinite capacity", edited(document([FLOW]), "stages", A, "kind", to={"Ps": num("inf")}))
yes("prefill and decode", document([run(E), run(E, mode="Decode")]))
yes("a run on a member", document([run(Q, index=attr(A_))]))
