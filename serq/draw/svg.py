"""A figure as a standalone SVG: no script, no font file, no reference to anything outside."""

from __future__ import annotations

from dataclasses import dataclass

from serq.draw.figure import Box, Figure, Line, Shape, Text
from serq.draw.fonts import clean, is_plain
from serq.draw.shapes import coordinate, rounded, shortened
from serq.draw.style import FLOWS, FONTS, INKS, PAINTS
from serq.page.templating import template

FAMILIES = {
    "sans": "Helvetica, Arial, 'Liberation Sans', 'Noto Sans', sans-serif",
    "mono": "ui-monospace, Menlo, Consolas, 'DejaVu Sans Mono', monospace",
}


@dataclass(frozen=True)
class _Element:
    """An element of the template: its kind, class, and attributes in order."""

    kind: str
    look: str
    at: tuple[tuple[str, str], ...]
    text: str = ""
    title: str = ""


def svg(figure: Figure) -> str:
    """The picture as text; equal figures give equal bytes."""
    elements = figure.elements(_box, _text, _line, _shape)
    paints = sorted({e.look for e in elements})
    return template("serq.draw", "figure.svg.j2").render(
        width=coordinate(figure.width),
        height=coordinate(figure.height),
        title=clean(figure.title),
        description=clean(figure.description),
        elements=elements,
        light=[(look, _light(look)) for look in paints],
        dark=[(look, rule) for look in paints if (rule := _dark(look))],
    )


def _box(box: Box) -> _Element:
    at = [("x", box.x), ("y", box.y), ("width", box.w), ("height", box.h)]
    if box.radius:
        at.append(("rx", box.radius))
    return _Element("rect", f"b-{box.paint}", _attributes(at))


def _text(text: Text) -> _Element:
    at = list(_attributes([("x", text.x), ("y", text.y)]))
    if text.anchor != "start":
        at.append(("text-anchor", text.anchor))
    if not is_plain(text.shown):
        at += [("textLength", coordinate(text.width)), ("lengthAdjust", "spacingAndGlyphs")]
    return _Element("text", f"t-{text.font}-{text.ink}", tuple(at), text.shown, clean(text.full))


def _line(line: Line) -> list[_Element]:
    if not line.flow:
        commands = rounded(line.points, line.radius)
        return [
            _Element("path", f"l-{line.paint}", (("d", _path(commands)),), "", clean(line.full))
        ]
    points, heads = shortened(line, FLOWS[line.paint].width)
    commands = rounded(points, line.radius)
    out = [_Element("path", f"f-{line.paint}", (("d", _path(commands)),), "", clean(line.full))]
    out += [_Element("polygon", f"h-{line.paint}", (("points", _points(head)),)) for head in heads]
    return out


def _shape(shape: Shape) -> _Element:
    if not shape.round:
        return _Element("polygon", f"b-{shape.paint}", (("points", _points(shape.points)),))
    xs, ys = [p[0] for p in shape.points], [p[1] for p in shape.points]
    at = [
        ("cx", (min(xs) + max(xs)) / 2), ("cy", (min(ys) + max(ys)) / 2),
        ("rx", (max(xs) - min(xs)) / 2), ("ry", (max(ys) - min(ys)) / 2),
    ]  # fmt: skip
    return _Element("ellipse", f"b-{shape.paint}", _attributes(at))


def _attributes(at: list[tuple[str, float]]) -> tuple[tuple[str, str], ...]:
    return tuple((name, coordinate(value)) for name, value in at)


def _points(points: tuple[tuple[float, float], ...]) -> str:
    return " ".join(f"{coordinate(x)},{coordinate(y)}" for x, y in points)


def _path(commands: list[tuple[str, tuple[tuple[float, float], ...]]]) -> str:
    return " ".join(
        name + " ".join(f"{coordinate(x)} {coordinate(y)}" for x, y in points)
        for name, points in commands
    )


def _light(look: str) -> str:
    kind, _, name = look.partition("-")
    match kind:
        case "t":
            font_name, _, ink = name.rpartition("-")
            font = FONTS[font_name]
            weight = "600" if font.bold else "400"
            family = FAMILIES[font.family]
            face = f"font-family: {family}; font-size: {font.size:g}px; font-weight: {weight}"
            return f"{face}; fill: {INKS[ink][0]}"
        case "h":
            return f"fill: {FLOWS[name].stroke}"
    paint = FLOWS[name] if kind == "f" else PAINTS[name]
    rule = f"fill: {paint.fill or 'none'}"
    if paint.stroke:
        rule += f"; stroke: {paint.stroke}; stroke-width: {paint.width:g}"
        if paint.dash:
            rule += f"; stroke-dasharray: {paint.dash}"
    return rule


def _dark(look: str) -> str:
    kind, _, name = look.partition("-")
    if kind == "t":
        return f"fill: {INKS[name.rpartition('-')[2]][1]}"
    if kind == "h":
        return f"fill: {FLOWS[name].dark_stroke}"
    paint = FLOWS[name] if kind == "f" else PAINTS[name]
    rules = []
    if paint.dark_fill:
        rules.append(f"fill: {paint.dark_fill}")
    if paint.dark_stroke:
        rules.append(f"stroke: {paint.dark_stroke}")
    return "; ".join(rules)
