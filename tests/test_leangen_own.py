"""Which of the library's compiled modules a program of one's own may use."""

from __future__ import annotations

from pathlib import Path

from serq.leangen.own import _link_library, _resting_on


def written(root: Path, texts: dict[str, str], suffix: str) -> Path:
    for name, text in texts.items():
        path = root / (name.replace(".", "/") + suffix)
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(text, encoding="utf-8")
    return root


def test_what_rests_on_a_replaced_module_is_not_used(tmp_path: Path) -> None:
    """A library module that imports a replaced one, directly or not, is not linked."""
    texts = {
        "Serq.Claims.Small": "",
        "Serq.Papers.Near": "import Serq.Claims.Small\n",
        "Serq.Papers.Far": "import Serq.Papers.Near\n",
        "Serq.Thm.Path": "import Serq.Exec\n",
    }
    library = written(tmp_path / "lean", texts, ".lean")
    compiled = written(tmp_path / "compiled", texts, ".olean")
    source = written(tmp_path / "own", {"Serq.Claims.Small": ""}, ".lean")
    resting = _resting_on(library, source)
    assert resting == {"Serq.Claims.Small", "Serq.Papers.Near", "Serq.Papers.Far"}
    out = tmp_path / "out"
    _link_library(compiled, out, resting)
    assert [p.relative_to(out).as_posix() for p in out.rglob("*.olean")] == ["Serq/Thm/Path.olean"]


def test_a_link_made_before_a_module_was_replaced_goes(tmp_path: Path) -> None:
    """A module linked by an earlier run is unlinked when the program replaces what it rests on."""
    texts = {"Serq.Claims.Small": "", "Serq.Papers.Near": "import Serq.Claims.Small\n"}
    compiled = written(tmp_path / "compiled", texts, ".olean")
    out = tmp_path / "out"
    _link_library(compiled, out, set())
    assert len(list(out.rglob("*.olean"))) == 2
    _link_library(compiled, out, {"Serq.Claims.Small", "Serq.Papers.Near"})
    assert not list(out.rglob("*.olean"))
