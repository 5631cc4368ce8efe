"""The page of all diagnostics, ``docs/diagnostics.md``, from the codes and their fixtures."""

from __future__ import annotations

from collections.abc import Iterator

from serq.diagnostic_codes import CODES
from serq.docsgen.fixtures import Fixture, Page, each, load, message

INTRO = """\
# Diagnostics

<!-- Made by `python -m serq.docsgen` from serq/diagnostic_codes.py and docs/diagnostics/*.toml. -->

An error says what is wrong in words, and has a code in brackets. This page has every code: what it
means, a program that gets it and what serQ then prints, and what to write instead.

```text
program.sq:7:9: error[unknown-stage]: there is no stage `svv`
```

is a place (file, line, column, counted from 1), a code and a sentence. Beneath stand the source
line with carets under the words that are meant, `help:` with what to write, and `note:` with other
places that belong to it. All independent errors of a program are reported at once. A *warning* has
the same form and changes no exit status. An IR document has no lines: its errors name a path in
the JSON. Errors of a running program name the session, its turn and the time too, and the values
that were read.

`serq check --json` gives the same as a list, for editors. In Python, they are the `diagnostics` of
the `serq.SerqError` that is raised.

Where a piece of a program is shown, it stands at the `@` of one of [these programs](#frames).
"""

FRAMES = """\
## Frames

The pieces above stand in these programs, at the `@`.
"""


def page() -> str:
    """The whole page. Raises `ValueError` for a code without a fixture."""
    fixtures = load()
    if missing := set(CODES) - set(fixtures.fixtures):
        raise ValueError(f"no fixture in docs/diagnostics for {', '.join(sorted(missing))}")
    if unknown := set(fixtures.fixtures) - set(CODES):
        raise ValueError(f"fixtures of no code: {', '.join(sorted(unknown))}")
    parts = [INTRO, "## All codes\n", *_table(fixtures)]
    for title, inside in each(fixtures):
        parts.append(f"## {title}\n")
        for fixture in inside:
            parts += _entry(fixtures, fixture)
    parts.append(FRAMES)
    for name, (title, text) in fixtures.frames.items():
        if name != "program":
            parts.append(f"#### In {name}\n\nFor {title}:\n\n{_block(text, 'serq', 'fragment')}")
    return "\n".join(parts)


def _table(page: Page) -> Iterator[str]:
    for title, inside in each(page):
        rows = "\n".join(f"| [`{f.code}`](#{f.code}) | {_cell(CODES[f.code])} |" for f in inside)
        yield f"**{title}**\n\n| Code | What it means |\n|---|---|\n{rows}\n"


def _cell(text: str) -> str:
    return text.replace("|", "\\|")


def _block(text: str, kind: str, remark: str = "") -> str:
    """A block; the remark is for the tests, which compile what claims to be a program."""
    comment = f"<!-- {remark} -->\n\n" if remark else ""
    return f"{comment}```{kind}\n{text.strip(chr(10))}\n```\n"


def _entry(page: Page, fixture: Fixture) -> Iterator[str]:
    yield f"#### {fixture.code}\n\n{CODES[fixture.code]}\n"
    if fixture.unreachable is not None:
        yield f"No example: {fixture.unreachable}.\n"
        return
    frame = "" if fixture.frame == "program" else f"in {fixture.frame}"
    if fixture.wrong is not None:
        yield _place(fixture)
        how = "wrong" if fixture.run is None else "fails"
        yield _block(fixture.wrong, "serq", f"{how} {frame}".strip())
    elif fixture.at is not None:
        what = "is left out" if fixture.to is None else f"is `{fixture.to}`"
        yield f"In a [document](#in-document) where `{fixture.at}` {what}:\n"
    for name, text in fixture.files.items():
        kind = ("serq", "fragment") if name.endswith(".sq") else ("text", "")
        yield f"`{name}`:\n\n{_block(text, *kind)}"
    if fixture.command is not None:
        yield _block(f"$ {fixture.command}\n{message(page, fixture)}", "console")
    else:
        yield _block(message(page, fixture) or "", "text")
    if fixture.instead is not None:
        yield f"{fixture.instead}\n"
    if fixture.right is not None:
        yield f"Instead:\n\n{_block(fixture.right, 'serq', frame)}"
    if fixture.right_command is not None:
        yield f"Instead:\n\n{_block(f'$ {fixture.right_command}', 'console')}"


def _place(fixture: Fixture) -> str:
    if fixture.frame == "program":
        where = "A program"
    else:
        where = f"[In `{fixture.frame}`](#in-{fixture.frame})"
    if fixture.run is not None:
        settings = ", ".join(f"{name} {value:g}" for name, value in fixture.run.items())
        return f"{where}, run with {settings}:\n"
    return f"{where}:\n"
