"""The lexer and the grammar for editors know the language."""

from __future__ import annotations

import json
import re
from pathlib import Path

import pytest
from pygments import lex
from pygments.lexers import get_lexer_by_name
from pygments.token import Comment, Error, Keyword, Name, Number, Operator, Token

from serq.editor import textmate
from serq.editor.pygments_lexer import SerqLexer
from serq.editor.words import CALLED, DRAWN, EVERY
from serq.lower.vocabulary import SUPPLIED, WORDS

ROOT = Path(__file__).parent.parent
PROGRAMS = sorted((ROOT / "examples").rglob("*.sq"))
GRAMMAR = re.sub(r"//.*", "", (ROOT / "serq/syntax/grammar.lark").read_text())
GRAMMAR_WORDS = set(re.findall(r'"([A-Za-z_]+)"', GRAMMAR))


def kinds(text: str) -> list[tuple[object, str]]:
    """The token types of a text, without blank space."""
    return [(kind, word) for kind, word in lex(text, SerqLexer()) if word.strip()]


def test_every_word_of_the_grammar_has_a_group() -> None:
    """A word that the grammar gives a meaning is known to the editors."""
    assert len(GRAMMAR_WORDS) > 100
    assert GRAMMAR_WORDS <= EVERY


def test_every_word_of_the_linker_has_a_group() -> None:
    """A function, distribution or supplied name is known to the editors."""
    assert WORDS | SUPPLIED <= EVERY


@pytest.mark.parametrize("word", sorted(EVERY))
def test_the_lexer_colours_every_word(word: str) -> None:
    """A word looks like any other name only where its meaning needs a bracket or a `~`."""
    plain, called = kinds(word)[0][0], kinds(f"{word} (1)")[0][0]
    assert called is not Name or word in DRAWN
    assert plain is not Name or word in CALLED | DRAWN
    assert kinds(f"{word}_x")[0] == (Name, f"{word}_x")


@pytest.mark.parametrize("path", PROGRAMS, ids=lambda p: p.stem)
def test_the_lexer_reads_every_example(path: Path) -> None:
    """A program has no character that the lexer does not know, and none is lost."""
    text = path.read_text(encoding="utf-8")
    found = list(lex(text, SerqLexer(stripnl=False)))
    assert "".join(word for _, word in found) == text
    assert not [word for kind, word in found if kind in Error]


def test_a_word_in_the_place_of_a_name_is_a_name() -> None:
    """Words are contextual, for the lexer as for the parser."""
    assert kinds("set run = 1;")[1] == (Name.Variable, "run")
    assert kinds("pool queue { }")[1] == (Name.Variable, "queue")
    assert kinds("queue fifo;")[1] == (Keyword.Reserved, "fifo")
    assert kinds("engine on gpu")[1] == (Keyword.Reserved, "on")
    assert kinds("batch.tokens")[2] == (Name.Attribute, "tokens")
    assert kinds("~exp(2)")[:2] == [(Operator, "~"), (Name.Builtin, "exp")]
    assert kinds("tokens cap 1")[0] == (Keyword.Reserved, "tokens")
    assert kinds("tokens <= 1")[0] == (Name.Builtin.Pseudo, "tokens")


def test_comments_and_numbers() -> None:
    """Comments and numbers are those of the language."""
    assert kinds("/* a ; b */ 1_000 .5 5. 1.5e-3 // x")[0][0] is Comment.Multiline
    assert [w for k, w in kinds("1_000 .5 5. 1.5e-3") if k in Number] == [
        "1_000",
        ".5",
        "5.",
        "1.5e-3",
    ]


def test_the_lexer_is_registered() -> None:
    """Pygments finds the lexer by its name and by the ending of a file."""
    assert isinstance(get_lexer_by_name("serq"), SerqLexer)
    assert "*.sq" in SerqLexer.filenames


def test_the_textmate_grammar_is_the_generated_one() -> None:
    """The committed grammar is what the word lists give."""
    assert textmate.FILE.read_text(encoding="utf-8") == textmate.text()


def _matches(text: str, at: int) -> str | None:
    """The scope that the grammar's first matching rule gives to the word at a place."""
    for rule in json.loads(textmate.text())["patterns"]:
        if "match" not in rule:
            continue
        found = re.compile(rule["match"]).search(text)
        if found is None:
            continue
        if "captures" not in rule and found.start() == at:
            return str(rule["name"])
        for group, scope in rule.get("captures", {}).items():
            if found.start(int(group)) == at:
                return str(scope["name"])
    return None


@pytest.mark.parametrize("word", sorted(EVERY))
def test_the_textmate_grammar_knows_every_word(word: str) -> None:
    """Every word has a scope of its own, and no name that only begins with it has."""
    assert _matches(f"{word} (1)", 0) is not None
    assert _matches(f"{word}_x (1)", 0) is None
    assert _matches(f"x.{word}", 2) == "variable.other.member.serq"


def test_the_token_types_are_standard() -> None:
    """Every style of Pygments has a colour for what the lexer finds."""
    from pygments.token import STANDARD_TYPES

    text = "".join(path.read_text(encoding="utf-8") for path in PROGRAMS)
    assert {kind for kind, _ in lex(text, SerqLexer())} <= set(STANDARD_TYPES)
    assert Token in STANDARD_TYPES
