"""The constructs of the language, and which of them a program uses.

`GROUPS` lists them by name, so that one that no program uses is a row as well. `used` reads the
IR; `written` reads the text, for what leaves no trace in the IR.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from serq.ir import nodes as ir
from serq.ir.functions import aggregate_name, draw_name, function_name
from serq.ir.moments import spellings
from serq.ir.nodes import Ctx, Fun
from serq.ir.walk import everything
from serq.syntax import ast
from serq.syntax.walk import walk

_CONTEXT = [" / ".join(spellings(name)) for name in Ctx]
_CONTEXT_NAMES = dict(zip(Ctx, _CONTEXT, strict=True))

GROUPS: dict[str, tuple[str, ...]] = {
    "Statements": (
        "set", "observe", "hold", "hold of several pools", "reserve", "reuse", "cache", "lease",
        "grow", "load", "drop", "release", "run (fifo)", "run (ps)", "run (delay)", "prefill",
        "decode", "growing", "run of several stages", "branch", "while", "loop", "fork", "join",
        "choose", "turn more than once", "end",
    ),
    "Pools": (
        "cap inf", "block", "evict lru", "evict by", "preempt none", "preempt lifo", "preempt by",
        "requeue tail", "queue fifo", "queue by", "reserve held", "spill", "a family of pools",
        "an engine's memory", "a pool an engine admits", "an engine with several queues",
    ),
    "Stages": (
        "fifo", "fifo (c)", "ps (constant)", "ps (expression)", "delay", "a family of stages",
        "share maxmin", "share bottleneck",
    ),
    "Engines": (
        "an engine", "a family of engines", "several engines", "tokens cap (constant)",
        "tokens cap (expression)", "tokens cap inf", "each at most", "each at most (expression)",
        "granule", "advance by", "only", "exclusive prefill", "a schedule of its own",
        "branch in a schedule", "state", "execute (constant)", "execute (expression)",
    ),
    "Workload": (
        "arrive poisson", "arrive renewal (constant)", "arrive renewal (drawn)", "arrive closed",
        "arrive batch", "arrive none", "explicit sessions", "trace", "trace ordered", "init",
        "a turn block", "hidden", "a number of arrivals", "warmup",
    ),
    "Gauges and claims": (
        "gauge", "every iteration", "some iteration", "at end", "given",
    ),
    "Operators": (
        "+", "-", "*", "/", "^", "<", "<=", ">", ">=", "==", "!=", "&&", "||", "!", "unary -",
        "?:", "cost", "cost of several resources",
    ),
    "Functions": tuple(function_name(fun) for fun in Fun),
    "Draws": tuple(f"~{draw_name(dist)}" for dist in ir.Dist),
    "Aggregates of observations": tuple(aggregate_name(a) for a in ir.Aggregate),
    "What a moment supplies": tuple(_CONTEXT),
    "Words that the linker writes out": (
        "let", "args.number", "def (expression)", "def (statements)", "use", "Size", "Cost",
        "a record of costs", "branch with", "at admission", "max over an index",
        "min over an index", "sum over an index", "tool", "transfer", "a device's time resource",
        "blocksize", "decode first", "admission (order)", "a schedule's let", "request", "taking",
        "mark", "a queue", "role gateway", "role prefill", "role decode", "role link",
        "an entry's call", "decode from", "nic", "latency", "pull", "push", "serve",
        "a family of queues",
    ),
}  # fmt: skip
"""Group → its constructs."""

ALL = frozenset(name for names in GROUPS.values() for name in names)

_SIGNS = {
    ir.BinaryOp.ADD: "+", ir.BinaryOp.SUB: "-", ir.BinaryOp.MUL: "*", ir.BinaryOp.DIV: "/",
    ir.BinaryOp.POW: "^", ir.BinaryOp.LT: "<", ir.BinaryOp.LE: "<=", ir.BinaryOp.GT: ">",
    ir.BinaryOp.GE: ">=", ir.BinaryOp.EQ: "==", ir.BinaryOp.NE: "!=", ir.BinaryOp.AND: "&&",
    ir.BinaryOp.OR: "||",
}  # fmt: skip
_LIFO = (ir.Unary(ir.UnaryOp.NEG, ir.CtxVar(Ctx.ADMISSION)),)


def used(program: ir.Program) -> set[str]:
    """The constructs of the IR that a program uses."""
    out: set[str] = set()
    parts = (
        program.blocks, program.pools, program.stages, program.arrival, program.gauges,
        program.claims, program.registers,
    )  # fmt: skip
    for node in everything(parts):
        out |= _of_expression(node) | _of_statement(program, node)
    out |= _of_pools(program) | _of_stages(program) | _of_workload(program)
    for claim in program.claims:
        out.add(
            {
                ir.AtEnd: "at end",
                ir.EveryIteration: "every iteration",
                ir.SomeIteration: "some iteration",
            }[type(claim.kind)]
        )
        if claim.given is not None:
            out.add("given")
    if program.gauges:
        out.add("gauge")
    return out


def _of_expression(node: Any) -> set[str]:
    match node:
        case ir.Binary(op=op):
            return {_SIGNS[op]}
        case ir.Unary(op=op):
            return {"!" if op is ir.UnaryOp.NOT else "unary -"}
        case ir.Cond():
            return {"?:"}
        case ir.Call(fun=fun):
            return {function_name(fun)}
        case ir.Sample(dist=dist):
            return {f"~{draw_name(dist)}"}
        case ir.Agg(aggregate=aggregate):
            return {aggregate_name(aggregate)}
        case ir.CtxVar(name=name):
            return {_CONTEXT_NAMES[name]}
        case ir.Cost(target=target):
            joint = isinstance(target, ir.JointTarget)
            return {"cost of several resources" if joint else "cost"}
    return set()


def _of_statement(program: ir.Program, node: Any) -> set[str]:
    match node:
        case ir.Hold():
            parts = {
                "hold": True,
                "hold of several pools": len(node.pools) > 1,
                "reserve": any(p.reserve is not None for p in node.pools),
                "reuse": node.reuse is not None,
                "cache": node.cache is not None,
                "lease": node.lease is not None,
            }
            return {name for name, there in parts.items() if there}
        case ir.Run():
            out = {"growing"} if node.growing is not None else set()
            if node.also:
                return out | {"run of several stages"}
            return out | {_run(program, node)}
        case (
            ir.Set() | ir.Observe() | ir.Grow() | ir.Load() | ir.Drop() | ir.Release()
            | ir.Branch() | ir.While() | ir.Loop() | ir.Fork() | ir.Join() | ir.Choose() | ir.End()
        ):  # fmt: skip
            return {type(node).__name__.lower()}
    return set()


def _run(program: ir.Program, run: ir.Run) -> str:
    if run.mode is not ir.Mode.PLAIN:
        return run.mode.lower()
    kind = program.stages[run.stage.base].kind
    if isinstance(kind, ir.Fifo):
        return "run (fifo)"
    return "run (delay)" if kind == ir.Ps(ir.CtxVar(Ctx.N)) else "run (ps)"


def _of_pools(program: ir.Program) -> set[str]:
    out: set[str] = set()
    queues = [pool.admit_via for pool in program.pools if pool.admit_via is not None]
    memories = {s.kind.memory for s in program.stages if isinstance(s.kind, ir.Step)}
    if len(queues) > len(set(queues)):
        out.add("an engine with several queues")
    for number, pool in enumerate(program.pools):
        keys = pool.preempt.keys if isinstance(pool.preempt, ir.PreemptBy) else None
        parts = {
            "cap inf": pool.cap == float("inf"),
            "block": pool.block is not None,
            "evict lru": isinstance(pool.evict, ir.Lru),
            "evict by": isinstance(pool.evict, ir.EvictBy),
            "preempt none": keys is None,
            "preempt lifo": keys == _LIFO,
            "preempt by": keys is not None and keys != _LIFO,
            "requeue tail": isinstance(pool.preempt, ir.PreemptBy) and pool.preempt.tail,
            "queue fifo": pool.queue is None,
            "queue by": pool.queue is not None,
            "reserve held": pool.reserve_held,
            "spill": pool.spill is not None,
            "a family of pools": pool.index is not None,
            "an engine's memory": number in memories,
            "a pool an engine admits": pool.admit_via is not None,
        }
        out |= {name for name, there in parts.items() if there}
    return out


def _of_stages(program: ir.Program) -> set[str]:
    out: set[str] = set()
    if program.share is not None:
        maxmin = program.share is ir.Share.MAX_MIN
        out.add("share maxmin" if maxmin else "share bottleneck")
    engines = [stage for stage in program.stages if isinstance(stage.kind, ir.Step)]
    if len(engines) > 1:
        out.add("several engines")
    if any(stage.index is not None for stage in engines):
        out.add("a family of engines")
    if program.registers:
        out.add("state")
    for stage in program.stages:
        match stage.kind:
            case ir.Step() as step:
                out |= _of_engine(step)
                continue
            case ir.Fifo(servers=servers):
                out.add("fifo" if servers == 1 else "fifo (c)")
            case ir.Ps(capacity=ir.CtxVar(name=Ctx.N)):
                out.add("delay")
            case ir.Ps(capacity=ir.Num()):
                out.add("ps (constant)")
            case ir.Ps():
                out.add("ps (expression)")
        if stage.index is not None:
            out.add("a family of stages")
    return out


def _of_engine(step: ir.Step) -> set[str]:
    body = [node for node in _iteration(step.iteration or ())]
    budget = step.budget
    infinite = isinstance(budget, ir.Num) and budget.value == float("inf")
    by = (step.serve.keys if isinstance(step.serve, ir.ServeBy) else ()) or any(
        isinstance(node, ir.IterServe) and node.by for node in body
    )
    two = (
        step.iteration is not None
        and len(step.iteration) == 2
        and isinstance(step.iteration[0], ir.IterServe)
        and isinstance(step.iteration[1], ir.IterAdmit)
        and step.iteration[1].gate == ir.Unary(ir.UnaryOp.NOT, ir.CtxVar(Ctx.PREEMPTED))
    )
    parts = {
        "an engine": True,
        "tokens cap inf": infinite,
        "tokens cap (constant)": isinstance(budget, ir.Num) and not infinite,
        "tokens cap (expression)": not isinstance(budget, ir.Num),
        "each at most": step.chunk != ir.Num(0.0) and isinstance(step.chunk, ir.Num),
        "each at most (expression)": not isinstance(step.chunk, ir.Num),
        "granule": step.granule is not None,
        "advance by": bool(by),
        "only": any(getattr(node, "only", None) is not None for node in body),
        "exclusive prefill": isinstance(step.serve, ir.ExclusivePrefill),
        "a schedule of its own": step.iteration is not None and not two,
        "branch in a schedule": any(isinstance(node, ir.IterBranch) for node in body),
        "execute (constant)": isinstance(step.cost, ir.Num),
        "execute (expression)": not isinstance(step.cost, ir.Num),
    }
    return {name for name, there in parts.items() if there}


def _iteration(body: tuple[ir.IterStmt, ...]) -> Iterator[ir.IterStmt]:
    for node in body:
        yield node
        if isinstance(node, ir.IterBranch):
            yield from _iteration(node.then)
            yield from _iteration(node.orelse)


def _of_workload(program: ir.Program) -> set[str]:
    arrival = program.arrival
    drawn = isinstance(arrival, ir.Renewal) and not isinstance(arrival.gap, ir.Num)
    turns = sum(isinstance(s, ir.Turn) for block in program.blocks for s in block)
    parts = {
        "arrive poisson": isinstance(arrival, ir.Poisson),
        "arrive renewal (constant)": isinstance(arrival, ir.Renewal) and not drawn,
        "arrive renewal (drawn)": drawn,
        "arrive closed": isinstance(arrival, ir.Closed),
        "arrive batch": isinstance(arrival, ir.Batch),
        "arrive none": isinstance(arrival, ir.NoArrivals),
        "explicit sessions": isinstance(arrival, ir.Sessions),
        "trace": program.trace is not None and not program.trace_ordered,
        "trace ordered": program.trace is not None and program.trace_ordered,
        "init": bool(program.blocks[program.init]),
        "a turn block": bool(program.blocks[program.turn]),
        "hidden": bool(program.hidden),
        "a number of arrivals": program.arrivals is not None,
        "warmup": program.warmup > 0.0,
        "turn more than once": turns > 1 or any(_repeats(program, block) for block in range(3)),
    }
    return {name for name, there in parts.items() if there}


def _repeats(program: ir.Program, block: int) -> bool:
    """Whether a loop of the session has a turn in it."""
    for s in program.blocks[block]:
        if isinstance(s, ir.While | ir.Loop) and any(
            isinstance(inner, ir.Turn) for inner in program.blocks[s.body]
        ):
            return True
    return False


# --- the text -------------------------------------------------------------------------------------

_BY_NODE: dict[type, str] = {
    ast.LetDecl: "let",
    ast.ArgsNumber: "args.number",
    ast.UseDecl: "use",
    ast.CostRecordStmt: "a record of costs",
    ast.TimeResource: "a device's time resource",
    ast.ScheduleLet: "a schedule's let",
    ast.RequestItem: "request",
    ast.MarkStmt: "mark",
    ast.QueueDecl: "a queue",
    ast.EntryCallStmt: "an entry's call",
    ast.NicItem: "nic",
    ast.ServeItem: "serve",
    ast.AdmissionStmt: "at admission",
}
_FOLDS = {"max": "max over an index", "min": "min over an index", "sum": "sum over an index"}


def written(module: ast.Module) -> set[str]:
    """The constructs of a text that the linker writes out."""
    out: set[str] = set()
    for node in walk(module):
        name = _BY_NODE.get(type(node))
        if name is not None:
            out.add(name)
        match node:
            case ast.DefDecl(body=body):
                statements = isinstance(body, ast.Block)
                out.add("def (statements)" if statements else "def (expression)")
            case ast.SetStmt(kind="Size" | "Cost" as kind):
                out.add(kind)
            case ast.BranchStmt(drawn=True):
                out.add("branch with")
            case ast.HoldStmt(bindings=bindings) if bindings:
                out.add("at admission")
            case ast.Fold(op=op):
                out.add(_FOLDS[op])
            case ast.ServingStmt(form=form):
                out.add(form)
            case ast.Advance(order="decode first"):
                out.add("decode first")
            case ast.Advance(order="admission"):
                out.add("admission (order)")
            case ast.Admit(taking=taking) if taking:
                out.add("taking")
            case ast.Call(func=ast.Ident(name="blocksize")):
                out.add("blocksize")
            case ast.EntryItem(source=source) if source is not None:
                out.add("decode from")
            case ast.RelationDecl(verb=verb):
                out.add(verb)
        out |= _of_queue(node)
    return out


def _of_queue(node: ast.Node) -> set[str]:
    match node:
        case ast.QueueDecl(roles=roles, size=size):
            family = set() if size is None else {"a family of queues"}
            return {f"role {role.name}" for role in roles} & ALL | family
        case ast.ServeItem(latency=latency) | ast.RelationDecl(latency=latency) if latency:
            return {"latency"}
    return set()
