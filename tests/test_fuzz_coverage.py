"""The coverage table: what counts as a use, and that the page is the measured one."""

from __future__ import annotations

import json
from collections import Counter
from pathlib import Path

import pytest
from strategies import fragment_ir_programs, programs, station_programs

from serq.diagnostics import Source
from serq.fuzz.coverage.constructs import ALL, GROUPS, used, written
from serq.fuzz.coverage.measure import COLUMNS, Measured, Side, measure
from serq.fuzz.coverage.table import EMPTY, from_json, page, rows, to_json, uncovered
from serq.fuzz.drawn import drawn
from serq.fuzz.reach import REACHES
from serq.link import compile_text
from serq.settings import Settings
from serq.syntax.parser import parse

DOCS = Path(__file__).parents[1] / "docs"


def constructs(text: str) -> set[str]:
    source = Source("<t>", text)
    return used(compile_text(source, settings=Settings(horizon=9.0)).program) | written(
        parse(source)
    )


SMALL = "stage s : fifo; workload {{ arrive batch(2); }} server {{ {} run s (cost(s, 1)); }}"


@pytest.mark.parametrize(
    ("construct", "text"),
    [
        ("fifo (c)", "stage two : fifo(2); " + SMALL.format("")),
        ("observe", SMALL.format("observe x = now;")),
        ("now", SMALL.format("observe x = now;")),
        ("^", SMALL.format("set a = serial ^ 2;")),
        ("~h2", SMALL.format("set a = ~h2(1, 2);")),
        ("max over an index", SMALL.format("set a = max j in 3 (j);")),
        ("branch with", SMALL.format("branch with (0.5) { set a = 1; }")),
        ("let", "let k = 2; " + SMALL.format("set a = k;")),
        ("gauge", SMALL.format("") + " gauge g = queue(s);"),
        ("at end", SMALL.format("observe x = 1;") + " claim c : at end (count(x) > 1);"),
        ("evict by", "pool p { cap 3; evict by (size); } " + SMALL.format("")),
        ("a family of pools", "pool p[2] { cap 3; } " + SMALL.format("")),
    ],
)  # fmt: skip
def test_a_construct_is_seen(construct: str, text: str) -> None:
    """A program that uses it counts for it, and one without does not."""
    main = f"fn main() {{ {text} }}"
    if text.startswith("let"):
        head, _, rest = text.partition("; ")
        main = f"{head};\nfn main() {{ {rest} }}"
    assert construct in constructs(main)
    assert construct not in constructs("fn main() { stage other : delay; }")


def test_every_construct_that_is_seen_is_in_the_table() -> None:
    """What programs use has a row, so that nothing is counted and not shown."""
    for case in [*drawn(programs(), 5, 25), *drawn(station_programs(), 5, 10)]:
        assert constructs(case.text) <= ALL if case.trace is None else True
    for program in drawn(fragment_ir_programs(), 5, 10):
        assert used(program) <= ALL


def test_no_construct_is_listed_twice() -> None:
    """A name is one row."""
    names = [name for group in GROUPS.values() for name in group]
    assert len(names) == len(set(names))


def test_an_empty_cell_is_shown() -> None:
    """A construct that a side has not met is a dash, one that no side has met is told."""
    sides = {name: Side(1) for name in COLUMNS}
    sides["Lean"].constructs = Counter({"hold": 7})
    text = page(Measured(1, 2, sides))
    assert f"| `hold` | {EMPTY} | {EMPTY} | 7 | {EMPTY} | {EMPTY} |" in text
    assert f"| `fork` | {' | '.join([EMPTY] * 5)} |" in text
    assert "fork" in uncovered(Measured(1, 2, sides))
    assert "hold" not in uncovered(Measured(1, 2, sides))


def test_the_page_is_the_measured_table() -> None:
    """docs/coverage.md is what docs/coverage.json gives: `python -m serq.fuzz.coverage` writes
    both.
    """
    measured = from_json((DOCS / "coverage.json").read_text(encoding="utf-8"))
    assert (DOCS / "coverage.md").read_text(encoding="utf-8") == page(measured)
    assert from_json(to_json(measured)) == measured


def test_the_measured_table_has_the_constructs_of_today() -> None:
    """A new construct, column or situation wants a new measurement."""
    document = json.loads((DOCS / "coverage.json").read_text(encoding="utf-8"))
    assert list(document["sides"]) == list(COLUMNS)
    for side in document["sides"].values():
        assert set(side["constructs"]) <= ALL
        assert set(side["situations"]) <= set(REACHES)


def test_every_construct_is_checked_by_some_side() -> None:
    """Of the committed measurement: what no side has met is listed here, with the reason."""
    measured = from_json((DOCS / "coverage.json").read_text(encoding="utf-8"))
    assert set(uncovered(measured)) <= NOT_MET
    assert rows(measured)


NOT_MET: set[str] = set()
"""Constructs and situations that the measured programs did not meet."""


@pytest.mark.slow
def test_measuring_counts_programs_that_agree() -> None:
    """A small measurement: each side that is there has programs, and claims have theirs."""
    found = measure(4, 3)
    assert list(found.sides) == list(COLUMNS)
    for name, side in found.sides.items():
        if side.missing is None:
            assert side.programs > 0, name
            assert side.constructs
    assert found.sides["claim"].constructs["every iteration"] > 0
