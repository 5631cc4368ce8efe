"""What commands print: results to standard output, faults and warnings to standard error."""

from __future__ import annotations

import errno
import io
import os
import re
import sys
from collections.abc import Iterable
from typing import Any

import click

from serq.diagnostics import Diagnostic, SerqError, Severity, render

_COLOURS = {Severity.ERROR: "red", Severity.WARNING: "yellow"}


def emit(text: str) -> None:
    """Write a command's result to standard output, whole.

    Raises `SerqError` when it cannot be written; a reader that went away ends the command quietly.
    """
    try:
        sys.stdout.write(text)
        sys.stdout.flush()
    except OSError as error:
        if error.errno == errno.EPIPE:
            raise  # click ends the command without a word
        raise unwritable(error) from None


def unwritable(error: OSError) -> SerqError:
    """The fault of a standard output that cannot be written; nothing more is tried at exit."""
    sys.stdout = open(os.devnull, "w")  # noqa: SIM115
    return SerqError.of(
        "unwritable-file", f"cannot write to standard output: {error.strerror or error}"
    )


_WRITE_FAULTS = {errno.ENOSPC, errno.EDQUOT, errno.EFBIG, errno.EIO, errno.EBADF}


def is_output_fault(error: OSError) -> bool:
    """Whether an error that came up to the command line is of a stream and not of a file."""
    return error.errno in _WRITE_FAULTS and error.filename is None


class _Closed(io.TextIOBase):
    """Standard output where the caller has closed it (``>&-``): Python has no stream then."""

    def writable(self) -> bool:
        return True

    def write(self, text: str, /) -> int:
        raise OSError(errno.EBADF, "it is closed")


def replace_closed_streams() -> None:
    """Give a process that was started without standard output or error something to write to."""
    if sys.stdout is None:
        sys.stdout = _Closed()
    if sys.stderr is None:
        sys.stderr = open(os.devnull, "w")  # noqa: SIM115


def show(diagnostics: Iterable[Diagnostic]) -> None:
    """Write faults or warnings to standard error, in colour on a terminal."""
    colour = not os.environ.get("NO_COLOR") and os.environ.get("TERM") != "dumb"
    texts = []
    for diagnostic in diagnostics:
        text = visible(render(diagnostic))
        texts.append(_styled(text, _COLOURS[diagnostic.severity]) if colour else text)
    click.echo("\n\n".join(texts), err=True)  # drops the colours where there is no terminal


def visible(text: str) -> str:
    """The text with its control characters spelled out: a file cannot command the terminal."""
    return re.sub(
        r"[\x00-\x08\x0b-\x1f\x7f-\x9f\u202a-\u202e\u2066-\u2069]",
        lambda match: match[0].encode("unicode_escape").decode(),
        text,
    )


def _styled(text: str, colour: str) -> str:
    lines = text.split("\n")
    lines[0] = re.sub(
        r"^(.*?)((?:error|warning)\[[^\]]*\]:)(.*)$",
        lambda m: (
            click.style(m[1], bold=True)
            + click.style(m[2], fg=colour, bold=True)
            + click.style(m[3], bold=True)
        ),
        lines[0],
    )
    for i, line in enumerate(lines[1:], 1):
        if re.fullmatch(r"\s*\| \s*\^+", line):
            lines[i] = line.replace("^", "", 0).rstrip("^") + click.style(
                "^" * line.count("^"), fg=colour, bold=True
            )
        elif match := re.match(r"(help|note):", line):
            lines[i] = click.style(match[0], fg="cyan", bold=True) + line[match.end() :]
    return "\n".join(lines)


def as_json(diagnostic: Diagnostic) -> dict[str, Any]:
    """A diagnostic for editors: lines and columns count from 1, ends are exclusive."""
    row: dict[str, Any] = {
        "code": diagnostic.code,
        "severity": str(diagnostic.severity),
        "message": diagnostic.message,
        "where": diagnostic.where,
    }
    row |= _place(diagnostic)
    row["help"] = diagnostic.help
    row["notes"] = [
        {"message": text, **_place(Diagnostic("", "", span=span))}
        for text, span in diagnostic.notes
    ]
    return row


def _place(diagnostic: Diagnostic) -> dict[str, Any]:
    names = ("file", "line", "column", "end_line", "end_column")
    span = diagnostic.span
    if span is None:
        return dict.fromkeys(names)
    start, end = span.source.position(span.start), span.source.position(span.end)
    return dict(zip(names, (span.source.name, *start, *end), strict=True))
