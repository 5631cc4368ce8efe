"""``--dump DIR``: the samples and change points behind a report, as CSV files.

``DIR/NAME.csv`` and ``DIR/client/NAME.csv`` have the columns ``time,session,turn,value`` with one
line per counted sample in recording order, ``DIR/gauge/NAME.csv`` has ``time,value`` with the
change points of the whole run. Numbers are written in the digits that read back to them.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from math import isfinite
from pathlib import Path
from typing import TextIO

from serq.diagnostics import SerqError
from serq.files import Writer, write_files
from serq.interp.report import Gauge, Observe, Report, number


def dump(report: Report, directory: Path) -> None:
    """Write all files, or none. Raises `SerqError` when one cannot be written."""
    write_files(list(files(report, directory)))


def files(report: Report, directory: Path) -> Iterator[tuple[Path, Writer]]:
    """The paths of the files, and what writes each."""
    for observe in report.observes.values():
        yield directory / _file_name(observe.name), _samples(observe)
    for observe in report.client.values():
        yield directory / "client" / _file_name(observe.name), _samples(observe)
    for gauge in report.gauges.values():
        yield directory / "gauge" / _file_name(gauge.name), _changes(gauge)


def _file_name(name: str) -> str:
    """NAME.csv. Names of a program's text are words; an IR's may be anything."""
    if not re.fullmatch(r"\w+(\.\w+)*", name):
        raise SerqError.of(
            "unwritable-file",
            f"`{name}` cannot name a file of the dump",
            help="a name of letters, digits, `_` and `.` can",
        )
    return f"{name}.csv"


def _text(x: float) -> str:
    if isfinite(x):
        return number(x)
    return "NaN" if x != x else "inf" if x > 0 else "-inf"


def _samples(observe: Observe) -> Writer:
    def write(out: TextIO) -> None:
        out.write("time,session,turn,value\n")
        rows = zip(
            observe.times.tolist(),
            observe.sessions.tolist(),
            observe.turns.tolist(),
            observe.samples.tolist(),
            strict=True,
        )
        for time, session, turn, value in rows:
            out.write(f"{_text(time)},{session},{turn},{_text(value)}\n")

    return write


def _changes(gauge: Gauge) -> Writer:
    def write(out: TextIO) -> None:
        out.write("time,value\n")
        for time, value in zip(gauge.times.tolist(), gauge.values.tolist(), strict=True):
            out.write(f"{_text(time)},{_text(value)}\n")

    return write
