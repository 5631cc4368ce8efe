"""The use of a definition: its arguments checked and bound to its parameters."""

from __future__ import annotations

from serq.diagnostics import Span
from serq.lower.definitions import bind
from serq.lower.faults import Faults
from serq.lower.scope import Closure, Scope
from serq.lower.tables import Definition, Tables
from serq.lower.tree import subtree, targets
from serq.lower.vocabulary import STATE_QUERIES
from serq.lower.walk import CallRead, DrawRead, NameRead, reads
from serq.syntax import ast


def enter(
    tables: Tables,
    definition: Definition,
    call: ast.Call | ast.CallStmt,
    scope: Scope,
    faults: Faults,
) -> Scope | None:
    """The scope of the body of ``definition`` used by ``call``; None after a reported fault."""
    if not visible(definition, call.func.span):
        faults.error(
            "used-before-defined",
            f"`{definition.name}` is used above its definition",
            call.func.span,
            help="a definition stands above its uses",
            notes=((f"`{definition.name}` is defined here", definition.decl.target.span),),
            frames=scope.frames,
        )
        return None
    body = bind(definition, call, scope)
    if body is None:
        faults.error(
            "argument-count",
            f"`{definition.name}` takes {len(definition.params)} argument(s), not {len(call.args)}",
            call.func.span,
            notes=((f"`{definition.name}` is defined here", definition.decl.target.span),),
            frames=scope.frames,
        )
        return None
    assigned = assigned_names(tables, definition.body)
    for param, arg in zip(definition.params, call.args, strict=True):
        _check_argument(tables, definition, param, Closure(arg, scope), assigned, faults)
    return body


def visible(definition: Definition, use: Span) -> bool:
    """Whether a use stands below the definition, as far as both are in one text."""
    return definition.place.source is not use.source or definition.place.start < use.start


def _check_argument(
    tables: Tables,
    definition: Definition,
    param: str,
    arg: Closure,
    assigned: dict[str, Span],
    faults: Faults,
) -> None:
    name = definition.name
    statements = isinstance(definition.body, ast.Block)
    draws = False
    for read in reads(tables, arg):
        match read:
            case DrawRead():
                draws = True
            case CallRead(call=query) if statements and query.func.name in STATE_QUERIES:
                _changes(name, param, f"{query.func.name}(…)", arg, faults)
            case NameRead(local=None) if statements and read.name == "now":
                _changes(name, param, "now", arg, faults)
            case NameRead(local=None) if read.name in assigned:
                faults.error(
                    "argument-assigned",
                    f"the argument for `{param}` reads `{read.name}`, which `{name}` assigns: the"
                    " body would read its own",
                    arg.span,
                    help="`set` the value under another name and pass that",
                    notes=((f"`{name}` assigns `{read.name}` here", assigned[read.name]),),
                    frames=arg.scope.frames,
                )
    if draws and (count := _times_read(definition, param)) > 1:
        faults.error(
            "argument-draws",
            f"the argument for `{param}` draws, and `{name}` reads `{param}` {count} times: it"
            f" would draw {count} times",
            arg.span,
            help="`set` the draw first and pass the name",
            frames=arg.scope.frames,
        )


def _changes(name: str, param: str, read: str, arg: Closure, faults: Faults) -> None:
    faults.error(
        "argument-changes",
        f"the argument for `{param}` reads `{read}`, which changes while the statements of"
        f" `{name}` run",
        arg.span,
        help=f"`set` the value first (`set t = {read};`) and pass the name",
        frames=arg.scope.frames,
    )


def _times_read(definition: Definition, param: str) -> int:
    return sum(
        isinstance(node, ast.Path) and node.parts[0].ident.name == param
        for node in subtree(definition.body)
    )


def assigned_names(tables: Tables, body: ast.Expr | ast.Block) -> dict[str, Span]:
    """The attributes that statements assign, those of the definitions they use included."""
    names: dict[str, Span] = {}
    seen: set[str] = set()
    todo: list[ast.Expr | ast.Block] = [body] if isinstance(body, ast.Block) else []
    while todo:
        for node in subtree(todo.pop()):
            for ident in targets(node):
                names.setdefault(ident.name, ident.span)
            if isinstance(node, ast.CallStmt) and node.func.name not in seen:
                seen.add(node.func.name)
                used = tables.definitions.get(node.func.name)
                if used is not None:
                    todo.append(used.body)
    return names
