"""``serq timeline``: what happened over time in a run, as a picture."""

from __future__ import annotations

import os
from math import inf
from pathlib import Path

import click

from serq.cli.options import (
    FileCommand,
    file_argument,
    inputs_options,
    load_file,
    parse_number,
    settings_options,
    trace_option,
)
from serq.cli.output import emit
from serq.cli.run import progress_bar
from serq.draw.timeline_layout import AXES


class _Moment(click.ParamType):  # type: ignore[type-arg]  # generic from click 8.2 on
    """A finite time from 0 on."""

    name = "time"

    def convert(
        self, value: object, param: click.Parameter | None, ctx: click.Context | None
    ) -> float:
        number = parse_number(value) if isinstance(value, str) else value
        if not isinstance(number, float) or not 0.0 <= number < inf:
            self.fail(f"{value!r} is not a finite number from 0 on", param, ctx)
        return number


class _Picture(click.Path):
    """A path that ends in .svg or .html."""

    def convert(
        self, value: object, param: click.Parameter | None, ctx: click.Context | None
    ) -> str:
        path = str(value)
        if Path(path).suffix.lower() not in (".svg", ".html"):
            self.fail(f"{path!r} ends neither in .svg nor in .html", param, ctx)
        return path


@click.command(cls=FileCommand)
@file_argument
@settings_options
@inputs_options
@trace_option
@click.option("--from", "start", type=_Moment(), metavar="T", default=0.0,
              help="Where the picture begins.  [default: 0]")  # fmt: skip
@click.option("--to", "end", type=_Moment(), metavar="T",
              help="Where it ends; a run without a number of arrivals stops there.")  # fmt: skip
@click.option("--axis", type=click.Choice(AXES),
              help="What is across.  [default: iterations, with one engine]")  # fmt: skip
@click.option("--out", type=_Picture(), metavar="F",
              help="Write a picture (F.svg) or a page to zoom into (F.html).")  # fmt: skip
@click.option("--perfetto", type=click.Path(), metavar="F",
              help="Write trace events for ui.perfetto.dev.")  # fmt: skip
@click.pass_context
def command(
    ctx: click.Context,
    file: str,
    trace: str | None,
    start: float,
    end: float | None,
    axis: str | None,
    out: str | None,
    perfetto: str | None,
) -> None:
    """Run the program FILE and draw what happened over time.

    Iterations are across and resident requests down, with the tokens each is given, what is
    admitted, preempted and evicted, memory and queues. Without --out and --perfetto, the picture
    is printed as SVG.
    """
    from serq.draw.timeline_record import record

    if end is not None and not start < end:
        raise click.UsageError(f"--from {start:g} is not before --to {end:g}", ctx)
    if (
        out is not None
        and perfetto is not None
        and os.path.abspath(out) == os.path.abspath(perfetto)
    ):
        raise click.UsageError("--out and --perfetto name one file", ctx)
    loaded = load_file(ctx, file, trace=trace)
    with progress_bar(loaded.program) as progress:
        timeline = record(loaded, start, inf if end is None else end, progress)
    title = os.path.basename(file)
    files = []
    if out is not None:
        if out.lower().endswith(".html"):
            from serq.draw.timeline_html import html

            files.append((out, html(timeline, title, axis)))
        else:
            from serq.draw.timeline_svg import svg

            files.append((out, svg(timeline, title, axis)))
    if perfetto is not None:
        from serq.draw.perfetto import trace as events

        files.append((perfetto, events(timeline, title)))
    if files:
        from serq.files import text_writer, write_files

        write_files([(Path(path), text_writer(text)) for path, text in files])
    else:
        from serq.draw.timeline_svg import svg

        emit(svg(timeline, title, axis))
