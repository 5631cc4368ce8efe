"""Sides, legs, the end of a session, and loops that let time pass."""

from __future__ import annotations

from .. import nodes as n
from ..constants import fold
from ..nodes import Side
from ..walk import stmt_blocks
from .issues import Place
from .model import Model


def check(model: Model) -> None:
    """Which statement may stand where, and progress of loops."""
    _check_arrival_blocks(model)
    _check_forks_and_joins(model)
    _Context(model).block(model.program.session, None, False, None)
    _check_progress(model)


def _check_arrival_blocks(model: Model) -> None:
    for block, name in ((model.program.init, "init"), (model.program.turn, "turn")):
        for stmt, place, side in model.body(block):
            if not isinstance(stmt, (n.Set, n.Observe)):
                model.issues.add(
                    place,
                    "workload-statement",
                    f"a workload's `{name}` block only sets and observes",
                )
            elif side is Side.SERVER:
                message = f"the `{name}` block is the workload's, and this is marked the server's"
                model.issues.add(place, "ir-shape", message)


def _check_forks_and_joins(model: Model) -> None:
    forks: list[Place] = []
    joins: list[Place] = []
    for stmt, place, _ in model.statements():
        if isinstance(stmt, n.Fork):
            forks.append(place)
        elif isinstance(stmt, n.Join):
            joins.append(place)
    if forks and not joins:
        model.issues.add(
            forks[0],
            "fork-without-join",
            "the program forks a leg and joins nowhere: a session may not end while a leg runs",
            "write `join;` where the session waits for its legs",
        )
    elif joins and not forks:
        model.issues.add(
            joins[0], "join-without-fork", "the program joins and forks no leg to wait for"
        )


class _Context:
    """What stands around a statement: a leg, a hold that may be preempted, the server's hold."""

    def __init__(self, model: Model) -> None:
        self.model = model

    def block(
        self, block: int, preempting: n.Ref | None, in_leg: bool, server: n.Stmt | None
    ) -> None:
        """``server``: the innermost hold or fork of the server, or the server's statement."""
        for stmt, place, side in self.model.body(block):
            self.statement(stmt, place, side, preempting, in_leg, server)

    def statement(
        self,
        stmt: n.Stmt,
        place: Place,
        side: Side,
        preempting: n.Ref | None,
        in_leg: bool,
        server: n.Stmt | None,
    ) -> None:
        issues = self.model.issues
        if server is not None and side is Side.WORKLOAD:
            message = "a statement of the workload stands inside one of the server"
            issues.add(place, "workload-in-server", message)
        word = {n.Turn: "turn", n.End: "end", n.Fork: "fork", n.Join: "join"}.get(type(stmt))
        if in_leg and word is not None:
            issues.add(
                place,
                "in-leg",
                f"a leg may not `{word}`: it runs beside the session, which turns, ends, forks "
                "and joins",
            )
        if isinstance(stmt, n.Turn) and side is Side.SERVER:
            message = "a server may not `turn`: a turn is complete at the end of the server"
            issues.add(place, "turn-in-server", message)
        if isinstance(stmt, n.End) and side is Side.SERVER and isinstance(server, n.Hold):
            issues.add(
                place,
                "end-inside",
                "a server may not `end` the session inside a `hold`: it would end with what it "
                "was admitted with",
                "refuse the request before the hold",
            )
        if isinstance(stmt, n.Fork) and preempting is not None:
            name = self.model.pool_ref(preempting)
            issues.add(
                place,
                "fork-in-preemptible",
                f"a `fork` inside a hold that `{name}` may preempt: the hold runs again from its "
                "start and would fork a second leg",
                "fork before the hold",
            )
        if isinstance(stmt, n.Hold):
            for pool in stmt.pools:
                if preempting is None and self.model.may_preempt(pool.pool):
                    preempting = pool.pool
        if side is Side.SERVER and (server is None or isinstance(stmt, (n.Hold, n.Fork))):
            server = stmt
        if isinstance(stmt, n.Fork):
            in_leg, preempting = True, None
        for _, body in stmt_blocks(stmt):
            self.block(body, preempting, in_leg, server)


def _check_progress(model: Model) -> None:
    """Every pass through a loop's body reaches something that takes time, or ends."""
    passes = _Passes(model)
    for block in model.reachable:
        for stmt, place, _ in model.body(block):
            if isinstance(stmt, (n.Loop, n.While)) and not passes.block(stmt.body):
                word = "loop" if isinstance(stmt, n.Loop) else "while"
                model.issues.add(
                    place,
                    "no-progress",
                    f"a `{word}` lets time pass on every pass through its body, and a path "
                    "through this one does not",
                    "every path needs a `run` of work that is not constantly 0, a `hold` whose "
                    "body has one, or `end`",
                )


class _Passes:
    """Whether every path through a block lets time pass."""

    def __init__(self, model: Model) -> None:
        self.model = model
        self.known: dict[int, bool] = {}

    def block(self, block: int) -> bool:
        if block not in self.known:
            self.known[block] = any(map(self.statement, self.model.program.blocks[block]))
        return self.known[block]

    def statement(self, stmt: n.Stmt) -> bool:
        match stmt:
            case n.End():
                return True
            case n.Run(work=work):
                return fold(work) != 0.0
            case n.Hold(body=body) | n.Loop(body=body):
                return self.block(body)
            case n.Branch(then=then, orelse=orelse):
                return self.block(then) and self.block(orelse)
        return False
