"""Grammar rules to tree nodes: one method per rule, called as the parser reduces it."""

from __future__ import annotations

import re
from dataclasses import dataclass, replace
from itertools import pairwise
from typing import Any

from lark import Token, Transformer

from serq.diagnostics import Diagnostic, Source, Span
from serq.syntax import ast

BAD = object()
"""Stands for a piece of text that was skipped; lists leave it out."""

FOLDS = ("max", "min", "sum")

Children = list[Any]
"""What a rule was made of: tokens, nodes, None for an absent optional part."""


@dataclass(frozen=True, slots=True)
class Main(ast.Node):
    """``fn main () { … }`` before it becomes a part of the module."""

    items: tuple[ast.Item, ...]
    close: Span


def start_of(thing: Any) -> int:
    """Where a token or a node starts."""
    if isinstance(thing, Token):
        return thing.start_pos or 0
    span: Span = thing.span
    return span.start


def end_of(thing: Any) -> int:
    """Where a token or a node ends."""
    if isinstance(thing, Token):
        return thing.end_pos or 0
    span: Span = thing.span
    return span.end


class Builder(Transformer[Token, Any]):
    """Makes the nodes of one source. Faults that are the tree's are added to ``diagnostics``.

    ``broken`` holds where constructs start whose header could not be read: their bodies are
    parsed for the errors in them, and the nodes are left out of the tree.
    """

    def __init__(self, source: Source) -> None:
        super().__init__()
        self.reset(source)

    def reset(self, source: Source) -> None:
        """Begin with a text."""
        self.source = source
        self.diagnostics: list[Diagnostic] = []
        self.broken: set[int] = set()
        self.before: dict[int, int] = {}
        """Where a ``;`` starts → where the token before it ends."""

    # --- helpers --------------------------------------------------------------------------------

    def span(self, c: Children) -> Span:
        """From the first to the last thing of a rule, without a closing ``;``."""
        last = next(x for x in reversed(c) if x is not None)
        if isinstance(last, Token) and last == ";":
            return Span(self.source, start_of(c[0]), self.before[start_of(last)])
        return Span(self.source, start_of(c[0]), end_of(last))

    def between(self, first: Any, last: Any) -> Span:
        return Span(self.source, start_of(first), end_of(last))

    def ident(self, token: Token) -> ast.Ident:
        return ast.Ident(self.between(token, token), str(token))

    def fault(
        self,
        code: str,
        message: str,
        span: Span,
        help: str | None = None,
        *notes: tuple[str, Span | None],
    ) -> None:
        self.diagnostics.append(Diagnostic(code, message, span, help=help, notes=notes))

    def nodes(self, c: Children) -> tuple[Any, ...]:
        """The nodes of a list: no separators, nothing that was skipped."""
        broken = self.broken
        return tuple(
            n for n in c if isinstance(n, ast.Node) and not (broken and n.span.start in broken)
        )

    # --- files ----------------------------------------------------------------------------------

    def module(self, c: Children) -> ast.Module:
        whole = Span(self.source, 0, len(self.source.text))
        preamble: list[Any] = []
        main: Main | None = None
        for item in c[0]:
            if isinstance(item, Main) and main is None:
                main = item
            elif isinstance(item, Main):
                self.fault(
                    "duplicate-main",
                    "a program has exactly one `fn main ()`",
                    item.span,
                    "reusable parts are definitions, `def NAME (…) { … }`, before it or in it",
                    ("the first one is here", main.span if main is not None else None),
                )
            elif main is not None:
                self.fault(
                    "after-main",
                    "nothing stands after `fn main ()`",
                    item.span,
                    "declarations stand inside its braces; imports, definitions and constants "
                    "may stand before it",
                    ("`fn main ()` ends here", main.close),
                )
            else:
                preamble.append(item)
        return ast.Module(whole, tuple(preamble), main.items if main is not None else None)

    def stmts(self, c: Children) -> tuple[ast.Stmt, ...]:
        for before, after in pairwise(c):
            if isinstance(after, ast.CacheStmt) and isinstance(before, ast.HoldStmt):
                # Directly after a hold without `;`, so it was meant as the hold's own clause.
                between = self.source.text[before.span.end : after.span.start]
                if before.lease is not None and ";" not in between:
                    self.fault(
                        "clause-order",
                        "`cache` stands before `lease`",
                        after.span,
                        "the clauses of a `hold` stand in the order: the pools with their "
                        "`reserve`, `reuse`, `at admission`, the block, `cache`, `lease`",
                    )
        return self.nodes(c)

    top_items = items = pool_options = device_items = engine_items = nodes
    workload_items = queue_items = schedule_lets = schedule_stmts = nodes
    cost_fields = takings = bindings = binding_stmts = exprs = stages = nodes
    setting_items = instance_items = nodes

    def main(self, c: Children) -> Main:
        return Main(self.between(c[0], c[1]), c[5], self.between(c[6], c[6]))

    def bad(self, c: Children) -> object:
        return BAD

    def expression(self, c: Children) -> ast.Expr:
        expr: ast.Expr = c[0]
        return expr

    def instance(self, c: Children) -> ast.Instance:
        whole = Span(self.source, 0, len(self.source.text))
        lets: list[ast.LetDecl] = []
        settings: tuple[ast.Setting, ...] | None = None
        for item in c[0]:
            if isinstance(item, ast.LetDecl):
                lets.append(item)
                if isinstance(item.value, ast.ArgsNumber):
                    self.fault(
                        "wrong-place",
                        "an instance file gives values to inputs, and declares none",
                        item.value.span,
                        "write `let NAME = expression;`",
                    )
            elif settings is None:
                settings = item.settings
            else:
                self.fault(
                    "duplicate-settings",
                    "an instance file has one `run { … }`",
                    item.span,
                    "put all settings into the first one",
                )
        return ast.Instance(whole, tuple(lets), settings or ())

    def settings(self, c: Children) -> ast.Instance:
        seen: set[str] = set()
        for setting in c[2]:
            if setting.target.name in seen:
                self.fault(
                    "duplicate-settings",
                    f"`{setting.target.name}` is given twice",
                    setting.span,
                )
            seen.add(setting.target.name)
        return ast.Instance(self.between(c[0], c[0]), (), c[2])

    def setting_name(self, c: Children) -> ast.Ident:
        return self.ident(c[0])

    def setting(self, c: Children) -> ast.Setting:
        return ast.Setting(self.span(c), c[0], c[1])

    # --- declarations ---------------------------------------------------------------------------

    def use_decl(self, c: Children) -> ast.UseDecl:
        return ast.UseDecl(self.span(c), str(c[1])[1:-1])

    def let_decl(self, c: Children) -> ast.LetDecl:
        return ast.LetDecl(self.span(c), self.ident(c[1]), c[3])

    def args_number(self, c: Children) -> ast.ArgsNumber:
        if c[0] != "args" or c[2] != "number":
            self.fault(
                "unknown-function",
                f"`{c[0]}.{c[2]}` is no function",
                self.between(c[0], c[2]),
                'an input is declared with `args.number ("name", default)`',
            )
        name = str(c[4])[1:-1]
        if re.fullmatch(r"[^\W\d]\w*", name) is None:
            self.fault(
                "bad-argument-name",
                f"`{name}` cannot name an argument of the program",
                self.between(c[4], c[4]),
                "use letters, digits and `_`, as in a name: it is written `--name value`",
            )
        return ast.ArgsNumber(self.span(c), name, c[6])

    def def_decl(self, c: Children) -> ast.DefDecl:
        return ast.DefDecl(self.span(c), self.ident(c[1]), c[3], c[5])

    def expr_body(self, c: Children) -> ast.Expr:
        expr: ast.Expr = c[1]
        return expr

    def pool_decl(self, c: Children) -> ast.PoolDecl:
        return ast.PoolDecl(self.span(c), self.ident(c[1]), c[2], c[3], c[5])

    def size(self, c: Children) -> ast.Expr:
        expr: ast.Expr = c[1]
        return expr

    def on_owner(self, c: Children) -> ast.Path:
        path: ast.Path = c[1]
        return path

    def cap_option(self, c: Children) -> ast.CapOption:
        return ast.CapOption(self.span(c), c[1])

    def block_option(self, c: Children) -> ast.BlockOption:
        return ast.BlockOption(self.span(c), c[1])

    def evict_option(self, c: Children) -> ast.EvictOption:
        return ast.EvictOption(self.span(c), _keys(c[1]))

    def preempt_option(self, c: Children) -> ast.PreemptOption:
        keys = _keys(c[1])
        rule = "by" if keys else str(c[1])
        return ast.PreemptOption(self.span(c), rule, keys, c[2] if keys else None)

    def requeue(self, c: Children) -> str:
        return str(c[1])

    def queue_option(self, c: Children) -> ast.QueueOption:
        return ast.QueueOption(self.span(c), _keys(c[1]))

    def reserve_option(self, c: Children) -> ast.ReserveOption:
        return ast.ReserveOption(self.span(c))

    def spill_option(self, c: Children) -> ast.SpillOption:
        return ast.SpillOption(self.span(c), c[1], c[3], c[5], c[9])

    def by_keys(self, c: Children) -> tuple[ast.Expr, ...]:
        keys: tuple[ast.Expr, ...] = c[2]
        return keys

    def stage_decl(self, c: Children) -> ast.StageDecl:
        return ast.StageDecl(self.span(c), self.ident(c[1]), c[2], c[4])

    def stage_kind(self, c: Children) -> ast.StageKind:
        argument = c[1] if len(c) > 1 else None
        last = argument[1] if argument is not None else c[0]
        return ast.StageKind(
            self.between(c[0], last), str(c[0]), argument[0] if argument is not None else None
        )

    def parens(self, c: Children) -> tuple[ast.Expr, Token]:
        return c[1], c[2]

    def device_decl(self, c: Children) -> ast.DeviceDecl:
        return ast.DeviceDecl(self.span(c), self.ident(c[1]), c[2], c[4])

    def time_resource(self, c: Children) -> ast.TimeResource:
        return ast.TimeResource(self.span(c), self.ident(c[0]), c[2], c[5])

    def capacity(self, c: Children) -> ast.Capacity:
        return ast.Capacity(self.span(c), self.ident(c[0]), c[1], c[3])

    def engine_decl(self, c: Children) -> ast.EngineDecl:
        name = None if c[1] is None else self.ident(c[1])
        return ast.EngineDecl(self.span(c), name, c[2], self.ident(c[4]), c[6])

    def tokens_item(self, c: Children) -> ast.TokensItem:
        return ast.TokensItem(self.span(c), c[2])

    def granule_item(self, c: Children) -> ast.GranuleItem:
        return ast.GranuleItem(self.span(c), c[1])

    def state_item(self, c: Children) -> ast.StateItem:
        return ast.StateItem(self.span(c), self.ident(c[1]), c[3])

    def schedule_item(self, c: Children) -> ast.ScheduleItem:
        return ast.ScheduleItem(self.span(c), c[2], c[3])

    def execute_item(self, c: Children) -> ast.ExecuteItem:
        return ast.ExecuteItem(self.span(c), c[2])

    def request_item(self, c: Children) -> ast.RequestItem:
        return ast.RequestItem(self.span(c), c[2], c[4])

    # --- an engine's schedule -------------------------------------------------------------------

    def schedule_let(self, c: Children) -> ast.ScheduleLet:
        return ast.ScheduleLet(self.span(c), self.ident(c[1]), c[3])

    def schedule_block(self, c: Children) -> tuple[tuple[ast.ScheduleStmt, ...], Token]:
        return c[1], c[2]

    def advance(self, c: Children) -> ast.Advance:
        order, keys = c[3] if c[3] is not None else (None, ())
        return ast.Advance(self.span(c), c[2], order, keys, c[4])

    def order(self, c: Children) -> tuple[str, tuple[ast.Expr, ...]]:
        if isinstance(c[0], tuple):
            return "by", c[0]
        return " ".join(c), ()

    def admit(self, c: Children) -> ast.Admit:
        taking, reuse = c[5] if c[5] is not None else ((), None)
        return ast.Admit(self.span(c), c[2], c[3], c[4], taking, reuse)

    def taking_list(self, c: Children) -> tuple[tuple[ast.Taking, ...], ast.Expr | None]:
        return c[1], c[2]

    def exclusive_prefill(self, c: Children) -> ast.ExclusivePrefillItem:
        return ast.ExclusivePrefillItem(self.span(c), c[2])

    def schedule_branch(self, c: Children) -> ast.ScheduleBranch:
        then, last = c[4]
        orelse: tuple[ast.ScheduleStmt, ...] = ()
        if c[5] is not None:
            orelse, last = c[5]
        return ast.ScheduleBranch(self.between(c[0], last), c[2], then, orelse)

    def schedule_else(self, c: Children) -> tuple[tuple[ast.ScheduleStmt, ...], Token]:
        block: tuple[tuple[ast.ScheduleStmt, ...], Token] = c[1]
        return block

    def schedule_set(self, c: Children) -> ast.ScheduleSet:
        return ast.ScheduleSet(self.span(c), self.ident(c[1]), c[3])

    def only(self, c: Children) -> ast.Expr:
        expr: ast.Expr = c[2]
        return expr

    gate = given = reuse = only

    def each_at_most(self, c: Children) -> ast.Expr:
        expr: ast.Expr = c[4]
        return expr

    def taking(self, c: Children) -> ast.Taking:
        reserve, last = c[4] if c[4] is not None else (None, c[3])
        return ast.Taking(self.between(c[0], last), c[0], c[2], reserve)

    def reserve(self, c: Children) -> tuple[ast.Expr, Token]:
        return c[2], c[3]

    # --- workload, server, queues ---------------------------------------------------------------

    def workload_decl(self, c: Children) -> ast.WorkloadDecl:
        return ast.WorkloadDecl(self.span(c), c[2])

    def arrive_item(self, c: Children) -> ast.ArriveItem:
        return ast.ArriveItem(self.span(c), str(c[1]), c[3] if len(c) > 3 else None)

    def law(self, c: Children) -> Token:
        token: Token = c[0]
        return token

    block_name = mode = relation_verb = policy = law

    def trace_item(self, c: Children) -> ast.TraceItem:
        return ast.TraceItem(self.span(c), str(c[1])[1:-1], c[2] is not None)

    def block_item(self, c: Children) -> ast.BlockItem:
        return ast.BlockItem(self.span(c), str(c[0]), c[1])

    def hidden_item(self, c: Children) -> ast.HiddenItem:
        return ast.HiddenItem(self.span(c), c[1])

    def server_decl(self, c: Children) -> ast.ServerDecl:
        return ast.ServerDecl(self.span(c), c[1])

    def queue_decl(self, c: Children) -> ast.QueueDecl:
        return ast.QueueDecl(self.span(c), self.ident(c[1]), c[2], c[3] or (), c[5])

    def roles(self, c: Children) -> tuple[ast.Ident, ...]:
        names: tuple[ast.Ident, ...] = c[1]
        return names

    def serve_item(self, c: Children) -> ast.ServeItem:
        return ast.ServeItem(self.span(c), c[1], c[2])

    def latency(self, c: Children) -> ast.Expr:
        expr: ast.Expr = c[1]
        return expr

    def nic_item(self, c: Children) -> ast.NicItem:
        return ast.NicItem(self.span(c), c[1])

    def entry_item(self, c: Children) -> ast.EntryItem:
        return ast.EntryItem(self.span(c), self.ident(c[0]), c[1] or (), c[2], c[3])

    def params(self, c: Children) -> tuple[ast.Ident, ...]:
        names: tuple[ast.Ident, ...] = c[1]
        return names

    def from_name(self, c: Children) -> ast.Ident:
        return self.ident(c[1])

    def share_decl(self, c: Children) -> ast.ShareDecl:
        return ast.ShareDecl(self.span(c), str(c[1]))

    def relation_decl(self, c: Children) -> ast.RelationDecl:
        return ast.RelationDecl(
            self.span(c), self.ident(c[0]), str(c[1]), self.ident(c[2]), c[3], str(c[5])
        )

    def gauge_decl(self, c: Children) -> ast.GaugeDecl:
        return ast.GaugeDecl(self.span(c), self.ident(c[1]), c[3])

    def claim_decl(self, c: Children) -> ast.ClaimDecl:
        form, stage = c[4]
        return ast.ClaimDecl(self.span(c), self.ident(c[1]), c[2], form, stage, c[6])

    def claim_form(self, c: Children) -> tuple[str, ast.Path | None]:
        return ("end", None) if c[0] == "at" else (str(c[0]), c[3])

    # --- statements -----------------------------------------------------------------------------

    def block(self, c: Children) -> ast.Block:
        return ast.Block(self.span(c), c[1])

    def turn_stmt(self, c: Children) -> ast.TurnStmt:
        return ast.TurnStmt(self.span(c))

    def end_stmt(self, c: Children) -> ast.EndStmt:
        return ast.EndStmt(self.span(c))

    def join_stmt(self, c: Children) -> ast.JoinStmt:
        return ast.JoinStmt(self.span(c))

    def set_stmt(self, c: Children) -> ast.SetStmt:
        return ast.SetStmt(self.span(c), str(c[0]), self.ident(c[1]), c[3])

    def cost_record(self, c: Children) -> ast.CostRecordStmt:
        return ast.CostRecordStmt(self.span(c), self.ident(c[1]), c[4])

    def cost_field(self, c: Children) -> ast.CostField:
        return ast.CostField(self.span(c), c[0], c[2])

    def observe_stmt(self, c: Children) -> ast.ObserveStmt:
        return ast.ObserveStmt(self.span(c), self.ident(c[1]), c[3])

    def hold_stmt(self, c: Children) -> ast.HoldStmt:
        _, pools, reuse, bindings, body, cache, lease, _ = c
        last = lease or (cache[1] if cache else body)
        return ast.HoldStmt(
            self.between(c[0], last),
            pools,
            reuse,
            bindings or (),
            body,
            cache[0] if cache else None,
            lease,
        )

    def at_admission(self, c: Children) -> tuple[ast.Binding, ...]:
        bindings: tuple[ast.Binding, ...] = c[3]
        return bindings

    def binding(self, c: Children) -> ast.Binding:
        return ast.Binding(self.span(c), self.ident(c[0]), c[2])

    def cache(self, c: Children) -> tuple[ast.Expr, Token]:
        return c[2], c[3]

    def lease(self, c: Children) -> ast.LeaseClause:
        return ast.LeaseClause(self.span(c), c[1], c[3])

    def grow_stmt(self, c: Children) -> ast.GrowStmt:
        return ast.GrowStmt(self.span(c), c[1], c[3])

    def load_stmt(self, c: Children) -> ast.LoadStmt:
        return ast.LoadStmt(self.span(c), c[1], c[3])

    def drop_stmt(self, c: Children) -> ast.DropStmt:
        return ast.DropStmt(self.span(c), c[1])

    def release_stmt(self, c: Children) -> ast.ReleaseStmt:
        return ast.ReleaseStmt(self.span(c), c[1])

    def run_stmt(self, c: Children) -> ast.RunStmt:
        mode = str(c[2]) if c[2] in ("prefill", "decode") else None
        open_at = next(i for i, x in enumerate(c) if isinstance(x, Token) and x == "(")
        growing = c[open_at + 3] if isinstance(c[open_at + 3], ast.Path) else None
        return ast.RunStmt(self.span(c), c[1] or (), mode, c[open_at + 1], growing)

    def growing(self, c: Children) -> ast.Path:
        path: ast.Path = c[1]
        return path

    def branch_stmt(self, c: Children) -> ast.BranchStmt:
        return ast.BranchStmt(self.span(c), c[3], c[1] is not None, c[5], c[6])

    def else_block(self, c: Children) -> ast.Block:
        block: ast.Block = c[1]
        return block

    def while_stmt(self, c: Children) -> ast.WhileStmt:
        return ast.WhileStmt(self.span(c), c[2], c[4])

    def loop_stmt(self, c: Children) -> ast.LoopStmt:
        return ast.LoopStmt(self.span(c), c[1])

    def fork_stmt(self, c: Children) -> ast.ForkStmt:
        return ast.ForkStmt(self.span(c), c[1])

    def choose_stmt(self, c: Children) -> ast.ChooseStmt:
        return ast.ChooseStmt(self.span(c), self.ident(c[1]), c[3], c[4])

    def transfer_stmt(self, c: Children) -> ast.ServingStmt:
        index, stages = c[1] or (None, ())
        return ast.ServingStmt(self.span(c), "transfer", index, stages, c[2], c[4], c[5])

    def tool_stmt(self, c: Children) -> ast.ServingStmt:
        index, stages = c[1] or (None, ())
        return ast.ServingStmt(self.span(c), "tool", index, stages, c[2], None, None)

    def where(self, c: Children) -> tuple[ast.Expr | None, tuple[ast.Path, ...]]:
        return (c[0], ()) if len(c) == 1 else (None, c[1])

    def destination(self, c: Children) -> ast.Destination:
        return ast.Destination(self.span(c), c[1], c[3])

    def engine_run_stmt(self, c: Children) -> ast.EngineRunStmt:
        return ast.EngineRunStmt(self.span(c), str(c[0]), c[2], c[4])

    def entry_call(self, c: Children) -> ast.EntryCallStmt:
        return ast.EntryCallStmt(self.span(c), c[0], self.ident(c[2]), c[4], c[6], c[7])

    def from_part(self, c: Children) -> ast.Part:
        part: ast.Part = c[1]
        return part

    def call_stmt(self, c: Children) -> ast.CallStmt:
        return ast.CallStmt(self.span(c), self.ident(c[0]), c[2])

    def mark_stmt(self, c: Children) -> ast.MarkStmt:
        return ast.MarkStmt(self.span(c), self.ident(c[1]))

    def admission_stmt(self, c: Children) -> ast.AdmissionStmt:
        return ast.AdmissionStmt(self.span(c), c[3])

    def cache_stmt(self, c: Children) -> ast.CacheStmt:
        return ast.CacheStmt(self.span(c), c[2])

    # --- expressions ----------------------------------------------------------------------------

    def conditional(self, c: Children) -> ast.Conditional:
        return ast.Conditional(self.between(c[0], c[4]), c[0], c[2], c[4])

    def binary(self, c: Children) -> ast.Binary:
        return ast.Binary(self.between(c[0], c[2]), str(c[1]), c[0], c[2])

    def negation(self, c: Children) -> ast.Unary:
        return ast.Unary(self.between(c[0], c[1]), str(c[0]), c[1])

    def draw(self, c: Children) -> ast.Draw:
        return ast.Draw(self.between(c[0], c[4]), self.ident(c[1]), c[3])

    def number(self, c: Children) -> ast.Number:
        text = str(c[0])
        return ast.Number(self.between(c[0], c[0]), float(text.replace("_", "")), text)

    def group(self, c: Children) -> ast.Expr:
        # The node's span takes the parentheses in, so that `(a + b) * c` starts at the first.
        node: ast.Expr = replace(c[1], span=self.between(c[0], c[2]))
        return node

    def call(self, c: Children) -> ast.Call:
        return ast.Call(self.between(c[0], c[3]), self.ident(c[0]), c[2])

    def fold(self, c: Children) -> ast.Fold:
        op = str(c[0])
        span = self.between(c[0], c[6])
        if op not in FOLDS:
            self.fault(
                "unknown-aggregate",
                f"`{op}` is no aggregate over an index",
                self.between(c[0], c[0]),
                "an aggregate is `max j in n (…)`, `min j in n (…)` or `sum j in n (…)`",
            )
        return ast.Fold(span, op, self.ident(c[1]), c[3], c[5])

    def count_name(self, c: Children) -> ast.Path:
        span = self.between(c[0], c[0])
        return ast.Path(span, (ast.Part(span, self.ident(c[0]), None),))

    # --- names and lists ------------------------------------------------------------------------

    def path(self, c: Children) -> ast.Path:
        return ast.Path(self.between(c[0], c[-1]), tuple(c[::2]))

    def part(self, c: Children) -> ast.Part:
        ident = self.ident(c[0])
        if c[1] is None:
            return ast.Part(ident.span, ident, None)
        return ast.Part(self.between(c[0], c[3]), ident, c[2])

    def args(self, c: Children) -> tuple[ast.Expr, ...]:
        return c[0] or ()

    names = args

    def name_list(self, c: Children) -> tuple[ast.Ident, ...]:
        return tuple(self.ident(t) for t in c if t is not None and t != ",")

    loose_names = name_list


def _keys(part: Any) -> tuple[ast.Expr, ...]:
    """The keys of ``by (…)``; none when the part is a word."""
    return part if isinstance(part, tuple) else ()
