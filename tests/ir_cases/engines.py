"""Engines' states and schedules, pools they admit."""

from __future__ import annotations

import copy

from ir_programs import (
    A_,
    KW,
    ONE,
    REQS,
    SVC,
    TWO,
    ZERO,
    A,
    E,
    Q,
    binary,
    call,
    cond,
    cost,
    ctx,
    document,
    draw,
    hold,
    num,
    of_pool,
    put,
    stage,
    take,
)

from ir_cases import (
    CAP,
    PLAIN,
    RUN,
    S1,
    SAME,
    edited,
    no,
    sub,
    yes,
)

# --- engines' states, and reads of them -----------------------------------------------------------

REG = {"Reg": 0}
STEP = ("stages", E, "kind", "Step")
AT = "stages[1].kind.Step"


def step(**fields):
    out = copy.deepcopy(PLAIN)
    out["stages"][E]["kind"]["Step"] |= fields
    return out


no("a state read by the session", document([put(A_, REG)]), "state-read", f"{S1}.Set[1]")
no(
    "a state in a cache clause",
    document([hold([take(REQS)], [RUN], cache=cost(of_pool(REQS), REG))]),
    "state-read",
    f"{S1}.Hold.cache.Cost[1]",
)
no(
    "a state as a hold's index",
    document([hold([take(REQS, index=REG)], [RUN])]),
    "state-read",
    f"{S1}.Hold.pools[0][0].index",
)
no(
    "a state in another pool's header",
    document([hold([take(KW, REG)], [RUN])]),
    "state-read",
    f"{S1}.Hold.pools[0][1].Cost[1]",
)
no(
    "a state in a header whose first pool is another",
    document([hold([take(KW), take(REQS, REG)], [RUN])]),
    "state-read",
    f"{S1}.Hold.pools[1][1].Cost[1]",
)
no(
    "a state in another pool's keys",
    edited(PLAIN, "pools", KW, "queue", to=[REG]),
    "state-read",
    "pools[2].queue[0]",
)
no(
    "a state in a capacity",
    edited(PLAIN, "stages", A, "kind", to={"Ps": REG}),
    "state-read",
    "stages[5].kind.Ps",
)
no(
    "a state in a given",
    document(claims=[{"name": "c", "given": REG, "kind": "AtEnd", "expr": ONE}]),
    "state-read",
    "claims[0].given",
)
no(
    "a state declared twice",
    edited(PLAIN, "registers", to=PLAIN["registers"] * 2),
    "declared-twice",
    "registers[1].name",
)
no(
    "a state that starts infinite",
    edited(PLAIN, "registers", 0, "init", to="inf"),
    "not-finite",
    "registers[0].init",
)
no(
    "a state of a fifo",
    edited(step(iteration=[{"Serve": {}}]), "registers", 0, "stage", to=SVC),
    "state-of-other",
    "registers[0].stage",
)
no(
    "a state of an engine without a schedule",
    edited(PLAIN, *STEP, "iteration"),
    "state-of-other",
    "registers[0].stage",
)
yes(
    "a state in the header of the engine's pool",
    document([hold([take(REQS, call("Min", REG, ONE)), take(KW, REG)], [RUN])]),
)
yes("a state in the keys of the engine's pool", edited(PLAIN, "pools", REQS, "queue", to=[REG]))
yes(
    "a state that orders the engine's evictions",
    edited(PLAIN, "pools", REQS, "evict", to={"By": [REG]}),
)
yes("a state in a gauge", document(gauges=[{"name": "g", "expr": REG}]))
yes(
    "a state in the engine's own clauses",
    step(cost=REG, budget=call("Max", ONE, REG), serve={"By": [REG]}),
)


# --- schedules ------------------------------------------------------------------------------------

IDLE = f"{AT}.iteration"
no("an empty schedule", edited(step(iteration=[]), "registers", to=[]), "schedule-idle", IDLE)
no("a schedule that only sets", step(iteration=[{"Set": [0, ONE]}]), "schedule-idle", IDLE)
no(
    "a path that does nothing",
    step(iteration=[{"Branch": [ONE, [{"Serve": {}}], []]}]),
    "schedule-idle",
    IDLE,
)
no(
    "another engine's state set",
    edited(
        edited(
            step(),
            "stages",
            Q,
            to={
                "name": "F",
                "kind": {
                    "Step": {
                        **PLAIN["stages"][E]["kind"]["Step"],
                        "iteration": [{"Serve": {}}, {"Set": [0, ONE]}],
                    }
                },
            },
        ),
        "stages",
        Q + 1,
        to={"name": "z", "kind": {"Fifo": 1}},
    ),
    "state-of-other",
    "stages[2].kind.Step.iteration[1]",
)
no("a schedule beside exclusive prefill", step(serve="ExclusivePrefill"), "exclusive-prefill", IDLE)
no("a granule of 0", step(granule=ZERO), "not-positive", f"{AT}.granule")
no("a negative granule", step(granule=num(-1)), "not-positive", f"{AT}.granule")
no("a granule that is computed", step(granule=ctx("Nres")), "not-positive", f"{AT}.granule")
no("a granule above the cap", step(granule=num(4), chunk=TWO), "granule-above-cap", f"{AT}.granule")
no(
    "a whole-prompt granule under a cap",
    step(granule=num("inf"), chunk=TWO),
    "granule-above-cap",
    f"{AT}.granule",
)
no(
    "a granule above the floor of the cap",
    step(granule=num(4), chunk=call("Max", TWO, ctx("Nres"))),
    "granule-above-cap",
    f"{AT}.granule",
)
no(
    "a granule under exclusive prefill",
    edited(
        edited(step(granule=num(4), serve="ExclusivePrefill"), *STEP, "iteration"),
        "registers",
        to=[],
    ),
    "granule-exclusive",
    f"{AT}.granule",
)
no("no tokens", step(budget=ZERO), "not-positive", f"{AT}.budget", SAME)
no("fewer than no tokens", step(budget=sub(ONE, TWO)), "not-positive", f"{AT}.budget", SAME)
no("a cap below 0", step(chunk=num(-1)), "cap-could-be-zero", f"{AT}.chunk", CAP)
no(
    "a cap that is no number",
    step(chunk=binary("Div", ZERO, ZERO)),
    "cap-could-be-zero",
    f"{AT}.chunk",
    CAP,
)
no("a computed cap", step(chunk=ctx("Nres")), "cap-could-be-zero", f"{AT}.chunk", CAP)
no(
    "a cap with a floor of 0",
    step(chunk=call("Max", ZERO, ctx("Nres"))),
    "cap-could-be-zero",
    f"{AT}.chunk",
    CAP,
)
no(
    "a choice of a computed cap",
    step(chunk=cond(ctx("Nres"), ctx("Nres"), TWO)),
    "cap-could-be-zero",
    f"{AT}.chunk.Cond[1]",
    CAP,
)
no("a key that draws", step(serve={"By": [draw("Exp", ONE)]}), "draws", f"{AT}.serve.By[0]")
no(
    "an only that reads the clock",
    step(iteration=[{"Serve": {"only": binary("Lt", ctx("Now"), ONE)}}]),
    "not-readable",
    f"{AT}.iteration[0].Serve.only.Binary[1]",
)
no(
    "a guard that reads work",
    step(iteration=[{"Admit": {"gate": call("Work", stage(SVC))}}]),
    "not-readable",
    f"{AT}.iteration[0].Admit.gate",
)
no(
    "a guard that reads its own budget",
    step(iteration=[{"Admit": {"gate": call("BudgetLeft", stage(E))}}]),
    "not-readable",
    f"{AT}.iteration[0].Admit.gate",
)
no(
    "admitted by a fifo",
    edited(PLAIN, "pools", KW, "admit_via", to=SVC),
    "admitted-by-stage",
    "pools[2].admit_via",
)
no("no key of a queue", edited(PLAIN, "pools", KW, "queue", to=[]), "no-key", "pools[2].queue")
no(
    "no key of preemption",
    edited(PLAIN, "pools", KW, "preempt", to={"By": {"keys": []}}),
    "no-key",
    "pools[2].preempt.By.keys",
)
no(
    "no key of eviction",
    edited(PLAIN, "pools", KW, "evict", to={"By": []}),
    "no-key",
    "pools[2].evict.By",
    SAME,
)
no(
    "a block of 0",
    edited(PLAIN, "pools", KW, "block", to=0.0),
    "not-positive",
    "pools[2].block",
    SAME,
)
no(
    "a negative block",
    edited(PLAIN, "pools", KW, "block", to=-4.0),
    "not-positive",
    "pools[2].block",
    SAME,
)
no(
    "a fifo without a server",
    edited(PLAIN, "stages", SVC, "kind", to={"Fifo": 0}),
    "not-a-count",
    "stages[0].kind.Fifo",
    SAME,
)
yes(
    "both arms act",
    step(iteration=[{"Branch": [ONE, [{"Serve": {}}], [{"Admit": {}}]]}, {"Set": [0, ONE]}]),
)
yes(
    "a schedule after a branch",
    step(iteration=[{"Branch": [ONE, [], []]}, {"Admit": {}}, {"Set": [0, ONE]}]),
)
yes(
    "exclusive prefill",
    edited(edited(step(serve="ExclusivePrefill"), *STEP, "iteration"), "registers", to=[]),
)
yes("a granule", step(granule=num(4)))
yes("a granule of the whole prompt", step(granule=num("inf")))
yes("a granule at the cap", step(granule=num(4), chunk=num(4)))
yes("a granule under a choice of caps", step(granule=num(4), chunk=cond(ctx("Nres"), TWO, num(8))))
yes("no cap", step(chunk=ZERO))
yes("a cap with a floor", step(chunk=call("Max", ctx("Nres"), TWO)))
yes("a choice of caps", step(chunk=cond(binary("Gt", ctx("Nres"), ONE), num(8), ZERO)))
yes("a budget without an end", step(budget=num("inf")))
yes("a time of 0", step(cost=ZERO))
yes(
    "a guard that reads another budget",
    step(iteration=[{"Serve": {"only": call("BudgetLeft", stage(E))}}, {"Set": [0, ONE]}]),
)
yes("a draw for the time", step(cost=draw("Exp", ONE)))
yes("any capacity", edited(PLAIN, "stages", A, "kind", to={"Ps": num(-1)}))


def second(claim):
    """A document with another engine `F`, stage 9, and a claim."""
    doc = copy.deepcopy(PLAIN)
    kind = {**doc["stages"][E]["kind"]["Step"], "memory": None}
    del kind["iteration"]
    doc["stages"].append({"name": "F", "kind": {"Step": kind}})
    return doc | {"claims": [{"name": "c", "kind": claim, "expr": REG}]}


no(
    "a state in a claim of another engine",
    second({"EveryIteration": 9}),
    "state-read",
    "claims[0].expr",
)
yes("a state in a claim of its engine", second({"EveryIteration": E}))
yes("a state in a claim at the end", second("AtEnd"))
