"""The Python API, as users of the ecosystem know it."""

from __future__ import annotations

import json
import threading
from pathlib import Path

import numpy as np
import peer
import pytest

import serq

SOURCE = """use "std/args";
def demand_of(mean) { ~exp(mean) }
fn main() {
    let rho = args.number("rho", 0.5);
    stage svc : fifo;
    gauge n = queue(svc);
    workload { arrive poisson(1); session { turn; observe x = now; } }
    server { run svc (cost(svc, demand_of(rho))); }
}
"""


@pytest.fixture
def path(tmp_path) -> Path:
    """The program as a file."""
    file = tmp_path / "mm1.sq"
    file.write_text(SOURCE)
    return file


# --- compile ------------------------------------------------------------------------------------


def test_versions():
    """The versions are the ones of the formats."""
    assert serq.IR_VERSION == 13 and serq.REPORT_VERSION == 1
    assert serq.compile(source=SOURCE, horizon=1).ir.version == 13


def test_all_names_are_there():
    """Everything that the module announces can be had, and nothing else."""
    for name in serq.__all__:
        assert getattr(serq, name) is not None
    with pytest.raises(AttributeError, match="no attribute 'nonsense'"):
        serq.nonsense  # noqa: B018


def test_path_and_source_are_one_program(path):
    """A path (text or path object) and the text itself compile to the same IR."""
    program = serq.compile(source=SOURCE, horizon=100)
    assert serq.compile(path, horizon=100).to_json() == program.to_json()
    assert serq.compile(str(path), horizon=100).to_json() == program.to_json()


def test_ir_round_trips(path, tmp_path):
    """An IR goes through JSON and files unchanged, and settings override its own."""
    program = serq.compile(path, horizon=100, seed=3, warmup=5.5, arrivals=10)
    again = serq.Program.from_json(program.to_json())
    assert again.to_json() == program.to_json() and again.ir == program.ir
    (tmp_path / "p.json").write_text(program.to_json())
    assert serq.compile(tmp_path / "p.json").to_json() == program.to_json()
    changed = json.loads(serq.compile(tmp_path / "p.json", horizon=50, seed=0).to_json())
    assert (changed["horizon"], changed["seed"], changed["warmup"]) == (50, 0, 5.5)


def test_inputs_and_definitions():
    """sets takes numbers and expressions, defs bodies; each changes the program as said."""

    def ir(**kwargs):
        return serq.compile(source=SOURCE, horizon=10, **kwargs).to_json()

    assert ir(sets={"rho": 0.5}) == ir(sets={"rho": "1/2"}) == ir()
    assert ir(sets={"rho": 1}) == ir(sets={"rho": np.float64(1.0)}) != ir()
    assert "Infinity" not in ir(sets={"rho": float("inf")})
    assert ir(defs={"demand_of": "~exp(mean)"}) == ir() != ir(defs={"demand_of": "mean"})


@pytest.mark.parametrize(
    ("kwargs", "error"),
    [
        ({}, ValueError),
        ({"path": "x.sq", "source": SOURCE}, ValueError),
        ({"source": SOURCE}, ValueError),
        ({"source": SOURCE, "horizon": 0}, ValueError),
        ({"source": SOURCE, "horizon": -1.0}, ValueError),
        ({"source": SOURCE, "horizon": float("inf")}, ValueError),
        ({"source": SOURCE, "horizon": float("nan")}, ValueError),
        ({"source": SOURCE, "horizon": "10"}, TypeError),
        ({"source": SOURCE, "horizon": 10**400}, OverflowError),
        ({"source": SOURCE, "horizon": 10, "warmup": 10}, ValueError),
        ({"source": SOURCE, "horizon": 10, "warmup": -1}, ValueError),
        ({"source": SOURCE, "horizon": 10, "warmup": float("nan")}, ValueError),
        ({"source": SOURCE, "horizon": 10, "seed": -1}, OverflowError),
        ({"source": SOURCE, "horizon": 10, "seed": 2**64}, OverflowError),
        ({"source": SOURCE, "horizon": 10, "seed": 1.5}, TypeError),
        ({"source": SOURCE, "horizon": 10, "arrivals": 0}, ValueError),
        ({"source": SOURCE, "horizon": 10, "arrivals": -1}, OverflowError),
        ({"source": SOURCE, "horizon": 10, "arrivals": 1.5}, TypeError),
        ({"source": SOURCE.replace("poisson(1)", "batch(2)"), "horizon": 10, "arrivals": 3},
         ValueError),
        ({"source": SOURCE, "horizon": 10, "sets": {"rho": float("nan")}}, ValueError),
        ({"source": SOURCE, "horizon": 10, "sets": {"rho": None}}, TypeError),
        ({"source": SOURCE, "horizon": 10, "sets": {"rho": [1]}}, TypeError),
        ({"source": SOURCE, "horizon": 10, "sets": {"roh": 1}}, ValueError),
        ({"source": SOURCE, "horizon": 10, "defs": {"f": 1}}, TypeError),
        ({"source": SOURCE, "horizon": 10, "defs": {"f": "1"}}, ValueError),
        ({"source": "fn main( {", "horizon": 10}, ValueError),
        ({"path": "missing.sq", "horizon": 10}, ValueError),
        ({"path": "missing.json"}, ValueError),
    ],
)  # fmt: skip
def test_compile_refuses(kwargs, error):
    """A fault of the program or a setting is a ValueError, a wrong type a TypeError."""
    with pytest.raises(error):
        serq.compile(**kwargs)


def test_errors_show_the_place(path):
    """The message of an error has the file, the line and a caret; all faults are there."""
    path.write_text(SOURCE.replace("fifo", "fofi").replace("poisson(1)", "poisson(x)"))
    with pytest.raises(ValueError, match=r"mm1\.sq:5:\d+: error") as caught:
        serq.compile(path, horizon=1)
    assert isinstance(caught.value, serq.SerqError)
    assert "^" in str(caught.value)
    assert len(caught.value.diagnostics) >= 1


def test_inputs_of_an_ir_are_refused(tmp_path):
    """An IR has its inputs folded in: setting one is an error."""
    (tmp_path / "p.json").write_text(serq.compile(source=SOURCE, horizon=1).to_json())
    for kwargs in ({"sets": {"rho": 1}}, {"defs": {"demand_of": "1"}}):
        with pytest.raises(ValueError, match="inputs-on-ir"):
            serq.compile(tmp_path / "p.json", **kwargs)


@pytest.mark.parametrize("text", ["", "{}", "[]", "nonsense", '{"version": 13}', '{"version": 12}'])
def test_from_json_refuses(text):
    """What is no IR is a ValueError."""
    with pytest.raises(ValueError, match=r"error\["):
        serq.Program.from_json(text)


def test_from_json_validates():
    """An IR that breaks a rule is refused when it is read."""
    text = serq.compile(source=SOURCE, horizon=10).to_json()
    for old, new in (('"horizon": 10.0', '"horizon": -10.0'), ('"warmup": 0.0', '"warmup": 20.0')):
        assert old in text
        with pytest.raises(ValueError, match=r"error\["):
            serq.Program.from_json(text.replace(old, new))
    with pytest.raises(TypeError):
        serq.Program.from_json(b"{}")


# --- run ----------------------------------------------------------------------------------------


def test_run_is_fresh_each_time():
    """Two runs of one program give the same report and leave the program as it was."""
    program = serq.compile(source=SOURCE, horizon=100)
    before = program.to_json()
    assert serq.run(program).json() == serq.run(program).json()
    assert program.to_json() == before


def test_run_takes_a_program():
    """Anything else is a TypeError."""
    with pytest.raises(TypeError):
        serq.run(SOURCE)


def test_report_objects():
    """Samples are arrays of doubles with a time, a session and a turn each."""
    report = serq.run(serq.compile(source=SOURCE, horizon=200, warmup=20, seed=2))
    x = report.observe("x")
    assert isinstance(x.samples, np.ndarray) and x.samples.dtype == np.float64
    assert len(x.samples) == len(x.times) == len(x.sessions) == len(x.turns) == x.count
    assert np.array_equal(x.samples, x.times)  # the program observes the clock
    assert x.times.min() >= 20 and (x.turns == 1).all()
    assert len(set(x.sessions.tolist())) == x.count
    n = report.gauge("n")
    assert n.times[0] == 0.0 and (np.diff(n.times) > 0).all() and (np.diff(n.values) != 0).all()
    assert report.stage("svc").mean_number == pytest.approx(n.mean)
    assert report.client["response"].count == x.count
    fields = json.loads(report.json())
    assert fields["observes"]["x"]["mean"] == x.mean and fields["seed"] == report.seed == 2


def test_progress_is_told():
    """The callback sees the clock and the arrivals rise, and can end the run."""
    seen = []

    class Enough(Exception):
        pass

    def progress(now, arrived):
        seen.append((now, arrived))
        if len(seen) == 2:
            raise Enough

    program = serq.compile(source=SOURCE, horizon=1e7)
    with pytest.raises(Enough):
        serq.run(program, progress=progress)
    assert 0 < seen[0][0] < seen[1][0] < 1e7 and 0 < seen[0][1] < seen[1][1]


def test_traces_of_each_origin(tmp_path, monkeypatch):
    """A program file's trace lies beside it; a text's, an override's and an IR's here."""
    monkeypatch.chdir(tmp_path)
    (tmp_path / "sub").mkdir()
    (tmp_path / "sub" / "t.csv").write_text("1,1,2,2,2\n")
    (tmp_path / "t.csv").write_text("1,1,5,5,5\n")
    source = """fn main() { stage s : delay;
        workload { trace "t.csv" ordered; arrive batch(1); session { turn; observe n = new; } }
        server { run s (cost(s, 1)); } }"""
    (tmp_path / "sub" / "p.sq").write_text(source)

    def seen(program):
        return serq.run(program).observe("n").samples.tolist()

    beside = serq.compile("sub/p.sq", horizon=9)
    assert seen(beside) == [2.0]
    assert seen(serq.compile(source=source, horizon=9)) == [5.0]
    assert seen(serq.compile("sub/p.sq", horizon=9, trace="t.csv")) == [5.0]
    assert seen(serq.Program.from_json(beside.to_json())) == [5.0]
    (tmp_path / "sub" / "p.json").write_text(beside.to_json())
    assert seen(serq.compile("sub/p.json")) == [2.0]
    (tmp_path / "t.csv").unlink()
    broken = serq.compile(source=source, horizon=9)  # read when it runs, not before
    with pytest.raises(ValueError, match="cannot read trace"):
        serq.run(broken)


def test_threads():
    """Programs compile and run in several threads at once, with the same results."""
    expected = serq.run(serq.compile(source=SOURCE, horizon=300)).json()
    results = []

    def work():
        results.append(serq.run(serq.compile(source=SOURCE, horizon=300)).json())

    threads = [threading.Thread(target=work) for _ in range(3)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert results == [expected] * 3


@peer.needs_peer
def test_equal_to_the_reference():
    """IR, report, samples and change points of the same settings are the reference build's."""
    settings = {"horizon": 150, "warmup": 12.5, "seed": 77, "sets": {"rho": "3/4"}}
    program = serq.compile(source=SOURCE, **settings)
    assert program.to_json() == peer.compile(SOURCE, **settings)
    report = serq.run(program)
    theirs = peer.samples(SOURCE, **settings)
    assert peer.first_difference(report.json(), theirs["report"]) is None
    x = report.observe("x")
    assert [x.samples.tolist(), x.times.tolist(), x.sessions.tolist(), x.turns.tolist()] == (
        theirs["observes"]["x"]
    )
    n = report.gauge("n")
    assert [n.times.tolist(), n.values.tolist()] == theirs["gauges"]["n"]
