"""The correspondence: its table, its page, and how moved lines are found."""

from __future__ import annotations

import json
from dataclasses import replace
from pathlib import Path

import pytest
from click.testing import CliRunner

from serq.cli import main
from serq.oracle import correspondence, places, setup
from serq.oracle.correspondence import Citation, Rule, Table, check, digest, load, page

LINES = ["def f():", "    x = 1", "    return x", "", "def g():", "    return f()"]
CITED = Citation("vllm/f.py", 2, 3, digest(LINES[1:3]))
TABLE = Table("1.0", (Rule("f", "f gives 1 | 2.", "`g`", (CITED,), ("hol",)),), (), ())


def files(tmp_path: Path, lines: list[str]) -> Path:
    (tmp_path / "vllm").mkdir(exist_ok=True)
    (tmp_path / "vllm" / "f.py").write_text("\n".join(lines) + "\n")
    return tmp_path


def sentence(place: Path) -> str:
    (found,) = check(place, TABLE)
    assert found.holds is found.sentence().endswith("holds")
    return found.sentence()


def test_words_that_stand_where_they_are_cited_hold(tmp_path: Path) -> None:
    """A citation holds when its lines have the words cited, whatever their indentation."""
    assert sentence(files(tmp_path, LINES)) == "f.py:2-3 holds"
    assert sentence(files(tmp_path, [f"  {line}" for line in LINES])) == "f.py:2-3 holds"


def test_moved_words_are_found(tmp_path: Path) -> None:
    """Words that moved are found at their new lines, all of them."""
    assert sentence(files(tmp_path, ["# new", *LINES])) == "f.py:2-3 moved to 3-4"
    twice = ["# new", *LINES, *LINES[1:3]]
    assert sentence(files(tmp_path, twice)) == "f.py:2-3 moved to 3-4, 8-9"


def test_changed_words_are_named(tmp_path: Path) -> None:
    """Words that are nowhere, in a changed file or none, are said to have changed."""
    assert sentence(files(tmp_path, [*LINES[:1], "    x = 2", *LINES[2:]])) == "f.py:2-3 changed"
    assert sentence(tmp_path / "nowhere") == "f.py:2-3 changed"


def test_the_page_is_the_table() -> None:
    """The page in the documentation is the one the table makes."""
    path = places.root() / "docs" / "correspondence.md"
    assert path.read_text(encoding="utf-8") == page()


def test_cells_keep_to_their_column() -> None:
    """A bar in a rule's words does not end its cell."""
    row = next(line for line in page(TABLE).splitlines() if line.startswith("| f gives"))
    assert row == "| f gives 1 \\| 2. | `g` | `f.py:2-3` | `hol` |"


def test_rules_are_cited_and_checked() -> None:
    """Every rule has lines of vLLM and scenarios that come with serQ behind it."""
    names = {path.stem for path in places.scenarios()}
    table = load()
    assert len(table.rules) >= 15
    assert len({rule.name for rule in table.rules}) == len(table.rules)
    for rule in table.rules:
        assert rule.source and rule.checked
        assert set(rule.checked) <= names, rule.name
    for _, one in table.citations:
        assert one.first <= one.last and len(one.digest) == 16
    assert table.version in setup.VERSIONS


def test_no_words_of_vllm_are_kept() -> None:
    """The table keeps hashes of the lines cited, not the lines."""
    text = (places.root() / "tools" / "correspondence.toml").read_text(encoding="utf-8")
    for words in ("preempted_req", "token_budget", "self.running", "def "):
        assert words not in text


def test_the_command_names_moved_lines(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """`--sources` lists the places that moved; status 1 at the version that was checked."""
    place = files(tmp_path, ["# new", *LINES])
    monkeypatch.setattr(setup, "ensure", lambda version, say: place)
    monkeypatch.setattr(correspondence, "load", lambda: TABLE)
    run = CliRunner().invoke(main, ["oracle", "--sources", "--vllm", "1.0"])
    assert run.exit_code == 1
    assert run.stdout.splitlines() == [
        "1 places cited at vLLM 1.0, 1 not so in 1.0",
        "f: f.py:2-3 moved to 3-4",
    ]
    other = CliRunner().invoke(main, ["oracle", "--sources", "--vllm", "2.0", "--json"])
    assert other.exit_code == 0
    assert json.loads(other.stdout)["citations"] == [
        {"rule": "f", "file": "vllm/f.py", "lines": [2, 3], "holds": False, "now": [3]}
    ]
    held = replace(
        TABLE, rules=(replace(TABLE.rules[0], source=(replace(CITED, first=3, last=4),)),)
    )
    monkeypatch.setattr(correspondence, "load", lambda: held)
    assert CliRunner().invoke(main, ["oracle", "--sources", "--vllm", "1.0"]).exit_code == 0
