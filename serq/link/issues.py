"""Broken rules of the finished IR, told at the place of the text they come from."""

from __future__ import annotations

from collections.abc import Iterable, Sequence

from serq.diagnostics import Diagnostic, Span
from serq.ir import nodes
from serq.ir.validate import Issue
from serq.ir.walk import expressions
from serq.link.source_map import Origin, SourceMap
from serq.lower.faults import Faults


def report(issues: Iterable[Issue], source_map: SourceMap, faults: Faults) -> None:
    """Report each issue once, at the innermost node around it that the text wrote.

    Several copies of the server's statements (one for each ``turn;``) break a rule at the same
    place of the text, which is one fault. An issue about nothing the text wrote keeps its path.
    """
    for issue in issues:
        origin = _origin(issue, source_map)
        if origin is None and (span := _declared(issue, source_map)) is not None:
            origin = Origin(span, ())
        if origin is None:
            faults.error(
                issue.code, issue.message, None, help=issue.help, where=issue.path or "the program"
            )
        else:
            faults.error(
                issue.code, issue.message, origin.span, help=issue.help, frames=origin.frames
            )


def _declared(issue: Issue, source_map: SourceMap) -> Span | None:
    """Where a part of the IR was declared that is no node: ``hidden[0]``, ``share``."""
    for path, span in source_map.paths.items():
        if issue.path == path or issue.path.startswith((f"{path}.", f"{path}[")):
            return span
    return None


INDEPENDENT = frozenset(
    {
        "draws", "granule-above-cap", "hidden-read", "in-leg", "index-not-a-number", "never-fits",
        "no-key", "not-a-gap", "not-a-test", "not-an-amount", "not-readable", "run-mode",
        "size-owner",
    }
)  # fmt: skip
"""Rules about one place alone: a fault elsewhere in the program cannot be their cause."""


def independent(
    issues: Iterable[Issue], source_map: SourceMap, errors: Sequence[Diagnostic]
) -> list[Issue]:
    """The issues of a program with link errors that are surely not caused by them.

    What could not be linked stands as a number in the IR, so an issue counts only when it is of a
    rule about its own place and no error lies in the statement or declaration around it.
    """
    kept: list[Issue] = []
    for issue in issues:
        if issue.code not in INDEPENDENT and not _plain_number(issue):
            continue
        spans = [span for node in issue.trail if (span := source_map.span_of(node)) is not None]
        if not any(_overlap(error.span, span) for error in errors for span in spans[:3]):
            kept.append(issue)
    return kept


def _plain_number(issue: Issue) -> bool:
    """Whether a number stands where a cost belongs, and it reads no name's value."""
    if issue.code != "cost-type" or not issue.trail:
        return False
    node = issue.trail[0]
    if not isinstance(node, nodes.Expr):
        return False
    return not any(isinstance(part, nodes.Attr | nodes.Cost) for part in expressions(node))


def _overlap(a: Span | None, b: Span) -> bool:
    return a is not None and a.source is b.source and a.start < b.end and b.start < a.end


def _origin(issue: Issue, source_map: SourceMap) -> Origin | None:
    for node in issue.trail:
        origin = source_map.origin_of(node)
        if origin is not None:
            return origin
    return None
