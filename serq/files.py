"""Reading text files and writing outputs whole: a write that fails leaves nothing behind."""

from __future__ import annotations

import errno
import os
import stat
import tempfile
from collections.abc import Callable, Iterable
from contextlib import suppress
from functools import partial
from pathlib import Path
from typing import TextIO

from serq.diagnostics import SerqError


def read_text(path: str | os.PathLike[str], what: str) -> str:
    """The text of a UTF-8 file, line ends as they are; ``what`` names it in the error.

    Raises `SerqError` (``unreadable-file``) for a file that cannot be read or is not UTF-8.
    """
    try:
        if stat.S_ISCHR(os.stat(path).st_mode):  # /dev/zero has no end
            raise OSError(errno.EINVAL, "it is a device, not a file")
        data = Path(path).read_bytes()
    except (OSError, ValueError) as error:  # ValueError: a path with a null character
        reason = error.strerror if isinstance(error, OSError) and error.strerror else str(error)
        raise SerqError.of(
            "unreadable-file", f"cannot read {what} {os.fspath(path)}: {reason}"
        ) from None
    try:
        return data.decode("utf-8")
    except UnicodeDecodeError as error:
        line = data.count(b"\n", 0, error.start) + 1
        raise SerqError.of(
            "unreadable-file",
            f"cannot read {what} {os.fspath(path)}: line {line} is not UTF-8 text",
            help=f"the byte at offset {error.start} is 0x{data[error.start]:02x}; "
            "save the file as UTF-8",
        ) from None


Writer = Callable[[TextIO], None]


def write_files(files: Iterable[tuple[Path, Writer]]) -> None:
    """Write files whole: each to a temporary file beside it, then all are renamed into place.

    Directories are made as needed. A link stays a link, a file keeps its permissions, and a device
    or a pipe (``/dev/stdout``) is written to when all files stand. Raises `SerqError`
    (``unwritable-file``) when one cannot be written, for instance on a full disk; then no file has
    changed and directories made on the way are removed again.
    """
    ready: list[tuple[Path, Path]] = []
    streams: list[tuple[Path, Writer]] = []
    made: list[Path] = []
    path = Path()
    try:
        for path, write in files:
            if _is_stream(path):
                streams.append((path, write))
                continue
            place = Path(os.path.realpath(path))
            _make_directory(place.parent, made)
            ready.append((_temporary(place, write), place))
        for path, write in streams:
            with open(path, "w", encoding="utf-8", newline="\n") as out:
                write(out)
        while ready:
            temporary, path = ready[-1]
            os.replace(temporary, path)
            ready.pop()
    except BaseException as error:
        for temporary, _ in ready:
            with suppress(OSError):
                temporary.unlink()
        for directory in reversed(made):
            with suppress(OSError):
                directory.rmdir()
        if isinstance(error, OSError):
            raise SerqError.of(
                "unwritable-file", f"cannot write {path}: {error.strerror or error}"
            ) from None
        raise


def write_text(path: Path, text: str) -> None:
    """Write one file whole; errors as in `write_files`."""
    write_files([(path, text_writer(text))])


def text_writer(text: str) -> Writer:
    """What writes a text, for `write_files`."""
    return partial(_write, text=text)


def _write(out: TextIO, text: str) -> None:
    out.write(text)


def _make_directory(directory: Path, made: list[Path]) -> None:
    missing = [d for d in (directory, *directory.parents) if not d.exists()]
    for d in reversed(missing):
        try:
            d.mkdir()
        except FileExistsError:  # another command has made it meanwhile
            if not d.is_dir():
                raise
        else:
            made.append(d)


def _is_stream(path: Path) -> bool:
    """Whether there is something that no file may take the place of: a device, a pipe."""
    try:
        mode = os.stat(path).st_mode
    except OSError:
        return False
    if stat.S_ISREG(mode):  # a redirected standard output has a name of its own
        return os.fspath(path).startswith(("/dev/std", "/dev/fd/", "/proc/"))
    return not stat.S_ISDIR(mode)


def _temporary(path: Path, write: Writer) -> Path:
    """A file beside ``path`` with its whole content, on the disk and not only in a buffer."""
    if path.is_dir():
        raise IsADirectoryError(errno.EISDIR, os.strerror(errno.EISDIR))
    handle, name = tempfile.mkstemp(prefix=f".{path.name}.", suffix=".part", dir=path.parent)
    try:
        with open(handle, "w", encoding="utf-8", newline="\n") as out:
            write(out)
            out.flush()
            os.fsync(out.fileno())
        os.chmod(name, _permissions(path))
    except BaseException:
        os.unlink(name)
        raise
    return Path(name)


def _permissions(path: Path) -> int:
    """Those of the file that is there, otherwise those of a new one."""
    try:
        return stat.S_IMODE(os.stat(path).st_mode)
    except OSError:
        return 0o666 & ~_umask()


def _umask() -> int:
    mask = os.umask(0)
    os.umask(mask)
    return mask
