"""Usual mistakes around `fn main ()` and in declarations."""

from __future__ import annotations

from serq.diagnostics import Diagnostic, Span
from serq.syntax.lexer import shown
from serq.syntax.situation import Situation
from serq.syntax.words import DECLARATIONS, STATEMENTS


def end_of_text(s: Situation) -> Diagnostic | None:
    """A text without anything in it."""
    if s.index < len(s.tokens) or s.tokens or s.start == "module":
        return None
    start = Span(s.source, 0, 0)
    return Diagnostic("syntax", "the text is empty", start, help="an expression is expected")


def after_main(s: Situation) -> Diagnostic | None:
    """Something behind `fn main ()`."""
    if not {"FN", "DEF", "USE"} <= s.expected or "POOL" in s.expected:
        return None
    if not any(s.word(i) == "fn" and s.word(i + 1) == "main" for i in range(s.index - 1)):
        return None
    closed = s.word(s.index - 1) == "}"
    notes = (("`fn main ()` ends here", s.span(s.index - 1)),) if closed else ()
    if s.word(s.index) == "}":
        return Diagnostic(
            "unbalanced-bracket",
            "this `}` closes nothing",
            s.span(s.index),
            help="remove it, or find the `}` too many above",
            notes=notes,
        )
    return Diagnostic(
        "after-main",
        f"nothing stands after `fn main ()`, found {s.found}",
        s.span(s.index),
        help="declarations stand inside its braces; imports, definitions and constants may stand "
        "before it",
        notes=notes,
    )


def before_main(s: Situation) -> Diagnostic | None:
    """A declaration or a statement before `fn main ()`."""
    if not {"FN", "DEF", "USE"} <= s.expected or "POOL" in s.expected:
        return None
    word = s.word(s.index)
    if word == "main":
        return s.here("syntax", "the entry point is written `fn main ()`", "write `fn` before it")
    if word in DECLARATIONS or s.word(s.index + 1) in ("pull", "push"):
        return s.here(
            "outside-main",
            f"`{word}` stands inside `fn main () {{ … }}`",
            "only `use`, `def` and constants stand before it",
        )
    if word in STATEMENTS:
        return s.here(
            "outside-main",
            f"`{word}` is a statement, and this is no block",
            "statements stand in the `server` and in the workload's blocks",
        )
    return None


def main_header(s: Situation) -> Diagnostic | None:
    """`fn NAME`, `fn main (x)`, `fn main {`."""
    if "MAIN" in s.expected:
        return s.here(
            "syntax",
            f"the entry point is `fn main ()`, found {s.found}",
            "there is one `fn`, called `main`; reusable parts are written `def NAME (…) { … }`",
        )
    if s.word(s.begin) == "fn" and s.expected == {"LPAR"}:
        return s.here("syntax", f"expected `(`, found {s.found}", "write `fn main () { … }`")
    if s.word(s.begin) == "fn" and s.expected == {"RPAR"}:
        return s.here(
            "syntax",
            "`fn main ()` has no parameters",
            'an input is declared with `use "std/args";` and `let NAME = args.number ("name", 1);`',
        )
    return None


def _word_in_main(s: Situation, at: int) -> Diagnostic | None:
    """What a word means that stands where a declaration begins, and begins none."""
    word = s.word(at)
    code, help = "wrong-place", None
    if word == "fn":
        code, message = "duplicate-main", "a program has exactly one `fn main ()`"
        help = "nothing is nested in it; reusable parts are written `def NAME (…) { … }`"
    elif word == "run" and s.word(at + 1) == "{":
        code, message = "settings-in-program", "the settings of a run are no part of the program"
        help = "give them as `--horizon`, `--warmup`, `--seed` and `--arrivals`, or in an instance"
        help += " file (`--instance`)"
    elif word in ("init", "turn", "session", "arrive", "hidden", "trace"):
        message = f"`{word}` stands inside `workload {{ … }}`"
    elif word in ("request", "schedule", "execute", "tokens", "granule", "state"):
        message = f"`{word}` stands inside an `engine`"
    elif word in ("cap", "block", "evict", "preempt", "reserve", "spill"):
        message = f"`{word}` stands inside a `pool`"
    elif word in ("serve", "nic"):
        message = f"`{word}` stands inside a `queue`"
    elif word in STATEMENTS:
        message = f"`{word}` is a statement, and this is no block"
        help = "statements stand in the `server` and in the workload's blocks"
    elif word in ("constant", "const", "var", "param"):
        code, message = "unknown-declaration", f"`{word}` begins no declaration"
        help = "a constant is declared with `let NAME = …;`"
    elif word in ("resource", "memory", "cache"):
        code, message = "unknown-declaration", f"`{word}` begins no declaration"
        help = "memory is declared with `pool NAME { … }`"
    else:
        return None
    return Diagnostic(code, message, s.span(at), help=help)


def inside_main(s: Situation) -> Diagnostic | None:
    """A word that begins no declaration."""
    if {"WORKLOAD", "GAUGE"} <= s.expected:
        return _word_in_main(s, s.index)
    if s.expected != {"PULL", "PUSH"} or s.index != s.begin + 1:
        return None
    # A word that begins no declaration was read as a queue of a relation.
    known = _word_in_main(s, s.begin)
    if known is not None:
        return known
    message = f"`{shown(s.word(s.begin))}` begins no declaration"
    return Diagnostic(
        "unknown-declaration",
        message,
        s.span(s.begin),
        help="a declaration is `let`, `def`, `pool`, `stage`, `device`, `engine`, `queue`, "
        "`workload`, `server`, `share`, `gauge`, `claim` or a relation, `D pull P share maxmin;`",
    )


def unknown_item(s: Situation) -> Diagnostic | None:
    """A word that begins no item of an engine, a device or a queue was read as a name."""
    if s.index != s.begin + 1:
        return None
    word = shown(s.word(s.begin))
    message = f"`{word}` begins no item here"
    if s.expected == {"CAP", "LSQB"}:
        help = "an engine has `NAME cap c;`, `tokens cap e;`, `granule e;`, `state NAME = e;`, "
        help += "`schedule { … }`, `execute (e);` and `request (…) { … }`"
        olds = {"budget": "`tokens cap e;`", "cost": "`execute (e);`", "chunk": "`each at most`"}
        if word in olds:
            help = f"`{word}` is written {olds[word]}"
    elif s.expected == {"CAP", "LSQB", "LPAR"}:
        help = "a device has time resources, `NAME (x) = e;`, and capacities, `NAME cap e;`"
    elif s.expected == {"LPAR", "FROM", "LBRACE"} and word in ("prefill", "decode", "transfer"):
        help = f"an entry's parameters stand in parentheses: `{word} (…) {{ … }}`"
        return s.here("syntax", f"expected `(`, found {s.found}", help)
    elif s.expected == {"LPAR", "FROM", "LBRACE"}:
        help = "a queue has `pool`, `device`, `engine`, `serve`, `nic` and its entries, "
        help += "`VERB (…) { … }`"
    else:
        return None
    return Diagnostic("unknown-item", message, s.span(s.begin), help=help)


def definition(s: Situation) -> Diagnostic | None:
    """`def f(x) = x;`, `def f { … }`."""
    if s.word(s.begin) != "def":
        return None
    if "EXPR_BRACE" in s.expected and s.word(s.index) == "=":
        return s.here(
            "definition-body",
            "the body of a definition stands in braces",
            "write `def NAME (…) { expression }`, without `=` and `;`",
        )
    if "LPAR" in s.expected and s.word(s.index) == "{":
        return s.here(
            "syntax",
            "a definition has parentheses, `( )` without parameters",
            f"write `def {shown(s.word(s.begin + 1))} () {{ … }}`",
        )
    return None


def stage(s: Situation) -> Diagnostic | None:
    """A kind of stage that there is not."""
    if {"FIFO", "DELAY"} <= s.expected:
        word = s.word(s.index)
        if word == "step":
            return s.here(
                "step-stage",
                "an engine is not declared as a `step` stage",
                "write `device D { … }` and `engine NAME on D { tokens cap B; schedule { … } "
                "execute (T); }`",
            )
        return s.here(
            "unknown-stage-kind",
            f"unknown kind of stage {s.found}",
            "a stage is `fifo`, `fifo (servers)`, `ps (expression)` or `delay`",
        )
    if s.word(s.index - 1) == "fifo" and s.word(s.index)[:1].isdigit():
        return s.here("syntax", f"expected `(` or `;`, found {s.found}", "write `fifo (2)`")
    return None


def pool(s: Situation) -> Diagnostic | None:
    """A pool option of older programs."""
    if not {"CAP", "SPILL"} <= s.expected:
        return None
    if s.word(s.index) == "admit":
        return s.here(
            "syntax",
            "who admits a pool is said by where it is declared",
            "declare `NAME cap c;` in the engine and `pool NAME on ENGINE { … }`",
        )
    return None


def schedule(s: Situation) -> Diagnostic | None:
    """A `let` or a loop among a schedule's statements."""
    if not {"ADVANCE", "ADMIT"} <= s.expected:
        return None
    word = s.word(s.index)
    if word == "let":
        return s.here(
            "wrong-place",
            "a schedule's `let` stands before its statements",
            "it is read once, as the iteration starts",
        )
    if word in ("while", "loop"):
        return s.here(
            "wrong-place",
            f"a schedule has no `{word}`",
            "the guard of the admission is written `admit waiting while (…);`",
        )
    return None


def import_path(s: Situation) -> Diagnostic | None:
    """A name in place of text in quotes."""
    if s.expected != {"STRING"}:
        return None
    head = s.word(s.begin)
    examples = {"use": 'use "file.sq";', "trace": 'trace "file.csv";'}
    example = examples.get(head, 'args.number ("name", default)')
    return s.here("syntax", f"expected text in quotes, found {s.found}", f"write `{example}`")
