"""Kernel statements to the IR's blocks, numbered in pre-order."""

from __future__ import annotations

from serq.ir import nodes
from serq.link.expressions import Expressions
from serq.link.source_map import SourceMap
from serq.lower import kernel


class Blocks:
    """The arena of blocks of one program. Blocks 0, 1 and 2 are its three roots."""

    def __init__(self, link: Expressions, source_map: SourceMap) -> None:
        self.link = link
        self.map = source_map
        self.blocks: list[tuple[nodes.Stmt, ...]] = []
        self.sides: list[tuple[nodes.Side, ...]] = []
        self.sets: list[tuple[kernel.Set, nodes.Set]] = []
        self.chosen: list[tuple[int, nodes.Side]] = []

    def roots(self, *roots: kernel.Block) -> None:
        """Link the root blocks, which get the first numbers."""
        numbers = [self._new() for _ in roots]
        for number, root in zip(numbers, roots, strict=True):
            self._fill(number, root)

    def _new(self) -> int:
        self.blocks.append(())
        self.sides.append(())
        return len(self.blocks) - 1

    def _block(self, block: kernel.Block) -> int:
        number = self._new()
        self._fill(number, block)
        return number

    def _fill(self, number: int, block: kernel.Block) -> None:
        statements: list[nodes.Stmt] = []
        for position, statement in enumerate(block.statements):
            linked = self._statement(statement)
            self.map.add(linked, statement.span, statement.frames)
            self.map.add_statement(number, position, statement.span, statement.frames)
            statements.append(linked)
        self.blocks[number] = tuple(statements)
        self.sides[number] = tuple(s.side for s in block.statements)

    def _statement(self, s: kernel.Statement) -> nodes.Stmt:
        link = self.link
        match s:
            case kernel.Turn():
                return nodes.Turn()
            case kernel.End():
                return nodes.End()
            case kernel.Join():
                return nodes.Join()
            case kernel.Set(name=name, value=value):
                assigned = nodes.Set(link.slots[name], link.value(value))
                self.sets.append((s, assigned))
                return assigned
            case kernel.Observe(name=name, value=value):
                return nodes.Observe(link.observes[name], link.value(value))
            case kernel.Hold():
                return self._hold(s)
            case kernel.Grow(pool=pool, amount=amount):
                return nodes.Grow(link.ref(pool), link.value(amount))
            case kernel.Load(pool=pool, amount=amount):
                return nodes.Load(link.ref(pool), link.value(amount))
            case kernel.Drop(pool=pool):
                return nodes.Drop(link.ref(pool))
            case kernel.Release(pool=pool):
                return nodes.Release(link.ref(pool))
            case kernel.Run():
                stages = [link.ref(stage) for stage in s.stages]
                work = link.value(s.work)
                growing = None if s.growing is None else link.ref(s.growing)
                return nodes.Run(stages[0], s.mode, work, growing, tuple(stages[1:]))
            case kernel.Branch(guard=guard, then=then, orelse=orelse):
                test = link.value(guard)
                first = self._block(then)
                return nodes.Branch(test, first, self._block(orelse))
            case kernel.While(guard=guard, body=body):
                return nodes.While(link.value(guard), self._block(body))
            case kernel.Loop(body=body):
                return nodes.Loop(self._block(body))
            case kernel.Fork(body=body):
                return nodes.Fork(self._block(body))
            case kernel.Choose(name=name, count=count, keys=keys):
                self.chosen.append((link.slots[name], s.side))
                number = link.value(count)
                return nodes.Choose(
                    link.slots[name], number, tuple([link.value(key) for key in keys])
                )
        raise AssertionError(s)

    def _hold(self, s: kernel.Hold) -> nodes.Hold:
        link = self.link
        pools: list[nodes.HoldPool] = []
        for held in s.pools:
            ref = link.ref(held.pool)
            units = link.value(held.units)
            reserve = None if held.reserve is None else link.value(held.reserve)
            pool = nodes.HoldPool(ref, units, reserve)
            self.map.add(pool, held.pool.span, held.pool.frames)
            pools.append(pool)
        reuse = None if s.reuse is None else link.value(s.reuse)
        cache = None if s.cache is None else link.value(s.cache)
        lease: nodes.Lease | None = None
        if s.lease is not None:
            lease = nodes.Lease(link.ref(s.lease[0]), link.value(s.lease[1]))
            self.map.add(lease, s.lease[0].span, s.lease[0].frames)
        return nodes.Hold(tuple(pools), reuse, self._block(s.body), cache, lease)
