"""The fragment: which programs Lean can run, how expressions are translated, and the reasons."""

from __future__ import annotations

from dataclasses import replace

import pytest

from serq.diagnostics import Source
from serq.fuzz.fragment_ir import random_program
from serq.ir import nodes as ir
from serq.ir.nodes import BinaryOp, Ctx, Fun, UnaryOp
from serq.leangen import model as lean
from serq.leangen import moments
from serq.leangen.bounds import bounds
from serq.leangen.expressions import Translator
from serq.leangen.fragment import Executable, Outside, Verdict, executable
from serq.leangen.normal import normal_form
from serq.leangen.reasons import Log
from serq.link import compile_text
from serq.settings import Settings

ENGINE = """
fn main() {{
  device gpu {{ kv cap 160; }}
  engine e on gpu {{
    reqs cap 4;
    tokens cap {budget};
    schedule {{
      {schedule}
    }}
    execute ({cost});
  }}
  pool reqs on e {{ queue fifo; }}
  pool kv on gpu {{ block 16; {preempt} }}
  {more}
  workload {{ {workload} }}
  server {{
    {before}
    hold reqs (cost(reqs, 1)), kv (cost(kv, 16)) {{
      {inner}
      run e prefill (cost(e, n)) {growing};
    }}
  }}
}}
"""

USUAL = {
    "budget": "32",
    "schedule": "advance running; admit waiting while (running.preempted == 0);",
    "cost": "1",
    "preempt": "preempt lifo;",
    "more": "",
    "workload": "arrive batch(2); init { Size n = 8; }",
    "before": "",
    "inner": "",
    "growing": "growing kv",
}


def verdict(horizon: float = 100, **parts: str) -> Verdict:
    text = ENGINE.format(**(USUAL | parts))
    linked = compile_text(Source("p.sq", text), settings=Settings(horizon=horizon))
    return executable(linked.program, linked.source_map)


def inside(**parts: str) -> Executable:
    found = verdict(**parts).result
    assert isinstance(found, Executable), found
    return found


def reasons(**parts: str) -> list[str]:
    found = verdict(**parts).result
    assert isinstance(found, Outside), found
    return [str(r) for r in found.reasons]


def translated(expr: ir.Expr, moment: moments.Moment = moments.STATEMENT) -> lean.Expr | None:
    return Translator(Log()).natural(expr, "e", moment)


A, B = ir.Attr(9), ir.Attr(10)


def binary(op: BinaryOp, left: ir.Expr, right: ir.Expr) -> ir.Expr:
    return ir.Binary(op, left, right)


def call(fun: Fun, *args: ir.Expr) -> ir.Expr:
    return ir.Call(fun, tuple(map(ir.ExprArg, args)))


# --- expressions --------------------------------------------------------------------------------


def test_constants_are_folded_as_the_interpreter_folds_them() -> None:
    """Arithmetic on constants happens in doubles before anything is called a natural number."""
    half = binary(BinaryOp.DIV, ir.Num(1.0), ir.Num(2.0))
    assert translated(binary(BinaryOp.ADD, half, half)) == lean.Num(1)
    assert translated(call(Fun.CEIL, half)) == lean.Num(1)
    below = binary(BinaryOp.SUB, ir.Num(2.0), ir.Num(5.0))
    assert translated(call(Fun.MAX, below, ir.Num(3.0))) == lean.Num(3)


@pytest.mark.parametrize("value", [0.5, -1.0, float("inf"), float("nan"), 2.0**60])
def test_a_constant_that_is_no_natural_number_is_outside(value: float) -> None:
    """What is left of the constants must be a natural number that a double can hold exactly."""
    assert translated(ir.Num(value)) is None


def test_a_zero_factor_makes_the_other_irrelevant() -> None:
    """A product with 0 is 0, whatever its other factor is."""
    unknown = ir.CtxVar(Ctx.KVP)
    assert translated(binary(BinaryOp.MUL, unknown, ir.Num(0.0))) == lean.Num(0)
    assert translated(binary(BinaryOp.MUL, ir.Num(0.0), unknown)) == lean.Num(0)
    assert translated(binary(BinaryOp.MUL, ir.Num(2.0), unknown)) is None


def test_a_division_needs_a_rounding_and_a_positive_whole_divisor() -> None:
    """`floor(a / k)` and `ceil(a / k)` are natural divisions; a bare `/` is outside."""
    by_four = binary(BinaryOp.DIV, A, ir.Num(4.0))
    assert translated(call(Fun.FLOOR, by_four)) == lean.Call(Fun.FLOOR, lean.Attr(9), lean.Num(4))
    assert translated(call(Fun.CEIL, by_four)) == lean.Call(Fun.CEIL, lean.Attr(9), lean.Num(4))
    assert translated(by_four) is None
    for divisor in (ir.Num(0.0), ir.Num(0.5), ir.Num(-2.0), B):
        assert translated(call(Fun.FLOOR, binary(BinaryOp.DIV, A, divisor))) is None


def test_a_cost_conversion_is_erased() -> None:
    """Cost types change no number."""
    assert translated(ir.Cost(ir.StageTarget(0, 1), A)) == lean.Attr(9)


def test_infinity_disappears_under_min() -> None:
    """`min(x, inf)` is x, also when `inf` is an arm of a conditional; elsewhere it is outside."""
    inf = ir.Num(float("inf"))
    assert translated(call(Fun.MIN, A, inf)) == lean.Attr(9)
    test = binary(BinaryOp.GT, B, ir.Num(1.0))
    capped = call(Fun.MIN, A, ir.Cond(test, ir.Num(24.0), inf))
    assert translated(capped) == lean.Cond(
        lean.Binary(BinaryOp.GT, lean.Attr(10), lean.Num(1)),
        lean.Call(Fun.MIN, lean.Attr(9), lean.Num(24)),
        lean.Attr(9),
    )
    assert translated(ir.Cond(test, A, inf)) is None
    assert translated(call(Fun.MAX, A, inf)) is None


def test_the_distance_of_two_numbers_is_exact() -> None:
    """`abs(a - b)` is the larger less the smaller, not a truncated difference."""
    larger = lean.Call(Fun.MAX, lean.Attr(9), lean.Attr(10))
    smaller = lean.Call(Fun.MIN, lean.Attr(9), lean.Attr(10))
    difference = binary(BinaryOp.SUB, A, B)
    assert translated(call(Fun.ABS, difference)) == lean.Binary(BinaryOp.SUB, larger, smaller)


def test_a_difference_is_a_condition() -> None:
    """A subtraction agrees with Lean's only while it is not negative: that is said."""
    log = Log()
    Translator(log).natural(binary(BinaryOp.SUB, A, B), "e", moments.STATEMENT)
    assert [str(c) for c in log.conditions] == [
        "e: the difference is never negative (Lean stops at 0)"
    ]


def test_keys_are_integers() -> None:
    """A key may be negative, and its differences are exact: no condition."""
    log = Log()
    key = binary(BinaryOp.SUB, ir.Unary(UnaryOp.NEG, A), ir.Num(3.0))
    found = Translator(log).natural(key, "e", moments.QUEUE_KEY)
    negated = lean.Unary(UnaryOp.NEG, lean.Attr(9))
    assert found == lean.Binary(BinaryOp.SUB, negated, lean.Num(3))
    assert not log.conditions
    assert translated(ir.Unary(UnaryOp.NEG, A)) is None


def test_attention_needs_an_even_coefficient() -> None:
    """Lean keeps twice the attention work, so half the coefficient must be whole."""
    attention = ir.CtxVar(Ctx.ATTN)
    twice = lean.CtxVar(Ctx.ATTN)
    assert translated(binary(BinaryOp.MUL, ir.Num(2.0), attention), moments.COST) == twice
    assert translated(binary(BinaryOp.MUL, attention, ir.Num(6.0)), moments.COST) == lean.Binary(
        BinaryOp.MUL, lean.Num(3), twice
    )
    assert translated(binary(BinaryOp.MUL, ir.Num(3.0), attention), moments.COST) is None
    assert translated(attention, moments.COST) is None


def test_a_deep_product_is_translated_in_linear_time() -> None:
    """Looking for a zero factor does not translate the factors again and again."""
    expr: ir.Expr = A
    for _ in range(60):
        expr = binary(BinaryOp.MUL, expr, B)
    assert isinstance(translated(expr), lean.Binary)


def test_bounds_hold() -> None:
    """Interval bounds of a cost: from below with no token, and with one."""
    tiles = lean.Call(Fun.CEIL, lean.CtxVar(Ctx.NTOK), lean.Num(128))
    cost = lean.Binary(BinaryOp.MUL, lean.Num(4000), tiles)
    assert bounds(cost)[0] == 0
    assert bounds(cost, {Ctx.NTOK: (1.0, 5.0)}) == (4000.0, 4000.0)


# --- programs -----------------------------------------------------------------------------------


def test_the_usual_engine_is_inside() -> None:
    """vLLM's procedure with a memory pool and slots is what the library models."""
    made = inside()
    assert made.deployment.budget == 32
    assert made.deployment.memory == 1
    assert [p.admit_via for p in made.deployment.pools] == [True, False]
    assert len(made.workload.init) == 2


@pytest.mark.parametrize(
    ("parts", "why"),
    [
        ({"budget": "inf"}, "the token budget is inf"),
        ({"cost": "0.5"}, "the constant is 0.5"),
        ({"cost": "batch.tokens"}, "the cost may be 0"),
        ({"preempt": ""}, "grows without a rule whom to preempt"),
        ({"preempt": "preempt lifo; reserve held;"}, "`reserve held`"),
        ({"workload": "arrive poisson(1); init { Size n = 8; }"}, "Poisson arrivals are drawn"),
        ({"workload": "arrive closed(3); init { Size n = 8; }"}, "a closed population"),
        ({"workload": "arrive batch(2); init { Size n = floor(~exp(9)); }"}, "a draw (exp)"),
        (
            {"schedule": "admit waiting while (running.preempted == 0); advance running;"},
            "a schedule is modelled only as",
        ),
        ({"more": "stage s : ps(2);", "before": "run s (cost(s, 1));"}, "processor-sharing"),
        ({"before": "set x = n / 3;"}, "a division is modelled only under"),
        ({"before": "set x = ~uniform(0, 1);"}, "a draw (uniform)"),
        ({"inner": "grow kv (cost(kv, 1));"}, "`grow` is outside"),
    ],
)
def test_what_is_outside_says_why(parts: dict[str, str], why: str) -> None:
    """Each construct that Lean does not model is named, at its line."""
    found = reasons(**parts)
    assert any(why in reason for reason in found), found
    assert all(reason.startswith("p.sq:") or "arrival" in reason for reason in found), found


def test_all_reasons_are_listed_at_once() -> None:
    """A program with several constructs outside gets all of them in one list."""
    found = reasons(budget="inf", before="set x = n / 3;", preempt="")
    assert len(found) == 3, found


def test_the_cost_may_be_of_tokens_only_when_nothing_grows() -> None:
    """Without growth every iteration has a token, so a cost of tokens alone is positive."""
    made = inside(cost="2 * batch.tokens", growing="", preempt="")
    assert made.deployment.cost == lean.Binary(BinaryOp.MUL, lean.Num(2), lean.CtxVar(Ctx.NTOK))


def test_one_predicate_for_both_statements_is_inside() -> None:
    """`only` on advance and admit is modelled when it is the same."""
    both = (
        "advance running only (decoding); "
        "admit waiting only (decoding) while (running.preempted == 0);"
    )
    assert inside(schedule=both).deployment.only == lean.CtxVar(Ctx.DECODING)
    one = "advance running only (decoding); admit waiting while (running.preempted == 0);"
    assert "a schedule is modelled only as" in reasons(schedule=one)[0]


def test_init_runs_at_the_arrival() -> None:
    """What init sets without drawing stands in front of the session's statements."""
    made = inside(workload="arrive renewal(10); init { Size n = 8; set t0 = now; }")
    assert made.workload.gaps == (10,) * 10
    front = made.program
    assert isinstance(front, lean.Set)
    assert front.expr == lean.Num(8)
    assert isinstance(front.k, lean.Set)
    assert front.k.expr == lean.CtxVar(Ctx.NOW)


def test_explicit_sessions_bring_their_values() -> None:
    """Presets override init, whose constants they need not repeat; fractions are outside."""
    text = ENGINE.format(**USUAL)
    linked = compile_text(Source("p.sq", text), settings=Settings(horizon=100))
    slot = linked.program.attrs.index("n")

    def with_value(value: float) -> Verdict:
        data = ir.Sessions((ir.SessionData(((slot, value),)), ir.SessionData(())))
        return executable(replace(linked.program, arrival=data))

    good = with_value(5.0).result
    assert isinstance(good, Executable)
    assert good.workload.init == (((slot, 5),), ((slot, 8),))
    bad = with_value(2.5).result
    assert isinstance(bad, Outside)
    assert "2.5, not a natural number" in bad.reasons[0].why


def test_the_guard_of_a_while_is_a_test() -> None:
    """A `while` must be a comparison or a 0/1 attribute, and may not depend on a difference."""
    loop = "while ({}) {{ run e prefill (cost(e, 1)); set k = {}; }}"
    assert inside(before="set k = 0; " + loop.format("k < 3", "k + 1"))
    assert "comparison" in reasons(before="set k = 0; " + loop.format("k", "k + 1"))[0]
    found = reasons(before="set k = 9; " + loop.format("k > 3", "k - n"))
    assert "feeds the guard of a `while`" in found[0]


def test_a_branch_on_a_number_is_a_condition() -> None:
    """Lean takes the first arm of any value but 0; the interpreter refuses all but 0 and 1."""
    found = verdict(before="branch (n) { set x = 1; }")
    assert isinstance(found.result, Executable)
    assert any("the guard is 0 or 1" in c.why for c in found.conditions)
    clear = verdict(before="branch (n > 3) { set x = 1; }")
    assert not clear.conditions


def test_every_random_program_is_inside_and_says_the_same_in_normal_form() -> None:
    """The normal form of a translated program translates to the same again."""
    for seed in range(150):
        program = random_program(seed)
        made = executable(program).result
        assert isinstance(made, Executable), (seed, made)
        again = executable(normal_form(program, made)).result
        assert again == made, seed
