"""Statements of the text to statements of the kernel, every piece of sugar expanded."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from typing import ClassVar

from serq.diagnostics import Span
from serq.ir.nodes import Mode, Side
from serq.lower import kernel
from serq.lower.admission import Admission
from serq.lower.faults import Faults, closest
from serq.lower.kernel import BernoulliOf, Block, CostOf, Reference
from serq.lower.names import Names
from serq.lower.references import EITHER, POOL, STAGE, References
from serq.lower.scope import Closure, Place, Scope
from serq.lower.serving import Serving
from serq.lower.tables import Tables
from serq.lower.uses import enter
from serq.syntax import ast

MAX_STATEMENTS = 200_000
"""How many statements a program may expand to before it is refused."""


class TooManyStatements(Exception):
    """The program's definitions and turns expand to more than `MAX_STATEMENTS`."""

    def __init__(self, span: Span) -> None:
        super().__init__(span)
        self.span = span


@dataclass(frozen=True, slots=True)
class Where:
    """Where a statement stands: whose side, in which block, and what is around it."""

    side: Side
    block: str  # init, turn, session, server, entry, request
    scope: Scope
    held: bool = False
    forked: bool = False

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
        self.admission = Admission(self)
        self.serving = Serving(self)
        self.count = 0

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
            where = Where(Side.WORKLOAD, item.name, Scope(None, place=Place(f"`{item.name}`")))
            self.block(item.body, where, block)
        where = Where(Side.WORKLOAD, "session", Scope(None, place=Place("the session")))
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
        self.count += 1
        if self.count > MAX_STATEMENTS:
            raise TooManyStatements(s.span)
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
            scope = Scope(None, place=Place("the server"))
            server = Where(Side.SERVER, "server", scope, where.held, where.forked)
            self.block(self.tables.server.body, replace(server, held=False, forked=False), out)

    def _end(self, s: ast.EndStmt, where: Where, out: Block) -> None:
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
        self.assignable(s.target, where)
        value = Closure(s.value, where.scope)
        out.statements.append(
            kernel.Set(s.span, where.scope.frames, where.side, name, value, s.kind)
        )

    def assignable(self, target: ast.Ident, where: Where) -> None:
        """Report a name that no statement may assign, and note the attribute."""
        self.names.supplied(target.name, target.span, "an attribute")
        if where.scope.place.rules is not None:
            where.scope.place.rules.assigns(target, where.scope)
        self.tables.attributes.setdefault(target.name, target.span)

    def _record(self, s: ast.CostRecordStmt, where: Where, out: Block) -> None:
        name = s.target.name
        self.names.supplied(name, s.target.span, "a record")
        first = self.tables.records.setdefault(name, s)
        seen: dict[str, Span] = {}
        if not s.fields:
            self.refuse("empty-record", f"the cost record `{name}` has no field", s.span, where)
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
            self.tables.attributes.setdefault(slot, s.target.span)
            value = CostOf((reference,), Closure(item.value, where.scope), item.span)
            out.statements.append(
                kernel.Set(s.span, where.scope.frames, where.side, slot, value, "Cost")
            )
        if list(seen) != [f.resource.span.text for f in first.fields]:
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
        pool = self.pool(s.pool, where)
        if pool is None:
            return
        kind = kernel.Grow if isinstance(s, ast.GrowStmt) else kernel.Load
        amount = Closure(s.amount, where.scope)
        out.statements.append(kind(s.span, where.scope.frames, where.side, pool, amount))

    def _give_back(self, s: ast.DropStmt | ast.ReleaseStmt, where: Where, out: Block) -> None:
        pool = self.pool(s.pool, where)
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
        growing = None if s.growing is None else self.pool(s.growing, where)
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
        then = self.block(s.then, where)
        orelse = Block() if s.orelse is None else self.block(s.orelse, where)
        out.statements.append(
            kernel.Branch(s.span, where.scope.frames, where.side, guard, then, orelse)
        )

    def _while(self, s: ast.WhileStmt, where: Where, out: Block) -> None:
        guard = Closure(s.guard, where.scope)
        body = self.block(s.body, where)
        out.statements.append(kernel.While(s.span, where.scope.frames, where.side, guard, body))

    def _loop(self, s: ast.LoopStmt, where: Where, out: Block) -> None:
        body = self.block(s.body, where)
        out.statements.append(kernel.Loop(s.span, where.scope.frames, where.side, body))

    def _fork(self, s: ast.ForkStmt, where: Where, out: Block) -> None:
        body = self.block(s.body, replace(where, forked=True))
        out.statements.append(kernel.Fork(s.span, where.scope.frames, where.side, body))

    def _choose(self, s: ast.ChooseStmt, where: Where, out: Block) -> None:
        self.assignable(s.var, where)
        count = Closure(s.count, where.scope)
        keys: list[kernel.Value] = [Closure(key, where.scope) for key in s.keys]
        out.statements.append(
            kernel.Choose(s.span, where.scope.frames, where.side, s.var.name, count, keys)
        )

    # --- sugar ----------------------------------------------------------------------------------

    def _serving(self, s: ast.ServingStmt, where: Where, out: Block) -> None:
        self.serving.expand(s, where, out)

    def _engine_run(self, s: ast.EngineRunStmt, where: Where, out: Block) -> None:
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
        self.refuse(
            "mark-place",
            "`mark` stands in a queue's entry or an engine's request: it names a moment that the"
            " caller reads",
            s.span,
            where,
        )

    def _entry_call(self, s: ast.EntryCallStmt, where: Where, out: Block) -> None:
        self.names.unknown("unknown-queue", "queue", s.queue.ident, {})

    def _call(self, s: ast.CallStmt, where: Where, out: Block) -> None:
        name = s.func.name
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


def _word(span: Span, word: str) -> Span:
    """The first word of a declaration."""
    return Span(span.source, span.start, span.start + len(word))
