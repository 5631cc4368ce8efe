"""What a target finds about one case."""

from __future__ import annotations

import re
from dataclasses import dataclass, field


@dataclass(frozen=True)
class Difference:
    """Two sides of a target disagree: where first, and each side's whole trace.

    ``kind`` names the disagreement without its numbers, so that one fault is shown once.
    """

    where: str
    traces: tuple[tuple[str, str], ...] = field(default=(), repr=False)

    @property
    def kind(self) -> str:
        """``where`` without names' numbers and values."""
        return re.sub(r"-?[0-9][0-9.e+-]*", "#", self.where)[:90]


@dataclass(frozen=True)
class Verdict:
    """How a case went: ``label`` says it in a word or two, ``difference`` if the sides differ."""

    label: str
    difference: Difference | None = None


EQUAL = Verdict("equal")


def differs(where: str, *traces: tuple[str, str]) -> Verdict:
    """The verdict of two sides that disagree; traces are (name of the side, text)."""
    return Verdict("different", Difference(where, traces))


class Disagreement(Exception):
    """A case whose sides differ, as Hypothesis wants it: an exception."""

    def __init__(self, difference: Difference) -> None:
        super().__init__(difference.where)
        self.difference = difference
