"""The serving vocabulary: ``transfer`` and ``tool``, sugar for runs, loads and releases."""

from __future__ import annotations

from typing import TYPE_CHECKING

from serq.diagnostics import Span
from serq.ir.nodes import Mode, Side
from serq.lower import kernel
from serq.lower.entries import load, release
from serq.lower.kernel import Block, CostOf, Reference
from serq.lower.scope import Closure, SourceQueue
from serq.lower.tables import Relation, StageFamily
from serq.lower.tree import subtree
from serq.syntax import ast

if TYPE_CHECKING:
    from serq.lower.statements import Statements, Where

ROLE_STAGES = {"tool": ("tool",), "transfer": ("link", "transfer")}
"""A form finds its stage by name among those declared above it."""


class Serving:
    """Expands the serving forms."""

    def __init__(self, statements: Statements) -> None:
        self.statements = statements
        self.tables = statements.tables

    def expand(self, s: ast.ServingStmt, where: Where, out: Block) -> None:
        if s.form == "transfer" and where.side is Side.WORKLOAD:
            self.statements.refuse(
                "transfer-in-session",
                "`transfer` moves the request's KV, which is the server's",
                s.span,
                where,
            )
            return
        if s.form == "transfer" and (s.source is None or s.destination is None):
            self.statements.refuse(
                "transfer-without-ends",
                "a transfer says where the KV comes from and goes to: `from P to Q (n)`",
                s.span,
                where,
            )
            return
        relation = self._relation(s, where)
        stages = self._stages(s, where) if relation is None else self._nics(s, relation, where)
        if stages is None:
            return
        if s.form == "transfer":
            self._waits(stages, relation, s, where, out)
        self.run(stages, s, where, out)
        if s.form == "transfer":
            self.moved(s, where, out)

    def _relation(self, s: ast.ServingStmt, where: Where) -> Relation | None:
        """The relation whose copy a ``transfer`` without ``on`` is, in an entry with a source."""
        if s.form != "transfer" or s.stages or s.index is not None or where.queue is None:
            return None
        for relation in self.tables.relations:
            if relation.reader is where.queue:
                return relation
        return None

    def _nics(self, s: ast.ServingStmt, relation: Relation, where: Where) -> list[Reference] | None:
        """The two NICs of a copy: the source's member and the reader's."""
        assert s.source is not None
        name = s.source.parts[0].ident.name
        local = where.scope.find(name)
        if not isinstance(local, SourceQueue) or local.queue is not relation.source:
            self.statements.refuse(
                "copy-source",
                f"a copy of `{relation.reader.name}` takes from the source of its entry,"
                f" `from {relation.source.name}`",
                s.source.span,
                where,
                notes=(("the relation is here", relation.span),),
            )
            return None
        assert relation.source.nic is not None and relation.reader.nic is not None
        head = _head(s)
        own = self.statements.references.own_index(where.scope)
        return [
            Reference(relation.source.nic, local.index, head, where.scope),
            Reference(relation.reader.nic, own, head, where.scope),
        ]

    def _waits(
        self,
        stages: list[Reference],
        relation: Relation | None,
        s: ast.ServingStmt,
        where: Where,
        out: Block,
    ) -> None:
        """The wait before a copy: the poster's, or that of each link named, in their order."""
        head = _head(s)
        if relation is not None:
            poster = relation.poster
            wait = poster.nic_latency
            if wait is not None and relation.latency is not None:
                member = stages[0] if poster is relation.source else stages[1]
                self._wait(wait, member.index, head, where, out)
            return
        for stage in stages:
            queue = stage.family.queue if isinstance(stage.family, StageFamily) else None
            if queue is not None and queue.latency is not None and stage.family is queue.stage:
                self._wait(queue.latency, stage.index, head, where, out)

    def _wait(
        self, wait: StageFamily, index: Closure | None, span: Span, where: Where, out: Block
    ) -> None:
        stage = Reference(wait, index, span, where.scope)
        assert wait.latency is not None
        time = ast.Number(wait.span, wait.latency, wait.span.text)
        work = CostOf((stage,), Closure(time, where.scope), span)
        out.statements.append(
            kernel.Run(span, where.scope.frames, where.side, [stage], Mode.PLAIN, work, None)
        )

    def run(self, stages: list[Reference], s: ast.ServingStmt, where: Where, out: Block) -> None:
        """One job over the stages, its work the form's amount converted for them."""
        work = CostOf(tuple(stages), Closure(s.amount, where.scope), s.amount.span)
        out.statements.append(
            kernel.Run(s.span, where.scope.frames, where.side, stages, Mode.PLAIN, work, None)
        )

    def moved(self, s: ast.ServingStmt, where: Where, out: Block) -> None:
        """``from P to Q (n)``: the tokens count as computed at ``Q``, and ``P`` is given back."""
        assert s.source is not None and s.destination is not None
        into = self.statements.held_pool(s.destination.pool, where)
        source = self.statements.held_pool(s.source, where)
        if into is None or source is None:
            return
        load(s.destination, into, s.span, where, out)
        release(source, s.span, where, out)

    def _stages(self, s: ast.ServingStmt, where: Where) -> list[Reference] | None:
        if s.stages:
            found = [self.statements.stage(path, where) for path in s.stages]
            return None if any(f is None for f in found) else [f for f in found if f is not None]
        family = self._role(s, where)
        if family is None:
            return None
        index = None if s.index is None else Closure(s.index, where.scope)
        head = _head(s)
        if family.family and index is None:
            self.statements.refuse(
                "needs-index",
                f"stage `{family.name}` is a family of {family.count}: name a member,"
                f" `{s.form}[0]`",
                head,
                where,
                notes=((f"`{family.name}` is declared here", family.span),),
            )
            return None
        return [Reference(family, index, head, where.scope)]

    def _role(self, s: ast.ServingStmt, where: Where) -> StageFamily | None:
        """The one stage above the form that is named after its role."""
        if s.form == "tool" and self.tables.tool is not None:
            return self.tables.tool
        names = ROLE_STAGES[s.form]
        above = [
            self.tables.stages[name]
            for name in names
            if name in self.tables.stages and self._above(self.tables.stages[name], s.span)
        ]
        if len(above) == 1:
            return above[0]
        head = _head(s)
        if len(above) > 1:
            self.statements.refuse(
                "ambiguous-stage",
                f"`{s.form}` could run on `{above[0].name}` or on `{above[1].name}`",
                head,
                where,
                help=f"name the stage: `{s.form} on {above[0].name} (…)`",
                notes=tuple((f"`{f.name}` is declared here", f.span) for f in above),
            )
            return None
        below = self.tables.stages.get("tool")
        if s.form == "tool" and s.index is None and where.side is Side.WORKLOAD and below:
            self.statements.refuse(
                "stage-below",
                "`tool` stands above the stage `tool`: the call has found no stage above it",
                head,
                where,
                help="declare the stage above the workload",
                notes=(("the stage is declared here", below.span),),
            )
            return None
        if s.form == "transfer" and where.queue is not None:
            if where.queue.name in self.tables.faulty_relations:
                return None  # its relation was refused: that fault is enough
            self.statements.refuse(
                "no-relation",
                f"this `transfer` names no stage, and `{where.queue.name}` reads from no queue",
                head,
                where,
                help=f"declare `{where.queue.name} pull SOURCE share …;` below both queues, or"
                " write `transfer on STAGE (…)`",
            )
            return None
        self.statements.refuse(
            "no-stage",
            f"no stage named {' or '.join(f'`{n}`' for n in names)} is declared above this",
            head,
            where,
            help=f"declare one, or name the stage: `{s.form} on STAGE (…)`",
        )
        return None

    def supply_tool(self, session: ast.Block) -> None:
        """Supply the delay a client's tool call runs on when no stage ``tool`` is declared."""
        if "tool" in self.tables.stages:
            return
        todo: list[ast.Block] = [session]
        seen: set[str] = set()
        while todo:
            for node in subtree(todo.pop()):
                if isinstance(node, ast.ServingStmt) and _is_client_tool(node):
                    self._implicit(_head(node))
                    return
                if isinstance(node, ast.CallStmt) and node.func.name not in seen:
                    seen.add(node.func.name)
                    used = self.tables.definitions.get(node.func.name)
                    if used is not None and isinstance(used.body, ast.Block):
                        todo.append(used.body)

    def _implicit(self, span: Span) -> None:
        tool = StageFamily("stage", "tool", span, 1, False, service="delay")
        self.tables.tool = tool
        if self.statements.names.free_for_tool(span):
            self.tables.stages["tool"] = tool
        self.tables.stage_order.append(tool)

    def _above(self, family: StageFamily, use: Span) -> bool:
        if family is self.tables.tool:
            return True
        return family.span.source is not use.source or family.span.start < use.start


def _is_client_tool(s: ast.ServingStmt) -> bool:
    return s.form == "tool" and s.index is None and not s.stages


def _head(s: ast.ServingStmt) -> Span:
    return Span(s.span.source, s.span.start, s.span.start + len(s.form))
