"""Round numbers for axes, and numbers as a person reads them."""

from __future__ import annotations

from math import ceil, floor, inf, isfinite, isnan, log10

import numpy as np

from serq.interp.report import F64


def nice_step(span: float, count: int) -> float:
    """A step of 1, 2 or 5 times a power of ten that cuts ``span`` > 0 in about ``count`` parts."""
    raw = span / max(count, 1)
    if not 0.0 < raw < inf:
        return 1.0
    power = 10.0 ** floor(log10(raw))
    if not power > 0.0:
        return raw
    for factor in (1.0, 2.0, 5.0, 10.0):
        if raw <= factor * power * (1.0 + 1e-9):
            return factor * power
    return 10.0 * power


def ticks(low: float, high: float, count: int = 5) -> list[float]:
    """Round numbers from ``low`` to ``high``, about ``count`` of them."""
    if not (isfinite(low) and isfinite(high)) or not high > low:
        return [low] if isfinite(low) else []
    step = nice_step(high - low, count)
    first, last = ceil(low / step - 1e-9), floor(high / step + 1e-9)
    if not last - first < 1000:  # the span is lost in the numbers' last digits
        return [low, high]
    return [round(i * step, 12) if step > 1e-9 else i * step for i in range(first, last + 1)]


def log_ticks(low: float, high: float) -> list[float]:
    """Powers of ten from ``low`` > 0 to ``high``, with their 2 and 5 over less than two of them."""
    decades = log10(high) - log10(low)
    if decades < 0.5:
        return ticks(low, high, 4)
    first, last = floor(log10(low)), ceil(log10(high))
    every = max(1, ceil(decades / 7))
    factors = (1.0, 2.0, 5.0) if decades < 2.0 else (1.0,)
    made = [f * 10.0**p for p in range(first, last + 1, every) for f in factors]
    return [x for x in made if low * (1 - 1e-9) <= x <= high * (1 + 1e-9)]


_SUFFIXES = ((1e12, "T"), (1e9, "G"), (1e6, "M"), (1e3, "k"))


def short(x: float, digits: int = 3) -> str:
    """A number in so many significant digits, large ones with k, M, G, T: 0.0123, 4.5, 13.2k."""
    if isnan(x):
        return "NaN"
    if not isfinite(x):
        return "∞" if x > 0 else "−∞"
    if x == 0.0:
        return "0"
    sign, size = ("−" if x < 0 else ""), abs(x)
    if size >= 1e15 or size < 1e-4:
        mantissa, _, exponent = f"{size:.{digits - 1}e}".partition("e")
        return f"{sign}{_trim(mantissa)}e{int(exponent)}".replace("e-", "e−")
    for limit, suffix in _SUFFIXES:
        if size >= limit * 10 or (size >= limit and limit > 1e3):
            return sign + _significant(size / limit, digits) + suffix
    return sign + _significant(size, digits)


def _significant(size: float, digits: int) -> str:
    places = max(0, digits - 1 - floor(log10(size)))
    return _trim(f"{size:.{places}f}")


def _trim(text: str) -> str:
    return text.rstrip("0").rstrip(".") if "." in text else text


def tick_labels(values: list[float]) -> list[str]:
    """The ticks of one axis with the same decimals, as short as tells them apart."""
    finite = [abs(v) for v in values if isfinite(v) and v]
    if not finite:
        return [short(v) for v in values]
    if max(finite) >= 1e4 or min(finite) < 1e-4:
        for digits in range(2, 17):
            made = [short(v, digits) for v in values]
            if len(set(made)) == len(set(values)):
                return made
        return [repr(v) for v in values]
    for places in range(13):
        made = [f"{v:.{places}f}".replace("-", "−") for v in values]
        if len(set(made)) == len(set(values)) and all(
            abs(round(v, places) - v) <= 1e-9 * max(finite) for v in values
        ):
            return made
    return [short(v, 6) for v in values]


def px(x: float) -> str:
    """A coordinate in pixels, to a hundredth."""
    text = f"{x:.2f}".rstrip("0").rstrip(".")
    return "0" if text == "-0" else text


def extremes(times: F64, values: F64, edges: F64) -> tuple[F64, F64]:
    """The least and the greatest value of a step function between successive ``edges``.

    ``values[i]`` holds from ``times[i]`` (ascending) to the next; ``edges`` ascend. Returns least
    and greatest, one shorter than ``edges``; NaN before the first time.
    """
    count = len(edges) - 1
    if not len(times):
        return np.full(count, np.nan), np.full(count, np.nan)
    held = np.searchsorted(times, edges[:-1], side="right") - 1
    low = np.where(held >= 0, values[np.maximum(held, 0)], np.nan)
    high = low.copy()
    inside = (times > edges[0]) & (times < edges[-1])
    column = np.searchsorted(edges, times[inside], side="right") - 1
    column = np.minimum(column, count - 1)
    np.fmin.at(low, column, values[inside])
    np.fmax.at(high, column, values[inside])
    return low, high


def averages(times: F64, values: F64, edges: F64) -> F64:
    """The time average of a step function between successive ``edges``, as in `extremes`.

    What stands before the first time counts as 0; ``edges`` ascend strictly.
    """
    if not len(times):
        return np.zeros(len(edges) - 1)
    knots = np.append(times, max(float(times[-1]), float(edges[-1])))
    areas = np.concatenate([[0.0], np.cumsum(values * np.diff(knots))])
    # Beyond the last knot the area stays, before the first it is 0.
    at = np.interp(edges, knots, areas)
    found: F64 = np.diff(at) / np.diff(edges)
    return found
