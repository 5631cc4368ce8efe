"""``python -m serq.fuzz.coverage [CASES] [SEED]`` in a checkout: docs/coverage.{json,md} anew."""

from __future__ import annotations

import sys
from pathlib import Path

import serq
from serq.fuzz.coverage.measure import measure
from serq.fuzz.coverage.table import page, to_json

CASES, SEED = 300, 1
DOCS = Path(serq.__file__).parents[1] / "docs"


def main() -> None:
    """Measure and write."""
    numbers = [int(word) for word in sys.argv[1:]]
    cases, seed = [*numbers, CASES, SEED][:2] if len(numbers) != 1 else [numbers[0], SEED]
    measured = measure(cases, seed, lambda name: print(name, file=sys.stderr))
    (DOCS / "coverage.json").write_text(to_json(measured), encoding="utf-8")
    (DOCS / "coverage.md").write_text(page(measured), encoding="utf-8")


if __name__ == "__main__":
    main()
