"""External inputs: ``args.number``, the values supplied for them, and replaced definitions."""

from __future__ import annotations

from collections.abc import Mapping

from serq.diagnostics import Diagnostic, SerqError, Source, Span
from serq.lower.constants import Constants
from serq.lower.faults import Faults, closest
from serq.lower.scope import Scope
from serq.lower.tables import Definition, Tables
from serq.syntax import ast
from serq.syntax.parser import parse_expression


class Inputs:
    """What ``--set``, ``--def``, instance files and program arguments supply to a program."""

    def __init__(
        self,
        tables: Tables,
        faults: Faults,
        sets: Mapping[str, str | float],
        defs: Mapping[str, str],
    ) -> None:
        self.tables = tables
        self.faults = faults
        self.sets = dict(sets)
        self.defs = dict(defs)
        self.used = False  # use "std/args"
        self.declared: dict[str, Span] = {}

    def declare(
        self,
        item: ast.LetDecl,
        init: ast.ArgsNumber,
        inside: bool,
        constants: Constants,
        scope: Scope,
    ) -> float:
        """The value of a ``let`` that reads an input: the one supplied, else its default."""
        if not self.used or not inside:
            self.faults.error(
                "input-place",
                '`args.number` needs `use "std/args";` above it and a `let` inside `fn main()`',
                init.span,
            )
        if init.name in self.declared:
            self.faults.error(
                "declared-twice",
                f"the input `{init.name}` is declared twice: read it once and use its constant",
                init.span,
                notes=(("the first one is here", self.declared[init.name]),),
            )
        self.declared.setdefault(init.name, init.span)
        default = constants.number(init.default, scope, f"the default of `{init.name}`")
        if init.name in self.sets:
            return self._supplied_value(init.name, constants)
        return 0.0 if default is None else default

    def _supplied_value(self, name: str, constants: Constants) -> float:
        given = self.sets[name]
        if not isinstance(given, str):
            value = float(given)
            if value != value:
                self.faults.error(
                    "not-a-number",
                    f"the input `{name}` was given NaN: a constant is a number or `inf`",
                    None,
                    where=f"input {name}",
                )
            return value
        expr = self._parse(f"input {name}={given}", given)
        if expr is None:
            return 0.0
        number = constants.number(expr, Scope(None), f"the input `{name}`")
        return 0.0 if number is None else number

    def _parse(self, name: str, text: str) -> ast.Expr | None:
        try:
            return parse_expression(Source(name, text))
        except SerqError as error:
            for diagnostic in error.diagnostics:
                self.faults.add(diagnostic)
            return None

    def supplied(self, names: frozenset[str]) -> str | None:
        """One of the inputs that was supplied, if any."""
        return next((name for name in sorted(names) if name in self.sets), None)

    def override(self, definition: Definition) -> None:
        """Replace the body of a definition of an expression by the text supplied for it."""
        text = self.defs.pop(definition.name, None)
        if text is None:
            return
        name = definition.name
        if isinstance(definition.body, ast.Block):
            self.faults.error(
                "not-an-expression-definition",
                f"`{name}` is a definition of statements: only a definition of an expression can"
                " be replaced",
                definition.decl.target.span,
            )
            return
        body = self._parse(f"definition {name}={text}", text)
        if body is not None:
            definition.body = body

    def finish(self) -> None:
        """Report what was supplied and is not declared."""
        for name in self.sets:
            if name not in self.declared:
                self._unknown(
                    "unknown-input",
                    f"input {name}",
                    f"there is no input `{name}`: only what the program reads with `args.number`"
                    " can be supplied",
                    name,
                    list(self.declared),
                )
        expressions = [d.name for d in self.tables.definitions.values()]
        for name in self.defs:
            self._unknown(
                "unknown-definition",
                f"definition {name}",
                f"there is no definition `{name}` to replace",
                name,
                expressions,
            )

    def _unknown(self, code: str, where: str, message: str, name: str, known: list[str]) -> None:
        near = closest(name, known)
        help = f"did you mean `{near}`?" if near else None
        if help is None and known:
            help = f"the program declares {', '.join(f'`{k}`' for k in sorted(known))}"
        self.faults.add(Diagnostic(code, message, None, where, help))
