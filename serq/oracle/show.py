"""What `serq oracle` prints: the table of scenarios, and the step where two sides part."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from rich.console import Console, Group, RenderableType
from rich.table import Table
from rich.text import Text

from serq.oracle.answer import Answer
from serq.oracle.check import Outcome, Verdict
from serq.oracle.compare import State, state_at
from serq.oracle.scenario import Scenario

_STYLES = {
    Verdict.EQUAL: "green",
    Verdict.DIFFERS: "bold red",
    Verdict.ERROR: "bold red",
    Verdict.OUTSIDE: "yellow",
}


def result(outcome: Outcome) -> str:
    """The outcome in a few words."""
    if outcome.verdict is Verdict.EQUAL:
        return "equal in every step"
    if outcome.verdict is Verdict.ERROR:
        assert outcome.error is not None
        return f"the program fails: {outcome.error.diagnostics[0].message}"
    assert outcome.difference is not None
    words = f"differs, {outcome.difference.sentence()}"
    if outcome.precondition is not None:
        words += f" (outside `{outcome.precondition.name}`)"
    return words


def table(outcomes: Sequence[Outcome], theirs: str) -> Table:
    """A row per scenario."""
    out = Table(box=None, pad_edge=False, header_style="bold")
    for name in ("scenario", "policy", "cache"):
        out.add_column(name, no_wrap=True)
    for name in ("requests", "steps", "preempt"):
        out.add_column(name, justify="right")
    out.add_column(f"program / {theirs}")
    lean = any(outcome.lean is not None for outcome in outcomes)
    if lean:
        out.add_column("Lean")
    for outcome in outcomes:
        scenario, answer = outcome.scenario, outcome.theirs
        row: list[RenderableType] = [
            scenario.name,
            scenario.policy,
            "on" if scenario.prefix_caching else "off",
            str(len(scenario.requests)),
            str(len(answer.steps)) if answer else "",
            str(answer.preemptions) if answer else "",
            Text(result(outcome), style=_STYLES[outcome.verdict]),
        ]
        if lean:
            third = outcome.lean
            words = "" if third is None else third.words
            row.append(Text(words, style="bold red" if third and third.failed else ""))
        out.add_row(*row)
    return out


def side_by_side(outcome: Outcome) -> RenderableType:
    """The first step that differs, with what either scheduler had and did."""
    difference = outcome.difference
    assert difference is not None and outcome.ours is not None and outcome.theirs is not None
    head = f"{outcome.scenario.name}: {difference.sentence()}"
    if difference.step is None:
        values = Table(box=None, pad_edge=False, header_style="bold")
        values.add_column("")
        values.add_column("program")
        values.add_column(outcome.theirs.label)
        values.add_row(difference.field, str(difference.left), str(difference.right))
        return Group(Text(head, style="bold"), values)
    columns = [
        _lines(outcome.scenario, answer, difference.step)
        for answer in (outcome.ours, outcome.theirs)
    ]
    out = Table(box=None, pad_edge=False, header_style="bold")
    out.add_column("")
    out.add_column("program")
    out.add_column(outcome.theirs.label)
    for (name, left), (_, right) in zip(*columns, strict=True):
        style = "red" if left != right else ""
        out.add_row(name, Text(left, style=style), Text(right, style=style))
    return Group(Text(head, style="bold"), out)


def _lines(scenario: Scenario, answer: Answer, step: int) -> list[tuple[str, str]]:
    state = state_at(scenario, answer, step)
    return [
        ("before: running", _running(state)),
        ("before: waiting", " ".join(f"#{r}" for r in state.waiting) or "-"),
        ("preempted", _numbers(state, "preempted")),
        ("tokens", _pairs(state, "tokens")),
        ("admitted", _pairs(state, "admitted", "cached ")),
        ("free blocks", "-" if state.step is None else str(state.step.free)),
    ]


def _running(state: State) -> str:
    """Each running request with the tokens computed of those it has."""
    return " ".join(f"#{r.request}({r.computed}/{r.known})" for r in state.running) or "-"


def _numbers(state: State, name: str) -> str:
    values: Sequence[int] = () if state.step is None else getattr(state.step, name)
    return " ".join(f"#{r}" for r in values) or "-"


def _pairs(state: State, name: str, word: str = "") -> str:
    values: Sequence[tuple[int, int]] = () if state.step is None else getattr(state.step, name)
    return " ".join(f"#{r}:{word}{n}" for r, n in values) or "-"


def report(outcomes: Sequence[Outcome], theirs: str, console: Console) -> None:
    """The table, then every difference with its step."""
    console.print(table(outcomes, theirs))
    for outcome in outcomes:
        if outcome.verdict in (Verdict.DIFFERS, Verdict.OUTSIDE):
            console.print()
            console.print(side_by_side(outcome))
    broken = {o.precondition.name: o.precondition for o in outcomes if o.precondition is not None}
    if broken:
        console.print()
    for precondition in broken.values():
        console.print(Text(f"{precondition.name}: {precondition.words}"))


def document(outcome: Outcome) -> dict[str, Any]:
    """One outcome for `--json`."""
    answer = outcome.theirs
    out: dict[str, Any] = {
        "scenario": outcome.scenario.name,
        "verdict": str(outcome.verdict),
        "requests": len(outcome.scenario.requests),
        "steps": len(answer.steps) if answer else None,
        "preemptions": answer.preemptions if answer else None,
        "against": answer.label if answer else None,
        "difference": None,
        "precondition": outcome.precondition.name if outcome.precondition else None,
        "error": None if outcome.error is None else str(outcome.error),
        "lean": None if outcome.lean is None else outcome.lean.words,
    }
    difference = outcome.difference
    if difference is not None:
        out["difference"] = {
            "step": difference.step,
            "request": difference.request,
            "field": difference.field,
            "program": difference.left,
            "scheduler": difference.right,
        }
        if difference.step is not None and outcome.ours is not None and answer is not None:
            out["difference"]["state"] = {
                "program": _state(outcome.scenario, outcome.ours, difference.step),
                "scheduler": _state(outcome.scenario, answer, difference.step),
            }
    return out


def _state(scenario: Scenario, answer: Answer, step: int) -> dict[str, Any]:
    state = state_at(scenario, answer, step)
    return {
        "running": [[r.request, r.computed, r.known] for r in state.running],
        "waiting": list(state.waiting),
        "free": None if state.step is None else state.step.free,
    }
