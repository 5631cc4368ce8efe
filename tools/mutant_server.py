"""Judges changed trees quickly: what no mutant changes is imported once, each judgement is a fork.

Reads lines of JSON, ``{"path": FILE, "kind": KIND, "function": NAME}``, and answers each with one
line, as `mutant_judge.judge` has it. The package is the one that ``PYTHONPATH`` names.
"""

from __future__ import annotations

import json
import os
import sys
import warnings

# Nothing here imports `serq.interp` or `serq.leangen`: a fork does, and sees the fault in it.
import click  # noqa: F401
import hypothesis  # noqa: F401
import jinja2  # noqa: F401
import numpy  # noqa: F401
import rich.table  # noqa: F401

import serq.fuzz.programs
import serq.fuzz.stations
import serq.ir.codec
import serq.ir.validate
import serq.link
import serq.syntax.parser
from serq.diagnostics import Source
from serq.settings import Settings

CHANGED = ("serq.interp", "serq.leangen")
"""The packages that mutants are of."""


def answer(request: dict[str, str | None]) -> str:
    """The judgement in a process of its own; the last line of its error if it has none."""
    read, write = os.pipe()
    child = os.fork()
    if child == 0:
        os.close(read)
        try:
            import mutant_judge

            text = json.dumps(mutant_judge.judge_file(**request))
        except BaseException as error:
            what = f"{type(error).__name__}: {error}"
            text = json.dumps({"by": "import", "after": 0, "what": what[:200]})
        with os.fdopen(write, "w") as out:
            out.write(text)
        os._exit(0)
    os.close(write)
    with os.fdopen(read) as got:
        text = got.read()
    os.waitpid(child, 0)
    return text or json.dumps({"by": "import", "after": 0, "what": "the process ended"})


def main() -> None:
    """Answer until the input ends."""
    warnings.simplefilter("ignore")
    warm = Source("warm", "fn main() { stage s : fifo; }")
    serq.link.compile_text(warm, settings=Settings(horizon=1.0))
    loaded = [name for name in sys.modules if name.startswith(CHANGED)]
    assert not loaded, f"{loaded[0]} is imported before its mutants are made"
    for line in sys.stdin:
        print(answer(json.loads(line)), flush=True)


if __name__ == "__main__":
    main()
