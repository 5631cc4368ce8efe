"""Scenarios: what a scheduler is given, as JSON (``oracle/README.md`` documents the format)."""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from functools import cached_property
from pathlib import Path
from typing import Any

from serq.diagnostics import Diagnostic, SerqError
from serq.interp.trace import read_trace

POLICIES = ("fcfs", "priority")
LIMIT = 1_000_000
"""The largest number of a scenario."""


@dataclass(frozen=True)
class Turn:
    """One request of a session.

    ``prompt`` and ``out`` are tokens; ``think`` the steps from its end to the next turn;
    ``prefix`` how many of its first tokens are those of the turn before, prompt and output.
    """

    prompt: int
    out: int
    think: int = 0
    prefix: int = 0


@dataclass(frozen=True)
class Session:
    """Turns sent one after the other, the first at step time ``arrive``."""

    turns: tuple[Turn, ...]
    arrive: int = 0
    priority: int = 0


@dataclass(frozen=True)
class Scenario:
    """An engine's configuration, in vLLM's terms, and the sessions that use it.

    ``num_blocks`` counts vLLM's null block, so ``num_blocks - 1`` blocks of ``block_size`` tokens
    can be handed out. ``chunk`` is the long-prefill cap: 0 for none, else a cap that holds while
    more than one request runs or waits; ``adaptive`` raises it to a fair share of the budget
    among those requests. ``trace`` is the file whose rows became the sessions,
    ``gap`` steps apart.
    """

    name: str
    block_size: int
    num_blocks: int
    budget: int
    max_seqs: int
    sessions: tuple[Session, ...]
    chunk: int = 0
    adaptive: bool = False
    prefix_caching: bool = False
    policy: str = "fcfs"
    trace: Path | None = None
    gap: int = 0
    about: str = field(default="", compare=False)

    @cached_property
    def requests(self) -> tuple[tuple[int, int], ...]:
        """(session, turn) of each request: numbered session by session, turn by turn."""
        return tuple((s, t) for s, one in enumerate(self.sessions) for t in range(len(one.turns)))

    def turn(self, request: int) -> Turn:
        session, turn = self.requests[request]
        return self.sessions[session].turns[turn]

    @property
    def units(self) -> int:
        """The tokens that the KV blocks hold together."""
        return (self.num_blocks - 1) * self.block_size

    def to_json(self) -> dict[str, Any]:
        """The scenario as a file has it, a trace written out.

        Sessions of one plain turn are ``requests`` when all are: a file's requests are numbered
        before its sessions, so a mixture stays sessions.
        """
        out: dict[str, Any] = {"about": self.about} if self.about else {}
        out |= {
            "block_size": self.block_size,
            "num_blocks": self.num_blocks,
            "budget": self.budget,
            "max_seqs": self.max_seqs,
        }
        if self.chunk:
            out["chunk"] = self.chunk
        if self.adaptive:
            out["adaptive"] = True
        if self.prefix_caching:
            out["prefix_caching"] = True
        if self.policy != "fcfs":
            out["policy"] = self.policy
        if all(_plain(session) for session in self.sessions):
            out["requests"] = [
                {"prompt": s.turns[0].prompt, "out": s.turns[0].out} | _session_fields(s)
                for s in self.sessions
            ]
        else:
            out["sessions"] = [
                _session_fields(s) | {"turns": [_turn_fields(t) for t in s.turns]}
                for s in self.sessions
            ]
        return out

    def to_text(self) -> str:
        """The file's text: one request or turn per line."""
        return _text(self.to_json()) + "\n"


def _plain(session: Session) -> bool:
    return len(session.turns) == 1 and session.turns[0].prefix == session.turns[0].think == 0


def _session_fields(session: Session) -> dict[str, int]:
    pairs = {"arrive": session.arrive, "priority": session.priority}
    return {name: value for name, value in pairs.items() if value}


def _turn_fields(turn: Turn) -> dict[str, int]:
    pairs = {"think": turn.think, "prefix": turn.prefix}
    return {"prompt": turn.prompt, "out": turn.out} | {k: v for k, v in pairs.items() if v}


def _text(value: Any, indent: str = "") -> str:
    """JSON in which an object of numbers, or a list of numbers, takes one line."""
    if not isinstance(value, dict | list) or not any(
        isinstance(v, dict | list) for v in (value.values() if isinstance(value, dict) else value)
    ):
        return json.dumps(value)
    deeper = indent + "  "
    if isinstance(value, dict):
        # A session's own numbers share the line of its opening brace.
        items = [f"{json.dumps(key)}: {_text(item, deeper)}" for key, item in value.items()]
        opening, closing = "{", "}"
    else:
        items = [_text(item, deeper) for item in value]
        opening, closing = "[", "]"
    inside = ",\n".join(deeper + item for item in items)
    return f"{opening}\n{inside}\n{indent}{closing}"


# --- reading --------------------------------------------------------------------------------------

_TOP: Mapping[str, tuple[type, Any]] = {
    "about": (str, ""),
    "name": (str, ""),
    "block_size": (int, None),
    "num_blocks": (int, None),
    "budget": (int, None),
    "max_seqs": (int, None),
    "chunk": (int, 0),
    "adaptive": (bool, False),
    "prefix_caching": (bool, False),
    "policy": (str, "fcfs"),
    "trace": (str, ""),
    "gap": (int, 0),
    "requests": (list, []),
    "sessions": (list, []),
}
_REQUEST: Mapping[str, tuple[type, Any]] = {
    "prompt": (int, None),
    "out": (int, None),
    "arrive": (int, 0),
    "priority": (int, 0),
}
_SESSION: Mapping[str, tuple[type, Any]] = {
    "arrive": (int, 0),
    "priority": (int, 0),
    "turns": (list, None),
}
_TURN: Mapping[str, tuple[type, Any]] = {
    "prompt": (int, None),
    "out": (int, None),
    "think": (int, 0),
    "prefix": (int, 0),
}
_LEAST = {
    "block_size": 1,
    "num_blocks": 2,
    "budget": 1,
    "max_seqs": 1,
    "prompt": 1,
    "out": 1,
    "priority": -LIMIT,
}
_WORDS = {int: "a whole number", str: "a text", bool: "true or false", list: "a list"}


class _Reader:
    """Reads a document and collects every fault with its place."""

    def __init__(self, where: str) -> None:
        self.where = where
        self.faults: list[Diagnostic] = []

    def fault(self, place: str, message: str, help: str | None = None) -> None:
        where = f"{self.where}: {place}" if place else self.where
        self.faults.append(Diagnostic("scenario", message, where=where, help=help))

    def fields(
        self, value: object, place: str, known: Mapping[str, tuple[type, Any]]
    ) -> dict[str, Any]:
        """The fields of one object, defaults filled in, each of its type and range."""
        found: dict[str, Any] = {name: default for name, (_kind, default) in known.items()}
        if not isinstance(value, dict):
            self.fault(place, "an object is expected here")
            return found
        for name in value:
            if name not in known:
                self.fault(place, f"unknown field `{name}`", f"the fields are {', '.join(known)}")
        for name, (kind, default) in known.items():
            at = f"{place}.{name}" if place else name
            if name not in value:
                if default is None:
                    self.fault(place, f"the field `{name}` is missing")
                continue
            given = value[name]
            if not isinstance(given, kind) or (kind is int and isinstance(given, bool)):
                self.fault(at, f"{_WORDS[kind]} is expected here")
                continue
            if isinstance(given, int) and kind is int and not _LEAST.get(name, 0) <= given <= LIMIT:
                self.fault(at, f"{given} is not between {_LEAST.get(name, 0)} and {LIMIT}")
                continue
            found[name] = given
        return found

    def complete(self, found: Mapping[str, Any], known: Mapping[str, tuple[type, Any]]) -> bool:
        return all(found[name] is not None for name in known)


def parse(
    document: object, name: str = "scenario", where: str = "scenario", base: Path | None = None
) -> Scenario:
    """The scenario a JSON document describes; raises `SerqError` with all its faults.

    A trace's path is relative to ``base``, the scenario's directory.
    """
    read = _Reader(where)
    top = read.fields(document, "", _TOP)
    sessions: list[Session] = []
    for i, given in enumerate(top["requests"]):
        one = read.fields(given, f"requests[{i}]", _REQUEST)
        if read.complete(one, _REQUEST):
            turn = Turn(one["prompt"], one["out"])
            sessions.append(Session((turn,), one["arrive"], one["priority"]))
    for i, given in enumerate(top["sessions"]):
        at = f"sessions[{i}]"
        one = read.fields(given, at, _SESSION)
        turns = _turns(read, one["turns"] or [], at)
        if one["turns"] == []:
            read.fault(at, "a session has a turn at least")
        if turns:
            sessions.append(Session(turns, one["arrive"], one["priority"]))
    trace = (base or Path()) / top["trace"] if top["trace"] else None
    if trace is None:
        if not top["requests"] and not top["sessions"]:
            read.fault("", "a scenario has a request or a session at least")
        if top["gap"]:
            read.fault("gap", "a gap is between the sessions of a trace, and there is none")
    elif top["requests"] or top["sessions"]:
        read.fault("trace", "a scenario has a trace or requests and sessions, not both")
    else:
        sessions = _replayed(read, trace, top["gap"])
    if top["adaptive"] and not top["chunk"]:
        read.fault("adaptive", "an adaptive cap is at least `chunk`, and that is 0, no cap")
    if top["policy"] not in POLICIES:
        read.fault("policy", f"unknown policy `{top['policy']}`", f"one of {', '.join(POLICIES)}")
    if read.faults:
        raise SerqError(read.faults)
    scenario = Scenario(
        name=top["name"] or name,
        block_size=top["block_size"],
        num_blocks=top["num_blocks"],
        budget=top["budget"],
        max_seqs=top["max_seqs"],
        sessions=tuple(sessions),
        chunk=top["chunk"],
        adaptive=top["adaptive"],
        prefix_caching=top["prefix_caching"],
        policy=top["policy"],
        trace=trace,
        gap=top["gap"],
        about=top["about"],
    )
    for place, message, help in _impossible(scenario):
        read.fault(place, message, help)
    if read.faults:
        raise SerqError(read.faults)
    return scenario


def _turns(read: _Reader, given: list[object], at: str) -> tuple[Turn, ...]:
    turns: list[Turn] = []
    for t, value in enumerate(given):
        one = read.fields(value, f"{at}.turns[{t}]", _TURN)
        if read.complete(one, _TURN):
            turns.append(Turn(one["prompt"], one["out"], one["think"], one["prefix"]))
    return tuple(turns)


def _replayed(read: _Reader, trace: Path, gap: int) -> list[Session]:
    """The sessions of a trace: a turn shares the prompt of the one before, or nothing if forced."""
    sessions: list[Session] = []
    for s, rows in enumerate(read_trace(trace)):
        turns: list[Turn] = []
        before = 0
        for t, row in enumerate(rows):
            if not all(0 <= x <= LIMIT and x == int(x) for x in row) or min(row[:2]) < 1:
                read.fault(
                    "trace",
                    f"{trace.name}, session {s}, turn {t}: new and out are whole numbers from 1, "
                    "think and forced from 0",
                )
                continue
            new, out, think, forced = (int(x) for x in row)
            last = t + 1 == len(rows)
            shared = 0 if forced else min(before, new)
            turns.append(Turn(new, out, 0 if last else think, shared))
            before = new
        sessions.append(Session(tuple(turns), s * gap))
    return sessions


def _impossible(scenario: Scenario) -> Iterator[tuple[str, str, str | None]]:
    """What makes a request wait for ever, or share tokens that are not there."""
    for s, session in enumerate(scenario.sessions):
        before = 0
        for t, turn in enumerate(session.turns):
            place = f"session {s}, turn {t}"
            # The last token sampled is never computed, so it needs no room.
            need = -(-(turn.prompt + turn.out - 1) // scenario.block_size)
            if need > scenario.num_blocks - 1:
                yield (
                    place,
                    f"it needs {need} blocks of the {scenario.num_blocks - 1} there are, "
                    "so it would never end",
                    "raise num_blocks (one of them is vLLM's null block) or shorten the turn",
                )
            if turn.prefix > before:
                yield (
                    place,
                    f"a prefix of {turn.prefix} tokens, but the turn before has {before}",
                    "a prefix is shared with the turn before: its prompt and its output",
                )
            before = turn.prompt + turn.out


def load(path: Path) -> Scenario:
    """The scenario in a file; its name is the file's without the ending."""
    try:
        document = json.loads(path.read_text(encoding="utf-8"))
    except OSError as fault:
        raise SerqError.of(
            "unreadable-file", f"{path}: {fault.strerror}", where=str(path)
        ) from fault
    except (json.JSONDecodeError, UnicodeDecodeError) as fault:
        raise SerqError.of("scenario", f"not JSON: {fault}", where=str(path)) from fault
    return parse(document, path.stem, str(path), path.parent)
