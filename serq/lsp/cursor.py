"""Where a cursor stands: in which construct, and at which evaluation moment.

Only the tokens before the cursor are read, since what is being written does not parse. The
brackets that are still open say in which blocks the cursor is; the words of the unfinished
statement say in which clause.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from enum import StrEnum

from lark import Token

from serq.diagnostics import Source
from serq.ir.moments import Moment
from serq.syntax.lexer import lex


class Block(StrEnum):
    """What kind of braces the cursor is in."""

    TOP = "the top of a file"
    MAIN = "main"
    POOL = "a pool"
    DEVICE = "a device"
    ENGINE = "an engine"
    SCHEDULE = "a schedule"
    QUEUE = "a queue"
    WORKLOAD = "a workload"
    STATEMENTS = "statements"
    ADMISSION = "an admission"
    DEFINITION = "a definition"
    RECORD = "a composite cost"


class Expects(StrEnum):
    """What may stand at the cursor."""

    ITEM = "a declaration, an option or a statement"
    VALUE = "an expression"
    CONSTANT = "a constant expression"
    DISTRIBUTION = "a distribution"
    NAME = "a new name"
    RESOURCE = "the name of a pool, a stage or an engine"
    NOTHING = "nothing"
    WORD = "a word of the construct"


@dataclass(frozen=True, slots=True)
class Call:
    """The innermost function or reference whose brackets are open: its name, which argument."""

    name: str
    argument: int


@dataclass(frozen=True, slots=True)
class Cursor:
    """The place of a cursor.

    ``word`` is the name that ends at the cursor, ``dotted`` what stands before its dot. ``moment``
    is None where no one moment is fixed (a definition, a constant).
    """

    word: str
    dotted: str
    blocks: tuple[Block, ...]
    statement: tuple[str, ...]
    expects: Expects
    moment: Moment | None
    call: Call | None

    @property
    def block(self) -> Block:
        """The innermost braces."""
        return self.blocks[-1]


@dataclass
class _Open:
    """An open bracket: its sign, the words of its statement before it, where its content begins."""

    sign: str
    head: list[str]
    content: list[str]


def cursor_at(text: str, offset: int) -> Cursor:
    """The place of the cursor at a character offset of a text. Never raises."""
    before = text[:offset]
    source = Source("<cursor>", before)
    lexed = lex(source)
    inside_string = any(d.code == "unclosed-text" for d in lexed.diagnostics) and (
        before.rpartition("\n")[2].count('"') % 2 == 1
    )
    comments = lexed.comments
    in_comment = lexed.cut or (
        bool(comments)
        and comments[-1].span.end == len(before)
        and not (comments[-1].text.startswith("/*") and comments[-1].text.endswith("*/"))
    )
    if lexed.stopped or inside_string or in_comment:
        return Cursor("", "", (Block.TOP,), (), Expects.NOTHING, None, None)
    return _place([t for t in lexed.tokens if t.type != "BAD"], before)


def _place(tokens: Sequence[Token], before: str) -> Cursor:
    words = [str(t) for t in tokens]
    word = ""
    if tokens and tokens[-1].type == "NAME" and tokens[-1].end_pos == len(before):
        word = words.pop()
    elif tokens and tokens[-1].type == "NUMBER" and tokens[-1].end_pos == len(before):
        return Cursor("", "", (Block.TOP,), (), Expects.NOTHING, None, None)
    dotted = ""
    if len(words) >= 2 and words[-1] == ".":
        words.pop()
        dotted = _before_dot(words)
    stack = _open_brackets(words)
    blocks = _blocks(stack)
    statement, parens = _statement(stack)
    expects, moment = _clause(blocks, statement, parens)
    call = _call(parens)
    if statement and statement[-1] == "~" and not dotted:
        expects = Expects.DISTRIBUTION
    return Cursor(word, dotted, blocks, tuple(statement), expects, moment, call)


def _before_dot(words: list[str]) -> str:
    """Takes the path before a dot away, ``D`` of ``D[j].``, and gives its name."""
    if words and words[-1] == "]":
        depth = 0
        while words:
            sign = words.pop()
            depth += (sign == "]") - (sign == "[")
            if not depth:
                break
    return words.pop() if words else ""


_CLOSING = {")": "(", "]": "[", "}": "{"}


def _open_brackets(words: list[str]) -> list[_Open]:
    """The brackets that are open at the end; the first stands for the file itself."""
    stack = [_Open("", [], [])]
    for word in words:
        here = stack[-1]
        if word in ("(", "[", "{"):
            stack.append(_Open(word, list(here.content), []))
            here.content.append(word)
        elif word in _CLOSING:
            while len(stack) > 1 and stack[-1].sign != _CLOSING[word]:
                stack.pop()  # a bracket that was never closed
            if len(stack) > 1:
                stack.pop()
            here = stack[-1]
            if word == "}":
                # A hold, a request and a branch go on behind their block.
                last = here.content
                goes_on = bool(last) and last[0] in ("hold", "Cost", "branch")
                here.content = [last[0], "}"] if goes_on else []
            else:
                here.content.append(word)
        elif word == ";":
            while len(stack) > 1 and stack[-1].sign in ("(", "["):
                stack.pop()  # a statement ends, whatever was left open in it
            stack[-1].content = []
        else:
            if here.content[:1] == ["branch"] and here.content[-1] == "}" and word != "else":
                here.content = []
            behind = here.content[:1] == ["hold"] and "}" in here.content
            if behind and here.content[-1] in ("}", ")") and word not in ("cache", "lease"):
                here.content = []  # the hold has ended without a `;`
            here.content.append(word)
    return stack


def _blocks(stack: list[_Open]) -> tuple[Block, ...]:
    found = [Block.TOP]
    for bracket in stack:
        if bracket.sign == "{":
            found.append(block_of(found[-1], bracket.head))
    return tuple(found)


_BY_WORD = {
    "fn": Block.MAIN,
    "pool": Block.POOL,
    "device": Block.DEVICE,
    "engine": Block.ENGINE,
    "queue": Block.QUEUE,
    "workload": Block.WORKLOAD,
    "server": Block.STATEMENTS,
    "schedule": Block.SCHEDULE,
    "request": Block.STATEMENTS,
    "def": Block.DEFINITION,
    "Cost": Block.RECORD,
}


def block_of(outer: Block, head: list[str]) -> Block:
    """The kind of braces behind ``head``, within ``outer``."""
    first = head[0] if head else ""
    if outer is Block.SCHEDULE:
        return Block.SCHEDULE
    if first == "at" and head[1:2] == ["admission"]:
        return Block.ADMISSION
    if outer in (Block.STATEMENTS, Block.DEFINITION) and first != "Cost":
        return Block.STATEMENTS
    if outer in (Block.WORKLOAD, Block.QUEUE) and first not in ("pool", "device", "engine"):
        return Block.STATEMENTS
    return _BY_WORD.get(first, Block.STATEMENTS if outer is not Block.TOP else Block.MAIN)


def _statement(stack: list[_Open]) -> tuple[list[str], list[_Open]]:
    """The words of the unfinished statement, and the round and square brackets open in it."""
    last = max(i for i, bracket in enumerate(stack) if bracket.sign in ("", "{"))
    words = list(stack[last].content)
    parens = stack[last + 1 :]
    for bracket in parens:
        words += bracket.content
    return words, parens


def _call(parens: list[_Open]) -> Call | None:
    """The innermost name whose round brackets are open, and the argument in them."""
    for bracket in reversed(parens):
        if bracket.sign == "(":
            name = bracket.head[-1] if bracket.head else ""
            depth = argument = 0
            for word in bracket.content:
                depth += (word in ("(", "[")) - (word in (")", "]"))
                argument += word == "," and not depth
            return Call(name, argument) if name.isidentifier() else None
    return None


# --- clauses ------------------------------------------------------------------------------------

_NAMED = frozenset(
    {
        "let", "def", "pool", "stage", "device", "engine", "queue", "gauge", "claim", "state",
        "mark", "set", "observe", "Size", "Cost", "choose", "fn", "hidden",
    }
)  # fmt: skip

Clause = tuple[Expects, Moment | None]


def _clause(blocks: tuple[Block, ...], statement: list[str], parens: list[_Open]) -> Clause:
    """What is expected behind ``statement``, and the moment at which it is read."""
    block = blocks[-1]
    if block is Block.DEFINITION:
        if not statement:
            return Expects.ITEM, None
        return Expects.VALUE, None
    if not statement:
        return Expects.ITEM, Moment.SESSION if block is Block.STATEMENTS else None
    first = statement[0]
    if len(statement) == 1 and first in _NAMED and block is not Block.POOL:
        return Expects.NAME, None
    outer = [bracket for bracket in parens if bracket.sign == "("]
    clause = _clause_word(outer[0].head) if outer else ""
    match block:
        case Block.TOP | Block.MAIN:
            return _declaration(statement, clause)
        case Block.POOL:
            return _pool_option(first, clause, statement)
        case Block.DEVICE:
            return (
                (Expects.CONSTANT, None) if "cap" in statement else _in(Moment.STEP, "=", statement)
            )
        case Block.ENGINE:
            return _engine_item(first, clause, statement)
        case Block.SCHEDULE:
            return _schedule(first, clause, statement)
        case Block.QUEUE:
            return _queue_item(first, statement, clause)
        case Block.WORKLOAD:
            if first == "arrive":
                moment = Moment.GAP if clause == "renewal" else None
                return (Expects.VALUE if moment else Expects.CONSTANT, moment) if clause else _WORD
            return Expects.NOTHING, None
        case Block.ADMISSION:
            return _in(Moment.ADMIT, "=", statement)
        case Block.RECORD:
            return _in(Moment.SESSION, ":", statement)
    return _statement_clause(first, clause, statement)


_WORD: Clause = (Expects.WORD, None)


def _clause_word(head: list[str]) -> str:
    """The word before a bracket, behind the path of a resource: ``reserve``, ``by``, ``kv``."""
    return head[-1] if head else ""


def _in(moment: Moment, sign: str, statement: list[str]) -> Clause:
    """A value at the moment behind the sign, a word before it."""
    return (Expects.VALUE, moment) if sign in statement else _WORD


def _declaration(statement: list[str], clause: str) -> Clause:
    first = statement[0]
    match first:
        case "let":
            return (Expects.CONSTANT, None) if "=" in statement else _WORD
        case "gauge":
            return _in(Moment.GAUGE, "=", statement)
        case "claim":
            if clause == "given":
                return Expects.VALUE, Moment.GIVEN
            if not clause:
                resource = statement[-1] == "of"
                return (Expects.RESOURCE, None) if resource else _WORD
            at_end = clause == "end"
            return Expects.VALUE, Moment.END if at_end else Moment.ITERATION
        case "stage":
            if clause == "ps":
                return Expects.VALUE, Moment.PS
            return (Expects.CONSTANT, None) if clause == "fifo" else _WORD
        case "pool" | "engine" | "device" | "queue":
            if statement[-1] == "on":
                return Expects.RESOURCE, None
            return (Expects.CONSTANT, None) if statement[-1] == "[" else _WORD
        case "use" | "share":
            return _WORD
    return (Expects.CONSTANT, None) if "latency" in statement else _WORD


def _pool_option(first: str, clause: str, statement: list[str]) -> Clause:
    match first:
        case "cap" | "block":
            return Expects.CONSTANT, None
        case "evict" | "preempt" | "queue":
            moments = {"evict": Moment.EVICT, "preempt": Moment.VICTIM, "queue": Moment.SELECT}
            return (Expects.VALUE, moments[first]) if clause == "by" else _WORD
        case "spill":
            if statement[-1] in ("spill", "via"):
                return Expects.RESOURCE, None
            return (Expects.VALUE, Moment.EVICT) if clause else _WORD
    return _WORD


def _engine_item(first: str, clause: str, statement: list[str]) -> Clause:
    match first:
        case "tokens" | "granule":
            ready = first == "granule" or "cap" in statement
            return (Expects.VALUE, Moment.BUDGET) if ready else _WORD
        case "state":
            return (Expects.CONSTANT, None) if "=" in statement else _WORD
        case "execute":
            return (Expects.VALUE, Moment.STEP) if clause else _WORD
        case "request":
            return Expects.NAME, None
    return (Expects.CONSTANT, None) if "cap" in statement else _WORD


def _schedule(first: str, clause: str, statement: list[str]) -> Clause:
    match first:
        case "let":
            return _in(Moment.BUDGET, "=", statement)
        case "set":
            return _in(Moment.PLAN, "=", statement)
        case "branch":
            return (Expects.VALUE, Moment.PLAN) if clause else _WORD
    moments = {"only": Moment.ONLY, "by": Moment.SERVE, "while": Moment.PLAN, "most": Moment.BUDGET}
    if clause in moments:
        return Expects.VALUE, moments[clause]
    if "taking" in statement:
        if statement[-1] in ("taking", ","):
            return Expects.RESOURCE, None
        return (Expects.VALUE, Moment.ADMIT) if clause else _WORD
    return _WORD


def _queue_item(first: str, statement: list[str], clause: str) -> Clause:
    if first in ("serve", "nic"):
        if clause == "ps":
            return Expects.VALUE, Moment.PS
        ready = clause == "fifo" or "latency" in statement
        return (Expects.CONSTANT, None) if ready else _WORD
    return _declaration(statement, clause)


_REFERRING = frozenset(
    {"hold", "grow", "load", "drop", "release", "run", "growing", "lease", "on", "from", "to"}
)


def _statement_clause(first: str, clause: str, statement: list[str]) -> Clause:
    last = statement[-1]
    if not clause and (last in _REFERRING or (last == "," and first in ("hold", "run"))):
        return Expects.RESOURCE, None
    if "[" in statement and statement.count("[") > statement.count("]"):
        return Expects.VALUE, Moment.SESSION
    if first == "hold" and "}" not in statement:
        return (Expects.VALUE, Moment.ADMIT) if clause else _WORD
    if first in ("set", "Size", "Cost", "observe"):
        return _in(Moment.SESSION, "=", statement)
    if first == "choose":
        return _in(Moment.SESSION, "in", statement)
    if first in ("tool", "transfer"):
        return Expects.VALUE, Moment.SESSION
    if clause:
        return Expects.VALUE, Moment.SESSION
    return _WORD
