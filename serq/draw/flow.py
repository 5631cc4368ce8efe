"""Where requests go: the graph of clients, routers and stations that a session's way makes.

The session's statements are followed once, with the places a request may be at. A decision whose
ways part becomes a row of a router, and its arms the labels of the arrows that leave it; one
whose ways do not part is left to the request view. A turn's server statements are followed once,
however often the text's expansion repeats them.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field

from serq.draw.stations import Station
from serq.draw.uses import Transfer, Uses, transfer_at
from serq.ir import nodes as n
from serq.ir.constants import fold
from serq.ir.moments import Moment


@dataclass
class Decision:
    """A row of a router: ``head`` in words, ``lines`` of program text; ``arm`` leads to it."""

    kind: str
    head: str
    lines: list[str]
    depth: int = 0
    arm: str = ""
    number: int = 0


@dataclass(eq=False)
class Node:
    """``kind`` is client, station, router, join or junction (none of which is left in the end)."""

    kind: str
    station: Station | None = None
    gateway: str | None = None
    rows: list[Decision] = field(default_factory=list)

    def tests(self) -> list[Decision]:
        return [row for row in self.rows if row.kind in ("test", "while")]


@dataclass(frozen=True)
class Edge:
    """An arrow; ``arm`` is the decision and the way out of it, for arrows that leave a router."""

    src: Node
    dst: Node
    kind: str
    arm: tuple[Decision, str] | None = None
    note: str = ""
    full: str = ""

    def __hash__(self) -> int:
        return hash((id(self.src), id(self.dst), self.kind, self.note))


@dataclass(frozen=True)
class Out:
    """A place a request may be at, and the arm by which it is about to leave it.

    At a router the request still stands where it came from: ``at``.
    """

    node: Node
    arm: tuple[Decision, str] | None = None
    depth: int = 0
    kind: str = "request"
    at: Node | None = None
    note: str = ""

    @property
    def place(self) -> Node:
        return self.at or self.node


class Flow:
    """The graph of a program: ``nodes`` in the order they are met, ``edges`` without doubles."""

    def __init__(self, uses: Uses) -> None:
        self.program = uses.program
        self.uses = uses
        self.stations = uses.stations
        self.words = uses.words
        self.client = Node("client")
        self.nodes: list[Node] = [self.client]
        self.edges: list[Edge] = []
        self._station_nodes: dict[Station, Node] = {}
        self._legs: list[Out] = []
        self._seen: dict[object, list[Out]] = {}
        self._finish(self._block(self.program.session, [Out(self.client)]))
        self._spills()
        for station in self.stations.all:
            self.at(station)
        self._simplify()

    def at(self, station: Station) -> Node:
        """The station's node."""
        node = self._station_nodes.get(station)
        if node is None:
            node = self._station_nodes[station] = Node("station", station)
            self.nodes.append(node)
        return node

    # --- following ------------------------------------------------------------------------------

    def _arrive(self, node: Node, outs: Sequence[Out], kind: str | None = None) -> list[Out]:
        """The request moves to a node; one that stands there, whatever was tested, stays."""
        if all(
            out.place is node and not any(row.kind == "choose" for row in out.node.rows)
            for out in outs
        ):
            return list(outs)
        for out in outs:
            if out.node is not node or out.arm is not None:
                self.edges.append(Edge(out.node, node, kind or out.kind, out.arm, out.note))
        legs = bool(outs) and all(out.kind == "leg" for out in outs)
        return [Out(node, kind="leg" if legs else "request")] if outs else []

    def _finish(self, outs: Sequence[Out]) -> list[Out]:
        """The response: back to the client, from wherever the request is."""
        away = [out for out in outs if out.node is not self.client]
        if away:
            self._arrive(self.client, away, "answer")
        return [Out(self.client)] if outs else []

    def _block(self, block: int, outs: list[Out]) -> list[Out]:
        program = self.program
        stmts, sides = program.blocks[block], program.sides[block]
        position = 0
        while position < len(stmts) and outs:
            stmt = stmts[position]
            if isinstance(stmt, n.Turn):
                end = position + 1
                while end < len(stmts) and sides[end] is n.Side.SERVER:
                    end += 1
                outs = self._turn(block, position + 1, end, outs)
                position = end
                continue
            if sides[position] is n.Side.WORKLOAD:
                outs = self._finish(outs)
                if isinstance(stmt, n.Run):
                    outs = [Out(self.client, note="tool") for _ in outs]
            outs, position = self._stmt(block, position, outs)
        return outs

    def _turn(self, block: int, start: int, end: int, outs: list[Out]) -> list[Out]:
        """One turn at the server; an expansion of the same statements adds nothing."""
        outs = self._finish(outs)
        shape = self._shape(self.program.blocks[block][start:end])
        if shape not in self._seen:
            position = start
            while position < end and outs:
                outs, position = self._stmt(block, position, outs)
            self._seen[shape] = self._finish(outs)
        return self._seen[shape]

    def _shape(self, stmts: Sequence[n.Stmt]) -> tuple[object, ...]:
        blocks = self.program.blocks
        out: list[object] = []
        for stmt in stmts:
            match stmt:
                case n.Hold(pools=pools, body=body):
                    out.append(("hold", pools, self._shape(blocks[body])))
                case n.Branch(guard=guard, then=then, orelse=orelse):
                    arms = self._shape(blocks[then]), self._shape(blocks[orelse])
                    out.append(("branch", guard, *arms))
                case n.While(guard=guard, body=body):
                    out.append(("while", guard, self._shape(blocks[body])))
                case n.Loop(body=body):
                    out.append(("loop", self._shape(blocks[body])))
                case n.Fork(body=body):
                    out.append(("fork", self._shape(blocks[body])))
                case _:
                    out.append(stmt)
        return tuple(out)

    def _stmt(self, block: int, position: int, outs: list[Out]) -> tuple[list[Out], int]:
        """The places after a statement, and the position of the next."""
        stmts = self.program.blocks[block]
        stmt = stmts[position]
        match stmt:
            case n.Run():
                return self._run(block, position, outs)
            case n.Hold(pools=pools, body=body):
                station = self.stations.pool(pools[0].pool)
                if station is not None:
                    outs = self._arrive(self.at(station), outs)
                outs = self._block(body, outs)
            case n.Choose() | n.Set():
                outs = self._choice(block, position, outs)
            case n.Branch():
                outs = self._branch(block, position, outs)
            case n.While(guard=guard, body=body):
                if fold(guard) is None:
                    outs = self._while(block, position, outs)
                elif fold(guard) != 0.0:
                    self._loop(body, outs)
                    outs = []
            case n.Loop(body=body):
                self._loop(body, outs)
                outs = []
            case n.Fork(body=body):
                legs = [Out(o.node, o.arm, o.depth, "leg", o.at, "fork") for o in outs]
                self._legs += self._block(body, legs)
            case n.Join():
                outs = self._join(outs)
            case n.End():
                if self.program.sides[block][position] is n.Side.SERVER:
                    for out in outs:
                        self.edges.append(
                            Edge(
                                out.node,
                                self.client,
                                "answer",
                                out.arm,
                                "refused",
                                "the session ends",
                            )
                        )
                outs = []
        return outs, position + 1

    def _run(self, block: int, position: int, outs: list[Out]) -> tuple[list[Out], int]:
        stmts = self.program.blocks[block]
        run = stmts[position]
        assert isinstance(run, n.Run)
        family = self.stations.family_of_stage[run.stage.base]
        if family in self.uses.client:
            return outs, position + 1
        moved = transfer_at(self.program, block, position)
        if moved is not None and outs and self._transfer(moved):
            return outs, moved.end
        nodes = [self.at(self.stations.stage(ref)) for ref in (run.stage, *run.also)]
        outs = self._arrive(nodes[0], outs)
        for other in nodes[1:]:
            if other is not nodes[0]:
                self.edges.append(Edge(nodes[0], other, "joint", note="one job on both"))
        return outs, position + 1

    def _choice(self, block: int, position: int, outs: list[Out]) -> list[Out]:
        """A choice among members, or an attribute set that is one."""
        stmt = self.program.blocks[block][position]
        if self.program.sides[block][position] is n.Side.WORKLOAD:
            return outs
        words = self.words
        match stmt:
            case n.Choose(var=slot, count=count, key=keys):
                lines = [
                    "at random" if isinstance(key, n.Sample) else words.expr(key) for key in keys
                ]
                lines = [("least " if i == 0 else "then ") + line for i, line in enumerate(lines)]
                among = f" of {words.expr(count)}"
            case n.Set(slot=slot, expr=expr) if slot in self.uses.chosen and fold(expr) is None:
                lines, among = [words.expr(expr)], ""
            case _:
                return outs
        name = self.program.attrs[slot]
        targets = [s.title for s in self.uses.chosen.get(slot, {})]
        where = " and ".join(f"{t}[{name}]" for t in targets[:2])
        head = f"choose {where or name}{among}" if among else f"{where or name} is"
        router, depth, arm = self._router(block, position, outs)
        router.rows.append(Decision("choose", head, lines, depth, arm))
        kind = outs[0].kind if outs else "request"
        if outs and outs[0].node is router:
            return [Out(router, outs[0].arm, depth, kind, outs[0].place)]
        return [Out(router, None, depth, kind, outs[0].place)]

    def _branch(self, block: int, position: int, outs: list[Out]) -> list[Out]:
        stmt = self.program.blocks[block][position]
        assert isinstance(stmt, n.Branch)
        value = fold(stmt.guard)
        if value is not None:
            return self._block(stmt.then if value != 0.0 else stmt.orelse, outs)
        if self.program.sides[block][position] is n.Side.WORKLOAD:
            one = self._block(stmt.then, outs)
            two = self._block(stmt.orelse, outs)
            return one or two
        edges, nodes = len(self.edges), len(self.nodes)
        router, depth, arm = self._router(block, position, outs)
        head, lines = self._guard(stmt.guard)
        row = Decision("test", head, lines, depth, arm)
        router.rows.append(row)
        rows = len(router.rows)
        kind = outs[0].kind
        place = outs[0].place
        yes = self._block(stmt.then, [Out(router, (row, "yes"), depth + 1, kind, place)])
        no = self._block(stmt.orelse, [Out(router, (row, "no"), depth + 1, kind, place)])
        if len(router.rows) == rows and all(
            len(arm_outs) == 1 and arm_outs[0].node is router for arm_outs in (yes, no)
        ):  # the ways do not part
            self._undo(edges, nodes, router)
            return outs
        return _unique([*yes, *no])

    def _while(self, block: int, position: int, outs: list[Out]) -> list[Out]:
        stmt = self.program.blocks[block][position]
        assert isinstance(stmt, n.While)
        if self.program.sides[block][position] is n.Side.WORKLOAD:
            after = self._block(stmt.body, outs)
            return _unique([*outs, *after])
        edges, nodes = len(self.edges), len(self.nodes)
        router = Node("router", gateway=self.words.gateway(block, position))
        self.nodes.append(router)
        self._arrive(router, outs)
        head, lines = self._guard(stmt.guard)
        row = Decision("while", "while" if head == "if" else "again, by a draw", lines)
        router.rows.append(row)
        kind = outs[0].kind
        place = outs[0].place
        again = self._block(stmt.body, [Out(router, (row, "again"), 1, kind, place)])
        if len(again) == 1 and again[0].node is router and len(router.rows) == 1:
            self._undo(edges, nodes, router)
            return outs
        self._arrive(router, again)
        return [Out(router, (row, "done"), 0, kind, place)]

    def _loop(self, body: int, outs: list[Out]) -> None:
        if outs and all(out.node is self.client for out in outs):
            self._finish(self._block(body, outs))
            return
        junction = Node("junction")
        self.nodes.append(junction)
        self._arrive(junction, outs)
        self._arrive(junction, self._block(body, [Out(junction, kind=outs[0].kind)]))

    def _join(self, outs: list[Out]) -> list[Out]:
        """The legs end where the request waits for them: at its station, or at a join."""
        legs, self._legs = self._legs, []
        if not legs:
            return outs
        if len(outs) == 1 and outs[0].place.kind == "station":
            for leg in legs:
                if leg.node is not outs[0].place:
                    self.edges.append(Edge(leg.node, outs[0].place, "leg", leg.arm, "join"))
            return outs
        node = Node("join")
        self.nodes.append(node)
        after = self._arrive(node, outs)
        self._arrive(node, legs, "leg")
        return after

    def _undo(self, edges: int, nodes: int, router: Node) -> None:
        """Take back a router's last row, and the router if that was its only one."""
        router.rows.pop()
        kept = [e for e in self.edges[edges:] if router not in (e.src, e.dst)]
        del self.edges[edges:]
        self.edges += kept
        if not router.rows and router in self.nodes[nodes:]:
            self.nodes.remove(router)

    def _guard(self, guard: n.Expr) -> tuple[str, list[str]]:
        if isinstance(guard, n.Sample):
            chance = self.words.exprs(guard.args, Moment.SESSION)
            return "by a draw", [f"yes with probability {chance}"]
        return "if", [self.words.expr(guard)]

    def _router(self, block: int, position: int, outs: list[Out]) -> tuple[Node, int, str]:
        """Where a decision is made: the router the request is at, or a new one."""
        gateway = self.words.gateway(block, position)
        if len(outs) == 1 and outs[0].node.kind == "router" and outs[0].node.gateway == gateway:
            arm = outs[0].arm
            return outs[0].node, outs[0].depth, "" if arm is None else arm[1]
        router = Node("router", gateway=gateway)
        self.nodes.append(router)
        self._arrive(router, outs)
        return router, 0, ""

    # --- transfers ------------------------------------------------------------------------------

    def _transfer(self, moved: Transfer) -> bool:
        """Draw the KV's way; False where an end of it is at no station."""
        source, target = self.stations.pool(moved.source), self.stations.pool(moved.target)
        if source is None or target is None:
            return False
        src, dst = self.at(source), self.at(target)
        links = [self.stations.stage(ref) for ref in (moved.run.stage, *moved.run.also)]
        note = self._transfer_words(source, target)
        if moved.waits:
            waits = " + ".join(self.words.quantity(run.work) for run in moved.waits)
            note += f"\nlatency {waits}"
        work = self.words.quantity(moved.run.work)
        full = f"KV transfer: {work}, then {self.words.quantity(moved.amount)} loaded"
        between = [s for s in dict.fromkeys(links) if s is not source and s is not target]
        for station in between:
            self.edges.append(Edge(src, self.at(station), "kv", note=note, full=full))
            src, note = self.at(station), ""
        self.edges.append(Edge(src, dst, "kv", note=note, full=full))
        return True

    def _transfer_words(self, source: Station, target: Station) -> str:
        if self.words.map is not None:
            for relation in self.words.map.relations:
                if (relation.source, relation.reader) == (source.title, target.title):
                    return f"KV {relation.verb}"
        return "KV transfer"

    def _spills(self) -> None:
        for family in self.stations.pool_families:
            spill = self.program.pools[family.members[0]].spill
            src = self.stations.of_pool.get(family.members[0])
            if spill is None or src is None:
                continue
            via = self.at(self.stations.of_stage[spill.via])
            when = self.words.expr(spill.when, Moment.EVICT)
            first = self.at(src)
            if via is not first:
                self.edges.append(
                    Edge(first, via, "spill", note="spill", full=f"spill when {when}")
                )
            target = self.stations.of_pool.get(spill.to)
            if target is not None and self.at(target) not in (via, first):
                self.edges.append(Edge(via, self.at(target), "spill"))

    # --- simplification -------------------------------------------------------------------------

    def _simplify(self) -> None:
        """Leave out what decides nothing; number the decisions; drop doubles."""
        changed = True
        while changed:
            self.edges = list(dict.fromkeys(self.edges))
            changed = False
            for node in self.nodes:
                ways = [e for e in self.edges if e.src is node]
                targets = {id(e.dst) for e in ways}
                idle = (
                    node.kind == "router"
                    and len(targets) == 1
                    and len(node.tests()) == len(node.rows)
                )
                if node.kind == "junction" or idle:
                    self._contract(node)
                    changed = True
                    break
        for node in self.nodes:
            if node.kind != "router":
                continue
            for number, row in enumerate(node.tests(), 1):
                row.number = number
            if len({id(e.dst) for e in self.edges if e.src is node}) == 1:
                self.edges = [
                    Edge(e.src, e.dst, e.kind, None, e.note, e.full) if e.src is node else e
                    for e in self.edges
                ]
        self.edges = list(dict.fromkeys(self.edges))

    def _contract(self, node: Node) -> None:
        into = [e for e in self.edges if e.dst is node and e.src is not node]
        out = [e for e in self.edges if e.src is node and e.dst is not node]
        rest = [e for e in self.edges if e.src is not node and e.dst is not node]
        for a in into:
            for b in out:
                if a.src is not b.dst or a.arm is not None:
                    kind = "leg" if a.kind == "leg" else b.kind
                    rest.append(Edge(a.src, b.dst, kind, a.arm, a.note or b.note))
        self.edges = rest
        self.nodes.remove(node)


def _unique(outs: Sequence[Out]) -> list[Out]:
    seen: dict[tuple[int, object], Out] = {}
    for out in outs:
        arm = None if out.arm is None else (id(out.arm[0]), out.arm[1])
        seen.setdefault((id(out.node), arm), out)
    return list(seen.values())
