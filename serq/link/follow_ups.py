"""Which link errors of a text with syntax errors may come from what the parser left out."""

from __future__ import annotations

import re

from serq.diagnostics import Diagnostic, Span
from serq.link.issues import INDEPENDENT
from serq.syntax import ast
from serq.syntax.parser import Parsed

OF_NAMES = frozenset(
    {
        "index-out-of-range", "never-fits", "no-such-capacity", "not-a-cost", "not-a-count",
        "not-a-gap", "not-a-number", "not-a-rate", "not-a-resource", "not-a-size", "not-a-test",
        "not-an-amount", "not-constant", "not-positive", "unknown-definition", "unknown-device",
        "unknown-distribution", "unknown-engine", "unknown-function", "unknown-hidden",
        "unknown-input", "unknown-name", "unknown-observation", "unknown-owner", "unknown-pool",
        "unknown-queue", "unknown-resource", "unknown-role", "unknown-stage", "unknown-statement",
        "unknown-verb",
    }
)  # fmt: skip
"""Faults about names: what was left out may have declared one of them."""

OF_A_PLACE = (
    INDEPENDENT
    | {
        "argument-count", "argument-draws", "binding-draws", "builtin-name", "call-in-session",
        "constant-draws", "cost-index-draws", "cost-type", "declared-twice", "device-taken",
        "end-inside", "from-place", "input-place", "language-word", "library-with-let",
        "mark-place", "name-collision", "needs-index", "not-a-value", "option-twice",
        "parameter-twice", "recursive-definition", "size-in-server", "supplied-name", "to-place",
        "transfer-in-session", "turn-in-server", "used-before-defined", "workload-statement",
    }
) - OF_NAMES  # fmt: skip
"""Faults of what is written in one place, whatever else the program has."""

_WORD = re.compile(r"[^\W\d]\w*")
_APART = re.compile(r"[;{}\n]")


class Lost:
    """What the syntax errors of a text may have taken out of its tree."""

    def __init__(self, parsed: Parsed) -> None:
        self._words = set(parsed.lost)
        self._everything = not parsed.complete or not self._words.isdisjoint(("use", "*"))
        self._mended = [fault.span for fault in parsed.diagnostics if fault.span is not None]
        if parsed.tree is not None:
            self._reach(parsed.tree)

    def explains(self, fault: Diagnostic) -> bool:
        """Whether a syntax error may be the cause of a link error."""
        if fault.span is not None and any(_together(fault.span, mend) for mend in self._mended):
            return True  # the statement may have been mended in another way than was meant
        if fault.code in OF_A_PLACE:
            return False
        if fault.code not in OF_NAMES:  # a part that was left out may be what is missing
            return self._everything or bool(self._words)
        if fault.span is None:
            return True
        words = _WORD.findall(fault.span.text)
        return bool(words) and (self._everything or not self._words.isdisjoint(words))

    def _reach(self, module: ast.Module) -> None:
        """Add what a lost use of a definition, an entry or a request would have set.

        A call that was left out is not written out, so the attributes its body sets are missing.
        """
        bodies: dict[str, set[str]] = {}
        for item in (*module.preamble, *(module.main or ())):
            target = getattr(item, "target", None)
            if isinstance(item, ast.DefDecl | ast.QueueDecl | ast.EngineDecl) and target:
                bodies[target.name] = set(_WORD.findall(item.span.text))
        todo = [name for name in bodies if name in self._words]
        while todo:
            found = bodies.pop(todo.pop(), set())
            self._words |= found
            todo += [name for name in bodies if name in found and name not in todo]


def _together(a: Span, b: Span) -> bool:
    """Whether two places of one text are in one line of one statement."""
    if a.source is not b.source:
        return False
    between = a.source.text[min(a.end, b.end) : max(a.start, b.start)]
    return not _APART.search(between)
