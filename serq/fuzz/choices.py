"""The choices behind a random program, each independent of all others; and how they shrink.

Hypothesis draws each program as a variation of earlier ones: good for finding one fault, but a
quarter of its programs repeat another, and what few programs have is missed altogether. Where a
number of programs is to reach everything, the choices come from here. They are whole numbers, the
simplest 0, so that a case shrinks by leaving choices out and by making them smaller.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from random import Random


class Choices:
    """A source of choices: fresh ones of a random generator, or a given list once more.

    ``taken`` has what was chosen so far. A list that has run out goes on with 0.
    """

    def __init__(self, source: Random | Sequence[int]) -> None:
        self.taken: list[int] = []
        self._random = source if isinstance(source, Random) else None
        self._given = [] if isinstance(source, Random) else list(source)

    def below(self, count: int) -> int:
        """A whole number from 0, less than ``count``."""
        if self._random is not None:
            choice = self._random.randrange(count)
        else:
            at = len(self.taken)
            choice = min(self._given[at], count - 1) if at < len(self._given) else 0
        self.taken.append(choice)
        return choice


def shrink(taken: Sequence[int], attempt: Callable[[Sequence[int]], list[int] | None]) -> None:
    """Make a list of choices smaller for as long as ``attempt`` accepts.

    ``attempt`` says which choices were taken of those it is given, or None when they are not to
    be kept; it may raise to end the search.
    """
    best = list(taken)

    def better(candidate: list[int]) -> bool:
        nonlocal best
        kept = attempt(candidate)
        if kept is None or (len(kept), kept) >= (len(best), best):
            return False
        best = kept
        return True

    while True:
        before = best
        size = max(1, len(best) // 2)
        while size:
            at = 0
            while at < len(best):
                if not better(best[:at] + best[at + size :]):
                    at += size
            size //= 2
        for at in range(len(best)):
            while at < len(best) and best[at]:
                value = best[at]
                if not any(
                    better([*best[:at], less, *best[at + 1 :]])
                    for less in dict.fromkeys((0, value // 2, value - 1))
                ):
                    break
        if best == before:
            return
