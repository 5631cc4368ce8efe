"""Statements and expressions to tree nodes: one method per rule of the grammar."""

from __future__ import annotations

from dataclasses import replace
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


class BlockBuilder(Transformer[Token, Any]):
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

    cost_fields = takings = bindings = binding_stmts = exprs = stages = nodes

    # --- statements -----------------------------------------------------------------------------

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
