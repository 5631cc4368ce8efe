"""examples/multi-turn/vllm.sq here and in the reference build: iterations per second."""

from __future__ import annotations

from pathlib import Path

import pyserq
from timing import side_by_side

import serq
from serq.interp.build import build
from serq.interp.results import report as results
from serq.ir.codec import from_json

PROGRAM = Path(__file__).parent.parent / "examples" / "multi-turn" / "vllm.sq"
HORIZON = 3000

IR = serq.compile(PROGRAM, horizon=HORIZON).to_json()


def here(fast: bool) -> float:
    machine = build(from_json(IR), fast=fast)
    machine.run()
    return float(sum(stage.iterations for stage in results(machine).stages))


def share() -> float:
    """The share of the iterations that took the fast path."""
    machine = build(from_json(IR))
    machine.run()
    engines = machine.engines
    return sum(e.coasted for e in engines) / sum(e.iterations for e in engines)


def reference() -> float:
    report = pyserq.run(pyserq.Program.from_json(IR))
    return float(sum(stage.iterations for stage in report.stages))


if __name__ == "__main__":
    rates = side_by_side(
        {"serq": lambda: here(True), "serq, no fast path": lambda: here(False),
         "reference": reference},
        rounds=3,
    )  # fmt: skip
    for name, rate in rates.items():
        print(f"{name:>20}  {rate:12,.0f} iterations/s")
    print(f"{'fast path':>20}  {share():12.1%} of the iterations")
    print(f"{'ratio':>20}  serq / reference = 1/{rates['reference'] / rates['serq']:.1f}")
