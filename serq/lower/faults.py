"""Where the passes report what is wrong: all independent faults of a program, once each."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from difflib import get_close_matches

from serq.diagnostics import Diagnostic, Severity, Span

Notes = Sequence[tuple[str, Span | None]]


@dataclass(frozen=True, slots=True)
class Frame:
    """One expansion a place stands in: what was expanded, and where it is used."""

    text: str
    span: Span


Frames = tuple[Frame, ...]


class Faults:
    """Collects diagnostics; the same fault of a body expanded twice is kept once."""

    def __init__(self) -> None:
        self._seen: set[tuple[str, str, object]] = set()
        self.errors: list[Diagnostic] = []
        self.warnings: list[Diagnostic] = []

    def error(
        self,
        code: str,
        message: str,
        span: Span | None,
        *,
        help: str | None = None,
        notes: Notes = (),
        frames: Frames = (),
        where: str | None = None,
    ) -> None:
        """Record a fault at ``span``; ``frames`` (outermost first) become notes."""
        used = tuple((frame.text, frame.span) for frame in reversed(frames))
        self.add(Diagnostic(code, message, span, where, help, tuple(notes) + used))

    def add(self, diagnostic: Diagnostic) -> None:
        span = diagnostic.span
        place = (span.source.name, span.start, span.end) if span else diagnostic.where
        key = (diagnostic.code, diagnostic.message, place)
        if key in self._seen:
            return
        self._seen.add(key)
        if diagnostic.severity is Severity.WARNING:
            self.warnings.append(diagnostic)
        else:
            self.errors.append(diagnostic)

    def warn(self, code: str, message: str, span: Span, *, help: str | None = None) -> None:
        self.add(Diagnostic(code, message, span, None, help, (), Severity.WARNING))


def in_order(diagnostics: Iterable[Diagnostic], first: str) -> list[Diagnostic]:
    """By place: the source called ``first``, then the others by name, then those with no place."""

    def place(d: Diagnostic) -> tuple[int, str, int]:
        if d.span is None:
            return 2, d.where or "", 0
        name = d.span.source.name
        return (0 if name == first else 1), name, d.span.start

    return sorted(diagnostics, key=place)


def closest(name: str, candidates: Iterable[str]) -> str | None:
    """The candidate that ``name`` is most likely a misspelling of."""
    found = get_close_matches(name, sorted(set(candidates)), n=1, cutoff=0.6)
    return found[0] if found else None
