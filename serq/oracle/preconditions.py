"""What the correspondence leaves out: named preconditions, each with its cause in vLLM's source.

A scenario that breaks one may differ, from the step it is broken on; before that step, and in
every other scenario, a difference is a fault.
"""

from __future__ import annotations

from dataclasses import dataclass

from serq.oracle.answer import Answer
from serq.oracle.compare import Difference
from serq.oracle.scenario import Scenario


@dataclass(frozen=True, slots=True)
class Precondition:
    """``name`` is what the command prints; ``words`` say what a scenario must not do.

    The table in ``tools/correspondence.toml`` has the cause of each, with vLLM's lines.
    """

    name: str
    words: str


SERVED_VICTIM = Precondition(
    "served-victim",
    "with the prefix cache, no victim that its step had already served: vLLM has put the blocks "
    "of the chunk it takes back into the cache, though they are never computed",
)
REPEATED_BLOCK = Precondition(
    "repeated-block",
    "no prompt that ends with a whole block of the turn before: its last block is computed again "
    "beside the cached one, and a later turn hits the older of the two, of another age",
)
CAP_OF_ONE = Precondition(
    "cap-of-one",
    "no chunk cap before vLLM 0.31.0, whose cap holds for a request that is alone too, and is "
    "never adaptive",
)
ALL = (SERVED_VICTIM, REPEATED_BLOCK, CAP_OF_ONE)


def broken_before(scenario: Scenario, vllm: Answer, found: Difference) -> Precondition | None:
    """The precondition that the scenario broke before it differed; ``None`` for a fault."""
    first = _first_step(vllm, found)
    if (
        scenario.chunk
        and _version(vllm.version) < (0, 31)
        and (scenario.adaptive or _alone_by(vllm, first))
    ):
        return CAP_OF_ONE
    if not scenario.prefix_caching:
        return None
    if any(step.withdrawn and step.step < first for step in vllm.steps):
        return SERVED_VICTIM
    for number, request in enumerate(vllm.requests):
        turn = scenario.turn(number)
        whole = turn.prompt % scenario.block_size == 0 and turn.prefix >= turn.prompt
        if whole and request.first is not None and request.first < first:
            return REPEATED_BLOCK
    return None


def _alone_by(vllm: Answer, last: int) -> bool:
    """Whether some step up to ``last`` had one request to run or wait."""
    for step in vllm.steps:
        if step.step > last:
            break
        there = sum(
            one.sent is not None
            and one.sent < step.step
            and (one.done is None or one.done >= step.step)
            for one in vllm.requests
        )
        if there == 1:
            return True
    return False


def _version(text: str) -> tuple[int, ...]:
    parts = text.partition("+")[0].split(".")
    return tuple(int(part) for part in parts if part.isdigit())


def _first_step(vllm: Answer, found: Difference) -> int:
    """The step of the difference; of a request's, the end of the run."""
    if found.step is not None:
        return found.step
    return 1 + max((step.step for step in vllm.steps), default=0)
