"""What to say about a syntax error: what was found, what was expected, what to write instead."""

from __future__ import annotations

from serq.diagnostics import Diagnostic, Span
from serq.syntax.hints import HINTS
from serq.syntax.lexer import shown
from serq.syntax.situation import Situation

_GROUPS: list[tuple[frozenset[str], str]] = [
    (
        frozenset({"WORKLOAD", "GAUGE"}),
        "a declaration (`let`, `def`, `pool`, `stage`, `device`, `engine`, `queue`, `workload`, "
        "`server`, `gauge`, `claim`, …)",
    ),
    (frozenset({"TURN", "HOLD"}), "a statement"),
    (
        frozenset({"CAP", "SPILL"}),
        "a pool's option (`cap`, `block`, `evict`, `preempt`, `queue`, `reserve held`, `spill`)",
    ),
    (
        frozenset({"TOKENS", "EXECUTE"}),
        "an engine's item (`NAME cap`, `tokens cap`, `granule`, `state`, `schedule`, `execute`, "
        "`request`)",
    ),
    (
        frozenset({"ADVANCE", "ADMIT"}),
        "what an iteration does (`advance running`, `admit waiting`, `exclusive prefill`, "
        "`branch`, `set`)",
    ),
    (
        frozenset({"ARRIVE", "HIDDEN"}),
        "a workload's item (`arrive`, `trace`, `init`, `turn`, `session`, `hidden`)",
    ),
    (
        frozenset({"SERVE", "NIC"}),
        "a queue's item (`pool`, `device`, `engine`, `serve`, `nic` or an entry)",
    ),
    (frozenset({"FN", "DEF"}), "`use`, `let`, `def` or `fn main ()`"),
    (frozenset({"HORIZON", "SEED"}), "`horizon`, `warmup`, `seed` or `arrivals`"),
    (frozenset({"NUMBER", "TILDE"}), "an expression"),
]
_OPERATORS = frozenset({
    "OROR", "ANDAND", "LE", "GE", "EQEQ", "NE", "LESSTHAN", "MORETHAN",
    "PLUS", "MINUS", "STAR", "SLASH", "CIRCUMFLEX", "QMARK",
})  # fmt: skip
_AFTER_NAME = frozenset({"DOT", "LSQB"})
_STARTS = frozenset({"NUMBER", "INF", "NAME", "LPAR", "MINUS", "BANG", "TILDE", "ARGS"})
_WORDS = {"NAME": "a name", "NUMBER": "a number", "STRING": 'text in quotes, `"…"`'}


def expectation(situation: Situation) -> str:
    """What would fit, in the words of the language."""
    left = set(situation.expected) - {"ERROR", "$END"}
    left = {"LBRACE" if t == "EXPR_BRACE" else t for t in left}
    said: list[str] = []
    for signature, words in _GROUPS:
        if signature <= left:
            said.append(words)
            if "TILDE" in signature:
                left -= _STARTS
            else:  # the words of a list of items; a closing brace would end it
                left &= {"RBRACE"}
    rest = left - _OPERATORS - _AFTER_NAME
    if "PLUS" in left:  # behind an operand: a name and `(` would make another thing of it
        rest -= {"NAME", "LPAR"}
    if not rest and not said:
        rest = left
    if "RBRACE" in rest and said:
        rest -= {"RBRACE"}
        said.append("`}`")
    names = sorted(_WORDS.get(t) or f"`{situation.spelling.get(t, t.lower())}`" for t in rest)
    said += names[:5] if len(names) <= 5 else [*names[:4], "…"]
    if "$END" in situation.expected and not said:
        return "the end of the text"
    return said[0] if len(said) == 1 else ", ".join(said[:-1]) + " or " + said[-1]


def explain(situation: Situation) -> Diagnostic:
    """The diagnostic of one unexpected token."""
    for hint in HINTS:
        known = hint(situation)
        if known is not None:
            return known
    return Diagnostic(
        "syntax",
        f"expected {expectation(situation)}, found {situation.found}",
        situation.span(situation.index),
    )


def missing_semicolon(situation: Situation) -> Diagnostic:
    """The diagnostic of a statement or declaration that is not ended."""
    at = situation.span(situation.index - 1).end
    last = shown(situation.word(situation.index - 1))
    return Diagnostic(
        "missing-semicolon",
        f"`;` is missing after `{last}`",
        Span(situation.source, at, at),
        help="statements and declarations end with `;`",
    )
