"""The fixtures of the diagnostics page: for each code a wrong text and a right one.

A fixture is a table of ``docs/diagnostics/*.toml``. In a wrong text, the words that the caret is
to stand under are marked ``«so»``. The kinds:

* a program (``wrong``, ``right``), whole or a piece that stands in a frame (``in = "server"``);
  with ``run`` it links, and its run fails;
* a document (``at``, ``to``): one value of an IR in JSON is replaced, or left out without ``to``;
* a command (``command`` on ``files``), and ``right_command`` on ``right_files``;
* ``unreachable``: why no program and no command shows the code.

``instead`` says in words what to write.
"""

from __future__ import annotations

import json
import re
import tempfile
import tomllib
from collections.abc import Iterator
from contextlib import chdir
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from click.testing import CliRunner

from serq.diagnostics import Diagnostic, SerqError, Source, render
from serq.settings import Settings

CHECKOUT = Path(__file__).resolve().parents[2]

DOCS = Path(__file__).parent.parent.parent / "docs"
NAME = "program.sq"
"""The name that a program is reported under."""


@dataclass(frozen=True)
class Fixture:
    """One code's example; texts are without the marks of the caret."""

    code: str
    section: str
    frame: str
    wrong: str | None
    mark: tuple[int, int] | None  # where the caret is to stand, in the whole program
    right: str | None
    instead: str | None
    run: dict[str, float] | None
    at: str | None
    to: str | None
    command: str | None
    files: dict[str, str]
    place: str | None  # file:line:column of the mark in a command's file
    right_command: str | None
    right_files: dict[str, str]
    unreachable: str | None


@dataclass
class Page:
    """All fixtures in the page's order, by section, and the frames that pieces stand in."""

    frames: dict[str, tuple[str, str]] = field(default_factory=dict)  # name → title, text with @
    sections: dict[str, str] = field(default_factory=dict)  # name → title
    fixtures: dict[str, Fixture] = field(default_factory=dict)


FIELDS = {
    "in", "wrong", "right", "instead", "run", "at", "to", "command", "files", "right_command",
    "right_files", "unreachable",
}  # fmt: skip
ORDER = ("syntax", "names", "sugar", "engines", "queues", "rules", "ir", "run", "command", "tools")


def load() -> Page:
    """Read every fixture. Raises `ValueError` for a table with unknown or missing fields."""
    page = Page()
    frames = tomllib.loads((DOCS / "diagnostics" / "frames.toml").read_text(encoding="utf-8"))
    page.frames = {name: (frame["title"], frame["text"]) for name, frame in frames.items()}
    for section in ORDER:
        text = (DOCS / "diagnostics" / f"{section}.toml").read_text(encoding="utf-8")
        tables = tomllib.loads(text)
        page.sections[section] = tables.pop("title")
        for code, table in tables.items():
            if code in page.fixtures:
                raise ValueError(f"{code}: two fixtures")
            page.fixtures[code] = _fixture(code, section, table, page)
    return page


def _fixture(code: str, section: str, table: dict[str, Any], page: Page) -> Fixture:
    if unknown := set(table) - FIELDS:
        raise ValueError(f"{code}: unknown fields {unknown}")
    kinds = {"wrong", "at", "command", "unreachable"} & set(table)
    if len(kinds) != 1:
        raise ValueError(f"{code}: one of wrong, at, command, unreachable is needed, not {kinds}")
    frame = table.get("in", "program")
    wrong, mark = table.get("wrong"), None
    if wrong is not None:
        whole = page.frames[frame][1].replace("@", _indented(wrong.strip("\n"), page, frame))
        if "«" in whole:
            mark = whole.index("«"), whole.index("»") - 1
        wrong = _unmarked(wrong)
    place = None
    for name, text in table.get("files", {}).items():
        if "«" in text:
            place = "{}:{}:{}".format(name, *Source(name, text).position(text.index("«")))
    return Fixture(
        code, section, frame, wrong, mark, table.get("right"), table.get("instead"),
        table.get("run"), table.get("at"), table.get("to"), table.get("command"),
        {name: _unmarked(text) for name, text in table.get("files", {}).items()}, place,
        table.get("right_command"), table.get("right_files", {}), table.get("unreachable"),
    )  # fmt: skip


def _unmarked(text: str) -> str:
    return text.replace("«", "").replace("»", "")


def _indented(piece: str, page: Page, frame: str) -> str:
    """The piece with the indentation that the frame's ``@`` has."""
    line = next(line for line in page.frames[frame][1].splitlines() if "@" in line)
    indent = " " * (len(line) - len(line.lstrip()))
    return piece.replace("\n", "\n" + indent)


def program(page: Page, fixture: Fixture, piece: str) -> str:
    """The whole program that a piece of a fixture stands for."""
    text = page.frames[fixture.frame][1]
    return text.replace("@", _indented(_unmarked(piece).strip("\n"), page, fixture.frame))


# --- what a fixture gives -----------------------------------------------------------------------


def found(page: Page, fixture: Fixture) -> list[Diagnostic]:
    """The diagnostics of the wrong program or document."""
    if fixture.at is not None:
        return _of_document(page, fixture)
    assert fixture.wrong is not None
    return diagnostics(program(page, fixture, fixture.wrong), fixture.run)


def diagnostics(text: str, run: dict[str, float] | None) -> list[Diagnostic]:
    """What is wrong with a program: errors of linking, of its run, else the warnings."""
    from serq.interp import run as simulate
    from serq.link import compile_text

    settings = Settings(horizon=100.0)
    if run is not None:
        arrivals = run.get("arrivals")
        settings = Settings(
            horizon=float(run.get("horizon", 100)),
            warmup=float(run.get("warmup", 0)),
            arrivals=None if arrivals is None else int(arrivals),
        )
    try:
        linked = compile_text(Source(NAME, text), settings=settings)
        if run is not None:
            simulate(linked.program, source_map=linked.source_map)
    except SerqError as error:
        return error.diagnostics
    return list(linked.warnings)


def _of_document(page: Page, fixture: Fixture) -> list[Diagnostic]:
    from serq.api import validated
    from serq.ir.codec import from_json

    try:
        validated(from_json(document(page, fixture), "program.json"), "program.json")
    except SerqError as error:
        return error.diagnostics
    return []


def document(page: Page, fixture: Fixture) -> str:
    """The frame's IR in JSON with the fixture's value in its place."""
    from serq.ir.codec import to_json
    from serq.link import compile_text

    text = page.frames["document"][1]
    linked = compile_text(Source(NAME, text), settings=Settings(horizon=100.0))
    whole = json.loads(to_json(linked.program))
    assert fixture.at is not None
    keys = [int(key) if key.isdigit() else key for key in re.findall(r"[^.\[\]]+", fixture.at)]
    inner = whole
    for key in keys[:-1]:
        inner = inner[key]
    if fixture.to is None:
        del inner[keys[-1]]
    elif isinstance(inner, list) and keys[-1] == len(inner):
        inner.append(json.loads(fixture.to))
    else:
        inner[keys[-1]] = json.loads(fixture.to)
    return json.dumps(whole)


def ran(command: str, files: dict[str, str]) -> tuple[int, str]:
    """The exit status and standard error of a command line in a directory with these files."""
    import shlex

    from serq.cli import main

    words = shlex.split(command)
    variables = {}
    while "=" in words[0]:
        name, _, value = words.pop(0).partition("=")
        variables[name] = value
    assert words[0] == "serq"
    with tempfile.TemporaryDirectory() as directory, chdir(directory):
        for name, text in files.items():
            path = Path(name)
            path.parent.mkdir(parents=True, exist_ok=True)
            path.write_text(text, encoding="utf-8")
        result = CliRunner().invoke(main, words[1:], env=variables)
    if result.exception is not None and not isinstance(result.exception, SystemExit):
        raise result.exception
    return result.exit_code, result.stderr


def message(page: Page, fixture: Fixture) -> str | None:
    """What the user reads; None where nothing shows the code."""
    if fixture.unreachable is not None:
        return None
    if fixture.command is not None:
        text = ran(fixture.command, fixture.files)[1].rstrip("\n")
        return text.replace(f"{CHECKOUT}/", "")  # a page does not show where it was made
    return "\n\n".join(render(d) for d in found(page, fixture))


def each(page: Page) -> Iterator[tuple[str, list[Fixture]]]:
    """The sections' titles with their fixtures, by code."""
    for section, title in page.sections.items():
        inside = [f for f in page.fixtures.values() if f.section == section]
        yield title, sorted(inside, key=lambda f: f.code)
