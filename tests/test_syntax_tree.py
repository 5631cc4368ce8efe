"""The tree of a text: its nodes, their spans, the order of operators, words as names, comments."""

from __future__ import annotations

import json
import random
from concurrent.futures import ThreadPoolExecutor
from typing import Any

import lark
import peer
import pytest

from serq.diagnostics import SerqError, Source
from serq.syntax import ast, driver
from serq.syntax.parser import parse, parse_expression, parse_instance, parse_text
from serq.syntax.walk import children, same_tree, walk

PROGRAM = """\
use "lib.sq";
let N = 2;  // members
def twice(x) { 2 * x }
def note(x) { observe seen = x; }

fn main() {
  pool kv[N] { cap 10; block 2; evict by (age, size); preempt by (position) requeue tail; }
  stage s[N] : ps(present + 1);
  /* the
     server */
  server {
    hold kv[0] (cost(kv, 1)) reserve (cost(kv, 2)) reuse (cost(kv, 0))
         at admission (y = 1) {
      run s[1] (cost(s, twice(y)));
    } cache (cost(kv, 1)) lease kv[0] (inf);
    branch with (0.5) { end; } else { note (now); }
  }
  workload { arrive renewal(~exp(2)); hidden a, b; }
  claim c given (a > 0): at end (1);
}
"""


def body(text: str) -> tuple[Any, ...]:
    """The statements of a server."""
    (server,) = parse(Source("p", f"fn main() {{ server {{ {text} }} }}")).main or ()
    assert isinstance(server, ast.ServerDecl)
    return server.body.statements


def sketch(node: Any) -> Any:
    """An expression as nested lists, to be read at a glance."""
    match node:
        case ast.Number():
            return node.text
        case ast.Path():
            return ".".join(
                p.ident.name + ("[]" if p.index is not None else "") for p in node.parts
            )
        case ast.Unary():
            return [node.op, sketch(node.operand)]
        case ast.Binary():
            return [node.op, sketch(node.left), sketch(node.right)]
        case ast.Conditional():
            return ["?", sketch(node.test), sketch(node.then), sketch(node.orelse)]
        case ast.Call():
            return [node.func.name, *map(sketch, node.args)]
        case ast.Draw():
            return ["~" + node.dist.name, *map(sketch, node.args)]
        case ast.Fold():
            return [f"{node.op} {node.var.name}", sketch(node.count), sketch(node.body)]
    raise AssertionError(node)


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("-2^2", ["-", ["^", "2", "2"]]),
        ("!1 + 1", ["+", ["!", "1"], "1"]),
        ("!a^b", ["!", ["^", "a", "b"]]),
        ("2^3^2", ["^", "2", ["^", "3", "2"]]),
        ("2^-1", ["^", "2", ["-", "1"]]),
        ("a - b - c", ["-", ["-", "a", "b"], "c"]),
        ("a / b * c", ["*", ["/", "a", "b"], "c"]),
        ("a + b * c", ["+", "a", ["*", "b", "c"]]),
        ("-a * b", ["*", ["-", "a"], "b"]),
        ("a -- b", ["-", "a", ["-", "b"]]),
        ("a < b && c == d || e", ["||", ["&&", ["<", "a", "b"], ["==", "c", "d"]], "e"]),
        ("a || b && c", ["||", "a", ["&&", "b", "c"]]),
        ("a ? b : c ? d : e", ["?", "a", "b", ["?", "c", "d", "e"]]),
        ("a ? b : c + d", ["?", "a", "b", ["+", "c", "d"]]),
        ("a || b ? c : d", ["?", ["||", "a", "b"], "c", "d"]),
        ("(a + b) * c", ["*", ["+", "a", "b"], "c"]),
        ("2 * ~exp(1) + 1", ["+", ["*", "2", ["~exp", "1"]], "1"]),
        ("max j in N (j)^2", ["^", ["max j", "N", "j"], "2"]),
        ("sum j in (n - 1) (j) + 1", ["+", ["sum j", ["-", "n", "1"], "j"], "1"]),
        ("max(used(kv[j]), running.count)", ["max", ["used", "kv[]"], "running.count"]),
        ("D[j].kv + P.nic[i]", ["+", "D[].kv", "P.nic[]"]),
        ("inf", "inf"),
    ],
)
def test_operators_bind_in_their_order(text: str, expected: Any) -> None:
    """Operators bind as the table of the language says: `-2^2` is -(2^2), `!1 + 1` is (!1) + 1."""
    assert sketch(parse_expression(Source("e", text))) == expected


NAMES = {"Add": "+", "Sub": "-", "Mul": "*", "Div": "/", "Pow": "^", "Lt": "<", "Ge": ">=",
         "Eq": "==", "Ne": "!=", "And": "&&", "Or": "||", "Neg": "-", "Not": "!"}  # fmt: skip


def reference_sketch(expr: Any) -> Any:
    """The same sketch of an expression of the reference build's IR."""
    ((kind, value),) = expr.items()
    match kind:
        case "Attr":
            return "abc"[value - 9]
        case "Num":
            return value
        case "Unary" | "Binary":
            return [NAMES[value[0]], *map(reference_sketch, value[1:])]
        case "Cond":
            return ["?", *map(reference_sketch, value)]
    raise AssertionError(expr)


def random_expression(rng: random.Random) -> str:
    """Operands and operators in a row, with few parentheses, so that the order is what decides."""
    out: list[str] = []
    for at in range(rng.randint(2, 7)):
        if at:
            out.append(rng.choice(["+", "-", "*", "/", "^", "<", ">=", "==", "!=", "&&", "||"]))
        out += [rng.choice(["-", "!"]) for _ in range(rng.choice([0, 0, 0, 1, 2]))]
        operand = rng.choice("abc")
        out.append(operand if rng.random() < 0.8 else f"({operand} + a)")
    text = " ".join(out)
    return text if rng.random() < 0.7 else f"{text} ? {rng.choice('abc')} : {text}"


@peer.needs_peer
def test_operators_bind_as_in_the_reference_build() -> None:
    """Random rows of operators give the tree of the reference build, or are refused by both."""
    rng = random.Random(7)
    accepted = 0
    for _ in range(400):
        text = random_expression(rng)
        program = (
            "fn main() { workload { arrive none; init { set a = 1; set b = 2; set c = 3; } }"
            f" server {{ set x = {text}; }} }}"
        )
        try:
            ours = sketch(parse_expression(Source("e", text)))
        except SerqError:
            with pytest.raises(peer.Refused):
                peer.compile(program, horizon=1)
            continue
        accepted += 1
        blocks = json.loads(peer.compile(program, horizon=1))["blocks"]
        (assignment,) = [s["Set"] for b in blocks for s in b if "Set" in s and s["Set"][0] == 12]
        assert reference_sketch(assignment[1]) == ours, text
    assert accepted > 150


@pytest.mark.parametrize(
    ("text", "value"),
    [
        ("1_000", 1000.0), (".5", 0.5), ("5.", 5.0), ("1e3", 1000.0), ("1.5e-3", 0.0015),
        ("007", 7.0), ("1e999", float("inf")), ("inf", float("inf")), ("1_0.2_5", 10.25),
    ],
)  # fmt: skip
def test_numbers_keep_their_spelling(text: str, value: float) -> None:
    """A number has its value as a double and the spelling of the text."""
    node = parse_expression(Source("e", text))
    assert isinstance(node, ast.Number)
    assert (node.value, node.text) == (value, text)


def test_the_parts_of_a_program() -> None:
    """A file is what stands before `fn main ()` and the declarations inside, in their order."""
    module = parse(Source("p", PROGRAM))
    use, let, twice, note = module.preamble
    assert isinstance(use, ast.UseDecl) and use.path == "lib.sq"
    assert isinstance(let, ast.LetDecl) and let.target.name == "N"
    assert isinstance(twice, ast.DefDecl) and isinstance(twice.body, ast.Binary)
    assert isinstance(note, ast.DefDecl) and isinstance(note.body, ast.Block)
    kinds = [type(item).__name__ for item in module.main or ()]
    assert kinds == ["PoolDecl", "StageDecl", "ServerDecl", "WorkloadDecl", "ClaimDecl"]


def test_a_library_has_no_main() -> None:
    """A file without `fn main ()` has None for its items, and is read with `library=True`."""
    module = parse(Source("lib.sq", "def f() { 1 }"), library=True)
    assert module.main is None and len(module.preamble) == 1


def test_a_hold_has_all_its_clauses() -> None:
    """The clauses of a hold are the fields of its node."""
    module = parse(Source("p", PROGRAM))
    (hold,) = [n for n in walk(module) if isinstance(n, ast.HoldStmt)]
    (taking,) = hold.pools
    assert sketch(taking.units) == ["cost", "kv", "1"]
    assert sketch(taking.reserve) == ["cost", "kv", "2"]
    assert sketch(hold.reuse) == ["cost", "kv", "0"]
    assert [b.target.name for b in hold.bindings] == ["y"]
    assert sketch(hold.cache) == ["cost", "kv", "1"]
    assert hold.lease is not None and sketch(hold.lease.time) == "inf"


def test_the_forms_of_run() -> None:
    """A run has its stages, its mode and what grows; without a stage it is the queue's own."""
    own, plain, mode, joint, growing = body(
        "run (1); run s (2); run E prefill (3); run a[1], b (4); run E decode (5) growing kv[k];"
    )
    assert own.stages == () and own.mode is None
    assert [sketch(p) for p in plain.stages] == ["s"]
    assert mode.mode == "prefill" and mode.growing is None
    assert [sketch(p) for p in joint.stages] == ["a[]", "b"]
    assert growing.mode == "decode" and sketch(growing.growing) == "kv[]"


def test_the_serving_forms() -> None:
    """A transfer or a tool has an index, or stages, or neither; a transfer names both pools."""
    role, index, named, call = body(
        "transfer (x) from P.kv to kv[j] (n - 1); tool[j] 1 + 2; tool on S[k], T (x);"
        " nic[0].transfer (n) from P[1] to kv (m);"
    )
    assert (role.form, role.index, role.stages) == ("transfer", None, ())
    assert sketch(role.source) == "P.kv" and sketch(role.destination.pool) == "kv[]"
    assert sketch(index.index) == "j" and sketch(index.amount) == ["+", "1", "2"]
    assert [sketch(p) for p in named.stages] == ["S[]", "T"]
    assert isinstance(call, ast.EntryCallStmt) and call.verb.name == "transfer"
    assert call.source.ident.name == "P" and sketch(call.destination.amount) == "m"


def test_words_of_the_language_name_things() -> None:
    """`set run = 1;` assigns an attribute called `run`; a path may be called so as well."""
    run, read = body("set run = 1; set x = run + tool * set;")
    assert run.target.name == "run"
    assert sketch(read.value) == ["+", "run", ["*", "tool", "set"]]


def test_a_definition_in_braces_is_an_expression_or_statements() -> None:
    """The body of a definition is an expression unless it has a `;` or a block, or is empty."""
    text = "def a() { end } def b() { end; } def c() { } def d() { fork { } } def e(x) { x[0] }"
    kinds = [type(d.body).__name__ for d in parse(Source("l", text), library=True).preamble]
    assert kinds == ["Path", "Block", "Block", "Block", "Path"]


@pytest.mark.parametrize(
    ("kind", "texts"),
    [
        (ast.UseDecl, ['use "lib.sq"']),
        (ast.LetDecl, ["let N = 2"]),
        (ast.Taking, ["kv[0] (cost(kv, 1)) reserve (cost(kv, 2))"]),
        (ast.Binding, ["y = 1"]),
        (ast.LeaseClause, ["lease kv[0] (inf)"]),
        (ast.RunStmt, ["run s[1] (cost(s, twice(y)))"]),
        (ast.EndStmt, ["end"]),
        (ast.CallStmt, ["note (now)"]),
        (ast.StageKind, ["ps(present + 1)"]),
        (ast.Draw, ["~exp(2)"]),
        (ast.HiddenItem, ["hidden a, b"]),
        (ast.PreemptOption, ["preempt by (position) requeue tail"]),
        (ast.BranchStmt, ["branch with (0.5) { end; } else { note (now); }"]),
        (ast.ClaimDecl, ["claim c given (a > 0): at end (1)"]),
        (ast.Part, ["N", "N", "present", "age", "size", "position", "kv[0]"]),
    ],
)
def test_spans_cover_the_exact_words(kind: type[ast.Node], texts: list[str]) -> None:
    """A node's span is its own words, without the `;` behind them."""
    nodes = [n for n in walk(parse(Source("p", PROGRAM))) if isinstance(n, kind)]
    found = [n.span.text for n in nodes]
    assert all(text in found for text in texts), found


def test_a_span_takes_parentheses_in() -> None:
    """The span of an expression in parentheses, and of what it is part of, covers them."""
    node = parse_expression(Source("e", "(a + b) * ((c))"))
    assert isinstance(node, ast.Binary)
    assert node.span.text == "(a + b) * ((c))"
    assert (node.left.span.text, node.right.span.text) == ("(a + b)", "((c))")


def test_every_node_lies_within_its_parent() -> None:
    """The span of a node contains those of all nodes below it."""
    for node in walk(parse(Source("p", PROGRAM))):
        for child in children(node):
            assert node.span.start <= child.span.start <= child.span.end <= node.span.end


def test_comments_are_kept_beside_the_tree() -> None:
    """Every comment is kept, in order, with the text between its marks and its place."""
    parsed = parse_text(Source("p", PROGRAM))
    assert [c.text for c in parsed.comments] == ["// members", "/* the\n     server */"]
    assert PROGRAM[parsed.comments[0].span.start :].startswith("// members")


def test_spans_do_not_take_part_in_equality() -> None:
    """Two texts that differ in blank space and comments only have equal trees."""
    one = parse(Source("a", "fn main() { let x = 1 + 2; }"))
    other = parse(Source("b", "fn main ( )\n{ let x=1/* one */+2 ; }"))
    different = parse(Source("c", "fn main() { let x = 1 + 3; }"))
    assert one == other and same_tree(one, other)
    assert one != different and not same_tree(one, different)


def test_an_instance_file() -> None:
    """An instance file has values for inputs and at most one `run { … }` of settings."""
    text = "let rate = 2 * 3; run { horizon 100; warmup 1e1; seed 7; arrivals 20; } let n = inf;"
    instance = parse_instance(Source("i", text))
    assert [(v.target.name, sketch(v.value)) for v in instance.lets] == [
        ("rate", ["*", "2", "3"]), ("n", "inf")]  # fmt: skip
    assert [(s.target.name, s.value.value) for s in instance.settings] == [
        ("horizon", 100.0), ("warmup", 10.0), ("seed", 7.0), ("arrivals", 20.0)]  # fmt: skip
    assert parse_instance(Source("i", "")).settings == ()


@pytest.mark.parametrize(
    ("text", "code"),
    [
        ("run { horizon 1; } run { seed 2; }", "duplicate-settings"),
        ("run { horizon 1; horizon 2; }", "duplicate-settings"),
        ("run { horizon; }", "syntax"),
        ("run { horizon -1; }", "syntax"),
        ("run { speed 1; }", "syntax"),
        ("pool p { }", "syntax"),
        ("def f() { 1 }", "syntax"),
        ("let x = 1", "missing-semicolon"),
        ('let x = args.number("x", 1);', "wrong-place"),
        ("fn main() { }", "syntax"),
    ],
)
def test_what_is_no_instance_file(text: str, code: str) -> None:
    """Anything but values and settings in an instance file is an error."""
    with pytest.raises(SerqError) as caught:
        parse_instance(Source("i", text))
    assert caught.value.diagnostics[0].code == code


@pytest.mark.parametrize(
    ("text", "column"), [("", 1), ("1 +", 4), ("1; 2", 2), ("a b", 3), ("x = 1", 3), ("// c", 1)]
)
def test_what_is_no_expression(text: str, column: int) -> None:
    """A text that is no single expression is refused, at the place where it stops being one."""
    source = Source("--set x", text)
    with pytest.raises(SerqError) as caught:
        parse_expression(source)
    span = caught.value.diagnostics[0].span
    assert span is not None and source.position(span.start) == (1, column)


def test_the_grammar_has_one_conflict(monkeypatch: pytest.MonkeyPatch) -> None:
    """The only place where two readings fit is `cache` behind a hold: it is the hold's clause."""
    said: list[str] = []
    monkeypatch.setattr(lark.logger, "debug", lambda text, *args: said.append(text % args))
    monkeypatch.setattr(driver, "_kept_file", lambda grammar: None)
    driver.Tables()
    conflicts = {line for line in said if "onflict" in line}
    assert conflicts == {"Shift/Reduce conflict for terminal CACHE: (resolving as shift)"}


def test_texts_are_parsed_from_several_threads() -> None:
    """Texts that are parsed at the same time do not get into each other's trees."""
    texts = [f"fn main() {{ {'let x = 1 + 2; ' * n} }}" for n in range(1, 40)]
    with ThreadPoolExecutor(8) as pool:
        modules = list(pool.map(lambda text: parse(Source("p", text)), texts))
    assert [len(m.main or ()) for m in modules] == list(range(1, 40))
    assert all(
        n.span.source.text == t for m, t in zip(modules, texts, strict=True) for n in walk(m)
    )
