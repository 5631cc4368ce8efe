"""Statements of the text to statements of the kernel, every piece of sugar expanded."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from typing import ClassVar

from serq.diagnostics import Span
from serq.ir.nodes import Mode, Side
from serq.lower import kernel
from serq.lower.admission import Admission
from serq.lower.constants import Constants
from serq.lower.entries import Entries
from serq.lower.faults import Faults, closest
from serq.lower.kernel import BernoulliOf, Block, CostOf, NowAt, Reference
from serq.lower.names import Names
from serq.lower.references import EITHER, POOL, STAGE, References
from serq.lower.request import Requests
from serq.lower.rules import OwnRules
from serq.lower.scope import Closure, Place, Scope
from serq.lower.serving import Serving
from serq.lower.tables import Engine, PoolFamily, Queue, Tables
from serq.lower.uses import enter
from serq.syntax import ast


@dataclass(frozen=True, slots=True)
class Where:
    """Where a statement stands: whose side, in which block, and what is around it."""

    side: Side
    block: str  # init, turn, session, server, entry, request
    scope: Scope
    held: bool = False
    forked: bool = False
    rules: OwnRules | None = None  # of the entry or request around
    queue: Queue | None = None  # whose entry it is
    engine: Engine | None = None  # whose request it is

    @property
    def served(self) -> bool:
        """Whether the statement is the server's, an entry's or a request's."""
        return self.block in ("server", "entry", "request")


class Statements:
    """Expands the blocks of one program."""

    def __init__(self, tables: Tables, names: Names, faults: Faults) -> None:
        self.tables = tables
        self.names = names
        self.faults = faults
        self.references = References(tables, faults)
        self.constants = Constants(tables, faults)
        self.hidden = hidden_names(tables)
        self.admission = Admission(self)
        self.serving = Serving(self)
        self.entries = Entries(self)
        self.requests = Requests(self)

    def program(self) -> tuple[Block, Block, Block]:
        """The ``init``, ``turn`` and ``session`` blocks of the program."""
        init, turn, session = Block(), Block(), Block()
        workload = self.tables.workload
        if workload is None:
            return init, turn, session
        written: ast.Block | None = None
        for item in workload.items:
            if not isinstance(item, ast.BlockItem):
                continue
            if item.name == "session":
                written = item.body
                continue
            block = init if item.name == "init" else turn
            place = Place(f"`{item.name}`", statement=True)
            where = Where(Side.WORKLOAD, item.name, Scope(None, place=place))
            self.block(item.body, where, block)
        place = Place("the session", statement=True)
        where = Where(Side.WORKLOAD, "session", Scope(None, place=place))
        if written is not None:
            self.serving.supply_tool(written)
        if written is None:
            self._turn(_word(workload.span, "workload"), where, session)
        else:
            self.block(written, where, session)
            if not any(isinstance(s, kernel.Turn) for s in kernel.every(session)):
                self.faults.error(
                    "session-without-turn",
                    "the session has no `turn;`: each of its turns is handled by the server",
                    written.span,
                )
        last = session.statements[-1] if session.statements else None
        if not (isinstance(last, kernel.End) and last.side is Side.WORKLOAD):
            end = kernel.End(_word(workload.span, "workload"), (), Side.WORKLOAD)
            session.statements.append(end)
        return init, turn, session

    def block(self, block: ast.Block, where: Where, out: Block | None = None) -> Block:
        """The kernel statements of a block, appended to ``out``."""
        out = Block() if out is None else out
        for statement in block.statements:
            self.statement(statement, where, out)
        return out

    def statement(self, s: ast.Stmt, where: Where, out: Block) -> None:
        """Append the kernel statements that ``s`` stands for; faults are reported."""
        self.tables.budget.statement(s.span)
        if where.block in ("init", "turn") and not isinstance(
            s, ast.SetStmt | ast.ObserveStmt | ast.CallStmt
        ):
            self.refuse(
                "workload-statement",
                f"the workload's `{where.block}` block may only `set` and `observe`",
                s.span,
                where,
            )
            return
        self._handlers[type(s)](self, s, where, out)

    # --- plain statements -----------------------------------------------------------------------

    def _turn_statement(self, s: ast.TurnStmt, where: Where, out: Block) -> None:
        if where.served:
            self.refuse(
                "turn-in-server",
                "`turn` is the session's: the next turn is the workload's decision",
                s.span,
                where,
            )
            return
        self._turn(s.span, where, out)

    def _turn(self, span: Span, where: Where, out: Block) -> None:
        """``turn;``: the turn itself, then a fresh copy of the server's statements."""
        out.statements.append(kernel.Turn(span, where.scope.frames, Side.WORKLOAD))
        if self.tables.server is not None:
            self.block(self.tables.server.body, self.nowhere(), out)

    def nowhere(self) -> Where:
        """The place of the server's statements."""
        return Where(Side.SERVER, "server", Scope(None, place=Place("the server", statement=True)))

    def uncalled(self) -> Block:
        """Entries and requests that nothing calls, expanded so that their faults show."""
        block = self.entries.check_uncalled()
        block.statements += self.requests.check_uncalled().statements
        return block

    def _end(self, s: ast.EndStmt, where: Where, out: Block) -> None:
        if where.block in ("entry", "request"):
            self.refuse(
                "end-inside",
                "`end` in an entry or a request: the server refuses a request, with `end;` there",
                s.span,
                where,
            )
            return
        if where.served and (where.held or where.forked):
            around = "hold" if where.held else "fork"
            why = (
                "the request would end holding what it was admitted with"
                if where.held
                else "a leg runs beside the request and cannot end it"
            )
            self.refuse(
                "end-inside",
                f"`end` inside a `{around}` of the server: {why}",
                s.span,
                where,
                help="refuse the request before the hold" if where.held else None,
            )
            return
        out.statements.append(kernel.End(s.span, where.scope.frames, where.side))

    def _join(self, s: ast.JoinStmt, where: Where, out: Block) -> None:
        out.statements.append(kernel.Join(s.span, where.scope.frames, where.side))

    def _set(self, s: ast.SetStmt, where: Where, out: Block) -> None:
        name = s.target.name
        if s.kind == "Size" and where.side is Side.SERVER:
            self.refuse(
                "size-in-server",
                "a server declares no `Size`: a Size is a quantity of the workload's request",
                s.span,
                where,
                help=f"write `set {name} = …;`",
            )
            return
        value = Closure(s.value, where.scope)
        attribute = self.assigned(s.target, where)
        out.statements.append(
            kernel.Set(s.span, where.scope.frames, where.side, attribute, value, s.kind)
        )

    def assigned(self, target: ast.Ident, where: Where) -> str:
        """The attribute a statement assigns; reported if it may not be assigned here."""
        name = target.name
        self.names.supplied(name, target.span, "an attribute")
        self.tables.attributes.setdefault(name, target.span)
        owner = self.requests.is_foreign(name, where.rules)
        if owner is not None:
            assert owner.request is not None
            self.refuse(
                "request-names",
                f"`{name}` is the own name of the request of `{owner.name}`, and is set outside it",
                target.span,
                where,
                help="rename one of the two",
                notes=(("the request is here", owner.request.span),),
            )
        return name if where.rules is None else where.rules.assign(target, where.scope)

    def _record(self, s: ast.CostRecordStmt, where: Where, out: Block) -> None:
        written = s.target.name
        self.names.supplied(written, s.target.span, "a record")
        name = written if where.rules is None else where.rules.assign(s.target, where.scope)
        first = self.tables.records.setdefault(name, s)
        seen: dict[str, Span] = {}
        faults = len(self.faults.errors)
        for item in s.fields:
            reference = self.references.resolve(item.resource, where.scope, EITHER, index=False)
            if reference is None:
                continue
            key = item.resource.span.text
            if reference.index is not None:
                self.refuse(
                    "record-index",
                    "a field of a cost record names a family, without an index",
                    item.resource.span,
                    where,
                )
                continue
            if key in seen:
                self.refuse(
                    "declared-twice",
                    f"`{name}` has the field `{key}` twice",
                    item.resource.span,
                    where,
                )
                continue
            seen[key] = item.resource.span
            slot = f"{name}.{key}"
            self.tables.dotted.setdefault(slot, s.target.span)
            value = CostOf((reference,), Closure(item.value, where.scope), item.span)
            out.statements.append(
                kernel.Set(s.span, where.scope.frames, where.side, slot, value, "Cost")
            )
        same = list(seen) == [f.resource.span.text for f in first.fields]
        if not same and len(self.faults.errors) == faults:
            self.refuse(
                "record-fields",
                f"the cost record `{name}` has other fields here than where it is declared first",
                s.span,
                where,
                notes=((f"`{name}` is declared here", first.span),),
            )

    def _observe(self, s: ast.ObserveStmt, where: Where, out: Block) -> None:
        self.tables.observations.setdefault(s.target.name, s.target.span)
        value = Closure(s.value, where.scope)
        out.statements.append(
            kernel.Observe(s.span, where.scope.frames, where.side, s.target.name, value)
        )

    def _hold(self, s: ast.HoldStmt, where: Where, out: Block) -> None:
        self.admission.hold(s, where, out)

    def _amount(self, s: ast.GrowStmt | ast.LoadStmt, where: Where, out: Block) -> None:
        pool = self.held_pool(s.pool, where)
        if pool is None:
            return
        kind = kernel.Grow if isinstance(s, ast.GrowStmt) else kernel.Load
        amount = Closure(s.amount, where.scope)
        out.statements.append(kind(s.span, where.scope.frames, where.side, pool, amount))

    def _give_back(self, s: ast.DropStmt | ast.ReleaseStmt, where: Where, out: Block) -> None:
        pool = self.held_pool(s.pool, where)
        if pool is None:
            return
        kind = kernel.Drop if isinstance(s, ast.DropStmt) else kernel.Release
        out.statements.append(kind(s.span, where.scope.frames, where.side, pool))

    def _run(self, s: ast.RunStmt, where: Where, out: Block) -> None:
        stages = (
            [self.stage(path, where) for path in s.stages]
            if s.stages
            else [self.own_stage(s.span, where)]
        )
        growing = None if s.growing is None else self.held_pool(s.growing, where)
        if any(stage is None for stage in stages) or (s.growing is not None and growing is None):
            return
        mode = {None: Mode.PLAIN, "prefill": Mode.PREFILL, "decode": Mode.DECODE}[s.mode]
        out.statements.append(
            kernel.Run(
                s.span,
                where.scope.frames,
                where.side,
                [stage for stage in stages if stage is not None],
                mode,
                Closure(s.work, where.scope),
                growing,
            )
        )

    def own_stage(self, span: Span, where: Where) -> Reference | None:
        """The stage of the queue whose entry this is, for a ``run`` that names none."""
        queue = where.queue
        if queue is not None and queue.stage is not None:
            head = Span(span.source, span.start, span.start + len("run"))
            return Reference(queue.stage, self.references.own_index(where.scope), head, where.scope)
        if queue is not None:
            self.refuse(
                "run-without-stage",
                f"queue `{queue.name}` has no stage for a `run` that names none",
                span,
                where,
                help="declare its `serve` or its engine above its entries",
            )
            return None
        self.refuse(
            "run-without-stage",
            "`run` names its stage outside a queue's entries: `run STAGE (…)`",
            span,
            where,
        )
        return None

    def _branch(self, s: ast.BranchStmt, where: Where, out: Block) -> None:
        guard: kernel.Value = Closure(s.guard, where.scope)
        if s.drawn:
            guard = BernoulliOf(Closure(s.guard, where.scope), s.guard.span)
        before = self._definite(where)
        then = self.block(s.then, where)
        after_then = self._definite(where)
        self._forget(where, before)
        orelse = Block() if s.orelse is None else self.block(s.orelse, where)
        self._forget(where, self._definite(where) & after_then)
        out.statements.append(
            kernel.Branch(s.span, where.scope.frames, where.side, guard, then, orelse)
        )

    def _while(self, s: ast.WhileStmt, where: Where, out: Block) -> None:
        guard = Closure(s.guard, where.scope)
        body = self._perhaps(s.body, where)
        out.statements.append(kernel.While(s.span, where.scope.frames, where.side, guard, body))

    def _loop(self, s: ast.LoopStmt, where: Where, out: Block) -> None:
        body = self._perhaps(s.body, where)
        out.statements.append(kernel.Loop(s.span, where.scope.frames, where.side, body))

    def _fork(self, s: ast.ForkStmt, where: Where, out: Block) -> None:
        body = self._perhaps(s.body, replace(where, forked=True))
        out.statements.append(kernel.Fork(s.span, where.scope.frames, where.side, body))

    def _perhaps(self, block: ast.Block, where: Where) -> Block:
        """A block that may not run, or not in this session: what it sets is not sure after it."""
        before = self._definite(where)
        body = self.block(block, where)
        self._forget(where, before)
        return body

    def _definite(self, where: Where) -> set[str]:
        return set() if where.rules is None else set(where.rules.definite)

    def _forget(self, where: Where, names: set[str]) -> None:
        if where.rules is not None:
            where.rules.definite = names

    def _choose(self, s: ast.ChooseStmt, where: Where, out: Block) -> None:
        attribute = self.assigned(s.var, where)
        count = Closure(s.count, where.scope)
        keys: list[kernel.Value] = [Closure(key, where.scope) for key in s.keys]
        out.statements.append(
            kernel.Choose(s.span, where.scope.frames, where.side, attribute, count, keys)
        )

    # --- sugar ----------------------------------------------------------------------------------

    def _serving(self, s: ast.ServingStmt, where: Where, out: Block) -> None:
        self.serving.expand(s, where, out)

    def _engine_run(self, s: ast.EngineRunStmt, where: Where, out: Block) -> None:
        if where.engine is not None:
            self.requests.run(s, where, out)
            return
        self.refuse(
            "request-only",
            f"`{s.mode}` is a statement only in an engine's `request`",
            s.span,
            where,
            help=f"write `run E {s.mode} (cost(E, …));` on the engine `E`",
        )

    def _admission_item(self, s: ast.AdmissionStmt, where: Where, out: Block) -> None:
        self.refuse(
            "request-only",
            "`at admission { … }` is an item of an engine's `request`",
            s.span,
            where,
            help="in a hold, write `at admission (x = …)` before its body",
        )

    def _cache_item(self, s: ast.CacheStmt, where: Where, out: Block) -> None:
        self.refuse(
            "request-only",
            "`cache (…);` is the last item of an engine's `request`",
            s.span,
            where,
            help="a hold's `cache (…)` stands after its body, before the `;`",
        )

    def _mark(self, s: ast.MarkStmt, where: Where, out: Block) -> None:
        owner = where.queue or where.engine
        if owner is not None:
            name = f"{owner.name}.{s.target.name}"
            self.tables.dotted.setdefault(name, s.target.span)
            self.tables.marks.setdefault(name, s.target.span)
            frames = where.scope.frames
            now = NowAt(s.span, frames)
            out.statements.append(kernel.Set(s.span, frames, where.side, name, now, "mark"))
            return
        self.refuse(
            "mark-place",
            "`mark` stands in a queue's entry or an engine's request: it names a moment that the"
            " caller reads",
            s.span,
            where,
        )

    def _entry_call(self, s: ast.EntryCallStmt, where: Where, out: Block) -> None:
        self.entries.call(s, where, out)

    def _call(self, s: ast.CallStmt, where: Where, out: Block) -> None:
        name = s.func.name
        engine = self.tables.engines.get(name)
        if engine is not None and engine.request is not None:
            self.requests.call(engine, s, where, out)
            return
        definition = self.tables.definitions.get(name)
        if definition is None:
            self._unknown_statement(s, where)
            return
        if not isinstance(definition.body, ast.Block):
            self.refuse(
                "value-as-statement",
                f"`{name}` is a definition of an expression, not of statements",
                s.span,
                where,
                notes=((f"`{name}` is defined here", definition.decl.target.span),),
            )
            return
        scope = enter(self.tables, definition, s, where.scope, self.faults)
        if scope is not None:
            self.block(definition.body, replace(where, scope=scope), out)

    def _unknown_statement(self, s: ast.CallStmt, where: Where) -> None:
        name = s.func.name
        known = {
            d.name: d.decl.target.span
            for d in self.tables.definitions.values()
            if isinstance(d.body, ast.Block)
        }
        known |= {e.name: e.span for e in self.tables.engines.values() if e.request is not None}
        near = closest(name, known)
        self.refuse(
            "unknown-statement",
            f"there is no statement `{name}`: no definition of statements and no engine with a"
            " request has this name",
            s.func.span,
            where,
            help=f"did you mean `{near}`?" if near else None,
            notes=((f"`{near}` is declared here", known[near]),) if near else (),
        )

    # --- shared ---------------------------------------------------------------------------------

    def pool(self, path: ast.Path, where: Where) -> Reference | None:
        return self.references.resolve(path, where.scope, POOL)

    def held_pool(self, path: ast.Path, where: Where) -> Reference | None:
        """A pool that a statement allocates on: only a queue's entries act on its pools."""
        found = self.pool(path, where)
        if found is None:
            return None
        if where.rules is not None:
            return found if where.rules.may_hold(found.family, path.span, where.scope) else None
        owner = found.family.queue if isinstance(found.family, PoolFamily) else None
        if owner is not None and owner is not where.queue:
            self.refuse(
                "holds-outside",
                f"`{path.span.text}` is a pool of queue `{owner.name}`, and only its entries hold"
                " it",
                path.span,
                where,
                help=f"call an entry of `{owner.name}`",
                notes=((f"`{owner.name}` is declared here", owner.span),),
            )
            return None
        return found

    def stage(self, path: ast.Path, where: Where) -> Reference | None:
        return self.references.resolve(path, where.scope, STAGE)

    def refuse(
        self,
        code: str,
        message: str,
        span: Span,
        where: Where,
        *,
        help: str | None = None,
        notes: Sequence[tuple[str, Span | None]] = (),
    ) -> None:
        self.faults.error(code, message, span, help=help, notes=notes, frames=where.scope.frames)

    _handlers: ClassVar[dict[type, Callable[..., None]]] = {
        ast.TurnStmt: _turn_statement,
        ast.EndStmt: _end,
        ast.JoinStmt: _join,
        ast.SetStmt: _set,
        ast.CostRecordStmt: _record,
        ast.ObserveStmt: _observe,
        ast.HoldStmt: _hold,
        ast.GrowStmt: _amount,
        ast.LoadStmt: _amount,
        ast.DropStmt: _give_back,
        ast.ReleaseStmt: _give_back,
        ast.RunStmt: _run,
        ast.BranchStmt: _branch,
        ast.WhileStmt: _while,
        ast.LoopStmt: _loop,
        ast.ForkStmt: _fork,
        ast.ChooseStmt: _choose,
        ast.ServingStmt: _serving,
        ast.EngineRunStmt: _engine_run,
        ast.EntryCallStmt: _entry_call,
        ast.CallStmt: _call,
        ast.MarkStmt: _mark,
        ast.AdmissionStmt: _admission_item,
        ast.CacheStmt: _cache_item,
    }


def hidden_names(tables: Tables) -> frozenset[str]:
    """The attributes that the workload hides from the scheduler."""
    if tables.workload is None:
        return frozenset()
    return frozenset(
        ident.name
        for item in tables.workload.items
        if isinstance(item, ast.HiddenItem)
        for ident in item.names
    )


def _word(span: Span, word: str) -> Span:
    """The first word of a declaration."""
    return Span(span.source, span.start, span.start + len(word))
