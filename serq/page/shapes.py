"""Shapes of a picture in drawing order, which a template writes as SVG."""

from __future__ import annotations

from dataclasses import dataclass, field

import numpy as np

from serq.interp.report import F64
from serq.page.scale import px


@dataclass(frozen=True, slots=True)
class Shape:
    """A ``rect``, ``path``, ``circle`` or ``text``; ``tip`` is shown on hovering.

    ``at`` has its coordinates: attributes, for a path the value of ``d``. They are made of numbers
    here and need no escaping.
    """

    kind: str
    cls: str
    at: str
    text: str = ""
    tip: str = ""


@dataclass
class Drawing:
    """Shapes, in pixels from the upper left."""

    shapes: list[Shape] = field(default_factory=list, kw_only=True)

    def rect(self, cls: str, x: float, y: float, w: float, h: float, tip: str = "") -> None:
        at = f'x="{px(x)}" y="{px(y)}" width="{px(w)}" height="{px(h)}"'
        self.shapes.append(Shape("rect", cls, at, tip=tip))

    def circle(self, cls: str, x: float, y: float, r: float, tip: str = "") -> None:
        self.shapes.append(Shape("circle", cls, f'cx="{px(x)}" cy="{px(y)}" r="{px(r)}"', tip=tip))

    def path(self, cls: str, d: str, tip: str = "") -> None:
        self.shapes.append(Shape("path", cls, d, tip=tip))

    def line(self, cls: str, x0: float, y0: float, x1: float, y1: float) -> None:
        self.path(cls, f"M{px(x0)} {px(y0)}L{px(x1)} {px(y1)}")

    def text(self, cls: str, x: float, y: float, text: str, tip: str = "") -> None:
        self.shapes.append(Shape("text", cls, f'x="{px(x)}" y="{px(y)}"', text, tip))


def steps(xs: F64, ys: F64, base: float) -> str:
    """The filled area under steps: height ``ys[i]`` from ``xs[i]`` to ``xs[i + 1]``."""
    turns = np.flatnonzero(np.diff(ys)) + 1
    begins = np.concatenate([[0], turns])
    ends = np.concatenate([turns, [len(ys)]])
    parts = [f"V{px(float(ys[i]))}H{px(float(xs[j]))}" for i, j in zip(begins, ends, strict=True)]
    return f"M{px(float(xs[0]))} {px(base)}" + "".join(parts) + f"V{px(base)}Z"
