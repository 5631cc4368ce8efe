"""The interpreter and the Lean semantics, step by step; a Lean is installed if there is none."""

from __future__ import annotations

import json
import subprocess
import sys
from dataclasses import replace
from pathlib import Path

import pytest
from click.testing import CliRunner

from serq.cli import main
from serq.fuzz.case import from_file_text
from serq.fuzz.fragment_ir import random_program
from serq.fuzz.lean_kernel import evaluate, of_interpreter
from serq.ir import nodes as ir
from serq.leangen import lean_text
from serq.leangen.compare import (
    Difference,
    Step,
    StepTrace,
    executed,
    first_difference,
    interpreted,
)
from serq.leangen.fragment import Executable, executable
from serq.toolchain.lean import Lean, ensure_lean
from serq.toolchain.places import LeanPackage, lean_package
from serq.toolchain.progress import Reporter

ROOT = Path(__file__).resolve().parents[1]
COUNT = 200


@pytest.fixture(scope="module")
def package() -> LeanPackage:
    return lean_package()


@pytest.fixture(scope="module")
def lean(package: LeanPackage) -> Lean:
    """A Lean with `serq-exec` compiled."""
    found = ensure_lean(Reporter(), package=package)
    assert found.build(package, ["Main"]).ok
    return found


def made(program: ir.Program) -> Executable:
    result = executable(program).result
    assert isinstance(result, Executable), result
    return result


# --- the comparison itself ----------------------------------------------------------------------

STEP = Step(0, ((0, 4), (1, 2)), ((0, 0),), (), (12,))


@pytest.mark.parametrize(
    ("changed", "where"),
    [
        (Step(1, STEP.batch, STEP.admitted, (), (12,)), "iteration 0 (start 0): start"),
        (Step(0, STEP.batch[::-1], STEP.admitted, (), (12,)), "iteration 0 (start 0): batch"),
        (Step(0, STEP.batch, ((0, 16),), (), (12,)), "iteration 0 (start 0): admitted"),
        (Step(0, STEP.batch, STEP.admitted, (1,), (12,)), "iteration 0 (start 0): preempted"),
        (Step(0, STEP.batch, STEP.admitted, (), (11,)), "iteration 0 (start 0): free"),
    ],
)
def test_the_first_difference_is_shown(changed: Step, where: str) -> None:
    """Whatever differs in a step is named, with both values; the order of serving counts."""
    found = first_difference(StepTrace((STEP,)), StepTrace((changed,)))
    assert found is not None
    assert found.where == where
    assert first_difference(StepTrace((STEP,)), StepTrace((STEP,))) is None


def test_a_missing_step_is_a_difference() -> None:
    """A trace that stops early differs at the first step it lacks."""
    found = first_difference(StepTrace((STEP, STEP)), StepTrace((STEP,)))
    assert found == Difference("iteration 1", STEP, "none")


def test_an_observation_is_compared_by_session() -> None:
    """Observations are sequences of (time, value) for each name and session."""
    ours = StepTrace((), {("a", 0): ((1, 5), (2, 5))})
    theirs = StepTrace((), {("a", 0): ((1, 5), (2, 6))})
    found = first_difference(ours, theirs)
    assert found is not None
    assert "observation `a` 1 of session 0" in str(found)


# --- both sides ---------------------------------------------------------------------------------


@pytest.mark.slow
def test_random_programs_agree(lean: Lean, package: LeanPackage) -> None:
    """200 random programs of the fragment take the same steps in the interpreter and in Lean."""
    cases = [(p, made(p)) for p in map(random_program, range(COUNT))]
    theirs = executed(lean, package, cases)
    different = {}
    for seed, ((program, _), trace) in enumerate(zip(cases, theirs, strict=True)):
        found = first_difference(interpreted(program), trace)
        if found is not None:
            different[seed] = str(found)
    assert different == {}
    assert sum(len(t.steps) for t in theirs) > 20 * COUNT
    assert sum(len(s.preempted) for t in theirs for s in t.steps) > COUNT // 10


@pytest.mark.slow
def test_the_kernel_agrees(lean: Lean, package: LeanPackage, tmp_path: Path) -> None:
    """The kernel, which evaluates the definitions itself, finds the interpreter's steps too."""
    path = ROOT / "tests" / "corpus" / "lean-nested_family_holds.sq"
    nested = from_file_text(path.read_text(), path.name).compile()
    right = {
        "Nested": of_interpreter("nested", nested, 12),
        "Stations": of_interpreter("stations", random_program(1000), 20),
        "Engine": of_interpreter("engine", random_program(1004), 20),
    }
    assert len(right["Engine"].steps) > 10
    first, *others = right["Engine"].steps
    (session, tokens), *batch = first.batch
    wrong = replace(first, batch=((session, tokens + 1), *batch))
    false = replace(right["Engine"], name="wrong", steps=(wrong, *others))
    result = evaluate(lean, package, {**right, "Wrong": false}, tmp_path)
    assert {m.module: m.ok for m in result.modules} == {
        "Nested": True,
        "Stations": True,
        "Engine": True,
        "Wrong": False,
    }


@pytest.mark.slow
def test_the_scenarios_agree(lean: Lean) -> None:
    """The scenarios that vLLM's scheduler is held against take the same steps in Lean."""
    names = ("alone", "cache_trace", "chunked", "hol", "longchunk", "mixed", "preempt", "seqcap")
    files = [str(ROOT / "oracle" / f"{n}.json") for n in names]
    done = CliRunner().invoke(main, ["lean", "compare", "--json", *files], catch_exceptions=False)
    assert done.exit_code == 0, done.output
    rows = json.loads(done.stdout)
    assert [r["difference"] for r in rows] == [None] * len(names)
    assert [r["iterations"] for r in rows] == [48, 38, 8, 20, 4, 100, 60, 13]


@pytest.mark.slow
def test_translated_programs_are_lean(lean: Lean, package: LeanPackage, tmp_path: Path) -> None:
    """The Lean text of every translated program is accepted, at the types it claims to have."""
    parts = ["import Serq.Exec", "open Serq"]
    for seed in range(40):
        it = made(random_program(seed))
        parts += [
            f"def p{seed} : Block :=",
            lean_text.block(it.program),
            f"def d{seed} : Deployment :=",
            lean_text.deployment(it.deployment),
            f"def w{seed} : Workload :=",
            lean_text.workload(it.workload),
            f"example : p{seed}.wf = true := by decide +kernel",
        ]
    (tmp_path / "Random.lean").write_text("\n".join(parts) + "\n", encoding="utf-8")
    result = lean.builder(package, tmp_path / "out").build([tmp_path], ["Random"])
    assert result.ok, [str(m) for x in result.modules for m in x.errors][:3]


@pytest.mark.slow
def test_the_doctor_finds_a_working_lean(lean: Lean) -> None:
    """With a Lean there, the doctor's self-test passes and nothing is wrong."""
    done = CliRunner().invoke(main, ["lean", "doctor", "--json"], catch_exceptions=False)
    assert done.exit_code == 0, done.output
    facts = json.loads(done.stdout)
    assert facts["lean"] == lean.kind
    assert facts["problems"] == []
    assert len(facts["self-test"]) == 3
    assert all(": ok" in line for line in facts["self-test"])


@pytest.mark.slow
def test_a_lean_file_runs(lean: Lean, tmp_path: Path) -> None:
    """`serq lean run` runs a file's main with its arguments, and has its status."""
    file = tmp_path / "Hello.lean"
    file.write_text(
        "import Serq.IR\n"
        "def main (args : List String) : IO UInt32 := do\n"
        '  IO.println s!"{args} {(Serq.Expr.Num 3 == .Num 3 : Bool)}"\n'
        "  return 5\n"
    )
    command = [sys.executable, "-m", "serq", "lean", "run", str(file), "a", "--b"]
    done = subprocess.run(command, capture_output=True, text=True, cwd=tmp_path)
    assert done.returncode == 5, done.stderr
    assert done.stdout == "[a, --b] true\n"


def test_a_program_that_lean_cannot_run_is_refused(tmp_path: Path) -> None:
    """Comparing a program outside the fragment says why, at the line."""
    path = tmp_path / "p.sq"
    path.write_text(
        "fn main() {\n  stage s : ps(2);\n  workload { arrive batch(1); }\n"
        "  server { run s (cost(s, 1)); }\n}\n"
    )
    done = CliRunner().invoke(main, ["lean", "compare", "--horizon", "9", str(path)])
    assert done.exit_code == 1
    assert f"{path}:2:9" in done.stderr
    assert "processor-sharing" in done.stderr
