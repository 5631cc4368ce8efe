"""Side-by-side timing: the sides take turns, so that a drift of the machine hits all alike."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from statistics import median
from time import process_time


def side_by_side(sides: Mapping[str, Callable[[], float]], rounds: int = 5) -> dict[str, float]:
    """Median work per CPU second of each side; a side returns the amount of work it did.

    CPU seconds of this process, in which all sides run on one thread: what else the machine does
    meanwhile does not count.
    """
    rates: dict[str, list[float]] = {name: [] for name in sides}
    for side in sides.values():
        side()  # warm-up, not counted
    for _ in range(rounds):
        for name, side in sides.items():
            start = process_time()
            work = side()
            rates[name].append(work / (process_time() - start))
    return {name: median(values) for name, values in rates.items()}
