"""The list of deliberate faults: each applies, and the page tells what noticed it."""

from __future__ import annotations

import importlib.util
import re
import sys
from pathlib import Path
from types import ModuleType

import pytest

ROOT = Path(__file__).parents[1]


def _module() -> ModuleType:
    spec = importlib.util.spec_from_file_location("mutants", ROOT / "tools" / "mutants.py")
    assert spec is not None
    assert spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    sys.modules["mutants"] = module
    spec.loader.exec_module(module)
    return module


MUTANTS = _module()
LISTED = MUTANTS.mutants()
PAGE = (ROOT / "docs" / "mutants.md").read_text(encoding="utf-8")


def test_there_are_forty_at_least() -> None:
    """Of both kinds: the interpreter's rules and the generator's."""
    kinds = [mutant.kind for mutant in LISTED]
    assert kinds.count("interpreter") >= 40
    assert kinds.count("generator") >= 10


@pytest.mark.parametrize("mutant", LISTED, ids=lambda mutant: mutant.name)
def test_a_mutant_applies(mutant) -> None:  # type: ignore[no-untyped-def]
    """Its old text stands in its file exactly once, and what it becomes is Python."""
    assert mutant.fault() is None
    text = (ROOT / mutant.file).read_text(encoding="utf-8")
    compile(text.replace(mutant.old, mutant.new), mutant.file, "exec")
    assert mutant.old != mutant.new


def test_an_old_text_that_is_gone_is_told(tmp_path: Path) -> None:
    """Gone, or there twice: the name of the mutant and its file are in the message."""
    path = tmp_path / "serq" / "a.py"
    path.parent.mkdir()
    path.write_text("x = 1\nx = 1\n")
    twice = MUTANTS.Mutant("m", "a test", "serq/a.py", "x = 1", "x = 2")
    gone = MUTANTS.Mutant("m", "a test", "serq/a.py", "y = 1", "y = 2")
    assert twice.fault(tmp_path) == "m: its old text stands 2 times in serq/a.py"
    assert gone.fault(tmp_path) == "m: its old text is no longer in serq/a.py"


def test_the_page_is_what_was_found() -> None:
    """docs/mutants.md is what docs/mutants.json gives, and every fault of the list is on it."""
    outcomes = MUTANTS.kept(LISTED)
    assert MUTANTS.page(outcomes) == PAGE
    rows = re.findall(r"^\| `([\w-]+)` \| (.*) \| (.*) \| (.*) \|$", PAGE, re.MULTILINE)
    told = {name: about for name, about, _, _ in rows}
    assert told == {one.mutant.name: one.mutant.about for one in outcomes}
    assert all(f"`{mutant.name}`" in PAGE for mutant in LISTED)


def test_nearly_all_are_noticed() -> None:
    """Of forty at least that were run, 38 of 40, and what nothing notices has a reason."""
    found = re.search(r"\*\*(\d+) of (\d+) faults are noticed\*\*", PAGE)
    assert found is not None
    caught, count = map(int, found.groups())
    assert count == len(MUTANTS.kept(LISTED)) >= 40
    assert caught * 40 >= 38 * count
    assert "not explained yet" not in PAGE


def test_the_budget_is_that_of_the_tests() -> None:
    """What the page says of `make test` is no more than the tests of the targets run."""
    from test_fuzz_reference import FIXED, FRESH
    from test_fuzz_targets import CASES

    from serq.oracle import places

    looked_at = {
        "reference": FIXED + FRESH,
        "lean": 2 * CASES["lean"],
        "vllm": len(places.scenarios()) + 2 * CASES["vllm"],
    }
    assert MUTANTS.BUDGET.keys() == looked_at.keys()
    assert all(MUTANTS.BUDGET[name] <= looked_at[name] for name in looked_at)


def test_the_tests_notice_nearly_all() -> None:
    """What nothing notices has a reason; of the rest one in forty may be beyond `make test`."""
    outcomes = MUTANTS.kept(LISTED)
    late = [
        one.mutant.name
        for one in outcomes
        if one.by is not None and one.after > MUTANTS.BUDGET.get(one.by, one.after)
    ]
    assert len(late) * 40 <= len(outcomes), late
    assert all(one.by is not None or one.mutant.excused for one in outcomes)
