"""Changes of a program's tree that leave its meaning: order, constants, unused things."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import fields, is_dataclass, replace
from random import Random
from typing import Any

from serq.fuzz.spelling.values import NOWHERE, constant, ident
from serq.syntax import ast

MOST_NAMED = 4
"""Numbers of a text that one change gives a name."""


# --- the order of declarations --------------------------------------------------------------------


def reordered(module: ast.Module, choices: Random) -> ast.Module:
    """Declarations in another order, where the order of the text says nothing.

    Stages keep their order among themselves, and so do pools, gauges and claims: their numbers
    are places in these orders. A pool stays below what it stands on, the two sides below the
    stages (a serving form finds its stage above it), a queue's surroundings as they are.
    """
    assert module.main is not None
    items = list(module.main)
    first = [i for i in items if isinstance(i, ast.UseDecl | ast.LetDecl | ast.DefDecl)]
    sides = [i for i in items if isinstance(i, ast.WorkloadDecl | ast.ServerDecl)]
    pools = [i for i in items if isinstance(i, ast.PoolDecl)]
    gauges = [i for i in items if isinstance(i, ast.GaugeDecl)]
    claims = [i for i in items if isinstance(i, ast.ClaimDecl)]
    shares = [i for i in items if isinstance(i, ast.ShareDecl)]
    known = (*first, *sides, *pools, *gauges, *claims, *shares)
    fixed = [i for i in items if not any(i is other for other in known)]
    queues = any(isinstance(i, ast.QueueDecl) for i in items)
    if queues:  # an entry reads what is above it
        fixed = [i for i in items if not any(i is o for o in (*first, *gauges, *claims, *shares))]
        pools, sides = [], []
    out: list[ast.Item] = [*fixed, *sides]
    for pool in pools:  # above its owner a pool may not stand, and among pools order counts
        above = [k for k, i in enumerate(out) if isinstance(i, ast.PoolDecl)]
        least = above[-1] + 1 if above else 0
        if pool.owner is not None:
            least = max(least, 1 + _place(out, pool.owner.parts[0].ident.name))
        out.insert(choices.randint(least, len(out)), pool)
    for group in (gauges, claims, shares):
        least = 0
        for item in group:
            at = choices.randint(least, len(out))
            out.insert(at, item)
            least = at + 1
    return replace(module, main=(*first, *out))


def _place(items: Sequence[ast.Item], name: str) -> int:
    for k, item in enumerate(items):
        target = getattr(item, "target", None)
        if isinstance(item, ast.DeviceDecl | ast.EngineDecl) and target and target.name == name:
            return k
    return len(items) - 1


def rows_reordered(module: ast.Module, choices: Random) -> ast.Module:
    """Gauges, and claims, in another order among themselves."""
    assert module.main is not None
    items = list(module.main)
    for kind in (ast.GaugeDecl, ast.ClaimDecl):
        places = [k for k, item in enumerate(items) if isinstance(item, kind)]
        order = places[:]
        choices.shuffle(order)
        moved = [items[k] for k in order]
        for k, item in zip(places, moved, strict=True):
            items[k] = item
    return replace(module, main=tuple(items))


# --- constants ------------------------------------------------------------------------------------


def constants_split(module: ast.Module, choices: Random) -> ast.Module:
    """Each ``let x = a + b;`` as ``let x_1 = a; let x_2 = b; let x = x_1 + x_2;``.

    And some numbers of the text get a ``let`` of their own. A constant is its value in the IR.
    """
    lets: list[ast.LetDecl] = []
    numbers = _numbers(module)
    chosen = {
        id(node)
        for node in choices.sample(numbers, min(len(numbers), choices.randint(1, MOST_NAMED)))
    }

    def name(node: Any) -> Any:
        if id(node) not in chosen:
            return None
        lets.append(ast.LetDecl(NOWHERE, ident(f"let_{len(lets)}_x"), node))
        return ast.Path(NOWHERE, (ast.Part(NOWHERE, lets[-1].target, None),))

    made: ast.Module = mapped(module, name)
    preamble = _split(made.preamble)
    main = _split(made.main or ())
    return replace(made, preamble=(*lets, *preamble), main=main)


def _split(items: Sequence[Any]) -> tuple[Any, ...]:
    out: list[Any] = []
    for item in items:
        if isinstance(item, ast.LetDecl) and isinstance(item.value, ast.Binary):
            sides = []
            for number, side in enumerate((item.value.left, item.value.right), 1):
                part = ident(f"{item.target.name}_{number}_x")
                out.append(ast.LetDecl(NOWHERE, part, side))
                sides.append(ast.Path(NOWHERE, (ast.Part(NOWHERE, part, None),)))
            value = ast.Binary(NOWHERE, item.value.op, *sides)
            out.append(replace(item, value=value))
        else:
            out.append(item)
    return tuple(out)


def _numbers(module: ast.Module) -> list[ast.Number]:
    """The numbers that a constant may stand for.

    Not the 0 of the gate that is vLLM's, and not those of `each at most`, which has to be written
    in the same words in every statement of a schedule.
    """
    found: list[ast.Number] = []

    def visit(node: Any) -> None:
        if isinstance(node, tuple):
            for part in node:
                visit(part)
        elif isinstance(node, ast.Number):
            if node.text != "inf":
                found.append(node)
        elif is_dataclass(node) and not isinstance(node, type):
            for f in fields(node):
                if f.name not in ("span", "gate", "each_at_most"):
                    visit(getattr(node, f.name))

    visit((module.preamble, module.main))
    return found


def mapped(node: Any, change: Callable[[Any], Any]) -> Any:
    """The tree with the nodes for which ``change`` gives another one replaced by it."""
    new = change(node) if is_dataclass(node) else None
    if new is not None:
        return new
    if isinstance(node, tuple):
        return tuple([mapped(part, change) for part in node])
    if is_dataclass(node) and not isinstance(node, type):
        parts = {f.name: getattr(node, f.name) for f in fields(node) if f.name != "span"}
        made = {name: mapped(value, change) for name, value in parts.items()}
        return node if all(made[n] is parts[n] for n in parts) else replace(node, **made)
    return node


# --- what nothing uses ----------------------------------------------------------------------------

UNUSED = "unused_x"


def with_pool(module: ast.Module, choices: Random) -> ast.Module:
    """One more pool, below the others, that nothing holds."""
    options: list[ast.PoolOption] = [ast.CapOption(NOWHERE, constant(float(choices.randint(1, 9))))]
    if choices.random() < 0.5:
        options.append(ast.BlockOption(NOWHERE, constant(2.0)))
    return _more(module, ast.PoolDecl(NOWHERE, ident(UNUSED), None, None, tuple(options)))


def with_stage(module: ast.Module, choices: Random) -> ast.Module:
    """One more stage that nothing runs on, below the others but for the client's own ``tool``."""
    kind = ast.StageKind(NOWHERE, choices.choice(["fifo", "delay"]), None)
    return _more(module, ast.StageDecl(NOWHERE, ident(UNUSED), None, kind))


def with_gauge(module: ast.Module, choices: Random) -> ast.Module:
    """One more gauge, of a constant."""
    return _more(
        module, ast.GaugeDecl(NOWHERE, ident(UNUSED), constant(float(choices.randint(0, 3))))
    )


def with_observation(module: ast.Module, choices: Random) -> ast.Module:
    """One more observation, as the server begins or ends."""
    value = ast.Path(NOWHERE, (ast.Part(NOWHERE, ident("serial"), None),))
    return _served(module, ast.ObserveStmt(NOWHERE, ident(UNUSED), value), choices)


def with_attribute(module: ast.Module, choices: Random) -> ast.Module:
    """One more attribute that nothing reads, as the server begins or ends."""
    return _served(module, ast.SetStmt(NOWHERE, "set", ident(UNUSED), constant(3.0)), choices)


def without_gauges(module: ast.Module, choices: Random) -> ast.Module:
    """No gauge is there."""
    return _fewer(module, ast.GaugeDecl)


def without_claims(module: ast.Module, choices: Random) -> ast.Module:
    """No claim is there."""
    return _fewer(module, ast.ClaimDecl)


def _more(module: ast.Module, item: ast.Item) -> ast.Module:
    assert module.main is not None
    return replace(module, main=(*module.main, item))


def _fewer(module: ast.Module, kind: type) -> ast.Module:
    assert module.main is not None
    return replace(module, main=tuple(i for i in module.main if not isinstance(i, kind)))


def _served(module: ast.Module, statement: ast.Stmt, choices: Random) -> ast.Module:
    assert module.main is not None
    last = choices.random() < 0.5
    out: list[ast.Item] = []
    for item in module.main:
        if isinstance(item, ast.ServerDecl):
            before = item.body.statements
            after = (*before, statement) if last else (statement, *before)
            item = replace(item, body=replace(item.body, statements=after))
        out.append(item)
    return replace(module, main=tuple(out))
