"""Timelines: what is recorded of a run, how it is laid out, the picture and the page."""

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
from hypothesis import given
from hypothesis import strategies as st
from timeline_programs import HOSTILE, STAGES, TWO_ENGINES, engine

from serq import interp
from serq.api import Loaded, Overrides, load
from serq.cli import main
from serq.diagnostics import SerqError
from serq.draw import timeline_record
from serq.draw.timeline_html import html
from serq.draw.timeline_layout import axis_of, rows_of, slots, stay_of_chunk
from serq.draw.timeline_record import Chunk, EngineTrack, Stay, Timeline, record
from serq.draw.timeline_svg import WIDTH, clip, svg
from serq.draw.timeline_tracks import panels
from serq.interp.record import IterationRecorder
from serq.page.scale import extremes

EXAMPLES = Path(__file__).parent.parent / "examples"
VLLM = EXAMPLES / "multi-turn/vllm.sq"
PULL = EXAMPLES / "pd-disaggregation/llmd_nixl_pull.sq"


def loaded(source: str, horizon: float = 30.0) -> Loaded:
    return load(source=source, overrides=Overrides(horizon=horizon))


def file(path: Path, horizon: float) -> Loaded:
    return load(path, overrides=Overrides(horizon=horizon))


def only(timeline: Timeline) -> EngineTrack:
    (track,) = timeline.engines.values()
    return track


# --- what is recorded ---------------------------------------------------------------------------


def test_iterations_worked_out_by_hand() -> None:
    """Two requests of 6 and 2 tokens, 4 an iteration: 4, then 2 and 2, then a decode each twice."""
    track = only(record(loaded(engine())))
    assert list(track.starts) == [0, 1, 2, 3] and list(track.ends) == [1, 2, 3, 4]
    assert list(track.prefill) == [4, 4, 0, 0] and list(track.decode) == [0, 0, 2, 2]
    assert track.chunks == [
        Chunk(0, 0, 1, 4, False),
        Chunk(0, 1, 1, 2, False),
        Chunk(1, 1, 1, 2, False),
        Chunk(0, 2, 2, 1, True),
        Chunk(1, 2, 2, 1, True),
    ]
    assert track.stays == [Stay(0, 0, 3), Stay(1, 1, 3)]
    assert [(a.request, a.iteration) for a in track.admissions] == [(0, 0), (1, 1)]
    assert [r.label for r in track.requests] == ["session 0, turn 1", "session 1, turn 1"]


def test_a_preemption_worked_out_by_hand() -> None:
    """With 6 units, the second request loses its place at time 2 and comes back at 4."""
    track = only(record(loaded(engine(cap=6, prompts=(3, 2), decodes=3))))
    assert track.preemptions == [(1, 2.0)]
    assert track.stays == [Stay(0, 0, 3), Stay(1, 0, 1, preempted=True), Stay(1, 4, 7)]
    assert [a.iteration for a in track.admissions] == [0, 0, 4]
    assert Chunk(1, 4, 1, 2, False) in track.chunks


@pytest.mark.parametrize("path", [VLLM, PULL], ids=["one engine", "four"])
def test_chunks_are_the_step_trace(path: Path) -> None:
    """Written out iteration by iteration, the chunks are what the step trace says was served."""
    program = file(path, 15)
    trace = IterationRecorder()
    interp.run(program.program, base_dir=program.base_dir, record=trace)
    theirs = Counter(
        (it.start, key, tokens) for it in trace.iterations for key, tokens in it.tokens
    )
    ours: Counter[object] = Counter()
    for track in record(program).engines.values():
        for chunk in track.chunks:
            request = track.requests[chunk.request]
            for i in range(chunk.first, chunk.first + chunk.count):
                key = (request.session, request.turn - 1)
                ours[track.starts[i], key, chunk.tokens] += 1
    assert theirs and ours == theirs


def test_pools_follow_the_run() -> None:
    """A pool's use is the gauge ``used(p)``, change for change, and a stage's jobs are its own."""
    program = loaded(STAGES, 50)
    report = interp.run(program.program)
    timeline = record(program)
    assert timeline.pools[0].used.times.tolist() == report.gauges["used_mem"].times.tolist()
    assert timeline.pools[0].used.values.tolist() == report.gauges["used_mem"].values.tolist()
    jobs = timeline.stages[0]
    area = np.sum(np.diff(np.append(jobs.times, 50.0)) * jobs.values)
    assert area / 50.0 == pytest.approx(report.stages[0].mean_number)


def test_a_window_is_a_part_of_the_whole() -> None:
    """What is recorded between two times is what the whole run has between them."""
    whole, part = only(record(file(VLLM, 20))), record(file(VLLM, 20), 5.0, 11.0)
    track = only(part)
    assert (part.start, part.end) == (5.0, 11.0)
    first = track.before
    assert first > 0 and len(track.starts) < len(whole.starts)
    assert list(track.starts) == list(whole.starts)[first : first + len(track.starts)]
    assert list(track.prefill) == list(whole.prefill)[first : first + len(track.starts)]
    assert track.ends[0] >= 5.0 and track.starts[-1] <= 11.0
    assert whole.ends[first - 1] < 5.0
    assert all(p.used.times[0] >= 5.0 and p.used.times[-1] <= 11.0 for p in part.pools)


def test_units_evicted_are_the_reports() -> None:
    """The evictions of all iterations together are those that the report counts."""
    source = VLLM.read_text().replace("let blocks = 6000;", "let blocks = 250;")
    program = loaded(source, 60)
    report = interp.run(program.program)
    pool = report.pool("kv")
    assert pool is not None and pool.evicted_units > 0
    track = only(record(program))
    # An eviction after the last iteration of the run belongs to none.
    assert 0 < sum(track.evicted) <= pool.evicted_units
    assert pool.evicted_units - sum(track.evicted) < 3000


def test_too_long_a_run_is_refused(monkeypatch: pytest.MonkeyPatch) -> None:
    """A run with more iterations than a picture holds says so, and how to draw a part."""
    monkeypatch.setattr(timeline_record, "MOST_ITERATIONS", 100)
    with pytest.raises(SerqError) as caught:
        record(file(VLLM, 60))
    assert caught.value.diagnostics[0].code == "timeline-too-long"
    assert "--from" in (caught.value.diagnostics[0].help or "")
    assert len(only(record(file(VLLM, 60), 10.0, 11.0)).starts) <= 100


@pytest.mark.parametrize(
    ("source", "start", "end"),
    [
        ("fn main() { workload { arrive batch(1); } server { set a = 1; } }", 0, 9),
        (STAGES, 40.0, inf),
        (STAGES, 5.0, 5.0),
    ],
    ids=["no resource", "after the horizon", "no width"],
)  # fmt: skip
def test_nothing_to_draw_is_an_error(source: str, start: float, end: float) -> None:
    """A program without resources and an empty window are refused with a code of their own."""
    with pytest.raises(SerqError) as caught:
        record(loaded(source, 30), start, end)
    assert [d.code for d in caught.value.diagnostics] == ["nothing-to-draw"]


# --- how it is laid out -------------------------------------------------------------------------


@st.composite
def tracks(draw: st.DrawFn) -> EngineTrack:
    """Stays of many requests, in the order in which an engine records them."""
    track = EngineTrack("e", None)
    firsts = draw(st.lists(st.integers(0, 30), max_size=25))
    for request, first in enumerate(sorted(firsts)):
        track.stays.append(Stay(request, first, first + draw(st.integers(0, 8))))
    return track


@given(tracks())
def test_slots_keep_stays_apart(track: EngineTrack) -> None:
    """No two stays of one slot overlap, and there are as many slots as residents at one time."""
    of_stay, count = slots(track)
    seen: dict[int, set[int]] = {}
    for slot, stay in zip(of_stay, track.stays, strict=True):
        mine = set(range(stay.first, stay.last + 1))
        assert not seen.setdefault(slot, set()) & mine
        seen[slot] |= mine
    together = Counter(i for s in track.stays for i in range(s.first, s.last + 1))
    assert count == max(together.values(), default=0)


def test_few_requests_have_a_row_each() -> None:
    """Up to 40 requests stand in rows of their own, in order of arrival at the engine."""
    rows = rows_of(only(record(loaded(engine()))))
    assert rows.requests and rows.labels == ["session 0, turn 1", "session 1, turn 1"]
    many = rows_of(only(record(file(VLLM, 100))))
    assert not many.requests and many.count < 40


def test_chunks_stand_in_their_stay() -> None:
    """A chunk lies within the stay that it is drawn in, and is of the same request."""
    track = only(record(loaded(engine(cap=6, prompts=(3, 2), decodes=3))))
    for number, chunk in zip(stay_of_chunk(track), track.chunks, strict=True):
        stay = track.stays[number]
        assert stay.request == chunk.request
        assert stay.first <= chunk.first and chunk.first + chunk.count - 1 <= stay.last


def test_an_axis_of_iterations_has_no_idle_time() -> None:
    """Each iteration is 1 wide, and the time between two of them has no width."""
    timeline = record(file(VLLM, 20))
    track, axis = only(timeline), axis_of(timeline, None)
    assert axis.kind == "iterations"
    starts, ends = np.array(track.starts), np.array(track.ends)
    assert axis.at(starts)[1:] == pytest.approx(np.arange(1, len(starts)))
    assert axis.at(ends)[:-1] == pytest.approx(np.arange(1, len(starts)))
    assert axis.time(axis.at(starts)[7] + 0.5) == pytest.approx((starts[7] + ends[7]) / 2)


def test_several_engines_share_an_axis_of_time() -> None:
    """Iterations of several engines differ: time is across, and iterations are refused."""
    timeline = record(loaded(TWO_ENGINES))
    assert len(timeline.engines) == 2 and axis_of(timeline, None).kind == "time"
    with pytest.raises(SerqError) as caught:
        axis_of(timeline, "iterations")
    assert caught.value.diagnostics[0].code == "no-iteration-axis"


def test_every_pool_and_stage_is_drawn_once() -> None:
    """Each pool's use is in one track, with its engine where it has one, and so is each stage."""
    timeline = record(file(PULL, 15))
    labels = [track.label for panel in panels(timeline) for track in panel.tracks]
    assert len(labels) - labels.count("tokens per iteration") == len(set(labels)) - 1
    for pool in timeline.pools:
        assert sum(label.startswith(f"{pool.name} used") for label in labels) == 1
    for stage in timeline.stages:
        assert f"jobs at {stage.name}" in labels


@given(
    st.lists(st.tuples(st.integers(0, 40), st.integers(-5, 5)), max_size=12),
    st.lists(st.integers(0, 50), min_size=2, max_size=9, unique=True),
)
def test_extremes_of_a_step_function(points: list[tuple[int, int]], cuts: list[int]) -> None:
    """Between two edges stand the least and greatest value that is held there for some time."""
    held = dict(sorted(points))
    times, values = np.array([*held], float), np.array([*held.values()], float)
    edges = np.array(sorted(cuts), float)
    low, high = extremes(times, values, edges)
    for i, (a, b) in enumerate(pairwise(edges)):
        at = [max((t for t in held if t <= x), default=None) for x in np.arange(a, b)]
        found = [nan if t is None else float(held[t]) for t in at]
        real = [x for x in found if x == x]
        if real:
            assert (low[i], high[i]) == (min(real), max(real))
        else:
            assert np.isnan(low[i]) and np.isnan(high[i])


# --- the picture --------------------------------------------------------------------------------

SVG = "{http://www.w3.org/2000/svg}"


@pytest.mark.parametrize(
    ("program", "horizon"),
    [(VLLM, 30), (VLLM, 300), (PULL, 15), (EXAMPLES / "single-turn/mg1.sq", 100)],
    ids=["requests", "slots", "engines", "a queue"],
)
def test_the_picture_keeps_within_its_page(program: Path, horizon: float) -> None:
    """Every rectangle and text lies on the page, and none has a negative or lost size."""
    root = ElementTree.fromstring(svg(record(file(program, horizon)), program.name))
    height = float(root.attrib["height"])
    assert float(root.attrib["width"]) == WIDTH
    rects = [r for r in root.iter(f"{SVG}rect") if r.get("width") != "100%"]
    for rect in rects:
        x, y = float(rect.get("x", 0)), float(rect.get("y", 0))
        w, h = float(rect.attrib["width"]), float(rect.attrib["height"])
        assert w > 0 and h > 0 and x >= -1 and y >= -1 and x + w <= WIDTH + 1 and y + h <= height
    for text in root.iter(f"{SVG}text"):
        assert 0 <= float(text.attrib["x"]) <= WIDTH and 0 < float(text.attrib["y"]) <= height
    numbers = re.findall(r"[MHVv]([\d.e+-]+)", "".join(p.get("d", "") for p in root.iter()))
    assert numbers and all(-1 <= float(n) <= max(WIDTH, height) for n in numbers)
    assert "nan" not in "".join(p.get("d", "") for p in root.iter()).lower()


def test_the_picture_shows_what_was_served() -> None:
    """Prefills, decodes, waits and preemptions are shapes of their own, with words on hovering."""
    track = record(loaded(engine(cap=6, prompts=(3, 2), decodes=3)))
    root = ElementTree.fromstring(svg(track, "p"))
    kinds = Counter(r.get("class") for r in root.iter(f"{SVG}rect"))
    legend = 1
    assert kinds["prefill"] == 3 + legend  # the one token in each of two iterations is one shape
    assert kinds["decode"] == 2 + legend and kinds["preempt"] == 1 + legend
    assert kinds["stay"] == 3 + legend and kinds["waitline"] == 1
    tips = [t.text or "" for t in root.iter(f"{SVG}title")]
    assert "session 1, turn 1: prefill 1 token in each of 2 iterations" in tips
    assert "session 1, turn 1: preempted at 2" in tips


def test_the_same_program_gives_the_same_bytes() -> None:
    """A picture and a page are a function of the program."""
    for make in (svg, html):
        made = {make(record(file(VLLM, 20)), "p") for _ in range(2)}
        assert len(made) == 1


def test_a_long_run_is_a_small_picture() -> None:
    """Thousands of iterations are drawn by the pixel, not one by one."""
    timeline = record(file(VLLM, 120))
    assert len(only(timeline).starts) > 5000
    assert len(svg(timeline, "p")) < 400_000


def test_long_names_are_cut_in_the_middle() -> None:
    """A name too long for its place keeps its beginning and its end."""
    assert clip("a" * 30 + "[17]", 26).endswith("[17]") and len(clip("a" * 40, 26)) == 26
    assert clip("short", 26) == "short"


# --- the page -----------------------------------------------------------------------------------


class Page(HTMLParser):
    """The elements of a page, and the text of its scripts."""

    def __init__(self, text: str) -> None:
        super().__init__()
        self.elements: Counter[str] = Counter()
        self.loads: list[str] = []
        self.scripts: list[str] = []
        self.policy = ""
        self._script = False
        self.feed(text)

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        self.elements[tag] += 1
        found = dict(attrs)
        self.loads += [found[k] or "" for k in ("src", "href", "xlink:href", "data") if k in found]
        if found.get("http-equiv") == "Content-Security-Policy":
            self.policy = found["content"] or ""
        self._script = tag == "script"
        if self._script:
            self.scripts.append("")

    def handle_endtag(self, tag: str) -> None:
        self._script = False

    def handle_data(self, data: str) -> None:
        if self._script:
            self.scripts[-1] += data


def test_the_page_needs_nothing_else() -> None:
    """One file: it loads nothing, and its policy lets it load nothing."""
    text = html(record(file(VLLM, 30)), "p")
    page = Page(text)
    assert page.loads == [] and "default-src 'none'" in page.policy
    assert page.elements["script"] == 2 and page.elements["link"] == 0
    assert not re.search(r"https?://|url\(|@import|\bfetch\(|XMLHttp", text)


def test_the_page_has_a_canvas_for_each_track() -> None:
    """Each engine's rows, each track, each kind of event and the axis have a canvas of their own."""  # noqa: E501
    timeline = record(file(PULL, 15))
    made = panels(timeline)
    expected = 1 + sum(
        (panel.engine is not None) + len(panel.tracks) + len(panel.events) for panel in made
    )
    page = Page(html(timeline, "p"))
    assert page.elements["canvas"] == expected
    data = json.loads(page.scripts[0])
    assert len(data["panels"]) == len(made) and data["axis"] == "time"


def test_the_data_are_the_run() -> None:
    """The page's data have each stay and chunk, in its row, and the iterations' times."""
    timeline = record(loaded(engine(cap=6, prompts=(3, 2), decodes=3)))
    data = json.loads(Page(html(timeline, "p")).scripts[0])
    shown = data["panels"][0]["engine"]
    assert shown["starts"] == [0, 1, 2, 3, 4, 5, 6, 7] and shown["rows"] == 2
    assert shown["stays"] == [0, 0, 0, 3, 0, 1, 1, 0, 1, 1, 1, 1, 4, 7, 0]
    assert shown["chunks"][:12] == [0, 0, 0, 1, 3, 0, 1, 1, 0, 2, 1, 0]


def test_very_many_points_are_reduced(monkeypatch: pytest.MonkeyPatch) -> None:
    """Tracks with too many points keep the extremes of equal parts of the time."""
    timeline = record(file(VLLM, 60))
    whole = json.loads(Page(html(timeline, "p")).scripts[0])
    monkeypatch.setattr("serq.draw.timeline_html.MOST_POINTS", 400)
    small = json.loads(Page(html(timeline, "p")).scripts[0])

    def layers(data: dict[str, list[dict[str, list[dict[str, list[dict[str, list[float]]]]]]]]
               ) -> list[dict[str, list[float]]]:  # fmt: skip
        return [la for p in data["panels"] for t in p["tracks"] for la in t["layers"]]

    assert sum(len(la["times"]) for la in layers(small)) <= 600
    for before, after in zip(layers(whole), layers(small), strict=True):
        assert max(before["values"]) == max(after["values"])


def hostile() -> Loaded:
    """An IR whose engine, pools and stages have names that no text could give them."""
    text = load(VLLM, overrides=Overrides(horizon=20))
    from serq.ir.codec import from_json, to_json

    document = json.loads(to_json(text.program))
    for kind in ("pools", "stages"):
        for i, thing in enumerate(document[kind]):
            thing["name"] = f"{HOSTILE}</script>\x00\x1b{i}"
    return Loaded(from_json(json.dumps(document), "ir"), None, (), "")


def test_hostile_names_are_text() -> None:
    """A name with markup, quotes and control characters is shown, and is nothing else."""
    timeline = record(hostile())
    picture = svg(timeline, HOSTILE)
    root = ElementTree.fromstring(picture)
    assert not list(root.iter(f"{SVG}script"))
    assert any("世界" in (t.text or "") for t in root.iter(f"{SVG}text"))
    page = Page(html(timeline, HOSTILE))
    assert page.elements["script"] == 2
    json.loads(page.scripts[0])


# --- the command --------------------------------------------------------------------------------


def command(*args: object) -> Result:
    return CliRunner().invoke(main, ["timeline", *map(str, args)])


def test_the_command_prints_a_picture() -> None:
    """Without a file to write to, the picture goes to standard output."""
    done = command(VLLM, "--horizon", 10)
    assert done.exit_code == 0
    assert ElementTree.fromstring(done.stdout).tag == f"{SVG}svg"


def test_the_command_writes_all_or_nothing(tmp_path: Path) -> None:
    """When one of the files cannot be written, no file is, and the status is 1."""
    (tmp_path / "taken.json").mkdir()
    out = tmp_path / "o.html"
    failed = command(VLLM, "--horizon", 10, "--out", out, "--perfetto", tmp_path / "taken.json")
    assert failed.exit_code == 1 and "unwritable-file" in failed.stderr and failed.stdout == ""
    assert not out.exists() and sorted(p.name for p in tmp_path.iterdir()) == ["taken.json"]
    assert command(VLLM, "--horizon", 10, "--out", out).exit_code == 0 and out.exists()


@pytest.mark.parametrize(
    "options",
    [
        ("--out", "f.png"),
        ("--from", "5", "--to", "5"),
        ("--from", "-1"),
        ("--to", "inf"),
        ("--axis", "tokens"),
        ("--out", "f.svg", "--perfetto", "./f.svg"),
    ],
    ids=" ".join,
)
def test_the_command_line_is_checked_first(options: tuple[str, ...]) -> None:
    """What no run could make right is refused with status 2, before the program is read."""
    done = command("missing.sq", *options)
    assert done.exit_code == 2 and done.stdout == ""


def test_a_fault_of_the_run_is_one_diagnostic(tmp_path: Path) -> None:
    """An empty window is an error of status 1 without output."""
    done = command(VLLM, "--horizon", 10, "--from", 20, "--out", tmp_path / "o.svg")
    assert done.exit_code == 1 and "error[nothing-to-draw]" in done.stderr
    assert list(tmp_path.iterdir()) == []
