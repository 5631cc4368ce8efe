"""Time averages: every event advances every integral, and each object catches up when it changes.

An integral is the sum, in order, of value times the gap between successive events; splitting a
gap changes the last bits of the sum, so the gaps of all events are kept in one log. An object
(a stage, a pool) whose values have not changed since the log's position ``at`` catches up in one
tight loop: the sums are the same as if it had been visited at every event.
"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

LOG = 1 << 12
"""Gaps between events kept before every object catches up and the log starts anew."""

LONG = 96
"""Gaps from which numpy's sequential sum beats a loop; the sums are bit-equal."""


def integrate(area: float, value: float, gaps: Sequence[float], start: int, stop: int) -> float:
    """``area + value·gaps[start] + … + value·gaps[stop - 1]``, added one after the other."""
    if stop - start >= LONG:
        terms = np.empty(stop - start + 1)
        terms[0] = area
        terms[1:] = gaps[start:stop]
        terms[1:] *= value
        return float(np.add.accumulate(terms)[-1])
    if value == 1.0:
        for i in range(start, stop):
            area += gaps[i]
    else:
        for i in range(start, stop):
            area += value * gaps[i]
    return area


class Timed:
    """An object with integrals over time; ``gaps`` is the run's log."""

    __slots__ = ("at", "gaps")

    def __init__(self, gaps: list[float]) -> None:
        self.gaps = gaps
        self.at = 0

    def catch_up(self) -> None:
        """Bring the integrals up to now; call before any value they integrate changes."""
        raise NotImplementedError

    def restart(self) -> None:
        """Set the integrals to 0 (the end of the warm-up)."""
        raise NotImplementedError
