"""What the client sees of each turn: first token, time per token, response, token gaps.

The rules are vLLM's benchmark client's and engine statistics' (vllm/benchmarks/serve.py,
vllm/v1/metrics/stats.py), with the turn's start for vLLM's arrival.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from serq.interp.stats import Samples

if TYPE_CHECKING:
    from serq.interp.session import Session


class Turn:
    """A session's current turn: when it started and which tokens came when.

    ``prefilled`` is the end of its last prefill, ``first`` its first token once a decode token
    made it known, ``after`` the output tokens after it. ``last`` is its latest token in the chain
    of inter-token gaps, ``decoded`` whether it had a decode token yet, ``stage`` where it ended.
    """

    __slots__ = (
        "after", "answered", "decoded", "first", "interrupted", "last", "prefilled", "stage",
        "started",
    )  # fmt: skip

    def __init__(self, started: float) -> None:
        self.started = started
        self.prefilled: float | None = None
        self.first: float | None = None
        self.after = 0.0
        self.last: float | None = None
        self.decoded = False
        self.stage: Any = None
        self.interrupted = False
        self.answered = False


class Client:
    """The client's samples over all turns of a run."""

    def __init__(self, warmup: float) -> None:
        self.ttft = Samples(warmup)
        self.tpot = Samples(warmup)
        self.response = Samples(warmup)
        self._responded = self.response.add

    def prefilled(self, session: Session, stage: Any, now: float) -> None:
        """A prefill of the session ended: it sampled a token."""
        turn = session.client
        if turn is None:
            return
        if turn.first is None:
            turn.prefilled = now
        else:
            turn.after += 1.0
        if turn.last is not None and (turn.decoded or (turn.interrupted and turn.stage is stage)):
            stage.gap(now - turn.last)
        turn.last = now
        turn.stage = stage
        turn.interrupted = False

    def decodes(self, session: Session, now: float) -> None:
        """The session reaches a decode run: a prefill that ended just now gave its first token."""
        turn = session.client
        if turn is not None and turn.first is None and turn.prefilled == now:
            turn.first = now
            self.ttft.add((now - turn.started, now, session.serial, session.turn))

    def token(self, session: Session, stage: Any, now: float) -> None:
        """A decode of the session committed a token."""
        turn = session.client
        if turn is None:
            return
        if turn.first is None:
            if turn.prefilled is None:
                turn.first = now
            else:
                turn.first = turn.prefilled
                turn.after += 1.0
            self.ttft.add((turn.first - turn.started, now, session.serial, session.turn))
        else:
            turn.after += 1.0
        if turn.last is not None:
            stage.gap(now - turn.last)
        turn.last = now
        turn.decoded = True
        turn.stage = stage
        turn.interrupted = False

    def answered(self, session: Session, now: float) -> None:
        """The server's statements for the turn are done."""
        turn = session.client
        if turn is None or turn.answered:
            return
        turn.answered = True
        serial, number = session.serial, session.turn
        first = turn.first
        if first is None and turn.prefilled is not None:
            first = turn.prefilled
            self.ttft.add((first - turn.started, now, serial, number))
        if first is not None and turn.after > 0.0:
            self.tpot.add(((now - first) / turn.after, now, serial, number))
        responded = self._responded
        responded((now - turn.started, now, serial, number))
