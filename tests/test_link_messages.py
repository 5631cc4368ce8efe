"""What the linker says beside code and place: all errors at once, notes, suggestions, warnings."""

from __future__ import annotations

from pathlib import Path

import pytest
from link_programs import BASE, declared, engine, entry, request, served

from serq.diagnostics import Diagnostic, SerqError, Severity, Source
from serq.link import Linked, compile_text
from serq.settings import Settings

SETTINGS = Settings(horizon=100.0)


def linked(program: str, **inputs: object) -> Linked:
    return compile_text(Source("t.sq", program), settings=SETTINGS, **inputs)  # type: ignore[arg-type]


def errors(program: str, **inputs: object) -> list[Diagnostic]:
    with pytest.raises(SerqError) as caught:
        linked(program, **inputs)
    return caught.value.diagnostics


def words(diagnostics: list[Diagnostic]) -> list[tuple[str, str]]:
    return [(d.code, d.span.text if d.span else "") for d in diagnostics]


def test_independent_errors_are_reported_at_once_in_order():
    """Syntax errors, link errors and broken rules of one program come together, by place."""
    program = """
fn main() {
  pool kv { cap zz; }
  stage svc : fifo
  stage svc2 : fifo;
  workload { arrive poisson(0); turn { set = 1; } }
  server {
    set a = min(1);
    set b = 2 + ;
    run svc2 (cost(svc2, 1));
  }
}
"""
    found = errors(program)
    assert [d.span.source.position(d.span.start)[0] for d in found if d.span] == sorted(
        d.span.source.position(d.span.start)[0] for d in found if d.span
    )
    codes = [d.code for d in found]
    assert "not-a-rate" in codes and "argument-count" in codes
    assert sum(code not in ("not-a-rate", "argument-count", "not-constant") for code in codes) >= 3


def test_link_errors_and_broken_rules_together():
    """A rule about one place is reported beside a link error somewhere else."""
    found = errors(served("set a = nn; set b = tokens; branch (2) { }"))
    assert words(found) == [
        ("unknown-name", "nn"),
        ("not-readable", "tokens"),
        ("not-a-test", "2"),
    ]


def test_unknown_name_suggests_the_closest_and_its_place():
    """A misspelt name gets the closest one of its kind, with the place of its declaration."""
    (found,) = errors(served("set z = used(kvv);"))
    assert found.help == "did you mean `kv`?"
    ((text, place),) = found.notes
    assert "`kv` is declared here" in text
    assert place is not None and place.text == "kv"


@pytest.mark.parametrize(
    ("program", "suggestion"),
    [
        (served("run svcc (cost(svc, 1));"), "svc"),
        (served("set z = n + serail;"), "serial"),
        (served("set z = flor(2);"), "floor"),
        (served("set z = ~ekp(2);"), "exp"),
        (served("set z = twic(2);", above="def twice(x) { x } " + BASE), "twice"),
        (served("twic(2);", above="def twice(x) { set q = x; } " + BASE), "twice"),
        (declared("pool p { cap siz; } let size_of = 3; let sizes = 2;"), "sizes"),
        (entry("", server="Pp.prefill (n);"), "P"),
        (engine(pools="pool kv on gpuu { } pool reqs on e { }"), "gpu"),
    ],
)
def test_suggestions_are_of_the_same_kind(program: str, suggestion: str):
    """Stages, names, functions, draws, definitions, constants, queues and devices are suggested."""
    assert errors(program)[0].help == f"did you mean `{suggestion}`?"


def test_duplicates_name_both_places():
    """A second declaration is shown with the first one."""
    (found,) = errors(declared("pool p { } pool p { cap 2; }"))
    ((_, place),) = found.notes
    assert place is not None and found.span is not None
    assert place.text == found.span.text == "p"
    assert place.start < found.span.start


def test_a_fault_in_a_body_shows_the_use():
    """An error inside a definition is shown in the body, with a note for each use around it."""
    above = "def inner(x) { x + nowhere } def outer(x) { inner(x) } " + BASE
    (found,) = errors(served("set z = outer(1);", above=above))
    assert found.span is not None and found.span.text == "nowhere"
    assert [(text, place.text) for text, place in found.notes if place] == [
        ("`inner` is used here", "inner(x)"),
        ("`outer` is used here", "outer(1)"),
    ]


def test_a_fault_in_an_entry_shows_the_call():
    """An error inside an entry or a request is shown there, with the call."""
    (found,) = errors(entry("set z = n;"))
    assert ("`P.prefill` is called here", "P.prefill (n)") in [
        (text, place.text) for text, place in found.notes if place
    ]
    (found,) = errors(request("set z = n;"))
    assert ("the request of `e` is called here", "e (n, o)") in [
        (text, place.text) for text, place in found.notes if place
    ]


def test_a_fault_is_reported_once_for_all_turns():
    """The server's copies, one for each turn, are one text: their fault is one error."""
    program = served(
        "set z = nn; set y = tokens;", workload="arrive none; session { turn; turn; turn; }"
    )
    assert words(errors(program)) == [("unknown-name", "nn"), ("not-readable", "tokens")]


def test_entries_that_nothing_calls_are_checked():
    """A fault in an entry or a request is found although nothing calls it."""
    assert words(errors(entry("set z = nn;", server=""))) == [("unknown-name", "nn")]
    assert words(errors(request("set z = nn;", server=""))) == [("unknown-name", "nn")]
    assert words(errors(entry("set z = n;", server=""))) == [("reads-outside", "n")]


@pytest.mark.parametrize(
    ("program", "text"),
    [
        (engine(server="run e prefill (cost(e, now));"), "now"),
        (engine(server="set t0 = now; run e decode (cost(e, now - t0));"), "now - t0"),
        (request("prefill (now);"), "now"),
        (engine(server="run e prefill (cost(e, max(now, 0)));"), "max(now, 0)"),
    ],
)
def test_a_time_as_tokens_is_a_warning(program: str, text: str):
    """The work of a prefill or decode that is a time is warned of, and the program links."""
    (warning,) = linked(program).warnings
    assert warning.code == "seconds-as-tokens"
    assert warning.severity is Severity.WARNING
    assert warning.span is not None and warning.span.text == text


@pytest.mark.parametrize(
    "program",
    [
        engine(server="run e prefill (cost(e, now * 3));"),
        engine(server="run e prefill (cost(e, n + now));"),
        engine(server="set a = now; set a = 1; run e prefill (cost(e, a));"),
        served("run svc (cost(svc, now));"),
    ],
)
def test_no_warning_where_the_unit_is_not_sure(program: str):
    """A product, a mixed attribute and a plain run are not warned of."""
    assert linked(program).warnings == []


def test_inputs_that_are_not_declared():
    """An input or a replaced definition that the program does not have is refused, with names."""
    text = declared('let a = args.number("rate", 3); def f(x) { x }', outside='use "std/args";')
    (found,) = errors(text, sets={"rat": 2.0})
    assert (found.code, found.where) == ("unknown-input", "input rat")
    assert found.help == "did you mean `rate`?"
    (found,) = errors(text, defs={"g": "x"})
    assert found.code == "unknown-definition"
    (found,) = errors(declared("def s(x) { set q = x; }"), defs={"s": "x"})
    assert found.code == "not-an-expression-definition"


@pytest.mark.parametrize(
    ("given", "code"),
    [("0 / 0", "not-a-number"), (float("nan"), "not-a-number"), ("zz", "not-constant")],
)
def test_input_values_are_constants(given: object, code: str):
    """A supplied value is a number or a constant expression, never NaN."""
    text = declared('let a = args.number("a", 3);', outside='use "std/args";')
    (found,) = errors(text, sets={"a": given})
    assert found.code == code


def test_an_input_may_read_constants_above_it():
    """A supplied expression reads the lets above the input's, and lets below read the input."""
    text = declared(
        'let k = 3; let a = args.number("a", 1); let b = a * 2; gauge g = b;',
        outside='use "std/args";',
    )
    program = linked(text, sets={"a": "k + 1"}).program
    assert program.gauges[0].expr.value == 8.0  # type: ignore[union-attr]


def test_an_input_may_not_decide_a_size():
    """A supplied input, even through another let, does not change the size of a family."""
    text = declared(
        'let a = args.number("a", 2); let b = a; pool p[b] { }', outside='use "std/args";'
    )
    assert len(linked(text).program.pools) == 2
    assert words(errors(text, sets={"a": 3.0})) == [("input-sets-size", "b")]


def test_a_fault_in_a_supplied_text_names_what_it_was_given_for():
    """A broken expression given for an input or a definition is shown in its own text."""
    text = declared('let a = args.number("a", 3); def f(x) { x }', outside='use "std/args";')
    (found,) = errors(text, sets={"a": "3 +"})
    assert found.span is not None and found.span.source.name == "input a=3 +"
    (found,) = errors(text, defs={"f": "x +"})
    assert found.span is not None and found.span.source.name == "definition f=x +"


def test_libraries(tmp_path: Path):
    """A library's definitions come in where it is used, each file once, files it uses first."""
    (tmp_path / "a.sq").write_text('use "b.sq"; def twice(x) { half(x) * 4 }')
    (tmp_path / "b.sq").write_text('use "a.sq"; def half(x) { x / 2 }')
    text = 'use "a.sq"; use "b.sq"; fn main() { gauge g = twice(3); }'
    assert len(linked(text, base_dir=tmp_path).program.gauges) == 1


@pytest.mark.parametrize(
    ("library", "code"),
    [
        (None, "unreadable-library"),
        ("let a = 3;", "library-with-let"),
        ("fn main() { }", "main-in-library"),
        ("def f(x) { x + }", "syntax"),
        ("def f(x) { g(x) } def g(x) { f(x) }", "used-before-defined"),
    ],
)
def test_broken_libraries(tmp_path: Path, library: str | None, code: str):
    """A library that cannot be read, or has more than definitions, is refused at its place."""
    if library is not None:
        (tmp_path / "lib.sq").write_text(library)
    found = errors('use "lib.sq"; fn main() { gauge one = 1; }', base_dir=tmp_path)
    assert [d.code for d in found] == [code]


def test_deep_programs_link():
    """What the parser lets through the linker survives: long sums, brackets, blocks, aggregates."""
    for statements in (
        "set a = " + "+".join(["n"] * 4_900) + ";",
        "set a = " + "(" * 1_900 + "n" + ")" * 1_900 + ";",
        "branch (1) { " * 900 + "set a = 1; " + "}" * 900,
        "set a = sum j in 4096 (j);",
    ):
        assert linked(served(statements)).program.blocks


@pytest.mark.parametrize("use", ["set a = d9(n);", "s30();"])
def test_definitions_that_explode_are_refused(use: str):
    """Definitions that would expand without end are refused by a limit, in a moment."""
    above = "def d0(x) { x + x } " + "".join(
        f"def d{i}(x) {{ d{i - 1}(d{i - 1}(x)) }} " for i in range(1, 10)
    )
    above += "def s0() { set b = 1; set c = 2; } " + "".join(
        f"def s{i}() {{ s{i - 1}(); s{i - 1}(); }} " for i in range(1, 31)
    )
    (found,) = errors(served(use, above=above + BASE))
    assert found.code == "too-large"


@pytest.mark.parametrize(
    ("program", "code", "text"),
    [
        (served("", below="share maxmin;"), "share-unused", "share maxmin"),
        (engine(items="state r = 1;"), "state-of-other", "r"),
    ],
)
def test_rules_about_declarations_are_shown_at_the_declaration(program: str, code: str, text: str):
    """A broken rule about something that is no node of the IR is shown where it is declared."""
    assert words(errors(program)) == [(code, text)]


@pytest.mark.parametrize(
    ("call", "help"),
    [
        ("flor(2)", "did you mean `floor`?"),
        ("round(2)", "write `floor(x + 0.5)`"),
        ("mod(5, 3)", "write `a - b * floor(a / b)`"),
        (
            "quantile(2)",
            "of numbers there are min, max, abs, floor, ceil, sqrt, exp, ln, pow; "
            "a `def` stands above its use",
        ),
    ],
)
def test_an_unknown_function_says_what_to_write(call: str, help: str):
    """A function that does not exist comes with the one meant, or how it is written here."""
    (error,) = errors(served(f"set z = {call};"))
    assert (error.code, error.help) == ("unknown-function", help)
