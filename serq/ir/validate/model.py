"""The program as the rules look at it: names, who may preempt what, where expressions stand."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from functools import cached_property

from .. import nodes as n
from ..moments import Moment
from ..text import pool_name, reference, show, stage_name
from ..walk import children, stmt_blocks
from .issues import ROOT, Issues, Place


@dataclass(frozen=True, slots=True)
class Site:
    """An expression at its position.

    ``what`` names the position in a message (*the units of a hold*). ``stage`` is the engine or
    stage whose declaration it stands in, ``pool`` the pool whose keys it is among, ``holds`` the
    first pool of the hold whose header it stands in.
    """

    expr: n.Expr
    place: Place
    moment: Moment
    what: str
    stage: int | None = None
    pool: int | None = None
    holds: n.Ref | None = None


@dataclass(frozen=True, slots=True)
class RefSite:
    """A statement's reference to pools or stages (``kind``)."""

    ref: n.Ref
    place: Place
    kind: str


class Model:
    """A program whose indices are in range, with what several rules need of it."""

    def __init__(self, program: n.Program, issues: Issues) -> None:
        self.program = program
        self.issues = issues

    # --- names ----------------------------------------------------------------------------------

    def attr(self, slot: int) -> str:
        return self.program.attrs[slot]

    def pool(self, index: int) -> str:
        return pool_name(self.program, index)

    def stage(self, index: int) -> str:
        return stage_name(self.program, index)

    def pool_ref(self, ref: n.Ref) -> str:
        return reference(self.program, ref, "pool")

    def stage_ref(self, ref: n.Ref) -> str:
        return reference(self.program, ref, "stage")

    def show(self, expr: n.Expr, moment: Moment = Moment.SESSION) -> str:
        return show(self.program, expr, moment)

    # --- what is what ---------------------------------------------------------------------------

    @cached_property
    def hidden(self) -> frozenset[int]:
        return frozenset(self.program.hidden)

    def may_preempt(self, ref: n.Ref) -> bool:
        """Whether a pool that the reference can name takes units from its holders."""
        members = self.program.pools[ref.base : ref.base + ref.count]
        return any(isinstance(p.preempt, n.PreemptBy) for p in members)

    def is_engine(self, stage: int) -> bool:
        return isinstance(self.program.stages[stage].kind, n.Step)

    def stages_of(self, ref: n.Ref) -> tuple[n.Stage, ...]:
        return self.program.stages[ref.base : ref.base + ref.count]

    # --- statements -----------------------------------------------------------------------------

    @cached_property
    def owners(self) -> dict[int, tuple[int, int]]:
        """The statement (block, position) whose body a block is; roots have none."""
        out: dict[int, tuple[int, int]] = {}
        for b, block in enumerate(self.program.blocks):
            for i, stmt in enumerate(block):
                for _, body in stmt_blocks(stmt):
                    out.setdefault(body, (b, i))
        return out

    @cached_property
    def roots(self) -> tuple[int, int, int]:
        return self.program.init, self.program.turn, self.program.session

    @cached_property
    def reachable(self) -> list[int]:
        """The blocks that a session can run, roots first, bodies after their statements."""
        out: list[int] = []
        stack = list(reversed(self.roots))
        while stack:
            block = stack.pop()
            out.append(block)
            bodies = [b for s in self.program.blocks[block] for _, b in stmt_blocks(s)]
            stack.extend(reversed(bodies))
        return out

    @cached_property
    def stmt_places(self) -> list[list[Place]]:
        """The place of every statement, under the statement whose body it is in."""
        blocks = self.program.blocks
        places: list[list[Place]] = [[] for _ in blocks]
        reachable = self.reachable
        rest = sorted(set(range(len(blocks))) - set(reachable))
        for b in [*reachable, *rest]:
            owner = self.owners.get(b)
            above = ROOT
            if owner is not None and places[owner[0]]:
                above = places[owner[0]][owner[1]]
            places[b] = [Place(above, f"blocks[{b}][{i}]", s) for i, s in enumerate(blocks[b])]
        return places

    def statements(self) -> Iterator[tuple[n.Stmt, Place, n.Side]]:
        """Every statement, reachable or not."""
        for b, block in enumerate(self.program.blocks):
            yield from zip(block, self.stmt_places[b], self.program.sides[b], strict=True)

    def body(self, block: int) -> list[tuple[n.Stmt, Place, n.Side]]:
        """The statements of one block."""
        return list(
            zip(
                self.program.blocks[block],
                self.stmt_places[block],
                self.program.sides[block],
                strict=True,
            )
        )

    # --- expressions ----------------------------------------------------------------------------

    @cached_property
    def sites(self) -> list[Site]:
        """Every expression of the program at its position, except inside other expressions."""
        from .sites import all_sites

        return list(all_sites(self))

    def inside(self, site: Site) -> Iterator[tuple[n.Expr, Place]]:
        """Every expression of a site with its place, the whole first."""
        return parts(site.expr, site.place)


def parts(expr: n.Expr, place: Place) -> Iterator[tuple[n.Expr, Place]]:
    """Every expression inside one that stands at ``place``, itself first."""
    stack = [(expr, place)]
    while stack:
        node, at = stack.pop()
        yield node, at
        stack.extend((child, at.under(step, child)) for step, child in reversed(children(node)))
