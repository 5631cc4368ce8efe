"""The JSON of the IR: printing, reading, and what is said about documents that cannot be read."""

from __future__ import annotations

import json
import math
from dataclasses import replace

import ir_programs as w
import peer
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from ir_programs import document, text

from serq.diagnostics import SerqError
from serq.ir import codec, nodes, rewrite
from serq.ir.codec import from_json, number_text, to_json
from serq.ir.constants import fold
from serq.ir.extensions import EXTENDED_VERSION
from serq.ir.jsontext import MAX_DEPTH, JsonError, TooLarge, parse, parse_deep
from serq.ir.validate import validate


def refusal(source: str, name: str = "p.json"):
    """The one diagnostic that reading a text gives."""
    with pytest.raises(SerqError) as error:
        from_json(source, name)
    [diagnostic] = error.value.diagnostics
    return diagnostic


# --- strategies: any program the dataclasses can say ----------------------------------------------

COUNT = st.integers(0, 2**64 - 1)
FINITE = st.floats(allow_nan=False, allow_infinity=False)
REAL = st.floats(allow_nan=False)
NAME = st.text(st.characters(exclude_categories=["Cs"]), max_size=8)


def some(item, most=2):
    return st.lists(item, max_size=most).map(tuple)


def refs(expr):
    return st.builds(nodes.Ref, COUNT, COUNT, st.none() | expr)


TARGETS = st.builds(nodes.PoolTarget, COUNT, COUNT) | st.builds(nodes.StageTarget, COUNT, COUNT)
TARGET = TARGETS | st.builds(nodes.JointTarget, some(TARGETS))
LEAVES = st.one_of(
    st.builds(nodes.Num, REAL),
    st.builds(nodes.Attr, COUNT),
    st.builds(nodes.CtxVar, st.sampled_from(nodes.Ctx)),
    st.builds(nodes.Agg, st.sampled_from(nodes.Aggregate), COUNT),
    st.builds(nodes.Reg, COUNT),
)


def _larger(expr):
    args = st.one_of(
        st.builds(nodes.ExprArg, expr),
        st.builds(nodes.PoolArg, refs(expr)),
        st.builds(nodes.StageArg, refs(expr)),
    )
    return st.one_of(
        st.builds(nodes.Sample, st.sampled_from(nodes.Dist), some(expr)),
        st.builds(nodes.Call, st.sampled_from(nodes.Fun), some(args)),
        st.builds(nodes.Unary, st.sampled_from(nodes.UnaryOp), expr),
        st.builds(nodes.Binary, st.sampled_from(nodes.BinaryOp), expr, expr),
        st.builds(nodes.Cond, expr, expr, expr),
        st.builds(nodes.Cost, TARGET, expr),
    )


EXPR = st.recursive(LEAVES, _larger, max_leaves=5)
REF = refs(EXPR)
MAYBE = st.none() | EXPR
STMT = st.one_of(
    st.sampled_from([nodes.Turn(), nodes.End(), nodes.Join()]),
    st.builds(nodes.Set, COUNT, EXPR),
    st.builds(nodes.Observe, COUNT, EXPR),
    st.builds(
        nodes.Hold,
        some(st.builds(nodes.HoldPool, REF, EXPR, MAYBE)),
        MAYBE,
        COUNT,
        MAYBE,
        st.none() | st.builds(nodes.Lease, REF, EXPR),
    ),
    st.builds(nodes.Grow, REF, EXPR),
    st.builds(nodes.Load, REF, EXPR),
    st.builds(nodes.Drop, REF),
    st.builds(nodes.Release, REF),
    st.builds(nodes.Run, REF, st.sampled_from(nodes.Mode), EXPR, st.none() | REF, some(REF)),
    st.builds(nodes.Branch, EXPR, COUNT, COUNT),
    st.builds(nodes.Loop, COUNT),
    st.builds(nodes.While, EXPR, COUNT),
    st.builds(nodes.Fork, COUNT),
    st.builds(nodes.Choose, COUNT, EXPR, some(EXPR)),
)
POOL = st.builds(
    nodes.Pool,
    NAME,
    st.none() | COUNT,
    REAL,
    st.none() | FINITE,
    st.just(nodes.Lru()) | st.builds(nodes.EvictBy, some(EXPR)),
    st.just(nodes.NoPreempt()) | st.builds(nodes.PreemptBy, some(EXPR), st.booleans()),
    st.none() | some(EXPR),
    st.none() | st.builds(nodes.Spill, COUNT, COUNT, EXPR, EXPR),
    st.none() | COUNT,
    st.booleans(),
)
ITER = st.recursive(
    st.one_of(
        st.builds(nodes.IterServe, MAYBE, st.none() | some(EXPR)),
        st.builds(nodes.IterAdmit, MAYBE, MAYBE),
        st.builds(nodes.IterSet, COUNT, EXPR),
    ),
    lambda inner: st.builds(nodes.IterBranch, EXPR, some(inner), some(inner)),
    max_leaves=3,
)
STAGE = st.builds(
    nodes.Stage,
    NAME,
    st.none() | COUNT,
    st.one_of(
        st.builds(nodes.Fifo, COUNT),
        st.builds(nodes.Ps, EXPR),
        st.builds(
            nodes.Step,
            EXPR,
            EXPR,
            EXPR,
            MAYBE,
            st.just(nodes.ExclusivePrefill()) | st.builds(nodes.ServeBy, some(EXPR)),
            st.none() | COUNT,
            st.none() | some(ITER),
        ),
    ),
)
PRESETS = some(st.tuples(COUNT, FINITE))
ARRIVAL = st.one_of(
    st.builds(nodes.Poisson, FINITE),
    st.builds(nodes.Renewal, EXPR),
    st.builds(nodes.Closed, COUNT),
    st.builds(nodes.Batch, COUNT),
    st.just(nodes.NoArrivals()),
    st.builds(
        nodes.Sessions, some(st.builds(nodes.SessionData, PRESETS, st.none() | some(PRESETS)))
    ),
)
KIND = st.one_of(
    st.just(nodes.AtEnd()),
    st.builds(nodes.EveryIteration, COUNT),
    st.builds(nodes.SomeIteration, COUNT),
)
TYPE = st.sampled_from([nodes.SizeType(), nodes.ValueType()]) | st.builds(nodes.CostType, TARGET)
PROGRAM = st.builds(
    nodes.Program,
    version=st.just(nodes.VERSION),
    attrs=some(NAME),
    attr_types=some(TYPE),
    sides=some(some(st.sampled_from(nodes.Side))),
    observes=some(NAME),
    pools=some(POOL),
    stages=some(STAGE),
    arrival=ARRIVAL,
    trace=st.none() | NAME,
    trace_ordered=st.booleans(),
    blocks=some(some(STMT)),
    horizon=FINITE,
    warmup=FINITE,
    arrivals=st.none() | COUNT,
    hidden=some(COUNT),
    share=st.none() | st.sampled_from(nodes.Share),
    gauges=some(st.builds(nodes.Gauge, NAME, EXPR), 1),
    claims=some(st.builds(nodes.Claim, NAME, MAYBE, KIND, EXPR), 1),
    registers=some(st.builds(nodes.Register, NAME, COUNT, REAL), 1),
    extensions=st.just(()),
    **{
        f: COUNT
        for f in (
            "init",
            "turn",
            "session",
            "seed",
            *(f"slot_{name.removesuffix('_no')}" for name in nodes.BUILTIN_ATTRS),
        )
    },
)


# --- both directions ------------------------------------------------------------------------------


@settings(max_examples=60, deadline=None)
@given(PROGRAM)
def test_round_trip(program):
    """Reading what was printed gives the program again, and it is printed the same again."""
    printed = to_json(program)
    assert from_json(printed) == program
    assert to_json(from_json(printed)) == printed
    json.loads(printed)  # and it is JSON for any other reader


@settings(max_examples=30, deadline=None)
@given(PROGRAM)
def test_layout_does_not_matter(program):
    """A document without white space, or with its fields in another order, says the same."""
    loaded = json.loads(to_json(program))
    assert from_json(json.dumps(loaded, separators=(",", ":"))) == program
    assert from_json(json.dumps(loaded, sort_keys=True)) == program


@settings(max_examples=40, deadline=None)
@given(PROGRAM)
def test_validation_of_any_program_ends_in_issues(program):
    """Validation of any program at all gives a list of issues and raises nothing."""
    for issue in validate(program):
        assert issue.code and issue.message and isinstance(issue.path, str)


@pytest.mark.parametrize(
    ("value", "spelled"),
    [
        (20.0, "20.0"),
        (0.0, "0.0"),
        (-0.0, "-0.0"),
        (0.5, "0.5"),
        (0.00001, "0.00001"),
        (0.000012345, "0.000012345"),
        (0.0001, "0.0001"),
        (9.999e-6, "9.999e-6"),
        (1e-6, "1e-6"),
        (-2.5e-10, "-2.5e-10"),
        (9999999999999998.0, "9999999999999998.0"),
        (1e16, "1e+16"),
        (1.5e16, "1.5e+16"),
        (5e-324, "5e-324"),
        (1.7976931348623157e308, "1.7976931348623157e+308"),
    ],
)
def test_numbers_are_spelled_as_the_format_does(value, spelled):
    """Positional with a fraction for 1e-5 <= |x| < 1e16, otherwise shortest with an exponent."""
    assert number_text(value) == spelled


@given(FINITE)
def test_a_spelled_number_reads_back(value):
    """The digits are enough to get the same double back, its sign included."""
    assert math.copysign(1, float(number_text(value))) == math.copysign(1, value)
    assert float(number_text(value)) == value


DOCUMENTS = {
    "a hold": document([w.hold([w.take(w.KV), w.take(w.REQS)], [w.run()], cache=w.num(3))]),
    "a lease": document(
        [w.hold([w.take(w.KW)], [w.run()], lease=[w.ref(w.KW), w.num("inf")]), w.release(w.KW)]
    ),
    "joint runs": document(
        [
            w.run(
                w.A,
                whole=w.cost(w.joint(w.of_stage(w.A), w.of_stage(w.B)), w.ONE),
                also=[w.ref(w.B, w.ONE, kind="stage")],
            )
        ]
    ),
    "nested statements": document(
        [
            w.loop([w.branch(w.ctx_guard, [w.run()], [{"Set": [w.A_, w.ONE]}, w.run()])])
            for w.ctx_guard in [w.binary("Lt", w.attr(w.N), w.TWO)]
        ]
    ),
    "sessions": document(
        [w.run()],
        arrival={"Sessions": [{"attrs": [[9, 1.5]]}, {"attrs": [], "turns": [[[3, 1e-7]], []]}]},
    ),
    "everything declared": document(
        [w.run()],
        gauges=[{"name": "g", "expr": w.call("Used", w.pool(w.KV))}],
        claims=[
            {"name": "c", "given": w.attr(9), "kind": {"EveryIteration": 1}, "expr": w.ctx("Ntok")},
            {"name": "e", "kind": "AtEnd", "expr": {"Agg": ["PrefixTotal", 0]}},
        ],
        arrivals=7,
        trace='a "trace".csv',
        trace_ordered=True,
    ),
}


@peer.needs_peer
@pytest.mark.parametrize("name", DOCUMENTS)
def test_prints_what_the_reference_prints(name):
    """Byte for byte the reference build's text, for documents that use every construct."""
    theirs = peer.compile(ir=text(DOCUMENTS[name]))
    assert to_json(from_json(text(DOCUMENTS[name]))) == theirs
    assert to_json(from_json(theirs)) == theirs


@peer.needs_peer
def test_numbers_as_the_reference_spells_them():
    """Every number in a list over all magnitudes is spelled as by the reference build."""
    values = [
        s * m * 10.0**e
        for s in (1, -1)
        for m in (1, 1.5, 9.999999999999998)
        for e in range(-30, 31)
    ]
    values += [0.0, -0.0, 5e-324, 2.2250738585072014e-308, 1.7976931348623157e308, 2.0**53 + 2]
    doc = document([w.run()], arrival={"Sessions": [{"attrs": [[9, v]]} for v in values]})
    assert to_json(from_json(text(doc))) == peer.compile(ir=text(doc))


# --- what a reader tolerates ----------------------------------------------------------------------


def changed(**fields):
    return text(document([w.run()]) | fields)


def without(*fields):
    doc = document([w.run()])
    for field in fields:
        del doc[field]
    return text(doc)


def test_unknown_fields_are_ignored():
    """A field this reader does not know changes nothing, wherever it stands."""
    doc = document([w.run()])
    plain = from_json(text(doc))
    doc["comment"] = {"Num": None}
    doc["pools"][0]["colour"] = [1]
    doc["stages"][1]["kind"]["Step"]["note"] = "x"
    assert from_json(text(doc)) == plain


def test_absent_optional_fields_have_defaults():
    """An optional field that is absent says nothing; null says the same."""
    doc = document([w.hold([w.take(w.KV)], [w.run()])])
    doc["arrivals"] = doc["share"] = None
    full = from_json(text(doc))
    for field in ("trace", "arrivals", "share", "gauges", "claims"):
        doc.pop(field)
    for field in ("block", "queue", "spill", "admit_via"):
        doc["pools"][2].pop(field)
    for field in ("reuse", "cache", "lease"):
        doc["blocks"][2][1]["Hold"].pop(field)
    doc["blocks"][2][1]["Hold"]["pools"][0][0].pop("index")
    doc["blocks"][3][0]["Run"].pop("growing")
    assert from_json(text(doc)) == full


def test_whole_numbers_are_numbers():
    """A real field takes a number without a fraction."""
    assert from_json(changed(horizon=100)) == from_json(changed(horizon=100.0))


def test_a_unit_variant_may_be_an_object_with_null():
    """A variant without a payload is its name, or an object whose value is null."""
    doc = document([w.run()])
    doc["blocks"][2][0] = {"Turn": None}
    assert from_json(text(doc)) == from_json(text(document([w.run()])))


def test_a_repeated_unknown_field_is_ignored():
    """Only fields this reader knows must be written once."""
    from_json(changed().replace('"seed": 1', '"seed": 1, "x": 1, "x": 2'))


# --- what a reader refuses ------------------------------------------------------------------------


def spoiled(path, value):
    """A document in which the value at ``path`` is another."""
    doc = document([w.hold([w.take(w.KV)], [w.run()]), w.put(w.A_, w.binary("Add", w.ONE, w.TWO))])
    place = doc
    for key in path[:-1]:
        place = place[key]
    if value is ...:
        del place[path[-1]]
    else:
        place[path[-1]] = value
    return text(doc)


BLOCK = ("blocks", 2, 1, "Hold")
ADDED = ("blocks", 2, 2, "Set", 1)
REFUSED = [
    (("version",), 12, "ir-version", "version"),
    (("version",), 14, "ir-version", "version"),
    (("version",), "13", "ir-type", "version"),
    (("version",), 13.0, "ir-type", "version"),
    (("version",), True, "ir-type", "version"),
    (("version",), None, "ir-type", "version"),
    (("version",), ..., "ir-missing-field", ""),
    (("attrs",), ..., "ir-missing-field", ""),
    (("attrs",), None, "ir-type", "attrs"),
    (("attrs",), {}, "ir-type", "attrs"),
    (("attrs", 2), 3, "ir-type", "attrs[2]"),
    (("attrs", 2), "\ud800", "ir-type", "attrs[2]"),
    (("attr_types", 0), "Number", "ir-variant", "attr_types[0]"),
    (("attr_types", 0), {"Cost": {"Tank": 1}}, "ir-variant", "attr_types[0].Cost"),
    (("sides", 2, 0), "Client", "ir-variant", "sides[2][0]"),
    (("sides", 2, 0), 1, "ir-type", "sides[2][0]"),
    (("hidden",), None, "ir-type", "hidden"),
    (("hidden", 0), -1, "ir-number", "hidden[0]"),
    (("hidden", 0), 1.0, "ir-type", "hidden[0]"),
    (("gauges",), None, "ir-type", "gauges"),
    (("claims",), None, "ir-type", "claims"),
    (("registers",), None, "ir-type", "registers"),
    (("seed",), 2**64, "ir-number", "seed"),
    (("seed",), -1, "ir-number", "seed"),
    (("seed",), 1.0, "ir-type", "seed"),
    (("seed",), True, "ir-type", "seed"),
    (("seed",), 10**400, "ir-type", "seed"),
    (("arrivals",), 1.5, "ir-type", "arrivals"),
    (("horizon",), "inf", "ir-type", "horizon"),
    (("horizon",), None, "ir-type", "horizon"),
    (("horizon",), False, "ir-type", "horizon"),
    (("trace",), 3, "ir-type", "trace"),
    (("trace_ordered",), None, "ir-type", "trace_ordered"),
    (("trace_ordered",), 0, "ir-type", "trace_ordered"),
    (("init",), None, "ir-type", "init"),
    (("share",), "Fair", "ir-variant", "share"),
    (("arrival",), None, "ir-type", "arrival"),
    (("arrival",), "Poisson", "ir-type", "arrival"),
    (("arrival",), {"Poisson": "inf"}, "ir-type", "arrival.Poisson"),
    (("arrival",), {"Closed": 1.0}, "ir-type", "arrival.Closed"),
    (("arrival",), {"Closed": 1, "Batch": 1}, "ir-type", "arrival"),
    (("arrival",), {}, "ir-type", "arrival"),
    (("arrival",), {"None": 3}, "ir-type", "arrival.None"),
    (("arrival",), {"Sessions": [{}]}, "ir-missing-field", "arrival.Sessions[0]"),
    (("arrival",), {"Sessions": [{"attrs": [[9]]}]}, "ir-type", "arrival.Sessions[0].attrs[0]"),
    (
        ("arrival",),
        {"Sessions": [{"attrs": [[9, "inf"]]}]},
        "ir-type",
        "arrival.Sessions[0].attrs[0][1]",
    ),
    (("pools",), "kv", "ir-type", "pools"),
    (("pools", 0), [], "ir-type", "pools[0]"),
    (("pools", 0, "name"), ..., "ir-missing-field", "pools[0]"),
    (("pools", 0, "cap"), ..., "ir-missing-field", "pools[0]"),
    (("pools", 0, "cap"), None, "ir-type", "pools[0].cap"),
    (("pools", 0, "cap"), "nan", "ir-number", "pools[0].cap"),
    (("pools", 0, "cap"), "Infinity", "ir-number", "pools[0].cap"),
    (("pools", 0, "cap"), True, "ir-type", "pools[0].cap"),
    (("pools", 0, "block"), "inf", "ir-type", "pools[0].block"),
    (("pools", 0, "evict"), "By", "ir-type", "pools[0].evict"),
    (("pools", 0, "evict"), {"By": {}}, "ir-type", "pools[0].evict.By"),
    (("pools", 0, "evict"), ..., "ir-missing-field", "pools[0]"),
    (("pools", 0, "preempt"), {"By": {}}, "ir-missing-field", "pools[0].preempt.By"),
    (("pools", 0, "preempt", "By", "tail"), None, "ir-type", "pools[0].preempt.By.tail"),
    (("pools", 0, "spill"), {"to": 1}, "ir-missing-field", "pools[0].spill"),
    (("pools", 0, "reserve_held"), None, "ir-type", "pools[0].reserve_held"),
    (("stages", 0, "kind"), "Delay", "ir-variant", "stages[0].kind"),
    (("stages", 0, "kind"), {"Fifo": -1}, "ir-number", "stages[0].kind.Fifo"),
    (("stages", 0, "kind"), {"Fifo": "inf"}, "ir-type", "stages[0].kind.Fifo"),
    (("stages", 1, "kind", "Step", "budget"), ..., "ir-missing-field", "stages[1].kind.Step"),
    (("stages", 1, "kind", "Step", "serve"), "Fair", "ir-variant", "stages[1].kind.Step.serve"),
    (
        ("stages", 1, "kind", "Step", "iteration", 0),
        "Serve",
        "ir-type",
        "stages[1].kind.Step.iteration[0]",
    ),
    (
        ("stages", 1, "kind", "Step", "iteration", 2, "Set"),
        [0],
        "ir-type",
        "stages[1].kind.Step.iteration[2].Set",
    ),
    (("blocks", 2, 0), "Wait", "ir-variant", "blocks[2][0]"),
    (("blocks", 2, 0), 3, "ir-type", "blocks[2][0]"),
    (("blocks", 2, 0), {}, "ir-type", "blocks[2][0]"),
    (("blocks", 2, 0), {"Turn": []}, "ir-type", "blocks[2][0].Turn"),
    (("blocks", 2, 0), {"Branch": [{"Num": 1}, 3]}, "ir-type", "blocks[2][0].Branch"),
    ((*BLOCK, "pools"), ..., "ir-missing-field", "blocks[2][1].Hold"),
    ((*BLOCK, "body"), None, "ir-type", "blocks[2][1].Hold.body"),
    ((*BLOCK, "pools", 0), [w.ref(0), w.ONE], "ir-type", "blocks[2][1].Hold.pools[0]"),
    ((*BLOCK, "pools", 0, 0, "base"), "kv", "ir-type", "blocks[2][1].Hold.pools[0][0].base"),
    ((*BLOCK, "pools", 0, 1), None, "ir-type", "blocks[2][1].Hold.pools[0][1]"),
    ((*BLOCK, "pools", 0, 1), {"Num": "nan"}, "ir-number", "blocks[2][1].Hold.pools[0][1].Num"),
    ((*BLOCK, "pools", 0, 1), {"Num": None}, "ir-type", "blocks[2][1].Hold.pools[0][1].Num"),
    ((*BLOCK, "lease"), [w.ref(0)], "ir-type", "blocks[2][1].Hold.lease"),
    (("blocks", 3, 0, "Run", "mode"), "Fast", "ir-variant", "blocks[3][0].Run.mode"),
    (("blocks", 3, 0, "Run", "also"), None, "ir-type", "blocks[3][0].Run.also"),
    (("blocks", 3, 0, "Run", "work"), ..., "ir-missing-field", "blocks[3][0].Run"),
    ((*ADDED, "Binary", 0), "Mod", "ir-variant", "blocks[2][2].Set[1].Binary[0]"),
    ((*ADDED, "Binary", 2), "x", "ir-variant", "blocks[2][2].Set[1].Binary[2]"),
    (ADDED, {"Ctx": "Tokens"}, "ir-variant", "blocks[2][2].Set[1].Ctx"),
    (ADDED, {"Call": ["Log", []]}, "ir-variant", "blocks[2][2].Set[1].Call[0]"),
    (
        ADDED,
        {"Call": ["Min", [{"Expr": {"Num": 1}}, {"Number": 1}]]},
        "ir-variant",
        "blocks[2][2].Set[1].Call[1][1]",
    ),
    (ADDED, {"Sample": ["Normal", []]}, "ir-variant", "blocks[2][2].Set[1].Sample[0]"),
    (ADDED, {"Agg": ["Mean", 0]}, "ir-variant", "blocks[2][2].Set[1].Agg[0]"),
    (
        ADDED,
        {"Cost": [{"Joint": [{"Joint": []}]}, {"Num": 1}]},
        "ir-variant",
        "blocks[2][2].Set[1].Cost[0].Joint[0]",
    ),
]  # fmt: skip


@pytest.mark.parametrize(("path", "value", "code", "where"), REFUSED)
def test_a_broken_field_is_refused_at_its_path(path, value, code, where):
    """A wrong, missing or unknown value is refused with the JSON path of the place."""
    found = refusal(spoiled(path, value))
    assert found.code == code
    assert found.where == (f"p.json: {where}" if where else "p.json")
    assert found.help


@peer.needs_peer
@pytest.mark.parametrize(("path", "value", "code", "where"), REFUSED)
def test_the_reference_refuses_it_too(path, value, code, where):
    """The reference build refuses every document of the table."""
    with pytest.raises(peer.Refused):
        peer.compile(ir=spoiled(path, value))


def test_mandatory_fields():
    """Each field that may not be absent is named when it is."""
    optional = {"trace", "gauges", "claims", "registers"}
    for field in document([w.run()]):
        if field not in optional:
            found = refusal(without(field))
            assert found.code == "ir-missing-field" and f"`{field}`" in found.message


def test_repeated_fields():
    """A known field that is written twice is refused, at the top and inside."""
    found = refusal(changed().replace('"seed": 1', '"seed": 1, "seed": 2'))
    assert (found.code, found.where) == ("ir-duplicate-field", "p.json: seed")
    found = refusal(changed().replace('"cap": 4.0', '"cap": 4.0, "cap": 4.0', 1))
    assert (found.code, found.where) == ("ir-duplicate-field", "p.json: pools[1].cap")


def test_numbers_that_no_double_holds():
    """1e400 and a whole number of 400 digits are refused where a number is expected."""
    for spelled in ("1e400", "-1e999", "1" + "0" * 400):
        found = refusal(changed(horizon=-7).replace('"horizon": -7', f'"horizon": {spelled}'))
        assert (found.code, found.where) == ("ir-number", "p.json: horizon")


@pytest.mark.parametrize(
    ("source", "line", "column"),
    [
        ("", 1, 1),
        ("   \n ", 2, 2),
        ("{", 1, 2),
        ("not json", 1, 1),
        ('{"version": 13} x', 1, 17),
        ('{"version": 13,}', 1, 16),
        ('{"version": NaN}', 1, 13),
        ('{"version": -Infinity}', 1, 13),
        ("{'version': 13}", 1, 2),
        ('{\n  "version" 13}', 2, 13),
        ('["\u0001"]', 1, 3),
        ("\ufeff{}", 1, 1),
        ("[1, 2", 1, 6),
        ("[01]", 1, 3),
    ],
)
def test_text_that_is_no_json(source, line, column):
    """What is no JSON is refused at the line and column where reading stopped."""
    found = refusal(source)
    assert found.code == "ir-syntax"
    assert found.span is not None and found.span.source.name == "p.json"
    assert found.span.source.position(found.span.start) == (line, column)


@settings(max_examples=60, deadline=None)
@given(st.integers(0, 20_000))
def test_truncated_documents(length):
    """A document that ends in the middle is refused in one sentence, wherever it ends."""
    whole = to_json(from_json(text(document([w.hold([w.take(w.KV)], [w.run()])]))))
    found = refusal(whole[: min(length, len(whole) - 1)])
    assert found.code == "ir-syntax" and found.span is not None


@pytest.mark.parametrize("source", ["3", "null", '"x"', "[]", "{}", "[[[]]]", "true"])
def test_json_that_is_no_program(source):
    """JSON that is no object, or an empty one, is refused at the root."""
    assert refusal(source).where == "p.json"


def test_positional_objects_are_refused():
    """An object of the format is a JSON object; an array of its values is none."""
    doc = document([w.run()])
    doc["stages"][0] = ["svc", None, {"Fifo": 1}]
    found = refusal(text(doc))
    assert (found.code, found.where) == ("ir-type", "p.json: stages[0]")


# --- depth ----------------------------------------------------------------------------------------


def deep_gauge(depth):
    inner = '{"Unary":["Neg",' * depth + '{"Num":1.0}' + "]}" * depth
    doc = document([w.run()], gauges=[{"name": "g", "expr": "@"}])
    return text(doc).replace('"@"', inner)


def test_deep_expressions_are_read_printed_and_validated():
    """Four thousand nested operators are no problem anywhere."""
    program = from_json(deep_gauge(4_000))
    assert validate(program) == []
    expr, depth = program.gauges[0].expr, 0
    while isinstance(expr, nodes.Unary):
        expr, depth = expr.operand, depth + 1
    assert depth == 4_000 and expr == nodes.Num(1.0)
    assert to_json(program).count('"Neg"') == 4_000 + 2  # and two in keys of preemption


def test_too_deep_a_document_is_refused():
    """Beyond the documented depth the place is named; brackets without end are no JSON."""
    found = refusal(deep_gauge(MAX_DEPTH))
    assert found.code == "ir-too-deep" and str(MAX_DEPTH) in found.message
    assert found.where.startswith("p.json: gauges[0].expr.Unary[1]") and len(found.where) < 200
    for source in ("[" * 1_000_000, '{"a":' * 100_000, "[" * 30_000 + "]" * 30_000):
        assert refusal(source).code in ("ir-too-deep", "ir-syntax", "ir-type")


JSON = st.recursive(
    st.none() | st.booleans() | st.integers(-(10**20), 10**20) | FINITE | st.text(),
    lambda inner: (
        st.lists(inner, max_size=4) | st.dictionaries(st.text(max_size=3), inner, max_size=4)
    ),
    max_leaves=20,
)


@given(JSON, st.sampled_from([None, 1]))
def test_both_readers_of_json_agree(value, indent):
    """The reader with a stack of its own reads what Python's reads."""
    source = json.dumps(value, indent=indent)
    assert parse(source) == parse_deep(source) == value


@settings(max_examples=300)
@given(st.text('[]{},:"\\ 01.eE-+truefalsnin\n\u0001a', max_size=12))
def test_both_readers_of_json_refuse_the_same(source):
    """They agree about what is no JSON, too."""

    def read(reader):
        try:
            return repr(reader(source)) if source else None
        except JsonError:
            return None

    assert read(parse) == read(parse_deep)


def test_minus_zero_and_large_numbers_survive_reading():
    """``-0`` keeps its sign; a number beyond a double is kept as such."""
    for reader in (parse, parse_deep):
        zero, large = reader("[-0, 1e400]")
        assert math.copysign(1, zero) == -1 and isinstance(large, TooLarge)


# --- extensions -----------------------------------------------------------------------------------


def test_an_unknown_extension_is_refused_by_name():
    """A document that says what version 13 cannot is refused by what it says."""
    found = refusal(changed(version=EXTENDED_VERSION, extensions=["time-travel"]))
    assert (found.code, found.where) == ("ir-extension", "p.json: extensions[0]")
    assert "`time-travel`" in found.message


def test_extensions_change_the_version(monkeypatch):
    """A program with an extension carries another version, and a reader that knows it reads it."""
    program = from_json(changed())
    extended = replace(program, version=EXTENDED_VERSION, extensions=("ours",))
    printed = to_json(extended)
    assert json.loads(printed)["version"] == EXTENDED_VERSION
    assert refusal(printed).code == "ir-extension"
    monkeypatch.setattr(codec, "KNOWN_EXTENSIONS", frozenset({"ours"}))
    assert from_json(printed) == extended


@peer.needs_peer
def test_a_reader_of_13_refuses_an_extended_document():
    """The reference build, which knows no extensions, refuses such a document."""
    with pytest.raises(peer.Refused, match=str(EXTENDED_VERSION)):
        peer.compile(ir=changed(version=EXTENDED_VERSION, extensions=["ours"]))


@pytest.mark.parametrize(
    "fields",
    [
        {"extensions": ["x"]},
        {"version": EXTENDED_VERSION},
        {"version": EXTENDED_VERSION, "extensions": []},
    ],
)
def test_version_and_extensions_go_together(fields):
    """Extensions without the version, and the version without extensions, are refused."""
    assert refusal(changed(**fields)).code == "ir-version"


# --- programs from programs -----------------------------------------------------------------------


def test_with_settings():
    """Execution settings are replaced by name, and nothing else is."""
    program = from_json(changed())
    other = rewrite.with_settings(program, horizon=7, seed=3, arrivals=5, trace="t.csv")
    assert (other.horizon, other.seed, other.arrivals, other.trace) == (7.0, 3, 5, "t.csv")
    assert replace(other, horizon=100.0, seed=1, arrivals=None, trace=None) == program
    with pytest.raises(TypeError, match="blocks"):
        rewrite.with_settings(program, blocks=())


def traced(**fields):
    return from_json(
        changed(**{"arrival": {"Batch": 3}, "trace": "t.csv", "trace_ordered": True} | fields)
    )


TRACE = [[(1.0, 2.0, 3.0, 0.0), (4.0, 5.0, 6.0, 1.0)], [(7.0, 8.0, 9.0, 0.0)]]


def test_inline_trace():
    """Session i gets the turns of trace session i modulo the trace's, and the trace is gone."""
    program = rewrite.inline_trace(traced(), TRACE)
    assert program.trace is None and not program.trace_ordered
    assert isinstance(program.arrival, nodes.Sessions)
    turns = [session.turns for session in program.arrival.sessions]
    assert turns[0] == (
        ((w.NEW, 1.0), (w.OUT, 2.0), (w.THINK, 3.0), (w.FORCED, 0.0)),
        ((w.NEW, 4.0), (w.OUT, 5.0), (w.THINK, 6.0), (w.FORCED, 1.0)),
    )
    assert turns[1] == (((w.NEW, 7.0), (w.OUT, 8.0), (w.THINK, 9.0), (w.FORCED, 0.0)),)
    assert turns[2] == turns[0]
    assert validate(program) == []


@pytest.mark.parametrize(
    ("program", "trace"),
    [
        ({"trace_ordered": False}, TRACE),
        ({"arrival": {"Poisson": 1.0}}, TRACE),
        ({"arrival": {"Closed": 2}}, TRACE),
        ({}, [[(math.inf, 1.0, 1.0, 0.0)]]),
        ({}, [[(math.nan, 1.0, 1.0, 0.0)]]),
    ],
)
def test_a_trace_that_cannot_be_inlined(program, trace):
    """What would not run the same, or JSON cannot say, is refused."""
    with pytest.raises(SerqError) as error:
        rewrite.inline_trace(traced(**program), trace)
    assert error.value.diagnostics[0].code == "inline-trace"


# --- constants ------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("expr", "value"),
    [
        (w.num(3), 3.0),
        (w.binary("Sub", w.TWO, w.ONE), 1.0),
        (w.binary("Div", w.ONE, w.ZERO), math.inf),
        (w.binary("Pow", w.TWO, w.num(3)), 8.0),
        (w.binary("Lt", w.ONE, w.TWO), 1.0),
        ({"Unary": ["Not", w.num(3)]}, 0.0),
        (w.call("Max", w.ONE, w.num(7)), 7.0),
        (w.call("Floor", w.num(2.5)), 2.0),
        (w.cond(w.ZERO, w.attr(9), w.TWO), 2.0),
        (w.binary("And", w.ZERO, w.attr(9)), 0.0),
        (w.binary("Or", w.num(5), w.attr(9)), 1.0),
        (w.binary("And", w.TWO, w.num(5)), 1.0),
        (w.cost(w.of_pool(0), w.num(4)), 4.0),
        (w.attr(9), None),
        (w.binary("And", w.attr(9), w.ZERO), None),
        (w.binary("Mul", w.ZERO, w.attr(9)), None),
        (w.cond(w.attr(9), w.ONE, w.ONE), None),
        (w.draw("Det", w.ONE), None),
        (w.call("Used", w.pool(0)), None),
        (w.call("Min", w.ONE), None),
    ],
)
def test_fold(expr, value):
    """The value of an expression that reads nothing; what is not reached need not be constant."""
    doc = document([w.run()], gauges=[{"name": "g", "expr": expr}])
    assert fold(from_json(text(doc)).gauges[0].expr) == value
