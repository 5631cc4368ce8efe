"""Where things of a timeline stand: the horizontal axis, and the rows of an engine."""

from __future__ import annotations

from dataclasses import dataclass
from heapq import heappop, heappush

import numpy as np

from serq.diagnostics import SerqError
from serq.draw.timeline_record import EngineTrack, Timeline
from serq.interp.report import F64

AXES = ("iterations", "time")
MOST_REQUEST_ROWS = 40
"""With more requests than that, requests share rows: a row is then a slot of the engine."""


@dataclass(frozen=True)
class Axis:
    """The horizontal axis: ``at`` of a time is in iterations, or the time itself.

    On the axis of iterations each is one wide, and time without any has no width.
    """

    kind: str
    knots: F64
    places: F64

    @property
    def first(self) -> float:
        """The left end."""
        return float(self.places[0])

    @property
    def last(self) -> float:
        """The right end."""
        return float(self.places[-1])

    def at(self, times: F64) -> F64:
        """Where times stand on the axis."""
        places: F64 = np.interp(times, self.knots, self.places)
        return places

    def time(self, place: float) -> float:
        """The time at a place of the axis (the earliest one)."""
        i = int(np.searchsorted(self.places, place, side="left"))
        if i == 0:
            return float(self.knots[0])
        left, right = self.places[i - 1], self.places[min(i, len(self.places) - 1)]
        share = 0.0 if right == left else (place - left) / (right - left)
        return float(self.knots[i - 1] + share * (self.knots[i] - self.knots[i - 1]))


def axis_of(timeline: Timeline, kind: str | None) -> Axis:
    """The axis of a kind; None chooses iterations where one engine alone runs some.

    Raises `SerqError` for an axis of iterations over several engines, whose iterations differ.
    """
    running = [engine for engine in timeline.engines.values() if len(engine.starts)]
    if kind is None:
        kind = "iterations" if len(running) == 1 else "time"
    if kind == "time" or len(running) != 1:
        if kind != "time":
            count = "no engine runs" if not running else f"{len(running)} engines run"
            raise SerqError.of(
                "no-iteration-axis",
                f"{count} iterations in this window, and an axis counts those of one",
                help="use --axis time",
            )
        ends = np.array([timeline.start, timeline.end])
        return Axis("time", ends, ends)
    track = running[0]
    starts, ends = np.array(track.starts), np.array(track.ends)
    numbers = np.arange(len(starts), dtype=np.float64) + float(track.before)
    knots = np.column_stack([starts, ends]).reshape(-1)
    places = np.column_stack([numbers, numbers + 1.0]).reshape(-1)
    inside = (knots >= timeline.start) & (knots <= timeline.end)
    bounds = np.array([timeline.start, timeline.end])
    at = np.interp(bounds, knots, places)
    return Axis(
        "iterations",
        np.concatenate([bounds[:1], knots[inside], bounds[1:]]),
        np.concatenate([at[:1], places[inside], at[1:]]),
    )


@dataclass(frozen=True)
class Rows:
    """The row of each stay; ``labels`` has a name per row, requests' names or slots' numbers."""

    of_stay: list[int]
    count: int
    requests: bool
    labels: list[str]


def rows_of(track: EngineTrack) -> Rows:
    """A row for each request where they are few, otherwise as few rows as keep stays apart."""
    used = sorted({stay.request for stay in track.stays})
    if len(used) <= MOST_REQUEST_ROWS:
        row = {request: i for i, request in enumerate(used)}
        labels = [track.requests[request].label for request in used]
        return Rows([row[stay.request] for stay in track.stays], len(used), True, labels)
    of_stay, count = slots(track)
    return Rows(of_stay, count, False, [f"slot {i}" for i in range(count)])


def slots(track: EngineTrack) -> tuple[list[int], int]:
    """The least free slot for each stay, in their order, and how many slots there are."""
    free: list[int] = []
    busy: list[tuple[int, int]] = []
    of_stay, count = [], 0
    for stay in track.stays:
        while busy and busy[0][0] < stay.first:
            heappush(free, heappop(busy)[1])
        if free:
            slot = heappop(free)
        else:
            slot, count = count, count + 1
        of_stay.append(slot)
        heappush(busy, (stay.last, slot))
    return of_stay, count


def stays_by_request(track: EngineTrack) -> dict[int, list[int]]:
    """The numbers of each request's stays, in their order."""
    found: dict[int, list[int]] = {}
    for i, stay in enumerate(track.stays):
        found.setdefault(stay.request, []).append(i)
    return found


def stay_of_chunk(track: EngineTrack) -> list[int]:
    """The number of the stay in which each chunk was served."""
    stays = stays_by_request(track)
    place = dict.fromkeys(stays, 0)
    found = []
    for chunk in track.chunks:
        mine = stays[chunk.request]
        i = place[chunk.request]
        while i + 1 < len(mine) and track.stays[mine[i]].last < chunk.first:
            i += 1
        place[chunk.request] = i
        found.append(mine[i])
    return found
