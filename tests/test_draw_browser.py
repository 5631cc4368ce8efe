"""The pictures in a real browser: its letters are as wide as we thought, and it asks for nothing.

They need a Chromium (``apt-get install chromium``, or SERQ_BROWSER with its path) and the extra
``browser``; without them these tests are skipped.
"""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path
from typing import Any

from test_draw import EXAMPLES, NIXL, PROGRAMS

from serq.api import load
from serq.draw import VIEWS, Figure, draw, svg
from serq.draw.figure import Text

WIDTHS = "() => [...document.querySelectorAll('text')].map(t => t.getBBox().width)"
COLOURS = """() => [...document.querySelectorAll('rect')].map(
    r => getComputedStyle(r).fill + ' ' + getComputedStyle(r).stroke)"""


def texts(figure: Figure) -> list[Text]:
    return [item for item in figure.items if isinstance(item, Text)]


def test_texts_are_not_wider_than_measured(browser: Any, tmp_path: Path) -> None:
    """In every example's pictures, and with letters of other scripts, a text fits its place."""
    tab = browser.new_context(offline=True).new_page()
    loaded = [load(EXAMPLES / example, need_horizon=False) for example in PROGRAMS]
    cases = [(one.program, one.source_map) for one in loaded]
    program = load(EXAMPLES / NIXL, need_horizon=False).program
    for name in ("待ち行列", "очередь", "طابور", "Ünïcødé ﷽"):
        renamed = tuple(replace(s, name=f"{name}{s.name}") for s in program.stages)
        cases.append((replace(program, stages=renamed), None))
    path = tmp_path / "picture.svg"
    for program, source_map in cases:
        for view in VIEWS:
            figure = draw(program, source_map, view=view)
            path.write_text(svg(figure), encoding="utf-8")
            tab.goto(path.as_uri())
            widths = tab.evaluate(WIDTHS)
            assert len(widths) == len(texts(figure))
            for text, width in zip(texts(figure), widths, strict=True):
                assert width <= text.width + 3, text  # overhang, whole px


def test_colours_follow_the_reader(browser: Any, tmp_path: Path) -> None:
    """On a dark page the picture is dark; in print it is light, and nothing is fetched."""
    path = tmp_path / "picture.svg"
    loaded = load(EXAMPLES / NIXL, need_horizon=False)
    path.write_text(svg(draw(loaded.program, loaded.source_map)), encoding="utf-8")
    seen = {}
    for scheme, medium in (("light", "screen"), ("dark", "screen"), ("dark", "print")):
        context = browser.new_context(color_scheme=scheme, offline=True)
        tab = context.new_page()
        asked: list[str] = []
        tab.on("request", lambda request, asked=asked: asked.append(request.url))
        tab.emulate_media(media=medium, color_scheme=scheme)
        tab.goto(path.as_uri())
        seen[scheme, medium] = tab.evaluate(COLOURS)
        assert asked == [path.as_uri()]
        context.close()
    assert seen["light", "screen"] == seen["dark", "print"]
    assert seen["light", "screen"] != seen["dark", "screen"]
