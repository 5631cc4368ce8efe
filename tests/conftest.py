"""Fixtures: seeds new for every state of the tree, printed at the end of a run; a browser."""

from __future__ import annotations

import os
import random
import shutil
import subprocess
from collections.abc import Callable, Iterator
from functools import cache
from pathlib import Path
from typing import Any

import pytest


@cache
def seed_of_the_tree() -> int | None:
    """The seed that a committed state of the tree has of its own; none if it is changed.

    A run on a clean checkout can thus be made again without its output. The environment variable
    SERQ_FUZZ_SEED takes its place.
    """
    given = os.environ.get("SERQ_FUZZ_SEED")
    if given:
        return int(given)

    def git(*arguments: str) -> str:
        return subprocess.run(
            ["git", *arguments],
            cwd=Path(__file__).parent,
            check=True,
            capture_output=True,
            text=True,
        ).stdout.strip()

    try:
        if not git("status", "--porcelain"):
            return int(git("rev-parse", "HEAD^{tree}")[:8], 16)
    except (OSError, subprocess.CalledProcessError):
        pass  # no git, or no checkout
    return None


def pytest_configure(config: pytest.Config) -> None:
    """Hypothesis, too, draws from the tree's seed where no other was asked for."""
    seed = seed_of_the_tree()
    if seed is not None and config.getoption("--hypothesis-seed") is None:
        config.option.hypothesis_seed = str(seed)


@pytest.fixture
def fresh_seed(record_property: Callable[[str, object], None]) -> Callable[[str], int]:
    """A function that gives a seed for the search of this name; the run's summary names it."""

    def seed(name: str) -> int:
        of_tree = seed_of_the_tree()
        chosen = random.SystemRandom().randrange(1 << 32) if of_tree is None else of_tree
        record_property("fresh seed", f"{name} {chosen}")
        return chosen

    return seed


BROWSERS = ("chromium", "chromium-browser", "google-chrome", "chrome")


@pytest.fixture(scope="module")
def browser() -> Iterator[Any]:
    """A headless browser, or a skip that says what is missing."""
    driver = pytest.importorskip(
        "playwright.sync_api", reason="playwright is not installed: pip install 'serq[browser]'"
    )
    path = os.environ.get("SERQ_BROWSER") or next(filter(None, map(shutil.which, BROWSERS)), None)
    if path is None:
        pytest.skip(
            f"no browser: none of {', '.join(BROWSERS)} is on the path, nor SERQ_BROWSER set"
        )
    with driver.sync_playwright() as play:
        made = play.chromium.launch(executable_path=path, args=["--no-sandbox"])
        yield made
        made.close()


def pytest_terminal_summary(terminalreporter: Any) -> None:
    """One line for each fresh seed, whether its test passed or failed."""
    seeds = [
        str(value)
        for reports in terminalreporter.stats.values()
        for report in reports
        for name, value in getattr(report, "user_properties", ())
        if name == "fresh seed" and report.when == "call"
    ]
    if seeds:
        terminalreporter.write_line("fresh seeds (again with SERQ_FUZZ_SEED): " + ", ".join(seeds))
