"""Names and texts that try to break a picture are shown, escaped, and break nothing."""

from __future__ import annotations

import re
import shutil
import subprocess
import xml.etree.ElementTree as ET
from dataclasses import replace
from pathlib import Path

import pytest
from draw_geometry import faults

from serq.api import load
from serq.draw import VIEWS, draw, svg, tikz
from serq.draw.fonts import clean
from serq.ir import nodes as n

EXAMPLES = Path(__file__).parent.parent / "examples"
NIXL = EXAMPLES / "pd-disaggregation" / "llmd_nixl_pull.sq"

NAMES = [
    "<script>alert(1)</script>",
    "\"'><svg onload=alert(1)>&amp;",
    "]]></style><!-- x",
    "{{ 7 * 7 }}{% raw %}<<9>>",
    r"\end{document}\input{/etc/passwd}$x^2_1$ %",
    "x" * 4000,
    "a very long name of many words " * 40,
    "日本語の待ち行列" * 20,
    "مرحبا \u202edlrow",
    "é\u0301\u0301\u0301 \U0001f600\U0001f468\u200d\U0001f469\u200d\U0001f467",
    "null\x00bell\x07escape\x1b[31m",
    "\ud800 lone \ufffe",
    "",
]


def renamed(program: n.Program, name: str) -> n.Program:
    """The program with the name in every place that has one."""
    return replace(
        program,
        pools=tuple(replace(p, name=f"{name}{p.name}") for p in program.pools),
        stages=tuple(replace(s, name=f"{name}{s.name}") for s in program.stages),
        attrs=tuple(f"{name}{a}" for a in program.attrs),
        observes=tuple(f"{name}{o}" for o in program.observes),
        trace=name,
    )


@pytest.mark.parametrize("name", NAMES)
def test_hostile_names(name: str) -> None:
    """An IR may have any names: both views stay whole, well formed, and free of markup."""
    program = renamed(load(NIXL, need_horizon=False).program, name)
    for view in VIEWS:
        for unfold in (False, True):
            figure = draw(program, view=view, title=name, unfold=unfold)
            assert list(faults(figure)) == []
        text = svg(figure)
        root = ET.fromstring(text)
        kinds = {element.tag.rpartition("}")[2] for element in root.iter()}
        assert kinds <= {
            "svg", "title", "desc", "style", "rect", "text", "path", "polygon", "ellipse",
        }  # fmt: skip
        for element in root.iter():
            assert not any(key.startswith("on") or "href" in key for key in list(element.attrib))
        assert len(list(root.iter("{http://www.w3.org/2000/svg}style"))) == 1
        document = tikz(figure)
        assert document.count("\\end{document}") == 1 and "\\input" not in document
        assert document.endswith("\\end{document}\n")


def test_full_names_are_there_to_hover_over() -> None:
    """An elided name ends in an ellipsis, and the picture's title element has all of it."""
    name = "a_very_long_name_" * 30
    program = renamed(load(NIXL, need_horizon=False).program, name)
    root = ET.fromstring(svg(draw(program)))
    heads = {
        element.text: [child.text for child in element]
        for element in root.iter("{http://www.w3.org/2000/svg}text")
    }
    elided = [text for text in heads if text and text.endswith("…") and text.startswith("a_very")]
    assert elided
    assert any(full and full[0] and full[0].startswith(name) for full in map(heads.get, elided))


def test_strings_and_comments_of_a_program() -> None:
    """Quotes in a trace's path and comments inside an expression reach the picture as text."""
    source = """fn main() {
        stage svc : fifo;
        workload {
            trace "a <b>&'.csv";
            arrive batch(3);
        }
        server { run svc (cost(svc, new /* <i> */ + // </text>
            1)); }
    }""".replace("/* <i> */ ", "")
    loaded = load(source=source, need_horizon=False)
    for view in VIEWS:
        figure = draw(loaded.program, loaded.source_map, view=view)
        assert list(faults(figure)) == []
        text = svg(figure)
        ET.fromstring(text)
        assert "new + 1" in text and "<b>" not in text and "</text>" in text


def test_hidden_characters_are_spelled_out() -> None:
    """Marks that turn the direction of the text around, or cannot be seen, are shown as escapes."""
    assert clean("a\u202eb\x00c\n d") == r"a\u202eb\x00c d"
    assert clean("\ud800") == "\ufffd"


def test_letters_of_unknown_width_carry_their_length() -> None:
    """Text whose width depends on the viewer's fonts is held to the width it was measured with."""
    program = renamed(load(NIXL, need_horizon=False).program, "待ち")
    texts = list(ET.fromstring(svg(draw(program))).iter("{http://www.w3.org/2000/svg}text"))
    wide = [t for t in texts if t.text and "待" in t.text]
    assert wide and all(t.get("textLength") for t in wide)
    assert all(not t.get("textLength") for t in texts if t.text and t.text.isascii())


@pytest.mark.skipif(shutil.which("pdflatex") is None, reason="no LaTeX here")
def test_latex_sets_hostile_names(tmp_path: Path) -> None:
    """Where there is a LaTeX, it makes one page of a picture with every special character."""
    name = "\\{}$&#_%^~<>|\"'`-!? [x] 日é…×≤ --- ?` <<>>"
    program = renamed(load(NIXL, need_horizon=False).program, name)
    for view in VIEWS:
        (tmp_path / f"{view}.tex").write_text(tikz(draw(program, view=view, title=name)))
        done = subprocess.run(
            ["pdflatex", "-interaction=nonstopmode", "-halt-on-error", f"{view}.tex"],
            cwd=tmp_path,
            capture_output=True,
            timeout=120,
        )
        assert done.returncode == 0, done.stdout[-600:]
        assert re.search(rb"\(1 page,", done.stdout)
