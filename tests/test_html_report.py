"""The page of a run's report: numbers, charts, verdicts, and that it is one safe, small file."""

from __future__ import annotations

import json
import re
from collections import Counter
from html.parser import HTMLParser
from itertools import pairwise
from math import inf, nan
from pathlib import Path
from xml.etree import ElementTree

import numpy as np
import pytest
from click.testing import CliRunner, Result
from hypothesis import example, given
from hypothesis import strategies as st
from timeline_programs import HOSTILE, STAGES

from serq import interp
from serq.api import Loaded, Overrides, load
from serq.cli import main
from serq.interp.report import Claim, Gauge, Observe, Report
from serq.interp.stats import ranked
from serq.ir.codec import from_json, to_json
from serq.page.advice import remarks, verdicts
from serq.page.charts import Chart, ecdf_chart, gauge_chart, histogram_chart, percent
from serq.page.distribution import (
    MOST_DOTS,
    QUANTILES,
    course,
    distribution,
    distribution_function,
    histogram,
    rank,
)
from serq.page.report_page import page
from serq.page.scale import averages, log_ticks, nice_step, short, tick_labels, ticks
from serq.page.templating import printable, with_code

EXAMPLES = Path(__file__).parent.parent / "examples"
VLLM = EXAMPLES / "multi-turn/vllm.sq"
VOID = {"meta", "br", "hr", "img", "input", "link"}


def ran(source: str | Path, horizon: float = 100.0, warmup: float = 0.0) -> tuple[Report, Loaded]:
    given = Overrides(horizon=horizon, warmup=warmup)
    loaded = (
        load(source, overrides=given)
        if isinstance(source, Path)
        else load(source=source, overrides=given)
    )
    report = interp.run(loaded.program, base_dir=loaded.base_dir, source_map=loaded.source_map)
    return report, loaded


def observed(values: list[float] | np.ndarray, name: str = "o") -> Observe:
    samples = np.array(values, np.float64)
    n = len(samples)
    return Observe(
        name, n, float(samples.mean()) if n else nan, inf, nan, ranked(samples.tolist(), 0.99),
        samples, np.linspace(0.0, 10.0, n), np.zeros(n, np.int64), np.ones(n, np.int64),
    )  # fmt: skip


class Page(HTMLParser):
    """A page's elements, its texts, and whether every element is closed in its order."""

    def __init__(self, text: str) -> None:
        super().__init__()
        self.elements: Counter[str] = Counter()
        self.classes: Counter[str] = Counter()
        self.loads: list[str] = []
        self.targets: list[str] = []
        self.ids: list[str] = []
        self.texts: list[str] = []
        self.open: list[str] = []
        self.feed(text)
        self.close()
        assert self.open == []

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        self.elements[tag] += 1
        found = dict(attrs)
        for name in (found.get("class") or "").split():
            self.classes[name] += 1
        if "id" in found:
            self.ids.append(found["id"] or "")
        for key in ("src", "href", "data", "srcset", "action"):
            if key in found:
                target = found[key] or ""
                (self.targets if target.startswith("#") else self.loads).append(target)
        assert not any(key.startswith("on") for key in found)
        if tag not in VOID:
            self.open.append(tag)

    def handle_startendtag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        self.handle_starttag(tag, attrs)
        self.open.pop()

    def handle_endtag(self, tag: str) -> None:
        assert self.open.pop() == tag

    def handle_data(self, data: str) -> None:
        self.texts.append(data)


# --- the page -----------------------------------------------------------------------------------


@pytest.mark.parametrize(
    "path", sorted((EXAMPLES / "multi-turn").glob("*.sq")), ids=lambda p: p.stem
)
def test_the_page_is_whole(path: Path) -> None:
    """Well-formed, without a script, and nothing is loaded; links lead to places on the page."""
    report, loaded = ran(path, 60)
    text = page(report, loaded.program, path.name)
    found = Page(text)
    assert found.loads == [] and found.elements["script"] == found.elements["link"] == 0
    assert not re.search(r"https?://|url\(|@import", text)
    assert "default-src 'none'" in text
    assert found.targets and all(target[1:] in found.ids for target in found.targets)
    assert len(set(found.ids)) == len(found.ids)


def test_there_is_a_chart_for_everything() -> None:
    """A histogram and a distribution function for each distribution, a chart for each gauge."""
    report, loaded = ran(VLLM, 100)
    found = Page(page(report, loaded.program, "vllm.sq")).classes
    # ttft, tpot, response, prefill_tokens, context; hit is 0 or 1 and has its share over time.
    assert found["histogram"] == found["ecdf"] == found["course"] == 5
    assert found["share"] == 1 and found["gauge"] == len(report.gauges) == 2


def test_the_tables_are_the_reports() -> None:
    """Every cell of the text report is a cell of the page's tables."""
    from serq.text_report import engines_of, tables

    report, loaded = ran(VLLM, 100)
    root = page(report, loaded.program, "vllm.sq")
    cells = Counter(re.findall(r"<t[hd][^>]*>([^<]*)</t[hd]>", root))
    expected = Counter(
        cell.replace("&", "&amp;")
        for table in tables(report, engines_of(loaded.program))
        for row in (table.headers, *table.rows)
        for cell in row
    )
    assert cells == expected


def test_the_same_run_gives_the_same_bytes() -> None:
    """A page is a function of the report."""
    made = {page(*_page_of(STAGES), "p") for _ in range(2)}
    assert len(made) == 1


def _page_of(source: str) -> tuple[Report, object]:
    report, loaded = ran(source)
    return report, loaded.program


def test_a_large_run_is_a_small_page() -> None:
    """200 000 samples and as many changes of a gauge make a page of less than a megabyte."""
    report, loaded = ran(STAGES, 50)
    generator = np.random.default_rng(1)
    many = observed(generator.exponential(1.0, 200_000), "answer")
    times = np.sort(generator.uniform(0, 50, 200_000))
    gauge = Gauge("used_mem", 1.0, 0.1, 0.0, 9.0, times, generator.uniform(0, 9, 200_000))
    report.observes["answer"] = many
    report.gauges["used_mem"] = gauge
    assert len(page(report, loaded.program, "p").encode()) < 1_000_000


def test_hostile_names_are_text() -> None:
    """Names with markup, quotes and control characters are shown, in every place, and no more."""
    loaded = load(source=STAGES, overrides=Overrides(horizon=60))
    document = json.loads(to_json(loaded.program))
    bad = f"{HOSTILE}</style>\x00\x1b"
    document["observes"] = [f"{name}{bad}" for name in document["observes"]]
    for kind in ("pools", "stages", "gauges", "claims"):
        for thing in document[kind]:
            thing["name"] += bad
    program = from_json(json.dumps(document), "ir")
    report = interp.run(program)
    text = page(report, program, f"{HOSTILE}.sq")
    found = Page(text)
    assert found.elements["script"] == 0 and found.elements["style"] == 1
    assert "\x00" not in text and "\x1b" not in text
    assert sum("世界" in part for part in found.texts) > 10


@pytest.mark.parametrize("values", [[], [nan, inf], [3.0] * 50, [1e300, -1e300], [5e-324, 1.0],
                                    [0.0] * 30 + [1e9], [1e17, 1e17 + 16]])  # fmt: skip
def test_odd_samples_break_no_page(values: list[float]) -> None:
    """None, none finite, one value, extremes: the page is made, and its charts have numbers."""
    report, loaded = ran(STAGES, 50)
    report.observes["answer"] = observed(values, "answer")
    report.gauges["used_mem"] = Gauge(
        "used_mem", nan, nan, inf, -inf, np.array([0.0, 1.0]), np.array([nan, inf])
    )
    text = page(report, loaded.program, "p")
    Page(text)
    for svg in re.findall(r"<svg.*?</svg>", text, re.DOTALL):
        root = ElementTree.fromstring(svg)
        for shape in root.iter():
            for key in ("d", "x", "y", "width", "height", "cx", "cy"):
                assert not re.search("nan|inf", shape.get(key, ""))


# --- distributions ------------------------------------------------------------------------------

samples = st.lists(
    st.one_of(st.floats(0, 1e6), st.integers(0, 30).map(float), st.floats(-50, 50)),
    min_size=1, max_size=80,
)  # fmt: skip


@given(samples)
@example([0.0, 5e-324])
@example([-1.7e308, 0.5, 1.7e308])
def test_quantiles_are_ranks(values: list[float]) -> None:
    """A quantile is the value of rank ⌈q·n⌉, as the report's p99 is."""
    d = distribution(observed(values), 0.0, 10.0)
    for q in QUANTILES:
        expected = next(v for i, v in enumerate(sorted(values), 1) if i >= q * len(values) - 1e-9)
        assert d.quantiles[q] == expected
    assert d.quantiles[0.99] == ranked(values, 0.99)


@given(samples)
@example([0.0, 5e-324])
@example([-1.7e308, 0.5, 1.7e308])
def test_a_histogram_counts_every_sample(values: list[float]) -> None:
    """Bins ascend, hold every sample once, and are at most a hundred."""
    ordered = np.sort(np.array(values))
    if ordered[0] == ordered[-1]:
        return
    for logarithmic in (False, True):
        if logarithmic and ordered[0] <= 1e-6:
            continue
        made = histogram(ordered, logarithmic)
        assert made.counts.sum() == len(values) and len(made.counts) <= 160
        assert (made.edges[1:] > made.edges[:-1]).all()
        assert made.edges[0] <= ordered[0] and ordered[-1] <= made.edges[-1]


def test_whole_numbers_stand_amid_their_bins() -> None:
    """Few whole numbers have a bin each, with the number in its middle."""
    made = histogram(np.sort(np.array([0.0, 1, 1, 2, 2, 2, 5])), False)
    assert made.edges.tolist() == [-0.5, 0.5, 1.5, 2.5, 3.5, 4.5, 5.5]
    assert made.counts.tolist() == [1, 2, 3, 0, 0, 1]


def test_the_distribution_function_is_exact_where_it_is_drawn() -> None:
    """Each point is the share of samples up to its value; the ends and far tails are points."""
    ordered = np.sort(np.random.default_rng(2).pareto(1.5, 100_000))
    values, shares = distribution_function(ordered)
    assert len(values) < 400
    for value, share in zip(values, shares, strict=True):
        assert share == np.count_nonzero(ordered <= value) / len(ordered)
    assert values[0] == ordered[0] and values[-1] == ordered[-1] and shares[-1] == 1.0
    assert ordered[-2] in values and ordered[-3] in values


def test_a_skewed_distribution_has_a_logarithmic_axis() -> None:
    """Where a tail would press everything else into one bin, equal ratios are equal lengths."""
    generator = np.random.default_rng(3)
    assert distribution(observed(generator.lognormal(0, 2, 5000)), 0, 10).logarithmic
    assert not distribution(observed(generator.exponential(1, 5000)), 0, 10).logarithmic
    assert not distribution(observed(generator.normal(0, 1, 5000)), 0, 10).logarithmic


def test_a_course_has_quantiles_of_its_windows() -> None:
    """A window's quantiles are of the samples in it; the last has those at the end of the run."""
    times = np.linspace(0.0, 80.0, 8001)
    made = course(times, times.copy(), 0.0, 80.0)
    assert made.greatest[-1] == 80.0 and made.greatest[0] == pytest.approx(0.99)
    assert (made.low <= made.middle).all() and (made.middle <= made.high).all()
    assert made.middle[10] == rank(times[1000:1100], 0.5)


def test_few_samples_are_drawn_one_by_one() -> None:
    """Up to 400 samples are dots over time; more are quantiles in windows."""
    few = distribution(observed(list(range(MOST_DOTS))), 0.0, 10.0)
    many = distribution(observed(list(range(MOST_DOTS + 1))), 0.0, 10.0)
    assert few.dots is not None and few.course is None
    assert many.dots is None and many.course is not None


# --- charts -------------------------------------------------------------------------------------


def coordinates(chart: Chart) -> list[tuple[str, float]]:
    found = []
    for shape in chart.shapes:
        if shape.kind == "path":
            x: float | None = None
            for letter, numbers in re.findall(r"([MLHVZ])([^A-Z]*)", shape.at):
                parts = [float(n) for n in numbers.split()]
                if letter in "ML":
                    found += [("x", parts[0]), ("y", parts[1])]
                elif letter in "HV":
                    found.append(("x" if letter == "H" else "y", parts[0]))
            del x
        else:
            found += [
                (key.removeprefix("c"), float(value))
                for key, value in re.findall(r'\b(c?[xy])="([^"]*)"', shape.at)
            ]
    return found


@given(samples)
def test_charts_stay_within_their_frame(values: list[float]) -> None:
    """Nothing of a chart stands outside its picture."""
    d = distribution(observed(values), 0.0, 10.0)
    if d.histogram is None:
        return
    for chart in (histogram_chart(d), ecdf_chart(d)):
        for axis, at in coordinates(chart):
            assert -0.1 <= at <= (chart.width if axis == "x" else chart.height) + 0.1


def test_bars_are_as_high_as_their_shares() -> None:
    """A bar twice as high stands for twice as many samples."""
    chart = histogram_chart(distribution(observed([1.0] * 10 + [2.0] * 20 + [3.0] * 5), 0, 10))
    heights = [
        float(re.findall(r'height="([^"]*)"', shape.at)[0])
        for shape in chart.shapes
        if shape.cls == "bar"
    ]
    assert heights[1] == pytest.approx(2 * heights[0], abs=0.05)
    assert heights[0] == pytest.approx(2 * heights[2], abs=0.05)


def test_a_gauge_keeps_its_peaks() -> None:
    """A peak shorter than a pixel is as high in the chart as it was."""
    times = np.array([0.0, 500.0, 500.001])
    gauge = Gauge("g", 1.0, 0.1, 1.0, 9.0, times, np.array([1.0, 9.0, 1.0]))
    chart = gauge_chart(gauge, 0.0, 1000.0)
    faint = next(shape for shape in chart.shapes if shape.cls == "fill faint")
    heights = [float(y) for y in re.findall(r"V([\d.]+)", faint.at)]
    assert min(heights) == 20.0  # the upper edge of the frame: the scale ends at 9


@given(
    st.lists(st.tuples(st.integers(0, 30), st.integers(-5, 5)), min_size=1, max_size=10),
    st.lists(st.integers(0, 40), min_size=2, max_size=6, unique=True),
)
def test_averages_of_a_step_function(points: list[tuple[int, int]], cuts: list[int]) -> None:
    """Between two edges stands the time average of what is held there, 0 before the first time."""
    held = dict(sorted(points))
    edges = np.array(sorted(cuts), float)
    found = averages(np.array([*held], float), np.array([*held.values()], float), edges)
    for i, (a, b) in enumerate(pairwise(edges)):
        at = [max((t for t in held if t <= x), default=None) for x in np.arange(a, b)]
        assert found[i] == pytest.approx(np.mean([0 if t is None else held[t] for t in at]))


# --- numbers ------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("x", "shown"),
    [(0, "0"), (0.012345, "0.0123"), (1.0, "1"), (9999, "9999"), (12345, "12.3k"),
     (-2.5e6, "−2.5M"),
     (nan, "NaN"), (inf, "∞"), (-inf, "−∞"), (3e-7, "3e−7"), (1e16, "1e16"), (999.96, "1000")],
)  # fmt: skip
def test_short_numbers(x: float, shown: str) -> None:
    """Three significant digits, large numbers with a letter, the smallest with an exponent."""
    assert short(x) == shown


@given(st.floats(-1e9, 1e9), st.floats(1e-3, 1e9))
def test_ticks_are_round_and_inside(low: float, span: float) -> None:
    """Ticks are multiples of 1, 2 or 5 times a power of ten, within the axis, told apart."""
    high = low + span
    found = ticks(low, high, 5)
    assert 2 <= len(found) <= 12
    slack = 1e-6 * (high - low)
    assert all(low - slack <= t <= high + slack for t in found)
    assert len(set(tick_labels(found))) == len(found)
    step = nice_step(high - low, 5)
    assert round(step / 10 ** np.floor(np.log10(step) + 1e-9)) in (1, 2, 5, 10)


def test_logarithmic_ticks_are_powers_of_ten() -> None:
    """A long axis has powers of ten, a short one 2 and 5 times them too."""
    assert log_ticks(0.5, 2e5) == pytest.approx([1, 10, 100, 1e3, 1e4, 1e5])
    assert log_ticks(0.5, 30) == pytest.approx([0.5, 1, 2, 5, 10, 20])


def test_shares_never_say_all_or_none_wrongly() -> None:
    """A share that is neither 0 nor 1 is not shown as one of them."""
    assert [percent(x) for x in (0.0, 1e-5, 0.5, 0.1234, 0.99999, 1.0)] == [
        "0 %", "< 0.1 %", "50 %", "12.3 %", "> 99.9 %", "100 %",
    ]  # fmt: skip


def test_code_in_a_text_is_marked_and_escaped() -> None:
    """What stands between backticks is code; everything is escaped."""
    assert with_code("a `x < 1` <b>") == "a <code>x &lt; 1</code> &lt;b&gt;"
    assert printable("a\x00\u202eb") == "a\ufffd\ufffdb"


# --- claims and notes ---------------------------------------------------------------------------


def test_a_claim_is_stated_and_judged() -> None:
    """A verdict has the claim's own text, what was found, and what to do when it fails."""
    report, loaded = ran(VLLM, 30)
    (verdict,) = verdicts(report, loaded.program)
    assert verdict.statement == "every iteration of vllm (tokens <= 2048)"
    assert verdict.mood == "good" and verdict.finding.startswith("true in all")
    report.claims["within_budget"] = Claim(
        "within_budget", "every_iteration", "fails", 100, 3, 1.5, None
    )
    (verdict,) = verdicts(report, loaded.program)
    assert verdict.mood == "bad" and verdict.advice
    assert verdict.finding == "false in 3 of 100 iterations, first at time 1.5"


def test_every_note_has_advice() -> None:
    """Each note of the text report is on the page, with what to do about it."""
    from serq.text_report import notes

    report, loaded = ran(STAGES, 100)
    found = remarks(report, loaded.program)
    for note in notes(report, loaded.program):
        kind, _, text = note.partition(": ")
        assert any(r.kind == kind and r.text == text and len(r.advice) > 20 for r in found)
    assert any("long is constant 0" in r.text for r in found)


# --- the command --------------------------------------------------------------------------------


def command(*args: object) -> Result:
    return CliRunner().invoke(main, ["run", *map(str, args)])


def test_the_command_writes_the_page_and_prints_the_report(tmp_path: Path) -> None:
    """The page comes beside the report, which stays as it is."""
    out = tmp_path / "deep" / "r.html"
    plain = command(VLLM, "--horizon", 20)
    done = command(VLLM, "--horizon", 20, "--html", out)
    assert done.exit_code == 0 and done.stdout == plain.stdout
    assert "<h1>vllm.sq</h1>" in out.read_text(encoding="utf-8")


def test_the_command_writes_all_or_nothing(tmp_path: Path) -> None:
    """A page that cannot be written is an error of status 1, and no other file is left."""
    (tmp_path / "page").mkdir()
    dump = tmp_path / "dump"
    done = command(VLLM, "--horizon", 20, "--dump", dump, "--html", tmp_path / "page")
    assert done.exit_code == 1 and "error[unwritable-file]" in done.stderr and done.stdout == ""
    assert not dump.exists()
