"""``queue`` and the relations between queues: stations declared whole.

A queue compiles to named pools and stages: ``Q.kv``, the stage ``Q``, ``Q.nic``, and the waits
before a copy, ``Q.nic.latency`` of a relation's poster and ``L.latency`` of a link.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from serq.diagnostics import Span
from serq.lower.scope import Scope
from serq.lower.tables import (
    Device,
    Engine,
    Entry,
    PoolFamily,
    Queue,
    Relation,
    StageFamily,
    always_leased,
)
from serq.lower.vocabulary import ROLE_PARAMETERS, ROLE_VERBS
from serq.syntax import ast

if TYPE_CHECKING:
    from serq.lower.declarations import Declarations


class QueueDeclarations:
    """Reads the queues and relations of a program into its tables."""

    def __init__(self, declarations: Declarations) -> None:
        self.decl = declarations
        self.tables = declarations.tables
        self.faults = declarations.faults

    def queue(self, item: ast.QueueDecl) -> None:
        name = item.target.name
        fresh = self.decl.names.declare("queue", item.target)
        count = self.decl.size(item.size, f"queue `{name}`")
        queue = Queue(name, item.target.span, item, count, item.size is not None)
        self._roles(queue)
        order = _Order()
        for part in item.items:
            self._ordered(part, queue, order)
            match part:
                case ast.PoolDecl():
                    self._pool(part, queue)
                case ast.DeviceDecl():
                    self._device(part, queue)
                case ast.EngineDecl():
                    self._engine(part, queue)
                case ast.ServeItem():
                    self._serve(part, queue)
                case ast.NicItem():
                    self._nic(part, queue)
                case ast.EntryItem():
                    self._entry(part, queue)
        self._complete(queue)
        if fresh:
            self.tables.queues[name] = queue

    # --- roles and order ------------------------------------------------------------------------

    def _roles(self, queue: Queue) -> None:
        roles: list[str] = []
        for ident in queue.decl.roles:
            if ident.name not in ROLE_VERBS:
                self.faults.error(
                    "unknown-role",
                    f"there is no role `{ident.name}`",
                    ident.span,
                    help=f"a queue plays {', '.join(f'`{r}`' for r in ROLE_VERBS)}",
                )
            elif ident.name in roles:
                self.faults.error(
                    "declared-twice",
                    f"queue `{queue.name}` plays `{ident.name}` twice",
                    ident.span,
                )
            else:
                roles.append(ident.name)
        queue.roles = tuple(roles)
        if "gateway" in roles and queue.family:
            self.faults.error(
                "gateway-family",
                "a gateway is one queue, not a family: requests enter it",
                queue.decl.size.span if queue.decl.size else queue.span,
            )

    def _ordered(self, part: ast.QueueItem, queue: Queue, order: _Order) -> None:
        """Devices and pools stand above the stage, everything above the entries."""
        late: str | None = None
        if isinstance(part, ast.EntryItem):
            order.entry = True
            return
        if order.entry:
            late = "its entries"
        elif order.stage and isinstance(part, ast.DeviceDecl):
            late = "its engine"
        elif order.stage and isinstance(part, ast.PoolDecl) and part.owner is None:
            late = "its stage"
        if isinstance(part, ast.EngineDecl | ast.ServeItem):
            order.stage = True
        if late is not None:
            self.faults.error(
                "queue-order",
                f"queue `{queue.name}` declares this above {late}",
                part.span,
                help="a queue declares its device and pools, then its stage, then its entries",
            )

    def _complete(self, queue: Queue) -> None:
        verbs = {entry.verb for entry in queue.entries}
        for role in queue.roles:
            if role != "link" and ROLE_VERBS[role] not in verbs:
                self.faults.error(
                    "role-without-entry",
                    f"queue `{queue.name}` plays `{role}` and has no entry `{ROLE_VERBS[role]}`",
                    queue.span,
                )
        if "link" in queue.roles and queue.stage is None and "transfer" not in verbs:
            self.faults.error(
                "link-without-cost",
                f"queue `{queue.name}` plays `link` and has neither a `serve` nor an entry"
                " `transfer`: nothing says what a transfer over it costs",
                queue.span,
            )
        if queue.latency is not None and "transfer" in verbs:
            self.faults.error(
                "link-called-and-waits",
                f"queue `{queue.name}` has an entry `transfer` and a `latency`: the time of a"
                " called link is its entry's",
                queue.latency.span,
                help="write the wait in the entry",
            )
        owners: list[Device | Engine] = [*queue.devices.values()]
        if queue.engine is not None:
            owners.append(queue.engine)
        self.decl.check_owned(owners)

    # --- pools, devices, stages -----------------------------------------------------------------

    def _pool(self, item: ast.PoolDecl, queue: Queue) -> None:
        name = item.target.name
        if item.size is not None and item.owner is None:
            self.faults.error(
                "size-of-owner",
                f"a queue's pool is the member's, one per member of `{queue.name}`: write no size",
                item.size.span,
            )
        if not self.decl.names.declare_local(queue, "pool", item.target):
            return
        family = PoolFamily(
            "pool",
            f"{queue.name}.{name}",
            item.target.span,
            queue.count,
            queue.family,
            decl=item,
            queue=queue,
        )
        self.decl.options_once(item, f"pool `{name}`")
        if item.owner is not None:
            self._on_owner(item, item.owner, family, queue)
        self.decl.deferred.append(lambda: self.decl.capacities(family, item))
        queue.pools[name] = family
        self.decl.add_pool(family)

    def _on_owner(
        self, item: ast.PoolDecl, path: ast.Path, family: PoolFamily, queue: Queue
    ) -> None:
        self.decl.nothing_of_its_own(item, path)
        names = [part.ident.name for part in path.parts]
        indexed = any(part.index is not None for part in path.parts)
        device: Device | None = None
        engine: Engine | None = None
        if not indexed and len(names) == 1:
            device = queue.devices.get(names[0])
            if device is None and names[0] == queue.name:
                engine = queue.engine
        elif not indexed and len(names) == 2 and names[0] == queue.name:
            engine = queue.engine
            device = queue.devices.get(names[1])
            if device is None or engine is None or engine.device is not device:
                device = engine = None
        if device is None and engine is None:
            self.decl.lost_pools.add(item.target.name)
            known = {d.name: d.span for d in queue.devices.values()}
            if queue.engine is not None:
                known[queue.name] = queue.span
            self.faults.error(
                "unknown-owner",
                f"`{path.span.text}` is no device and no engine of queue `{queue.name}` above",
                path.span,
                help="write `on DEVICE`, "
                f"`on {queue.name}` for its engine, or `on {queue.name}.DEVICE`",
                notes=tuple((f"`{n}` is declared here", s) for n, s in known.items()),
            )
            return
        self.decl.owned(item, path, family, device, engine)

    def _device(self, item: ast.DeviceDecl, queue: Queue) -> None:
        if item.size is not None:
            self.faults.error(
                "size-of-owner",
                f"a queue's device is the member's, one per member of `{queue.name}`: write no"
                " size",
                item.size.span,
            )
        if not self.decl.names.declare_local(queue, "device", item.target):
            return
        device = Device(
            item.target.name, item.target.span, queue.count, queue.family, {}, {}, queue
        )
        self.decl.device_resources(item, device)
        queue.devices[device.name] = device

    def _second_stage(self, queue: Queue, span: Span) -> bool:
        if queue.stage is None:
            return False
        self.faults.error(
            "declared-twice",
            f"queue `{queue.name}` is one stage: it has one engine or one `serve`",
            span,
            notes=(("the first one is here", queue.stage.span),),
        )
        return True

    def _engine(self, item: ast.EngineDecl, queue: Queue) -> None:
        if item.target is not None or item.size is not None:
            self.faults.error(
                "engine-named",
                f"a queue's engine has the name and the size of the queue: write `engine on"
                f" {item.device.name} {{ … }}`",
                item.target.span if item.target is not None else item.span,
            )
        if self._second_stage(queue, item.span):
            return
        device = queue.devices.get(item.device.name)
        if device is None:
            self.decl.names.unknown(
                "unknown-device",
                f"device of queue `{queue.name}` above",
                item.device,
                {d.name: d.span for d in queue.devices.values()},
            )
        stage = StageFamily(
            "stage",
            queue.name,
            item.device.span,
            queue.count,
            queue.family,
            service="step",
            queue=queue,
        )
        engine = Engine(queue.name, item.device.span, item, device, stage, queue)
        stage.engine = engine
        if device is not None:
            device.engine = engine
        queue.stage, queue.engine = stage, engine
        self.decl.engines.items(engine)
        if engine.request is not None:
            self.faults.error(
                "request-of-family",
                f"the engine of queue `{queue.name}` has no `request`: a queue says what it does"
                " with a request in its entries",
                engine.request.span,
            )
        self.decl.add_stage(stage)

    def _serve(self, item: ast.ServeItem, queue: Queue) -> None:
        if self._second_stage(queue, item.span):
            return
        stage = self._stage(queue, queue.name, item.kind, item.span)
        queue.stage = stage
        if item.latency is None:
            return
        if "link" not in queue.roles:
            self.faults.error(
                "latency-place",
                "a `latency` belongs to the `serve` of a `link` queue: it waits before a transfer",
                item.latency.span,
            )
            return
        value = self._latency(item.latency)
        queue.latency = self._wait(queue, f"{queue.name}.latency", item.latency.span, value)

    def _nic(self, item: ast.NicItem, queue: Queue) -> None:
        if queue.nic is not None:
            self.faults.error(
                "declared-twice",
                f"queue `{queue.name}` has one `nic`",
                item.span,
                notes=(("the first one is here", queue.nic.span),),
            )
            return
        queue.nic = self._stage(queue, f"{queue.name}.nic", item.kind, item.span)

    def _stage(self, queue: Queue, name: str, kind: ast.StageKind, span: Span) -> StageFamily:
        stage = StageFamily(
            "stage",
            name,
            span,
            queue.count,
            queue.family,
            service=kind.kind,
            argument=kind.argument,
            queue=queue,
        )
        self.decl.deferred.append(lambda: self.decl.check_fifo(stage))
        self.decl.add_stage(stage)
        return stage

    def _wait(self, queue: Queue, name: str, span: Span, value: float) -> StageFamily:
        """The delay that a copy runs before it starts."""
        wait = StageFamily(
            "stage", name, span, queue.count, queue.family, service="delay", queue=queue
        )
        wait.latency = value
        self.decl.add_stage(wait)
        return wait

    def _latency(self, expr: ast.Expr) -> float:
        constants = self.decl.constants.before(len(self.tables.constants))
        value = constants.number(expr, Scope(None), "the latency")
        return 0.0 if value is None else value

    # --- entries --------------------------------------------------------------------------------

    def _entry(self, item: ast.EntryItem, queue: Queue) -> None:
        verb = item.verb.name
        role = next((r for r, v in ROLE_VERBS.items() if v == verb), None)
        if role is None:
            self.decl.names.unknown(
                "unknown-verb", "entry", item.verb, {v: item.verb.span for v in ROLE_VERBS.values()}
            )
            return
        if role not in queue.roles:
            self.faults.error(
                "entry-without-role",
                f"`{verb}` is an entry of a queue that plays `{role}`, and `{queue.name}` does not",
                item.verb.span,
                help=f"write `queue {queue.name} : {role}`",
            )
        faults = len(self.faults.errors)
        wanted = ROLE_PARAMETERS[verb]
        if len(item.params) != wanted:
            self.faults.error(
                "parameter-count",
                f"the entry `{verb}` takes {wanted} parameter(s), not {len(item.params)}",
                item.verb.span,
            )
        seen: set[str] = set()
        for param in item.params:
            self.decl.names.parameter(param, seen, called=True)
        if item.source is not None and verb != "decode":
            self.faults.error(
                "from-place",
                f"only `decode` has a `from`, not `{verb}`",
                item.source.span,
            )
        source = None if item.source is None else self._source(item.source)
        entry = Entry(verb, item, queue, source, len(self.faults.errors) > faults)
        for other in queue.entries:
            if (other.verb, other.source_name is None) == (verb, entry.source_name is None):
                after = "" if entry.source_name is None else " … from"
                self.faults.error(
                    "declared-twice",
                    f"queue `{queue.name}` has the entry `{verb}{after}` twice",
                    item.verb.span,
                    notes=(("the first one is here", other.item.verb.span),),
                )
                return
        queue.entries.append(entry)

    def _source(self, ident: ast.Ident) -> Queue | None:
        """The queue a `from` names: above, and every entry of it leases its pool on every way."""
        source = self.tables.queues.get(ident.name)
        if source is None:
            self.decl.names.unknown(
                "unknown-queue",
                "queue above",
                ident,
                {q.name: q.span for q in self.tables.queues.values()},
            )
            return None
        leased = source.leased_pool()
        if leased is None:
            self.faults.error(
                "from-leases-nothing",
                f"no entry of `{source.name}` leases a pool, so a request leaves no KV there",
                ident.span,
                help=f"lease the pool in the entries of `{source.name}`: `lease kv (inf)`",
            )
            return None
        for entry in source.entries:
            if not always_leased(self.tables, entry.item.body, leased):
                self.faults.error(
                    "from-leases-nothing",
                    f"`{source.name}.{entry.verb}` does not lease `{leased}` on every way through"
                    " it, so a request could leave no KV there",
                    ident.span,
                    notes=(("the entry is here", entry.item.verb.span),),
                )
                return None
        return source

    # --- relations ------------------------------------------------------------------------------

    def relation(self, item: ast.RelationDecl) -> None:
        """``D pull P …`` and ``P push D …``: which queue copies the KV from which."""
        before = len(self.tables.relations)
        self._relation(item)
        if len(self.tables.relations) == before:
            self.tables.faulty_relations |= {item.subject.name, item.other.name}

    def _relation(self, item: ast.RelationDecl) -> None:
        subject, other = self._queue(item.subject), self._queue(item.other)
        if subject is None or other is None:
            return
        if subject is other:
            self.faults.error("relation-self", "a queue copies the KV of another", item.other.span)
            return
        source, reader = (other, subject) if item.verb == "pull" else (subject, other)
        for queue, ident in ((subject, item.subject), (other, item.other)):
            if queue.nic is None:
                self.faults.error(
                    "relation-without-nic",
                    f"`{queue.name}` has no `nic` for the copies of this relation",
                    ident.span,
                    help=f"declare `nic ps (…);` in queue `{queue.name}`",
                )
                return
        for known in self.tables.relations:
            if known.reader is reader:
                self.faults.error(
                    "declared-twice",
                    f"`{reader.name}` takes the KV from `{known.source.name}` already: a reader"
                    " has one source",
                    item.span,
                    notes=(("the first relation is here", known.span),),
                )
                return
        for entry in reader.entries:
            if entry.source is not None and entry.source is not source:
                self.faults.error(
                    "relation-other-source",
                    f"`{reader.name}` reads the KV from `{source.name}`, and its entry takes it"
                    f" from `{entry.source.name}`",
                    item.span,
                    notes=(("the entry is here", entry.item.span),),
                )
                return
        value = None if item.latency is None else self._latency(item.latency)
        self._posted(item, subject, value)
        self.tables.relations.append(
            Relation(source, reader, subject, value, item.policy, item.span)
        )

    def _posted(self, item: ast.RelationDecl, poster: Queue, value: float | None) -> None:
        """The wait before each copy is the poster's: one latency per poster."""
        posts = [r for r in self.tables.relations if r.poster is poster and r.latency is not None]
        if posts and value is not None:
            self.faults.error(
                "declared-twice",
                f"`{poster.name}` waits before the copies of one relation already",
                item.span,
                notes=(("the first relation is here", posts[0].span),),
            )
            return
        if value is not None and item.latency is not None:
            name = f"{poster.name}.nic.latency"
            poster.nic_latency = self._wait(poster, name, item.latency.span, value)

    def _queue(self, ident: ast.Ident) -> Queue | None:
        queue = self.tables.queues.get(ident.name)
        if queue is None:
            self.decl.names.unknown(
                "unknown-queue",
                "queue above",
                ident,
                {q.name: q.span for q in self.tables.queues.values()},
            )
        return queue

    def share(self) -> None:
        """A program's policy is written once: by its relations or by ``share``."""
        relations = self.tables.relations
        if relations and self.tables.share is not None:
            self.faults.error(
                "declared-twice",
                "a relation names the program's share: it is not written on its own too",
                self.tables.share.span,
                notes=(("the relation is here", relations[0].span),),
            )
        for relation in relations[1:]:
            if relation.policy != relations[0].policy:
                self.faults.error(
                    "shares-differ",
                    f"a program has one share, and this relation names `{relation.policy}`",
                    relation.span,
                    notes=(("another is named here", relations[0].span),),
                )


class _Order:
    """What of a queue has been declared so far."""

    def __init__(self) -> None:
        self.stage = False
        self.entry = False
