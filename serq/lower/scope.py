"""Scopes: what the names of a text mean where it stands, after everything around it expanded.

Nothing is substituted as text. A parameter is bound to its argument *and the scope of the call*
(`Closure`), so an expanded body keeps its own spans, and each name is looked up where it was
written. A definition's body is read where it is used: it sees the index of an aggregate or an
admission's binding around its use, but no parameter of another definition.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Protocol

from serq.diagnostics import Span
from serq.lower.faults import Frame, Frames
from serq.syntax import ast

if TYPE_CHECKING:
    from serq.lower.tables import Engine, Family, Queue


@dataclass(frozen=True, slots=True)
class Closure:
    """An expression and the scope its names are looked up in."""

    expr: ast.Expr
    scope: Scope

    @property
    def span(self) -> Span:
        return self.expr.span


@dataclass(frozen=True, slots=True)
class Substituted:
    """A name that stands for an expression.

    ``what`` is ``parameter`` (of a definition or a time resource, which may stand for a pool or
    stage too), ``argument`` (of an entry or a request, a value) or ``self``.
    """

    value: Closure
    what: str


@dataclass(frozen=True, slots=True)
class IndexValue:
    """The index of an aggregate, a number in each term."""

    value: float


@dataclass(slots=True)
class Bound:
    """A binding of ``at admission``: an expression in the header, an attribute in the body."""

    name: str
    attribute: str  # what the body reads it as
    value: Closure
    span: Span


@dataclass(frozen=True, slots=True)
class HeaderBinding:
    """``binding`` as the header and the clauses after the body see it: substituted."""

    binding: Bound


@dataclass(frozen=True, slots=True)
class BodyBinding:
    """``binding`` as the hold's body sees it: an attribute set at the body's top."""

    binding: Bound


@dataclass(frozen=True, slots=True)
class LaterBinding:
    """A binding of the same clause that stands below: not readable yet."""

    name: str
    reader: str


@dataclass(frozen=True, slots=True)
class ScheduleLetValue:
    """A schedule's ``let``: substituted, and only in ``each at most``."""

    value: Closure


@dataclass(frozen=True, slots=True)
class SourceQueue:
    """``P`` in ``decode (prompt) from P``: the pool the call's source leased, never a number."""

    queue: Queue
    index: Closure | None


Local = (
    Substituted
    | IndexValue
    | HeaderBinding
    | BodyBinding
    | LaterBinding
    | ScheduleLetValue
    | SourceQueue
)


class Rules(Protocol):
    """What the statements of an entry or a request may read and set (`serq.lower.rules`)."""

    prefix: str
    own: frozenset[str]
    hidden: frozenset[str]

    def attribute(self, name: str, span: Span, scope: Scope) -> str | None: ...

    def dotted(self, name: str, span: Span, scope: Scope) -> bool: ...

    def assign(self, target: ast.Ident, scope: Scope) -> str: ...

    def may_query(self, family: Family, path: ast.Path, scope: Scope) -> bool: ...

    def may_hold(self, family: Family, span: Span, scope: Scope) -> bool: ...


@dataclass(frozen=True, slots=True)
class Place:
    """What kind of place an expression stands in, as far as the meaning of names depends on it.

    ``engine`` and ``clause`` are set in an engine's own clauses, where values have dotted names.
    ``home`` is the queue whose pools are read bare. ``rules`` restricts the attributes that may be
    read and set (an entry sees its own). ``statement`` says whether it is a statement of the
    session, the server, an entry or a request, which may not read a request's own names.
    """

    what: str
    engine: Engine | None = None
    clause: str = ""
    home: Queue | None = None
    rules: Rules | None = None
    statement: bool = False


@dataclass(frozen=True, slots=True)
class Scope:
    """Names bound around an expression, and the place and expansions it stands in."""

    parent: Scope | None
    names: Mapping[str, Local] = field(default_factory=dict)
    call: bool = False  # parameters of a definition: hidden from definitions used inside
    frames: Frames = ()
    place: Place = field(default_factory=lambda: Place("the program"))

    def find(self, name: str) -> Local | None:
        """What ``name`` is bound to around this place, or None."""
        scope: Scope | None = self
        inside_call = False
        while scope is not None:
            if scope.call:
                if not inside_call and name in scope.names:
                    return scope.names[name]
                inside_call = True
            elif name in scope.names:
                return scope.names[name]
            scope = scope.parent
        return None

    def bind(self, names: Mapping[str, Local]) -> Scope:
        return Scope(self, names, False, self.frames, self.place)

    def enter(self, names: Mapping[str, Local], frame: Frame) -> Scope:
        """The scope of a definition's body used here."""
        return Scope(self, names, True, (*self.frames, frame), self.place)

    def expand(self, names: Mapping[str, Local], frame: Frame, place: Place) -> Scope:
        """The scope of an entry's or a request's body called here; the caller's is not seen."""
        return Scope(None, names, False, (*self.frames, frame), place)

    def at(self, place: Place) -> Scope:
        return Scope(self, {}, False, self.frames, place)
