"""Diagnostics of a text in an editor: all that ``serq check`` finds."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

from serq.diagnostics import Diagnostic, SerqError, Severity, Source
from serq.link import compile_text
from serq.settings import Settings
from serq.syntax.lexer import lex
from serq.syntax.parser import parse

NO_MAIN = "no-main"


def check(source: Source, directory: Path | None) -> list[Diagnostic]:
    """The errors and warnings of a text; ``directory`` is what its imports are relative to.

    A text without ``fn`` that reads as a library is one: that it has no main is then a warning,
    since nobody runs it. Never raises `SerqError`.
    """
    try:
        settings = Settings(horizon=None, warmup=0.0, seed=1, arrivals=None, trace=None)
        return list(compile_text(source, settings=settings, base_dir=directory).warnings)
    except SerqError as error:
        found = error.diagnostics
    if any(d.code == NO_MAIN for d in found) and not any(t == "fn" for t in lex(source).tokens):
        try:
            parse(source, library=True)
        except SerqError as error:
            return error.diagnostics
        return [replace(d, severity=Severity.WARNING) if d.code == NO_MAIN else d for d in found]
    return found
