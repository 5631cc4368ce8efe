"""The interpreter: a program in its IR, run once, gives a report.

`run` is all that most callers need. Reports are equal in every field, and to the last bit, for
the same program, seed and settings.
"""

from __future__ import annotations

import os
from collections.abc import Callable, Sequence
from typing import Any

from serq.diagnostics import SerqError
from serq.interp.build import build as build_machine
from serq.interp.invariants import watch
from serq.interp.record import Recorder
from serq.interp.report import Report
from serq.interp.results import report
from serq.interp.trace import Turn, read_trace
from serq.ir import nodes as ir

__all__ = ["Report", "SerqError", "run"]


def run(
    program: ir.Program,
    *,
    trace: Sequence[Sequence[Turn]] | None = None,
    base_dir: str | os.PathLike[str] | None = None,
    source_map: Any = None,
    debug: bool = False,
    fast: bool = True,
    record: Recorder | None = None,
    progress: Callable[[float, int], None] | None = None,
) -> Report:
    """Run the program to its horizon and report what happened.

    ``debug=True`` checks the machine's invariants after every event (`serq.interp.invariants`).
    ``fast=False`` runs every iteration of an engine one by one; the report is the same.

    ``record`` is told of every iteration and preemption (`serq.interp.record`).

    ``progress(now, arrived)`` is called every few thousand events; what it raises ends the run.
    """
    machine = build_machine(program, source_map, record, fast)
    machine.progress = progress
    corpus = trace
    if corpus is None and program.trace is not None:
        corpus = read_trace(os.path.join(base_dir or "", program.trace))
    if corpus is not None:
        machine.replay(corpus)
    if debug:
        watch(machine)
    machine.run()
    return report(machine)
