"""What an editor is told: the moment at a cursor, completions, hovers, diagnostics, positions."""

from __future__ import annotations

import re
from pathlib import Path

import pytest
from hypothesis import HealthCheck, Phase, given, seed, settings
from hypothesis import strategies as st

from serq.api import load
from serq.diagnostics import SerqError, Severity, Source
from serq.editor import meanings
from serq.fuzz.case import RandomProgram
from serq.fuzz.programs import programs
from serq.fuzz.stations import station_programs
from serq.ir.functions import function_name
from serq.ir.moments import Moment, moments, spelling
from serq.ir.nodes import Ctx, Fun, Program
from serq.ir.validate.issues import Issues
from serq.ir.validate.model import Model
from serq.ir.validate.sites import all_sites
from serq.link import SourceMap, compile_text
from serq.lower.vocabulary import ARITHMETIC, DISTRIBUTIONS, FUNCTIONS
from serq.lsp.check import check
from serq.lsp.cursor import Block, Expects, cursor_at
from serq.lsp.names import completions, definitions, hover
from serq.lsp.symbols import symbols_of
from serq.settings import Settings

ROOT = Path(__file__).parent.parent
PROGRAMS = [*sorted((ROOT / "examples").rglob("*.sq")),
            *sorted((ROOT / "tests/programs").rglob("*.sq"))]  # fmt: skip
VLLM = (ROOT / "examples/multi-turn/vllm.sq").read_text(encoding="utf-8")

# --- where the cursor is ------------------------------------------------------------------------

WHOLE = """use "std/args";
let k = 2;
def double(x) { x * 2 }
fn main() {
  device gpu { compute (t) = t * 1; kv cap 100; }
  engine e on gpu {
    reqs cap 8;
    tokens cap @BUDGET@;
    state r = 0;
    request (prompt) {
      at admission { reused = @ADMIT@; }
      prefill (prompt) growing kv;
      cache (0);
    }
    schedule {
      advance running only (@ONLY@) by (@SERVE@);
      admit waiting while (@PLAN@) taking reqs (1), kv (1);
    }
    execute (1 + @STEP@);
  }
  pool kv on gpu { block 1; evict by (@EVICT@); preempt by (@VICTIM@); }
  pool reqs on e { queue by (@SELECT@); }
  stage svc : fifo;
  stage cpu : ps(1 + @PS@);
  gauge g = @GAUGE@;
  claim c given (@GIVEN@): every iteration of e (@ITERATION@);
  claim d: at end (@END@);
  workload {
    arrive renewal(1 + @GAP@);
    hidden o;
    turn { Size n = 3; Size o = 4; }
    session { turn; }
  }
  server {
    observe seen = @SESSION@;
    e (n);
    run svc (cost(svc, 1));
    run cpu (cost(cpu, 1));
  }
}
"""
MOMENTS = {m: f"@{m.name}@" for m in Moment}


def at(moment: Moment, written: str = "") -> tuple[str, int]:
    """The program with something written at a moment's place, and the offset behind it."""
    before, after = WHOLE.split(MOMENTS[moment])
    before, after = (re.sub(r"@\\w+@", "1", part) for part in (before, after))
    before, after = (re.sub("@[A-Z]+@", "1", part) for part in (before, after))
    return f"{before}{written}{after}", len(before) + len(written)


@pytest.mark.parametrize("moment", Moment, ids=str)
def test_the_moment_of_each_position(moment: Moment) -> None:
    """Each position of the evaluation table is found from the words before the cursor."""
    text, offset = at(moment, "no")
    cursor = cursor_at(text, offset)
    assert (cursor.moment, cursor.expects, cursor.word) == (moment, Expects.VALUE, "no")
    # What follows is not looked at: it may not be written yet.
    assert cursor_at(text[:offset], offset) == cursor


IMPLIED = re.compile(r"tool|preempt lifo|serve delay|to \w+ \(.*\)|.*decode first.*")
"""Texts that stand for expressions without being one."""


def compare_moments(program: Program, where: SourceMap, name: str) -> int:
    """Compares the moment behind each expression with the linker's; how many there were."""
    compared = 0
    for site in all_sites(Model(program, Issues())):
        span = where.span_of(site.expr)
        if span is None or where.frames_of(site.expr) or span.source.name != name:
            continue
        implied = IMPLIED.fullmatch(span.text) or (
            site.moment is Moment.PS and span.text.isidentifier()  # a delay, a latency
        )
        if implied or span.text[-1].isdigit():
            continue
        compared += 1
        cursor = cursor_at(span.source.text, span.end)
        bound = site.moment is Moment.SESSION and cursor.moment is Moment.ADMIT
        if bound:  # a binding at admission, which stands for its value where it is read
            assert cursor.block is Block.ADMISSION or "admission" in cursor.statement
        else:
            place = span.source.position(span.start)
            assert cursor.moment is site.moment, f"{span.text!r} at {place}"
    return compared


@pytest.mark.parametrize("path", PROGRAMS, ids=lambda p: p.stem)
def test_moments_are_the_linkers(path: Path) -> None:
    """Behind every expression of a program, the moment is the one that the linker gives it."""
    try:
        loaded = load(path, need_horizon=False)
    except SerqError:
        pytest.skip("refused by the linker")
    assert loaded.source_map is not None
    compared = compare_moments(loaded.program, loaded.source_map, str(path))
    assert compared or "examples" not in str(path)


def test_moments_in_random_programs_are_the_linkers() -> None:
    """The same of random programs, queues with their entries among them."""
    compared = 0

    @seed(9)
    @settings(
        max_examples=60, database=None, deadline=None, phases=[Phase.generate],
        suppress_health_check=list(HealthCheck),
    )  # fmt: skip
    @given(programs() | station_programs())
    def compare(case: RandomProgram) -> None:
        nonlocal compared
        try:
            linked = compile_text(Source("<program>", case.text), settings=case.settings())
        except SerqError:
            return
        compared += compare_moments(linked.program, linked.source_map, "<program>")

    compare()
    assert compared > 500


@given(st.integers(0, len(VLLM)))
def test_a_cursor_stands_anywhere(offset: int) -> None:
    """At no place of a text, whole or cut there, does anything fail."""
    for text in (VLLM, VLLM[:offset]):
        symbols = symbols_of(Source("t", text))
        completions(text, offset, symbols)
        hover(Source("t", text), min(offset, len(text)), symbols)


@given(st.text('(){}[];~. ="/*abpoolenginfscheduaty\n', max_size=60))
def test_no_text_breaks_it(text: str) -> None:
    """Whatever the text, a cursor at its end has a place."""
    symbols = symbols_of(Source("t", text))
    completions(text, len(text), symbols)
    hover(Source("t", text), len(text), symbols)


@pytest.mark.parametrize("text", ["fn main() { // no", "fn main() { /* no", 'use "no'])
def test_nothing_is_offered_in_comments_and_texts(text: str) -> None:
    """In a comment and in a text in quotes, words are words."""
    assert cursor_at(text, len(text)).expects is Expects.NOTHING
    assert completions(text, len(text), symbols_of(Source("t", text))) == []


# --- completion ---------------------------------------------------------------------------------


def offered(text: str, offset: int) -> dict[str, str]:
    return {
        item.label: item.kind for item in completions(text, offset, symbols_of(Source("t", text)))
    }


@pytest.mark.parametrize("moment", Moment, ids=str)
def test_completion_is_what_the_moment_supplies(moment: Moment) -> None:
    """Context variables and functions are offered where the table has them, and nowhere else."""
    labels = offered(*at(moment))
    for ctx in Ctx:
        supplied = moment in moments(ctx)
        assert (labels.get(spelling(ctx, moment)) == "variable") is supplied or not supplied
        if not supplied and spelling(ctx, moment) in labels:
            # The bare name of another variable, or an attribute.
            assert any(
                moment in moments(c) and spelling(c, moment) == spelling(ctx, moment) for c in Ctx
            )
    for fun in Fun:
        name = function_name(fun)
        if name not in ARITHMETIC:
            own = fun is Fun.BUDGET_LEFT and moment is Moment.PLAN  # its own engine's
            assert (name in labels) is (moment in moments(fun) and not own)
    assert {"min", "inf", "k", "double"} <= set(labels)


@pytest.mark.parametrize("moment", Moment, ids=str)
def test_what_is_offered_links(moment: Moment) -> None:
    """Every variable and function that is offered can be written there."""
    for label, kind in offered(*at(moment)).items():
        if kind in ("variable", "attribute", "state", "parameter", "constant"):
            written = label
        elif kind == "function" and label in FUNCTIONS:
            arguments = {"pool": "kv", "stage": "svc", "expr": "1", "counted": "kv"}
            written = f"{label}({', '.join(arguments[kind] for kind in FUNCTIONS[label][1])})"
            if label == "budget_left":
                written = "budget_left(e)"
        elif kind == "distribution":
            written = f"{label}({', '.join(['1'] * DISTRIBUTIONS[label[1:]][1])})"
        else:
            continue
        text, _ = at(moment, f"(0 * {written} == 0)" if moment in TESTS else written)
        try:
            compile_text(Source("t", text), settings=Settings())
        except SerqError as error:
            refused = [d for d in error.diagnostics if d.code in UNREADABLE]
            assert not refused, f"{written} at {moment}: {refused[0].message}"


TESTS = {Moment.ONLY, Moment.PLAN, Moment.GIVEN, Moment.ITERATION, Moment.END}
UNREADABLE = {"not-readable", "unknown-name", "unknown-function", "syntax"}


def test_hidden_attributes_are_offered_to_sessions_alone() -> None:
    """A scheduler's keys do not see what the workload hides."""
    assert {"n", "o"} <= set(offered(*at(Moment.SESSION)))
    keys = offered(*at(Moment.SERVE))
    assert "n" in keys and "o" not in keys


def test_a_dot_completes_an_engines_lists() -> None:
    """Behind ``running.`` and ``batch.`` stands what the clause may read of them."""
    assert set(offered(*at(Moment.STEP, "batch."))) == {
        "tokens", "prefilled", "decoding", "kv_decode", "kv_prefill", "attention",
    }  # fmt: skip
    assert set(offered(*at(Moment.PLAN, "waiting."))) == {"count", "admitted"}
    assert set(offered(*at(Moment.BUDGET, "running."))) == {
        "count", "decoding", "kv_decode", "kv_prefill",
    }  # fmt: skip


@pytest.mark.parametrize(
    ("written", "labels"),
    [
        ("~", set(DISTRIBUTIONS)),
        ("used(", {"kv", "reqs"}),
        ("queue(", {"svc", "cpu", "e"}),
        ("blocksize(", {"kv", "reqs"}),
        ("cost(", {"kv", "reqs", "svc", "cpu", "e"}),
    ],
)
def test_arguments_are_completed_by_their_kind(written: str, labels: set[str]) -> None:
    """Behind ``~`` stand distributions, in ``used(`` pools, in ``queue(`` stages and engines."""
    assert set(offered(*at(Moment.SESSION, written))) == labels


def test_claims_at_the_end_aggregate_observations() -> None:
    """In ``total(`` of a claim at the end, the observations are offered."""
    assert set(offered(*at(Moment.END, "total("))) == {"seen"}


def test_words_are_offered_where_an_item_begins() -> None:
    """At the beginning of a line of a pool, an engine or a block, its words are offered."""

    def begun(head: str) -> set[str]:
        return set(offered(head, len(head)))

    assert {"cap", "evict"} <= begun("fn main() { pool p { ")
    assert {"advance", "admit"} <= begun("fn main() { engine e on g { schedule { ")
    assert {"hold", "run", "set"} <= begun("fn main() { server { set a = 1; ")
    assert {"pool", "workload"} <= begun("fn main() { pool p { cap 1; } ")
    assert {"hold", "observe"} <= begun("fn main() { server { hold p (1) { } cache (1) ") | {
        "hold", "observe"
    }  # fmt: skip


def test_a_definition_is_read_anywhere() -> None:
    """The body of a definition is offered everything, since its moment is where it is used."""
    text = "def f(x) { x + "
    labels = offered(text, len(text))
    assert {"x", "now", "remaining", "running.count", "used", "waited"} <= set(labels)


def test_constants_read_constants() -> None:
    """A ``cap`` and a ``let`` are offered constants and arithmetic, no state."""
    text = "let a = 1; fn main() { pool p { cap "
    labels = offered(text, len(text))
    assert {"a", "inf", "max"} <= set(labels) and not {"now", "used", "serial"} & set(labels)


def test_a_queue_offers_its_own() -> None:
    """Behind a queue's name and a dot stand its pools and entries."""
    text = (ROOT / "examples/pd-disaggregation/llmd_nixl_pull.sq").read_text(encoding="utf-8")
    server = text.index("server")
    place = re.compile(r"\bP\[\w+\]\.").search(text, server) or re.search(r"\bP\[\w+\]\.", text)
    assert place is not None
    labels = offered(text[: place.end()], place.end())
    assert {"prefill", "kv", "reqs"} <= set(labels)


# --- hovering and definitions -------------------------------------------------------------------


def hovered(text: str, needle: str, shift: int = 0, directory: Path | None = None) -> str:
    offset = text.index(needle) + shift
    source = Source("t", text)
    found = hover(source, offset, symbols_of(source, directory))
    return "" if found is None else found.text


@pytest.mark.parametrize(
    ("needle", "shift", "said"),
    [
        ("blocks * bs", 1, ["**constant** `blocks`", "line 20", "6000"]),
        ("reusable(known", 1, ["**definition** `reusable`"]),
        ("kv (min(known", 0, ["**pool** `kv`"]),
        ("kept, computed", 0, ["**attribute** `kept`"]),
        ("computed + 1", 0, ["last preemption"]),
        ("prompt + output", 0, ["**parameter** `prompt`"]),
        ("vllm (prompt", 0, ["**engine** `vllm`"]),
        ("threshold);", 0, ["**value of a schedule** `threshold`"]),
        ("compute(batch", 0, ["**time resource of a device** `compute`"]),
        ("max_seqs;", 0, ["**constant** `max_seqs`"]),
        ("kv_used", 0, ["**gauge** `kv_used`"]),
        ("within_budget", 0, ["**claim** `within_budget`"]),
        ("reused + budget", 0, ["**attribute bound at admission** `reused`"]),
    ],
)
def test_hover_on_declared_names(needle: str, shift: int, said: list[str]) -> None:
    """A name's kind, the line that declares it, and where."""
    shown = hovered(VLLM, needle, shift)
    for part in said:
        assert part in shown


def test_hover_on_supplied_names() -> None:
    """A supplied name has its meaning, and the places that supply it."""
    shown = hovered(VLLM, "count + waiting")
    assert meanings.LISTS["running.count"].text in shown and "Supplied in" in shown
    assert meanings.FUNCTIONS["queued"].text in hovered(VLLM, "queued(reqs)")
    assert meanings.DISTRIBUTIONS["exp"].text in hovered(VLLM, "exp(600)")
    assert meanings.FUNCTIONS["exp"].text not in hovered(VLLM, "exp(600)")
    assert meanings.VARIABLES["tokens"].text in hovered(VLLM, "tokens <= B")
    assert hovered(VLLM, "tokens cap B") == ""  # a word of the clause
    assert hovered(VLLM, "// vLLM's engine", 4) == ""


def test_hover_says_when_a_name_is_not_supplied() -> None:
    """On a variable where the moment does not supply it, the hover says so."""
    text, offset = at(Moment.GAUGE, "waited")
    source = Source("t", text)
    found = hover(source, offset, symbols_of(source))
    assert found is not None and "Not supplied here" in found.text
    assert text[found.start : found.end] == "waited"


def test_a_parameter_is_known_in_its_definition_alone() -> None:
    """Two definitions may name a parameter alike: each name is its own."""
    text = "def f(x) { x + 1 }\ndef g(x) { x + 2 }\n"
    source = Source("t", text)
    symbols = symbols_of(source)
    (first,) = definitions(source, text.index("x + 1"), symbols)
    (second,) = definitions(source, text.index("x + 2"), symbols)
    assert (first.line, second.line) == (1, 2)
    outside = text + "let a = x;"
    assert (
        definitions(Source("t", outside), len(outside) - 2, symbols_of(Source("t", outside))) == []
    )


def test_names_of_a_library_are_known(tmp_path: Path) -> None:
    """A definition of an imported file is declared there."""
    (tmp_path / "lib.sq").write_text("def twice(x) { 2 * x }\n", encoding="utf-8")
    text = 'use "lib.sq";\nlet a = 1;\nfn main() { pool p { cap a; } gauge g = twice(used(p)); }'
    source = Source(str(tmp_path / "main.sq"), text)
    (found,) = definitions(source, text.index("twice"), symbols_of(source, tmp_path))
    assert found.source.name.endswith("lib.sq") and found.line == 1
    assert "of lib.sq" in hovered(text, "twice", 0, tmp_path)


@pytest.mark.parametrize("path", PROGRAMS, ids=lambda p: p.stem)
def test_every_declaration_of_a_program_is_found(path: Path) -> None:
    """What the linker knows as a pool, stage, gauge, claim or observation is among the symbols."""
    try:
        loaded = load(path, need_horizon=False)
    except SerqError:
        pytest.skip("refused by the linker")
    where = loaded.source_map
    assert where is not None
    source = Source(str(path), path.read_text(encoding="utf-8"))
    names = {(s.start, s.end) for s in symbols_of(source, path.parent).every}
    for table in (where.observations, where.gauges, where.claims, where.marks):
        for span in table.values():
            if span.source.name == str(path):
                assert (span.start, span.end) in names, span.text


# --- diagnostics --------------------------------------------------------------------------------


def test_diagnostics_are_those_of_check() -> None:
    """Every error of a text at once, with the codes that ``serq check`` gives."""
    text = VLLM.replace("cap max_seqs", "cap max_seq").replace("queued(reqs)", "queued(req)")
    codes = [d.code for d in check(Source("t", text), None)]
    assert codes == ["unknown-name", "unknown-name"] or len(codes) == 2
    assert check(Source("t", VLLM), None) == []


def test_a_library_is_no_broken_program(tmp_path: Path) -> None:
    """A file of definitions is warned of once; what is wrong in it is an error."""
    (fine,) = check(Source("lib.sq", "def f(x) { x + 1 }\n"), tmp_path)
    assert (fine.code, fine.severity) == ("no-main", Severity.WARNING)
    broken = check(Source("lib.sq", "def f(x) { x + }\n"), tmp_path)
    assert broken and all(d.severity is Severity.ERROR for d in broken)
