"""The harness around the reference build: answers, refusals, crashes, the comparison."""

from __future__ import annotations

import json

import peer
import pytest

SOURCE = """
fn main() {
    stage svc : fifo;
    workload { arrive poisson(0.5); session { turn; observe t = now; } }
    server { run svc (cost(svc, ~exp(1))); }
}
"""


@peer.needs_peer
def test_compile_and_run_agree_with_each_other():
    """Running the IR of a program gives the report of running the program."""
    ir = peer.compile(SOURCE, horizon=100, seed=3)
    assert json.loads(ir)["version"] == 13
    assert peer.run(ir=ir) == peer.run(SOURCE, horizon=100, seed=3)


@peer.needs_peer
def test_refusal_is_an_exception_with_the_message():
    """A program that does not compile raises Refused with the reference build's text."""
    with pytest.raises(peer.Refused, match="unknown"):
        peer.compile(SOURCE.replace("run svc", "run svx"), horizon=100)


@peer.needs_peer
def test_it_survives_a_crash_and_a_timeout():
    """After a crash or a timeout the next call is answered by a new process."""
    deep = "fn main() { stage s : fifo; workload { session { turn; observe a = %s; } } server {} }"
    with pytest.raises(peer.Crashed):
        peer.compile(deep % ("(" * 100_000 + "1" + ")" * 100_000), horizon=1)
    with pytest.raises(peer.Crashed, match="within"):
        peer.run(SOURCE, horizon=1e9, timeout=0.3)
    assert json.loads(peer.run(SOURCE, horizon=10))["horizon"] == 10


@peer.needs_peer
def test_samples_are_those_behind_the_report():
    """The columns of an observation have as many entries as the report counts."""
    full = peer.samples(SOURCE, horizon=100)
    count = json.loads(full["report"])["observes"]["t"]["count"]
    assert [len(column) for column in full["observes"]["t"]] == [count] * 4


@pytest.mark.parametrize(
    ("ours", "theirs", "expected"),
    [
        ('{"a":1}', '{"a":1}', None),
        ('{"serq_version":"1","a":1}', '{"serq_version":"2","a":1}', None),
        ('{"a":[{"name":"x","b":0}]}', '{"a":[{"name":"x","b":-0}]}', "a[0: x].b: 0, the refer"),
        ('{"a":{"b":1}}', '{"a":{"b":null}}', "a.b: 1, the reference has null"),
        ('{"a":1,"b":2}', '{"a":1}', "we have a field 'b' more"),
        ('{"b":2}', '{"a":2}', "field 'b' where the reference has 'a'"),
        ('{"a":[1]}', '{"a":[1,2]}', "a: 1 elements, the reference has 2"),
        ('{"a":1}', '{"a":1.0}', "a: 1, the reference has 1.0"),
        ('{"a":"1"}', '{"a":1}', 'a: "1", the reference has 1'),
        ('{"a":{}}', '{"a":{"b":1}}', "a: the reference has a field 'b' more"),
        ('{"a":{}}', '{"a":[]}', "a: {}, the reference has []"),
        ('{"a":[[1,2],[3]]}', '{"a":[[1,2],[4]]}', "a[1][0]: 3, the reference has 4"),
    ],
)
def test_first_difference(ours, theirs, expected):
    """The comparison names the first field that differs, and sees spelling and order."""
    found = peer.first_difference(ours, theirs)
    assert found is None if expected is None else found is not None and expected in found
