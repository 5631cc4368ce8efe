"""The Pygments lexer ``serq`` for program texts, instance files and pieces of them."""

from __future__ import annotations

from collections.abc import Iterable

from pygments.lexer import RegexLexer, bygroups, words
from pygments.token import (
    Comment,
    Keyword,
    Name,
    Number,
    Operator,
    Punctuation,
    String,
    Text,
    Whitespace,
)

from serq.editor.words import (
    ATTRIBUTES,
    CALLED,
    CLAUSES,
    CONSTANTS,
    DRAWN,
    NAMING,
    NOT_NAMES,
    OPENERS,
    STATEMENT_WORDS,
    VARIABLES,
)


def either(group: Iterable[str]) -> str:
    """A pattern for one of the words, the longest first."""
    return "|".join(sorted(group, key=lambda w: (-len(w), w)))


NAME = r"[^\W\d]\w*"
_NAMED = rf"\b({either(NAMING)})(\s+)(?!(?:{either(NOT_NAMES)})\b)({NAME})"


class SerqLexer(RegexLexer):  # type: ignore[misc]  # Pygments has no types
    """Colours serQ. Words are contextual: a name that follows ``set`` or ``pool`` is a name."""

    name = "serQ"
    aliases = ["serq"]  # noqa: RUF012  # the shape Pygments asks for
    filenames = ["*.sq"]  # noqa: RUF012
    version_added = ""

    tokens = {  # noqa: RUF012
        "root": [
            (r"\s+", Whitespace),
            (r"//[^\n]*", Comment.Single),
            (r"/\*(?:[^*]|\*(?!/))*\*/", Comment.Multiline),
            (r'"[^"\n]*"', String),
            (r"(?:[0-9][0-9_]*(?:\.[0-9_]*)?|\.[0-9][0-9_]*)(?:[eE][+-]?[0-9]+)?", Number),
            (rf"(~)({NAME})", bygroups(Operator, Name.Builtin)),
            (rf"(\.)({NAME})", bygroups(Punctuation, Name.Attribute)),
            (_NAMED, bygroups(Keyword, Whitespace, Name.Variable)),
            (rf"(?:{either(CALLED)})(?=\s*\()", Name.Function),
            (words(OPENERS, suffix=r"\b"), Keyword.Declaration),
            (words(STATEMENT_WORDS, suffix=r"\b"), Keyword),
            (r"tokens(?!\s+cap\b)\b", Name.Builtin.Pseudo),
            (words(CLAUSES, suffix=r"\b"), Keyword.Reserved),
            (words(CONSTANTS, suffix=r"\b"), Keyword.Constant),
            (words(VARIABLES | ATTRIBUTES, suffix=r"\b"), Name.Builtin.Pseudo),
            (words(DRAWN | CALLED, suffix=r"\b"), Name),
            (NAME, Name),
            (r"\|\||&&|[<>=!]=|[-+*/^<>=!~?:]", Operator),
            (r"[;,.()\[\]{}]", Punctuation),
            (r"…", Text),  # left out, in pieces that the documentation shows
        ]
    }
