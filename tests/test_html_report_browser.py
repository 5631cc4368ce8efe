"""The pages in a real browser: drawn without an error, from a file, and the timeline zooms.

They need a Chromium (``apt-get install chromium``, or SERQ_BROWSER with its path) and the extra
``browser``; without them these tests are skipped.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from timeline_programs import HOSTILE, STAGES

from serq import interp
from serq.api import Loaded, Overrides, load
from serq.draw.timeline_html import html
from serq.draw.timeline_record import record
from serq.interp.report import Gauge, Observe
from serq.page.report_page import page

EXAMPLES = Path(__file__).parent.parent / "examples"
VLLM = EXAMPLES / "multi-turn/vllm.sq"
PULL = EXAMPLES / "pd-disaggregation/llmd_nixl_pull.sq"


@contextmanager
def opened(browser: Any, file: Path, scheme: str = "light", width: int = 1240) -> Iterator[Any]:
    """The file in a tab of its own; fails when the page complains or asks for anything else."""
    context = browser.new_context(
        viewport={"width": width, "height": 900}, color_scheme=scheme, offline=True
    )
    complaints: list[str] = []
    tab = context.new_page()
    tab.on("console", lambda message: complaints.append(message.text))
    tab.on("pageerror", lambda error: complaints.append(str(error)))
    asked: list[str] = []
    tab.on("request", lambda request: asked.append(request.url))
    tab.goto(file.as_uri())
    yield tab
    context.close()
    assert complaints == []
    assert asked == [file.as_uri()]


def loaded(path: Path, horizon: float) -> Loaded:
    return load(path, overrides=Overrides(horizon=horizon))


def report_file(directory: Path, program: Loaded, title: str = "p") -> Path:
    report = interp.run(program.program, base_dir=program.base_dir)
    file = directory / "report.html"
    file.write_text(page(report, program.program, title), encoding="utf-8")
    return file


def timeline_file(directory: Path, program: Loaded, title: str = "p") -> Path:
    file = directory / "timeline.html"
    file.write_text(html(record(program), title), encoding="utf-8")
    return file


def until(tab: Any, true: Callable[[], bool]) -> None:
    """Wait until the page has caught up, on a busy machine too."""
    for _ in range(100):
        if true():
            return
        tab.wait_for_timeout(50)
    raise AssertionError("the page has not changed in five seconds")


SCHEMES = pytest.mark.parametrize("scheme", ["light", "dark"])

INK = """canvas => { const d = canvas.getContext('2d').getImageData(0, 0, canvas.width,
canvas.height).data; let n = 0; for (let i = 3; i < d.length; i += 4) n += d[i] > 0; return n; }"""
"""How many pixels of a canvas are drawn."""


def background(tab: Any) -> int:
    """How bright the page is, 0 to 765."""
    colour: str = tab.evaluate("getComputedStyle(document.body).backgroundColor")
    return sum(int(part) for part in colour[4:-1].split(","))


@SCHEMES
def test_a_report_in_a_browser(browser: Any, tmp_path: Path, scheme: str) -> None:
    """Charts have their size, the page is no wider than the window, and it follows the scheme."""
    with opened(browser, report_file(tmp_path, loaded(VLLM, 100)), scheme) as tab:
        sizes = tab.evaluate(
            "[...document.querySelectorAll('svg')].map(s => s.getBoundingClientRect().height)"
        )
        assert len(sizes) == 18 and min(sizes) > 100
        assert tab.evaluate("document.documentElement.scrollWidth") <= 1240
        assert (background(tab) > 700) is (scheme == "light")
        tab.click("nav a[href='#gauges']")
        place = "document.querySelector('#gauges').getBoundingClientRect().top"
        until(tab, lambda: tab.evaluate(place) < 200)  # the page scrolls smoothly


def test_a_report_on_a_telephone(browser: Any, tmp_path: Path) -> None:
    """On a narrow screen nothing makes the page wider than it."""
    with opened(browser, report_file(tmp_path, loaded(VLLM, 60)), width=360) as tab:
        assert tab.evaluate("document.documentElement.scrollWidth") <= 360


def test_texts_of_charts_do_not_overlap(browser: Any, tmp_path: Path) -> None:
    """No two numbers of one axis stand on each other."""
    overlapping = """() => [...document.querySelectorAll('svg')].flatMap(svg => {
      const texts = [...svg.querySelectorAll('.xnum,.markname')];
      const boxes = texts.map(t => t.getBoundingClientRect());
      return boxes.flatMap((a, i) => boxes.slice(i + 1).filter(b =>
        a.left < b.right && b.left < a.right && a.top < b.bottom && b.top < a.bottom));
    }).length"""
    with opened(browser, report_file(tmp_path, loaded(VLLM, 100))) as tab:
        assert tab.evaluate(overlapping) == 0


def test_a_large_report_opens_at_once(browser: Any, tmp_path: Path) -> None:
    """200 000 samples: less than 5 MB, and the charts are there."""
    program = load(source=STAGES, overrides=Overrides(horizon=50))
    report = interp.run(program.program)
    generator = np.random.default_rng(1)
    n = 200_000
    times = np.sort(generator.uniform(0, 50, n))
    report.observes["answer"] = Observe(
        "answer", n, 1.0, 0.1, 1.0, 4.6, generator.exponential(1, n), times,
        np.arange(n), np.ones(n, np.int64),
    )  # fmt: skip
    report.gauges["used_mem"] = Gauge("used_mem", 1, 0.1, 0, 9, times, generator.uniform(0, 9, n))
    file = tmp_path / "large.html"
    file.write_text(page(report, program.program, "large"), encoding="utf-8")
    assert file.stat().st_size < 5_000_000
    with opened(browser, file) as tab:
        assert tab.locator("svg").count() > 4


@SCHEMES
@pytest.mark.parametrize("path", [VLLM, PULL], ids=["one engine", "four"])
def test_a_timeline_in_a_browser(browser: Any, tmp_path: Path, path: Path, scheme: str) -> None:
    """Every canvas on the screen is drawn, and follows the scheme."""
    with opened(browser, timeline_file(tmp_path, loaded(path, 20)), scheme) as tab:
        canvases = tab.locator("canvas[data-panel='0']")
        assert canvases.count() > 3
        drawn = [canvas.evaluate(INK) for canvas in canvases.element_handles()[:4]]
        assert min(drawn) > 20
        assert (background(tab) > 700) is (scheme == "light")
        assert tab.evaluate("document.documentElement.scrollWidth") <= 1240


def test_a_timeline_zooms(browser: Any, tmp_path: Path) -> None:
    """Marking a part, the wheel, keys and buttons change what is in view, and 0 shows all."""
    with opened(browser, timeline_file(tmp_path, loaded(VLLM, 30))) as tab:

        def view() -> tuple[float, float]:
            low, high = tab.evaluate("serqTimeline.view()")
            return float(low), float(high)

        whole = view()
        width = whole[1] - whole[0]
        rows = tab.locator("canvas[data-rows]").bounding_box()
        x, y = rows["x"], rows["y"] + 20
        before = tab.locator("canvas[data-rows]").evaluate("c => c.toDataURL()")
        tab.mouse.move(x + rows["width"] * 0.25, y)
        tab.mouse.down()
        tab.mouse.move(x + rows["width"] * 0.5, y, steps=4)
        tab.mouse.up()
        until(tab, lambda: view() != whole)
        low, high = view()
        assert low == pytest.approx(whole[0] + width * 0.25, abs=width * 0.01)
        assert high == pytest.approx(whole[0] + width * 0.5, abs=width * 0.01)
        until(
            tab, lambda: tab.locator("canvas[data-rows]").evaluate("c => c.toDataURL()") != before
        )
        assert "iterations" in tab.locator("#window").inner_text()
        tab.keyboard.press("ArrowRight")
        assert view()[0] == pytest.approx((low + high) / 2)
        tab.keyboard.press("0")
        assert view() == whole
        tab.keyboard.press("+")
        assert view()[1] - view()[0] == pytest.approx(width / 2)
        tab.click("#all")
        tab.mouse.move(x + rows["width"] * 0.5, y)
        tab.keyboard.down("Control")
        tab.mouse.wheel(0, -100)
        until(tab, lambda: view()[1] - view()[0] < width * 0.8)
        tab.keyboard.up("Control")
        tab.dblclick("canvas[data-rows]")
        assert view() == whole
        tab.select_option("#axis", "time")
        until(tab, lambda: view() == (0.0, 30.0))


def test_a_timeline_says_what_stands_under_the_pointer(browser: Any, tmp_path: Path) -> None:
    """Pointing at a request names its session and turn, and what it is given there."""
    with opened(browser, timeline_file(tmp_path, loaded(VLLM, 20))) as tab:
        rows = tab.locator("canvas[data-rows]").bounding_box()
        tab.mouse.move(rows["x"] + 4, rows["y"] + 7)
        tip = tab.locator("#tip").inner_text()
        assert "session 0, turn 1" in tip and "token" in tip and "iteration" in tip


def test_hostile_names_run_nowhere(browser: Any, tmp_path: Path) -> None:
    """A title that is a script is shown as a text on both pages, and no dialog opens."""
    for file in (report_file(tmp_path, loaded(VLLM, 10), HOSTILE),
                 timeline_file(tmp_path, loaded(VLLM, 10), HOSTILE)):  # fmt: skip
        with opened(browser, file) as tab:
            dialogs: list[str] = []
            tab.on("dialog", lambda dialog, seen=dialogs: seen.append(dialog.message))
            assert tab.locator("h1").inner_text() == HOSTILE
            assert dialogs == []
