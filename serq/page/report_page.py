"""The report of a run as one HTML page: tables, distributions, gauges, claims, notes.

Charts are made here, as SVG in the page, from a few hundred numbers each; the page has no script
and loads nothing.
"""

from __future__ import annotations

from dataclasses import dataclass
from math import isfinite, isnan

import serq
from serq.interp.report import Gauge, Observe, Report
from serq.ir import nodes as ir
from serq.ir.moments import Moment
from serq.ir.text import show
from serq.page.advice import remarks, verdicts
from serq.page.charts import (
    Chart,
    course_chart,
    ecdf_chart,
    gauge_chart,
    histogram_chart,
    percent,
    quantile_name,
    share_chart,
)
from serq.page.distribution import QUANTILES, Distribution, distribution
from serq.page.scale import short
from serq.page.templating import template
from serq.text_report import engines_of, tables

CLIENT = {
    "ttft": "time to first token",
    "tpot": "time per output token",
    "response": "response time",
}
COLUMNS = {
    "count": "samples after the warm-up",
    "95% CI": "half-width of the mean's 95 % interval, by 20 batch means",
    "cv2": "variance over the squared mean: 0 for a constant, 1 for an exponential",
    "p99": "99 % of the samples are at most this",
    "number": "jobs present, time average",
    "util": "share of time with a job present",
    "done": "jobs completed after the warm-up",
    "thru": "jobs completed per unit of the clock",
    "wait": "mean wait before service, or before admission",
    "service": "mean time in service",
    "iters": "iterations of the whole run",
    "prefill only": "share of time in iterations that only prefill",
    "decode only": "share of time in iterations that only decode",
    "mixed": "share of time in iterations that do both",
    "idle": "share of time without an iteration",
    "decodes": "decodes in the running iteration, time average",
    "decode batch": "decodes per iteration with one",
    "decode step": "length of an iteration with a decode",
    "itl p50": "median time between two tokens of a turn",
    "itl p99": "99 % quantile of the time between two tokens of a turn",
    "used": "units allocated, time average",
    "cached": "units of cached prefixes, time average",
    "queue": "requests that wait, time average",
    "holders": "sessions that hold units, time average",
    "admits": "admissions",
    "evict(n)": "cache entries evicted whole",
    "evict(u)": "units evicted",
    "preempt": "preemptions",
    "spill": "entries spilled to another tier",
    "rej": "sessions refused: their demand can never fit",
    "stuck": "sessions preempted again without getting further",
    "checked": "iterations read",
    "failures": "iterations that read 0",
    "first": "time of the first failure, or witness",
}
TABLES = {
    "observe": "Observations",
    "client": "What clients see",
    "gauge": "Gauges",
    "stage": "Stages",
    "step": "Iterations",
    "pool": "Pools",
    "claim": "Claims",
}


@dataclass(frozen=True)
class Card:
    """One distribution on the page: its numbers and its charts."""

    name: str
    title: str
    facts: list[tuple[str, str]]
    remark: str
    charts: list[Chart]


@dataclass(frozen=True)
class GaugeCard:
    """One gauge on the page."""

    name: str
    statement: str
    facts: list[tuple[str, str]]
    chart: Chart


def page(report: Report, program: ir.Program, title: str) -> str:
    """The page, whole, as HTML text; ``title`` names the program.

    The same report gives the same bytes.
    """
    start, end = report.warmup, report.end
    stated = {gauge.name: gauge.expr for gauge in program.gauges}
    return template("serq.page", "report.html.j2").render(
        title=title,
        version=report.serq_version,
        made=serq.__version__,
        run=_run(report),
        verdicts=verdicts(report, program),
        remarks=remarks(report, program),
        client=[_card(row, start, end, CLIENT[name]) for name, row in report.client.items()
                if row.count],
        observes=[_card(row, start, end, "") for row in report.observes.values()],
        gauges=[
            _gauge(
                gauge, start, end,
                show(program, stated[gauge.name], Moment.GAUGE) if gauge.name in stated else "",
            )
            for gauge in report.gauges.values()
        ],
        tables=tables(report, engines_of(program)),
        table_titles=TABLES,
        columns=COLUMNS,
    )  # fmt: skip


def _run(report: Report) -> list[tuple[str, str]]:
    def clock(x: float) -> str:
        return f"{x:,.6g}" if abs(x) < 1e6 else short(x, 6)

    return [
        ("horizon", clock(report.horizon)),
        ("end", clock(report.end)),
        ("warm-up", clock(report.warmup)),
        ("seed", str(report.seed)),
        ("events", f"{report.events:,}"),
        ("arrivals", f"{report.arrivals:,}"),
        ("ended", f"{report.ended:,}"),
        ("turns", f"{report.turns:,}"),
        ("mean live", short(report.mean_live, 4)),
    ]


def _interval(row: Observe) -> str:
    mean = short(row.mean, 4)
    return f"{mean} ± {short(row.ci, 2)}" if isfinite(row.ci) else mean


def _card(row: Observe, start: float, end: float, title: str) -> Card:
    if not row.count:
        return Card(row.name, title, [("samples", "0")], "No sample after the warm-up.", [])
    d = distribution(row, start, end)
    facts = [("samples", f"{row.count:,}"), ("mean", _interval(row))]
    if d.test:
        ones = row.mean
        charts = [share_chart(d, start, end)] if d.means is not None and not d.constant else []
        facts = [facts[0], ("share of 1", percent(ones) if not isnan(ones) else "NaN")]
        if isfinite(row.ci):
            facts.append(("95 % interval", f"± {percent(row.ci)}"))
        return Card(row.name, title, facts, _remark(d), charts)
    if d.count > d.odd:
        facts += [(quantile_name(q), short(d.quantiles[q], 4)) for q in QUANTILES]
        facts += [("min", short(d.least, 4)), ("max", short(d.greatest, 4))]
    if not isnan(row.cv2):
        facts.append(("cv²", short(row.cv2, 3)))
    charts = []
    if d.histogram is not None:
        charts = [histogram_chart(d), ecdf_chart(d)]
        if start < end:
            charts.append(course_chart(d, start, end))
    return Card(row.name, title, facts, _remark(d), charts)


def _remark(d: Distribution) -> str:
    said = []
    if d.constant:
        said.append(f"Every sample is {short(d.least, 6)}.")
    if d.logarithmic and d.zeros:
        share = percent(d.zeros / (d.count - d.odd))
        said.append(f"{share} of the samples are 0 and have no place on a logarithmic axis.")
    if d.odd:
        said.append(f"{d.odd:,} samples are not finite and are left out of the charts.")
    return " ".join(said)


def _gauge(gauge: Gauge, start: float, end: float, statement: str) -> GaugeCard:
    facts = [("mean", short(gauge.mean, 4))]
    if isfinite(gauge.ci):
        facts.append(("95 % interval", f"± {short(gauge.ci, 2)}"))
    facts += [("min", short(gauge.min, 4)), ("max", short(gauge.max, 4))]
    return GaugeCard(gauge.name, statement, facts, gauge_chart(gauge, start, end))
