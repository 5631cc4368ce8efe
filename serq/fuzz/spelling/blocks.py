"""Blocks of the IR as the workload and the server of a text."""

from __future__ import annotations

from dataclasses import dataclass, replace

from serq.fuzz.spelling.reasons import refuse
from serq.fuzz.spelling.values import NOWHERE, Values, ident
from serq.ir import nodes as ir
from serq.ir.walk import stmt_blocks
from serq.syntax import ast


@dataclass(frozen=True)
class Blocks:
    """What the text writes of a program's blocks; ``server`` is None without a workload."""

    init: ast.Block
    turn: ast.Block
    session: ast.Block | None
    server: ast.Block | None


class Statements:
    """Writes the blocks of one program."""

    def __init__(self, values: Values) -> None:
        self.values = values
        self.program = values.program
        self.server: ast.Block | None = None

    def blocks(self) -> Blocks:
        """The blocks with the server's statements taken out of the turns."""
        program = self.program
        init = self._workload(program.init)
        turn = self._workload(program.turn)
        if not program.blocks[program.session]:
            if init.statements or turn.statements:
                raise refuse("session", "an empty session beside `init` or `turn` statements")
            return Blocks(init, turn, None, None)
        last = program.blocks[program.session][-1]
        sides = program.sides[program.session]
        if not isinstance(last, ir.End) or sides[-1] is not ir.Side.WORKLOAD:
            raise refuse("session", "the last statement is no `End` of the client's")
        written = list(self._client(program.session).statements)
        if not (len(written) > 1 and isinstance(written[-2], ast.EndStmt)):
            written.pop()
        if self.server is None:
            raise refuse("session", "no `Turn` in it")
        alone = len(written) == 1 and isinstance(written[0], ast.TurnStmt)
        session = None if alone else ast.Block(NOWHERE, tuple(written))
        return Blocks(init, turn, session, self.server)

    def _workload(self, number: int) -> ast.Block:
        if any(side is not ir.Side.WORKLOAD for side in self.program.sides[number]):
            raise refuse("sides", f"a statement of the server in block {number}")
        made = [self._statement(s, client=True) for s in self.program.blocks[number]]
        return ast.Block(NOWHERE, tuple(made))

    def _client(self, number: int) -> ast.Block:
        """A block of the session: after a turn stand the server's statements, once each turn."""
        out: list[ast.Stmt] = []
        served: list[ast.Stmt] | None = None
        pairs = zip(self.program.blocks[number], self.program.sides[number], strict=True)
        for statement, side in pairs:
            if side is ir.Side.SERVER:
                if served is None:
                    raise refuse("sides", "a statement of the server without a turn before it")
                served.append(self._statement(statement, client=False))
                continue
            self._same_server(served)
            served = [] if isinstance(statement, ir.Turn) else None
            out.append(self._statement(statement, client=True))
        self._same_server(served)
        return ast.Block(NOWHERE, tuple(out))

    def _same_server(self, served: list[ast.Stmt] | None) -> None:
        if served is None:
            return
        block = ast.Block(NOWHERE, tuple(served))
        if self.server is None:
            self.server = block
        elif self.server != block:
            raise refuse("servers that differ", "the first turn's and a later one's")

    def _server(self, number: int) -> ast.Block:
        if any(side is not ir.Side.SERVER for side in self.program.sides[number]):
            raise refuse("sides", "a statement of the client's in one of the server's")
        made = [self._statement(s, client=False) for s in self.program.blocks[number]]
        return ast.Block(NOWHERE, tuple(made))

    def _statement(self, s: ir.Stmt, *, client: bool) -> ast.Stmt:
        value, pool = self.values.expression, self.values.pool
        block = self._client if client else self._server
        attrs = self.program.attrs
        match s:
            case ir.Turn():
                if not client:
                    raise refuse("sides", "a turn of the server's")
                return ast.TurnStmt(NOWHERE)
            case ir.End():
                return ast.EndStmt(NOWHERE)
            case ir.Join():
                return ast.JoinStmt(NOWHERE)
            case ir.Set(slot=slot, expr=expr):
                return ast.SetStmt(NOWHERE, "set", ident(attrs[slot]), value(expr))
            case ir.Observe(observe=observe, expr=expr):
                name = self.program.observes[observe]
                return ast.ObserveStmt(NOWHERE, ident(name), value(expr))
            case ir.Hold():
                return self._hold(s, block(s.body))
            case ir.Grow(pool=ref, amount=amount):
                return ast.GrowStmt(NOWHERE, pool(ref), value(amount))
            case ir.Load(pool=ref, amount=amount):
                return ast.LoadStmt(NOWHERE, pool(ref), value(amount))
            case ir.Drop(pool=ref):
                return ast.DropStmt(NOWHERE, pool(ref))
            case ir.Release(pool=ref):
                return ast.ReleaseStmt(NOWHERE, pool(ref))
            case ir.Run():
                stages = [self.values.stage(ref) for ref in (s.stage, *s.also)]
                mode = None if s.mode is ir.Mode.PLAIN else s.mode.lower()
                growing = None if s.growing is None else pool(s.growing)
                return ast.RunStmt(NOWHERE, tuple(stages), mode, value(s.work), growing)
            case ir.Branch(guard=guard, then=then, orelse=orelse):
                test = value(guard)
                first = block(then)
                other = block(orelse)
                otherwise = other if other.statements else None
                return ast.BranchStmt(NOWHERE, test, False, first, otherwise)
            case ir.Loop(body=body):
                return ast.LoopStmt(NOWHERE, block(body))
            case ir.While(guard=guard, body=body):
                return ast.WhileStmt(NOWHERE, value(guard), block(body))
            case ir.Fork(body=body):
                return ast.ForkStmt(NOWHERE, block(body))
            case ir.Choose(var=var, count=count, key=keys):
                made = tuple(value(key) for key in keys)
                return ast.ChooseStmt(NOWHERE, ident(attrs[var]), value(count), made)

    def _hold(self, s: ir.Hold, body: ast.Block) -> ast.HoldStmt:
        value = self.values.expression
        taken = [
            ast.Taking(
                NOWHERE,
                self.values.pool(held.pool),
                value(held.units),
                None if held.reserve is None else value(held.reserve),
            )
            for held in s.pools
        ]
        reuse = None if s.reuse is None else value(s.reuse)
        cache = None if s.cache is None else value(s.cache)
        lease = None
        if s.lease is not None:
            leased = self.values.pool(s.lease.pool)
            lease = ast.LeaseClause(NOWHERE, leased, value(s.lease.time))
        return ast.HoldStmt(NOWHERE, tuple(taken), reuse, (), body, cache, lease)


def in_order(program: ir.Program) -> ir.Program:
    """The program with its blocks numbered as the linker numbers them, in the order of the text.

    Raises `SerqError` (``no-spelling``) for blocks that nothing reaches.
    """
    roots = [program.init, program.turn, program.session]
    order = list(roots)
    for root in roots:
        stack = _bodies(program, root)
        while stack:
            number = stack.pop()
            order.append(number)
            stack += _bodies(program, number)
    if len(order) != len(program.blocks):
        raise refuse("unreached blocks", f"{len(program.blocks) - len(order)} of them")
    return renumbered(program, order)


def _bodies(program: ir.Program, number: int) -> list[int]:
    """The blocks directly inside one, the last of the text first."""
    return [body for s in program.blocks[number] for _, body in stmt_blocks(s)][::-1]


def renumbered(program: ir.Program, order: list[int]) -> ir.Program:
    """The program with the blocks in this order."""
    to = {old: new for new, old in enumerate(order)}

    def moved(s: ir.Stmt) -> ir.Stmt:
        match s:
            case ir.Hold(body=body) | ir.Loop(body=body) | ir.While(body=body) | ir.Fork(body=body):
                return replace(s, body=to[body])
            case ir.Branch(then=then, orelse=orelse):
                return replace(s, then=to[then], orelse=to[orelse])
        return s

    return replace(
        program,
        init=to[program.init],
        turn=to[program.turn],
        session=to[program.session],
        blocks=tuple(tuple(map(moved, program.blocks[old])) for old in order),
        sides=tuple(program.sides[old] for old in order),
    )
