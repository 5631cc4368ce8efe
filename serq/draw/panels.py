"""Boxes with words in them: parts, the frames around them, and whole panels.

Each is measured first, at its natural width, and drawn into the width that its column has.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field

from serq.draw import glyphs
from serq.draw.figure import Box, Figure
from serq.draw.fonts import clean, measure, wrap
from serq.draw.style import FONTS

LINE = 15.0
"""From baseline to baseline."""
PAD = 9.0
ROOM = 246.0
"""A text's greatest width; longer ones are wrapped, then elided."""
GLYPH = glyphs.SIZE + 10.0
MIN_PANEL = 150.0
GRID = 8.0


@dataclass
class Row:
    """A label and what it says: the value in ``font``, wrapped to two lines at most."""

    label: str
    value: str
    font: str = "text"
    indent: float = 0.0
    lines: int = 2
    ink: str = "ink"

    def label_width(self) -> float:
        return measure(self.label, FONTS["small"]) + 8.0 if self.label else 0.0

    def wrapped(self, column: float) -> list[str]:
        room = ROOM - column - self.indent
        return wrap(clean(self.value), FONTS[self.font], max(60.0, room), self.lines)


@dataclass
class Part:
    """A resource or a decision: a glyph, a name, a count, and rows as in a data sheet.

    ``number`` is what matters most, at the right of the name.
    """

    paint: str
    glyph: str
    title: str
    chip: str = ""
    rows: list[Row] = field(default_factory=list)
    aligned: bool = True
    number: str = ""
    w: float = 0.0
    h: float = 0.0

    def measure(self) -> None:
        column = self._column()
        width = 0.0
        count = 0
        if self.title:
            chip = measure(self.chip, FONTS["small"]) + 22 if self.chip else 0.0
            number = measure(self.number, FONTS["name"]) + 16 if self.number else 0.0
            name = measure(clean(self.title), FONTS["name"])
            width = min(name, max(60.0, ROOM - chip - number)) + chip + number
        for row in self.rows:
            at = column if self.aligned else row.label_width()
            for line in row.wrapped(at):
                width = max(width, row.indent + at + measure(line, FONTS[row.font]))
                count += 1
        glyph = GLYPH if self.glyph else 0.0
        self.w = 2 * PAD + glyph + width
        head = 16.0 if self.title else 1.0
        self.h = max(2 * PAD - 3 + head + LINE * count, glyphs.SIZE + 12 if self.glyph else 0.0)

    def _column(self) -> float:
        if not self.aligned:
            return 0.0
        return max((row.label_width() for row in self.rows), default=0.0)

    def draw(self, figure: Figure, x: float, y: float, w: float) -> None:
        figure.add(Box(x, y, w, self.h, self.paint, 4.0))
        if self.glyph:
            glyphs.draw(figure, self.glyph, x + PAD - 1, y + PAD - 3)
        left = x + PAD + (GLYPH if self.glyph else 0.0)
        room = x + w - PAD - left
        base = y + PAD + 9
        if self.title:
            chip = _chip(figure, self.chip, x + w - PAD, base - 4) if self.chip else 0.0
            if self.number:
                number = measure(self.number, FONTS["name"]) + 1
                right = x + w - PAD - chip
                figure.text(right, base, self.number, "name", number, anchor="end")
                chip += number + 14
            figure.text(left, base, self.title, "name", room - chip)
            base += 17
        column = self._column()
        for row in self.rows:
            at = column if self.aligned else row.label_width()
            lines = row.wrapped(at)
            if row.label:
                figure.text(left + row.indent, base, row.label, "small", at, ink="muted")
            whole = clean(row.value)
            full = whole if " ".join(lines) != whole else ""
            for line in lines:
                figure.text(
                    left + row.indent + at, base, line, row.font,
                    room - at - row.indent + 1.0, full=full, ink=row.ink,
                )  # fmt: skip
                base += LINE


def _chip(figure: Figure, text: str, right: float, middle: float) -> float:
    """A small round label that ends at ``right``; the width it takes, its gap included."""
    width = measure(text, FONTS["small"]) + 12
    figure.add(Box(right - width, middle - 8, width, 16, "chip", 8.0))
    figure.text(right - width / 2, middle + 3.8, text, "small", width, anchor="middle")
    return width + 8


@dataclass
class Group:
    """Parts on one thing, a device or a member; its label at the top left."""

    label: str
    children: list[Block]
    paint: str = "frame"
    w: float = 0.0
    h: float = 0.0

    def measure(self) -> None:
        for child in self.children:
            child.measure()
        label = min(measure(clean(self.label), FONTS["small"]), ROOM) if self.label else 0.0
        self.w = max([label, *(c.w for c in self.children)]) + 2 * PAD - 4
        self.h = _stack(self.children) + (20.0 if self.label else PAD - 2) + PAD - 2

    def draw(self, figure: Figure, x: float, y: float, w: float) -> None:
        figure.add(Box(x, y, w, self.h, self.paint, 5.0))
        if self.label:
            figure.text(x + PAD, y + 13.5, self.label, "small", w - 2 * PAD, ink="muted")
            y += 20.0
        else:
            y += PAD - 2
        _draw_stack(figure, self.children, x + PAD - 2, y, w - 2 * PAD + 4)

    def place_of(self, part: Part) -> float | None:
        """The middle of a part inside, from the group's top."""
        return _place_of(self.children, part, 20.0 if self.label else PAD - 2)


@dataclass
class Grid:
    """Members side by side, ``columns`` in a row, all of one size."""

    children: list[Group]
    columns: int
    w: float = 0.0
    h: float = 0.0

    def measure(self) -> None:
        for child in self.children:
            child.measure()
        wide, tall = max(c.w for c in self.children), max(c.h for c in self.children)
        for child in self.children:
            child.h = tall
        rows = -(-len(self.children) // self.columns)
        self.w = self.columns * wide + GRID * (self.columns - 1)
        self.h = rows * tall + GRID * (rows - 1)

    def draw(self, figure: Figure, x: float, y: float, w: float) -> None:
        wide = (w - GRID * (self.columns - 1)) / self.columns
        for i, child in enumerate(self.children):
            row, column = divmod(i, self.columns)
            child.draw(figure, x + column * (wide + GRID), y + row * (child.h + GRID), wide)

    def place_of(self, part: Part) -> float | None:
        for i, child in enumerate(self.children):
            inner = child.place_of(part)
            if inner is not None:
                return inner + i // self.columns * (child.h + GRID)
        return None


Block = Part | Group | Grid


@dataclass
class Panel:
    """A station, the clients or a router: a heading, a role, and what is in it.

    A ``stacked`` panel stands for several.
    """

    title: str
    role: str
    chip: str
    children: list[Block]
    paint: str = "panel"
    stacked: bool = False
    w: float = 0.0
    h: float = 0.0

    HEAD = 33.0

    def measure(self) -> None:
        for child in self.children:
            child.measure()
        self.w = max(
            [MIN_PANEL, self._heading() + 2 * PAD + 4, *(c.w + 2 * PAD for c in self.children)]
        )
        self.h = self.HEAD + (_stack(self.children) + PAD + 1 if self.children else 2.0)

    def _heading(self) -> float:
        chip = measure(self.chip, FONTS["small"]) + 24 if self.chip else 0.0
        role = measure(clean(self.role), FONTS["small"]) + 14 if self.role else 0.0
        return min(measure(clean(self.title), FONTS["head"]), ROOM) + chip + role

    def draw(self, figure: Figure, x: float, y: float, w: float, h: float) -> None:
        figure.add(Box(x, y, w, h, self.paint, 8.0))
        left, right = x + PAD + 3, x + w - PAD - 3
        if self.role:
            figure.text(right, y + 22, self.role, "small", ROOM / 2, ink="muted", anchor="end")
            right -= min(measure(clean(self.role), FONTS["small"]), ROOM / 2) + 12
        chip = measure(self.chip, FONTS["small"]) + 20 if self.chip else 0.0
        name = min(measure(clean(self.title), FONTS["head"]), right - left - chip)
        figure.text(left, y + 22.5, self.title, "head", right - left - chip)
        if self.chip:
            _chip(figure, self.chip, left + name + chip, y + 18)
        _draw_stack(figure, self.children, x + PAD, y + self.HEAD, w - 2 * PAD)

    def place_of(self, part: Part) -> float | None:
        """The middle of a part inside, from the panel's top."""
        return _place_of(self.children, part, self.HEAD)


def _stack(children: Sequence[Block]) -> float:
    return sum(c.h for c in children) + 7.0 * max(0, len(children) - 1)


def _draw_stack(figure: Figure, children: Sequence[Block], x: float, y: float, w: float) -> None:
    for child in children:
        child.draw(figure, x, y, w)
        y += child.h + 7.0


def _place_of(children: Sequence[Block], part: Part, top: float) -> float | None:
    for child in children:
        if child is part:
            return top + child.h / 2
        if isinstance(child, (Group, Grid)):
            inner = child.place_of(part)
            if inner is not None:
                return top + inner
        top += child.h + 7.0
    return None
