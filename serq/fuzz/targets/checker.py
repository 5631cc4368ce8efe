"""Checker: an almost well-formed program is accepted as the reference build accepts it, or refused
with a code and a place; never anything else.
"""

from __future__ import annotations

from hypothesis import strategies as st

from serq.diagnostic_codes import CODES
from serq.diagnostics import SerqError
from serq.fuzz import reference
from serq.fuzz.case import RandomProgram
from serq.fuzz.documents import first_difference
from serq.fuzz.mutate import broken_programs
from serq.fuzz.verdict import Verdict, differs
from serq.ir.codec import to_json
from serq.ir.extensions import CLAIM_COUNTERS

STRICTER: dict[str, str] = {}
"""Code → why we refuse on purpose what the reference build accepts. Nothing so far."""

LOOSER: dict[str, str] = {
    CLAIM_COUNTERS: "claims read what the run has counted, which version 13 of the IR cannot say",
}
"""Extension of the IR → what a program with it says, which the reference build refuses."""


def cases() -> st.SearchStrategy[RandomProgram]:
    """Programs with a few words or lines changed."""
    return broken_programs()


def missing() -> str | None:
    """Why the target cannot run here: it always can, without the reference build in part."""
    return None


def check(case: RandomProgram) -> Verdict:
    """Compile the text here, and where it is installed in the reference build."""
    refused: SerqError | None = None
    document = ""
    extensions: tuple[str, ...] = ()
    try:
        program = case.compile()
        document, extensions = to_json(program), program.extensions
    except SerqError as error:
        refused = error
    except Exception as error:
        return differs(f"{type(error).__name__}: {error}")
    if refused is not None:
        for fault in refused.diagnostics:
            if fault.code not in CODES:
                return differs(f"an undocumented code: {fault.code}", ("ours", str(refused)))
            if fault.span is None and fault.where is None:
                return differs(f"no place: {fault.code}", ("ours", str(refused)))
    if not reference.AVAILABLE:
        return Verdict("accepted" if refused is None else "refused")
    theirs: str | reference.Refused
    try:
        theirs = reference.compile(case.text, **case.keywords())
    except reference.Refused as error:
        theirs = error
    except reference.Crashed as error:
        return Verdict(f"left out: {error}")
    if refused is not None:
        if not isinstance(theirs, str):
            return Verdict("refused by both")
        code = refused.diagnostics[0].code
        if code in STRICTER:
            return Verdict(f"stricter: {code}")
        return differs(f"refused here alone: {code}", ("ours", str(refused)))
    if extensions and set(extensions) <= set(LOOSER) and not isinstance(theirs, str):
        return Verdict(f"looser: {', '.join(extensions)}")
    if not isinstance(theirs, str):
        first = (str(theirs).splitlines() or [""])[0]
        return differs(f"accepted here alone: {first}", ("reference", str(theirs)))
    found = first_difference(document, theirs)
    if found is not None:
        return differs(f"IR {found}", ("ours", document), ("reference", theirs))
    return Verdict("accepted by both")


def files(case: RandomProgram) -> dict[str, str]:
    """The case as a file."""
    return {"program.sq": case.file_text()}
