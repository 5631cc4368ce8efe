"""The interpreter in other processes, where strings hash otherwise: ``python -m serq.fuzz.worker``.

One line in, one line out: an IR document, and the report of its run or the code of its error.
"""

from __future__ import annotations

import atexit
import json
import os
import subprocess
import sys
from functools import cache


def report_of(document: str) -> str:
    """The JSON report of an IR document's run, or ``error: CODE``."""
    from serq.diagnostics import SerqError
    from serq.interp import run
    from serq.ir.codec import from_json

    try:
        return run(from_json(document)).json()
    except SerqError as error:
        return f"error: {error.diagnostics[0].code}"


def main() -> None:
    """Answers requests until the input ends."""
    for line in sys.stdin:
        sys.stdout.write(json.dumps(report_of(json.loads(line))) + "\n")
        sys.stdout.flush()


class Worker:
    """A process with its own hash seed."""

    def __init__(self, hash_seed: int) -> None:
        self._process = subprocess.Popen(
            [sys.executable, "-m", "serq.fuzz.worker"],
            env={**os.environ, "PYTHONHASHSEED": str(hash_seed)},
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            text=True,
        )

    def report_of(self, document: str) -> str:
        """As the function of the same name, over there."""
        assert self._process.stdin is not None and self._process.stdout is not None
        self._process.stdin.write(json.dumps(document) + "\n")
        self._process.stdin.flush()
        answer = json.loads(self._process.stdout.readline())
        assert isinstance(answer, str)
        return answer

    def stop(self) -> None:
        """End the process."""
        self._process.kill()
        self._process.wait()


@cache
def worker(hash_seed: int) -> Worker:
    """The process of a hash seed, started once."""
    made = Worker(hash_seed)
    atexit.register(made.stop)
    return made


if __name__ == "__main__":
    main()
