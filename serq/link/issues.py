"""Broken rules of the finished IR, told at the place of the text they come from."""

from __future__ import annotations

from collections.abc import Iterable

from serq.ir.validate import Issue
from serq.link.source_map import Origin, SourceMap
from serq.lower.faults import Faults


def report(issues: Iterable[Issue], source_map: SourceMap, faults: Faults) -> None:
    """Report each issue once, at the innermost node around it that the text wrote.

    Several copies of the server's statements (one for each ``turn;``) break a rule at the same
    place of the text, which is one fault. An issue about nothing the text wrote keeps its path.
    """
    for issue in issues:
        origin = _origin(issue, source_map)
        if origin is None:
            faults.error(
                issue.code, issue.message, None, help=issue.help, where=issue.path or "the program"
            )
        else:
            faults.error(
                issue.code, issue.message, origin.span, help=issue.help, frames=origin.frames
            )


def _origin(issue: Issue, source_map: SourceMap) -> Origin | None:
    for node in issue.trail:
        origin = source_map.origin_of(node)
        if origin is not None:
            return origin
    return None
