"""Translated programs as Lean terms, for the templates of the generated files."""

from __future__ import annotations

from collections.abc import Iterable
from functools import cache
from importlib.resources import files

import jinja2

from serq.leangen import model as lean

WIDTH = 98


def term(e: lean.Expr) -> str:
    """An expression as a Lean term that needs no parentheses as the body of a definition."""
    match e:
        case lean.Num(value):
            return f".Num {value}"
        case lean.Attr(slot):
            return f".Attr {slot}"
        case lean.CtxVar(name):
            return f".CtxVar .{name}"
        case lean.Call(fn, left, right):
            return f".Call .{fn} {atom(left)} {atom(right)}"
        case lean.PoolCall(fn, base, count, index):
            return f".PoolCall .{fn} {base} {count} {atom(index)}"
        case lean.StageCall(fn, base, count, index):
            return f".StageCall .{fn} {base} {count} {atom(index)}"
        case lean.Unary(op, operand):
            return f".Unary .{op} {atom(operand)}"
        case lean.Binary(op, left, right):
            return f".Binary .{op} {atom(left)} {atom(right)}"
        case lean.Cond(test, then, orelse):
            return f".Cond {atom(test)} {atom(then)} {atom(orelse)}"
        case lean.Agg():
            raise TypeError("an aggregate stands in no program")


def atom(e: lean.Expr) -> str:
    """An expression as an argument."""
    return f"({term(e)})"


def ref(r: lean.Ref) -> str:
    fields = [f"base := {r.base}"]
    if r.count != 1:
        fields.append(f"count := {r.count}")
    if r.index != lean.Num(0):
        fields.append(f"index := {term(r.index)}")
    return "{ " + ", ".join(fields) + " }"


def option(text: str | None) -> str:
    return "none" if text is None else f"(some {text})"


def optional(e: lean.Expr | None) -> str:
    return option(None if e is None else atom(e))


def listed(items: Iterable[str]) -> str:
    return "[" + ", ".join(items) + "]"


def exprs(items: Iterable[lean.Expr]) -> str:
    return listed(map(term, items))


def hold_pool(h: lean.HoldPool) -> str:
    fields = [f"pool := {ref(h.pool)}", f"units := {term(h.units)}"]
    if h.reserve is not None:
        fields.append(f"reserve := some {atom(h.reserve)}")
    return "{ " + ", ".join(fields) + " }"


def block(b: lean.Block, indent: int = 2) -> str:
    """A chain of statements, one a line, each indented by ``indent``."""
    pad = " " * indent
    lines: list[str] = []
    while True:
        head, rest = _statement(b, indent)
        if rest is None:
            lines.append(pad + head)
            return "\n".join(lines)
        lines.append(f"{pad}{head} <|")
        b = rest


def _inner(b: lean.Block, indent: int) -> str:
    if isinstance(b, lean.Done):
        return ".Done"
    return f"(\n{block(b, indent + 2)})"


def _statement(b: lean.Block, indent: int) -> tuple[str, lean.Block | None]:
    """A statement without what follows it, and that."""
    match b:
        case lean.Done():
            return ".Done", None
        case lean.End():
            return ".End", None
        case lean.Turn(k):
            return ".Turn", k
        case lean.Set(slot, expr, k):
            return f".Set {slot} {atom(expr)}", k
        case lean.Observe(observe, expr, k):
            return f".Observe {observe} {atom(expr)}", k
        case lean.Hold(pools, reuse, body, cache_clause, k):
            pad = "\n" + " " * (indent + 4)
            held = "[" + f",{pad} ".join(map(hold_pool, pools)) + "]"
            inner = _inner(body, indent + 2)
            head = f".Hold{pad}{held}{pad}{optional(reuse)} {inner}{pad}{optional(cache_clause)}"
            return head, k
        case lean.Drop(pool, k):
            return f".Drop {ref(pool)}", k
        case lean.Release(pool, k):
            return f".Release {ref(pool)}", k
        case lean.Run(stage, mode, work, growing, k):
            grown = option(None if growing is None else ref(growing))
            return f".Run {ref(stage)} .{mode} {atom(work)} {grown}", k
        case lean.Branch(guard, then, orelse, k):
            yes, no = _inner(then, indent), _inner(orelse, indent)
            return f".Branch {atom(guard)} {yes} {no}", k
        case lean.Loop(body):
            return f".Loop {_inner(body, indent)}", None
        case lean.While(guard, body, k):
            return f".While {atom(guard)} {_inner(body, indent)}", k
        case lean.Choose(var, count, key, k):
            return f".Choose {var} {atom(count)} {exprs(key)}", k


def pool(p: lean.Pool) -> str:
    fields = [f"cap := {p.cap}"]
    if p.block:
        fields.append(f"block := {p.block}")
    for name, keys in (("evict", p.evict), ("preempt", p.preempt)):
        if keys:
            fields.append(f"{name} := {exprs(keys)}")
    if p.tail:
        fields.append("tail := true")
    if p.queue:
        fields.append(f"queue := {exprs(p.queue)}")
    if p.admit_via:
        fields.append("admitVia := true")
    return "{ " + ", ".join(fields) + " }"


def stage(s: lean.StageKind) -> str:
    match s:
        case lean.Fifo(servers):
            return f".Fifo {servers}"
        case lean.Delay():
            return ".Delay"
        case lean.Step():
            return ".Step"


def deployment(d: lean.Deployment, indent: int = 2) -> str:
    """A deployment as a structure, one field a line; defaults are left out."""
    default = lean.Deployment((), ())
    rows = [
        ("pools", "[" + f",\n{' ' * (indent + 13)}".join(map(pool, d.pools)) + "]"),
        ("stages", listed(map(stage, d.stages))),
        ("budget", str(d.budget) if d.budget else None),
        ("chunk", term(d.chunk) if d.chunk != default.chunk else None),
        ("cost", term(d.cost) if d.cost != default.cost else None),
        ("memory", f"some {d.memory}" if d.memory is not None else None),
        ("serve", exprs(d.serve) if d.serve else None),
        ("only", f"some {atom(d.only)}" if d.only is not None else None),
        ("slotCached", _slot(d.slot_cached, default.slot_cached)),
        ("slotSerial", _slot(d.slot_serial, default.slot_serial)),
        ("slotTurn", _slot(d.slot_turn, default.slot_turn)),
        ("slotMore", _slot(d.slot_more, default.slot_more)),
        ("slotComputed", _slot(d.slot_computed, default.slot_computed)),
    ]
    present = [f"{name} := {value}" for name, value in rows if value is not None]
    return " " * indent + "{ " + f"\n{' ' * (indent + 2)}".join(present) + " }"


def _slot(value: int, default: int) -> str | None:
    return None if value == default else str(value)


def pairs(p: lean.Pairs) -> str:
    return listed(f"({slot}, {value})" for slot, value in p)


def workload(w: lean.Workload, indent: int = 2) -> str:
    """A workload as a structure, one session a line."""
    pad = " " * (indent + 12)
    fields = ["init := [" + f",\n{pad}".join(map(pairs, w.init)) + "]"]
    if w.turns:
        each = (option(None if t is None else listed(map(pairs, t))) for t in w.turns)
        fields.append("turns := [" + f",\n{pad} ".join(each) + "]")
    if w.gaps is not None:
        fields.append(f"gaps := some {listed(map(str, w.gaps))}")
    return " " * indent + "{ " + f"\n{' ' * (indent + 2)}".join(fields) + " }"


# --- templates ----------------------------------------------------------------------------------


@cache
def environment() -> jinja2.Environment:
    """The environment of the generated files: a name that is missing is an error."""
    loader = jinja2.FunctionLoader(
        lambda name: (files("serq.leangen") / "templates" / name).read_text(encoding="utf-8")
    )
    made = jinja2.Environment(
        loader=loader,
        undefined=jinja2.StrictUndefined,
        trim_blocks=True,
        lstrip_blocks=True,
        keep_trailing_newline=True,
        autoescape=False,
    )
    made.filters |= {
        "term": term,
        "block": block,
        "deployment": deployment,
        "workload": workload,
        "pairs": pairs,
        "listed": listed,
    }
    return made


def render(template: str, **values: object) -> str:
    """The text of a generated file."""
    return environment().get_template(template).render(**values)
