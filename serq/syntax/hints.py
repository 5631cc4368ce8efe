"""The usual mistakes, each with a message of its own and what to write instead."""

from __future__ import annotations

from collections.abc import Callable

from serq.diagnostics import Diagnostic, Span
from serq.syntax.lexer import shown
from serq.syntax.situation import Situation

Hint = Callable[[Situation], Diagnostic | None]

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
_FOREIGN_STATEMENTS = {
    "if": "a test is written `branch (…) { … } else { … }`",
    "elif": "a further test stands in the other block: `else { branch (…) { … } }`",
    "for": "a repetition is written `while (…) { … }` or `loop { … }`",
    "repeat": "a repetition is written `while (…) { … }` or `loop { … }`",
    "do": "a repetition is written `while (…) { … }` or `loop { … }`",
    "return": "a server's answer is the end of its block; a definition of an expression is "
    "written `def NAME (…) { expression }`",
    "request": "the next turn is `turn;` in the session; the server serves it",
    "call": "a definition or a request is called by its name: `NAME (…);`",
    "acquire": "a pool is held with `hold POOL (cost(POOL, units)) { … }`",
    "wait": "time passes in a `run STAGE (cost(STAGE, work));`",
    "delay": "time passes in a `run STAGE (cost(STAGE, work));` on a `delay` stage",
    "var": "an attribute is assigned with `set NAME = …;`",
    "const": "a constant is declared with `let NAME = …;`, outside of blocks",
    "pause": "a draw of a client's pause is `tool ~exp(mean);`",
}
_OPERATOR_WORDS = {"and": "&&", "or": "||", "not": "!", "mod": "a - b * floor(a / b)"}


def _here(s: Situation, code: str, message: str, help: str | None) -> Diagnostic:
    return Diagnostic(code, message, s.span(s.index), help=help)


# --- the file and its entry point ---------------------------------------------------------------


def _after_main(s: Situation) -> Diagnostic | None:
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


def _before_main(s: Situation) -> Diagnostic | None:
    if not {"FN", "DEF", "USE"} <= s.expected or "POOL" in s.expected:
        return None
    word = s.word(s.index)
    if word == "main":
        return _here(s, "syntax", "the entry point is written `fn main ()`", "write `fn` before it")
    if word in DECLARATIONS or s.word(s.index + 1) in ("pull", "push"):
        return _here(
            s,
            "outside-main",
            f"`{word}` stands inside `fn main () {{ … }}`",
            "only `use`, `def` and constants stand before it",
        )
    if word in STATEMENTS:
        return _here(
            s,
            "outside-main",
            f"`{word}` is a statement, and this is no block",
            "statements stand in the `server` and in the workload's blocks",
        )
    return None


def _main_header(s: Situation) -> Diagnostic | None:
    if "MAIN" in s.expected:
        return _here(
            s,
            "syntax",
            f"the entry point is `fn main ()`, found {s.found}",
            "there is one `fn`, called `main`; reusable parts are written `def NAME (…) { … }`",
        )
    if s.word(s.begin) == "fn" and s.expected == {"LPAR"}:
        return _here(s, "syntax", f"expected `(`, found {s.found}", "write `fn main () { … }`")
    if s.word(s.begin) == "fn" and s.expected == {"RPAR"}:
        return _here(
            s,
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


def _inside_main(s: Situation) -> Diagnostic | None:
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


def _unknown_item(s: Situation) -> Diagnostic | None:
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
        return _here(s, "syntax", f"expected `(`, found {s.found}", help)
    elif s.expected == {"LPAR", "FROM", "LBRACE"}:
        help = "a queue has `pool`, `device`, `engine`, `serve`, `nic` and its entries, "
        help += "`VERB (…) { … }`"
    else:
        return None
    return Diagnostic("unknown-item", message, s.span(s.begin), help=help)


# --- signs --------------------------------------------------------------------------------------


def _empty_statement(s: Situation) -> Diagnostic | None:
    if s.word(s.index) != ";" or "SEMICOLON" in s.expected or "ERROR" not in s.expected:
        return None
    help = "no `;` follows a block" if s.word(s.index - 1) == "}" else "remove this `;`"
    return _here(s, "empty-statement", "`;` ends nothing here", help)


def _equals(s: Situation) -> Diagnostic | None:
    word = s.word(s.index)
    if word == "==" and "EQUAL" in s.expected:
        return _here(s, "equals-sign", "`==` compares", "a value is given with `=`")
    if word == "=" and _EQ in s.expected and "EQUAL" not in s.expected:
        return _here(s, "equals-sign", "`=` assigns", "a comparison is written `==`")
    if word == ":" and s.word(s.index + 1) == "=" and "EQUAL" in s.expected:
        span = s.span(s.index, s.index + 1)
        return Diagnostic("equals-sign", "unknown sign `:=`", span, help="write `=`")
    if word in "+-*/" and s.word(s.index + 1) == "=" and "EQUAL" in s.expected:
        name = shown(s.word(s.index - 1))
        return Diagnostic(
            "equals-sign",
            f"unknown sign `{word}=`",
            s.span(s.index, s.index + 1),
            help=f"write `{name} = {name} {word} …`",
        )
    return None


def _number_word(s: Situation) -> Diagnostic | None:
    before = s.word(s.index - 1)
    if not before[:1].isdigit() and not (before[:1] == "." and before[1:2].isdigit()):
        return None
    word = s.word(s.index)
    joined = s.span(s.index - 1).end == s.span(s.index).start
    if not joined or not (word[:1].isalpha() or word[:1] == "_"):
        return None
    span = s.span(s.index - 1, s.index)
    message = f"bad number `{shown(before + word)}`"
    text = (before + word).lower()
    help = f"a name does not start with a digit; a product is written `{before} * {shown(word)}`"
    if text.startswith(("0x", "0b", "0o")):
        try:
            help = f"numbers are decimal: write `{int(text.replace('_', ''), 0)}`"
        except ValueError:
            help = "numbers are decimal: `16`, `1_000`, `0.5`, `1e-3`"
    elif word.lower() == "e":
        help = "an exponent has digits: `1e3`, `1.5e-3`"
    return Diagnostic("bad-number", message, span, help=help)


# --- expressions --------------------------------------------------------------------------------

_OR, _AND, _LE, _GE, _EQ, _NE = (f"__ANON_{i}" for i in range(6))


def _chained(s: Situation) -> Diagnostic | None:
    if s.word(s.index) not in COMPARISONS or "PLUS" not in s.expected:
        return None
    if "LESSTHAN" in s.expected:
        return None
    return _here(
        s,
        "chained-comparison",
        "comparisons do not chain",
        "write `a < b && b < c`, or put one in parentheses",
    )


def _operand(s: Situation) -> Diagnostic | None:
    if not {"NUMBER", "TILDE"} <= s.expected:
        return None
    word, before = s.word(s.index), s.word(s.index - 1)
    if word == "+":
        return _here(s, "syntax", "`+` has nothing on its left", "a sign is only ever `-`")
    if word == "*" and before == "*":
        return _here(s, "syntax", "unknown sign `**`", "a power is written `a ^ b`")
    if word == ">" and before == "<":
        return _here(s, "syntax", "unknown sign `<>`", "write `!=`")
    if word in ("<", ">") and before == "=":
        return _here(s, "syntax", f"unknown sign `={word}`", f"write `{word}=`")
    if word == "=" and before in ("==", "!="):
        return _here(s, "syntax", f"unknown sign `{before}=`", f"write `{before}`")
    if before == "," and word in (")", "}", "]"):
        return _here(s, "trailing-comma", "a `,` stands between two things", "remove the `,`")
    if word.startswith('"'):
        return _here(
            s,
            "syntax",
            f"text in quotes is no value, found {s.found}",
            "it stands in `use`, in `trace` and in `args.number`",
        )
    if word == "{" and s.word(s.begin) in ("set", "Size"):
        return _here(
            s,
            "syntax",
            "a record is a `Cost`'s",
            "write `Cost NAME = { RESOURCE : expression, … };`",
        )
    return None


def _two_operands(s: Situation, at: int) -> Diagnostic:
    if s.word(at - 1) == "on" and s.word(s.begin) in ("transfer", "tool"):
        return Diagnostic(
            "syntax",
            "an index and `on` do not go together",
            s.span(at - 1),
            help=f"write `{s.word(s.begin)} on STAGE[index] …`",
        )
    before, word = shown(s.word(at - 1)), shown(s.word(at))
    return Diagnostic(
        "syntax",
        f"`{word}` follows `{before}` without an operator",
        s.span(at),
        help="an operator or a `;` is missing, or the parentheses of a function",
    )


def _after_operand(s: Situation) -> Diagnostic | None:
    word = s.word(s.index)
    if s.expected == {"IN"} and s.word(s.begin) != "choose":
        if s.word(s.index - 1) in _OPERATOR_WORDS:
            at = s.index - 1
            sign = _OPERATOR_WORDS[s.word(at)]
            message = f"`{s.word(at)}` is no operator"
            return Diagnostic("syntax", message, s.span(at), help=f"write `{sign}`")
        return _two_operands(s, s.index - 1)
    if s.expected == {"LPAR"} and s.word(s.index - 2) == "~":
        return _here(
            s,
            "syntax",
            f"expected `(`, found {s.found}",
            f"a draw has its parameters in parentheses: `~{shown(s.word(s.index - 1))} (…)`",
        )
    if "PLUS" not in s.expected:
        return None
    if word == "^":
        return _here(
            s, "syntax", "a draw is no base of a power as it is", "put it in parentheses: `(~…)`"
        )
    if word[:1].isalnum() or word[:1] in "_~":
        closes = s.expected & {"SEMICOLON", "RPAR", "RSQB", "RBRACE", "COMMA", "COLON"}
        if closes and s.word(s.index - 1) not in (")", "]") and word not in _OPERATOR_WORDS:
            return _two_operands(s, s.index)
    if word in _OPERATOR_WORDS:
        return _here(s, "syntax", f"`{word}` is no operator", f"write `{_OPERATOR_WORDS[word]}`")
    if word == "(":
        at = s.index - 1
        if s.word(at - 1) == ".":
            if s.word(at - 2) == "args":
                return Diagnostic(
                    "syntax",
                    f"`args.{shown(s.word(at))} (…)` is the whole value of a `let`",
                    s.span(at - 2, at),
                    help="give the input a name of its own and compute with that name",
                )
            return _here(
                s,
                "syntax",
                f"`{shown(s.word(at - 2))}.{shown(s.word(at))}` is no function",
                "a queue's entry is called by a statement",
            )
    return None


def _parentheses(s: Situation) -> Diagnostic | None:
    if s.expected & {"LPAR"} != s.expected - {"DOT", "LSQB", "COMMA", "PREFILL", "DECODE", "WITH"}:
        return None
    before, head = s.word(s.index - 1), s.word(s.begin)
    if before == "by":
        help = "the keys stand in parentheses: `by (key, …)`"
    elif before == "with" or before in ("branch", "while"):
        help = f"the test stands in parentheses: `{head} (…) {{ … }}`"
    elif head == "run":
        help = "the work stands in parentheses: `run STAGE (cost(STAGE, work));`"
    elif head in ("hold", "grow", "load"):
        help = f"the amount stands in parentheses: `{head} POOL (cost(POOL, units))`"
    elif "in" in (s.word(s.index - 1), s.word(s.index - 2), s.word(s.index - 3)):
        help = "an aggregate is `sum j in n (…)`; a computed count stands in parentheses"
    elif before[:1].isalpha() and "LPAR" in s.expected and s.expected <= {"LPAR", "DOT", "LSQB"}:
        clause = "each at most" if before == "most" else shown(before)
        if s.word(s.index - 2) in ("lease", "to"):
            clause = f"{s.word(s.index - 2)} {clause}"
        help = f"write `{clause} (…)`"
    else:
        return None
    return _here(s, "syntax", f"expected `(`, found {s.found}", help)


# --- statements and clauses ---------------------------------------------------------------------


def _word_for_statement(s: Situation, at: int) -> Diagnostic | None:
    """What a word means that stands where a statement begins, and begins none."""
    word, after = s.word(at), s.word(at + 1)
    code, help = "wrong-place", None
    if word == "let":
        message = "`let` is a declaration, and this is a block of statements"
        help = f"an attribute of the session is assigned with `set {shown(after)} = …;`"
    elif word in DECLARATIONS or word in ("def", "use", "fn"):
        message = f"`{word}` is a declaration, and this is a block of statements"
        help = "declarations stand in `fn main () { … }`; is a `}` missing before it?"
    elif word in ("cache", "lease", "reserve", "reuse", "growing", "at"):
        code, message, help = "clause-order", f"`{word}` begins no statement", HOLD_ORDER
    elif word == "else":
        code, message = "syntax", "`else` follows the block of a `branch`"
        help = "write `branch (…) { … } else { … }`, without `;` between"
    elif word in ("init", "session", "arrive", "hidden", "trace"):
        message = f"`{word}` stands inside `workload {{ … }}`"
    elif word in _FOREIGN_STATEMENTS:
        code, message = "unknown-statement", f"`{word}` begins no statement"
        help = _FOREIGN_STATEMENTS[word]
    else:
        return None
    return Diagnostic(code, message, s.span(at), help=help)


def _statement(s: Situation) -> Diagnostic | None:
    if not {"TURN", "HOLD"} <= s.expected:
        return None
    if s.word(s.index) == "{":
        help = "a block belongs to `loop`, `while`, `branch`, `hold` or `fork`"
        return _here(s, "syntax", "this block belongs to nothing", help)
    return _word_for_statement(s, s.index)


def _unknown_statement(s: Situation) -> Diagnostic | None:
    """A word that begins no statement was read as the name of a call."""
    if s.index != s.begin + 1 or not {"LPAR", "DOT"} <= s.expected:
        return None
    if "COLON" in s.expected or "CAP" in s.expected:
        return None
    known = _word_for_statement(s, s.begin)
    if known is not None:
        return known
    word = shown(s.word(s.begin))
    help = None
    if s.word(s.index) == "=":
        help = f"an attribute is assigned with `set {word} = …;`"
    elif s.word(s.index) == ";":
        help = f"a call has its parentheses: `{word} ();`"
    message = f"`{word}` begins no statement"
    return Diagnostic("unknown-statement", message, s.span(s.begin), help=help)


def _foreign_block(s: Situation) -> Diagnostic | None:
    """``if (n == 2) { … }`` reads as a call until its block."""
    word = s.word(s.begin)
    if word not in _FOREIGN_STATEMENTS or "SEMICOLON" not in s.expected:
        return None
    return Diagnostic(
        "unknown-statement",
        f"`{word}` begins no statement",
        s.span(s.begin),
        help=_FOREIGN_STATEMENTS[word],
    )


def _clauses(s: Situation) -> Diagnostic | None:
    word, head = s.word(s.index), s.word(s.begin)
    if head == "hold" and word in ("reserve", "reuse", "at", "cache", "lease"):
        return _here(s, "clause-order", f"`{word}` does not stand here", HOLD_ORDER)
    if head == "advance" and word in ("only", "admission", "by", "decode", "each"):
        return _here(
            s,
            "clause-order",
            f"`{word}` does not stand here",
            "`advance running` has in this order: `only (…)`; `admission`, `by (…)` or "
            "`decode first`; `each at most (…)`",
        )
    if head == "admit" and word in ("only", "while", "each", "taking", "reuse", "reserve"):
        return _here(
            s,
            "clause-order",
            f"`{word}` does not stand here",
            "`admit waiting` has in this order: `only (…)`, `while (…)`, `each at most (…)`, "
            "`taking POOL (…) reserve (…), … reuse (…)`",
        )
    if word == "latency" and head in ("stage", "nic"):
        return _here(
            s,
            "wrong-place",
            "`latency` belongs to a link's `serve` and to a relation",
            None,
        )
    if word == "latency" and s.word(s.begin + 1) in ("pull", "push"):
        return _here(s, "clause-order", "`latency` stands before `share`", None)
    if word == "," and head in ("let", "set", "observe", "Size") and "SEMICOLON" in s.expected:
        return _here(s, "syntax", f"expected `;`, found {s.found}", f"write one `{head}` for each")
    if word == "requeue" and head == "preempt":
        return _here(
            s, "syntax", "`requeue` goes with `preempt by (…)`", "`lifo` is `by (-admission)`"
        )
    return None


def _transfer(s: Situation) -> Diagnostic | None:
    if s.word(s.begin) != "transfer" or not s.expected & {"FROM", "TO"}:
        return None
    if s.word(s.index) not in (";", "to", "}", ""):
        return None
    return Diagnostic(
        "transfer-without-pools",
        "a `transfer` says where the KV leaves and where it goes",
        s.span(s.begin, s.index - 1),
        help="write `transfer (work) from POOL to POOL (tokens);`, or `run STAGE (cost(STAGE, "
        "work));` for link work that moves no KV",
    )


# --- declarations -------------------------------------------------------------------------------


def _definition(s: Situation) -> Diagnostic | None:
    if s.word(s.begin) != "def":
        return None
    if "EXPR_BRACE" in s.expected and s.word(s.index) == "=":
        return _here(
            s,
            "definition-body",
            "the body of a definition stands in braces",
            "write `def NAME (…) { expression }`, without `=` and `;`",
        )
    if "LPAR" in s.expected and s.word(s.index) == "{":
        return _here(
            s,
            "syntax",
            "a definition has parentheses, `( )` without parameters",
            f"write `def {shown(s.word(s.begin + 1))} () {{ … }}`",
        )
    return None


def _stage(s: Situation) -> Diagnostic | None:
    if {"FIFO", "DELAY"} <= s.expected:
        word = s.word(s.index)
        if word == "step":
            return _here(
                s,
                "step-stage",
                "an engine is not declared as a `step` stage",
                "write `device D { … }` and `engine NAME on D { tokens cap B; schedule { … } "
                "execute (T); }`",
            )
        return _here(
            s,
            "unknown-stage-kind",
            f"unknown kind of stage {s.found}",
            "a stage is `fifo`, `fifo (servers)`, `ps (expression)` or `delay`",
        )
    if s.word(s.index - 1) == "fifo" and s.word(s.index)[:1].isdigit():
        return _here(s, "syntax", f"expected `(` or `;`, found {s.found}", "write `fifo (2)`")
    return None


def _pool(s: Situation) -> Diagnostic | None:
    if not {"CAP", "SPILL"} <= s.expected:
        return None
    if s.word(s.index) == "admit":
        return _here(
            s,
            "syntax",
            "who admits a pool is said by where it is declared",
            "declare `NAME cap c;` in the engine and `pool NAME on ENGINE { … }`",
        )
    return None


def _schedule(s: Situation) -> Diagnostic | None:
    if not {"ADVANCE", "ADMIT"} <= s.expected:
        return None
    word = s.word(s.index)
    if word == "let":
        return _here(
            s,
            "wrong-place",
            "a schedule's `let` stands before its statements",
            "it is read once, as the iteration starts",
        )
    if word in ("while", "loop"):
        return _here(
            s,
            "wrong-place",
            f"a schedule has no `{word}`",
            "the guard of the admission is written `admit waiting while (…);`",
        )
    return None


def _import(s: Situation) -> Diagnostic | None:
    if s.expected != {"STRING"}:
        return None
    head = s.word(s.begin)
    examples = {"use": 'use "file.sq";', "trace": 'trace "file.csv";'}
    example = examples.get(head, 'args.number ("name", default)')
    return _here(s, "syntax", f"expected text in quotes, found {s.found}", f"write `{example}`")


def _fold_count(s: Situation) -> Diagnostic | None:
    if s.expected != {"LPAR", "INF", "NAME", "NUMBER"}:
        return None
    help = "a computed count stands in parentheses: `sum j in (n - 1) (…)`"
    return _here(s, "syntax", f"expected how many terms there are, found {s.found}", help)


def _trailing_comma(s: Situation) -> Diagnostic | None:
    if s.word(s.index - 1) != "," or s.word(s.index) not in (")", "}", "{", ";", "("):
        return None
    comma = s.span(s.index - 1)
    return Diagnostic(
        "trailing-comma", "a `,` stands between two things", comma, help="remove the `,`"
    )


def _else_chain(s: Situation) -> Diagnostic | None:
    if s.word(s.index - 1) == "else" and s.word(s.index) in ("branch", "if"):
        return _here(
            s,
            "syntax",
            "`else` is followed by a block",
            "write `else { branch (…) { … } }`",
        )
    return None


def _end_of_text(s: Situation) -> Diagnostic | None:
    if s.index < len(s.tokens) or s.tokens or s.start == "module":
        return None
    start = Span(s.source, 0, 0)
    return Diagnostic("syntax", "the text is empty", start, help="an expression is expected")


def _brace(s: Situation) -> Diagnostic | None:
    if not s.expected or not s.expected <= {"LBRACE", "EXPR_BRACE"}:
        return None
    return _here(s, "syntax", f"expected `{{`, found {s.found}", "a body stands in braces: `{ … }`")


HINTS: tuple[Hint, ...] = (
    _end_of_text,
    _number_word,
    _after_main,
    _before_main,
    _main_header,
    _inside_main,
    _empty_statement,
    _equals,
    _else_chain,
    _unknown_item,
    _definition,
    _stage,
    _pool,
    _schedule,
    _import,
    _fold_count,
    _statement,
    _unknown_statement,
    _foreign_block,
    _transfer,
    _clauses,
    _chained,
    _trailing_comma,
    _operand,
    _after_operand,
    _parentheses,
    _brace,
)
"""Tried in this order; the first that knows the mistake says it."""
