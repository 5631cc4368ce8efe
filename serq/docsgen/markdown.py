"""The pages as the tests read them: code blocks with their remarks, headings, links."""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import dataclass
from functools import cache
from pathlib import Path

from serq.docsgen.fixtures import DOCS

_BLOCK = re.compile(
    r"(?:<!-- (?P<remark>[^\n]*?) -->\n\n?)?"
    r"^(?P<fence>```+)(?P<kind>\S*)[^\n]*\n(?P<text>.*?)^(?P=fence)$",
    re.MULTILINE | re.DOTALL,
)
_LINK = re.compile(r"(?<!!)\[(?:[^\[\]`]|`[^`]*`)*\]\(([^()\s]+)\)")
_HEADING = re.compile(r"^(#+) (.+)$", re.MULTILINE)


@dataclass(frozen=True)
class CodeBlock:
    """A block of a page; ``remark`` is the comment before it, ``line`` counts from 1."""

    page: Path
    line: int
    kind: str
    remark: str
    text: str


def all_pages() -> list[Path]:
    """Every page of the documentation."""
    return sorted(DOCS.rglob("*.md"))


def blocks(page: Path) -> Iterator[CodeBlock]:
    """The code blocks of a page."""
    text = page.read_text(encoding="utf-8")
    for match in _BLOCK.finditer(text):
        line = text.count("\n", 0, match.start("fence")) + 1
        yield CodeBlock(page, line, match["kind"], match["remark"] or "", match["text"])


def prose(page: Path) -> str:
    """A page without its code blocks."""
    return _BLOCK.sub("", page.read_text(encoding="utf-8"))


def links(page: Path) -> list[str]:
    """The targets of a page's links, those of pictures left out."""
    return _LINK.findall(prose(page))


@cache
def anchors(page: Path) -> set[str]:
    """The names by which a page's headings are linked, as Python-Markdown makes them."""
    found: set[str] = set()
    for _, title in _HEADING.findall(prose(page)):
        plain = re.sub(r"[^\w\s-]", "", title.replace("`", "")).strip().lower()
        slug, count = re.sub(r"[-\s]+", "-", plain), 1
        name = slug
        while name in found:
            name, count = f"{slug}_{count}", count + 1
        found.add(name)
    return found
