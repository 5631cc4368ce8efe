"""Debug mode: the invariants hold after every event, and a broken rule is caught by them."""

from __future__ import annotations

import dataclasses
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from hypothesis import HealthCheck, Phase, given, settings
from semantics import batch, run

from serq import interp
from serq.api import Overrides, load
from serq.diagnostics import SerqError
from serq.fuzz.case import RandomProgram
from serq.fuzz.programs import programs
from serq.fuzz.stations import station_programs
from serq.interp import invariants, memory
from serq.interp.engine import Engine
from serq.interp.machine import Machine
from serq.interp.memory import Growth, Memory
from serq.interp.pool import Pool
from serq.interp.stage import FifoStage
from serq.ir import nodes as ir

EXAMPLES = Path(__file__).parent.parent / "examples"
PROGRAMS = sorted(EXAMPLES.rglob("*.sq"))
HORIZONS = {
    "routing.sq": 4.0,
    "llmd_nixl_pull.sq": 8.0,
    "dai_fastertransformer.sq": 140000.0,
    "dai_sarathi.sq": 140000.0,
}
"""Where 20 units of the clock are too much (or too little) for a check after every event."""


def _with_sessions(program: ir.Program) -> ir.Program:
    """An example whose sessions a scenario gives, with three of them."""
    slots = {name: program.attrs.index(name) for name in ("prompt", "o") if name in program.attrs}
    values = {"prompt": 40.0, "o": 6.0}
    one = tuple((slot, values[name]) for name, slot in slots.items())
    sessions = (ir.SessionData(attrs=one),) * 3
    return dataclasses.replace(program, arrival=ir.Sessions(sessions))


@pytest.mark.parametrize("path", PROGRAMS, ids=lambda path: path.name)
def test_an_example_keeps_the_invariants_after_every_event(path: Path) -> None:
    """Every example, at a short horizon, with its sessions given where a scenario gives them."""
    loaded = load(path, overrides=Overrides(horizon=HORIZONS.get(path.name, 20.0)))
    program = loaded.program
    if path.parent.name == "oracle":
        program = _with_sessions(program)
    report = interp.run(program, base_dir=loaded.base_dir, debug=True)
    assert report.arrivals > 0


def _keeps(program: RandomProgram) -> None:
    """Run in debug mode; a run that ends in an error of the program is as good."""
    try:
        interp.run(program.compile(), debug=True)
    except SerqError as error:
        assert error.diagnostics


FEW = settings(
    max_examples=20,
    deadline=None,
    derandomize=True,
    phases=[Phase.generate],
    suppress_health_check=list(HealthCheck),
)


@FEW
@given(programs())
def test_random_programs_keep_the_invariants(program: RandomProgram) -> None:
    """Random programs over the single-station language."""
    _keeps(program)


@FEW
@given(station_programs())
def test_random_stations_keep_the_invariants(program: RandomProgram) -> None:
    """Random prefill and decode stations with their leases and transfers."""
    _keeps(program)


def test_debug_mode_checks_after_every_event(monkeypatch: pytest.MonkeyPatch) -> None:
    """One check for the start and one for each event, none without debug."""
    seen: list[float] = []

    def count(checks: invariants.Checks) -> None:
        seen.append(checks.machine.now)

    monkeypatch.setattr(invariants.Checks, "check", count)
    source = batch("", "run d (cost(d, w));", w=[1, 2, 2])
    run(source, 9)
    assert seen == [0, 1, 2, 2]
    loaded = load(source=source, overrides=Overrides(horizon=9.0))
    interp.run(loaded.program)
    assert len(seen) == 4


# --- broken rules -------------------------------------------------------------------------------

POOL = batch(
    "pool p { cap 4; block 2; preempt lifo; } stage s : fifo;",
    """hold p (cost(p, 2)) { run s (cost(s, 1)); grow p (cost(p, 2)); run d (cost(d, 1)); }
       cache (cost(p, 4)) lease p (1) run d (cost(d, 2));""",
    x=[0, 0, 0],
)
ENGINE = batch(
    """device gpu { kv cap 6; }
       engine e on gpu { reqs cap 9; tokens cap 4; schedule { advance running;
         admit waiting while (running.preempted == 0); } execute (1); }
       pool reqs on e { } pool kv on gpu { preempt lifo; }""",
    """hold reqs (cost(reqs, 1)), kv (cost(kv, 2)) {
         run e prefill (cost(e, 2)) growing kv; run e decode (cost(e, 3)) growing kv; }
       cache (cost(reqs, kv, 9))""",
    x=[0, 0, 0],
)


def _admits_always(_: Memory, demand: Any) -> bool:
    return True


def _never_evicts(_: Pool, need: float) -> None:
    pass


def _forgets_units(pool: Pool, alloc: Any) -> None:
    del pool.allocs[alloc]
    del pool.holders[alloc.session]


def _grows_for_nothing(_: Memory, session: Any, alloc: Any, more: float) -> Growth:
    return Growth.GROWN


def _half_a_block(pool: Pool, units: float) -> float:
    return units * 0.75


def _loses_the_waiting(self: Memory, pool: Pool) -> bool:
    if pool.queue and len(self.machine.everyone) > 1:
        pool.queue.pop()
    return False


def _admits_nobody(_: Memory, pool: Pool) -> bool:
    return False


def _into_the_past(machine: Machine, time: float, handler: Any, arg: Any) -> None:
    machine.sequence += 1
    machine.heap.append((time - 5.0, machine.sequence, handler, arg))
    machine.heap.sort(key=lambda event: event[:2])


def _starts_nobody(stage: FifoStage, job: Any) -> None:
    stage.line.append(job)


def _twice_the_budget(engine: Engine, job: Any, left: float, limit: float) -> float:
    return float(job.left) + 1.0


BROKEN: list[tuple[str, type, str, Callable[..., Any], str]] = [
    (POOL, Memory, "fits", _admits_always, "allocated of"),
    (ENGINE, Memory, "fits", _admits_always, "allocated of|used \\+ cached"),
    (POOL, Pool, "make_room", _never_evicts, "used \\+ cached"),
    (POOL, Pool, "free", _forgets_units, "has used"),
    (ENGINE, Memory, "enlarge", _grows_for_nothing, "computes to"),
    (POOL, Pool, "round_up", _half_a_block, "an allocation of"),
    (POOL, Memory, "admit_heads", _loses_the_waiting, "at 0 places|is lost"),
    (POOL, Memory, "admit_heads", _admits_nobody, "waits at pool p for what fits"),
    (POOL, Machine, "push", _into_the_past, "an event is scheduled|the clock was"),
    (POOL, FifoStage, "_start", _starts_nobody, "a free server and a waiting job"),
    (ENGINE, Engine, "tokens", _twice_the_budget, "tokens|computes"),
]


@pytest.mark.parametrize(
    ("source", "owner", "rule", "broken", "told"),
    BROKEN,
    ids=[f"{rule}-{broken.__name__.strip('_')}" for _, _, rule, broken, _ in BROKEN],
)
def test_a_broken_rule_is_caught(
    source: str,
    owner: type,
    rule: str,
    broken: Callable[..., Any],
    told: str,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """The program keeps the invariants; with the rule replaced, debug mode says what is wrong."""
    run(source, 30)
    assert hasattr(owner, rule)
    monkeypatch.setattr(owner, rule, broken)
    with pytest.raises(invariants.BrokenInvariant, match=told):
        run(source, 30)


def test_a_lease_past_its_expiry_is_caught(monkeypatch: pytest.MonkeyPatch) -> None:
    """A lease that nobody ends at its time, 2, is found at the next event, 2.5."""
    source = batch(
        "pool p { cap 4; }",
        "hold p (cost(p, 1)) { run d (cost(d, 1)); } lease p (1) run d (cost(d, 3));",
        at=[0, 2.5],
    )
    run(source, 30)
    monkeypatch.setattr(memory.Memory, "expire", lambda self, arg: None)
    with pytest.raises(invariants.BrokenInvariant, match=r"at time 2\.5: .*expired at 2\.0"):
        run(source, 30)
