"""Functions, draws, indices; gauges and claims."""

from __future__ import annotations

from ir_programs import (
    A_,
    FAM,
    KW,
    ONE,
    SVC,
    TWO,
    ZERO,
    E,
    H,
    K,
    Q,
    attr,
    binary,
    call,
    cond,
    cost,
    ctx,
    document,
    draw,
    drop,
    num,
    of_stage,
    pool,
    put,
    run,
    stage,
)

from ir_cases import (
    PLAIN,
    S1,
    edited,
    gauge,
    no,
    sub,
    yes,
)

# --- functions, draws, indices --------------------------------------------------------------------

for fun, one in (
    ("Abs", [ONE]),
    ("Min", [ONE, TWO]),
    ("Used", [pool(KW)]),
    ("Queue", [stage(SVC)]),
    ("Price", [stage(SVC), ONE, TWO]),
):
    yes(f"{fun} of its arguments", document([put(A_, call(fun, *one))]))
    no(
        f"{fun} of one more",
        document([put(A_, call(fun, *one, one[-1]))]),
        "argument-count",
        f"{S1}.Set[1]",
    )
    no(
        f"{fun} of one less",
        document([put(A_, call(fun, *one[:-1]))]),
        "argument-count",
        f"{S1}.Set[1]",
    )
for name, count in (
    ("Exp", 1),
    ("Det", 1),
    ("Uniform", 2),
    ("Erlang", 2),
    ("H2", 2),
    ("Bernoulli", 1),
):
    yes(f"~{name} of {count}", document([put(A_, draw(name, *[ONE] * count))]))
    no(
        f"~{name} of {count + 1}",
        document([put(A_, draw(name, *[ONE] * (count + 1)))]),
        "argument-count",
        f"{S1}.Set[1]",
    )
no(
    "used of a stage",
    document([put(A_, call("Used", stage(SVC)))]),
    "argument-kind",
    f"{S1}.Set[1].Call[1][0]",
)
no(
    "queue of a number",
    document([put(A_, call("Queue", ONE))]),
    "argument-kind",
    f"{S1}.Set[1].Call[1][0]",
)
no(
    "min of a pool",
    document([put(A_, call("Min", ONE, pool(KW)))]),
    "argument-kind",
    f"{S1}.Set[1].Call[1][1]",
)
no(
    "the budget of a stage",
    document([put(A_, call("BudgetLeft", stage(SVC)))]),
    "budget-of-stage",
    f"{S1}.Set[1].Call[1][0].Stage",
)
no(
    "the budget of a mixed family",
    document([put(A_, call("BudgetLeft", stage(SVC, ONE, count=2)))]),
    "budget-of-stage",
    f"{S1}.Set[1].Call[1][0].Stage",
)
yes("the budget of an engine", document([put(A_, call("BudgetLeft", stage(E)))]))
for label, index, good in (
    ("0", ZERO, True),
    ("2", TWO, True),
    ("3", num(3), False),
    ("-1", num(-1), False),
    ("1.5", num(1.5), False),
    ("inf", num("inf"), False),
    ("3 - 1", sub(num(3), ONE), True),
    ("1 - 3", sub(ONE, num(3)), False),
    ("1 ? 5 : 0", cond(ONE, num(5), ZERO), False),
    ("a", attr(A_), True),
    ("now", ctx("Now"), True),
    ("~det(7)", draw("Det", num(7)), True),
):
    doc = document([put(A_, call("Used", pool(FAM, index)))])
    if good:
        yes(f"fam[{label}]", doc)
    else:
        no(f"fam[{label}]", doc, "index-out-of-range", f"{S1}.Set[1].Call[1][0].Pool.index")
no("a scalar's member 1", document([drop(KW, ONE)]), "index-out-of-range", f"{S1}.Drop.index")
no(
    "a run on no member",
    document([run(Q, index=num(3))]),
    "index-out-of-range",
    f"{S1}.Run.stage.index",
)
yes("a scalar's member 0", document([drop(KW, ZERO)]))
yes("a family without an index", document([drop(FAM)]))


# --- gauges and claims ----------------------------------------------------------------------------


def every(expr, at=E):
    return document(claims=[{"name": "c", "kind": {"EveryIteration": at}, "expr": expr}])


INDEXED = "gauges[0].expr.Call[1][0].Stage.index"
no(
    "two gauges of a name",
    document(gauges=[{"name": "x", "expr": ONE}] * 2),
    "declared-twice",
    "gauges[1].name",
)
no(
    "two claims of a name",
    document(claims=[{"name": "x", "kind": "AtEnd", "expr": ONE}] * 2),
    "declared-twice",
    "claims[1].name",
)
no("a claim over a fifo's iterations", every(ONE, SVC), "not-an-engine", "claims[0].kind")
no(
    "a gauge of a computed member",
    gauge(call("Queue", stage(Q, sub(TWO, ONE)))),
    "index-not-a-number",
    INDEXED,
)
no(
    "a claim of a member of the state",
    every(call("Queue", stage(Q, call("Used", pool(KW))))),
    "index-not-a-number",
    "claims[0].expr.Call[1][0].Stage.index",
)
no("a gauge of no member", gauge(call("Queue", stage(Q, num(3)))), "index-out-of-range", INDEXED)
no("a gauge of a cost", gauge(cost(of_stage(SVC), ONE)), "cost-type", "gauges[0].expr")
no(
    "a key of a cost",
    edited(PLAIN, "pools", KW, "queue", to=[attr(K)]),
    "cost-type",
    "pools[2].queue[0]",
)
yes("a gauge of a member", gauge(call("Queue", stage(Q, TWO))))
yes("a gauge of a pool's price", gauge(call("Price", stage(SVC), ONE, TWO)))
yes(
    "a gauge and a claim of one name",
    gauge(ONE) | {"claims": [{"name": "x", "kind": "AtEnd", "expr": ONE}]},
)
yes(
    "a claim of work served", every(binary("Le", ctx("Served"), binary("Mul", ctx("Arrived"), TWO)))
)
yes(
    "a claim given an attribute",
    document(
        claims=[
            {
                "name": "c",
                "given": binary("Ge", attr(H), ZERO),
                "kind": "AtEnd",
                "expr": {"Agg": ["Total", 1]},
            }
        ]
    ),
)
