"""The report of a run as text: tables and, where something needs attention, a sentence.

The tables are the same on a terminal (laid out by rich) and in a pipe (plain columns).
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass
from math import isnan
from typing import TypeVar

from rich.box import SIMPLE_HEAD
from rich.console import Console
from rich.markup import escape
from rich.table import Table as RichTable
from rich.text import Text

from serq.interp.report import Observe, Pool, Report, Stage, number
from serq.ir.nodes import (
    Binary,
    BinaryOp,
    Expr,
    Program,
    Step,
    Unary,
    UnaryOp,
)
from serq.ir.nodes import Observe as ObserveStmt

Row = TypeVar("Row")

MIN_CONSTANT = 40
"""A boolean observation that is 0 in so many samples or more is worth a note."""


@dataclass(frozen=True, slots=True)
class Table:
    """Cells as they are shown; the first column is left aligned, the others right."""

    headers: tuple[str, ...]
    rows: list[tuple[str, ...]]


# --- cells --------------------------------------------------------------------------------------


def decimals(x: float, places: int) -> str:
    """A number with so many decimals; NaN and inf by name, no minus before a rounded 0."""
    if isnan(x):
        return "NaN"
    text = f"{x:.{places}f}"
    return text.lstrip("-") if text.startswith("-") and not text.strip("-0.") else text


def _interval(x: float) -> str:
    return "±" + decimals(x, 4)


def _units(x: float) -> str:
    """Units of a pool: whole ones, as in a pool with blocks, without decimals."""
    return number(x) if x.is_integer() else decimals(x, 1)


def member(name: str, index: int | None) -> str:
    """A resource's name as a program writes it."""
    return name if index is None else f"{name}[{index}]"


# --- tables -------------------------------------------------------------------------------------


def run_line(report: Report) -> str:
    """The first line: what ran, how long, how much happened."""
    return (
        f"run: horizon {number(report.horizon)} end {number(report.end)} "
        f"warmup {number(report.warmup)} seed {report.seed} events {report.events} "
        f"arrivals {report.arrivals} ended {report.ended} turns {report.turns} "
        f"mean live {decimals(report.mean_live, 3)}"
    )


def tables(report: Report, engines: set[int]) -> list[Table]:
    """The tables that have rows; ``engines`` are the places of engines among the stages."""
    steps = [row for i, row in enumerate(report.stages) if i in engines]
    client = list(report.client.values())
    found = [
        _observes("observe", report.observes.values()),
        _observes("client", client if any(o.count for o in client) else []),
        Table(
            ("gauge", "mean", "95% CI", "min", "max"),
            [
                (
                    g.name,
                    decimals(g.mean, 4),
                    _interval(g.ci),
                    decimals(g.min, 4),
                    decimals(g.max, 4),
                )
                for g in report.gauges.values()
            ],
        ),
        Table(tuple(name for name, _ in _STAGE), [_cells(row, _STAGE) for row in report.stages]),
        Table(tuple(name for name, _ in _STEP), [_cells(row, _STEP) for row in steps]),
        Table(tuple(name for name, _ in _POOL), [_cells(row, _POOL) for row in report.pools]),
        Table(
            ("claim", "kind", "result", "checked", "failures", "first", "note"),
            [
                (
                    c.name,
                    c.kind.replace("_", " "),
                    c.result.replace("_", " "),
                    str(c.checked),
                    str(c.failures),
                    "-" if c.first is None else number(c.first),
                    c.note or "-",
                )
                for c in report.claims.values()
            ],
        ),
    ]
    return [table for table in found if table.rows]


def _observes(title: str, observes: Iterable[Observe]) -> Table:
    return Table(
        (title, "count", "mean", "95% CI", "cv2", "p99"),
        [
            (
                o.name,
                str(o.count),
                decimals(o.mean, 4),
                _interval(o.ci),
                decimals(o.cv2, 3),
                decimals(o.p99, 4),
            )
            for o in observes
        ],
    )


def _cells(row: Row, columns: tuple[tuple[str, Callable[[Row], str]], ...]) -> tuple[str, ...]:
    return tuple(cell(row) for _, cell in columns)


_STAGE: tuple[tuple[str, Callable[[Stage], str]], ...] = (
    ("stage", lambda s: member(s.name, s.index)),
    ("number", lambda s: decimals(s.mean_number, 3)),
    ("util", lambda s: decimals(s.utilization, 3)),
    ("done", lambda s: str(s.completed)),
    ("thru", lambda s: decimals(s.throughput, 4)),
    ("wait", lambda s: decimals(s.mean_wait, 4)),
    ("service", lambda s: decimals(s.mean_service, 4)),
    ("iters", lambda s: str(s.iterations)),
)

_STEP: tuple[tuple[str, Callable[[Stage], str]], ...] = (
    ("step", lambda s: member(s.name, s.index)),
    ("prefill only", lambda s: decimals(s.prefill_only, 3)),
    ("decode only", lambda s: decimals(s.decode_only, 3)),
    ("mixed", lambda s: decimals(s.mixed, 3)),
    ("idle", lambda s: decimals(1.0 - s.prefill_only - s.decode_only - s.mixed, 3)),
    ("decodes", lambda s: decimals(s.mean_decodes, 3)),
    ("decode batch", lambda s: decimals(s.mean_decode_batch, 3)),
    ("decode step", lambda s: decimals(s.mean_decode_step, 6)),
    ("itl p50", lambda s: decimals(s.itl_p50, 6)),
    ("itl p99", lambda s: decimals(s.itl_p99, 6)),
)

_POOL: tuple[tuple[str, Callable[[Pool], str]], ...] = (
    ("pool", lambda p: member(p.name, p.index)),
    ("used", lambda p: decimals(p.mean_used, 1)),
    ("cached", lambda p: decimals(p.mean_cached, 1)),
    ("queue", lambda p: decimals(p.mean_queue, 3)),
    ("holders", lambda p: decimals(p.mean_holders, 3)),
    ("wait", lambda p: decimals(p.mean_wait, 4)),
    ("admits", lambda p: str(p.admissions)),
    ("evict(n)", lambda p: str(p.evicted_entries)),
    ("evict(u)", lambda p: _units(p.evicted_units)),
    ("preempt", lambda p: str(p.preemptions)),
    ("spill", lambda p: str(p.spills)),
    ("rej", lambda p: str(p.rejected)),
    ("stuck", lambda p: str(p.stuck)),
)


# --- notes --------------------------------------------------------------------------------------


def engines_of(program: Program) -> set[int]:
    """The places of the engines among the stages."""
    return {i for i, stage in enumerate(program.stages) if isinstance(stage.kind, Step)}


def notes(report: Report, program: Program) -> list[str]:
    """A sentence for each thing that a reader of the numbers should know first."""
    return [*_observe_notes(report, program), *_stage_notes(report, program), *_pool_notes(report)]


def _observe_notes(report: Report, program: Program) -> Iterator[str]:
    for name in sorted(_tests(program), key=program.observes.index):
        row = report.observes.get(name)
        if row is not None and row.count >= MIN_CONSTANT and not row.samples.any():
            yield (
                f"note: observe {name} is constant 0 over {row.count} samples: "
                "its condition never held"
            )


_TESTS = {
    BinaryOp.LT, BinaryOp.LE, BinaryOp.GT, BinaryOp.GE, BinaryOp.EQ, BinaryOp.NE,
    BinaryOp.AND, BinaryOp.OR,
}  # fmt: skip


def _is_test(expr: Expr) -> bool:
    match expr:
        case Binary(op=op):
            return op in _TESTS
        case Unary(op=op):
            return op is UnaryOp.NOT
    return False


def _tests(program: Program) -> set[str]:
    """The observations that record conditions wherever the program writes them."""
    verdicts: dict[int, bool] = {}
    for block in program.blocks:
        for stmt in block:
            if isinstance(stmt, ObserveStmt):
                test = _is_test(stmt.expr)
                verdicts[stmt.observe] = test and verdicts.get(stmt.observe, True)
    return {program.observes[i] for i, test in verdicts.items() if test}


def _stage_notes(report: Report, program: Program) -> Iterator[str]:
    for row, stage in zip(report.stages, program.stages, strict=True):
        if not (row.idle_with_work and isinstance(stage.kind, Step)):
            continue
        yield (
            f"idle: engine {member(row.name, row.index)} ended with work left that its last "
            "attempt could not schedule: no cap leaves room for a token, or its schedule leaves "
            "everyone out"
        )


def _pool_notes(report: Report) -> Iterator[str]:
    caps = {member(p.name, p.index): p for p in report.pools}
    for name, row in caps.items():
        if row.over_cap is not None:
            queue, need = row.over_cap
            yield (
                f"over: the first session in the queue of {queue} needs {number(need)} of "
                f"pool {name}, more than its cap: it waits forever, and the sessions behind it too"
            )
    for name, row in caps.items():
        if row.growing_at_end:
            count = row.growing_at_end
            holds = "1 hold" if count == 1 else f"{count} holds"
            text = f"grow: {holds} of pool {name} still waited for room to grow at the end"
            if row.growing_stalled:
                text += ", and no other session holds any of it: none of them can go on"
            yield text
    for name, row in caps.items():
        if row.stuck:
            sessions = "1 session was" if row.stuck == 1 else f"{row.stuck} sessions were"
            yield (
                f"stuck: {sessions} preempted from pool {name} again without getting further "
                "than before; their turns are missing in the statistics"
            )


# --- layout -------------------------------------------------------------------------------------


def plain(report: Report, program: Program) -> str:
    """The report for a pipe or a file: columns as wide as their widest entry."""
    parts = [run_line(report)]
    parts += [_plain_table(table) for table in tables(report, engines_of(program))]
    remarks = notes(report, program)
    if remarks:
        parts.append("\n".join(remarks))
    return "\n\n".join(parts) + "\n"


def _plain_table(table: Table) -> str:
    lines = [table.headers, *table.rows]
    widths = [max(len(line[i]) for line in lines) for i in range(len(table.headers))]
    out = [
        "  ".join(
            cell.ljust(width) if i == 0 else cell.rjust(width)
            for i, (cell, width) in enumerate(zip(line, widths, strict=True))
        )
        for line in lines
    ]
    out.insert(1, "-" * (sum(widths) + 2 * (len(widths) - 1)))
    return "\n".join(line.rstrip() for line in out)


_NOTE_STYLES = {"note": "cyan", "idle": "yellow", "grow": "yellow", "over": "red", "stuck": "red"}
_RESULT_STYLES = {"holds": "green", "witnessed": "green", "fails": "bold red"}


def show(report: Report, program: Program, console: Console) -> None:
    """The report on a terminal."""
    console.print(Text(run_line(report), style="bold"))
    endless = console.options.update(width=10_000)
    for table in tables(report, engines_of(program)):
        shown = _rich_table(table)
        if console.measure(shown, options=endless).maximum <= console.width:
            console.print(shown)
        else:  # rather lines that wrap than numbers that are cut
            console.print(Text("\n" + _plain_table(table)), soft_wrap=True)
    for text in notes(report, program):
        kind, _, rest = text.partition(":")
        style = _NOTE_STYLES[kind]
        console.print(f"[bold {style}]{kind}:[/]{escape(rest)}", highlight=False)


def _rich_table(table: Table) -> RichTable:
    shown = RichTable(box=SIMPLE_HEAD, pad_edge=False, header_style="bold")
    for i, header in enumerate(table.headers):
        if i == 0:
            shown.add_column(header, justify="left", style="bold", no_wrap=True)
        else:
            shown.add_column(header, justify="left" if header == "note" else "right")
    for row in table.rows:
        shown.add_row(*(Text(cell, style=_RESULT_STYLES.get(cell, "")) for cell in row))
    return shown
