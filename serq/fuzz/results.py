"""Everything two runs gave, field by field: the report, and every sample and change point.

The reference build adds up the work waiting at a stage in no fixed order, and reads the eviction
keys of cached prefixes in none. Two runs of one program that reads the one, or draws in the
other, differ: in last digits, and in what these decide. `unexplained` says whether a run of ours
differs from it in more than it differs from itself.
"""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from math import isfinite
from typing import Any

from serq.fuzz.documents import Spelled, first_difference
from serq.interp.report import Observe, Report

Columns = Mapping[str, Sequence[Sequence[float]]]

SPREADS = 10.0
"""How far outside the reference's values a varying field may lie, in multiples of their spread.

A field that varies in its last digits may differ in its last digits, and no more.
"""


@dataclass(frozen=True)
class Result:
    """What a run gave: the report's JSON text, and the text of all samples and change points."""

    report: str
    samples: str

    def fields(self) -> dict[str, str]:
        """Every number, word and length by its path; the version of the writer is left out."""
        report = json.loads(self.report, parse_float=Spelled, parse_int=Spelled)
        report.pop("serq_version", None)
        samples = json.loads(self.samples, parse_float=Spelled, parse_int=Spelled)
        return dict(_leaves(report, "report")) | dict(_leaves(samples, "samples"))


def of_report(report: Report) -> Result:
    """What our own run gave."""
    return Result(
        report.json(),
        _text(
            {name: _columns(one) for name, one in report.observes.items()},
            {name: _columns(one) for name, one in report.client.items()},
            {
                name: [one.times.tolist(), one.values.tolist()]
                for name, one in report.gauges.items()
            },
        ),
    )


def of_reference(answer: Mapping[str, Any]) -> Result:
    """What the reference build's run gave (`serq.fuzz.reference.samples`)."""
    text = _text(answer["observes"], answer["client"], answer["gauges"])
    return Result(answer["report"], text)


def difference(ours: Result, theirs: Result) -> str | None:
    """The first field that differs, in words; None when there is none."""
    found = first_difference(ours.report, theirs.report)
    if found is not None:
        return f"report {found}"
    found = first_difference(ours.samples, theirs.samples)
    return None if found is None else f"samples {found}"


def unexplained(ours: Result, variants: Sequence[Result]) -> str | None:
    """A field of ours that no variation of the reference explains: its path, or None.

    ``variants`` are several runs of one program by the reference build. A field in which they
    are equal must be so in ours. One in which they vary must be as one of them has it, or a
    number that lies among theirs, give or take their spread.
    """
    fields = ours.fields()
    others = [variant.fields() for variant in variants]
    for path in dict.fromkeys([*others[0], *fields]):
        values = [other.get(path) for other in others]
        if fields.get(path) not in values and not _among(fields.get(path), values):
            return path
    return None


def _among(value: str | None, values: Sequence[str | None]) -> bool:
    """Whether a number lies where numbers that are not all the same lie."""
    if value is None or len(set(values)) == 1:
        return False
    numbers = [_number(other) for other in values]
    own = _number(value)
    known = [x for x in numbers if x is not None]
    if own is None or not known:
        return False
    room = SPREADS * (max(known) - min(known))
    return min(known) - room <= own <= max(known) + room


def _number(value: str | None) -> float | None:
    try:
        number = float(value)  # type: ignore[arg-type]
    except (TypeError, ValueError):
        return None
    return number if isfinite(number) else None


def _columns(one: Observe) -> list[list[float]]:
    return [one.samples.tolist(), one.times.tolist(), one.sessions.tolist(), one.turns.tolist()]


def _text(observes: Columns, client: Columns, gauges: Columns) -> str:
    """The samples as a document in which each column has its name."""
    columns = ("samples", "times", "sessions", "turns")
    named: dict[str, Any] = {
        part: {name: dict(zip(columns, one, strict=True)) for name, one in group.items()}
        for part, group in (("observes", observes), ("client", client))
    }
    named["gauges"] = {
        name: {"times": times, "values": values} for name, (times, values) in gauges.items()
    }
    return json.dumps(named)


def _leaves(value: Any, path: str) -> Iterator[tuple[str, str]]:
    if isinstance(value, dict):
        for key, inner in value.items():
            yield from _leaves(inner, f"{path}.{key}")
    elif isinstance(value, list):
        yield f"{path}.length", str(len(value))
        for i, inner in enumerate(value):
            yield from _leaves(inner, f"{path}[{i}]")
    else:
        yield path, str(value)
