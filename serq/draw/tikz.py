"""A figure as a standalone LaTeX document with one TikZ picture, in the same places as the SVG."""

from __future__ import annotations

from dataclasses import dataclass
from functools import lru_cache

from jinja2 import Environment, PackageLoader, StrictUndefined

from serq.draw.figure import Box, Figure, Line, Shape, Text
from serq.draw.fonts import clean
from serq.draw.shapes import coordinate, rounded, shortened
from serq.draw.style import FLOWS, FONTS, INKS, PAINTS, Paint

SCALE = 0.75
"""PostScript points for a px."""

_ESCAPES = {
    "\\": r"\textbackslash{}", "{": r"\{", "}": r"\}", "$": r"\$", "&": r"\&", "#": r"\#",
    "_": r"\_", "%": r"\%", "^": r"\textasciicircum{}", "~": r"\textasciitilde{}",
    "<": r"\textless{}", ">": r"\textgreater{}", "|": r"\textbar{}", '"': r"\textquotedbl{}",
    "`": r"\textasciigrave{}", "'": r"\textquotesingle{}", "-": "{-}", "!": "{!}", "?": "{?}",
    ",": "{,}", "×": r"$\times$", "→": r"$\to$", "↓": r"$\downarrow$", "·": r"$\cdot$",
    "…": r"\ldots{}", "−": r"$-$", "≤": r"$\leq$", "≥": r"$\geq$", "≠": r"$\neq$",
    "φ": r"$\varphi$", "’": r"\textquoteright{}", "–": r"\textendash{}", "—": r"\textemdash{}",
}  # fmt: skip
"""Signs that mean something to TeX, or that its plainest fonts do not have; those that would
join a neighbour to a ligature stand alone."""


def escape(text: str) -> str:
    """A text that TeX sets as it stands."""
    return "".join(_ESCAPES.get(ch, ch) for ch in clean(text))


@lru_cache(maxsize=1)
def _environment() -> Environment:
    """TeX's braces leave only other brackets to the template."""
    environment = Environment(
        loader=PackageLoader("serq.draw"),
        autoescape=False,  # not HTML: every text goes through `tex`
        undefined=StrictUndefined,
        block_start_string="<%",
        block_end_string="%>",
        variable_start_string="<<",
        variable_end_string=">>",
        comment_start_string="<#",
        comment_end_string="#>",
        trim_blocks=True,
        lstrip_blocks=True,
        keep_trailing_newline=True,
    )
    environment.filters["tex"] = escape
    return environment


@dataclass(frozen=True)
class _Element:
    kind: str
    style: str
    path: str
    text: str = ""


def tikz(figure: Figure) -> str:
    """The picture as a LaTeX document; equal figures give equal bytes."""
    elements = figure.elements(_box, _text, _line, _shape)
    texts = [item.shown for item in figure.items if isinstance(item, Text)]
    rare = {ch for text in texts for ch in text if ord(ch) > 126 and ch not in _ESCAPES}
    used = sorted({e.style for e in elements})
    styles = [(_tex_name(look), _style(look)) for look in used]
    colours = sorted({c for look in used for c in _colours(look)})
    template = _environment().get_template("figure.tex.j2")
    return template.render(
        title=figure.title,
        width=coordinate(figure.width),
        height=coordinate(figure.height),
        paper=[coordinate(side * SCALE + 0.2) for side in (figure.width, figure.height)],
        scale=SCALE,
        colours=[(f"c{colour[1:]}", colour[1:].upper()) for colour in colours],
        styles=styles,
        rare=[f"{ord(ch):04X}" for ch in sorted(rare)],
        elements=[_Element(e.kind, _tex_name(e.style), e.path, e.text) for e in elements],
    )


def _tex_name(look: str) -> str:
    return look.replace("-", " ")


def _box(box: Box) -> _Element:
    corner = f" [rounded corners={coordinate(box.radius * SCALE)}bp]" if box.radius else ""
    path = f"{corner} {_point(box.x, box.y)} rectangle {_point(box.x + box.w, box.y + box.h)}"
    return _Element("path", f"b-{box.paint}", path)


def _text(text: Text) -> _Element:
    anchor = {"start": "base west", "middle": "base", "end": "base east"}[text.anchor]
    path = f"[anchor={anchor}] at {_point(text.x, text.y)}"
    return _Element("node", f"t-{text.font}-{text.ink}", path, text.shown)


def _line(line: Line) -> list[_Element]:
    if not line.flow:
        return [_Element("path", f"l-{line.paint}", _path(line.points, line.radius))]
    points, heads = shortened(line, FLOWS[line.paint].width)
    out = [_Element("path", f"f-{line.paint}", _path(points, line.radius))]
    out += [_Element("path", f"h-{line.paint}", _polygon(head)) for head in heads]
    return out


def _shape(shape: Shape) -> _Element:
    if not shape.round:
        return _Element("path", f"b-{shape.paint}", _polygon(shape.points))
    xs, ys = [p[0] for p in shape.points], [p[1] for p in shape.points]
    middle = _point((min(xs) + max(xs)) / 2, (min(ys) + max(ys)) / 2)
    rx, ry = coordinate((max(xs) - min(xs)) / 2), coordinate((max(ys) - min(ys)) / 2)
    return _Element("path", f"b-{shape.paint}", f" {middle} ellipse [x radius={rx}, y radius={ry}]")


def _point(x: float, y: float) -> str:
    return f"({coordinate(x)}, {coordinate(y)})"


def _polygon(points: tuple[tuple[float, float], ...]) -> str:
    return " " + " -- ".join(_point(x, y) for x, y in points) + " -- cycle"


def _path(points: tuple[tuple[float, float], ...], radius: float) -> str:
    out = ""
    for name, ends in rounded(points, radius):
        match name:
            case "M":
                out += f" {_point(*ends[0])}"
            case "L":
                out += f" -- {_point(*ends[0])}"
            case "Q":  # a quadratic curve: its control point twice is near enough for a corner
                out += f" .. controls {_point(*ends[0])} .. {_point(*ends[1])}"
    return out


def _paint(look: str) -> Paint:
    kind, _, name = look.partition("-")
    return FLOWS[name] if kind in "fh" else PAINTS[name]


def _colours(look: str) -> list[str]:
    kind, _, name = look.partition("-")
    if kind == "t":
        return [INKS[name.rpartition("-")[2]][0]]
    paint = _paint(look)
    return [colour for colour in (paint.fill, paint.stroke) if colour]


def _style(look: str) -> str:
    """The TikZ options of a look; the document is for paper, so the light colours."""
    kind, _, name = look.partition("-")
    if kind == "t":
        font_name, _, ink = name.rpartition("-")
        font = FONTS[font_name]
        family = r"\ttfamily" if font.family == "mono" else r"\sffamily"
        weight = r"\bfseries" if font.bold else ""
        size = coordinate(font.size * SCALE)
        lead = coordinate(font.size * SCALE * 1.2)
        face = rf"{family}{weight}\fontsize{{{size}bp}}{{{lead}bp}}\selectfont"
        return f"text=c{INKS[ink][0][1:]}, inner sep=0pt, outer sep=0pt, font={face}"
    paint = _paint(look)
    if kind == "h":
        return f"fill=c{paint.stroke[1:]}"
    options = []
    if paint.fill:
        options.append(f"fill=c{paint.fill[1:]}")
    if paint.stroke:
        options += [f"draw=c{paint.stroke[1:]}", f"line width={paint.width * SCALE:g}bp"]
        if paint.dash:
            on, off = (coordinate(float(v) * SCALE) for v in paint.dash.split())
            options.append(f"dash pattern=on {on}bp off {off}bp")
    return ", ".join(options)
