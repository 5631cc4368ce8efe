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
        if isinstance(local, Substituted) and local.what == "parameter":
            return self._argument(path, local, scope, kinds)
        if isinstance(local, SourceQueue):
            return self._source(path, local, scope, kinds)
        if len(path.parts) == 1:
            own = self._own(name, scope, kinds)
            if own is not None:
                return self._of_member(own, first, path, scope)
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

    def _source(
        self, path: ast.Path, local: SourceQueue, scope: Scope, kinds: tuple[str, ...]
    ) -> Reference | None:
        """The pool the source of a `decode … from` leased for this request."""
        name = local.queue.leased_pool()
        if len(path.parts) > 1 or path.parts[0].index is not None or name is None:
            self.faults.error(
                "not-a-resource",
                f"`{path.span.text}`: `{path.parts[0].ident.name}` is the pool that the request's"
                " source leased, named alone",
                path.span,
                frames=scope.frames,
            )
            return None
        if "pool" not in kinds:
            self.faults.error(
                "not-a-resource",
                f"`{path.span.text}` is the pool that the request's source leased, not a stage",
                path.span,
                frames=scope.frames,
            )
            return None
        return Reference(local.queue.pools[name], local.index, path.span, scope)

    def _bare(self, name: str, scope: Scope, kinds: tuple[str, ...]) -> Family | None:
        if "pool" in kinds and name in self.tables.pools:
            return self.tables.pools[name]
        if "stage" in kinds and name in self.tables.stages:
            return self.tables.stages[name]
        return None

    def _own(self, name: str, scope: Scope, kinds: tuple[str, ...]) -> Family | None:
        """A pool of the queue whose entry this is, by its name within, or the queue's stage."""
        home = scope.place.home
        if home is None:
            return None
        if "pool" in kinds and name in home.pools:
            return home.pools[name]
        if "stage" in kinds and name == home.name:
            return home.stage
        return None

    def _of_member(
        self, family: Family, part: ast.Part, path: ast.Path, scope: Scope
    ) -> Reference | None:
        """The member whose entry runs: the queue's own pools and stage take no index within."""
        if part.index is not None:
            self.faults.error(
                "indexed-twice",
                f"`{path.span.text}`: inside the queue, `{part.ident.name}` is the member's own and"
                " takes no index",
                path.span,
                frames=scope.frames,
            )
            return None
        return Reference(family, self.own_index(scope), path.span, scope)

    def own_index(self, scope: Scope) -> Closure | None:
        """The member whose entry runs, None for a queue that is no family."""
        local = scope.find("self")
        return local.value if isinstance(local, Substituted) else None

    def _member(self, path: ast.Path, scope: Scope, kinds: tuple[str, ...]) -> Reference | None:
        """``P.kv``, ``D[j].kv``, ``D[j].nic``: a queue's pool or NIC from outside."""
        head = path.parts[0]
        queue = self.tables.queues.get(head.ident.name)
        if queue is None:
            known = {q.name: q.span for q in self.tables.queues.values()}
            near = closest(head.ident.name, known)
            self.faults.error(
                "unknown-queue",
                f"there is no queue `{head.ident.name}`",
                head.ident.span,
                help=f"did you mean `{near}`?" if near else None,
                notes=((f"`{near}` is declared here", known[near]),) if near else (),
                frames=scope.frames,
            )
            return None
        name = path.parts[1].ident.name
        family: Family | None = queue.pools.get(name) if "pool" in kinds else None
        if family is None and name == "nic" and "stage" in kinds:
            family = queue.nic
        if family is None:
            what = " or ".join(kinds)
            own = {n: p.span for n, p in queue.pools.items()}
            near = closest(name, own)
            self.faults.error(
                f"unknown-{kinds[0]}" if len(kinds) == 1 else "unknown-resource",
                f"queue `{queue.name}` has no {what} `{name}`",
                path.parts[1].ident.span,
                help=f"did you mean `{near}`?" if near and near != name else None,
                notes=((f"`{queue.name}` is declared here", queue.span),),
                frames=scope.frames,
            )
            return None
        if path.parts[1].index is not None:
            self.faults.error(
                "index-of-member",
                f"the index is the queue's: write `{queue.name}[…].{name}`",
                path.parts[1].span,
                frames=scope.frames,
            )
            return None
        index = _closure(head.index, scope)
        if index is None and queue.family and queue.count == 1:
            index = Closure(ast.Number(path.span, 0.0, "0"), scope)  # `D.kv` at size one
        return Reference(family, index, path.span, scope)

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
