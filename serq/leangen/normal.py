"""A translated program as IR again: the normal form that ``serq-exec`` reads.

Constants are folded, costs erased, init blocks written out, ``inf`` is gone. It says what the
translation said and nothing else, so Lean's own reader of IR JSON has no decisions to make on it.
"""

from __future__ import annotations

from dataclasses import replace

from serq.ir import nodes as ir
from serq.ir.nodes import BinaryOp, Ctx, Fun
from serq.leangen import model as lean
from serq.leangen.fragment import Executable

_DELAY = ir.Ps(ir.CtxVar(Ctx.N))


def normal_form(program: ir.Program, made: Executable) -> ir.Program:
    """The executable ``made`` of ``program`` as a program of its own, with the same names."""
    blocks = _Blocks()
    session = blocks.add(made.program)
    d = made.deployment
    return replace(
        program,
        attr_types=tuple(ir.ValueType() for _ in program.attrs),
        pools=tuple(_pool(p, x, d.stages) for p, x in zip(program.pools, d.pools, strict=True)),
        stages=tuple(
            replace(s, kind=_kind(x, d)) for s, x in zip(program.stages, d.stages, strict=True)
        ),
        arrival=_arrival(made.workload),
        trace=None,
        trace_ordered=False,
        init=0,
        turn=1,
        session=session,
        blocks=tuple(blocks.made),
        sides=tuple(tuple(ir.Side.SERVER for _ in b) for b in blocks.made),
        horizon=float(made.horizon),
        warmup=0.0,
        arrivals=None if made.workload.gaps is None else len(made.workload.gaps) or None,
        hidden=(),
        share=None,
        gauges=(),
        claims=(),
        registers=(),
        version=ir.VERSION,  # without claims nothing needs an extension
        extensions=(),
    )


def expression(e: lean.Expr) -> ir.Expr:
    """A translated expression as one of the IR."""
    match e:
        case lean.Num(value):
            return ir.Num(float(value))
        case lean.Attr(slot):
            return ir.Attr(slot)
        case lean.CtxVar(Ctx.ATTN):  # a cost's, where it is twice the attention work
            return ir.Binary(BinaryOp.MUL, ir.Num(2.0), ir.CtxVar(Ctx.ATTN))
        case lean.CtxVar(name):
            return ir.CtxVar(name)
        case lean.Call(fn, left, right):
            a, b = expression(left), expression(right)
            if fn in (Fun.FLOOR, Fun.CEIL):
                return ir.Call(fn, (ir.ExprArg(ir.Binary(BinaryOp.DIV, a, b)),))
            return ir.Call(fn, (ir.ExprArg(a), ir.ExprArg(b)))
        case lean.PoolCall(fn, base, count, index):
            return ir.Call(fn, (ir.PoolArg(_ref(lean.Ref(base, count, index))),))
        case lean.StageCall(fn, base, count, index):
            return ir.Call(fn, (ir.StageArg(_ref(lean.Ref(base, count, index))),))
        case lean.Unary(op, operand):
            return ir.Unary(op, expression(operand))
        case lean.Binary(BinaryOp.MUL, lean.Num(k), lean.CtxVar(Ctx.ATTN)):
            return ir.Binary(BinaryOp.MUL, ir.Num(2.0 * k), ir.CtxVar(Ctx.ATTN))
        case lean.Binary(op, left, right):
            return ir.Binary(op, expression(left), expression(right))
        case lean.Cond(test, then, orelse):
            return ir.Cond(expression(test), expression(then), expression(orelse))
        case lean.Agg(aggregate, observe):
            return ir.Agg(aggregate, observe)


def _ref(r: lean.Ref) -> ir.Ref:
    plain = r.count == 1 and r.index == lean.Num(0)
    return ir.Ref(r.base, r.count, None if plain else expression(r.index))


def _optional(e: lean.Expr | None) -> ir.Expr | None:
    return None if e is None else expression(e)


def _exprs(items: tuple[lean.Expr, ...]) -> tuple[ir.Expr, ...]:
    return tuple(map(expression, items))


class _Blocks:
    """Blocks 0 and 1 are the empty init and turn blocks."""

    def __init__(self) -> None:
        self.made: list[tuple[ir.Stmt, ...]] = [(), ()]

    def add(self, chain: lean.Block) -> int:
        statements: list[ir.Stmt] = []
        place = len(self.made)
        self.made.append(())
        while not isinstance(chain, lean.Done):
            statement, rest = self._statement(chain)
            statements.append(statement)
            if rest is None:
                break
            chain = rest
        self.made[place] = tuple(statements)
        return place

    def _statement(self, b: lean.Block) -> tuple[ir.Stmt, lean.Block | None]:
        match b:
            case lean.End() | lean.Done():
                return ir.End(), None
            case lean.Turn(k):
                return ir.Turn(), k
            case lean.Set(slot, expr, k):
                return ir.Set(slot, expression(expr)), k
            case lean.Observe(observe, expr, k):
                return ir.Observe(observe, expression(expr)), k
            case lean.Hold(pools, reuse, body, cache, k):
                held = tuple(
                    ir.HoldPool(_ref(p.pool), expression(p.units), _optional(p.reserve))
                    for p in pools
                )
                hold = ir.Hold(held, _optional(reuse), self.add(body), _optional(cache), None)
                return hold, k
            case lean.Drop(pool, k):
                return ir.Drop(_ref(pool)), k
            case lean.Release(pool, k):
                return ir.Release(_ref(pool)), k
            case lean.Run(stage, mode, work, growing, k):
                grown = None if growing is None else _ref(growing)
                return ir.Run(_ref(stage), mode, expression(work), grown), k
            case lean.Branch(guard, then, orelse, k):
                return ir.Branch(expression(guard), self.add(then), self.add(orelse)), k
            case lean.Loop(body):
                return ir.Loop(self.add(body)), None
            case lean.While(guard, body, k):
                return ir.While(expression(guard), self.add(body)), k
            case lean.Choose(var, count, key, k):
                return ir.Choose(var, expression(count), _exprs(key)), k


def _pool(p: ir.Pool, x: lean.Pool, stages: tuple[lean.StageKind, ...]) -> ir.Pool:
    engine = next((i for i, s in enumerate(stages) if isinstance(s, lean.Step)), None)
    return ir.Pool(
        name=p.name,
        index=p.index,
        cap=float(x.cap),
        block=float(x.block) if x.block else None,
        evict=ir.EvictBy(_exprs(x.evict)) if x.evict else ir.Lru(),
        preempt=ir.PreemptBy(_exprs(x.preempt), x.tail) if x.preempt else ir.NoPreempt(),
        queue=_exprs(x.queue) or None,
        spill=None,
        admit_via=engine if x.admit_via else None,
    )


def _kind(s: lean.StageKind, d: lean.Deployment) -> ir.Fifo | ir.Ps | ir.Step:
    match s:
        case lean.Fifo(servers):
            return ir.Fifo(servers)
        case lean.Delay():
            return _DELAY
        case lean.Step():
            iteration: tuple[ir.IterStmt, ...] | None = None
            if d.only is not None:
                gate = ir.Unary(ir.UnaryOp.NOT, ir.CtxVar(Ctx.PREEMPTED))
                only = expression(d.only)
                iteration = (ir.IterServe(only, None), ir.IterAdmit(only, gate))
            return ir.Step(
                budget=ir.Num(float(d.budget)),
                cost=expression(d.cost),
                chunk=expression(d.chunk),
                granule=None,
                serve=ir.ServeBy(_exprs(d.serve)),
                memory=d.memory,
                iteration=iteration,
            )


def _arrival(w: lean.Workload) -> ir.Arrival:
    if w.gaps is not None:
        return ir.Renewal(ir.Num(float(w.gaps[0]))) if w.gaps else ir.NoArrivals()
    return ir.Sessions(
        tuple(
            ir.SessionData(
                _floats(pairs),
                None if not w.turns or w.turns[i] is None else _turns(w.turns[i]),
            )
            for i, pairs in enumerate(w.init)
        )
    )


def _floats(pairs: lean.Pairs) -> tuple[tuple[int, float], ...]:
    return tuple((slot, float(value)) for slot, value in pairs)


def _turns(turns: tuple[lean.Pairs, ...] | None) -> tuple[tuple[tuple[int, float], ...], ...]:
    return tuple(map(_floats, turns or ()))
