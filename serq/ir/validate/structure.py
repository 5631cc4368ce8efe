"""Whether the document hangs together: every index names something, blocks form trees.

The other rules look things up by index, so they are only applied to a program without issues
here. Nothing a program's text says can break these rules; they are about documents.
"""

from __future__ import annotations

from collections import Counter
from itertools import pairwise

from .. import nodes as n
from ..codec import KNOWN_EXTENSIONS
from ..extensions import EXTENDED_VERSION
from ..walk import children, stmt_blocks
from .issues import ROOT, Issues, Place
from .model import Model
from .sites import iteration_statements, ref_sites

MAX_BLOCK_DEPTH = 4_000
"""Blocks inside one another. A program's text nests less (`serq.syntax`)."""

MAX_EXPRESSION_DEPTH = 20_000
"""Expressions inside one another; an aggregate of 4 096 terms nests that many."""

RANGE, SHAPE, TREE, DEEP = "ir-range", "ir-shape", "ir-tree", "ir-too-deep"


def check_shape(program: n.Program, issues: Issues) -> None:
    """Version, lengths of parallel arrays, roots and bodies of blocks."""
    extended = bool(program.extensions)
    if program.version != (EXTENDED_VERSION if extended else n.VERSION):
        issues.add(
            ROOT.under(".version"),
            "ir-version",
            f"IR version {program.version} with {len(program.extensions)} extensions; version "
            f"{n.VERSION} has none, version {EXTENDED_VERSION} at least one",
        )
    for i, extension in enumerate(program.extensions):
        if extension not in KNOWN_EXTENSIONS:
            place = ROOT.under(f".extensions[{i}]")
            issues.add(place, "ir-extension", f"the extension `{extension}` is not known")
    if len(program.attr_types) != len(program.attrs):
        issues.add(
            ROOT.under(".attr_types"),
            SHAPE,
            f"{len(program.attr_types)} types for {len(program.attrs)} attributes: each has one",
        )
    blocks = [len(block) for block in program.blocks]
    if [len(block) for block in program.sides] != blocks:
        issues.add(
            ROOT.under(".sides"),
            SHAPE,
            "`sides` and `blocks` differ in shape: each statement has one side",
        )
    roots = (("init", program.init), ("turn", program.turn), ("session", program.session))
    for name, block in roots:
        if block >= len(blocks):
            issues.add(ROOT.under(f".{name}"), RANGE, _none("block", block, len(blocks)))
    for b, stmts in enumerate(program.blocks):
        for i, stmt in enumerate(stmts):
            for path, body in stmt_blocks(stmt):
                if body >= len(blocks):
                    place = ROOT.under(f"blocks[{b}][{i}]", stmt).under(path)
                    issues.add(place, RANGE, _none("block", body, len(blocks)))
    if not issues:
        _check_tree(program, issues)


def _none(what: str, index: int, count: int) -> str:
    have = f"the document has 0 to {count - 1}" if count else "the document has none"
    return f"{what} {index} does not exist; {have}"


def _check_tree(program: n.Program, issues: Issues) -> None:
    seen: set[int] = set()
    stack: list[tuple[int, Place, int]] = [
        (program.session, ROOT.under(".session"), 1),
        (program.turn, ROOT.under(".turn"), 1),
        (program.init, ROOT.under(".init"), 1),
    ]
    while stack:
        block, place, depth = stack.pop()
        if block in seen:
            issues.add(
                place,
                TREE,
                f"block {block} is reached a second time: every block is the body of one statement",
            )
            continue
        seen.add(block)
        if depth > MAX_BLOCK_DEPTH:
            issues.add(place, DEEP, f"blocks are nested more than {MAX_BLOCK_DEPTH} deep")
            return
        for i, stmt in reversed(list(enumerate(program.blocks[block]))):
            at = Place(ROOT, f"blocks[{block}][{i}]", stmt)
            for path, body in reversed(stmt_blocks(stmt)):
                stack.append((body, at.under(path), depth + 1))
    _check_circles(program, seen, issues)


def _check_circles(program: n.Program, seen: set[int], issues: Issues) -> None:
    """Blocks that no session reaches may stand there, but not inside themselves."""
    rest = {
        b: [body for stmt in block for _, body in stmt_blocks(stmt) if body not in seen]
        for b, block in enumerate(program.blocks)
        if b not in seen
    }
    owners = Counter(body for bodies in rest.values() for body in bodies)
    free = [b for b in rest if not owners[b]]
    while free:
        for body in rest.pop(free.pop()):
            owners[body] -= 1
            if not owners[body]:
                free.append(body)
    if rest:
        block = min(rest)
        issues.add(
            ROOT.under(f".blocks[{block}]"), TREE, f"block {block} is inside itself, or under one"
        )


def check_ranges(model: Model) -> None:
    """Every index into attributes, observations, pools, stages and registers."""
    program, issues = model.program, model.issues
    check = _Ranges(program, issues)
    for name in ("cached", "serial", "turn", "new", "out", "think", "more", "forced", "computed"):
        check.slot(getattr(program, f"slot_{name}"), ROOT.under(f".slot_{name}"))
    for i, slot in enumerate(program.hidden):
        check.slot(slot, ROOT.under(f".hidden[{i}]"))
    for i, kind in enumerate(program.attr_types):
        if isinstance(kind, n.CostType):
            check.target(kind.target, ROOT.under(f".attr_types[{i}].Cost"))
    if isinstance(program.arrival, n.Sessions):
        for i, session in enumerate(program.arrival.sessions):
            lists = [(".attrs", session.attrs)]
            lists += [(f".turns[{t}]", turn) for t, turn in enumerate(session.turns or ())]
            for path, presets in lists:
                for k, (slot, _) in enumerate(presets):
                    check.slot(slot, ROOT.under(f".arrival.Sessions[{i}]{path}[{k}][0]"))
    for i, pool in enumerate(program.pools):
        place = ROOT.under(f".pools[{i}]", pool)
        if pool.admit_via is not None:
            check.member("stage", pool.admit_via, place.under(".admit_via"))
        if pool.spill is not None:
            check.member("pool", pool.spill.to, place.under(".spill.to"))
            check.member("stage", pool.spill.via, place.under(".spill.via"))
    for i, stage in enumerate(program.stages):
        if isinstance(stage.kind, n.Step):
            place = ROOT.under(f".stages[{i}]", stage).under(".kind.Step", stage.kind)
            if stage.kind.memory is not None:
                check.member("pool", stage.kind.memory, place.under(".memory"))
            for part, at in iteration_statements(stage.kind, place):
                if isinstance(part, n.IterSet):
                    check.register(part.register, at.under(".Set[0]"))
    for i, register in enumerate(program.registers):
        check.member(
            "stage", register.stage, ROOT.under(f".registers[{i}]", register).under(".stage")
        )
    for i, claim in enumerate(program.claims):
        if not isinstance(claim.kind, n.AtEnd):
            check.member(
                "stage", claim.kind.stage, ROOT.under(f".claims[{i}]", claim).under(".kind")
            )
    for stmt, place, _ in model.statements():
        match stmt:
            case n.Set(slot=slot):
                check.slot(slot, place.under(".Set[0]"))
            case n.Choose(var=slot):
                check.slot(slot, place.under(".Choose.var"))
            case n.Observe(observe=observe):
                check.observe(observe, place.under(".Observe[0]"))
        for ref in ref_sites(model, stmt, place):
            check.ref(ref.ref, ref.kind, ref.place)
    for site in model.sites:
        check.expression(site.expr, site.place)


class _Ranges:
    def __init__(self, program: n.Program, issues: Issues) -> None:
        self.program = program
        self.issues = issues

    def _below(self, what: str, index: int, count: int, place: Place) -> None:
        if index >= count:
            self.issues.add(place, RANGE, _none(what, index, count))

    def slot(self, index: int, place: Place) -> None:
        self._below("attribute", index, len(self.program.attrs), place)

    def observe(self, index: int, place: Place) -> None:
        self._below("observation", index, len(self.program.observes), place)

    def register(self, index: int, place: Place) -> None:
        self._below("register", index, len(self.program.registers), place)

    def member(self, kind: str, index: int, place: Place) -> None:
        count = len(self.program.pools if kind == "pool" else self.program.stages)
        self._below(kind, index, count, place)

    def family(self, kind: str, base: int, count: int, place: Place) -> None:
        have = len(self.program.pools if kind == "pool" else self.program.stages)
        if count < 1 or base + count > have:
            self.issues.add(
                place,
                RANGE,
                f"{kind}s {base} to {base + count - 1} do not exist; there are {have}"
                if count
                else f"a reference to no {kind}s: its `count` is 0",
            )

    def ref(self, ref: n.Ref, kind: str, place: Place) -> None:
        self.family(kind, ref.base, ref.count, place)

    def target(self, target: n.Target, place: Place) -> None:
        match target:
            case n.PoolTarget(base=base, count=count):
                self.family("pool", base, count, place)
            case n.StageTarget(base=base, count=count):
                self.family("stage", base, count, place)
            case n.JointTarget(targets=targets):
                for i, part in enumerate(targets):
                    self.target(part, place.under(f".Joint[{i}]"))
                order = [(isinstance(t, n.StageTarget), t.base, t.count) for t in targets]
                if len(order) < 2 or any(a >= b for a, b in pairwise(order)):
                    self.issues.add(
                        place,
                        SHAPE,
                        "a joint cost names two or more resources, each once, pools before "
                        "stages, in the order of the document",
                    )

    def expression(self, expr: n.Expr, place: Place) -> None:
        stack = [(expr, place, 1)]
        while stack:
            node, at, depth = stack.pop()
            if depth > MAX_EXPRESSION_DEPTH:
                message = f"expressions are nested more than {MAX_EXPRESSION_DEPTH} deep"
                self.issues.add(place, DEEP, message)
                return
            match node:
                case n.Attr(slot=slot):
                    self.slot(slot, at.under(".Attr"))
                case n.Reg(register=register):
                    self.register(register, at.under(".Reg"))
                case n.Agg(observe=observe):
                    self.observe(observe, at.under(".Agg[1]"))
                case n.Cost(target=target):
                    self.target(target, at.under(".Cost[0]"))
                case n.Call(args=args):
                    for i, arg in enumerate(args):
                        if isinstance(arg, n.PoolArg):
                            self.ref(arg.ref, "pool", at.under(f".Call[1][{i}].Pool", arg.ref))
                        elif isinstance(arg, n.StageArg):
                            self.ref(arg.ref, "stage", at.under(f".Call[1][{i}].Stage", arg.ref))
            for step, child in reversed(children(node)):
                stack.append((child, at.under(step, child), depth + 1))
