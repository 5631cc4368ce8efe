"""Diagnostics: what is wrong with a program, where, and what to write instead."""

from __future__ import annotations

from bisect import bisect_right
from dataclasses import dataclass, field
from enum import StrEnum
from functools import cached_property


@dataclass(frozen=True)
class Source:
    """A program text and the name it is reported under."""

    name: str
    text: str

    @cached_property
    def _line_starts(self) -> list[int]:
        starts = [0]
        for i, ch in enumerate(self.text):
            if ch == "\n":
                starts.append(i + 1)
        return starts

    def position(self, offset: int) -> tuple[int, int]:
        """Line and column of a character offset, both counted from 1."""
        line = bisect_right(self._line_starts, offset)
        return line, offset - self._line_starts[line - 1] + 1

    def line(self, number: int) -> str:
        """The text of a line, counted from 1, without its end."""
        start = self._line_starts[number - 1]
        end = self.text.find("\n", start)
        return self.text[start : len(self.text) if end < 0 else end].rstrip("\r")


@dataclass(frozen=True, slots=True)
class Span:
    """Characters ``start`` to ``end`` (exclusive) of a source."""

    source: Source
    start: int
    end: int

    @property
    def text(self) -> str:
        return self.source.text[self.start : self.end]

    def to(self, other: Span) -> Span:
        """The span from the start of this one to the end of ``other``."""
        return Span(self.source, self.start, other.end)


class Severity(StrEnum):
    ERROR = "error"
    WARNING = "warning"


@dataclass(frozen=True, slots=True)
class Diagnostic:
    """One fault: a documented code, a sentence, a place, and what helps.

    ``where`` is the place in words where there is no span: a JSON path (``blocks[2][0]``), a
    settings flag, a construct's name. ``notes`` may each carry a span of their own (the other
    declaration of a duplicate, the body of a definition).
    """

    code: str
    message: str
    span: Span | None = None
    where: str | None = None
    help: str | None = None
    notes: tuple[tuple[str, Span | None], ...] = ()
    severity: Severity = Severity.ERROR


@dataclass
class SerqError(ValueError):
    """One or more errors that end a command with exit status 1."""

    diagnostics: list[Diagnostic] = field(default_factory=list)

    @classmethod
    def of(cls, code: str, message: str, **place: object) -> SerqError:
        """An error with a single diagnostic; ``place`` are further fields of `Diagnostic`."""
        return cls([Diagnostic(code, message, **place)])  # type: ignore[arg-type]

    def __str__(self) -> str:
        return "\n\n".join(render(d) for d in self.diagnostics)


def _caret_line(text: str, column: int, width: int) -> str:
    """Spaces (tabs kept, so that columns stay aligned) and carets under the span."""
    lead = "".join("\t" if ch == "\t" else " " for ch in text[: column - 1])
    return lead + "^" * max(1, min(width, len(text) - column + 1))


def _excerpt(span: Span) -> list[str]:
    line, column = span.source.position(span.start)
    text = span.source.line(line)
    gutter = f"{line} | "
    if len(text) > 200:  # a very long line is cut around the span
        cut = max(0, column - 60)
        text, column = text[cut : cut + 160], column - cut
    mark = _caret_line(text, column, span.end - span.start)
    return [gutter + text, " " * (len(gutter) - 2) + "| " + mark]


def render(diagnostic: Diagnostic) -> str:
    """The diagnostic as text: place, code and message, the source line with carets, help, notes."""
    head = f"{diagnostic.severity}[{diagnostic.code}]: {diagnostic.message}"
    span = diagnostic.span
    if span is not None:
        line, column = span.source.position(span.start)
        head = f"{span.source.name}:{line}:{column}: {head}"
    elif diagnostic.where is not None:
        head = f"{diagnostic.where}: {head}"
    out = [head]
    if span is not None:
        out += _excerpt(span)
    if diagnostic.help:
        out.append(f"help: {diagnostic.help}")
    for text, place in diagnostic.notes:
        if place is None:
            out.append(f"note: {text}")
        else:
            line, column = place.source.position(place.start)
            out.append(f"note: {place.source.name}:{line}:{column}: {text}")
            out += _excerpt(place)
    return "\n".join(out)
