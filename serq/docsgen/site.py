"""Hooks of the site's generator: examples become pages, code gets its colours."""

from __future__ import annotations

import re

from mkdocs.config.defaults import MkDocsConfig
from mkdocs.structure.files import File, Files
from mkdocs.structure.pages import Page
from pygments.formatters import HtmlFormatter

from serq.docsgen.fixtures import DOCS

EXAMPLES = DOCS.parent / "examples"
_EXAMPLE = re.compile(r"\]\(((?:\.\./)+)examples/([\w./-]+)\.sq\)")


def on_files(files: Files, *, config: MkDocsConfig) -> Files:
    """Adds a page for each example, and the colours of code."""
    for path in sorted(EXAMPLES.rglob("*.sq")):
        name = path.relative_to(EXAMPLES).with_suffix("")
        text = path.read_text(encoding="utf-8").strip("\n")
        content = f"# {name}.sq\n\n```serq\n{text}\n```\n"
        page = File.generated(config, f"examples/{name}.md", content=content)
        files.append(page)
    files.append(File.generated(config, "assets/code.css", content=colours()))
    return files


def on_page_markdown(markdown: str, *, page: Page, config: MkDocsConfig, files: Files) -> str:
    """A link to an example's file leads to its page."""
    depth = page.file.src_uri.count("/")
    return _EXAMPLE.sub(lambda m: f"]({'../' * depth}examples/{m[2]}.md)", markdown)


def colours() -> str:
    """The style sheet of code blocks, for light and dark pages."""
    light = HtmlFormatter(style="default").get_style_defs(".codehilite")
    dark = HtmlFormatter(style="github-dark").get_style_defs("[data-bs-theme=dark] .codehilite")
    return "\n".join([
        light,
        dark,
        ".codehilite { padding: 0.4em 0.8em; border-radius: 4px; margin-bottom: 1em; }",
        ".codehilite pre { margin: 0; overflow-x: auto; white-space: pre; }",
        "table { font-size: 0.9em; }",
        "",
    ])  # fmt: skip
