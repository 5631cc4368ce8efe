"""A program's declarations into tables: constants, definitions, pools, stages, devices, engines."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from pathlib import Path as FilePath

from serq.diagnostics import Source, Span
from serq.lower.args import Inputs
from serq.lower.constants import Constants
from serq.lower.engines import EngineDeclarations
from serq.lower.faults import Faults
from serq.lower.libraries import Libraries
from serq.lower.names import WORDING, Names
from serq.lower.queues import QueueDeclarations
from serq.lower.scope import Place, Scope
from serq.lower.tables import (
    Constant,
    Definition,
    Device,
    Engine,
    Family,
    PoolFamily,
    StageFamily,
    Tables,
)
from serq.lower.tree import bound_names, subtree
from serq.syntax import ast

MAX_MEMBERS = 10_000
"""Every member of a family is a pool or stage of its own, so a family has a bound."""


class Declarations:
    """Reads the items of a program once, in order, and fills its `Tables`."""

    def __init__(
        self,
        source: Source,
        module: ast.Module,
        faults: Faults,
        sets: Mapping[str, str | float],
        defs: Mapping[str, str],
        base_dir: FilePath | None,
    ) -> None:
        self.source = source
        self.module = module
        self.faults = faults
        self.tables = Tables()
        self.names = Names(faults)
        self.constants = Constants(self.tables, faults)
        self.root = Scope(None, place=Place("the program"))
        self.inputs = Inputs(self.tables, faults, sets, defs)
        self.libraries = Libraries(faults, base_dir)
        items = [*module.preamble, *(module.main or ())]
        self.engines = EngineDeclarations(self)
        self.queues = QueueDeclarations(self)
        self.lost_pools: set[str] = set()  # pools whose owner was not found
        self.deferred: list[Callable[[], None]] = []
        self.later = {i.target.name: i.target.span for i in items if isinstance(i, ast.DefDecl)}

    def read(self) -> Tables:
        """Fill the tables; faults are reported."""
        preamble: Sequence[ast.Item] = self.module.preamble
        for item in preamble:
            self._item(item, inside=False)
        for item in self.module.main or ():
            self._item(item, inside=True)
        for evaluate in self.deferred:  # these may read any `let`, also one below
            evaluate()
        self.inputs.finish()
        self._check_owned_pools()
        self._check_sides()
        self.queues.share()
        self.names.finish()
        if self.inputs.used and "args" in self.names.taken:
            kind, span = self.names.taken["args"]
            self.faults.error(
                "name-collision",
                f"`args` is the imported module of `std/args`, and cannot be the name of"
                f" {WORDING[kind]}",
                span,
                help="use another name",
            )
        return self.tables

    def _item(self, item: ast.Item, *, inside: bool) -> None:
        match item:
            case ast.UseDecl():
                self._use(item)
            case ast.LetDecl():
                self._let(item, inside)
            case ast.DefDecl():
                self.define(item)
            case ast.PoolDecl():
                self.pool(item)
            case ast.StageDecl():
                self._stage(item)
            case ast.DeviceDecl():
                self.device(item)
            case ast.EngineDecl():
                self.engines.engine(item)
            case ast.WorkloadDecl():
                if self.tables.workload is not None:
                    self._twice("workload", item.span, self.tables.workload.span)
                else:
                    self.tables.workload = item
            case ast.ServerDecl():
                if self.tables.server is not None:
                    self._twice("server", item.span, self.tables.server.span)
                else:
                    self.tables.server = item
            case ast.ShareDecl():
                if self.tables.share is not None:
                    self._twice("share", item.span, self.tables.share.span)
                else:
                    self.tables.share = item
            case ast.QueueDecl():
                self.queues.queue(item)
            case ast.RelationDecl():
                self.queues.relation(item)
            case ast.GaugeDecl():
                if self.names.declare("gauge", item.target):
                    self.tables.gauges[item.target.name] = item
            case ast.ClaimDecl():
                if self.names.declare("claim", item.target):
                    self.tables.claims[item.target.name] = item

    def _twice(self, what: str, span: Span, first: Span) -> None:
        self.faults.error(
            "declared-twice",
            f"a program has one `{what}`",
            span,
            notes=(("the first one is here", first),),
        )

    # --- use, let, def --------------------------------------------------------------------------

    def _use(self, item: ast.UseDecl) -> None:
        if item.path == "std/args":
            self.inputs.used = True
            return
        definitions = list(self.libraries.read(item, self.source))
        self.later |= {d.target.name: d.target.span for d in definitions}
        for definition in definitions:
            self.define(definition, item.span)

    def _let(self, item: ast.LetDecl, inside: bool) -> None:
        name = item.target.name
        fresh = self.names.declare("constant", item.target)
        order = len(self.tables.constants)
        constants = self.constants.before(order)
        if isinstance(item.value, ast.ArgsNumber):
            value = self.inputs.declare(item, item.value, inside, constants, self.root)
            inputs = frozenset({item.value.name})
        else:
            number = constants.number(item.value, self.root, f"`let {name}`")
            value = 0.0 if number is None else number
            inputs = frozenset()
        inputs = inputs.union(*[c.inputs for c in constants.used])
        if fresh:
            self.tables.constants[name] = Constant(name, value, item.target.span, order, inputs)

    def define(self, item: ast.DefDecl, used_at: Span | None = None) -> None:
        """A ``def`` of the program or, with ``used_at``, of a library."""
        name = item.target.name
        order = len(self.tables.definitions)
        fresh = self.names.declare("definition", item.target)
        seen: set[str] = set()
        for param in item.params:
            self.names.parameter(param, seen)
        self._check_parameters(item)
        params = tuple(p.name for p in item.params)
        place = used_at or item.target.span
        definition = Definition(name, params, item.body, item, order, place)
        self.inputs.override(definition)
        if fresh:
            self.tables.definitions[name] = definition
            self._check_uses(definition)

    def _check_parameters(self, item: ast.DefDecl) -> None:
        """A parameter stands for its argument: the body neither assigns nor binds its name."""
        params = {param.name: param.span for param in item.params}
        for node in subtree(item.body):
            for ident in bound_names(node):
                if ident.name in params:
                    self.faults.error(
                        "sets-parameter",
                        f"`{ident.name}` is a parameter of `{item.target.name}`, and the body gives"
                        " the name another meaning",
                        ident.span,
                        help="use another name",
                        notes=(("the parameter is here", params[ident.name]),),
                    )

    def _check_uses(self, definition: Definition) -> None:
        """A definition uses only the ones before it, so putting it in comes to an end."""
        for node in subtree(definition.body):
            if not isinstance(node, ast.Call | ast.CallStmt):
                continue
            name = node.func.name
            if name == definition.name:
                self.faults.error(
                    "recursive-definition",
                    f"`{name}` uses itself: a definition is put in where it is used, so it may"
                    " only use the ones above it",
                    node.func.span,
                )
                definition.body = _empty(definition.body)
                return
            if name not in self.tables.definitions and name in self.later:
                self.faults.error(
                    "used-before-defined",
                    f"`{definition.name}` uses `{name}`, which is defined after it",
                    node.func.span,
                    help="a definition uses the ones above it",
                    notes=((f"`{name}` is defined here", self.later[name]),),
                )
                definition.body = _empty(definition.body)
                return

    # --- families -------------------------------------------------------------------------------

    def size(self, expr: ast.Expr | None, what: str) -> int:
        """The member count of ``NAME [ expr ]``, 1 without one or after a fault."""
        if expr is None:
            return 1
        constants = self.constants.before(len(self.tables.constants))
        value = constants.number(expr, self.root, f"the size of {what}")
        if value is None:
            return 1
        supplied = self.inputs.supplied(frozenset().union(*[c.inputs for c in constants.used]))
        if supplied:
            self.faults.error(
                "input-sets-size",
                f"the size of {what} depends on the input `{supplied}`, which was supplied: sizes"
                " are fixed when the program is read",
                expr.span,
            )
        if not (value >= 1 and value == int(min(value, 1e9))):
            self.faults.error(
                "not-a-size",
                f"the size of {what} must be a positive whole number, not {value:g}",
                expr.span,
            )
            return 1
        if value > MAX_MEMBERS:
            self.faults.error(
                "not-a-size",
                f"the size of {what} is {value:g}; a family has at most {MAX_MEMBERS} members",
                expr.span,
            )
            return 1
        return int(value)

    def add_pool(self, pool: PoolFamily) -> None:
        self.tables.pools[pool.name] = pool
        self.tables.pool_order.append(pool)

    def add_stage(self, stage: StageFamily) -> None:
        self.tables.stages[stage.name] = stage
        self.tables.stage_order.append(stage)

    # --- pools ----------------------------------------------------------------------------------

    def pool(self, item: ast.PoolDecl) -> None:
        """A pool of its own, or of a device or an engine declared above it."""
        name = item.target.name
        fresh = self.names.declare("pool", item.target)
        what = f"pool `{name}`"
        self.options_once(item, what)
        family = PoolFamily("pool", name, item.target.span, 1, False, decl=item, scope=self.root)
        if item.owner is not None:
            self._on_owner(item, item.owner, family)
        else:
            family.count = self.size(item.size, what)
            family.family = item.size is not None
        self.deferred.append(lambda: self.capacities(family, item))
        if fresh:
            self.add_pool(family)

    def options_once(self, item: ast.PoolDecl, what: str) -> None:
        """Report an option that a pool has twice."""
        seen: dict[type, Span] = {}
        for option in item.options:
            first = seen.setdefault(type(option), option.span)
            if first is not option.span:
                self.faults.error(
                    "option-twice",
                    f"{what} has this option twice",
                    option.span,
                    notes=(("the first one is here", first),),
                )

    def capacities(self, family: PoolFamily, item: ast.PoolDecl) -> None:
        """The cap and the block of a pool."""
        what = f"pool `{family.name}`"
        for option in item.options:
            match option:
                case ast.CapOption(value=value) if item.owner is None:
                    cap = self.constants.number(value, self.root, f"the cap of {what}")
                    family.cap = family.cap if cap is None else cap
                case ast.BlockOption(value=value):
                    block = self.constants.number(value, self.root, f"the block of {what}")
                    if block is not None and block <= 0:
                        self.faults.error(
                            "not-positive",
                            f"the block of {what} must be above 0, not {block:g}",
                            value.span,
                        )
                    elif block is not None:
                        family.block = block

    def _on_owner(self, item: ast.PoolDecl, path: ast.Path, family: PoolFamily) -> None:
        """``pool X on OWNER``: its capacity, its size and who admits it are the owner's."""
        self.nothing_of_its_own(item, path)
        owner = self._owner(path)
        if owner is None:
            self.lost_pools.add(item.target.name)
        else:
            self.owned(item, path, family, *owner)

    def nothing_of_its_own(self, item: ast.PoolDecl, path: ast.Path) -> None:
        """Report a cap or a size that the owner gives."""
        name = item.target.name
        for option in item.options:
            if isinstance(option, ast.CapOption):
                self.faults.error(
                    "cap-of-owner",
                    f"a pool on `{path.span.text}` takes its capacity from there:"
                    f" write `{name} cap …;` in it",
                    option.span,
                )
        if item.size is not None:
            self.faults.error(
                "size-of-owner",
                f"a pool on `{path.span.text}` is a family as its owner is: write no size",
                item.size.span,
                help=f"for N queues one engine admits, write `{name}[N] cap …;` in the engine",
            )

    def owned(
        self,
        item: ast.PoolDecl,
        path: ast.Path,
        family: PoolFamily,
        device: Device | None,
        engine: Engine | None,
    ) -> None:
        """Give a pool the capacity of its device, or of its engine, and who admits it."""
        name = item.target.name
        holder = engine if device is None else device
        assert holder is not None
        capacity = holder.capacities.get(name)
        if capacity is None:
            self.faults.error(
                "no-such-capacity",
                f"`{holder.name}` has no capacity `{name}`",
                item.target.span,
                help=f"write `{name} cap …;` in `{holder.name}`",
                notes=((f"`{holder.name}` is declared here", holder.span),),
            )
            return
        self.deferred.append(lambda: self._owned_cap(family, capacity))
        if engine is not None:
            family.via = engine.stage
        if device is not None:
            family.count, family.family = device.count, device.family
            if device.pools and name not in device.pools and device.engine is not None:
                other = next(iter(device.pools))
                self.faults.error(
                    "two-memories",
                    f"`{other}` and `{name}` are both on `{device.name}`: an engine has one memory,"
                    f" and which is `{device.engine.name}`'s would not be said",
                    path.span,
                    notes=((f"`{other}` is declared here", device.pools[other].span),),
                )
            device.pools[name] = family
            return
        assert engine is not None
        engine.pools[name] = family
        if capacity.size is None:
            family.count, family.family = engine.stage.count, engine.stage.family
        else:
            family.count, family.family = self.size(capacity.size, f"pool `{name}`"), True
            family.each_via = True

    def _owned_cap(self, family: PoolFamily, capacity: ast.Capacity) -> None:
        cap = self.constants.number(capacity.value, self.root, f"the cap of pool `{family.name}`")
        family.cap = family.cap if cap is None else cap

    def _owner(self, path: ast.Path) -> tuple[Device | None, Engine | None] | None:
        """The device or engine a pool stands on: (device, engine that admits it)."""
        names = [part.ident.name for part in path.parts]
        if len(names) == 1 and path.parts[0].index is None:
            device = self.tables.devices.get(names[0])
            engine = self.tables.engines.get(names[0])
            if device is not None:
                return device, None
            if engine is not None:
                return None, engine
            self.names.unknown(
                "unknown-owner",
                "device or engine above",
                path.parts[0].ident,
                {d.name: d.span for d in self.tables.devices.values()}
                | {e.name: e.span for e in self.tables.engines.values()},
            )
            return None
        if len(names) == 2 and all(part.index is None for part in path.parts):
            engine = self.tables.engines.get(names[0])
            if engine is None:
                self.names.unknown(
                    "unknown-engine",
                    "engine above",
                    path.parts[0].ident,
                    {e.name: e.span for e in self.tables.engines.values()},
                )
                return None
            device = engine.device
            if device is None:
                return None
            if device.name != names[1]:
                self.faults.error(
                    "unknown-owner",
                    f"`{names[0]}` runs on `{device.name}`, not on `{names[1]}`",
                    path.parts[1].ident.span,
                )
                return None
            return device, engine
        self.faults.error(
            "unknown-owner",
            f"`{path.span.text}` names no device and no engine",
            path.span,
            help="write `on DEVICE`, `on ENGINE` or `on ENGINE.DEVICE`",
        )
        return None

    def _check_owned_pools(self) -> None:
        """Every capacity that a device or an engine declares is declared as a pool."""
        self.check_owned([*self.tables.devices.values(), *self.tables.engines.values()])

    def check_owned(self, owners: Sequence[Device | Engine]) -> None:
        for owner in owners:
            for name, capacity in owner.capacities.items():
                if name not in owner.pools and name not in self.lost_pools:
                    self.faults.error(
                        "capacity-without-pool",
                        f"the capacity `{name}` of `{owner.name}` is no pool, so nothing can"
                        " hold it",
                        capacity.target.span,
                        help=f"declare `pool {name} on {owner.name} {{ … }}`",
                    )

    # --- stages, devices, engines ---------------------------------------------------------------

    def _stage(self, item: ast.StageDecl) -> None:
        name = item.target.name
        fresh = self.names.declare("stage", item.target)
        count = self.size(item.size, f"stage `{name}`")
        stage = StageFamily(
            "stage",
            name,
            item.target.span,
            count,
            item.size is not None,
            service=item.kind.kind,
            argument=item.kind.argument,
            scope=self.root,
        )
        self.deferred.append(lambda: self.check_fifo(stage))
        if fresh:
            self.add_stage(stage)

    def check_fifo(self, stage: StageFamily) -> None:
        """A ``fifo (c)`` has a positive whole number of servers."""
        if stage.service != "fifo" or stage.argument is None:
            return
        what = f"the servers of stage `{stage.name}`"
        value = self.constants.number(stage.argument, self.root, what)
        if value is None:
            return
        if not (1 <= value < 2**32 and value == int(value)):
            self.faults.error(
                "not-a-count",
                f"{what} must be a positive whole number, not {value:g}",
                stage.argument.span,
            )
            return
        stage.servers = int(value)

    def device(self, item: ast.DeviceDecl) -> None:
        name = item.target.name
        fresh = self.names.declare("device", item.target)
        device = Device(
            name,
            item.target.span,
            self.size(item.size, f"device `{name}`"),
            item.size is not None,
            {},
            {},
        )
        self.device_resources(item, device)
        if fresh:
            self.tables.devices[name] = device

    def device_resources(self, item: ast.DeviceDecl, device: Device) -> None:
        """The time resources and capacities of a device."""
        name = device.name
        places: dict[str, Span] = {}
        for resource in item.resources:
            ident = resource.target
            self.names.resource(ident)
            if ident.name in places:
                self.faults.error(
                    "declared-twice",
                    f"`{ident.name}` is a resource of `{name}` twice",
                    ident.span,
                    notes=(("the first one is here", places[ident.name]),),
                )
                continue
            places[ident.name] = ident.span
            if isinstance(resource, ast.Capacity):
                device.capacities[ident.name] = resource
                if resource.size is not None:
                    self.faults.error(
                        "size-of-owner",
                        f"a capacity of a device has no size: the family is the device's,"
                        f" `device {name}[N]`",
                        resource.size.span,
                    )
            else:
                device.resources[ident.name] = resource
                seen: set[str] = set()
                for param in resource.params:
                    self.names.parameter(param, seen)

    # --- the two sides --------------------------------------------------------------------------

    def _check_sides(self) -> None:
        workload, server = self.tables.workload, self.tables.server
        if workload is not None and server is None:
            self.faults.error(
                "no-server",
                "a workload needs a `server { … }` that handles its turns",
                _head(workload.span, "workload"),
            )
        if server is not None and workload is None:
            self.faults.error(
                "no-workload",
                "a server needs a `workload { … }` whose turns it handles",
                _head(server.span, "server"),
            )


def _empty(body: ast.Expr | ast.Block) -> ast.Expr | ast.Block:
    """What stands for the body of a definition that cannot be put in."""
    if isinstance(body, ast.Block):
        return ast.Block(body.span, ())
    return ast.Number(body.span, 0.0, "0")


def _head(span: Span, word: str) -> Span:
    """The first word of a block."""
    return Span(span.source, span.start, span.start + len(word))


def declared_above(family: Family, use: Span) -> bool:
    """Whether a declaration stands before a use in the text of the program."""
    return family.span.source is not use.source or family.span.start < use.start
