"""``serq run``: simulate a program and report."""

from __future__ import annotations

import os
import sys
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path

import click
from rich.console import Console
from rich.progress import BarColumn, Progress, TextColumn, TimeRemainingColumn

from serq import interp
from serq.cli.options import (
    FileCommand,
    file_argument,
    inputs_options,
    load_file,
    settings_options,
    trace_option,
)
from serq.cli.output import emit, visible
from serq.dump import files as dump_files
from serq.files import text_writer, write_files
from serq.ir.nodes import Program
from serq.text_report import plain, show

PATIENCE = 2.0
"""Seconds of silence before a progress bar appears."""


@click.command(cls=FileCommand)
@file_argument
@settings_options
@inputs_options
@trace_option
@click.option("--json", "as_json", is_flag=True, help="Print the report as one JSON object.")
@click.option("--dump", "directory", type=click.Path(), metavar="DIR",
              help="Write the samples behind the report as CSV files.")  # fmt: skip
@click.option("--html", "page", type=click.Path(), metavar="F",
              help="Write the report as a page for a browser.")  # fmt: skip
@click.option("--no-fast", "slow", is_flag=True, hidden=True)
@click.pass_context
def command(
    ctx: click.Context,
    file: str,
    trace: str | None,
    as_json: bool,
    directory: str | None,
    page: str | None,
    slow: bool,
) -> None:
    """Simulate the program FILE (.sq text or .json IR) and report.

    Inputs of the program may follow as `-- --name value`. The exit status is 0 also when a claim
    fails, and 1 when a session got stuck.
    """
    loaded = load_file(ctx, file, trace=trace)
    with progress_bar(loaded.program) as progress:
        report = interp.run(
            loaded.program,
            base_dir=loaded.base_dir,
            source_map=loaded.source_map,
            fast=not slow,
            progress=progress,
        )
    outputs = [] if directory is None else list(dump_files(report, Path(directory)))
    if page is not None:
        from serq.page.report_page import page as report_page

        text = report_page(report, loaded.program, os.path.basename(file))
        outputs.append((Path(page), text_writer(text)))
    write_files(outputs)
    if as_json:
        emit(report.json() + "\n")
    elif sys.stdout.isatty():
        show(report, loaded.program, Console(file=sys.stdout))
    else:
        emit(visible(plain(report, loaded.program)))
    if any(pool.stuck for pool in report.pools):
        ctx.exit(1)


@contextmanager
def progress_bar(program: Program) -> Iterator[Callable[[float, int], None] | None]:
    """A callback that draws a progress bar on a terminal once the run takes its time."""
    if not sys.stderr.isatty():
        yield None
        return
    bar = Progress(
        TextColumn("{task.description}"),
        BarColumn(),
        TextColumn("{task.percentage:>3.0f} %"),
        TimeRemainingColumn(),
        console=Console(stderr=True),
        transient=True,
    )
    begun = time.monotonic()
    task = bar.add_task("running", total=1.0)

    def update(now: float, arrived: int) -> None:
        # A finite run ends with its sessions, long before the horizon.
        goal = program.arrivals
        done = now / program.horizon if goal is None else arrived / goal
        if not bar.live.is_started and time.monotonic() - begun > PATIENCE:
            bar.start()
        bar.update(task, completed=done, description=f"time {now:g}")

    try:
        yield update
    finally:
        bar.stop()
