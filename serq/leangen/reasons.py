"""What keeps a program out of the Lean fragment, and what its two executions depend on."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from typing import Protocol

from serq.diagnostics import Span


class Spans(Protocol):
    """Who knows where a node of the IR stands in the program's text."""

    def span_of(self, node: object) -> Span | None: ...

    def stmt_span(self, block: int, position: int) -> Span | None: ...


@dataclass(frozen=True, slots=True)
class StmtAt:
    """The statement ``blocks[block][position]``, where a reason is about no expression."""

    block: int
    position: int


@dataclass(frozen=True, slots=True)
class Reason:
    """A construct that is outside: where it is in the IR (and the text), and why."""

    path: str
    why: str
    span: Span | None = None

    def __str__(self) -> str:
        if self.span is None:
            return f"{self.path}: {self.why}"
        line, column = self.span.source.position(self.span.start)
        return f"{self.span.source.name}:{line}:{column}: {self.why}"


class Log:
    """Collects reasons and conditions while a program is translated.

    A *reason* keeps the program out. A *condition* does not: it is something that must hold on a
    path for the interpreter (which computes with doubles) and Lean (with naturals) to agree.
    """

    def __init__(self, spans: Spans | None = None) -> None:
        self.reasons: list[Reason] = []
        self.conditions: list[Reason] = []
        self._spans = spans

    def out(self, path: str, why: str, node: object = None) -> None:
        self._add(self.reasons, path, why, node)

    def condition(self, path: str, what: str, node: object = None) -> None:
        self._add(self.conditions, path, what, node)

    def _add(self, into: list[Reason], path: str, why: str, node: object) -> None:
        span = None
        if self._spans is not None and node is not None:
            if isinstance(node, StmtAt):
                span = self._spans.stmt_span(node.block, node.position)
            else:
                span = self._spans.span_of(node)
        reason = Reason(path, why, span)
        if reason not in into:
            into.append(reason)

    def mark(self) -> tuple[int, int]:
        return len(self.reasons), len(self.conditions)

    def forget(self, mark: tuple[int, int]) -> None:
        """Whatever was logged since ``mark`` is forgotten."""
        del self.reasons[mark[0] :]
        del self.conditions[mark[1] :]

    @contextmanager
    def forgetting(self) -> Iterator[None]:
        """Whatever is logged inside is forgotten."""
        mark = self.mark()
        yield
        self.forget(mark)
