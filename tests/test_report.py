"""The report: JSON, text, dump."""

from __future__ import annotations

import csv
import io
import json
import os
import shutil
import subprocess
import sys
from dataclasses import replace
from math import inf, nan
from pathlib import Path

import numpy as np
import peer
import pytest
from rich.console import Console

from serq.diagnostics import SerqError
from serq.dump import dump
from serq.files import write_files, write_text
from serq.interp.report import Claim, Pool, Report, Stage, number, to_json
from serq.interp.stats import GaugeTrack, Samples
from serq.ir import nodes
from serq.text_report import decimals, notes, plain, show

# --- a report and the program it belongs to -----------------------------------------------------


def stage(name: str, index: int | None = None, **fields: object) -> Stage:
    """A stage's row, empty but for ``fields``."""
    row = Stage(
        name=name, index=index, mean_number=0.5, utilization=0.25, completed=3, throughput=0.3,
        mean_wait=nan, mean_service=1.5, iterations=0, prefill_only=0.0, decode_only=0.0,
        mixed=0.0, mean_decodes=0.0, mean_decode_batch=nan, mean_decode_step=nan, mean_itl=nan,
        itl_p50=nan, itl_p99=nan, idle_with_work=False,
    )  # fmt: skip
    return replace(row, **fields)


def pool(name: str, index: int | None = None, **fields: object) -> Pool:
    """A pool's row, empty but for ``fields``."""
    row = Pool(
        name=name, index=index, mean_used=12.34, mean_cached=0.0, mean_queue=0.0,
        mean_holders=1.0, mean_wait=nan, admissions=7, evicted_entries=2, evicted_units=32.0,
        preemptions=0, spills=0, rejected=0, stuck=0, over_cap=None, growing_at_end=0,
        growing_stalled=False,
    )  # fmt: skip
    return replace(row, **fields)


def samples(name: str, values: list[float]):
    """The row of an observation with these values, one per time unit and session."""
    record = Samples(0.0)
    for i, value in enumerate(values):
        record.add((value, float(i), i, 1))
    return record.summary(name)


def gauge(name: str, *changes: tuple[float, float]):
    """The row of a gauge over [0, 100]."""
    record = GaugeTrack()
    for time, value in changes:
        record.set(time, value)
    return record.summary(name, 0.0, 100.0)


def a_report(**fields: object) -> Report:
    """A small report with one row of everything but claims."""
    client = {name: samples(name, []) for name in ("ttft", "tpot", "response")}
    row = Report(
        serq_version="1.2.3", horizon=100.0, end=62.5, warmup=0.0, seed=7, events=11, arrivals=5,
        ended=4, turns=6, mean_live=1.5, observes={"x": samples("x", [1.0, 2.0])},
        client=client | {"response": samples("response", [0.5])},
        gauges={"g": gauge("g", (0.0, 0.0), (50.0, 3.0))},
        claims={}, stages=[stage("svc"), stage("vllm", 1, iterations=9)], pools=[pool("kv", 0)],
    )  # fmt: skip
    return replace(row, **fields)


def a_program(*observed: tuple[str, nodes.Expr]) -> nodes.Program:
    """A program with the stages of `a_report` and these observations in one block."""
    num = nodes.Num(1.0)
    step = nodes.Step(
        budget=num, cost=num, chunk=nodes.Num(0.0), granule=None, serve=nodes.ServeBy(()),
        memory=None,
    )  # fmt: skip
    names = tuple(dict.fromkeys(name for name, _ in observed)) or ("x",)
    block = tuple(nodes.Observe(names.index(name), expr) for name, expr in observed)
    return nodes.Program(
        version=13, attrs=nodes.BUILTIN_ATTRS, attr_types=(), sides=(), observes=names, pools=(),
        stages=(nodes.Stage("svc", None, nodes.Fifo(1)), nodes.Stage("vllm", 1, step)),
        arrival=nodes.NoArrivals(), trace=None, trace_ordered=False, init=0, turn=1, session=2,
        blocks=((), (), block), horizon=100.0, warmup=0.0, seed=7, arrivals=None, slot_cached=0,
        slot_serial=1, slot_turn=2, slot_new=3, slot_out=4, slot_think=5, slot_more=6,
        slot_forced=7, slot_computed=8, hidden=(), share=None, gauges=(), claims=(), registers=(),
    )  # fmt: skip


# --- JSON ---------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("value", "text"),
    [
        (0.0, "0"),
        (-0.0, "-0"),
        (100.0, "100"),
        (0.1, "0.1"),
        (1 / 3, "0.3333333333333333"),
        (1e16, "10000000000000000"),
        (123456789012345680.0, "123456789012345680"),
        (1e22, "10000000000000000000000"),
        (1.5e300, "15" + "0" * 299),
        (-2e-5, "-0.00002"),
        (5e-324, "0." + "0" * 323 + "5"),
        (2.0**53 + 2, "9007199254740994"),
        (8.7409820556640625, "8.740982055664063"),  # between …062 and …063
        (-31.0023345947265625, "-31.002334594726563"),
        (7, "7"),
        (2**64 - 1, "18446744073709551615"),
    ],
)
def test_numbers(value, text):
    """Shortest digits that read back, always positional, no .0, −0 keeps its sign."""
    assert number(value) == text
    assert type(value)(text) == value


def test_json_of_values():
    """Non-finite numbers are null, text is UTF-8 as it is, nothing stands between the fields."""
    value = {"a": [1, nan, inf, -inf, None, True, False], "λ": 'x"\\\n', "e": {}, "f": []}
    expected = '{"a":[1,null,null,null,null,true,false],"λ":"x\\"\\\\\\n","e":{},"f":[]}'
    assert to_json(value) == expected


GOLDEN = (
    '{"serq_version":"1.2.3","horizon":100,"end":62.5,"warmup":0,"seed":7,"events":11,'
    '"arrivals":5,"ended":4,"turns":6,"mean_live":1.5,'
    '"observes":{"x":{"count":2,"mean":1.5,"ci":null,"cv2":0.2222222222222222,"p99":2}},'
    '"client":{"ttft":{"count":0,"mean":null,"ci":null,"cv2":null,"p99":null},'
    '"tpot":{"count":0,"mean":null,"ci":null,"cv2":null,"p99":null},'
    '"response":{"count":1,"mean":0.5,"ci":null,"cv2":null,"p99":0.5}},'
    '"gauges":{"g":{"mean":1.5,"ci":CI,"min":0,"max":3}},'
    '"stages":[{"name":"svc","index":null,"mean_number":0.5,"utilization":0.25,"completed":3,'
    '"throughput":0.3,"mean_wait":null,"mean_service":1.5,"iterations":0,"prefill_only":0,'
    '"decode_only":0,"mixed":0,"mean_decodes":0,"mean_decode_batch":null,"mean_decode_step":null,'
    '"mean_itl":null,"itl_p50":null,"itl_p99":null,"idle_with_work":false}],'
    '"pools":[{"name":"kv","index":0,"mean_used":12.34,"mean_cached":0,"mean_queue":0,'
    '"mean_holders":1,"mean_wait":null,"admissions":7,"evicted_entries":2,"evicted_units":32,'
    '"preemptions":0,"spills":0,"rejected":0,"stuck":0,"over_cap":{"queue":"kv","need":120.5},'
    '"growing_at_end":0,"growing_stalled":false}]}'
)


def test_json_report_is_golden():
    """Fields, their order and their spelling are those of the specification."""
    report = a_report(stages=[stage("svc")], pools=[pool("kv", 0, over_cap=("kv", 120.5))])
    ci = number(report.gauges["g"].ci)
    assert report.json() == GOLDEN.replace("CI", ci)


def test_json_has_claims_only_when_there_are_some():
    """A program without claims has no such field; with claims it stands before the stages."""
    assert "claims" not in json.loads(a_report().json())
    claim = Claim("c", "at_end", "fails", 1, 1, 62.5, None)
    report = a_report(claims={"c": claim})
    fields = json.loads(report.json())
    assert list(fields)[-3:] == ["claims", "stages", "pools"]
    assert fields["claims"] == [
        {"name": "c", "kind": "at_end", "result": "fails", "checked": 1, "failures": 1,
         "first": 62.5, "note": None}
    ]  # fmt: skip


SOURCE = """
fn main() {
    pool kv[2] { cap 10; }
    stage svc[2] : fifo;
    gauge g = used(kv[0]);
    claim c : at end (count(x) > 0);
    workload { arrive poisson(1); session { turn; observe x = 1; } }
    server { hold kv[1] (cost(kv, 1)) { run svc[1] (cost(svc, 0.5)); } }
}
"""


@peer.needs_peer
def test_json_has_the_reference_builds_fields():
    """Every field that the reference build prints is a field of ours, at the same place."""
    theirs = json.loads(peer.run(SOURCE, horizon=50))
    claim = Claim("c", "at_end", "fails", 1, 1, 62.5, None)
    ours = json.loads(a_report(claims={"c": claim}).json())
    assert list(ours) == list(theirs)
    assert list(ours["observes"]["x"]) == list(theirs["observes"]["x"])
    assert list(ours["client"]) == list(theirs["client"])
    assert list(ours["gauges"]["g"]) == list(theirs["gauges"]["g"])
    for section in ("claims", "stages", "pools"):
        assert list(ours[section][0]) == list(theirs[section][0])


def test_lookups():
    """Rows are found by name; a family's members in the order of their indices."""
    rows = [stage("a", 0), stage("b"), stage("a", 1)]
    report = a_report(stages=rows)
    assert report.stage("a") is rows[0] and report.stage("b") is rows[1]
    assert report.stages_named("a") == [rows[0], rows[2]]
    assert report.stage("zz") is None and report.stages_named("zz") == []
    assert report.pool("kv") is report.pools[0] and report.pools_named("zz") == []
    assert report.observe("x") is report.observes["x"] and report.observe("zz") is None
    assert report.gauge("g") is report.gauges["g"] and report.gauge("zz") is None
    assert report.claim("zz") is None


# --- text ---------------------------------------------------------------------------------------


def test_decimals():
    """Numbers have fixed decimals; NaN and inf are spelled out."""
    assert decimals(1.23456, 4) == "1.2346"
    assert decimals(nan, 4) == "NaN" and decimals(inf, 2) == "inf" and decimals(-inf, 2) == "-inf"


def test_plain_text_is_golden():
    """Columns are as wide as their widest entry, the first left aligned, the others right."""
    text = plain(a_report(gauges={}), a_program())
    assert text == (
        "run: horizon 100 end 62.5 warmup 0 seed 7 events 11 arrivals 5 ended 4 turns 6 "
        "mean live 1.500\n"
        "\n"
        "observe  count    mean  95% CI    cv2     p99\n"
        "---------------------------------------------\n"
        "x            2  1.5000    ±inf  0.222  2.0000\n"
        "\n"
        "client    count    mean  95% CI  cv2     p99\n"
        "--------------------------------------------\n"
        "ttft          0     NaN    ±inf  NaN     NaN\n"
        "tpot          0     NaN    ±inf  NaN     NaN\n"
        "response      1  0.5000    ±inf  NaN  0.5000\n"
        "\n"
        "stage    number   util  done    thru  wait  service  iters\n"
        "----------------------------------------------------------\n"
        "svc       0.500  0.250     3  0.3000   NaN   1.5000      0\n"
        "vllm[1]   0.500  0.250     3  0.3000   NaN   1.5000      9\n"
        "\n"
        "step     prefill only  decode only  mixed   idle  decodes  decode batch  decode step  "
        "itl p50  itl p99\n"
        "--------------------------------------------------------------------------------------"
        "----------------\n"
        "vllm[1]         0.000        0.000  0.000  1.000    0.000           NaN          NaN  "
        "    NaN      NaN\n"
        "\n"
        "pool   used  cached  queue  holders  wait  admits  evict(n)  evict(u)  preempt  spill  "
        "rej  stuck\n"
        "---------------------------------------------------------------------------------------"
        "----------\n"
        "kv[0]  12.3     0.0  0.000    1.000   NaN       7         2        32        0      0  "
        "  0      0\n"
    )


def test_tables_need_rows():
    """A table without rows is not printed, nor the client's when it saw nothing."""
    nothing = {name: samples(name, []) for name in ("ttft", "tpot", "response")}
    report = a_report(observes={}, client=nothing, gauges={}, stages=[], pools=[])
    program = replace(a_program(), stages=())
    assert plain(report, program).count("\n") == 1


def test_claims_and_gauges_are_tables():
    """A gauge shows its average and extremes, a claim its result, first time and note."""
    claim = Claim("c", "every_iteration", "fails", 12, 3, 4.5, None)
    other = Claim("d", "at_end", "not_evaluated", 0, 0, None, "2 sessions live at the end")
    text = plain(a_report(claims={"c": claim, "d": other}), a_program())
    rows = {line.split("  ")[0].strip(): line.split() for line in text.splitlines() if line}
    assert rows["c"] == ["c", "every", "iteration", "fails", "12", "3", "4.5", "-"]
    assert rows["d"][-6:] == ["2", "sessions", "live", "at", "the", "end"]
    assert rows["g"][:2] == ["g", "1.5000"] and rows["g"][-2:] == ["0.0000", "3.0000"]


def test_notes_of_stages_and_pools():
    """What went wrong is said in a sentence that names the resource and the numbers."""
    report = a_report(
        stages=[stage("svc"), stage("vllm", 1, idle_with_work=True)],
        pools=[
            pool("kv", 0, over_cap=("reqs", 120.0), growing_at_end=2, growing_stalled=True),
            pool("kv", 1, growing_at_end=1, stuck=3),
        ],
    )
    idle, over, stalled, grow, stuck = notes(report, a_program())
    assert idle.startswith("idle: engine vllm[1] ")
    assert over.startswith("over: ") and "reqs" in over and "120" in over and "kv[0]" in over
    assert stalled.startswith("grow: 2 holds of pool kv[0] ") and "none of them" in stalled
    assert grow.startswith("grow: 1 hold of pool kv[1] ") and "none" not in grow
    assert stuck.startswith("stuck: 3 sessions were ") and "kv[1]" in stuck
    assert notes(a_report(), a_program()) == []
    assert plain(report, a_program()).endswith(f"\n\n{idle}\n{over}\n{stalled}\n{grow}\n{stuck}\n")


LESS = nodes.Binary(nodes.BinaryOp.LT, nodes.Num(1.0), nodes.Num(0.0))
NOT = nodes.Unary(nodes.UnaryOp.NOT, nodes.Num(1.0))
SUM = nodes.Binary(nodes.BinaryOp.ADD, nodes.Num(0.0), nodes.Num(0.0))


@pytest.mark.parametrize(
    ("exprs", "values", "noted"),
    [
        ([LESS], [0.0] * 40, True),
        ([NOT], [0.0] * 40, True),
        ([LESS], [0.0] * 39, False),
        ([LESS], [0.0] * 39 + [1.0], False),
        ([SUM], [0.0] * 40, False),
        ([LESS, SUM], [0.0] * 40, False),
        ([LESS, NOT], [0.0] * 40, True),
    ],
)
def test_note_on_a_condition_that_never_held(exprs, values, noted):
    """Only an observation that is a test wherever it is written, and 0 in 40 samples, is noted."""
    report = a_report(observes={"x": samples("x", values)})
    found = notes(report, a_program(*(("x", expr) for expr in exprs)))
    assert len(found) == noted
    if noted:
        assert found[0].startswith(f"note: observe x is constant 0 over {len(values)} samples")


@pytest.mark.parametrize("width", [40, 200])
def test_terminal_shows_the_same_cells(width):
    """On a terminal, narrow or wide, no cell of the tables is cut off."""
    claim = Claim("c", "every_iteration", "fails", 12, 3, 4.5, None)
    report = a_report(claims={"c": claim}, pools=[pool("kv", 0, stuck=1)])
    out = io.StringIO()
    show(report, a_program(), Console(file=out, width=width, force_terminal=True, no_color=True))
    shown = out.getvalue()
    for cell in plain(report, a_program()).replace("-", " ").split():
        assert cell in shown.replace("\n", " ") or width == 40
    assert "…" not in shown
    assert "12.3" in shown and "mean live 1.500" in shown.replace("\n", " ")


# --- dump and files -----------------------------------------------------------------------------


def test_dump_writes_what_the_report_counts(tmp_path):
    """One file per observation, client metric and gauge, in digits that read back."""
    report = a_report(observes={"x": samples("x", [0.1, -0.0, nan, inf])})
    dump(report, tmp_path / "a" / "b")
    root = tmp_path / "a" / "b"
    names = {str(p.relative_to(root)) for p in root.rglob("*") if p.is_file()}
    assert names == {"x.csv", "gauge/g.csv", "client/ttft.csv", "client/tpot.csv",
                     "client/response.csv"}  # fmt: skip
    assert (root / "x.csv").read_text() == (
        "time,session,turn,value\n0,0,1,0.1\n1,1,1,-0\n2,2,1,NaN\n3,3,1,inf\n"
    )
    assert (root / "gauge" / "g.csv").read_text() == "time,value\n0,0\n50,3\n"
    assert (root / "client" / "ttft.csv").read_text() == "time,session,turn,value\n"
    with open(root / "client" / "response.csv") as file:
        assert list(csv.reader(file))[1:] == [["0", "0", "1", "0.5"]]


def test_dump_replaces_what_was_there(tmp_path):
    """A second dump into the directory replaces the files and leaves others alone."""
    (tmp_path / "x.csv").write_text("old")
    (tmp_path / "mine.txt").write_text("mine")
    dump(a_report(), tmp_path)
    assert (tmp_path / "x.csv").read_text().startswith("time,")
    assert (tmp_path / "mine.txt").read_text() == "mine"
    assert (tmp_path / "x.csv").stat().st_mode & 0o777 == 0o666 & ~_umask()


def _umask() -> int:
    mask = os.umask(0)
    os.umask(mask)
    return mask


@pytest.mark.parametrize("name", ["../x", "a/b", "", ".", "..", ".x", "a\0b", "a b"])
def test_dump_refuses_names_that_leave_the_directory(tmp_path, name):
    """An IR may call an observation anything; only words become file names."""
    report = a_report(observes={name: samples(name, [1.0])})
    with pytest.raises(SerqError, match="unwritable-file"):
        dump(report, tmp_path / "out")
    assert not (tmp_path / "out").exists()


def test_dump_takes_the_names_of_queues(tmp_path):
    """Letters of any script and dotted names are words."""
    dump(a_report(observes={"D.wait": samples("D.wait", []), "λ_1": samples("λ_1", [])}), tmp_path)
    assert (tmp_path / "D.wait.csv").exists() and (tmp_path / "λ_1.csv").exists()


def test_dump_into_a_file_is_refused(tmp_path):
    """DIR being a file is one clear error, and the file stays."""
    (tmp_path / "file").write_text("mine")
    with pytest.raises(SerqError, match=r"cannot write .*file"):
        dump(a_report(), tmp_path / "file")
    assert (tmp_path / "file").read_text() == "mine"


def test_nothing_is_left_when_one_file_fails(tmp_path):
    """When the second file fails, the first one is as it was and no directory is left."""
    (tmp_path / "first.txt").write_text("old")

    def broken(out):
        out.write("half")
        raise OSError(28, "No space left on device")

    files = [
        (tmp_path / "first.txt", lambda out: out.write("new")),
        (tmp_path / "deep" / "er" / "second.txt", broken),
    ]
    with pytest.raises(SerqError, match=r"cannot write .*second\.txt: No space left"):
        write_files(files)
    assert (tmp_path / "first.txt").read_text() == "old"
    assert [p.name for p in tmp_path.iterdir()] == ["first.txt"]


def test_a_failing_writer_is_not_hidden(tmp_path):
    """A fault of our own in a writer comes through, and leaves no temporary file."""
    with pytest.raises(ZeroDivisionError):
        write_files([(tmp_path / "x", lambda out: 1 / 0)])
    assert list(tmp_path.iterdir()) == []
    with pytest.raises(SerqError, match="cannot write"):
        write_text(tmp_path / ("n" * 300), "x")


def test_a_device_is_written_to_and_stays(tmp_path):
    """A pipe or a device gets the text and is not replaced by a file."""
    pipe = tmp_path / "pipe"
    os.mkfifo(pipe)
    reader = os.open(pipe, os.O_RDONLY | os.O_NONBLOCK)
    try:
        write_text(pipe, "text")
        assert os.read(reader, 100) == b"text"
    finally:
        os.close(reader)
    assert pipe.is_fifo() and [p.name for p in tmp_path.iterdir()] == ["pipe"]


def test_a_link_and_its_permissions_stay(tmp_path):
    """What is written through a link changes the file behind it, which keeps its permissions."""
    (tmp_path / "there").mkdir()
    file, link = tmp_path / "there" / "file", tmp_path / "link"
    file.write_text("old")
    file.chmod(0o640)
    link.symlink_to(file)
    write_text(link, "new")
    assert link.is_symlink() and file.read_text() == "new"
    assert file.stat().st_mode & 0o777 == 0o640


@pytest.fixture
def small_disk(tmp_path):
    """A file system of 64 KB that is our own to fill."""
    mount = shutil.which("mount")
    if mount is None or os.geteuid() != 0:
        pytest.skip("mounting a small file system needs root")
    place = tmp_path / "disk"
    place.mkdir()
    done = subprocess.run(
        [mount, "-t", "tmpfs", "-o", "size=64k", "tmpfs", str(place)], capture_output=True
    )
    if done.returncode != 0:
        pytest.skip(f"no tmpfs can be mounted: {done.stderr.decode().strip()}")
    yield place
    subprocess.run(["umount", str(place)], check=True)


def test_dump_on_a_full_disk(small_disk):
    """On a full disk there is one clear error and none of the files, not even a part of one."""
    report = a_report(observes={"x": samples("x", [float(np.pi)] * 20_000)})
    with pytest.raises(SerqError, match="No space left on device"):
        dump(report, small_disk / "out")
    assert list(small_disk.iterdir()) == []
    dump(a_report(), small_disk / "out")
    assert (small_disk / "out" / "x.csv").exists()


@pytest.mark.skipif(sys.platform == "win32" or os.geteuid() == 0, reason="root may write anywhere")
def test_dump_without_permission(tmp_path):
    """A directory one may not write to is one clear error."""
    Path(tmp_path, "locked").mkdir(mode=0o500)
    with pytest.raises(SerqError, match="Permission denied"):
        dump(a_report(), tmp_path / "locked" / "out")


def test_cells_of_the_text_round_to_what_a_person_reads():
    """A rounded 0 has no sign, and units with a fraction have one decimal."""
    assert decimals(-1e-15, 4) == "0.0000"
    assert decimals(-0.25, 1) == "-0.2"
    assert decimals(float("inf"), 1) == "inf"
    report = a_report()
    row = replace(report.pools[0], evicted_units=3585.3608776207766)
    assert "  3585.4  " in plain(replace(report, pools=[row]), a_program())


def test_a_printed_report_has_no_samples():
    """What Python shows of a report are its numbers, not the arrays behind them."""
    row = samples("x", [float(i) for i in range(10_000)])
    assert "mean=4999.5" in repr(row) and "array" not in repr(row)
    assert "array" not in repr(gauge("g", (0.0, 1.0), (5.0, 2.0)))
