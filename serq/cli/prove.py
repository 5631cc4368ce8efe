"""``serq prove``: what Lean proves about the library and about the programs' claims."""

from __future__ import annotations

import json
import os
import re
import sys
from pathlib import Path

import click
from rich import box
from rich.console import Console
from rich.markup import escape
from rich.table import Table

from serq.api import load
from serq.cli.options import ReadablePath, Time
from serq.cli.output import emit
from serq.leangen.generate import DIRECTORIES
from serq.leangen.own import Own, prove_own
from serq.leangen.prove import ClaimRow, Outcome, Request, Theorem, prove
from serq.leangen.why import Explanation, explain
from serq.toolchain.lean import ensure_lean
from serq.toolchain.places import LeanPackage, lean_package
from serq.toolchain.progress import Reporter

_COLOURS = {"proved": "green", "open": "yellow", "failed": "red"}


@click.command()
@click.argument("programs", nargs=-1, type=ReadablePath(path_type=Path))
@click.option("--update", is_flag=True, help="Write the generated files that differ.")
@click.option("--json", "as_json", is_flag=True, help="Print a JSON object.")
@click.option("--why", is_flag=True, help="Explain which constructs Lean can express, and stop.")
@click.option("--all", "every", is_flag=True, help="List every theorem of the library.")
@click.option("--offline", is_flag=True, help="Fetch nothing; use the Lean that is there.")
@click.option(
    "--horizon",
    type=Time(positive=True),
    metavar="T",
    help="How far the interpreter runs PROGRAM's own path.",
)
@click.option("--open", "open_", multiple=True, metavar="CLAIM", help="A claim that may be open.")
@click.option("-j", "--jobs", type=click.IntRange(1), help="Processes at a time.")
def command(
    programs: tuple[Path, ...],
    update: bool,
    as_json: bool,
    why: bool,
    every: bool,
    offline: bool,
    horizon: float | None,
    open_: tuple[str, ...],
    jobs: int | None,
) -> None:
    """Prove the library and the claims of PROGRAMS (by default those of the library).

    Regenerates every generated file, compares it with the committed one, builds the Lean library,
    audits every theorem, and shows what is proved, open or failed. The status is 1 unless
    everything required is proved. A PROGRAM of your own has its proofs in a Lean file beside it.
    """
    if why:
        if not programs:
            raise click.UsageError("--why explains a PROGRAM")
        for path in programs:
            _explain(path, as_json)
        return
    reporter = Reporter()
    package = lean_package()
    ours, own = _sorted(programs, package)
    outcomes: list[Outcome] = []
    if ours or not programs:
        request = Request(package, update, offline, jobs or 0, ours)
        outcomes.append(prove(request, reporter))
    for path in own:
        lean = ensure_lean(reporter, package=package, offline=offline)
        task = Own(path, horizon, frozenset(open_), jobs or 0)
        outcomes.append(prove_own(task, package, lean, reporter))
    if as_json:
        records = [o.record() for o in outcomes]
        emit(json.dumps(records[0] if len(records) == 1 else records, indent=2) + "\n")
    else:
        for outcome in outcomes:
            _show(outcome, every)
    if not all(o.ok for o in outcomes):
        sys.exit(1)


def _sorted(programs: tuple[Path, ...], package: LeanPackage) -> tuple[tuple[str, ...], list[Path]]:
    """The library's programs (by stem) and the others."""
    library = {(package.root / directory).resolve() for directory in DIRECTORIES}
    ours = tuple(p.stem for p in programs if package.in_tree and p.resolve().parent in library)
    return ours, [p for p in programs if p.stem not in ours or p.resolve().parent not in library]


# --- the table ----------------------------------------------------------------------------------


_PIPED = 132
"""Columns of a table that goes to a file or a pipe, unless COLUMNS says otherwise."""


def _console() -> Console:
    console = Console(highlight=False)
    if not console.is_terminal and "COLUMNS" not in os.environ:
        console.width = _PIPED
    return console


def _show(outcome: Outcome, every: bool) -> None:
    console = _console()
    for path in outcome.written:
        console.print(f"wrote {escape(path.as_posix())}")
    if outcome.claims:
        console.print(_claims_table(outcome.claims))
    if outcome.theorems:
        console.print(_theorem_table(outcome, every))
    errors = Console(stderr=True, highlight=False)
    for fault in outcome.faults:
        errors.print(f"[red]error:[/] {escape(str(fault))}", soft_wrap=True)
    for problem in outcome.problems:
        errors.print(f"[red]problem:[/] {escape(problem)}", soft_wrap=True)
    console.print(_summary(outcome), soft_wrap=True)


def _claims_table(rows: list[ClaimRow]) -> Table:
    table = Table(box=box.SIMPLE_HEAD, title="Claims", title_justify="left", title_style="bold")
    for name in ("claim", "in words", "on this path", "over all paths", "theorem, axioms", "time"):
        table.add_column(name, overflow="fold")
    for row in rows:
        colour = _COLOURS[row.status]
        proof = ""
        if row.proof is not None:
            axioms = ", ".join(row.proof.axioms) or "no axioms"
            proof = f"{row.proof.file}:{row.proof.line} ({axioms})"
        elif row.why:
            proof = row.why
        time = "" if row.proof is None else _seconds(row.proof.seconds)
        table.add_row(
            escape(f"{row.program}.{row.name}"),
            escape(row.sentence),
            escape(row.path),
            f"[{colour}]{row.status}[/]",
            escape(proof),
            time,
        )
    return table


def _theorem_table(outcome: Outcome, every: bool) -> Table:
    """Every theorem in words, or without ``every`` how many each file has."""
    table = Table(box=box.SIMPLE_HEAD, title="Theorems", title_justify="left", title_style="bold")
    for name in ("theorem", "in words", "axioms", "time"):
        table.add_column(name, overflow="fold")
    groups: dict[str, list[Theorem]] = {}
    for theorem in outcome.theorems:
        if every or not theorem.ok:
            table.add_row(*_theorem_cells(theorem))
        else:
            groups.setdefault(theorem.module, []).append(theorem)
    for module, theorems in groups.items():
        axioms = sorted({a for t in theorems for a in t.axioms})
        count = f"{len(theorems)} theorem" + ("s" if len(theorems) > 1 else "")
        run = next((t for t in theorems if not t.name.endswith("_wf")), theorems[0])
        words = _words(run) if module.startswith("Serq.Oracle.") else ""
        cells = (module.removeprefix("Serq."), words or count, ", ".join(axioms) or "none")
        table.add_row(*map(escape, cells), _seconds(theorems[0].seconds))
    return table


def _theorem_cells(theorem: Theorem) -> tuple[str, str, str, str]:
    name = escape(theorem.name.removeprefix("Serq."))
    shown = name if theorem.ok else f"[red]{name}[/]"
    axioms = ", ".join(theorem.axioms) or "none"
    return shown, escape(_words(theorem)), escape(axioms), _seconds(theorem.seconds)


def _words(theorem: Theorem) -> str:
    """The first sentence of a theorem's docstring."""
    text = " ".join((theorem.doc or "").split())
    return re.split(r"(?<=[.:]) ", text, maxsplit=1)[0].rstrip(":")


def _seconds(value: float | None) -> str:
    return "" if value is None else f"{value:.1f} s"


def _summary(outcome: Outcome) -> str:
    count = {s: sum(c.status == s for c in outcome.claims) for s in _COLOURS}
    claims = ", ".join(f"{n} {s}" for s, n in count.items() if n) or "no claims"
    good = sum(t.ok for t in outcome.theorems)
    verdict = "[green]all that is required is proved[/]" if outcome.ok else "[red]not proved[/]"
    compiled = outcome.build.compiled if outcome.build else 0
    return (
        f"{verdict}: claims {claims}; {good} theorems audited; "
        f"{compiled} modules compiled, {outcome.seconds:.1f} s; {escape(outcome.lean)}"
    )


# --- --why --------------------------------------------------------------------------------------


def _explain(path: Path, as_json: bool) -> None:
    loaded = load(path, need_horizon=False)
    found = explain(loaded.program, loaded.source_map)
    if as_json:
        emit(json.dumps(_explanation_record(path, found), indent=2) + "\n")
        return
    console = _console()
    table = Table(box=box.SIMPLE_HEAD)
    for name in ("line", "construct", "run in Lean", "claims in Lean", "provided that"):
        table.add_column(name, overflow="fold")
    for row in found.constructs:
        table.add_row(
            _line(row.construct.span),
            escape(row.construct.what),
            _verdict(row.run),
            _verdict(row.claims),
            escape("; ".join(row.conditions)),
        )
    console.print(table)
    runs = "can run it" if found.runs else "cannot run it on its own workload"
    states = "can state claims about it" if found.states else "cannot state claims about it"
    console.print(f"{escape(str(path))}: Lean {runs}, and {states}.")


def _line(span: object) -> str:
    from serq.diagnostics import Span

    return str(span.source.position(span.start)[0]) if isinstance(span, Span) else ""


def _verdict(reasons: tuple[str, ...]) -> str:
    return "[green]inside[/]" if not reasons else f"[red]outside[/]: {escape('; '.join(reasons))}"


def _explanation_record(path: Path, found: Explanation) -> dict[str, object]:
    return {
        "program": str(path),
        "runs": found.runs,
        "states": found.states,
        "constructs": [
            {
                "path": row.construct.path,
                "what": row.construct.what,
                "line": int(_line(row.construct.span) or 0) or None,
                "run": list(row.run),
                "claims": list(row.claims),
                "conditions": list(row.conditions),
            }
            for row in found.constructs
        ],
    }
