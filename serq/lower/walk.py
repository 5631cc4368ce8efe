"""What an expression reads once everything in it is expanded."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

from serq.lower.definitions import bind
from serq.lower.scope import (
    Closure,
    HeaderBinding,
    IndexValue,
    Local,
    ScheduleLetValue,
    Scope,
    Substituted,
)
from serq.lower.tables import Tables
from serq.lower.vocabulary import AGGREGATES, FUNCTIONS
from serq.syntax import ast


@dataclass(frozen=True, slots=True)
class NameRead:
    """A name that stands for a value, with what it is bound to (None: program-wide)."""

    path: ast.Path
    local: Local | None
    scope: Scope

    @property
    def name(self) -> str:
        return self.path.parts[0].ident.name


@dataclass(frozen=True, slots=True)
class ResourceRead:
    """A pool or stage named as an argument of ``call`` (``cost`` included)."""

    path: ast.Path
    call: ast.Call
    scope: Scope


@dataclass(frozen=True, slots=True)
class CallRead:
    """A function that is called (not an expanded definition)."""

    call: ast.Call
    scope: Scope


@dataclass(frozen=True, slots=True)
class DrawRead:
    draw: ast.Draw
    scope: Scope


Read = NameRead | ResourceRead | CallRead | DrawRead


def reads(tables: Tables, closure: Closure) -> Iterator[Read]:
    """What ``closure`` reads, in the order of the text, definitions and parameters expanded."""
    stack: list[Closure | Read] = [closure]
    while stack:
        item = stack.pop()
        if not isinstance(item, Closure):
            yield item
            continue
        expr, scope = item.expr, item.scope
        tables.budget.step(expr.span)
        below: list[Closure | Read] = []
        match expr:
            case ast.Number():
                pass
            case ast.Path():
                name = expr.parts[0].ident.name
                local = scope.find(name)
                plain = len(expr.parts) == 1 and expr.parts[0].index is None
                match local:
                    case Substituted(value=value) | ScheduleLetValue(value=value) if plain:
                        below.append(value)
                    case HeaderBinding(binding=binding) if plain:
                        below.append(binding.value)
                    case _:
                        below.append(NameRead(expr, local, scope))
                        below += [Closure(p.index, scope) for p in expr.parts if p.index]
            case ast.Unary():
                below.append(Closure(expr.operand, scope))
            case ast.Binary():
                below += [Closure(expr.left, scope), Closure(expr.right, scope)]
            case ast.Conditional():
                below += [Closure(e, scope) for e in (expr.test, expr.then, expr.orelse)]
            case ast.Draw():
                below.append(DrawRead(expr, scope))
                below += [Closure(arg, scope) for arg in expr.args]
            case ast.Fold():
                inner = scope.bind({expr.var.name: IndexValue(0.0)})
                below += [Closure(expr.count, scope), Closure(expr.body, inner)]
            case ast.Call():
                below += _call(tables, expr, scope)
        stack.extend(reversed(below))


def _call(tables: Tables, call: ast.Call, scope: Scope) -> list[Closure | Read]:
    name = call.func.name
    definition = tables.definitions.get(name)
    if definition is not None:
        body = bind(definition, call, scope)
        if body is None or isinstance(definition.body, ast.Block):
            return [Closure(arg, scope) for arg in call.args]
        return [Closure(definition.body, body)]
    resource = time_resource(call, scope)
    if resource is not None and len(resource.params) == len(call.args):
        names: dict[str, Local] = {
            param.name: Substituted(Closure(arg, scope), "parameter")
            for param, arg in zip(resource.params, call.args, strict=True)
        }
        return [Closure(resource.body, scope.bind(names))]
    out: list[Closure | Read] = [CallRead(call, scope)]
    if name == "cost":
        kinds = ["resource"] * (len(call.args) - 1) + ["expr"]
    elif name == "blocksize":
        kinds = ["resource"] * len(call.args)
    elif name in AGGREGATES:
        return out
    elif name in FUNCTIONS:
        kinds = list(FUNCTIONS[name][1])
    else:
        kinds = []
    for position, arg in enumerate(call.args):
        kind = kinds[position] if position < len(kinds) else "expr"
        if kind == "expr" or not isinstance(arg, ast.Path):
            out.append(Closure(arg, scope))
            continue
        out.append(ResourceRead(arg, call, scope))
        if name == "cost":
            continue  # an index in a cost only names the family
        path: ast.Path | None = arg
        place = scope
        while path is not None:  # a reference argument is read where it was written
            out += [Closure(p.index, place) for p in path.parts if p.index]
            local = place.find(path.parts[0].ident.name)
            path = None
            if isinstance(local, Substituted) and isinstance(local.value.expr, ast.Path):
                path, place = local.value.expr, local.value.scope
    return out


def time_resource(call: ast.Call, scope: Scope) -> ast.TimeResource | None:
    """The time resource of the device a call in ``execute`` names."""
    place = scope.place
    if place.clause != "execute" or place.engine is None or place.engine.device is None:
        return None
    return place.engine.device.resources.get(call.func.name)
