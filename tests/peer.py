"""The reference build as a peer: it compiles and runs programs in a process of its own.

Tests that use it carry the mark ``needs_peer`` and are skipped where ``pyserq`` is not installed.

    import peer

    @peer.needs_peer
    def test_something():
        theirs = peer.run(SOURCE, horizon=100, seed=3)
        assert peer.first_difference(ours.json(), theirs) is None
"""

from __future__ import annotations

from typing import Any

import pytest

from serq.fuzz.documents import first_difference
from serq.fuzz.reference import (
    AVAILABLE,
    TIMEOUT,
    Crashed,
    Refused,
    _process,
    compile,
    rng,
    run,
    samples,
    trace,
)

__all__ = [
    "AVAILABLE",
    "TIMEOUT",
    "Crashed",
    "Refused",
    "_process",
    "compile",
    "first_difference",
    "needs_peer",
    "rng",
    "run",
    "samples",
    "trace",
]


def needs_peer(test: Any) -> Any:
    """Mark a test (function or class) that compares with the reference build."""
    skip = pytest.mark.skipif(not AVAILABLE, reason="the reference build is not installed")
    return pytest.mark.peer(skip(test))
