"""Every program of the corpus gives the reference build's report and samples, on 3 seeds."""

from __future__ import annotations

from pathlib import Path

import peer
import pytest

import serq
from serq.diagnostics import SerqError
from serq.fuzz.results import Result, difference, of_reference, of_report

CORPUS = sorted((Path(__file__).parent / "programs").glob("*.sq"))
SEEDS = (1, 2, 3)
HORIZON, WARMUP = 60, 5


def _ours(path: Path, seed: int) -> Result | None:
    """Report and samples; None when the run ends in an error."""
    try:
        return of_report(serq.run(serq.compile(path, horizon=HORIZON, warmup=WARMUP, seed=seed)))
    except SerqError:
        return None


def _theirs(path: Path, seed: int) -> Result | None:
    try:
        return of_reference(peer.samples(path=str(path), horizon=HORIZON, warmup=WARMUP, seed=seed))
    except peer.Refused:
        return None


@peer.needs_peer
@pytest.mark.parametrize("path", CORPUS, ids=lambda path: path.stem)
def test_reports_equal_the_reference(path: Path) -> None:
    """Every field and every sample is the reference build's; where one run errs, both do."""
    for seed in SEEDS:
        ours, theirs = _ours(path, seed), _theirs(path, seed)
        assert (ours is None) == (theirs is None), f"seed {seed}: one of the two ends in an error"
        if ours is not None and theirs is not None:
            assert difference(ours, theirs) is None, f"seed {seed}"


@peer.needs_peer
def test_most_programs_run_to_the_end() -> None:
    """The comparison is of reports: at most a tenth of the corpus ends in an error."""
    erring = [path.stem for path in CORPUS if _ours(path, 1) is None]
    assert len(erring) <= len(CORPUS) // 10, erring
