"""The report of a run, as Python objects and as JSON.

Times are in the program's clock unit. Statistics without a value are NaN (a mean of nothing) or
inf (an interval from fewer than 40 samples); JSON writes both as null.
"""

from __future__ import annotations

import json
from collections.abc import Iterable
from dataclasses import dataclass, field
from decimal import Decimal
from math import isfinite
from typing import Any

import numpy as np
import numpy.typing as npt

F64 = npt.NDArray[np.float64]
I64 = npt.NDArray[np.int64]

REPORT_VERSION = 1
"""Raised when a field of the JSON report is renamed, removed or retyped; adding one does not."""


@dataclass(frozen=True, slots=True, eq=False)
class Observe:
    """One observation (or one of the client's): statistics of the samples after the warm-up.

    ``samples``, ``times``, ``sessions`` and ``turns`` have one entry per sample in recording
    order. ``ci`` is the half-width of the mean's 95 % interval by 20 batch means (inf below 40
    samples), ``cv2`` the squared coefficient of variation, ``p99`` the value of rank ⌈0.99·n⌉.
    """

    name: str
    count: int
    mean: float
    ci: float
    cv2: float
    p99: float
    samples: F64 = field(repr=False)
    times: F64 = field(repr=False)
    sessions: I64 = field(repr=False)
    turns: I64 = field(repr=False)


@dataclass(frozen=True, slots=True, eq=False)
class Gauge:
    """One gauge: time average over [warmup, end], its interval over 20 windows, the extremes.

    ``times`` and ``values`` are the change points of the whole run, the first at time 0;
    ``min`` and ``max`` are over values held for a positive time after the warm-up.
    """

    name: str
    mean: float
    ci: float
    min: float
    max: float
    times: F64 = field(repr=False)
    values: F64 = field(repr=False)


@dataclass(frozen=True, slots=True)
class Claim:
    """What the run found about one claim.

    ``kind`` is every_iteration, some_iteration or at_end; ``result`` holds, fails, witnessed,
    not_witnessed, not_evaluated or out_of_scope; ``checked`` the iterations read, ``failures``
    those where the claim was 0; ``first`` the time of the first failure or witness.
    """

    name: str
    kind: str
    result: str
    checked: int
    failures: int
    first: float | None
    note: str | None


@dataclass(frozen=True, slots=True)
class Stage:
    """One stage: time averages over [warmup, end], means over what completed in it.

    ``index`` is None for a scalar. The fields from ``iterations`` on are an engine's and 0 or NaN
    for the other kinds; ``prefill_only``, ``decode_only`` and ``mixed`` are fractions of time.
    """

    name: str
    index: int | None
    mean_number: float
    utilization: float
    completed: int
    throughput: float
    mean_wait: float
    mean_service: float
    iterations: int
    prefill_only: float
    decode_only: float
    mixed: float
    mean_decodes: float
    mean_decode_batch: float
    mean_decode_step: float
    mean_itl: float
    itl_p50: float
    itl_p99: float
    idle_with_work: bool


@dataclass(frozen=True, slots=True)
class Pool:
    """One pool: time averages over [warmup, end] in units and sessions, counters of the whole run.

    ``over_cap`` is None, or the queue whose head needs more than this pool's cap and that need.
    """

    name: str
    index: int | None
    mean_used: float
    mean_cached: float
    mean_queue: float
    mean_holders: float
    mean_wait: float
    admissions: int
    evicted_entries: float
    evicted_units: float
    preemptions: int
    spills: int
    rejected: int
    stuck: int
    over_cap: tuple[str, float] | None
    growing_at_end: int
    growing_stalled: bool


@dataclass(frozen=True, slots=True, eq=False)
class Report:
    """All results of a run; the dicts are by name in program order, the lists in declaration order.

    ``events`` counts what the interpreter's clock stopped for, ``arrivals`` the sessions of the
    whole run, ``ended`` and ``turns`` those after the warm-up, ``mean_live`` the time-average
    number of sessions over [warmup, end].
    """

    serq_version: str
    horizon: float
    end: float
    warmup: float
    seed: int
    events: int
    arrivals: int
    ended: int
    turns: int
    mean_live: float
    observes: dict[str, Observe]
    client: dict[str, Observe]
    gauges: dict[str, Gauge]
    claims: dict[str, Claim]
    stages: list[Stage]
    pools: list[Pool]

    def observe(self, name: str) -> Observe | None:
        """The observation of this name, or None."""
        return self.observes.get(name)

    def gauge(self, name: str) -> Gauge | None:
        """The gauge of this name, or None."""
        return self.gauges.get(name)

    def claim(self, name: str) -> Claim | None:
        """The claim of this name, or None."""
        return self.claims.get(name)

    def stage(self, name: str) -> Stage | None:
        """The first stage of this name, or None."""
        return next(iter(self.stages_named(name)), None)

    def pool(self, name: str) -> Pool | None:
        """The first pool of this name, or None."""
        return next(iter(self.pools_named(name)), None)

    def stages_named(self, name: str) -> list[Stage]:
        """The members of the stage family of this name in the order of their indices."""
        return [row for row in self.stages if row.name == name]

    def pools_named(self, name: str) -> list[Pool]:
        """The members of the pool family of this name in the order of their indices."""
        return [row for row in self.pools if row.name == name]

    def json(self) -> str:
        """The report as one JSON object on one line, as ``serq run --json`` prints it."""
        fields: dict[str, Any] = {name: getattr(self, name) for name in _RUN}
        fields["observes"] = {name: _row(o, _OBSERVE) for name, o in self.observes.items()}
        fields["client"] = {name: _row(o, _OBSERVE) for name, o in self.client.items()}
        fields["gauges"] = {name: _row(g, _GAUGE) for name, g in self.gauges.items()}
        if self.claims:
            fields["claims"] = [_row(c, Claim.__slots__) for c in self.claims.values()]
        fields["stages"] = [_row(s, Stage.__slots__) for s in self.stages]
        fields["pools"] = [_pool_row(p) for p in self.pools]
        return to_json(fields)


_RUN = (
    "serq_version", "horizon", "end", "warmup", "seed",
    "events", "arrivals", "ended", "turns", "mean_live",
)  # fmt: skip
_OBSERVE = ("count", "mean", "ci", "cv2", "p99")
_GAUGE = ("mean", "ci", "min", "max")


def _row(row: object, names: Iterable[str]) -> dict[str, Any]:
    return {name: getattr(row, name) for name in names}


def _pool_row(pool: Pool) -> dict[str, Any]:
    fields = _row(pool, Pool.__slots__)
    if pool.over_cap is not None:
        fields["over_cap"] = dict(zip(("queue", "need"), pool.over_cap, strict=True))
    return fields


def number(x: float) -> str:
    """A finite number in its shortest digits that read back to it, always written out.

    No exponent, no ``.0``; −0 keeps its sign. Of two such texts that are equally near, it is the
    one farther from 0, as the reference build writes it.
    """
    text = repr(x)
    if "e" in text:
        text = format(Decimal(text), "f")
    if len(text) > 15 and "." in text and _rounds_up(x, text):
        return text[:-1] + str(int(text[-1]) + 1)
    return text.removesuffix(".0")


def _rounds_up(x: float, text: str) -> bool:
    """Whether a number lies in the middle of its text and the next of as many digits.

    Python's `repr` writes an even last digit then, so that no carry comes of adding 1 to it.
    """
    exact, shown = Decimal(x).as_tuple(), Decimal(text).as_tuple()
    return exact.digits == (*shown.digits, 5) and float(text[:-1] + str(int(text[-1]) + 1)) == x


def to_json(value: Any) -> str:
    """Compact JSON with the report's number format; non-finite numbers are null."""
    match value:
        case None:
            return "null"
        case bool():
            return "true" if value else "false"
        case str():
            return json.dumps(value, ensure_ascii=False)
        case int() | float():
            return number(value) if isfinite(value) else "null"
        case dict():
            rows = (f"{to_json(name)}:{to_json(inner)}" for name, inner in value.items())
            return "{" + ",".join(rows) + "}"
        case list() | tuple():
            return "[" + ",".join(map(to_json, value)) + "]"
    raise TypeError(f"no JSON for {type(value).__name__}")
