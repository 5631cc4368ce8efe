"""The charts of a report's page, as shapes: histogram, distribution function, course, gauge."""

from __future__ import annotations

from dataclasses import dataclass
from math import inf, isfinite, log10

import numpy as np

from serq.interp.report import F64, Gauge
from serq.page.distribution import Distribution
from serq.page.scale import averages, extremes, log_ticks, px, short, tick_labels, ticks
from serq.page.shapes import Drawing, Shape, steps

LEFT, RIGHT, TOP, BOTTOM = 46.0, 12.0, 20.0, 24.0
SMALL = (380.0, 196.0)
WIDE = (1180.0, 150.0)
AVERAGES = 200
"""Windows of time over which a gauge's average is drawn."""
MARKED = (0.5, 0.9, 0.99)
"""Quantiles that a chart marks."""


@dataclass(frozen=True)
class Chart:
    """A chart: its size in pixels, what it says in words, and its shapes."""

    kind: str
    title: str
    label: str
    width: float
    height: float
    shapes: list[Shape]


@dataclass(frozen=True)
class Scale:
    """From values ``low`` … ``high`` to pixels ``a`` … ``b``."""

    low: float
    high: float
    a: float
    b: float
    logarithmic: bool = False

    def at(self, value: float) -> float:
        """The pixel of a value; what lies outside stands at the edge."""
        return float(self.all(np.array([value]))[0])

    def all(self, values: F64) -> F64:
        """The pixels of values."""
        low, high = self.low, self.high
        if self.logarithmic:
            values = np.log10(np.maximum(values, low))
            low, high = log10(low), log10(high)
        share = np.clip((values - low) / (high - low), 0.0, 1.0)
        found: F64 = self.a + share * (self.b - self.a)
        return found

    def ticks(self, count: int) -> list[float]:
        """Round numbers of the scale."""
        if self.logarithmic:
            return log_ticks(self.low, self.high)
        return ticks(self.low, self.high, count)

    def labels(self, marks: list[float]) -> list[str]:
        """The numbers of ticks, as short as tells them apart."""
        return [short(mark) for mark in marks] if self.logarithmic else tick_labels(marks)


def percent(share: float) -> str:
    """A share as a person reads it."""
    shown = 100.0 * share
    if shown and shown < 0.1:
        return "< 0.1 %"
    if share < 1.0 and shown > 99.9:
        return "> 99.9 %"
    return f"{shown:.1f} %".replace(".0 %", " %")


def quantile_name(q: float) -> str:
    """``p99`` for 0.99."""
    return f"p{100.0 * q:g}"


class _Plot(Drawing):
    """A chart in the making, with its two scales."""

    def __init__(self, size: tuple[float, float], x: Scale, y: Scale) -> None:
        super().__init__()
        self.width, self.height = size
        self.x, self.y = x, y
        self.base = self.height - BOTTOM

    def axes(self, x_count: int, y_count: int = 4, share: bool = False) -> None:
        """Grid lines with their numbers, the horizontal axis beneath."""
        marks = self.y.ticks(y_count)
        labels = [f"{100 * m:g} %" for m in marks] if share else self.y.labels(marks)
        for mark, label in zip(marks, labels, strict=True):
            y = self.y.at(mark)
            self.line("grid", LEFT, y, self.width - RIGHT, y)
            self.text("ynum", LEFT - 6.0, y + 3.5, label)
        self.line("axis", LEFT, self.base, self.width - RIGHT, self.base)
        marks = self.x.ticks(x_count)
        last = -inf
        for mark, label in zip(marks, self.x.labels(marks), strict=True):
            x = self.x.at(mark)
            room = 3.4 * len(label)
            centre = min(max(x, room), self.width - room)
            self.line("axis", x, self.base, x, self.base + 4.0)
            if centre - room < last + 4.0:  # rather no number than two in one place
                continue
            last = centre + room
            self.text("xnum", centre, self.base + 15.0, label)

    def quantiles(self, d: Distribution) -> None:
        """Dashed lines at the marked quantiles, their names above where there is room."""
        last = -inf
        for q in MARKED:
            value = d.quantiles[q]
            if not self.x.low <= value <= self.x.high:
                continue
            x = self.x.at(value)
            self.line("mark", x, TOP - 4.0, x, self.base)
            name = quantile_name(q)
            if x - 4.0 * len(name) > last:
                self.text("markname", x, TOP - 8.0, name, f"{name} = {short(value, 5)}")
                last = x + 4.0 * len(name)

    def chart(self, kind: str, title: str, label: str) -> Chart:
        return Chart(kind, title, label, self.width, self.height, self.shapes)


def _value_scale(d: Distribution, a: float, b: float) -> Scale:
    """The scale of a distribution's values."""
    if d.histogram is None:
        return Scale(d.least - 1.0, d.least + 1.0, a, b)
    low, high = float(d.histogram.edges[0]), float(d.histogram.edges[-1])
    if not d.logarithmic and d.least >= 0.0 and low < 0.35 * high:
        low = min(low, 0.0)
    return Scale(low, high, a, b, d.logarithmic)


def histogram_chart(d: Distribution) -> Chart:
    """How many samples fall into each bin, as shares of all."""
    assert d.histogram is not None
    edges, counts = d.histogram.edges, d.histogram.counts
    shares = counts / max(d.count - d.odd, 1)
    width, height = SMALL
    top = float(shares.max()) or 1.0
    x = _value_scale(d, LEFT, width - RIGHT)
    plot = _Plot(SMALL, x, Scale(0.0, top * 1.02, height - BOTTOM, TOP))
    plot.axes(5, share=True)
    xs = x.all(edges)
    for i, share in enumerate(shares):
        if share:
            y = plot.y.at(float(share))
            left, right = float(xs[i]), float(xs[i + 1])
            gap = 1.0 if right - left > 4.0 else 0.0
            tip = (
                f"{short(float(edges[i]), 4)} to {short(float(edges[i + 1]), 4)}: "
                f"{int(counts[i]):,} samples, {percent(float(share))}"
            )
            plot.rect("bar", left, min(y, plot.base - 0.5), max(right - left - gap, 0.4),
                      max(plot.base - y, 0.5), tip)  # fmt: skip
    plot.quantiles(d)
    title = "Histogram" + (", logarithmic" if d.logarithmic else "")
    words = f"histogram of {d.name}: {len(counts)} bins from {short(x.low)} to {short(x.high)}"
    return plot.chart("histogram", title, words)


def ecdf_chart(d: Distribution) -> Chart:
    """The share of samples up to each value."""
    width, height = SMALL
    x = _value_scale(d, LEFT, width - RIGHT)
    plot = _Plot(SMALL, x, Scale(0.0, 1.0, height - BOTTOM, TOP))
    plot.axes(5, share=True)
    shown = d.values > 0.0 if d.logarithmic else np.ones(len(d.values), bool)
    xs, ys = x.all(d.values[shown]), plot.y.all(d.shares[shown])
    start = plot.y.at(float(d.zeros / max(d.count - d.odd, 1)) if d.logarithmic else 0.0)
    path = [f"M{px(LEFT)} {px(start)}"]
    path += [f"H{px(float(a))}V{px(float(b))}" for a, b in zip(xs, ys, strict=True)]
    plot.path("curve", "".join(path) + f"H{px(width - RIGHT)}")
    for q in MARKED:
        value = d.quantiles[q]
        if x.low <= value <= x.high:
            plot.circle("dot", x.at(value), plot.y.at(q), 3.0,
                        f"{quantile_name(q)} = {short(value, 5)}")  # fmt: skip
    plot.quantiles(d)
    return plot.chart("ecdf", "Share up to", f"cumulative distribution of {d.name}")


def course_chart(d: Distribution, start: float, end: float) -> Chart:
    """The samples over time: one by one where they are few, else quantiles in windows."""
    width, height = SMALL
    x = Scale(start, end, LEFT, width - RIGHT)
    y = _value_scale(d, height - BOTTOM, TOP)
    plot = _Plot(SMALL, x, y)
    plot.axes(5)
    if d.dots is not None:
        for time, value in zip(*d.dots, strict=True):
            if value > 0.0 or not d.logarithmic:
                plot.circle("sample", x.at(float(time)), y.at(float(value)), 1.8)
        return plot.chart("course", "Over time", f"{d.name} over time, each sample")
    course = d.course
    assert course is not None
    xs = x.all(course.times)
    for i in np.flatnonzero(~np.isnan(course.middle)):
        low, high = y.at(float(course.low[i])), y.at(float(course.high[i]))
        plot.rect("band", float(xs[i]), min(high, low - 0.6), float(xs[i + 1] - xs[i]),
                  max(low - high, 0.6))  # fmt: skip
    heads = (
        f"M{px(float(xs[i]))} {px(y.at(float(value)))}H{px(float(xs[i + 1]))}"
        for i, value in enumerate(course.greatest)
        if value == value
    )
    plot.path("greatest", "".join(heads))
    _staircase(plot, "curve", xs, course.middle)
    words = f"{d.name} over time: median, middle 80 % and greatest in {len(course.middle)} windows"
    return plot.chart("course", "Over time: median, p10 to p90, greatest", words)


def _staircase(plot: _Plot, cls: str, xs: F64, values: F64) -> None:
    """A line at ``values[i]`` from ``xs[i]`` to the next, broken where a value is NaN."""
    path: list[str] = []
    for i, value in enumerate(values):
        if value != value:
            continue
        at = px(plot.y.at(float(value)))
        joined = i > 0 and values[i - 1] == values[i - 1]
        path.append(f"V{at}" if joined else f"M{px(float(xs[i]))} {at}")
        path.append(f"H{px(float(xs[i + 1]))}")
    plot.path(cls, "".join(path))


def share_chart(d: Distribution, start: float, end: float) -> Chart:
    """How often an observation of 0 and 1 is 1, over time."""
    width, height = SMALL
    x = Scale(start, end, LEFT, width - RIGHT)
    plot = _Plot(SMALL, x, Scale(0.0, 1.0, height - BOTTOM, TOP))
    plot.axes(5, share=True)
    assert d.means is not None
    edges, shares = d.means
    _staircase(plot, "curve", x.all(edges), shares)
    return plot.chart("share", "Share over time", f"share of {d.name} that is 1, over time")


def gauge_chart(gauge: Gauge, start: float, end: float) -> Chart:
    """A gauge over the whole run: what it held in each pixel column, and its time average."""
    width, height = WIDE
    values = gauge.values[np.isfinite(gauge.values)]
    low, high = (float(values.min()), float(values.max())) if len(values) else (0.0, 1.0)
    low = min(low, 0.0) if low < 0.35 * high or low == high else low
    high = max(high, 0.0) if high > low else low + 1.0
    x = Scale(0.0, end, LEFT, width - RIGHT)
    plot = _Plot(WIDE, x, Scale(low, high, height - BOTTOM, TOP))
    if start > 0.0:
        plot.rect("warmup", LEFT, TOP, x.at(start) - LEFT, plot.base - TOP, "the warm-up")
    plot.axes(10, 3)
    held = np.where(np.isfinite(gauge.values), gauge.values, 0.0)
    edges = np.linspace(0.0, end, int(width - LEFT - RIGHT) + 1)
    least, greatest = extremes(gauge.times, held, edges)
    zero = plot.y.at(0.0)
    xs = x.all(edges)
    plot.path("fill faint", steps(xs, plot.y.all(np.nan_to_num(greatest)), zero))
    plot.path("fill", steps(xs, plot.y.all(np.nan_to_num(least)), zero))
    wide = np.linspace(0.0, end, AVERAGES + 1)
    _staircase(plot, "average", x.all(wide), averages(gauge.times, held, wide))
    if isfinite(gauge.mean):
        y = plot.y.at(gauge.mean)
        plot.line("mark", LEFT, y, width - RIGHT, y)
    return plot.chart("gauge", gauge.name, f"{gauge.name} over time")
