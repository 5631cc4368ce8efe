"""A picture before it has a format: boxes, texts, lines and glyphs at places in px.

Both output formats draw these and nothing else, so what the geometry test says of a figure holds
for each of them. x goes right, y goes down.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from typing import TypeVar

from serq.draw.fonts import clean, elide, measure
from serq.draw.style import FONTS

Point = tuple[float, float]


@dataclass(slots=True)
class Box:
    """A rectangle; ``paint`` names its look, ``kind`` what it is to the geometry test.

    Kinds: ``block`` holds other things and is apart from its like or inside it; ``lane`` runs
    under everything, apart from its like; ``mark`` is a sign drawn over something.
    """

    x: float
    y: float
    w: float
    h: float
    paint: str
    radius: float = 0.0
    kind: str = "block"


@dataclass(slots=True)
class Text:
    """A line of text from ``x`` (or to it, or around it) on baseline ``y``.

    ``shown`` fits into ``room`` px, ``full`` is the whole text for who hovers over it.
    """

    x: float
    y: float
    shown: str
    font: str
    ink: str = "ink"
    anchor: str = "start"
    full: str = ""

    @property
    def width(self) -> float:
        return measure(self.shown, FONTS[self.font])

    @property
    def extent(self) -> tuple[float, float, float, float]:
        """Left, top, right, bottom."""
        width, font = self.width, FONTS[self.font]
        left = self.x - {"start": 0.0, "middle": width / 2, "end": width}[self.anchor]
        return left, self.y - font.ascent, left + width, self.y + font.descent


@dataclass(slots=True)
class Line:
    """A path through points, its corners rounded by ``radius``; ``flow`` or ``paint`` is its look.

    A flow has an arrow at its end, at both ends, or (``arrow`` "none") joins another.
    """

    points: tuple[Point, ...]
    paint: str
    flow: bool = False
    arrow: str = "end"
    radius: float = 6.0
    full: str = ""


@dataclass(slots=True)
class Shape:
    """A closed polygon, or with ``round`` an ellipse in its bounding box: parts of glyphs."""

    points: tuple[Point, ...]
    paint: str
    round: bool = False


Item = Box | Text | Line | Shape
Element = TypeVar("Element")


@dataclass
class Figure:
    """A page of ``width`` × ``height`` px; items are painted in their order."""

    title: str
    description: str
    width: float = 0.0
    height: float = 0.0
    items: list[Item] = field(default_factory=list)

    def add(self, item: Item) -> None:
        self.items.append(item)

    def text(
        self,
        x: float,
        y: float,
        text: str,
        font: str,
        room: float,
        *,
        ink: str = "ink",
        anchor: str = "start",
        full: str = "",
    ) -> None:
        """Add a text, elided to ``room`` px."""
        whole = clean(text)
        shown = elide(whole, FONTS[font], room)
        more = full if full else whole if shown != whole else ""
        self.add(Text(x, y, shown, font, ink, anchor, more))

    def elements(
        self,
        box: Callable[[Box], Element],
        text: Callable[[Text], Element],
        line: Callable[[Line], list[Element]],
        shape: Callable[[Shape], Element],
    ) -> list[Element]:
        """The items in the elements of a format, in their order; a line may take several."""
        made: list[Element] = []
        for item in self.items:
            match item:
                case Box():
                    made.append(box(item))
                case Text():
                    made.append(text(item))
                case Line():
                    made += line(item)
                case Shape():
                    made.append(shape(item))
        return made

    def of_kind(self, kind: type[Item]) -> Iterator[Item]:
        return (item for item in self.items if isinstance(item, kind))
