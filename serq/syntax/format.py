"""A program's text in the one layout, for ``serq fmt``.

What the author wrote stays: the words in their order, the spelling of numbers, comments and the
column they were aligned at, line breaks inside a statement, one blank line where there were some,
and blocks on one line that fit. What changes is blank space: two columns a block, one statement or
item a line, spaces around operators, trailing comments of neighbouring lines in one column.
"""

from __future__ import annotations

from dataclasses import dataclass
from itertools import groupby

from lark import Token

from serq.diagnostics import SerqError, Source
from serq.syntax import ast
from serq.syntax.build_block import end_of, start_of
from serq.syntax.lexer import Comment
from serq.syntax.parser import Parsed, capped, parse_text
from serq.syntax.walk import walk

WIDTH = 100
"""A block that the author put on one line stays there if the line is no longer than this."""

STEP = 2
CONTINUED = 4
"""How far a statement's further lines are indented outside of parentheses, where the author's
own indentation is no guide."""

MOST_CONTINUED = 12
"""The author's indentation of a further line is kept up to this."""

_OPERANDS = frozenset({"NAME", "NUMBER", "INF", "RPAR", "RSQB"})
_TIGHT_AFTER = ("(", "[", ".", "~", "!")
_TIGHT_BEFORE = (")", "]", ",", ";", ".", "[")
_LAWS = ("POISSON", "RENEWAL", "CLOSED", "BATCH")

Atom = Token | Comment


def format_source(text: str, name: str = "<text>") -> str:
    """The text laid out. Raises `SerqError` with the syntax errors of a text that does not parse.

    Reading the result gives the tree of the text, and laying the result out gives the result.
    """
    parsed = parse_text(Source(name, text))
    if parsed.diagnostics:
        raise SerqError(capped(parsed.diagnostics, parsed.complete))
    lines = _Layout(text, parsed).lines()
    _align(lines)
    return "".join(line.text() + "\n" for line in lines)


@dataclass(slots=True)
class _Line:
    """One line of the result; ``comment`` is the comment behind its code."""

    code: str = ""
    comment: str | None = None
    column: int = 0  # where the comment starts
    wished: int = 0  # where it started in the author's text, from the same indentation
    gap: int = 0  # the blanks before it there

    def text(self) -> str:
        code = self.code.rstrip()
        return code if self.comment is None else code.ljust(self.column) + self.comment


def _align(lines: list[_Line]) -> None:
    """Put the trailing comments of neighbouring lines into one column.

    It is the author's where they had put all of them there; otherwise two blanks from the code.
    """
    for trailing, run in groupby(lines, key=lambda line: line.comment is not None):
        if trailing:
            group = list(run)
            column = max(len(line.code.rstrip()) for line in group) + 2
            wished = {line.wished for line in group}
            if len(wished) == 1 and any(line.gap > 2 for line in group):
                column = max(column, *wished)
            for line in group:
                line.column = column


@dataclass(slots=True)
class _Block:
    """A block written over several lines; ``head`` is how its current item begins."""

    indent: int
    head: str = ""
    column: int = 0  # of the item in the author's text


class _Layout:
    """One pass over the atoms of a text: its tokens and comments in their order."""

    def __init__(self, source: str, parsed: Parsed) -> None:
        self.source = source
        self.atoms: list[Atom] = sorted([*parsed.tokens, *parsed.comments], key=_start)
        self.calls = _calls(parsed.tree)
        self.holds = {n.span.end for n in walk(parsed.tree) if isinstance(n, ast.HoldStmt)}
        self.match: dict[int, int] = {}
        stack: list[int] = []
        for at, atom in enumerate(self.atoms):
            if isinstance(atom, Token) and atom == "{":
                stack.append(at)
            elif isinstance(atom, Token) and atom == "}":
                self.match[stack.pop()] = at
        self.spaces = self._spaces()
        self.ends = [0]  # where each atom would end if all stood on one line
        for atom, space in zip(self.atoms, self.spaces, strict=True):
            self.ends.append(self.ends[-1] + len(space) + len(_text(atom)))
        self.out: list[_Line] = []
        self.blocks = [_Block(0)]
        self.brackets: list[tuple[str, int]] = []
        """The brackets open in the current item, and the column a new line in each begins at."""

    # --- spaces ---------------------------------------------------------------------------------

    def _spaces(self) -> list[str]:
        """What stands before each atom when it is on the line of the one before it."""
        out: list[str] = []
        before: Atom | None = None
        sign = False  # the atom before is a minus sign, and no subtraction
        claim, depth = False, 0
        for at, atom in enumerate(self.atoms):
            tight = before is None
            if isinstance(before, Token) and isinstance(atom, Token):
                tight = (
                    sign
                    or before in _TIGHT_AFTER
                    or atom in _TIGHT_BEFORE
                    or "^" in (str(before), str(atom))
                    or (atom == "(" and self._is_call(at, before))
                    or (atom == ":" and claim and not depth)
                )
            out.append("" if tight else " ")
            if isinstance(atom, Token):
                claim = atom.type == "CLAIM" or (claim and (depth > 0 or atom != ":"))
                depth += (atom in ("(", "[")) - (atom in (")", "]"))
                operand = isinstance(before, Token) and before.type in _OPERANDS
                sign = atom == "-" and not operand
            before = atom
        return out

    def _is_call(self, at: int, before: Token) -> bool:
        """Whether the parenthesis at ``at`` follows its name without a space."""
        after = self.atoms[at + 1]
        if isinstance(after, Token) and (after == ")" or after.type == "STRING"):
            return before.type in ("NAME", "MAIN")
        return before.type in _LAWS or end_of(before) in self.calls

    # --- lines ----------------------------------------------------------------------------------

    def lines(self) -> list[_Line]:
        """The lines of the result."""
        fresh, inline_to, must_break = True, -1, False
        for at, atom in enumerate(self.atoms):
            token = atom if isinstance(atom, Token) else None
            newlines = self._newlines(at)
            inline = at <= inline_to
            closing = token == "}" and not inline and not self.brackets
            if inline:
                self._go_on(at)
            elif token is None and not newlines and at and self._trails(at):
                self._trail(at)
            elif closing:
                self.blocks.pop()
                self._new_line(self.blocks[-1].indent)
                self._go_on(at)
                fresh = False
            elif fresh:
                beside = at and not newlines and not must_break and self._is_comment(at - 1)
                if not beside:
                    blank = newlines > 1 and not self._is_brace(at - 1)
                    self._new_line(self.blocks[-1].indent, blank=blank)
                self._go_on(at)
                if token is not None:
                    self.blocks[-1].head = token.type
                    self.blocks[-1].column = self._column(at)
                    fresh = False
            else:
                if must_break or (newlines and self._may_break(at)):
                    self._new_line(self._margin(at))
                self._go_on(at)
            must_break = token is None and (self._is_last(at) or "\n" in _text(atom))
            if token is None:
                continue
            if not inline and token in ("(", "["):
                self._open(at)
            elif not inline and token in (")", "]"):
                self.brackets.pop()
            elif not inline and token == "{":
                if self._is_record(at):
                    self._open(at)
                elif self._stays(at):
                    inline_to = self.match[at]
                else:
                    self.blocks.append(_Block(self.blocks[-1].indent + STEP))
                    fresh = True
            elif not inline and token == "}" and not closing:
                self.brackets.pop()
            if not self.brackets and at >= inline_to and self._ends_item(at):
                fresh = True
        return self.out

    def _go_on(self, at: int) -> None:
        """Write an atom on the current line."""
        if not self.out:
            self.out.append(_Line())
        line = self.out[-1]
        if line.code.strip():
            line.code += self.spaces[at]
        line.code += _text(self.atoms[at])

    def _trail(self, at: int) -> None:
        """Write a comment behind the code of the current line."""
        line = self.out[-1]
        line.comment = _text(self.atoms[at])
        start = _start(self.atoms[at])
        first = self.source.rfind("\n", 0, start) + 1
        before = self.source[first:start]
        indent = len(before) - len(before.lstrip())
        line.wished = len(before) - indent + len(line.code) - len(line.code.lstrip())
        line.gap = len(before) - len(before.rstrip())

    def _new_line(self, indent: int, *, blank: bool = False) -> None:
        if blank:
            self.out.append(_Line())
        self.out.append(_Line(" " * indent))

    def _margin(self, at: int) -> int:
        """The column at which a further line of the current item begins."""
        if self.brackets:
            return self.brackets[-1][1]
        block = self.blocks[-1]
        if at and self._token_before(at) == "}":
            return block.indent
        authors = self._column(at) - block.column
        return block.indent + (authors if STEP <= authors <= MOST_CONTINUED else CONTINUED)

    def _column(self, at: int) -> int:
        """How far an atom stood from the start of its line in the author's text."""
        start = _start(self.atoms[at])
        return start - (self.source.rfind("\n", 0, start) + 1)

    def _open(self, at: int) -> None:
        """Note a bracket: its further lines begin under what follows it, if that is on its line."""
        column = len(self.out[-1].code) + (self.atoms[at] == "{")
        if self._newlines(at + 1):
            column = self._margin(at + 1)
        self.brackets.append((str(self.atoms[at]), column))

    # --- questions about an atom ----------------------------------------------------------------

    def _newlines(self, at: int) -> int:
        """How many line ends are between an atom and the one before it."""
        if not 0 < at < len(self.atoms):
            return 0
        return self.source.count("\n", _end(self.atoms[at - 1]), _start(self.atoms[at]))

    def _is_comment(self, at: int) -> bool:
        return at >= 0 and isinstance(self.atoms[at], Comment)

    def _is_brace(self, at: int) -> bool:
        return at >= 0 and isinstance(self.atoms[at], Token) and self.atoms[at] == "{"

    def _is_last(self, at: int) -> bool:
        """Whether nothing stands behind an atom on its line."""
        return at + 1 == len(self.atoms) or self._newlines(at + 1) > 0

    def _trails(self, at: int) -> bool:
        """Whether nothing will stand behind a comment on its line, which follows code."""
        if "\n" in _text(self.atoms[at]):
            return False
        return self._is_last(at) or (self.atoms[at + 1] == "}" and not self.brackets)

    def _token_before(self, at: int) -> Token | None:
        return next((a for a in reversed(self.atoms[:at]) if isinstance(a, Token)), None)

    def _may_break(self, at: int) -> bool:
        """Whether the author's line break before an atom is kept."""
        atom = self.atoms[at]
        if isinstance(atom, Comment):
            return True
        return atom not in (";", ",", ")", "]", "{") and atom.type not in ("ELSE", "CACHE", "LEASE")

    def _is_record(self, at: int) -> bool:
        """Whether a brace is a cost record's."""
        return self._token_before(at) == "="

    def _stays(self, at: int) -> bool:
        """Whether a block stays on one line: it is empty, or it was and it fits."""
        close = self.match[at]
        if close == at + 1:
            return True
        first, last = self.atoms[at], self.atoms[close]
        if "\n" in self.source[_start(first) : _start(last)]:
            return False
        return len(self.out[-1].code) + self.ends[close + 1] - self.ends[at + 1] <= WIDTH

    def _ends_item(self, at: int) -> bool:
        """Whether a statement, an item or a declaration ends with the token at ``at``."""
        token = self.atoms[at]
        if token == ";":
            return True
        after = next((a for a in self.atoms[at + 1 :] if isinstance(a, Token)), None)
        if end_of(token) in self.holds:  # the only statement that may end without `;`
            return after != ";"
        if token != "}":
            return False
        goes_on = after is not None and after.type in ("ELSE", "SEMICOLON")
        return not goes_on and self.blocks[-1].head != "HOLD"


def _calls(tree: ast.Node) -> set[int]:
    """Where the words end whose parentheses follow without a space: ``max(…)``, ``ps(…)``."""
    ends: set[int] = set()
    for node in walk(tree):
        if isinstance(node, ast.Call):
            ends.add(node.func.span.end)
        elif isinstance(node, ast.Draw):
            ends.add(node.dist.span.end)
        elif isinstance(node, ast.DefDecl):
            ends.add(node.target.span.end)
        elif isinstance(node, ast.StageKind):
            ends.add(node.span.start + len(node.kind))
    return ends


def _text(atom: Atom) -> str:
    """An atom as it is written; a comment without blanks at the ends of its lines."""
    if isinstance(atom, Token):
        return str(atom)
    return "\n".join(part.rstrip() for part in atom.text.split("\n"))


def _start(atom: Atom) -> int:
    return start_of(atom) if isinstance(atom, Token) else atom.span.start


def _end(atom: Atom) -> int:
    return end_of(atom) if isinstance(atom, Token) else atom.span.end
