"""A case: a program's text with the settings it runs with, also as a file of the corpus."""

from __future__ import annotations

import hashlib
import os
import re
import shlex
import tempfile
from dataclasses import dataclass
from functools import cache
from typing import Any

from serq.diagnostics import SerqError, Source
from serq.ir import nodes as ir
from serq.link import compile_text
from serq.settings import Settings

_RUN = re.compile(r"^// serq run FILE\b(.*)$", re.MULTILINE)
_TRACE = re.compile(r"^// trace: (.*)$", re.MULTILINE)


@dataclass(frozen=True)
class RandomProgram:
    """A program's text and the settings it is to run with; ``trace`` is its trace's text."""

    text: str
    horizon: float
    warmup: float = 0.0
    seed: int = 1
    arrivals: int | None = None
    trace: str | None = None

    def settings(self) -> Settings:
        """The settings; the trace is written to a file of this process."""
        trace = None if self.trace is None else _trace_file(self.trace)
        return Settings(self.horizon, self.warmup, self.seed, self.arrivals, trace)

    def keywords(self) -> dict[str, Any]:
        """The settings by name, without those that are not given."""
        given = self.settings()
        found = {
            "horizon": given.horizon,
            "warmup": given.warmup,
            "seed": given.seed,
            "arrivals": given.arrivals,
            "trace": given.trace,
        }
        return {name: value for name, value in found.items() if value is not None}

    def compile(self) -> ir.Program:
        """The IR by our compiler. Raises `SerqError`."""
        return compile_text(Source("<program>", self.text), settings=self.settings()).program

    def command(self) -> str:
        """The command that runs the program, as a comment."""
        flags = [f"--horizon {self.horizon:g}", f"--seed {self.seed}"]
        if self.warmup:
            flags.append(f"--warmup {self.warmup:g}")
        if self.arrivals is not None:
            flags.append(f"--arrivals {self.arrivals}")
        lines = [f"// serq run FILE {' '.join(flags)}"]
        if self.trace is not None:
            lines.append(f"// trace: {'; '.join(self.trace.split())}")
        return "\n".join(lines)

    def file_text(self, notes: str = "") -> str:
        """The text of a ``.sq`` file that `from_file_text` reads back; ``notes`` as comments."""
        lines = [f"// {line}".rstrip() for line in notes.splitlines()]
        return "\n".join([*lines, self.command(), self.text.rstrip("\n"), ""])


def from_file_text(text: str, name: str) -> RandomProgram:
    """The case in a corpus file. Raises `SerqError` (``corpus-file``) without its command line."""
    found = _RUN.search(text)
    if found is None:
        raise SerqError.of(
            "corpus-file",
            f"{name} does not say how it runs",
            help="write a comment like `// serq run FILE --horizon 50 --seed 3`",
        )
    words = shlex.split(found[1])
    flags = dict(zip(words[::2], words[1::2], strict=False))
    rows = _TRACE.search(text)
    try:
        return RandomProgram(
            text=text,
            horizon=float(flags["--horizon"]),
            warmup=float(flags.get("--warmup", "0")),
            seed=int(flags.get("--seed", "1")),
            arrivals=int(flags["--arrivals"]) if "--arrivals" in flags else None,
            trace=None if rows is None else "\n".join(rows[1].split("; ")) + "\n",
        )
    except (KeyError, ValueError) as error:
        raise SerqError.of(
            "corpus-file", f"{name} has a faulty command line: {found[0]}"
        ) from error


@cache
def _directory() -> tempfile.TemporaryDirectory[str]:
    return tempfile.TemporaryDirectory(prefix="serq-fuzz-")


@cache
def _trace_file(text: str) -> str:
    name = hashlib.sha256(text.encode()).hexdigest()[:16] + ".csv"
    path = os.path.join(_directory().name, name)
    with open(path, "w") as file:
        file.write(text)
    return path
