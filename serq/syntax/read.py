"""Program files from the disk."""

from __future__ import annotations

import os

from serq.diagnostics import SerqError, Source
from serq.files import read_text
from serq.syntax.lexer import MAX_TEXT, too_large


def read_source(path: str | os.PathLike[str]) -> Source:
    """The text of a program file, under the path as it was given.

    A byte order mark is left out. Raises `SerqError` for a file that cannot be read, is a
    directory, is not UTF-8 or is larger than the documented limit.
    """
    name = os.fspath(path)
    try:
        size = os.stat(path).st_size
    except (OSError, ValueError):
        size = 0  # reading says what is wrong
    if size > 4 * MAX_TEXT:  # a character has at most four bytes
        raise SerqError([too_large(name)])
    return Source(name, read_text(path, "program").removeprefix("\ufeff"))
