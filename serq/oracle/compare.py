"""Two answers side by side: the first step that differs, and what both schedulers had there."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Any

from serq.oracle.answer import Answer, Step
from serq.oracle.scenario import Scenario


@dataclass(frozen=True)
class Difference:
    """Where two answers part.

    ``step`` is the first step that differs, or ``None`` when every step agrees and a request's
    times do not; ``field`` names what differs there, ``left`` and ``right`` the two values.
    """

    step: int | None
    field: str
    left: Any
    right: Any
    request: int | None = None

    def sentence(self) -> str:
        """The difference in words."""
        if self.step is not None:
            return f"step {self.step}: {self.field}"
        if self.request is not None:
            return f"request {self.request}: {self.field}"
        return self.field


_STEP_FIELDS = (
    ("preempted", "preempted requests"),
    ("tokens", "tokens per request"),
    ("admitted", "admissions (request, cached tokens)"),
    ("free", "free blocks"),
)
_REQUEST_FIELDS = (
    ("sent", "step sent"),
    ("first", "first-token step"),
    ("done", "last-token step"),
    ("cached", "cached tokens at each admission"),
    ("preemptions", "preemptions"),
)


def first_difference(left: Answer, right: Answer) -> Difference | None:
    """The first step in which the two differ, else the first request that does, else ``None``.

    A step that one side alone has (the other was idle) differs in its tokens.
    """
    for ours, theirs in _aligned(left.steps, right.steps):
        for name, words in _STEP_FIELDS:
            a, b = getattr(ours, name), getattr(theirs, name)
            if a != b:
                return Difference(ours.step, words, a, b)
    for number, (one, other) in enumerate(zip(left.requests, right.requests, strict=True)):
        for name, words in _REQUEST_FIELDS:
            a, b = getattr(one, name), getattr(other, name)
            if a != b:
                return Difference(None, words, a, b, number)
    if left.stuck != right.stuck:
        return Difference(None, "step at which it was stuck", left.stuck, right.stuck)
    return None


def _aligned(left: Sequence[Step], right: Sequence[Step]) -> list[tuple[Step, Step]]:
    """Steps paired by number; a side without the step is idle in it, its free blocks unknown."""
    mine = {step.step: step for step in left}
    theirs = {step.step: step for step in right}
    pairs: list[tuple[Step, Step]] = []
    for number in sorted(mine.keys() | theirs.keys()):
        a, b = mine.get(number), theirs.get(number)
        idle = replace(a or b, tokens=(), admitted=(), preempted=())  # type: ignore[type-var]
        assert isinstance(idle, Step)
        pairs.append((a or idle, b or idle))
    return pairs


# --- the state at a step --------------------------------------------------------------------------


@dataclass(frozen=True, slots=True)
class Running:
    """A running request: tokens computed, and tokens it has (prompt and sampled)."""

    request: int
    computed: int
    known: int


@dataclass(frozen=True, slots=True)
class State:
    """What a scheduler had when a step began, and what it did in it."""

    running: tuple[Running, ...]
    waiting: tuple[int, ...]
    step: Step | None


def state_at(scenario: Scenario, answer: Answer, number: int) -> State:
    """The state before step ``number``, replayed from the answer's records.

    ``waiting`` is in the policy's order: by priority, time sent and number under ``priority``,
    else the preempted ones first, the latest of them at the head.
    """
    computed: dict[int, int] = {}
    sampled: dict[int, int] = {}
    requeued: list[int] = []
    this: Step | None = None
    for step in answer.steps:
        if step.step >= number:
            this = step if step.step == number else None
            break
        for request in step.preempted:
            computed.pop(request, None)
            requeued.append(request)
        for request, cached in step.admitted:
            computed[request] = cached
            if request in requeued:
                requeued.remove(request)
        for request, count in step.tokens:
            computed[request] = computed.get(request, 0) + count
            known = scenario.turn(request).prompt + sampled.get(request, 0)
            if computed[request] >= known:
                sampled[request] = sampled.get(request, 0) + 1
            if answer.requests[request].done == step.step:
                computed.pop(request, None)
    running = tuple(
        Running(r, done, scenario.turn(r).prompt + sampled.get(r, 0))
        for r, done in computed.items()
    )
    waiting = [
        number_
        for number_, request in enumerate(answer.requests)
        if request.sent is not None
        and request.sent < number
        and number_ not in computed
        and (request.done is None or request.done >= number)
    ]

    def place(request: int) -> tuple[int, ...]:
        sent = answer.requests[request].sent or 0
        if scenario.policy == "priority":
            return (scenario.sessions[answer.requests[request].session].priority, sent, request)
        if request in requeued:
            return (0, -requeued.index(request))
        return (1, sent, request)

    return State(running, tuple(sorted(waiting, key=place)), this)
