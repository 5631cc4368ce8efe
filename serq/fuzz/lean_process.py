"""``serq-exec``, the executable Lean semantics, in a process that stays up: one line, one answer.

A start costs seconds, a program a few hundredths of one; so many programs share a process.
"""

from __future__ import annotations

import atexit
import contextlib
import json
import os
import selectors
import subprocess
import time

from serq.diagnostics import SerqError
from serq.ir import nodes as ir
from serq.leangen.compare import EXEC_MAIN, StepTrace, line_of, trace_of
from serq.leangen.fragment import Executable
from serq.toolchain.install import lean_environment
from serq.toolchain.lean import Lean, find_lean
from serq.toolchain.places import LeanPackage, lean_package

TIMEOUT = 120.0
"""Seconds that one answer may take."""

START_TIMEOUT = 600.0
"""Seconds that the process may take to start: on a busy machine that is not the program's fault."""

PROGRAMS = 1000
"""Programs that one process executes; memory it no longer needs goes with it."""


class LeanProcess:
    """The semantics of the package at hand; started by the first program."""

    def __init__(self, lean: Lean, package: LeanPackage) -> None:
        self._lean = lean
        self._package = package
        self._process: subprocess.Popen[bytes] | None = None
        self._buffer = b""
        self._done = 0

    @property
    def pid(self) -> int | None:
        """The operating system's number of the process; None while there is none."""
        return None if self._process is None else self._process.pid

    def run(self, program: ir.Program, made: Executable) -> StepTrace:
        """The step trace of a translated program. Raises `SerqError` (``lean-exec``)."""
        if self._done >= PROGRAMS:
            self.stop()
        try:
            process = self._process or self._start()
            assert process.stdin is not None
            self._done += 1
            process.stdin.write(line_of(program, made).encode() + b"\n")
            process.stdin.flush()
            answer = json.loads(self._line(process, TIMEOUT))
        except BrokenPipeError:
            self.stop()
            raise SerqError.of("lean-exec", "serq-exec ended by itself") from None
        except BaseException:
            self.stop()
            raise
        return trace_of(answer)

    def _start(self) -> subprocess.Popen[bytes]:
        lean, package = self._lean, self._package
        built = lean.build(package, [EXEC_MAIN])
        if not built.ok:
            raise SerqError.of(
                "lean-exec", "the Lean semantics does not build; see `serq lean build`"
            )
        main = package.source / f"{EXEC_MAIN}.lean"
        self._process = subprocess.Popen(
            [*lean.lean_command(package), "--run", str(main)],
            cwd=lean.working_directory(package),
            env=lean_environment(lean.search_path(package)),
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            stderr=subprocess.DEVNULL,
        )
        self._done = 0
        assert self._process.stdin is not None
        self._process.stdin.write(b"{}\n")  # no program: the answer says that it listens
        self._process.stdin.flush()
        self._line(self._process, START_TIMEOUT)
        return self._process

    def _line(self, process: subprocess.Popen[bytes], seconds: float) -> bytes:
        assert process.stdout is not None
        deadline = time.monotonic() + seconds
        with selectors.DefaultSelector() as selector:
            selector.register(process.stdout, selectors.EVENT_READ)
            while b"\n" not in self._buffer:
                if not selector.select(max(0.0, deadline - time.monotonic())):
                    raise SerqError.of("lean-exec", f"no answer within {seconds:g} s")
                piece = os.read(process.stdout.fileno(), 1 << 20)
                if not piece:
                    raise SerqError.of("lean-exec", "serq-exec ended by itself")
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


_running: LeanProcess | None = None


def lean_process() -> LeanProcess | None:
    """The process that this interpreter's callers share; None where no Lean is installed."""
    global _running
    if _running is None:
        package = lean_package()
        lean = find_lean(package)
        if lean is None:
            return None
        _running = LeanProcess(lean, package)
        atexit.register(_running.stop)
    return _running
