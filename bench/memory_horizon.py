"""Peak memory of a run at growing horizons, and what of it are samples and gauges' change points.

The program observes nothing and has no gauge; the client's response of every session is sampled all
the same, 32 bytes each. What random streams read ahead grows too, up to 32 MiB. The rest does not
follow the horizon (`tests/test_memory_horizon.py` counts the objects).
"""

from __future__ import annotations

import subprocess
import sys

SOURCE = """
fn main() {
  pool slots { cap 4; }
  stage svc : ps(1);
  workload { arrive poisson(0.6); }
  server { hold slots (cost(slots, 1)) { run svc (cost(svc, ~exp(1))); } }
}"""

CHILD = f"""
import resource, serq
report = serq.run(serq.compile(source={SOURCE!r}, horizon=float(__import__("sys").argv[1])))
kept = sum(x.nbytes for rows in report.client.values()
           for x in (rows.samples, rows.times, rows.sessions, rows.turns))
print(report.arrivals, kept, resource.getrusage(resource.RUSAGE_SELF).ru_maxrss)
"""

if __name__ == "__main__":
    for times in (1, 4, 16):
        out = subprocess.run(
            [sys.executable, "-c", CHILD, str(20_000 * times)],
            check=True, capture_output=True, text=True,
        ).stdout.split()  # fmt: skip
        print(
            f"horizon {20_000 * times:>8,}  sessions {int(out[0]):>8,}"
            f"  peak {int(out[2]) / 1024:7.1f} MiB, samples {int(out[1]) / 2**20:6.1f} MiB"
        )
