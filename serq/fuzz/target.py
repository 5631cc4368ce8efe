"""A target: what random cases are put to, and how a found case is written down."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any

from hypothesis.strategies import SearchStrategy

from serq.fuzz.bounded import TooLong
from serq.fuzz.choices import Choices
from serq.fuzz.verdict import Verdict


@dataclass(frozen=True)
class Target:
    """One comparison.

    ``cases`` is the strategy, ``check`` judges one case (call ``judge``), ``missing`` says why the
    target cannot run here (None when it can), ``files`` gives a case's files by name. A target
    with ``draw`` is searched by independent cases of that, in place of the strategy's.
    """

    name: str
    about: str
    cases: Callable[[], SearchStrategy[Any]]
    check: Callable[[Any], Verdict]
    missing: Callable[[], str | None]
    files: Callable[[Any], Mapping[str, str]]
    draw: Callable[[Choices], Any] | None = None

    def judge(self, case: Any) -> Verdict:
        """What ``check`` says, or that the case's run is too long to be waited for."""
        try:
            return self.check(case)
        except TooLong:
            return Verdict("too long")
