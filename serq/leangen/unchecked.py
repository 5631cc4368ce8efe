"""Lean sources that an audit of theorems cannot judge.

The audit walks through what a theorem uses, as the kernel has it. A source can keep the kernel
from looking (``debug.skipKernelTC``, metaprograms that write theorems into the environment) or
change what other sources say (macros and notations). Proofs need none of that, so they may not
contain it.
"""

from __future__ import annotations

import re
from collections.abc import Iterable
from dataclasses import dataclass

from serq.toolchain.build import Graph, header_imports, without_comments

_META = frozenset({"Lean", "Lake"})
"""Roots of the core modules that can write into the environment; `Std` imports some of them."""

_AUDIT = "Serq.Audit"
"""The library's own program that imports them."""

_COMMANDS = (
    r"macro(?:_rules)?|elab(?:_rules)?|syntax|declare_syntax_cat|run_cmd|run_meta|run_elab|"
    r"(?:builtin_)?initialize|(?<!local )(?:notation3?|infix[lr]?|prefix|postfix)"
)
_FORBIDDEN = re.compile(
    rf"(?P<kernel>skipKernelTC)|(?<![\w.«])(?P<command>{_COMMANDS})(?![\w.»'!?])"
)


@dataclass(frozen=True, slots=True)
class Unchecked:
    """A place in a Lean source that takes its theorems out of the audit's sight."""

    line: int
    what: str

    def __str__(self) -> str:
        return f"{self.what}: nothing in it counts as proved; write the proof without"


def unchecked(text: str) -> Unchecked | None:
    """The first place of a Lean source that the audit cannot see behind, if there is one."""
    for name in header_imports(text):
        if name.split(".")[0] in (*_META, "Std") or name == _AUDIT:
            line = next(
                (i for i, t in enumerate(text.splitlines(), 1) if re.search(rf"\b{name}\b", t)), 1
            )
            return Unchecked(line, f"imports `{name}`, which can write theorems past the kernel")
    bare = without_comments(text)
    found = _FORBIDDEN.search(bare)
    if found is None:
        return None
    line = bare.count("\n", 0, found.start()) + 1
    if found["kernel"]:
        return Unchecked(line, "sets `debug.skipKernelTC`, which turns the kernel's check off")
    return Unchecked(
        line, f"uses `{found['command']}`, which can change what the files that import it say"
    )


def unchecked_modules(graph: Graph, besides: Iterable[str] = ()) -> dict[str, Unchecked]:
    """The modules of a graph with such a place."""
    found = {
        name: unchecked(module.text)
        for name, module in graph.modules.items()
        if name not in set(besides)
    }
    return {name: place for name, place in found.items() if place is not None}


def resting_on(graph: Graph, modules: Iterable[str]) -> dict[str, str]:
    """The modules of a graph that are or import one of some modules, with the one they rest on."""
    rests = {name: name for name in modules}
    for name, module in graph.modules.items():
        if name not in rests:
            below = next((rests[i] for i in module.imports if i in rests), None)
            if below is not None:
                rests[name] = below
    return rests
