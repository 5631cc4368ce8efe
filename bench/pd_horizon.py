"""The P/D example on many seeds to a long horizon: it must end without an error on each.

`python bench/pd_horizon.py [--horizon T] [--seeds N] [--jobs N]` prints a line per seed and
exits with 1 if one failed or left a session stuck. Up to 100 000 seconds a seed has about 20
million events; `--jobs` runs seeds side by side.
"""

from __future__ import annotations

import argparse
import sys
import time
from concurrent.futures import ProcessPoolExecutor
from pathlib import Path

import serq

PROGRAM = Path(__file__).parent.parent / "examples" / "pd-disaggregation" / "llmd_nixl_pull.sq"


def outcome(seed: int, horizon: float) -> tuple[bool, str]:
    """Whether the run of a seed ended well, and a line about it."""
    start = time.process_time()
    try:
        report = serq.run(serq.compile(PROGRAM, horizon=horizon, seed=seed))
    except serq.SerqError as error:
        return False, f"seed {seed}: {error}"
    stuck = sum(pool.stuck for pool in report.pools)
    return stuck == 0, (
        f"seed {seed:>3}  events {report.events:>11,}  sessions {report.arrivals:>7,}"
        f"  turns {report.turns:>7,}  stuck {stuck}  {time.process_time() - start:7.1f} s"
    )


def main() -> int:
    """Every seed's line; 1 when one of them failed."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--horizon", type=float, default=100_000)
    parser.add_argument("--seeds", type=int, default=10)
    parser.add_argument("--jobs", type=int, default=2)
    options = parser.parse_args()
    well = True
    with ProcessPoolExecutor(options.jobs) as pool:
        runs = [pool.submit(outcome, seed + 1, options.horizon) for seed in range(options.seeds)]
        for run in runs:
            fine, line = run.result()
            well &= fine
            print(line, flush=True)
    return 0 if well else 1


if __name__ == "__main__":
    sys.exit(main())
