"""``serq draw``: a picture of the program, as SVG or TikZ."""

from __future__ import annotations

from pathlib import Path

import click

from serq.cli.options import (
    FileCommand,
    file_argument,
    inputs_options,
    load_file,
)
from serq.cli.output import emit
from serq.draw import VIEWS, draw, svg, tikz
from serq.files import write_text

FORMATS = {"tikz": tikz, "svg": svg}

_OTHER_PICTURES = {".png", ".jpg", ".jpeg", ".gif", ".webp", ".pdf", ".eps", ".html"}
"""What neither format is: a file so named would not open."""


@click.command(cls=FileCommand)
@file_argument
@inputs_options
@click.option(
    "--format",
    "form",
    type=click.Choice(list(FORMATS)),
    help="What to write.  [default: svg for an --out that ends in .svg, else tikz]",
)
@click.option(
    "--view",
    type=click.Choice(VIEWS),
    default=VIEWS[0],
    show_default=True,
    help="What it is made of, or the way of one request.",
)
@click.option("--unfold", is_flag=True, help="Draw every member of a family (up to 16).")
@click.option(
    "--out", type=click.Path(), metavar="F", help="Write to a file instead of standard output."
)
@click.pass_context
def command(
    ctx: click.Context, file: str, form: str | None, view: str, unfold: bool, out: str | None
) -> None:
    """Draw the program FILE (.sq text or .json IR).

    The view `deployment` shows clients, gateways, stations with their pools, engines and devices,
    and where requests and KV go; `request` the way of one request from arrival to answer.
    """
    if unfold and view != "deployment":
        raise click.UsageError("--unfold is for the view deployment", ctx)
    if form is None and out is not None and Path(out).suffix.lower() in _OTHER_PICTURES:
        raise click.UsageError(
            f"{out!r}: a picture is written as .svg, or as LaTeX (.tex); --format writes either "
            "under any name",
            ctx,
        )
    loaded = load_file(ctx, file, need_horizon=False)
    figure = draw(
        loaded.program, loaded.source_map, view=view, title=Path(file).stem, unfold=unfold
    )
    if form is None:
        form = "svg" if out is not None and out.lower().endswith(".svg") else "tikz"
    text = FORMATS[form](figure)
    if out is None:
        emit(text)
    else:
        write_text(Path(out), text)
