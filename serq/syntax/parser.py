"""Text to syntax tree, with every independent fault of the text."""

from __future__ import annotations

from dataclasses import dataclass
from threading import Lock
from typing import Any, cast

from lark import Token

from serq.diagnostics import Diagnostic, SerqError, Source, Span
from serq.syntax import ast
from serq.syntax.lexer import Comment, lex
from serq.syntax.recovery import Recovering
from serq.syntax.walk import tallest

MAX_SHOWN = 20
"""So many diagnostics are reported; one more line says how many there are beside them."""

MAX_HEIGHT = 6_000
"""How deep a tree may be: about so many operators in a row, which nest to the left."""

_lock = Lock()  # the tree builder is part of the parser, so one text is parsed at a time


@dataclass(frozen=True, slots=True)
class Parsed:
    """What a text is read as: a tree (of its healthy part), its comments and its faults."""

    tree: Any
    tokens: list[Token]
    comments: list[Comment]
    diagnostics: list[Diagnostic]
    complete: bool = True
    """Whether the whole text was read; a text with very many faults is not."""
    lost: frozenset[str] = frozenset()
    """The words of what was left out as unreadable."""


def parse_text(source: Source, start: str = "module") -> Parsed:
    """Read a text as a ``module``, an ``expression`` or an ``instance`` file; never raises."""
    lexed = lex(source)
    diagnostics = list(lexed.diagnostics)
    tree, complete, lost = None, not lexed.stopped, frozenset[str]()
    if not lexed.stopped:
        with _lock:
            run = Recovering(source, lexed, start)
            tree = run.parse()
            complete = not run.gave_up and not lexed.cut
            lost = frozenset(run.lost)
            diagnostics += run.diagnostics + run.builder.diagnostics
        if tree is not None and len(lexed.tokens) > MAX_HEIGHT:
            deep = tallest(tree, MAX_HEIGHT)
            if deep is not None:
                diagnostics.append(_too_tall(deep))
                tree = None
    diagnostics.sort(key=lambda d: d.span.start if d.span else 0)
    return Parsed(tree, lexed.tokens, lexed.comments, diagnostics, complete, lost)


def _too_tall(node: ast.Node) -> Diagnostic:
    return Diagnostic(
        "nested-too-deep",
        f"an expression has more than {MAX_HEIGHT} operators within each other",
        node.span,
        help="name inner parts with `let` or `def`, or write `sum j in n (…)`",
    )


def capped(diagnostics: list[Diagnostic], complete: bool = True) -> list[Diagnostic]:
    """The first of many diagnostics, and a line that says how many more there are."""
    if len(diagnostics) <= MAX_SHOWN:
        return diagnostics
    more = len(diagnostics) - MAX_SHOWN
    count = f"{more} more {'error' if more == 1 else 'errors'} in this file"
    source = next((d.span.source.name for d in diagnostics if d.span is not None), None)
    rest = Diagnostic("more-errors", count if complete else f"at least {count}", where=source)
    return [*diagnostics[:MAX_SHOWN], rest]


def _no_main(source: Source, tokens: list[Token]) -> Diagnostic:
    empty = not tokens
    return Diagnostic(
        "no-main",
        "the program is empty"
        if empty
        else "there is no `fn main ()`: definitions alone do not run",
        None if empty else Span(source, 0, len(source.text.split("\n", 1)[0])),
        where=source.name,
        help="put the deployment into `fn main () { … }`",
    )


def _main_in_library(source: Source, tokens: list[Token]) -> Diagnostic:
    at = next(i for i in range(len(tokens)) if tokens[i] == "fn" and tokens[i + 1] == "main")
    return Diagnostic(
        "main-in-library",
        "a library has definitions and imports, and no `fn main ()`",
        Span(source, tokens[at].start_pos or 0, tokens[at + 1].end_pos or 0),
        help="move what both need into a file of its own",
    )


def parse_recovering(
    source: Source, *, library: bool = False
) -> tuple[ast.Module | None, list[Diagnostic]]:
    """The tree of a file's healthy part, and the file's faults; no tree when there is none.

    A ``library`` has no ``fn main ()``, a program has one.
    """
    parsed = parse_file(source, library=library)
    return parsed.tree, capped(parsed.diagnostics, parsed.complete)


def parse_file(source: Source, *, library: bool = False) -> Parsed:
    """A file read as `parse_recovering` does, with what was left out of the tree."""
    parsed = parse_text(source)
    module: ast.Module | None = parsed.tree
    if module is not None:
        if library and module.main is not None:
            parsed.diagnostics.append(_main_in_library(source, parsed.tokens))
        elif not library and module.main is None and not parsed.diagnostics:
            parsed.diagnostics.append(_no_main(source, parsed.tokens))
    return parsed


def parse(source: Source, *, library: bool = False) -> ast.Module:
    """The tree of a file. Raises `SerqError` with every independent fault of the text."""
    module, diagnostics = parse_recovering(source, library=library)
    if diagnostics or module is None:
        raise SerqError(diagnostics)
    return module


def parse_expression(source: Source) -> ast.Expr:
    """The tree of an expression that stands alone, as in ``--set NAME=EXPR``."""
    return cast(ast.Expr, _whole(source, "expression"))


def parse_instance(source: Source) -> ast.Instance:
    """The tree of an instance file: ``let NAME = EXPR;`` and one ``run { horizon T; … }``."""
    return cast(ast.Instance, _whole(source, "instance"))


def _whole(source: Source, start: str) -> Any:
    parsed = parse_text(source, start)
    if parsed.diagnostics or parsed.tree is None:
        raise SerqError(capped(parsed.diagnostics, parsed.complete))
    return parsed.tree
