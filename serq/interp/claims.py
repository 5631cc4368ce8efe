"""Claims: propositions about the path of a run, read and never acting."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING, Any

from serq.interp.report import Claim
from serq.ir import nodes as ir

if TYPE_CHECKING:
    from serq.interp.machine import Machine
    from serq.interp.session import Session


class IterationClaim:
    """``every`` or ``some iteration of`` an engine: read as each iteration starts."""

    def __init__(
        self, machine: Machine, name: str, every: bool, test: Callable[..., float]
    ) -> None:
        self.machine = machine
        self.name = name
        self.every = every
        self.test = test
        self.checked = 0
        self.failures = 0
        self.holds = True
        self.first: float | None = None
        self.excluded_by: int | None = None

    def check(self, batch: Any) -> None:
        """Read the claim on an iteration that starts now."""
        if self.excluded_by is not None:
            return
        self.checked += 1
        self.holds = holds = self.test(batch) != 0.0
        if not holds:
            self.failures += 1
        if self.first is None and holds is not self.every:
            self.first = batch.start

    def repeat(self, times: int) -> None:
        """So many more iterations, on which the claim would read as on the last."""
        if self.excluded_by is None:
            self.checked += times
            if not self.holds:
                self.failures += times

    def result(self) -> Claim:
        """What the run found."""
        kind = "every_iteration" if self.every else "some_iteration"
        if self.excluded_by is not None:
            note = _excluded(self.excluded_by)
            return Claim(
                self.name, kind, "out_of_scope", self.checked, self.failures, self.first, note
            )  # what was read before the session arrived
        if self.every:
            result = "fails" if self.failures else "holds"
        else:
            result = "not_witnessed" if self.first is None else "witnessed"
        return Claim(self.name, kind, result, self.checked, self.failures, self.first, None)


class EndClaim:
    """``at end``: read when the run ends with no session live."""

    def __init__(self, machine: Machine, name: str, test: Callable[[], float]) -> None:
        self.machine = machine
        self.name = name
        self.test = test
        self.excluded_by: int | None = None

    def result(self) -> Claim:
        """What the run found."""
        machine = self.machine
        if self.excluded_by is not None:
            note = _excluded(self.excluded_by)
            return Claim(self.name, "at_end", "out_of_scope", 0, 0, None, note)
        if machine.live:
            note = f"{machine.live} session{'s' if machine.live > 1 else ''} live at the end"
            return Claim(self.name, "at_end", "not_evaluated", 0, 0, None, note)
        holds = self.test() != 0.0
        return Claim(
            self.name, "at_end", "holds" if holds else "fails", 1, 0 if holds else 1,
            None if holds else machine.now, None,
        )  # fmt: skip


def _excluded(serial: int) -> str:
    return f"session {serial} fails `given`"


def given(claim: Any, test: Callable[[Session], float]) -> Callable[[Session], None]:
    """Reads ``given`` for a session whose init has run; one that fails it excludes the claim."""

    def read(session: Session) -> None:
        if claim.excluded_by is None and test(session) == 0.0:
            claim.excluded_by = session.serial

    return read


def aggregate(which: ir.Aggregate, values: Sequence[float]) -> float:
    """An aggregate of an observation's values; 0 when there is none."""
    if which is ir.Aggregate.COUNT:
        return float(len(values))
    if which is ir.Aggregate.LARGEST:
        return max(values) if len(values) else 0.0
    if which is ir.Aggregate.SMALLEST:
        return min(values) if len(values) else 0.0
    total = 0.0
    if which is ir.Aggregate.TOTAL:
        for x in values:
            total += x
        return total
    running = 0.0
    for x in sorted(values):
        running += x
        total += running
    return total


__all__ = ["EndClaim", "IterationClaim", "aggregate", "given"]
