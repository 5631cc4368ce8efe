"""A cost is set on every path before it is read."""

from __future__ import annotations

from .. import nodes as n
from ..walk import stmt_exprs, stmt_refs
from .issues import Place
from .model import Model, parts


def check(model: Model) -> None:
    """Definite assignment of cost attributes.

    Bodies of loops and legs set nothing for what follows them: they may not run, or run on a
    copy. A hold's header and its `cache` are read with what was set before the hold, since a
    hold may be released, refused or preempted before its body has set anything.
    """
    costs = {
        slot for slot, kind in enumerate(model.program.attr_types) if isinstance(kind, n.CostType)
    }
    if costs:
        pass_ = _Assigned(model, costs)
        for root in model.roots:
            pass_.block(root, set())


class _Assigned:
    def __init__(self, model: Model, costs: set[int]) -> None:
        self.model = model
        self.costs = costs

    def read(self, expr: n.Expr, place: Place, done: set[int]) -> None:
        for node, at in parts(expr, place):
            if isinstance(node, n.Attr) and node.slot in self.costs and node.slot not in done:
                self.model.issues.add(
                    at,
                    "cost-unset",
                    f"the cost `{self.model.attr(node.slot)}` is read, and not every path to "
                    "here sets it",
                    "set it above, on every path",
                )

    def block(self, block: int, done: set[int]) -> set[int]:
        """The cost slots that are set after a block."""
        for stmt, place, _ in self.model.body(block):
            done = self.statement(stmt, place, done)
        return done

    def statement(self, stmt: n.Stmt, place: Place, done: set[int]) -> set[int]:
        for path, ref in stmt_refs(stmt):
            if ref.index is not None:
                at = place.under(path, ref).under(".index", ref.index)
                self.read(ref.index, at, done)
        for path, expr in stmt_exprs(stmt):
            self.read(expr, place.under(path, expr), done)
        match stmt:
            case n.Set(slot=slot) if slot in self.costs:
                return done | {slot}
            case n.Hold(body=body):
                return self.block(body, done)
            case n.Branch(then=then, orelse=orelse):
                return self.block(then, done) & self.block(orelse, done)
            case n.Loop(body=body) | n.While(body=body) | n.Fork(body=body):
                self.block(body, done)
        return done
