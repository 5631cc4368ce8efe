"""Metamorphic: a program in another unit of time, with other names, another order of declarations,
split constants or unused additions gives the IR and the report that it gave, but for what the
change says.
"""

from __future__ import annotations

import json
from dataclasses import dataclass
from random import Random
from typing import Any

from hypothesis import strategies as st

from serq.diagnostics import SerqError
from serq.fuzz.bounded import run
from serq.fuzz.case import RandomProgram
from serq.fuzz.case_files import readable
from serq.fuzz.changes import CHANGES, Change, Changed, Document
from serq.fuzz.changes.scale import ROUGH
from serq.fuzz.choices import Choices
from serq.fuzz.documents import first_difference
from serq.fuzz.programs import ProgramWriter, programs
from serq.fuzz.results import of_report
from serq.fuzz.stations import StationWriter, station_programs
from serq.fuzz.verdict import EQUAL, Verdict, differs
from serq.ir import nodes as ir
from serq.ir.codec import to_json

CLOSE = 0.02
"""How far, relatively, the fields of `ROUGH` may be from what is expected."""


@dataclass(frozen=True)
class Case:
    """A program, the change that is made, and where its choices start."""

    program: RandomProgram
    change: str
    seed: int

    def changed(self, compiled: ir.Program) -> Changed:
        """The changed program."""
        return CHANGES[self.change].make(self.program, compiled, Random(self.seed))


def cases() -> st.SearchStrategy[Case]:
    """Programs over the whole language, each with one change."""
    texts = st.one_of(programs(), programs(), station_programs())
    return st.builds(Case, texts, st.sampled_from(list(CHANGES)), st.integers(0, 999))


def draw(choices: Choices) -> Case:
    """One program with one change, as `cases` has them."""
    change = list(CHANGES)[choices.below(len(CHANGES))]
    seed = choices.below(1000)
    writer = [ProgramWriter, ProgramWriter, StationWriter][choices.below(3)](choices)
    return Case(writer.write(), change, seed)


def missing() -> str | None:
    """Why the target cannot run here: it always can."""
    return None


def check(case: Case) -> Verdict:
    """Run the program as it is and changed."""
    try:
        compiled = case.program.compile()
    except SerqError:
        return Verdict("refused")
    return _judge(case, compiled, document(compiled))


def check_all(program: RandomProgram) -> Verdict:
    """Every change of one program; the first difference."""
    try:
        compiled = program.compile()
    except SerqError:
        return Verdict("refused")
    before = document(compiled)
    for name in CHANGES:
        verdict = _judge(Case(program, name, 0), compiled, before)
        if verdict.difference is not None:
            return verdict
    return EQUAL


def document(program: ir.Program) -> Document | str:
    """The report and the samples of a run, or the code of its error."""
    try:
        result = of_report(run(program))
    except SerqError as error:
        return error.diagnostics[0].code
    return {
        "report": json.loads(result.report, parse_int=float),
        "samples": json.loads(result.samples, parse_int=float),
    }


def _judge(case: Case, compiled: ir.Program, before: Document | str) -> Verdict:
    change = CHANGES[case.change]
    made = case.changed(compiled)
    try:
        program = made.program if made.case is None else made.case.compile()
    except SerqError as error:
        code = error.diagnostics[0].code
        return _differs(change, f"the changed text is refused: {code}", made, str(error), "")
    assert program is not None
    if made.ir is not None:
        found = first_difference(to_json(program), to_json(made.ir))
        if found is not None:
            return _differs(change, f"IR {found}", made, to_json(program), to_json(made.ir))
        if made.ir is compiled:
            return EQUAL
    after = document(program)
    if isinstance(before, str) or isinstance(after, str):
        if before == after:
            return Verdict("an error in both")
        return _differs(change, f"{_word(after)}, before {_word(before)}", made, "", "")
    expected = made.expected(before)
    seen = made.seen(after)
    _level(expected, seen)
    ours, theirs = json.dumps(seen), json.dumps(expected)
    found = first_difference(ours, theirs)
    return EQUAL if found is None else _differs(change, found, made, ours, theirs)


def _word(document: Document | str) -> str:
    return f"an error, {document}" if isinstance(document, str) else "a report"


def _level(expected: Document, seen: Document) -> None:
    """Fields that may be a little off are taken as they are if they are that little off."""
    for one, other in zip(expected["report"]["stages"], seen["report"]["stages"], strict=False):
        for name in ROUGH:
            a, b = one.get(name), other.get(name)
            if a is not None and b is not None and abs(a - b) <= CLOSE * abs(a):
                one[name] = b


def _differs(change: Change, where: str, made: Changed, ours: str, before: str) -> Verdict:
    told = where.replace("the reference has", "it should have")
    changed = made.case.text if made.case is not None else readable(made.program or _none())
    return differs(
        f"{change.name}: {told} (it may change {change.may})",
        ("changed program", changed or to_json(made.program or _none())),
        ("changed", ours),
        ("expected", before),
    )


def _none() -> Any:
    raise AssertionError("a change gives a text or an IR")


def files(case: Case) -> dict[str, str]:
    """The program, with the change as a comment."""
    note = f"change: {case.change}, seed {case.seed}"
    return {"program.sq": case.program.file_text(note)}
