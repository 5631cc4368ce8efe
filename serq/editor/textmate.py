"""The TextMate grammar, made from the word lists: ``python -m serq.editor.textmate`` writes it."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

from serq.editor.pygments_lexer import NAME, either
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

FILE = Path(__file__).with_name("serq.tmLanguage.json")


def _rule(scope: str, pattern: str) -> dict[str, Any]:
    return {"name": f"{scope}.serq", "match": pattern}


def grammar() -> dict[str, Any]:
    """The grammar as the object that editors read; scopes are TextMate's usual ones."""
    named = rf"\b({either(NAMING)})\s+(?!(?:{either(NOT_NAMES)})\b)({NAME})"
    return {
        "$schema": "https://raw.githubusercontent.com/martinring/tmlanguage/master/tmlanguage.json",
        "name": "serQ",
        "scopeName": "source.serq",
        "fileTypes": ["sq"],
        "patterns": [
            _rule("comment.line.double-slash", r"//.*$"),
            {"name": "comment.block.serq", "begin": r"/\*", "end": r"\*/"},
            _rule("string.quoted.double", r'"[^"\n]*"'),
            _rule(
                "constant.numeric",
                r"(?<![\w.])(?:[0-9][0-9_]*(?:\.[0-9_]*)?|\.[0-9][0-9_]*)(?:[eE][+-]?[0-9]+)?",
            ),
            {
                "match": rf"(~)({NAME})",
                "captures": {
                    "1": {"name": "keyword.operator.serq"},
                    "2": {"name": "support.function.distribution.serq"},
                },
            },
            {
                "match": rf"\.({NAME})",
                "captures": {"1": {"name": "variable.other.member.serq"}},
            },
            {
                "match": named,
                "captures": {
                    "1": {"name": "keyword.other.serq"},
                    "2": {"name": "entity.name.serq"},
                },
            },
            _rule("support.function", rf"\b(?:{either(CALLED)})(?=\s*\()"),
            _rule("storage.type", rf"\b(?:{either(OPENERS)})\b"),
            _rule("keyword.control", rf"\b(?:{either(STATEMENT_WORDS)})\b"),
            _rule("variable.language", r"\btokens\b(?!\s+cap\b)"),
            _rule("keyword.other", rf"\b(?:{either(CLAUSES)})\b"),
            _rule("constant.language", rf"\b(?:{either(CONSTANTS)})\b"),
            _rule("variable.language", rf"\b(?:{either(VARIABLES | ATTRIBUTES)})\b"),
            _rule("variable.other", rf"\b(?:{either(CALLED | DRAWN)})\b"),
            _rule("keyword.operator", r"\|\||&&|[<>=!]=|[-+*/^<>=!?:]"),
        ],
    }


def text() -> str:
    """The grammar as JSON."""
    return json.dumps(grammar(), indent=2, ensure_ascii=False) + "\n"


if __name__ == "__main__":
    FILE.write_text(text(), encoding="utf-8")
