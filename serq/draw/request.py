"""The request view: the way of one request, downward in time, over a lane per pool and stage.

What happens is written on the left, a line per step; the lanes on the right show where: a hold is
a bar over the time it lasts, a run a box, a transfer an arrow from pool to pool. A thin line is
the request itself. Branches and loops are frames around their lines.
"""

from __future__ import annotations

from dataclasses import dataclass

from serq.draw.figure import Box, Figure, Line, Point, Shape
from serq.draw.fonts import clean, measure, wrap
from serq.draw.script import CLIENT, Lane, Script, Step
from serq.draw.stations import Station, Stations
from serq.draw.style import FONTS
from serq.draw.uses import Uses
from serq.draw.words import Words, times
from serq.ir import nodes as n
from serq.link.source_map import SourceMap

MARGIN = 24.0
TITLE = 38.0
WORDS = 350.0
"""Width of the column of words, indentation aside."""
INDENT = 14.0
ROW = 27.0
LINE = 14.0
BAR = 12.0
FOOT = 9.0
"""From an arm's last line to the end of the arm."""
LEAST_LANE, MOST_LANE = 62.0, 130.0
HEADS = 46.0
"""Height of the lanes' headings."""


def request(program: n.Program, source_map: SourceMap | None, title: str) -> Figure:
    """The figure of one request's way through a program."""
    words = Words(program, source_map)
    stations = Stations(program, source_map)
    uses = Uses(program, stations, words)
    return _Request(Script(uses), title).figure()


@dataclass
class _Group:
    """Lanes of one station, side by side."""

    title: str
    lanes: list[Lane]
    x: float = 0.0
    w: float = 0.0


_Place = tuple[Lane, float]
"""Where the request is: a lane, and how far down."""


@dataclass
class _Frame:
    depth: int
    top: float
    kind: str
    start: list[_Place]
    ends: list[_Place]
    edges: list[float]  # where the arms of `ends` end
    otherwise: bool = False


class _Request:
    def __init__(self, script: Script, title: str) -> None:
        self.script = script
        self.title = title
        self.figure_ = Figure(f"{title}: one request", f"The way of one request through {title}.")
        self.depth = 0
        self.deepest = _deepest(script.steps)
        self.left = MARGIN + INDENT * self.deepest
        self.groups = self._groups()
        self.x: dict[Lane, float] = {}
        self.w: dict[Lane, float] = {}
        self.right = self._place_lanes()
        self.at: list[_Place] = []
        self.resumed: float | None = None  # below a frame whose ways ended in several lanes
        self.dashed = 0
        self.frames: list[_Frame] = []
        self.open: list[tuple[Lane, float, int]] = []
        self.leases: dict[Lane, float] = {}
        self.inside = Figure("", "")  # words on the boxes of runs
        # Painted from the back: frames, bars, the request's line, marks, words.
        self.layers: list[list[Box | Line | Shape]] = [[] for _ in range(4)]

    def figure(self) -> Figure:
        figure = self.figure_
        figure.width = self.right + MARGIN + 4 + 6.0 * self.deepest
        paper = Box(0, 0, figure.width, 0, "paper", kind="mark")
        figure.add(paper)
        figure.text(MARGIN, MARGIN + 14, self.title, "title", WORDS - 90)
        x = MARGIN + getattr(figure.items[-1], "width", 0.0) + 10
        figure.text(x, MARGIN + 14, "one request, time ↓", "text", 140, ink="muted")
        top = MARGIN + TITLE
        words = Figure("", "")
        y = top + HEADS + 8
        for step in self.script.steps:
            y = self._step(words, step, y)
        bottom = y + 6
        self._end_leases(bottom)
        self._heads(top, bottom)
        for layer in self.layers:
            figure.items += layer
        figure.items += [*self.inside.items, *words.items]
        figure.height = self._legend(bottom + 22) + MARGIN - 6
        paper.h = figure.height
        return figure

    def _legend(self, y: float) -> float:
        """What the marks mean; the bottom of the last line."""
        figure = self.figure_
        kinds = {step.kind for step in self.script.steps}
        runs = [step for step in self.script.steps if step.kind == "run"]
        paints = {self._paint(lane) for step in runs for lane in step.lanes}
        entries = [
            ("wait", "waits in the pool’s queue", "wait" in kinds),
            ("memory", "holds", "admit" in kinds),
            ("kept", "stays cached or leased", any(s.kept or s.leased for s in self.script.steps)),
            ("compute", "runs on an engine", "compute" in paints),
            ("server", "runs", "server" in paints),
            ("transfer", "moves KV", "move" in kinds or "transfer" in paints),
        ]
        x = MARGIN + 4
        for paint, text, shown in entries:
            if not shown:
                continue
            wide = 26 + measure(text, FONTS["small"]) + 18
            if x > MARGIN + 4 and x + wide > figure.width - MARGIN:
                x, y = MARGIN + 4, y + 18
            figure.add(Box(x, y - 6, 18, 12, paint, 2.0, "mark"))
            figure.text(x + 26, y + 3.7, text, "small", wide, ink="muted")
            x += wide
        return y + 6

    # --- lanes ----------------------------------------------------------------------------------

    def _groups(self) -> list[_Group]:
        script = self.script
        groups: dict[object, _Group] = {}
        for lane in script.lanes:
            station = script.station(lane)
            key: object = station
            if lane == CLIENT or lane in script.uses.client:
                key, title = CLIENT, "clients"
            elif isinstance(lane, str):
                key, title = lane, lane
            elif station is None:
                key, title = lane, "memory"
            else:
                title = station.title + (f" {times(station.count)}" if station.count > 1 else "")
            groups.setdefault(key, _Group(title, [])).lanes.append(lane)
        order = script.uses.stations
        place = {f: i for i, f in enumerate([*order.pool_families, *order.stage_families])}
        for group in groups.values():
            group.lanes.sort(key=lambda v: -1 if isinstance(v, str) else place[v])
        rank = {station: i for i, station in enumerate(order.all)}
        at = {id(group): rank[key] for key, group in groups.items() if isinstance(key, Station)}
        return sorted(groups.values(), key=lambda g: at.get(id(g), -1))

    def _lane_name(self, lane: Lane) -> str:
        if isinstance(lane, str):
            return "session" if lane == CLIENT else "route"
        station = self.script.station(lane)
        if station is None:
            return lane.name
        name = lane.name.removeprefix(station.title + ".")
        if name == station.title:
            return "engine" if lane in station.engines else "server"
        return {"nic": "NIC", "nic.latency": "latency"}.get(name, name)

    def _place_lanes(self) -> float:
        x = self.left + WORDS + 16
        for group in self.groups:
            group.x = x
            for lane in group.lanes:
                wide = measure(clean(self._lane_name(lane)), FONTS["small"]) + 14
                self.w[lane] = min(max(wide, LEAST_LANE), MOST_LANE)
                self.x[lane] = x + self.w[lane] / 2
                x += self.w[lane]
            title = min(measure(clean(group.title), FONTS["name"]) + 16, MOST_LANE)
            if title > x - group.x:  # the heading is wider than its lanes
                more = (title - (x - group.x)) / len(group.lanes)
                x = group.x
                for lane in group.lanes:
                    self.w[lane] += more
                    self.x[lane] = x + self.w[lane] / 2
                    x += self.w[lane]
            group.w = x - group.x
            x += 8
        return x - 8

    def _heads(self, top: float, bottom: float) -> None:
        figure = self.figure_
        for group in self.groups:
            figure.add(Box(group.x, top, group.w, bottom - top, "band", 6.0, "lane"))
            middle = group.x + group.w / 2
            figure.text(middle, top + 17, group.title, "name", group.w - 8, anchor="middle")
            for lane in group.lanes:
                name = self._lane_name(lane)
                figure.text(
                    self.x[lane], top + 35, name, "small", self.w[lane] - 6,
                    ink="muted", anchor="middle",
                )  # fmt: skip
                rule = ((self.x[lane], top + HEADS - 2), (self.x[lane], bottom - 6))
                figure.add(Line(rule, "rule", arrow="none"))

    # --- steps ----------------------------------------------------------------------------------

    def _step(self, words: Figure, step: Step, y: float) -> float:
        """Draw a step whose line begins at ``y``; where the next one begins."""
        match step.kind:
            case "open":
                return self._open(words, step, y)
            case "else":
                return self._else(words, y)
            case "close":
                return self._close(y)
        lines = self._write(words, step, y)
        height = ROW + LINE * (lines - 1)
        self._mark(step, y, height)
        hair = ((MARGIN + INDENT * self.depth + 4, y + height), (self.right, y + height))
        self.layers[0].append(Line(hair, "hair", arrow="none"))
        return y + height

    def _write(self, words: Figure, step: Step, y: float) -> int:
        """The words of a step; how many lines they take."""
        x = MARGIN + INDENT * self.depth + 4
        room = self.left + WORDS - x
        bold = min(measure(clean(step.word), FONTS["name"]), room * 0.6)
        words.text(x, y + 17, step.word, "name", room * 0.6)
        at = x + bold + 10
        whole = clean(step.text)
        lines = wrap(whole, FONTS[step.font], self.left + WORDS - at, 2) if whole else []
        full = whole if " ".join(lines) != whole else ""
        for i, line in enumerate(lines):
            words.text(
                at, y + 17 + LINE * i, line, step.font, self.left + WORDS - at + 1, full=full
            )
        return max(1, len(lines))

    def _mark(self, step: Step, y: float, height: float) -> None:
        middle = y + height / 2
        lanes = step.lanes
        match step.kind:
            case "arrive" | "turn" | "answer" | "end":
                self._go(CLIENT, middle)
                self._dot(CLIENT, middle, "chip" if step.kind != "end" else "dot")
                if step.kind in ("answer", "end"):
                    self._end_leases(middle)
                if step.kind == "end":
                    self.at, self.resumed = [], None
            case "choice":
                self._go(lanes[0], middle)
                x = self.x[lanes[0]]
                self._front(
                    Shape(
                        ((x, middle - 8), (x + 8, middle), (x, middle + 8), (x - 8, middle)),
                        "choice",
                    )
                )
            case "wait":
                self._go(lanes[0], middle)
                x = self.x[lanes[0]] + self._shift(lanes[0])
                self._bar(x, y + 3, height - 3, "wait")
            case "admit":
                for lane in lanes:
                    self.open.append((lane, y, int(self._shift(lane))))
                self._go(lanes[0], middle)
                for lane in lanes:
                    self._front(self._circle(self.x[lane] + self._shift(lane, -1), middle, 3.0))
            case "free":
                self._go(lanes[0], middle)
                for lane in reversed(lanes):
                    self._close_bar(lane, middle)
                for lane in step.kept:
                    if lane not in step.leased:
                        self._bar(self.x[lane], middle, height / 2 + 9, "kept")
                for lane in step.leased:
                    self.leases[lane] = middle
            case "run":
                self._go(lanes[0], middle)
                self._boxes(step, y, height)
            case "move":
                self._move(step, y, height)
            case "grow" | "drop":
                self._go(lanes[0], middle)
                self._front(self._circle(self.x[lanes[0]], middle, 4.0))
            case "release":
                self._go(lanes[0], middle)
                if lanes[0] in self.leases:
                    self._end_lease(lanes[0], middle)
                self._front(self._circle(self.x[lanes[0]], middle, 3.0))
            case "join":
                if self.at:
                    lane = self.at[-1][0]
                    self._go(lane, middle)
                    self._front(self._circle(self.x[lane], middle, 5.0, "chip"))

    def _boxes(self, step: Step, y: float, height: float) -> None:
        for lane in step.lanes:
            wide = min(self.w[lane] - 10, 66.0)
            paint = self._paint(lane)
            x = self.x[lane] - wide / 2
            self._front(Box(x, y + 3, wide, height - 6, paint, 3.0, "mark"))
            if step.mark:
                base = y + height / 2 + 3.7
                self.inside.text(self.x[lane], base, step.mark, "small", wide - 4, anchor="middle")

    def _paint(self, lane: Lane) -> str:
        """The look of what runs in a lane."""
        station = self.script.station(lane)
        if station is None or isinstance(lane, str):
            return "server"
        if lane in self.script.uses.links or lane in (*station.nics, *station.latencies):
            return "transfer"
        return "compute" if lane in station.engines else "server"

    def _move(self, step: Step, y: float, height: float) -> None:
        """An arrow from pool to pool, a box where it crosses a link."""
        middle = y + height / 2
        source, target = step.lanes[0], step.lanes[-1]
        links = step.lanes[1:-1]
        self._go(links[0], middle)
        self._boxes(Step("run", lanes=links), y, height)
        if source is not target:
            side = BAR / 2 if self.x[target] > self.x[source] else -BAR / 2
            ends = ((self.x[source] + side, middle), (self.x[target] - side, middle))
            self.layers[3].append(Line(ends, "kv", True, "end", full=clean(step.text)))
        if source in self.leases:
            self._end_lease(source, middle)

    # --- frames ---------------------------------------------------------------------------------

    def _open(self, words: Figure, step: Step, y: float) -> float:
        y += 5
        self.frames.append(_Frame(self.depth, y, step.mark, list(self.at), [], []))
        self.dashed += step.mark == "fork"
        self.depth += 1
        lines = self._write(words, step, y)
        return y + ROW + LINE * (lines - 1)

    def _else(self, words: Figure, y: float) -> float:
        frame = self.frames[-1]
        frame.edges += [y + FOOT] * len(self.at)
        frame.ends += self.at
        frame.otherwise = True
        self.at = list(frame.start)
        left, right = self._sides(frame)
        self.layers[0].append(Line(((left, y + FOOT), (right, y + FOOT)), "alt", arrow="none"))
        x = MARGIN + INDENT * self.depth + 4
        words.text(x, y + FOOT + 17, "else", "name", 60)
        return y + FOOT + ROW - 1

    def _close(self, y: float) -> float:
        frame = self.frames.pop()
        frame.edges += [y + FOOT] * len(self.at)
        frame.ends += self.at
        self.depth -= 1
        self.dashed -= frame.kind == "fork"
        left, right = self._sides(frame)
        height = y + FOOT - frame.top
        paint = "leg-frame" if frame.kind == "fork" else "alt"
        stripe = "choice-ink" if frame.kind in ("if", "unless") else "stripe"
        self.layers[0].append(Box(left, frame.top, right - left, height, paint, 3.0))
        self.layers[0].append(Box(left, frame.top, 4.0, height, stripe, 2.0, "mark"))
        if frame.kind == "fork":
            self.at = frame.start
        elif frame.kind == "loop":
            self.at = []
        else:
            self._leave(frame, y + FOOT)
        return y + FOOT + 5

    def _leave(self, frame: _Frame, bottom: float) -> None:
        """Where the request is after a frame: at one place, or anywhere below it."""
        ways = [*frame.ends] if frame.otherwise else [*frame.start, *frame.ends]
        if len({lane for lane, _ in ways}) <= 1:
            self.at = ways[-1:]
            return
        for (lane, y), edge in zip(frame.ends, frame.edges, strict=True):
            if edge - y > ROW / 2 + 6:
                tip = ((self.x[lane], y), (self.x[lane], edge - 2))
                self.layers[2].append(Line(tip, self._kind(), True, "end"))
        self.at, self.resumed = [], bottom

    def _kind(self) -> str:
        return "leg" if self.dashed else "request"

    def _sides(self, frame: _Frame) -> tuple[float, float]:
        return (
            MARGIN + INDENT * frame.depth - 2,
            self.right + 6 + 6.0 * (self.deepest - frame.depth),
        )

    # --- marks ----------------------------------------------------------------------------------

    def _go(self, lane: Lane, y: float) -> None:
        """The request's line goes on to a lane, from where it is or from below a frame."""
        if not self.at and self.resumed is not None:
            line = ((self.x[lane], self.resumed), (self.x[lane], y))
            self.layers[2].append(Line(line, self._kind(), True, "none"))
        for before, start in self.at:
            points: list[Point] = [(self.x[before], start)]
            if before != lane:
                turn = y - ROW / 2 if y - start > ROW * 0.9 else (start + y) / 2
                points += [(self.x[before], turn), (self.x[lane], turn)]
            points.append((self.x[lane], y))
            self.layers[2].append(Line(tuple(points), self._kind(), True, "none"))
        self.at, self.resumed = [(lane, y)], None

    def _front(self, item: Box | Shape) -> None:
        self.layers[3].append(item)

    def _circle(self, x: float, y: float, r: float, paint: str = "memory-ink") -> Shape:
        return Shape(((x - r, y - r), (x + r, y - r), (x + r, y + r), (x - r, y + r)), paint, True)

    def _dot(self, lane: Lane, y: float, paint: str) -> None:
        self._front(self._circle(self.x[lane], y, 5.0, paint))

    def _shift(self, lane: Lane, less: int = 0) -> float:
        """Bars of one lane stand side by side when a hold is inside another on the pool."""
        inside = sum(1 for other, _, _ in self.open if other is lane) + less
        return 7.0 * (inside % 3)

    def _bar(self, x: float, y: float, h: float, paint: str) -> None:
        self.layers[1].append(Box(x - BAR / 2, y, BAR, h, paint, 2.0, "mark"))

    def _close_bar(self, lane: Lane, y: float) -> None:
        for i in reversed(range(len(self.open))):
            if self.open[i][0] is lane:
                _, start, shift = self.open.pop(i)
                self._bar(self.x[lane] + shift, start, y - start, "memory")
                return

    def _end_lease(self, lane: Lane, y: float) -> None:
        start = self.leases.pop(lane)
        self._bar(self.x[lane], start, y - start, "kept")

    def _end_leases(self, y: float) -> None:
        for lane in list(self.leases):
            self._end_lease(lane, y)


def _deepest(steps: list[Step]) -> int:
    depth = deepest = 0
    for step in steps:
        depth += (step.kind == "open") - (step.kind == "close")
        deepest = max(deepest, depth)
    return deepest
