"""Compiling Lean modules: order, what is redone, errors; with a stub `lean` and a stub `lake`."""

from __future__ import annotations

import json
import os
import signal
import subprocess
import sys
import textwrap
import threading
import time
import tomllib
from pathlib import Path

import pytest
from click.testing import CliRunner

from serq.cli import main
from serq.diagnostics import SerqError
from serq.toolchain.build import Builder, Graph, header_imports
from serq.toolchain.lean import NativeLean, find_lean, native_lake
from serq.toolchain.messages import BuildResult, Level, parse_json, parse_lake
from serq.toolchain.places import LeanPackage, cache_directory

STUB_LEAN = """
import json, os, sys, time
args = sys.argv[1:]
path = args[-1]
text = open(path).read()
with open(os.environ["CALLS"], "a") as calls:
    calls.write(path + "\\n")
if "SLOW" in text:
    time.sleep(30)
def say(severity, data, line):
    print(json.dumps({"severity": severity, "data": data, "pos": {"line": line, "column": 2}}))
bad = False
for number, line in enumerate(text.splitlines(), 1):
    if "sorry" in line:
        say("warning", "declaration uses 'sorry'", number)
    if "ERROR" in line:
        say("error", line, number)
        bad = True
if "CRASH" in text:
    sys.stderr.write("stack overflow\\n")
    sys.exit(134)
if not bad:
    open(args[args.index("-o") + 1], "w").write(text)
sys.exit(1 if bad else 0)
"""


class Tree:
    """A source tree, an output directory, and a builder with the stub for `lean`."""

    def __init__(self, root: Path) -> None:
        self.source = root / "src"
        self.source.mkdir()
        self.calls_file = root / "calls"
        stub = root / "lean.py"
        stub.write_text(STUB_LEAN)
        self.builder = Builder((sys.executable, str(stub)), "stub 1", root / "out", jobs=2)

    def write(self, **modules: str) -> None:
        for name, text in modules.items():
            path = self.source.joinpath(*name.split("_")).with_suffix(".lean")
            path.parent.mkdir(parents=True, exist_ok=True)
            path.write_text(text)

    def build(self, *targets: str, builder: Builder | None = None) -> BuildResult:
        return (builder or self.builder).build([self.source], targets)

    def compiled_now(self) -> list[str]:
        """The files compiled since the last question."""
        if not self.calls_file.exists():
            return []
        calls = self.calls_file.read_text().split()
        self.calls_file.unlink()
        return [Path(c).stem for c in calls]


@pytest.fixture
def tree(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Tree:
    monkeypatch.setenv("CALLS", str(tmp_path / "calls"))
    return Tree(tmp_path)


def test_imports_are_read_from_the_header_only() -> None:
    """Imports stand before the first command; comments are not read."""
    text = textwrap.dedent("""
        /- import Not.This
           nor this -/
        import A.B C  -- import D
        public import E
        -- import F
        import all G

        def x := 1
        import H
    """)
    assert header_imports(text) == ["A.B", "C", "E", "G"]


@pytest.mark.parametrize(
    ("text", "imports"),
    [
        ("/- a /- b -/ import X -/ import Y\n", ["Y"]),
        ("/- a /- b -/ c -/\nimport Y\n", ["Y"]),
        ("module\npublic meta import all X\nimport\n\n  Y\ndef import := 1", ["X", "Y"]),
        ("import X /- Y -/ import Z -- import W", ["X", "Z"]),
        ("-- /-\nimport X\n-- -/\nimport Y", ["X", "Y"]),
        ('import X\ndef s := "\nimport Y"', ["X"]),
    ],
)
def test_imports_are_read_as_lean_reads_them(text: str, imports: list[str]) -> None:
    """Comments stand in each other, and an import may be spread over lines."""
    assert header_imports(text) == imports


def test_imports_are_compiled_first(tree: Tree) -> None:
    """A module is compiled after everything it imports, each once."""
    tree.write(A="import B\nimport C", B="import D", C="import D\nimport Lean", D="")
    result = tree.build("A")
    assert result.ok
    order = tree.compiled_now()
    assert sorted(order) == ["A", "B", "C", "D"]
    assert order[0] == "D"
    assert order[-1] == "A"
    assert [m.module for m in result.modules] == ["D", "B", "C", "A"]


def test_unchanged_modules_are_not_compiled(tree: Tree) -> None:
    """Only what depends on a change is compiled again, and the earlier time is still known."""
    tree.write(A="import B\nimport C", B="", C="")
    tree.build("A")
    tree.compiled_now()
    again = tree.build("A")
    assert tree.compiled_now() == []
    assert again.compiled == 0
    assert all(m.cached and m.seconds is not None for m in again.modules)
    tree.write(B="-- changed")
    tree.build("A")
    assert tree.compiled_now() == ["B", "A"]


def test_another_compiler_compiles_everything(tree: Tree) -> None:
    """Compiled modules of one Lean are not used by another."""
    tree.write(A="")
    tree.build("A")
    other = Builder(tree.builder.lean, "stub 2", tree.builder.output)
    tree.compiled_now()
    tree.build("A", builder=other)
    assert tree.compiled_now() == ["A"]


def test_an_error_is_a_record_at_its_line(tree: Tree) -> None:
    """An error of Lean has file, line and column; modules that import the failed one say so."""
    tree.write(A="import Sub.B", Sub_B="import Sub.C\n\nERROR here", Sub_C="")
    result = tree.build("A")
    assert not result.ok
    failed, blocked = result.module("Sub.B"), result.module("A")
    assert failed is not None
    assert blocked is not None
    assert [str(e) for e in failed.errors] == ["Sub/B.lean:3:2: error: ERROR here"]
    assert blocked.blocked_by == "Sub.B"
    assert result.compiled == 2
    assert tree.compiled_now() == ["C", "B"]


def test_a_failed_module_is_tried_again(tree: Tree) -> None:
    """A failure is never remembered as a success."""
    tree.write(A="ERROR")
    assert not tree.build("A").ok
    assert not tree.build("A").ok
    assert tree.compiled_now() == ["A", "A"]


def test_warnings_of_cached_modules_are_not_forgotten(tree: Tree) -> None:
    """What a module warned of when it was compiled is reported again when it is not."""
    tree.write(A="theorem t : p := sorry")
    tree.build("A")
    (module,) = tree.build("A").modules
    assert module.cached
    assert [(m.level, m.line) for m in module.messages] == [(Level.WARNING, 1)]


def test_a_crash_is_an_error(tree: Tree) -> None:
    """A Lean that dies has not checked the file: that is a failure with what it said."""
    tree.write(A="CRASH")
    (module,) = tree.build("A").modules
    assert not module.ok
    assert "stack overflow" in module.errors[0].text


def test_a_module_may_not_take_forever(tree: Tree) -> None:
    """A module that exceeds the time limit has failed, and its process is gone."""
    tree.write(A="SLOW")
    hasty = Builder(tree.builder.lean, "stub 1", tree.builder.output, timeout=0.1)
    (module,) = tree.build("A", builder=hasty).modules
    assert "stopped after" in module.errors[0].text


def test_a_killed_build_is_continued(tree: Tree) -> None:
    """A module whose compilation was cut off (no record of it) is compiled again, others not."""
    tree.write(A="import B", B="")
    tree.build("A")
    tree.compiled_now()
    record = tree.builder.compiled("A").with_suffix(".json")
    record.unlink()
    tree.builder.compiled("A").write_text("half")
    assert tree.build("A").ok
    assert tree.compiled_now() == ["A"]
    record.write_text("{")
    assert tree.build("A").ok
    assert tree.compiled_now() == ["A"]


def test_a_build_that_is_killed_leaves_nothing_in_the_way(tree: Tree, tmp_path: Path) -> None:
    """After a kill in the middle of a build the next one waits for nothing and does the rest."""
    tree.write(A="import B", B="import C\n-- SLOW", C="")
    program = (
        "from pathlib import Path; from serq.toolchain.build import Builder; "
        f"b = Builder({tree.builder.lean!r}, 'stub 1', "
        f"Path({str(tree.builder.output)!r}), jobs=2); "
        f"b.build([Path({str(tree.source)!r})], ['A'])"
    )
    child = subprocess.Popen([sys.executable, "-c", program], start_new_session=True)
    try:
        deadline = time.monotonic() + 60
        while not (tree.calls_file.exists() and "B.lean" in tree.calls_file.read_text()):
            assert time.monotonic() < deadline
            assert child.poll() is None
            time.sleep(0.05)
    finally:
        os.killpg(child.pid, signal.SIGKILL)
        child.wait()
    assert tree.compiled_now() == ["C", "B"]
    tree.write(B="import C")
    assert tree.build("A").ok
    assert tree.compiled_now() == ["B", "A"]


def test_two_builds_wait_for_each_other(tree: Tree) -> None:
    """Builds into one directory do not overlap, and the second finds everything done."""
    tree.write(A="import B", B="")
    results: list[BuildResult] = []
    threads = [threading.Thread(target=lambda: results.append(tree.build("A"))) for _ in range(2)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert sorted(r.compiled for r in results) == [0, 2]
    assert sorted(tree.compiled_now()) == ["A", "B"]


def test_a_circle_of_imports_is_shown(tree: Tree) -> None:
    """Modules that import each other are an error that shows the way round."""
    tree.write(A="import B", B="import C", C="import B")
    with pytest.raises(SerqError) as caught:
        tree.build("A")
    assert "B → C → B" in str(caught.value)


def test_a_missing_module_is_named(tree: Tree) -> None:
    """A target that does not exist is an error with the places that were looked at."""
    with pytest.raises(SerqError) as caught:
        tree.build("No.Such")
    assert "No.Such" in str(caught.value)
    assert str(tree.source) in str(caught.value)


def test_earlier_roots_hide_later_ones(tmp_path: Path) -> None:
    """A module is taken from the first root that has it."""
    for name in ("one", "two"):
        (tmp_path / name).mkdir()
        (tmp_path / name / "A.lean").write_text(f"-- {name}")
    graph = Graph([tmp_path / "one", tmp_path / "two"])
    assert graph.add("A").text == "-- one"


def test_a_hidden_definition_is_explained(tree: Tree) -> None:
    """An error about a core definition that the registry Lean lacks says that it is so."""
    tree.write(A="ERROR: tactic failed to reduce List.mergeSort to true")
    registry = Builder(tree.builder.lean, "stub 1", tree.builder.output, explain_hidden=True)
    (module,) = tree.build("A", builder=registry).modules
    assert "the registry Lean has no body of List.mergeSort" in module.errors[0].text


def test_output_that_is_no_message_is_kept() -> None:
    """A line that is not JSON (a `dbg_trace`) is kept as information."""
    (message,) = parse_json("hello\n", "A.lean")
    assert (message.level, message.text) == (Level.INFO, "hello")


# --- native -------------------------------------------------------------------------------------

LAKE_OUTPUT = """\
✔ [1/5] Built Serq.IR (1.5s)
⚠ [2/5] Built Serq.Claims (250ms)
warning: ././lean/Serq/Claims.lean:3:8: declaration uses `sorry`
✖ [3/5] Building Serq.Thm.Fill (2.1s)
trace: .> LEAN_PATH=… lean lean/Serq/Thm/Fill.lean
error: lean/Serq/Thm/Fill.lean:12:4: unsolved goals
n : Nat
⊢ n = 0
error: Lean exited with code 1
ℹ [4/5] Replayed Serq.Exec
info: lean/Serq/Exec.lean:1:0: 3
✔ [5/5] Built serq-exec:exe (1s)
Some required targets logged failures:
- Serq.Thm.Fill
error: build failed
"""


def test_lake_output_is_read() -> None:
    """Modules, their times and their messages are found in what `lake build` prints."""
    modules = {m.module: m for m in parse_lake(LAKE_OUTPUT)}
    assert list(modules) == ["Serq.IR", "Serq.Claims", "Serq.Thm.Fill", "Serq.Exec"]
    assert [m.ok for m in modules.values()] == [True, True, False, True]
    assert modules["Serq.IR"].seconds == 1.5
    assert modules["Serq.Claims"].seconds == 0.25
    assert str(modules["Serq.Claims"].messages[0]).startswith("lean/Serq/Claims.lean:3:8: warning")
    error = modules["Serq.Thm.Fill"].errors[0]
    assert (error.file, error.line, error.column) == ("lean/Serq/Thm/Fill.lean", 12, 4)
    assert error.text == "unsolved goals\nn : Nat\n⊢ n = 0"
    assert modules["Serq.Exec"].cached


@pytest.fixture
def stub_lake(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A `lake` on PATH that records its calls and prints what a test put beside it."""
    home = tmp_path / "lake-home"
    home.mkdir()
    lake = home / "lake"
    lake.write_text(
        "#!/bin/sh\n"
        f'echo "$PWD: $*" >> {home}/calls\n'
        'if [ "$1" = --version ]; then echo "Lake version 5 (Lean version 4.28.0)"; exit 0; fi\n'
        f"if [ -f {home}/output ]; then cat {home}/output; exit 1; fi\n"
        'echo "Build completed successfully (5 jobs)."\n'
    )
    lake.chmod(0o755)
    monkeypatch.setenv("PATH", f"{home}{os.pathsep}{os.environ['PATH']}")
    monkeypatch.delenv("SERQ_LEAN", raising=False)
    return home


def _calls(home: Path) -> list[str]:
    return (home / "calls").read_text().splitlines()


def test_a_native_lake_is_preferred(stub_lake: Path) -> None:
    """With `lake` on PATH it is what is used."""
    assert native_lake() == stub_lake / "lake"
    lean = find_lean()
    assert isinstance(lean, NativeLean)
    assert "4.28.0" in lean.version()


def test_elan_is_found_without_path(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Where elan puts `lake` is looked at too."""
    monkeypatch.setenv("PATH", "/nowhere")
    monkeypatch.setenv("ELAN_HOME", str(tmp_path))
    assert native_lake() is None
    (tmp_path / "bin").mkdir()
    (tmp_path / "bin" / "lake").write_text("#!/bin/sh\n")
    (tmp_path / "bin" / "lake").chmod(0o755)
    assert native_lake() == tmp_path / "bin" / "lake"


def test_native_builds_are_lake_builds(stub_lake: Path, tmp_path: Path) -> None:
    """A build with a native Lean is `lake build` of the modules, in the package."""
    package = LeanPackage(tmp_path, tmp_path / "lean", in_tree=True)
    lean = find_lean(package)
    assert lean is not None
    assert lean.build(package, ["Serq", "Serq.Audit"]).ok
    assert _calls(stub_lake) == [f"{tmp_path}: build --no-ansi +Serq +Serq.Audit"]


def test_native_errors_are_records(stub_lake: Path, tmp_path: Path) -> None:
    """The errors of `lake build` come out like those of the own builder."""
    (stub_lake / "output").write_text(LAKE_OUTPUT)
    package = LeanPackage(tmp_path, tmp_path / "lean", in_tree=True)
    lean = find_lean(package)
    assert lean is not None
    result = lean.build(package, ["Serq"])
    assert not result.ok
    assert not result.failed
    failed = result.module("Serq.Thm.Fill")
    assert failed is not None
    assert failed.errors[0].line == 12


def test_a_native_failure_without_a_module_is_kept(stub_lake: Path, tmp_path: Path) -> None:
    """When lake fails for a reason of its own, the build has failed and its words are kept."""
    (stub_lake / "output").write_text("error: toolchain is not installed\n")
    package = LeanPackage(tmp_path, tmp_path / "lean", in_tree=True)
    lean = find_lean(package)
    assert lean is not None
    result = lean.build(package, ["Serq"])
    assert result.failed
    assert "toolchain is not installed" in result.output


def test_the_command_uses_the_native_lake(stub_lake: Path) -> None:
    """`serq lean build` and `run` go through a native lake when there is one."""
    runner = CliRunner()
    done = runner.invoke(main, ["lean", "build", "Serq.IR"])
    assert done.exit_code == 0, done.output
    assert _calls(stub_lake)[-1].endswith("build --no-ansi +Serq.IR")
    file = stub_lake / "Hello.lean"
    file.write_text("def main : IO Unit := pure ()\n")
    command = [sys.executable, "-m", "serq", "lean", "run", str(file), "word"]
    assert subprocess.run(command, capture_output=True).returncode == 0
    assert _calls(stub_lake)[-1].endswith(f"env lean --run {file} word")


def test_the_executable_finds_its_modules() -> None:
    """What an executable imports is in a library of the lakefile: Lake looks nowhere else."""
    root = Path(__file__).resolve().parents[1]
    lakefile = tomllib.loads((root / "lakefile.toml").read_text())
    roots = [r for lib in lakefile["lean_lib"] for r in lib.get("roots", [lib["name"]])]
    source = root / "lean"
    for exe in lakefile["lean_exe"]:
        todo, seen = [exe["root"]], set()
        while todo:
            module = todo.pop()
            file = source.joinpath(*module.split(".")).with_suffix(".lean")
            if module in seen or not file.exists():
                continue
            seen.add(module)
            todo += header_imports(file.read_text())
        assert {"Main.Read", "Main.Write", "Serq.Exec"} <= seen
        for module in seen - {exe["root"]}:
            assert any(module == r or module.startswith(f"{r}.") for r in roots), module
    for lib in lakefile["lean_lib"]:
        for name in lib.get("roots", [lib["name"]]):
            assert source.joinpath(*name.split(".")).with_suffix(".lean").is_file(), name
    assert {d["srcDir"] for d in (*lakefile["lean_lib"], *lakefile["lean_exe"])} == {"lean"}
    assert (root / "lean-toolchain").read_text().strip() == "leanprover/lean4:v4.28.0"


def test_a_setting_that_means_nothing_is_refused(monkeypatch: pytest.MonkeyPatch) -> None:
    """SERQ_LEAN names a kind of Lean or is an error."""
    monkeypatch.setenv("SERQ_LEAN", "fast")
    done = CliRunner().invoke(main, ["lean", "build"])
    assert done.exit_code == 1
    assert "lean-setting" in done.stderr
    assert "Traceback" not in done.stderr


def test_native_alone_may_be_asked_for(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    """With SERQ_LEAN=native nothing is installed; without a lake that is an error."""
    monkeypatch.setenv("SERQ_LEAN", "native")
    monkeypatch.setenv("PATH", "/nowhere")
    monkeypatch.setenv("ELAN_HOME", str(tmp_path))
    monkeypatch.setenv("SERQ_CACHE", str(tmp_path / "cache"))
    done = CliRunner().invoke(main, ["lean", "build"])
    assert done.exit_code == 1
    assert "lean-not-installed" in done.stderr
    assert not (tmp_path / "cache").exists()


def test_doctor_without_a_lean(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    """The doctor says that there is no Lean and how to get one, with status 1."""
    monkeypatch.setenv("PATH", "/nowhere")
    monkeypatch.setenv("ELAN_HOME", str(tmp_path))
    monkeypatch.setenv("SERQ_CACHE", str(tmp_path / "cache"))
    done = CliRunner().invoke(main, ["lean", "doctor", "--json"])
    assert done.exit_code == 1
    facts = json.loads(done.stdout)
    assert facts["lean"] is None
    assert "serq lean install" in facts["problems"][0]


def test_the_cache_can_be_elsewhere(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    """SERQ_CACHE decides where everything is kept."""
    monkeypatch.setenv("SERQ_CACHE", str(tmp_path))
    assert cache_directory() == tmp_path
