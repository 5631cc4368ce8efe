"""Programs made from programs: other settings, and a trace written into the program."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import replace
from typing import Any

from ..diagnostics import SerqError
from . import nodes as n

SETTINGS = ("horizon", "warmup", "seed", "arrivals", "trace")


def with_settings(program: n.Program, **settings: Any) -> n.Program:
    """The program with other execution settings: any of `SETTINGS`, by name.

    ``horizon`` and ``warmup`` are in the program's unit of time. The result is not checked; the
    rules of settings are among those of `serq.ir.validate.validate`.
    """
    for name in settings:
        if name not in SETTINGS:
            raise TypeError(f"`{name}` is no execution setting; there are {', '.join(SETTINGS)}")
    for name in ("horizon", "warmup"):
        if name in settings:
            settings[name] = float(settings[name])
    return replace(program, **settings)


def inline_trace(
    program: n.Program, trace: Sequence[Sequence[tuple[float, float, float, float]]]
) -> n.Program:
    """The program with the sessions of its trace in it, which runs to the same report.

    ``trace`` is the trace's sessions, each a list of turns ``(new, out, think, forced)``. Session
    i of the batch replays session i modulo the trace's. Raises `SerqError` for a trace that is
    not ordered, for arrivals other than ``batch`` (explicit sessions all arrive at time 0), and
    for values that JSON cannot say.
    """
    if not program.trace_ordered:
        raise SerqError.of(
            "inline-trace",
            "a session of this program replays a session of the trace that is drawn at random, "
            "so the sessions cannot be written into the program",
            help='write `trace "…" ordered;`',
        )
    if not isinstance(program.arrival, n.Batch):
        raise SerqError.of(
            "inline-trace",
            "sessions that are written into a program all arrive at time 0, and this program's "
            "arrive one after another",
            help="inline the trace of a program with `arrive batch(n);`",
        )
    slots = (program.slot_new, program.slot_out, program.slot_think, program.slot_forced)
    inlined = []
    for i, session in enumerate(trace):
        for turn in session:
            if not all(math.isfinite(value) for value in turn):
                raise SerqError.of(
                    "inline-trace",
                    f"session {i} of the trace has a value that is infinite or no number, and "
                    "an IR document cannot say it",
                )
        turns = tuple(tuple(zip(slots, map(float, turn), strict=True)) for turn in session)
        inlined.append(n.SessionData((), turns))
    sessions = tuple(inlined[i % len(inlined)] for i in range(program.arrival.size))
    return replace(program, arrival=n.Sessions(sessions), trace=None, trace_ordered=False)
