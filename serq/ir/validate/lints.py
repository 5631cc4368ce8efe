"""Programs that are well formed and almost certainly not what their author meant.

Three lints of the language, which are errors: a header that is written in terms of state read
before the session queued, `cached` where it is always 0, and a constant guard that is no test
(`amounts`). The first two follow a program from top to bottom: a body of a branch, a loop or a
leg sees what was set above it, and leaves nothing to what follows it.
"""

from __future__ import annotations

from dataclasses import dataclass

from .. import nodes as n
from ..functions import ARITHMETIC
from ..walk import expressions, stmt_blocks, stmt_exprs
from .issues import Place
from .model import Model, parts


def check(model: Model) -> None:
    """The two lints of headers and of `cached`."""
    stale = _Stale(model)
    stale.block(model.program.session, {})
    cached = _Cached(model)
    cached.block(model.program.session, None)


# --- a header written in terms of state read too early --------------------------------------------


class _Stale:
    """Follows which attribute was set directly from the deployment's state, and from what."""

    def __init__(self, model: Model) -> None:
        self.model = model

    def block(self, block: int, stale: dict[int, n.Call]) -> None:
        for stmt, place, _ in self.model.body(block):
            match stmt:
                case n.Set(slot=slot, expr=expr):
                    read = _state_read(expr)
                    if read is not None:
                        stale[slot] = read
                    else:
                        stale.pop(slot, None)
                case n.Hold(body=body):
                    self.header(stmt, place, stale)
                    self.block(body, {})
                case _:
                    for _, body in stmt_blocks(stmt):
                        self.block(body, dict(stale))

    def header(self, hold: n.Hold, place: Place, stale: dict[int, n.Call]) -> None:
        for path, expr in stmt_exprs(hold):
            if path == ".Hold.lease[1]":
                continue
            for node, at in parts(expr, place.under(path, expr)):
                if isinstance(node, n.Attr) and node.slot in stale:
                    name = self.model.attr(node.slot)
                    self.model.issues.add(
                        at,
                        "stale-header",
                        f"`{name}` is set from {self.model.show(stale[node.slot])}, as it is when "
                        f"the session gets to the `set`; a hold on `{_name(self.model, hold)}` is "
                        "written in terms of it and admitted later, when that has changed",
                        "bind it in the hold's `at admission (…)`, which is read at admission",
                    )


def _state_read(expr: n.Expr) -> n.Call | None:
    """The first read of live state in an expression."""
    for e in expressions(expr):
        if isinstance(e, n.Call) and e.fun not in ARITHMETIC:
            return e
    return None


def _name(model: Model, hold: n.Hold) -> str:
    return model.pool_ref(hold.pools[0].pool) if hold.pools else "nothing"


# --- `cached` where it is always 0 ----------------------------------------------------------------


@dataclass(slots=True)
class _Body:
    """The hold whose body is being followed, and the last hold that ended inside it."""

    hold: n.Hold
    ended: n.Hold | None = None


class _Cached:
    def __init__(self, model: Model) -> None:
        self.model = model

    def block(self, block: int, body: _Body | None) -> None:
        for stmt, place, _ in self.model.body(block):
            self.statement(stmt, place, body)

    def statement(self, stmt: n.Stmt, place: Place, body: _Body | None) -> None:
        issues = self.model.issues
        if isinstance(stmt, (n.Loop, n.While)) and body is not None:
            body.ended = body.ended or self.hold_in(stmt.body)
        if body is not None:
            self.reads(stmt, place, body)
        match stmt:
            case n.Hold(reuse=reuse, cache=cache, body=inner):
                if reuse is not None and cache is None:
                    issues.add(
                        place.under(".Hold.reuse", reuse),
                        "no-cache",
                        f"`reuse` on a hold on `{_name(self.model, stmt)}` that has no `cache`: "
                        "such a hold consumes nothing of the session's cached prefix",
                        "`cache (0)` consumes the prefix and keeps nothing",
                    )
                self.block(inner, _Body(stmt))
                if body is not None:
                    body.ended = stmt
            case n.Fork(body=inner):
                self.block(inner, None)
            case n.Branch(then=then, orelse=orelse) if body is not None:
                arms = [_Body(body.hold, body.ended), _Body(body.hold, body.ended)]
                self.block(then, arms[0])
                self.block(orelse, arms[1])
                body.ended = arms[0].ended or arms[1].ended
            case _:
                for _, inner in stmt_blocks(stmt):
                    self.block(inner, body)

    def hold_in(self, block: int) -> n.Hold | None:
        """A hold that a block may execute, legs left out."""
        stack = [block]
        while stack:
            for stmt in self.model.program.blocks[stack.pop()]:
                if isinstance(stmt, n.Hold):
                    return stmt
                if not isinstance(stmt, n.Fork):
                    stack.extend(b for _, b in stmt_blocks(stmt))
        return None

    def reads(self, stmt: n.Stmt, place: Place, body: _Body) -> None:
        slot = self.model.program.slot_cached
        for path, expr in stmt_exprs(stmt):
            for node, at in parts(expr, place.under(path, expr)):
                if isinstance(node, n.Attr) and node.slot == slot:
                    self.refuse(at, body)

    def refuse(self, place: Place, body: _Body) -> None:
        name = self.model.attr(self.model.program.slot_cached)
        held = _name(self.model, body.hold)
        if body.hold.cache is None:
            self.model.issues.add(
                place,
                "no-cache",
                f"`{name}` is read in a hold on `{held}` that has no `cache`: such a hold "
                f"consumes nothing of the session's cached prefix, and `{name}` is 0 in it",
                "`cache (0)` consumes the prefix and keeps nothing",
            )
        elif body.ended is not None:
            inner = _name(self.model, body.ended)
            self.model.issues.add(
                place,
                "cached-of-inner",
                f"`{name}` is read in a hold on `{held}` after a hold on `{inner}` inside it: "
                f"every admission sets `{name}`, and here it is the inner one's",
                f"set an attribute to `{name}` before the inner hold",
            )
