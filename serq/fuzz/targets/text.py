"""Text ↔ IR: a program formatted, printed from its tree, written anew from its IR, and through JSON
is the same program.
"""

from __future__ import annotations

from dataclasses import replace
from random import Random

from hypothesis import strategies as st

from serq.diagnostics import SerqError, Source
from serq.fuzz.case import RandomProgram
from serq.fuzz.case_files import case_files
from serq.fuzz.choices import Choices
from serq.fuzz.documents import first_difference
from serq.fuzz.fragment import FragmentWriter, fragment_ir_programs, fragment_programs
from serq.fuzz.fragment_ir import Maker
from serq.fuzz.programs import ProgramWriter, programs
from serq.fuzz.spelling import written
from serq.fuzz.stations import StationWriter, station_programs
from serq.fuzz.verdict import EQUAL, Verdict, differs
from serq.ir import nodes as ir
from serq.ir.codec import from_json, to_json
from serq.ir.validate import validate
from serq.link import compile_text
from serq.syntax.format import format_source
from serq.syntax.parser import parse
from serq.syntax.printer import to_text

Case = RandomProgram | ir.Program


def cases() -> st.SearchStrategy[Case]:
    """Programs over the whole language, and now and then one that exists as IR alone."""
    texts = st.one_of(programs(), station_programs(), fragment_programs())
    return st.one_of(texts, texts, texts, fragment_ir_programs())


def draw(choices: Choices) -> Case:
    """One program, as `cases` has them."""
    kind = choices.below(8)
    if kind == 7:
        return Maker(Random(choices.below(1 << 32))).program()
    if kind > 4:
        return FragmentWriter(choices).write()
    return (StationWriter if kind > 2 else ProgramWriter)(choices).write()


def missing() -> str | None:
    """Why the target cannot run here: it always can."""
    return None


def check(case: Case) -> Verdict:
    """Compile the program in each of its forms."""
    try:
        program = case if isinstance(case, ir.Program) else case.compile()
    except SerqError:
        return Verdict("refused")
    document = to_json(program)
    back = from_json(document)
    if back != program:
        return differs("the IR read back from JSON is another one", ("IR", document))
    if to_json(back) != document:
        return differs("the IR read back from JSON is written differently", ("IR", document))
    issues = validate(back)
    if issues and isinstance(case, ir.Program):
        return Verdict("refused")
    if issues:
        return differs(f"a compiled program's IR is refused: {issues[0].code}", ("IR", document))
    if isinstance(case, ir.Program):
        return check_written(program, from_text=False)
    verdict = check_text(case, document)
    return check_written(program, from_text=True) if verdict.difference is None else verdict


def check_text(case: RandomProgram, document: str) -> Verdict:
    """The formatted and the printed text link to the IR document."""
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


def check_written(program: ir.Program, *, from_text: bool) -> Verdict:
    """The text written from the IR links to the same IR; one that came from a text has one."""
    try:
        made = written(program)
    except SerqError as error:
        reason = error.diagnostics[0].message
        if from_text:
            return differs(f"no text for the IR of a text: {reason}", ("IR", to_json(program)))
        return Verdict("IR without a text")
    try:
        linked = compile_text(Source("<written>", made.text), settings=made.settings()).program
    except SerqError as error:
        code = error.diagnostics[0].code
        where = f"the text written from the IR is refused: {code}"
        return differs(where, ("written", made.text), ("error", str(error)))
    again, document = to_json(linked), to_json(made.program)
    found = first_difference(again, document)
    if found is None:
        return EQUAL
    where = f"the text written from the IR is another program: {found}"
    return differs(where, ("written", made.text), ("IR", again), ("IR before", document))


def files(case: Case) -> dict[str, str]:
    """The case as a file."""
    return case_files(case)
