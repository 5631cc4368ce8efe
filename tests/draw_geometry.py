"""What must hold of every figure: nothing clipped, nothing on top of another."""

from __future__ import annotations

from collections.abc import Iterator

from serq.draw import Figure
from serq.draw.figure import Box, Line, Shape, Text

Rect = tuple[float, float, float, float]
"""Left, top, right, bottom."""

SLACK = 0.6


def faults(figure: Figure) -> Iterator[str]:
    """One sentence per broken rule; none for a good figure."""
    yield from _clipped(figure)
    texts = [item for item in figure.items if isinstance(item, Text)]
    blocks = [item for item in figure.items if isinstance(item, Box) and item.kind == "block"]
    lanes = [item for item in figure.items if isinstance(item, Box) and item.kind == "lane"]
    yield from _texts_on_texts(texts)
    yield from _boxes_on_boxes(blocks)
    yield from _boxes_on_boxes(lanes)
    yield from _texts_across_boxes(texts, [*blocks, *lanes])
    lines = [item for item in figure.items if isinstance(item, Line) and item.flow]
    yield from _lines_through_texts(lines, texts, figure)
    yield from _lines_through_blocks(lines, blocks)


def _rect(item: Box) -> Rect:
    return item.x, item.y, item.x + item.w, item.y + item.h


def _overlap(a: Rect, b: Rect, slack: float = SLACK) -> bool:
    return (
        a[0] < b[2] - slack and b[0] < a[2] - slack and a[1] < b[3] - slack and b[1] < a[3] - slack
    )


def _inside(a: Rect, b: Rect) -> bool:
    return (
        a[0] >= b[0] - SLACK and a[1] >= b[1] - SLACK and a[2] <= b[2] + SLACK
        and a[3] <= b[3] + SLACK
    )  # fmt: skip


def _clipped(figure: Figure) -> Iterator[str]:
    page = (0.0, 0.0, figure.width, figure.height)
    for item in figure.items:
        match item:
            case Box():
                rects = [_rect(item)]
            case Text():
                rects = [item.extent]
            case Line() | Shape():
                rects = [(x, y, x, y) for x, y in item.points]
        if not all(_inside(rect, page) for rect in rects):
            yield f"outside the page: {item}"


def _texts_on_texts(texts: list[Text]) -> Iterator[str]:
    boxes = sorted(((t.extent, t) for t in texts), key=lambda pair: pair[0][1])
    for i, (a, one) in enumerate(boxes):
        for b, two in boxes[i + 1 :]:
            if b[1] >= a[3]:
                break
            if _overlap(a, b):
                yield f"two texts overlap: {one.shown!r} and {two.shown!r}"


def _boxes_on_boxes(blocks: list[Box]) -> Iterator[str]:
    for i, one in enumerate(blocks):
        a = _rect(one)
        for two in blocks[i + 1 :]:
            b = _rect(two)
            if _overlap(a, b) and not _inside(a, b) and not _inside(b, a):
                yield f"two boxes overlap: {one} and {two}"


def _texts_across_boxes(texts: list[Text], blocks: list[Box]) -> Iterator[str]:
    for text in texts:
        rect = text.extent
        for block in blocks:
            if _overlap(rect, _rect(block)) and not _inside(rect, _rect(block)):
                yield f"{text.shown!r} sticks out of {block}"


def _segments(line: Line) -> Iterator[Rect]:
    for (x1, y1), (x2, y2) in zip(line.points, line.points[1:], strict=False):
        yield min(x1, x2), min(y1, y2), max(x1, x2), max(y1, y2)


def _lines_through_texts(lines: list[Line], texts: list[Text], figure: Figure) -> Iterator[str]:
    """A flow may pass behind the word on a box that stands on it, over nothing else."""
    marks = [_rect(item) for item in figure.items if isinstance(item, Box) and item.kind == "mark"]
    page = (0.0, 0.0, figure.width, figure.height)
    marks = [rect for rect in marks if rect != page]
    for text in texts:
        rect = text.extent
        if any(_inside(rect, mark) for mark in marks):
            continue
        for line in lines:
            for segment in _segments(line):
                if _overlap(rect, (segment[0] - 1, segment[1] - 1, segment[2] + 1, segment[3] + 1)):
                    yield f"an arrow crosses {text.shown!r}"


def _lines_through_blocks(lines: list[Line], blocks: list[Box]) -> Iterator[str]:
    """Flows of the deployment view keep out of its boxes; lanes and frames may be crossed."""
    solid = [b for b in blocks if b.paint not in ("alt", "leg-frame")]
    for line in lines:
        for segment in _segments(line):
            thick = (segment[0] - 0.9, segment[1] - 0.9, segment[2] + 0.9, segment[3] + 0.9)
            for block in solid:
                a, b = thick, _rect(block)
                if _overlap(a, b, 1.0):
                    yield f"an arrow runs through {block}: {segment}"
