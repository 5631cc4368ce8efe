"""The reference build as a peer: it compiles and runs programs in a process of its own.

The process stays up between calls and is started again after a crash or a timeout. Tests that use
it carry the mark ``needs_peer`` and are skipped where ``pyserq`` is not installed.

    import peer

    @peer.needs_peer
    def test_something():
        theirs = peer.run(SOURCE, horizon=100, seed=3)
        assert peer.first_difference(ours.json(), theirs) is None
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

import pytest

AVAILABLE = importlib.util.find_spec("pyserq") is not None
TIMEOUT = 60.0
"""Seconds that one call may take."""


def needs_peer(test: Any) -> Any:
    """Mark a test (function or class) that compares with the reference build."""
    skip = pytest.mark.skipif(not AVAILABLE, reason="the reference build is not installed")
    return pytest.mark.peer(skip(test))


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


class _Process:
    def __init__(self) -> None:
        self._process: subprocess.Popen[bytes] | None = None
        self._buffer = b""

    def call(self, op: str, arguments: dict[str, Any], timeout: float) -> Any:
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
                    self.stop()
                    raise Crashed(f"no answer within {timeout:g} s")
                piece = os.read(process.stdout.fileno(), 1 << 20)
                if not piece:
                    code = process.wait()
                    self.stop()
                    raise Crashed(f"the reference build died (status {code})")
                self._buffer += piece
        line, _, self._buffer = self._buffer.partition(b"\n")
        return line

    def stop(self) -> None:
        process, self._process, self._buffer = self._process, None, b""
        if process is not None:
            process.kill()
            process.wait()
            for pipe in (process.stdin, process.stdout):
                if pipe is not None:
                    with contextlib.suppress(BrokenPipeError):
                        pipe.close()


_process = _Process()
atexit.register(_process.stop)


def _program(source: str | None, path: Any, ir: str | None, settings: dict[str, Any]) -> Any:
    given = {"source": source, "path": None if path is None else os.fspath(path), "ir": ir}
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
    result = _process.call("trace", {"path": os.fspath(path)}, TIMEOUT)
    assert isinstance(result, list)
    return result


def rng(seed: int, calls: list[tuple[Any, ...]]) -> list[Any]:
    """The results of ``calls`` (method name and arguments) on one generator."""
    result = _process.call("rng", {"seed": seed, "calls": calls}, TIMEOUT)
    assert isinstance(result, list)
    return result


def first_difference(
    ours: str, theirs: str, ignore: tuple[str, ...] = ("serq_version",)
) -> str | None:
    """The first field where two JSON documents differ, as text, or None.

    Numbers are compared as they are spelled, so that −0 differs from 0 and 1 from 1.0; fields are
    compared in order. ``ignore`` names fields of the outermost object that may differ.
    """
    if ours == theirs:
        return None
    options: dict[str, Any] = {
        "parse_float": _Spelled,
        "parse_int": _Spelled,
        "object_pairs_hook": _Object,
    }
    a, b = json.loads(ours, **options), json.loads(theirs, **options)
    if isinstance(a, _Object) and isinstance(b, _Object):
        a = _Object((k, v) for k, v in a if k not in ignore)
        b = _Object((k, v) for k, v in b if k not in ignore)
    return _difference(a, b, "")


class _Spelled(str):
    """A number by its spelling."""


class _Object(list[Any]):
    """An object as its (name, value) pairs."""


def _label(value: Any, index: int) -> str:
    name = dict(value).get("name") if isinstance(value, _Object) else None
    return f"[{index}]" if name is None else f"[{index}: {name}]"


def _difference(a: Any, b: Any, path: str) -> str | None:
    if isinstance(a, _Object) and isinstance(b, _Object):
        for (key, x), (other, y) in zip(a, b, strict=False):
            if key != other:
                return f"{path}: field {key!r} where the reference has {other!r}"
            found = _difference(x, y, f"{path}.{key}" if path else key)
            if found is not None:
                return found
        if len(a) != len(b):
            more = (a if len(a) > len(b) else b)[min(len(a), len(b))][0]
            who = "we have" if len(a) > len(b) else "the reference has"
            return f"{path}: {who} a field {more!r} more"
        return None
    if type(a) is type(b) is list:
        for i, (x, y) in enumerate(zip(a, b, strict=False)):
            found = _difference(x, y, path + _label(x, i))
            if found is not None:
                return found
        if len(a) != len(b):
            return f"{path}: {len(a)} elements, the reference has {len(b)}"
        return None
    if type(a) is type(b) and a == b:
        return None
    return f"{path}: {_show(a)}, the reference has {_show(b)}"


def _show(value: Any) -> str:
    if isinstance(value, _Spelled):
        return str(value)
    if isinstance(value, _Object):
        return "{" + ", ".join(name for name, _ in value) + "}"
    text = json.dumps(value, ensure_ascii=False)
    return text if len(text) <= 80 else text[:77] + "…"
