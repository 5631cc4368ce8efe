"""The commands run, check and ir: what they print where, and their exit statuses."""

from __future__ import annotations

import errno
import json
import os
import pty
import re
import shlex
import signal
import subprocess
import sys
import time
from pathlib import Path

import peer
import pytest
from click.testing import CliRunner, Result

import serq
from serq.cli import main
from serq.cli.output import visible

MM1 = """use "std/args";

def demand_of(mean) { ~exp(mean) }

fn main() {
    let rho = args.number("rho", 0.5);
    stage svc : fifo;
    pool slots { cap 100; }
    gauge queue_length = queue(svc);
    claim counted : at end (count(x) >= 0);
    workload { arrive poisson(1); session { turn; observe x = now; } }
    server { hold slots (cost(slots, 1)) { run svc (cost(svc, demand_of(rho))); } }
}
"""

STUCK = """fn main() {
    device gpu { compute (n) = n; kv cap 10; }
    engine e on gpu {
        reqs cap 4;
        tokens cap 4;
        schedule { advance running; admit waiting; }
        execute (compute(batch.tokens));
    }
    pool kv on gpu { preempt lifo; }
    pool reqs on e { }
    workload { arrive batch(2); session { turn; } }
    server {
        hold reqs (cost(reqs, 1)), kv (cost(kv, 1)) reserve (cost(kv, 1)) {
            run e prefill (cost(e, 20)) growing kv;
        }
    }
}
"""

TRACED = """fn main() {
    stage s : delay;
    workload { trace "t.csv" ordered; arrive batch(4); session { turn; observe n = new; } }
    server { run s (cost(s, new)); }
}
"""


@pytest.fixture
def here(tmp_path, monkeypatch):
    """A directory with a few programs, which is the current one."""
    (tmp_path / "mm1.sq").write_text(MM1)
    (tmp_path / "stuck.sq").write_text(STUCK)
    (tmp_path / "sub").mkdir()
    (tmp_path / "sub" / "traced.sq").write_text(TRACED)
    (tmp_path / "sub" / "t.csv").write_text("1,1,2,3,4\n2,1,7,7,7\n")
    (tmp_path / "other.csv").write_text("1,1,5,5,5\n")
    (tmp_path / "broken.sq").write_text("fn main() {\n  stage s fifo;\n  pool p { cap ; }\n}\n")
    monkeypatch.chdir(tmp_path)
    return tmp_path


def serq_(*args: str) -> Result:
    """The result of a command line."""
    return CliRunner().invoke(main, list(args))


def ok(*args: str) -> str:
    """What a command prints that succeeds without a word on standard error."""
    result = serq_(*args)
    assert result.exit_code == 0, result.stderr
    assert result.stderr == ""
    return result.stdout


def fails(*args: str, code: int = 1) -> str:
    """The complaint of a command that fails, with nothing on standard output and no traceback."""
    result = serq_(*args)
    assert result.exit_code == code, result.output
    assert result.stdout == "" and result.stderr
    assert result.exception is None or isinstance(result.exception, SystemExit)
    assert "Traceback" not in result.stderr
    return result.stderr


# --- run ----------------------------------------------------------------------------------------


def test_version():
    """The version is the one that reports carry."""
    assert ok("--version") == ok("-V") == f"serq {serq.__version__}\n"


def test_run_prints_the_text_report(here):
    """Without --json, run prints the run line and a table for everything the program has."""
    text = ok("run", "mm1.sq", "--horizon", "100")
    assert text.startswith("run: horizon 100 end 100 warmup 0 seed 1 events ")
    heads = [line.split()[0] for line in text.split("\n\n")]
    assert heads == ["run:", "observe", "client", "gauge", "stage", "pool", "claim"]
    assert "\x1b" not in text


def test_run_json_is_the_api_report(here):
    """--json prints the report of the Python API on one line."""
    text = ok("run", "mm1.sq", "--horizon", "100", "--seed", "3", "--warmup", "10", "--json")
    program = serq.compile("mm1.sq", horizon=100, seed=3, warmup=10)
    assert text == serq.run(program).json() + "\n"
    assert json.loads(text)["seed"] == 3


def test_run_is_deterministic_and_the_seed_matters(here):
    """The same seed gives the same report, another seed another one."""
    once = ok("run", "mm1.sq", "--horizon", "100", "--json")
    assert ok("run", "mm1.sq", "--horizon", "100", "--json", "--seed", "1") == once
    assert ok("run", "mm1.sq", "--horizon", "100", "--json", "--seed", "2") != once


def test_run_takes_an_ir(here):
    """The IR of a program runs to the same report; flags override its settings."""
    (here / "mm1.json").write_text(ok("ir", "mm1.sq", "--horizon", "100", "--seed", "5"))
    direct = ok("run", "mm1.sq", "--horizon", "100", "--seed", "5", "--json")
    assert ok("run", "mm1.json", "--json") == direct
    longer = ok("run", "mm1.sq", "--horizon", "150", "--seed", "5", "--warmup", "7", "--json")
    assert ok("run", "mm1.json", "--horizon", "150", "--warmup", "7", "--json") == longer


def test_inputs_and_definitions(here):
    """--set, -- arguments and --def change what they name; all spellings give the same run."""
    settings = ("mm1.sq", "--horizon", "100", "--json")
    changed = ok("run", *settings, "--set", "rho=0.25 + 0.5")
    assert changed != ok("run", *settings)
    assert ok("run", *settings, "--", "--rho", "0.75") == changed
    assert ok("run", *settings, "--set", "rho=0.1", "--", "--rho=0.75") == changed
    (here / "i.sq").write_text("let rho = 3 / 4;\nrun { horizon 100; }\n")
    assert ok("run", "mm1.sq", "--instance", "i.sq", "--json") == changed
    services = json.loads(ok("run", *settings, "--def", "demand_of=mean"))["stages"][0]
    assert services["mean_service"] == pytest.approx(0.5)


def test_trace_paths(here):
    """A program's trace lies beside it, the one of --trace in the current directory."""

    def seen(*args):
        report = json.loads(ok("run", "sub/traced.sq", "--horizon", "50", "--json", *args))
        return report["observes"]["n"]["mean"]

    assert seen() == 4.5
    assert seen("--trace", "other.csv") == 5.0
    assert "other.csv" in ok("ir", "sub/traced.sq", "--horizon", "50", "--trace", "other.csv")


def test_finite_run(here):
    """--arrivals ends the run when that many sessions are served."""
    report = json.loads(ok("run", "mm1.sq", "--horizon", "1e9", "--arrivals", "25", "--json"))
    assert report["arrivals"] == 25 and report["ended"] == 25 and report["end"] < 1000
    assert "mm1.sq" not in fails("run", "mm1.sq", "--horizon", "3", "--arrivals", "25")


def test_a_stuck_session_is_status_1_after_the_report(here):
    """When a session is stuck, the report is printed and the exit status is 1."""
    result = serq_("run", "stuck.sq", "--horizon", "100")
    assert result.exit_code == 1
    assert result.stdout.startswith("run: ") and "stuck: 1 session was" in result.stdout
    result = serq_("run", "stuck.sq", "--horizon", "100", "--json")
    assert result.exit_code == 1 and json.loads(result.stdout)["pools"][0]["stuck"] == 1


def test_a_failing_claim_is_data(here):
    """A claim that fails is in the report and does not change the exit status."""
    (here / "claim.sq").write_text(MM1.replace("count(x) >= 0", "count(x) < 0"))
    report = json.loads(ok("run", "claim.sq", "--horizon", "1e6", "--arrivals", "5", "--json"))
    assert report["claims"][0]["result"] == "fails"


def test_slow_path_gives_the_same_report(here):
    """The shortcut through plain decode steps can be switched off and changes nothing."""
    args = ("run", "stuck.sq", "--horizon", "60", "--json")
    assert serq_(*args).stdout == serq_(*args, "--no-fast").stdout != ""


def test_dump(here):
    """--dump writes the samples that the report counts, and the report is printed as well."""
    text = ok("run", "mm1.sq", "--horizon", "100", "--json", "--dump", "out/d")
    count = json.loads(text)["observes"]["x"]["count"]
    lines = Path("out/d/x.csv").read_text().splitlines()
    assert lines[0] == "time,session,turn,value" and len(lines) == count + 1
    assert Path("out/d/gauge/queue_length.csv").read_text().startswith("time,value\n0,")
    assert Path("out/d/client/response.csv").exists()


def test_a_dump_that_cannot_be_written_prints_no_report(here):
    """When the dump fails, there is no report on standard output and the status is 1."""
    assert "cannot write" in fails("run", "mm1.sq", "--horizon", "9", "--dump", "mm1.sq")


# --- check --------------------------------------------------------------------------------------


def test_check_counts(here):
    """check prints the program's counts, and needs no horizon."""
    line = ok("check", "mm1.sq")
    assert re.fullmatch(
        r"OK: 1 pool\(s\), 1 stage\(s\), \d+ attribute\(s\), \d+ block\(s\)\n", line
    )
    (here / "mm1.json").write_text(ok("ir", "mm1.sq", "--horizon", "100"))
    assert ok("check", "mm1.json") == line


def test_check_shows_all_faults(here):
    """Every independent fault of a file is shown, with its place and the source line."""
    complaint = fails("check", "broken.sq")
    assert "broken.sq:2:" in complaint and "broken.sq:3:" in complaint
    assert complaint.count("error[") == 2 and "2 |   stage s fifo;" in complaint


def test_check_json(here):
    """--json gives editors the list of faults with their places, also when there are some."""
    assert ok("check", "mm1.sq", "--json") == "[]\n"
    result = serq_("check", "broken.sq", "--json")
    assert result.exit_code == 1 and result.stderr == ""
    first, second = json.loads(result.stdout)
    assert set(first) == {"code", "severity", "message", "where", "file", "line", "column",
                          "end_line", "end_column", "help", "notes"}  # fmt: skip
    assert first["file"] == "broken.sq" and first["severity"] == "error"
    assert (first["line"], second["line"]) == (2, 3)
    assert 1 <= first["column"] < first["end_column"]


def test_check_json_of_a_file_that_is_not_there(here):
    """A fault without a place in a file has nulls there."""
    result = serq_("check", "missing.sq", "--json")
    (fault,) = json.loads(result.stdout)
    assert result.exit_code == 1
    assert fault["code"] == "unreadable-file" and fault["line"] is None


# --- ir -----------------------------------------------------------------------------------------


def test_ir_reads_its_own_output(here):
    """The IR of an IR is itself."""
    text = ok("ir", "mm1.sq", "--horizon", "100", "--seed", "9", "--arrivals", "4")
    (here / "mm1.json").write_text(text)
    assert ok("ir", "mm1.json") == text
    assert json.loads(ok("ir", "mm1.json", "--seed", "8"))["seed"] == 8


@peer.needs_peer
def test_ir_equals_the_reference(here):
    """serq ir prints the reference build's IR, byte for byte, and a newline."""
    for args, settings in (
        (["--horizon", "1e2"], {"horizon": 100}),
        (["--horizon", "7", "--warmup", "0.5", "--seed", str(2**64 - 1), "--arrivals", "3",
          "--set", "rho=inf"],
         {"horizon": 7, "warmup": 0.5, "seed": 2**64 - 1, "arrivals": 3, "sets": {"rho": "inf"}}),
    ):  # fmt: skip
        assert ok("ir", "mm1.sq", *args) == peer.compile(path="mm1.sq", **settings) + "\n"


@peer.needs_peer
def test_run_equals_the_reference(here):
    """serq run --json prints the reference build's report."""
    for name in ("mm1.sq", "stuck.sq", "sub/traced.sq"):
        ours = serq_("run", name, "--horizon", "80", "--seed", "4", "--json").stdout
        theirs = peer.run(path=name, horizon=80, seed=4)
        assert peer.first_difference(ours, theirs) is None


def test_inline_trace(here):
    """--inline-trace puts an ordered trace's sessions into the program, which runs the same."""
    text = ok("ir", "sub/traced.sq", "--horizon", "50", "--inline-trace")
    ir = json.loads(text)
    assert ir.get("trace") is None and len(ir["arrival"]["Sessions"]) == 4
    (here / "inlined.json").write_text(text)
    traced = json.loads(ok("run", "sub/traced.sq", "--horizon", "50", "--json"))
    inlined = json.loads(ok("run", "inlined.json", "--json"))
    assert inlined["observes"] == traced["observes"]
    assert inlined["observes"]["n"]["count"] == 4


# --- what goes wrong ----------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("args", "words"),
    [
        (["run", "missing.sq", "--horizon", "1"], "cannot read program missing.sq: No such file"),
        (["run", "sub", "--horizon", "1"], "directory"),
        (["run", "empty.sq", "--horizon", "1"], "empty.sq"),
        (["run", "latin.sq", "--horizon", "1"], "line 2 is not UTF-8"),
        (["run", "mm1.sq"], "no-horizon"),
        (["ir", "mm1.sq"], "no-horizon"),
        (["run", "mm1.sq", "--horizon", "5", "--warmup", "5"], "warm-up (5) has to end before"),
        (["run", "mm1.json", "--warmup", "100"], "warm-up (100) has to end before"),
        (["run", "batch.sq", "--horizon", "5", "--arrivals", "3"], "arrivals"),
        (["run", "batch.json", "--arrivals", "3"], "arrivals"),
        (["run", "mm1.json", "--set", "rho=1"], "inputs-on-ir"),
        (["run", "mm1.json", "--def", "demand_of=1"], "inputs-on-ir"),
        (["run", "mm1.json", "--", "--rho", "1"], "inputs-on-ir"),
        (["check", "mm1.json", "--set", "rho=1"], "inputs-on-ir"),
        (["run", "cut.json"], "cut.json"),
        (["run", "empty.json"], "empty.json"),
        (["run", "noise.json"], "noise.json"),
        (["run", "list.json"], "list.json"),
        (["check", "mm1.sq", "--set", "roh=1"], "rho"),
        (["check", "mm1.sq", "--set", "rho=1 +"], "rho"),
        (["check", "mm1.sq", "--set", "rho=0/0"], "rho"),
        (["check", "mm1.sq", "--", "--roh", "1"], "rho"),
        (["check", "mm1.sq", "--def", "demmand_of=1"], "demand_of"),
        (["check", "mm1.sq", "--def", "demand_of=1 +"], "demand_of"),
        (["check", "mm1.sq", "--instance", "missing"], "cannot read instance file missing"),
        (["run", "sub/traced.sq", "--horizon", "1", "--trace", "no.csv"], "cannot read trace no.c"),
        (["run", "sub/traced.sq", "--horizon", "1", "--trace", "bad.csv"], "bad.csv:2:5:"),
        (["run", "sub/traced.sq", "--horizon", "1", "--trace", "empty.sq"], "trace-empty"),
    ],
)
def test_bad_input(here, args, words):
    """Each bad input is one clear error with status 1, nothing on standard output."""
    (here / "empty.sq").write_text("")
    (here / "latin.sq").write_bytes(b"// caf\xc3\xa9\n// caf\xe9\n")
    ir = ok("ir", "mm1.sq", "--horizon", "100")
    (here / "mm1.json").write_text(ir)
    (here / "batch.sq").write_text(MM1.replace("poisson(1)", "batch(2)"))
    (here / "batch.json").write_text(ok("ir", "batch.sq", "--horizon", "100"))
    (here / "cut.json").write_text(ir[: len(ir) // 2])
    (here / "empty.json").write_text("")
    (here / "noise.json").write_text("\x00\x01{{{")
    (here / "list.json").write_text("[1, 2]")
    (here / "bad.csv").write_text("1,1,2,3,4\n1,2,x,3,4\n")
    complaint = fails(*args)
    assert words in complaint
    assert complaint.count("error[") == 1


@pytest.mark.parametrize(
    "args",
    [
        ["nonsense"],
        ["run"],
        ["run", "missing.sq", "--horizon", "x"],
        ["run", "missing.sq", "--jason"],
        ["check", "missing.sq", "--", "--a", "x"],
    ],
)
def test_usage_errors_come_first(here, args):
    """A wrong command line is status 2, before any file is looked at."""
    assert "Error" in fails(*args, code=2)


def test_control_characters_do_not_reach_the_terminal(here):
    """A program cannot send commands to the terminal through an error that quotes it."""
    (here / "evil.sq").write_text("fn main() { stage \x1b[31mred\x07 : fifo }\n")
    complaint = fails("check", "evil.sq")
    assert "\x1b" not in complaint and "\x07" not in complaint and "\\x1b[31m" in complaint
    assert visible("a\tb\nc\r\x9b\u202e") == "a\tb\nc\\r\\x9b\\u202e"


# --- real processes -----------------------------------------------------------------------------


def command(*args: str) -> list[str]:
    """The command line of a process of its own."""
    return [sys.executable, "-m", "serq", *args]


def test_process_statuses(here):
    """The exit statuses and streams are the same in a process of its own."""
    good = subprocess.run(command("run", "mm1.sq", "--horizon", "9", "--json"), capture_output=True)
    assert good.returncode == 0 and good.stderr == b"" and good.stdout.endswith(b"}\n")
    bad = subprocess.run(command("run", "broken.sq", "--horizon", "9"), capture_output=True)
    assert bad.returncode == 1 and bad.stdout == b"" and b"Traceback" not in bad.stderr
    usage = subprocess.run(command("run", "--jason"), capture_output=True)
    assert usage.returncode == 2 and usage.stdout == b""


def worked(pid: int) -> float:
    """Seconds of processor time that a process has used."""
    user = int(Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()[11])
    return user / os.sysconf("SC_CLK_TCK")


@pytest.mark.skipif(not os.path.exists("/proc/self/stat"), reason="needs Linux's /proc")
def test_ctrl_c(here):
    """Ctrl-C ends a run with status 130, one word on standard error and no report."""
    process = subprocess.Popen(
        command("run", "mm1.sq", "--horizon", "1e9", "--json", "--dump", "out"),
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        # a background job of a shell ignores Ctrl-C, and so would the child of one
        preexec_fn=lambda: signal.signal(signal.SIGINT, signal.SIG_DFL),
    )
    while worked(process.pid) < 2.0:  # by then it has read the program and runs
        assert process.poll() is None
        time.sleep(0.1)
    process.send_signal(signal.SIGINT)
    out, err = process.communicate(timeout=20)
    assert process.returncode == 130
    assert out == b"" and err == b"interrupted\n"
    assert not (here / "out").exists()


def test_broken_pipe(here):
    """A reader that goes away ends the command without a word."""
    read, write = os.pipe()
    os.close(read)
    done = subprocess.run(
        command("run", "mm1.sq", "--horizon", "99"), stdout=write, stderr=subprocess.PIPE
    )
    os.close(write)
    assert done.returncode == 1 and done.stderr == b""


@pytest.mark.skipif(not os.path.exists("/dev/full"), reason="there is no /dev/full")
@pytest.mark.parametrize(
    "args",
    [
        ["run", "mm1.sq", "--horizon", "9"],
        ["prove", "--why", "mm1.sq"],
        ["fuzz", "--list"],
        ["--help"],
        ["run", "--help"],
    ],
    ids=" ".join,
)
def test_full_standard_output(here, args):
    """What cannot be written to standard output is one error with status 1, from all commands."""
    with open("/dev/full", "w") as full:
        done = subprocess.run(command(*args), stdout=full, stderr=subprocess.PIPE)
    assert done.returncode == 1
    assert done.stderr.count(b"error[") == 1 and b"No space left" in done.stderr
    assert b"Traceback" not in done.stderr and b"Exception" not in done.stderr


@pytest.mark.parametrize("args", [["run", "mm1.sq", "--horizon", "9"], ["--help"]], ids=" ".join)
def test_closed_standard_output(here, args):
    """A standard output that the caller has closed is one error with status 1."""
    line = shlex.join(command(*args)) + " >&-"
    done = subprocess.run(["sh", "-c", line], stderr=subprocess.PIPE)
    assert done.returncode == 1
    assert done.stderr == (
        b"error[unwritable-file]: cannot write to standard output: it is closed\n"
    )


def test_any_locale(here):
    """A report is UTF-8 whatever the locale says."""
    environment = {**os.environ, "LC_ALL": "C", "PYTHONIOENCODING": "ascii"}
    done = subprocess.run(
        command("run", "mm1.sq", "--horizon", "99"), capture_output=True, env=environment
    )
    assert done.returncode == 0 and "±" in done.stdout.decode("utf-8")


def on_a_terminal(args: list[str], environment: dict[str, str], patience: float = 2.0) -> str:
    """What a command writes to a terminal; ``patience`` is how long it stays silent."""
    start = f"import serq.cli.run as r; r.PATIENCE = {patience}; import serq.cli as c; "
    leader, follower = pty.openpty()
    process = subprocess.Popen(
        [sys.executable, "-c", start + "c.main(prog_name='serq')", *args],
        stdout=follower,
        stderr=follower,
        env={**os.environ, **environment},
    )
    os.close(follower)
    seen = b""
    while True:
        try:
            piece = os.read(leader, 1 << 16)
        except OSError as error:  # Linux says EIO when the other end is closed
            assert error.errno == errno.EIO
            break
        if not piece:
            break
        seen += piece
    process.wait()
    os.close(leader)
    return seen.decode()


def test_colours_on_a_terminal_only(here):
    """Errors have colours on a terminal, unless NO_COLOR is set."""
    terminal = {"TERM": "xterm", "NO_COLOR": ""}
    assert "\x1b[31m" in on_a_terminal(["check", "broken.sq"], terminal)
    assert "\x1b[" not in on_a_terminal(["check", "broken.sq"], terminal | {"NO_COLOR": "1"})
    assert "\x1b" not in fails("check", "broken.sq")


def test_progress_on_a_terminal_only(here):
    """A run that takes its time shows its clock on a terminal, and nothing otherwise."""
    args = ["run", "mm1.sq", "--horizon", "15000", "--json"]
    terminal = {"TERM": "xterm", "COLUMNS": "200"}
    seen = on_a_terminal(args, terminal, patience=0.0)
    assert "time " in seen and " %" in seen
    quiet = subprocess.run(command(*args), capture_output=True)
    assert quiet.stderr == b"" and quiet.stdout.decode().strip() in seen
    assert "time " not in on_a_terminal(args, terminal, patience=1e9)


def test_report_on_a_terminal(here):
    """On a terminal the report is laid out with rules and bold heads, with the same numbers."""
    plain = ok("run", "mm1.sq", "--horizon", "99")
    seen = on_a_terminal(["run", "mm1.sq", "--horizon", "99"], {"TERM": "xterm", "COLUMNS": "200"})
    assert "\x1b[1m" in seen and "───" in seen
    words = re.sub(r"\x1b\[[0-9;]*m", "", seen).split()
    assert {word for word in plain.split() if "---" not in word} <= set(words)
