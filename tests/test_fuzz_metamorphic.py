"""Changes of a program that change nothing, or one thing, and what happens if they change more."""

from __future__ import annotations

from random import Random

import pytest
from strategies import programs, station_programs

from serq.diagnostics import Source
from serq.fuzz.case import RandomProgram
from serq.fuzz.changes import CHANGES, names, scale, trees
from serq.fuzz.drawn import drawn
from serq.fuzz.targets import metamorphic
from serq.interp import run
from serq.interp.stats import Welford
from serq.ir.codec import to_json
from serq.syntax.parser import parse
from serq.syntax.printer import to_text

TEXT = """let K0 = 4 / 3;
fn main() {
  gauge before = used(kv);
  device gpu { work_time (t) = t * 0.02; kv cap 24; }
  engine e on gpu {
    reqs cap 2; tokens cap 8; state r = 0;
    schedule { set r = r + 1; advance running by (remaining); admit waiting; }
    execute (0.5 + work_time(batch.tokens) + now * 0);
  }
  stage lag : delay;
  stage two : ps(2);
  stage desk : fifo;
  pool kv on gpu { block 4; evict by (age > 5 ? 0 : 1, last); preempt lifo; }
  pool reqs on e { queue by (-waited); }
  workload {
    arrive renewal(~exp(2));
    init { set c = floor(~uniform(0, 3)); }
    turn { set n = 3 + floor(~exp(4)); }
    session { turn; while (turn_no < 3) { tool (~exp(1)); turn; } }
  }
  server {
    set t0 = now;
    branch (now > 10) { run lag (cost(lag, K0)); }
    run two (cost(two, 1));
    run desk (cost(desk, 0.5 + est_wait(desk) / 4 + price(desk, 0.1, 0.2) / 8));
    hold reqs (cost(reqs, 1)), kv (cost(kv, min(n, budget_left(e)))) reserve (cost(kv, n)) {
      run e prefill (cost(e, n)) growing kv;
      run e decode (cost(e, 4)) growing kv;
    } cache (cost(reqs, kv, n)) lease kv (2)
    observe response = now - t0;
    observe load = work(desk) + work(two) + est_lambda(desk);
  }
  claim slow : every iteration of e (now < 30);
  claim done given (c >= 0) : at end (total(response) > 3);
}
"""
CASE = RandomProgram(TEXT, horizon=60.0, warmup=5.0, seed=3)


@pytest.mark.parametrize("change", CHANGES)
@pytest.mark.parametrize("seed", [0, 1, 2])
def test_a_change_changes_what_it_says(change: str, seed: int) -> None:
    """A program of everything that has a time, a name or a number survives each change."""
    verdict = metamorphic.check(metamorphic.Case(CASE, change, seed))
    assert verdict.difference is None, verdict.difference
    assert verdict.label == "equal"


def test_every_time_is_in_the_new_unit() -> None:
    """Twice the unit: the report's times double, what is observed stays, counts stay."""
    program = CASE.compile()
    before, after = run(program), run(scale.scaled(program, 2.0))
    assert after.end == 2 * before.end
    assert after.client["response"].mean == 2 * before.client["response"].mean
    assert after.observe("response").mean == before.observe("response").mean
    assert after.stage("desk").throughput == before.stage("desk").throughput / 2
    assert after.events == before.events
    assert after.claim("slow").first == 2 * before.claim("slow").first


def test_a_reading_of_the_clock_that_is_not_scaled_is_noticed(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """The check is no formality: a clock that the scaling forgets shows in the report."""
    monkeypatch.setattr(scale, "TIMES", scale.TIMES - {scale.Ctx.NOW})
    verdict = metamorphic.check(metamorphic.Case(CASE, "the clock", 0))
    assert verdict.difference is not None


def test_all_names_are_new() -> None:
    """Nothing that the program names keeps its name; what the language names does."""
    module = parse(Source("t", TEXT))
    new = names.new_names(module, Random(1))
    assert {"kv", "e", "n", "t0", "K0", "response", "work_time", "r", "gpu"} <= set(new)
    assert not {"turn_no", "now", "tool", "exp", "reserve", "running"} & set(new)
    text = names.renamed(TEXT, new)
    assert "response" not in text
    assert "tool (~exp(1))" in text


def test_declarations_do_move() -> None:
    """Another order of the text, and the same IR."""
    module = parse(Source("t", TEXT))
    texts = {to_text(trees.reordered(module, Random(seed))) for seed in range(6)}
    assert len(texts) > 3
    document = to_json(CASE.compile())
    for text in texts:
        assert to_json(RandomProgram(text, 60.0, 5.0, 3).compile()) == document


def test_constants_get_names() -> None:
    """A ``let`` of an operation is split, and numbers of the text become constants."""
    module = parse(Source("t", TEXT))
    text = to_text(trees.constants_split(module, Random(1)))
    assert "let K0 = K0_1_x / K0_2_x;" in text
    assert "let let_0_x = " in text


def test_a_fault_that_hangs_on_the_unit_is_found(monkeypatch: pytest.MonkeyPatch) -> None:
    """A tolerance in time units, for instance, is one unit's alone."""
    add_all = Welford.add_all

    def rounded(self: Welford, values: object) -> None:
        add_all(self, [round(x, 1) for x in values])  # type: ignore[attr-defined]

    monkeypatch.setattr(Welford, "add_all", rounded)
    verdict = metamorphic.check(metamorphic.Case(CASE, "the clock", 0))
    assert verdict.difference is not None


def test_random_programs_survive_every_change() -> None:
    """Each change of some programs of both kinds."""
    for case in [*drawn(programs(), 8, 3), *drawn(station_programs(), 8, 2)]:
        assert metamorphic.check_all(case).difference is None
