"""The place of a syntax error: the tokens around it and what would have fitted there."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from lark import Token

from serq.diagnostics import Diagnostic, Source, Span
from serq.syntax.lexer import shown


@dataclass(frozen=True, slots=True)
class Situation:
    """The token at ``index`` does not fit. ``begin`` is where the construct around it starts.

    ``expected`` are the terminals that would fit, ``spelling`` how each is written.
    """

    source: Source
    tokens: Sequence[Token]
    index: int
    begin: int
    expected: frozenset[str]
    spelling: Mapping[str, str]
    start: str  # what the text is read as: module, expression or instance

    def word(self, at: int) -> str:
        """The text of a token, empty outside of the text."""
        return str(self.tokens[at]) if 0 <= at < len(self.tokens) else ""

    def span(self, first: int, last: int | None = None) -> Span:
        """The span of a token, or of tokens ``first`` to ``last``."""
        if first >= len(self.tokens):
            end = len(self.source.text.rstrip())
            return Span(self.source, end, end)
        end = self.tokens[first if last is None else last].end_pos or 0
        return Span(self.source, self.tokens[first].start_pos or 0, end)

    def here(self, code: str, message: str, help: str | None) -> Diagnostic:
        """A diagnostic at the token that does not fit."""
        return Diagnostic(code, message, self.span(self.index), help=help)

    @property
    def found(self) -> str:
        if self.index >= len(self.tokens):
            return "the end of the text"
        return f"`{shown(str(self.tokens[self.index]))}`"
