"""A timeline as one HTML file: the run's data and a small script that draws and zooms it."""

from __future__ import annotations

from math import floor, log10
from typing import Any

import numpy as np

import serq
from serq.draw.timeline_layout import axis_of, rows_of, stay_of_chunk
from serq.draw.timeline_record import EngineTrack, Timeline
from serq.draw.timeline_tracks import Track, heading, panels, summary
from serq.interp.report import F64
from serq.page.scale import extremes
from serq.page.templating import template

MOST_POINTS = 500_000
"""Points of all tracks together; with more, tracks keep the extremes of equal parts of time."""
TALLEST = 4000.0
"""Pixels of an engine's rows: a browser's canvas has a limit."""


def html(timeline: Timeline, title: str, axis: str | None = None) -> str:
    """The page, whole: no other file, no network. Raises as `axis_of` does."""
    kind = axis_of(timeline, axis).kind
    places = max(0, min(15, 8 - floor(log10(timeline.end - timeline.start))))
    parts = panels(timeline)
    points = sum(len(layer.times) for p in parts for t in p.tracks for layer in t.layers)
    tracks = sum(len(t.layers) for p in parts for t in p.tracks)
    most = MOST_POINTS // max(tracks, 1) if points > MOST_POINTS else None
    engines = [panel.engine for panel in parts if panel.engine is not None]
    data = {
        "start": timeline.start,
        "end": timeline.end,
        "axis": kind,
        "both": len(engines) == 1,
        "panels": [
            {
                "engine": None if p.engine is None else _engine(p.engine, places),
                "tracks": [_track(t, timeline, places, most) for t in p.tracks],
                "events": [
                    {"kind": e.kind, "label": e.label, "times": _numbers(e.times, places)}
                    for e in p.events
                ],
            }
            for p in parts
        ],
    }
    return template("serq.draw", "timeline.html.j2").render(
        title=title,
        span=heading(timeline),
        version=serq.__version__,
        panels=[
            {
                "name": None if p.engine is None else p.engine.name,
                "summary": "" if p.engine is None else summary(p.engine),
                "tracks": p.tracks,
                "events": p.events,
            }
            for p in parts
        ],
        engines=bool(engines),
        data=data,
    )


def _numbers(values: F64, places: int) -> list[float | int]:
    """The numbers rounded for the screen, whole ones as integers."""
    rounded = np.round(values, places).tolist()
    return [int(x) if x.is_integer() and abs(x) < 1e15 else x for x in rounded]


def _engine(track: EngineTrack, places: int) -> dict[str, Any]:
    rows = rows_of(track)
    height = 14.0 if rows.requests else max(2.0, min(12.0, 420.0 / max(rows.count, 1)))
    stays, chunks = [], []
    for row, stay in zip(rows.of_stay, track.stays, strict=True):
        stays += [row, stay.request, stay.first, stay.last, int(stay.preempted)]
    for stay_number, chunk in zip(stay_of_chunk(track), track.chunks, strict=True):
        tokens = round(chunk.tokens, 6)
        chunks += [
            rows.of_stay[stay_number],
            chunk.request,
            chunk.first,
            chunk.count,
            int(tokens) if tokens.is_integer() else tokens,
            int(chunk.decoding),
        ]
    return {
        "before": track.before,
        "starts": _numbers(np.array(track.starts), places),
        "ends": _numbers(np.array(track.ends), places),
        "requests": [[r.session, r.turn, int(r.leg)] for r in track.requests],
        "joined": _numbers(np.array([r.joined for r in track.requests]), places),
        "rows": rows.count,
        "height": min(height, TALLEST / max(rows.count, 1)),
        "labels": rows.labels if rows.requests else [],
        "stays": stays,
        "chunks": chunks,
    }


def _track(track: Track, timeline: Timeline, places: int, most: int | None) -> dict[str, Any]:
    layers = []
    for layer in track.layers:
        times, values = layer.times, layer.values
        if most is not None and len(times) > most:
            edges = np.linspace(timeline.start, timeline.end, most // 2 + 1)
            low, high = extremes(times, values, edges)
            middle = (edges[:-1] + edges[1:]) / 2.0
            times = np.column_stack([edges[:-1], middle]).reshape(-1)
            values = np.nan_to_num(np.column_stack([low, high]).reshape(-1))
        layers.append(
            {
                "kind": layer.kind,
                "name": layer.name,
                "times": _numbers(times, places),
                "values": _numbers(values, 6),
            }
        )
    return {"top": track.top, "height": track.height, "line": track.line, "layers": layers}
