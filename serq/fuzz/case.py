"""A case: a program's text with the settings it runs with, also as a file of the corpus."""

from __future__ import annotations

import re
import shlex
from dataclasses import dataclass

from serq.diagnostics import SerqError, Source
from serq.ir import nodes as ir
from serq.link import compile_text
from serq.settings import Settings

_RUN = re.compile(r"^// serq run FILE\b(.*)$", re.MULTILINE)


@dataclass(frozen=True)
class RandomProgram:
    """A program's text and the settings it is to run with."""

    text: str
    horizon: float
    warmup: float
    seed: int
    arrivals: int | None

    def settings(self) -> dict[str, float | int]:
        """The settings by name, as the reference build and `serq.compile` take them."""
        given: dict[str, float | int] = {
            "horizon": self.horizon,
            "warmup": self.warmup,
            "seed": self.seed,
        }
        if self.arrivals is not None:
            given["arrivals"] = self.arrivals
        return given

    def compile(self) -> ir.Program:
        """The IR by our compiler. Raises `SerqError`."""
        settings = Settings(self.horizon, self.warmup, self.seed, self.arrivals)
        return compile_text(Source("<program>", self.text), settings=settings).program

    def command(self) -> str:
        """The command that runs the program, as a comment."""
        flags = [f"--horizon {self.horizon:g}", f"--seed {self.seed}"]
        if self.warmup:
            flags.append(f"--warmup {self.warmup:g}")
        if self.arrivals is not None:
            flags.append(f"--arrivals {self.arrivals}")
        return f"// serq run FILE {' '.join(flags)}"

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
    try:
        return RandomProgram(
            text=text,
            horizon=float(flags["--horizon"]),
            warmup=float(flags.get("--warmup", "0")),
            seed=int(flags.get("--seed", "1")),
            arrivals=int(flags["--arrivals"]) if "--arrivals" in flags else None,
        )
    except (KeyError, ValueError) as error:
        raise SerqError.of(
            "corpus-file", f"{name} has a faulty command line: {found[0]}"
        ) from error
