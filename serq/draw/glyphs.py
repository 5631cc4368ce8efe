"""Small signs of what a part is: a queue, memory in blocks, a batch, servers, a NIC, a choice."""

from __future__ import annotations

from serq.draw.figure import Box, Figure, Line, Shape

SIZE = 22.0
"""Width and height of a glyph."""


def draw(figure: Figure, name: str, x: float, y: float) -> None:
    """Draw the glyph ``name`` with its corner at (x, y); an unknown name draws nothing."""
    match name:
        case "slots" | "queue":
            _queue(figure, x, y)
        case "memory":
            _memory(figure, x, y)
        case "batch":
            _batch(figure, x, y)
        case "fifo":
            _fifo(figure, x, y)
        case "ps":
            _ps(figure, x, y)
        case "delay":
            _delay(figure, x, y)
        case "nic":
            _nic(figure, x, y)
        case "choice":
            _choice(figure, x, y)


def _cell(figure: Figure, x: float, y: float, w: float, h: float, paint: str) -> None:
    figure.add(Box(x, y, w, h, paint, 0.0, "mark"))


def _stroke(figure: Figure, paint: str, *points: tuple[float, float]) -> None:
    figure.add(Line(points, paint, arrow="none", radius=0.0))


def _circle(figure: Figure, x: float, y: float, r: float, paint: str) -> None:
    corners = ((x - r, y - r), (x + r, y - r), (x + r, y + r), (x - r, y + r))
    figure.add(Shape(corners, paint, round=True))


def _queue(figure: Figure, x: float, y: float) -> None:
    """A line of waiting requests, open to the left."""
    line = "memory-line"
    _stroke(figure, line, (x, y + 4), (x + 21, y + 4), (x + 21, y + 18), (x, y + 18))
    for i in range(4):
        _cell(figure, x + 16.5 - 5 * i, y + 6, 2.8, 10, "memory-ink")


def _memory(figure: Figure, x: float, y: float) -> None:
    """Blocks, most of them taken."""
    for row in range(3):
        for column in range(3):
            taken = row * 3 + column < 5
            px, py = x + 1 + 7 * column, y + 1 + 7 * row
            _cell(figure, px, py, 5.6, 5.6, "memory-ink" if taken else "wait")


def _batch(figure: Figure, x: float, y: float) -> None:
    """A step: the tokens of a prompt, and one of each decoding request."""
    _cell(figure, x + 1, y + 2, 20, 5.5, "compute-ink")
    for row in range(2):
        for column in range(3):
            _cell(figure, x + 1 + 7.2 * column, y + 10 + 6 * row, 5.5, 4, "compute-ink")


def _fifo(figure: Figure, x: float, y: float) -> None:
    line = "compute-line"
    _stroke(figure, line, (x, y + 6), (x + 12, y + 6), (x + 12, y + 16), (x, y + 16))
    for i in range(2):
        _cell(figure, x + 8 - 4 * i, y + 8, 2.2, 6, "compute-ink")
    _circle(figure, x + 17, y + 11, 4.2, "compute-ink")


def _ps(figure: Figure, x: float, y: float) -> None:
    """One server, shared."""
    _circle(figure, x + 11, y + 11, 9.5, "compute-line")
    for dx, dy in ((0.0, -9.5), (8.2, 4.75), (-8.2, 4.75)):
        _stroke(figure, "compute-line", (x + 11, y + 11), (x + 11 + dx, y + 11 + dy))


def _delay(figure: Figure, x: float, y: float) -> None:
    """A clock: time passes, nobody waits for another."""
    _circle(figure, x + 11, y + 11, 9.5, "compute-line")
    _stroke(figure, "compute-line", (x + 11, y + 4.5), (x + 11, y + 11), (x + 15.5, y + 13.5))


def _nic(figure: Figure, x: float, y: float) -> None:
    line = "transfer-line"
    for dy, tip in ((7.0, 20.0), (15.0, 2.0)):
        _stroke(figure, line, (x + 2, y + dy), (x + 20, y + dy))
        side = -4 if tip > 10 else 4
        _stroke(
            figure, line,
            (x + tip + side, y + dy - 3.5), (x + tip, y + dy), (x + tip + side, y + dy + 3.5),
        )  # fmt: skip


def _choice(figure: Figure, x: float, y: float) -> None:
    middle = x + 11, y + 11
    corners = (
        (middle[0], middle[1] - 9), (middle[0] + 9, middle[1]),
        (middle[0], middle[1] + 9), (middle[0] - 9, middle[1]),
    )  # fmt: skip
    figure.add(Shape(corners, "choice-ink"))
