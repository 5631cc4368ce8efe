"""A timeline as one SVG picture: every row and track, as wide as it is."""

from __future__ import annotations

from dataclasses import dataclass
from math import inf

import numpy as np

from serq.draw.timeline_layout import Axis, Rows, axis_of, rows_of, stay_of_chunk
from serq.draw.timeline_record import Chunk, EngineTrack, Timeline
from serq.draw.timeline_tracks import Events, Track, count, heading, panels, summary
from serq.interp.report import F64
from serq.page.scale import extremes, px, short, tick_labels, ticks
from serq.page.shapes import Drawing, steps
from serq.page.templating import template

WIDTH = 1200.0
LEFT, RIGHT = 150.0, 24.0
NARROWEST = 0.4
"""Pixels below which neighbours of one kind are drawn as one."""


@dataclass
class Picture(Drawing):
    """Shapes in drawing order, and how far down they go."""

    axis: Axis
    y: float = 0.0

    def xs(self, times: F64) -> F64:
        """The pixels of times."""
        axis = self.axis
        scale = (WIDTH - LEFT - RIGHT) / (axis.last - axis.first)
        return LEFT + (axis.at(times) - axis.first) * scale

    def x(self, time: float) -> float:
        """The pixel of a time."""
        return float(self.xs(np.array([time]))[0])

    def columns(self) -> F64:
        """The times at the edges of the pixel columns."""
        axis = self.axis
        count = int(WIDTH - LEFT - RIGHT)
        places = np.linspace(axis.first, axis.last, count + 1)
        return np.interp(places, axis.places, axis.knots)


def clip(text: str, most: int) -> str:
    """At most so many letters, the middle left out: names differ at their ends."""
    if len(text) <= most:
        return text
    left = (most - 1) // 2
    return f"{text[: most - 1 - left]}…{text[len(text) - left :]}"


def svg(timeline: Timeline, title: str, axis: str | None = None) -> str:
    """The picture as a standalone SVG text, ``title`` above it. Raises as `axis_of` does."""
    picture = Picture(axis_of(timeline, axis))
    picture.y = 64.0
    parts = panels(timeline)
    for panel in parts:
        if panel.engine is not None:
            _engine(picture, panel.engine)
        elif len(parts) > 1:
            picture.y += 26.0
            picture.text("head", 16.0, picture.y, "pools and stages")
            picture.y += 10.0
        for track in panel.tracks:
            _track(picture, track)
        for events in panel.events:
            _events(picture, events)
        picture.y += 6.0
    _time_axis(picture)
    return template("serq.draw", "timeline.svg.j2").render(
        title=clip(title, 100),
        span=clip(heading(timeline), 90),
        width=px(WIDTH),
        height=px(picture.y + 40.0),
        shapes=picture.shapes,
        engines=parts[0].engine is not None,
    )


# --- an engine ----------------------------------------------------------------------------------


def _engine(picture: Picture, track: EngineTrack) -> None:
    picture.y += 26.0
    picture.text("head", 16.0, picture.y, f"engine {clip(track.name, 60)}", track.name)
    picture.text("sum", WIDTH - RIGHT, picture.y, summary(track))
    picture.y += 10.0
    _rows(picture, track)


def _row_height(rows: Rows) -> float:
    return 14.0 if rows.requests else max(2.0, min(12.0, 420.0 / max(rows.count, 1)))


def _rows(picture: Picture, track: EngineTrack) -> None:
    rows = rows_of(track)
    height = _row_height(rows)
    top = picture.y
    gap = 1.0 if height > 4.0 else 0.0
    starts, ends = np.array(track.starts), np.array(track.ends)
    if rows.requests:
        for i, label in enumerate(rows.labels):
            picture.text("row", LEFT - 8.0, top + i * height + height - 4.0, clip(label, 26), label)
        _waits(picture, track, rows, top, height)
    else:
        label = f"{count(rows.count, 'slot')}, from 0 at the top"
        picture.text("row", LEFT - 8.0, top + 10.0, label)
    lefts, rights = picture.xs(starts), picture.xs(ends)
    for row, stay in zip(rows.of_stay, track.stays, strict=True):
        x0, x1 = float(lefts[stay.first]), float(rights[stay.last])
        tip = track.requests[stay.request].label
        y = top + row * height
        picture.rect("stay", x0, y + gap / 2, max(x1 - x0, NARROWEST), height - gap, tip)
    _chunks(picture, track, rows, (lefts, rights), top, height, height - gap)
    if not rows.requests:
        _bounds(picture, track, rows, top, height)
    for place, time in track.preemptions:
        x, y = picture.x(time), top + rows.of_stay[place] * height
        label = track.requests[track.stays[place].request].label
        picture.rect("preempt", x - 2.0, y, 2.0, height, f"{label}: preempted at {short(time, 6)}")
    picture.y = top + rows.count * height
    _grid(picture, track, top)
    picture.y += 8.0


def _waits(picture: Picture, track: EngineTrack, rows: Rows, top: float, height: float) -> None:
    """A line where a request of the engine waits: before its first stay, and between stays."""
    since: dict[int, float] = {}
    first = picture.axis.knots[0]
    for row, stay in zip(rows.of_stay, track.stays, strict=True):
        request = track.requests[stay.request]
        begin = since.get(stay.request, request.joined)
        end = track.starts[stay.first]
        x0, x1 = picture.x(max(begin, first)), picture.x(end)
        if x1 - x0 > 0.5 and begin >= 0.0:
            y = top + row * height + height / 2.0
            picture.rect("waitline", x0, y - 0.75, x1 - x0, 1.5, f"{request.label}: waits")
        since[stay.request] = track.ends[stay.last] if stay.preempted else inf


def _chunks(
    picture: Picture, track: EngineTrack, rows: Rows, edges: tuple[F64, F64], top: float,
    pitch: float, height: float,
) -> None:  # fmt: skip
    """What each stay was given: decodes, and over them prefills, at least a pixel wide.

    Neighbours of one kind that are too narrow to tell apart are drawn as one.
    """
    lefts, rights = edges
    bars: dict[tuple[int, bool], list[_Bar]] = {}
    for chunk, stay in zip(track.chunks, stay_of_chunk(track), strict=True):
        made = _Bar(
            float(lefts[chunk.first]),
            float(rights[chunk.first + chunk.count - 1]),
            track.requests[chunk.request].label,
            _said(chunk),
            "" if chunk.decoding else short(chunk.tokens, 5),
        )
        drawn = bars.setdefault((rows.of_stay[stay], chunk.decoding), [])
        before = drawn[-1] if drawn else None
        if before is None or not before.joins(made):
            drawn.append(made)
    for decoding in (True, False):
        for row in range(rows.count):
            for bar in bars.get((row, decoding), ()):
                y = top + row * pitch + (pitch - height) / 2.0
                width = max(bar.right - bar.left, NARROWEST if decoding else 1.0)
                tip = f"{bar.who}: {bar.what}"
                picture.rect("decode" if decoding else "prefill", bar.left, y, width, height, tip)
                if bar.inside and width > 30.0 and height > 10.0:
                    middle = (bar.left + bar.right) / 2.0
                    picture.text("inside", middle, y + height - 2.5, bar.inside, tip)


@dataclass
class _Bar:
    """What is drawn of one chunk, or of several that are too narrow apart."""

    left: float
    right: float
    who: str
    what: str
    inside: str

    def joins(self, after: _Bar) -> bool:
        """Takes the bar behind it in, if one of them is too narrow to be told from the other."""
        narrow = min(self.right - self.left, after.right - after.left) < NARROWEST
        if not narrow or after.left - self.right >= NARROWEST:
            return False
        if after.who != self.who:
            self.who = "several requests"
        if after.what != self.what:
            self.what = self.what.partition(" ")[0]
        self.right, self.inside = after.right, ""
        return True


def _said(chunk: Chunk) -> str:
    """What a chunk gives, in words."""
    tokens = "1 token" if chunk.tokens == 1 else f"{short(chunk.tokens, 6)} tokens"
    times = "" if chunk.count == 1 else f" in each of {chunk.count} iterations"
    return f"{'decode' if chunk.decoding else 'prefill'} {tokens}{times}"


def _bounds(picture: Picture, track: EngineTrack, rows: Rows, top: float, pitch: float) -> None:
    """Where one stay follows another in a slot, a line between them."""
    ends: dict[int, int] = {}
    lines = []
    for row, stay in zip(rows.of_stay, track.stays, strict=True):
        if ends.get(row) == stay.first - 1:
            x = picture.x(track.starts[stay.first])
            lines.append(f"M{px(x)} {px(top + row * pitch)}v{px(pitch)}")
        ends[row] = stay.last
    picture.path("bound", "".join(lines))


def _grid(picture: Picture, track: EngineTrack, top: float) -> None:
    """The bounds of the iterations, where they are wide enough to be seen one by one."""
    xs = picture.xs(np.array(track.starts))[1:]
    if len(xs) and (WIDTH - LEFT - RIGHT) / (len(xs) + 1) >= 4.0:
        lines = "".join(f"M{px(float(x))} {px(top)}V{px(picture.y)}" for x in xs)
        picture.path("cut", lines)


# --- tracks -------------------------------------------------------------------------------------


def _track(picture: Picture, track: Track) -> None:
    base = picture.y + track.height
    label = clip(track.label, 26)
    picture.text("row", LEFT - 8.0, picture.y + 9.0, label, track.label)
    picture.text("scale", LEFT - 8.0, picture.y + 22.0, track.scale)
    edges = picture.columns()
    for layer in track.layers:
        low, high = extremes(layer.times, layer.values, edges)
        _area(picture, high, track.top, base, track.height, f"{layer.kind} faint")
        _area(picture, low, track.top, base, track.height, layer.kind)
    if track.line is not None:
        y = base - track.height * track.line / track.top
        picture.path("cap", f"M{px(LEFT)} {px(y)}H{px(WIDTH - RIGHT)}")
    picture.path("base", f"M{px(LEFT)} {px(base)}H{px(WIDTH - RIGHT)}")
    picture.y = base + 12.0


def _area(picture: Picture, heights: F64, top: float, base: float, room: float, cls: str) -> None:
    """A filled step function, a value per pixel column."""
    ys: F64 = base - room * np.minimum(np.nan_to_num(heights), top) / top
    xs = np.arange(len(ys) + 1, dtype=np.float64) + LEFT
    picture.path(f"area {cls}", steps(xs, ys, base))


def _events(picture: Picture, events: Events) -> None:
    picture.text("row", LEFT - 8.0, picture.y + 9.0, events.label)
    at = sorted({float(round(x)) for x in picture.xs(events.times)})
    lines = "".join(f"M{px(x)} {px(picture.y + 1.0)}v9" for x in at)
    picture.path(f"tick {events.kind}", lines)
    picture.y += 13.0


def _time_axis(picture: Picture) -> None:
    """Round numbers of the axis below, and the times of an axis of iterations under them."""
    axis = picture.axis
    y = picture.y + 4.0
    picture.path("base", f"M{px(LEFT)} {px(y)}H{px(WIDTH - RIGHT)}")
    scale = (WIDTH - LEFT - RIGHT) / (axis.last - axis.first)
    marks = ticks(axis.first, axis.last, 8)
    if axis.kind == "iterations":
        marks = sorted({float(round(mark)) for mark in marks if axis.first <= round(mark)})
    for mark, label in zip(marks, tick_labels(marks), strict=True):
        x = LEFT + (mark - axis.first) * scale
        picture.path("base", f"M{px(x)} {px(y)}v5")
        picture.text("axis", x, y + 17.0, label)
        if axis.kind == "iterations":
            picture.text("axis", x, y + 31.0, short(axis.time(mark), 4))
    picture.text("axisname", LEFT - 18.0, y + 17.0, "iteration" if axis.kind == "iterations"
                 else "time")  # fmt: skip
    if axis.kind == "iterations":
        picture.text("axisname", LEFT - 18.0, y + 31.0, "time")
    picture.y = y
