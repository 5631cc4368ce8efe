"""The reference build, in a process of its own: it compiles and runs programs on request.

It is optional (the extra ``peer``) and closed; it may crash on hostile input, so it never runs
inside this process. The process stays up between calls and is started again after a crash or a
timeout.
"""

from __future__ import annotations

import atexit
import contextlib
import importlib.util
import json
import os
import selectors
import subprocess
import sys
import time
from typing import Any

AVAILABLE = importlib.util.find_spec("pyserq") is not None
"""Whether the reference build is installed."""

TIMEOUT = 60.0
"""Seconds that one call may take."""


class Refused(Exception):
    """The reference build refuses the program or the run; the text is its message."""


class Crashed(Exception):
    """The reference build died or did not answer in time."""


_WORKER = r"""
import json, resource, sys
import pyserq

resource.setrlimit(resource.RLIMIT_CORE, (0, 0))

def program(a):
    a = dict(a)
    ir = a.pop("ir", None)
    if ir is not None:
        return pyserq.Program.from_json(ir)
    for name in ("horizon", "warmup"):
        if name in a:
            a[name] = float(a[name])
    return pyserq.compile(**a)

def columns(o):
    return [list(o.samples), list(o.times), list(o.sessions), list(o.turns)]

def answer(op, a):
    if op == "compile":
        return program(a).to_json()
    if op == "run":
        return pyserq.run(program(a)).json()
    if op == "samples":
        r = pyserq.run(program(a))
        return {
            "report": r.json(),
            "observes": {n: columns(o) for n, o in r.observes.items()},
            "client": {n: columns(o) for n, o in r.client.items()},
            "gauges": {n: [list(g.times), list(g.values)] for n, g in r.gauges.items()},
        }
    if op == "trace":
        return pyserq.read_trace(a["path"])
    if op == "rng":
        rng = pyserq.Rng(a["seed"])
        return [getattr(rng, name)(*args) for name, *args in a["calls"]]
    raise AssertionError(op)

for line in sys.stdin:
    op, a = json.loads(line)
    try:
        reply = {"ok": answer(op, a)}
    except (ValueError, TypeError, OverflowError) as error:
        reply = {"error": str(error)}
    sys.stdout.write(json.dumps(reply) + "\n")
    sys.stdout.flush()
"""


class Process:
    """The worker process; `call` starts it when it is not there."""

    def __init__(self) -> None:
        self._process: subprocess.Popen[bytes] | None = None
        self._buffer = b""

    def call(self, op: str, arguments: dict[str, Any], timeout: float) -> Any:
        """One request. Raises `Refused`, `Crashed`."""
        process = self._process
        if process is None or process.poll() is not None:
            process = self._start()
        assert process.stdin is not None
        try:
            process.stdin.write(json.dumps([op, arguments]).encode() + b"\n")
            process.stdin.flush()
            reply = json.loads(self._line(process, timeout))
        except BrokenPipeError:
            self.stop()
            raise Crashed("the reference build died") from None
        except BaseException:
            self.stop()  # an answer that nobody read would be taken for the next call's
            raise
        if "error" in reply:
            raise Refused(reply["error"])
        return reply["ok"]

    def _start(self) -> subprocess.Popen[bytes]:
        self.stop()
        self._process = subprocess.Popen(
            [sys.executable, "-c", _WORKER],
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            stderr=subprocess.DEVNULL,
        )
        return self._process

    def _line(self, process: subprocess.Popen[bytes], timeout: float) -> bytes:
        assert process.stdout is not None
        deadline = time.monotonic() + timeout
        with selectors.DefaultSelector() as selector:
            selector.register(process.stdout, selectors.EVENT_READ)
            while b"\n" not in self._buffer:
                if not selector.select(max(0.0, deadline - time.monotonic())):
                    raise Crashed(f"no answer within {timeout:g} s")
                piece = os.read(process.stdout.fileno(), 1 << 20)
                if not piece:
                    raise Crashed(f"the reference build died (status {process.wait()})")
                self._buffer += piece
        line, _, self._buffer = self._buffer.partition(b"\n")
        return line

    def stop(self) -> None:
        """End the process, if there is one."""
        process, self._process, self._buffer = self._process, None, b""
        if process is not None:
            process.kill()
            process.wait()
            for pipe in (process.stdin, process.stdout):
                if pipe is not None:
                    with contextlib.suppress(BrokenPipeError):
                        pipe.close()


_process = Process()
atexit.register(_process.stop)


def _program(source: str | None, path: Any, ir: str | None, settings: dict[str, Any]) -> Any:
    given = {"source": source, "path": None if path is None else os.path.abspath(path), "ir": ir}
    return {**{name: value for name, value in given.items() if value is not None}, **settings}


def compile(
    source: str | None = None,
    *,
    path: Any = None,
    ir: str | None = None,
    timeout: float = TIMEOUT,
    **settings: Any,
) -> str:
    """The IR of a program (text, file or IR) as JSON text.

    ``settings`` are horizon, warmup, seed, arrivals, trace, sets, defs. Raises `Refused`,
    `Crashed`.
    """
    result = _process.call("compile", _program(source, path, ir, settings), timeout)
    assert isinstance(result, str)
    return result


def run(
    source: str | None = None,
    *,
    path: Any = None,
    ir: str | None = None,
    timeout: float = TIMEOUT,
    **settings: Any,
) -> str:
    """The report of a run as JSON text; arguments and errors as for `compile`."""
    result = _process.call("run", _program(source, path, ir, settings), timeout)
    assert isinstance(result, str)
    return result


def samples(
    source: str | None = None,
    *,
    path: Any = None,
    ir: str | None = None,
    timeout: float = TIMEOUT,
    **settings: Any,
) -> dict[str, Any]:
    """A run's ``report`` text, ``observes`` and ``client`` columns, ``gauges`` change points.

    Columns are [values, times, sessions, turns] by name, change points [times, values].
    """
    result = _process.call("samples", _program(source, path, ir, settings), timeout)
    assert isinstance(result, dict)
    return result


def trace(path: Any) -> list[list[list[float]]]:
    """The sessions of a trace file as lists of [new, out, think, forced]."""
    result = _process.call("trace", {"path": os.path.abspath(path)}, TIMEOUT)
    assert isinstance(result, list)
    return result


def rng(seed: int, calls: list[tuple[Any, ...]]) -> list[Any]:
    """The results of ``calls`` (method name and arguments) on one generator."""
    result = _process.call("rng", {"seed": seed, "calls": calls}, TIMEOUT)
    assert isinstance(result, list)
    return result
