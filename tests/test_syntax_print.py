"""A tree as text reads back to an equal tree, with as few parentheses as its meaning needs."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st
from test_syntax_table import ACCEPTED, whole

from serq.diagnostics import Source, Span
from serq.syntax import ast
from serq.syntax.parser import parse_expression, parse_instance, parse_text
from serq.syntax.printer import to_text
from serq.syntax.walk import same_tree, walk

EXAMPLES = sorted((Path(__file__).parent.parent / "examples").rglob("*.sq"))
NOWHERE = Span(Source("", ""), 0, 0)


def read_back(tree: ast.Module) -> Any:
    """The tree of the text of a tree."""
    parsed = parse_text(Source("printed", to_text(tree)))
    assert parsed.diagnostics == [], parsed.diagnostics[0].message
    return parsed.tree


@pytest.mark.parametrize(("place", "snippet"), ACCEPTED)
def test_every_construct_reads_back(place: str, snippet: str) -> None:
    """Each construct of the language, printed and read again, is the same tree."""
    tree = parse_text(Source("p", whole(place, snippet))).tree
    assert same_tree(read_back(tree), tree)


@pytest.mark.parametrize("path", EXAMPLES, ids=lambda p: p.stem)
def test_every_example_reads_back(path: Path) -> None:
    """Each example program, printed and read again, is the same tree."""
    tree = parse_text(Source(path.name, path.read_text(encoding="utf-8"))).tree
    assert same_tree(read_back(tree), tree)


def test_the_table_has_every_kind_of_node() -> None:
    """The constructs that are printed here are all that the tree has."""
    seen = {type(n) for p, s in ACCEPTED for n in walk(parse_text(Source("p", whole(p, s))).tree)}
    kinds = {k for k in vars(ast).values() if isinstance(k, type) and issubclass(k, ast.Node)}
    assert kinds - seen == {ast.Node, ast.Setting, ast.Instance}


def ident(name: str) -> ast.Ident:
    return ast.Ident(NOWHERE, name)


names = st.sampled_from(["a", "b", "run", "tool", "λ", "x1"]).map(ident)
numbers = st.sampled_from(["0", "1_000", ".5", "5.", "1e-3", "inf"]).map(
    lambda text: ast.Number(NOWHERE, float(text.replace("_", "")), text)
)


def extend(inner: st.SearchStrategy[Any]) -> st.SearchStrategy[Any]:
    """Expressions one level above the given ones."""
    args = st.lists(inner, max_size=3).map(tuple)
    parts = st.builds(ast.Part, st.just(NOWHERE), names, st.none() | inner)
    binary = st.sampled_from(
        ["||", "&&", "<", "<=", ">", ">=", "==", "!=", "+", "-", "*", "/", "^"]
    )
    return st.one_of(
        st.builds(ast.Binary, st.just(NOWHERE), binary, inner, inner),
        st.builds(ast.Unary, st.just(NOWHERE), st.sampled_from("-!"), inner),
        st.builds(ast.Conditional, st.just(NOWHERE), inner, inner, inner),
        st.builds(ast.Call, st.just(NOWHERE), names, args),
        st.builds(ast.Draw, st.just(NOWHERE), names, args),
        st.builds(
            ast.Fold, st.just(NOWHERE), st.sampled_from(["max", "min", "sum"]), names, inner, inner
        ),
        st.lists(parts, min_size=1, max_size=3).map(lambda p: ast.Path(NOWHERE, tuple(p))),
    )


@given(st.recursive(numbers, extend, max_leaves=25))
def test_every_expression_reads_back(expr: ast.Expr) -> None:
    """Any tree of an expression, printed and read again, is the same tree."""
    assert same_tree(parse_expression(Source("e", to_text(expr))), expr)


@pytest.mark.parametrize(
    "text",
    [
        "a + b * c - d", "(a + b) * c", "a - (b - c)", "-a^b", "(-a)^b", "a^b^c", "(a^b)^c",
        "a^-b", "!(a && b) || c", "(a < b) < c", "a ? b : c ? d : e", "(a ? b : c) ? d : e",
        "a ? b ? c : d : e", "(~exp(1))^2", "~exp(1) * 2", "max j in N (j) + 1",
        "sum j in (n - 1) (j)", "D[j].kv", "f(a, -b)", "a - -b", "--a",
    ],
)  # fmt: skip
def test_no_parenthesis_that_is_not_needed(text: str) -> None:
    """An expression that is written with the parentheses it needs is printed as it is."""
    assert to_text(parse_expression(Source("e", text))) == text


def test_a_cache_statement_behind_a_hold_stays_one() -> None:
    """In a request, `cache (e);` behind a hold that ended with `;` is not the hold's clause."""
    text = """fn main() { device g { } engine e on g { tokens cap 1; execute (1);
      schedule { advance running; } request (n) { hold k (1) { }; cache (2); } } }"""
    tree = parse_text(Source("p", text)).tree
    assert same_tree(read_back(tree), tree)
    (hold,) = [n for n in walk(tree) if isinstance(n, ast.HoldStmt)]
    assert hold.cache is None


def test_an_instance_file_reads_back() -> None:
    """An instance file, printed and read again, is the same tree."""
    tree = parse_instance(Source("i", "let a = 1 + 2; run { horizon 1e3; seed 2; }"))
    assert same_tree(parse_instance(Source("j", to_text(tree))), tree)


def test_the_text_is_one_item_a_line() -> None:
    """A program is printed with one declaration, item or statement a line."""
    tree = parse_text(Source("p", "let a=1;fn main(){pool p{cap 3;}server{set x=a;end;}}")).tree
    assert (
        to_text(tree)
        == """\
let a = 1;
fn main() {
  pool p {
    cap 3;
  }
  server {
    set x = a;
    end;
  }
}
"""
    )
