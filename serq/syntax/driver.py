"""The LALR parser fed token by token: words get their meaning from what would fit."""

from __future__ import annotations

import hashlib
import os
import sys
from contextlib import nullcontext
from functools import lru_cache
from importlib.resources import files
from pathlib import Path
from typing import Any, NoReturn

from filelock import FileLock, Timeout
from lark import Lark, Token, UnexpectedToken
from lark import __version__ as lark_version
from lark.lexer import Lexer
from lark.parsers.lalr_analysis import Shift
from platformdirs import user_cache_path

from serq.diagnostics import Source
from serq.syntax.build import Builder
from serq.syntax.build_block import end_of, start_of
from serq.syntax.lexer import Lexed
from serq.syntax.words import STATEMENTS

STARTS = ("module", "expression", "instance")


class _NoLexer(Lexer):
    """The parser is fed token by token; lark's own lexers are not used."""

    def __init__(self, conf: object) -> None:
        pass

    def lex(self, lexer_state: object, parser_state: object) -> NoReturn:
        raise NotImplementedError


class Tables:
    """The parser made from the grammar, and how words and signs are called in it."""

    def __init__(self) -> None:
        self.builder = Builder(Source("", ""))
        grammar = (files("serq.syntax") / "grammar.lark").read_text(encoding="utf-8")
        kept = _kept_file(grammar)
        try:
            # One process at a time: another one may be writing the tables.
            with FileLock(f"{kept}.lock", timeout=5) if kept is not None else nullcontext():
                self.lark = self._make(grammar, False if kept is None else str(kept))
        except (OSError, Timeout):
            self.lark = self._make(grammar, False)
        self.spelling = {t.name: str(t.pattern.value) for t in self.lark.terminals}
        self.terminal = {text: name for name, text in self.spelling.items()}

    def _make(self, grammar: str, cache: str | bool) -> Lark:
        return Lark(
            grammar,
            parser="lalr",
            lexer=_NoLexer,
            start=list(STARTS),
            keep_all_tokens=True,
            maybe_placeholders=True,
            transformer=self.builder,
            cache=cache,
        )


def _kept_file(grammar: str) -> Path | None:
    """Where the tables of this grammar are kept between runs; None where nothing can be kept.

    Making them takes some tenths of a second, which is most of the time of a short command.
    """
    made_by = f"{grammar}\n{lark_version}\n{sys.version}"
    digest = hashlib.sha256(made_by.encode()).hexdigest()[:16]
    override = os.environ.get("SERQ_CACHE")
    directory = Path(override) if override else user_cache_path("serq", appauthor=False)
    if not directory.is_absolute():
        return None
    try:
        directory.mkdir(parents=True, exist_ok=True)
    except OSError:
        return None
    return directory / f"grammar-{digest}.tables"


@lru_cache(maxsize=1)
def tables() -> Tables:
    return Tables()


def is_word(token: Token) -> bool:
    return token[:1].isalpha() or token[:1] == "_"


class Driver:
    """One pass over the tokens of one text; `repair` says what happens at a token that misfits."""

    def __init__(self, source: Source, lexed: Lexed, start: str) -> None:
        made = tables()
        self.source = source
        self.lexed = lexed
        self.tokens = lexed.tokens
        self.start = start
        self.spelling, self.terminal = made.spelling, made.terminal
        self.builder = made.builder
        self.builder.reset(source)
        self.state = made.lark.parse_interactive("", start=start).parser_state
        self.table = self.state.parse_conf.states

    def repair(self, index: int) -> int | None:
        """Make sense of a token that does not fit: the token to go on with, None to give up."""
        raise NotImplementedError

    def parse(self) -> Any:
        """The tree, or None when nothing could be made of the text."""
        tokens, before = self.tokens, self.builder.before
        feed = self.state.feed_token
        index, count = 0, len(tokens)
        while True:
            if index < count:
                token = tokens[index]
                token.type = self.kind(index)
                if token.type == "SEMICOLON":
                    before[start_of(token)] = end_of(tokens[index - 1]) if index else 0
            else:
                token = Token("$END", "")
            try:
                tree = feed(token, index >= count)
            except UnexpectedToken:
                go_on = self.repair(index)
                if go_on is None:
                    return None
                index = go_on
                continue
            if index >= count:
                return tree
            index += 1

    def feed(self, terminal: str, text: str, at: int) -> None:
        """Read a token that is not in the text, at a place."""
        self.builder.before[at] = at
        self.state.feed_token(Token(terminal, text, start_pos=at, end_pos=at))

    # --- what a token is ------------------------------------------------------------------------

    def text(self, index: int) -> str:
        return str(self.tokens[index]) if index < len(self.tokens) else ""

    def kind(self, index: int) -> str:
        """The terminal a token is read as in this state."""
        token = self.tokens[index]
        choices = self.table[self.state.state_stack[-1]]
        text = str(token)
        if is_word(token):
            return self.word(index, text, choices)
        if text == "{" and "EXPR_BRACE" in choices and self.is_expression_body(index):
            return "EXPR_BRACE"
        return self.terminal.get(text, token.type)

    def word(self, index: int, text: str, choices: Any) -> str:
        keyword = self.terminal.get(text)
        if keyword is not None and keyword in choices:
            # A table entry that reduces may belong to another place with the same last token, so
            # only what can be read to its end counts.
            shifts = choices[keyword][0] is Shift
            if shifts or self.fits(keyword):
                name = choices.get("NAME")
                either = name is not None and (name[0] is Shift) >= shifts and self.fits("NAME")
                return "NAME" if either and self.is_name_there(index, text) else keyword
        if "ARGS" in choices and self.text(index + 1) == "." and self.text(index + 3) == "(":
            return "ARGS"
        return "NAME"

    def is_name_there(self, index: int, text: str) -> bool:
        """Whether a keyword is a name where both fit."""
        after = self.text(index + 1)
        if text in ("cache", "at"):  # statements of a request, but for queues called so
            return after in (".", "[")
        return text == "on" and after == "on"  # an engine called so: engine on on gpu { … }

    def kinds(self, index: int) -> list[str]:
        """Every terminal a token may be read as, the keyword first."""
        if index >= len(self.tokens):
            return ["$END"]
        token = self.tokens[index]
        if is_word(token):
            keyword = self.terminal.get(str(token))
            return [keyword, "NAME"] if keyword is not None else ["NAME"]
        return [self.terminal.get(str(token), token.type)]

    def is_expression_body(self, index: int) -> bool:
        """Whether the ``{`` of a definition opens an expression: no ``;`` and no block in it."""
        close = self.lexed.match.get(index, len(self.tokens))
        body = self.tokens[index + 1 : close]
        if not body or any(t == ";" or t == "{" for t in body):
            return False
        if str(body[0]) in STATEMENTS and len(body) > 1:
            # `set x = 1` without its `;`: two words in a row are no expression
            return not (is_word(body[1]) or body[1].type == "NUMBER")
        return True

    # --- what would fit -------------------------------------------------------------------------

    def fits(self, *terminals: str) -> bool:
        """Whether the parser could read these terminals from here."""
        base = self.state.state_stack
        depth = len(base)
        added: list[Any] = []
        for terminal in terminals:
            while True:
                top = added[-1] if added else base[depth - 1]
                step = self.table[top].get(terminal)
                if step is None:
                    return False
                action, arg = step
                if action is Shift:
                    added.append(arg)
                    break
                size = len(arg.expansion)
                drop = min(size, len(added))
                if drop:
                    del added[len(added) - drop :]
                depth -= size - drop
                top = added[-1] if added else base[depth - 1]
                added.append(self.table[top][arg.origin.name][1])
                if terminal == "$END" and added[-1] == self.state.parse_conf.end_state:
                    return True
        return True

    def expected(self) -> frozenset[str]:
        """Every terminal that would fit here."""
        choices = self.table[self.state.state_stack[-1]]
        return frozenset(t for t in choices if t.isupper() and self.fits(t))
