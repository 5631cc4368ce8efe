"""The machine: a run's configuration, its events, and how every instant settles.

Commands take no time; they run whenever a session is ready, in the order sessions became ready.
After every event the machine settles: ready sessions run, waiting growers and heads are tried at
the pools no engine admits, until nothing changes; then, stage by stage in declaration order,
processor-sharing stages are re-rated and idle engines start an iteration, unless another event
is pending at the same instant.
"""

from __future__ import annotations

from collections import deque
from collections.abc import Callable, Sequence
from heapq import heappop, heappush
from math import inf, log
from typing import Any

from serq.diagnostics import SerqError
from serq.interp import cycle
from serq.interp.claims import aggregate
from serq.interp.client import Client, Turn
from serq.interp.clock import LOG
from serq.interp.engine import Engine
from serq.interp.expr import Library
from serq.interp.faults import Fault, located, number, read_values
from serq.interp.faults import expressions as statement_expressions
from serq.interp.memory import Memory
from serq.interp.pool import Pool
from serq.interp.random import KIND_LEG, Stream, Streams
from serq.interp.record import Recorder
from serq.interp.session import ENDED, JOINING, READY, Session
from serq.interp.stage import Stage
from serq.interp.stats import GaugeTrack, Samples
from serq.ir import nodes as ir

MOST_READIES = 1000
"""Times a session may become ready at one instant."""
MOST_STATEMENTS = 1_000_000
"""Statements a session may execute without waiting."""
_STATEMENTS = range(MOST_STATEMENTS)

Event = tuple[float, int, Callable[[Any], None], Any]


class Machine:
    """One run of a program. `serq.interp.build` makes one; ``run`` runs it to its end."""

    def __init__(self, program: ir.Program, source_map: Any, recorder: Recorder | None) -> None:
        self.program = program
        self.source_map = source_map
        self.recorder = recorder
        self.progress: Callable[[float, int], None] | None = None
        self.now = 0.0
        self.warmup = program.warmup
        arrival = program.arrival
        self.population = arrival.population if isinstance(arrival, ir.Closed) else None
        self.sequence = 0
        self.heap: list[Event] = []
        self.watched = False
        self.ready: deque[Session] = deque()
        self.gaps: list[float] = []
        self.touched: list[Any] = []
        self.flows: Any = None
        self.registers = [register.init for register in program.registers]
        self.streams = Streams(program.seed)
        self.events = 0
        self.arrived = self.ended = self.turns = 0
        self.live = 0
        self.area_live = 0.0
        self.everyone: dict[Session, None] = {}
        self.blank = [0.0] * len(program.attrs)
        """The attributes of a new session."""

        self.slot_serial = program.slot_serial
        self.estimates = False
        self.client = Client(self.warmup)
        self.observes: list[Samples] = []
        self.gauges: list[tuple[str, Callable[[], float], GaugeTrack]] = []
        self.claims: list[Any] = []
        self.givens: list[Any] = []
        self.pools: list[Pool] = []
        self.settled_pools: list[Pool] = []
        self.stages: list[Stage] = []
        self.engines: list[Engine] = []
        self.library = Library(self)
        self.memory = Memory(self)
        self.trace: Callable[[int], list[Any]] | None = None
        self.gap: Callable[[], float] | None = None
        self.arrival_stream: Stream | None = None
        self.code: Any = None
        self.replaced = 0
        self.replaced_at = -1.0

    # --- events ---

    def push(self, time: float, handler: Callable[[Any], None], arg: Any) -> None:
        """Schedule an event; events of one instant happen in the order they were scheduled."""
        self.sequence += 1
        heappush(self.heap, (time, self.sequence, handler, arg))

    def run(self) -> None:
        """Run to the horizon, or until a finite run has drained. Raises `SerqError` for a fault."""
        try:
            self._run()
        except Fault as fault:  # of no session's statement: an iteration's, a capacity's
            raise located(fault, f"at time {number(self.now)}") from None

    def _run(self) -> None:
        heap, gaps, ready = self.heap, self.gaps, self.ready
        horizon = self.program.horizon
        finite = self.program.arrivals is not None
        plain = not (self.pools or self.engines or self.gauges or self.watched)
        log, drain = gaps.append, self.drain
        self._start()
        self.settle()
        while heap:
            event = heappop(heap)
            time, _, handler, arg = event
            if time > horizon:
                heappush(heap, event)
                break
            gap = time - self.now
            log(gap)
            self.area_live += self.live * gap
            self.now = time
            handler(arg)
            if not plain:
                self.settle()
            else:
                if ready:
                    drain()
                if self.touched:
                    self._serve()
            if len(gaps) >= LOG:
                self._restart_log()
                if self.progress is not None:
                    self.progress(self.now, self.arrived)
            if finite and not self.live and self.arrived == self.program.arrivals:
                break
        self._finish(finite)

    def _start(self) -> None:
        program = self.program
        if self.warmup > 0.0:
            self.push(self.warmup, self._warm, None)
        arrival = program.arrival
        match arrival:
            case ir.Poisson(rate=rate):
                stream = self.streams.arrivals()

                limit, uniform, spawn = program.arrivals, stream.uniform, self.spawn
                heap = self.heap

                def arrive(_: None) -> None:
                    if limit is None or self.arrived + 1 < limit:
                        self.sequence = number = self.sequence + 1
                        following = self.now + -log(1.0 - uniform()) / rate
                        event: Event = (following, number, arrive, None)
                        heappush(heap, event)
                    spawn()

                self.push(0.0, arrive, None)
            case ir.Renewal():
                self.push(self.next_gap(), self._arrive, None)
            case ir.Closed(population=n) | ir.Batch(size=n):
                for _ in range(n):
                    self.spawn()
            case ir.Sessions(sessions=sessions):
                for data in sessions:
                    self.spawn(data)
            case _:
                pass

    def next_gap(self) -> float:
        """The next gap between arrivals, positive and finite."""
        assert self.gap is not None
        gap = self.gap()
        if isinstance(self.program.arrival, ir.Renewal) and not 0.0 < gap < inf:
            raise located(
                Fault(
                    "gap-not-positive",
                    f"the gap between arrivals is {number(gap)}",
                    "the gap of `arrive renewal` is positive and finite",
                ),
                f"at time {number(self.now)}",
            )
        return gap

    def _arrive(self, _: None) -> None:
        limit = self.program.arrivals
        if limit is None or self.arrived + 1 < limit:
            self.push(self.now + self.next_gap(), self._arrive, None)
        self.spawn()

    def _warm(self, _: None) -> None:
        for thing in (*self.pools, *self.stages):
            thing.catch_up()
            thing.restart()
        self.area_live = 0.0

    def _restart_log(self) -> None:
        for thing in (*self.pools, *self.stages):
            thing.catch_up()
            thing.at = 0
        self.events += len(self.gaps)  # every event has logged one
        self.gaps.clear()
        for stage in self.stages:
            stage.wait.settle()
            stage.service.settle()
        client = self.client
        for samples in (*self.observes, client.ttft, client.tpot, client.response):
            samples.settle()

    def _finish(self, finite: bool) -> None:
        program = self.program
        self.events += len(self.gaps)
        if not finite:
            gap = program.horizon - self.now
            self.gaps.append(gap)
            self.area_live += self.live * gap
            self.now = program.horizon
        cycle.check(self)
        if finite:
            self._check_drained(program)
        for thing in (*self.pools, *self.stages):
            thing.catch_up()
        for engine in self.engines:
            engine.close_iteration()
        self.memory.find_over_cap()

    def _check_drained(self, program: ir.Program) -> None:
        """A finite run has all its arrivals, has served them, and measured some time."""
        horizon = f"the horizon {number(program.horizon)}"
        longer = "give a longer horizon, or fewer arrivals"
        if self.arrived != program.arrivals:
            raise SerqError.of(
                "arrivals-missing",
                f"{self.arrived} of the {program.arrivals} arrivals came before {horizon}",
                help=longer,
            )
        if self.live:
            left = "1 session was" if self.live == 1 else f"{self.live} sessions were"
            raise SerqError.of("not-drained", f"{left} not done at {horizon}", help=longer)
        if self.now <= self.warmup:
            raise SerqError.of(
                "drained-in-warmup",
                f"the last session was done at {number(self.now)}, before the warm-up ended at "
                f"{number(self.warmup)}: there is no time to report on",
                help="give a shorter warm-up, or more arrivals",
            )

    # --- settling ---

    def settle(self) -> None:
        """Run everything that takes no time at this instant."""
        heap, ready = self.heap, self.ready
        while True:
            if ready:
                self.drain()
            if self.settled_pools:
                self.memory.admit_all()
            if not ready:
                break
        # One pass over the stages: whom an iteration's start makes ready (a session in the place of
        # one it refused), or lets run on a stage declared above the engine, goes on with the next
        # event.
        self._serve()
        if not heap:
            self._go_on()
        if self.gauges and (not heap or heap[0][0] > self.now):
            for _, value, track in self.gauges:
                track.set(self.now, value())

    def _go_on(self) -> None:
        """Where no event is left to wait for, what is ready or changed goes on at this instant."""
        while not self.heap and (self.ready or self.touched):
            self.drain()
            self.memory.admit_all()
            self._serve()

    def _serve(self) -> None:
        """Re-rate changed stages and start iterations, in declaration order."""
        heap = self.heap
        touched = self.touched
        if not self.engines:
            if touched:
                if len(touched) > 1:
                    touched.sort(key=_position)
                changed, self.touched = touched, []
                for stage in changed:
                    stage.settle()
            return
        # An iteration sees every arrival up to it, but not the completions that this very pass
        # schedules for the same instant.
        pending = bool(heap) and heap[0][0] <= self.now
        first = 0
        if not touched:
            if pending:
                return
            for engine in self.engines:
                if not engine.running:
                    engine.settle()
                    if touched:
                        first = engine.position + 1
                        break
            else:
                return
        for stage in self.stages[first:]:
            if isinstance(stage, Engine):
                if not stage.running and not pending:
                    stage.settle()
            elif stage in touched:
                touched.remove(stage)
                stage.settle()
        if self.flows is not None and self.flows in touched:
            touched.remove(self.flows)
            self.flows.settle()

    def drain(self) -> None:
        """Run the ready sessions, in the order they became ready, until none is."""
        ready, code, now = self.ready, self.code.program, self.now
        while ready:
            session = ready.popleft()
            if session.ready_at == now:
                session.ready_count += 1
                if session.ready_count > MOST_READIES:
                    raise self.error(
                        session,
                        Fault(
                            "does-not-settle",
                            f"became ready more than {MOST_READIES} times at one instant",
                            "let time pass on every pass through a loop",
                        ),
                    )
            else:
                session.ready_at = now
                session.ready_count = 1
            pc = session.pc
            try:
                for _ in _STATEMENTS:
                    pc = code[pc](session)
                    if pc < 0:
                        break
                else:
                    raise Fault(
                        "does-not-settle",
                        f"executed {MOST_STATEMENTS:,} statements without waiting",
                        "let time pass on every pass through a loop",
                    )
            except Fault as fault:
                session.pc = pc
                raise self.error(session, fault) from None

    # --- sessions ---

    def replay(self, corpus: Sequence[Sequence[tuple[float, float, float, float]]]) -> None:
        """Sessions take their turns (new, out, think, forced) from a trace's sessions."""
        program = self.program
        slots = (program.slot_new, program.slot_out, program.slot_think, program.slot_forced)
        made = [[list(zip(slots, turn, strict=True)) for turn in turns] for turns in corpus]
        if program.trace_ordered:
            self.trace = lambda serial: made[serial % len(made)]
        else:
            choose = self.streams.trace(len(made))
            self.trace = lambda _: made[choose()]

    def spawn(self, data: ir.SessionData | None = None) -> None:
        """A session arrives: its init block runs now, its statements when its turn comes."""
        code = self.code
        attrs = self.blank.copy()
        serial = self.arrived
        attrs[self.slot_serial] = float(serial)
        session = Session(serial, attrs, code.entry, self.streams)
        self.arrived = serial + 1
        self.live += 1
        self.everyone[session] = None
        if self.trace is not None:
            session.turns = self.trace(serial)
        if code.init is not None:
            session.rng = self.streams.workload(serial, 0)
            try:
                code.init(session)
            except Fault as fault:
                raise self.error(session, fault) from None
        if data is not None:
            for slot, value in data.attrs:
                attrs[slot] = value
            session.turns = data.turns
        if self.givens:
            for given in self.givens:
                given(session)
        self.ready.append(session)

    def turn_instruction(
        self, block: Callable[[Session], int] | None, after: int
    ) -> Callable[[Session], int]:
        """The instruction ``turn``: the next turn's attributes are drawn and it is submitted."""
        slot_turn, streams, warmup = self.program.slot_turn, self.streams, self.warmup

        def turn(s: Session) -> int:
            attrs = s.attrs
            attrs[slot_turn] = number_ = attrs[slot_turn] + 1.0
            s.turn = int(number_)
            now = self.now
            if now >= warmup:
                self.turns += 1
            if s.turns is not None:
                self.next_turn(s)
            if block is not None:
                s.rng = streams.workload(s.serial, s.turn)
                block(s)
            s.client = Turn(now)
            return after

        return turn

    def next_turn(self, s: Session) -> None:
        """Loads the attributes of the session's next turn and sets ``more``.

        A turn after the last repeats the last one's values.
        """
        attrs = s.attrs
        turns = s.turns
        if s.next_turn < len(turns):
            for slot, value in turns[s.next_turn]:
                attrs[slot] = value
            s.next_turn += 1
        attrs[self.program.slot_more] = 1.0 if s.next_turn < len(turns) else 0.0

    def end_of_session(self, s: Session) -> int:
        """The session ends; in a closed workload another takes its place."""
        if s.legs:
            raise Fault(
                "session-ends-with-leg",
                f"the session ends while {s.legs} of its legs run",
                "write `join;` before the session ends",
            )
        self.finish_session(s)
        return -1

    def finish_session(self, s: Session) -> None:
        """Gives back what the session holds and takes it out of the run."""
        if s.holds or s.leases:
            self.memory.release_all(s)
        s.status = ENDED
        self.live -= 1
        del self.everyone[s]
        if self.now >= self.warmup:
            self.ended += 1
        if self.population is not None:
            self._replace(s, self.population)

    def _replace(self, s: Session, population: int) -> None:
        """A new session for one that ended, unless they end as fast as they come."""
        if self.replaced_at != self.now:
            self.replaced_at = self.now
            self.replaced = 0
        self.replaced += 1
        if self.replaced > MOST_READIES * (population + 1):
            raise self.error(
                s,
                Fault(
                    "does-not-settle",
                    f"{self.replaced} sessions of the closed workload ended at one instant",
                    "let a session take time, on every way through it",
                ),
            )
        self.spawn()

    def refuse(self, s: Session) -> None:
        """What the session's hold asks can never fit: the session ends, a leg's session too."""
        if s.parent is None:
            self.finish_session(s)
            return
        parent = s.parent
        self.memory.release_all(s)
        s.status = ENDED
        del self.everyone[s]
        parent.legs -= 1
        if parent.status != ENDED:
            self.memory.withdraw(parent)
            self.finish_session(parent)

    def carrier(self) -> Session:
        """Whom a stage serves for a spill: nobody who goes on afterwards."""
        return Session(-1, [], self.code.nothing, self.streams)

    def fork(self, s: Session, pc: int) -> None:
        """A leg of the session starts: a copy of its attributes, holds and draws of its own."""
        leg = Session(s.serial, list(s.attrs), pc, self.streams, s.legs_forked, KIND_LEG)
        leg.parent = s
        leg.turn = s.turn
        leg.client = s.client
        leg.admission = s.admission
        s.legs_forked += 1
        s.legs += 1
        self.everyone[leg] = None
        self.ready.append(leg)

    def end_of_leg(self, leg: Session) -> int:
        """The leg's leases pass to its session, which may wait at a join for it."""
        parent = leg.parent
        assert parent is not None
        leg.status = ENDED
        del self.everyone[leg]
        parent.legs -= 1
        if parent.status == ENDED:
            self.memory.release_all(leg)
        else:
            parent.leases += leg.leases
            leg.leases = []
            if parent.status == JOINING and not parent.legs:
                parent.status = READY
                self.ready.append(parent)
        return -1

    # --- what else reads the machine ---

    def arrived_float(self) -> float:
        """Sessions the workload has started so far."""
        return float(self.arrived)

    def aggregate(self, which: str, observe: int) -> float:
        """An aggregate of every value observed, warm-up included."""
        return aggregate(ir.Aggregate(which), self.observes[observe].everything())

    def record_preemption(self, victim: Session) -> None:
        """Note a preemption in the step trace."""
        if self.recorder is not None:
            self.recorder.preemption(self, victim)

    # --- errors ---

    def error(self, s: Session, fault: Fault) -> SerqError:
        """The fault with the session, its turn, the time, the statement and the values it read."""
        who = f"session {s.serial}" + (" (a leg)" if s.parent is not None else "")
        where = f"{who}, turn {s.turn}, at time {number(self.now)}"
        place = self._place(s, fault)
        span, note = None, ""
        if place is not None:
            block, i = place
            stmt = self.program.blocks[block][i]
            values = read_values(self.program, statement_expressions(stmt), s.attrs)
            note = f"read here: {values}" if values else ""
            if self.source_map is not None:
                span = self.source_map.stmt_span(block, i)
        return located(fault, where, span, [note])

    def _place(self, s: Session, fault: Fault) -> tuple[int, int] | None:
        trace = fault.__traceback__
        while trace is not None:
            lines = self.code.lines.get(trace.tb_frame.f_code.co_filename)
            if lines is not None:
                place: tuple[int, int] = lines[min(trace.tb_lineno - 1, len(lines) - 1)]
                return place
            trace = trace.tb_next
        return self.code.places[s.pc] if 0 <= s.pc < len(self.code.places) else None


def _position(stage: Any) -> int:
    position: int = stage.position
    return position
