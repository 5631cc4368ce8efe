"""Files, commands and their output as the pages show them."""

from __future__ import annotations

import shlex
from contextlib import chdir, redirect_stdout
from functools import cache
from io import StringIO
from pathlib import Path

from click.testing import CliRunner

from serq.docsgen.fixtures import DOCS

ROOT = DOCS.parent
LANGUAGES = {".sq": "serq", ".py": "python", ".csv": "text", ".json": "json"}


def file(name: str) -> str:
    """A file of the tree as a block."""
    text = (ROOT / name).read_text(encoding="utf-8").strip("\n")
    return f"```{LANGUAGES[Path(name).suffix]}\n{text}\n```"


def console(*words: str) -> str:
    """A command and what it prints, as a block."""
    command = shlex.join(words)
    return f"```console\n$ {command}\n{output(command)}\n```"


@cache
def output(command: str) -> str:
    """What a ``serq`` command prints, errors included; an exit status other than 0 is told."""
    from serq.cli import main

    words = shlex.split(command)
    if words[0] != "serq":
        raise ValueError(f"not a serq command: {command}")
    with chdir(ROOT):
        result = CliRunner(env={"COLUMNS": "100"}).invoke(main, words[1:])
    if result.exception is not None and not isinstance(result.exception, SystemExit):
        raise result.exception
    text = "\n".join(line.rstrip() for line in result.output.strip("\n").split("\n"))
    return text if result.exit_code == 0 else f"{text}\n[exit status {result.exit_code}]"


def script(name: str) -> str:
    """A Python file and what it prints, as two blocks."""
    return f"{file(name)}\n\nprints\n\n```text\n{printed(name)}\n```"


@cache
def printed(name: str) -> str:
    """What a Python file of the tree prints."""
    code = compile((ROOT / name).read_text(encoding="utf-8"), name, "exec")
    out = StringIO()
    with chdir(ROOT), redirect_stdout(out):
        exec(code, {"__name__": "__main__"})
    return out.getvalue().rstrip("\n")
