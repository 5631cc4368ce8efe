"""What of the IR the language has no words for, by name."""

from __future__ import annotations

from serq.diagnostics import SerqError

REASONS: dict[str, str] = {
    "attributes": "attributes that are read and that no statement assigns, or of another type than "
    "their first assignment gives",
    "built-in slots": "built-in attributes in other slots than 0 to 8",
    "cap that could be zero": "a prefill cap that is neither a constant above 0, a choice of such, "
    "nor `max(k, e)`",
    "constant arithmetic": "arithmetic of numbers alone where the linker writes its result: an "
    "index, a granule, a prefill cap, a renewal gap",
    "explicit sessions": "sessions given one by one (`Sessions`)",
    "extension": "a version or an extension mark that the program has no need of",
    "family": "members of a family that differ in more than their index, or do not stand in order",
    "iteration": "vLLM's procedure written out as an iteration body, or serving keys beside one",
    "memory": "the memory of an engine that is not a pool of the engine's own device",
    "not a name": "a number that no text spells: a trace's path with a quotation mark",
    "not positive": "a count, a block or a budget of 0, and lists of keys without a key",
    "observations": "aggregates of observations that no statement observes",
    "part of a family": "a reference to some members of a family, or to a family without an index",
    "registers": "registers of a family of engines, or in another order than their engines",
    "servers that differ": "turns that are followed by different statements of the server",
    "session": "a session without a turn, or one that does not end with `End`",
    "sides": "a statement of the server that no turn leads to, or one of the client's in the "
    "server's",
    "trace": "an ordered trace without a path",
    "unreached blocks": "blocks that are nobody's body",
}
"""Name of a construct → what it is; `serq.fuzz.spelling.written` refuses a program with one."""


def refuse(reason: str, detail: str) -> SerqError:
    """The error (``no-spelling``) of a program with one of the `REASONS`."""
    return SerqError.of(
        "no-spelling",
        f"the language has no words for this program: {reason} ({detail})",
        help=f"{reason}: {REASONS[reason]}",
    )
