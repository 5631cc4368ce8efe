"""The real scheduler's side: the driver as a process of its own, scenario in, answer out."""

from __future__ import annotations

import json
import subprocess
import sys
import tempfile
from pathlib import Path
from types import TracebackType
from typing import IO

from serq.diagnostics import SerqError
from serq.oracle import places, setup
from serq.oracle.answer import Answer, from_json
from serq.oracle.scenario import Scenario


class Driver:
    """A running ``tools/vllm_oracle.py``; a context manager that ends it.

    With ``full`` (a Python interpreter that has vLLM) that complete installation answers,
    otherwise the prepared files of ``version``.
    """

    def __init__(
        self, version: str = setup.DEFAULT, full: Path | None = None, say: setup.Say = print
    ) -> None:
        if full is not None:
            command = [str(full), str(places.driver()), "--full", "--serve"]
        else:
            files = setup.ensure(version, say)
            # Isolated and without site-packages: no other package can take a stand-in's place.
            command = [sys.executable, "-I", "-S", str(places.driver())]
            command += ["--files", str(files), "--serve"]
        self._errors: IO[str] = tempfile.TemporaryFile("w+", encoding="utf-8")  # noqa: SIM115
        try:
            self._process = subprocess.Popen(
                command,
                stdin=subprocess.PIPE,
                stdout=subprocess.PIPE,
                stderr=self._errors,
                text=True,
            )
        except OSError as fault:
            raise SerqError.of("oracle-driver", f"{command[0]}: {fault.strerror}") from fault

    def answer(self, scenario: Scenario) -> Answer:
        """What vLLM's scheduler does with the scenario."""
        assert self._process.stdin is not None and self._process.stdout is not None
        try:
            print(json.dumps(scenario.to_json()), file=self._process.stdin, flush=True)
            line = self._process.stdout.readline()
        except BrokenPipeError:
            line = ""
        if not line:
            self._errors.seek(0)
            last = self._errors.read().strip().splitlines()
            raise SerqError.of(
                "oracle-driver",
                "the driver of vLLM's scheduler ended: " + (last[-1] if last else "no message"),
            )
        document = json.loads(line)
        if "error" in document:
            raise SerqError.of(
                "oracle-driver",
                f"vLLM's scheduler failed on `{scenario.name}`: {document['error']}",
                help=f"the versions the driver is checked with: {', '.join(setup.VERSIONS)}",
            )
        return from_json(document)

    def close(self) -> None:
        """End the process, at once if it is in the middle of a scenario."""
        assert self._process.stdin is not None and self._process.stdout is not None
        self._process.stdin.close()
        try:
            self._process.wait(timeout=5)
        except subprocess.TimeoutExpired:
            self._process.kill()
            self._process.wait()
        self._process.stdout.close()
        self._errors.close()

    def __enter__(self) -> Driver:
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        value: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        self.close()
