"""The way of one request as a list of steps: what the request view draws, before its places.

The session's first turn is told in full; each further turn goes the same way and is one step.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from serq.draw.stations import Family, Station
from serq.draw.uses import Transfer, Uses, bodies, transfer_at
from serq.ir import nodes as n
from serq.ir.constants import fold
from serq.ir.moments import Moment

CLIENT = "client"
ROUTING = "routing"

Lane = str | Family
"""A family of pools or stages, the clients, or a gateway by its name."""


@dataclass
class Step:
    """A line of the script.

    ``kind``: arrive, turn, answer, end, choice, wait, admit, free, run, delay, move, grow, drop,
    release, join; or a frame's ``open``, ``else`` and ``close``. ``lanes`` are where it happens:
    for a move the source, the links and the target. ``word`` and ``text`` are what is written.
    """

    kind: str
    word: str = ""
    text: str = ""
    font: str = "code"
    lanes: tuple[Lane, ...] = ()
    kept: tuple[Lane, ...] = ()
    leased: tuple[Lane, ...] = ()
    mark: str = ""


class Script:
    """The steps of a program's request, and the lanes they need in the order of their use."""

    def __init__(self, uses: Uses) -> None:
        self.uses = uses
        self.program = uses.program
        self.words = uses.words
        self.stations = uses.stations
        self.steps: list[Step] = []
        self.lanes: dict[Lane, None] = {CLIENT: None}
        self._told = False
        self._steady: dict[int, bool] = {}
        self._add(Step("arrive", "arrives", self.words.arrival(), "text", (CLIENT,)))
        self._block(self.program.session)

    def station(self, lane: Lane) -> Station | None:
        """The station a lane belongs to; None for the clients' and the gateways'."""
        if isinstance(lane, str) or lane in self.uses.client:
            return None
        if lane in self.uses.pools:
            return self.stations.of_pool.get(lane.members[0])
        return self.stations.of_stage[lane.members[0]]

    # --- statements -----------------------------------------------------------------------------

    def _add(self, step: Step) -> None:
        for lane in step.lanes:
            self.lanes.setdefault(lane)
        self.steps.append(step)

    def _block(self, block: int) -> None:
        stmts, sides = self.program.blocks[block], self.program.sides[block]
        position = 0
        while position < len(stmts):
            stmt = stmts[position]
            if isinstance(stmt, n.Turn):
                end = position + 1
                while end < len(stmts) and sides[end] is n.Side.SERVER:
                    end += 1
                self._turn(block, position + 1, end)
                position = end
            else:
                position = self._stmt(block, position)
                if isinstance(stmt, n.Loop | n.End):  # nothing comes after them
                    return

    def _turn(self, block: int, start: int, end: int) -> None:
        if self._told:
            self._add(Step("turn", "turn", "the next one, the same way", "text", (CLIENT,)))
            return
        self._told = True
        names = [
            self.program.attrs[s.slot]
            for s in self.program.blocks[self.program.turn]
            if isinstance(s, n.Set)
        ]
        drawn = ", ".join(dict.fromkeys(names))
        self._add(Step("turn", "turn", f"with {drawn}" if drawn else "", "code", (CLIENT,)))
        position = start
        while position < end:
            position = self._stmt(block, position)
        self._add(Step("answer", "answer", "", "text", (CLIENT,)))

    def _stmt(self, block: int, position: int) -> int:
        """Tell a statement; the position of the next."""
        words = self.words
        stmt = self.program.blocks[block][position]
        match stmt:
            case n.Run():
                moved = transfer_at(self.program, block, position)
                if moved is not None:
                    self._move(moved)
                    return moved.end
                self._run(stmt)
            case n.Hold():
                self._hold(stmt)
            case n.Choose(count=count, key=keys):
                lines = [
                    "at random" if isinstance(key, n.Sample) else words.expr(key) for key in keys
                ]
                text = f"least {', then '.join(lines)}"
                name = self._target(stmt.var)
                word = f"choose {name} of {words.expr(count)}"
                self._add(Step("choice", word, text, "code", (self._gateway(block, position),)))
            case n.Set(slot=slot, expr=expr):
                if (
                    slot in self.uses.chosen
                    and fold(expr) is None
                    and self.program.sides[block][position] is n.Side.SERVER
                ):
                    where = (self._gateway(block, position),)
                    self._add(
                        Step("choice", f"{self._target(slot)} is", words.expr(expr), "code", where)
                    )
            case n.Branch(guard=guard, then=then, orelse=orelse):
                self._branch(guard, then, orelse)
            case n.While(guard=guard, body=body):
                if self._tells(body) and fold(guard) != 0.0:
                    self._frame("while", words.expr(guard), body)
            case n.Loop(body=body):
                if self._tells(body):
                    self._frame("loop", "until it ends", body, "text")
            case n.Fork(body=body):
                if self._tells(body):
                    self._frame("fork", "a leg runs beside the request", body, "text")
            case n.Join():
                self._add(Step("join", "join", "wait until the legs have ended", "text"))
            case n.End():
                self._add(Step("end", "end", "the session ends here", "text", (CLIENT,)))
            case n.Grow(pool=ref, amount=amount):
                lane = self._pool(ref)
                self._add(Step("grow", "grow", words.quantity(amount), "code", (lane,)))
            case n.Load(pool=ref, amount=amount):
                lane = self._pool(ref)
                self._add(Step("grow", "load", words.quantity(amount), "code", (lane,)))
            case n.Drop(pool=ref):
                lane = self._pool(ref)
                self._add(
                    Step("drop", "drop", f"what is cached in {self._name(lane)}", "text", (lane,))
                )
            case n.Release(pool=ref):
                lane = self._pool(ref)
                self._add(Step("release", "release", self._name(lane), "code", (lane,)))
        return position + 1

    def _run(self, run: n.Run) -> None:
        words = self.words
        families = tuple(self.stations.family_of_stage[ref.base] for ref in (run.stage, *run.also))
        mode = {n.Mode.PREFILL: "prefill", n.Mode.DECODE: "decode"}.get(run.mode, "")
        text = words.quantity(run.work)
        lanes: tuple[Lane, ...] = families
        if families[0] in self.uses.client:
            self._add(Step("run", families[0].name, text, "code", lanes))
            return
        delay = all(self.program.stages[f.members[0]].name.endswith(".latency") for f in families)
        word = "wait" if delay else mode or f"run {families[0].name}"
        if run.growing is not None:
            text += f", {self._name(self._pool(run.growing))} grows"
        self._add(Step("run", word, text, "code", lanes, mark=mode))

    def _move(self, moved: Transfer) -> None:
        """A KV transfer: its latency, then the copy."""
        words = self.words
        for wait in moved.waits:
            lane = self.stations.family_of_stage[wait.stage.base]
            self._add(Step("run", "latency", words.quantity(wait.work), "code", (lane,)))
        links = [
            self.stations.family_of_stage[ref.base] for ref in (moved.run.stage, *moved.run.also)
        ]
        source, target = self._pool(moved.source), self._pool(moved.target)
        text = words.quantity(moved.run.work)
        lanes: tuple[Lane, ...] = (source, *links, target)
        self._add(Step("move", "KV transfer", text, "code", lanes))

    def _hold(self, hold: n.Hold) -> None:
        words = self.words
        lanes = tuple(dict.fromkeys(self._pool(held.pool) for held in hold.pools))
        names = ", ".join(self._name(lane) for lane in lanes)
        first = self.program.pools[hold.pools[0].pool.base]
        self._add(Step("wait", "wait", f"for {names}: {words.queue(first)}", "text", (lanes[0],)))
        asks = []
        for held in hold.pools:
            ask = words.quantity(held.reserve or held.units, Moment.ADMIT)
            verb = "reserve" if held.reserve is not None else "take"
            asks.append(f"{verb} {ask} of {self._name(self._pool(held.pool))}")
        self._add(Step("admit", "admitted", ", ".join(asks), "code", lanes))
        own = {held.pool.base for held in hold.pools}
        grows = [
            r.growing
            for r in self.uses.runs_in(hold.body)
            if r.growing is not None and r.growing.base in own
        ]
        if any(self.words.preempt(self.program.pools[ref.base]) is not None for ref in grows):
            tail = any(
                isinstance(p := self.program.pools[ref.base].preempt, n.PreemptBy) and p.tail
                for ref in grows
            )
            where = "tail" if tail else "head"
            text = f"back to the queue’s {where}, then again"
            self._add(Step("note", "if preempted", text, "text"))
        self._block(hold.body)
        runs = self.uses.runs_in(hold.body)
        grown = {run.growing.base for run in runs if run.growing is not None}
        kept: list[Lane] = []
        text = names
        if hold.cache is not None:
            kept = [
                self._pool(held.pool) for held in hold.pools if not grown or held.pool.base in grown
            ]
            text += f"; keep {words.quantity(hold.cache)} cached"
        leased: tuple[Lane, ...] = ()
        if hold.lease is not None:
            leased = (self._pool(hold.lease.pool),)
            time = words.quantity(hold.lease.time)
            until = "until released" if time == "inf" else f"for {time}"
            text += f"; {self._name(leased[0])} stays leased {until}"
        self._add(Step("free", "free", text, "code", lanes, tuple(kept), leased))

    def _branch(self, guard: n.Expr, then: int, orelse: int) -> None:
        value = fold(guard)
        if value is not None:
            self._block(then if value != 0.0 else orelse)
            return
        if not self._tells(then) and not self._tells(orelse):
            return
        if isinstance(guard, n.Sample):
            test = f"a draw, with probability {self.words.exprs(guard.args, Moment.SESSION)}"
        else:
            test = self.words.expr(guard)
        if not self._tells(then):
            self._frame("unless", test, orelse)
            return
        self.steps.append(Step("open", "if", test, mark="if"))
        self._block(then)
        if self._tells(orelse):
            self.steps.append(Step("else", "else"))
            self._block(orelse)
        self.steps.append(Step("close"))

    def _frame(self, word: str, text: str, body: int, font: str = "code") -> None:
        self.steps.append(Step("open", word, text, font, mark=word))
        self._block(body)
        self.steps.append(Step("close", mark=word))

    def _tells(self, block: int) -> bool:
        """Whether a block has any step."""
        if block not in self._steady:
            self._steady[block] = any(
                isinstance(
                    stmt,
                    n.Run | n.Hold | n.Choose | n.End | n.Turn | n.Grow | n.Load | n.Drop
                    | n.Release | n.Join,
                )
                or any(self._tells(body) for body in bodies(stmt))
                for stmt in self.program.blocks[block]
            )  # fmt: skip
        return self._steady[block]

    # --- names ----------------------------------------------------------------------------------

    def _pool(self, ref: n.Ref) -> Family:
        return self.stations.family_of_pool[ref.base]

    def _name(self, lane: Lane) -> str:
        return lane if isinstance(lane, str) else lane.name

    def _target(self, slot: int) -> str:
        name = self.program.attrs[slot]
        targets: Sequence[Station] = list(self.uses.chosen.get(slot, {}))
        return f"{targets[0].title}[{name}]" if targets else name

    def _gateway(self, block: int, position: int) -> Lane:
        return self.words.gateway(block, position) or ROUTING
