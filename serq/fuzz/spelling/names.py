"""Names that a text can spell: dots become underscores, and no two things share one.

A queue's pool is ``P.kv`` in the IR and ``P_kv`` in the text, which declares it flat. Names are
labels in the IR, so the program with the new names means the same.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass, field, replace

from serq.fuzz.spelling.reasons import refuse
from serq.ir import nodes as ir
from serq.lower.vocabulary import BUILTIN, KEYWORDS, SUPPLIED, WORDS


@dataclass(frozen=True)
class Family:
    """Pools or stages that one declaration declares; ``indexed`` if it is written with a size."""

    name: str
    base: int
    count: int
    indexed: bool


@dataclass
class Spelled:
    """A program with spellable names, and what it consists of by name."""

    program: ir.Program
    pools: list[Family] = field(default_factory=list)
    stages: list[Family] = field(default_factory=list)
    names: dict[str, str] = field(default_factory=dict)  # old → new, where they differ
    taken: set[str] = field(default_factory=lambda: {*SUPPLIED, *BUILTIN, "args"})

    def fresh(self, wanted: str, forbidden: frozenset[str] = frozenset()) -> str:
        """A name like the one wanted that nothing has."""
        name = re.sub(r"\W", "_", wanted)
        if not name or name[0].isdigit():
            name = f"_{name}"
        stem, number = name, 1
        while name in self.taken or name in forbidden:
            number += 1
            name = f"{stem}_{number}"
        self.taken.add(name)
        if name != wanted and wanted not in self.names:
            self.names[wanted] = name
        return name


def spelled(program: ir.Program) -> Spelled:
    """The program with spellable names. Raises `SerqError` (``no-spelling``)."""
    out = Spelled(program)
    attrs = (*program.attrs[:9], *(out.fresh(name) for name in program.attrs[9:]))
    observes = tuple(out.fresh(name) for name in program.observes)
    stages = _families(out, program.stages)
    pools = _families(out, program.pools)
    gauges = tuple(replace(g, name=out.fresh(g.name)) for g in program.gauges)
    claims = tuple(replace(c, name=out.fresh(c.name)) for c in program.claims)
    registers = tuple(replace(r, name=out.fresh(r.name, KEYWORDS)) for r in program.registers)
    out.stages, out.pools = stages, pools
    out.program = replace(
        program,
        attrs=attrs,
        observes=observes,
        stages=tuple(replace(s, name=_of(stages, i)) for i, s in enumerate(program.stages)),
        pools=tuple(replace(p, name=_of(pools, i)) for i, p in enumerate(program.pools)),
        gauges=gauges,
        claims=claims,
        registers=registers,
    )
    return out


def _of(families: list[Family], number: int) -> str:
    return next(f.name for f in families if f.base <= number < f.base + f.count)


def _families(out: Spelled, members: Sequence[ir.Pool | ir.Stage]) -> list[Family]:
    """The declarations that a program's pools or stages come from."""
    found: list[Family] = []
    i = 0
    while i < len(members):
        first = members[i]
        count = 1
        if first.index is not None:
            if first.index != 0:
                raise refuse("family", f"`{first.name}[{first.index}]` without those before it")
            while (
                i + count < len(members)
                and members[i + count].name == first.name
                and members[i + count].index == count
            ):
                count += 1
        engine = isinstance(first, ir.Stage) and isinstance(first.kind, ir.Step)
        forbidden = WORDS if engine or isinstance(first, ir.Pool) else frozenset({"self"})
        name = out.fresh(first.name, forbidden)
        found.append(Family(name, i, count, first.index is not None))
        i += count
    return found
