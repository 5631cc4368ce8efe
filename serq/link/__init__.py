"""Program text to IR and source map."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path

from serq.deep import run_deep
from serq.diagnostics import Source
from serq.link.program import Linked, Linker
from serq.link.source_map import SourceMap
from serq.settings import Settings

__all__ = ["Linked", "SourceMap", "compile_text"]


def compile_text(
    source: Source,
    *,
    settings: Settings,
    sets: Mapping[str, str | float] | None = None,
    defs: Mapping[str, str] | None = None,
    base_dir: Path | None = None,
) -> Linked:
    """Compile a program text.

    ``sets`` supplies inputs declared with ``args.number`` (numbers, or the text of a constant
    expression), ``defs`` replaces bodies of definitions of expressions. ``base_dir`` is the
    directory that ``use "file.sq"`` is relative to; None refuses such imports. Without a
    ``settings.horizon`` the program is complete but its horizon is arbitrary.

    Raises `SerqError` with all independent errors, in the order of their places.
    """
    linker = Linker(source, settings, sets or {}, defs or {}, base_dir)
    return run_deep(linker.link)
