"""A file and its declarations to tree nodes: one method per rule of the grammar."""

from __future__ import annotations

import re
from dataclasses import dataclass
from typing import Any

from lark import Token

from serq.diagnostics import Span
from serq.syntax import ast
from serq.syntax.build_block import BAD, BlockBuilder, Children


@dataclass(frozen=True, slots=True)
class Main(ast.Node):
    """``fn main () { … }`` before it becomes a part of the module."""

    items: tuple[ast.Item, ...]
    close: Span


class Builder(BlockBuilder):
    """The methods of all rules; see `BlockBuilder` for what a builder keeps."""

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

    top_items = items = pool_options = device_items = engine_items = BlockBuilder.nodes
    workload_items = queue_items = schedule_lets = schedule_stmts = BlockBuilder.nodes
    setting_items = instance_items = BlockBuilder.nodes

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


def _keys(part: Any) -> tuple[ast.Expr, ...]:
    """The keys of ``by (…)``; none when the part is a word."""
    return part if isinstance(part, tuple) else ()
