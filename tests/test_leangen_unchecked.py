"""Lean sources that can hide something from the audit: each is found, an ordinary proof is not."""

from __future__ import annotations

from pathlib import Path

import pytest

from serq.leangen.unchecked import resting_on, unchecked, unchecked_modules
from serq.toolchain.build import Graph

ROOT = Path(__file__).resolve().parents[1]


@pytest.mark.parametrize(
    ("text", "line", "word"),
    [
        (
            "set_option debug.skipKernelTC true in\ntheorem x : 1 = 2 := by decide +kernel",
            1,
            "skip",
        ),
        ("\n\nset_option debug.«skipKernelTC» true", 3, "skip"),
        ('def s := "/-"\nset_option debug.skipKernelTC true\ndef t := "-/"', 2, "skip"),
        ("def c := '\"'\nset_option debug.skipKernelTC true -- \"", 2, "skip"),
        ("import Lean", 1, "`Lean`"),
        ("import Serq.Claim\nimport Lean.Elab.Command", 2, "`Lean.Elab.Command`"),
        ("/- /- -/ -/ import Lean", 1, "`Lean`"),
        ("public import Std.Tactic", 1, "`Std.Tactic`"),
        ("import Serq.Audit", 1, "`Serq.Audit`"),
        ('/-! a macro -/\nmacro "cheat" : tactic => `(tactic| trivial)', 2, "`macro`"),
        ("local macro_rules", 1, "`macro_rules`"),
        ('notation "Serq.Claims.X.y" => True', 1, "`notation`"),
        ('@[simp] scoped infixl:65 " <= " => Nat.lt', 1, "`infixl`"),
    ],
)
def test_what_hides_from_the_audit_is_found(text: str, line: int, word: str) -> None:
    """Turned-off kernel checks, metaprograms, macros and notations are found at their line."""
    found = unchecked(text)
    assert found is not None
    assert found.line == line
    assert word in str(found)


@pytest.mark.parametrize(
    "text",
    [
        "import Serq.Claim\n/-- debug.skipKernelTC -/\ntheorem x : 1 = 1 := rfl -- import Lean",
        "theorem prefix.x (h : List.prefix a b) («macro» macro' : Nat) : a'.syntax = b := h",
        'local notation "n" => 3',
        "/- /- -/ macro -/ theorem x : 'a' = 'a' := rfl",
    ],
)
def test_an_ordinary_proof_is_judged(text: str) -> None:
    """Comments and names that look like commands are no reason to refuse a file."""
    assert unchecked(text) is None


def test_the_library_hides_nothing() -> None:
    """No module of the library has such a place."""
    graph = Graph([ROOT / "lean"])
    graph.add("Serq")
    assert unchecked_modules(graph) == {}


def test_what_imports_it_is_not_proved_either(tmp_path: Path) -> None:
    """Modules above such a file rest on it; others do not."""
    texts = {
        "A": "set_option debug.skipKernelTC true",
        "B": "import A",
        "C": "import B",
        "D": "",
        "E": "import C\nimport D",
    }
    for name, text in texts.items():
        (tmp_path / f"{name}.lean").write_text(text)
    graph = Graph([tmp_path])
    graph.add("E")
    assert resting_on(graph, unchecked_modules(graph)) == dict.fromkeys("ABCE", "A")
