"""The statistics of a report: running means, samples, time averages of gauges, token gaps.

Every sum is taken in one fixed order, so that two builds of the same run agree in the last bit;
that is why nothing here is ``numpy.mean`` or ``math.fsum``.
"""

from __future__ import annotations

from array import array
from bisect import bisect_left
from collections.abc import Callable, Iterable, Sequence
from math import ceil, copysign, floor, inf, log, log1p, nan
from typing import Any

import numpy as np

from serq.interp import ieee
from serq.interp.report import Gauge, Observe

BATCHES = 20
"""Batches of samples, or windows of time, behind a confidence interval."""
T_QUANTILE = 2.093
"""Student's t at 0.975 with 19 degrees of freedom."""


class Welford:
    """A running mean and sum of squared deviations."""

    __slots__ = ("count", "m", "q")

    def __init__(self) -> None:
        self.count = 0
        self.m = 0.0
        self.q = 0.0

    def add(self, x: float) -> None:
        """Take in one value."""
        self.count += 1
        d = x - self.m
        self.m += d / self.count
        self.q += d * (x - self.m)

    def add_all(self, values: Iterable[float]) -> None:
        """Take in the values one by one."""
        n, m, q = self.count, self.m, self.q
        for x in values:
            n += 1
            d = x - m
            m += d / n
            q += d * (x - m)
        self.count, self.m, self.q = n, m, q

    @property
    def mean(self) -> float:
        """The mean, NaN of nothing."""
        return self.m if self.count else nan

    @property
    def cv2(self) -> float:
        """The sample variance (n − 1) over the squared mean; NaN for fewer than two values."""
        if not self.count:
            return nan
        return ieee.div(ieee.div(self.q, float(self.count - 1)), self.m * self.m)


def half_width(means: Sequence[float]) -> float:
    """The half-width of the 95 % interval of `BATCHES` batch means."""
    grand = 0.0
    for x in means:
        grand += x
    grand /= BATCHES
    var = 0.0
    for x in means:
        var += (x - grand) * (x - grand)
    var /= BATCHES - 1
    return T_QUANTILE * ieee.sqrt(var / BATCHES)


def batch_interval(values: Sequence[float]) -> float:
    """The half-width of the mean of correlated samples by batch means; inf below 40 samples.

    The batches are consecutive, ⌊n/20⌋ samples each; the last n mod 20 samples are not used.
    """
    size = len(values) // BATCHES
    if size < 2:
        return inf
    means = []
    for start in range(0, size * BATCHES, size):
        total = 0.0
        for x in values[start : start + size]:
            total += x
        means.append(total / size)
    return half_width(means)


def ranked(values: Sequence[float], quantile: float) -> float:
    """The value at rank ⌈quantile·n⌉ in IEEE total order (−NaN < −inf … −0 < 0 … NaN)."""
    n = len(values)
    if not n:
        return nan
    bits = np.asarray(values, np.float64).view(np.int64)
    order = bits ^ ((bits >> 63).view(np.uint64) >> np.uint64(1)).view(np.int64)
    rank = max(1, ceil(quantile * n)) - 1
    return float(values[int(np.argpartition(order, rank)[rank])])


class Tally:
    """A running mean whose values are taken in many at a time; ``add`` takes one."""

    __slots__ = ("_pending", "_running", "add")

    def __init__(self) -> None:
        self._running = Welford()
        self._pending: list[float] = []
        self.add = self._pending.append

    def settle(self) -> None:
        """Take in what was added; call it from time to time, so that memory stays small."""
        self._running.add_all(self._pending)
        self._pending.clear()

    @property
    def mean(self) -> float:
        """The mean, NaN of nothing."""
        self.settle()
        return self._running.mean


Sample = tuple[float, float, int, int]
"""A value with its time, session and turn."""


class Samples:
    """The samples of one observation: values with time, session and turn, in recording order.

    ``add`` takes a sample; it counts at or after the warm-up.
    """

    __slots__ = (
        "_everything", "_pending", "_sessions", "_times", "_turns", "_values", "add", "warmup",
    )  # fmt: skip

    add: Callable[[Sample], None]

    def __init__(self, warmup: float, keep_everything: bool = False) -> None:
        self.warmup = warmup
        self._values = array("d")
        self._times = array("d")
        self._sessions = array("q")
        self._turns = array("q")
        # The values before the warm-up too, for a claim that reads them.
        self._everything = array("d") if keep_everything else None
        self._pending: list[Any] = []  # the samples' parts, one after the other
        self.add = self._pending.extend  # recording is the hottest thing a plain queue does

    def settle(self) -> None:
        """Put what was added where it takes less memory; call it from time to time."""
        rows = self._pending
        values, times = rows[0::4], rows[1::4]
        if self._everything is not None:
            self._everything.fromlist(values)
        first = bisect_left(times, self.warmup)
        self._values.fromlist(values[first:])
        self._times.fromlist(times[first:])
        self._sessions.fromlist(rows[2::4][first:])
        self._turns.fromlist(rows[3::4][first:])
        rows.clear()

    def everything(self) -> Sequence[float]:
        """All values, those before the warm-up too, where they are kept."""
        self.settle()
        assert self._everything is not None
        return self._everything

    def summary(self, name: str) -> Observe:
        """The row of the report."""
        self.settle()
        values = self._values
        running = Welford()
        running.add_all(values)
        return Observe(
            name=name,
            count=len(values),
            mean=running.mean,
            ci=batch_interval(values),
            cv2=running.cv2,
            p99=ranked(values, 0.99),
            samples=_shared(self._values, np.float64),
            times=_shared(self._times, np.float64),
            sessions=_shared(self._sessions, np.int64),
            turns=_shared(self._turns, np.int64),
        )


def _shared(column: array[Any], dtype: Any) -> np.ndarray[Any, Any]:
    """The column as a numpy array over the same memory: a long run's samples stand there once."""
    return np.frombuffer(column, dtype) if column else np.empty(0, dtype)


class GaugeTrack:
    """A signal held between events: its change points, the first at time 0."""

    __slots__ = ("times", "values")

    def __init__(self) -> None:
        self.times = array("d")
        self.values = array("d")

    def set(self, time: float, value: float) -> None:
        """The value at the end of the instant ``time``; a repeated value adds no change point.

        Repeated is meant bit by bit: −0 after 0 is a change.

        Called more than once at an instant, the last call counts.
        """
        values = self.values
        if values and self.times[-1] == time:
            self.times.pop()
            values.pop()
        if values:
            last = values[-1]
            if last == value:
                if value != 0.0 or copysign(1.0, last) == copysign(1.0, value):
                    return
            elif last != last and value != value and copysign(1.0, last) == copysign(1.0, value):
                return
        self.times.append(time)
        values.append(value)

    def summary(self, name: str, warmup: float, end: float) -> Gauge:
        """The row of the report: averages over [warmup, end]."""
        areas = _areas(self.times, self.values, warmup, end, 1)
        width = (end - warmup) / BATCHES
        windows = [area / width for area in _areas(self.times, self.values, warmup, end, BATCHES)]
        least, greatest = inf, -inf
        for i, value in enumerate(self.values):
            until = self.times[i + 1] if i + 1 < len(self.times) else end
            if min(until, end) > max(self.times[i], warmup):
                least = ieee.minimum(least, value)
                greatest = ieee.maximum(greatest, value)
        return Gauge(
            name=name,
            mean=areas[0] / (end - warmup),
            ci=half_width(windows),
            min=least,
            max=greatest,
            times=_shared(self.times, np.float64),
            values=_shared(self.values, np.float64),
        )


def _areas(
    times: Sequence[float], values: Sequence[float], start: float, end: float, windows: int
) -> list[float]:
    """The integral of a step function over each of ``windows`` equal parts of [start, end]."""
    width = (end - start) / windows
    areas = []
    i = 0
    for k in range(windows):
        left = start + k * width
        right = end if k == windows - 1 else start + (k + 1) * width
        while i + 1 < len(times) and times[i + 1] <= left:
            i += 1
        area, last, j = 0.0, left, i
        while j + 1 < len(times) and times[j + 1] < right:
            area += values[j] * (times[j + 1] - last)
            last = times[j + 1]
            j += 1
        areas.append(area + values[j] * (right - last))
    return areas


LOG_STEP = log1p(0.01)
"""Width of a bucket of gaps, in the logarithm."""
ZERO_BUCKET = -(1 << 31)


class Gaps:
    """Gaps between tokens: an exact mean, and quantiles from buckets 1 % wide."""

    __slots__ = ("_latest", "_row", "buckets", "count", "total")

    def __init__(self) -> None:
        # Tokens that end together often have the same gap, so the bucket of the latest is kept.
        self._latest = -1.0
        self._row: list[float] = []
        self.count = 0
        self.total = 0.0
        self.buckets: dict[int, list[float]] = {}

    def add(self, gap: float, times: int = 1) -> None:
        """Take in a gap, ``times`` times over."""
        if gap == self._latest:
            self._row[0] += times
            self.count += times
            for _ in range(times):
                self.total += gap
            return
        bucket = floor(log(gap) / LOG_STEP) if 0.0 < gap < inf else ZERO_BUCKET
        row = self.buckets.get(bucket)
        if row is None:
            row = self.buckets[bucket] = [times, gap, gap]
        else:
            row[0] += times
            if gap < row[1]:
                row[1] = gap
            elif gap > row[2]:
                row[2] = gap
        self._latest, self._row = gap, row
        self.count += times
        for _ in range(times):
            self.total += gap

    @property
    def mean(self) -> float:
        """The plain sum over the count, NaN of nothing."""
        return self.total / self.count if self.count else nan

    def quantile(self, q: float) -> float:
        """The middle of the bucket of rank ⌈q·n⌉, kept within the values seen in the bucket."""
        if not self.count:
            return nan
        rank = max(1, ceil(q * self.count))
        for bucket in sorted(self.buckets):
            count, least, greatest = self.buckets[bucket]
            rank -= int(count)
            if rank <= 0:
                middle = ieee.exp((bucket + 0.5) * LOG_STEP)
                return min(max(middle, least), greatest)
        raise AssertionError("ranks end at the count")
