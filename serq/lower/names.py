"""Names do not collide: who has taken which name, and did-you-mean."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field

from serq.diagnostics import Span
from serq.lower.faults import Faults, closest
from serq.lower.tables import Queue, Tables
from serq.lower.vocabulary import BUILTIN, KEYWORDS, NOT_CALLED, RESERVED_QUEUES, SUPPLIED, WORDS
from serq.syntax import ast

WORDING = {
    "constant": "a `let` constant",
    "definition": "a definition",
    "pool": "a pool",
    "stage": "a stage",
    "device": "a device",
    "engine": "an engine",
    "queue": "a queue",
    "gauge": "a gauge",
    "claim": "a claim",
    "register": "a state of an engine",
}


@dataclass
class Names:
    """Reports a declaration whose name is the language's, taken, or a word it may not be."""

    faults: Faults
    taken: dict[str, tuple[str, Span]] = field(default_factory=dict)
    lets: dict[str, Span] = field(default_factory=dict)  # of schedules
    locals: dict[str, dict[str, tuple[str, Span]]] = field(default_factory=dict)  # by queue

    def declare(self, kind: str, ident: ast.Ident) -> bool:
        """Take a name for a declaration; False when one of its kind has it already."""
        name = ident.name
        wording = WORDING[kind]
        self._supplied(ident, wording)
        if name in BUILTIN:
            self.faults.error(
                "builtin-name",
                f"`{name}` is a built-in attribute, and cannot be the name of {wording}",
                ident.span,
                help="rename the declaration",
            )
        if kind == "definition" and name in WORDS:
            self._word(ident, wording)
        if kind in ("device", "engine") and name in KEYWORDS:
            self._word(ident, wording)
        if kind == "queue" and name in RESERVED_QUEUES:
            self._word(ident, wording)
        first = self.taken.get(name)
        if first is None:
            self.taken[name] = (kind, ident.span)
            if kind in ("definition", "constant") and name in self.lets:
                self._collide(ident, wording, "a schedule's `let`", self.lets[name])
            return True
        if first[0] == kind:
            self.faults.error(
                "declared-twice",
                f"`{name}` is declared twice",
                ident.span,
                help="rename or remove one of the two",
                notes=(("the first one is here", first[1]),),
            )
            return False
        self._collide(ident, wording, WORDING[first[0]], first[1])
        return True

    def declare_local(self, queue: Queue, kind: str, ident: ast.Ident) -> bool:
        """Take a name within a queue; it is shared only with what the queue's body reads bare."""
        name = ident.name
        wording = f"{WORDING[kind]} of queue `{queue.name}`"
        self._supplied(ident, wording)
        if name in BUILTIN:
            self.faults.error(
                "builtin-name",
                f"`{name}` is a built-in attribute, and cannot be the name of {wording}",
                ident.span,
                help="rename the declaration",
            )
        if kind == "device" and name in KEYWORDS:
            self._word(ident, wording)
        local = self.locals.setdefault(queue.name, {})
        first = local.get(name)
        if first is not None:
            if first[0] == kind:
                self.faults.error(
                    "declared-twice",
                    f"`{name}` is declared twice in queue `{queue.name}`",
                    ident.span,
                    notes=(("the first one is here", first[1]),),
                )
            else:
                self._collide(ident, wording, WORDING[first[0]], first[1])
            return False
        local[name] = (kind, ident.span)
        return True

    def capacity(self, ident: ast.Ident) -> None:
        """A capacity of an engine."""
        self._supplied(ident, "an engine's capacity")
        if ident.name in KEYWORDS:
            self._word(ident, "an engine's capacity")

    def resource(self, ident: ast.Ident) -> None:
        """A time resource or a capacity of a device, which `execute` calls like a function.

        A resource may have a name that the language supplies: only a call names it, and what is
        called is no value. A capacity's name is its pool's, which may not.
        """
        first = self.taken.get(ident.name)
        if ident.name in NOT_CALLED:
            self._word(ident, "a device's resource")
        elif first is not None and first[0] == "definition":
            self._collide(ident, "a device's resource", "a definition", first[1])

    def finish(self) -> None:
        """Check the names within queues against the definitions and constants of the program."""
        for queue, local in self.locals.items():
            for name, (kind, span) in local.items():
                first = self.taken.get(name)
                if first is not None and first[0] in ("definition", "constant"):
                    wording = f"{WORDING[kind]} of queue `{queue}`"
                    self._collide(ast.Ident(span, name), wording, WORDING[first[0]], first[1])

    def free_for_tool(self, span: Span) -> bool:
        """Whether the workload's own stage can be called ``tool``; reported if not."""
        first = self.taken.get("tool")
        if first is None:
            return True
        self.faults.error(
            "name-collision",
            f"the workload's `tool` runs on a stage `tool` of its own, and `tool` is"
            f" {WORDING[first[0]]}",
            span,
            help="rename one of the two",
            notes=(("`tool` is declared here", first[1]),),
        )
        return False

    def parameter(self, ident: ast.Ident, seen: set[str], *, called: bool = False) -> None:
        """A parameter of a definition or a time resource; ``called``: of an entry or a request."""
        if ident.name in seen:
            self.faults.error("parameter-twice", f"`{ident.name}` is a parameter twice", ident.span)
        seen.add(ident.name)
        self._supplied(ident, "a parameter")
        if ident.name in WORDS and not called:
            self._word(ident, "a parameter")

    def schedule_let(self, ident: ast.Ident) -> None:
        """A schedule's ``let`` is read beside the program's definitions and constants only."""
        self._supplied(ident, "a schedule's `let`")
        if ident.name in KEYWORDS:
            self._word(ident, "a schedule's `let`")
        self.lets.setdefault(ident.name, ident.span)
        first = self.taken.get(ident.name)
        if first is not None and first[0] in ("definition", "constant"):
            self._collide(ident, "a schedule's `let`", WORDING[first[0]], first[1])

    def supplied(self, name: str, span: Span, wording: str) -> None:
        """Report a name that the language supplies."""
        if name in SUPPLIED:
            self.faults.error(
                "supplied-name",
                f"`{name}` is a name the language supplies, and cannot be {wording}",
                span,
                help="use another name",
            )

    def _supplied(self, ident: ast.Ident, wording: str) -> None:
        self.supplied(ident.name, ident.span, f"the name of {wording}")

    def _word(self, ident: ast.Ident, wording: str) -> None:
        self.faults.error(
            "language-word",
            f"`{ident.name}` is a word of the language, and cannot be the name of {wording}",
            ident.span,
            help="use another name",
        )

    def _collide(self, ident: ast.Ident, wording: str, other: str, place: Span) -> None:
        self.faults.error(
            "name-collision",
            f"`{ident.name}` is {other}: {wording} of the same name would make one word mean two"
            " things",
            ident.span,
            help="rename one of the two",
            notes=((f"`{ident.name}` is declared here as {other}", place),),
        )

    def attributes(self, tables: Tables) -> None:
        """Check what statements assign, bind and observe against the declarations."""
        groups = (
            (tables.attributes, "an attribute the program sets"),
            (tables.bindings, "a binding of a hold"),
            (tables.observations, "an observation"),
            (tables.records, "a record of costs"),
        )
        known: dict[str, tuple[str, Span]] = {}
        for group, wording in groups:
            for name, place in group.items():
                span = place if isinstance(place, Span) else place.target.span
                self._attribute(name, wording, span, known)
        for queue, local in self.locals.items():
            for name, (kind, place) in local.items():
                other = f"{WORDING[kind]} of queue `{queue}`"
                for group, wording in groups[:2]:
                    if name in group:
                        ident = ast.Ident(group[name], name)
                        self._collide(ident, wording, other, place)

    def _attribute(
        self, name: str, wording: str, span: Span, known: dict[str, tuple[str, Span]]
    ) -> None:
        observed = wording == "an observation"
        if observed:
            self.supplied(name, span, "an observation")
            if name in BUILTIN:
                self.faults.error(
                    "builtin-name",
                    f"`{name}` is a built-in attribute, and cannot be the name of an observation",
                    span,
                    help="rename the observation",
                )
        first = self.taken.get(name)
        if first is not None:
            self._collide(ast.Ident(span, name), wording, WORDING[first[0]], first[1])
        elif name in known:
            other, place = known[name]
            self._collide(ast.Ident(span, name), wording, other, place)
        else:
            known[name] = (wording, span)

    def unknown(self, code: str, what: str, ident: ast.Ident, known: Mapping[str, Span]) -> None:
        """Report a name that is not declared, with the closest one that is."""
        near = closest(ident.name, known)
        self.faults.error(
            code,
            f"there is no {what} named `{ident.name}`",
            ident.span,
            help=f"did you mean `{near}`?" if near else None,
            notes=((f"`{near}` is declared here", known[near]),) if near else (),
        )
