"""Going through expressions and statements: children with their paths, what is read, equality.

A path is written as in the JSON document and relative to its node: ``.Binary[1]`` is the left
operand of a ``Binary``, ``.Hold.pools[0][1]`` the units of a hold's first pool. The functions
here loop; none of them recurses.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import fields, is_dataclass
from typing import Any

from . import nodes as n


def children(expr: n.Expr) -> list[tuple[str, n.Expr]]:
    """The expressions directly inside one, index expressions of references included."""
    match expr:
        case n.Sample(args=args):
            return [(f".Sample[1][{i}]", a) for i, a in enumerate(args)]
        case n.Call(args=args):
            out: list[tuple[str, n.Expr]] = []
            for i, arg in enumerate(args):
                match arg:
                    case n.ExprArg(expr=inner):
                        out.append((f".Call[1][{i}].Expr", inner))
                    case n.PoolArg(ref=ref) if ref.index is not None:
                        out.append((f".Call[1][{i}].Pool.index", ref.index))
                    case n.StageArg(ref=ref) if ref.index is not None:
                        out.append((f".Call[1][{i}].Stage.index", ref.index))
            return out
        case n.Unary(operand=operand):
            return [(".Unary[1]", operand)]
        case n.Binary(left=left, right=right):
            return [(".Binary[1]", left), (".Binary[2]", right)]
        case n.Cond(test=test, then=then, orelse=orelse):
            return [(".Cond[0]", test), (".Cond[1]", then), (".Cond[2]", orelse)]
        case n.Cost(expr=inner):
            return [(".Cost[1]", inner)]
    return []


def attributes_read(expr: n.Expr) -> set[int]:
    """The slots an expression may read, indices of its references included."""
    return {node.slot for node in expressions(expr) if isinstance(node, n.Attr)}


def expressions(expr: n.Expr) -> Iterator[n.Expr]:
    """Every expression inside one, itself first, in the order of the text."""
    stack = [expr]
    while stack:
        node = stack.pop()
        yield node
        stack.extend(child for _, child in reversed(children(node)))


def stmt_refs(stmt: n.Stmt) -> list[tuple[str, n.Ref]]:
    """The references to pools and stages of a statement, with their paths."""
    match stmt:
        case n.Hold(pools=pools, lease=lease):
            out = [(f".Hold.pools[{i}][0]", p.pool) for i, p in enumerate(pools)]
            return out if lease is None else [*out, (".Hold.lease[0]", lease.pool)]
        case n.Grow(pool=pool):
            return [(".Grow[0]", pool)]
        case n.Load(pool=pool):
            return [(".Load[0]", pool)]
        case n.Drop(pool=pool):
            return [(".Drop", pool)]
        case n.Release(pool=pool):
            return [(".Release", pool)]
        case n.Run(stage=stage, growing=growing, also=also):
            out = [(".Run.stage", stage)]
            if growing is not None:
                out.append((".Run.growing", growing))
            return out + [(f".Run.also[{i}]", r) for i, r in enumerate(also)]
    return []


def stmt_exprs(stmt: n.Stmt) -> list[tuple[str, n.Expr]]:
    """The expressions of a statement, except the indices of its references."""
    match stmt:
        case n.Set(expr=expr):
            return [(".Set[1]", expr)]
        case n.Observe(expr=expr):
            return [(".Observe[1]", expr)]
        case n.Hold(pools=pools, reuse=reuse, cache=cache, lease=lease):
            out = []
            for i, pool in enumerate(pools):
                out.append((f".Hold.pools[{i}][1]", pool.units))
                if pool.reserve is not None:
                    out.append((f".Hold.pools[{i}][2]", pool.reserve))
            if reuse is not None:
                out.append((".Hold.reuse", reuse))
            if cache is not None:
                out.append((".Hold.cache", cache))
            if lease is not None:
                out.append((".Hold.lease[1]", lease.time))
            return out
        case n.Grow(amount=amount):
            return [(".Grow[1]", amount)]
        case n.Load(amount=amount):
            return [(".Load[1]", amount)]
        case n.Run(work=work):
            return [(".Run.work", work)]
        case n.Branch(guard=guard):
            return [(".Branch[0]", guard)]
        case n.While(guard=guard):
            return [(".While[0]", guard)]
        case n.Choose(count=count, key=key):
            return [(".Choose.count", count)] + [
                (f".Choose.key[{i}]", k) for i, k in enumerate(key)
            ]
    return []


def stmt_blocks(stmt: n.Stmt) -> list[tuple[str, int]]:
    """The blocks that are a statement's bodies, with the paths of their numbers."""
    match stmt:
        case n.Hold(body=body):
            return [(".Hold.body", body)]
        case n.Branch(then=then, orelse=orelse):
            return [(".Branch[1]", then), (".Branch[2]", orelse)]
        case n.Loop(body=body):
            return [(".Loop", body)]
        case n.While(body=body):
            return [(".While[1]", body)]
        case n.Fork(body=body):
            return [(".Fork", body)]
    return []


def same(a: Any, b: Any) -> bool:
    """Whether two nodes say the same: the same constructs with equal numbers."""
    stack = [(a, b)]
    while stack:
        x, y = stack.pop()
        if x is y:
            continue
        if type(x) is not type(y):
            return False
        if isinstance(x, tuple):
            if len(x) != len(y):
                return False
            stack.extend(zip(x, y, strict=True))
        elif is_dataclass(x):
            stack.extend((getattr(x, f.name), getattr(y, f.name)) for f in fields(x))
        elif x != y:
            return False
    return True


def everything(node: Any) -> Iterator[Any]:
    """Every node of the IR in a node or a tuple of nodes, itself first."""
    stack = [node]
    while stack:
        top = stack.pop()
        if isinstance(top, tuple):
            stack.extend(reversed(top))
        elif is_dataclass(top):
            yield top
            stack.extend(getattr(top, f.name) for f in reversed(fields(top)))
