"""The passes in their order: declarations, statements, names to slots, the finished IR."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path

from serq.diagnostics import Diagnostic, SerqError, Source, Span
from serq.ir import nodes
from serq.ir.extensions import marked
from serq.ir.validate import validate
from serq.link.blocks import Blocks
from serq.link.expressions import Expressions
from serq.link.follow_ups import Lost
from serq.link.issues import independent, report
from serq.link.resources import Resources
from serq.link.source_map import SourceMap
from serq.link.sugar import remember
from serq.link.types import attribute_types
from serq.link.warnings import warn
from serq.lower import kernel
from serq.lower.declarations import Declarations
from serq.lower.faults import Faults, in_order
from serq.lower.limits import TooLarge
from serq.lower.scope import Place, Scope
from serq.lower.statements import Statements
from serq.lower.tables import Tables
from serq.lower.vocabulary import BUILTIN, SCHEDULER_ATTRS
from serq.settings import Settings
from serq.syntax import ast
from serq.syntax.parser import capped, parse_file


@dataclass(frozen=True, slots=True)
class Linked:
    """A program, where it was written, and what may be meant otherwise."""

    program: nodes.Program
    source_map: SourceMap
    warnings: list[Diagnostic]


class Linker:
    """Compiles one program text."""

    def __init__(
        self,
        source: Source,
        settings: Settings,
        sets: Mapping[str, str | float],
        defs: Mapping[str, str],
        base_dir: Path | None,
    ) -> None:
        self.source = source
        self.settings = settings
        self.sets = sets
        self.defs = defs
        self.base_dir = base_dir
        self.faults = Faults()
        self.map = SourceMap()

    def link(self) -> Linked:
        """The linked program. Raises `SerqError` with all independent errors."""
        parsed = parse_file(self.source)
        module: ast.Module | None = parsed.tree
        syntax = capped(parsed.diagnostics, parsed.complete)
        if module is None:
            raise SerqError(list(syntax))
        try:
            program = marked(self._program(module))
        except TooLarge as error:
            self.faults.error(
                "too-large",
                "the program's definitions and turns expand to more than a program may be",
                error.span,
            )
            program = None
        if program is not None:
            issues = validate(program)
            if syntax or self.faults.errors:
                issues = independent(issues, self.map, self.faults.errors)
            report(issues, self.map, self.faults)
        errors = list(self.faults.errors)
        if syntax:
            lost = Lost(parsed)
            errors = [*syntax, *(e for e in errors if not lost.explains(e))]
        if not errors and program is not None:
            warn(program, self.map, self.faults)
        if errors or program is None:
            raise SerqError(in_order(errors, self.source.name))
        return Linked(program, self.map, in_order(self.faults.warnings, self.source.name))

    def _program(self, module: ast.Module) -> nodes.Program:
        declarations = Declarations(
            self.source, module, self.faults, self.sets, self.defs, self.base_dir
        )
        tables = declarations.read()
        statements = Statements(tables, declarations.names, self.faults)
        init, turn, session = statements.program()
        tables.number_families()
        roots = (init, turn, session)
        slots, observes = _collect(roots)
        self._check_uncalled(statements, slots, observes)
        declarations.names.attributes(tables)
        link = self._expressions(statements, slots, observes, self.map)
        blocks = Blocks(link, self.map)
        blocks.roots(*roots)
        resources = Resources(tables, link)
        pools, stages = resources.pools(), resources.stages()
        gauges, claims = resources.gauges(), resources.claims()
        arrival = self._arrival(tables, link)
        types = attribute_types(len(slots), [(s, k.side) for k, s in blocks.sets], blocks.chosen)
        self._declared_types(blocks, types)
        trace, ordered = _trace(tables)
        remember(tables, self.map)
        settings = self.settings
        horizon = settings.horizon
        return nodes.Program(
            version=nodes.VERSION,
            attrs=tuple(slots),
            attr_types=types,
            sides=tuple(blocks.sides),
            observes=tuple(observes),
            pools=pools,
            stages=stages,
            arrival=arrival,
            trace=trace if settings.trace is None else settings.trace,
            trace_ordered=ordered,
            init=0,
            turn=1,
            session=2,
            blocks=tuple(blocks.blocks),
            horizon=2.0 * settings.warmup + 1.0 if horizon is None else horizon,
            warmup=settings.warmup,
            seed=settings.seed,
            arrivals=settings.arrivals,
            slot_cached=BUILTIN["cached"],
            slot_serial=BUILTIN["serial"],
            slot_turn=BUILTIN["turn_no"],
            slot_new=BUILTIN["new"],
            slot_out=BUILTIN["out"],
            slot_think=BUILTIN["think"],
            slot_more=BUILTIN["more"],
            slot_forced=BUILTIN["forced"],
            slot_computed=BUILTIN["computed"],
            hidden=self._hidden(tables, slots),
            share=self._share(tables, blocks),
            gauges=gauges,
            claims=claims,
            registers=resources.registers(),
        )

    def _expressions(
        self,
        statements: Statements,
        slots: dict[str, int],
        observes: dict[str, int],
        source_map: SourceMap,
    ) -> Expressions:
        owners = statements.requests.owners
        return Expressions(statements.tables, slots, observes, owners, source_map, self.faults)

    def _check_uncalled(
        self, statements: Statements, slots: dict[str, int], observes: dict[str, int]
    ) -> None:
        """Link the entries and requests that nothing calls, for their faults alone."""
        unused = statements.uncalled()
        if not unused.statements:
            return
        more_slots, more_observes = dict(slots), dict(observes)
        _extend(unused, more_slots, more_observes)
        terms = statements.tables.terms
        link = self._expressions(statements, more_slots, more_observes, SourceMap())
        Blocks(link, SourceMap()).roots(unused)
        statements.tables.terms = terms  # what leaves no trace writes nothing out

    # --- the workload ---------------------------------------------------------------------------

    def _arrival(self, tables: Tables, link: Expressions) -> nodes.Arrival:
        items = _items(tables, ast.ArriveItem)
        self._once(items, "arrive")
        self._once(_items(tables, ast.TraceItem), "trace")
        blocks = [i for i in _items(tables, ast.BlockItem) if isinstance(i, ast.BlockItem)]
        for name in ("init", "turn", "session"):
            self._once([b for b in blocks if b.name == name], name)
        if not items:
            return nodes.NoArrivals()
        item = items[0]
        assert isinstance(item, ast.ArriveItem)
        if item.law == "none" or item.argument is None:
            return nodes.NoArrivals()
        scope = Scope(None, place=Place("`arrive`"))
        if item.law == "renewal":
            constant = link.constants.quiet(item.argument, scope, written=True)
            if constant is None:
                return nodes.Renewal(link.expr(item.argument, scope))
            gap = nodes.Num(constant)
            link.place(gap, item.argument.span, ())
            return nodes.Renewal(gap)
        what = {
            "poisson": "the arrival rate",
            "closed": "the closed population",
            "batch": "the batch size",
        }[item.law]
        value = link.constants.number(item.argument, scope, what)
        if value is None:
            return nodes.NoArrivals()
        if item.law == "poisson":
            if not 0 < value < float("inf"):
                self.faults.error(
                    "not-a-rate",
                    f"the arrival rate must be positive and finite, not {value:g}",
                    item.argument.span,
                )
            return nodes.Poisson(value)
        if not (1 <= value <= 1_000_000 and value == int(value)):
            self.faults.error(
                "not-a-count",
                f"{what} must be a whole number from 1 to 1 000 000, not {value:g}",
                item.argument.span,
            )
            return nodes.NoArrivals()
        count = int(value)
        return nodes.Closed(count) if item.law == "closed" else nodes.Batch(count)

    def _once(self, items: list[ast.WorkloadItem], word: str) -> None:
        for item in items[1:]:
            self.faults.error(
                "declared-twice",
                f"a workload has one `{word}`",
                item.span,
                notes=(("the first one is here", items[0].span),),
            )

    def _hidden(self, tables: Tables, slots: dict[str, int]) -> tuple[int, ...]:
        hidden: dict[str, Span] = {}
        for item in _items(tables, ast.HiddenItem):
            assert isinstance(item, ast.HiddenItem)
            for ident in item.names:
                name = ident.name
                if name in hidden:
                    self.faults.error(
                        "declared-twice",
                        f"`{name}` is hidden twice",
                        ident.span,
                        notes=(("the first one is here", hidden[name]),),
                    )
                elif name not in slots:
                    self.faults.error(
                        "unknown-hidden",
                        f"`{name}` is hidden, but nothing sets an attribute of this name",
                        ident.span,
                    )
                elif name in SCHEDULER_ATTRS:
                    self.faults.error(
                        "hidden-scheduler",
                        f"the scheduler sets `{name}`, so it cannot be hidden from it",
                        ident.span,
                    )
                else:
                    hidden[name] = ident.span
        return tuple([slots[name] for name in hidden])

    def _share(self, tables: Tables, blocks: Blocks) -> nodes.Share | None:
        policy = {"maxmin": nodes.Share.MAX_MIN, "bottleneck": nodes.Share.BOTTLENECK}
        if tables.share is not None:
            return policy[tables.share.policy]
        if tables.relations:
            return policy[tables.relations[0].policy]
        return None

    # --- after linking --------------------------------------------------------------------------

    def _declared_types(self, blocks: Blocks, types: tuple[nodes.AttrType, ...]) -> None:
        """What is declared ``Cost`` has a cost."""
        for written, linked in blocks.sets:
            if written.declared == "Cost" and not isinstance(types[linked.slot], nodes.CostType):
                self.faults.error(
                    "not-a-cost",
                    f"`{written.name}` is declared a `Cost`, and its value is a plain number",
                    written.span,
                    help="convert the quantity: `cost(RESOURCE, …)`",
                    frames=written.frames,
                )


def _items(tables: Tables, kind: type) -> list[ast.WorkloadItem]:
    workload = tables.workload
    return [] if workload is None else [i for i in workload.items if isinstance(i, kind)]


def _trace(tables: Tables) -> tuple[str | None, bool]:
    for item in _items(tables, ast.TraceItem):
        assert isinstance(item, ast.TraceItem)
        return item.path, item.ordered
    return None, False


def _collect(roots: tuple[kernel.Block, ...]) -> tuple[dict[str, int], dict[str, int]]:
    """Slots of attributes and observations, in the order of their first appearance."""
    slots = dict(BUILTIN)
    observes: dict[str, int] = {}
    for root in roots:
        _extend(root, slots, observes)
    return slots, observes


def _extend(block: kernel.Block, slots: dict[str, int], observes: dict[str, int]) -> None:
    for statement in kernel.every(block):
        match statement:
            case kernel.Set(name=name) | kernel.Choose(name=name):
                slots.setdefault(name, len(slots))
            case kernel.Observe(name=name):
                observes.setdefault(name, len(observes))
