"""``hold`` and its ``at admission``: bindings substituted into the header, set in the body."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import replace
from typing import TYPE_CHECKING

from serq.lower import kernel
from serq.lower.kernel import Block, Held, Value
from serq.lower.scope import (
    BodyBinding,
    Bound,
    Closure,
    HeaderBinding,
    LaterBinding,
    Local,
    Scope,
)
from serq.lower.vocabulary import BUILTIN, CONTEXT, STATE_QUERIES
from serq.lower.walk import CallRead, DrawRead, NameRead, reads
from serq.syntax import ast

if TYPE_CHECKING:
    from serq.lower.statements import Statements, Where


class Admission:
    """Expands holds."""

    def __init__(self, statements: Statements) -> None:
        self.statements = statements
        self.tables = statements.tables
        self.faults = statements.faults

    def hold(self, s: ast.HoldStmt, where: Where, out: Block) -> None:
        scope = where.scope
        bindings = self.bind(s.bindings, where)
        header = header_scope(scope, bindings)
        pools: list[Held] = []
        for taking in s.pools:
            reference = self.statements.held_pool(taking.pool, where)
            if reference is None:
                return
            reserve = None if taking.reserve is None else Closure(taking.reserve, header)
            pools.append(Held(reference, Closure(taking.units, header), reserve))
        reuse = None if s.reuse is None else Closure(s.reuse, header)
        if where.rules is not None:
            where.rules.check_header(header_closures(pools, reuse))
        cache = None if s.cache is None else Closure(s.cache, header)
        lease: tuple[kernel.Reference, Value] | None = None
        if s.lease is not None:
            leased = self.statements.held_pool(s.lease.pool, where)
            if leased is None:
                return
            lease = (leased, Closure(s.lease.time, header))
        inside = replace(where, scope=body_scope(scope, bindings), held=True)
        body = self.statements.block(s.body, inside)
        hold = kernel.Hold(
            s.span, scope.frames, where.side, pools, reuse, bindings, body, cache, lease
        )
        self.finish(hold, where)
        out.statements.append(hold)

    def bind(self, written: Iterable[ast.Binding], where: Where) -> list[Bound]:
        """The bindings of a clause; each sees the ones before it."""
        scope = where.scope
        bindings: list[Bound] = []
        items = list(written)
        for position, item in enumerate(items):
            name = item.target.name
            names: dict[str, Local] = {b.name: HeaderBinding(b) for b in bindings}
            for later in items[position + 1 :]:
                if later.target.name not in names and later.target.name != name:
                    names[later.target.name] = LaterBinding(later.target.name, name)
            first = next((b for b in bindings if b.name == name), None)
            if first is not None:
                self.faults.error(
                    "declared-twice",
                    f"`{name}` is bound twice in one `at admission`",
                    item.target.span,
                    notes=(("the first one is here", first.span),),
                    frames=scope.frames,
                )
                continue
            self._name(item.target, where)
            value = Closure(item.value, scope.bind(names))
            prefix = "" if where.rules is None else where.rules.prefix
            bindings.append(Bound(name, prefix + name, value, item.target.span))
            for read in reads(self.tables, value):
                if isinstance(read, DrawRead):
                    self.faults.error(
                        "binding-draws",
                        f"`{name}` draws: a binding is substituted, so a name used twice would"
                        " draw twice",
                        read.draw.span,
                        help="draw into an attribute before the hold",
                        frames=scope.frames,
                    )
        return bindings

    def _name(self, ident: ast.Ident, where: Where) -> None:
        """A binding's name is its own."""
        name = ident.name
        scope = where.scope
        if where.rules is not None and name in where.rules.params:
            where.rules.assign(ident, scope)
        self.statements.names.supplied(name, ident.span, "a binding")
        self.tables.bindings.setdefault(name, ident.span)
        if name in BUILTIN:
            self.faults.error(
                "builtin-name",
                f"`{name}` is a built-in attribute, and cannot be the name of a binding",
                ident.span,
                help="rename the binding",
                frames=scope.frames,
            )

    def finish(self, hold: kernel.Hold, where: Where) -> None:
        """Set the bindings the body reads at its top; they read attributes and constants only."""
        if not hold.bindings:
            return
        wanted = self._read_in(hold.body)
        sets: list[kernel.Statement] = []
        for binding in hold.bindings:
            if not any(binding is b for b in wanted):
                continue
            state = self._state(binding)
            if state is not None:
                self.faults.error(
                    "binding-reads-state",
                    f"the body reads `{binding.name}`, and `{binding.name}` reads `{state}`: the"
                    " body sees only a binding of attributes and constants",
                    binding.span,
                    help="in the body read `cached`, the units the admission consumed"
                    if state in ("cached", "cachedin(…)")
                    else "`set` what the body needs in the body",
                    frames=where.scope.frames,
                )
            sets.append(
                kernel.Set(
                    binding.span,
                    where.scope.frames,
                    where.side,
                    binding.attribute,
                    binding.value,
                    "binding",
                )
            )
            if where.rules is not None:
                where.rules.definite.add(binding.name)
        hold.body.statements[:0] = sets

    def _read_in(self, body: Block) -> list[Bound]:
        """The bindings of holds around it that a body reads as attributes."""
        found: list[Bound] = []
        for statement in kernel.every(body):
            for value in kernel.values_of(statement):
                for closure in kernel.closures_of(value):
                    for read in reads(self.tables, closure):
                        if isinstance(read, NameRead) and isinstance(read.local, BodyBinding):
                            found.append(read.local.binding)
        return found

    def _state(self, binding: Bound) -> str | None:
        """What of the deployment's state a binding reads, if anything."""
        for read in reads(self.tables, binding.value):
            match read:
                case CallRead(call=call) if call.func.name in STATE_QUERIES or (
                    call.func.name in ("cost", "blocksize")
                ):
                    return f"{call.func.name}(…)"
                case NameRead(local=None):
                    name = read.name
                    if name == "cached":
                        return name
                    if name in CONTEXT and not self._is_value(name):
                        return name
        return None

    def _is_value(self, name: str) -> bool:
        return name in self.tables.constants or name in self.tables.attributes


def header_closures(pools: list[Held], reuse: Value | None) -> list[Closure]:
    """The expressions of a header: units, reserves and reuse."""
    values = [held.units for held in pools] + [h.reserve for h in pools if h.reserve is not None]
    if reuse is not None:
        values.append(reuse)
    return [closure for value in values for closure in kernel.closures_of(value)]


def header_scope(scope: Scope, bindings: list[Bound]) -> Scope:
    """What a hold's header sees: the bindings, substituted."""
    return scope.bind({b.name: HeaderBinding(b) for b in bindings}) if bindings else scope


def body_scope(scope: Scope, bindings: list[Bound]) -> Scope:
    """What a hold's body sees: the bindings as attributes."""
    return scope.bind({b.name: BodyBinding(b) for b in bindings}) if bindings else scope
