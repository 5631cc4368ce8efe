"""Text to tokens: words, numbers, strings, signs; comments are kept aside."""

from __future__ import annotations

import re
from dataclasses import dataclass

from lark import Token

from serq.diagnostics import Diagnostic, Source, Span

MAX_TEXT = 16_000_000
"""A text with more characters is refused."""

MAX_TOKENS = 300_000
"""A text with more tokens than this is refused: no program is near it, and memory is finite."""

MAX_NESTING = 2_000
"""How deep brackets of all kinds may nest."""

MAX_BLOCKS = 1_000
"""How deep braces may nest."""

MAX_BAD_CHARACTERS = 200
"""After so many places with characters that belong to no token, reading stops."""


@dataclass(frozen=True, slots=True)
class Comment:
    """``// …`` without its line end, or ``/* … */``."""

    span: Span

    @property
    def text(self) -> str:
        return self.span.text


@dataclass(slots=True)
class Lexed:
    """The tokens of a text, its comments and what is wrong with its characters.

    A token's type is ``NAME`` for every word, ``NUMBER``, ``STRING``, ``BAD`` for characters that
    were reported already, or the sign itself. ``match[i]`` is the index of the closing bracket
    that belongs to the opening one at ``i``. ``stopped`` is set when a limit ended the reading,
    ``cut`` when an unclosed comment swallowed the rest.
    """

    tokens: list[Token]
    comments: list[Comment]
    diagnostics: list[Diagnostic]
    match: dict[int, int]
    unclosed: list[int]
    stopped: bool = False
    cut: bool = False


# Blank space as Unicode has it (White_Space), which is what the language skips.
_SPACE = r"[\t-\r \x85\xa0\u1680\u2000-\u200a\u2028\u2029\u202f\u205f\u3000]+"
_TOKEN = re.compile(
    rf"""
    (?P<space>{_SPACE})
  | (?P<comment>//[^\n]*|/\*(?:[^*]|\*(?!/))*+\*/)
  | (?P<opencomment>/\*)
  | (?P<NUMBER>(?:[0-9]|\.[0-9])[0-9_.]*(?:[eE][+-]?[0-9]+)?)
  | (?P<NAME>[^\W\d]\w*)
  | (?P<STRING>"[^"\n]*")
  | (?P<openstring>")
  | (?P<quoted>'[^'\n;]*')
  | (?P<sign>\|\||&&|[<>=!]=|[-+*/^<>=!~?:;,.()\[\]{{}}])
    """,
    re.VERBOSE,
)
_GOOD_NUMBER = re.compile(r"(?:[0-9][0-9_]*(?:\.[0-9_]*)?|\.[0-9][0-9_]*)(?:[eE][+-]?[0-9]+)?")
_CLOSES = {"(": ")", "[": "]", "{": "}"}

_SIGN_HELP = {
    "%": "there is no remainder operator: write `a - b * floor(a / b)`",
    "#": "a comment is written `// …` or `/* … */`",
    "&": "`and` is written `&&`",
    "|": "`or` is written `||`",
    "'": 'text stands in double quotes: `"…"`',
    "`": 'text stands in double quotes: `"…"`',
    "“": 'use the plain double quote: `"…"`',
    "”": 'use the plain double quote: `"…"`',
    "–": "use the plain minus sign `-`",
    "—": "use the plain minus sign `-`",
    "−": "use the plain minus sign `-`",
    "×": "multiplication is written `*`",
    "·": "multiplication is written `*`",
    "÷": "division is written `/`",
    "≤": "write `<=`",
    "≥": "write `>=`",
    "≠": "write `!=`",
    "$": "names are written bare, without `$`",
    "@": "names are written bare, without `@`",
    "\\": "a statement may run over several lines as it is, without `\\`",
    "\x00": "the text has a NUL byte: is it a text file?",
}


def shown(text: str) -> str:
    """A piece of the text as a message shows it: printable, and short."""
    text = "".join(c if c.isprintable() else f"\\u{{{ord(c):x}}}" for c in text[:40])
    return text if len(text) <= 30 else text[:29] + "…"


def too_large(name: str) -> Diagnostic:
    """The diagnostic of a text that is larger than the limit."""
    return Diagnostic(
        "text-too-long",
        f"the text has more than {MAX_TEXT // 1_000_000} million characters",
        where=name,
        help="is it program text?",
    )


def lex(source: Source) -> Lexed:
    """The tokens of a text. Never raises: faults are diagnostics, and a limit stops the reading."""
    out = Lexed([], [], [], {}, [])
    text, tokens = source.text, out.tokens
    scan = _TOKEN.match
    at, size = 0, len(text)
    if size > MAX_TEXT:
        out.diagnostics.append(too_large(source.name))
        out.stopped = True
        return out
    if text.startswith("\ufeff"):  # a byte order mark
        at = 1
    bad_places = 0
    stack: list[int] = []
    braces = 0

    def fault(code: str, message: str, start: int, end: int, help: str | None = None) -> None:
        out.diagnostics.append(Diagnostic(code, message, Span(source, start, end), help=help))

    while at < size:
        found = scan(text, at)
        if found is None:
            end = at + 1
            if bad_places < MAX_BAD_CHARACTERS:
                while end < size and text[end] == text[at]:
                    end += 1
            bad_places += 1
            if bad_places > MAX_BAD_CHARACTERS:
                out.stopped = True
                first = out.diagnostics[0].span
                out.diagnostics.clear()
                fault(
                    "unreadable-text",
                    "this does not read as a program: too many characters that belong to none",
                    first.start if first is not None else at,
                    first.end if first is not None else end,
                    "is it program text, and in UTF-8?",
                )
                break
            fault(
                "unexpected-character",
                f"unexpected character `{shown(text[at])}`",
                at,
                end,
                _SIGN_HELP.get(text[at]),
            )
            tokens.append(Token("BAD", text[at:end], start_pos=at, end_pos=end))
            at = end
            continue
        kind, end = found.lastgroup, found.end()
        if kind == "space":
            at = end
            continue
        word = found.group()
        if kind == "comment":
            out.comments.append(Comment(Span(source, at, end)))
        elif kind == "NAME":
            tokens.append(Token("NAME", word, start_pos=at, end_pos=end))
        elif kind == "sign":
            if word in "([{":
                stack.append(len(tokens))
                braces += word == "{"
                if len(stack) > MAX_NESTING or braces > MAX_BLOCKS:
                    what, limit = ("blocks", MAX_BLOCKS) if braces > MAX_BLOCKS else (
                        "brackets", MAX_NESTING)  # fmt: skip
                    fault(
                        "nested-too-deep",
                        f"{what} are nested more than {limit} deep here",
                        at,
                        end,
                        "name inner parts with `let` or `def`",
                    )
                    out.stopped = True
                    break
            elif word in ")]}" and stack:
                # A bracket closes the nearest one of its kind; what is open within is unclosed.
                for back in range(len(stack) - 1, max(-1, len(stack) - 9), -1):
                    if _CLOSES[tokens[stack[back]]] == word:
                        for k in range(len(stack) - 1, back - 1, -1):
                            braces -= tokens[stack[k]] == "{"
                        out.unclosed += stack[back + 1 :]
                        out.match[stack[back]] = len(tokens)
                        del stack[back:]
                        break
            tokens.append(Token(word, word, start_pos=at, end_pos=end))
        elif kind == "NUMBER":
            if _GOOD_NUMBER.fullmatch(word) is None:
                help = "a number has one decimal point"
                fault("bad-number", f"bad number `{shown(word)}`", at, end, help)
                word = "1"  # so that reading goes on as if a number stood here
            tokens.append(Token("NUMBER", word, start_pos=at, end_pos=end))
        elif kind == "STRING":
            tokens.append(Token("STRING", word, start_pos=at, end_pos=end))
        elif kind == "quoted":
            help = f'write `"{shown(word[1:-1])}"`'
            fault("unexpected-character", "text stands in double quotes", at, end, help)
            tokens.append(Token("STRING", word, start_pos=at, end_pos=end))
        elif kind == "openstring":
            # What is left of the line up to a `;`, so that its brackets still count.
            end = min(p for p in (text.find("\n", at), text.find(";", at), size) if p >= 0)
            fault("unclosed-text", 'text in quotes ends on its line: `"` is missing', at, end)
            tokens.append(Token("BAD", text[at:end], start_pos=at, end_pos=end))
        else:
            fault(
                "unclosed-comment",
                "this comment is not closed",
                at,
                at + 2,
                "close it with `*/` (comments do not nest)",
            )
            out.cut = True
            end = size
        if len(tokens) + len(out.comments) > MAX_TOKENS:
            fault(
                "text-too-long",
                f"the text has more than {MAX_TOKENS} words, signs and comments",
                at,
                end,
                "put repeated parts in a `def` or an aggregate (`sum j in n (…)`)",
            )
            out.stopped = True
            break
        at = end
    out.unclosed += stack
    return out
