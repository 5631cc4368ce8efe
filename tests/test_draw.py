"""`serq draw`: what stands in the pictures, their formats, and the command."""

from __future__ import annotations

import os
import re
import subprocess
import sys
import xml.etree.ElementTree as ET
from dataclasses import replace
from pathlib import Path

import pytest
from click.testing import CliRunner, Result

from serq.api import Overrides, load
from serq.cli import main
from serq.draw import VIEWS, Figure, draw, svg, tikz
from serq.draw.figure import Box, Line, Text
from serq.ir.codec import to_json

ROOT = Path(__file__).parent.parent
EXAMPLES = ROOT / "examples"
GOLDEN = Path(__file__).parent / "golden_draw"
PROGRAMS = sorted(str(path.relative_to(EXAMPLES)) for path in EXAMPLES.rglob("*.sq"))
NIXL = "pd-disaggregation/llmd_nixl_pull.sq"
PUSH = "pd-disaggregation/vllm_nixl_push.sq"
VLLM = "multi-turn/vllm.sq"
ROUTING = "multi-turn/routing.sq"
SVG = "{http://www.w3.org/2000/svg}"


def figure_of(
    example: str,
    view: str = "deployment",
    *,
    mapped: bool = True,
    unfold: bool = False,
    sets: dict[str, float | str] | None = None,
) -> Figure:
    overrides = Overrides(sets=sets or {})
    loaded = load(EXAMPLES / example, overrides=overrides, need_horizon=False)
    source_map = loaded.source_map if mapped else None
    return draw(loaded.program, source_map, view=view, title=Path(example).stem, unfold=unfold)


def words(figure: Figure) -> list[str]:
    """The texts in the order in which they are drawn."""
    return [item.shown for item in figure.items if isinstance(item, Text)]


def flows(figure: Figure) -> list[str]:
    return [item.paint for item in figure.items if isinstance(item, Line) and item.flow]


def run(*args: str) -> Result:
    return CliRunner().invoke(main, ["draw", *args])


# --- what stands in them ------------------------------------------------------------------------


def test_the_deployment_of_disaggregated_serving() -> None:
    """Stations, devices, numbers, policies in words, the gateway's choice and the KV's way."""
    shown = words(figure_of(NIXL))
    for text in (
        "clients", "Poisson arrivals, rate 1.2", "while again", "gw", "gateway", "P", "D", "×2",
        "prefill", "decode", "gpu", "engine", "2048 tokens a step", "128", "48 000", "96 000",
        "blocks of 16", "fifo", "LRU by block", "preempt last admitted", "choose D[j] of 2",
        "no: choose P[i] of 2", "then queue(D[j])", "yes", "no", "KV pull", "latency 0.004",
        "prefill, decode, then freed", "caches", "prompt + o", "leases", "480", "NIC", "190 000",
        "flows, shared max-min", "answers",
    ):  # fmt: skip
        assert text in shown, text
    assert flows(figure_of(NIXL)).count("kv") == 2  # the arrow, and its sample in the legend


def test_without_a_source_map_the_names_are_dotted_and_the_picture_is_the_same() -> None:
    """An IR from JSON has the same stations; gateways and devices, which it lacks, are left out."""
    mapped, bare = words(figure_of(NIXL)), words(figure_of(NIXL, mapped=False))
    assert {"P", "D", "reqs", "kv", "NIC", "2048 tokens a step", "latency 0.004"} <= set(bare)
    assert "then used(P.kv[i])" in bare and "routing" in bare
    assert "gw" not in bare and "gpu" not in bare
    assert "gw" in mapped and "gpu" in mapped


def test_unfolded_members_stand_side_by_side() -> None:
    """`unfold` draws each member of a family, with its own name."""
    folded, unfolded = words(figure_of(ROUTING)), words(figure_of(ROUTING, unfold=True))
    names = [f"replica[{i}]" for i in range(4)]
    assert not set(names) & set(folded)
    assert [text for text in unfolded if text in names] == names
    assert unfolded.count("30 000") == 4 and folded.count("30 000") == 1


def test_a_large_family_is_counted() -> None:
    """Beyond sixteen members an unfolded family says how many more there are."""
    program = (EXAMPLES / ROUTING).read_text().replace("let replicas = 4;", "let replicas = 40;")
    loaded = load(source=program, need_horizon=False)
    shown = words(draw(loaded.program, loaded.source_map, unfold=True))
    assert "replica[15]" in shown and "replica[16]" not in shown
    assert "… and 24 more like these" in shown


def test_only_the_way_that_an_input_leaves_open_is_drawn() -> None:
    """A branch on a constant is no decision: each policy of the example has its own picture."""
    least = " ".join(words(figure_of(ROUTING, sets={"policy": 2})))
    assert "least queue(replica[r]) + queued(reqs[r])" in least and "then at random" in least
    drawn = words(figure_of(ROUTING, sets={"policy": 0}))
    assert "replica[r] is" in drawn and "choose replica[r] of 4" not in drawn
    for figure in (figure_of(ROUTING, sets={"policy": p}) for p in range(5)):
        assert "if" not in words(figure)


def test_a_fork_is_a_dashed_way_that_joins() -> None:
    """The leg of a push leaves the clients at the fork and joins at the decoder."""
    figure = figure_of(PUSH)
    assert {"fork", "join", "KV push"} <= set(words(figure))
    assert flows(figure).count("leg") == 3  # out, back, and in the legend


def test_decisions_between_stations() -> None:
    """A branch, a draw and a loop after a station each get a diamond, and their arms' arrows."""
    source = """fn main() {
        stage a : fifo; stage b[3] : ps(2); stage c : delay;
        workload { arrive batch(2); turn { set x = ~exp(1); } }
        server {
            run a (cost(a, x));
            branch (x > 1) { run c (cost(c, 1)); }
            set k = 0;
            while (k < 3) { set k = k + 1; choose j in 3 by (queue(b[j])); run b[j] (cost(b, 1)); }
            branch with (0.25) { end; }
            run c (cost(c, 2));
        }
    }"""
    loaded = load(source=source, need_horizon=False)
    shown = words(draw(loaded.program, loaded.source_map))
    for text in (
        "x > 1", "while", "k < 3", "choose b[j] of 3", "yes with probability 0.25", "refused",
        "one at a time, fifo", "all at once, shared equally", "all at once, no waiting",
        "again", "done: 2 by a draw",
    ):  # fmt: skip
        assert any(one.endswith(text) for one in shown), text


def test_pools_held_across_stations_and_tiers() -> None:
    """A pool held at several stations spans them; a spill goes to its tier over its stage."""
    source = """fn main() {
        pool memory { cap 9; queue by (serial); }
        pool kv { cap 64; block 4; spill tier via link (size) when (size > 3); }
        pool tier { cap 1000; }
        stage a : fifo(2); stage b : fifo; stage link : fifo;
        workload { arrive closed(3); turn { set x = ~exp(1); } session { loop { turn; } } }
        server {
            hold memory (cost(memory, 1)) { run a (cost(a, x)); run b (cost(b, x)); }
            hold kv (cost(kv, 8)) { run a (cost(a, x)); } cache (cost(kv, 8))
        }
    }"""
    loaded = load(source=source, need_horizon=False)
    figure = draw(loaded.program, loaded.source_map)
    shown = words(figure)
    blocks = [i for i in figure.items if isinstance(i, Box) and i.kind == "block"]
    widest = max((b for b in blocks if b.paint == "memory"), key=lambda b: b.w)
    panels = [b for b in blocks if b.paint == "panel"]
    assert widest.w > panels[0].w + panels[1].w and "memory 9" in shown
    assert any("waits least serial first" in text for text in shown)
    assert {"spill", "memory tier", "2 servers", "to tier via link"} <= set(shown)
    assert "spill" in flows(figure)


def test_the_request_view_tells_the_way_in_order() -> None:
    """Arrival, wait, admission, runs, what is kept, the answer, the next turn."""
    shown = words(figure_of(VLLM, "request"))
    order = ["arrives", "turn", "wait", "admitted", "if preempted", "free", "answer", "while"]
    places = [shown.index(word) for word in order]
    assert places == sorted(places)
    assert "reqs, kv; keep prompt + output cached" in shown
    assert "known - c, kv grows" in shown and "the next one, the same way" in shown


def test_the_request_view_of_a_pull() -> None:
    """Both arms of the gateway's branch, the lease and the transfer that ends it."""
    figure = figure_of(NIXL, "request")
    shown = words(figure)
    for text in ("if", "else", "KV transfer", "latency", "choose P[i] of 2", "P ×2", "route"):
        assert text in shown, text
    assert any("P.kv stays" in text for text in shown)
    assert flows(figure).count("kv") == 1
    bars = [i for i in figure.items if isinstance(i, Box) and i.paint == "memory" and i.w == 12]
    assert len(bars) == 6  # D.reqs, D.kv; P.reqs, P.kv; D.kv and D.reqs again


def test_hold_bars_last_from_admission_to_release() -> None:
    """A hold's bar begins before its runs' boxes and ends after them."""
    figure = figure_of(VLLM, "request")
    boxes = [i for i in figure.items if isinstance(i, Box) and i.kind == "mark"]
    bars = [b for b in boxes if b.paint == "memory" and b.w == 12]
    runs = [b for b in boxes if b.paint == "compute" and b.h > 13]
    assert len(bars) == 2 and len(runs) == 2
    for bar in bars:
        assert all(bar.y < r.y and r.y + r.h < bar.y + bar.h for r in runs)


# --- formats ------------------------------------------------------------------------------------


@pytest.mark.parametrize("example", PROGRAMS)
def test_every_example_in_both_formats(example: str) -> None:
    """The SVG parses, shows every text and refers to nothing outside; TeX's groups are closed."""
    for view in VIEWS:
        figure = figure_of(example, view)
        text = svg(figure)
        root = ET.fromstring(text)
        shown = [e.text for e in root.iter(f"{SVG}text")]
        assert shown == words(figure)
        assert not re.search(r"href|url\(|<script|@import", text)
        assert "@media screen and (prefers-color-scheme: dark)" in text
        document = tikz(figure)
        assert document.count(r"\node[") == len(words(figure))
        assert _balanced(document)


def _balanced(document: str) -> bool:
    """Whether TeX's braces match, escaped ones aside."""
    depth = 0
    for brace in re.findall(r"(?<!\\)[{}]", document.replace("\\\\", "")):
        depth += 1 if brace == "{" else -1
        if depth < 0:
            return False
    return depth == 0


def test_same_program_same_bytes() -> None:
    """The picture does not depend on the process: neither on hashes nor on addresses."""
    script = (
        "import sys\n"
        "from serq.api import load\n"
        "from serq.draw import draw, svg, tikz\n"
        "loaded = load(sys.argv[1], need_horizon=False)\n"
        "for view in ('deployment', 'request'):\n"
        "    figure = draw(loaded.program, loaded.source_map, view=view)\n"
        "    print(svg(figure), tikz(figure))\n"
    )
    outputs = {
        subprocess.run(
            [sys.executable, "-c", script, str(EXAMPLES / NIXL)],
            env={**os.environ, "PYTHONHASHSEED": hashseed},
            capture_output=True,
            check=True,
        ).stdout
        for hashseed in ("1", "2")
    }
    assert len(outputs) == 1


@pytest.mark.parametrize(
    ("name", "example", "view", "mapped"),
    [
        ("vllm.svg", VLLM, "deployment", True),
        ("llmd_nixl_pull.svg", NIXL, "deployment", True),
        ("llmd_nixl_pull_request.svg", NIXL, "request", True),
        ("vllm_nixl_push_ir.svg", PUSH, "deployment", False),
        ("mg1.tex", "single-turn/mg1.sq", "deployment", True),
    ],
)
def test_goldens(name: str, example: str, view: str, mapped: bool) -> None:
    """A handful of pictures are as they were when somebody last looked at them.

    `SERQ_UPDATE_GOLDEN=1 pytest tests/test_draw.py` writes them anew; look at them then.
    """
    figure = figure_of(example, view, mapped=mapped)
    text = svg(figure) if name.endswith(".svg") else tikz(figure)
    path = GOLDEN / name
    if os.environ.get("SERQ_UPDATE_GOLDEN"):
        path.parent.mkdir(exist_ok=True)
        path.write_text(text, encoding="utf-8", newline="\n")
    assert text == path.read_text(encoding="utf-8")


# --- the command --------------------------------------------------------------------------------


def test_formats_of_the_command(tmp_path: Path) -> None:
    """TikZ unless said otherwise; a file that ends in .svg gets SVG."""
    assert run(str(EXAMPLES / VLLM)).stdout.startswith("% vllm: deployment\n")
    assert run(str(EXAMPLES / VLLM), "--format", "svg").stdout.startswith("<?xml ")
    path = tmp_path / "new" / "picture.svg"
    result = run(str(EXAMPLES / VLLM), "--out", str(path))
    assert (result.exit_code, result.stdout) == (0, "")
    assert path.read_text().startswith("<?xml ")
    run(str(EXAMPLES / VLLM), "--format", "tikz", "--out", str(path))
    assert path.read_text().startswith("% vllm")


def test_inputs_apply() -> None:
    """`--set` and arguments after `--` change the program that is drawn."""
    policy = run(str(EXAMPLES / ROUTING), "--format", "svg", "--set", "policy=2").stdout
    assert "then at random" in policy
    assert policy == run(str(EXAMPLES / ROUTING), "--format", "svg", "--", "--policy", "2").stdout


def test_an_ir_is_drawn_without_a_horizon(tmp_path: Path) -> None:
    """A .json program is drawn like its source, by the names in the IR."""
    loaded = load(EXAMPLES / VLLM, overrides=Overrides(horizon=10.0))
    path = tmp_path / "vllm.json"
    path.write_text(to_json(loaded.program))
    result = run(str(path), "--format", "svg")
    assert result.exit_code == 0 and "96 000" in result.stdout


@pytest.mark.parametrize(
    "args",
    [
        ("--view", "sideways"),
        ("--format", "png"),
        ("--horizon", "5"),
        ("--view", "request", "--unfold"),
    ],
)
def test_mistakes_of_the_command_line(args: tuple[str, ...]) -> None:
    """A wrong option or value ends with status 2 and a word about it, before anything is drawn."""
    result = run(str(EXAMPLES / VLLM), *args)
    assert (result.exit_code, result.stdout) == (2, "")
    assert "Usage: " in result.stderr


def test_a_broken_program_writes_nothing(tmp_path: Path) -> None:
    """A program with an error gives its diagnostic, status 1, and no file."""
    source = tmp_path / "broken.sq"
    source.write_text("fn main() { server { run svc (1); } }")
    out = tmp_path / "picture.svg"
    result = run(str(source), "--out", str(out))
    assert result.exit_code == 1 and "error[" in result.stderr and result.stdout == ""
    assert not out.exists()


def test_a_name_of_another_kind_of_picture_is_refused(tmp_path: Path) -> None:
    """TikZ in a file named .png opens nowhere: the command says which names there are."""
    out = tmp_path / "picture.png"
    result = run(str(EXAMPLES / VLLM), "--out", str(out))
    assert result.exit_code == 2 and not out.exists()
    assert ".svg" in result.stderr and ".tex" in result.stderr
    assert run(str(EXAMPLES / VLLM), "--format", "svg", "--out", str(out)).exit_code == 0
    assert "<svg" in out.read_text()


def test_an_output_that_cannot_be_written(tmp_path: Path) -> None:
    """One diagnostic, status 1, and nothing half-written beside it."""
    (tmp_path / "directory").mkdir()
    result = run(str(EXAMPLES / VLLM), "--out", str(tmp_path / "directory"))
    assert result.exit_code == 1
    assert result.stderr.count("error[") == 1 and "unwritable-file" in result.stderr
    assert sorted(p.name for p in tmp_path.iterdir()) == ["directory"]


def test_an_unknown_view_from_python() -> None:
    """`draw` names the views there are."""
    loaded = load(EXAMPLES / VLLM, need_horizon=False)
    with pytest.raises(ValueError, match="no view 'side': deployment, request"):
        draw(loaded.program, view="side")


def test_members_of_an_ir_family_may_differ() -> None:
    """A family whose members differ, as only an IR can have it, shows the range of its caps."""
    loaded = load(EXAMPLES / ROUTING, need_horizon=False)
    pools = [
        replace(pool, cap=1000.0 * (i + 1)) if pool.name == "kv" else pool
        for i, pool in enumerate(loaded.program.pools)
    ]
    figure = draw(replace(loaded.program, pools=tuple(pools)))
    assert "1000 to 4000" in words(figure)
