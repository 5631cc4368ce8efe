"""Every example runs, and its report is the one on record.

`SERQ_UPDATE_GOLDEN=1 pytest tests/test_examples.py` writes the reports anew.
"""

from __future__ import annotations

import json
import os
from functools import cache
from pathlib import Path

import peer
import pytest

import serq

ROOT = Path(__file__).parent.parent
EXAMPLES = ROOT / "examples"
GOLDEN = Path(__file__).parent / "golden" / "reports"

HORIZONS = {
    "single-turn/mg1.sq": 2000,
    "single-turn/ps.sq": 2000,
    "single-turn/arguments.sq": 2000,
    "multi-turn/closed.sq": 2000,
    "papers/dai_sarathi.sq": 5_000_000,
    "papers/dai_fastertransformer.sq": 5_000_000,
    "papers/bari_rad.sq": 5_000_000,
    "papers/kong_svf.sq": 5_000_000,
    "claims/no_preemption.sq": 20_000_000,
    "replay/vllm_replay.sq": 500,
    "oracle/vllm_request.sq": 200,
    "oracle/vllm_priority.sq": 200,
}
"""Horizon of an example's golden report, where it is not the usual 120 clock units."""

PROGRAMS = sorted(str(path.relative_to(EXAMPLES)) for path in EXAMPLES.rglob("*.sq"))


@cache
def _report(name: str) -> str:
    program = serq.compile(EXAMPLES / name, horizon=HORIZONS.get(name, 120))
    return serq.run(program).json()


@pytest.mark.parametrize("name", PROGRAMS)
def test_report_is_the_one_on_record(name: str) -> None:
    """An example gives the report that is committed beside the tests, in every field."""
    report = json.loads(_report(name))
    report.pop("serq_version")
    path = GOLDEN / Path(name).with_suffix(".json")
    if os.environ.get("SERQ_UPDATE_GOLDEN"):
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(json.dumps(report, indent=1) + "\n", encoding="utf-8")
    assert report == json.loads(path.read_text(encoding="utf-8"))


@peer.needs_peer
@pytest.mark.parametrize("name", PROGRAMS)
def test_the_reference_build_agrees(name: str) -> None:
    """An example has the IR and the report of the reference build, in every field."""
    horizon = HORIZONS.get(name, 120)
    ours = serq.compile(EXAMPLES / name, horizon=horizon).to_json()
    if json.loads(ours).get("extensions"):
        pytest.skip("says what version 13 of the IR cannot")
    assert ours == peer.compile(path=str(EXAMPLES / name), horizon=horizon)
    theirs = peer.run(path=str(EXAMPLES / name), horizon=horizon)
    assert peer.first_difference(_report(name), theirs) is None


def test_every_golden_report_has_its_example() -> None:
    """No report is kept of an example that is gone."""
    kept = {str(path.relative_to(GOLDEN).with_suffix(".sq")) for path in GOLDEN.rglob("*.json")}
    assert kept <= set(PROGRAMS)
