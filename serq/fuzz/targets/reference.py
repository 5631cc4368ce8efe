"""Interpreter ↔ reference build: the IR byte for byte, the report in every field."""

from __future__ import annotations

from hypothesis import strategies as st

from serq.diagnostics import SerqError
from serq.fuzz import reference
from serq.fuzz.case import RandomProgram
from serq.fuzz.documents import first_difference
from serq.fuzz.programs import programs
from serq.fuzz.stations import station_programs
from serq.fuzz.verdict import EQUAL, Verdict, differs
from serq.interp import run
from serq.ir import nodes as ir
from serq.ir.codec import to_json

TIMEOUT = 20.0
"""Seconds for the reference build; a program that takes longer is left out."""

REPEATS = 4
"""Runs of the reference build that must give one report before a difference from it counts.

It adds up the work waiting at a stage in no fixed order, so the last digits of a program that
reads it change from run to run.
"""


def cases() -> st.SearchStrategy[RandomProgram]:
    """Programs over the whole language, stations among them."""
    return st.one_of(programs(), programs(), station_programs())


def missing() -> str | None:
    """Why the target cannot run here."""
    return None if reference.AVAILABLE else "the reference build (extra `peer`) is not installed"


def check(case: RandomProgram) -> Verdict:
    """Compile and run the program on both sides."""
    theirs: str | reference.Refused
    try:
        theirs = reference.compile(case.text, timeout=TIMEOUT, **case.keywords())
    except reference.Refused as error:
        theirs = error
    except reference.Crashed as error:
        return Verdict(f"left out: {error}")
    try:
        program = case.compile()
    except SerqError as error:
        if isinstance(theirs, str):
            return differs(f"refused here alone: {error.diagnostics[0].code}", ("ours", str(error)))
        return Verdict("refused by both")
    if not isinstance(theirs, str):
        return differs(f"refused by the reference alone: {_first(theirs)}")
    ours = to_json(program)
    found = first_difference(ours, theirs)
    if found is not None:
        return differs(f"IR {found}", ("ours", ours), ("reference", theirs))
    return check_runs(program, theirs)


def check_runs(program: ir.Program, text: str) -> Verdict:
    """Run a program and the same program's IR text, and compare the reports."""
    theirs: str | reference.Refused
    try:
        theirs = reference.run(ir=text, timeout=TIMEOUT)
    except reference.Refused as error:
        theirs = error
    except reference.Crashed as error:
        return Verdict(f"left out: {error}")
    try:
        ours = run(program).json()
    except SerqError as error:
        if isinstance(theirs, str):
            where = f"an error here alone: {error.diagnostics[0].code}"
            return differs(where, ("ours", str(error)), ("reference", theirs))
        return Verdict("an error in both")
    if not isinstance(theirs, str):
        where = f"an error of the reference alone: {_first(theirs)}"
        return differs(where, ("ours", ours), ("reference", str(theirs)))
    found = first_difference(ours, theirs)
    if found is None:
        return EQUAL
    if any(reference.run(ir=text, timeout=TIMEOUT) != theirs for _ in range(REPEATS)):
        return Verdict("the reference varies")
    return differs(f"report {found}", ("ours", ours), ("reference", theirs))


def _first(error: reference.Refused) -> str:
    return (str(error).splitlines() or [""])[0]


def files(case: RandomProgram) -> dict[str, str]:
    """The case as a file."""
    return {"program.sq": case.file_text()}
