"""What a page shows of many samples: quantiles, bins, a distribution function, a course in time.

Whatever the number of samples, each of these has a few hundred numbers at most.
"""

from __future__ import annotations

from dataclasses import dataclass
from math import ceil, floor, inf, log10

import numpy as np

from serq.interp.report import F64, Observe
from serq.page.scale import nice_step

QUANTILES = (0.1, 0.5, 0.9, 0.95, 0.99)
SKEWED = 25.0
"""The range of positive samples over that of their middle half, from which on an axis is
logarithmic: an exponential's is about 11 for a thousand samples."""
MOST_DOTS = 400
"""Up to so many samples are drawn one by one over time."""
WINDOWS = 80


@dataclass(frozen=True)
class Histogram:
    """``counts[i]`` samples from ``edges[i]`` to ``edges[i + 1]``."""

    edges: F64
    counts: F64


@dataclass(frozen=True)
class Course:
    """The samples over time: in each window the 10 %, 50 % and 90 % quantile and the greatest.

    ``times`` has the windows' edges, one more than the others; NaN in a window without a sample.
    """

    times: F64
    low: F64
    middle: F64
    high: F64
    greatest: F64


@dataclass(frozen=True)
class Distribution:
    """Samples reduced to what is drawn.

    ``values`` and ``shares`` are points of the distribution function: a share of the samples is at
    most a value. Samples that are not finite count in ``count`` and ``odd``, and in nothing else;
    ``logarithmic`` leaves out the ``zeros``.
    """

    name: str
    count: int
    odd: int
    zeros: int
    least: float
    greatest: float
    quantiles: dict[float, float]
    logarithmic: bool
    test: bool
    """Whether every sample is 0 or 1."""

    histogram: Histogram | None
    values: F64
    shares: F64
    course: Course | None
    dots: tuple[F64, F64] | None
    """Times and values of all samples, where they are few."""

    means: tuple[F64, F64] | None
    """For samples of 0 and 1: windows of time, by their edges, and the share of 1 in each."""

    @property
    def constant(self) -> bool:
        """Whether all samples are the same number."""
        return self.count > self.odd and self.least == self.greatest


def distribution(observe: Observe, start: float, end: float) -> Distribution:
    """The distribution of an observation's samples, which lie in time from ``start`` to ``end``."""
    finite = np.isfinite(observe.samples)
    samples, times = observe.samples[finite], observe.times[finite]
    ordered = np.sort(samples)
    n = len(ordered)
    quantiles = {q: rank(ordered, q) for q in QUANTILES}
    least, greatest = (float(ordered[0]), float(ordered[-1])) if n else (inf, -inf)
    zeros = int(np.count_nonzero(ordered == 0.0))
    positive = ordered[ordered > 0.0]
    test = n > 0 and bool(np.isin(ordered, (0.0, 1.0)).all())
    logarithmic = (
        n > 0
        and least >= 0.0
        and len(positive) > n / 2
        and float(positive[0]) < greatest
        and greatest - float(positive[0]) > SKEWED * (rank(positive, 0.75) - rank(positive, 0.25))
        and greatest > 4.0 * float(positive[0])
    )
    shown = positive if logarithmic else ordered
    values, shares = distribution_function(ordered)
    few = n <= MOST_DOTS
    return Distribution(
        name=observe.name,
        count=observe.count,
        odd=observe.count - n,
        zeros=zeros,
        least=least,
        greatest=greatest,
        quantiles=quantiles,
        logarithmic=logarithmic,
        test=test,
        histogram=histogram(shown, logarithmic) if n and least < greatest else None,
        values=values,
        shares=shares,
        course=None if few or not start < end else course(times, samples, start, end),
        dots=(times, samples) if few else None,
        means=window_means(times, samples, start, end) if test and start < end else None,
    )


def rank(ordered: F64, quantile: float) -> float:
    """The value of rank ⌈quantile·n⌉ of ascending values, as the report's p99; NaN of none."""
    n = len(ordered)
    return float(ordered[max(1, ceil(quantile * n)) - 1]) if n else float("nan")


_SPANS = 1e-290, 1e290
"""Between these a span can be cut in bins; beyond, a width is lost in what a double can hold."""


def histogram(ordered: F64, logarithmic: bool) -> Histogram:
    """Bins of round, equal widths (equal ratios on a logarithmic axis) for ascending values."""
    low, high = float(ordered[0]), float(ordered[-1])
    edges: F64
    if not _SPANS[0] < high - low < _SPANS[1]:
        edges = np.array([low, high])
    elif logarithmic:
        decades = log10(high / low)
        per_decade = 20 if decades < 2.0 else 10 if decades < 4.0 else 5
        first, last = floor(log10(low) * per_decade + 1e-9), ceil(log10(high) * per_decade - 1e-9)
        exponents = np.arange(first, max(last, first + 1) + 1, dtype=np.float64) / per_decade
        edges = np.array([10.0**e for e in exponents.tolist()])
        edges[0], edges[-1] = min(edges[0], low), max(edges[-1], high)
    else:
        edges = _even_edges(ordered, low, high)
    counts = np.histogram(ordered, edges)[0].astype(np.float64)
    return Histogram(edges, counts)


def _even_edges(ordered: F64, low: float, high: float) -> F64:
    """Edges by Freedman and Diaconis' rule, rounded, 15 to 50 bins; whole numbers stand mid-bin."""
    n = len(ordered)
    spread = rank(ordered, 0.75) - rank(ordered, 0.25)
    wanted = 2.0 * spread / n ** (1.0 / 3.0)
    width = min(max(wanted, (high - low) / 50.0), (high - low) / 15.0)
    power = nice_step(width, 1) / 10.0  # of 1, 2 or 5 tenths of what is near
    step = min((k * power for k in range(1, 11)), key=lambda step: abs(log10(step / width)))
    if bool((ordered == np.floor(ordered)).all()) and high - low < 1e15:
        step = max(1.0, float(round(step)))
        first = low - 0.5 if step == 1.0 else floor(low / step) * step - 0.5
        bins = ceil((high + 0.5 - first) / step)
    else:
        first = floor(low / step) * step
        bins = ceil((high - first) / step * (1.0 + 1e-12))
    edges = first + step * np.arange(max(bins, 1) + 1, dtype=np.float64)
    edges[0], edges[-1] = min(edges[0], low), max(edges[-1], high)
    if not bool((np.diff(edges) > 0.0).all()):  # the span is lost in the last digits
        edges = np.array([low, high])
    return edges


def distribution_function(ordered: F64) -> tuple[F64, F64]:
    """At most a few hundred points of the share of ascending values up to each, tails included."""
    n = len(ordered)
    if not n:
        return np.empty(0), np.empty(0)
    if n <= 300:
        ranks = np.arange(n)
    else:
        tail = np.unique(np.geomspace(1, n / 100.0, 40).astype(np.int64)) - 1
        even = np.linspace(0, n - 1, 200).astype(np.int64)
        ranks = np.unique(np.concatenate([even, tail, n - 1 - tail]))
    values = np.unique(ordered[ranks])
    # The share at a value counts all samples equal to it.
    shares = np.searchsorted(ordered, values, side="right") / n
    return values, shares


def course(times: F64, samples: F64, start: float, end: float) -> Course:
    """Quantiles of the samples in equal windows of time."""
    order = np.argsort(times, kind="stable")
    times, samples = times[order], samples[order]
    edges = np.linspace(start, end, WINDOWS + 1)
    cuts = np.searchsorted(times, edges, side="left")
    cuts[-1] = len(times)  # the last window has its end
    made = np.full((4, WINDOWS), np.nan)
    for i in range(WINDOWS):
        window = np.sort(samples[cuts[i] : cuts[i + 1]])
        if len(window):
            made[:, i] = (
                rank(window, 0.1),
                rank(window, 0.5),
                rank(window, 0.9),
                float(window[-1]),
            )
    return Course(edges, *made)


def window_means(times: F64, samples: F64, start: float, end: float) -> tuple[F64, F64]:
    """The edges of equal windows of time, and the mean of the samples in each (NaN of none)."""
    edges = np.linspace(start, end, max(4, min(WINDOWS // 2, len(times) // 10)) + 1)
    counts = np.histogram(times, edges)[0]
    sums = np.histogram(times, edges, weights=samples)[0]
    return edges, np.where(counts > 0, sums / np.maximum(counts, 1), np.nan)
