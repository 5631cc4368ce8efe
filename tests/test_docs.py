"""The documentation says what is so: links, code, commands, options, tables."""

from __future__ import annotations

import re
import shlex
from contextlib import chdir, redirect_stdout
from functools import cache
from io import StringIO
from pathlib import Path
from urllib.parse import unquote

import click
import pytest
from mkdocs.commands.build import build
from mkdocs.config import load_config

import serq
from serq.cli import COMMANDS
from serq.docsgen import parts, shown
from serq.docsgen.fixtures import DOCS, Page, diagnostics, load
from serq.docsgen.limits import LIMITS
from serq.docsgen.markdown import CodeBlock, all_pages, anchors, blocks, links, prose
from serq.docsgen.pages import WHOLE, differences
from serq.editor import meanings
from serq.interp.report import Report
from serq.ir.functions import COUNTERS, DRAW_ARGUMENTS, SIGNATURES, draw_name, function_name
from serq.lower.vocabulary import AGGREGATES, BUILTIN, CONTEXT, LISTS

ROOT = DOCS.parent
PAGES = [*all_pages(), ROOT / "CONTRIBUTING.md"]
WRITTEN = [page for page in PAGES if page.name not in WHOLE]


def named(page: Path) -> str:
    return str(page.relative_to(ROOT))


@cache
def fixtures() -> Page:
    return load()


# --- generated text -----------------------------------------------------------------------------


def test_generated_text_is_up_to_date() -> None:
    """Every report, table and listing on a page is what the code gives now."""
    assert differences() == [], "run `python -m serq.docsgen`"


# --- links --------------------------------------------------------------------------------------


@pytest.mark.parametrize("page", PAGES, ids=named)
def test_links_lead_somewhere(page: Path) -> None:
    """A link within the tree names a file that is there, and a heading that is in it."""
    broken = []
    for target in links(page):
        if re.match(r"[a-z]+:", target):
            continue
        path, _, anchor = unquote(target).partition("#")
        there = page if not path else (page.parent / path).resolve()
        if not there.exists() or (anchor and anchor not in anchors(there)):
            broken.append(target)
    assert broken == []


def test_every_page_is_in_the_menu() -> None:
    """A page that nobody can reach from the menu is no page."""
    config = load_config(str(ROOT / "mkdocs.yml"))
    listed = set(re.findall(r"[\w/-]+\.md", str(config.nav)))
    assert listed == {str(page.relative_to(DOCS)) for page in all_pages()}


def test_the_site_builds(tmp_path: Path) -> None:
    """The site's generator has no complaint, and makes a page of every page and example."""
    config = load_config(str(ROOT / "mkdocs.yml"), site_dir=str(tmp_path))
    config.plugins.on_startup(command="build", dirty=False)
    build(config)
    for page in all_pages():
        assert (tmp_path / page.relative_to(DOCS)).with_suffix(".html").exists()
    for example in (ROOT / "examples").rglob("*.sq"):
        made = (tmp_path / example.relative_to(ROOT)).with_suffix(".html")
        assert '<span class="kd">fn</span>' in made.read_text(encoding="utf-8")
    assert "[data-bs-theme=dark]" in (tmp_path / "assets/code.css").read_text()


# --- code ---------------------------------------------------------------------------------------


def serq_blocks() -> list[CodeBlock]:
    return [
        block
        for page in WRITTEN
        for block in blocks(page)
        if block.kind == "serq" and not block.remark.startswith("fragment")
    ]


@pytest.mark.parametrize("block", serq_blocks(), ids=lambda b: f"{b.page.stem}-{b.line}")
def test_code_is_a_program(block: CodeBlock) -> None:
    """Code is a program, or a piece in a frame, that links; what is marked wrong does not."""
    words = [] if block.remark.startswith(("generated", "end")) else block.remark.split()
    frame = words[words.index("in") + 1] if "in" in words else "program"
    text = fixtures().frames[frame][1].replace("@", block.text.strip("\n"))
    assert bool(diagnostics(text, None)) == ("wrong" in words)


def test_fragments_are_few() -> None:
    """Code that is not checked is an exception."""
    every = [b for page in WRITTEN for b in blocks(page) if b.kind == "serq"]
    fragments = [b for b in every if b.remark.startswith("fragment")]
    assert len(every) > 20 and len(fragments) <= 3


def commands() -> list[str]:
    found = []
    for page in WRITTEN:
        for block in blocks(page):
            if block.kind == "sh" and block.remark == "run":
                found += [line for line in block.text.splitlines() if line.startswith("serq ")]
    return found


@pytest.mark.parametrize("command", commands())
def test_commands_run(command: str) -> None:
    """A command that a page tells to run works."""
    assert "[exit status" not in shown.output(command)


def test_commands_that_are_not_run_are_commands() -> None:
    """Where a page names a `serq` command without running it, its words and options exist."""
    checked = 0
    for page in WRITTEN:
        for block in blocks(page):
            if block.kind != "sh" or block.remark == "run":
                continue
            for line in block.text.splitlines():
                words = shlex.split(line.split("#")[0])
                if len(words) > 1 and words[0] == "serq" and words[1] in COMMANDS:
                    _check_command(words[1:])
                    checked += 1
    assert checked >= 8


def _check_command(words: list[str]) -> None:
    command = parts.command_of(words[:1])
    if isinstance(command, click.Group) and len(words) > 1:
        command = parts.command_of(words[:2])
    known = {name for option in parts.shown_options(command) for name in option.opts}
    own = words[: words.index("--")] if "--" in words else words
    assert {word for word in own if word.startswith("--")} <= known, words


@pytest.mark.parametrize("page", [p for p in WRITTEN if p.parent == DOCS], ids=named)
def test_python_runs(page: Path) -> None:
    """The Python of a page runs from top to bottom."""
    names: dict[str, object] = {"__name__": "docs"}
    with chdir(ROOT), redirect_stdout(StringIO()):
        for block in blocks(page):
            if block.kind == "python" and block.remark != "fragment":
                exec(compile(block.text, f"{page.name}:{block.line}", "exec"), names)


# --- coverage -----------------------------------------------------------------------------------


def every_command() -> list[list[str]]:
    found = []
    for name in COMMANDS:
        command = parts.command_of([name])
        if isinstance(command, click.Group):
            found += [[name, inner] for inner in command.commands]
        else:
            found.append([name])
    return found


def section(page: Path, title: str) -> str:
    """The text under a heading, up to the next one."""
    text = page.read_text(encoding="utf-8")
    match = re.search(rf"^(#+) {re.escape(title)}$(.*?)(?=^#+ |\Z)", text, re.MULTILINE | re.DOTALL)
    assert match is not None, f"{page.name} has no section {title}"
    return match[2]


@pytest.mark.parametrize("words", every_command(), ids=" ".join)
def test_every_command_and_option_is_explained(words: list[str]) -> None:
    """The command line's page has a section for each command, with all its options."""
    text = section(DOCS / "cli.md", f"serq {' '.join(words)}")
    for option in parts.shown_options(parts.command_of(words)):
        for name in [*option.opts, *option.secondary_opts]:
            assert f"`{name}" in text, f"serq {' '.join(words)} {name}"


def test_no_option_is_invented() -> None:
    """An option that the pages mention is one of a command's, or one of click's own."""
    known = {"--help", "--version", "--name"}
    for words in every_command():
        for option in parts.shown_options(parts.command_of(words)):
            known |= {*option.opts, *option.secondary_opts}
    known |= {"--rate", "--cap", "--blocks", "--servers", "--load", "--target", "--editable"}
    known |= {"--replicas"}
    for page in WRITTEN:
        if page.name in ("correspondence.md", "coverage.md", "mutants.md", "CONTRIBUTING.md"):
            continue
        mentioned = set(re.findall(r"(?<![\w-])--[a-z][\w-]*", prose(page)))
        assert mentioned <= known, (page.name, mentioned - known)


def test_the_reference_has_every_name() -> None:
    """Functions, distributions, attributes and variables of the language are all explained."""
    assert set(meanings.FUNCTIONS) == {function_name(fun) for fun in set(SIGNATURES) - COUNTERS}
    assert set(meanings.COUNTERS) == {function_name(fun) for fun in COUNTERS}
    assert set(meanings.DISTRIBUTIONS) == {draw_name(dist) for dist in DRAW_ARGUMENTS}
    assert set(meanings.AGGREGATES) == set(AGGREGATES)
    assert set(meanings.ATTRIBUTES) == set(BUILTIN)
    dotted = {name.split(".")[1] for name in meanings.LISTS}
    assert set(CONTEXT) <= set(meanings.VARIABLES) | dotted
    assert {name.split(".")[0] for name in meanings.LISTS} == LISTS | {"waiting"}
    text = (DOCS / "reference.md").read_text(encoding="utf-8")
    tables = [meanings.FUNCTIONS, meanings.COUNTERS, meanings.DISTRIBUTIONS, meanings.ATTRIBUTES]
    for table in (*tables, meanings.LISTS):
        for meaning in table.values():
            assert f"`{meaning.usage}`" in text


def test_usages_have_as_many_arguments_as_the_functions() -> None:
    """A function is shown with its number of arguments."""
    for fun, kinds in SIGNATURES.items():
        usage = (meanings.FUNCTIONS | meanings.COUNTERS)[function_name(fun)].usage
        assert usage.count(",") + 1 == len(kinds)
    for dist, count in DRAW_ARGUMENTS.items():
        assert meanings.DISTRIBUTIONS[draw_name(dist)].usage.count(",") + 1 == count


def test_the_python_page_has_every_public_name() -> None:
    """What `import serq` offers is explained, the report's fields included."""
    text = (DOCS / "python.md").read_text(encoding="utf-8")
    for name in serq.__all__:
        assert re.search(rf"`(?:serq\.)?{name}\b", text), name
    fields = set(Report.__dataclass_fields__)
    assert fields == {name for name in fields if f"`{name}`" in text}


def test_every_limit_has_its_code() -> None:
    """A limit names the constant that sets it, and an error of the table."""
    from serq.diagnostic_codes import CODES

    assert {code for _, _, code in LIMITS} <= set(CODES)
    assert len({where for _, where, _ in LIMITS}) == len(LIMITS)


def test_every_example_is_the_answer_to_a_question() -> None:
    """The page of questions leads to every example that is not of the oracle or a paper."""
    text = (DOCS / "questions.md").read_text(encoding="utf-8")
    for path in (ROOT / "examples").rglob("*.sq"):
        name = str(path.relative_to(ROOT / "examples"))
        if not name.startswith(("oracle/", "papers/")):
            assert name in text, name


# --- what the tutorial says of its numbers ------------------------------------------------------


def run(name: str, **settings: object) -> Report:
    return serq.run(serq.compile(DOCS / "tutorial" / name, **settings))  # type: ignore[arg-type]


def test_step_1_is_the_queue_of_the_theory() -> None:
    """The interval of the estimate contains 5 seconds, the exact mean response."""
    response = run("1-queue.sq", horizon=20000).observe("response")
    assert abs(response.mean - 5) <= response.ci


def test_steps_3_and_4_are_the_same_conversations() -> None:
    """A prefix cache halves the work of the server on the same requests, when it has the room."""
    without = run("3-sessions.sq", horizon=5000)
    cached = run("4-prefix-cache.sq", horizon=5000)
    small = run("4-prefix-cache.sq", horizon=5000, sets={"cap": 20})
    assert without.arrivals == cached.arrivals
    assert cached.stage("gpu").utilization < 0.55 * without.stage("gpu").utilization
    assert cached.observe("hit").mean > 0.9 > 0.6 > small.observe("hit").mean
    assert small.pool("kv").rejected > 0


def test_step_6_is_a_cliff() -> None:
    """Twice the load is thirty times the time to first token; twice the memory takes it back."""
    settings = {"horizon": 600, "warmup": 100}
    low = run("6-cliff.sq", sets={"rate": 0.1}, **settings).client["ttft"].mean
    high = run("6-cliff.sq", sets={"rate": 0.2}, **settings).client["ttft"].mean
    roomy = run("6-cliff.sq", sets={"rate": 0.2, "blocks": 16000}, **settings)
    assert high > 30 * low
    assert roomy.client["ttft"].mean < 2 * low
