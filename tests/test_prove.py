"""`serq prove` on a small library with a stub for Lean: what is found, and what each fault says."""

from __future__ import annotations

import json
import shutil
import sys
from pathlib import Path

import pytest
from click.testing import CliRunner, Result

from serq.cli import main
from serq.leangen import generate, oracle
from serq.toolchain.lean import NativeLean, RegistryLean
from serq.toolchain.places import LeanPackage

ROOT = Path(__file__).resolve().parents[1]

STUB = r'''#!{python}
"""Plays Lean: theorems are true unless they say ERROR; a claim's proof must have its type."""
import json, os, re, sys
args = sys.argv[1:]
with open(os.environ["CALLS"], "a") as calls:
    calls.write(" ".join(args[-1:]) + "\n")
def theorems(text):
    space = []
    for number, line in enumerate(text.splitlines(), 1):
        if m := re.match(r"namespace (\S+)", line): space = [m[1]]
        if m := re.match(r"theorem (\S+) : (.*?) :=(.*)", line):
            yield ".".join([*space, m[1]]), m[2], number, m[3]
known = os.environ["KNOWN"]
if "--run" in args:
    source = os.path.dirname(os.path.dirname(args[args.index("--run") + 1]))
    for name, kind, number, proof, module in json.load(open(known)):
        gone = not os.path.exists(os.path.join(source, module.replace(".", "/") + ".lean"))
        if gone and module.startswith("Serq.Reached."):
            continue
        axioms = ["propext"] + (["sorryAx"] if "sorry" in proof else [])
        print(json.dumps({{"theorem": name, "module": module, "line": number, "doc": "Words.",
                          "axioms": axioms, "ok": axioms == ["propext"]}}))
    print(json.dumps({{"visited": 9, "refused": 0}}))
    sys.exit(0)
path = args[-1]
text = open(path).read()
root = args[args.index("-R") + 1]
module = os.path.relpath(path, root)[:-5].replace("/", ".")
table = [r for r in json.load(open(known)) if r[4] != module] if os.path.exists(known) else []
bad = False
def say(severity, data, line):
    print(json.dumps({{"severity": severity, "data": data, "pos": {{"line": line, "column": 0}}}}))
for number, line in enumerate(text.splitlines(), 1):
    if "ERROR" in line:
        say("error", "unsolved goals", number); bad = True
    if re.search(r":= *sorry", line):
        say("warning", "declaration uses `sorry`", number)
    if m := re.match(r"example : (\S+) := (\S+)", line):
        found = next((r for r in table if r[0] == m[2]), None)
        if found is None or found[1] != m[1]:
            say("error", f"type mismatch: {{m[2]}}", number); bad = True
if not bad:
    open(args[args.index("-o") + 1], "w").write("compiled")
    table += [[n, k, i, p, module] for n, k, i, p in theorems(text)]
    json.dump(table, open(known, "w"))
sys.exit(1 if bad else 0)
'''

PROGRAM = """
fn main() {
  device gpu { }
  engine e on gpu {
    tokens cap 8;
    schedule { advance running; admit waiting while (running.preempted == 0); }
    execute (1);
  }
  workload { arrive renewal(4); }
  server { run e prefill (cost(e, 6)); observe response = now; }

  // No batch has more than eight tokens.
  claim capped: every iteration of e (tokens <= 8);
  // Some batch has tokens to spare.
  claim spare: some iteration of e (tokens < 8);
}
"""

PROOFS = """import Serq.Claims.Small
namespace Serq.Papers.Small
theorem capped : Serq.Claims.Small.capped := proof
end Serq.Papers.Small
"""

LEDGER = {
    "small": {
        "horizon": 100,
        "claims": {"capped": "proved", "spare": "open"},
        "reach": {"sessions": [{}, {}]},
    }
}


class Library:
    """A package like the checkout's, with one program, and a Lean that is a script."""

    def __init__(self, root: Path) -> None:
        self.root = root
        self.write("lakefile.toml", "")
        self.write(
            "lean/Serq.lean",
            "import Serq.ClaimsProved\nimport Serq.IR\nimport Serq.Reached\nimport Serq.Oracle\n",
        )
        self.write("lean/Serq/Claim.lean", "")
        self.write("lean/Serq/Thm/Reached.lean", "")
        self.write("lean/Serq/Audit.lean", "")
        self.write("lean/Serq/Papers/Small.lean", PROOFS)
        self.write("lean/Serq/Oracle.lean", "")
        self.write("examples/papers/small.sq", PROGRAM)
        self.ledger(LEDGER)

    def write(self, name: str, text: str) -> None:
        path = self.root / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(text)

    def change(self, name: str, old: str, new: str) -> None:
        text = (self.root / name).read_text()
        assert old in text
        self.write(name, text.replace(old, new))

    def ledger(self, data: object) -> None:
        self.write("lean/claims.json", json.dumps(data))

    def prove(self, *arguments: str) -> Result:
        return CliRunner().invoke(main, ["prove", *arguments], catch_exceptions=False)

    def record(self, *arguments: str) -> dict:  # type: ignore[type-arg]
        return json.loads(self.prove("--json", *arguments).stdout)

    def compiled_now(self) -> list[str]:
        calls = self.root / "calls"
        names = [Path(c).stem for c in calls.read_text().split()] if calls.exists() else []
        calls.unlink(missing_ok=True)
        return names


@pytest.fixture
def library(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Library:
    made = Library(tmp_path / "package")
    prefix = tmp_path / "lean"
    prefix.mkdir()
    wlean = prefix / "wlean"
    wlean.write_text(STUB.format(python=sys.executable))
    wlean.chmod(0o755)
    package = LeanPackage(made.root, made.root / "lean", in_tree=True)
    monkeypatch.setattr("serq.cli.prove.lean_package", lambda: package)
    monkeypatch.setattr("serq.leangen.prove.ensure_lean", lambda *_, **__: RegistryLean(prefix))
    monkeypatch.setattr("serq.cli.prove.ensure_lean", lambda *_, **__: RegistryLean(prefix))
    monkeypatch.setattr(oracle, "SCENARIOS", ())
    monkeypatch.setattr(oracle, "REGRESSIONS", ())
    monkeypatch.setenv("SERQ_JOBS", "1")
    monkeypatch.setenv("SERQ_CACHE", str(tmp_path / "cache"))
    monkeypatch.setenv("CALLS", str(made.root / "calls"))
    monkeypatch.setenv("KNOWN", str(tmp_path / "known.json"))
    monkeypatch.setenv("COLUMNS", "200")
    done = made.prove("--update")
    assert done.exit_code == 0, done.output + done.stderr
    made.compiled_now()
    return made


def claim(record: dict, name: str) -> dict:  # type: ignore[type-arg]
    (row,) = [c for c in record["claims"] if c["claim"] == name]
    return row


def test_the_table_says_what_is_known(library: Library) -> None:
    """Each claim has its sentence, the interpreter's result, Lean's, the theorem and its axioms."""
    record = library.record()
    assert record["ok"]
    capped = claim(record, "capped")
    assert capped["sentence"] == "No batch has more than eight tokens."
    assert capped["path"] == "holds"
    assert capped["status"] == "proved"
    assert capped["theorem"] == "Serq.Papers.Small.capped"
    assert capped["file"] == "lean/Serq/Papers/Small.lean"
    assert capped["axioms"] == ["propext"]
    spare = claim(record, "spare")
    assert (spare["path"], spare["status"], spare["file"]) == ("witnessed at 4", "open", None)
    shown = library.prove()
    assert shown.exit_code == 0
    assert "small.capped" in shown.stdout
    assert "1 proved, 1 open" in shown.stdout


def test_nothing_is_done_again(library: Library) -> None:
    """A second call compiles nothing and does not audit again."""
    record = library.record()
    assert record["compiled"] == 0
    assert library.compiled_now() == []


def test_an_edited_generated_file_is_refused(library: Library) -> None:
    """A generated file that was changed by hand fails, by name and claim; --update repairs it."""
    library.change("lean/Serq/Claims/Small.lean", "r.tokens ≤ 8", "r.tokens ≤ 9")
    done = library.prove()
    assert done.exit_code == 1
    assert "lean/Serq/Claims/Small.lean is not what its sources give" in done.stderr
    assert "capped" in done.stderr
    assert "serq prove --update" in done.stderr
    assert library.prove("--update").exit_code == 0
    assert library.prove().exit_code == 0


def test_a_generated_file_from_nothing_is_refused(library: Library) -> None:
    """A file that no program stands behind any more is named; --update removes it."""
    shutil.copy(
        library.root / "lean/Serq/Claims/Small.lean", library.root / "lean/Serq/Claims/Old.lean"
    )
    done = library.prove()
    assert done.exit_code == 1
    assert "lean/Serq/Claims/Old.lean is generated from nothing" in done.stderr
    assert library.prove("--update").exit_code == 0
    assert not (library.root / "lean/Serq/Claims/Old.lean").exists()


@pytest.mark.parametrize(
    ("old", "new"),
    [("tokens <= 8)", "tokens < 8)"), ("tokens <= 8)", "tokens <= 7)")],
    ids=["operator", "constant"],
)
def test_a_changed_claim_is_stale(library: Library, old: str, new: str) -> None:
    """A claim whose operator or constant changes makes its own committed statement stale."""
    library.change("examples/papers/small.sq", old, new)
    done = library.prove()
    assert done.exit_code == 1
    assert "Claims/Small.lean is not what its sources give" in done.stderr
    assert "small.capped" in done.stderr and "small.spare" not in done.stderr
    record = library.record()
    assert claim(record, "capped")["status"] == "failed"
    assert "not what the program claims" in claim(record, "capped")["why"]
    assert claim(record, "spare")["status"] == "open"


def test_a_changed_program_is_stale(library: Library) -> None:
    """A constant of the program is part of what is claimed."""
    library.change("examples/papers/small.sq", "cost(e, 6)", "cost(e, 7)")
    done = library.prove()
    assert done.exit_code == 1
    assert "Claims/Small.lean is not what its sources give" in done.stderr
    assert "small.capped" in done.stderr and "small.spare" in done.stderr


def test_two_programs_of_one_lean_name_are_refused(library: Library) -> None:
    """Two files whose names are one module's in Lean would overwrite each other's statements."""
    library.write("examples/papers/_small.sq", PROGRAM)
    done = library.prove("--update")
    assert done.exit_code == 1
    assert "are both `Small` in Lean" in done.stderr


def test_a_claim_without_an_entry_is_refused(library: Library) -> None:
    """A new claim must be listed as proved or open; the message says so."""
    library.change(
        "examples/papers/small.sq",
        "  // Some batch",
        "  claim fresh: every iteration of e (tokens >= 0);\n  // Some batch",
    )
    done = library.prove("--update")
    assert done.exit_code == 1
    assert "claim `fresh`" in done.stderr
    assert "list it as `open`" in done.stderr


def test_a_removed_claim_is_noticed(library: Library) -> None:
    """An entry whose claim is gone is named."""
    entry = LEDGER["small"] | {"claims": {"capped": "proved", "spare": "open", "gone": "open"}}
    library.ledger({"small": entry})
    done = library.prove("--update")
    assert done.exit_code == 1
    assert "`gone` of `small`" in done.stderr


def test_a_missing_proof_is_named(library: Library) -> None:
    """A claim listed as proved without a theorem fails with the theorem's expected name."""
    library.change("lean/Serq/Papers/Small.lean", "theorem capped", "theorem other")
    done = library.prove()
    assert done.exit_code == 1
    assert "claim `capped` of small.sq" in done.stderr
    assert "ClaimsProved.lean:" in done.stderr


def test_a_proof_of_something_else_is_named(library: Library) -> None:
    """A theorem of the right name and another type does not prove the claim."""
    library.change(
        "lean/Serq/Papers/Small.lean", ": Serq.Claims.Small.capped", ": Serq.Claims.Small.spare"
    )
    done = library.prove()
    assert done.exit_code == 1
    record = library.record()
    assert claim(record, "capped")["status"] == "failed"
    assert "proves something else" in claim(record, "capped")["why"]


def test_a_premise_must_be_reached(library: Library) -> None:
    """A proved claim needs a theorem that some path of its family is spoken of."""
    library.ledger({"small": LEDGER["small"] | {"reach": {}}})
    done = library.prove("--update")
    assert done.exit_code == 1
    assert 'no "reach" for `small`' in done.stderr
    assert "it may hold of nothing" in claim(library.record(), "capped")["why"]


def test_an_error_in_a_proof_is_shown_at_its_line(library: Library) -> None:
    """A Lean error has file and line, and the claim whose proof it is in."""
    library.change("lean/Serq/Papers/Small.lean", ":= proof", ":= ERROR")
    done = library.prove()
    assert done.exit_code == 1
    assert "lean/Serq/Papers/Small.lean:3:0: error: unsolved goals" in done.stderr
    assert "from claim `capped` of small.sq" in done.stderr
    assert claim(library.record(), "capped")["status"] == "failed"


def test_an_error_in_the_file_of_a_proof_names_the_claim(library: Library) -> None:
    """A claim whose proof is in a file with an error elsewhere has failed, and is not missing."""
    library.change("lean/Serq/Papers/Small.lean", "theorem", "theorem lemma_ : ERROR := x\ntheorem")
    done = library.prove()
    assert done.exit_code == 1
    assert "there is no theorem" not in done.stderr
    assert "claim `capped` of small.sq: the file of its proof has an error" in done.stderr


def test_an_error_in_a_generated_file_names_its_construct(library: Library) -> None:
    """An error in a statement is traced to the claim in the program."""
    library.change("examples/papers/small.sq", "claim capped", "claim ERROR")
    library.ledger({"small": LEDGER["small"] | {"claims": {"ERROR": "open", "spare": "open"}}})
    library.change("lean/Serq/Papers/Small.lean", "capped", "x")
    done = library.prove("--update")
    assert done.exit_code == 1
    assert "from claim `ERROR` of examples/papers/small.sq" in done.stderr


def test_an_error_below_a_proof_names_the_claim(library: Library) -> None:
    """A broken module that a proof rests on makes the claim fail, and says which module."""
    library.change("lean/Serq/Papers/Small.lean", "import", "import Serq.Exec\nimport")
    library.write("lean/Serq/Exec.lean", "def step := ERROR\n")
    done = library.prove()
    assert done.exit_code == 1
    assert "lean/Serq/Exec.lean:1:0: error: unsolved goals" in done.stderr
    assert "claim `capped` of small.sq: its proof could not be checked: Serq.Exec" in done.stderr


def test_a_sorry_is_refused(library: Library) -> None:
    """A proof with a hole is an error at its line, and its claim has failed."""
    library.change("lean/Serq/Papers/Small.lean", ":= proof", ":= sorry")
    done = library.prove()
    assert done.exit_code == 1
    assert "Small.lean:3:0" in done.stderr
    assert "rests on sorryAx" in done.stderr
    assert claim(library.record(), "capped")["status"] == "failed"


def test_a_proof_past_the_kernel_is_refused(library: Library) -> None:
    """A file that turns the kernel's check off is refused at its line, and the claims above it."""
    library.write("lean/Serq/Thm/Cheat.lean", "\nset_option debug.skipKernelTC true\n")
    library.write("lean/Serq/Papers/Small.lean", "import Serq.Thm.Cheat\n" + PROOFS)
    done = library.prove()
    assert done.exit_code == 1
    assert "lean/Serq/Thm/Cheat.lean:2 sets `debug.skipKernelTC`" in done.stderr
    assert "claim `capped` of small.sq: it rests on Serq.Thm.Cheat" in done.stderr
    assert claim(library.record(), "capped")["status"] == "failed"
    library.write("lean/Serq/Thm/Cheat.lean", "")
    assert library.prove().exit_code == 0


def test_an_unreached_file_is_refused(library: Library) -> None:
    """A file that the library's root does not import would never be checked."""
    library.write("lean/Serq/Thm/Lost.lean", "theorem t : True := trivial\n")
    done = library.prove()
    assert done.exit_code == 1
    assert "lean/Serq/Thm/Lost.lean is not imported" in done.stderr


def test_a_proved_open_claim_is_pointed_out(library: Library) -> None:
    """An open claim that has a theorem stays open, with a word about it."""
    library.ledger({"small": LEDGER["small"] | {"claims": {"capped": "open", "spare": "open"}}})
    library.change("lean/Serq.lean", "import Serq.IR", "import Serq.IR\nimport Serq.Papers.Small")
    done = library.prove("--update")
    assert done.exit_code == 0, done.stderr
    assert "list the claim as `proved`" in (claim(library.record(), "capped")["why"] or "")


def test_a_broken_ledger_is_refused(library: Library) -> None:
    """The list of claims must be one; the error shows its form."""
    library.write("lean/claims.json", '{"small": {"claims": {"capped": "maybe"}}}')
    done = library.prove()
    assert done.exit_code == 1
    assert "claims-file" in done.stderr
    assert "Traceback" not in done.stderr


def test_one_program_of_the_library(library: Library) -> None:
    """Named programs narrow the table, not what is checked."""
    record = library.record(str(library.root / "examples/papers/small.sq"))
    assert {c["program"] for c in record["claims"]} == {"small"}


# --- a program of one's own ---------------------------------------------------------------------


@pytest.fixture
def own(library: Library, tmp_path: Path) -> Path:
    """A program outside the library, with a proof of its first claim beside it."""
    path = tmp_path / "mine" / "my_system.sq"
    path.parent.mkdir()
    path.write_text(PROGRAM)
    path.with_suffix(".lean").write_text(PROOFS.replace("Small", "MySystem"))
    return path


def test_an_own_program_with_its_proofs(library: Library, own: Path) -> None:
    """The Lean file beside a program proves its claims; what is not proved must be allowed."""
    done = library.prove(str(own))
    assert done.exit_code == 1
    assert "no theorem `Serq.Papers.MySystem.spare`" in done.stderr
    record = library.record(str(own), "--open", "spare", "--horizon", "50")
    assert record["ok"], record
    assert claim(record, "capped")["status"] == "proved"
    assert claim(record, "capped")["path"] == "holds"
    assert claim(record, "spare")["status"] == "open"
    assert {p.name for p in own.parent.iterdir()} == {"my_system.sq", "my_system.lean"}


def test_an_own_program_without_proofs(library: Library, own: Path) -> None:
    """Without a Lean file every claim lacks its proof, and the message names the file."""
    own.with_suffix(".lean").unlink()
    done = library.prove(str(own))
    assert done.exit_code == 1
    assert "there is no my_system.lean" in done.stderr


def test_an_error_in_an_own_proof(library: Library, own: Path) -> None:
    """An error in the file beside the program is shown in that file, not in a copy."""
    proofs = own.with_suffix(".lean")
    proofs.write_text(proofs.read_text().replace(":= proof", ":= ERROR"))
    done = library.prove(str(own), "--open", "spare")
    assert done.exit_code == 1
    assert f"{proofs}:3:0: error: unsolved goals" in done.stderr


def test_an_own_proof_past_the_kernel(library: Library, own: Path) -> None:
    """A file beside a program that could change what its statements say proves nothing."""
    proofs = own.with_suffix(".lean")
    proofs.write_text(proofs.read_text() + 'notation "Serq.Claims.MySystem.capped" => True\n')
    done = library.prove(str(own), "--open", "spare")
    assert done.exit_code == 1
    assert f"{proofs}:5 uses `notation`" in done.stderr
    assert "claim `capped` of my_system.sq: the audit cannot judge my_system.lean" in done.stderr


def test_a_program_that_claims_nothing(library: Library, own: Path) -> None:
    """A program without claims is an error that shows how to write one."""
    own.write_text("\n".join(x for x in PROGRAM.splitlines() if "claim" not in x))
    done = library.prove(str(own))
    assert done.exit_code == 1
    assert "claims nothing" in done.stderr


def test_a_program_outside_says_why(library: Library, own: Path) -> None:
    """A program that Lean cannot express is an error at the construct."""
    own.write_text(PROGRAM.replace("execute (1)", "execute (0.5)"))
    done = library.prove(str(own))
    assert done.exit_code == 1
    assert f"{own}:7:" in done.stderr
    assert "outside-lean" in done.stderr
    assert "0.5, not a natural number" in done.stderr


# --- --why --------------------------------------------------------------------------------------


def test_why_explains_every_construct(tmp_path: Path) -> None:
    """Each construct is inside, or outside with the reason; conditions are said."""
    path = tmp_path / "p.sq"
    path.write_text(PROGRAM.replace("execute (1)", "execute (0.5)"))
    done = CliRunner().invoke(main, ["prove", "--why", "--json", str(path)])
    assert done.exit_code == 0
    found = json.loads(done.stdout)
    assert not found["runs"]
    rows = {r["what"]: r for r in found["constructs"]}
    assert rows["engine e: execute"]["run"] == ["the constant is 0.5, not a natural number"]
    assert rows["engine e: tokens cap"]["run"] == []
    assert rows["claim capped"]["line"] == 13
    assert {"turn", "run e prefill", "observe response", "end"} <= set(rows)


def test_why_judges_every_engine() -> None:
    """The parts of a second engine are judged like those of the first."""
    program = ROOT / "examples" / "pd-disaggregation" / "llmd_nixl_pull.sq"
    done = CliRunner().invoke(main, ["prove", "--why", "--json", str(program)])
    rows = {r["what"]: r for r in json.loads(done.stdout)["constructs"]}
    assert rows["engine P[1]"]["run"] == ["a second engine is outside the fragment"]
    assert rows["engine P[0]: execute"]["run"] == rows["engine P[1]: execute"]["run"] != []
    assert rows["run D decode"]["run"] == ["growth in a family of engines is outside the fragment"]


def test_why_needs_a_program() -> None:
    """Without a program there is nothing to explain: the command line is wrong."""
    assert CliRunner().invoke(main, ["prove", "--why"]).exit_code == 2


# --- the repository's own files -----------------------------------------------------------------


def test_committed_files_are_what_is_generated() -> None:
    """Every generated Lean file in the repository is what its sources give now."""
    made = generate.library(ROOT)
    assert made.problems == ()
    assert made.differing(ROOT) == []


def test_an_installed_library_is_not_written(
    library: Library, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Outside a checkout the files are compared like everywhere, and --update is refused."""
    package = LeanPackage(library.root, library.root / "lean", in_tree=False)
    monkeypatch.setattr("serq.cli.prove.lean_package", lambda: package)
    assert library.prove().exit_code == 0
    done = library.prove("--update")
    assert done.exit_code == 1
    assert "not-a-checkout" in done.stderr


STUB_LAKE = r"""#!/bin/sh
echo "$*" >> "$CALLS"
case "$1" in
  --version) echo "Lake version 5.0.0 (Lean version 4.28.0)" ;;
  build) echo "Build completed successfully (9 jobs)." ;;
  env)
    row() {
      printf '{"theorem":"%s","module":"%s","line":3,"doc":null,"axioms":[],"ok":true}\n' $1 $2
    }
    row Serq.Papers.Small.capped Serq.Papers.Small
    row Serq.Reached.Small.capped Serq.Reached.Small
    echo '{"visited":2,"refused":0}' ;;
esac
"""


def test_a_native_lake_builds_and_audits(
    library: Library, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """With a native `lake` the same command builds with it and audits through it."""
    lake = tmp_path / "lake"
    lake.write_text(STUB_LAKE)
    lake.chmod(0o755)
    native = NativeLean(lake, library.root)
    monkeypatch.setattr("serq.leangen.prove.ensure_lean", lambda *_, **__: native)
    record = library.record()
    assert record["ok"], record
    assert record["lean"] == {
        "kind": "native",
        "version": "Lake version 5.0.0 (Lean version 4.28.0)",
    }
    assert claim(record, "capped")["status"] == "proved"
    calls = (library.root / "calls").read_text().splitlines()
    assert "build --no-ansi +Serq" in calls
    assert f"env lean --run {library.root}/lean/Serq/Audit.lean Serq" in calls
