"""Which pages are generated, whole or in parts, and whether they are up to date."""

from __future__ import annotations

import re
from collections.abc import Callable
from pathlib import Path

from serq.docsgen import diagnostics
from serq.docsgen.fixtures import DOCS
from serq.docsgen.parts import PARTS
from serq.docsgen.pictures import PICTURES

_REGION = re.compile(r"(<!-- generated: (.+?) -->\n).*?(<!-- end of generated -->)", re.DOTALL)

WHOLE: dict[str, Callable[[], str]] = {"diagnostics.md": diagnostics.page, **PICTURES}
"""Pages and pictures that are made as a whole."""


def pages() -> dict[Path, str]:
    """Every page with generated text → what it should be.

    A page that is written by hand has regions, from ``<!-- generated: NAME … -->`` to
    ``<!-- end of generated -->``, that one of `PARTS` fills.

    Raises `ValueError` for an unknown part.
    """
    made = {DOCS / name: make() for name, make in WHOLE.items()}
    for path in sorted(DOCS.rglob("*.md")):
        if path in made:
            continue
        text = path.read_text(encoding="utf-8")
        if "<!-- generated:" in text:
            made[path] = _REGION.sub(_filled, text)
    return made


def _filled(match: re.Match[str]) -> str:
    name, *arguments = match[2].split()
    if name not in PARTS:
        raise ValueError(f"no generated part {name!r}")
    return f"{match[1]}\n{PARTS[name](*arguments).strip()}\n\n{match[3]}"


def differences() -> list[str]:
    """The names of the pages that are not as the code makes them."""
    return [
        str(path.relative_to(DOCS))
        for path, text in pages().items()
        if not path.exists() or path.read_text(encoding="utf-8") != text
    ]
