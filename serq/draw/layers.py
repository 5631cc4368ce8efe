"""Placing: columns from left to right, arrows at right angles through the channels between them.

A layered layout for this one kind of graph: the clients stand left, a request goes right from
column to column, and what comes back to the clients goes along the bottom. Between two columns
there is a channel: first tracks, on which arrows go up or down, then a zone in which arrows only
run level and which alone has labels. So no arrow crosses a label, and no label another.

Every order is the order of the nodes and edges given; equal graphs are placed equally.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field

Point = tuple[float, float]

GAP = 30.0
"""Between two nodes of a column."""
TRACK = 11.0
"""Between two tracks of a channel."""
STUB = 20.0
"""What an arrow runs level at least, next to a node."""
HEAD = 21.0
"""From a node's top to its first port."""
ROW = 20.0
"""Between two ports at least."""
RISE = 5.0
"""Between a label and the arrow under it."""
CLEAR = 5.0
"""Between two level arrows that are not one."""


@dataclass(eq=False)
class Node:
    """A box of ``w`` × ``h``; ``port`` is where, from its top, KV arrows begin and end."""

    w: float
    h: float
    port: float | None = None
    column: int = 0
    x: float = 0.0
    y: float = 0.0
    rank: int = 0
    thin: bool = False  # a place that an arrow passes, no node of the picture
    below: float = 0.0  # the row of the next port, from the top


@dataclass(eq=False)
class Edge:
    """An arrow; ``label`` is the size of its label. Placed: ``points`` and ``label_at``.

    ``label_at`` is the label's left, bottom corner. ``level`` is where it leaves its node, from
    the node's top, if that matters.
    """

    src: Node
    dst: Node
    label: tuple[float, float] = (0.0, 0.0)
    kv: bool = False
    level: float | None = None
    points: list[Point] = field(default_factory=list)
    label_at: Point | None = None
    back: bool = False


@dataclass(eq=False)
class _Hop:
    """The piece of an edge in one channel; None where it does not reach a side."""

    edge: Edge
    src: Node | None
    dst: Node | None
    y1: float = 0.0
    y2: float = 0.0
    track: float = 0.0
    labelled: bool = False


@dataclass
class Placed:
    """The size of what was placed, and the columns' left and right sides."""

    width: float
    height: float
    columns: list[tuple[float, float]]
    trunk: float | None  # where arrows go back to the clients


def place(nodes: Sequence[Node], edges: Sequence[Edge]) -> Placed:
    """Give nodes their corner and edges their points; ``nodes[0]`` are the clients."""
    return _Layout(nodes, edges).run()


class _Layout:
    def __init__(self, nodes: Sequence[Node], edges: Sequence[Edge]) -> None:
        self.nodes = list(nodes)
        self.edges = list(edges)
        self.client = nodes[0]
        self.columns: list[list[Node]] = []
        self.hops: list[list[_Hop]] = []  # by channel
        self.chains: dict[Edge, list[_Hop]] = {}
        self.drops: list[Edge] = []  # home, straight down from the lowest node of a column

    def run(self) -> Placed:
        self._columns()
        self._chains()
        self._order()
        self._down()
        self._across()
        return self._draw()

    # --- columns --------------------------------------------------------------------------------

    def _columns(self) -> None:
        """The longest way from the clients, leaving aside what goes back."""
        out: dict[Node, list[Edge]] = {node: [] for node in self.nodes}
        for edge in self.edges:
            if edge.dst is not self.client:
                out[edge.src].append(edge)
        state: dict[Node, int] = {}
        order: list[Node] = []
        for root in self.nodes:
            if root in state:
                continue
            state[root] = 1
            stack = [(root, iter(out[root]))]
            while stack:
                node, rest = stack[-1]
                step = next(rest, None)
                if step is None:
                    state[node] = 2
                    order.append(node)
                    stack.pop()
                elif step.dst not in state:
                    state[step.dst] = 1
                    stack.append((step.dst, iter(out[step.dst])))
                elif state[step.dst] == 1:
                    step.back = True
        for node in self.nodes:
            node.column = 0 if node is self.client else 1
        for node in reversed(order):
            for edge in out[node]:
                if not edge.back:
                    edge.dst.column = max(edge.dst.column, node.column + 1)
        count = max(node.column for node in self.nodes) + 1
        self.columns = [[n for n in self.nodes if n.column == c] for c in range(count)]
        self.hops = [[] for _ in range(count)]

    def _chains(self) -> None:
        """Edges as hops from column to column, over thin nodes where they pass one."""
        lowest = [column[-1] for column in self.columns]
        for edge in self.edges:
            if edge.dst is self.client:
                if edge.label[0] == 0.0 and edge.src in lowest:
                    self.drops.append(edge)
                    continue
                target = None
                if edge.label[0]:
                    target = self._thin(edge.src.column + 1, edge.label[1])
                self.chains[edge] = [self._hop(edge.src.column, edge, edge.src, target)]
            elif edge.back:
                self.chains[edge] = [
                    self._hop(edge.src.column, edge, edge.src, None),
                    self._hop(edge.dst.column - 1, edge, None, edge.dst),
                ]
            else:
                chain, at = [], edge.src
                for column in range(edge.src.column + 1, edge.dst.column):
                    thin = self._thin(column, edge.label[1])
                    chain.append(self._hop(column - 1, edge, at, thin))
                    at = thin
                chain.append(self._hop(edge.dst.column - 1, edge, at, edge.dst))
                self.chains[edge] = chain
            labelled = self.chains[edge][-1 if edge.back else 0]
            labelled.labelled = edge.label[0] > 0

    def _thin(self, column: int, label: float) -> Node:
        node = Node(0.0, ROW + label, column=column, thin=True)
        if column == len(self.columns):
            self.columns.append([])
            self.hops.append([])
        self.columns[column].append(node)
        return node

    def _hop(self, channel: int, edge: Edge, src: Node | None, dst: Node | None) -> _Hop:
        hop = _Hop(edge, src, dst)
        self.hops[channel].append(hop)
        return hop

    def _order(self) -> None:
        """Within columns: by where the arrows come from, then by where they go."""
        for column in self.columns:
            for rank, node in enumerate(column):
                node.rank = rank
        for sweep in range(4):
            forward = sweep % 2 == 0
            for c in range(len(self.columns)) if forward else reversed(range(len(self.columns))):
                near: dict[Node, list[float]] = {node: [] for node in self.columns[c]}
                hops = self.hops[c - 1] if forward and c else [] if forward else self.hops[c]
                for hop in hops:
                    if hop.src is None or hop.dst is None:
                        continue
                    here, there = (hop.dst, hop.src) if forward else (hop.src, hop.dst)
                    if here in near:
                        near[here].append(there.rank + (0.4 if self._at_port(hop, there) else 0.0))
                keyed = [
                    (sum(near[v]) / len(near[v]) if near[v] else float(v.rank), v.rank, v)
                    for v in self.columns[c]
                ]
                keyed.sort(key=lambda entry: entry[:2])
                self.columns[c] = [v for _, _, v in keyed]
                for rank, node in enumerate(self.columns[c]):
                    node.rank = rank
        # A drop needs the bottom of its column; where it lost that, it goes by the channel.
        for edge in list(self.drops):
            if self.columns[edge.src.column][-1] is not edge.src:
                self.drops.remove(edge)
                self.chains[edge] = [self._hop(edge.src.column, edge, edge.src, None)]

    # --- down -----------------------------------------------------------------------------------

    def _down(self) -> None:
        """Ports and the nodes' tops, from left to right; a node hangs where its arrow comes in."""
        for c, column in enumerate(self.columns):
            into: dict[Node, list[_Hop]] = {node: [] for node in column}
            for hop in self.hops[c - 1] if c else []:
                if hop.dst is not None:
                    into[hop.dst].append(hop)
            top = 0.0
            for node in column:
                hops = sorted(into[node], key=lambda h: (h.src is None, h.y1))
                self._into(node, hops)
                wanted = max((h.y1 - h.y2 for h in hops[:1] if h.src is not None), default=0.0)
                node.y = max(top, wanted if top or node.thin else max(0.0, wanted))
                for hop in hops:
                    hop.y2 += node.y
                top = node.y + node.h + GAP
            taken: list[float] = []
            if c + 1 < len(self.columns) or self.hops[c]:
                self._out(c, column, taken)

    def _into(self, node: Node, hops: Sequence[_Hop]) -> None:
        """Where arrows come in, from the node's top; the node grows if it must."""
        if node.thin:
            for hop in hops:
                hop.y2 = node.h - ROW / 2
            return
        row = HEAD
        for i, hop in enumerate(h for h in hops if not self._at_port(h, node)):
            tall = hop.edge.label[1] + RISE + 3 if hop.labelled else 0.0
            row = row if i == 0 else row + max(ROW, tall)
            hop.y2 = row
        node.below = row
        port = max(node.port or 0.0, row + ROW if hops and row > HEAD else 0.0)
        for i, hop in enumerate(h for h in hops if self._at_port(h, node)):
            tall = hop.edge.label[1] + RISE + 3 if hop.labelled else 0.0
            port = port if i == 0 else port + max(ROW, tall)
            hop.y2 = port
            row = max(row, port)
        node.h = max(node.h, row + ROW)

    @staticmethod
    def _at_port(hop: _Hop, node: Node) -> bool:
        return hop.edge.kv and node.port is not None

    def _out(self, c: int, column: Sequence[Node], taken: list[float]) -> None:
        """Where arrows leave: level with where they go if it is free, never on another's level."""
        for node in column:
            hops = [h for h in self.hops[c] if h.src is node]
            if node.thin:
                for hop in hops:
                    hop.y1 = node.y + node.h - ROW / 2
                    taken.append(hop.y1)
                continue
            order = (
                {id(v): i for i, v in enumerate(self.columns[c + 1])}
                if self.hops[c] and c + 1 < len(self.columns)
                else {}
            )
            hops.sort(key=lambda h: (h.edge.level or 0.0, h.dst is None, order.get(id(h.dst), 0)))
            row, port = HEAD, max(node.port or 0.0, HEAD)
            for hop in hops:
                if self._at_port(hop, node):
                    hop.y1 = node.y + port
                    port += ROW
                else:
                    row = max(row, hop.edge.level or 0.0)
                    hop.y1 = node.y + row
                    row += max(ROW, hop.edge.label[1] + RISE + 3 if hop.labelled else 0.0)
            node.h = max(node.h, row, port)

    # --- across ---------------------------------------------------------------------------------

    def _across(self) -> None:
        """Settle the columns downward once more (nodes may have grown), then the tracks."""
        for c, column in enumerate(self.columns):
            top = 0.0
            for node in column:
                shift = max(0.0, top - node.y)
                if shift:
                    node.y += shift
                    for hop in self.hops[c]:
                        if hop.src is node:
                            hop.y1 += shift
                    for hop in self.hops[c - 1] if c else []:
                        if hop.dst is node:
                            hop.y2 += shift
                top = node.y + node.h + GAP
        for hops in self.hops:
            self._apart(hops)

    def _apart(self, hops: Sequence[_Hop]) -> None:
        """No arrow leaves a node on the level at which another one comes in."""
        levels = [h.y2 for h in hops if h.dst is not None]
        for hop in hops:
            if hop.src is None or hop.src.thin:
                continue
            own = hop.y2 if hop.dst is not None else None
            if own is not None and abs(own - hop.y1) < 1.0:
                hop.y1 = own
                continue
            for _ in range(40):
                mine = [o.y1 for o in hops if o is not hop and o.src is not None]
                if all(abs(y - hop.y1) >= CLEAR for y in levels + mine):
                    break
                hop.y1 += CLEAR
            hop.src.h = max(hop.src.h, hop.y1 - hop.src.y + CLEAR)

    def _draw(self) -> Placed:
        columns: list[tuple[float, float]] = []
        bottom = max(node.y + node.h for column in self.columns for node in column)
        rows = [bottom + 22.0]
        x = 0.0
        zones: list[float] = []
        last_tracks: list[float] = []
        for c, column in enumerate(self.columns):
            width = max((node.w for node in column), default=0.0)
            for node in column:
                node.x, node.w = x, width
            columns.append((x, x + width))
            x += width
            x, zone, after = self._channel(c, x)
            zones.append(zone)
            last_tracks.append(after)
        back = [e for e in self.edges if e.back and e in self.chains]
        for i, _ in enumerate(back):
            rows.append(rows[0] + TRACK * (i + 1))
        trunk = rows[-1] + (14.0 if back else 0.0)
        for i, edge in enumerate(back):
            self._trace_back(edge, rows[i], zones)
        homes = False
        for edge in self.edges:
            if edge.dst is self.client:
                homes = True
                self._trace_home(edge, trunk, zones, last_tracks)
            elif not edge.back:
                self._trace(edge, zones)
        height = max(bottom, trunk + 8.0 if homes or back else bottom)
        right = max(p[0] for e in self.edges for p in e.points) if self.edges else x
        return Placed(max(right, columns[-1][1]), height, columns, trunk if homes else None)

    def _channel(self, c: int, x: float) -> tuple[float, float, float]:
        """Tracks of channel ``c`` from ``x``: its right end, its label zone, the tracks behind."""
        hops = self.hops[c]
        if not hops:
            return (x + 2 * STUB if c + 1 < len(self.columns) else x), x, x
        turning = [h for h in hops if h.src is None or h.dst is None or h.y1 != h.y2]
        down = [h for h in turning if h.dst is None or (h.src is not None and h.y2 > h.y1)]
        up = [h for h in turning if h not in down]
        down.sort(key=lambda h: -h.y1)
        up.sort(key=lambda h: h.y1 if h.src is not None else float("inf"))
        at = x + STUB
        for hop in [*down, *up]:
            hop.track = at
            at += TRACK
        zone = at
        wide = max((h.edge.label[0] for h in hops if h.labelled), default=0.0)
        after = zone + wide + (8.0 if wide else 0.0)
        exits = [h for h in hops if h.dst is not None and h.dst.thin and h.edge.dst is self.client]
        end = after + TRACK * len(exits) + STUB
        for i, hop in enumerate(exits):
            hop.edge.points = [(after + TRACK * i, 0.0)]  # kept until the edge is traced
        return end, zone, after

    def _label(self, edge: Edge, hop: _Hop, zone: float) -> None:
        if hop.labelled:
            edge.label_at = (zone, hop.y2 - RISE)

    def _hop_points(self, hop: _Hop) -> list[Point]:
        """From the source's right side to the track's end on the target's level."""
        assert hop.src is not None and hop.dst is not None
        start = (hop.src.x + hop.src.w, hop.y1)
        if hop.y1 == hop.y2:
            return [start]
        return [start, (hop.track, hop.y1), (hop.track, hop.y2)]

    def _trace(self, edge: Edge, zones: Sequence[float]) -> None:
        points: list[Point] = []
        for hop in self.chains[edge]:
            assert hop.src is not None and hop.dst is not None
            points += self._hop_points(hop)
            self._label(edge, hop, zones[hop.src.column])
        last = self.chains[edge][-1]
        assert last.dst is not None
        points.append((last.dst.x, last.y2))
        edge.points = _straightened(points)

    def _trace_back(self, edge: Edge, row: float, zones: Sequence[float]) -> None:
        one, two = self.chains[edge]
        assert one.src is not None and two.dst is not None
        edge.points = _straightened(
            [
                (one.src.x + one.src.w, one.y1),
                (one.track, one.y1),
                (one.track, row),
                (two.track, row),
                (two.track, two.y2),
                (two.dst.x, two.y2),
            ]
        )
        self._label(edge, two, zones[two.dst.column - 1])

    def _trace_home(
        self, edge: Edge, trunk: float, zones: Sequence[float], after: Sequence[float]
    ) -> None:
        client = self.client
        end = [(client.x + client.w / 2, trunk), (client.x + client.w / 2, client.y + client.h)]
        if edge in self.drops:
            src = edge.src
            edge.points = [(src.x + src.w / 2, src.y + src.h), (src.x + src.w / 2, trunk), *end]
            return
        hop = self.chains[edge][0]
        assert hop.src is not None
        start = (hop.src.x + hop.src.w, hop.y1)
        if hop.dst is None:
            points = [start, (hop.track, hop.y1), (hop.track, trunk), *end]
        else:
            self._label(edge, hop, zones[hop.src.column])
            down = edge.points[0][0]
            points = [*self._hop_points(hop), (down, hop.y2), (down, trunk), *end]
        edge.points = _straightened(points)


def _straightened(points: Iterable[Point]) -> list[Point]:
    """Without points in the middle of a straight piece."""
    out: list[Point] = []
    for point in points:
        if out and point == out[-1]:
            continue
        if len(out) > 1 and (
            out[-2][0] == out[-1][0] == point[0] or out[-2][1] == out[-1][1] == point[1]
        ):
            out.pop()
        out.append(point)
    return out
