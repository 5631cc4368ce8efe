"""What the parser does at a token that does not fit: say it, mend it or leave it out, go on.

The mends are the plain ones (a sign that is missing, doubled or mistaken), so that one mistake is
one diagnostic. Anything else is left out up to the end of its statement or declaration; a
construct whose header cannot be read is entered all the same, for the faults in its body.
"""

from __future__ import annotations

from bisect import bisect_left
from typing import Any

from lark import Token

from serq.diagnostics import Diagnostic, Source, Span
from serq.syntax import ast
from serq.syntax.build_block import end_of, start_of
from serq.syntax.driver import Driver, is_word
from serq.syntax.explain import explain, missing_semicolon
from serq.syntax.lexer import Lexed, shown
from serq.syntax.situation import Situation
from serq.syntax.words import DECLARATIONS, FOREIGN_BLOCKS

MAX_FAULTS = 200
"""After so many syntax errors the parser stops looking for more."""

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
    "run": ("RUN", "LBRACE"),
}
_NAMES = DECLARATIONS | {"let", "def", "set", "choose", "mark", "observe", "Size", "Cost", "state"}
_NAMES -= {"workload", "server", "share"}
_ENTRY = ("NAME", "LBRACE")
_MAIN = ("FN", "MAIN", "LPAR", "RPAR", "LBRACE")
_CONTINUES = ("else", "cache", "lease")
_CLOSERS = {"(": ("RPAR", ")"), "[": ("RSQB", "]"), "{": ("RBRACE", "}")}


class Recovering(Driver):
    """A driver that reports what does not fit and goes on."""

    def __init__(self, source: Source, lexed: Lexed, start: str) -> None:
        super().__init__(source, lexed, start)
        self.diagnostics: list[Diagnostic] = []
        self.faults = 0
        self.gave_up = False
        self.lost: set[str] = set()
        """The words of what was left out: what they would have declared is not in the tree.

        ``*`` among them: a declaration whose name is missing.
        """
        self._resumed = -1
        self._known: set[int] = set()
        self._here, self._tries = -1, 0
        self._excess = sum((t == "}") - (t == "{") for t in self.tokens)

    # --- the place ------------------------------------------------------------------------------

    def begin(self, index: int) -> int:
        """The token at which the construct around this place starts."""
        states, values = self.state.state_stack, self.state.value_stack
        for at in range(len(values), -1, -1):
            if "ERROR" in self.table[states[at]]:
                return self._token_of(values[at]) if at < len(values) else index
        return self._token_of(values[0]) if values else index

    def _token_of(self, value: Any) -> int:
        if not isinstance(value, Token | ast.Node):
            return 0
        return bisect_left(self.tokens, start_of(value), key=start_of)

    def opened(self) -> list[Token]:
        """The brackets of the text that are open here, outermost first."""
        opened: list[Token] = []
        for value in self.state.value_stack:
            if isinstance(value, Token) and end_of(value) > start_of(value):
                if value in ("(", "[", "{"):
                    opened.append(value)
                elif value in (")", "]", "}") and opened:
                    opened.pop()
        return opened

    def starts_line(self, index: int) -> bool:
        """Whether a token is the first of its line."""
        if index >= len(self.tokens):
            return True
        start = end_of(self.tokens[index - 1]) if index else 0
        return index == 0 or "\n" in self.source.text[start : start_of(self.tokens[index])]

    def column(self, index: int) -> int:
        """How far a token stands from the start of its line."""
        start = start_of(self.tokens[index])
        return start - (self.source.text.rfind("\n", 0, start) + 1)

    def indent(self, token: Token) -> int:
        """How far the line of a token is indented."""
        line = self.source.text.rfind("\n", 0, start_of(token)) + 1
        text = self.source.text[line : start_of(token) + 1]
        return len(text) - len(text.lstrip())

    # --- repair ---------------------------------------------------------------------------------

    def repair(self, index: int) -> int | None:
        self.faults += 1
        if self.faults > MAX_FAULTS:
            self.gave_up = True
            return None
        self._tries = self._tries + 1 if index == self._here else 0
        self._here = index
        # What was reported by the lexer, or is the rest of what was just left out, is not news.
        token = self.tokens[index] if index < len(self.tokens) else None
        begin = self.begin(index)
        silent = index == self._resumed or begin in self._known
        if token == "}" and any(d.code == "after-main" for d in self.diagnostics):
            silent = True  # the end of what was taken for a part of main
        silent = silent or (token.type == "BAD" if token is not None else self.lexed.cut)
        situation = Situation(
            self.source,
            self.tokens,
            index,
            begin,
            self.expected(),
            self.spelling,
            self.start,
        )
        if self._tries < 4 and (token is None or token.type != "BAD"):
            go_on = self.mend(index, situation)
            if go_on is not None:
                return go_on
        if not silent:
            self.diagnostics.append(explain(situation))
        self._resumed = -1
        return self.skip(index, situation.begin)

    def mend(self, index: int, s: Situation) -> int | None:
        """Read a sign that is plainly missing, doubled or mistaken; None if it is not that."""
        tokens, expected, text = self.tokens, s.expected, self.text(index)
        kinds = self.kinds(index)
        at = end_of(tokens[index - 1]) if index else 0
        ends = index >= len(tokens)
        if "SEMICOLON" in expected and (ends or self._begins_anew(index, kinds)):
            if not (ends and self.lexed.cut):
                self.diagnostics.append(missing_semicolon(s))
            self.feed("SEMICOLON", ";", at)
            return index
        if text == ";" and "SEMICOLON" not in expected and "ERROR" in expected:
            self.diagnostics.append(explain(s))  # an empty statement
            return index + 1
        for close in ("RPAR", "RSQB"):
            if close in expected and self._close(index, close, kinds):
                return index
        if text in (")", "]") and any(self.fits(k) for k in self.kinds(index + 1)):
            message = f"this `{text}` closes nothing"
            help = f"remove it, or open it with `{'(' if text == ')' else '['}`"
            self.diagnostics.append(
                Diagnostic("unbalanced-bracket", message, s.span(index), help=help)
            )
            return index + 1
        if text in ("=", "=="):
            other = "EQEQ" if text == "=" else "EQUAL"
            if other in expected:
                self.diagnostics.append(explain(s))
                self.feed(other, self.spelling[other], at)
                return index + 1
        if text == ":" and self.text(index + 1) == "=" and "EQUAL" in expected:
            self.diagnostics.append(explain(s))
            return index + 1
        if self._runs_on(index):  # 0x10, 3rd, 1e+
            self.diagnostics.append(explain(s))
            sign = self.text(index + 1) in ("+", "-") and self.text(index) in ("e", "E")
            return index + 2 if sign and not is_operand(tokens, index + 2) else index + 1
        if self._excess > 0 and any(self.fits("LBRACE", k) for k in kinds):
            self._excess -= 1
            message = f"`{{` is missing before {s.found}"
            help = "the `}` that closes the block is there"
            self.diagnostics.append(
                Diagnostic("unbalanced-bracket", message, s.span(index), help=help)
            )
            self.feed("LBRACE", "{", at)
            return index
        if ends or (self._excess < 0 and self.starts_line(index)):
            return self._close_blocks(index, kinds)
        begin = s.begin
        if index == begin + 1 and self._excess < 0 and self.starts_line(begin):
            # A declaration in a block of statements was read as the name of a call.
            declares = self.text(begin) in DECLARATIONS
            if declares and self.state.value_stack[-1] is tokens[begin]:
                last = self.state.state_stack.pop(), self.state.value_stack.pop()
                done = self._close_blocks(begin, self.kinds(begin))
                if done is not None:
                    return done
                self.state.state_stack.append(last[0])
                self.state.value_stack.append(last[1])
        return None

    def _runs_on(self, index: int) -> bool:
        """Whether a word touches the number before it."""
        tokens = self.tokens
        if not 0 < index < len(tokens) or tokens[index - 1].type != "NUMBER":
            return False
        return is_word(tokens[index]) and start_of(tokens[index]) == end_of(tokens[index - 1])

    def _begins_anew(self, index: int, kinds: list[str]) -> bool:
        """Whether a token begins what stands after a ``;``, or closes the block."""
        fitting = [k for k in kinds if self.fits("SEMICOLON", k)]
        if not fitting:
            return False
        if fitting != ["NAME"]:
            return True
        if not self.starts_line(index):
            return False
        known = self.text(index + 1) in ("(", ".", "[", "{", "pull", "push")
        return known or self.column(index) <= self.column(self.begin(index))

    def _close(self, index: int, close: str, kinds: list[str]) -> bool:
        """Close the open parentheses (or indices) that end before this token."""
        if kinds[0] in ("NAME", "NUMBER", "STRING") and len(kinds) == 1:
            return False
        opened = self.opened()
        for count in range(1, len(opened) + 1):
            closed = opened[-count]
            if closed.type != ("LPAR" if close == "RPAR" else "LSQB"):
                return False
            if any(self.fits(*[close] * count, k) for k in kinds):
                self._unclosed(opened[-1], index)
                for _ in range(count):
                    self.feed(
                        close, ")" if close == "RPAR" else "]", end_of(self.tokens[index - 1])
                    )
                return True
        return False

    def _close_blocks(self, index: int, kinds: list[str]) -> int | None:
        """Close the blocks that a declaration, or the end of the text, shows to be unclosed."""
        opened = self.opened()
        mended: list[str] = []
        while opened:
            closed = opened.pop()
            mended.append(_CLOSERS[str(closed)][0])
            if any(self.fits(*mended, k) for k in kinds):
                self._unclosed(self._likely(index) or self.opened()[-1], index)
                place = end_of(self.tokens[index - 1])
                for terminal in mended:
                    self.feed(terminal, self.spelling[terminal], place)
                    self._excess += terminal == "RBRACE"
                return index
        return None

    def _likely(self, index: int) -> Token | None:
        """The brace that indentation shows to be unclosed: its partner closes an outer line."""
        for open_at, close_at in sorted(self.lexed.match.items(), key=lambda pair: pair[1]):
            opener = self.tokens[open_at]
            if close_at < index and opener == "{" and self.starts_line(close_at):  # noqa: SIM102
                if self.column(close_at) < self.indent(opener):
                    return opener
        return None

    def _unclosed(self, bracket: Token, index: int) -> None:
        close = _CLOSES_TEXT[str(bracket)]
        span = Span(self.source, start_of(bracket), end_of(bracket))
        place = None
        what = "the end of the text"
        if index < len(self.tokens):
            place = Span(self.source, start_of(self.tokens[index]), end_of(self.tokens[index]))
            what = f"`{shown(self.text(index))}`"
        if index >= len(self.tokens) and self.lexed.cut:
            return  # the rest of the text was not read
        self.diagnostics.append(
            Diagnostic(
                "unbalanced-bracket",
                f"this `{bracket}` is not closed",
                span,
                help=f"`{close}` is missing before {what}",
                notes=((f"{what} is not part of it", place),) if place is not None else (),
            )
        )

    # --- leaving out ----------------------------------------------------------------------------

    def skip(self, index: int, begin: int) -> int | None:
        """Leave the construct around this place out and go on behind it."""
        states, values = self.state.state_stack, self.state.value_stack
        depth = 0
        while "ERROR" not in self.table[states[-1]]:
            if not values:
                return None
            states.pop()
            value = values.pop()
            if isinstance(value, Token):
                depth += (value == "{") - (value == "}")
        tokens, count = self.tokens, len(self.tokens)
        margin = self.column(begin) if begin < count else 0
        at, ended = index, False
        while at < count:
            text = str(tokens[at])
            if text == "{" and self.text(at - 1) == "admission":
                at = self.lexed.match.get(at, at)  # bindings, not the block
            elif text == "{":
                if depth == 0 and self.enter(begin, at):
                    return at + 1
                depth += 1
            elif text == "}":
                if depth == 0:
                    break
                depth -= 1
                if depth == 0 and self.text(at + 1) not in _CONTINUES:
                    at += 2 if self.text(at + 1) == ";" else 1
                    ended = True
                    break
            elif text == ";" and depth == 0:
                at, ended = at + 1, True
                break
            elif at > begin and depth == 0 and self._new_start(at, margin):
                ended = True
                break
            at += 1
        self.feed("ERROR", "", start_of(tokens[begin]) if begin < count else 0)
        if at == index and not any(self.fits(k) for k in self.kinds(index)):
            if index >= count:
                return None
            at, ended = at + 1, True  # a stray bracket at the outermost level
        self._lose(begin, at)
        # What still misfits in the middle of the left-out text is not a fault of its own.
        self._resumed = -1 if ended else at
        return at

    def _lose(self, begin: int, end: int) -> None:
        """Remember the words of the tokens that the tree will not have."""
        self.lost.update(str(t) for t in self.tokens[begin:end] if is_word(t))
        if self.text(begin) in _NAMES and not self._is_name(begin + 1):
            self.lost.add("*")
        # A queue or an engine without one of its parts may be no stage, or take no request.
        for token in self.opened():
            at = bisect_left(self.tokens, start_of(token), key=start_of) - 1
            while at > 0 and self.text(at - 1) not in ("{", "}", ";"):
                at -= 1
            if self.text(at) in DECLARATIONS:
                self.lost.add(self.text(at + 1))

    def _is_name(self, index: int) -> bool:
        """Whether a token is a word that the language leaves to the program."""
        return index < len(self.tokens) and self.kinds(index) == ["NAME"]

    def _new_start(self, at: int, margin: int) -> bool:
        """Whether a keyword at the start of a line, no further in, starts the next construct."""
        if not is_word(self.tokens[at]) or not self.starts_line(at) or self.column(at) > margin:
            return False
        keyword = self.terminal.get(self.text(at))
        return keyword is not None and keyword != "CACHE" and self.fits("ERROR", keyword)

    def enter(self, begin: int, at: int) -> bool:
        """Read the body of a construct whose header could not be read."""
        word = self.text(begin)
        main = self.start == "module" and "main" in (word, self.text(begin + 1))
        header = _MAIN if main or word == "fn" else _HEADERS.get(word)
        if header is None or not self.fits(*header):
            header = _ENTRY if self.fits(*_ENTRY) else _HEADERS["loop"]
            statement = header is not _ENTRY
            if begin == at or (statement and word not in FOREIGN_BLOCKS) or not self.fits(*header):
                return False
        place = start_of(self.tokens[begin])
        if header is not _MAIN:  # the body is read for its faults, and is no part of the tree
            self.builder.broken.add(place)
            self._lose(begin, self.lexed.match.get(at, len(self.tokens)))
        if word in FOREIGN_BLOCKS:  # its `else` is part of the same mistake
            close = self.lexed.match.get(at, at) + 1
            if self.text(close) == "else":
                self._known.add(close)
        for terminal in header[:-1]:
            self.feed(terminal, "1" if terminal == "NUMBER" else "", place)
        brace = self.tokens[at]
        expression = word == "def" and self.is_expression_body(at)
        brace.type = "EXPR_BRACE" if expression else "LBRACE"
        self.state.feed_token(brace)
        return True


_CLOSES_TEXT = {"(": ")", "[": "]", "{": "}"}


def is_operand(tokens: list[Token], index: int) -> bool:
    return index < len(tokens) and (is_word(tokens[index]) or tokens[index].type == "NUMBER")
