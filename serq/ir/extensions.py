"""What a program says that version 13 of the interchange format has no word for.

A program that uses such a construct names it in ``extensions`` and carries `EXTENDED_VERSION`, so
that a reader of 13 refuses it rather than read it as something else.
"""

from __future__ import annotations

from dataclasses import replace

from . import nodes as n
from .functions import COUNTERS
from .walk import expressions

EXTENDED_VERSION = 1013
"""The version of a document that says something version 13 cannot."""

CLAIM_COUNTERS = "claim-counters"
"""Claims that read what the run has counted: ``preemptions(kv)``, ``rejected(vllm)``."""


def needed(program: n.Program) -> tuple[str, ...]:
    """The extensions that the program uses."""
    counted = any(
        isinstance(expr, n.Call) and expr.fun in COUNTERS
        for claim in program.claims
        for expr in expressions(claim.expr)
    )
    return (CLAIM_COUNTERS,) if counted else ()


def marked(program: n.Program) -> n.Program:
    """The program with exactly the extensions that it uses, and the version that goes with them."""
    extensions = needed(program)
    version = EXTENDED_VERSION if extensions else n.VERSION
    return replace(program, version=version, extensions=extensions)
