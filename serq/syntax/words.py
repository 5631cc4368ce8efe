"""Words of the language in groups, as recovery and messages need them."""

from __future__ import annotations

DECLARATIONS = frozenset({
    "pool", "stage", "device", "engine", "workload", "server", "queue", "share", "gauge", "claim",
})  # fmt: skip
FOREIGN_BLOCKS = ("if", "elif", "else", "for", "repeat", "do")
"""Words of other languages that a block of statements may follow."""

STATEMENTS = frozenset({
    "turn", "end", "join", "set", "Size", "Cost", "observe", "hold", "grow", "load", "drop",
    "release", "run", "branch", "while", "loop", "fork", "choose", "transfer", "tool", "prefill",
    "decode", "mark", "at", "cache",
})  # fmt: skip
COMPARISONS = ("<", "<=", ">", ">=", "==", "!=")
HOLD_ORDER = (
    "the clauses of a `hold` stand in the order: the pools with their `reserve`, `reuse`, "
    "`at admission`, the block, `cache`, `lease`"
)
