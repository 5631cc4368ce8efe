"""What the page says about claims and notes: in words, with what to do about them."""

from __future__ import annotations

from dataclasses import dataclass
from math import isfinite

from serq.interp.report import Claim, Report, number
from serq.ir import nodes as ir
from serq.ir.moments import Moment
from serq.ir.text import show
from serq.text_report import notes


@dataclass(frozen=True)
class Verdict:
    """A claim with what the run found: ``mood`` is good, bad or open."""

    name: str
    mood: str
    result: str
    statement: str
    finding: str
    advice: str


@dataclass(frozen=True)
class Remark:
    """A note of the report and what to do about it; ``mood`` is bad, warn or info."""

    mood: str
    kind: str
    text: str
    advice: str


_MOODS = {"holds": "good", "witnessed": "good", "fails": "bad", "not_witnessed": "bad"}


def verdicts(report: Report, program: ir.Program) -> list[Verdict]:
    """Every claim in program order."""
    stated = {claim.name: claim for claim in program.claims}
    return [
        Verdict(
            name=claim.name,
            mood=_MOODS.get(claim.result, "open"),
            result=claim.result.replace("_", " "),
            statement=_statement(stated[claim.name], program),
            finding=_finding(claim),
            advice=_claim_advice(claim),
        )
        for claim in report.claims.values()
        if claim.name in stated
    ]


def _statement(claim: ir.Claim, program: ir.Program) -> str:
    given = "" if claim.given is None else f"given ({show(program, claim.given, Moment.GIVEN)}): "
    match claim.kind:
        case ir.EveryIteration(stage=stage):
            text = f"every iteration of {_stage(program, stage)}"
        case ir.SomeIteration(stage=stage):
            text = f"some iteration of {_stage(program, stage)}"
        case _:
            return f"{given}at end ({show(program, claim.expr, Moment.END)})"
    return f"{given}{text} ({show(program, claim.expr, Moment.ITERATION)})"


def _stage(program: ir.Program, stage: int) -> str:
    one = program.stages[stage]
    return one.name if one.index is None else f"{one.name}[{one.index}]"


def _finding(claim: Claim) -> str:
    when = "" if claim.first is None else f"first at time {number(claim.first)}"
    iterations = f"{claim.checked:,} iteration{'' if claim.checked == 1 else 's'}"
    note = "" if claim.note is None else claim.note
    match claim.kind, claim.result:
        case "at_end", "holds":
            return "true when the run ended"
        case "at_end", "fails":
            return "false when the run ended"
        case _, "holds":
            return f"true in all {iterations}" if claim.checked else "no iteration was run"
        case _, "fails":
            return f"false in {claim.failures:,} of {iterations}, {when}"
        case _, "witnessed":
            return f"true in {claim.checked - claim.failures:,} of {iterations}, {when}"
        case _, "not_witnessed":
            return f"false in all {iterations}"
    return note


def _claim_advice(claim: Claim) -> str:
    match claim.result:
        case "fails" if claim.kind == "at_end":
            return "See the distributions of the observations that the claim reads."
        case "fails":
            return (
                "Look at what the engine did then: serq timeline with --from and --to "
                "around that time."
            )
        case "not_witnessed":
            return "Another seed or a longer run may reach it; one run cannot show that none does."
        case "not_evaluated":
            return "Run until the sessions are done: --arrivals N, or a longer --horizon."
        case "out_of_scope":
            return "Give the claim's assumptions to the workload, or state a weaker `given`."
    return ""


_NOTES = {
    "note": (
        "info",
        "Is the condition what was meant? A cache that is never hit, for instance, often is a "
        "hold without a `cache` clause, or a pool too small to keep a prefix.",
    ),
    "idle": (
        "bad",
        "Give `tokens cap` and `each at most` room for a token, and let every request pass some "
        "`only` of the schedule.",
    ),
    "over": (
        "bad",
        "Raise that pool's cap, or bound what a hold asks for; a demand of attributes and numbers "
        "alone is rejected instead of waiting forever.",
    ),
    "grow": (
        "warn",
        "Let the pool preempt (`preempt lifo`), or reserve at admission what the hold will need "
        "(`reserve (…)`).",
    ),
    "stuck": (
        "bad",
        "One session needs more of the pool than there is: raise its cap, or `reserve (…)` the "
        "whole need, so that such a session is rejected.",
    ),
}


WIDE = 0.1
"""A mean whose interval is wider than this share of it is worth a remark."""


def remarks(report: Report, program: ir.Program) -> list[Remark]:
    """The report's notes, the worst first, then what makes its numbers doubtful."""
    found = []
    for text in notes(report, program):
        kind, _, rest = text.partition(": ")
        mood, advice = _NOTES[kind]
        found.append(Remark(mood, kind, rest, advice))
    order = ("bad", "warn", "info")
    found.sort(key=lambda remark: order.index(remark.mood))
    wide = [
        name
        for name, row in (*report.client.items(), *report.observes.items())
        if row.count and row.mean and not row.ci <= WIDE * abs(row.mean)
        if isfinite(row.mean) and row.cv2 == row.cv2 and row.cv2 > 0.0
    ]
    if wide:
        names = ", ".join(wide[:8]) + (", …" if len(wide) > 8 else "")
        found.append(
            Remark(
                "info",
                "precision",
                f"the mean's 95 % interval is wider than ±{100 * WIDE:g} % for {names}",
                "Run longer (--horizon), and leave the beginning out (--warmup).",
            )
        )
    if report.arrivals > 20 and report.ended < report.arrivals / 2 and not program.warmup:
        found.append(
            Remark(
                "warn",
                "backlog",
                f"of {report.arrivals:,} sessions that arrived, {report.ended:,} ended",
                "Sessions come faster than they are served, or the run is short against a "
                "session's length: the means depend on the horizon.",
            )
        )
    return found
