"""The IEEE arithmetic of `serq.ieee`, under the name the interpreter's modules use."""

from __future__ import annotations

from serq.ieee import (
    INVALID,
    ceil,
    div,
    exp,
    floor,
    ln,
    maximum,
    minimum,
    pow,
    sqrt,
    truth,
)

__all__ = [
    "INVALID",
    "ceil",
    "div",
    "exp",
    "floor",
    "ln",
    "maximum",
    "minimum",
    "pow",
    "sqrt",
    "truth",
]
