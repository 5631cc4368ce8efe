"""``engine``: what its clauses declare, one engine per device."""

from __future__ import annotations

from typing import TYPE_CHECKING

from serq.diagnostics import Span
from serq.lower.tables import Device, Engine, StageFamily
from serq.syntax import ast

if TYPE_CHECKING:
    from serq.lower.declarations import Declarations


class EngineDeclarations:
    """Reads the engines of a program into its tables."""

    def __init__(self, declarations: Declarations) -> None:
        self.decl = declarations
        self.tables = declarations.tables
        self.faults = declarations.faults

    def engine(self, item: ast.EngineDecl) -> None:
        ident = item.target
        if ident is None:
            self.faults.error(
                "engine-without-name",
                "an engine outside a queue has a name: `engine NAME on DEVICE { … }`",
                item.device.span,
            )
            return
        name = ident.name
        fresh = self.decl.names.declare("engine", ident)
        count = self.decl.size(item.size, f"engine `{name}`")
        device = self.tables.devices.get(item.device.name)
        if device is None:
            self.decl.names.unknown(
                "unknown-device",
                "device above",
                item.device,
                {d.name: d.span for d in self.tables.devices.values()},
            )
        else:
            self._runs_on(device, ident, count, item.size is not None)
        stage = StageFamily(
            "stage",
            name,
            ident.span,
            count,
            item.size is not None,
            service="step",
            scope=self.decl.root,
        )
        engine = Engine(name, ident.span, item, device, stage)
        stage.engine = engine
        if device is not None and device.engine is None:
            device.engine = engine
        self.items(engine)
        if engine.request is not None and engine.stage.family:
            self.faults.error(
                "request-of-family",
                f"`{name}` is a family of engines, which has no `request`: a call would have to"
                " pick a member",
                engine.request.span,
            )
        if fresh:
            self.tables.engines[name] = engine
            self.decl.add_stage(stage)

    def _runs_on(self, device: Device, ident: ast.Ident, count: int, family: bool) -> None:
        name = ident.name
        if device.engine is not None:
            self.faults.error(
                "device-taken",
                f"`{device.engine.name}` runs on `{device.name}`: one device runs one engine",
                ident.span,
                notes=((f"`{device.engine.name}` is declared here", device.engine.span),),
            )
        if (device.count, device.family) != (count, family):
            written = f"{name}[{device.count}]" if device.family else name
            self.faults.error(
                "family-mismatch",
                f"an engine is one per device: `{device.name}` is"
                + (f" a family of {device.count}" if device.family else " one device"),
                ident.span,
                help=f"write `engine {written} on {device.name}`",
                notes=((f"`{device.name}` is declared here", device.span),),
            )

    def items(self, engine: Engine) -> None:
        """The capacities, registers, lets and request of an engine; each other item once."""
        what = f"engine `{engine.name}`"
        once: dict[type, str] = {
            ast.TokensItem: "tokens cap",
            ast.GranuleItem: "granule",
            ast.ScheduleItem: "schedule",
            ast.ExecuteItem: "execute",
            ast.RequestItem: "request",
        }
        first: dict[type, Span] = {}
        for item in engine.decl.items:
            kind = type(item)
            if kind in once:
                if kind in first:
                    self._again(once[kind], what, item.span, first[kind])
                    continue
                first[kind] = item.span
            match item:
                case ast.Capacity():
                    self._capacity(engine, item)
                case ast.StateItem():
                    self._register(engine, item)
                case ast.ScheduleItem():
                    self._lets(engine, item)
                case ast.RequestItem():
                    engine.request = item
                    seen: set[str] = set()
                    for param in item.params:
                        self.decl.names.parameter(param, seen, called=True)
        needs = {
            ast.TokensItem: "`tokens cap B;`, the tokens one iteration computes (`inf` for all)",
            ast.ScheduleItem: "`schedule { … }`, what each iteration does",
            ast.ExecuteItem: "`execute (T);`, how long a batch takes",
        }
        for kind, text in needs.items():
            if kind not in first:
                self.faults.error("engine-needs", f"{what} needs {text}", engine.span)

    def _again(self, word: str, what: str, span: Span, first: Span) -> None:
        self.faults.error(
            "declared-twice",
            f"{what} has `{word}` twice",
            span,
            notes=(("the first one is here", first),),
        )

    def _capacity(self, engine: Engine, item: ast.Capacity) -> None:
        name = item.target.name
        self.decl.names.capacity(item.target)
        if name in engine.capacities:
            first = engine.capacities[name].target.span
            self._again(name, f"engine `{engine.name}`", item.target.span, first)
            return
        engine.capacities[name] = item
        if item.size is None:
            return
        if engine.queue is not None or (engine.stage.family and engine.stage.count > 1):
            self.faults.error(
                "size-of-owner",
                f"`{name}` is a family of queues, and `{engine.name}`"
                + (
                    " is a queue's engine, whose entries name their own pool without an index"
                    if engine.queue is not None
                    else f" is a family of engines: `{name} cap …;` gives each its own"
                ),
                item.size.span,
            )

    def _register(self, engine: Engine, item: ast.StateItem) -> None:
        name = item.target.name
        if not self.decl.names.declare("register", item.target):
            return
        if engine.stage.family:
            self.faults.error(
                "state-of-family",
                f"`{engine.name}` is a family of engines, and a state belongs to one",
                item.target.span,
            )
        number = len(self.tables.registers)
        engine.registers[name] = number
        self.tables.registers.append((name, engine, 0.0))
        self.decl.deferred.append(lambda: self._first_value(item, number))

    def _first_value(self, item: ast.StateItem, number: int) -> None:
        name, engine, _ = self.tables.registers[number]
        value = self.decl.constants.number(item.value, self.decl.root, f"the state `{name}`")
        if value is None:
            return
        if value in (float("inf"), float("-inf")):
            self.faults.error(
                "not-finite", f"the state `{name}` must start at a finite number", item.value.span
            )
            return
        self.tables.registers[number] = (name, engine, value)

    def _lets(self, engine: Engine, item: ast.ScheduleItem) -> None:
        for let in item.lets:
            name = let.target.name
            if name in engine.lets:
                first = engine.lets[name].target.span
                self._again(f"let {name}", f"engine `{engine.name}`", let.target.span, first)
                continue
            self.decl.names.schedule_let(let.target)
            engine.lets[name] = let
