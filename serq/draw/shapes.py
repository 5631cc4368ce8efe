"""Paths of lines with round corners and arrow heads, for both formats."""

from __future__ import annotations

from math import hypot

from serq.draw.figure import Line, Point

HEAD_LENGTH, HEAD_WIDTH = 9.0, 4.0


def coordinate(value: float) -> str:
    """A coordinate with one digit after the point, none when it is whole."""
    text = f"{value:.1f}"
    return text.removesuffix(".0") if text != "-0.0" else "0"


def shortened(line: Line, width: float) -> tuple[tuple[Point, ...], list[tuple[Point, ...]]]:
    """The points of a flow, cut where its heads begin, and the heads as triangles."""
    points = list(line.points)
    heads: list[tuple[Point, ...]] = []
    if line.arrow in ("end", "both"):
        points[-1], head = _head(points[-2], points[-1], width)
        heads.append(head)
    if line.arrow == "both":
        points[0], head = _head(points[1], points[0], width)
        heads.append(head)
    return tuple(points), heads


def _head(before: Point, tip: Point, width: float) -> tuple[Point, tuple[Point, ...]]:
    dx, dy = tip[0] - before[0], tip[1] - before[1]
    length = hypot(dx, dy) or 1.0
    ux, uy = dx / length, dy / length
    long, wide = HEAD_LENGTH + width, HEAD_WIDTH + width / 2
    base = (tip[0] - ux * long, tip[1] - uy * long)
    left = (base[0] - uy * wide, base[1] + ux * wide)
    right = (base[0] + uy * wide, base[1] - ux * wide)
    joint = (tip[0] - ux * (long - 1), tip[1] - uy * (long - 1))
    return joint, (tip, left, right)


def rounded(points: tuple[Point, ...], radius: float) -> list[tuple[str, tuple[Point, ...]]]:
    """A path as commands: ``M`` and ``L`` to a point, ``Q`` around a corner."""
    out: list[tuple[str, tuple[Point, ...]]] = [("M", (points[0],))]
    for before, corner, after in zip(points, points[1:], points[2:], strict=False):
        one = min(radius, hypot(corner[0] - before[0], corner[1] - before[1]) / 2)
        two = min(radius, hypot(after[0] - corner[0], after[1] - corner[1]) / 2)
        r = min(one, two)
        if r <= 0.0:
            out.append(("L", (corner,)))
            continue
        out.append(("L", (_toward(corner, before, r),)))
        out.append(("Q", (corner, _toward(corner, after, r))))
    out.append(("L", (points[-1],)))
    return out


def _toward(start: Point, end: Point, by: float) -> Point:
    length = hypot(end[0] - start[0], end[1] - start[1]) or 1.0
    share = by / length
    return start[0] + (end[0] - start[0]) * share, start[1] + (end[1] - start[1]) * share
