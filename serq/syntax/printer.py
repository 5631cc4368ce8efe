"""A tree as text that reads back to an equal tree.

The text is plain: one declaration, item or statement a line, as few parentheses as the meaning
needs. `serq.syntax.format` is what keeps an author's layout and comments.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from typing import Any

from serq.syntax import ast

INDENT = "  "

# How tightly an expression binds; what stands inside another one binds at least as asked.
_COND, _OR, _AND, _COMPARE, _SUM, _TERM, _UNARY, _POWER, _ATOM = range(1, 10)
_BINARY = {
    "||": (_OR, _OR, _AND),
    "&&": (_AND, _AND, _COMPARE),
    **{op: (_COMPARE, _SUM, _SUM) for op in ("<", "<=", ">", ">=", "==", "!=")},
    **{op: (_SUM, _SUM, _TERM) for op in "+-"},
    **{op: (_TERM, _TERM, _UNARY) for op in "*/"},
    "^": (_POWER, _ATOM, _UNARY),
}
"""Operator → how tightly it binds, and how tightly its operands must."""


class _Line:
    """Marks in the pieces: a new line, further in or out by ``step``."""

    def __init__(self, step: int) -> None:
        self.step = step


_NEW, _IN, _OUT = _Line(0), _Line(1), _Line(-1)

Piece = str | _Line | ast.Node | tuple[ast.Node, int]
"""Text, a new line, a node, or an expression that binds at least so tightly."""

Pieces = list[Piece]


def to_text(tree: ast.Node) -> str:
    """The text of a module, or of any part of one. Works at any depth."""
    out: list[str] = []
    level = 0
    stack: list[Piece] = [tree]
    while stack:
        piece = stack.pop()
        if isinstance(piece, str):
            out.append(piece)
        elif isinstance(piece, _Line):
            level += piece.step
            out.append("\n" + INDENT * level)
        elif isinstance(piece, tuple):
            node, tightness = piece
            inner = _WRITERS[type(node)](node)
            if _tightness(node) < tightness:
                inner = ["(", *inner, ")"]
            stack.extend(reversed(inner))
        else:
            stack.extend(reversed(_WRITERS[type(piece)](piece)))
    text = "".join(out)
    return text + "\n" if isinstance(tree, ast.Module | ast.Instance) else text


def _tightness(node: ast.Node) -> int:
    if isinstance(node, ast.Binary):
        return _BINARY[node.op][0]
    if isinstance(node, ast.Unary | ast.Draw):
        return _UNARY
    return _COND if isinstance(node, ast.Conditional) else _ATOM


# --- lists and clauses --------------------------------------------------------------------------


def _separated(pieces: Iterable[Piece], by: Piece = ", ") -> Pieces:
    out: Pieces = []
    for piece in pieces:
        if out:
            out.append(by)
        out.append(piece)
    return out


def _parens(nodes: Iterable[Piece]) -> Pieces:
    return ["(", *_separated(nodes), ")"]


def _clause(word: str, value: ast.Node | None) -> Pieces:
    return [] if value is None else [f" {word} (", value, ")"]


def _after(word: str, value: Piece | None) -> Pieces:
    return [] if value is None else [f" {word} ", value]


def _size(size: ast.Node | None) -> Pieces:
    return [] if size is None else ["[", size, "]"]


def _braces(items: Sequence[Any]) -> Pieces:
    if not items:
        return ["{ }"]
    return ["{", _IN, *_separated(items, _NEW), _OUT, "}"]


def _sentence(*pieces: Piece | Pieces) -> Pieces:
    """Pieces one after the other, with a closing ``;``."""
    out: Pieces = []
    for piece in pieces:
        if isinstance(piece, list):
            out += piece
        else:
            out.append(piece)
    return [*out, ";"]


# --- expressions --------------------------------------------------------------------------------


def _number(n: ast.Number) -> Pieces:
    return [n.text]


def _path(n: ast.Path) -> Pieces:
    return _separated(n.parts, ".")


def _part(n: ast.Part) -> Pieces:
    return [n.ident, *_size(n.index)]


def _ident(n: ast.Ident) -> Pieces:
    return [n.name]


def _call(n: ast.Call) -> Pieces:
    return [n.func, *_parens(n.args)]


def _draw(n: ast.Draw) -> Pieces:
    return ["~", n.dist, *_parens(n.args)]


def _unary(n: ast.Unary) -> Pieces:
    return [n.op, (n.operand, _UNARY)]


def _binary(n: ast.Binary) -> Pieces:
    _, left, right = _BINARY[n.op]
    sign = n.op if n.op == "^" else f" {n.op} "
    return [(n.left, left), sign, (n.right, right)]


def _conditional(n: ast.Conditional) -> Pieces:
    return [(n.test, _OR), " ? ", n.then, " : ", n.orelse]


def _fold(n: ast.Fold) -> Pieces:
    count: Pieces = [n.count]
    bare = isinstance(n.count, ast.Number) or (
        isinstance(n.count, ast.Path) and len(n.count.parts) == 1 and n.count.parts[0].index is None
    )
    if not bare:
        count = ["(", n.count, ")"]
    return [n.op, " ", n.var, " in ", *count, " (", n.body, ")"]


# --- statements ---------------------------------------------------------------------------------


def _block(n: ast.Block) -> Pieces:
    items: list[Piece] = []
    for at, statement in enumerate(n.statements):
        items.append(statement)
        follows = n.statements[at + 1] if at + 1 < len(n.statements) else None
        if isinstance(statement, ast.HoldStmt) and isinstance(follows, ast.CacheStmt):
            items.append(";")  # or the statement would be the hold's clause
    if not items:
        return ["{ }"]
    out: Pieces = ["{", _IN]
    for at, item in enumerate(items):
        if at and item != ";":
            out.append(_NEW)
        out.append(item)
    return [*out, _OUT, "}"]


def _word(text: str) -> Callable[[Any], Pieces]:
    return lambda n: [text]


def _set(n: ast.SetStmt) -> Pieces:
    return _sentence(f"{n.kind} ", n.target, " = ", n.value)


def _cost_record(n: ast.CostRecordStmt) -> Pieces:
    return _sentence("Cost ", n.target, " = { ", _separated(n.fields), " }")


def _cost_field(n: ast.CostField) -> Pieces:
    return [n.resource, " : ", n.value]


def _observe(n: ast.ObserveStmt) -> Pieces:
    return _sentence("observe ", n.target, " = ", n.value)


def _taking(n: ast.Taking) -> Pieces:
    return [n.pool, " (", n.units, ")", *_clause("reserve", n.reserve)]


def _binding(n: ast.Binding) -> Pieces:
    return [n.target, " = ", n.value]


def _lease(n: ast.LeaseClause) -> Pieces:
    return ["lease ", n.pool, " (", n.time, ")"]


def _hold(n: ast.HoldStmt) -> Pieces:
    out: Pieces = ["hold ", *_separated(n.pools), *_clause("reuse", n.reuse)]
    if n.bindings:
        out += [" at admission (", *_separated(n.bindings), ")"]
    out += [" ", n.body, *_clause("cache", n.cache)]
    return out if n.lease is None else [*out, " ", n.lease]


def _pool_amount(word: str) -> Callable[[Any], Pieces]:
    return lambda n: _sentence(f"{word} ", n.pool, " (", n.amount, ")")


def _pool_only(word: str) -> Callable[[Any], Pieces]:
    return lambda n: _sentence(f"{word} ", n.pool)


def _run(n: ast.RunStmt) -> Pieces:
    out: Pieces = ["run"]
    if n.stages:
        out += [" ", *_separated(n.stages)]
    if n.mode is not None:
        out.append(f" {n.mode}")
    return _sentence(out, " (", n.work, ")", _after("growing", n.growing))


def _branch(n: ast.BranchStmt) -> Pieces:
    word = "branch with (" if n.drawn else "branch ("
    return [word, n.guard, ") ", n.then, *_after("else", n.orelse)]


def _while(n: ast.WhileStmt) -> Pieces:
    return ["while (", n.guard, ") ", n.body]


def _loop(n: ast.LoopStmt) -> Pieces:
    return ["loop ", n.body]


def _fork(n: ast.ForkStmt) -> Pieces:
    return ["fork ", n.body]


def _choose(n: ast.ChooseStmt) -> Pieces:
    return _sentence("choose ", n.var, " in ", n.count, " by ", _parens(n.keys))


def _serving(n: ast.ServingStmt) -> Pieces:
    out: Pieces = [n.form, *_size(n.index)]
    if n.stages:
        out += [" on ", *_separated(n.stages)]
    out += [" (", n.amount, ")", *_after("from", n.source)]
    return _sentence(out, [] if n.destination is None else [" ", n.destination])


def _destination(n: ast.Destination) -> Pieces:
    return ["to ", n.pool, " (", n.amount, ")"]


def _engine_run(n: ast.EngineRunStmt) -> Pieces:
    return _sentence(f"{n.mode} (", n.work, ")", _after("growing", n.growing))


def _entry_call(n: ast.EntryCallStmt) -> Pieces:
    out: Pieces = [n.queue, ".", n.verb, " ", *_parens(n.args), *_after("from", n.source)]
    return _sentence(out, [] if n.destination is None else [" ", n.destination])


def _call_stmt(n: ast.CallStmt) -> Pieces:
    return _sentence(n.func, " ", _parens(n.args))


def _mark(n: ast.MarkStmt) -> Pieces:
    return _sentence("mark ", n.target)


def _admission(n: ast.AdmissionStmt) -> Pieces:
    if not n.bindings:
        return ["at admission { }"]
    out: Pieces = ["at admission {", _IN]
    return [*out, *_separated(n.bindings, ("; ")), ";", _OUT, "}"]


def _cache(n: ast.CacheStmt) -> Pieces:
    return ["cache (", n.amount, ");"]


# --- a schedule ---------------------------------------------------------------------------------


def _assign(word: str) -> Callable[[Any], Pieces]:
    return lambda n: _sentence(f"{word} ", n.target, " = ", n.value)


def _advance(n: ast.Advance) -> Pieces:
    out: Pieces = ["advance running", *_clause("only", n.only)]
    if n.order == "by":
        out += [" by ", *_parens(n.keys)]
    elif n.order is not None:
        out.append(f" {n.order}")
    return _sentence(out, _clause("each at most", n.each_at_most))


def _admit(n: ast.Admit) -> Pieces:
    out: Pieces = ["admit waiting", *_clause("only", n.only), *_clause("while", n.gate)]
    out += _clause("each at most", n.each_at_most)
    if n.taking:
        out += [" taking ", *_separated(n.taking), *_clause("reuse", n.reuse)]
    return _sentence(out)


def _exclusive(n: ast.ExclusivePrefillItem) -> Pieces:
    return _sentence("exclusive prefill", _clause("each at most", n.each_at_most))


def _schedule_branch(n: ast.ScheduleBranch) -> Pieces:
    out: Pieces = ["branch (", n.guard, ") ", *_braces(n.then)]
    return [*out, " else ", *_braces(n.orelse)] if n.orelse else out


# --- declarations -------------------------------------------------------------------------------


def _use(n: ast.UseDecl) -> Pieces:
    return [f'use "{n.path}";']


def _args_number(n: ast.ArgsNumber) -> Pieces:
    return [f'args.number("{n.name}", ', n.default, ")"]


def _def(n: ast.DefDecl) -> Pieces:
    body: Pieces = [n.body] if isinstance(n.body, ast.Block) else ["{ ", n.body, " }"]
    return ["def ", n.target, *_parens(n.params), " ", *body]


def _pool(n: ast.PoolDecl) -> Pieces:
    head: Pieces = ["pool ", n.target, *_size(n.size), *_after("on", n.owner)]
    return [*head, " ", *_braces(n.options)]


def _value(word: str) -> Callable[[Any], Pieces]:
    return lambda n: _sentence(f"{word} ", n.value)


def _by_or(word: str, otherwise: str) -> Callable[[Any], Pieces]:
    def write(n: Any) -> Pieces:
        return _sentence(f"{word} ", ["by ", *_parens(n.keys)] if n.keys else otherwise)

    return write


def _preempt(n: ast.PreemptOption) -> Pieces:
    if n.rule != "by":
        return [f"preempt {n.rule};"]
    return _sentence("preempt by ", _parens(n.keys), _after("requeue", n.requeue))


def _spill(n: ast.SpillOption) -> Pieces:
    return _sentence("spill ", n.to, " via ", n.via, " (", n.work, ")", _clause("when", n.when))


def _stage_kind(n: ast.StageKind) -> Pieces:
    return [n.kind] if n.argument is None else [n.kind, "(", n.argument, ")"]


def _stage(n: ast.StageDecl) -> Pieces:
    return _sentence("stage ", n.target, _size(n.size), " : ", n.kind)


def _device(n: ast.DeviceDecl) -> Pieces:
    return ["device ", n.target, *_size(n.size), " ", *_braces(n.resources)]


def _time_resource(n: ast.TimeResource) -> Pieces:
    return _sentence(n.target, " ", _parens(n.params), " = ", n.body)


def _capacity(n: ast.Capacity) -> Pieces:
    return _sentence(n.target, _size(n.size), " cap ", n.value)


def _engine(n: ast.EngineDecl) -> Pieces:
    name: Pieces = [] if n.target is None else [" ", n.target]
    return ["engine", *name, *_size(n.size), " on ", n.device, " ", *_braces(n.items)]


def _schedule(n: ast.ScheduleItem) -> Pieces:
    return ["schedule ", *_braces((*n.lets, *n.body))]


def _execute(n: ast.ExecuteItem) -> Pieces:
    return ["execute (", n.value, ");"]


def _request(n: ast.RequestItem) -> Pieces:
    return ["request ", *_parens(n.params), " ", n.body]


def _arrive(n: ast.ArriveItem) -> Pieces:
    return _sentence(f"arrive {n.law}", [] if n.argument is None else ["(", n.argument, ")"])


def _trace(n: ast.TraceItem) -> Pieces:
    return [f'trace "{n.path}"' + (" ordered;" if n.ordered else ";")]


def _block_item(n: ast.BlockItem) -> Pieces:
    return [n.name, " ", n.body]


def _hidden(n: ast.HiddenItem) -> Pieces:
    return _sentence("hidden ", _separated(n.names))


def _workload(n: ast.WorkloadDecl) -> Pieces:
    return ["workload ", *_braces(n.items)]


def _server(n: ast.ServerDecl) -> Pieces:
    return ["server ", n.body]


def _serve(n: ast.ServeItem) -> Pieces:
    return _sentence("serve ", n.kind, _after("latency", n.latency))


def _nic(n: ast.NicItem) -> Pieces:
    return _sentence("nic ", n.kind)


def _entry(n: ast.EntryItem) -> Pieces:
    params: Pieces = [" ", *_parens(n.params)] if n.params else []
    return [n.verb, *params, *_after("from", n.source), " ", n.body]


def _queue(n: ast.QueueDecl) -> Pieces:
    roles: Pieces = [" : ", *_separated(n.roles)] if n.roles else []
    return ["queue ", n.target, *_size(n.size), *roles, " ", *_braces(n.items)]


def _share(n: ast.ShareDecl) -> Pieces:
    return [f"share {n.policy};"]


def _relation(n: ast.RelationDecl) -> Pieces:
    head: Pieces = [n.subject, f" {n.verb} ", n.other, *_after("latency", n.latency)]
    return _sentence(head, f" share {n.policy}")


def _claim(n: ast.ClaimDecl) -> Pieces:
    out: Pieces = ["claim ", n.target, *_clause("given", n.given), " : "]
    out += ["at end"] if n.stage is None else [f"{n.form} iteration of ", n.stage]
    return _sentence(out, " (", n.value, ")")


def _module(n: ast.Module) -> Pieces:
    items = [*n.preamble]
    out = _separated(items, _NEW)
    if n.main is None:
        return out
    main: Pieces = ["fn main() ", *_braces(n.main)]
    return [*out, _NEW, *main] if out else main


def _setting(n: ast.Setting) -> Pieces:
    return _sentence(n.target, " ", n.value)


def _instance(n: ast.Instance) -> Pieces:
    out = _separated(n.lets, _NEW)
    if not n.settings:
        return out
    settings: Pieces = ["run ", *_braces(n.settings)]
    return [*out, _NEW, *settings] if out else settings


_WRITERS: dict[type[ast.Node], Callable[[Any], Pieces]] = {
    ast.Ident: _ident,
    ast.Number: _number,
    ast.Part: _part,
    ast.Path: _path,
    ast.Call: _call,
    ast.Draw: _draw,
    ast.Unary: _unary,
    ast.Binary: _binary,
    ast.Conditional: _conditional,
    ast.Fold: _fold,
    ast.Block: _block,
    ast.TurnStmt: _word("turn;"),
    ast.EndStmt: _word("end;"),
    ast.JoinStmt: _word("join;"),
    ast.SetStmt: _set,
    ast.CostField: _cost_field,
    ast.CostRecordStmt: _cost_record,
    ast.ObserveStmt: _observe,
    ast.Taking: _taking,
    ast.Binding: _binding,
    ast.LeaseClause: _lease,
    ast.HoldStmt: _hold,
    ast.GrowStmt: _pool_amount("grow"),
    ast.LoadStmt: _pool_amount("load"),
    ast.DropStmt: _pool_only("drop"),
    ast.ReleaseStmt: _pool_only("release"),
    ast.RunStmt: _run,
    ast.BranchStmt: _branch,
    ast.WhileStmt: _while,
    ast.LoopStmt: _loop,
    ast.ForkStmt: _fork,
    ast.ChooseStmt: _choose,
    ast.Destination: _destination,
    ast.ServingStmt: _serving,
    ast.EngineRunStmt: _engine_run,
    ast.EntryCallStmt: _entry_call,
    ast.CallStmt: _call_stmt,
    ast.MarkStmt: _mark,
    ast.AdmissionStmt: _admission,
    ast.CacheStmt: _cache,
    ast.ScheduleLet: _assign("let"),
    ast.Advance: _advance,
    ast.Admit: _admit,
    ast.ExclusivePrefillItem: _exclusive,
    ast.ScheduleBranch: _schedule_branch,
    ast.ScheduleSet: _assign("set"),
    ast.UseDecl: _use,
    ast.ArgsNumber: _args_number,
    ast.LetDecl: _assign("let"),
    ast.DefDecl: _def,
    ast.CapOption: _value("cap"),
    ast.BlockOption: _value("block"),
    ast.EvictOption: _by_or("evict", "lru"),
    ast.PreemptOption: _preempt,
    ast.QueueOption: _by_or("queue", "fifo"),
    ast.ReserveOption: _word("reserve held;"),
    ast.SpillOption: _spill,
    ast.PoolDecl: _pool,
    ast.StageKind: _stage_kind,
    ast.StageDecl: _stage,
    ast.TimeResource: _time_resource,
    ast.Capacity: _capacity,
    ast.DeviceDecl: _device,
    ast.TokensItem: _value("tokens cap"),
    ast.GranuleItem: _value("granule"),
    ast.StateItem: _assign("state"),
    ast.ScheduleItem: _schedule,
    ast.ExecuteItem: _execute,
    ast.RequestItem: _request,
    ast.EngineDecl: _engine,
    ast.ArriveItem: _arrive,
    ast.TraceItem: _trace,
    ast.BlockItem: _block_item,
    ast.HiddenItem: _hidden,
    ast.WorkloadDecl: _workload,
    ast.ServerDecl: _server,
    ast.ServeItem: _serve,
    ast.NicItem: _nic,
    ast.EntryItem: _entry,
    ast.QueueDecl: _queue,
    ast.ShareDecl: _share,
    ast.RelationDecl: _relation,
    ast.GaugeDecl: _assign("gauge"),
    ast.ClaimDecl: _claim,
    ast.Module: _module,
    ast.Setting: _setting,
    ast.Instance: _instance,
}
