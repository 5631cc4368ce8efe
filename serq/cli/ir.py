"""``serq ir``: the resolved program as JSON."""

from __future__ import annotations

import os

import click

from serq.cli.options import (
    FileCommand,
    file_argument,
    inputs_options,
    load_file,
    settings_options,
    trace_option,
)
from serq.cli.output import emit
from serq.interp.trace import read_trace
from serq.ir.codec import to_json


@click.command(cls=FileCommand)
@file_argument
@settings_options
@inputs_options
@trace_option
@click.option("--inline-trace", "inline", is_flag=True,
              help="Put an ordered trace's sessions into the program.")  # fmt: skip
@click.pass_context
def command(ctx: click.Context, file: str, trace: str | None, inline: bool) -> None:
    """Print the IR (version 13) of the program FILE, with its settings and inputs resolved."""
    loaded = load_file(ctx, file, trace=trace)
    program = loaded.program
    if inline and program.trace is not None:
        from serq.ir.rewrite import inline_trace

        program = inline_trace(program, read_trace(os.path.join(loaded.base_dir, program.trace)))
    emit(to_json(program) + "\n")
