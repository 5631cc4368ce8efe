"""``serq fmt``: programs in the one layout."""

from __future__ import annotations

import os
import stat
from contextlib import suppress
from pathlib import Path

import click

from serq.cli.output import emit
from serq.diagnostics import Diagnostic, SerqError
from serq.files import write_files
from serq.syntax.format import format_source
from serq.syntax.read import read_source


@click.command()
@click.argument("files", metavar="FILE...", nargs=-1, required=True)
@click.option("--check", is_flag=True, help="Write nothing; list the files that would change.")
@click.pass_context
def command(ctx: click.Context, files: tuple[str, ...], check: bool) -> None:
    """Lay out the programs FILE... in place: blank space changes, words and comments stay.

    Every file is read before any is written; a file that does not parse leaves all as they are.
    """
    changed: dict[Path, tuple[str, str]] = {}
    faults: list[Diagnostic] = []
    for name in files:
        try:
            laid_out = _laid_out(name)
        except SerqError as error:
            faults += error.diagnostics
            continue
        if laid_out is not None:
            # A link stays one: what it points to is written.
            changed.setdefault(Path(os.path.realpath(name)), (name, laid_out))
    if faults:
        raise SerqError(faults)
    if check:
        emit("".join(f"{name}\n" for name, _ in changed.values()))
        ctx.exit(1 if changed else 0)
    _write({path: text for path, (_, text) in changed.items()})


def _laid_out(name: str) -> str | None:
    """The layout of a file, None when the file has it already."""
    if name.endswith(".json"):
        raise SerqError.of("not-a-program", "only program text has a layout", where=name)
    source = read_source(name)
    text = format_source(source.text, name)
    return None if Path(name).read_bytes() == text.encode() else text


def _write(texts: dict[Path, str]) -> None:
    """Write all files or none, each with the permissions it had."""
    modes = {path: stat.S_IMODE(path.stat().st_mode) for path in texts}
    write_files(
        (path, lambda out, text=text: out.write(text))  # type: ignore[misc]
        for path, text in texts.items()
    )
    for path, mode in modes.items():
        with suppress(OSError):
            path.chmod(mode)
