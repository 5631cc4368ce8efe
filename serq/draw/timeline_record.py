"""What a timeline is made of: a run's iterations, residents, tokens, pools and stages over time.

`record` runs a program with a recorder at its engines, and with gauges of its own on every pool
and stage; the program's own gauges and claims are left out, since nobody looks at them.
"""

from __future__ import annotations

from array import array
from collections.abc import Callable
from dataclasses import dataclass, field, replace
from math import inf
from typing import Any

import numpy as np

from serq import interp
from serq.api import Loaded
from serq.diagnostics import SerqError
from serq.interp.report import F64, Gauge
from serq.ir import nodes as ir
from serq.text_report import member

MOST_ITERATIONS = 200_000
MOST_CHUNKS = 300_000


@dataclass(frozen=True, slots=True)
class Request:
    """One turn of a session at one engine; ``joined`` is when it last joined a queue."""

    session: int
    turn: int
    leg: bool
    joined: float

    @property
    def label(self) -> str:
        """As a person names it: session 3, turn 1."""
        return f"session {self.session}, turn {self.turn}" + (" (leg)" if self.leg else "")

    @property
    def short(self) -> str:
        """The label where there is little room."""
        return f"{self.session}·{self.turn}" + ("ʟ" if self.leg else "")


@dataclass(slots=True)
class Stay:
    """A request is resident from iteration ``first`` to ``last``, both of them included."""

    request: int
    first: int
    last: int
    preempted: bool = False


@dataclass(slots=True)
class Chunk:
    """``tokens`` for a request in each of ``count`` iterations from ``first`` on."""

    request: int
    first: int
    count: int
    tokens: float
    decoding: bool


@dataclass(frozen=True, slots=True)
class Admission:
    """The engine admitted a request in an iteration; it consumed ``cached`` units of prefix."""

    request: int
    iteration: int
    cached: float


@dataclass
class EngineTrack:
    """One engine's iterations. The arrays have one entry per iteration, times in clock units."""

    name: str
    memory: int | None
    before: int = 0
    """Iterations before the first of these, in the whole run."""

    starts: array[float] = field(default_factory=lambda: array("d"))
    ends: array[float] = field(default_factory=lambda: array("d"))
    prefill: array[float] = field(default_factory=lambda: array("d"))
    decode: array[float] = field(default_factory=lambda: array("d"))
    budget: array[float] = field(default_factory=lambda: array("d"))
    filled: array[float] = field(default_factory=lambda: array("d"))
    """Units of the engine's memory, allocated or cached."""

    evicted: array[float] = field(default_factory=lambda: array("d"))
    """Units evicted from the engine's memory since the iteration before."""

    requests: list[Request] = field(default_factory=list)
    stays: list[Stay] = field(default_factory=list)
    chunks: list[Chunk] = field(default_factory=list)
    admissions: list[Admission] = field(default_factory=list)
    preemptions: list[tuple[int, float]] = field(default_factory=list)
    """Stays (their places in ``stays``) that a preemption ended, with the time."""


@dataclass(frozen=True)
class Series:
    """A value held between changes: ``values[i]`` from ``times[i]`` on."""

    name: str
    times: F64
    values: F64


@dataclass(frozen=True)
class PoolTrack:
    """A pool's allocated units and its queue, over time.

    ``engine`` is the place among the stages of the engine that admits from the queue.
    """

    name: str
    cap: float
    engine: int | None
    used: Series
    queue: Series


@dataclass(frozen=True)
class Timeline:
    """Everything between ``start`` and ``end``, in the program's clock unit."""

    start: float
    end: float
    engines: dict[int, EngineTrack]
    """By their places among the program's stages."""

    pools: list[PoolTrack]
    stages: list[Series]
    """Jobs present at the stages that are not engines."""


class Recorder:
    """The hooks of `serq.interp.run` that build the engines' tracks within a window of time."""

    def __init__(self, program: ir.Program, start: float, end: float) -> None:
        self.start, self.end = start, end
        self.tracks: dict[int, EngineTrack] = {}
        for i, stage in enumerate(program.stages):
            if isinstance(stage.kind, ir.Step):
                self.tracks[i] = EngineTrack(member(stage.name, stage.index), stage.kind.memory)
        self._watchers = {i: _Watcher(track) for i, track in self.tracks.items()}
        self._total = 0

    def preemption(self, machine: Any, victim: Any) -> None:
        """Called by the interpreter when a session is preempted."""
        for watcher in self._watchers.values():
            watcher.preempted(victim, machine.now)

    def iteration(self, engine: Any, batch: Any) -> None:
        """Called by the interpreter when an iteration has been scheduled."""
        begin = engine.machine.now
        watcher = self._watchers[engine.position]
        if begin > self.end or begin + batch.cost < self.start:
            watcher.skip(engine)
            return
        watcher.iteration(engine, batch)
        self._total += 1
        if self._total > MOST_ITERATIONS or watcher.chunk_count() > MOST_CHUNKS:
            raise SerqError.of(
                "timeline-too-long",
                f"a timeline of more than {MOST_ITERATIONS:,} iterations or {MOST_CHUNKS:,} "
                f"changes of what they serve; they were reached at time {begin:g}",
                help="draw a part of the run: --from T --to T",
            )


class _Watcher:
    """Follows one engine: who is resident, and what each resident is given."""

    def __init__(self, track: EngineTrack) -> None:
        self.track = track
        self.known: dict[tuple[Any, int], int] = {}
        self.stays: dict[int, int] = {}
        self.latest: dict[int, Chunk] = {}
        self.evicted = 0.0

    def chunk_count(self) -> int:
        return len(self.track.chunks)

    def request(self, machine: Any, session: Any) -> int:
        """The number of the session's turn among the track's requests."""
        key = (session, session.turn)
        number = self.known.get(key)
        if number is None:
            number = self.known[key] = len(self.track.requests)
            leg = session.parent is not None
            joined = getattr(session, "joined", machine.now)
            self.track.requests.append(Request(session.serial, session.turn, leg, float(joined)))
        return number

    def preempted(self, victim: Any, now: float) -> None:
        number = self.known.get((victim, victim.turn))
        if number is None:
            return
        place = self.stays.pop(number, None)
        if place is not None:
            self.track.stays[place].preempted = True
            self.track.preemptions.append((place, now))

    def skip(self, engine: Any) -> None:
        self.evicted = engine.memory.evicted_units if engine.memory is not None else 0.0
        self.stays.clear()

    def iteration(self, engine: Any, batch: Any) -> None:
        machine, track = engine.machine, self.track
        i = len(track.starts)
        if not i:
            track.before = engine.iterations - 1
        track.starts.append(machine.now)
        track.ends.append(machine.now + batch.cost)
        track.prefill.append(batch.prefilled)
        track.decode.append(batch.tokens - batch.prefilled)
        track.budget.append(engine.whole)
        memory = engine.memory
        track.filled.append(memory.used + memory.cached if memory is not None else 0.0)
        evicted = memory.evicted_units if memory is not None else 0.0
        track.evicted.append(evicted - self.evicted)
        self.evicted = evicted
        for session, cached in engine.entered:
            track.admissions.append(Admission(self.request(machine, session), i, cached))
        self._residents(machine, engine.jobs, i)
        for job in engine.batch:
            self._serve(self.request(machine, job.session), i, job.take, bool(job.decoding))

    def _residents(self, machine: Any, jobs: list[Any], i: int) -> None:
        numbers = [self.request(machine, job.session) for job in jobs]
        present = set(numbers)
        for number in [n for n in self.stays if n not in present]:
            del self.stays[number]
        for number in numbers:
            place = self.stays.get(number)
            if place is None:
                place = self.stays[number] = len(self.track.stays)
                self.track.stays.append(Stay(number, i, i))
            self.track.stays[place].last = i

    def _serve(self, number: int, i: int, tokens: float, decoding: bool) -> None:
        chunk = self.latest.get(number)
        if (
            chunk is not None
            and chunk.first + chunk.count == i
            and chunk.tokens == tokens
            and chunk.decoding is decoding
        ):
            chunk.count += 1
            return
        chunk = self.latest[number] = Chunk(number, i, 1, tokens, decoding)
        self.track.chunks.append(chunk)


def record(
    loaded: Loaded,
    start: float = 0.0,
    end: float = inf,
    progress: Callable[[float, int], None] | None = None,
) -> Timeline:
    """Run the program and record what happens from ``start`` to ``end`` (clock units).

    An endless run stops at ``end``; a run of so many arrivals goes on until they are served.
    Raises `SerqError` for a fault of the run, for a window without anything in it, and for more
    iterations than a picture can show.
    """
    program = loaded.program
    if not (program.pools or program.stages):
        raise SerqError.of(
            "nothing-to-draw",
            "the program has no engine, no pool and no stage: there is nothing over time",
            help="declare what the sessions run on, for instance `stage svc : fifo;`",
        )
    horizon = program.horizon
    if start >= min(end, horizon):
        raise SerqError.of(
            "nothing-to-draw",
            f"the window from {start:g} to {min(end, horizon):g} is empty",
            help="give --from T below --to T, within the horizon",
        )
    if program.arrivals is None:
        horizon = min(horizon, end)
    gauges = _gauges(program)
    watched = replace(
        program,
        horizon=horizon,
        warmup=program.warmup if program.warmup < horizon else 0.0,
        gauges=tuple(gauges.values()),
        claims=(),
    )
    recorder = Recorder(program, start, min(end, horizon))
    report = interp.run(
        watched,
        base_dir=loaded.base_dir,
        source_map=loaded.source_map,
        record=recorder,
        progress=progress,
    )
    stop = min(end, report.end)
    if start >= stop:
        raise SerqError.of(
            "nothing-to-draw",
            f"the run ended at {report.end:g}, before the window begins at {start:g}",
            help="give an earlier --from T",
        )
    series = {
        key: _within(key[1], report.gauges[gauge.name], start, stop)
        for key, gauge in gauges.items()
    }
    pools = []
    for i, pool in enumerate(program.pools):
        name = member(pool.name, pool.index)
        used, queue = series["used", name, i], series["queue", name, i]
        pools.append(PoolTrack(name, pool.cap, pool.admit_via, used, queue))
    stages = [
        series["jobs", member(stage.name, stage.index), i]
        for i, stage in enumerate(program.stages)
        if not isinstance(stage.kind, ir.Step)
    ]
    return Timeline(start, stop, recorder.tracks, pools, stages)


def _within(name: str, gauge: Gauge, start: float, end: float) -> Series:
    """The gauge's values between two times, the one that holds at ``start`` first."""
    first = max(int(np.searchsorted(gauge.times, start, side="right")) - 1, 0)
    last = int(np.searchsorted(gauge.times, end, side="left"))
    times = gauge.times[first : max(last, first + 1)].copy()
    times[0] = max(times[0], start)
    return Series(name, times, gauge.values[first : max(last, first + 1)])


def _gauges(program: ir.Program) -> dict[tuple[str, str, int], ir.Gauge]:
    """A gauge for what is drawn of each pool and stage, by what, name and place."""
    made: dict[tuple[str, str, int], ir.Gauge] = {}

    def add(what: str, name: str, i: int, fun: ir.Fun, arg: ir.Arg) -> None:
        made[what, name, i] = ir.Gauge(f"{what} {i}", ir.Call(fun, (arg,)))

    for i, pool in enumerate(program.pools):
        name = member(pool.name, pool.index)
        add("used", name, i, ir.Fun.USED, ir.PoolArg(ir.Ref(i, 1)))
        add("queue", name, i, ir.Fun.QUEUED, ir.PoolArg(ir.Ref(i, 1)))
    for i, stage in enumerate(program.stages):
        if not isinstance(stage.kind, ir.Step):
            name = member(stage.name, stage.index)
            add("jobs", name, i, ir.Fun.QUEUE, ir.StageArg(ir.Ref(i, 1)))
    return made
