"""A text written from the IR links to the same IR, and what has no words is refused by name."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import pytest
from hypothesis import HealthCheck, given, settings
from strategies import fragment_ir_programs, fragment_programs, programs, station_programs

from serq.diagnostics import SerqError, Source
from serq.fuzz.case import RandomProgram, from_file_text
from serq.fuzz.case_files import readable
from serq.fuzz.spelling import REASONS, sessions_written_out, written
from serq.interp import run
from serq.ir import nodes as ir
from serq.ir.codec import to_json
from serq.link import compile_text
from serq.settings import Settings

ROOT = Path(__file__).parents[1]
TEXTS = sorted([*ROOT.glob("examples/**/*.sq"), *ROOT.glob("tests/programs/*.sq")])

few = settings(
    max_examples=15, database=None, deadline=None, suppress_health_check=list(HealthCheck)
)


def compiled(text: str, **changes: float) -> ir.Program:
    horizon = changes.pop("horizon", 20.0)
    return compile_text(Source("<t>", text), settings=Settings(horizon=horizon)).program


def relinked(program: ir.Program) -> tuple[ir.Program, ir.Program]:
    """What the written text links to, and what it should link to."""
    made = written(program)
    linked = compile_text(Source("<written>", made.text), settings=made.settings()).program
    return linked, made.program


@pytest.mark.parametrize("path", TEXTS, ids=lambda p: p.stem)
def test_each_program_of_the_tree_is_written_and_linked_again(path: Path) -> None:
    """Every example and every program of the linker's tests survives IR → text → IR."""
    source = Source(path.name, path.read_text())
    try:
        program = compile_text(source, settings=Settings(horizon=9.0), base_dir=path.parent).program
    except SerqError as error:
        assert error.diagnostics[0].code == "unreadable-file", error
        return
    again, expected = relinked(program)
    assert to_json(again) == to_json(expected)


@few
@given(programs() | station_programs() | fragment_programs())
def test_random_programs_are_written_and_linked_again(case: RandomProgram) -> None:
    """The IR of a random program survives IR → text → IR."""
    again, expected = relinked(case.compile())
    assert to_json(again) == to_json(expected)


def test_only_dotted_names_change() -> None:
    """A queue's pool gets an underscore for its dot, unless that name is taken."""
    text = """fn main() {
      pool P_kv { cap 3; }
      queue P : prefill {
        pool kv { cap 9; }
        serve fifo;
        prefill (prompt) { hold kv (cost(kv, 1)) { run (cost(P, prompt)); } }
      }
      queue gw : gateway { route { P.prefill (2); } }
      workload { arrive batch(2); }
      server { hold P_kv (cost(P_kv, 1)) { gw.route(); } }
    }"""
    made = written(compiled(text))
    assert made.names == {"P.kv": "P_kv_2"}
    again, expected = relinked(compiled(text))
    assert to_json(again) == to_json(expected)


def test_a_number_below_zero_becomes_a_constant() -> None:
    """``-2`` in a text is an operation, so the number −2 of an IR is a ``let``."""
    text = """fn main() { let low = -2; stage s : fifo; workload { arrive batch(1); }
      server { set a = low; set b = -2; run s (cost(s, 1)); } }"""
    program = compiled(text)
    assert ir.Set(9, ir.Num(-2.0)) in program.blocks[program.session]
    again, expected = relinked(program)
    assert again == expected
    assert "let minus_2 = -2;" in written(program).text


@few
@given(fragment_ir_programs())
def test_explicit_sessions_written_out_run_alike(program: ir.Program) -> None:
    """Presets chosen by ``serial`` give the report that explicit sessions give."""
    shorter = replace(program, horizon=60.0)
    assert run(sessions_written_out(shorter)).json() == run(shorter).json()


PLAIN = """fn main() {
  stage s : fifo;
  pool p { cap 4; block 2; }
  pool f[2] { cap 4; }
  device gpu { kv cap 9; }
  engine e on gpu {
    reqs cap 2; tokens cap 8; granule 2; state r = 0;
    schedule { set r = r + 1; advance running each at most (4);
               admit waiting while (r > 0) each at most (4); }
    execute (1);
  }
  pool kv on gpu { preempt lifo; }
  pool reqs on e { queue fifo; }
  workload { arrive renewal(2); turn { set n = 3; } session { turn; tool 1; turn; } hidden n; }
  server {
    hold f[serial] (cost(f, 1)) { run s (cost(s, 1)); }
    hold reqs (cost(reqs, 1)), kv (cost(kv, 1)) { run e prefill (cost(e, n)) growing kv; }
    observe seen = now;
  }
  claim c : at end (total(seen) > 1);
}"""


def _stage(program: ir.Program, **changes: object) -> ir.Program:
    index = next(i for i, s in enumerate(program.stages) if isinstance(s.kind, ir.Step))
    stage = program.stages[index]
    made = replace(stage, kind=replace(stage.kind, **changes))
    stages = (*program.stages[:index], made, *program.stages[index + 1 :])
    return replace(program, stages=stages)


def _pool(program: ir.Program, index: int, **changes: object) -> ir.Program:
    pools = list(program.pools)
    pools[index] = replace(pools[index], **changes)
    return replace(program, pools=tuple(pools))


def _session(program: ir.Program, *, sides: bool = False, last: bool = False) -> ir.Program:
    number = program.session
    blocks, all_sides = list(program.blocks), list(program.sides)
    if last:
        blocks[number], all_sides[number] = blocks[number][:-1], all_sides[number][:-1]
    if sides:
        all_sides[number] = (ir.Side.SERVER, *all_sides[number][1:])
    return replace(program, blocks=tuple(blocks), sides=tuple(all_sides))


def _other_server(program: ir.Program) -> ir.Program:
    number = program.session
    block = list(program.blocks[number])
    at = max(i for i, s in enumerate(block) if isinstance(s, ir.Observe))
    block[at] = ir.Observe(0, ir.Num(7.0))
    blocks = (*program.blocks[:number], tuple(block), *program.blocks[number + 1 :])
    return replace(program, blocks=blocks)


def _part(program: ir.Program) -> ir.Program:
    number = program.session
    block = list(program.blocks[number])
    at = next(i for i, s in enumerate(block) if isinstance(s, ir.Hold))
    hold = block[at]
    assert isinstance(hold, ir.Hold)
    part = ir.Ref(hold.pools[0].pool.base, 1)
    block[at] = replace(hold, pools=(replace(hold.pools[0], pool=part),))
    blocks = (*program.blocks[:number], tuple(block), *program.blocks[number + 1 :])
    return replace(program, blocks=blocks)


WORDLESS = {
    "attributes": lambda p: replace(p, attr_types=(*p.attr_types[:9], ir.ValueType())),
    "built-in slots": lambda p: replace(p, slot_new=4, slot_out=3),
    "cap that could be zero": lambda p: _stage(p, chunk=ir.CtxVar(ir.Ctx.NRES)),
    "constant arithmetic": lambda p: _stage(
        p, granule=ir.Binary(ir.BinaryOp.ADD, ir.Num(1.0), ir.Num(1.0))
    ),
    "explicit sessions": lambda p: replace(p, arrival=ir.Sessions((ir.SessionData(()),))),
    "extension": lambda p: replace(p, extensions=("x",)),
    "family": lambda p: _pool(p, 1, cap=5.0),
    "iteration": lambda p: _stage(p, serve=ir.ServeBy((ir.CtxVar(ir.Ctx.REMAINING),))),
    "memory": lambda p: _stage(p, memory=1),
    "not a name": lambda p: replace(p, trace='a"b.csv'),
    "not positive": lambda p: _pool(p, 0, block=0.0),
    "observations": lambda p: replace(
        p,
        observes=(*p.observes, "other"),
        claims=(replace(p.claims[0], expr=ir.Agg(ir.Aggregate.TOTAL, 1)),),
    ),
    "part of a family": _part,
    "registers": lambda p: replace(p, registers=(replace(p.registers[0], stage=0),)),
    "servers that differ": _other_server,
    "session": lambda p: _session(p, last=True),
    "sides": lambda p: _session(p, sides=True),
    "trace": lambda p: replace(p, trace_ordered=True),
    "unreached blocks": lambda p: replace(p, blocks=(*p.blocks, ()), sides=(*p.sides, ())),
}


def test_every_construct_without_words_has_a_case() -> None:
    """The list of what the language cannot say is the list of what is tested."""
    assert sorted(WORDLESS) == sorted(REASONS)


@pytest.mark.parametrize("reason", WORDLESS)
def test_what_has_no_words_is_refused_by_its_name(reason: str) -> None:
    """A program with one such construct is refused with the construct's name; without, written."""
    program = compiled(PLAIN)
    again, expected = relinked(program)
    assert to_json(again) == to_json(expected)
    with pytest.raises(SerqError) as caught:
        written(WORDLESS[reason](program))
    fault = caught.value.diagnostics[0]
    assert fault.code == "no-spelling"
    assert f": {reason} (" in fault.message
    assert fault.help == f"{reason}: {REASONS[reason]}"


def test_a_found_program_of_the_ir_is_readable() -> None:
    """Its file has a text that runs, with the command's settings, to the same report."""
    program = replace(compiled(PLAIN), arrival=ir.Sessions((ir.SessionData(()),) * 2))
    text = readable(program)
    assert text is not None
    again = from_file_text(text, "found.sq")
    assert run(again.compile()).json() == run(program).json()
