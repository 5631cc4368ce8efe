"""Invariants: memory and sessions add up after every event, and nothing hangs on hash order,
on the fast path, or on being run before.
"""

from __future__ import annotations

from collections.abc import Callable

from hypothesis import strategies as st

from serq.diagnostics import SerqError
from serq.fuzz.bounded import run
from serq.fuzz.case import RandomProgram
from serq.fuzz.choices import Choices
from serq.fuzz.documents import first_difference
from serq.fuzz.programs import ProgramWriter, programs
from serq.fuzz.stations import StationWriter, station_programs
from serq.fuzz.verdict import EQUAL, Verdict, differs
from serq.fuzz.worker import worker
from serq.ir import nodes as ir
from serq.ir.codec import to_json


def cases() -> st.SearchStrategy[RandomProgram]:
    """Programs over the whole language."""
    return st.one_of(programs(), programs(), station_programs())


def draw(choices: Choices) -> RandomProgram:
    """One program, as `cases` has them."""
    return [ProgramWriter, ProgramWriter, StationWriter][choices.below(3)](choices).write()


def missing() -> str | None:
    """Why the target cannot run here: it always can."""
    return None


def check(case: RandomProgram) -> Verdict:
    """Run the program in several ways that must give one report."""
    try:
        program = case.compile()
    except SerqError:
        return Verdict("refused")
    document = to_json(program)
    first = report(program)
    ways: dict[str, Callable[[], str]] = {
        "with checks after every event": lambda: report(program, debug=True),
        "without the fast path": lambda: report(program, fast=False),
        "in a process with another hash seed": lambda: worker(1).report_of(document),
        "in a third process": lambda: worker(2).report_of(document),
    }
    for way, again in ways.items():
        second = again()
        if second != first:
            return differs(f"a run {way}: {told(second, first)}", ("before", first), (way, second))
    return Verdict("an error") if first.startswith("error") else EQUAL


def report(program: ir.Program, *, debug: bool = False, fast: bool = True) -> str:
    """The JSON report of a run, or ``error: CODE``."""
    try:
        return run(program, debug=debug, fast=fast).json()
    except SerqError as error:
        return f"error: {error.diagnostics[0].code}"


def told(ours: str, before: str) -> str:
    """Where two answers differ."""
    if ours.startswith("error") or before.startswith("error"):
        return f"{ours[:60]}, before {before[:60]}"
    return (first_difference(ours, before, ()) or "").replace("the reference has", "before")


def files(case: RandomProgram) -> dict[str, str]:
    """The case as a file."""
    return {"program.sq": case.file_text()}
