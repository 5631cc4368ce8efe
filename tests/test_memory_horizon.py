"""What a run keeps as it goes on: samples and change points of gauges, and nothing else."""

from __future__ import annotations

import gc
import sys
import tracemalloc
from array import array
from collections import Counter
from dataclasses import dataclass
from typing import Any

import pytest

from serq.api import Overrides, load
from serq.interp.build import build
from serq.interp.machine import Machine
from serq.interp.results import report

QUEUE = """
fn main() {
  stage svc : fifo; stage cpu : ps(2);
  workload { arrive poisson(0.5); }
  server {
    set t0 = now;
    run svc (cost(svc, ~exp(1))); run cpu (cost(cpu, ~exp(1)));
    observe response = now - t0;
  }
  gauge there = queue(svc);
  claim short: at end (total(response) < 100 * count(response));
}"""

MEMORY = """
fn main() {
  pool kv { cap 12; block 2; preempt lifo; }
  stage svc : ps(2);
  workload { arrive closed(5); session { turn; tool (~exp(1)); turn; } }
  server {
    hold kv (cost(kv, 4)) {
      run svc (cost(svc, ~exp(1)));
      grow kv (cost(kv, 3));
      run svc (cost(svc, ~exp(1)));
    } cache (cost(kv, 4));
  }
}"""

ENGINE = """
fn main() {
  device gpu { compute (t) = t * 0.01; kv cap 96; }
  engine vllm on gpu {
    reqs cap 8;
    tokens cap 32;
    request (prompt, output) {
      set kept = prompt;
      at admission { known = max(kept, computed + 1); }
      set kept = known;
      prefill (max(1, known - cached)) growing kv;
      decode (max(1, output - (known - prompt))) growing kv;
      cache (prompt + output);
    }
    schedule {
      advance running each at most (16);
      admit waiting while (running.preempted == 0) each at most (16)
        taking reqs (1), kv (min(known, 8));
    }
    execute (0.01 + compute(batch.tokens));
  }
  pool kv on gpu { block 4; evict lru; preempt lifo; }
  pool reqs on vllm { queue fifo; }
  workload {
    arrive closed(12);
    turn { set p = 10 + floor(~uniform(0, 30)); set o = 2 + floor(~exp(8)); }
    session { turn; tool (~exp(1)); turn; }
  }
  server { vllm (p, o); }
}"""


def columns(machine: Machine) -> list[array[Any]]:
    """All that the run keeps of its samples and of the change points of its gauges."""
    client = machine.client
    found: list[array[Any]] = []
    for samples in (*machine.observes, client.ttft, client.tpot, client.response):
        found += [samples._values, samples._times, samples._sessions, samples._turns]
        if samples._everything is not None:
            found.append(samples._everything)
    for _, _, track in machine.gauges:
        found += [track.times, track.values]
    return found


@dataclass
class Kept:
    """What a run did and what it keeps: the interpreter's objects, numbers in columns, bytes."""

    ended: int
    live: int
    preemptions: int
    objects: Counter[str]
    numbers: int
    other_bytes: int


def _of_the_interpreter(kind: type) -> bool:
    return str(getattr(kind, "__module__", "")).startswith("serq.interp")


def kept(source: str, horizon: float) -> Kept:
    """Runs the program and looks at what is there when it is done, before its report."""
    machine = build(load(source=source, overrides=Overrides(horizon=horizon)).program)
    gc.collect()
    tracemalloc.start()
    try:
        machine.run()
        machine._restart_log()  # what it takes in from time to time only
        gc.collect()
        size, _ = tracemalloc.get_traced_memory()
    finally:
        tracemalloc.stop()
    found = columns(machine)
    ours = (type(one) for one in gc.get_objects() if _of_the_interpreter(type(one)))
    return Kept(
        ended=machine.ended,
        live=machine.live,
        preemptions=sum(pool.preemptions for pool in machine.pools),
        objects=Counter(one.__name__ for one in ours),
        numbers=sum(map(len, found)),
        other_bytes=size - sum(map(sys.getsizeof, found)),
    )


@pytest.mark.parametrize(
    ("source", "horizon"), [(QUEUE, 1000.0), (MEMORY, 800.0), (ENGINE, 200.0)],
    ids=["queue", "memory", "engine"],
)  # fmt: skip
def test_a_run_keeps_samples_and_change_points_alone(
    source: str, horizon: float, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Four times the horizon leaves no more objects, and no more memory but samples and gauges."""
    # The streams read ahead, up to a limit, which this horizon does not reach: a lower one.
    monkeypatch.setattr("serq.interp.random._MAX_TILES", 2)
    monkeypatch.setattr("serq.interp.random._MAX_BLOCKS", 4)
    monkeypatch.setattr("serq.interp.random._MANY", sys.maxsize)
    kept(source, 10.0)  # what Python sets up once
    short, long = kept(source, horizon), kept(source, 4.0 * horizon)
    sessions = long.ended - short.ended
    assert sessions > 500 and long.numbers - short.numbers > sessions
    # A session that is over and not forgotten would be an object more, and some 400 bytes.
    assert sum((long.objects - short.objects).values()) < 60
    assert long.other_bytes - short.other_bytes < 40 * sessions


def test_a_sample_takes_32_bytes_and_a_report_no_copy_of_them() -> None:
    """A sample is four numbers of eight bytes; the report's arrays are the columns themselves."""
    machine = build(load(source=QUEUE, overrides=Overrides(horizon=500.0)).program)
    machine.run()
    row = report(machine).client["response"]
    assert row.count > 200
    parts = [row.samples, row.times, row.sessions, row.turns]
    assert [part.nbytes for part in parts] == [8 * row.count] * 4
    address = machine.client.response._values.buffer_info()[0]
    assert row.samples.__array_interface__["data"][0] == address
