"""The panels of the deployment view: what stands in a station, the clients, a router."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from math import ceil, sqrt

from serq.draw.flow import Decision, Node
from serq.draw.panels import Block, Grid, Group, Panel, Part, Row
from serq.draw.stations import DELAY, Family, Station
from serq.draw.uses import PoolUse, Uses
from serq.draw.words import amount, amounts, times
from serq.ir import nodes as n
from serq.ir.constants import fold
from serq.ir.moments import Moment

MOST_UNFOLDED = 16
"""Members of a family that are drawn; the others are counted."""

MOST_LINES = 9
"""Lines of a session or of a schedule that are written out."""


class Parts:
    """Builds panels; with ``unfold`` the members of a family stand side by side."""

    def __init__(self, uses: Uses, unfold: bool) -> None:
        self.uses = uses
        self.program = uses.program
        self.words = uses.words
        self.stations = uses.stations
        self.unfold = unfold

    # --- stations -------------------------------------------------------------------------------

    def station(self, station: Station) -> tuple[Panel, Part | None]:
        """A station's panel, and the part at which KV arrives and leaves."""
        many = station.count
        chip = times(many) if many > 1 else ""
        ports: list[Part] = []
        if self.unfold and many > 1:
            shown = min(many, MOST_UNFOLDED)
            each = [
                Group(f"{station.title}[{i}]", self._inside(station, i, ports), "member")
                for i in range(shown)
            ]
            children: list[Block] = [Grid(each, ceil(sqrt(shown)))]
            children += self._shared(station, ports)
            if shown < many:
                more = f"… and {amount(many - shown)} more like these"
                children.append(Part("plain", "", "", rows=[Row("", more)]))
        else:
            children = self._inside(station, None, ports)
        panel = Panel(station.title, station.role, chip, children)
        panel.stacked = many > 1 and not self.unfold
        return panel, ports[0] if ports else None

    def _inside(self, station: Station, member: int | None, ports: list[Part]) -> list[Block]:
        """The parts of a station, or of one member of it."""
        memory = self._memories(station)
        front: list[Block] = []
        on_device: list[Block] = []
        behind: list[Block] = []
        for family in station.engines:
            if (members := self._members(station, family, member)) is not None:
                on_device.append(self._engine(station, family, members))
        kept: Part | None = None
        for family in station.pools:
            if (members := self._members(station, family, member)) is not None:
                part = self._pool(station, family, members)
                if family in memory:
                    on_device.append(part)
                    kept = kept or part
                elif station.engines:
                    front.append(part)
                else:
                    behind.append(part)
                    kept = kept or part
        servers: list[Block] = [
            self._server(station, family, members)
            for family in station.servers
            if (members := self._members(station, family, member)) is not None
        ]
        nics: list[Block] = []
        for family in station.nics:
            if (members := self._members(station, family, member)) is not None:
                nic = self._nic(station, family, members)
                nics.append(nic)
                ports.append(nic)
        if kept is not None:
            ports.append(kept)
        device: list[Block] = on_device
        if station.device is not None and on_device:
            device = [Group(station.device, on_device)]
        return [*front, *device, *servers, *behind, *nics]

    def _shared(self, station: Station, ports: list[Part]) -> list[Block]:
        """What all members of an unfolded station have in common."""
        out: list[Block] = []
        for family in station.pools:
            if family.count != station.count:
                out.append(self._pool(station, family, family.members))
        for family in (*station.engines, *station.servers, *station.nics):
            if family.count != station.count:
                out.append(self._server(station, family, family.members))
        ports.extend(p for p in out if isinstance(p, Part))
        return out

    def _members(
        self, station: Station, family: Family, member: int | None
    ) -> Sequence[int] | None:
        if member is None:
            return family.members
        return [family.members[member]] if family.count == station.count else None

    def _memories(self, station: Station) -> set[Family]:
        found = set()
        for family in station.engines:
            for i in family.members:
                kind = self.program.stages[i].kind
                if isinstance(kind, n.Step) and kind.memory is not None:
                    found.add(self.stations.family_of_pool[kind.memory])
        return found

    def _chip(self, station: Station, family: Family, members: Sequence[int]) -> str:
        """A count where it is not the station's own."""
        if len(members) > 1 and family.count != station.count:
            return times(len(members))
        return "one for all" if family.count == 1 < station.count else ""

    def _short(self, station: Station, name: str) -> str:
        """A name inside its station: ``kv`` for ``P.kv`` in ``P``."""
        return name.removeprefix(station.title + ".")

    # --- pools ----------------------------------------------------------------------------------

    def _pool(self, station: Station, family: Family, members: Sequence[int]) -> Part:
        pools = [self.program.pools[i] for i in members]
        pool, use = pools[0], self.uses.pools[family]
        cap = "no cap" if pool.cap == float("inf") else amounts([p.cap for p in pools])
        rows = []
        if pool.block is not None:
            rows.append(Row("in", f"blocks of {amount(pool.block)}"))
        if use.waits:
            rows.append(Row("waits", self.words.queue(pool), lines=3))
        rows += self._taking(use)
        if use.caches or not isinstance(pool.evict, n.Lru):
            rows.append(Row("evicts", self.words.evict(pool), lines=3))
        preempt = self.words.preempt(pool)
        if preempt is not None:
            rows.append(Row("if full", preempt, lines=3))
        elif use.grows:
            rows.append(Row("if full", "growth waits"))
        if pool.reserve_held:
            rows.append(Row("holds", "what is reserved, against later admissions"))
        rows += self._keeping(use)
        if pool.spill is not None:
            to = self.program.pools[pool.spill.to].name
            rows.append(Row("spills", f"to {to} via {self.program.stages[pool.spill.via].name}"))
            rows.append(Row("when", self.words.expr(pool.spill.when, Moment.EVICT), "code"))
        if not use.held and not any(p.spill and p.spill.to in members for p in self.program.pools):
            rows.append(Row("", "no hold takes it", ink="muted"))
        queue = use.waits and family not in self._memories(station)
        glyph = "queue" if queue and pool.block is None else "memory"
        chip = self._chip(station, family, members)
        name = self._short(station, family.name)
        return Part("memory", glyph, name, chip, rows, number=cap)

    def spanning_pool(self, family: Family) -> Part:
        """The part of a pool that is held across stations."""
        return self._pool(Station(""), family, family.members)

    def _taking(self, use: PoolUse) -> list[Row]:
        rows = []
        if use.reserves:
            rows.append(Row("reserves", _either(use.reserves), "code"))
        if use.inside:
            then = "" if use.caches or use.leases else ", then freed"
            rows.append(Row("held for", ", ".join(use.inside) + then))
        return rows

    def _keeping(self, use: PoolUse) -> list[Row]:
        rows = []
        if use.caches:
            rows.append(Row("caches", _either(use.caches), "code"))
        if use.leases:
            leased = [time if time != "inf" else "until released" for time in use.leases]
            rows.append(Row("leases", _either(leased), "code"))
        return rows

    # --- stages ---------------------------------------------------------------------------------

    def _engine(self, station: Station, family: Family, members: Sequence[int]) -> Part:
        words = self.words
        step = self.program.stages[members[0]].kind
        assert isinstance(step, n.Step)
        rows = []
        chunk = words.chunk(step)
        if chunk is not None:
            rows.append(Row("each ≤", chunk, "code"))
        if step.granule == n.Num(float("inf")):
            rows.append(Row("prompts", "whole, not in chunks"))
        elif step.granule is not None:
            rows.append(Row("granule", words.expr(step.granule), "code"))
        lines = words.schedule(step)
        if len(lines) > MOST_LINES:
            lines = [*lines[: MOST_LINES - 1], "…"]
        rows += [Row("does" if i == 0 else "", line, lines=3) for i, line in enumerate(lines)]
        rows.append(Row("time", words.expr(step.cost, Moment.STEP), "code"))
        for mode, label in ((n.Mode.PREFILL, "prefill"), (n.Mode.DECODE, "decode")):
            works = self.uses.works[family].get(mode)
            if works:
                rows.append(Row(label, _either(works), "code"))
        for register in self.program.registers:
            if register.stage == members[0]:
                rows.append(Row("state", f"{register.name} = {amount(register.init)}", "code"))
        title = "engine" if family.name == station.title else family.name
        chip = self._chip(station, family, members)
        return Part("compute", "batch", title, chip, rows, number=words.budget(step))

    def _server(self, station: Station, family: Family, members: Sequence[int]) -> Part:
        kind = self.program.stages[members[0]].kind
        if isinstance(kind, n.Step):
            return self._engine(station, family, members)
        glyph, rows, number = self._serving(family, kind)
        spills = any(p.spill and p.spill.via in members for p in self.program.pools)
        if not self.uses.works[family] and not spills:
            rows.append(Row("", "no run reaches it", ink="muted"))
        for works in self.uses.works[family].values():
            rows.append(Row("work", _either(works), "code"))
        name = self._short(station, family.name)
        title = {"fifo": "server", "ps": "shared server", "delay": "delay"}[glyph]
        title = title if name == station.title else name
        chip = self._chip(station, family, members)
        if family in self.uses.links:
            return Part("transfer", "nic", title, chip, rows, number=number)
        return Part("server", glyph, title, chip, rows, number=number)

    def _serving(self, family: Family, kind: n.Fifo | n.Ps) -> tuple[str, list[Row], str]:
        """The glyph of a stage's kind, what it does in words, and its number."""
        if isinstance(kind, n.Fifo):
            if kind.servers == 1:
                return "fifo", [Row("serves", "one at a time, fifo")], ""
            servers = f"{amount(kind.servers)} servers"
            return "fifo", [Row("serves", f"{amount(kind.servers)} at a time, fifo")], servers
        if kind == DELAY:
            return "delay", [Row("serves", "all at once, no waiting")], ""
        rows = [Row("serves", self._sharing(family))]
        value = fold(kind.capacity)
        if value is None:
            rows.append(Row("capacity", self.words.expr(kind.capacity, Moment.PS), "code"))
        return "ps", rows, "" if value is None else amount(value)

    def _sharing(self, family: Family) -> str:
        if family not in self.uses.joint:
            return "all at once, shared equally"
        if self.program.share is n.Share.MAX_MIN:
            return "flows, shared max-min"
        return "flows, shared at the bottleneck"

    def _nic(self, station: Station, family: Family, members: Sequence[int]) -> Part:
        kind = self.program.stages[members[0]].kind
        assert not isinstance(kind, n.Step)
        _, rows, number = self._serving(family, kind)
        for latency in station.latencies:
            for works in self.uses.works[latency].values():
                rows.append(Row("latency", f"{_either(works)} before each"))
        chip = self._chip(station, family, members)
        return Part("transfer", "nic", "NIC", chip, rows, number=number)

    # --- clients and routers --------------------------------------------------------------------

    def clients(self) -> Panel:
        """Who sends: arrivals, what a session does, the clients' own tools."""
        program = self.program
        rows = [Row("", self.words.arrival(), lines=3)]
        if program.hidden:
            hidden = ", ".join(program.attrs[slot] for slot in program.hidden)
            rows.append(Row("hidden from the scheduler", hidden, "code"))
        children: list[Block] = [Part("plain", "", "", rows=rows, aligned=False)]
        listing = self._session(program.session, 0)
        if len(listing) > MOST_LINES:
            listing = [*listing[: MOST_LINES - 1], ("…", 0)]
        children.append(
            Part(
                "plain",
                "",
                "a session",
                aligned=False,
                rows=[Row("", text, "code", 12.0 * depth, lines=1) for text, depth in listing],
            )
        )
        for family, works in self.uses.client.items():
            part = Part("server", "delay", family.name)
            part.rows = [
                Row("serves", "all at once, no waiting"),
                Row("time", _either(works), "code"),
            ]
            children.append(part)
        return Panel("clients", "", "", children, "client")

    def _session(self, block: int, depth: int) -> list[tuple[str, int]]:
        """The workload's side of the session, a line per statement that takes time or turns."""
        out: list[tuple[str, int]] = []
        program = self.program
        if depth > 8:
            return [("…", depth)]
        for stmt, side in zip(program.blocks[block], program.sides[block], strict=True):
            if side is not n.Side.WORKLOAD:
                continue
            match stmt:
                case n.Turn():
                    out.append(("turn", depth))
                case n.Run():
                    name = self.stations.family_of_stage[stmt.stage.base].name
                    out.append((f"{name} {self.words.quantity(stmt.work)}", depth))
                case n.While(guard=guard, body=body):
                    out.append((f"while {self.words.expr(guard)}", depth))
                    out += self._session(body, depth + 1)
                case n.Loop(body=body):
                    out.append(("loop", depth))
                    out += self._session(body, depth + 1)
                case n.Branch(guard=guard, then=then, orelse=orelse):
                    one = self._session(then, depth + 1)
                    two = self._session(orelse, depth + 1)
                    if one or two:
                        out.append((f"if {self.words.expr(guard)}", depth))
                        out += one or [("nothing", depth + 1)]
                        if two:
                            out += [("else", depth), *two]
                case n.End() if depth > 0:
                    out.append(("end", depth))
        return out

    def router(self, node: Node) -> tuple[Panel, dict[int, Part]]:
        """The decisions made in one place, and the part of each (by its identity)."""
        if node.kind == "join":
            waits = Row("", "until every leg has ended")
            return Panel("join", "", "", [Part("plain", "", "", rows=[waits])]), {}
        title = "routing" if node.gateway is None else node.gateway
        role = "" if node.gateway is None else "gateway"
        several = len(node.tests()) > 1
        parts = [self._decision(row, several) for row in node.rows]
        where = {id(row): part for row, part in zip(node.rows, parts, strict=True)}
        return Panel(title, role, "", list(parts)), where

    def _decision(self, row: Decision, several: bool) -> Part:
        arm = f"{row.arm}: " if row.arm else ""
        number = f"{row.number} " if several and row.number else ""
        rows = [Row("", line, "code", lines=3) for line in row.lines]
        return Part("choice", "choice", f"{arm}{number}{row.head}", "", rows)


def _either(texts: Iterable[str]) -> str:
    return " or ".join(texts)
