"""The coverage table as JSON, as text of the documentation, and read back."""

from __future__ import annotations

import json
from collections import Counter
from collections.abc import Iterable
from typing import Any

from serq.fuzz.coverage.constructs import GROUPS
from serq.fuzz.coverage.measure import COLUMNS, Measured, Side
from serq.fuzz.reach import REACHES

EMPTY = "–"
"""A cell of nothing: a fact, so it is shown."""


SITUATIONS = "Situations of a run"
"""The last group: what runs reach, whatever the program says."""


def to_json(measured: Measured) -> str:
    """The counts, one side after the other, constructs in the order of the table."""
    document: dict[str, Any] = {"cases": measured.cases, "seed": measured.seed, "sides": {}}
    for name, side in measured.sides.items():
        document["sides"][name] = {
            "programs": side.programs,
            "missing": side.missing,
            "constructs": {
                construct: side.constructs[construct]
                for names in GROUPS.values()
                for construct in names
                if side.constructs[construct]
            },
            "situations": {n: side.situations[n] for n in REACHES if side.situations[n]},
        }
    return json.dumps(document, indent=1, ensure_ascii=False) + "\n"


def from_json(text: str) -> Measured:
    """What `to_json` wrote."""
    document = json.loads(text)
    return Measured(
        document["cases"],
        document["seed"],
        {
            name: Side(
                side["programs"],
                Counter(side["constructs"]),
                Counter(side["situations"]),
                side["missing"],
            )
            for name, side in document["sides"].items()
        },
    )


def rows(measured: Measured) -> dict[str, list[tuple[str, list[int]]]]:
    """Group → each construct with its count in every column, in the order of `COLUMNS`."""
    out = {
        group: [
            (name, [measured.sides[column].constructs[name] for column in COLUMNS])
            for name in names
        ]
        for group, names in GROUPS.items()
    }
    out[SITUATIONS] = [
        (name, [measured.sides[column].situations[name] for column in COLUMNS]) for name in REACHES
    ]
    return out


def uncovered(measured: Measured) -> list[str]:
    """What no column has."""
    return [name for group in rows(measured).values() for name, counts in group if not any(counts)]


def page(measured: Measured) -> str:
    """docs/coverage.md."""
    lines = [
        "# Coverage: which side has checked which construct",
        "",
        "<!-- written by `python -m serq.fuzz.coverage`: run it again, do not edit -->",
        "",
        "Each number is how many programs of a side use the construct; a dash is a construct that",
        "the side has not met. The programs are those of the tests, the examples, and random ones",
        f"(seed {measured.seed}, {measured.cases} of each kind), and only those that agree count.",
        "`serq fuzz --coverage` measures the table anew.",
        "",
        "| column | what is counted | programs |",
        "|---|---|---|",
    ]
    for name, about in COLUMNS.items():
        side = measured.sides[name]
        count = side.missing or str(side.programs)
        lines.append(f"| {name} | {about} | {count} |")
    lines.append("")
    nothing = uncovered(measured)
    lines += [
        "No side has met: " + ", ".join(_code(name) for name in nothing) + "."
        if nothing
        else "Every row has been met by some side.",
        "",
    ]
    for group, table in rows(measured).items():
        lines += [f"## {group}", "", _line(["", *COLUMNS]), _line(["---"] * (1 + len(COLUMNS)))]
        for name, counts in table:
            about = f"{name}: {REACHES[name]}" if group == SITUATIONS else _code(name)
            lines.append(_line([about, *(str(count) if count else EMPTY for count in counts)]))
        lines.append("")
    return "\n".join(lines)


def _code(name: str) -> str:
    return f"`{name}`" if "`" not in name else name


def _line(cells: Iterable[str]) -> str:
    return "| " + " | ".join(cell.replace("|", "\\|") for cell in cells) + " |"
