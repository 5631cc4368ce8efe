"""Documents that are refused, each with one fault, and documents beside them that are accepted.

Every module here adds to `REFUSED` and `ACCEPTED` by group of rules; `ALL` imports them. Where the
reference build's reader of documents is more lenient, the case stands in `LENIENT` with the
sentence that decides.
"""

from __future__ import annotations

import copy
from importlib import import_module

import ir_programs as w
from ir_programs import (
    A_,
    FAM,
    ONE,
    SVC,
    ZERO,
    Client,
    K,
    attr,
    binary,
    call,
    cost,
    document,
    of_stage,
    pool,
    put,
    run,
)

REFUSED: dict[str, tuple[w.Json, str, str]] = {}
ACCEPTED: dict[str, w.Json] = {}
LENIENT: dict[str, str] = {}
"""Refused here and accepted by the reference build's reader of documents: the deciding sentence."""

GUARD = "language.md, Branching: a constant guard that is not 0 or 1 is refused at link time"
LINT = "language.md, Lints: linking rejects three programs (…); ir.md 8: the same rules on every IR"
SIDES = "language.md, The two sides: `end;` … outside a `hold` or a `fork` (parser and validator)"
HIDDEN = "language.md, hidden: decisions … only after a run whose work reads them; ir.md 8.4: sides"
GAP = "language.md, Arrivals: a constant gap that is not positive and finite does not link"
CAP = "language.md, Engines on devices: `each at most` … one at or below 0 does not link"
SAME = "ir.md 8: applied to source after lowering and to every IR read; the source is refused"
EMPTY = (
    "language.md, Pools: a hold joins the queue of its first pool; it has one (it crashes there)"
)
CIRCLES = "ir.md 8.1: blocks form a tree (the reference build does not come back)"
STATE = "ir.md 8.1: every index in range (the reference build crashes)"


def no(name: str, doc: w.Json, code: str, path: str, lenient: str | None = None) -> None:
    assert name not in REFUSED
    REFUSED[name] = doc, code, path
    if lenient is not None:
        LENIENT[name] = lenient


def yes(name: str, doc: w.Json) -> None:
    assert name not in ACCEPTED
    ACCEPTED[name] = doc


def edited(doc: w.Json, *path: str | int, to: w.Json = ...) -> w.Json:
    """A copy of a document with another value at a path, or none."""
    out = copy.deepcopy(doc)
    at = out
    for key in path[:-1]:
        at = at[key]
    if to is ...:
        del at[path[-1]]
    else:
        at[path[-1]] = to
    return out


PLAIN = document([run()])
S1 = "blocks[2][1]"  # the first statement of the server
S2 = "blocks[2][2]"
RUN = run(SVC)
IN_FAM = call("Used", pool(FAM, ONE))


def sub(a, b):
    return binary("Sub", a, b)


COST = cost(of_stage(SVC), attr(A_))
SET_K = put(K, COST)
INNER = "blocks[3][0]"
NAN = binary("Div", ZERO, ZERO)


def client(*statements, server=(RUN,)):
    return document(session=[Client("Turn"), *server, *map(Client, statements), Client("End")])


def gauge(expr, name="x"):
    return document(gauges=[{"name": name, "expr": expr}])


MODULES = (
    "documents",
    "calls",
    "engines",
    "costs",
    "owners",
    "holds",
    "control",
    "hidden",
    "lints",
    "amounts",
)


def load_all() -> None:
    """Fill the tables."""
    for name in MODULES:
        import_module(f"ir_cases.{name}")
