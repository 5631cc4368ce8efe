"""Side-by-side timing: the sides take turns, so that a drift of the machine hits all alike."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from statistics import median
from time import perf_counter


def side_by_side(sides: Mapping[str, Callable[[], float]], rounds: int = 5) -> dict[str, float]:
    """Median work per second of each side; a side returns the amount of work it did."""
    rates: dict[str, list[float]] = {name: [] for name in sides}
    for side in sides.values():
        side()  # warm-up, not counted
    for _ in range(rounds):
        for name, side in sides.items():
            start = perf_counter()
            work = side()
            rates[name].append(work / (perf_counter() - start))
    return {name: median(values) for name, values in rates.items()}
