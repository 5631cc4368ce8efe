"""Execution settings, arrivals, gauges, claims, and keys of choices."""

from __future__ import annotations

import math

from .. import nodes as n
from ..constants import fold
from ..text import number
from .issues import ROOT
from .model import Model

MOST_SESSIONS = 1_000_000
"""The largest closed population and batch."""


def check(model: Model) -> None:
    """What the program declares beside its resources and statements."""
    _check_run(model.program, model)
    _check_arrival(model)
    _check_names(model)
    for i, claim in enumerate(model.program.claims):
        if not isinstance(claim.kind, n.AtEnd) and not model.is_engine(claim.kind.stage):
            model.issues.add(
                ROOT.under(f".claims[{i}]", claim).under(".kind"),
                "not-an-engine",
                f"claim `{claim.name}`: `{model.stage(claim.kind.stage)}` is no engine, and only "
                "an engine has iterations",
            )
    for stmt, place, _ in model.statements():
        if isinstance(stmt, n.Choose) and not stmt.key:
            model.issues.add(place, "no-key", "a `choose` has no key, and needs at least one")


def _check_run(program: n.Program, model: Model) -> None:
    horizon, warmup = program.horizon, program.warmup
    if not (0 <= warmup < horizon and math.isfinite(horizon)):
        model.issues.add(
            ROOT.under(".horizon"),
            "bad-setting",
            f"a horizon of {number(horizon)} and a warm-up of {number(warmup)}: 0 <= warm-up < "
            "horizon, and both are finite",
        )
    if not 0 <= program.seed < 2**64:
        message = f"a seed of {program.seed}: a seed is from 0 to 2^64 - 1"
        model.issues.add(ROOT.under(".seed"), "bad-setting", message)
    if program.arrivals is not None:
        if program.arrivals < 1:
            message = f"{program.arrivals} arrivals: a run has 1 or more"
            model.issues.add(ROOT.under(".arrivals"), "bad-setting", message)
        if not isinstance(program.arrival, (n.Poisson, n.Renewal)):
            model.issues.add(
                ROOT.under(".arrivals"),
                "bad-setting",
                "a number of arrivals is for open workloads: `arrive poisson` or `arrive renewal`",
            )


def _check_arrival(model: Model) -> None:
    arrival = model.program.arrival
    place = ROOT.under(".arrival", arrival)
    match arrival:
        case n.Poisson(rate=rate):
            if not (rate > 0 and math.isfinite(rate)):
                message = f"a rate of {number(rate)}: a rate is positive and finite"
                model.issues.add(place.under(".Poisson"), "not-a-rate", message)
        case n.Renewal(gap=gap):
            value = fold(gap)
            if value is not None and not (value > 0 and math.isfinite(value)):
                message = f"a gap of {number(value)}: a gap is positive and finite"
                model.issues.add(place.under(".Renewal", gap), "not-a-gap", message)
        case n.Closed(population=count) | n.Batch(size=count):
            if not 1 <= count <= MOST_SESSIONS:
                model.issues.add(
                    place,
                    "not-a-count",
                    f"{count} sessions: a closed population or a batch is from 1 to a million",
                )


def _check_names(model: Model) -> None:
    declarations: list[tuple[str, tuple[n.Gauge, ...] | tuple[n.Claim, ...]]] = [
        ("gauge", model.program.gauges),
        ("claim", model.program.claims),
    ]
    for word, declared in declarations:
        seen: set[str] = set()
        names = [item.name for item in declared]
        for i, name in enumerate(names):
            if name in seen:
                model.issues.add(
                    ROOT.under(f".{word}s[{i}]", declared[i]).under(".name"),
                    "declared-twice",
                    f"the {word} `{name}` is declared twice",
                )
            seen.add(name)
