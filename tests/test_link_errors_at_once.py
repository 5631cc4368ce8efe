"""Syntax errors and link errors of one program, told together."""

from __future__ import annotations

import random
from pathlib import Path

import pytest

from serq.diagnostics import Diagnostic, SerqError, Source
from serq.link import compile_text
from serq.settings import Settings
from serq.syntax.lexer import lex
from serq.syntax.parser import parse_recovering

SOUND = sorted((Path(__file__).parent / "programs").glob("*.sq"))

SIX = """fn main() {
  stage svc : fifo;
  stage lag : delay
  pool kv { cap 8; }
  workload {
    arrive poisson(0.5);
    turn { set n = 1 + floor(~exp(3)); }
  }
  server {
    run svcc (cost(svc, n));
    hold kv (cost(kv, m)) {
      run svc (cost(svc, 1);
    }
    observe depth = queue(svc) + * 2;
    run svc (2);
  }
}
"""


def errors(text: str, base_dir: Path | None = None) -> list[Diagnostic]:
    with pytest.raises(SerqError) as caught:
        compile_text(Source("t.sq", text), settings=Settings(horizon=10.0), base_dir=base_dir)
    return caught.value.diagnostics


def places(found: list[Diagnostic]) -> list[tuple[str, int, int]]:
    """Code, line and column of each error."""
    return [(d.code, *d.span.source.position(d.span.start)) for d in found if d.span]


def test_three_syntax_and_three_link_errors_are_all_reported_at_once() -> None:
    """One message each, in the order of the text, with its code and its place."""
    assert places(errors(SIX)) == [
        ("missing-semicolon", 3, 20),
        ("unknown-stage", 10, 9),
        ("unknown-name", 11, 23),
        ("unbalanced-bracket", 12, 15),
        ("syntax", 14, 34),
        ("cost-type", 15, 14),
    ]


def test_the_errors_that_remain_are_told_again() -> None:
    """With the syntax errors mended, the link errors stand where they stood."""
    mended = SIX.replace("delay\n", "delay;\n").replace("(cost(svc, 1);", "(cost(svc, 1));")
    mended = mended.replace("+ * 2", "* 2")
    assert [code for code, _, _ in places(errors(mended))] == [
        "unknown-stage",
        "unknown-name",
        "cost-type",
    ]


@pytest.mark.parametrize(
    ("declaration", "use"),
    [
        ("stage svc : fifi fifo;", "run svc (cost(svc, 1));"),
        ("let k = 1 +;", "set a = k;"),
        ("def f(x) { x + }", "set a = f(2);"),
        ("pool kv { cap 8; } pool kv2 ( cap 8; )", "hold kv2 (cost(kv2, 1)) { }"),
        ("def note(x) { set seen = x; }", "note 3; observe y = seen;"),
        ("stage : fifo;", "run svc (cost(svc, 1));"),
    ],
)
def test_what_a_syntax_error_hides_is_not_missed(declaration: str, use: str) -> None:
    """A name that a broken declaration or a broken call would have made is not called unknown."""
    text = f"""fn main() {{
  {declaration}
  workload {{ arrive poisson(1); }}
  server {{
    {use}
  }}
}}
"""
    codes = {d.code for d in errors(text)}
    assert codes.isdisjoint({"unknown-name", "unknown-stage", "unknown-pool", "unknown-function"})


def test_a_sound_program_with_one_mistake_gets_no_errors_of_others() -> None:
    """A token left out, doubled or thrown in gives syntax errors, and hardly ever others."""
    rng = random.Random(11)
    broken = beside = 0
    while broken < 150:
        path = rng.choice(SOUND)
        text = path.read_text()
        token = rng.choice(lex(Source(path.name, text)).tokens)
        start, end = token.start_pos or 0, token.end_pos or 0
        instead = rng.choice(["", f"{token} {token}", f"{rng.choice(');=+7{}')} {token}"])
        source = Source(path.name, text[:start] + instead + text[end:])
        _, syntax = parse_recovering(source)
        if not syntax:
            continue
        broken += 1
        told = {(d.code, d.span) for d in errors(source.text, path.parent)}
        beside += len(told) > len({(d.code, d.span) for d in syntax})
    assert beside <= 3, f"{beside} of {broken} programs"
