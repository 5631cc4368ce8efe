"""What a long step tells the user while it runs: a bar on a terminal, otherwise nothing."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager

from rich.console import Console
from rich.progress import (
    BarColumn,
    DownloadColumn,
    Progress,
    SpinnerColumn,
    TaskID,
    TextColumn,
    TimeElapsedColumn,
)


class Reporter:
    """Shows one step at a time on standard error. Nothing is drawn unless that is a terminal."""

    def __init__(self, console: Console | None = None, *, quiet: bool = False) -> None:
        self._console = console or Console(stderr=True)
        self._drawn = self._console.is_terminal and not quiet
        self._quiet = quiet
        self._progress: Progress | None = None
        self._task: TaskID | None = None

    def say(self, text: str) -> None:
        """One line that is worth having in a log too."""
        if not self._quiet:
            self._console.print(text, highlight=False, markup=False, soft_wrap=True)

    @contextmanager
    def step(self, title: str, total: float | None = None, *, size: bool = False) -> Iterator[None]:
        """A step with a known ``total`` (bytes if ``size``, else items) or an open-ended one."""
        if not self._drawn:
            yield
            return
        columns = [SpinnerColumn(), TextColumn("{task.description}"), BarColumn()]
        columns += [DownloadColumn()] if size else []
        with Progress(
            *columns, TimeElapsedColumn(), console=self._console, transient=True
        ) as progress:
            self._progress, self._task = progress, progress.add_task(title, total=total)
            try:
                yield
            finally:
                self._progress = self._task = None

    def update(self, done: float, total: float | None = None, title: str | None = None) -> None:
        """How far the current step is."""
        if self._progress is not None and self._task is not None:
            self._progress.update(self._task, completed=done, total=total, description=title)
