"""Entry calls: ``P[i].prefill (prompt);`` becomes the entry's body in its place."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING

from serq.diagnostics import Span
from serq.lower import kernel
from serq.lower.faults import Frame
from serq.lower.kernel import Block, CostOf, Reference
from serq.lower.rules import OwnRules
from serq.lower.scope import Closure, IndexValue, Local, Place, Scope, SourceQueue, Substituted
from serq.lower.tables import Entry, PoolFamily, Queue
from serq.lower.uses import assigned_names
from serq.lower.walk import DrawRead, reads
from serq.syntax import ast

if TYPE_CHECKING:
    from serq.lower.statements import Statements, Where


class Entries:
    """Expands the entries of queues where they are called."""

    def __init__(self, statements: Statements) -> None:
        self.statements = statements
        self.tables = statements.tables
        self.faults = statements.faults
        self.expanding: list[Entry] = []
        self.called: set[int] = set()

    def call(self, s: ast.EntryCallStmt, where: Where, out: Block) -> None:
        if not where.served:
            self.statements.refuse(
                "call-in-session",
                "a queue's entries are called by the server; the session describes turns",
                s.span,
                where,
            )
            return
        queue = self._queue(s.queue.ident, where)
        if queue is None:
            return
        found = self._entry(s, queue, where)
        if found is None:
            return
        entry, source = found
        fits, index = self._index(s.queue, queue, where)
        if not fits:
            return
        if not self._ends_fit(s, entry, where):
            return
        names = self._arguments(s, entry, where)
        if names is None:
            return
        if index is not None:
            names["self"] = Substituted(index, "self")
        if source is not None and s.source is not None:
            fits, given = self._index(s.source, source, where)
            if not fits:
                return
            ident = entry.item.source
            assert ident is not None
            names[ident.name] = SourceQueue(source, given)
        self._expand(s, entry, names, where, out)
        if s.verb.name == "transfer":
            self._moved(s, where, out)

    # --- finding the entry ----------------------------------------------------------------------

    def _queue(self, ident: ast.Ident, where: Where) -> Queue | None:
        queue = self.tables.queues.get(ident.name)
        if queue is None:
            self.statements.names.unknown(
                "unknown-queue",
                "queue",
                ident,
                {q.name: q.span for q in self.tables.queues.values()},
            )
        return queue

    def _entry(
        self, s: ast.EntryCallStmt, queue: Queue, where: Where
    ) -> tuple[Entry, Queue | None] | None:
        verb = s.verb.name
        named: str | None = None
        source: Queue | None = None
        if s.source is not None and verb != "transfer":
            named = s.source.ident.name
            source = self._queue(s.source.ident, where)
            if source is None:
                return None
        entry = queue.entry(verb, named)
        if entry is not None:
            return None if entry.faulty else (entry, source)
        known = [
            f"`{e.verb}`" if e.source_name is None else f"`{e.verb} … from {e.source_name}`"
            for e in queue.entries
        ]
        written = f"`{verb}`" if source is None else f"`{verb} … from {source.name}`"
        self.statements.refuse(
            "unknown-verb",
            f"queue `{queue.name}` has no entry {written}",
            s.verb.span,
            where,
            help=f"it has {', '.join(known)}" if known else None,
            notes=((f"`{queue.name}` is declared here", queue.span),),
        )
        return None

    def _index(self, part: ast.Part, queue: Queue, where: Where) -> tuple[bool, Closure | None]:
        """Whether a call names a member as it must, and the index; a fault is reported."""
        if queue.family and part.index is None:
            self.statements.refuse(
                "needs-index",
                f"`{queue.name}` is a family of {queue.count}: name a member, `{queue.name}[0]`",
                part.span,
                where,
                notes=((f"`{queue.name}` is declared here", queue.span),),
            )
            return False, None
        if not queue.family and part.index is not None:
            self.statements.refuse(
                "index-of-single",
                f"`{queue.name}` is one queue, not a family: it has no members",
                part.span,
                where,
                notes=((f"`{queue.name}` is declared here", queue.span),),
            )
            return False, None
        if part.index is None:
            return True, None
        closure = Closure(part.index, where.scope)
        if any(isinstance(read, DrawRead) for read in reads(self.tables, closure)):
            self.statements.refuse(
                "argument-draws",
                "the index of a call draws: it is put in wherever the entry names its member",
                part.index.span,
                where,
                help="draw into an attribute first",
            )
            return False, None
        value = self.statements.constants.quiet(part.index, where.scope)
        if value is not None and not (0 <= value < queue.count and value == int(value)):
            self.statements.refuse(
                "index-out-of-range",
                f"`{queue.name}[{value:g}]` names no queue: `{queue.name}` has {queue.count}"
                f" member(s), 0 to {queue.count - 1}",
                part.span,
                where,
                notes=((f"`{queue.name}` is declared here", queue.span),),
            )
            return False, None
        return True, closure

    def _ends_fit(self, s: ast.EntryCallStmt, entry: Entry, where: Where) -> bool:
        """A transfer names the two pools; nothing else has a ``to``."""
        if entry.verb == "transfer":
            if s.source is None or s.destination is None:
                self.statements.refuse(
                    "transfer-without-ends",
                    "a transfer says where the KV comes from and goes to: `from P to Q (n)`",
                    s.span,
                    where,
                )
                return False
            return True
        if s.destination is not None:
            self.statements.refuse(
                "to-place",
                f"a `to` belongs to a link's `transfer`, not to `{entry.verb}`",
                s.destination.span,
                where,
            )
            return False
        return True

    def _arguments(
        self, s: ast.EntryCallStmt, entry: Entry, where: Where
    ) -> dict[str, Local] | None:
        what = f"`{entry.queue.name}.{entry.verb}`"
        return bind_parameters(self.statements, what, entry.item.params, s.args, s.verb.span, where)

    # --- expanding ------------------------------------------------------------------------------

    def _expand(
        self,
        s: ast.EntryCallStmt,
        entry: Entry,
        names: dict[str, Local],
        where: Where,
        out: Block,
    ) -> None:
        self.called.add(id(entry))
        if entry in self.expanding:
            self.statements.refuse(
                "entries-in-a-cycle",
                f"`{entry.queue.name}.{entry.verb}` calls itself, through "
                + ", ".join(f"`{e.queue.name}.{e.verb}`" for e in self.expanding),
                s.span,
                where,
            )
            return
        frame = Frame(f"`{entry.queue.name}.{entry.verb}` is called here", s.span)
        self.expanding.append(entry)
        self._body(entry, names, frame, where, out)
        self.expanding.pop()

    def _body(
        self,
        entry: Entry,
        names: dict[str, Local],
        frame: Frame | None,
        where: Where,
        out: Block,
    ) -> None:
        queue = entry.queue
        what = f"`{queue.name}.{entry.verb}`"
        rules: OwnRules | None = None
        if entry.verb != "route":
            rules = OwnRules(
                self.tables,
                self.faults,
                what,
                queue,
                f"{queue.name}.",
                frozenset(assigned_names(self.tables, entry.item.body)),
                frozenset(p.name for p in entry.item.params),
                self.statements.hidden,
                releasable=self.leased(entry.source),
            )
        place = Place(what, home=queue, rules=rules, statement=True)
        frames = where.scope.frames if frame is None else (*where.scope.frames, frame)
        scope = Scope(None, names, False, frames, place)
        inside = replace(
            where,
            block="entry",
            scope=scope,
            held=False,
            forked=False,
            rules=rules,
            queue=queue,
            engine=None,
        )
        self.statements.block(entry.item.body, inside, out)

    def check_uncalled(self) -> Block:
        """The bodies of entries that nothing calls, expanded so that their faults show."""
        out = Block()
        where = self.statements.nowhere()
        for queue in self.tables.queues.values():
            for entry in queue.entries:
                if id(entry) in self.called or entry.faulty:
                    continue
                names: dict[str, Local] = {p.name: IndexValue(1.0) for p in entry.item.params}
                if queue.family:
                    zero = ast.Number(entry.item.verb.span, 0.0, "0")
                    names["self"] = Substituted(Closure(zero, where.scope), "self")
                if entry.source is not None and entry.item.source is not None:
                    zero = ast.Number(entry.item.source.span, 0.0, "0")
                    index = Closure(zero, where.scope) if entry.source.family else None
                    names[entry.item.source.name] = SourceQueue(entry.source, index)
                self.called.add(id(entry))
                self.expanding.append(entry)
                self._body(entry, names, None, where, out)
                self.expanding.pop()
        return out

    def leased(self, source: Queue | None) -> PoolFamily | None:
        name = None if source is None else source.leased_pool()
        return None if source is None or name is None else source.pools[name]

    # --- a called link --------------------------------------------------------------------------

    def _moved(self, s: ast.EntryCallStmt, where: Where, out: Block) -> None:
        assert s.source is not None and s.destination is not None
        path = ast.Path(s.source.span, (s.source,))
        into = self.statements.held_pool(s.destination.pool, where)
        source = self.statements.held_pool(path, where)
        if into is None or source is None:
            return
        load(s.destination, into, s.span, where, out)
        release(source, s.span, where, out)


def load(
    destination: ast.Destination, into: Reference, span: Span, where: Where, out: Block
) -> None:
    """``to Q (n)``: the tokens count as computed at ``Q``."""
    amount = CostOf((into,), Closure(destination.amount, where.scope), destination.span)
    out.statements.append(kernel.Load(span, where.scope.frames, where.side, into, amount))


def release(source: Reference, span: Span, where: Where, out: Block) -> None:
    """``from P``: ``P`` is given back."""
    out.statements.append(kernel.Release(span, where.scope.frames, where.side, source))


def bind_parameters(
    statements: Statements,
    what: str,
    params: tuple[ast.Ident, ...],
    args: tuple[ast.Expr, ...],
    span: Span,
    where: Where,
) -> dict[str, Local] | None:
    """The parameters of an entry or a request, each standing for its argument."""
    if len(args) != len(params):
        statements.refuse(
            "argument-count",
            f"{what} takes {len(params)} argument(s), not {len(args)}",
            span,
            where,
        )
        return None
    names: dict[str, Local] = {}
    for param, arg in zip(params, args, strict=True):
        closure = Closure(arg, where.scope)
        if any(isinstance(read, DrawRead) for read in reads(statements.tables, closure)):
            statements.refuse(
                "argument-draws",
                f"the argument for `{param.name}` of {what} draws: it is put in wherever the body"
                " reads the parameter",
                arg.span,
                where,
                help="draw into an attribute first and pass its name",
            )
        names[param.name] = Substituted(closure, "argument")
    return names
