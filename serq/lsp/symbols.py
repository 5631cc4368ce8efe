"""What a text declares: every name with its kind and place, from the tokens alone."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, field
from pathlib import Path

from lark import Token

from serq.diagnostics import Source
from serq.lsp.cursor import Block, block_of
from serq.syntax.lexer import MAX_TEXT, Lexed, lex

MOST_LIBRARIES = 50


@dataclass(frozen=True, slots=True)
class Symbol:
    """A declared name. ``scope`` are the offsets within which it is known, None for everywhere.

    ``owner`` is the queue (or engine) it is declared in, "" for none.
    """

    name: str
    kind: str
    source: Source
    start: int
    end: int
    scope: tuple[int, int] | None = None
    owner: str = ""

    @property
    def line(self) -> int:
        """The line of the name, from 1."""
        return self.source.position(self.start)[0]

    @property
    def text(self) -> str:
        """The line that declares it."""
        return self.source.line(self.line).strip()


@dataclass
class Symbols:
    """All names of a text and of the libraries it uses."""

    every: list[Symbol] = field(default_factory=list)
    hidden: set[str] = field(default_factory=set)
    traced: bool = False
    """Whether the workload replays a trace."""

    def of(self, *kinds: str) -> list[Symbol]:
        """The symbols of some kinds, each name once."""
        found: dict[str, Symbol] = {}
        for symbol in self.every:
            if symbol.kind in kinds:
                found.setdefault(symbol.name, symbol)
        return list(found.values())

    def known_at(self, offset: int) -> Iterator[Symbol]:
        """The symbols known at an offset of the text."""
        for symbol in self.every:
            if symbol.scope is None or symbol.scope[0] <= offset <= symbol.scope[1]:
                yield symbol

    def named(self, name: str, offset: int) -> list[Symbol]:
        """The declarations of a name known at an offset, the innermost scope first.

        A pool comes before the capacity that it stands for.
        """
        found = [s for s in self.known_at(offset) if s.name == name]
        found.sort(
            key=lambda s: (s.kind == CAPACITY, s.scope[1] - s.scope[0] if s.scope else 1 << 40)
        )
        return found


CONSTANT = "constant"
DEFINITION = "definition"
POOL = "pool"
STAGE = "stage"
DEVICE = "device"
ENGINE = "engine"
QUEUE = "queue"
GAUGE = "gauge"
CLAIM = "claim"
STATE = "state of an engine"
ATTRIBUTE = "attribute"
QUANTITY = "request quantity (Size)"
COST = "cost"
BOUND = "attribute bound at admission"
OBSERVATION = "observation"
MARK = "mark"
PARAMETER = "parameter"
INDEX = "index of an aggregate"
RESOURCE = "time resource of a device"
CAPACITY = "capacity"
ENTRY = "entry of a queue"
THRESHOLD = "value of a schedule"

ATTRIBUTES = (ATTRIBUTE, QUANTITY, COST, BOUND)

_DECLARED = {
    "stage": STAGE, "device": DEVICE, "gauge": GAUGE, "claim": CLAIM, "state": STATE,
    "observe": OBSERVATION, "mark": MARK, "choose": ATTRIBUTE, "set": ATTRIBUTE,
    "Size": QUANTITY, "Cost": COST,
}  # fmt: skip


def symbols_of(source: Source, directory: Path | None = None) -> Symbols:
    """The names of a text, and of the libraries that it uses from ``directory``. Never raises."""
    found = Symbols()
    _Scan(source, lex(source), found).run()
    _libraries(source, directory, found, set())
    return found


def _libraries(source: Source, directory: Path | None, found: Symbols, read: set[Path]) -> None:
    if directory is None:
        return
    tokens = lex(source).tokens
    for i, token in enumerate(tokens[:-1]):
        after = tokens[i + 1]
        if token != "use" or after.type != "STRING" or after == '"std/args"':
            continue
        path = (directory / str(after)[1:-1]).resolve()
        if path in read or len(read) >= MOST_LIBRARIES:
            continue
        read.add(path)
        try:
            if path.stat().st_size > MAX_TEXT:
                continue
            library = Source(str(path), path.read_text(encoding="utf-8"))
        except (OSError, ValueError):
            continue  # the diagnostics say so
        inner = Symbols()
        _Scan(library, lex(library), inner).run()
        found.every += [s for s in inner.every if s.kind == DEFINITION]
        _libraries(library, path.parent, found, read)


@dataclass
class _Frame:
    """Open braces: what they are, where they start, and what they belong to."""

    block: Block
    owner: str
    begin: bool = True
    statement: list[str] = field(default_factory=list)


class _Scan:
    """One pass over the tokens of a text."""

    def __init__(self, source: Source, lexed: Lexed, found: Symbols) -> None:
        self.source = source
        self.tokens = [t for t in lexed.tokens if t.type != "BAD"]
        self.words = [str(t) for t in self.tokens]
        self.found = found
        self.pairs = self._pairs()

    def _pairs(self) -> dict[int, int]:
        """The closing bracket of each opening one, the number of tokens where there is none."""
        pairs, stack = {}, []
        for i, word in enumerate(self.words):
            if word in ("(", "[", "{"):
                stack.append(i)
                pairs[i] = len(self.words)
            elif word in (")", "]", "}") and stack:
                pairs[stack.pop()] = i
        return pairs

    def word(self, i: int) -> str:
        return self.words[i] if 0 <= i < len(self.words) else ""

    def is_name(self, i: int) -> bool:
        return 0 <= i < len(self.tokens) and self.tokens[i].type == "NAME"

    def add(self, i: int, kind: str, owner: str = "", scope: tuple[int, int] | None = None) -> None:
        token = self.tokens[i]
        start, end = token.start_pos or 0, token.end_pos or 0
        self.found.every.append(Symbol(str(token), kind, self.source, start, end, scope, owner))

    def offset(self, token: Token) -> int:
        return token.end_pos or 0

    def run(self) -> None:
        frames = [_Frame(Block.TOP, "")]
        round_open = 0
        for i, word in enumerate(self.words):
            frame = frames[-1]
            # A hold's last clause may end a statement without a `;`.
            ended = frame.statement[:1] in (["cache"], ["lease"]) and frame.statement[-1] == ")"
            if ended and not round_open and word not in ("cache", "lease", ";"):
                frame.begin, frame.statement = True, []
            begins = frame.begin and not round_open
            if self.is_name(i):
                self._name(i, word, frame, begins)
            frame.begin = False
            if word in ("(", "["):
                round_open += 1
            elif word in (")", "]"):
                round_open = max(0, round_open - 1)
            elif word == "{":
                block = block_of(frame.block, frame.statement)
                frames.append(_Frame(block, self._owner(frame)))
                round_open = 0
                continue
            elif word == "}":
                if len(frames) > 1:
                    frames.pop()
                frames[-1].begin, frames[-1].statement = True, []
                round_open = 0
                continue
            elif word == ";":
                frame.begin, frame.statement = True, []
                round_open = 0
                continue
            frame.statement.append(word)

    def _owner(self, frame: _Frame) -> str:
        head = frame.statement
        if len(head) > 1 and head[0] in ("queue", "engine") and head[1] not in ("on", "["):
            return head[1]
        return frame.owner

    def _name(self, i: int, word: str, frame: _Frame, begins: bool) -> None:
        after = self.word(i + 1)
        if word in ("sum", "max", "min") and self.is_name(i + 1) and self.word(i + 2) == "in":
            self.add(i + 1, INDEX, scope=self._aggregate(i + 3))
            return
        if begins:
            self._item(i, word, after, frame)
        elif after == "=" and self.word(i + 2) != "=" and self._binds(i, frame):
            self.add(i, BOUND, frame.owner)

    def _aggregate(self, i: int) -> tuple[int, int]:
        """From the bracket behind an aggregate's count to its end."""
        while i < len(self.words) and self.word(i) != "(":
            i += 1
        if self.pairs.get(i, -1) + 1 in self.pairs and self.word(self.pairs[i] + 1) == "(":
            i = self.pairs[i] + 1  # the count stood in brackets of its own
        return self._within(i)

    def _within(self, i: int) -> tuple[int, int]:
        """The offsets inside the bracket at token ``i``."""
        end = len(self.source.text)
        if i not in self.pairs:
            return end, end
        close = self.pairs[i]
        if close < len(self.tokens):
            end = self.tokens[close].end_pos or 0
        return self.tokens[i].start_pos or 0, end

    def _binds(self, i: int, frame: _Frame) -> bool:
        """Whether the name is bound in a hold's ``at admission (…)``."""
        return (
            frame.statement[:1] == ["hold"]
            and "admission" in frame.statement
            and (self.word(i - 1) in ("(", ","))
        )

    def _item(self, i: int, word: str, after: str, frame: _Frame) -> None:
        named = self.is_name(i + 1)
        follows = self.word(i + 2)
        match word:
            case "let" if named and follows == "=":
                kind = THRESHOLD if frame.block is Block.SCHEDULE else CONSTANT
                self.add(i + 1, kind, frame.owner)
            case "def" if named and follows == "(":
                self.add(i + 1, DEFINITION)
                self._parameters(i + 2)
            case "pool" if named and frame.block in (Block.MAIN, Block.QUEUE):
                self.add(i + 1, POOL, frame.owner)
            case "engine" if named and after != "on":
                self.add(i + 1, ENGINE, frame.owner)
            case "queue" if named and frame.block is Block.MAIN:
                self.add(i + 1, QUEUE)
            case "set" if frame.block is Block.SCHEDULE:
                pass  # a register, declared by `state`
            case _ if word in _DECLARED and named and (
                follows in ("=", "[", "{", ":", ";", "in", "given")
            ):  # fmt: skip
                self.add(i + 1, _DECLARED[word], frame.owner)
            case "hidden":
                k = i + 1
                while self.is_name(k):
                    self.found.hidden.add(self.word(k))
                    k += 2 if self.word(k + 1) == "," else 1
            case "trace":
                self.found.traced = True
            case "request" if frame.block is Block.ENGINE and after == "(":
                self._parameters(i + 1)
            case _ if frame.block is Block.DEVICE and after == "(":
                self.add(i, RESOURCE, frame.owner)
                self._parameters(i + 1)
            case _ if frame.block in (Block.DEVICE, Block.ENGINE) and self._capped(i):
                self.add(i, CAPACITY, frame.owner)
            case _ if frame.block is Block.QUEUE and after in ("(", "{", "from"):
                self.add(i, ENTRY, frame.owner)
                if after == "(":
                    self._parameters(i + 1)
            case _ if frame.block is Block.ADMISSION and after == "=":
                self.add(i, BOUND, frame.owner)

    def _capped(self, i: int) -> bool:
        """Whether a capacity is declared here: ``reqs cap 8;``, ``reqs[2] cap 8;``."""
        behind = self.pairs.get(i + 1, i) + 1 if self.word(i + 1) == "[" else i + 1
        return self.word(behind) == "cap" and self.word(i) != "tokens"

    def _parameters(self, i: int) -> None:
        """The names in the brackets at token ``i``, known in what follows up to its end."""
        close = self.pairs.get(i, i)
        k = close + 1
        while k < len(self.words) and self.word(k) not in ("{", ";"):
            k += 1
        if self.word(k) == "{":
            end = self._within(k)[1]
        else:
            end = (self.tokens[k].end_pos or 0) if k < len(self.tokens) else len(self.source.text)
        scope = (self.tokens[i].start_pos or 0, end)
        for j in range(i + 1, close):
            if self.is_name(j):
                self.add(j, PARAMETER, scope=scope)
