"""examples/multi-turn/vllm.sq here and in the reference build: iterations per second."""

from __future__ import annotations

from pathlib import Path

import pyserq
from timing import side_by_side

import serq
from serq.interp import run as interpret
from serq.ir.codec import from_json

PROGRAM = Path(__file__).parent.parent / "examples" / "multi-turn" / "vllm.sq"
HORIZON = 3000

IR = serq.compile(PROGRAM, horizon=HORIZON).to_json()


def here(fast: bool) -> float:
    report = interpret(from_json(IR), fast=fast)
    return float(sum(stage.iterations for stage in report.stages))


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
    print(f"{'ratio':>20}  serq / reference = 1/{rates['reference'] / rates['serq']:.1f}")
