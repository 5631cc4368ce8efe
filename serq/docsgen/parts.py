"""The generated parts of pages that are otherwise written by hand."""

from __future__ import annotations

import re
from collections.abc import Callable
from importlib import import_module

import click

from serq.docsgen import grammar, lean, limits, shown
from serq.editor import meanings
from serq.editor.meanings import Meaning
from serq.ir.functions import function_name
from serq.ir.moments import (
    POSITIONS,
    READ_WHEN,
    READABLE,
    Kind,
    Moment,
    Readable,
    moments,
    note,
    spelling,
    spellings,
)
from serq.ir.nodes import Ctx, Fun
from serq.lower.engine_values import VALUES

Part = Callable[..., str]


def _rows(head: list[str], rows: list[list[str]]) -> str:
    """A Markdown table."""
    lines = ["| " + " | ".join(head) + " |", "|" + "---|" * len(head)]
    lines += ["| " + " | ".join(cell.replace("|", "\\|") for cell in row) + " |" for row in rows]
    return "\n".join(lines)


# --- the command line ---------------------------------------------------------------------------


def command_of(words: list[str]) -> click.Command:
    """The command ``serq WORDS``."""
    from serq.cli import COMMANDS

    command: click.Command = import_module(COMMANDS[words[0]]).command
    for word in words[1:]:
        assert isinstance(command, click.Group)
        command = command.commands[word]
    return command


def shown_options(command: click.Command) -> list[click.Option]:
    """The options that a command's help shows, without ``--help``."""
    return [p for p in command.params if isinstance(p, click.Option) and not p.hidden]


def options(*words: str) -> str:
    """The usage line and the options of a command."""
    command = command_of(list(words))
    context = click.Context(command, info_name=f"serq {' '.join(words)}")
    usage = " ".join(command.collect_usage_pieces(context))
    text = f"```text\nserq {' '.join(words)} {usage}\n```\n"
    rows = []
    for option in shown_options(command):
        names = [*option.opts, *option.secondary_opts]
        value = "" if option.is_flag else f" {option.make_metavar(context)}"
        said = option.help or ""
        if option.show_default and option.default is not None and not option.is_flag:
            said += f"  [default: {option.default}]"
        rows.append([", ".join(f"`{name}{value}`" for name in names), re.sub(r"\s+", " ", said)])
    return text + "\n" + (_rows(["Option", ""], rows) if rows else "It has no options.")


# --- the reference ------------------------------------------------------------------------------


def _meanings(table: dict[str, Meaning], head: str) -> str:
    rows = [[f"`{m.usage}`", m.text] for m in table.values()]
    return _rows([head, "Value"], rows)


def functions() -> str:
    """Functions of numbers and of the deployment's state."""
    return _meanings(meanings.FUNCTIONS, "Function")


def name_of(readable: Readable) -> str:
    """How a row of the table of moments is called."""
    if isinstance(readable, Fun):
        return f"`{function_name(readable)}(…)`"
    if isinstance(readable, Kind):
        return str(readable)
    return ", ".join(f"`{word}`" for word in spellings(readable))


def matrix() -> str:
    """The table of moments: what is readable (rows) when (columns)."""
    rows = []
    for readable in READABLE:
        at = moments(readable)
        rows.append([name_of(readable), *("●" if m in at else "" for m in Moment)])
    return _rows(["Read", *(m.value for m in Moment)], rows)


def moment_list() -> str:
    """Each moment: where its expressions stand and when they are read."""
    return _rows(
        ["Moment", "Stands in", "Read"],
        [[m.value, POSITIONS[m], READ_WHEN[m]] for m in Moment],
    )


def notes() -> str:
    """What the rows of the table do not say."""
    found: dict[str, list[str]] = {}
    for readable in READABLE:
        if said := note(readable):
            found.setdefault(said, []).append(name_of(readable))
    return "\n".join(f"* {', '.join(names)}: {said}." for said, names in found.items())


def by_moment() -> str:
    """What each moment supplies, by name as its clauses write it."""
    rows = []
    for moment in Moment:
        names = [
            f"`{spelling(r, moment)}`"
            for r in READABLE
            if isinstance(r, Ctx) and moment in moments(r)
        ]
        if moment in (Moment.BUDGET, Moment.SERVE, Moment.ONLY, Moment.PLAN, Moment.STEP):
            names.append("`waiting.count`")
        rows.append([moment.value, POSITIONS[moment], " ".join(names) or "none"])
    return _rows(["Moment", "Stands in", "Context variables"], rows)


def engine_values() -> str:
    """The values of an engine's lists and the clauses that read them."""
    clauses = ("tokens cap", "each at most", "only", "schedule", "execute")
    titles = ("`tokens cap`", "`each at most`", "`only`, `by`", "`branch`, `while`, `set`",
              "`execute`")  # fmt: skip
    every = frozenset(clauses)
    read = {f"{head}.{leaf}": value.clauses for (head, leaf), value in VALUES.items()}
    read = {"running.count": read.pop("running.count"), "waiting.count": every, **read}
    rows = [
        [f"`{name}`", *("●" if clause in at else "" for clause in clauses), text(name)]
        for name, at in read.items()
    ]
    return _rows(["Value", *titles, ""], rows)


def text(name: str) -> str:
    """The sentence that says what a name means."""
    found = meanings.meaning(name)
    assert found is not None, name
    return found.text


PARTS: dict[str, Part] = {
    "options": options,
    "functions": functions,
    "conversions": lambda: _meanings(meanings.CONVERSIONS, "Form"),
    "counters": lambda: _meanings(meanings.COUNTERS, "Counter"),
    "aggregates": lambda: _meanings(meanings.AGGREGATES, "Aggregate"),
    "distributions": lambda: _meanings(meanings.DISTRIBUTIONS, "Draw"),
    "attributes": lambda: _meanings(meanings.ATTRIBUTES, "Attribute"),
    "variables": lambda: _meanings(meanings.VARIABLES, "Variable"),
    "matrix": matrix,
    "moments": moment_list,
    "notes": notes,
    "by-moment": by_moment,
    "engine-values": engine_values,
    "file": shown.file,
    "console": shown.console,
    "script": shown.script,
    "theorems": lean.theorems,
    "claims": lean.claims,
    "scenarios": lean.scenarios,
    "grammar": grammar.grammar,
    "limits": limits.limits,
}
"""Name of a part → what makes it; words after the name in the page are its arguments."""
