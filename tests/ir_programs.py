"""Small IR documents for tests, written as nested lists with the names of one little world.

    document([run(SVC), hold([take(KV)], [run(E, mode="Prefill")])])

The world: pools ``kv`` (64 units in blocks of 4, preempts, the engine's memory), ``reqs`` (4,
admitted by the engine), ``kw`` (64), ``pp`` (64, preempts), ``fam[0..2]`` (8, 8, 10), ``own``;
stages ``svc`` (fifo), the engine ``E``, ``q[0..2]`` (fifo), ``A`` (ps 3), ``B[0..1]`` (ps 4),
``tool`` (delay); sizes ``n`` and, hidden, ``h`` and ``g``; values ``a``, ``b``, ``d``, ``j``; costs
``k`` of ``svc`` and ``kk`` of ``kv``; observations ``o`` and ``p``; the engine's state ``r``.
"""

from __future__ import annotations

import copy
import json
from typing import Any

Json = Any

BUILTINS = ["cached", "serial", "turn_no", "new", "out", "think", "more", "forced", "computed"]
ATTRS = [*BUILTINS, "n", "h", "g", "a", "b", "d", "j", "k", "kk"]
CACHED, SERIAL, TURN_NO, NEW, OUT, THINK, MORE, FORCED, COMPUTED = range(9)
N, H, G, A_, B_, D_, J, K, KK = range(9, 18)
KV, REQS, KW, PP, FAM, OWN = 0, 1, 2, 3, 4, 7
SVC, E, Q, A, B, TOOL = 0, 1, 2, 5, 6, 8
POOL_FAMILY = {FAM: 3}
STAGE_FAMILY = {Q: 3, B: 2}


# --- expressions --------------------------------------------------------------------------------


def num(value: float | str) -> Json:
    return {"Num": float(value) if not isinstance(value, str) else value}


def attr(slot: int) -> Json:
    return {"Attr": slot}


def ctx(name: str) -> Json:
    return {"Ctx": name}


def draw(name: str, *args: Json) -> Json:
    return {"Sample": [name, list(args)]}


def binary(op: str, left: Json, right: Json) -> Json:
    return {"Binary": [op, left, right]}


def cond(test: Json, then: Json, orelse: Json) -> Json:
    return {"Cond": [test, then, orelse]}


def call(fun: str, *args: Json) -> Json:
    """A call of numbers, or of references made by `pool` and `stage`."""
    return {"Call": [fun, [a if a.keys() & {"Pool", "Stage"} else {"Expr": a} for a in args]]}


def ref(base: int, index: Json = None, *, count: int | None = None, kind: str = "pool") -> Json:
    """A reference to a pool or stage of the world; a family wants an index."""
    if count is None:
        count = (POOL_FAMILY if kind == "pool" else STAGE_FAMILY).get(base, 1)
    return {"base": base, "count": count, "index": index}


def pool(base: int, index: Json = None, **more: Any) -> Json:
    return {"Pool": ref(base, index, **more)}


def stage(base: int, index: Json = None, **more: Any) -> Json:
    return {"Stage": ref(base, index, kind="stage", **more)}


def of_pool(base: int) -> Json:
    return {"Pool": {"base": base, "count": POOL_FAMILY.get(base, 1)}}


def of_stage(base: int) -> Json:
    return {"Stage": {"base": base, "count": STAGE_FAMILY.get(base, 1)}}


def cost(target: Json, expr: Json) -> Json:
    return {"Cost": [target, expr]}


def joint(*targets: Json) -> Json:
    return {"Joint": list(targets)}


ONE, TWO, ZERO = num(1), num(2), num(0)


# --- statements (bodies are nested lists) ---------------------------------------------------------


class Client:
    """A statement of the workload's session; others are the server's."""

    def __init__(self, stmt: Json) -> None:
        self.stmt = stmt


def put(slot: int, expr: Json) -> Json:
    return {"Set": [slot, expr]}


def see(expr: Json, observe: int = 0) -> Json:
    return {"Observe": [observe, expr]}


def run(
    base: int = SVC,
    work: Json = ONE,
    *,
    mode: str | None = None,
    index: Json = None,
    growing: Json = None,
    whole: Json = None,
    also: Json = None,
) -> Json:
    """``work`` is a plain quantity that is converted; ``whole`` is the work as it stands."""
    if index is None and base in STAGE_FAMILY:
        index = ZERO
    fields = {
        "stage": ref(base, index, kind="stage"),
        "mode": mode or ("Prefill" if base == E else "Plain"),
        "work": whole if whole is not None else cost(of_stage(base), work),
        "growing": growing,
    }
    if also is not None:
        fields["also"] = also
    return {"Run": fields}


def take(
    base: int,
    units: Json = ONE,
    reserve: Json = None,
    *,
    index: Json = None,
    whole: Json = None,
) -> Json:
    """A pool of a hold."""
    if index is None and base in POOL_FAMILY:
        index = ZERO
    return [
        ref(base, index),
        whole if whole is not None else cost(of_pool(base), units),
        None if reserve is None else cost(of_pool(base), reserve),
    ]


def hold(
    pools: list[Json],
    body: list[Json],
    *,
    cache: Json = None,
    reuse: Json = None,
    lease: Json = None,
) -> Json:
    """``cache`` and ``reuse`` are quantities that are converted to costs of all the pools."""
    targets = sorted({p[0]["base"] for p in pools})
    whole = of_pool(targets[0]) if len(targets) == 1 else joint(*map(of_pool, targets))

    def converted(expr: Json) -> Json:
        return expr if expr is None or "Cost" in expr else cost(whole, expr)

    return {
        "Hold": {
            "pools": pools,
            "reuse": converted(reuse),
            "body": body,
            "cache": converted(cache),
            "lease": lease,
        }
    }


def grow(base: int, amount: Json = ONE, index: Json = None, whole: Json = None) -> Json:
    return {"Grow": [ref(base, index), whole or cost(of_pool(base), amount)]}


def load(base: int, amount: Json = ONE, index: Json = None, whole: Json = None) -> Json:
    return {"Load": [ref(base, index), whole or cost(of_pool(base), amount)]}


def release(base: int, index: Json = None) -> Json:
    return {"Release": ref(base, index)}


def drop(base: int, index: Json = None) -> Json:
    return {"Drop": ref(base, index)}


def branch(guard: Json, then: list[Json], orelse: list[Json] | None = None) -> Json:
    return {"Branch": [guard, then, orelse or []]}


def loop(body: list[Json]) -> Json:
    return {"Loop": body}


def while_(guard: Json, body: list[Json]) -> Json:
    return {"While": [guard, body]}


def fork(body: list[Json]) -> Json:
    return {"Fork": body}


def choose(slot: int, count: Json = TWO, *keys: Json) -> Json:
    return {"Choose": {"var": slot, "count": count, "key": list(keys or (attr(slot),))}}


# --- documents ----------------------------------------------------------------------------------


def _pool(name: str, cap: float | str, index: int | None = None, **more: Any) -> Json:
    out = {"name": name, "cap": cap, "block": None, "evict": "Lru", "preempt": "None"}
    out |= {"queue": None, "spill": None, "admit_via": None} | more
    return out if index is None else out | {"index": index}


def lifo() -> Json:
    return {"By": {"keys": [{"Unary": ["Neg", ctx("Admission")]}]}}


def _world() -> Json:
    families = [_pool("fam", cap, i) for i, cap in enumerate((8.0, 8.0, 10.0))]
    step = {
        "budget": num(16),
        "cost": ONE,
        "chunk": ZERO,
        "serve": {"By": []},
        "memory": KV,
        "iteration": [
            {"Serve": {}},
            {"Admit": {"gate": binary("Eq", ctx("Preempted"), ZERO)}},
            {"Set": [0, ONE]},
        ],
    }
    size, value = "Size", "Value"
    return {
        "version": 13,
        "attrs": list(ATTRS),
        "attr_types": [
            *(value, *[size] * 7, value),
            *(size, size, size, value, value, value, value),
            *({"Cost": of_stage(SVC)}, {"Cost": of_pool(KV)}),
        ],
        "sides": [],
        "observes": ["o", "p"],
        "pools": [
            _pool("kv", 64.0, block=4.0, preempt=lifo()),
            _pool("reqs", 4.0, admit_via=E),
            _pool("kw", 64.0),
            _pool("pp", 64.0, preempt=lifo()),
            *families,
            _pool("own", 4.0),
        ],
        "stages": [
            {"name": "svc", "kind": {"Fifo": 1}},
            {"name": "E", "kind": {"Step": step}},
            *({"name": "q", "index": i, "kind": {"Fifo": 1}} for i in range(3)),
            {"name": "A", "kind": {"Ps": num(3)}},
            *({"name": "B", "index": i, "kind": {"Ps": num(4)}} for i in range(2)),
            {"name": "tool", "kind": {"Ps": ctx("N")}},
        ],
        "arrival": {"Poisson": 0.5},
        "trace": None,
        "trace_ordered": False,
        "init": 0,
        "turn": 1,
        "session": 2,
        "blocks": [],
        "horizon": 100.0,
        "warmup": 0.0,
        "seed": 1,
        **{f"slot_{n}": i for i, n in enumerate(n.removesuffix("_no") for n in BUILTINS)},
        "hidden": [H, G],
        "gauges": [],
        "claims": [],
        "registers": [{"name": "r", "stage": E, "init": 0.0}],
    }


INIT = [put(N, ONE), put(H, ONE), put(G, ONE)]


def document(
    server: list[Json] | None = None,
    *,
    session: list[Json] | None = None,
    init: list[Json] | None = None,
    turn: list[Json] | None = None,
    **fields: Any,
) -> Json:
    """A document whose session is one turn that runs ``server``, or is ``session`` as given.

    Blocks are numbered in pre-order; ``server``'s i-th statement is ``blocks[2][i + 1]``.
    ``share`` is there when a run holds several stages. ``fields`` replace those of the world.
    """
    if session is None:
        session = [Client("Turn"), *(server or []), Client("End")]
    out = copy.deepcopy(_world())
    roots = [
        [Client(s) for s in (INIT if init is None else init)],
        [Client(s) for s in (turn or [])],
        session,
    ]
    blocks: list[list[Json]] = [[], [], []]
    sides: list[list[str]] = [[], [], []]
    for i, root in enumerate(roots):
        _write(root, i, blocks, sides)
    out["blocks"], out["sides"] = blocks, sides
    if "also" in json.dumps(blocks):
        out["share"] = "MaxMin"
    return out | fields


def _write(block: list[Json], number: int, blocks: list[Any], sides: list[Any]) -> None:
    for entry in block:
        client = isinstance(entry, Client)
        stmt = copy.deepcopy(entry.stmt if client else entry)
        blocks[number].append(stmt)
        sides[number].append("Workload" if client else "Server")
        if isinstance(stmt, dict):
            [(kind, payload)] = stmt.items()
            where = {"Hold": [(payload, "body")], "Branch": [(payload, 1), (payload, 2)]}.get(
                kind, [(payload, 1)] if kind == "While" else []
            )
            if kind in ("Loop", "Fork"):
                where = [(stmt, kind)]
            for holder, key in where:
                body = holder[key]
                holder[key] = len(blocks)
                blocks.append([])
                sides.append([])
                _write(body, holder[key], blocks, sides)


def text(doc: Json) -> str:
    return json.dumps(doc)
