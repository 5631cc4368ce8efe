"""Interpreter ↔ reference build: the IR byte for byte, every field of the report, every sample."""

from __future__ import annotations

from collections.abc import Callable
from contextlib import AbstractContextManager
from unittest.mock import patch

from hypothesis import strategies as st

from serq.diagnostics import SerqError
from serq.fuzz import reference
from serq.fuzz.bounded import run
from serq.fuzz.case import RandomProgram
from serq.fuzz.choices import Choices
from serq.fuzz.documents import first_difference
from serq.fuzz.programs import ProgramWriter, programs
from serq.fuzz.results import Result, difference, of_reference, of_report, unexplained
from serq.fuzz.stations import StationWriter, station_programs
from serq.fuzz.verdict import EQUAL, Verdict, differs
from serq.interp import cycle, iteration
from serq.interp.machine import Machine
from serq.ir import nodes as ir
from serq.ir.codec import to_json

TIMEOUT = 20.0
"""Seconds for the reference build; a program that takes longer is left out."""

REPEATS = 8
"""Runs of the reference build that may explain a difference by its own variation.

It adds up the work waiting at a stage in no fixed order, so the last digits of a program that
reads it change from run to run, and with them what they decide.
"""

VARIES = "the reference varies"
"""The label of a case whose differences all lie where the reference build differs from itself."""


EXCEPTIONS = {
    "cycle-of-waits": "A run that ends with sessions and legs waiting only for each other, one at"
    " a join and none for a lease that will expire, is an error.",
    "self-preemption": "A grower that preempts itself ends the iteration's serving"
    " (scheduler.py:807-813); then admit waiting admits from the queues the engine admits.",
    "ps-after-admission": "ps(φ): every job at once, each at φ(present)/present.",
}
"""Where the reference build does otherwise than language.md says, and the sentence that decides.

It misses a cycle of waits that goes through a queue: a session at the head waits for memory, and a
leg or a session of the cycle behind it. Such a run is compared as if it had ended without the
error. A self-preemption ends its statement of the schedule there, and a later statement of the
same iteration serves on. A job that an engine's admission starts on a ps stage declared above the
engine is rated with the next event, and never where there is none. Such runs are compared as if
they did so here.
"""


AS_THE_REFERENCE: dict[str, Callable[[], AbstractContextManager[object]]] = {
    "self-preemption": lambda: patch.object(iteration, "serving_is_over", lambda engine: False),
    "ps-after-admission": lambda: patch.object(Machine, "_go_on", lambda machine: None),
}
"""The exceptions in which a whole run is made as the reference build makes it."""


REASONS = {
    "arrivals-missing": ("before requested arrivals",),
    "choose-count": ("the count is",),
    "cost-not-positive": ("lasts a positive time",),
    "cycle-of-waits": ("wait for each other",),
    "does-not-settle": ("does not settle",),
    "drained-in-warmup": ("before or at warmup",),
    "gap-not-positive": ("not a positive time",),
    "guard-not-a-test": ("not 0 or 1", "a test is 1 or 0"),
    "index-out-of-range": ("a member of an array",),
    "load-beyond-allocation": ("a load must fit",),
    "not-an-amount": ("the amount is",),
    "not-drained": ("failed to drain",),
    "nothing-held": ("outside a hold",),
    "same-pool-twice": ("name the same member",),
    "session-ends-with-leg": ("while a leg it forked runs",),
    "state-not-finite": ("a register holds",),
}
"""Codes of errors of a run, and words of the reference build's message about the same fault."""


def cases() -> st.SearchStrategy[RandomProgram]:
    """Programs over the whole language, stations among them."""
    return st.one_of(programs(), programs(), station_programs())


def draw(choices: Choices) -> RandomProgram:
    """One program, as `cases` has them, but for eviction keys that draw.

    The reference build reads the keys of the cached prefixes in no fixed order: which prefix gets
    which draw, and so the whole run, changes from run to run.
    """
    writer = [ProgramWriter, ProgramWriter, StationWriter][choices.below(3)](choices)
    writer.draws_keys = False
    return writer.write()


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
    """Run a program and the same program's IR text, and compare reports and samples."""
    theirs: Result | reference.Refused
    try:
        theirs = _reference(text)
    except reference.Refused as error:
        theirs = error
    except reference.Crashed as error:
        return Verdict(f"left out: {error}")
    verdict = _compare(program, text, theirs)
    if verdict.difference is None:
        return verdict
    for name, as_the_reference in AS_THE_REFERENCE.items():
        with as_the_reference():
            if _compare(program, text, theirs).difference is None:
                return Verdict(f"equal but for {name}")
    return verdict


def _compare(program: ir.Program, text: str, theirs: Result | reference.Refused) -> Verdict:
    """Our run against the reference build's."""
    except_for = ""
    try:
        ours = of_report(run(program))
    except SerqError as error:
        code = error.diagnostics[0].code
        if not isinstance(theirs, Result):
            if not any(words in str(theirs) for words in REASONS.get(code, ("",))):
                where = f"an error in both, {code} here and there: {_first(theirs)}"
                return differs(where, ("ours", str(error)), ("reference", str(theirs)))
            return Verdict("an error in both")
        if code not in EXCEPTIONS:
            where = f"an error here alone: {code}"
            return differs(where, ("ours", str(error)), ("reference", theirs.report))
        with patch.object(cycle, "check", lambda machine: None):  # ends like other runs
            ours = of_report(run(program))
        except_for = f" but for {code}"
    if not isinstance(theirs, Result):
        where = f"an error of the reference alone: {_first(theirs)}"
        return differs(where, ("ours", ours.report), ("reference", str(theirs)))
    found = difference(ours, theirs)
    if found is None:
        return Verdict(f"equal{except_for}") if except_for else EQUAL
    if varies(ours, theirs, lambda: _reference(text)):
        return Verdict(VARIES)
    return differs(
        found,
        ("ours", f"{ours.report}\n{ours.samples}"),
        ("reference", f"{theirs.report}\n{theirs.samples}"),
    )


def varies(ours: Result, theirs: Result, again: Callable[[], Result]) -> bool:
    """Whether runs of the reference build differ among themselves wherever ours differs.

    ``again`` runs it once more. It is asked until every field is explained, at most `REPEATS`
    times.
    """
    variants = [theirs]
    for _ in range(REPEATS):
        variants.append(again())
        if unexplained(ours, variants) is None:
            return True
    return False


def _reference(text: str) -> Result:
    return of_reference(reference.samples(ir=text, timeout=TIMEOUT))


def _first(error: reference.Refused) -> str:
    return (str(error).splitlines() or [""])[0]


def files(case: RandomProgram) -> dict[str, str]:
    """The case as a file."""
    return {"program.sq": case.file_text()}
