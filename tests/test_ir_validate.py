"""The rules of the language on the IR: what is refused, with which code and where, and what is not.

The documents are those of `ir_cases`. The reference build is asked about all of them.
"""

from __future__ import annotations

import copy
import json
from itertools import islice

import peer
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from ir_cases import ACCEPTED, CIRCLES, IN_FAM, LENIENT, REFUSED, RUN, STATE, gauge, load_all
from ir_programs import (
    A_,
    D_,
    KW,
    ONE,
    SVC,
    TWO,
    H,
    N,
    Q,
    attr,
    binary,
    branch,
    ctx,
    document,
    grow,
    hold,
    loop,
    num,
    put,
    run,
    take,
    text,
)

from serq.diagnostic_codes import CODES
from serq.diagnostics import SerqError
from serq.ir import nodes
from serq.ir.codec import from_json
from serq.ir.validate import validate

load_all()


# --- the tests ------------------------------------------------------------------------------------


def issues(doc):
    return validate(from_json(text(doc)))


@pytest.mark.parametrize("name", REFUSED)
def test_refused(name):
    """A program with one fault is refused with the code of the rule, at the place of the fault."""
    doc, code, path = REFUSED[name]
    found = issues(doc)
    assert (code, path) in [(i.code, i.path) for i in found], found
    assert {i.code for i in found} == {code}, found


@pytest.mark.parametrize("name", ACCEPTED)
def test_accepted(name):
    """A program next to a refused one that breaks no rule is accepted."""
    assert issues(ACCEPTED[name]) == []


def test_there_are_enough_of_both():
    """The tables cover the rules from both sides."""
    assert len(REFUSED) >= 250 and len(ACCEPTED) >= 200


@peer.needs_peer
@pytest.mark.parametrize(
    "name", [n for n in (*REFUSED, *ACCEPTED) if LENIENT.get(n) not in (STATE, CIRCLES)]
)
def test_the_reference_agrees(name):
    """The reference build accepts the accepted and, but for named cases, refuses the refused."""
    doc = REFUSED[name][0] if name in REFUSED else ACCEPTED[name]
    try:
        peer.compile(ir=text(doc))
        accepted = True
    except peer.Refused:
        accepted = False
    assert accepted == (name in ACCEPTED or name in LENIENT)


def test_every_code_is_documented():
    """Each code of the tables has its sentence."""
    assert {code for _, code, _ in REFUSED.values()} <= set(CODES)


@pytest.mark.parametrize("name", REFUSED)
def test_the_trail_leads_outwards(name):
    """The trail starts at the faulty node and ends at what the program declares or executes."""
    doc, _, _ = REFUSED[name]
    program = from_json(text(doc))
    declared = [
        *program.pools,
        *program.stages,
        *program.gauges,
        *program.claims,
        *program.registers,
        program.arrival,
        *(s for block in program.blocks for s in block),
    ]
    for issue in validate(program):
        if issue.trail:
            assert any(issue.trail[-1] is node for node in declared)
        else:
            assert issue.path.split("[")[0] in (
                "version",
                "blocks",
                "attr_types",
                "sides",
                "hidden",
                "share",
                "horizon",
                "warmup",
                "seed",
                "arrivals",
                "init",
                "turn",
                "session",
                "slot_new",
                "arrival.Sessions",
            )


def test_the_trail_of_a_nested_expression():
    """From the innermost node through its expression, the statement and the statements around."""
    program = from_json(
        text(document([hold([take(KW)], [put(A_, binary("Add", ONE, ctx("Size")))])]))
    )
    [issue] = validate(program)
    inner = program.blocks[3][0]
    assert isinstance(inner, nodes.Set) and isinstance(inner.expr, nodes.Binary)
    outer = program.blocks[2][1]
    expected = [inner.expr.right, inner.expr, inner, outer]
    assert len(issue.trail) == 4 and all(a is b for a, b in zip(issue.trail, expected, strict=True))
    assert issue.path == "blocks[3][0].Set[1].Binary[2]"


def test_all_independent_issues_are_found():
    """Faults of different rules are all reported, not only the first."""
    found = issues(
        document(
            [
                put(A_, ctx("Waited")),
                run(SVC, num(-1)),
                grow(KW),
                branch(TWO, []),
                loop([]),
                run(Q, index=num(7)),
            ],
            gauges=[{"name": "g", "expr": attr(N)}],
            horizon=-1.0,
        )
    )
    assert {i.code for i in found} == {
        "not-readable",
        "not-an-amount",
        "not-held",
        "not-a-test",
        "no-progress",
        "index-out-of-range",
        "bad-setting",
    }
    assert len(found) == 8


JARGON = ("Attr", "Ctx", "Reg", "slot", "blocks[", "Nres", "Ntok", "CStep", "Hold.", "register")


@pytest.mark.parametrize(
    "name", [n for n, (_, code, _) in REFUSED.items() if not code.startswith("ir-")]
)
def test_messages_speak_of_the_program(name):
    """A message names pools, stages and attributes as the program's text does."""
    for issue in issues(REFUSED[name][0]):
        for words in (issue.message, issue.help or ""):
            assert not any(j in words for j in JARGON), words
            assert len(words) < 400


# --- any document ---------------------------------------------------------------------------------

POOL_OF_DOCUMENTS = [*ACCEPTED.values(), *(doc for doc, _, _ in REFUSED.values())]


def places_of(value, path=()):
    yield path
    if isinstance(value, dict):
        for key, inner in value.items():
            yield from places_of(inner, (*path, key))
    elif isinstance(value, list):
        for i, inner in enumerate(value):
            yield from places_of(inner, (*path, i))


def at(doc, path):
    for key in path:
        doc = doc[key]
    return doc


@settings(max_examples=300, deadline=None)
@given(st.data())
def test_no_document_makes_validation_raise(data):
    """Documents with parts moved, copied, removed and replaced give issues, never an exception."""
    doc = copy.deepcopy(data.draw(st.sampled_from(POOL_OF_DOCUMENTS)))
    for _ in range(data.draw(st.integers(1, 4))):
        paths = [p for p in places_of(doc) if p and p[0] != "version"]
        path = data.draw(st.sampled_from(paths))
        holder = at(doc, path[:-1])
        action = data.draw(st.sampled_from(["copy", "value", "remove", "repeat"]))
        if action == "remove":
            if isinstance(holder, list):
                del holder[path[-1]]
        elif action == "repeat":
            if isinstance(holder, list):
                holder.append(copy.deepcopy(holder[path[-1]]))
        elif action == "copy":
            source = data.draw(st.sampled_from(POOL_OF_DOCUMENTS))
            same = [
                p
                for p in islice(places_of(source), 3000)
                if p[-1:] == path[-1:] and p[:1] == path[:1]
            ]
            if same:
                holder[path[-1]] = copy.deepcopy(at(source, data.draw(st.sampled_from(same))))
        else:
            holder[path[-1]] = data.draw(
                st.sampled_from([0, 1, 3, 2**63, -1.5, 0.0, "inf", None, "End", [], {}, True])
            )
    try:
        program = from_json(text(doc))
    except SerqError as error:
        assert all(d.where or d.span for d in error.diagnostics)
        return
    for issue in validate(program):
        assert issue.code in CODES and issue.message


def chain(depth):
    """A document of loops inside one another; only the innermost runs something."""
    doc = document([RUN])
    doc["blocks"] = [*doc["blocks"][:2], ["Turn", {"Loop": 3}]]
    doc["sides"] = [*doc["sides"][:2], ["Workload", "Server"]]
    for i in range(3, depth + 3):
        doc["blocks"].append([RUN, {"Loop": i + 1}])
        doc["sides"].append(["Server", "Server"])
    doc["blocks"].append([RUN])
    doc["sides"].append(["Server"])
    return doc


def test_deep_blocks():
    """Three thousand nested loops are checked; beyond the documented depth they are refused."""
    assert issues(chain(3_000)) == []
    [found] = issues(chain(100_000))
    assert found.code == "ir-too-deep"


def test_nested_loops_cost_little():
    """Flow analysis over nested loops does not take time exponential in their depth."""
    doc = chain(300)
    doc["blocks"][200].insert(0, put(D_, attr(H)))
    doc["sides"][200].insert(0, "Server")
    doc["blocks"][290].insert(
        0, branch(attr(D_), []) | {"Branch": [attr(D_), len(doc["blocks"]), len(doc["blocks"]) + 1]}
    )
    doc["sides"][290].insert(0, "Server")
    doc["blocks"] += [[], []]
    doc["sides"] += [[], []]
    assert [i.code for i in issues(doc)] == ["hidden-unrevealed"]


def test_long_sums():
    """A sum of 4 096 terms, as an aggregate is written out, is checked in every position."""
    one = json.dumps(IN_FAM)
    total = '{"Binary":["Add",' * 4_096 + one + ("," + one + "]}") * 4_096
    for doc in (gauge("@"), document([put(A_, "@")]), document([hold([take(KW, "@")], [])])):
        assert validate(from_json(text(doc).replace('"@"', total))) == []
