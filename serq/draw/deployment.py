"""The deployment view: who sends, who decides, who serves, where the KV lies and moves."""

from __future__ import annotations

from serq.draw import glyphs, layers
from serq.draw.figure import Box, Figure, Line
from serq.draw.flow import Edge, Flow
from serq.draw.fonts import clean, elide, measure, wrap
from serq.draw.panels import Panel
from serq.draw.parts import Parts
from serq.draw.stations import Family, Stations
from serq.draw.style import FLOW_WORDS, FONTS
from serq.draw.uses import Uses
from serq.draw.words import Words, times
from serq.ir import nodes as n
from serq.link.source_map import SourceMap

MARGIN = 24.0
TITLE = 40.0
LABEL_LINE = 13.0
LABEL_ROOM = 130.0
BAND = 40.0


def deployment(
    program: n.Program, source_map: SourceMap | None, title: str, unfold: bool
) -> Figure:
    """The figure of a program's deployment."""
    words = Words(program, source_map)
    stations = Stations(program, source_map)
    uses = Uses(program, stations, words)
    return _Deployment(Flow(uses), Parts(uses, unfold), title).figure()


class _Deployment:
    def __init__(self, flow: Flow, parts: Parts, title: str) -> None:
        self.flow = flow
        self.parts = parts
        self.title = title
        self.panels: list[Panel] = []
        self.boxes: list[layers.Node] = []
        self.arrows: list[layers.Edge] = []
        self.labels: list[list[str]] = []

    def figure(self) -> Figure:
        flow = self.flow
        decisions: dict[int, float] = {}
        for node in flow.nodes:
            port = None
            if node.station is not None:
                panel, part = self.parts.station(node.station)
                panel.measure()
                port = None if part is None else panel.place_of(part)
            elif node is flow.client:
                panel = self.parts.clients()
                panel.measure()
            else:
                panel, where = self.parts.router(node)
                panel.measure()
                for row, part in where.items():
                    decisions[row] = (panel.place_of(part) or 0.0) - 8.0
            self.panels.append(panel)
            self.boxes.append(layers.Node(panel.w, panel.h, port))
        at = {id(node): box for node, box in zip(flow.nodes, self.boxes, strict=True)}
        for edge in flow.edges:
            label = _label(edge)
            width = max((measure(line, FONTS["small"]) for line in label), default=0.0)
            size = (width, LABEL_LINE * len(label)) if label else (0.0, 0.0)
            kv = edge.kind in ("kv", "spill")
            level = None if edge.arm is None else decisions[id(edge.arm[0])]
            arrow = layers.Edge(at[id(edge.src)], at[id(edge.dst)], size, kv, level)
            self.arrows.append(arrow)
            self.labels.append(label)
        placed = layers.place(self.boxes, self.arrows)
        return self._draw(placed)

    def _draw(self, placed: layers.Placed) -> Figure:
        figure = Figure(f"{self.title}: deployment", self._describe())
        bands = self.parts.uses.spanning
        top = MARGIN + TITLE + (BAND + 10.0) * len(bands) + (8.0 if bands else 0.0)
        width = max(placed.width, 260.0) + 2 * MARGIN
        figure.add(Box(0, 0, 0, 0, "paper", kind="mark"))
        figure.text(MARGIN, MARGIN + 14, self.title, "title", width - 2 * MARGIN - 100)
        shown = figure.items[-1]
        right = MARGIN + getattr(shown, "width", 0.0) + 10
        figure.text(right, MARGIN + 14, "deployment", "text", 100, ink="muted")
        for panel, box in zip(self.panels, self.boxes, strict=True):
            if panel.stacked:
                for by in (7.0, 3.5):  # a family: cards behind the one that is drawn
                    corner = box.x + MARGIN + by, box.y + top - by
                    figure.add(Box(*corner, box.w, box.h, panel.paint, 8.0, "mark"))
        for arrow, edge in zip(self.arrows, self.flow.edges, strict=True):
            points = tuple((x + MARGIN, y + top) for x, y in arrow.points)
            head = "none" if edge.kind == "joint" else "end"
            figure.add(Line(points, edge.kind, True, head, full=edge.full))
        for panel, box in zip(self.panels, self.boxes, strict=True):
            panel.draw(figure, box.x + MARGIN, box.y + top, box.w, box.h)
        for arrow, edge, lines in zip(self.arrows, self.flow.edges, self.labels, strict=True):
            if arrow.label_at is None:
                continue
            x, y = arrow.label_at
            for i, line in enumerate(reversed(lines)):
                base = y + top - 2 - LABEL_LINE * i
                figure.text(x + MARGIN, base, line, "small", LABEL_ROOM, full=edge.full)
        if placed.trunk is not None:
            client = self.boxes[0]
            x = MARGIN + client.x + client.w / 2 + 9
            figure.text(x, placed.trunk + top - 5, "answers", "small", client.w / 2, ink="muted")
        for i, family in reversed(list(enumerate(bands))):
            self._band(figure, family, placed, MARGIN + TITLE + (BAND + 10.0) * i, top)
        figure.width = width
        figure.height = top + placed.height + MARGIN
        self._legend(figure)
        paper = figure.items[0]
        assert isinstance(paper, Box)
        paper.w, paper.h = figure.width, figure.height
        return figure

    def _band(
        self, figure: Figure, family: Family, placed: layers.Placed, y: float, top: float
    ) -> None:
        """A pool that is held across stations, over all the columns they stand in."""
        uses = self.parts.uses
        at = {node.station: box for node, box in zip(self.flow.nodes, self.boxes, strict=True)}
        held_at = [at[station] for station in uses.pools[family].stations]
        left = min(placed.columns[box.column][0] for box in held_at) + MARGIN
        right = max(placed.columns[box.column][1] for box in held_at) + MARGIN
        for box in held_at:  # a stem down to the stations that stand first below
            if box.rank == 0:
                x = box.x + box.w / 2 + MARGIN
                stem = ((x, y + BAND), (x, box.y + top))
                figure.add(Line(stem, "memory-line", arrow="none"))
        figure.add(Box(left, y, right - left, BAND, "memory", 4.0))
        part = self.parts.spanning_pool(family)
        chip = f" {times(family.count)}" if family.count > 1 else ""
        chip += f"  {part.number}"
        glyphs.draw(figure, part.glyph, left + 9, y + (BAND - glyphs.SIZE) / 2)
        left += 9 + glyphs.SIZE + 10
        room = right - left - 10
        name = min(measure(clean(part.title + chip), FONTS["name"]), room * 0.4) + 14
        whole = clean(" · ".join(f"{row.label} {row.value}".strip() for row in part.rows))
        lines = wrap(whole, FONTS["text"], room - name, 2)
        base = y + (17 if len(lines) > 1 else 24)
        figure.text(left, base, part.title + chip, "name", room * 0.4)
        for i, line in enumerate(lines):
            figure.text(left + name, base + 15 * i, line, "text", room - name, full=whole)

    def _legend(self, figure: Figure) -> None:
        kinds = [k for k in FLOW_WORDS if any(e.kind == k for e in self.flow.edges)]
        if kinds in ([], ["request"]):
            return
        x, y = MARGIN, figure.height + 2
        for kind in kinds:
            words = FLOW_WORDS[kind]
            wide = 44 + measure(words, FONTS["small"]) + 22
            if x > MARGIN and x + wide > figure.width - MARGIN:
                x, y = MARGIN, y + 18
            head = "none" if kind == "joint" else "end"
            figure.add(Line(((x, y), (x + 34, y)), kind, True, head))
            figure.text(x + 42, y + 3.5, words, "small", wide, ink="muted")
            x += wide
        figure.width = max(figure.width, x + 4)
        figure.height = y + MARGIN

    def _describe(self) -> str:
        names = [node.station.title for node in self.flow.nodes if node.station is not None]
        return "Stations: " + ", ".join(clean(name) for name in names) + "."


def _label(edge: Edge) -> list[str]:
    lines = []
    if edge.arm is not None:
        decision, arm = edge.arm
        several = len(edge.src.tests()) > 1
        lines.append(f"{decision.number} {arm}" if several else arm)
    if edge.note:
        lines += edge.note.split("\n")
    return [elide(clean(line), FONTS["small"], LABEL_ROOM) for line in lines]
