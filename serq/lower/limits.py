"""How far the definitions, turns and aggregates of a program may expand."""

from __future__ import annotations

from dataclasses import dataclass

from serq.diagnostics import Span

MAX_STEPS = 4_000_000
"""Expressions looked at while a program is expanded, definitions put in."""

MAX_NODES = 1_000_000
"""Expression nodes of the finished IR."""

MAX_STATEMENTS = 200_000
"""Statements of the finished IR."""


class TooLarge(Exception):
    """A program expands beyond a limit at the place ``span``."""

    def __init__(self, span: Span) -> None:
        super().__init__(span)
        self.span = span


@dataclass(slots=True)
class Budget:
    """What is left of each limit."""

    steps: int = MAX_STEPS
    nodes: int = MAX_NODES
    statements: int = MAX_STATEMENTS

    def step(self, span: Span) -> None:
        self.steps -= 1
        if self.steps < 0:
            raise TooLarge(span)

    def node(self, span: Span) -> None:
        self.nodes -= 1
        if self.nodes < 0:
            raise TooLarge(span)

    def statement(self, span: Span) -> None:
        self.statements -= 1
        if self.statements < 0:
            raise TooLarge(span)
