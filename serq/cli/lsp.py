"""``serq lsp``: a language server for editors."""

from __future__ import annotations

import click

from serq.diagnostics import SerqError


@click.command()
@click.option("--stdio", is_flag=True, help="What it does anyway; editors tend to say it.")
def command(stdio: bool) -> None:
    """Serve an editor by the Language Server Protocol, on standard input and output.

    Errors as they are written, what a name is, completion of what may be read at the cursor,
    definitions, and layout. Needs the extra `lsp`.
    """
    del stdio
    try:
        from serq.lsp.server import serve
    except ModuleNotFoundError as error:
        if (error.name or "").partition(".")[0] not in ("pygls", "lsprotocol"):
            raise
        raise SerqError.of(
            "lsp-extra",
            "the language server needs pygls, which is not installed",
            help="pip install 'serq[lsp]'",
        ) from None
    serve()
