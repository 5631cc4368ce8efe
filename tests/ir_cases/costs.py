"""Costs and plain numbers; costs that are set before they are read."""

from __future__ import annotations

from ir_programs import (
    A_,
    FAM,
    KK,
    KV,
    KW,
    ONE,
    SVC,
    TWO,
    A,
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
    draw,
    fork,
    grow,
    hold,
    joint,
    load,
    of_pool,
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
    COST,
    RUN,
    S1,
    S2,
    SET_K,
    edited,
    no,
    sub,
    yes,
)

# --- costs ----------------------------------------------------------------------------------------


def work(expr):
    return document([SET_K, run(SVC, whole=expr)])


WORK = f"{S2}.Run.work"
for label, expr in (
    ("k", attr(K)),
    ("-k", {"Unary": ["Neg", attr(K)]}),
    ("abs k", call("Abs", attr(K))),
    ("floor k", call("Floor", attr(K))),
    ("k * 2", binary("Mul", attr(K), TWO)),
    ("n * k", binary("Mul", attr(N), attr(K))),
    ("k / 2", binary("Div", attr(K), TWO)),
    ("k + k", binary("Add", attr(K), attr(K))),
    ("k - cost", sub(attr(K), COST)),
    ("min k k", call("Min", attr(K), attr(K))),
    ("k < k ? k : k", cond(binary("Lt", attr(K), attr(K)), attr(K), COST)),
    ("cost of a draw", cost(of_stage(SVC), draw("Exp", ONE))),
):
    yes(f"work {label}", work(expr))
for label, expr, path in (
    ("k * k", binary("Mul", attr(K), attr(K)), ""),
    ("2 / k", binary("Div", TWO, attr(K)), ""),
    ("k / k", binary("Div", attr(K), attr(K)), ""),
    ("k ^ 2", binary("Pow", attr(K), TWO), ""),
    ("k + 1", binary("Add", attr(K), ONE), ""),
    ("min k 1", call("Min", attr(K), ONE), ""),
    ("k && k", binary("And", attr(K), attr(K)), ""),
    ("sqrt k", call("Sqrt", attr(K)), ".Call[1][0].Expr"),
    ("!k", {"Unary": ["Not", attr(K)]}, ".Unary[1]"),
    ("~exp(k)", draw("Exp", attr(K)), ".Sample[1][0]"),
    ("cost of k", cost(of_stage(SVC), attr(K)), ".Cost[1]"),
    ("k ? k : k", cond(attr(K), attr(K), attr(K)), ".Cond[0]"),
    ("a ? k : 1", cond(attr(A_), attr(K), ONE), ""),
    ("k + cost of another", binary("Add", attr(K), cost(of_stage(A), ONE)), ""),
    ("a plain number", ONE, ""),
    ("a comparison", binary("Lt", attr(K), attr(K)), ""),
    ("another's cost", cost(of_stage(A), ONE), ""),
    ("a joint cost", cost(joint(of_stage(SVC), of_stage(A)), ONE), ""),
    (
        "used of fam[k]",
        cost(of_stage(SVC), call("Used", pool(FAM, attr(K)))),
        ".Cost[1].Call[1][0].Pool.index",
    ),
):
    no(f"work {label}", work(expr), "cost-type", WORK + path)
no("a cost as a guard", document([SET_K, branch(attr(K), [])]), "cost-type", f"{S2}.Branch[0]")
no("a cost as a count", document([SET_K, choose(J, attr(K))]), "cost-type", f"{S2}.Choose.count")
no(
    "a cost as a key",
    document([SET_K, choose(J, TWO, attr(K))]),
    "cost-type",
    f"{S2}.Choose.key[0]",
)
no(
    "a cost as an index",
    document([SET_K, run(Q, index=attr(K))]),
    "cost-type",
    f"{S2}.Run.stage.index",
)
no(
    "a cost as a lease's time",
    document([SET_K, hold([take(KW)], [RUN], lease=[ref(KW), attr(K)])]),
    "cost-type",
    f"{S2}.Hold.lease[1]",
)
no(
    "plain units",
    document([hold([take(KW, whole=ONE)], [RUN])]),
    "cost-type",
    f"{S1}.Hold.pools[0][1]",
)
no(
    "a plain reserve",
    document([hold([[ref(KW), cost(of_pool(KW), ONE), ONE]], [RUN])]),
    "cost-type",
    f"{S1}.Hold.pools[0][2]",
)
no(
    "a plain growth",
    document([hold([take(KW)], [grow(KW, whole=ONE)])]),
    "cost-type",
    "blocks[3][0].Grow[1]",
)
no(
    "a plain load",
    document([hold([take(KW)], [load(KW, whole=ONE)])]),
    "cost-type",
    "blocks[3][0].Load[1]",
)
no(
    "a cache of one of two pools",
    document([hold([take(KV), take(KW)], [RUN], cache=cost(of_pool(KV), ONE))]),
    "cost-type",
    f"{S1}.Hold.cache",
)
no(
    "a reuse of one of two pools",
    document([hold([take(KV), take(KW)], [RUN], cache=ONE, reuse=cost(of_pool(KV), ONE))]),
    "cost-type",
    f"{S1}.Hold.reuse",
)
no("a cost for a value", document([put(A_, COST)]), "attribute-type", S1)
no("a value for a cost", document([put(K, ONE)]), "attribute-type", S1)
no("a cost of another", document([put(K, cost(of_stage(A), ONE))]), "attribute-type", S1)
no("a choice of a cost", document([choose(K, TWO, ONE)]), "attribute-type", S1)
no("a cost never set", document([run(SVC, whole=attr(K))]), "cost-unset", f"{S1}.Run.work")
no(
    "a cost set on one arm",
    document([branch(attr(A_), [SET_K]), run(SVC, whole=attr(K))]),
    "cost-unset",
    WORK,
)
no(
    "a cost set in a loop",
    document([while_(attr(A_), [SET_K, RUN]), run(SVC, whole=attr(K))]),
    "cost-unset",
    WORK,
)
no(
    "a cost set in a leg",
    document([fork([SET_K]), {"Observe": [0, attr(K)]}, "Join"]),
    "cost-unset",
    f"{S2}.Observe[1]",
)
no(
    "a cost set in the hold that caches it",
    edited(
        document([hold([take(KV)], [put(KK, cost(of_pool(KV), ONE))])]),
        "blocks",
        2,
        1,
        "Hold",
        "cache",
        to=attr(KK),
    ),
    "cost-unset",
    f"{S1}.Hold.cache",
)
yes(
    "a cost set on both arms",
    document([branch(attr(A_), [SET_K], [SET_K]), run(SVC, whole=attr(K))]),
)
yes("a cost set in a hold", document([hold([take(KW)], [SET_K]), run(SVC, whole=attr(K))]))
yes("a cost set and read in a loop", document([while_(attr(A_), [SET_K, run(SVC, whole=attr(K))])]))
yes("a cost read in a leg", document([SET_K, fork([run(SVC, whole=attr(K))]), "Join"]))
yes("a cost observed", document([SET_K, see(attr(K))]))
yes(
    "a cost set before the hold that caches it",
    edited(
        document([put(KK, cost(of_pool(KV), ONE)), hold([take(KV)], [RUN])]),
        "blocks",
        2,
        2,
        "Hold",
        "cache",
        to=attr(KK),
    ),
)
yes("a cost of two pools", document([hold([take(KV), take(KW)], [RUN], cache=ONE, reuse=TWO)]))
yes("a comparison as a guard", document([SET_K, branch(binary("Lt", attr(K), attr(K)), [])]))
