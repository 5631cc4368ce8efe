"""Text to syntax tree, with every independent fault of the text."""

from __future__ import annotations

from bisect import bisect_left
from dataclasses import dataclass
from functools import lru_cache
from importlib.resources import files
from threading import Lock
from typing import Any, NoReturn, cast

from lark import Lark, Token, UnexpectedToken
from lark.lexer import Lexer
from lark.parsers.lalr_analysis import Shift

from serq.diagnostics import Diagnostic, SerqError, Source, Span
from serq.syntax import ast
from serq.syntax.build import Builder
from serq.syntax.explain import Situation, explain, missing_semicolon
from serq.syntax.lexer import Comment, Lexed, lex

MAX_SHOWN = 20
"""So many diagnostics are reported; one more line says how many there are beside them."""

MAX_FAULTS = 1_000
"""After so many syntax errors the parser stops looking for more."""


class _NoLexer(Lexer):
    """The parser is fed token by token; lark's own lexers are not used."""

    def __init__(self, conf: object) -> None:
        pass

    def lex(self, lexer_state: object, parser_state: object) -> NoReturn:
        raise NotImplementedError


class _Tables:
    """The parser made from the grammar, and how words and signs are called in it."""

    def __init__(self) -> None:
        self.builder = Builder(Source("", ""))
        self.lark = Lark(
            (files("serq.syntax") / "grammar.lark").read_text(encoding="utf-8"),
            parser="lalr",
            lexer=_NoLexer,
            start=["module", "expression", "instance"],
            keep_all_tokens=True,
            maybe_placeholders=True,
            transformer=self.builder,
        )
        self.spelling = {t.name: str(t.pattern.value) for t in self.lark.terminals}
        self.terminal = {text: name for name, text in self.spelling.items()}


@lru_cache(maxsize=1)
def _tables() -> _Tables:
    return _Tables()


_lock = Lock()  # the builder is part of the parser, so one text is parsed at a time


@dataclass(frozen=True, slots=True)
class Parsed:
    """What a text is read as: a tree (of its healthy part), its comments and its faults."""

    tree: Any
    tokens: list[Token]
    comments: list[Comment]
    diagnostics: list[Diagnostic]


# The header of each construct with a body, as terminals: where a header cannot be read, this one
# is read instead, so that the faults of the body are found as well.
_HEADERS: dict[str, tuple[str, ...]] = {
    "def": ("DEF", "NAME", "LPAR", "RPAR", "LBRACE"),
    "pool": ("POOL", "NAME", "LBRACE"),
    "device": ("DEVICE", "NAME", "LBRACE"),
    "engine": ("ENGINE", "NAME", "ON", "NAME", "LBRACE"),
    "workload": ("WORKLOAD", "LBRACE"),
    "server": ("SERVER", "LBRACE"),
    "queue": ("QUEUE", "NAME", "LBRACE"),
    "init": ("INIT", "LBRACE"),
    "turn": ("TURN", "LBRACE"),
    "session": ("SESSION", "LBRACE"),
    "schedule": ("SCHEDULE", "LBRACE"),
    "request": ("REQUEST", "LPAR", "RPAR", "LBRACE"),
    "branch": ("BRANCH", "LPAR", "NUMBER", "RPAR", "LBRACE"),
    "while": ("WHILE", "LPAR", "NUMBER", "RPAR", "LBRACE"),
    "hold": ("HOLD", "NAME", "LPAR", "NUMBER", "RPAR", "LBRACE"),
    "loop": ("LOOP", "LBRACE"),
    "fork": ("FORK", "LBRACE"),
}
_ENTRY = ("NAME", "LBRACE")
_MAIN = ("FN", "MAIN", "LPAR", "RPAR", "LBRACE")


class _Run:
    """One pass over the tokens of one text."""

    def __init__(self, source: Source, lexed: Lexed, start: str) -> None:
        tables = _tables()
        self.source = source
        self.lexed = lexed
        self.tokens = lexed.tokens
        self.start = start
        self.spelling, self.terminal = tables.spelling, tables.terminal
        self.builder = tables.builder
        self.builder.reset(source)
        self.state = tables.lark.parse_interactive("", start=start).parser_state
        self.table = self.state.parse_conf.states
        self.diagnostics: list[Diagnostic] = []
        self.faults = 0
        self.stuck_at, self.stuck = -1, 0
        self.excess = sum((t == "}") - (t == "{") for t in self.tokens)

    # --- feeding --------------------------------------------------------------------------------

    def parse(self) -> Any:
        """The tree, or None when nothing could be made of the text."""
        tokens, before = self.tokens, self.builder.before
        feed = self.state.feed_token
        index, count = 0, len(tokens)
        while index < count:
            token = tokens[index]
            token.type = self.kind(index)
            if token.type == "SEMICOLON":
                before[token.start_pos or 0] = (tokens[index - 1].end_pos or 0) if index else 0
            try:
                feed(token)
                index += 1
            except UnexpectedToken:
                go_on = self.repair(index)
                if go_on is None:
                    return None
                index = go_on
        while True:
            try:
                return feed(Token("$END", ""), True)
            except UnexpectedToken:
                if self.repair(count) is None:
                    return None

    def kind(self, index: int) -> str:
        """The terminal a token is read as in this state."""
        token = self.tokens[index]
        choices = self.table[self.state.state_stack[-1]]
        text = str(token)
        first = text[0]
        if first.isalpha() or first == "_":
            return self.word(index, text, choices)
        if text == "{" and "EXPR_BRACE" in choices and self.is_expression_body(index):
            return "EXPR_BRACE"
        return self.terminal.get(text, token.type)

    def word(self, index: int, text: str, choices: Any) -> str:
        keyword = self.terminal.get(text)
        if keyword is not None and keyword in choices:
            if "NAME" in choices and self.is_name_there(index, text):
                return "NAME"
            return keyword
        if "ARGS" in choices and self.text(index + 1) == "." and self.text(index + 3) == "(":
            return "ARGS"
        return "NAME"

    def text(self, index: int) -> str:
        return str(self.tokens[index]) if index < len(self.tokens) else ""

    def is_name_there(self, index: int, text: str) -> bool:
        """Whether a keyword is a name where both fit: a queue's in a call, a relation's side."""
        after = self.text(index + 1)
        if after == ".":  # hold.route ();
            return True
        if after in ("pull", "push") and self.text(index + 3) in ("latency", "share"):
            return True
        return text == "on" and after == "on"  # engine on on gpu { … }

    def is_expression_body(self, index: int) -> bool:
        """Whether the ``{`` of a definition opens an expression: no ``;`` and no block in it."""
        close = self.lexed.match.get(index, len(self.tokens))
        body = self.tokens[index + 1 : close]
        if not body or any(t in (";", "{") for t in body):
            return False
        if str(body[0]) in _STATEMENT_WORDS and len(body) > 1:
            # `set x = 1` without its `;`: two words in a row are no expression
            return not (_is_word(body[1]) or body[1].type == "NUMBER")
        return True

    # --- what would fit -------------------------------------------------------------------------

    def fits(self, *terminals: str) -> bool:
        """Whether the parser could read these terminals from here."""
        base = self.state.state_stack
        depth, added = len(base), list[Any]()
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
        choices = self.table[self.state.state_stack[-1]]
        return frozenset(t for t in choices if t.isupper() and self.fits(t))

    # --- recovery -------------------------------------------------------------------------------

    def report(self, diagnostic: Diagnostic) -> None:
        self.diagnostics.append(diagnostic)

    def feed(self, terminal: str, text: str, at: int) -> None:
        """Read a token that is not in the text, at a place."""
        self.builder.before[at] = at
        self.state.feed_token(Token(terminal, text, start_pos=at, end_pos=at))

    def repair(self, index: int) -> int | None:
        """Report the token that does not fit, make sense of the place, say where to go on."""
        self.faults += 1
        if self.faults > MAX_FAULTS:
            return None
        self.stuck = self.stuck + 1 if index == self.stuck_at else 0
        self.stuck_at = index
        tokens = self.tokens
        token = tokens[index] if index < len(tokens) else None
        known = token is not None and token.type == "BAD"
        situation = Situation(
            self.source, tokens, index, self.begin(), self.expected(), self.spelling
        )
        if self.stuck < 3:
            done = self.insert(index, token, situation)
            if done is not None:
                return done
        if not known:
            self.report(explain(situation))
        return self.skip(index)

    def insert(self, index: int, token: Token | None, situation: Situation) -> int | None:
        """Read a sign that is plainly missing or wrong; None when it is something else."""
        expected = situation.expected
        last = self.tokens[index - 1] if index else None
        at = (last.end_pos or 0) if last is not None else 0
        kinds = self.kinds(index)
        if "SEMICOLON" in expected and self.starts_anew(index, token, kinds):
            self.report(missing_semicolon(situation))
            self.feed("SEMICOLON", ";", at)
            return index
        return None

    def kinds(self, index: int) -> list[str]:
        """Every terminal the token may be read as."""
        if index >= len(self.tokens):
            return ["$END"]
        token = self.tokens[index]
        if _is_word(token):
            keyword = self.terminal.get(str(token))
            return [keyword, "NAME"] if keyword is not None else ["NAME"]
        return [self.terminal.get(str(token), token.type)]

    def starts_anew(self, index: int, token: Token | None, kinds: list[str]) -> bool:
        """Whether the token begins what stands after a ``;``, or closes the block."""
        if not any(self.fits("SEMICOLON", k) for k in kinds):
            return False
        if token is None or token == "}":
            return True
        if kinds[0] != "NAME":
            return self.fits("SEMICOLON", kinds[0])
        return self.text(index + 1) in ("(", ".", "[", "pull", "push") and self.new_line(index)

    def new_line(self, index: int) -> bool:
        start = self.tokens[index - 1].end_pos or 0
        return "\n" in self.source.text[start : self.tokens[index].start_pos or 0]

    def begin(self) -> int:
        """The token at which the construct around this place starts."""
        states, values = self.state.state_stack, self.state.value_stack
        for at in range(len(values), -1, -1):
            if "ERROR" in self.table[states[at]]:
                return self.token_of(values[at]) if at < len(values) else self.stuck_at
        return self.token_of(values[0]) if values else self.stuck_at

    def token_of(self, value: Any) -> int:
        if isinstance(value, Token):
            start = value.start_pos or 0
        elif isinstance(value, ast.Node):
            start = value.span.start
        else:
            return 0
        return bisect_left(self.tokens, start, key=lambda t: t.start_pos or 0)

    def skip(self, index: int) -> int | None:
        """Leave the construct around this place out and go on behind it."""
        states, values = self.state.state_stack, self.state.value_stack
        begin = self.begin()
        opened = 0
        while "ERROR" not in self.table[states[-1]]:
            if not values:
                return None
            states.pop()
            value = values.pop()
            if isinstance(value, Token) and value.type in ("LBRACE", "EXPR_BRACE"):
                opened += 1
        tokens, count = self.tokens, len(self.tokens)
        at = index
        depth = opened
        while at < count:
            text = str(tokens[at])
            if text == "{":
                if depth == 0 and self.enter(begin, at):
                    return at + 1
                depth += 1
            elif text == "}":
                if depth == 0:
                    break
                depth -= 1
                if depth == 0 and self.text(at + 1) not in _CONTINUES:
                    at += 1
                    break
            elif text == ";" and depth == 0:
                at += 1
                break
            at += 1
        if at < count and str(tokens[at]) == ";" and at > index and tokens[at - 1] == "}":
            at += 1
        place = tokens[begin].start_pos if begin < count else len(self.source.text)
        self.feed("ERROR", "", place or 0)
        if at == index and not any(self.fits(k) for k in self.kinds(index)):
            at += 1  # nothing could be read here: a stray bracket
            if index >= count:
                return None
        return at

    def enter(self, begin: int, at: int) -> bool:
        """Read the body of a construct whose header could not be read."""
        word = self.text(begin)
        main = word in ("fn", "main") or (self.start == "module" and self.text(begin + 1) == "main")
        header = _MAIN if main else _HEADERS.get(word)
        if header is None or not self.fits(*header):
            header = _ENTRY if self.fits(*_ENTRY) else _HEADERS["loop"]
            if not self.fits(*header) or (begin == at):
                return False
        place = self.tokens[begin].start_pos or 0
        if header is not _MAIN:
            self.builder.broken.add(place)
        for terminal in header[:-1]:
            self.feed(terminal, "1" if terminal == "NUMBER" else "", place)
        brace = self.tokens[at]
        brace.type = "LBRACE"
        self.state.feed_token(brace)
        return True


_STATEMENT_WORDS = frozenset({
    "turn", "end", "join", "set", "Size", "Cost", "observe", "hold", "grow", "load", "drop",
    "release", "run", "branch", "while", "loop", "fork", "choose", "transfer", "tool", "prefill",
    "decode", "mark", "at", "cache",
})  # fmt: skip
_CONTINUES = ("else", "cache", "lease")


def _is_word(token: Token) -> bool:
    return token[:1].isalpha() or token[:1] == "_"


def parse_text(source: Source, start: str = "module") -> Parsed:
    """Read a text as a ``module``, an ``expression`` or an ``instance`` file; never raises."""
    lexed = lex(source)
    diagnostics = list(lexed.diagnostics)
    tree = None
    if not lexed.stopped:
        with _lock:
            run = _Run(source, lexed, start)
            tree = run.parse()
            diagnostics += run.diagnostics + run.builder.diagnostics
    diagnostics.sort(key=lambda d: d.span.start if d.span else 0)
    return Parsed(tree, lexed.tokens, lexed.comments, diagnostics)


def _capped(diagnostics: list[Diagnostic]) -> list[Diagnostic]:
    if len(diagnostics) <= MAX_SHOWN:
        return diagnostics
    more = len(diagnostics) - MAX_SHOWN
    plural = "error" if more == 1 else "errors"
    rest = Diagnostic("more-errors", f"{more} more {plural} in this file")
    return [*diagnostics[:MAX_SHOWN], rest]


def _no_main(source: Source) -> Diagnostic:
    empty = not source.text.strip()
    return Diagnostic(
        "no-main",
        "the text is empty" if empty else "there is no `fn main ()`: definitions alone do not run",
        None if empty else Span(source, 0, len(source.text.split("\n", 1)[0])),
        where=source.name,
        help="put the deployment into `fn main () { … }`",
    )


def _main_in_library(source: Source) -> Diagnostic:
    return Diagnostic(
        "main-in-library",
        "a library has definitions and imports, and no `fn main ()`",
        where=source.name,
        help="move what both need into a file of its own",
    )


def parse_recovering(
    source: Source, *, library: bool = False
) -> tuple[ast.Module | None, list[Diagnostic]]:
    """The tree of a file's healthy part, and the file's faults; no tree when there is none.

    A ``library`` has no ``fn main ()``, a program has one.
    """
    parsed = parse_text(source)
    module: ast.Module | None = parsed.tree
    diagnostics = parsed.diagnostics
    if module is not None:
        if library and module.main is not None:
            diagnostics.append(_main_in_library(source))
        elif not library and module.main is None and not diagnostics:
            diagnostics.append(_no_main(source))
    return module, _capped(diagnostics)


def parse(source: Source, *, library: bool = False) -> ast.Module:
    """The tree of a file. Raises `SerqError` with every independent fault of the text."""
    module, diagnostics = parse_recovering(source, library=library)
    if diagnostics or module is None:
        raise SerqError(diagnostics)
    return module


def parse_expression(source: Source) -> ast.Expr:
    """The tree of an expression that stands alone, as in ``--set NAME=EXPR``."""
    return cast(ast.Expr, _whole(source, "expression"))


def parse_instance(source: Source) -> ast.Instance:
    """The tree of an instance file: ``let NAME = EXPR;`` and one ``run { horizon T; … }``."""
    return cast(ast.Instance, _whole(source, "instance"))


def _whole(source: Source, start: str) -> Any:
    parsed = parse_text(source, start)
    if parsed.diagnostics or parsed.tree is None:
        raise SerqError(_capped(parsed.diagnostics))
    return parsed.tree
