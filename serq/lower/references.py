"""Pools and stages by the names a text gives them."""

from __future__ import annotations

from dataclasses import replace

from serq.lower.faults import Faults, closest
from serq.lower.kernel import Reference
from serq.lower.scope import Closure, Scope, SourceQueue, Substituted
from serq.lower.tables import Family, Tables
from serq.syntax import ast

POOL = ("pool",)
STAGE = ("stage",)
EITHER = ("pool", "stage")


class References:
    """Finds the family and the index a path means where it stands."""

    def __init__(self, tables: Tables, faults: Faults) -> None:
        self.tables = tables
        self.faults = faults

    def resolve(
        self, path: ast.Path, scope: Scope, kinds: tuple[str, ...], *, index: bool = True
    ) -> Reference | None:
        """The pool or stage; None after a reported fault. ``index``: a family needs one."""
        found = self._find(path, scope, kinds)
        if found is None:
            return None
        family = found.family
        if index and family.family and found.index is None:
            self.faults.error(
                "needs-index",
                f"{family.kind} `{family.name}` is a family of {family.count}: name a member,"
                f" `{family.name}[0]`",
                path.span,
                notes=((f"`{family.name}` is declared here", family.span),),
                frames=scope.frames,
            )
            return None
        return found

    def _find(self, path: ast.Path, scope: Scope, kinds: tuple[str, ...]) -> Reference | None:
        first = path.parts[0]
        name = first.ident.name
        local = scope.find(name)
        if isinstance(local, Substituted):
            return self._argument(path, local, scope, kinds)
        if isinstance(local, SourceQueue):
            return self._source(path, local, scope)
        if len(path.parts) == 1:
            family = self._bare(name, scope, kinds)
            if family is None:
                self._unknown(path, name, scope, kinds)
                return None
            return Reference(family, _closure(first.index, scope), path.span, scope)
        if len(path.parts) == 2:
            return self._member(path, scope, kinds)
        self.faults.error(
            "unknown-name",
            f"`{path.span.text}` is no {' or '.join(kinds)}",
            path.span,
            frames=scope.frames,
        )
        return None

    def _argument(
        self, path: ast.Path, local: Substituted, scope: Scope, kinds: tuple[str, ...]
    ) -> Reference | None:
        """A parameter that stands for a pool or stage: its argument, put in as written."""
        argument = local.value
        if not isinstance(argument.expr, ast.Path) or len(path.parts) > 1:
            self.faults.error(
                "not-a-resource",
                f"`{path.span.text}` is a {local.what}, and its value here is no"
                f" {' or '.join(kinds)}",
                path.span,
                notes=(("the value is given here", argument.span),),
                frames=scope.frames,
            )
            return None
        found = self._find(argument.expr, argument.scope, kinds)
        index = path.parts[0].index
        if found is None or index is None:
            return found
        if found.index is not None:
            self.faults.error(
                "indexed-twice",
                f"`{path.span.text}` gives a second index to `{argument.span.text}`",
                path.span,
                notes=(("the value is given here", argument.span),),
                frames=scope.frames,
            )
            return None
        return replace(found, index=Closure(index, scope))

    def _source(self, path: ast.Path, local: SourceQueue, scope: Scope) -> Reference | None:
        """The pool the source of a `decode … from` leased for this request."""
        self.faults.error("not-supported", "queues are not supported", path.span)
        return None

    def _bare(self, name: str, scope: Scope, kinds: tuple[str, ...]) -> Family | None:
        home = scope.place.home
        if home is not None and "pool" in kinds and name in home.pools:
            return home.pools[name]
        if "pool" in kinds and name in self.tables.pools:
            return self.tables.pools[name]
        if "stage" in kinds and name in self.tables.stages:
            return self.tables.stages[name]
        return None

    def _member(self, path: ast.Path, scope: Scope, kinds: tuple[str, ...]) -> Reference | None:
        self._unknown(path, path.parts[0].ident.name, scope, kinds)
        return None

    def _unknown(self, path: ast.Path, name: str, scope: Scope, kinds: tuple[str, ...]) -> None:
        known: dict[str, Family] = {}
        if "stage" in kinds:
            known |= self.tables.stages
        if "pool" in kinds:
            known |= self.tables.pools
            if scope.place.home is not None:
                known |= scope.place.home.pools
        what = " or ".join(kinds)
        near = closest(name, known)
        self.faults.error(
            f"unknown-{kinds[0]}" if len(kinds) == 1 else "unknown-resource",
            f"there is no {what} `{name}`",
            path.parts[0].ident.span,
            help=f"did you mean `{near}`?" if near else None,
            notes=((f"`{near}` is declared here", known[near].span),) if near else (),
            frames=scope.frames,
        )


def _closure(expr: ast.Expr | None, scope: Scope) -> Closure | None:
    return None if expr is None else Closure(expr, scope)
