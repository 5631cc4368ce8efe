"""``serq fuzz``: random programs and scenarios until two sides disagree."""

from __future__ import annotations

import hashlib
import random
import re
import time
from pathlib import Path
from typing import TYPE_CHECKING

import click
from rich.console import Console
from rich.markup import escape
from rich.progress import Progress, SpinnerColumn, TextColumn, TimeElapsedColumn
from rich.table import Table

from serq.cli.options import NumberRange
from serq.diagnostics import SerqError
from serq.files import write_text

if TYPE_CHECKING:
    from serq.fuzz.search import Found, Outcome
    from serq.fuzz.target import Target


@click.command()
@click.argument("names", metavar="[TARGET]...", nargs=-1)
@click.option(
    "--seconds", type=NumberRange(min=0.1), help="Time for all targets together (default 60)."
)
@click.option("--cases", type=click.IntRange(1), help="Cases per target, in place of a time.")
@click.option("--seed", type=click.IntRange(0), help="Start of the cases; a fresh one by default.")
@click.option(
    "--out",
    type=click.Path(file_okay=False, path_type=Path),
    default=Path("fuzz-found"),
    show_default=True,
    help="Where found cases are written.",
)
@click.option("--list", "listed", is_flag=True, help="List the targets; no run.")
@click.option(
    "--coverage",
    "covered",
    is_flag=True,
    help="Measure which side has checked which construct, over --cases cases (default 100).",
)
def command(
    names: tuple[str, ...],
    seconds: float | None,
    cases: int | None,
    seed: int | None,
    out: Path,
    listed: bool,
    covered: bool,
) -> None:
    """Put random programs to every comparison, or to the TARGETs named.

    A case whose sides differ is shrunk and written with both traces. The exit status is 1 when
    one was found. Needs the extra `fuzz`.
    """
    targets = _targets(names)
    if listed:
        _print_targets(targets)
        return
    if seconds is None and cases is None:
        seconds = 60.0
    start = random.SystemRandom().randrange(1 << 32) if seed is None else seed
    console = Console(stderr=True)
    console.print(f"seed {start}", highlight=False)
    if covered:
        _print_coverage(cases or 100, start, console)
        return
    ready = [t for t in targets if _ready(t, console, named=bool(names))]
    if not ready:
        raise SerqError.of("fuzz-target", "none of the targets can run here")
    table = Table("target", "cases", "per second", "how they went", "differences")
    found_any = False
    for target in ready:
        share = None if seconds is None else seconds / len(ready)
        outcome = _search(target, start, share, cases, console)
        labels = ", ".join(f"{count} {label}" for label, count in outcome.labels.most_common())
        table.add_row(
            target.name,
            str(outcome.cases),
            f"{outcome.rate:.1f}",
            escape(labels),
            str(len(outcome.found)),
        )
        for found in outcome.found:
            found_any = True
            where = _write(target, found, out)
            console.print(
                f"{target.name}: {found.difference.where}\n  {where}",
                markup=False,
                highlight=False,
                soft_wrap=True,
            )
    Console().print(table)
    if found_any:
        click.get_current_context().exit(1)


def _targets(names: tuple[str, ...]) -> list[Target]:
    try:
        import hypothesis  # noqa: F401
    except ImportError as error:
        raise SerqError.of(
            "fuzz-extra",
            "random programs need Hypothesis, which is not installed",
            help="install it with `pip install 'serq[fuzz]'`",
        ) from error
    from serq.fuzz.targets import TARGETS

    unknown = [name for name in names if name not in TARGETS]
    if unknown:
        raise click.UsageError(f"no target {unknown[0]!r}; there are {', '.join(TARGETS)}")
    return [TARGETS[name] for name in dict.fromkeys(names or TARGETS)]


def _print_targets(targets: list[Target]) -> None:
    table = Table("target", "what it compares", "here")
    for target in targets:
        table.add_row(target.name, escape(target.about), escape(target.missing() or "ready"))
    Console().print(table)


def _print_coverage(cases: int, seed: int, console: Console) -> None:
    """The table of constructs and the sides that have checked them; an empty cell is a dash."""
    from serq.fuzz.coverage.measure import COLUMNS, measure
    from serq.fuzz.coverage.table import EMPTY, rows

    def say(name: str) -> None:
        console.print(f"measuring: {name}", markup=False, highlight=False)

    measured = measure(cases, seed, say)
    for name, side in measured.sides.items():
        if side.missing is not None:
            console.print(f"{name}: {side.missing}", markup=False, highlight=False)
    table = Table("construct", *COLUMNS)
    totals = [str(measured.sides[column].programs) for column in COLUMNS]
    table.add_row("programs", *totals, end_section=True)
    for group, listed in rows(measured).items():
        table.add_row(f"[bold]{escape(group)}[/bold]", *[""] * len(COLUMNS))
        for number, (name, counts) in enumerate(listed, 1):
            cells = [str(count) if count else EMPTY for count in counts]
            table.add_row(escape(name), *cells, end_section=number == len(listed))
    Console().print(table)


def _ready(target: Target, console: Console, *, named: bool) -> bool:
    """Whether the target can run; one asked for by name must."""
    missing = target.missing()
    if missing is None:
        return True
    if named:
        raise SerqError.of("fuzz-target", f"the target `{target.name}` cannot run: {missing}")
    console.print(f"{target.name}: left out, {missing}", markup=False, highlight=False)
    return False


def _search(
    target: Target, seed: int, seconds: float | None, cases: int | None, console: Console
) -> Outcome:
    from serq.fuzz.search import search

    columns = (SpinnerColumn(), TextColumn("{task.description}"), TimeElapsedColumn())
    with Progress(*columns, console=console, transient=True) as progress:
        task = progress.add_task(target.name)
        shown = 0.0

        def watch(outcome: Outcome) -> None:
            nonlocal shown
            if time.monotonic() - shown > 0.2:
                shown = time.monotonic()
                words = f"{target.name}: {outcome.cases} cases, {outcome.rate:.1f} a second"
                progress.update(task, description=f"{words}, {len(outcome.found)} differ")

        return search(target, seed=seed, seconds=seconds, cases=cases, watch=watch)


def _write(target: Target, found: Found, out: Path) -> Path:
    """Writes the case, both traces and the first difference into a directory of its own."""
    difference = found.difference
    files = target.files(found.case)
    name = hashlib.sha256("".join(files.values()).encode()).hexdigest()[:10]
    where = out / f"{target.name}-{name}"
    where.mkdir(parents=True, exist_ok=True)
    for file, text in files.items():
        write_text(where / file, text)
    for side, text in difference.traces:
        write_text(where / f"{re.sub(r'[^a-z]+', '-', side.lower())}.txt", text)
    found_by = f"serq fuzz {target.name} --seed {found.seed}, case {found.number}"
    write_text(where / "difference.txt", f"{difference.where}\n{found_by}\n")
    return where
