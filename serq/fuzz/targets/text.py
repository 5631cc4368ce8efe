"""Text ↔ IR: a program formatted, printed from its tree, and through JSON is the same program."""

from __future__ import annotations

from dataclasses import replace

from hypothesis import strategies as st

from serq.diagnostics import SerqError, Source
from serq.fuzz.case import RandomProgram
from serq.fuzz.documents import first_difference
from serq.fuzz.fragment import fragment_programs
from serq.fuzz.programs import programs
from serq.fuzz.stations import station_programs
from serq.fuzz.verdict import EQUAL, Verdict, differs
from serq.ir.codec import from_json, to_json
from serq.ir.validate import validate
from serq.syntax.format import format_source
from serq.syntax.parser import parse
from serq.syntax.printer import to_text


def cases() -> st.SearchStrategy[RandomProgram]:
    """Programs over the whole language."""
    return st.one_of(programs(), station_programs(), fragment_programs())


def missing() -> str | None:
    """Why the target cannot run here: it always can."""
    return None


def check(case: RandomProgram) -> Verdict:
    """Compile the program in each of its forms."""
    try:
        program = case.compile()
    except SerqError:
        return Verdict("refused")
    document = to_json(program)
    back = from_json(document)
    if back != program:
        return differs("the IR read back from JSON is another one", ("IR", document))
    if to_json(back) != document:
        return differs("the IR read back from JSON is written differently", ("IR", document))
    issues = validate(back)
    if issues:
        return differs(f"a compiled program's IR is refused: {issues[0].code}", ("IR", document))
    formatted = format_source(case.text, "<program>")
    if format_source(formatted, "<program>") != formatted:
        return differs("formatting twice changes the text", ("formatted", formatted))
    printed = to_text(parse(Source("<program>", case.text)))
    for name, text in (("formatted", formatted), ("printed", printed)):
        try:
            again = to_json(replace(case, text=text).compile())
        except SerqError as error:
            code = error.diagnostics[0].code
            return differs(
                f"the {name} text is refused: {code}", (name, text), ("error", str(error))
            )
        found = first_difference(again, document)
        if found is not None:
            where = f"the {name} text is another program: {found}"
            return differs(where, (name, text), ("IR", again), ("IR before", document))
    return EQUAL


def files(case: RandomProgram) -> dict[str, str]:
    """The case as a file."""
    return {"program.sq": case.file_text()}
