"""Shrinking: the smallest scenario found that still shows a difference."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import replace

from serq.diagnostics import SerqError
from serq.oracle.scenario import Scenario, Session, Turn, parse

TRIES = 600
"""Scenarios tried at most, so that shrinking ends in seconds."""


def shrink(scenario: Scenario, differs: Callable[[Scenario], bool], tries: int = TRIES) -> Scenario:
    """A scenario no candidate of which still ``differs``, or the best after ``tries``.

    Candidates drop a session or a turn, switch a feature off, or make a number smaller: first
    the large steps, then small ones.
    """
    left = tries
    best = scenario
    improved = True
    while improved and left > 0:
        improved = False
        for candidate in candidates(best):
            if left <= 0:
                break
            if not _possible(candidate):
                continue
            left -= 1
            if differs(candidate):
                best = candidate
                improved = True
                break
    return best


def _possible(scenario: Scenario) -> bool:
    try:
        parse(scenario.to_json())
    except SerqError:
        return False
    return True


def candidates(scenario: Scenario) -> Iterator[Scenario]:
    """Simpler scenarios, the boldest first."""
    sessions = scenario.sessions
    if scenario.trace is not None:
        scenario = replace(scenario, trace=None, gap=0)
    for s in range(len(sessions)):
        if len(sessions) > 1:
            yield replace(scenario, sessions=sessions[:s] + sessions[s + 1 :])
    for s, session in enumerate(sessions):
        if len(session.turns) > 1:
            for turns in (session.turns[:-1], session.turns[1:]):
                first = replace(turns[0], prefix=0)
                yield _with(scenario, s, replace(session, turns=(first, *turns[1:])))
    if scenario.chunk:
        yield replace(scenario, chunk=0, adaptive=False)
    if scenario.adaptive:
        yield replace(scenario, adaptive=False)
    if scenario.prefix_caching:
        yield replace(scenario, prefix_caching=False)
    if scenario.policy != "fcfs":
        yield replace(scenario, policy="fcfs")
    if scenario.max_seqs < len(sessions):
        yield replace(scenario, max_seqs=len(sessions))
    for s, session in enumerate(sessions):
        for value in _smaller(session.arrive):
            yield _with(scenario, s, replace(session, arrive=value))
        for value in _smaller(session.priority):
            yield _with(scenario, s, replace(session, priority=value))
        for t, turn in enumerate(session.turns):
            for simpler in _turns(turn):
                turns = (*session.turns[:t], simpler, *session.turns[t + 1 :])
                yield _with(scenario, s, replace(session, turns=turns))
    for blocks in _smaller(scenario.num_blocks, 2):
        yield replace(scenario, num_blocks=blocks)
    for budget in _smaller(scenario.budget, 1):
        yield replace(scenario, budget=budget)


def _with(scenario: Scenario, s: int, session: Session) -> Scenario:
    sessions = scenario.sessions
    return replace(scenario, sessions=(*sessions[:s], session, *sessions[s + 1 :]))


def _turns(turn: Turn) -> Iterator[Turn]:
    for value in _smaller(turn.out, 1):
        yield replace(turn, out=value)
    for value in _smaller(turn.prompt, 1):
        yield replace(turn, prompt=value)
    for value in _smaller(turn.think):
        yield replace(turn, think=value)
    for value in _smaller(turn.prefix):
        yield replace(turn, prefix=value)


def _smaller(value: int, least: int = 0) -> Iterator[int]:
    """Numbers nearer to ``least``: that itself, half the way, one step."""
    step = (value < least) - (value > least)
    for candidate in dict.fromkeys((least, (value + least) // 2, value + step)):
        if candidate != value:
            yield candidate
