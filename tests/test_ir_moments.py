"""What may be read when: the table of the API reference against every position of a program."""

from __future__ import annotations

import json

import ir_programs as w
import peer
import pytest
from ir_programs import call, document, num, pool, stage, text

from serq.ir import nodes
from serq.ir.codec import from_json
from serq.ir.functions import DRAW_ARGUMENTS, SIGNATURES
from serq.ir.moments import (
    POSITIONS,
    READ_WHEN,
    READABLE,
    Kind,
    Moment,
    moments,
    note,
    places,
    readable_at,
    spelling,
    spellings,
)
from serq.ir.validate import validate

# The table of the reference, copied: a row per value, a column per moment.
COLUMNS = (
    "Session Admit Select Evict Victim Ps Budget Serve Only Plan Step Gauge Given Iteration End Gap"
)
TABLE = """
numbers     x x x x x x x x x x x x x x x x
now         x x x x x x x x . . x . . x x .
draw        x . . x . x x . . . x . . . . x
attribute   x x x x x . . x x . . . x . . .
hidden      x . . . . . . . . . . . x . . .
waited      . . x . . . . . . . . . . . . .
eviction    . . . x . . . . . . . . . . . .
present     . . . . . x . . . . . . . . . .
position    . . . . x . . . . . . . . . . .
resident    . . . . x . . x x . . . . . . .
remaining   . . . . . . . x x . . . . . . .
count       . . . . . . x x x x x . . x . .
kv          . . . . . . x x x x x . . x . .
tokens      . . . . . . . . . x x . . x . .
attention   . . . . . . . . . . x . . x . .
schedule    . . . . . . . . . x . . . . . .
claim       . . . . . . . . . . . . . x . .
state       x x x x x x x x x x x x . x . .
cachedin    x x x x x x x x x x x . . . . .
work        x x x x x x x x . . x . . . . .
estimates   x x x x x x x x x x x x . . . .
budget_left x x x x . x . x x x x . . . . .
register    . x x x x . x x x x x x . x x .
aggregates  . . . . . . . . . . . . . . x .
"""
STATE = [
    *(call(f, pool(w.KW)) for f in ("Used", "Free", "Holders", "Queued")),
    *(call(f, stage(w.SVC)) for f in ("Queue", "Busy")),
]
VALUES = {
    "numbers": [num(3), w.binary("Add", w.ONE, w.TWO), call("Sqrt", num(2))],
    "now": [w.ctx("Now")],
    "draw": [w.draw("Exp", w.ONE), w.draw("Det", w.ONE), w.draw("Uniform", w.ONE, w.TWO)],
    "attribute": [w.attr(w.N), w.attr(w.A_), w.attr(w.CACHED), w.attr(w.SERIAL)],
    "hidden": [w.attr(w.H)],
    "waited": [w.ctx("Waited")],
    "eviction": [w.ctx(c) for c in ("Size", "Age", "Last", "Queued")],
    "present": [w.ctx("N")],
    "position": [w.ctx("Position")],
    "resident": [w.ctx("Decoding"), w.ctx("Admission")],
    "remaining": [w.ctx("Remaining")],
    "count": [w.ctx("Nres")],
    "kv": [w.ctx("Ndec"), w.ctx("Kvb"), w.ctx("Kvp")],
    "tokens": [w.ctx("Ntok"), w.ctx("Npre")],
    "attention": [w.ctx("Attn")],
    "schedule": [w.ctx("Admitted"), w.ctx("Preempted")],
    "claim": [w.ctx("Demand"), w.ctx("Served"), w.ctx("Arrived")],
    "state": STATE,
    "cachedin": [call("CachedIn", pool(w.KW))],
    "work": [call("Work", stage(w.SVC))],
    "estimates": [
        *(call(f, stage(w.SVC)) for f in ("EstLambda", "EstRho", "EstWait")),
        call("Price", stage(w.SVC), w.ONE, w.TWO),
    ],
    # not the engine's own budget, which its own schedule may not read
    "budget_left": [call("BudgetLeft", {"Stage": w.ref(9, kind="stage")})],
    "register": [{"Reg": 0}],
    "aggregates": [{"Agg": [a, 0]} for a in ("Total", "Count", "Largest", "PrefixTotal")],
}


def with_step(doc, field, value):
    doc["stages"][w.E]["kind"]["Step"][field] = value
    return doc


def with_pool(doc, index, **fields):
    doc["pools"][index] |= fields
    return doc


def in_pool(expr):
    return w.cost(w.of_pool(w.REQS), expr)


def in_step(field, make, path):
    """A position in the declaration of the engine."""
    return lambda e: with_step(document(), field, make(e)), f"stages[1].kind.Step.{path}"


def in_schedule(make, path):
    """A position in a statement of the engine's schedule."""
    return in_step("iteration", lambda e: [make(e), {"Serve": {}}], f"iteration[0].{path}")


def with_hold(take, **clauses):
    return document([w.hold([take], [w.run()], **clauses)])


# Each moment's positions: the document with an expression there, and where that is. The pools'
# keys are of the pool that the engine admits, so that the engine's state may be read in them.
PLACES = {
    "Session": [
        (lambda e: document([w.put(w.A_, e)]), "blocks[2][1].Set[1]"),
        (lambda e: document([w.see(e)]), "blocks[2][1].Observe[1]"),
        (lambda e: document([w.run(w.SVC, e)]), "blocks[2][1].Run.work.Cost[1]"),
        (
            lambda e: with_hold(w.take(w.KW), cache=w.cost(w.of_pool(w.KW), e)),
            "blocks[2][1].Hold.cache.Cost[1]",
        ),
    ],
    "Admit": [
        (
            lambda e: document([w.hold([w.take(w.REQS, w.call("Min", e, w.ONE))], [w.run()])]),
            "blocks[2][1].Hold.pools[0][1].Cost[1].Call[1][0].Expr",
        ),
        (
            lambda e: document([w.hold([w.take(w.REQS, w.ONE, w.call("Min", e, w.ONE))], [])]),
            "blocks[2][1].Hold.pools[0][2].Cost[1].Call[1][0].Expr",
        ),
        (
            lambda e: with_hold(w.take(w.REQS), reuse=in_pool(e), cache=in_pool(w.ONE)),
            "blocks[2][1].Hold.reuse.Cost[1]",
        ),
    ],
    "Select": [(lambda e: with_pool(document(), w.REQS, queue=[w.ONE, e]), "pools[1].queue[1]")],
    "Evict": [
        (lambda e: with_pool(document(), w.REQS, evict={"By": [e]}), "pools[1].evict.By[0]"),
        (
            lambda e: with_pool(
                document(), w.REQS, spill={"to": w.KW, "via": w.SVC, "work": e, "when": w.ONE}
            ),
            "pools[1].spill.work",
        ),
        (
            lambda e: with_pool(
                document(), w.REQS, spill={"to": w.KW, "via": w.SVC, "work": w.ONE, "when": e}
            ),
            "pools[1].spill.when",
        ),
    ],
    "Victim": [
        (
            lambda e: with_pool(document(), w.REQS, preempt={"By": {"keys": [e]}}),
            "pools[1].preempt.By.keys[0]",
        )
    ],
    "Ps": [
        (
            lambda e: document() | {"stages": [*stages()[:5], ps(e), *stages()[6:]]},
            "stages[5].kind.Ps",
        )
    ],
    "Budget": [
        in_step("budget", lambda e: w.call("Max", e, w.ONE), "budget.Call[1][0].Expr"),
        in_step("chunk", lambda e: w.call("Max", w.ONE, e), "chunk.Call[1][1].Expr"),
    ],
    "Serve": [
        in_step("serve", lambda e: {"By": [e]}, "serve.By[0]"),
        in_schedule(lambda e: {"Serve": {"by": [w.ONE, e]}}, "Serve.by[1]"),
    ],
    "Only": [
        in_schedule(lambda e: {"Serve": {"only": e}}, "Serve.only"),
        in_schedule(lambda e: {"Admit": {"only": e}}, "Admit.only"),
    ],
    "Plan": [
        in_schedule(lambda e: {"Admit": {"gate": e}}, "Admit.gate"),
        in_schedule(lambda e: {"Branch": [e, [{"Serve": {}}], [{"Serve": {}}]]}, "Branch[0]"),
        in_schedule(lambda e: {"Set": [0, e]}, "Set[1]"),
    ],
    "Step": [(lambda e: with_step(document(), "cost", e), "stages[1].kind.Step.cost")],
    "Gauge": [(lambda e: document(gauges=[{"name": "g", "expr": e}]), "gauges[0].expr")],
    "Given": [
        (
            lambda e: document(
                claims=[{"name": "c", "given": e, "kind": "AtEnd", "expr": w.ctx("Now")}]
            ),
            "claims[0].given",
        )
    ],
    "Iteration": [
        (
            lambda e: document(claims=[{"name": "c", "kind": {"SomeIteration": w.E}, "expr": e}]),
            "claims[0].expr",
        )
    ],
    "End": [
        (lambda e: document(claims=[{"name": "c", "kind": "AtEnd", "expr": e}]), "claims[0].expr")
    ],
    "Gap": [(lambda e: document(arrival={"Renewal": e}), "arrival.Renewal")],
}  # fmt: skip


def stages():
    return document()["stages"]


def ps(e):
    return {"name": "A", "kind": {"Ps": e}}


def rows():
    for line in TABLE.strip().splitlines():
        value, *marks = line.split()
        yield value, dict(zip(COLUMNS.split(), (m == "x" for m in marks), strict=True))


def cases(value):
    """(document, path, allowed) for every spelling of a value at every position."""
    allowed = dict(rows())[value]
    for moment, positions in PLACES.items():
        for make, path in positions:
            for expr in VALUES[value]:
                doc = make(expr)
                other = {"name": "F", "kind": {"Step": dict(doc["stages"][w.E]["kind"]["Step"])}}
                other["kind"]["Step"].pop("iteration", None)
                other["kind"]["Step"] |= {"budget": num(9), "serve": {"By": []}, "cost": w.ONE}
                other["kind"]["Step"] |= {"chunk": w.ZERO, "memory": None}
                doc["stages"].append(other)
                yield doc, path, allowed[moment]


@pytest.mark.parametrize("value", [value for value, _ in rows()])
def test_the_table_of_moments(value):
    """A value is readable at exactly the moments of the table, and refused at its place."""
    for doc, path, allowed in cases(value):
        found = validate(from_json(text(doc)))
        if allowed:
            assert found == [], (path, found[0])
        else:
            assert found, (path, json.dumps(doc)[:200])
            assert any(issue.path == path for issue in found), (path, found)


@peer.needs_peer
@pytest.mark.parametrize("value", [value for value, _ in rows()])
def test_the_reference_has_the_same_table(value):
    """The reference build accepts and refuses the same reads at the same positions."""
    for doc, path, allowed in cases(value):
        try:
            peer.compile(ir=text(doc))
            accepted = True
        except peer.Refused:
            accepted = False
        assert accepted == allowed, path


# --- the table as data ----------------------------------------------------------------------------


def test_every_value_has_a_row():
    """Every context variable, every query of the state and every other kind of value has a row."""
    arithmetic = {f for f, kinds in SIGNATURES.items() if {k.name for k in kinds} == {"NUMBER"}}
    wanted = [*nodes.Ctx, *(f for f in nodes.Fun if f not in arithmetic), *Kind]
    assert len(READABLE) == len(wanted)
    assert all(any(r is v for r in READABLE) for v in wanted)
    assert set(DRAW_ARGUMENTS) == set(nodes.Dist) and set(SIGNATURES) == set(nodes.Fun)
    assert set(POSITIONS) == set(READ_WHEN) == set(Moment)


def test_rows_of_equal_names_are_kept_apart():
    """`waiting` (of an entry) and `queued` (of a pool) are both called Queued in the IR."""
    assert moments(nodes.Ctx.QUEUED) == {Moment.EVICT}
    assert Moment.SESSION in moments(nodes.Fun.QUEUED)


def test_columns_and_rows_agree():
    """What a moment supplies is what has the moment in its row."""
    for moment in Moment:
        supplied = readable_at(moment)
        for readable in READABLE:
            assert any(r is readable for r in supplied) == (moment in moments(readable))


@pytest.mark.parametrize(
    ("name", "moment", "written"),
    [
        ("Nres", "Budget", "running.count"),
        ("Nres", "Step", "running.count"),
        ("Nres", "Iteration", "residents"),
        ("Ndec", "Serve", "running.decoding"),
        ("Ndec", "Step", "batch.decoding"),
        ("Ndec", "Iteration", "decoders"),
        ("Npre", "Plan", "batch.prefilled"),
        ("Npre", "Iteration", "prefilled"),
        ("Ntok", "Plan", "batch.tokens"),
        ("Ntok", "Step", "batch.tokens"),
        ("Ntok", "Iteration", "tokens"),
        ("Kvb", "Only", "running.kv_decode"),
        ("Kvp", "Step", "batch.kv_prefill"),
        ("Attn", "Step", "batch.attention"),
        ("Attn", "Iteration", "attention"),
        ("Admitted", "Plan", "waiting.admitted"),
        ("Preempted", "Plan", "running.preempted"),
        ("Queued", "Evict", "waiting"),
        ("N", "Ps", "present"),
        ("Position", "Victim", "position"),
        ("Now", "Session", "now"),
    ],
)
def test_spellings(name, moment, written):
    """A clause writes a context variable by one name."""
    assert spelling(nodes.Ctx(name), Moment(moment)) == written
    assert Moment(moment) in spellings(nodes.Ctx(name))[written]


def test_phrases():
    """A row says in words where its value is read, and what its moments do not say."""
    assert places(nodes.Ctx.POSITION) == "a pool's `preempt by` keys"
    assert places(Kind.HIDDEN) == "a statement and a claim's `given`"
    assert "own schedule" in (note(nodes.Fun.BUDGET_LEFT) or "")
    assert note(nodes.Ctx.NOW) is None and "position" in (note(Kind.ATTRIBUTE) or "")


def test_a_variable_out_of_place_is_named_as_the_clause_would():
    """The message names the value as the place's clause writes it, and where it is written how."""
    [found] = validate(from_json(text(document([w.put(w.A_, w.ctx("Ntok"))]))))
    assert "`tokens`" in found.message and "`batch.tokens` in" in found.message
    doc = with_step(document(), "budget", w.call("Max", w.ctx("Ntok"), w.ONE))
    [found] = validate(from_json(text(doc)))
    assert "`batch.tokens` cannot be read in the `tokens cap` of engine `E`" in found.message
