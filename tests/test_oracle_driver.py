"""vLLM's own scheduler, live: the driver, the stand-ins, and random comparisons.

The tests of the scheduler run where its wheel is, or can be fetched; the others always.
"""

from __future__ import annotations

import json
import subprocess
import sys
import textwrap
from collections import Counter
from pathlib import Path

import pytest
from oracle_cases import MUTANTS, RECORDED, scenario, vllm_files

from serq.diagnostics import SerqError
from serq.oracle import answer as answers
from serq.oracle import correspondence, generate, places, program, vllm
from serq.oracle.check import Verdict, compare
from serq.oracle.program import Text
from serq.oracle.scenario import Scenario
from serq.oracle.vllm import Driver


def own(one: Scenario) -> answers.Answer:
    return program.answer(one, Text.read(program.choose(one)))


# --- the stand-ins --------------------------------------------------------------------------------


def under_stand_ins(tmp_path: Path, code: str) -> str:
    """What a program prints whose package ``pack`` has the one real module ``pack.real``."""
    (tmp_path / "pack").mkdir()
    (tmp_path / "pack" / "real.py").write_text(
        "import torch\nfrom pack.other import Base, wrap\n\n"
        "class Child(Base):\n    size: torch.Tensor | None = None\n\n"
        "@wrap\ndef plain(x):\n    return x + 1\n\n"
        "@wrap(level=2)\ndef called(x):\n    return x + 2\n"
    )
    script = f"import sys\nsys.path.insert(0, {str(places.root() / 'tools')!r})\nimport stand_in\n"
    script += f"stand_in.install({str(tmp_path)!r}, 'pack', ['pack.real'], ['torch'])\n"
    run = subprocess.run(
        [sys.executable, "-I", "-S", "-c", script + textwrap.dedent(code)],
        capture_output=True,
        text=True,
    )
    assert run.returncode == 0, run.stderr
    return run.stdout


def test_real_modules_run_beside_stand_ins(tmp_path: Path) -> None:
    """A real module subclasses, annotates with and is decorated by stand-ins, and still works."""
    out = under_stand_ins(
        tmp_path,
        """
        from pack import real
        print(real.plain(1), real.called(1), real.Child().size)
        import pack.missing.deeper
        print(isinstance(3, pack.missing.deeper.Thing))
        """,
    )
    assert out.split() == ["2", "3", "None", "False"]


def test_stand_ins_decide_nothing(tmp_path: Path) -> None:
    """Asked for truth, order, equality, arithmetic, a length or elements, a stand-in raises."""
    out = under_stand_ins(
        tmp_path,
        """
        import torch
        from stand_in import Inert
        made = torch.zeros(3)
        for it in (made, torch.zeros):
            for ask in (bool, len, list, int, abs, lambda x: x < 1, lambda x: 1 < x,
                        lambda x: x + 1, lambda x: 1 + x, lambda x: x * 2, lambda x: -x,
                        lambda x: 1 in x, lambda x: x and 1):
                try:
                    ask(it)
                except Inert as fault:
                    assert "torch" in str(fault)
                else:
                    print("decided", it, ask)
        for ask in (lambda x: x == 1, lambda x: x != 1, lambda x: x[0]):
            try:
                ask(made)
            except Inert:
                continue
            print("decided", ask)
        """,
    )
    assert out == ""


def test_missing_real_modules_are_errors(tmp_path: Path) -> None:
    """A module that must be real and is not there is an error, never a stand-in."""
    out = under_stand_ins(
        tmp_path,
        """
        stand_in.install("/nowhere", "gone", ["gone.real"], [])
        try:
            import gone.real
        except ModuleNotFoundError as fault:
            print(fault.name)
        """,
    )
    assert out.split() == ["gone.real"]


# --- the scheduler --------------------------------------------------------------------------------


@pytest.mark.parametrize("version", RECORDED)
def test_the_scheduler_does_what_was_recorded(version: str) -> None:
    """The installed scheduler still gives every recorded answer."""
    vllm_files(version)
    with Driver(version) as driver:
        for path in places.scenarios():
            found = driver.answer(scenario(path.stem))
            assert found == answers.load(places.recorded(path.stem, version)), path.stem


def test_random_scenarios_are_equal() -> None:
    """On random scenarios of both policies, cache on and off, every step is equal."""
    vllm_files()
    kinds: Counter[tuple[str, bool]] = Counter()
    with Driver() as driver:
        for number in range(60):
            one = generate.scenario(1, number)
            outcome = compare(one, own, driver.answer)
            assert outcome.verdict is not Verdict.DIFFERS, (one.name, outcome.difference)
            assert outcome.error is None
            kinds[one.policy, one.prefix_caching] += outcome.verdict is Verdict.EQUAL
    assert len(kinds) == 4 and min(kinds.values()) >= 5


def test_random_scenarios_catch_a_mutant() -> None:
    """Random scenarios alone find a broken rule."""
    vllm_files()
    mutant = next(one for one in MUTANTS if one.name == "requeue tail")
    with Driver() as driver:
        for number in range(200):
            one = generate.scenario(11, number, policy="fcfs")
            if program.choose(one).name != "vllm_request.sq":
                continue
            outcome = compare(one, lambda it: program.answer(it, mutant.text), driver.answer)
            if outcome.verdict is Verdict.DIFFERS:
                return
    pytest.fail("no random scenario shows the mutant")


def test_a_request_that_never_fits_is_stuck() -> None:
    """A request that can never fit is reported as stuck: admitted never, or preempted for ever."""
    files = vllm_files()
    head = {"block_size": 4, "num_blocks": 4, "budget": 32, "max_seqs": 2}
    too_long = head | {"requests": [{"prompt": 13, "out": 1}]}
    too_far = head | {"requests": [{"prompt": 8, "out": 9}]}
    waits = too_long | {"requests": [{"prompt": 2, "out": 2}, *too_long["requests"]]}  # type: ignore[misc]
    command = [sys.executable, "-I", "-S", str(places.driver()), "--files", str(files), "--serve"]
    lines = "".join(json.dumps(one) + "\n" for one in (too_long, too_far, waits))
    run = subprocess.run(command, input=lines, capture_output=True, text=True, check=True)
    first, second, third = (json.loads(line) for line in run.stdout.splitlines())
    assert (first["stuck"], first["steps"]) == (1, [])
    # It stops at its 13th token, for which there is no block.
    assert second["stuck"] is not None and second["requests"][0]["done"] is None
    assert third["requests"][0]["done"] == 2 and third["stuck"] == 3


def test_a_scenario_file_is_answered() -> None:
    """The driver answers scenario files as it stands, without serQ."""
    files = vllm_files()
    path = places.root() / "oracle" / "hol.json"
    command = [sys.executable, "-I", "-S", str(places.driver()), "--files", str(files), str(path)]
    run = subprocess.run(command, capture_output=True, text=True, check=True)
    found = answers.from_json(json.loads(run.stdout))
    assert found == answers.load(places.recorded("hol", "0.31.0"))


def test_a_faulty_scenario_ends_no_driver() -> None:
    """A scenario the scheduler fails on is an error, and the next one is answered."""
    vllm_files()
    broken = Scenario("broken", 16, 0, 32, 8, scenario("hol").sessions)
    with Driver() as driver:
        with pytest.raises(SerqError, match="vLLM's scheduler failed on `broken`"):
            driver.answer(broken)
        assert driver.answer(scenario("hol")).preemptions == 0


def test_cited_lines_hold() -> None:
    """Every line the correspondence cites still holds the words cited, at the version checked."""
    table = correspondence.load()
    findings = correspondence.check(vllm_files(table.version))
    moved = [f"{one.rule}: {one.sentence()}" for one in findings if not one.holds]
    assert not moved, "\n".join(moved)
    assert len(findings) >= 40


# --- without a scheduler --------------------------------------------------------------------------


def fake_driver(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, code: str) -> Driver:
    """A driver whose process is another script."""
    script = tmp_path / "driver.py"
    script.write_text(code)
    monkeypatch.setattr(vllm.setup, "ensure", lambda version, say: tmp_path)
    monkeypatch.setattr(places, "driver", lambda: script)
    return Driver()


def test_a_driver_that_dies(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """A driver that ends early is an error with its last words."""
    with (
        fake_driver(tmp_path, monkeypatch, "raise SystemExit('no such scheduler')") as driver,
        pytest.raises(SerqError, match="ended: no such scheduler"),
    ):
        driver.answer(scenario("hol"))


def test_a_full_installation_that_is_not_there(tmp_path: Path) -> None:
    """`--full` with a Python that has no vLLM, or with no Python, is an error that says so."""
    with (
        Driver(full=Path(sys.executable)) as driver,
        pytest.raises(SerqError, match="no vllm installation in this Python"),
    ):
        driver.answer(scenario("hol"))
    with pytest.raises(SerqError, match="No such file"):
        Driver(full=tmp_path / "python")
