"""``def``: names for expressions and for statements, put in where they are used."""

from __future__ import annotations

from serq.lower.faults import Frame
from serq.lower.scope import Closure, Local, Scope, Substituted
from serq.lower.tables import Definition
from serq.syntax import ast


def bind(definition: Definition, call: ast.Call | ast.CallStmt, scope: Scope) -> Scope | None:
    """The scope of the body of ``definition`` used by ``call``; None if the arguments are not as
    many as the parameters. The pure part of `uses.enter`: nothing is checked or reported."""
    if len(call.args) != len(definition.params):
        return None
    names: dict[str, Local] = {
        param: Substituted(Closure(arg, scope), "parameter")
        for param, arg in zip(definition.params, call.args, strict=True)
    }
    return scope.enter(names, Frame(f"`{definition.name}` is used here", call.span))
