"""``serq check``: everything that is wrong with a program, without running it."""

from __future__ import annotations

import json

import click

from serq.api import load
from serq.cli.options import FileCommand, file_argument, inputs_options, overrides_of
from serq.cli.output import as_json as row
from serq.cli.output import emit, show
from serq.diagnostics import SerqError


@click.command(cls=FileCommand)
@file_argument
@inputs_options
@click.option("--json", "as_json", is_flag=True, help="Print the diagnostics as a JSON list.")
@click.pass_context
def command(ctx: click.Context, file: str, as_json: bool) -> None:
    """Check the program FILE (.sq text or .json IR): syntax, names, types, every rule.

    Prints one line with the program's counts; with --json, for editors, the list of all errors
    and warnings, also when there are errors (the exit status is 1 then).
    """
    try:
        loaded = load(file, overrides=overrides_of(ctx), need_horizon=False)
    except SerqError as error:
        if not as_json:
            raise
        emit(json.dumps([row(d) for d in error.diagnostics], ensure_ascii=False) + "\n")
        ctx.exit(1)
    if as_json:
        emit(json.dumps([row(d) for d in loaded.warnings], ensure_ascii=False) + "\n")
        return
    if loaded.warnings:
        show(loaded.warnings)
    program = loaded.program
    emit(
        f"OK: {len(program.pools)} pool(s), {len(program.stages)} stage(s), "
        f"{len(program.attrs)} attribute(s), {len(program.blocks)} block(s)\n"
    )
