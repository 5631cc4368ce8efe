"""Interpreter ↔ Lean: every iteration, observation and preemption, and the final state."""

from __future__ import annotations

import json
from dataclasses import asdict

from hypothesis import strategies as st

from serq.diagnostics import SerqError
from serq.fuzz.case import RandomProgram
from serq.fuzz.case_files import case_files
from serq.fuzz.fragment import fragment_ir_programs, fragment_programs
from serq.fuzz.lean_process import lean_process
from serq.fuzz.verdict import EQUAL, Verdict, differs
from serq.ir import nodes as ir
from serq.leangen.compare import StepTrace, first_difference, interpreted
from serq.leangen.fragment import Outside, executable

Case = RandomProgram | ir.Program


def cases() -> st.SearchStrategy[Case]:
    """Programs of exactly the Lean fragment, as text and as IR with explicit sessions."""
    texts = fragment_programs()
    return st.one_of(texts, texts, texts, fragment_ir_programs())


def missing() -> str | None:
    """Why the target cannot run here."""
    return None if lean_process() is not None else "no Lean is installed (`serq lean install`)"


def check(case: Case) -> Verdict:
    """Run the program on both sides, step by step."""
    try:
        program = case if isinstance(case, ir.Program) else case.compile()
    except SerqError as error:
        return differs(f"refused: {error.diagnostics[0].code}", ("ours", str(error)))
    made = executable(program).result
    if isinstance(made, Outside):
        return Verdict("outside the fragment")
    process = lean_process()
    assert process is not None
    lean: StepTrace | SerqError
    try:
        lean = process.run(program, made)
    except SerqError as error:
        lean = error
    try:
        ours = interpreted(program)
    except SerqError as error:
        if isinstance(lean, SerqError):
            return Verdict("an error in both")
        where = f"an error of the interpreter alone: {error.diagnostics[0].code}"
        return differs(where, ("interpreter", str(error)), ("lean", _text(lean)))
    if isinstance(lean, SerqError):
        where = f"an error in Lean alone: {lean.diagnostics[0].message}"
        return differs(where, ("interpreter", _text(ours)), ("lean", str(lean)))
    found = first_difference(ours, lean)
    if found is None:
        return EQUAL
    return differs(str(found), ("interpreter", _text(ours)), ("lean", _text(lean)))


def files(case: Case) -> dict[str, str]:
    """The case as a file."""
    return case_files(case)


def _text(trace: StepTrace) -> str:
    """A step trace, a line for each step and each observation."""
    lines = [json.dumps(asdict(step)) for step in trace.steps]
    for (name, session), samples in sorted(trace.observations.items()):
        lines += [f"{name} of session {session}: {value} at {time}" for time, value in samples]
    return "\n".join([*lines, f"ended {trace.ended}", str(trace.end)]) + "\n"
