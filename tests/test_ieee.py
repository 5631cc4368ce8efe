"""Arithmetic that Python's operators do not give."""

from __future__ import annotations

import itertools
import struct
from math import copysign, inf, isnan, nan

import numpy as np
import peer
import pytest

from serq import ieee


def bits(x: float) -> int:
    """The 64 bits of a double: −0 differs from 0, and NaNs by their signs."""
    return struct.unpack("<q", struct.pack("<d", x))[0]


@pytest.mark.parametrize(
    ("got", "expected"),
    [
        (ieee.div(1.0, 0.0), inf),
        (ieee.div(1.0, -0.0), -inf),
        (ieee.div(-1.0, 0.0), -inf),
        (ieee.div(-1.0, -0.0), inf),
        (ieee.div(0.0, -5.0), -0.0),
        (ieee.exp(1000.0), inf),
        (ieee.exp(-1000.0), 0.0),
        (ieee.ln(0.0), -inf),
        (ieee.ln(-0.0), -inf),
        (ieee.sqrt(-0.0), -0.0),
        (ieee.pow(0.0, 0.0), 1.0),
        (ieee.pow(0.0, -1.0), inf),
        (ieee.pow(-0.0, -1.0), -inf),
        (ieee.pow(-0.0, -2.0), inf),
        (ieee.pow(-10.0, 401.0), -inf),
        (ieee.pow(-10.0, 400.0), inf),
        (ieee.pow(2.0, 0.5), 2.0**0.5),
        (ieee.floor(-0.0), -0.0),
        (ieee.floor(0.5), 0.0),
        (ieee.floor(-1.5), -2.0),
        (ieee.floor(inf), inf),
        (ieee.floor(-inf), -inf),
        (ieee.floor(1e300), 1e300),
        (ieee.ceil(-0.5), -0.0),
        (ieee.ceil(-1.5), -1.0),
        (ieee.ceil(1.2), 2.0),
        (ieee.ceil(inf), inf),
        (ieee.minimum(0.0, -0.0), -0.0),
        (ieee.minimum(-0.0, 0.0), 0.0),
        (ieee.maximum(0.0, -0.0), -0.0),
        (ieee.minimum(nan, 1.0), 1.0),
        (ieee.minimum(1.0, nan), 1.0),
        (ieee.maximum(nan, 1.0), 1.0),
        (ieee.maximum(1.0, nan), 1.0),
    ],
)
def test_values(got, expected):
    """Results where Python raises, returns an int or chooses otherwise, zeros with their signs."""
    assert type(got) is float
    assert bits(got) == bits(expected)


@pytest.mark.parametrize(
    "got",
    [
        ieee.div(0.0, 0.0),
        ieee.div(nan, 0.0),
        ieee.sqrt(-1.0),
        ieee.ln(-1.0),
        ieee.pow(-8.0, 1 / 3),
        ieee.floor(nan),
        ieee.minimum(nan, nan),
    ],
)
def test_invalid_operations_give_nan(got):
    """What has no value is NaN and never an exception."""
    assert isnan(got)


def test_truth_of_nan():
    """A non-zero operand is true, and NaN counts as non-zero."""
    assert ieee.truth(nan) and ieee.truth(-1.0) and ieee.truth(inf)
    assert not ieee.truth(0.0) and not ieee.truth(-0.0)


NUMBERS = [
    0.0, -0.0, 1.0, -1.0, 0.5, -0.5, 1.5, -1.5, 2.0, -2.0, 3.0, -3.0, 1 / 3, -8.0, 7.25,
    inf, -inf, inf - inf, 1e308, -1e308, 5e-324, 1e200, -1e-200, 1000.0, -1000.0, 2.0**53,
    4503599627370497.5,
]  # fmt: skip


@pytest.mark.parametrize("name", ["div", "floor", "ceil", "sqrt"])
def test_numpy_agrees_on_the_exact_operations(name):
    """Division, roots and rounding are exact in IEEE, so numpy's are the same bit for bit."""
    theirs = {"div": np.divide, "floor": np.floor, "ceil": np.ceil, "sqrt": np.sqrt}[name]
    operands = itertools.product(NUMBERS, repeat=2 if name == "div" else 1)
    with np.errstate(all="ignore"):
        for x in operands:
            ours, expected = getattr(ieee, name)(*x), float(theirs(*map(np.float64, x)))
            assert bits(ours) == bits(expected) or (isnan(ours) and isnan(expected)), x


UNARY = ["exp", "ln", "sqrt", "floor", "ceil"]
BINARY = {
    "div": "({} / {})",
    "pow": "({} ^ {})",
    "minimum": "min({}, {})",
    "maximum": "max({}, {})",
}


def spell(x: float) -> str:
    """A constant expression with this value, NaN by its invalid operation."""
    if isnan(x):
        return "(inf - inf)"
    return f"(-{abs(x)!r})" if copysign(1.0, x) < 0 else repr(x)


def peer_values(expressions: list[str]) -> list[float]:
    """The values that the reference build gives; operands come from attributes x0, x1, …"""
    sets = "".join(f"set x{i} = {spell(x)};" for i, x in enumerate(NUMBERS))
    observes = "".join(f"observe o{i} = {e};" for i, e in enumerate(expressions))
    program = f"""
    fn main() {{
        stage s : delay;
        workload {{ arrive batch(1); session {{ {sets} turn; {observes} }} }}
        server {{ run s (cost(s, 1)); }}
    }}"""
    observed = peer.samples(program, horizon=10)["observes"]
    return [observed[f"o{i}"][0][0] for i in range(len(expressions))]


@peer.needs_peer
@pytest.mark.parametrize("name", [*UNARY, *BINARY])
def test_equal_to_the_reference(name):
    """Every function on every pair of odd operands is the reference build's, up to NaN's bits."""
    arity = 1 if name in UNARY else 2
    operands = list(itertools.product(range(len(NUMBERS)), repeat=arity))
    if arity == 1:
        expressions = [f"{name}(x{i})" for (i,) in operands]
    else:
        expressions = [BINARY[name].format(f"x{i}", f"x{j}") for i, j in operands]
    for indices, expected in zip(operands, peer_values(expressions), strict=True):
        ours = getattr(ieee, name)(*(NUMBERS[i] for i in indices))
        same = bits(ours) == bits(expected) or (isnan(ours) and isnan(expected))
        assert same, [NUMBERS[i] for i in indices]
