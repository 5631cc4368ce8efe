"""What an editor is told about names: completions at a cursor, and what a name is."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path

from serq.diagnostics import Source
from serq.editor import meanings
from serq.ir.functions import function_name
from serq.ir.moments import (
    POSITIONS,
    Kind,
    Moment,
    moments,
    places,
    readable_at,
    spelling,
    spellings,
)
from serq.ir.nodes import Ctx, Fun
from serq.lower.vocabulary import (
    AGGREGATES,
    ARITHMETIC,
    BUILTIN,
    DISTRIBUTIONS,
    FUNCTIONS,
    LISTS,
    SCHEDULER_ATTRS,
)
from serq.lsp import symbols as sym
from serq.lsp.cursor import Block, Cursor, Expects, cursor_at
from serq.lsp.symbols import Symbol, Symbols
from serq.syntax.words import DECLARATIONS, STATEMENTS

TRACE_ATTRIBUTES = frozenset({"new", "out", "think", "more", "forced"})
ENGINE_MOMENTS = frozenset({Moment.BUDGET, Moment.SERVE, Moment.ONLY, Moment.PLAN, Moment.STEP})
"""Where ``waiting.count`` is written; it has no row of its own, being a sum of `queued`."""


@dataclass(frozen=True, slots=True)
class Item:
    """A completion: ``kind`` is one of `KINDS`, ``detail`` one line, ``text`` a paragraph."""

    label: str
    kind: str
    detail: str = ""
    text: str = ""


KINDS = ("variable", "function", "constant", "attribute", "resource", "keyword", "distribution",
         "observation", "state", "parameter")  # fmt: skip


# --- completion ---------------------------------------------------------------------------------


def completions(text: str, offset: int, symbols: Symbols) -> list[Item]:
    """What may be written at the cursor: what the moment there supplies, and what is declared."""
    cursor = cursor_at(text, offset)
    if cursor.expects in (Expects.NOTHING, Expects.NAME):
        return []
    if cursor.dotted:
        return _members(cursor, symbols)
    match cursor.expects:
        case Expects.DISTRIBUTION:
            return [_meant(name, "distribution", meanings.DISTRIBUTIONS) for name in DISTRIBUTIONS]
        case Expects.RESOURCE:
            return _resources(symbols, _wanted(cursor))
        case Expects.ITEM:
            return _items(cursor, symbols)
        case Expects.CONSTANT:
            return [*_constants(cursor, symbols), *_arithmetic()]
        case Expects.WORD:
            return []
    if cursor.call is not None:
        special = _argument(cursor, symbols)
        if special is not None:
            return special
    found = [*_supplied(cursor, symbols), *_constants(cursor, symbols), *_arithmetic()]
    for symbol in symbols.known_at(offset):
        if symbol.kind in (sym.PARAMETER, sym.INDEX):
            found.append(_declared(symbol, "parameter"))
    if Block.QUEUE in cursor.blocks:
        found.append(_meant("self", "variable", meanings.VARIABLES))
    return _once(found)


def _once(items: list[Item]) -> list[Item]:
    found: dict[str, Item] = {}
    for item in items:
        found.setdefault(item.label, item)
    return list(found.values())


def _meant(name: str, kind: str, table: dict[str, meanings.Meaning], label: str = "") -> Item:
    meaning = table.get(name)
    if meaning is None:
        return Item(label or name, kind)
    return Item(label or name, kind, meaning.usage, meaning.text)


def _declared(symbol: Symbol, kind: str) -> Item:
    return Item(symbol.name, kind, symbol.kind, symbol.text)


def _arithmetic() -> list[Item]:
    return [
        *(_meant(name, "function", meanings.FUNCTIONS) for name in sorted(ARITHMETIC)),
        _meant("sum", "function", meanings.CONVERSIONS),
        Item("inf", "constant", "inf", "Infinity."),
    ]


def _constants(cursor: Cursor, symbols: Symbols) -> list[Item]:
    found = [_declared(s, "constant") for s in symbols.of(sym.CONSTANT)]
    if cursor.expects is Expects.CONSTANT:
        return found
    found += [_declared(s, "function") for s in symbols.of(sym.DEFINITION)]
    if cursor.moment is Moment.BUDGET and cursor.block is Block.SCHEDULE:
        found += [_declared(s, "constant") for s in symbols.of(sym.THRESHOLD)]
    if cursor.moment is Moment.STEP:
        found += [_declared(s, "function") for s in symbols.of(sym.RESOURCE)]
    return found


def _supplied(cursor: Cursor, symbols: Symbols) -> list[Item]:
    """What the moment supplies; in a definition, which is read where it is used, everything."""
    moment = cursor.moment
    readable = readable_at(moment) if moment is not None else None
    found: list[Item] = []
    for ctx in Ctx:
        if moment is None:
            found += [_variable(name) for name in spellings(ctx)]
        elif moment in moments(ctx):
            found.append(_variable(spelling(ctx, moment)))
    if moment is None or moment in ENGINE_MOMENTS:
        found.append(_variable("waiting.count"))
    for fun in Fun:
        name = function_name(fun)
        planned = fun is Fun.BUDGET_LEFT and moment is Moment.PLAN
        if planned and len(symbols.of(sym.ENGINE)) < 2:
            continue  # a schedule does not read its own engine's
        if name not in ARITHMETIC and (readable is None or _has(readable, fun)):
            found.append(_meant(name, "function", meanings.FUNCTIONS | meanings.COUNTERS))
    kinds = set(Kind) if readable is None else {r for r in readable if isinstance(r, Kind)}
    found += _kinds(kinds, moment, symbols)
    if moment in (None, Moment.SESSION, Moment.ADMIT):
        found.append(_meant("cost", "function", meanings.CONVERSIONS))
    found.append(_meant("blocksize", "function", meanings.CONVERSIONS))
    return found


def _has(readable: list[Ctx | Fun | Kind], fun: Fun) -> bool:
    return any(isinstance(r, Fun) and r is fun for r in readable)


def _variable(name: str) -> Item:
    table = meanings.LISTS if "." in name else meanings.VARIABLES
    return _meant(name, "variable", table)


def _kinds(kinds: set[Kind], moment: Moment | None, symbols: Symbols) -> list[Item]:
    found: list[Item] = []
    if Kind.ATTRIBUTE in kinds:
        for name in BUILTIN:
            if name in TRACE_ATTRIBUTES and not symbols.traced:
                continue
            if name == "computed" and moment is Moment.VICTIM:
                continue
            found.append(_meant(name, "attribute", meanings.ATTRIBUTES))
        for symbol in symbols.of(*sym.ATTRIBUTES):
            if symbol.name not in symbols.hidden or Kind.HIDDEN in kinds:
                found.append(_declared(symbol, "attribute"))
        found += [_declared(s, "attribute") for s in symbols.of(sym.MARK)]
    if Kind.REGISTER in kinds:
        found += [_declared(s, "state") for s in symbols.of(sym.STATE)]
    if Kind.AGGREGATE in kinds:
        found += [_meant(name, "function", meanings.AGGREGATES) for name in AGGREGATES]
    if Kind.DRAW in kinds:
        found += [
            _meant(name, "distribution", meanings.DISTRIBUTIONS, f"~{name}")
            for name in DISTRIBUTIONS
        ]
    return found


def _argument(cursor: Cursor, symbols: Symbols) -> list[Item] | None:
    """The names that an argument of a function must be; None where it is an expression."""
    assert cursor.call is not None
    name, argument = cursor.call.name, cursor.call.argument
    if name == "blocksize":
        return _resources(symbols, "pool")
    if name in AGGREGATES and cursor.moment is Moment.END:
        return [_declared(s, "observation") for s in symbols.of(sym.OBSERVATION)]
    if name == "cost" and not argument:
        return _resources(symbols, "any")
    kinds = FUNCTIONS[name][1] if name in FUNCTIONS else ()
    if argument < len(kinds) and kinds[argument] != "expr":
        return _resources(symbols, {"counted": "any"}.get(kinds[argument], kinds[argument]))
    return None


def _wanted(cursor: Cursor) -> str:
    """What kind of resource the word before the cursor takes."""
    last = next((w for w in reversed(cursor.statement) if w != ","), "")
    first = cursor.statement[0] if cursor.statement else ""
    if first == "claim":
        return "engine"
    if first in ("pool", "engine"):
        return "owner"
    if last in ("run", "on") or (first == "run" and last != "growing"):
        return "stage"
    if first == "spill" and last == "via":
        return "stage"
    return "pool"


_RESOURCES = {
    "pool": (sym.POOL, sym.QUEUE),
    "stage": (sym.STAGE, sym.ENGINE, sym.QUEUE),
    "engine": (sym.ENGINE, sym.QUEUE),
    "owner": (sym.DEVICE, sym.ENGINE, sym.QUEUE),
    "any": (sym.POOL, sym.STAGE, sym.ENGINE, sym.QUEUE),
}


def _resources(symbols: Symbols, wanted: str) -> list[Item]:
    return [_declared(s, "resource") for s in symbols.of(*_RESOURCES[wanted])]


def _members(cursor: Cursor, symbols: Symbols) -> list[Item]:
    """What stands behind a dot: of an engine's lists what the moment supplies, of a queue its own."""  # noqa: E501
    owner = cursor.dotted
    if owner in LISTS or owner == "waiting":
        prefix = f"{owner}."
        names = [item for item in _supplied(cursor, symbols) if item.label.startswith(prefix)]
        return [Item(i.label.removeprefix(prefix), i.kind, i.detail, i.text) for i in names]
    if owner == "args":
        return [Item("number", "function", 'args.number("name", default)', "An input.")]
    kinds = (sym.POOL, sym.STAGE, sym.DEVICE, sym.ENGINE, sym.ENTRY, sym.MARK, *sym.ATTRIBUTES)
    mine = [s for s in symbols.every if s.owner == owner and s.kind in kinds]
    return _once([_declared(s, "resource") for s in mine])


_ITEMS: dict[Block, tuple[str, ...]] = {
    Block.TOP: ("let", "def", "use", "fn"),
    Block.MAIN: (*sorted(DECLARATIONS), "let", "def", "use"),
    Block.POOL: ("cap", "block", "evict", "preempt", "queue", "reserve", "spill"),
    Block.DEVICE: (),
    Block.ENGINE: ("tokens", "granule", "state", "schedule", "execute", "request"),
    Block.SCHEDULE: ("let", "advance", "admit", "exclusive", "branch", "set"),
    Block.QUEUE: ("pool", "device", "engine", "serve", "nic", "route", "prefill", "decode",
                  "transfer"),
    Block.WORKLOAD: ("arrive", "trace", "hidden", "init", "turn", "session"),
    Block.ADMISSION: (),
    Block.RECORD: (),
}  # fmt: skip


def _items(cursor: Cursor, symbols: Symbols) -> list[Item]:
    words = _ITEMS.get(cursor.block)
    if words is None:  # statements, and definitions of some
        found = [Item(word, "keyword") for word in sorted(STATEMENTS)]
        found += [_declared(s, "function") for s in symbols.of(sym.DEFINITION)]
        found += [_declared(s, "resource") for s in symbols.of(sym.ENGINE, sym.QUEUE)]
        return _once(found)
    if cursor.block is Block.RECORD:
        return _resources(symbols, "any")
    return [Item(word, "keyword") for word in words]


# --- hovering -----------------------------------------------------------------------------------


@dataclass(frozen=True, slots=True)
class Hover:
    """Markdown about the name from ``start`` to ``end``."""

    text: str
    start: int
    end: int


def word_at(text: str, offset: int) -> tuple[int, int] | None:
    """The name around an offset, as offsets."""
    start = end = offset
    while start and (text[start - 1].isalnum() or text[start - 1] == "_"):
        start -= 1
    while end < len(text) and (text[end].isalnum() or text[end] == "_"):
        end += 1
    if start == end or not text[start:end].isidentifier():
        return None
    return start, end


def hover(source: Source, offset: int, symbols: Symbols) -> Hover | None:
    """What the name at an offset is: its declaration, or what the language means by it."""
    text = source.text
    found = word_at(text, offset)
    if found is None:
        return None
    start, end = found
    cursor = cursor_at(text, end)
    if cursor.expects is Expects.NOTHING and not cursor.word:
        return None
    name = text[start:end]
    parts = []
    listed = cursor.dotted in LISTS or cursor.dotted == "waiting"
    declared = [] if listed else _declarations(name, offset, cursor, symbols)
    if declared:
        parts.append(_declaration(declared, source))
    full = f"{cursor.dotted}.{name}" if listed else name
    drawn = text[:start].rstrip().endswith("~")
    meaning = meanings.DISTRIBUTIONS.get(name) if drawn else meanings.meaning(full)
    if meaning is not None and (drawn or not declared) and _applies(full, cursor, text, end):
        parts.append(f"```serq\n{meaning.usage}\n```\n{meaning.text}")
        if not drawn:
            parts += _where(full, cursor)
    return Hover("\n\n".join(parts), start, end) if parts else None


def _declarations(name: str, offset: int, cursor: Cursor, symbols: Symbols) -> list[Symbol]:
    found = symbols.named(name, offset)
    if cursor.dotted:
        mine = [s for s in found if s.owner == cursor.dotted]
        return mine or found
    here = [s for s in found if s.start <= offset <= s.end]
    return here + [s for s in found if s not in here]


def _declaration(found: list[Symbol], source: Source) -> str:
    first = found[0]
    same = [s for s in found if s.kind == first.kind and s is not first]
    hidden = first.source is not source and first.source.name != source.name
    place = f"line {first.line}" + (f" of {Path(first.source.name).name}" if hidden else "")
    owner = f" of `{first.owner}`" if first.owner else ""
    said = (
        f"```serq\n{first.text}\n```\n**{first.kind}** `{first.name}`{owner}, declared on {place}"
    )
    if same:
        lines = ", ".join(str(s.line) for s in same[:6]) + (", …" if len(same) > 6 else "")
        said += f", also on line{'s' if len(same) > 1 else ''} {lines}"
    return said + "."


def _applies(name: str, cursor: Cursor, text: str, end: int) -> bool:
    """Whether a word that is also a function is meant as one here: a bracket follows."""
    if name in FUNCTIONS or name in AGGREGATES or name in ("cost", "blocksize"):
        after = text[end:].lstrip()
        return after.startswith("(") or (name in ("max", "min") and " in " in after[:80])
    if name == "sum":
        return " in " in text[end : end + 80]
    # A word of a clause, such as `tokens cap` or `advance running`, is not the value.
    return "." in name or cursor.expects is Expects.VALUE


def _where(name: str, cursor: Cursor) -> list[str]:
    """At which moments the name is supplied, and whether it is here."""
    for ctx in Ctx:
        spelled = spellings(ctx)
        if name in spelled:
            said = [f"Supplied in {_listed(spelled[name])}."]
            if cursor.moment is not None and cursor.moment not in spelled[name]:
                said.append(f"**Not supplied here**, in {POSITIONS[cursor.moment]}.")
            return said
    for fun in Fun:
        if function_name(fun) == name and name not in ARITHMETIC:
            said = [f"Readable in {places(fun)}."]
            if cursor.moment is not None and cursor.moment not in moments(fun):
                said.append(f"**Not readable here**, in {POSITIONS[cursor.moment]}.")
            return said
    if name in SCHEDULER_ATTRS:
        return ["Set by an admission or a preemption."]
    return []


def _listed(found: list[Moment]) -> str:
    phrases = [POSITIONS[moment] for moment in found]
    return phrases[0] if len(phrases) == 1 else ", ".join(phrases[:-1]) + " and " + phrases[-1]


# --- definitions --------------------------------------------------------------------------------


def definitions(source: Source, offset: int, symbols: Symbols) -> list[Symbol]:
    """Where the name at an offset is declared; the innermost scope's alone."""
    found = word_at(source.text, offset)
    if found is None:
        return []
    cursor = cursor_at(source.text, found[1])
    name = source.text[found[0] : found[1]]
    declared = _declarations(name, offset, cursor, symbols)
    return [s for s in declared if s.scope == declared[0].scope]
