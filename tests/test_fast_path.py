"""The fast path of engines: reports do not show whether it was taken."""

from __future__ import annotations

from collections import Counter
from pathlib import Path

import peer
import pytest
from hypothesis import HealthCheck, Phase, given, seed, settings

import serq
from serq.fuzz.case import RandomProgram
from serq.fuzz.programs import programs
from serq.fuzz.stations import station_programs
from serq.interp.build import build
from serq.interp.machine import Machine
from serq.interp.results import report
from serq.ir import nodes as ir
from serq.ir.codec import from_json

ROOT = Path(__file__).parent.parent
EXAMPLES = ROOT / "examples"
NAMES = sorted(str(path.relative_to(EXAMPLES)) for path in EXAMPLES.rglob("*.sq"))
TRACES = {name for name in NAMES if name.startswith("replay/")}
VLLM = EXAMPLES / "multi-turn" / "vllm.sq"


def _run(program: ir.Program, fast: bool) -> tuple[Machine, str]:
    machine = build(program, fast=fast)
    try:
        machine.run()
        return machine, report(machine).json()
    except serq.SerqError as error:
        return machine, f"error: {error}"


def _shares(machine: Machine) -> tuple[int, int]:
    """Iterations that took the fast path, and all of them."""
    engines = machine.engines
    return sum(e.coasted for e in engines), sum(e.iterations for e in engines)


def _ir(path: Path, horizon: float, **settings: object) -> ir.Program:
    return from_json(serq.compile(path, horizon=horizon, **settings).to_json())  # type: ignore


@pytest.mark.parametrize("name", sorted(set(NAMES) - TRACES))
def test_an_example_reports_the_same_either_way(name: str) -> None:
    """An example's report with the fast path equals the one without, in every field."""
    program = _ir(EXAMPLES / name, 5_000_000 if name.startswith("papers/") else 80, warmup=20)
    fast, slow = _run(program, True)[1], _run(program, False)[1]
    assert not fast.startswith("error")
    assert peer.first_difference(fast, slow) is None


def test_most_iterations_of_a_serving_engine_take_it() -> None:
    """More than half of vllm.sq's iterations take the fast path; without it none does."""
    program = _ir(VLLM, 300)
    taken, iterations = _shares(_run(program, True)[0])
    assert iterations > 10_000
    assert taken > iterations / 2
    assert _shares(_run(program, False)[0]) == (0, iterations)


@peer.needs_peer
@pytest.mark.parametrize("rate", [0.2, 0.5, 0.9])
def test_the_reference_build_agrees_under_light_and_heavy_load(rate: float) -> None:
    """vllm.sq reports what the reference build does, with evictions, waits and preemptions."""
    text = VLLM.read_text(encoding="utf-8")
    assert "let Lambda = 0.35;" in text
    text = text.replace("let Lambda = 0.35;", f"let Lambda = {rate};")
    program = serq.compile(source=text, horizon=250, seed=7)
    machine, ours = _run(from_json(program.to_json()), True)
    assert _shares(machine)[0] > 0
    assert peer.first_difference(ours, peer.run(ir=program.to_json())) is None


ENGINE = """
fn main() {{
  device gpu {{ compute (t) = t * 0.01; hbm (k) = 0.02 + k * 0.00001; kv cap 6000; }}
  engine one on gpu {{
    reqs cap 40;
    tokens cap 64;
    request (prompt, output) {{
      prefill (prompt) growing kv;
      decode (output) growing kv;
    }}
    schedule {{
      advance running;
      admit waiting while (running.preempted == 0) taking reqs (1), kv (prompt);
    }}
    execute ({cost});
  }}
  pool kv on gpu {{ block 8; evict lru; preempt lifo; }}
  pool reqs on one {{ queue fifo; }}
  workload {{
    arrive poisson(0.4);
    turn {{ set p = 1 + floor(~exp(30)); set o = 1 + floor(~exp(60)); }}
  }}
  server {{ {server} one (p, o); }}
  {more}
}}
"""


def _engine(
    cost: str = "compute(batch.tokens) + hbm(batch.kv_decode)", more: str = "", server: str = "",
) -> ir.Program:  # fmt: skip
    text = ENGINE.format(cost=cost, more=more, server=server)
    return from_json(serq.compile(source=text, horizon=400, seed=3, warmup=30).to_json())


FOLLOWED = {
    "a claim over iterations that reads the tokens served": {
        "more": "claim small: every iteration of one (tokens + served <= 20000);"
    },
    "a claim over iterations that reads counts": {
        "more": "claim few: some iteration of one (tokens > 3);"
    },
    "a gauge of the memory": {"more": "gauge u = used(kv);"},
    "a gauge of the engine": {"more": "gauge b = busy(one);"},
    "a cost that reads the clock": {"cost": "0.05 + 0.01 * (now > 200)"},
    "a cost that draws": {"cost": "0.01 + ~exp(0.02)"},
}


@pytest.mark.parametrize("what", sorted(FOLLOWED))
def test_it_follows(what: str) -> None:
    """The fast path is taken beside such a thing, and the report is the same."""
    program = _engine(**FOLLOWED[what])
    machine, fast = _run(program, True)
    taken, iterations = _shares(machine)
    assert taken > iterations / 10
    assert peer.first_difference(fast, _run(program, False)[1]) is None


def test_reading_the_work_left_switches_it_off() -> None:
    """Where a program reads what a stretch leaves behind, no iteration takes the fast path."""
    program = _engine(server="observe w = work(one);")
    machine, fast = _run(program, True)
    assert _shares(machine)[0] == 0
    assert peer.first_difference(fast, _run(program, False)[1]) is None


def _compare(case: RandomProgram, seen: Counter[str]) -> None:
    try:
        program = case.compile()
    except serq.SerqError:
        return
    machine, fast = _run(program, True)
    seen["taken"] += _shares(machine)[0]
    seen["programs"] += 1
    slow = _run(program, False)[1]
    assert fast == slow or peer.first_difference(fast, slow) is None


def test_random_programs_report_the_same_either_way() -> None:
    """Random programs' reports, and errors, are the same with and without the fast path."""
    seen: Counter[str] = Counter()

    @seed(20)
    @settings(
        max_examples=60, database=None, deadline=None, phases=[Phase.generate],
        suppress_health_check=list(HealthCheck),
    )  # fmt: skip
    @given(programs() | station_programs())
    def compare(case: RandomProgram) -> None:
        _compare(case, seen)

    compare()
    assert seen["programs"] >= 30
    assert seen["taken"] >= 1
