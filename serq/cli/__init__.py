"""The command line: one module per command, loaded when the command is called."""

from __future__ import annotations

import io
import os
import sys
import threading
from importlib import import_module
from typing import Any, NoReturn

import click

from serq import __version__
from serq.diagnostics import SerqError

COMMANDS = {
    "run": "serq.cli.run",
    "check": "serq.cli.check",
    "ir": "serq.cli.ir",
    "timeline": "serq.cli.timeline",
    "draw": "serq.cli.draw",
    "target": "serq.cli.target",
    "fmt": "serq.cli.fmt",
    "lsp": "serq.cli.lsp",
    "lean": "serq.cli.lean",
    "prove": "serq.cli.prove",
    "oracle": "serq.cli.oracle",
    "fuzz": "serq.cli.fuzz",
}
"""Command name → the module that has it as ``command``."""

INTERRUPTED = 130
"""The exit status after Ctrl-C: 128 and the number of the signal."""


class _Lazy(click.Group):
    def main(self, *args: Any, **kwargs: Any) -> Any:
        """Runs the command line; a standard output that is full or closed is one clear error."""
        from serq.cli import output

        output.replace_closed_streams()
        try:
            return super().main(*args, **kwargs)
        except OSError as error:  # printed by click or rich; `output.emit` has its own
            if not output.is_output_fault(error):
                raise
            output.show(output.unwritable(error).diagnostics)
            sys.exit(1)

    def list_commands(self, ctx: click.Context) -> list[str]:
        return list(COMMANDS)

    def get_command(self, ctx: click.Context, name: str) -> click.Command | None:
        if name not in COMMANDS:
            return None
        command = import_module(COMMANDS[name]).command
        assert isinstance(command, click.Command)
        return command

    def invoke(self, ctx: click.Context) -> object:
        """Runs a command; the program's faults go to standard error, with status 1."""
        from serq.cli.output import show

        try:
            return super().invoke(ctx)
        except SerqError as error:
            show(error.diagnostics)
            ctx.exit(1)
        except KeyboardInterrupt:
            click.echo("interrupted", err=True)
            _leave(ctx)


def _leave(ctx: click.Context) -> NoReturn:
    """End at once, also when a thread is still at work: nothing is half-written."""
    others = [t for t in threading.enumerate() if t is not threading.current_thread()]
    if any(not thread.daemon for thread in others):
        sys.stderr.flush()
        os._exit(INTERRUPTED)
    ctx.exit(INTERRUPTED)


@click.group(cls=_Lazy, context_settings={"help_option_names": ["-h", "--help"]})
@click.version_option(__version__, "-V", "--version", message="serq %(version)s")
def main() -> None:
    """Simulate LLM serving deployments, prove claims about them, hold them against vLLM."""
    for stream in (sys.stdout, sys.stderr):
        if isinstance(stream, io.TextIOWrapper):  # a report is UTF-8 whatever the locale says
            stream.reconfigure(encoding="utf-8", errors="backslashreplace")
