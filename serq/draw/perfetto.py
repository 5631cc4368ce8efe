"""A timeline as trace events for ui.perfetto.dev and chrome://tracing.

The format is Chrome's *Trace Event Format*, JSON object form. An engine is a process: one thread
has its iterations, one per slot has the requests resident there with what they are given. All
pools are a process of counters, all other stages another. Times are microseconds of a clock whose
unit is a second.
"""

from __future__ import annotations

import json
from collections.abc import Iterator
from typing import Any

import serq
from serq.draw.timeline_layout import slots, stay_of_chunk
from serq.draw.timeline_record import EngineTrack, PoolTrack, Series, Timeline

MICROSECONDS = 1e6
Event = dict[str, Any]


def trace(timeline: Timeline, title: str) -> str:
    """The trace as JSON text; its events ascend in time within each track."""
    events: list[Event] = []
    for pid, track in enumerate(timeline.engines.values(), 1):
        events += _engine(track, pid)
    pid = len(timeline.engines) + 1
    events += _pools(timeline, pid)
    if timeline.stages:
        events += _stages(timeline.stages, pid + 1)
    # Metadata first; then in time, an enclosing slice before what it encloses.
    events.sort(key=lambda e: (e["ph"] != "M", e["ts"], -e.get("dur", 0.0)))
    document = {
        "traceEvents": events,
        "displayTimeUnit": "ms",
        "otherData": {
            "program": title,
            "tool": f"serq {serq.__version__}",
            "clock": "1 unit of the program's clock is 1 second",
        },
    }
    return json.dumps(document, separators=(",", ":"), allow_nan=False) + "\n"


def _ts(time: float) -> float:
    """Microseconds, to a thousandth; equal times stay equal."""
    return round(time * MICROSECONDS, 3)


def _slice(pid: int, tid: int, name: str, start: float, end: float, args: Event) -> Event:
    ts = _ts(start)
    return {
        "ph": "X", "pid": pid, "tid": tid, "name": name, "ts": ts,
        "dur": round(_ts(end) - ts, 3), "args": args,
    }  # fmt: skip


def _instant(pid: int, tid: int, name: str, time: float, args: Event) -> Event:
    return {"ph": "i", "s": "t", "pid": pid, "tid": tid, "name": name, "ts": _ts(time),
            "args": args}  # fmt: skip


def _named(pid: int, kind: str, name: str, tid: int = 0, order: int | None = None) -> list[Event]:
    """Metadata: the name of a process or thread, and its place."""
    made: list[Event] = [
        {"ph": "M", "pid": pid, "tid": tid, "ts": 0, "name": f"{kind}_name", "args": {"name": name}}
    ]
    if order is not None:
        made.append(
            {"ph": "M", "pid": pid, "tid": tid, "ts": 0, "name": f"{kind}_sort_index",
             "args": {"sort_index": order}}
        )  # fmt: skip
    return made


def _whole(x: float) -> float | int:
    return int(x) if x.is_integer() else x


def _engine(track: EngineTrack, pid: int) -> Iterator[Event]:
    yield from _named(pid, "process", f"engine {track.name}", order=pid)
    yield from _named(pid, "thread", "iterations", tid=1, order=0)
    lanes, count = slots(track)
    for lane in range(count):
        yield from _named(pid, "thread", f"slot {lane}", tid=2 + lane, order=1 + lane)
    admitted: dict[int, list[str]] = {}
    for admission in track.admissions:
        label = track.requests[admission.request].label
        admitted.setdefault(admission.iteration, []).append(label)
    for i, start in enumerate(track.starts):
        prefill, decode = _whole(track.prefill[i]), _whole(track.decode[i])
        kind = "preemption only" if not prefill and not decode else (
            "mixed" if prefill and decode else "prefill" if prefill else "decode"
        )  # fmt: skip
        args: Event = {"iteration": track.before + i, "prefill": prefill, "decode": decode}
        if i in admitted:
            args["admitted"] = admitted[i]
        yield _slice(pid, 1, kind, start, track.ends[i], args)
        yield _counter(pid, "tokens per iteration", start, {"prefill": prefill, "decode": decode})
        following = track.starts[i + 1] if i + 1 < len(track.starts) else None
        if following is None or following > track.ends[i]:
            zero = {"prefill": 0, "decode": 0}
            yield _counter(pid, "tokens per iteration", track.ends[i], zero)
        if track.evicted[i]:
            units = {"units": _whole(track.evicted[i])}
            yield _instant(pid, 1, "evicted", start, units)
    yield from _requests(track, pid, lanes)


def _requests(track: EngineTrack, pid: int, lanes: list[int]) -> Iterator[Event]:
    """Each stay as a slice in its slot, what it was given as slices in it."""
    cached = {(a.request, a.iteration): a.cached for a in track.admissions}
    for lane, stay in zip(lanes, track.stays, strict=True):
        request = track.requests[stay.request]
        args: Event = {"session": request.session, "turn": request.turn}
        if (stay.request, stay.first) in cached:
            args["cached"] = _whole(cached[stay.request, stay.first])
        if stay.preempted:
            args["preempted"] = True
        start, end = track.starts[stay.first], track.ends[stay.last]
        yield _slice(pid, 2 + lane, request.label, start, end, args)
        if stay.preempted:
            yield _instant(pid, 2 + lane, "preempted", end, {"request": request.label})
    for stay_number, chunk in zip(stay_of_chunk(track), track.chunks, strict=True):
        last = chunk.first + chunk.count - 1
        args = {"tokens per iteration": _whole(chunk.tokens), "iterations": chunk.count}
        yield _slice(
            pid, 2 + lanes[stay_number], "decode" if chunk.decoding else "prefill",
            track.starts[chunk.first], track.ends[last], args,
        )  # fmt: skip


def _counter(pid: int, name: str, time: float, values: Event) -> Event:
    return {"ph": "C", "pid": pid, "tid": 0, "name": name, "ts": _ts(time), "args": values}


def _pools(timeline: Timeline, pid: int) -> Iterator[Event]:
    if not timeline.pools:
        return
    yield from _named(pid, "process", "pools", order=pid)
    filled: dict[int, EngineTrack] = {}
    for track in timeline.engines.values():
        if track.memory is not None:
            filled.setdefault(track.memory, track)
    for i, pool in enumerate(timeline.pools):
        yield from _pool(pool, pid)
        if i in filled:
            engine = filled[i]
            for start, units in zip(engine.starts, engine.filled, strict=True):
                values = {"units": _whole(units)}
                yield _counter(pid, f"{pool.name} used and cached", start, values)


def _pool(pool: PoolTrack, pid: int) -> Iterator[Event]:
    for name, series in ((f"{pool.name} used", pool.used), (f"{pool.name} waiting", pool.queue)):
        what = "units" if series is pool.used else "requests"
        for time, value in zip(series.times.tolist(), series.values.tolist(), strict=True):
            yield _counter(pid, name, time, {what: _whole(value)})


def _stages(stages: list[Series], pid: int) -> Iterator[Event]:
    yield from _named(pid, "process", "stages", order=pid)
    for stage in stages:
        for time, value in zip(stage.times.tolist(), stage.values.tolist(), strict=True):
            yield _counter(pid, f"jobs at {stage.name}", time, {"jobs": _whole(value)})
