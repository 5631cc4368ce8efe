"""Other names for everything a program declares."""

from __future__ import annotations

import re
from dataclasses import replace
from random import Random
from typing import Any

from serq.ir import nodes as ir
from serq.lower.vocabulary import BUILTIN, RESERVED_QUEUES, SUPPLIED, WORDS
from serq.syntax import ast
from serq.syntax.walk import walk

_TOKEN = re.compile(r'//[^\n]*|"[^"\n]*"|(?<![\w.])[A-Za-z_]\w*|(?<=\.)[A-Za-z_]\w*|.', re.DOTALL)
_DECLARING = (
    ast.LetDecl, ast.DefDecl, ast.PoolDecl, ast.StageDecl, ast.DeviceDecl, ast.EngineDecl,
    ast.QueueDecl, ast.GaugeDecl, ast.ClaimDecl, ast.SetStmt, ast.ObserveStmt, ast.CostRecordStmt,
    ast.Binding, ast.MarkStmt, ast.StateItem, ast.ScheduleLet, ast.Capacity, ast.TimeResource,
)  # fmt: skip
_LANGUAGE = {*BUILTIN, *RESERVED_QUEUES, *SUPPLIED, *WORDS, "nic", "latency", "args"}


def declared(module: ast.Module) -> list[str]:
    """The names a program gives, in the order of the text; not those of the language."""
    found: dict[str, None] = {}

    for node in walk(module):
        if isinstance(node, _DECLARING) and node.target is not None:
            found.setdefault(node.target.name)
        if isinstance(node, ast.ChooseStmt | ast.Fold):
            found.setdefault(node.var.name)
        if isinstance(node, ast.DefDecl | ast.RequestItem | ast.TimeResource | ast.EntryItem):
            for param in node.params:
                found.setdefault(param.name)
    return [name for name in found if name not in _LANGUAGE]


def new_names(module: ast.Module, choices: Random) -> dict[str, str]:
    """A new name for each: nothing about it, its length and order included, is the old one's."""
    names = declared(module)
    order = list(range(len(names)))
    choices.shuffle(order)
    return {
        name: f"{choices.choice('abkzXQ_')}_{number}{choices.choice(['', '_long_name', 'Z'])}"
        for name, number in zip(names, order, strict=True)
    }


def renamed(text: str, names: dict[str, str]) -> str:
    """The text with other names; comments and strings stay."""
    return "".join(names.get(token, token) for token in _TOKEN.findall(text))


def of_dotted(name: str, names: dict[str, str]) -> str:
    """The new name of something that may be a queue's: ``P.kv``."""
    return ".".join(names.get(part, part) for part in name.split("."))


def of_program(program: ir.Program, names: dict[str, str]) -> ir.Program:
    """The IR with other names, which is all that renaming may change of it."""

    def new(name: str) -> str:
        return of_dotted(name, names)

    return replace(
        program,
        attrs=tuple(map(new, program.attrs)),
        observes=tuple(map(new, program.observes)),
        pools=tuple(replace(p, name=new(p.name)) for p in program.pools),
        stages=tuple(replace(s, name=new(s.name)) for s in program.stages),
        gauges=tuple(replace(g, name=new(g.name)) for g in program.gauges),
        claims=tuple(replace(c, name=new(c.name)) for c in program.claims),
        registers=tuple(replace(r, name=new(r.name)) for r in program.registers),
    )


def expected(document: dict[str, Any], names: dict[str, str]) -> dict[str, Any]:
    """The report and the samples with the new names."""

    def new(name: str) -> str:
        return of_dotted(name, names)

    report = dict(document["report"])
    for part in ("observes", "gauges"):
        report[part] = {new(name): row for name, row in report[part].items()}
    for part in ("claims", "stages", "pools"):
        if part in report:
            report[part] = [{**row, "name": new(row["name"])} for row in report[part]]
    for row in report["pools"]:
        if row.get("over_cap"):
            queue, _, rest = row["over_cap"]["queue"].partition("[")
            label = new(queue) + (f"[{rest}" if rest else "")
            row["over_cap"] = {**row["over_cap"], "queue": label}
    samples = dict(document["samples"])
    for part in ("observes", "gauges"):
        samples[part] = {new(name): row for name, row in samples[part].items()}
    return {"report": report, "samples": samples}
