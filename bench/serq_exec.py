"""``serq-exec`` on the Lean at hand: many small programs, iterations per second, cost per session.

One process executes all programs, as differential testing does; its start is not part of any
time. Times are CPU times of Lean's process, all threads, by a clock of Linux. What else
a machine does makes them longer, never shorter (processes share cores and caches), so everything
runs in several rounds, and each program counts with its fastest.
"""

from __future__ import annotations

import json
import os
from collections.abc import Sequence
from dataclasses import dataclass
from time import clock_gettime

from serq.diagnostics import Source
from serq.fuzz.lean_process import LeanProcess
from serq.ir import nodes as ir
from serq.leangen.compare import StepTrace
from serq.leangen.fragment import Executable, executable
from serq.link import compile_text
from serq.settings import Settings
from serq.toolchain.lean import ensure_lean
from serq.toolchain.places import lean_package
from serq.toolchain.progress import Reporter

PROGRAM = """
fn main() {{
  device gpu {{ kv cap {memory}; }}
  engine e on gpu {{
    reqs cap {slots};
    tokens cap {budget};
    schedule {{ advance running; admit waiting while (running.preempted == 0); }}
    execute (1);
  }}
  pool reqs on e {{ queue fifo; }}
  pool kv on e.gpu {{ block 16; evict lru; preempt lifo; }}
  workload {{ arrive {arrival}; init {{ Size n = {prompt}; Size o = {output}; }} }}
  server {{
    set kept = n;
    hold reqs (cost(reqs, 1)), kv (cost(kv, min(known, budget_left(e)))) reserve (cost(kv, known))
         at admission (known = max(kept, computed + 1)) {{
      set kept = known;
      run e prefill (cost(e, known)) growing kv;
      observe first = now;
      run e decode (cost(e, max(n + o, known) - known)) growing kv;
    }}
    observe done = now;
  }}
}}
"""


@dataclass(frozen=True, slots=True)
class Load:
    """A program for the process, with the horizon that gives it its number of iterations."""

    program: ir.Program
    made: Executable


def load(horizon: int, **given: object) -> Load:
    """The program of the benchmark with these numbers; an iteration lasts 1."""
    text = PROGRAM.format(**given)
    program = compile_text(Source("<bench>", text), settings=Settings(float(horizon), 0.0, 1))
    made = executable(program.program).result
    assert isinstance(made, Executable), made
    return Load(program.program, made)


ARRIVALS = ("batch(4)", "renewal(5)", "batch(12)", "renewal(9)")
"""Four that leave one by one; two or three at a time; a full house with a queue; one or two."""


def small(number: int) -> Load:
    """50 iterations with one to four residents, with preemptions; no two programs are alike."""
    kind = number % len(ARRIVALS)
    return load(
        49,
        memory=16 * (12 + number % 5),
        slots=4,
        budget=16 + number,
        arrival=ARRIVALS[kind],
        prompt=f"{8 + number % 16} + floor(serial / 2) * {1 + number % 3}",
        output=f"{(30 if kind == 0 else 12) + number % 7} + serial * {6 if kind == 0 else 1}",
    )


def crowded(number: int) -> Load:
    """50 iterations with four residents throughout and a queue behind them, with preemptions."""
    return load(
        49,
        memory=16 * (12 + number % 5),
        slots=4,
        budget=16 + number,
        arrival="batch(12)",
        prompt=f"{8 + number % 16} + floor(serial / 2) * {1 + number % 3}",
        output=f"{18 + number % 7} + serial",
    )


def steady(residents: int, iterations: int) -> Load:
    """``residents`` requests at the engine from beginning to end."""
    return load(
        iterations,
        memory=16 * (iterations + 64) * residents,
        slots=residents,
        budget=64,
        arrival=f"batch({residents})",
        prompt="16 + serial",
        output=str(2 * iterations),
    )


def stream(sessions: int) -> Load:
    """One session after the other, four iterations apart; two residents most of the time."""
    return load(
        4 * sessions,
        memory=640,
        slots=4,
        budget=32,
        arrival="renewal(4)",
        prompt="16",
        output="7",
    )


@dataclass(frozen=True, slots=True)
class Timing:
    """What answers took, in CPU seconds of Lean's process.

    ``each`` is the sum over the programs of each one's fastest time, ``fastest`` and ``slowest``
    those of whole rounds.
    """

    each: float
    fastest: float
    slowest: float
    traces: tuple[StepTrace, ...]

    @property
    def steps(self) -> int:
        """The iterations of all answers."""
        return sum(len(trace.steps) for trace in self.traces)


def cpu_seconds(process: LeanProcess) -> float:
    """CPU time of the process so far, all threads, by Linux's clock of another process."""
    assert process.pid is not None
    return clock_gettime((~process.pid << 3) | 2)


ROUNDS = 12


def timed(process: LeanProcess, loads: Sequence[Load]) -> Timing:
    """The programs executed one after the other, in several rounds."""
    rounds, traces = [], []
    for _ in range(ROUNDS):
        seconds, traces = [], []
        for one in loads:
            before = cpu_seconds(process)
            traces.append(process.run(one.program, one.made))
            seconds.append(cpu_seconds(process) - before)
        rounds.append(seconds)
    totals = [sum(seconds) for seconds in rounds]
    each = sum(min(times) for times in zip(*rounds, strict=True))
    return Timing(each, min(totals), max(totals), tuple(traces))


def residents(trace: StepTrace) -> int:
    """The most requests that an iteration served."""
    return max((len(step.batch) for step in trace.steps), default=0)


def described(series: Timing) -> str:
    """Milliseconds per program, and what the programs were."""
    count = len(series.traces)
    steps = [len(trace.steps) for trace in series.traces]
    served = sum(len(step.batch) for trace in series.traces for step in trace.steps)
    preempted = sum(trace.end.preemptions for trace in series.traces if trace.end is not None)
    return (
        f"{1e3 * series.each / count:9.1f} ms each, {1e3 * series.fastest / count:.1f} ms in the "
        f"fastest round, {1e3 * series.slowest / count:.1f} ms in the "
        f"slowest round ({count} programs of {min(steps)} to "
        f"{max(steps)} iterations, {served / sum(steps):.1f} residents in the mean, "
        f"{max(map(residents, series.traces))} at most, {preempted} preemptions)"
    )


def main() -> None:
    """Print the figures; the last line repeats them as JSON."""
    package = lean_package()
    lean = ensure_lean(Reporter(), package=package)
    process = LeanProcess(lean, package)
    for number in range(30):  # starts the process and warms it up; not counted
        one = small(number)
        process.run(one.program, one.made)

    many = timed(process, [small(number) for number in range(40)])
    full = timed(process, [crowded(number) for number in range(20)])
    eight = timed(process, [steady(8, 1000)])
    few = timed(process, [stream(50)] * 16)
    lots = timed(process, [stream(1600)])
    process.stop()

    per_few, per_lots = few.fastest / few.steps, lots.fastest / lots.steps
    figures = {
        "ms_per_program": 1e3 * many.each / len(many.traces),
        "ms_per_crowded_program": 1e3 * full.each / len(full.traces),
        "iterations_per_s": eight.steps / eight.fastest,
        "us_per_iteration_50_sessions": 1e6 * per_few,
        "us_per_iteration_1600_sessions": 1e6 * per_lots,
        "ratio": per_lots / per_few,
    }
    print(lean.version())
    print(f"load of the machine {os.getloadavg()[0]:.1f}; CPU time of Lean's process")
    for name, series in (("small programs", many), ("crowded ones", full)):
        print(f"{name:<16} {described(series)}")
    print(
        f"eight residents  {figures['iterations_per_s']:9.0f} iterations/s, "
        f"{eight.steps / eight.slowest:.0f} in the slowest round ({eight.steps} iterations)"
    )
    for name, series, each in (("50", few, per_few), ("1600", lots, per_lots)):
        print(
            f"{name:>4} sessions    {1e6 * each:9.0f} µs per iteration, "
            f"{1e6 * series.slowest / series.steps:.0f} in the slowest round "
            f"({series.steps} iterations)"
        )
    print(f"1600 : 50 sessions {figures['ratio']:7.2f}")
    print(json.dumps({name: round(value, 2) for name, value in figures.items()}))


if __name__ == "__main__":
    main()
