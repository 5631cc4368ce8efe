"""``use "file.sq"``: the definitions of a library next to the file that uses it."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

from serq.diagnostics import SerqError, Source
from serq.lower.faults import Faults
from serq.syntax import ast
from serq.syntax.parser import parse


class Libraries:
    """Reads library files, each once. ``base_dir`` is the program's directory."""

    def __init__(self, faults: Faults, base_dir: Path | None) -> None:
        self.faults = faults
        self.base_dir = base_dir
        self.read_already: set[Path] = set()
        self.places: dict[str, Path] = {}

    def read(self, item: ast.UseDecl, source: Source) -> Iterator[ast.DefDecl]:
        """The definitions of the file, those of the files it uses first."""
        directory = self.places.get(source.name, self.base_dir)
        if directory is None:
            self.faults.error(
                "no-directory",
                f'`use "{item.path}"` reads a file next to the program, and this program was'
                " given as text",
                item.span,
            )
            return
        path = (directory / item.path).resolve()
        if path in self.read_already:
            return
        self.read_already.add(path)
        try:
            text = path.read_text(encoding="utf-8")
        except (OSError, UnicodeDecodeError) as error:
            reason = error.strerror if isinstance(error, OSError) else "it is not UTF-8 text"
            self.faults.error(
                "unreadable-library", f"cannot read `{item.path}`: {reason}", item.span
            )
            return
        library = Source(str(directory / item.path), text)
        self.places[library.name] = path.parent
        try:
            module = parse(library, library=True)
        except SerqError as error:
            for diagnostic in error.diagnostics:
                self.faults.add(diagnostic)
            return
        for below in module.preamble:
            match below:
                case ast.UseDecl(path="std/args"):
                    continue
                case ast.UseDecl():
                    yield from self.read(below, library)
                case ast.DefDecl():
                    yield below
                case ast.LetDecl():
                    self.faults.error(
                        "library-with-let",
                        "a library has definitions and imports only, no `let`",
                        below.span,
                    )
