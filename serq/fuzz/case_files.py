"""The files of a found case: its text, or its IR and a text that runs as the IR does."""

from __future__ import annotations

from serq.diagnostics import SerqError
from serq.fuzz.case import RandomProgram
from serq.fuzz.spelling import sessions_written_out, written
from serq.ir import nodes as ir
from serq.ir.codec import to_json


def case_files(case: RandomProgram | ir.Program) -> dict[str, str]:
    """File name → text. A program of the IR gets a readable ``.sq`` where the language has one."""
    if isinstance(case, RandomProgram):
        return {"program.sq": case.file_text()}
    found = {"program.json": to_json(case) + "\n"}
    text = readable(case)
    return found if text is None else {**found, "program.sq": text}


def readable(program: ir.Program) -> str | None:
    """The text of a program of the IR with the command that runs it; None if it has none.

    Explicit sessions are written out as assignments by ``serial``, so linking the text gives
    another IR there, which runs alike.
    """
    try:
        made = written(sessions_written_out(program))
    except SerqError:
        return None
    settings = made.settings()
    notes = [f"{old} is called {new} here" for old, new in made.names.items()]
    case = RandomProgram(
        made.text,
        settings.horizon or 0.0,
        settings.warmup,
        settings.seed,
        settings.arrivals,
    )
    return case.file_text("\n".join(notes))
