"""Pictures hold together: nothing clipped, no overlaps, text inside its box, arrows in the open."""

from __future__ import annotations

from collections.abc import Callable
from copy import deepcopy
from pathlib import Path

import pytest
from draw_geometry import faults
from draw_programs import STRATEGIES, random_programs

from serq.api import load
from serq.draw import VIEWS, Figure, draw
from serq.draw.figure import Box, Line, Text

EXAMPLES = Path(__file__).parent.parent / "examples"
PROGRAMS = sorted(str(path.relative_to(EXAMPLES)) for path in EXAMPLES.rglob("*.sq"))
NIXL = "pd-disaggregation/llmd_nixl_pull.sq"


def figure_of(example: str, **options: object) -> Figure:
    loaded = load(EXAMPLES / example, need_horizon=False)
    return draw(loaded.program, loaded.source_map, title=example, **options)  # type: ignore[arg-type]


@pytest.mark.parametrize("example", PROGRAMS)
def test_examples(example: str) -> None:
    """Every example has good geometry in both views, unfolded, and without its source map."""
    loaded = load(EXAMPLES / example, need_horizon=False)
    for source_map in (loaded.source_map, None):
        for view in VIEWS:
            assert list(faults(draw(loaded.program, source_map, view=view, title=example))) == []
        unfolded = draw(loaded.program, source_map, title=example, unfold=True)
        assert list(faults(unfolded)) == []


@pytest.mark.parametrize("kind", STRATEGIES)
def test_random_programs(kind: str) -> None:
    """A hundred random programs of each kind have good geometry in both views."""
    for i, (text, linked) in enumerate(random_programs(kind)):
        source_map = None if i % 4 == 0 else linked.source_map
        for view in VIEWS:
            unfold = view == "deployment" and i % 5 == 0
            figure = draw(linked.program, source_map, view=view, unfold=unfold)
            assert list(faults(figure)) == [], text


def test_the_check_can_fail() -> None:
    """A figure that is broken in one place is reported, whichever rule it breaks."""
    good = figure_of(NIXL)
    assert list(faults(good)) == []

    def broken(change: Callable[[Figure], None]) -> str:
        figure = deepcopy(good)
        change(figure)
        return next(iter(faults(figure)), "")

    def texts(figure: Figure) -> list[Text]:
        return [item for item in figure.items if isinstance(item, Text)]

    def narrow(figure: Figure) -> None:
        figure.width -= 60

    def pile(figure: Figure) -> None:
        one, two = texts(figure)[4:6]
        one.x, one.y = two.x + 2, two.y

    def lengthen(figure: Figure) -> None:
        next(t for t in texts(figure) if t.shown == "LRU by block").shown *= 5

    def push(figure: Figure) -> None:
        box = next(i for i in figure.items if isinstance(i, Box) and i.paint == "compute")
        box.x += 40

    def cross(figure: Figure) -> None:
        label = next(t for t in texts(figure) if t.shown == "KV pull")
        figure.add(Line(((label.x, label.y - 4), (label.x + 20, label.y - 4)), "request", True))

    def run_through(figure: Figure) -> None:
        box = next(i for i in figure.items if isinstance(i, Box) and i.paint == "panel")
        edge = ((box.x - 10, box.y + box.h - 2), (box.x + box.w + 10, box.y + box.h - 2))
        figure.add(Line(edge, "request", True))

    assert broken(narrow).startswith("outside the page")
    assert broken(pile).startswith("two texts overlap")
    assert "LRU" in broken(lengthen)
    assert "overlap" in broken(push) or "sticks out" in broken(push)
    assert broken(cross) == "an arrow crosses 'KV pull'"
    assert broken(run_through).startswith("an arrow runs through")
