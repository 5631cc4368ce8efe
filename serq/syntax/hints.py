"""The usual mistakes, each with a message of its own and what to write instead."""

from __future__ import annotations

from collections.abc import Callable

from serq.diagnostics import Diagnostic
from serq.syntax import hints_declarations as declarations
from serq.syntax import hints_statements as statements
from serq.syntax.situation import Situation

Hint = Callable[[Situation], Diagnostic | None]

HINTS: tuple[Hint, ...] = (
    declarations.end_of_text,
    statements.number_word,
    declarations.after_main,
    declarations.before_main,
    declarations.main_header,
    declarations.inside_main,
    statements.empty_statement,
    statements.equals,
    statements.else_chain,
    declarations.unknown_item,
    declarations.definition,
    declarations.stage,
    declarations.pool,
    declarations.schedule,
    declarations.import_path,
    statements.fold_count,
    statements.statement,
    statements.unknown_statement,
    statements.foreign_block,
    statements.transfer,
    statements.clauses,
    statements.chained,
    statements.trailing_comma,
    statements.operand,
    statements.after_operand,
    statements.parentheses,
    statements.brace,
)
"""Tried in this order; the first that knows the mistake says it."""
