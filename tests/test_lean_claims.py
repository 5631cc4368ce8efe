"""Claims that are false: mutated programs, refused by the interpreter's path and by Lean."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from serq.api import Overrides, load
from serq.interp import run
from serq.leangen.claims import camel, claims
from serq.leangen.generate import DIRECTORIES, Ledger
from serq.leangen.own import Own, prove_own
from serq.toolchain.lean import ensure_lean
from serq.toolchain.places import lean_package
from serq.toolchain.progress import Reporter

ROOT = Path(__file__).resolve().parents[1]
MUTANTS: list[dict[str, Any]] = json.loads(
    (ROOT / "examples" / "papers" / "mutants.json").read_text(encoding="utf-8")
)


PROVED = [m for m in MUTANTS if Ledger.read(ROOT).status(m["program"], m["claim"]) == "proved"]
"""Those with a proof that Lean must refuse."""


def mutated(mutant: dict[str, Any]) -> str:
    """The program's text with the mutant's changes, each of which must fit in one place."""
    paths = [ROOT / directory / f"{mutant['program']}.sq" for directory in DIRECTORIES]
    (path,) = (path for path in paths if path.exists())
    text = path.read_text(encoding="utf-8")
    for old, new in mutant["change"]:
        assert text.count(old) == 1, old
        text = text.replace(old, new)
    return text


def name(mutant: dict[str, Any]) -> str:
    return f"{mutant['program']}.{mutant['claim']}"


@pytest.mark.parametrize("mutant", MUTANTS, ids=map(name, MUTANTS))
def test_a_mutated_program_breaks_its_claim(mutant: dict[str, Any]) -> None:
    """The interpreter finds a path on which the mutated program's claim is false."""
    loaded = load(source=mutated(mutant), overrides=Overrides(horizon=float(mutant["horizon"])))
    claim = run(loaded.program).claims[mutant["claim"]]
    some = claim.kind == "some_iteration"
    assert claim.result == ("not_witnessed" if some else "fails"), mutant["why"]
    assert claims(loaded.program).claimed is not None


def test_every_claim_has_a_mutant() -> None:
    """No claim is without a program for which it is false."""
    assert {(m["program"], m["claim"]) for m in MUTANTS} == set(Ledger.read(ROOT).entries())


@pytest.mark.slow
@pytest.mark.parametrize("mutant", PROVED, ids=map(name, PROVED))
def test_lean_refuses_the_proof_of_a_mutated_program(
    mutant: dict[str, Any], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The proof of a claim does not prove the mutated program's."""
    package = lean_package()
    lean = ensure_lean(Reporter(), package=package)
    monkeypatch.setenv("SERQ_CACHE", str(tmp_path / "cache"))
    path = tmp_path / f"{mutant['program']}.sq"
    path.write_text(mutated(mutant), encoding="utf-8")
    proofs = package.source / "Serq" / "Papers" / f"{camel(mutant['program'])}.lean"
    path.with_suffix(".lean").write_text(proofs.read_text(encoding="utf-8"), encoding="utf-8")
    outcome = prove_own(Own(path, float(mutant["horizon"])), package, lean, Reporter(quiet=True))
    row = next(c for c in outcome.claims if c.name == mutant["claim"])
    assert row.status == "failed", row
    assert any(f.message.file == str(path.with_suffix(".lean")) for f in outcome.faults)
