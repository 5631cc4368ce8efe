"""IEEE 754 arithmetic where Python's own operators raise, change type or choose otherwise.

Addition, subtraction, multiplication, unary minus, ``abs`` and the comparisons of Python floats
are IEEE already. Everything here takes and gives floats and never raises.

An invalid operation gives the NaN that the processor gives, whose sign bit is set, except ``ln``
of a negative number, where the C library's has none; operands that are NaN go through. The sign
is seen in one place only: samples are ranked in IEEE total order, where −NaN is least.
"""

from __future__ import annotations

import math
from math import copysign, fmod, inf, isfinite, nan

INVALID = -nan
"""The NaN of 0/0: its sign bit is set."""

_exp, _log, _sqrt, _floor, _ceil, _pow = (
    math.exp, math.log, math.sqrt, math.floor, math.ceil, math.pow,
)  # fmt: skip


def div(x: float, y: float) -> float:
    """x/y; ±inf for a division of a non-zero number by ±0, NaN for 0/0."""
    try:
        return x / y
    except ZeroDivisionError:
        if x == 0.0:
            return INVALID
        if x != x:
            return x
        return copysign(inf, x) * copysign(1.0, y)


def pow(x: float, y: float) -> float:
    """x^y as the C library has it: 0^0 = 1, (−8)^(1/3) = NaN, 0^(−1) = inf."""
    if x != x and isfinite(y) and fmod(y, 2.0) in (1.0, -1.0):
        return copysign(x, 1.0)  # the library squares the base and restores an odd power's sign
    try:
        return _pow(x, y)
    except OverflowError:
        return -inf if x < 0.0 and fmod(y, 2.0) != 0.0 else inf
    except ValueError:
        if x == 0.0:  # to a negative power
            return copysign(inf, x) if fmod(y, 2.0) in (1.0, -1.0) else inf
        return INVALID


def exp(x: float) -> float:
    """e^x, inf on overflow."""
    try:
        return _exp(x)
    except OverflowError:
        return inf


def ln(x: float) -> float:
    """The natural logarithm; −inf at ±0, NaN below."""
    try:
        return _log(x)
    except ValueError:
        return -inf if x == 0.0 else nan


def sqrt(x: float) -> float:
    """The square root; NaN below 0, −0 at −0."""
    try:
        return _sqrt(x)
    except ValueError:
        return INVALID


def floor(x: float) -> float:
    """The largest whole number ≤ x; keeps −0, ±inf and NaN."""
    whole = x // 1.0
    return whole if whole == whole else x


def ceil(x: float) -> float:
    """The least whole number ≥ x; −0 for −1 < x ≤ −0."""
    whole = -(-x // 1.0)
    return whole if whole == whole else x


def minimum(x: float, y: float) -> float:
    """The smaller one; a NaN is ignored, of equal ones the second."""
    if x < y or y != y:
        return x
    return y


def maximum(x: float, y: float) -> float:
    """The larger one; a NaN is ignored, of equal ones the second."""
    if x > y or y != y:
        return x
    return y


def truth(x: float) -> bool:
    """Whether x counts as true: anything but ±0, so NaN too."""
    return x != 0.0
