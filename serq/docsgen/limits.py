"""The limits of sizes and depth, from the constants that set them."""

from __future__ import annotations

from importlib import import_module

LIMITS = [
    ("characters of a program's text", "serq.syntax.lexer.MAX_TEXT", "text-too-long"),
    ("words, signs and comments of it", "serq.syntax.lexer.MAX_TOKENS", "text-too-long"),
    ("nested brackets of all kinds", "serq.syntax.lexer.MAX_NESTING", "nested-too-deep"),
    ("nested blocks", "serq.syntax.lexer.MAX_BLOCKS", "nested-too-deep"),
    ("operators on top of one another", "serq.syntax.parser.MAX_HEIGHT", "nested-too-deep"),
    ("errors of syntax that are shown", "serq.syntax.parser.MAX_SHOWN", "more-errors"),
    ("terms that a program's aggregates write out", "serq.lower.constants.MAX_TERMS",
     "too-many-terms"),
    ("members of a family", "serq.lower.declarations.MAX_MEMBERS", "not-a-size"),
    ("statements, with all definitions written out", "serq.lower.limits.MAX_STATEMENTS",
     "too-large"),
    ("parts of expressions, with all definitions written out", "serq.lower.limits.MAX_NODES",
     "too-large"),
    ("sessions of `closed` and `batch`", "serq.ir.validate.settings.MOST_SESSIONS",
     "not-a-count"),
    ("nested blocks of an IR document", "serq.ir.validate.structure.MAX_BLOCK_DEPTH",
     "ir-too-deep"),
    ("operators on top of one another in an IR document",
     "serq.ir.validate.structure.MAX_EXPRESSION_DEPTH", "ir-too-deep"),
    ("brackets on top of one another in an IR document's JSON",
     "serq.ir.jsontext.MAX_DEPTH", "ir-too-deep"),
    ("times that a session becomes ready at one instant", "serq.interp.machine.MOST_READIES",
     "does-not-settle"),
    ("statements of a session without waiting", "serq.interp.machine.MOST_STATEMENTS",
     "does-not-settle"),
]  # fmt: skip
"""What is limited, the constant, and the code of the error beyond it."""


def limits() -> str:
    """The table of limits."""
    lines = ["| What | At most | Code |", "|---|---|---|"]
    for what, where, code in LIMITS:
        module, _, name = where.rpartition(".")
        value = f"{getattr(import_module(module), name):,}".replace(",", " ")
        lines.append(f"| {what} | {value} | [`{code}`](diagnostics.md#{code}) |")
    return "\n".join(lines)
