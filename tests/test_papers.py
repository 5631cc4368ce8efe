"""The papers' programs, run: the numbers that their specification gives.

Every number is from ``spec/papers.md`` (*Expected runs* and *computed here*), none from a run of
ours.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import pytest

from serq import interp
from serq.api import Overrides, load
from serq.interp.report import Report

PAPERS = Path(__file__).parent.parent / "examples" / "papers"
SARATHI, FASTER = "dai_sarathi", "dai_fastertransformer"


@dataclass
class Batches:
    """What of every iteration the claims read, taken as it starts."""

    rows: list[dict[str, float]] = field(default_factory=list)

    def iteration(self, engine: Any, batch: Any) -> None:
        names = ("start", "tokens", "decodes", "residents", "demand", "served")
        self.rows.append({name: getattr(batch, name) for name in names})
        self.rows[-1]["arrived"] = engine.machine.arrived

    def preemption(self, machine: Any, victim: Any) -> None:
        raise AssertionError("nobody is preempted in these programs")

    def columns(self, *names: str) -> list[tuple[float, ...]]:
        return [tuple(row[name] for name in names) for row in self.rows]


def run(source: str, **settings: Any) -> tuple[Report, Batches]:
    """A program's report and its iterations."""
    loaded = load(source=source, overrides=Overrides(**settings))
    batches = Batches()
    return interp.run(loaded.program, record=batches), batches


def text(name: str, *changes: tuple[str, str]) -> str:
    """A paper's program, with some of its text changed in one place each."""
    source = (PAPERS / f"{name}.sq").read_text(encoding="utf-8")
    for old, new in changes:
        assert source.count(old) == 1, old
        source = source.replace(old, new)
    return source


# --- Dai, Deng, Li, Peng ------------------------------------------------------------------------


@pytest.mark.parametrize("name", [SARATHI, FASTER])
def test_dai_iterations(name: str) -> None:
    """Each program makes 1 060 iterations to time 5 000 000, of the same first four batches."""
    report, batches = run(text(name), horizon=5_000_000.0)
    assert report.stages[0].iterations == len(batches.rows) == 1060
    assert report.arrivals == 106
    first = [(46750, 128, 290), (51425, 128, 162), (56100, 34, 34), (60775, 1, 1)]
    assert batches.columns("start", "tokens", "demand")[:4] == first


def test_sarathi_keeps_its_claims() -> None:
    """All three claims hold, and the backlog is 50 380 tokens at most."""
    report, batches = run(text(SARATHI), horizon=5_000_000.0)
    assert {c.result for c in report.claims.values()} == {"holds"}
    assert max(1280 * row["arrived"] - row["served"] for row in batches.rows) == 50380
    at = [row for row in batches.columns("start", "tokens", "demand") if row[0] >= 93500][:3]
    assert [row[1:] for row in at] == [(128, 291), (128, 164), (37, 37)]


def test_fastertransformer_is_not_work_conserving() -> None:
    """The witness is the batch at 93 500: one token of 291, the first of 1 047 such batches."""
    report, batches = run(text(FASTER), horizon=5_000_000.0)
    witness = report.claims["not_work_conserving"]
    assert (witness.result, witness.first) == ("witnessed", 93500)
    assert report.claims["token_rate"].result == "holds"
    short = [row for row in batches.rows if row["demand"] >= 128 and row["tokens"] < 128]
    assert len(short) == 1047
    assert (short[0]["start"], short[0]["demand"], short[0]["tokens"]) == (93500, 291, 1)


@pytest.mark.parametrize(
    ("name", "iterations", "responses", "end"),
    [
        (SARATHI, 1013, [4642275, 4642275, 4642275], 4782525),
        (FASTER, 2978, [4642275, 9237800, 13828650], 13968900),
    ],
)
def test_dai_with_three_sessions(
    name: str, iterations: int, responses: list[int], end: int
) -> None:
    """Three sessions, to their end: iterations, responses, the last event, 3 840 tokens."""
    report, batches = run(text(name), horizon=1e9, arrivals=3)
    assert len(batches.rows) == iterations
    assert list(report.observes["response"].samples) == responses
    assert report.end == end
    assert sum(row["tokens"] for row in batches.rows) == 3840


# --- Bari, Hegde, de Veciana --------------------------------------------------------------------


def test_rad_with_three_sessions() -> None:
    """Tile by tile: prefills one after the other, decodes together."""
    sessions = {"vp": (256, 128, 128), "vd": (3, 2, 1), "at": (0, 1000, 20000)}
    values = {
        k: f"serial == 0 ? {a} : serial == 1 ? {b} : {c}" for k, (a, b, c) in sessions.items()
    }
    source = text(
        "bari_rad",
        ("arrive poisson(rate);", "arrive batch(3);"),
        ("      set t0 = now;\n", f"      set at = {values['at']};\n"),
        ("set vp = bcol * floor(~uniform(1, vpmax + 1));", f"set vp = {values['vp']};"),
        ("set vd = min(floor(~exp(200)) + 1, vdmax);\n    }",
         f"set vd = {values['vd']};\n    }}\n    session {{ tool (at); set t0 = now; turn; }}"),
    )  # fmt: skip
    report, batches = run(source, horizon=1e6)
    seen = batches.columns("start", "tokens", "decodes", "residents", "served")
    assert seen == [
        (0, 128, 0, 1, 0),
        (4640, 128, 0, 2, 128),
        (9280, 128, 0, 2, 256),
        (13920, 2, 2, 2, 384),
        (17930, 2, 2, 2, 386),
        (21940, 128, 0, 2, 388),
        (26580, 2, 2, 2, 516),
    ]
    seen_by = report.observes["response"]
    responses = dict(zip(map(int, seen_by.sessions), seen_by.samples, strict=True))
    assert responses == {0: 30590, 1: 20940, 2: 10590}
    assert {c.result for c in report.claims.values()} == {"holds"}


# --- Kong, Qi, Ye, Zhou -------------------------------------------------------------------------


def kong(count: int, s: str, o: str) -> dict[str, list[float]]:
    """The observations of a burst of requests."""
    source = text(
        "kong_svf",
        ("let N = 200; ", f"let N = {count};"),
        ("Size s = floor(~uniform(100, 2000));", f"Size s = {s};"),
        ("Size o = floor(~uniform(10, 500));", f"Size o = {o};"),
    )
    report, _ = run(source, horizon=1e6)
    assert report.claims["queueing_bound"].result == "holds"
    return {name: sorted(seen.samples) for name, seen in report.observes.items()}


def prefix_total(values: list[float]) -> float:
    """Σ of the sums of the k smallest."""
    return sum(sum(values[: k + 1]) for k in range(len(values)))


def test_kong_with_twelve_equal_requests() -> None:
    """Eight fit at once and end at 500, the other four at 1 000."""
    seen = kong(12, "2000", "500")
    assert seen["response"] == [500] * 8 + [1000] * 4
    assert (sum(seen["output"]), sum(seen["response"])) == (6000, 8000)
    assert sum(seen["vol"]) == 13_503_000
    assert prefix_total(seen["vol"]) == 87_769_500
    left = (20000 - 2500) * (8000 - 6000)
    assert (left, 2 * (87_769_500 - 13_503_000)) == (35_000_000, 148_533_000)


def test_kong_where_everybody_fits() -> None:
    """Twelve requests of four kinds fit together: nobody waits."""
    kinds = [(2400, 100), (100, 50), (2000, 500), (1000, 10)]
    s, o = (
        "".join(f"serial < {3 * i + 3} ? {kind[j]} : " for i, kind in enumerate(kinds)) + "0"
        for j in (0, 1)
    )
    seen = kong(12, s, o)
    assert seen["response"] == seen["output"]
    assert sum(seen["vol"]) == 4_159_890
    assert prefix_total(seen["vol"]) == 10_875_645
