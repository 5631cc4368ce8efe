"""Reading a trace: recorded sessions as comma-separated rows, one row per turn.

A row is ``session,turn,new,out,think`` with an optional sixth field ``forced``. Consecutive rows
of one session id form a session, its turns in file order; the turn field is not read. Blank
lines, lines that start with ``#`` and header lines, which start with ``session``, are skipped.
"""

from __future__ import annotations

import os
import re

from serq.diagnostics import Diagnostic, SerqError, Source, Span
from serq.files import read_text

Turn = tuple[float, float, float, float]
"""new, out, think, forced of one turn."""

COLUMNS = ("session", "turn", "new", "out", "think", "forced")
_FORM = "session,turn,new,out,think[,forced]"
_NUMBER = re.compile(
    r"[+-]?(?:inf|infinity|nan|(?:[0-9]+\.?[0-9]*|\.[0-9]+)(?:e[+-]?[0-9]+)?)",
    re.IGNORECASE | re.ASCII,
)


def read_trace(path: str | os.PathLike[str]) -> list[list[Turn]]:
    """The sessions of a trace file, each a list of turns (new, out, think, forced).

    Raises `SerqError` for a file that cannot be read, a broken row (with its line and column) and
    a trace without rows. Numbers are not checked further: a program that cannot use a value
    fails where it uses it.
    """
    return parse_trace(read_text(path, "trace"), os.fspath(path))


def parse_trace(text: str, name: str) -> list[list[Turn]]:
    """The sessions of a trace given as text; ``name`` is how errors call it."""
    sessions: list[list[Turn]] = []
    last: int | None = None
    start = 0
    for line in text.split("\n"):
        row = line.strip()
        if row and not row.startswith(("#", "session")):
            try:
                session, turn = _row(row)
            except _Broken as broken:
                raise _error(broken, Source(name, text), start, line) from None
            if session != last:
                sessions.append([])
                last = session
            sessions[-1].append(turn)
        start += len(line) + 1
    if not sessions:
        raise SerqError.of("trace-empty", f"the trace {name} has no row", help=f"add rows {_FORM}")
    return sessions


class _Broken(Exception):
    """A row that is no turn: the index of the field, or None when their number is wrong."""

    def __init__(self, column: int | None) -> None:
        self.column = column


def _row(row: str) -> tuple[int, Turn]:
    fields = row.split(",")
    if not 5 <= len(fields) <= 6:
        raise _Broken(None)
    values = [_number(fields, i) for i in (0, *range(2, len(fields)))]
    new, out, think = values[1:4]
    return _whole(values[0]), (new, out, think, values[4] if len(values) == 5 else 0.0)


def _number(fields: list[str], column: int) -> float:
    text = fields[column].strip()
    plain = text.isdecimal() and text.isascii()
    if plain or _NUMBER.fullmatch(text):  # float() alone takes more than numbers
        return float(text)
    raise _Broken(column)


def _whole(x: float) -> int:
    """A session id as a whole number 0 … 2⁶⁴ − 1: cut off, NaN as 0."""
    if not x > 0.0:
        return 0
    return int(x) if x < 2.0**64 else 2**64 - 1


def _error(broken: _Broken, source: Source, start: int, line: str) -> SerqError:
    """The error for a broken row, which shows the field, or the row when fields are missing."""
    if broken.column is None:
        begin = start + len(line) - len(line.lstrip())
        count = line.count(",") + 1
        return SerqError(
            [
                Diagnostic(
                    "trace-row",
                    f"a row has 5 or 6 fields, this one has {count}",
                    span=Span(source, begin, begin + len(line.strip())),
                    help=f"write {_FORM}",
                )
            ]
        )
    fields = line.split(",")
    column = broken.column
    begin = start + sum(len(field) + 1 for field in fields[:column])
    field = fields[column]
    begin += len(field) - len(field.lstrip())
    text = field.strip()
    what = f"`{text}` is no number" if text else "the field is empty"
    if text.startswith("\ufeff"):
        what = "the file starts with a byte-order mark; save it as UTF-8 without one"
    return SerqError(
        [
            Diagnostic(
                "trace-row",
                f"column {column + 1} ({COLUMNS[column]}): {what}",
                span=Span(source, begin, begin + len(text)),
                help=f"a row is {_FORM}, all numbers",
            )
        ]
    )
