"""Random scenarios: small pools, staggered arrivals, caps, conversations, priorities."""

from __future__ import annotations

from random import Random

from serq.oracle.scenario import Scenario, Session, Turn


def scenario(seed: int, number: int, *, policy: str | None = None) -> Scenario:
    """Scenario ``number`` of the stream ``seed``; equal arguments give equal scenarios.

    Half are FCFS, half PRIORITY unless ``policy`` says; half of each have the prefix cache. The
    pool holds the longest request and little more, so that preemption and eviction are common.
    """
    draw = Random(f"{seed}/{number}")
    chosen = policy or draw.choice(("fcfs", "priority"))
    caching = draw.random() < 0.5
    block_size = draw.choice((1, 4, 8, 16))
    long = draw.choice((2, 4, 8)) * block_size
    count = draw.randint(1, 9)
    sessions = tuple(
        _session(draw, caching, long, chosen == "priority", count) for _ in range(count)
    )
    longest = max(t.prompt + t.out - 1 for s in sessions for t in s.turns)
    blocks = -(-longest // block_size)
    num_blocks = 1 + blocks + draw.choice((0, 0, 1, 2, draw.randint(0, blocks), 3 * blocks))
    budget = draw.choice((1, 3, block_size, draw.randint(2, 2 * long), 4 * long, 1024, 1024))
    chunk = draw.choice((0, 0, 0, 1, draw.randint(1, max(1, long)), block_size))
    return Scenario(
        name=f"random-{seed}-{number}",
        block_size=block_size,
        num_blocks=num_blocks,
        budget=budget,
        max_seqs=draw.choice((1, 2, 3, 4, 16, 16)),
        sessions=sessions,
        chunk=chunk,
        adaptive=chunk > 0 and draw.random() < 0.2,
        prefix_caching=caching,
        policy=chosen,
    )


def _session(draw: Random, caching: bool, long: int, priorities: bool, count: int) -> Session:
    conversation = draw.random() < (0.6 if caching else 0.2)
    turns: list[Turn] = []
    before = (0, 0)
    for _ in range(draw.randint(2, 4) if conversation else 1):
        prefix = draw.choice((0, before[0], sum(before), draw.randint(0, sum(before))))
        prompt = draw.choice((draw.randint(1, long), draw.randint(1, max(1, long // 4))))
        if prefix and draw.random() < 0.7:  # a conversation grows, or is sent again
            prompt = prefix + draw.choice((0, draw.randint(1, max(1, long // 4))))
        out = draw.choice((1, 2, draw.randint(1, 6), draw.randint(1, max(2, long)), long))
        turns.append(Turn(prompt, out, draw.choice((0, 0, 1, draw.randint(0, 12))), prefix))
        before = (prompt, out)
    last = turns[-1]
    turns[-1] = Turn(last.prompt, last.out, 0, last.prefix)
    arrive = draw.choice((0, 0, draw.randint(0, 3), draw.randint(0, 4 * count)))
    return Session(tuple(turns), arrive, draw.randint(0, 3) if priorities else 0)
