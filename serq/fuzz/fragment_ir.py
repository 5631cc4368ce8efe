"""Random programs of the Lean fragment, as IR: engines, pools, stages, conversations, families.

Every amount is a natural number and every difference is safe, so the interpreter and Lean must
agree step by step.
"""

from __future__ import annotations

from collections.abc import Sequence
from random import Random

from serq.ir import nodes as ir
from serq.ir.extensions import marked
from serq.ir.functions import COUNTERS
from serq.ir.nodes import BinaryOp as B
from serq.ir.nodes import Ctx, Fun, Mode

ATTRS = (*ir.BUILTIN_ATTRS, "prompt", "o", "d", "arrive", "known", "k", "n")
PROMPT, OUT, DELAY, ARRIVE, KNOWN, CHOSEN, COUNT = range(9, 16)
MORE, THINK, COMPUTED, CACHED = 6, 5, 8, 0
SERVERS = {CACHED, COMPUTED, KNOWN, CHOSEN, COUNT}
OBSERVES = ("a", "b", "c")


def num(value: float) -> ir.Expr:
    return ir.Num(float(value))


def op(kind: B, a: ir.Expr, b: ir.Expr) -> ir.Expr:
    return ir.Binary(kind, a, b)


def call(fun: Fun, *args: ir.Expr) -> ir.Expr:
    return ir.Call(fun, tuple(ir.ExprArg(a) for a in args))


def of_pool(fun: Fun, pool: ir.Ref) -> ir.Expr:
    return ir.Call(fun, (ir.PoolArg(pool),))


def plain(base: int) -> ir.Ref:
    return ir.Ref(base, 1, None)


def stage_cost(stage: ir.Ref, work: ir.Expr) -> ir.Expr:
    return ir.Cost(ir.StageTarget(stage.base, stage.count), work)


def pool_cost(pool: ir.Ref, units: ir.Expr) -> ir.Expr:
    return ir.Cost(ir.PoolTarget(pool.base, pool.count), units)


def run_at(stage: int, mode: Mode, work: ir.Expr, growing: ir.Ref | None = None) -> ir.Stmt:
    return ir.Run(plain(stage), mode, stage_cost(plain(stage), work), growing)


def held(pool: ir.Ref, units: ir.Expr, reserve: ir.Expr | None = None) -> ir.HoldPool:
    room = None if reserve is None else pool_cost(pool, reserve)
    return ir.HoldPool(pool, pool_cost(pool, units), room)


def sides(number: int, block: tuple[ir.Stmt, ...], again: int) -> tuple[ir.Side, ...]:
    """The session's own statements are the workload's, what a turn sets off is the server's."""
    own = (ir.Turn, ir.While, ir.End)
    client = number in (2, again)
    return tuple(
        ir.Side.WORKLOAD if client and (isinstance(s, own) or i == 0) else ir.Side.SERVER
        for i, s in enumerate(block)
    )


def of_request(e: ir.Expr | None) -> ir.Expr | None:
    """What a request's hold reuses or caches: a cost of both its pools."""
    if e is None:
        return None
    return ir.Cost(ir.JointTarget((ir.PoolTarget(0, 1), ir.PoolTarget(1, 1))), e)


class Maker:
    """One program, made with a generator's choices."""

    def __init__(self, choices: Random) -> None:
        self.r = choices
        self.blocks: list[tuple[ir.Stmt, ...]] = [(), (), ()]

    def chance(self, p: float) -> bool:
        return self.r.random() < p

    def block(self, statements: Sequence[ir.Stmt]) -> int:
        self.blocks.append(tuple(statements))
        return len(self.blocks) - 1

    # -- pools, stages

    def pools(self) -> tuple[ir.Pool, ...]:
        r = self.r
        self.block_size = r.choice([1, 4, 16])
        longest = 40 + 24 + self.block_size
        self.kv_cap = -(-r.randint(longest, 2 * longest - 20) // self.block_size) * self.block_size
        victims: list[tuple[ir.Expr, ...]] = [
            (ir.Unary(ir.UnaryOp.NEG, ir.CtxVar(Ctx.ADMISSION)),),
            (ir.CtxVar(Ctx.POSITION),),
            (ir.Unary(ir.UnaryOp.NEG, ir.CtxVar(Ctx.DECODING)), ir.Attr(PROMPT)),
        ]
        preempt = r.choice(victims)
        evict: ir.Lru | ir.EvictBy = ir.Lru()
        if self.chance(0.3):
            evict = ir.EvictBy((r.choice([ir.CtxVar(Ctx.SIZE), ir.CtxVar(Ctx.AGE)]),))
        kv = ir.Pool(
            "kv",
            None,
            float(self.kv_cap),
            float(self.block_size) if self.chance(0.8) else None,
            evict,
            ir.PreemptBy(preempt, self.chance(0.2)),
            None,
            None,
            None,
        )
        if kv.block is None:
            self.block_size = 1
        slots = self.plain_pool("slots", r.randint(1, 5), engine=True)
        other = self.plain_pool("other", r.randint(2, 6), engine=False)
        family = tuple(
            ir.Pool(
                "fam", i, float(r.randint(2, 5)), None, ir.Lru(), ir.NoPreempt(), None, None, None
            )
            for i in range(2)
        )
        return (kv, slots, other, *family)

    def plain_pool(self, name: str, cap: int, engine: bool) -> ir.Pool:
        keys: tuple[ir.Expr, ...] | None = None
        if self.chance(0.4):
            firsts: list[ir.Expr] = [ir.Attr(PROMPT), ir.Unary(ir.UnaryOp.NEG, ir.Attr(OUT))]
            keys = (self.r.choice(firsts), ir.Unary(ir.UnaryOp.NEG, ir.CtxVar(Ctx.WAITED)))
        via = 0 if engine else None
        return ir.Pool(name, None, float(cap), None, ir.Lru(), ir.NoPreempt(), keys, None, via)

    def engine(self) -> ir.Step:
        r = self.r
        chunk: ir.Expr = num(0)
        if self.chance(0.3):
            chunk = num(r.randint(1, 20))
        elif self.chance(0.3):
            waiting = of_pool(Fun.QUEUED, plain(1))
            busy = op(B.GT, op(B.ADD, ir.CtxVar(Ctx.NRES), waiting), num(1))
            chunk = ir.Cond(busy, num(r.randint(4, 20)), num(0))
        cost: ir.Expr = num(1)
        if self.chance(0.5):
            terms = [ir.CtxVar(Ctx.NTOK), ir.CtxVar(Ctx.NDEC), ir.CtxVar(Ctx.KVB)]
            cost = op(B.ADD, num(r.randint(1, 4)), op(B.MUL, num(r.randint(0, 3)), r.choice(terms)))
            if self.chance(0.4):
                cost = op(B.ADD, cost, op(B.MUL, num(2), ir.CtxVar(Ctx.ATTN)))
            if self.chance(0.4):
                tiles = call(Fun.CEIL, op(B.DIV, ir.CtxVar(Ctx.NTOK), num(r.randint(2, 9))))
                cost = op(B.ADD, cost, tiles)
        serve: tuple[ir.Expr, ...] = ()
        if self.chance(0.3):
            decode_first = ir.Cond(ir.CtxVar(Ctx.DECODING), num(0), num(1))
            longest = ir.Unary(ir.UnaryOp.NEG, ir.CtxVar(Ctx.REMAINING))
            orders: list[ir.Expr] = [decode_first, longest, ir.CtxVar(Ctx.ADMISSION)]
            serve = (r.choice(orders),)
        iteration: tuple[ir.IterStmt, ...] | None = None
        if self.chance(0.25):
            decoding = ir.CtxVar(Ctx.DECODING)
            phase = ir.Cond(
                op(B.GT, ir.CtxVar(Ctx.NDEC), num(0)),
                decoding,
                ir.Unary(ir.UnaryOp.NOT, decoding),
            )
            gate = ir.Unary(ir.UnaryOp.NOT, ir.CtxVar(Ctx.PREEMPTED))
            iteration = (ir.IterServe(phase, None), ir.IterAdmit(phase, gate))
        return ir.Step(num(r.randint(4, 48)), cost, chunk, None, ir.ServeBy(serve), 0, iteration)

    # -- statements

    def amount(self) -> ir.Expr:
        r = self.r
        d = ir.Attr(DELAY)
        return r.choice(
            [
                d,
                num(r.randint(0, 4)),
                call(Fun.MIN, d, num(3)),
                call(Fun.FLOOR, op(B.DIV, ir.Attr(PROMPT), num(r.randint(2, 9)))),
                op(B.SUB, call(Fun.MAX, d, num(2)), num(1)),
                ir.Cond(op(B.LT, d, num(2)), num(2), d),
                op(B.SUB, d, num(0)),
                ir.Cond(op(B.LT, num(1), num(2)), d, num(0)),
            ]
        )

    def observe(self) -> ir.Stmt:
        value = self.r.choice(
            [
                ir.CtxVar(Ctx.NOW),
                ir.Attr(COMPUTED),
                ir.Attr(CACHED),
                of_pool(Fun.USED, plain(0)),
                of_pool(Fun.FREE, plain(2)),
                of_pool(Fun.HOLDERS, plain(1)),
                of_pool(Fun.QUEUED, plain(1)),
                of_pool(Fun.CACHED_IN, plain(0)),
                ir.Call(Fun.QUEUE, (ir.StageArg(plain(2)),)),
                ir.Attr(2),
            ]
        )
        return ir.Observe(self.r.randrange(len(OBSERVES)), value)

    def pause(self) -> ir.Stmt:
        """A run at the delay or the fifo stage."""
        return run_at(self.r.choice([1, 2]), Mode.PLAIN, self.amount())

    def small(self, deep: int) -> list[ir.Stmt]:
        """Statements that may stand anywhere."""
        found: list[ir.Stmt] = []
        for _ in range(self.r.randint(0, 2)):
            kind = self.r.randrange(7 if deep < 2 else 3)
            if kind == 0:
                found.append(self.observe())
            elif kind == 1:
                found.append(self.pause())
            elif kind == 2:
                found.append(ir.Set(COUNT, op(B.ADD, ir.Attr(COUNT), num(1))))
            elif kind == 3:
                test = op(B.GE, ir.Attr(self.r.choice([DELAY, PROMPT])), num(self.r.randint(1, 20)))
                yes, no = self.block(self.small(deep + 1)), self.block(self.small(deep + 1))
                found.append(ir.Branch(test, yes, no))
            elif kind == 4:
                found.append(self.held_other(deep))
            elif kind == 5:
                found += self.held_family(deep)
            else:
                found.append(ir.Drop(plain(0)))
        return found

    def held_other(self, deep: int) -> ir.Stmt:
        body = self.block([self.pause(), *self.small(deep + 1)])
        units = call(Fun.MIN, op(B.ADD, ir.Attr(DELAY), num(1)), num(2))
        return ir.Hold((held(plain(2), units),), None, body, None, None)

    def held_family(self, deep: int) -> list[ir.Stmt]:
        member = ir.Ref(3, 2, ir.Attr(CHOSEN))
        body = self.block([self.pause(), *self.small(deep + 1)])
        return [
            ir.Choose(CHOSEN, num(2), (of_pool(Fun.USED, member),)),
            ir.Hold((held(member, num(1)),), None, body, None, None),
        ]

    def request(self) -> list[ir.Stmt]:
        """A turn's work at the engine, as vLLM does a request, with variations."""
        r = self.r
        known = call(Fun.MAX, ir.Attr(PROMPT), op(B.ADD, ir.Attr(COMPUTED), num(1)))
        left = ir.Call(Fun.BUDGET_LEFT, (ir.StageArg(plain(0)),))
        reuse = None
        first = call(Fun.MIN, known, left)
        if caching := self.chance(0.5):
            bound = call(Fun.FLOOR, op(B.DIV, ir.Attr(PROMPT), num(2)))
            reuse = bound
            hit = call(Fun.MIN, of_pool(Fun.CACHED_IN, plain(0)), bound)
            first = call(Fun.MIN, known, op(B.ADD, hit, left))
        pools = (
            held(plain(1), num(1)),
            held(plain(0), first, known if self.chance(0.8) else None),
        )
        grows = plain(0)
        cached_less = op(B.SUB, call(Fun.MAX, ir.Attr(KNOWN), ir.Attr(CACHED)), ir.Attr(CACHED))
        body: list[ir.Stmt] = [ir.Set(KNOWN, known), *self.small(1)]
        body.append(run_at(0, Mode.PREFILL, cached_less, grows))
        body += self.small(1)
        rest = op(
            B.SUB,
            call(Fun.MAX, op(B.ADD, ir.Attr(PROMPT), ir.Attr(OUT)), ir.Attr(KNOWN)),
            ir.Attr(KNOWN),
        )
        body.append(run_at(0, Mode.DECODE, rest, grows))
        if self.chance(0.2):
            body += [ir.Release(plain(0)), self.pause()]
        cache = op(B.ADD, ir.Attr(PROMPT), ir.Attr(OUT)) if caching else None
        hold = ir.Hold(pools, of_request(reuse), self.block(body), of_request(cache), None)
        return [*self.small(1), hold, ir.Observe(r.randrange(len(OBSERVES)), ir.CtxVar(Ctx.NOW))]

    # -- the whole

    def program(self) -> ir.Program:
        r = self.r
        pools = self.pools()
        stages = (
            ir.Stage("e", None, self.engine()),
            ir.Stage("lag", None, ir.Ps(ir.CtxVar(Ctx.N))),
            ir.Stage("desk", None, ir.Fifo(r.randint(1, 2))),
            ir.Stage("tool", None, ir.Ps(ir.CtxVar(Ctx.N))),
        )
        arrive = run_at(3, Mode.PLAIN, ir.Attr(ARRIVE))
        again = self.block([run_at(3, Mode.PLAIN, ir.Attr(THINK)), ir.Turn(), *self.request()])
        session = [arrive, ir.Turn(), *self.request(), ir.While(ir.Attr(MORE), again), ir.End()]
        self.blocks[2] = tuple(session)
        sessions = tuple(self.session() for _ in range(r.randint(1, 6)))
        blocks = tuple(self.blocks)
        program = ir.Program(
            version=ir.VERSION,
            attrs=ATTRS,
            attr_types=tuple(ir.ValueType() if s in SERVERS else ir.SizeType() for s in range(16)),
            sides=tuple(sides(i, b, again) for i, b in enumerate(blocks)),
            observes=OBSERVES,
            pools=pools,
            stages=stages,
            arrival=ir.Sessions(sessions),
            trace=None,
            trace_ordered=False,
            init=0,
            turn=1,
            session=2,
            blocks=blocks,
            horizon=float(r.choice([60, 200, 600])),
            warmup=0.0,
            seed=1,
            arrivals=None,
            slot_cached=0,
            slot_serial=1,
            slot_turn=2,
            slot_new=3,
            slot_out=4,
            slot_think=5,
            slot_more=6,
            slot_forced=7,
            slot_computed=8,
            hidden=(),
            share=None,
            gauges=(),
            claims=self.claims() if self.chance(0.5) else (),
            registers=(),
        )
        return marked(program)

    def claims(self) -> tuple[ir.Claim, ...]:
        """Claims that read counters, of a pool or of the engine."""
        r = self.r
        out = []
        for name in ("counts", "counted"):
            of: list[ir.Arg] = [ir.PoolArg(plain(0)), ir.PoolArg(plain(2)), ir.StageArg(plain(0))]
            chosen = r.choice(of)
            counter = ir.Call(r.choice(sorted(COUNTERS)), (chosen,))
            kinds: list[ir.ClaimKind] = [ir.EveryIteration(0), ir.SomeIteration(0), ir.AtEnd()]
            kind = r.choice(kinds)
            test = op(r.choice([B.LE, B.GT]), counter, num(r.randint(0, 3)))
            out.append(ir.Claim(name, None, kind, test))
        return tuple(out)

    def session(self) -> ir.SessionData:
        r = self.r
        attrs = (
            (ARRIVE, float(r.choice([0, 0, r.randint(0, 30)]))),
            (DELAY, float(r.randint(0, 5))),
        )
        turns = tuple(
            (
                (PROMPT, float(r.randint(1, 40))),
                (OUT, float(r.randint(0, 24))),
                (THINK, float(r.randint(0, 9))),
            )
            for _ in range(r.randint(1, 3))
        )
        return ir.SessionData(attrs, turns)


def random_program(seed: int) -> ir.Program:
    """The program of a seed; what is different every time is `fragment_ir_programs`."""
    return Maker(Random(seed)).program()
