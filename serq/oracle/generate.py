"""Random scenarios: small pools, staggered arrivals, caps, conversations, priorities."""

from __future__ import annotations

from random import Random

from serq.oracle.scenario import Scenario, Session, Turn


def scenario(seed: int, number: int, *, policy: str | None = None) -> Scenario:
    """Scenario ``number`` of the stream ``seed``; equal arguments give equal scenarios.

    Half are FCFS, half PRIORITY unless ``policy`` says; half of each have the prefix cache. The
    pool holds the longest request and little more, so that preemption and eviction are common;
    two in five are *busy*: everybody comes at once and generates long, so they preempt each other.
    """
    return drawn(Random(f"{seed}/{number}"), f"random-{seed}-{number}", policy=policy)


def drawn(draw: Random, name: str, *, policy: str | None = None) -> Scenario:
    """A scenario made with the generator's choices."""
    return _Drawn(draw, policy).scenario(name)


class _Drawn:
    """One scenario in the making."""

    def __init__(self, draw: Random, policy: str | None) -> None:
        self.draw = draw
        self.policy = policy or draw.choice(("fcfs", "priority"))
        self.caching = draw.random() < 0.5
        self.busy = draw.random() < 0.4
        self.block_size = draw.choice((1, 2, 4, 8, 16))
        self.long = draw.choice((2, 4, 8)) * self.block_size
        self.count = draw.randint(3, 8) if self.busy else draw.randint(1, 9)

    def scenario(self, name: str) -> Scenario:
        draw, long, busy = self.draw, self.long, self.busy
        sessions = tuple(self.session() for _ in range(self.count))
        longest = max(t.prompt + t.out - 1 for s in sessions for t in s.turns)
        blocks = -(-longest // self.block_size)
        spare = (0, 1, 2) if busy else (0, 1, 2, draw.randint(0, blocks), 3 * blocks)
        budgets = (1, 3, draw.randint(2, 2 * long), 4 * long, 1024)
        chunk = draw.choice((0, 0, 0, 1, draw.randint(1, long), self.block_size))
        return Scenario(
            name=name,
            block_size=self.block_size,
            num_blocks=1 + blocks + draw.choice(spare),
            budget=draw.choice(budgets[2:] if busy else budgets),
            max_seqs=16 if busy else draw.choice((1, 2, 3, 4, 16)),
            sessions=sessions,
            chunk=chunk,
            adaptive=chunk > 0 and draw.random() < 0.2,
            prefix_caching=self.caching,
            policy=self.policy,
        )

    def session(self) -> Session:
        draw, count = self.draw, self.count
        conversation = draw.random() < (0.7 if self.caching else 0.2)
        turns = self.turns(draw.randint(2, 4) if conversation else 1)
        soon = (0, draw.randint(0, 3))
        arrive = draw.choice(soon if self.busy else (*soon, draw.randint(0, 4 * count)))
        return Session(turns, arrive, draw.randint(0, 3) if self.policy == "priority" else 0)

    def turns(self, number: int) -> tuple[Turn, ...]:
        draw, long = self.draw, self.long
        turns: list[Turn] = []
        before = (0, 0)
        for turn in range(number):
            prefix = draw.choice((0, before[0], sum(before), draw.randint(0, sum(before))))
            prompt = draw.randint(1, draw.choice((long, max(1, long // 4))))
            if prefix and draw.random() < 0.7:  # a conversation grows, or is sent again
                prompt = prefix + draw.choice((0, draw.randint(1, max(1, long // 4))))
            outs = (1, 2, draw.randint(1, 6), draw.randint(1, max(2, long)), long)
            out = draw.choice(outs[3:] if self.busy else outs)
            think = draw.choice((0, 0, 1, draw.randint(0, 12))) if turn + 1 < number else 0
            turns.append(Turn(prompt, out, think, prefix))
            before = (prompt, out)
        return tuple(turns)
