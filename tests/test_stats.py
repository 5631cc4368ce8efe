"""Statistics: running means, intervals, ranks, gauges, token gaps."""

from __future__ import annotations

import json
import math
import random
import statistics
from math import inf, isnan, log1p, nan

import numpy as np
import peer
import pytest

from serq import ieee
from serq.interp.report import number
from serq.interp.stats import (
    Gaps,
    GaugeTrack,
    Samples,
    Tally,
    Welford,
    batch_interval,
    half_width,
    ranked,
)

# --- means --------------------------------------------------------------------------------------


def test_welford_by_hand():
    """2, 4, 9: mean 5, deviations 9 + 1 + 16, so the squared coefficient is 13/25."""
    running = Welford()
    for x in (2.0, 4.0, 9.0):
        running.add(x)
    assert running.count == 3
    assert running.mean == 5.0
    assert running.cv2 == pytest.approx(13 / 25, rel=1e-15)


def test_welford_keeps_small_deviations_from_a_large_mean():
    """A spread of 1 around 1e9 is seen, where a sum of squares would lose it."""
    values = [1e9 + random.Random(4).choice([-1.0, 0.0, 1.0]) for _ in range(1000)]
    running = Welford()
    for x in values:
        running.add(x)
    assert running.cv2 == pytest.approx(statistics.variance(values) / 1e18, rel=1e-6)


@pytest.mark.parametrize(
    ("values", "mean", "cv2"),
    [
        ([], nan, nan),
        ([5.0], 5.0, nan),
        ([0.0], 0.0, nan),
        ([5.0, 5.0], 5.0, 0.0),
        ([-1.0, 1.0], 0.0, inf),
        ([0.0, 0.0], 0.0, nan),
        ([inf, 1.0], nan, nan),
        ([1e300, 3e300], 2e300, nan),
    ],
)
def test_welford_edges(values, mean, cv2):
    """No value, one value, mean 0 and overflow give NaN or inf and never an error."""
    running = Welford()
    for x in values:
        running.add(x)
    for got, expected in ((running.mean, mean), (running.cv2, cv2)):
        assert got == expected or (isnan(got) and isnan(expected))


# --- intervals and ranks ------------------------------------------------------------------------


def test_interval_against_numpy():
    """2.093·s/√20 with s the standard deviation of 20 batch means; the rest is not used."""
    values = [random.Random(i).expovariate(1.0) for i in range(473)]
    batches = np.array(values[: 23 * 20]).reshape(20, 23).mean(axis=1)
    expected = 2.093 * batches.std(ddof=1) / math.sqrt(20)
    assert batch_interval(values) == pytest.approx(expected, rel=1e-12)
    assert batch_interval(values[: 23 * 20] + [1e9] * 19) == batch_interval(values[: 23 * 20])


def test_interval_needs_40_samples():
    """Below 40 samples there is no interval: batches of one say nothing."""
    assert batch_interval([float(i) for i in range(39)]) == inf
    # 20 batches (0, 1), (2, 3), …: means 0.5, 2.5, …, 38.5, whose variance is 4 · 35
    expected = 2.093 * math.sqrt(140 / 20)
    assert batch_interval([float(i) for i in range(40)]) == pytest.approx(expected, rel=1e-14)
    assert half_width([3.0] * 20) == 0.0


@pytest.mark.parametrize(
    ("values", "quantile", "expected"),
    [
        ([7.0], 0.99, 7.0),
        ([float(i) for i in range(100)], 0.99, 98.0),
        ([float(i) for i in range(101)], 0.99, 99.0),
        ([float(i) for i in range(99)], 0.99, 98.0),
        ([3.0, 1.0, 2.0], 0.5, 2.0),
        ([0.0, -0.0], 0.5, -0.0),
        ([-0.0, 0.0], 1.0, 0.0),
        ([1.0, -inf, inf], 1.0, inf),
        ([1.0, -nan, -inf], 0.3, -nan),
        ([1.0, nan, inf], 1.0, nan),
        ([1.0, -nan, inf], 1.0, inf),
        ([], 0.99, nan),
    ],
)
def test_rank(values, quantile, expected):
    """The value at rank ⌈q·n⌉ in total order: −NaN, −inf, …, −0, 0, …, inf, NaN."""
    got = ranked(values, quantile)
    assert number(got) == number(expected)
    assert math.copysign(1, got) == math.copysign(1, expected) or not values


@pytest.mark.parametrize("every", [1, 3, 100])
def test_a_tally_is_a_running_mean(every: int):
    """A tally's mean is the running mean, to the bit, however many values it takes in at once."""
    running, tally = Welford(), Tally()
    assert isnan(tally.mean)
    rng = random.Random(7)
    for i in range(50):
        x = rng.expovariate(3.0)
        running.add(x)
        tally.add(x)
        if i % every == 0:
            tally.settle()
    assert tally.mean == running.mean


# --- samples ------------------------------------------------------------------------------------


@pytest.mark.parametrize("settled", [(), (0,), (1,), (0, 1, 2, 3)])
def test_samples_count_from_the_warmup_on(settled: tuple[int, ...]):
    """A sample at the warm-up counts, one before does not, except where all are kept."""
    samples = Samples(10.0, keep_everything=True)
    for i, time in enumerate((0.0, 9.999, 10.0, 11.0)):
        samples.add((float(i), time, i, 1))
        if i in settled:
            samples.settle()
    row = samples.summary("x")
    assert row.name == "x" and row.count == 2 and row.mean == 2.5
    assert row.samples.tolist() == [2.0, 3.0] and row.times.tolist() == [10.0, 11.0]
    assert row.sessions.tolist() == [2, 3] and row.turns.tolist() == [1, 1]
    assert list(samples.everything()) == [0.0, 1.0, 2.0, 3.0]


def test_no_sample():
    """Of nothing there is no mean, no p99 and no interval."""
    row = Samples(0.0).summary("x")
    assert row.count == 0 and row.ci == inf
    assert isnan(row.mean) and isnan(row.cv2) and isnan(row.p99)


# --- gauges -------------------------------------------------------------------------------------


def track(*changes: tuple[float, float]) -> GaugeTrack:
    """A gauge with these changes."""
    gauge = GaugeTrack()
    for time, value in changes:
        gauge.set(time, value)
    return gauge


def test_gauge_by_hand():
    """0 for 2, 3 for 1 and 1 for 2 time units: mean 5/5; over [1, 5] it is 5/4."""
    gauge = track((0.0, 0.0), (2.0, 3.0), (3.0, 1.0))
    assert gauge.summary("g", 0.0, 5.0).mean == 1.0
    later = gauge.summary("g", 1.0, 5.0)
    assert (later.mean, later.min, later.max) == (1.25, 0.0, 3.0)
    assert later.times.tolist() == [0.0, 2.0, 3.0]


def test_gauge_keeps_changes_only():
    """A repeated value is no change point, and the last value of an instant is the one kept."""
    gauge = track((0.0, 1.0), (1.0, 1.0), (2.0, 5.0), (2.0, 7.0), (3.0, 8.0), (3.0, 7.0))
    assert gauge.times.tolist() == [0.0, 2.0] and gauge.values.tolist() == [1.0, 7.0]
    gauge = track((0.0, nan), (1.0, nan), (2.0, 1.0))
    assert gauge.times.tolist() == [0.0, 2.0]
    # bit by bit: the sign of a zero and of a NaN is a change
    gauge = track((0.0, 0.0), (1.0, -0.0), (2.0, -0.0), (3.0, nan), (4.0, -nan), (5.0, -nan))
    assert gauge.times.tolist() == [0.0, 1.0, 3.0, 4.0]


def test_gauge_extremes_are_held_for_a_time():
    """A value that the warm-up or the end leaves no time for is not an extreme."""
    gauge = track((0.0, 100.0), (1.0, 5.0), (4.0, -9.0))
    row = gauge.summary("g", 1.0, 4.0)
    assert (row.min, row.max) == (5.0, 5.0)
    row = gauge.summary("g", 0.5, 4.5)
    assert (row.min, row.max) == (-9.0, 100.0)


def test_gauge_interval():
    """The windows split [warmup, end] evenly: 0 and 1 in turn give the spread of 20 means."""
    gauge = track(*((float(i), float(i % 2)) for i in range(21)))
    row = gauge.summary("g", 0.0, 20.0)
    s = statistics.stdev([0.0, 1.0] * 10)
    assert row.mean == 0.5
    assert row.ci == pytest.approx(2.093 * s / math.sqrt(20), rel=1e-12)


def test_gauge_mean_against_numpy():
    """The time average is the integral of the steps over the time."""
    pick = random.Random(5)
    times = np.cumsum([0.0, *(pick.expovariate(1.0) for _ in range(300))])
    values = [float(pick.randrange(10)) for _ in times]
    gauge = track(*zip(times.tolist(), values, strict=True))
    end = float(times[-1]) + 2.0
    warmup = 17.3
    widths = np.clip(np.append(times[1:], end), warmup, end) - np.clip(times, warmup, end)
    expected = float(np.dot(widths, values)) / (end - warmup)
    assert gauge.summary("g", warmup, end).mean == pytest.approx(expected, rel=1e-12)


# --- token gaps ---------------------------------------------------------------------------------


def test_gaps_of_one_value_are_exact():
    """When all gaps are equal the quantiles are that value, not a bucket's middle."""
    gaps = Gaps()
    gaps.add(0.0123, times=57)
    assert gaps.quantile(0.5) == gaps.quantile(0.99) == 0.0123
    assert gaps.mean == pytest.approx(0.0123, rel=1e-13)


def test_gaps_within_half_a_percent():
    """Quantiles are within 0.5 % of the sample's value at that rank."""
    values = [random.Random(i).lognormvariate(-4, 2) for i in range(5000)]
    gaps = Gaps()
    for x in values:
        gaps.add(x)
    for q in (0.01, 0.5, 0.9, 0.99, 1.0):
        assert gaps.quantile(q) == pytest.approx(ranked(values, q), rel=0.005)
    assert gaps.mean == pytest.approx(statistics.fmean(values), rel=1e-12)


def test_gaps_bucket_by_hand():
    """Gaps 1.0 and 1.005 share bucket 0, whose middle √1.01 lies inside; 1.02 is bucket 1."""
    gaps = Gaps()
    for x in (1.0, 1.0098, 1.02):
        gaps.add(x)
    assert gaps.quantile(0.5) == math.exp(0.5 * log1p(0.01))
    assert gaps.quantile(0.99) == 1.02  # the only one in its bucket


def test_gaps_edges():
    """No gap gives NaN; a gap of 0 is a value like others, below all of them."""
    gaps = Gaps()
    assert isnan(gaps.mean) and isnan(gaps.quantile(0.5))
    gaps.add(0.0)
    gaps.add(5e-324)
    gaps.add(1e308)
    assert gaps.quantile(0.3) == 0.0 and gaps.quantile(0.99) == 1e308


# --- the reference ------------------------------------------------------------------------------

PROGRAM = """
fn main() {
    stage s : fifo(2);
    pool p { cap 5; }
    gauge g = queue(s);
    gauge scaled = used(p) * 0.1;
    gauge negative = -queue(s);
    gauge undefined = 0 / queue(s);
    gauge constant = 0.1;
    gauge infinite = 1 / queue(s);
    gauge zeros = queue(s) > 1 ? 0 : -0;
    workload {
        arrive poisson(1.5);
        session {
            set x = ~exp(1);
            turn;
            observe w = x;
            observe test = x < 0;
            observe zero = -0 * x;
            observe big = 1e300 * x;
            observe mixed = x < 0.3 ? 0/0 : (x < 1 ? -x : x);
            observe root = x < 0.3 ? sqrt(-x) : x;
            observe log = x < 0.3 ? ln(-x) : x;
            observe power = x < 0.3 ? (-x) ^ 0.5 : x;
        }
    }
    server { hold p (cost(p, 1)) { run s (cost(s, x)); } }
}
"""

# JSON has one NaN only, and its sign decides a p99: so this is which NaN each observation records.
NAN_OF = {
    "mixed": ieee.div(0.0, 0.0),
    "root": ieee.sqrt(-0.1),
    "log": ieee.ln(-0.1),
    "power": ieee.pow(-0.1, 0.5),
}


@peer.needs_peer
@pytest.mark.parametrize("warmup", [0.0, 10.0, 33.3])
@pytest.mark.parametrize("seed", [0, 1, 2, 3])
def test_equal_to_the_reference(seed, warmup):
    """From the same samples and change points every statistic is the same to the last digit."""
    full = peer.samples(PROGRAM, horizon=100, warmup=warmup, seed=seed)
    report = json.loads(full["report"], parse_float=str, parse_int=str)

    def text(x: float) -> str | None:
        return number(x) if math.isfinite(x) else None

    for section in ("observes", "client"):
        for name, columns in full[section].items():
            samples = Samples(warmup)
            for value, *place in zip(*columns, strict=True):
                samples.add((NAN_OF[name] if isnan(value) else value, *place))
            ours = samples.summary(name)
            for field, theirs in report[section][name].items():
                assert text(getattr(ours, field)) == theirs, (section, name, field)
    for name, (times, values) in full["gauges"].items():
        gauge = track(*zip(times, values, strict=True)).summary(name, warmup, 100.0)
        assert gauge.times.tolist() == times
        for field, theirs in report["gauges"][name].items():
            assert text(getattr(gauge, field)) == theirs, (name, field)
