"""Random programs over time: what is recorded is the step trace, and every form of it is sound."""

from __future__ import annotations

import json
from collections import Counter, defaultdict
from typing import Any
from xml.etree import ElementTree

from hypothesis import HealthCheck, Phase, given, seed, settings

from serq import interp
from serq.api import Loaded
from serq.diagnostics import SerqError
from serq.draw.perfetto import trace
from serq.draw.timeline_html import html
from serq.draw.timeline_layout import rows_of, stay_of_chunk
from serq.draw.timeline_record import Timeline, record
from serq.draw.timeline_svg import WIDTH, svg
from serq.fuzz.case import RandomProgram
from serq.fuzz.programs import programs
from serq.fuzz.stations import station_programs
from serq.interp.record import IterationRecorder
from serq.page.report_page import page

SVG = "{http://www.w3.org/2000/svg}"


def served(timeline: Timeline) -> Counter[Any]:
    """Who was given how much in each iteration, by its start."""
    found: Counter[Any] = Counter()
    for track in timeline.engines.values():
        for chunk in track.chunks:
            request = track.requests[chunk.request]
            for i in range(chunk.first, chunk.first + chunk.count):
                key = (request.session, request.turn - 1)
                found[track.starts[i], key, chunk.tokens] += 1
    return found


def check_picture(text: str) -> None:
    root = ElementTree.fromstring(text)
    height = float(root.attrib["height"])
    for rect in root.iter(f"{SVG}rect"):
        if rect.get("width") != "100%":
            x, w = float(rect.get("x", 0)), float(rect.attrib["width"])
            y, h = float(rect.get("y", 0)), float(rect.attrib["height"])
            assert w > 0 and h > 0 and x >= -1 and x + w <= WIDTH + 2 and y + h <= height
    assert "nan" not in text and "inf" not in "".join(p.get("d", "") for p in root.iter())


def check_trace(text: str) -> None:
    tracks: dict[Any, list[float]] = defaultdict(list)
    for event in json.loads(text)["traceEvents"]:
        if event["ph"] == "X":
            stack = tracks[event["pid"], event["tid"]]
            while stack and stack[-1] <= event["ts"]:
                stack.pop()
            end = round(event["ts"] + event["dur"], 3)
            assert not stack or end <= stack[-1]
            stack.append(end)


def check_rows(timeline: Timeline) -> None:
    for track in timeline.engines.values():
        rows = rows_of(track)
        seen: set[tuple[int, int]] = set()
        for row, stay in zip(rows.of_stay, track.stays, strict=True):
            cells = {(row, i) for i in range(stay.first, stay.last + 1)}
            assert row < rows.count and not cells & seen
            seen |= cells
        for number, chunk in zip(stay_of_chunk(track), track.chunks, strict=True):
            stay = track.stays[number]
            assert stay.request == chunk.request
            assert stay.first <= chunk.first and chunk.first + chunk.count - 1 <= stay.last


def test_random_programs_over_time() -> None:
    """Chunks are the step trace, rows keep apart, picture, page, trace and report are whole."""
    seen: Counter[str] = Counter()

    @seed(8)
    @settings(
        max_examples=60, database=None, deadline=None, phases=[Phase.generate],
        suppress_health_check=list(HealthCheck),
    )  # fmt: skip
    @given(programs() | station_programs())
    def draw(case: RandomProgram) -> None:
        try:
            program = case.compile()
            steps = IterationRecorder()
            report = interp.run(program, record=steps)
        except SerqError:
            return
        page(report, program, "p")
        try:
            timeline = record(Loaded(program, None, (), ""))
            pictures = [make(timeline, "p") for make in (svg, html, trace)]
        except SerqError as error:
            assert error.diagnostics[0].code == "nothing-to-draw"
            return
        expected = Counter((it.start, key, t) for it in steps.iterations for key, t in it.tokens)
        # A leg has its session's number and may share its turn.
        assert served(timeline) == expected
        check_rows(timeline)
        check_picture(pictures[0])
        json.loads(pictures[1].split('id="data">')[1].split("</script>")[0])
        check_trace(pictures[2])
        seen["drawn"] += 1
        for track in timeline.engines.values():
            seen["engines"] += 1
            seen["preempted"] += len(track.preemptions) > 0
            seen["evicted"] += sum(track.evicted) > 0

    draw()
    assert seen["drawn"] >= 30 and seen["engines"] >= 15
    assert seen["preempted"] >= 1 and seen["evicted"] >= 1
