"""Hand-computed expectations about small programs: what they are written and checked with.

A test gives a program and, as a table, what each observation must record: (session, value) in
the order of recording; most observations record ``now``. The program runs in our interpreter in
debug mode, with the fast path and without, and in the reference build where it is installed,
whose samples must be the table's too and whose report must be ours in every field.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import peer
import pytest

from serq import interp
from serq.api import Overrides, load
from serq.interp.report import Report

Table = Sequence[tuple[int, float]]


def by_session(*values: float) -> str:
    """An expression: the first value in session 0, the second in session 1, …"""
    text = str(values[-1])
    for i in range(len(values) - 2, -1, -1):
        text = f"serial == {i} ? {values[i]} : ({text})"
    return f"({text})"


def batch(
    items: str, server: str, *, more: str = "", session: str = "tool (at); turn;",
    **attributes: Sequence[float],
) -> str:  # fmt: skip
    """A program whose sessions are given: each attribute has one value for each session.

    Session i waits ``at`` (0 where it is not given) and then makes one request. Stage ``d`` is a
    delay. ``more`` stands after the server: gauges, claims.
    """
    count = max((len(values) for values in attributes.values()), default=1)
    given = {"at": [0] * count, **attributes}
    sets = " ".join(f"set {name} = {by_session(*values)};" for name, values in given.items())
    return f"""
    fn main() {{
      stage d : delay;
      {items}
      workload {{
        arrive batch({count});
        init {{ {sets} }}
        session {{ {session} }}
      }}
      server {{ {server} }}
      {more}
    }}"""


def run(source: str, horizon: float, *, fast: bool = True, **settings: Any) -> Report:
    """The program's report by our interpreter, every invariant checked after every event."""
    loaded = load(source=source, overrides=Overrides(horizon=float(horizon), **settings))
    return interp.run(loaded.program, source_map=loaded.source_map, debug=True, fast=fast)


def check(
    source: str, horizon: float, *, reference: bool = True, client: bool = False,
    settings: dict[str, Any] | None = None, **tables: Table,
) -> Report:  # fmt: skip
    """Run the program and hold its observations (its client's too) against the tables.

    ``reference`` is False where the language document decides against the reference build.
    """
    given = settings or {}
    report = run(source, horizon, **given)
    observed = {**report.observes, **(report.client if client else {})}
    for name, table in tables.items():
        seen = observed[name]
        _same(name, table, zip(seen.sessions, seen.samples, strict=True))
    assert report.json() == run(source, horizon, fast=False, **given).json()
    if reference and peer.AVAILABLE:
        theirs = peer.samples(source, horizon=horizon, **given)
        columns = {**theirs["observes"], **(theirs["client"] if client else {})}
        for name, table in tables.items():
            values, _, sessions, _ = columns[name]
            _same(f"{name} of the reference", table, zip(sessions, values, strict=True))
        assert peer.first_difference(report.json(), theirs["report"]) is None
    return report


def _same(name: str, table: Table, rows: Any) -> None:
    got = [(int(s), float(v)) for s, v in rows]
    want = [(s, pytest.approx(v, abs=1e-9)) for s, v in table]
    assert got == want, name


def refused(source: str, horizon: float, **settings: Any) -> str:
    """The text of the error that ends the run; the reference build refuses the run as well."""
    with pytest.raises(ValueError) as caught:
        run(source, horizon, **settings)
    if peer.AVAILABLE:
        with pytest.raises(peer.Refused):
            peer.run(source, horizon=horizon, **settings)
    return str(caught.value)
