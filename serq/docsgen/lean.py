"""What the Lean library proves, from its claims and docstrings."""

from __future__ import annotations

import json
import re
from functools import cache
from pathlib import Path

from serq.docsgen.fixtures import DOCS

LEAN = DOCS.parent / "lean"
_THEOREM = re.compile(r"^(?:@\[[^\]]*\]\s*)?(?:theorem|def)\s+([\w.']+)", re.MULTILINE)
_DOC = re.compile(r"/--((?:(?!-/).)*)-/\s*$", re.DOTALL)


@cache
def docstrings(module: str) -> dict[str, str]:
    """Name → docstring of a module's theorems and definitions, on one line each."""
    text = (LEAN / Path(*module.split("."))).with_suffix(".lean").read_text(encoding="utf-8")
    found = {}
    for match in _THEOREM.finditer(text):
        doc = _DOC.search(text[: match.start()])
        if doc is not None:
            found[match[1]] = " ".join(doc[1].split())
    return found


def theorems(*names: str) -> str:
    """A table of theorems, each given as ``Module.path:name``."""
    rows = []
    for given in names:
        module, _, name = given.partition(":")
        said = docstrings(module).get(name)
        if said is None:
            raise ValueError(f"no theorem {name} with a docstring in {module}")
        rows.append(f"| `{name}` | {said} | `lean/{module.replace('.', '/')}.lean` |")
    return "\n".join(["| Theorem | What it says | File |", "|---|---|---|", *rows])


def _module(program: str) -> str:
    return "".join(part.capitalize() for part in program.split("_"))


def claims(*programs: str) -> str:
    """The claims of the papers' programs (or of some of them) and whether they are proved."""
    recorded = json.loads((LEAN / "claims.json").read_text(encoding="utf-8"))
    rows = []
    for program, entry in recorded.items():
        if programs and program not in programs:
            continue
        said = docstrings(f"Serq.Claims.{_module(program)}")
        for claim, status in entry["claims"].items():
            shown = f"**{status}**" if status == "open" else status
            rows.append(f"| `{program}.sq` | `{claim}` | {said[claim]} | {shown} |")
    return "\n".join(["| Program | Claim | What it says | Lean |", "|---|---|---|---|", *rows])


def scenarios() -> str:
    """What the kernel evaluates step by step, and who said what comes out."""
    rows = []
    for path in sorted((LEAN / "Serq" / "Oracle").glob("*.lean")):
        text = path.read_text(encoding="utf-8")
        head = re.search(r"/-!\n# (.*?)\n\n(.*?)\n\n", text, re.DOTALL)
        if head is None:
            raise ValueError(f"{path} has no description")
        recorded = re.search(r"recorded/\w+\.([\d.]+)\.json", text)
        answer = f"vLLM {recorded[1]}'s scheduler" if recorded else "the interpreter"
        rows.append(f"| `{path.name}` | {' '.join(head[2].split())} | {answer} |")
    return "\n".join(["| File | Scenario | Steps of |", "|---|---|---|", *rows])
