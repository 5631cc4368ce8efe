"""Usual mistakes in expressions and statements."""

from __future__ import annotations

from serq.diagnostics import Diagnostic
from serq.syntax.lexer import shown
from serq.syntax.situation import Situation
from serq.syntax.words import COMPARISONS, DECLARATIONS, HOLD_ORDER

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


def number_word(s: Situation) -> Diagnostic | None:
    """A word that touches a number: `0x10`, `3rd`, `1e`."""
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


def empty_statement(s: Situation) -> Diagnostic | None:
    """A `;` that ends nothing."""
    if s.word(s.index) != ";" or "SEMICOLON" in s.expected or "ERROR" not in s.expected:
        return None
    help = "no `;` follows a block" if s.word(s.index - 1) == "}" else "remove this `;`"
    return s.here("empty-statement", "`;` ends nothing here", help)


def equals(s: Situation) -> Diagnostic | None:
    """`=`, `==`, `:=`, `+=` taken for one another."""
    word = s.word(s.index)
    if word == "==" and "EQUAL" in s.expected:
        return s.here("equals-sign", "`==` compares", "a value is given with `=`")
    if word == "=" and "EQEQ" in s.expected and "EQUAL" not in s.expected:
        return s.here("equals-sign", "`=` assigns", "a comparison is written `==`")
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


def chained(s: Situation) -> Diagnostic | None:
    """`a < b < c`."""
    if s.word(s.index) not in COMPARISONS or "PLUS" not in s.expected:
        return None
    if "LESSTHAN" in s.expected:
        return None
    return s.here(
        "chained-comparison",
        "comparisons do not chain",
        "write `a < b && b < c`, or put one in parentheses",
    )


def operand(s: Situation) -> Diagnostic | None:
    """What stands where an operand should."""
    if not {"NUMBER", "TILDE"} <= s.expected:
        return None
    word, before = s.word(s.index), s.word(s.index - 1)
    if word == "+":
        return s.here("syntax", "`+` has nothing on its left", "a sign is only ever `-`")
    if word == "*" and before == "*":
        return s.here("syntax", "unknown sign `**`", "a power is written `a ^ b`")
    if word == ">" and before == "<":
        return s.here("syntax", "unknown sign `<>`", "write `!=`")
    if word in ("<", ">") and before == "=":
        return s.here("syntax", f"unknown sign `={word}`", f"write `{word}=`")
    if word == "=" and before in ("==", "!="):
        return s.here("syntax", f"unknown sign `{before}=`", f"write `{before}`")
    if before == "," and word in (")", "}", "]"):
        return s.here("trailing-comma", "a `,` stands between two things", "remove the `,`")
    if word.startswith('"'):
        return s.here(
            "syntax",
            f"text in quotes is no value, found {s.found}",
            "it stands in `use`, in `trace` and in `args.number`",
        )
    if word == "{" and s.word(s.begin) in ("set", "Size"):
        return s.here(
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


def after_operand(s: Situation) -> Diagnostic | None:
    """What stands where an operator should."""
    word = s.word(s.index)
    if s.expected == {"IN"} and s.word(s.begin) != "choose":
        if s.word(s.index - 1) in _OPERATOR_WORDS:
            at = s.index - 1
            sign = _OPERATOR_WORDS[s.word(at)]
            message = f"`{s.word(at)}` is no operator"
            return Diagnostic("syntax", message, s.span(at), help=f"write `{sign}`")
        return _two_operands(s, s.index - 1)
    if s.expected == {"LPAR"} and s.word(s.index - 2) == "~":
        return s.here(
            "syntax",
            f"expected `(`, found {s.found}",
            f"a draw has its parameters in parentheses: `~{shown(s.word(s.index - 1))} (…)`",
        )
    if "PLUS" not in s.expected:
        return None
    if word == "^":
        return s.here(
            "syntax", "a draw is no base of a power as it is", "put it in parentheses: `(~…)`"
        )
    if word[:1].isalnum() or word[:1] in "_~":
        closes = s.expected & {"SEMICOLON", "RPAR", "RSQB", "RBRACE", "COMMA", "COLON"}
        if closes and s.word(s.index - 1) not in (")", "]") and word not in _OPERATOR_WORDS:
            return _two_operands(s, s.index)
    if word in _OPERATOR_WORDS:
        return s.here("syntax", f"`{word}` is no operator", f"write `{_OPERATOR_WORDS[word]}`")
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
            return s.here(
                "syntax",
                f"`{shown(s.word(at - 2))}.{shown(s.word(at))}` is no function",
                "a queue's entry is called by a statement",
            )
    return None


def fold_count(s: Situation) -> Diagnostic | None:
    """A computed count of an aggregate without its parentheses."""
    if s.expected != {"LPAR", "INF", "NAME", "NUMBER"}:
        return None
    help = "a computed count stands in parentheses: `sum j in (n - 1) (…)`"
    return s.here("syntax", f"expected how many terms there are, found {s.found}", help)


def trailing_comma(s: Situation) -> Diagnostic | None:
    """A comma with nothing behind it."""
    if s.word(s.index - 1) != "," or s.word(s.index) not in (")", "}", "{", ";", "("):
        return None
    comma = s.span(s.index - 1)
    return Diagnostic(
        "trailing-comma", "a `,` stands between two things", comma, help="remove the `,`"
    )


def parentheses(s: Situation) -> Diagnostic | None:
    """An amount, a test or keys without their parentheses."""
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
    return s.here("syntax", f"expected `(`, found {s.found}", help)


def brace(s: Situation) -> Diagnostic | None:
    """A body without its braces."""
    if not s.expected or not s.expected <= {"LBRACE", "EXPR_BRACE"}:
        return None
    return s.here("syntax", f"expected `{{`, found {s.found}", "a body stands in braces: `{ … }`")


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


def statement(s: Situation) -> Diagnostic | None:
    """A word or a block that begins no statement."""
    if not {"TURN", "HOLD"} <= s.expected:
        return None
    if s.word(s.index) == "{":
        help = "a block belongs to `loop`, `while`, `branch`, `hold` or `fork`"
        return s.here("syntax", "this block belongs to nothing", help)
    return _word_for_statement(s, s.index)


def unknown_statement(s: Situation) -> Diagnostic | None:
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


def foreign_block(s: Situation) -> Diagnostic | None:
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


def else_chain(s: Situation) -> Diagnostic | None:
    """`else branch (…)` and `else if`."""
    if s.word(s.index - 1) == "else" and s.word(s.index) in ("branch", "if"):
        return s.here(
            "syntax",
            "`else` is followed by a block",
            "write `else { branch (…) { … } }`",
        )
    return None


def clauses(s: Situation) -> Diagnostic | None:
    """Clauses out of their fixed order."""
    word, head = s.word(s.index), s.word(s.begin)
    if head == "hold" and word in ("reserve", "reuse", "at", "cache", "lease"):
        return s.here("clause-order", f"`{word}` does not stand here", HOLD_ORDER)
    if head == "advance" and word in ("only", "admission", "by", "decode", "each"):
        return s.here(
            "clause-order",
            f"`{word}` does not stand here",
            "`advance running` has in this order: `only (…)`; `admission`, `by (…)` or "
            "`decode first`; `each at most (…)`",
        )
    if head == "admit" and word in ("only", "while", "each", "taking", "reuse", "reserve"):
        return s.here(
            "clause-order",
            f"`{word}` does not stand here",
            "`admit waiting` has in this order: `only (…)`, `while (…)`, `each at most (…)`, "
            "`taking POOL (…) reserve (…), … reuse (…)`",
        )
    if word == "latency" and head in ("stage", "nic"):
        return s.here(
            "wrong-place",
            "`latency` belongs to a link's `serve` and to a relation",
            None,
        )
    if word == "latency" and s.word(s.begin + 1) in ("pull", "push"):
        return s.here("clause-order", "`latency` stands before `share`", None)
    if word == "," and head in ("let", "set", "observe", "Size") and "SEMICOLON" in s.expected:
        return s.here("syntax", f"expected `;`, found {s.found}", f"write one `{head}` for each")
    if word == "requeue" and head == "preempt":
        return s.here(
            "syntax", "`requeue` goes with `preempt by (…)`", "`lifo` is `by (-admission)`"
        )
    return None


def transfer(s: Situation) -> Diagnostic | None:
    """A `transfer` that does not say from where to where."""
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
