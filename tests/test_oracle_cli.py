"""``serq oracle``: what it prints, its exit status, recording, random scenarios."""

from __future__ import annotations

import json
from collections.abc import Iterator
from pathlib import Path
from types import TracebackType
from typing import Any

import pytest
from click.testing import CliRunner, Result
from oracle_cases import MUTANTS, Mutant, scenario, vllm_files

from serq.cli import main
from serq.cli import oracle as command
from serq.oracle import answer as answers
from serq.oracle import places, program, setup
from serq.oracle.answer import Answer
from serq.oracle.program import Text
from serq.oracle.scenario import Scenario, load


def oracle(*words: str | Path) -> Result:
    """The result of `serq oracle`, without Lean."""
    return CliRunner().invoke(main, ["oracle", "--no-lean", *map(str, words)])


class FakeDriver:
    """A scheduler's side that does what the programs do."""

    made: list[Any] = []  # noqa: RUF012

    def __init__(self, version: str, full: Path | None, say: object) -> None:
        self.version = version
        self.made.append((version, full))

    def answer(self, one: Scenario) -> Answer:
        found = program.answer(one, Text.read(program.choose(one)))
        return Answer("vllm", self.version, found.requests, found.steps, found.stuck)

    def __enter__(self) -> FakeDriver:
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        value: BaseException | None,
        trace: TracebackType | None,
    ) -> None: ...


@pytest.fixture
def fake(monkeypatch: pytest.MonkeyPatch) -> Iterator[type[FakeDriver]]:
    monkeypatch.setattr(command, "Driver", FakeDriver)
    FakeDriver.made.clear()
    yield FakeDriver


def written(mutant: Mutant, directory: Path) -> Path:
    """The mutant as a program file."""
    path = directory / "mutant.sq"
    path.write_text(mutant.text.source.text, encoding="utf-8")
    return path


def mutant(name: str) -> Mutant:
    return next(one for one in MUTANTS if one.name == name)


# --- against recorded answers ---------------------------------------------------------------------


@pytest.mark.parametrize("version", ["0.31.0", "0.32.0"])
def test_all_scenarios_offline(version: str) -> None:
    """Without arguments every scenario is compared; all are equal and the status is 0."""
    result = oracle("--recorded", "--vllm", version)
    assert result.exit_code == 0, result.output
    rows = result.stdout.splitlines()
    assert rows[0].split()[:2] == ["scenario", "policy"]
    assert len(rows) == 1 + len(places.scenarios())
    assert all(row.endswith("equal in every step") for row in rows[1:])


def test_a_difference_shows_both_states(tmp_path: Path) -> None:
    """A difference ends with status 1, its first step, and both schedulers side by side."""
    result = oracle("--recorded", "--program", written(mutant("no reserve"), tmp_path), "reserve")
    assert result.exit_code == 1
    lines = [line.split() for line in result.stdout.splitlines()]
    assert "differs, step 3: tokens per request" in result.stdout
    # Two of the first request's blocks are there before step 3; the mutant admits the second.
    assert ["before:", "running", "#0(8/9)", "#0(8/9)"] in lines
    assert ["before:", "waiting", "#1", "#1"] in lines
    assert ["tokens", "#0:1", "#1:3", "#0:1"] in lines
    assert ["admitted", "#1:cached", "0", "-"] in lines
    assert ["free", "blocks", "0", "1"] in lines


def test_json(tmp_path: Path) -> None:
    """`--json` has every scenario's verdict and the difference with both states."""
    result = oracle("--recorded", "--json", "--program", written(mutant("no reserve"), tmp_path),
                    "reserve", "seqcap")  # fmt: skip
    assert result.exit_code == 1
    document = json.loads(result.stdout)
    assert (document["equal"], document["failed"], document["against"]) == (1, 1, "vllm 0.31.0")
    first, second = document["scenarios"]
    assert (first["scenario"], first["verdict"]) == ("reserve", "differs")
    assert first["difference"]["step"] == 3
    assert first["difference"]["program"] == [[0, 1], [1, 3]]
    assert first["difference"]["scheduler"] == [[0, 1]]
    assert first["difference"]["state"]["scheduler"] == {
        "running": [[0, 8, 9]],
        "waiting": [1],
        "free": 1,
    }
    assert (second["verdict"], second["difference"], second["steps"]) == ("equal", None, 13)


def test_what_is_outside_is_named() -> None:
    """A difference after a broken precondition is no failure; its name and words are printed."""
    result = oracle("--recorded", "--vllm", "0.30.0", "alone")
    assert result.exit_code == 0
    assert "outside `cap-of-one`" in result.stdout
    assert "cap-of-one: no chunk cap before vLLM 0.31.0" in result.stdout


def test_a_program_that_does_not_fit(tmp_path: Path) -> None:
    """A program that lacks what the scenario gives fails that scenario, and says why."""
    result = oracle("--recorded", "--program", places.program("oracle/vllm_request.sq"),
                    "cache_trace")  # fmt: skip
    assert result.exit_code == 1
    assert "the program fails: the scenario `cache_trace` gives its requests `prefix`" in (
        result.stdout
    )


@pytest.mark.parametrize(
    ("words", "status", "message"),
    [
        (["nothing"], 1, "no scenario `nothing`"),
        (["gone.json"], 1, "gone.json"),
        (["--recorded", "--record"], 2, "makes none"),
        (["--recorded", "--random", "3"], 2, "makes none"),
        (["--random", "3", "hol"], 2, "its own scenarios"),
        (["--recorded", "--vllm", "0.1", "hol"], 1, "no recorded answer hol.0.1.json"),
        (["--random", "0"], 2, "0 is not in the range"),
        (["--program", "gone.sq"], 1, "gone.sq"),
    ],
)
def test_mistakes(words: list[str], status: int, message: str, fake: object) -> None:
    """Mistakes end with status 2 for the command line and 1 for files, with nothing printed."""
    result = oracle(*words)
    assert result.exit_code == status
    assert message in result.stderr
    assert result.stdout == ""


# --- with a scheduler -----------------------------------------------------------------------------


def test_record(tmp_path: Path, fake: type[FakeDriver]) -> None:
    """`--record` stores the answer beside the scenario, under the version, and is read back."""
    path = tmp_path / "mine.json"
    path.write_text(scenario("pair").to_text())
    assert oracle("--record", "--vllm", "1.2.3", path).exit_code == 0
    assert fake.made == [("1.2.3", None)]
    stored = answers.load(tmp_path / "recorded" / "mine.1.2.3.json")
    assert stored.version == "1.2.3" and stored.preemptions == 3
    assert oracle("--recorded", "--vllm", "1.2.3", path).exit_code == 0


def test_a_full_installation(fake: type[FakeDriver]) -> None:
    """`--full PYTHON` has that interpreter's vLLM answer, `--full` alone serQ's own."""
    assert oracle("--full", "/opt/vllm/bin/python", "hol").exit_code == 0
    assert fake.made == [("0.31.0", Path("/opt/vllm/bin/python"))]


def test_random(fake: type[FakeDriver]) -> None:
    """`--random` compares that many scenarios and counts them by policy and cache."""
    result = oracle("--random", "12", "--seed", "3", "--json")
    assert result.exit_code == 0
    document = json.loads(result.stdout)
    assert document["scenarios"] == sum(row["scenarios"] for row in document["results"]) == 12
    assert {row["result"] for row in document["results"]} == {"equal"}
    text = oracle("--random", "12", "--seed", "3", "--policy", "fcfs").stdout
    assert text.startswith("12 random scenarios (seed 3) against vllm 0.31.0: ")
    assert "priority" not in text


def test_random_differences_are_shrunk_and_saved(
    tmp_path: Path, fake: type[FakeDriver], monkeypatch: pytest.MonkeyPatch
) -> None:
    """A difference on a random scenario is shrunk, saved as a scenario, and still differs."""

    def answer(self: FakeDriver, one: Scenario) -> Answer:
        found = program.answer(one, Text.read(program.choose(one)))
        late = [s.step for s in found.steps if len(s.tokens) > 1]
        steps = [s for s in found.steps if not late or s.step != late[0]]  # it skips such a step
        return Answer("vllm", "0.31.0", found.requests, tuple(steps), found.stuck)

    monkeypatch.setattr(FakeDriver, "answer", answer)
    result = oracle("--random", "4", "--policy", "fcfs", "--save", tmp_path / "found")
    assert result.exit_code == 1
    saved = sorted((tmp_path / "found").glob("random-1-*.json"))
    assert saved
    for path in saved:
        one = load(path)
        assert len(one.requests) == 2 and one.chunk == 0 and not one.prefix_caching
        assert oracle(path).exit_code == 1
    assert f"saved {saved[0]}" in result.stderr


def test_setup_tells_where(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    """`--setup` fetches and names the directory, and runs nothing."""
    monkeypatch.setattr(setup, "ensure", lambda version, say: tmp_path / version)
    result = oracle("--setup", "--vllm", "0.32.0")
    assert result.exit_code == 0
    assert result.stdout == f"vLLM 0.32.0: {tmp_path / '0.32.0'}\n"


def test_live() -> None:
    """The real scheduler answers the command, where it can be had."""
    vllm_files()
    result = oracle("alone", "cache_trace", "replay", "many_priority")
    assert result.exit_code == 0, result.output
    assert result.stdout.count("equal in every step") == 4
