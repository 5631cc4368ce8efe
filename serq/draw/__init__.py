"""Pictures of programs and of runs.

`draw` makes a figure of a program: ``deployment``, what it is made of and where requests go, or
``request``, the way of one request from its arrival to its answer. `svg` and `tikz` write a
figure in a format.
"""

from __future__ import annotations

from serq.deep import run_deep
from serq.draw.figure import Figure
from serq.draw.svg import svg
from serq.draw.tikz import tikz
from serq.ir import nodes
from serq.link.source_map import SourceMap

VIEWS = ("deployment", "request")


def draw(
    program: nodes.Program,
    source_map: SourceMap | None = None,
    *,
    view: str = "deployment",
    title: str = "program",
    unfold: bool = False,
) -> Figure:
    """The figure of a valid program; without a source map parts have the IR's names.

    ``unfold`` draws every member of a family instead of one with the count. The figure depends
    on the arguments alone.
    """
    from serq.draw.deployment import deployment
    from serq.draw.request import request

    if view == "deployment":
        return run_deep(lambda: deployment(program, source_map, title, unfold))
    if view == "request":
        return run_deep(lambda: request(program, source_map, title))
    raise ValueError(f"no view {view!r}: {', '.join(VIEWS)}")


__all__ = ["VIEWS", "Figure", "draw", "svg", "tikz"]
