"""Answers: what a scheduler did with a scenario, step by step, from whichever side."""

from __future__ import annotations

import json
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from serq.diagnostics import SerqError

FORMAT = 1


@dataclass(frozen=True, slots=True)
class Step:
    """One scheduler step that served, admitted or preempted someone.

    ``step`` runs from time ``step - 1`` to ``step``. ``tokens`` are (request, count) in the order
    served, ``admitted`` (request, cached tokens) and ``preempted`` requests in their order,
    ``free`` the free blocks once the step is scheduled. ``withdrawn`` are the preempted requests
    that this step had served already (vLLM's side alone knows).
    """

    step: int
    tokens: tuple[tuple[int, int], ...]
    admitted: tuple[tuple[int, int], ...]
    preempted: tuple[int, ...]
    free: int
    withdrawn: tuple[int, ...] = ()


@dataclass(frozen=True, slots=True)
class Request:
    """What became of one request, in step times; ``None`` where it did not come to that."""

    session: int
    turn: int
    sent: int | None
    first: int | None
    done: int | None
    cached: tuple[int, ...]
    preemptions: int


@dataclass(frozen=True, slots=True)
class Answer:
    """A whole run. ``stuck`` is the step at which nothing could go on, ``None`` for an end."""

    scheduler: str
    version: str
    requests: tuple[Request, ...]
    steps: tuple[Step, ...]
    stuck: int | None = None

    @property
    def preemptions(self) -> int:
        return sum(len(step.preempted) for step in self.steps)

    @property
    def label(self) -> str:
        return f"{self.scheduler} {self.version}".strip()


def from_json(document: dict[str, Any]) -> Answer:
    """An answer in the format of ``tools/vllm_oracle.py``."""
    if document.get("format") != FORMAT:
        raise SerqError.of(
            "oracle-answer",
            f"an answer of format {document.get('format')}, not {FORMAT}",
            help="record it again with `serq oracle --record`",
        )
    return Answer(
        scheduler=document["scheduler"],
        version=document["version"],
        requests=tuple(
            Request(
                session=one["session"],
                turn=one["turn"],
                sent=one["sent"],
                first=one["first"],
                done=one["done"],
                cached=tuple(one["cached"]),
                preemptions=one["preemptions"],
            )
            for one in document["requests"]
        ),
        steps=tuple(
            Step(
                step=one["step"],
                tokens=tuple((r, n) for r, n in one["tokens"]),
                admitted=tuple((r, n) for r, n in one["admitted"]),
                preempted=tuple(one["preempted"]),
                free=one["free"],
                withdrawn=tuple(one.get("withdrawn", ())),
            )
            for one in document["steps"]
        ),
        stuck=document["stuck"],
    )


def to_json(answer: Answer, scenario: str) -> dict[str, Any]:
    """The document `from_json` reads."""
    steps: list[dict[str, Any]] = []
    for step in answer.steps:
        one: dict[str, Any] = {
            "step": step.step,
            "tokens": [list(pair) for pair in step.tokens],
            "admitted": [list(pair) for pair in step.admitted],
            "preempted": list(step.preempted),
            "free": step.free,
        }
        if step.withdrawn:
            one["withdrawn"] = list(step.withdrawn)
        steps.append(one)
    return {
        "format": FORMAT,
        "scheduler": answer.scheduler,
        "version": answer.version,
        "scenario": scenario,
        "requests": [
            {
                "session": one.session,
                "turn": one.turn,
                "sent": one.sent,
                "first": one.first,
                "done": one.done,
                "cached": list(one.cached),
                "preemptions": one.preemptions,
            }
            for one in answer.requests
        ],
        "preemptions": answer.preemptions,
        "stuck": answer.stuck,
        "steps": steps,
    }


def to_text(answer: Answer, scenario: str) -> str:
    """The recorded file: a request or a step per line, so that a change shows as lines."""
    document = to_json(answer, scenario)
    lines: list[str] = []
    for key, value in document.items():
        if isinstance(value, list) and value:
            inner = ",\n".join("  " + json.dumps(item, separators=(",", ":")) for item in value)
            lines.append(f' "{key}": [\n{inner}\n ]')
        else:
            lines.append(f' "{key}": {json.dumps(value)}')
    return "{\n" + ",\n".join(lines) + "\n}\n"


def load(path: Path) -> Answer:
    """A recorded answer."""
    try:
        return from_json(json.loads(path.read_text(encoding="utf-8")))
    except OSError as fault:
        raise SerqError.of(
            "oracle-answer",
            f"no recorded answer {path.name}",
            where=str(path),
            help="record it with `serq oracle --record`, which needs the scheduler",
        ) from fault
    except (ValueError, KeyError, TypeError, AttributeError) as fault:
        if isinstance(fault, SerqError):
            raise
        raise SerqError.of("oracle-answer", f"not an answer: {fault}", where=str(path)) from fault
