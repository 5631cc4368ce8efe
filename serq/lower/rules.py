"""What an entry or a request may read and set: it sees its own.

The statements of a queue's entry and of an engine's request read their parameters, what they set
themselves, the request's hidden attributes, ``cached`` and ``computed``, and the pools and the
stage of their own queue or engine. An admission header reads less: no hidden attribute, no clock,
and of its own names only those set above the hold on every way.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass, field

from serq.diagnostics import Span
from serq.lower.faults import Faults
from serq.lower.scope import Closure, Scope
from serq.lower.tables import Engine, Family, PoolFamily, Queue, Tables
from serq.lower.vocabulary import CONTEXT, SCHEDULER_ATTRS
from serq.lower.walk import NameRead, reads
from serq.syntax import ast


@dataclass(slots=True)
class OwnRules:
    """The rules of one expansion of an entry or a request.

    ``prefix`` is put before the names an entry sets (``D.known``); a request's keep their spelling.
    ``own`` are the names the body assigns, ``definite`` those set so far on every way through it.
    """

    tables: Tables
    faults: Faults
    what: str  # `D.decode`
    owner: Queue | Engine
    prefix: str
    own: frozenset[str]
    params: frozenset[str]
    hidden: frozenset[str]
    definite: set[str] = field(default_factory=set)
    releasable: PoolFamily | None = None  # the pool the source of a `from` leased

    # --- attributes -----------------------------------------------------------------------------

    def attribute(self, name: str, span: Span, scope: Scope) -> str | None:
        """The attribute a bare name means here; None after a reported fault."""
        if name in self.own:
            return self.prefix + name
        if name in SCHEDULER_ATTRS or name in self.hidden:
            return name
        self.faults.error(
            "reads-outside",
            f"{self.what} reads `{name}`, which is set outside it: it sees its parameters, what it"
            " sets itself and the request's hidden attributes",
            span,
            help=f"pass `{name}` as a parameter",
            frames=scope.frames,
        )
        return None

    def dotted(self, name: str, span: Span, scope: Scope) -> bool:
        """Whether ``Q.x`` may be read; reported if not."""
        head, _, leaf = name.partition(".")
        if head in self.own:
            return True  # a field of a record of its own
        own = head == self.owner.name
        self.faults.error(
            "reads-outside",
            f"{self.what} reads `{name}`: "
            + (
                "a mark is for the caller to read"
                if own
                else "a queue sees its own, not what another sets"
            ),
            span,
            help=f"inside, write `{leaf}`" if own and leaf in self.own else None,
            frames=scope.frames,
        )
        return False

    def assign(self, target: ast.Ident, scope: Scope) -> str:
        """The attribute a statement of the body assigns."""
        name = target.name
        if name in self.params:
            self.faults.error(
                "sets-parameter",
                f"{self.what} sets its parameter `{name}`, which stands for the caller's argument",
                target.span,
                help="set another name",
                frames=scope.frames,
            )
        self.definite.add(name)
        return self.prefix + name

    # --- pools and stages -----------------------------------------------------------------------

    def is_own(self, family: Family) -> bool:
        """Whether a pool or stage belongs to the queue or the engine."""
        if isinstance(self.owner, Queue):
            return family is self.owner.stage or any(
                family is pool for pool in self.owner.pools.values()
            )
        if family is self.owner.stage:
            return True
        device = self.owner.device
        pools = [*self.owner.pools.values(), *(device.pools.values() if device else ())]
        return any(family is pool for pool in pools)

    def may_query(self, family: Family, path: ast.Path, scope: Scope) -> bool:
        """Whether a function may read the pool or stage; reported if not."""
        if self.is_own(family) or family is self.releasable:
            if len(path.parts) == 1 or not isinstance(self.owner, Queue):
                return True
            leaf = path.parts[-1].ident.name
            self.faults.error(
                "reads-outside",
                f"{self.what} reads `{path.span.text}`, its own: inside the queue write `{leaf}`",
                path.span,
                frames=scope.frames,
            )
            return False
        self.faults.error(
            "reads-outside",
            f"{self.what} reads `{family.name}`, which is not of `{self.owner.name}`: it sees its"
            " own pools and stage",
            path.span,
            help="the caller reads across queues and passes what is needed as an argument",
            frames=scope.frames,
        )
        return False

    def may_hold(self, family: Family, span: Span, scope: Scope) -> bool:
        """Whether a statement may act on the pool; reported if not."""
        if family is self.releasable:
            return True
        if isinstance(self.owner, Engine):
            allowed = {taking.pool.parts[0].ident.name for taking in self.owner.taking}
            if self.is_own(family) and family.name in allowed:
                return True
            help = "the pools a request was admitted with are those of `taking`"
        else:
            if self.is_own(family):
                return True
            help = "an entry allocates its queue's own pools"
        self.faults.error(
            "holds-outside",
            f"{self.what} acts on pool `{family.name}`, which is not its own to hold",
            span,
            help=help,
            frames=scope.frames,
        )
        return False

    # --- admission headers ----------------------------------------------------------------------

    def check_header(self, values: Iterable[Closure]) -> None:
        """Report what the units, reserve and reuse of a hold may not read."""
        for value in values:
            for read in reads(self.tables, value):
                if isinstance(read, NameRead) and read.scope.place.rules is self:
                    self._header_name(read)

    def _header_name(self, read: NameRead) -> None:
        name = read.name
        if read.local is not None or len(read.path.parts) > 1:
            return
        if name in self.tables.constants:
            return
        if name in self.own:
            if name not in self.definite:
                self.faults.error(
                    "header-reads-later",
                    f"the admission of {self.what} reads `{name}`, which is not set above it on"
                    " every way",
                    read.path.span,
                    help=f"set `{name}` before the hold, in both arms of a branch, not in a loop"
                    " or a fork",
                    frames=read.scope.frames,
                )
            return
        if name in SCHEDULER_ATTRS:
            return
        if name in self.hidden or name in CONTEXT or self._is_register(name):
            self.faults.error(
                "header-reads",
                f"the admission of {self.what} reads `{name}`: it sees the parameters, what is set"
                " above it, its own pools and stage, `cached`, `computed` and the constants",
                read.path.span,
                help=f"pass `{name}` as a parameter",
                frames=read.scope.frames,
            )

    def _is_register(self, name: str) -> bool:
        return any(name == register for register, _, _ in self.tables.registers)
