"""Several mistakes in one text: each is one diagnostic, in plain words, and none hides another."""

from __future__ import annotations

import random
import re
from pathlib import Path

import pytest

from serq.diagnostic_codes import CODES
from serq.diagnostics import SerqError, Source, render
from serq.syntax.lexer import lex
from serq.syntax.parser import MAX_SHOWN, parse, parse_recovering, parse_text

DATA = Path(__file__).parent / "data" / "syntax"
EXAMPLES = Path(__file__).parent.parent / "examples"


def places(text: str, *, library: bool = False) -> list[str]:
    """The diagnostics of a text as `line:column code`."""
    source = Source("p.sq", text)
    _, diagnostics = parse_recovering(source, library=library)
    out = []
    for d in diagnostics:
        line, column = source.position(d.span.start) if d.span is not None else (0, 0)
        out.append(f"{line}:{column} {d.code}")
    return out


def test_three_mistakes_are_three_diagnostics() -> None:
    """A file with three syntax errors gets three diagnostics, in the order of the text."""
    text = """\
fn main() {
  stage svc : fifo
  pool kv { cap = 3; }
  workload { arrive none; }
  server { set x = 1 < 2 < 3; }
}
"""
    assert places(text) == ["2:19 missing-semicolon", "3:17 syntax", "5:26 chained-comparison"]


@pytest.mark.parametrize("path", sorted(DATA.glob("*.sq")), ids=lambda p: p.stem)
def test_the_report_of_a_file_with_mistakes(path: Path) -> None:
    """The whole report of a file: every mistake once, its words, and what to write instead."""
    _, diagnostics = parse_recovering(Source(path.name, path.read_text(encoding="utf-8")))
    report = "\n\n".join(render(d) for d in diagnostics) + "\n"
    assert report == path.with_suffix(".txt").read_text(encoding="utf-8")


def test_the_healthy_part_of_a_broken_file_is_a_tree() -> None:
    """What can be read is in the tree; a declaration that cannot is not."""
    text = "fn main() { let a = 1; let b = ; pool p { cap 1 } stage s : lifo; let c = 2; }"
    module, diagnostics = parse_recovering(Source("p", text))
    assert module is not None and module.main is not None
    assert [d.code for d in diagnostics] == ["syntax", "missing-semicolon", "unknown-stage-kind"]
    assert [item.target.name for item in module.main] == ["a", "p", "c"]


def test_a_body_is_read_although_its_header_is_not() -> None:
    """Mistakes inside a block are found although the words before the block are wrong."""
    text = """\
fn main() {
  queue P prefill {
    serve fifo
    prefill x { run 1; }
  }
  server {
    while n > 1 {
      set x == 1;
    }
    hold kv { set y = ; }
  }
}
"""
    assert places(text) == [
        "2:11 syntax", "3:15 missing-semicolon", "4:13 syntax", "4:21 syntax",
        "7:11 syntax", "8:13 equals-sign", "10:13 syntax", "10:23 syntax",
    ]  # fmt: skip


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("fn main() {\n  server {\n    hold kv (1) {\n      end;\n  }\n  gauge g = 1;\n}\n",
         ["3:17 unbalanced-bracket"]),
        ("fn main() {\n  server {\n    hold kv (1) {\n      end;\n  }\n}\n",
         ["3:17 unbalanced-bracket"]),
        ("fn main() {\n  server { end; }\n", ["1:11 unbalanced-bracket"]),
        ("fn main() {\n  server { run a (1)", ["1:11 unbalanced-bracket",
         "2:10 unbalanced-bracket", "2:21 missing-semicolon"][1:]),
        ("fn main() {\n  server\n    end;\n  }\n  gauge g = 1;\n}\n", ["3:5 unbalanced-bracket"]),
        ("fn main() {\n  server {\n    branch (x)\n      end;\n    }\n  }\n}\n",
         ["4:7 unbalanced-bracket"]),
        ("fn main() {\n  server { end; } }\n  gauge g = 1;\n}\n", ["3:3 after-main"]),
        ("fn main() { let x = max(1, 2; let y = a[1; let z = 3; }",
         ["1:24 unbalanced-bracket", "1:40 unbalanced-bracket"]),
        ("fn main() { let x = (1 + 2)); let y = 1; }", ["1:28 unbalanced-bracket"]),
    ],
)  # fmt: skip
def test_brackets_without_a_partner(text: str, expected: list[str]) -> None:
    """A bracket that is missing or too many is one diagnostic, where indentation shows it."""
    assert places(text) == expected


def test_a_mistake_does_not_spill_into_the_next_line() -> None:
    """A statement without its end, or with a stray sign, leaves the next line's mistakes alone."""
    lines = [
        "set a = 1",
        "set b = 2 3;",
        "set c = (4;",
        "set d = 5 % 6",
        "set e == 7;",
        "set f = 8",
    ]
    text = "fn main() { server {\n" + "\n".join(lines) + "\n} }"
    assert places(text) == [
        "2:10 missing-semicolon", "3:11 syntax", "4:9 unbalanced-bracket",
        "5:11 unexpected-character", "6:7 equals-sign", "7:10 missing-semicolon",
    ]  # fmt: skip


def test_an_unclosed_comment_is_the_only_fault() -> None:
    """What an unclosed comment swallows is not reported as missing."""
    assert places("fn main() { server { end; /* to do\n } }\n") == ["1:27 unclosed-comment"]


def test_a_main_in_a_library_and_a_program_without_one() -> None:
    """A program has a `fn main ()`, a library has none; both are said at the words in question."""
    assert places("def f() { 1 }") == ["1:1 no-main"]
    assert places("") == ["0:0 no-main"]
    assert places("def f() { 1 }\nfn main() { }", library=True) == ["2:1 main-in-library"]
    assert places("def f() { 1 }", library=True) == []


def test_the_list_of_errors_is_cut() -> None:
    """At most 20 errors are listed, and the last line says how many more there are."""
    text = "fn main() {\n" + "let x == 1;\n" * 50 + "}"
    _, diagnostics = parse_recovering(Source("p", text))
    assert len(diagnostics) == MAX_SHOWN + 1 == 21
    assert diagnostics[-1].code == "more-errors"
    assert diagnostics[-1].message == "30 more errors in this file"


def test_parse_raises_all_diagnostics_at_once() -> None:
    """`parse` raises one error that carries every diagnostic of the text."""
    with pytest.raises(SerqError) as caught:
        parse(Source("p.sq", "fn main() { let x = 1 let y = ; }"))
    assert len(caught.value.diagnostics) == 2
    assert str(caught.value).startswith("p.sq:1:22: error[missing-semicolon]")


@pytest.mark.parametrize(
    ("mistake", "help"),
    [
        ("fn main() { server { if (x == 1) { } } }", "branch (…)"),
        ("fn main() { server { set x = 1 % 2; } }", "floor(a / b)"),
        ("fn main() { server { x = 1; } }", "set x = …;"),
        ("fn main() { let x = 0x10; }", "write `16`"),
        ("fn main() { def f(x) = x; }", "without `=` and `;`"),
        ("fn main() { stage E : step { } }", "engine NAME on D"),
        ("fn main() { workload { session { request; } } }", "turn;"),
        ("fn main() { run { horizon 3; } }", "--horizon"),
        ("fn main() { server { transfer (n); } }", "from POOL to POOL"),
        ("fn main() { let x = a = b; }", "`==`"),
        ("# comment\nfn main() { }", "// …"),
        ("fn main() { server { run s 1; } }", "run STAGE (cost(STAGE, work));"),
        ("fn main() { pool p { evict by age; } }", "by (key, …)"),
        ("fn main() { let x = a and b; }", "`&&`"),
        ("fn main() { let x = 2 ** 3; }", "a ^ b"),
    ],
)
def test_the_help_says_what_to_write(mistake: str, help: str) -> None:
    """The usual mistakes come with what to write instead."""
    _, diagnostics = parse_recovering(Source("p", mistake))
    assert len(diagnostics) == 1
    assert help in (diagnostics[0].help or "")


def test_messages_have_no_names_of_the_grammar() -> None:
    """A message speaks of signs and words as they are written, not of the grammar's terminals."""
    rng = random.Random(3)
    texts = [p.read_text(encoding="utf-8") for p in sorted(EXAMPLES.rglob("*.sq"))]
    assert texts
    for _ in range(150):
        tokens = [str(t) for t in lex(Source("x", rng.choice(texts))).tokens]
        for _ in range(3):
            at = rng.randrange(len(tokens))
            tokens[at] = rng.choice([*tokens, "", "1", "(", ";"])
        _, diagnostics = parse_recovering(Source("p", " ".join(tokens)))
        for d in diagnostics:
            said = re.sub(r"`[^`]*`", "", f"{d.message} {d.help or ''}")
            assert not re.search(r"\b(?!KV\b|NAME\b|VERB\b)[A-Z_]{2,}\b|__|\$END", said), said
            assert d.code in CODES


def test_a_broken_text_never_ends_without_a_diagnostic() -> None:
    """Leaving out, doubling or moving words of a program gives a tree or diagnostics, always."""
    rng = random.Random(5)
    texts = [p.read_text(encoding="utf-8") for p in sorted(EXAMPLES.rglob("*.sq"))]
    for _ in range(150):
        tokens = [str(t) for t in lex(Source("x", rng.choice(texts))).tokens]
        for _ in range(rng.randint(1, 4)):
            at, to = rng.randrange(len(tokens)), rng.randrange(len(tokens))
            tokens[at], tokens[to] = tokens[to], tokens[at]
            if rng.random() < 0.5:
                del tokens[at]
        source = Source("p", " ".join(tokens))
        parsed = parse_text(source)
        assert parsed.tree is not None or parsed.diagnostics
        for d in parsed.diagnostics:
            assert d.span is not None and 0 <= d.span.start <= d.span.end <= len(source.text)
