"""The command line: one module per command, loaded when the command is called."""

from __future__ import annotations

from importlib import import_module

import click

from serq import __version__
from serq.diagnostics import SerqError

COMMANDS = {
    "run": "serq.cli.run",
    "check": "serq.cli.check",
    "ir": "serq.cli.ir",
    "lean": "serq.cli.lean",
}
"""Command name → the module that has it as ``command``."""


class _Lazy(click.Group):
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
        try:
            return super().invoke(ctx)
        except SerqError as error:
            click.echo(str(error), err=True)
            ctx.exit(1)


@click.group(cls=_Lazy, context_settings={"help_option_names": ["-h", "--help"]})
@click.version_option(__version__, "-V", "--version", message="serq %(version)s")
def main() -> None:
    """Simulate LLM serving deployments, prove claims about them, hold them against vLLM."""
