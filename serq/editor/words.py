"""The words of the language in the groups that an editor colours apart.

They are the parser's and the linker's own lists, so a word that joins the language joins the
editors with it.
"""

from __future__ import annotations

from serq.lower.vocabulary import (
    AGGREGATES,
    BUILTIN,
    CONTEXT,
    DISTRIBUTIONS,
    FUNCTIONS,
    KEYWORDS,
    LISTS,
)
from serq.syntax.words import DECLARATIONS, STATEMENTS

OPENERS = DECLARATIONS | {"fn", "main", "use", "let", "def", "pull", "push", "args"}
"""Words that begin a declaration."""

SETTINGS = frozenset({"horizon", "warmup", "seed", "arrivals"})
"""Words of an instance file's ``run { … }``."""

CALLED = frozenset(FUNCTIONS) | frozenset(AGGREGATES) | {"cost", "blocksize", "sum"}
"""Functions: coloured so where a ``(`` follows."""

DRAWN = frozenset(DISTRIBUTIONS)
"""Distributions: coloured so behind a ``~``."""

VARIABLES = frozenset(CONTEXT) | LISTS | {"self"}
"""Names that an evaluation moment supplies."""

ATTRIBUTES = frozenset(BUILTIN)
"""Attributes that every session has."""

CONSTANTS = frozenset({"inf"})

STATEMENT_WORDS = STATEMENTS

CLAUSES = (
    (KEYWORDS | SETTINGS)
    - OPENERS
    - STATEMENT_WORDS
    - CALLED
    - (VARIABLES - {"tokens", "running", "waiting", "admission"})
)
"""Words inside a declaration or a statement: ``cap``, ``growing``, ``reserve``."""

NAMING = frozenset(
    {
        "let", "def", "pool", "stage", "device", "engine", "queue", "gauge", "claim", "state",
        "set", "observe", "Size", "Cost", "choose", "mark", "hidden",
    }
)  # fmt: skip
"""Words that a name follows, which may be a word of the language: ``set run = 1;``."""

NOT_NAMES = frozenset({"on", "by", "fifo"})
"""What may follow a word of `NAMING` and is no name: ``queue fifo;``, ``engine on gpu``."""

EVERY = OPENERS | STATEMENT_WORDS | CLAUSES | CALLED | DRAWN | VARIABLES | ATTRIBUTES | CONSTANTS
"""Every word that the language gives a meaning."""
