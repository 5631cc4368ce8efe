"""What is drawn beneath the rows of a timeline: step functions with their scale and events."""

from __future__ import annotations

from dataclasses import dataclass
from math import inf, isfinite

import numpy as np

from serq.diagnostics import SerqError
from serq.draw.timeline_record import EngineTrack, PoolTrack, Series, Timeline
from serq.interp.report import F64
from serq.page.scale import short

TALL, LOW = 44.0, 30.0
MUCH = 4.0
"""A cap that is so many times what is used is named, not drawn: the use would be a flat line."""


@dataclass(frozen=True)
class Layer:
    """A filled step function: ``values[i]`` from ``times[i]`` on; ``kind`` is its colour."""

    kind: str
    name: str
    times: F64
    values: F64


@dataclass(frozen=True)
class Track:
    """Layers over one scale from 0 to ``top``, back to front; ``line`` is a dashed level."""

    label: str
    scale: str
    top: float
    height: float
    layers: tuple[Layer, ...]
    line: float | None = None


@dataclass(frozen=True)
class Events:
    """Times at which something happened."""

    kind: str
    label: str
    times: F64


@dataclass(frozen=True)
class Panel:
    """One engine with what belongs to it, or (``engine`` None) what belongs to no engine."""

    engine: EngineTrack | None
    tracks: list[Track]
    events: list[Events]


def panels(timeline: Timeline) -> list[Panel]:
    """The engines that ran, each with its memory and queues, then all other pools and stages.

    Raises `SerqError` where there is none of them.
    """
    made = []
    drawn: set[int] = set()
    for number, track in timeline.engines.items():
        if not len(track.starts):
            continue
        tracks = [_batch(track)]
        mine = [i for i, pool in enumerate(timeline.pools) if pool.engine == number]
        if track.memory is not None and track.memory not in drawn:
            tracks.append(_memory(timeline.pools[track.memory], track))
            drawn.add(track.memory)
        for i in mine:
            tracks.append(_queue(timeline.pools[i]))
            if i not in drawn:
                tracks.append(_use(timeline.pools[i]))
                drawn.add(i)
        made.append(Panel(track, tracks, _events(track)))
    rest = []
    for i, pool in enumerate(timeline.pools):
        if i not in drawn:
            rest.append(_use(pool))
        if pool.queue.values.any() and not any(
            panel.engine is not None and timeline.engines.get(pool.engine or 0) is panel.engine
            and pool.engine is not None
            for panel in made
        ):  # fmt: skip
            rest.append(_queue(pool))
    rest += [_jobs(stage) for stage in timeline.stages]
    if rest:
        made.append(Panel(None, rest, []))
    if not made:
        raise SerqError.of(
            "nothing-to-draw",
            f"no iteration was run from {timeline.start:g} to {timeline.end:g}, and the program "
            "has no pool and no other stage",
            help="draw a time at which the engine has work",
        )
    return made


def heading(timeline: Timeline) -> str:
    """The window of time, and the engines that ran no iteration in it."""
    said = f"time {short(timeline.start, 6)} to {short(timeline.end, 6)}"
    idle = [track.name for track in timeline.engines.values() if not len(track.starts)]
    if idle:
        names = ", ".join(idle[:6]) + (", …" if len(idle) > 6 else "")
        said += f"; no iteration of {names}"
    return said


def count(number: int, one: str, many: str | None = None) -> str:
    """A number with its noun: 1 iteration, 2 iterations."""
    return f"{number:,} {one if number == 1 else many or one + 's'}"


def summary(track: EngineTrack) -> str:
    """What happened at an engine, in one line."""
    said = [
        count(len(track.starts), "iteration"),
        count(len({stay.request for stay in track.stays}), "request"),
        count(len(track.admissions), "admission"),
        count(len(track.preemptions), "preemption"),
    ]
    evicted = sum(track.evicted)
    if evicted:
        said.append(f"{short(evicted, 4)} units evicted")
    return ", ".join(said)


def _batch(track: EngineTrack) -> Track:
    """Tokens per iteration: decodes below, prefill on top, the budget as a line."""
    times, decode = _pieces(track, np.array(track.decode))
    _, prefill = _pieces(track, np.array(track.prefill))
    total = decode + prefill
    most = float(np.max(total, initial=0.0))
    budgets = [b for b in track.budget if isfinite(b)]
    budget = max(budgets) if budgets else inf
    layers = (Layer("prefill", "prefill", times, total), Layer("decode", "decode", times, decode))
    return _scaled("tokens per iteration", most, budget, "budget", TALL, layers)


def _pieces(track: EngineTrack, values: F64) -> tuple[F64, F64]:
    """A value per iteration as a step function: 0 where none runs."""
    times = np.column_stack([np.array(track.starts), np.array(track.ends)]).reshape(-1)
    held = np.column_stack([values, np.zeros_like(values)]).reshape(-1)
    keep = np.append(np.diff(times) > 0.0, True)
    return times[keep], held[keep]


def _memory(pool: PoolTrack, track: EngineTrack) -> Track:
    """Allocated units, and the cached ones on top as each iteration finds them."""
    used = pool.used
    times = np.union1d(used.times, np.array(track.starts))
    held = _held(used.times, used.values, times)
    filled = np.maximum(_held(np.array(track.starts), np.array(track.filled), times), held)
    layers = (Layer("cached", "used and cached", times, filled),
              Layer("used", "used", used.times, used.values))  # fmt: skip
    return _scaled(
        f"{pool.name} used, cached", float(filled.max(initial=0.0)), pool.cap, "cap", TALL, layers
    )


def _held(times: F64, values: F64, at: F64) -> F64:
    where = np.searchsorted(times, at, side="right") - 1
    found: F64 = np.where(where >= 0, values[np.maximum(where, 0)], 0.0)
    return found


def _use(pool: PoolTrack) -> Track:
    layers = (Layer("used", "used", pool.used.times, pool.used.values),)
    most = float(pool.used.values.max(initial=0.0))
    return _scaled(f"{pool.name} used", most, pool.cap, "cap", LOW, layers)


def _queue(pool: PoolTrack) -> Track:
    return _counted(f"waiting at {pool.name}", pool.queue, "wait", "waiting")


def _jobs(stage: Series) -> Track:
    return _counted(f"jobs at {stage.name}", stage, "jobs", "jobs")


def _counted(label: str, series: Series, kind: str, name: str) -> Track:
    layers = (Layer(kind, name, series.times, series.values),)
    return _scaled(label, float(series.values.max(initial=0.0)), inf, "", LOW, layers)


def _scaled(
    label: str, most: float, cap: float, what: str, height: float, layers: tuple[Layer, ...]
) -> Track:
    """The track's scale: up to its cap, where that is near enough to be drawn."""
    near = cap <= MUCH * most
    top = (max(most, cap) if near else most) or 1.0
    if not isfinite(cap):
        scale = f"0 to {short(top, 4)}"
    elif top == cap:
        scale = f"0 to {what} {short(cap, 5)}"
    else:
        scale = f"0 to {short(top, 4)}, {what} {short(cap, 5)}"
    return Track(label, scale, top, height, layers, cap if near else None)


def _events(track: EngineTrack) -> list[Events]:
    starts = np.array(track.starts)
    admitted = np.unique([starts[a.iteration] for a in track.admissions])
    preempted = np.unique([time for _, time in track.preemptions])
    evicted = starts[np.array(track.evicted) > 0.0]
    made = (Events("admit", "admitted", admitted), Events("preempt", "preempted", preempted),
            Events("evict", "evicted", evicted))  # fmt: skip
    return [events for events in made if len(events.times)]
