"""What the oracle's tests share: known answers, mutants of the programs, the prepared vLLM."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cache
from pathlib import Path

import pytest

from serq.diagnostics import SerqError, Source
from serq.oracle import places, setup
from serq.oracle.program import Text
from serq.oracle.scenario import Scenario, load

RECORDED = ("0.31.0", "0.32.0")
"""The versions with a recorded answer to every scenario."""

# First-token steps, last-token steps and preemptions that vLLM's own checks have published.
REQUESTS = {
    "chunked": ([3, 4, 4], [4, 8, 6], 0),
    "hol": ([1, 11, 11], [10, 20, 13], 0),
    "longchunk": ([3, 3], [4, 4], 0),
    "mixed": ([1, 3, 33, 41, 53, 63], [40, 32, 52, 100, 62, 87], 0),
    "preempt": ([1, 31], [30, 60], 1),
    "seqcap": ([1, 3, 7, 9], [5, 7, 11, 13], 0),
    "alone": ([5, 25, 3, 17], [23, 48, 14, 22], 2),
}

# The cache scenario, turn by turn: sent, time to first token, latency, cached tokens.
CACHE = {
    "sent": [0, 6, 13, 3, 9, 17, 6, 12, 22],
    "ttft": [2, 3, 11, 2, 4, 13, 2, 6, 14],
    "latency": [4, 5, 13, 4, 6, 15, 4, 8, 16],
    "cached": [0, 96, 0, 0, 64, 0, 0, 0, 0],
}


def scenario(name: str) -> Scenario:
    """A scenario that comes with serQ."""
    return load(places.root() / "oracle" / f"{name}.json")


@cache
def text(name: str, *edits: tuple[str, str]) -> Text:
    """An example program with words replaced; each edit must apply."""
    path = places.program(name)
    words = path.read_text(encoding="utf-8")
    for old, new in edits:
        assert old in words, f"{name} has no {old!r}"
        words = words.replace(old, new)
    return Text(Source(path.name, words), path.parent)


@dataclass(frozen=True)
class Mutant:
    """A program with one of vLLM's rules broken, and where a scenario shows it first."""

    name: str
    program: str
    edits: tuple[tuple[str, str], ...]
    scenario: str
    step: int
    field: str

    @property
    def text(self) -> Text:
        return text(self.program, *self.edits)


_SHARED = "whole_blocks(min(prefix, prompt - 1)), whole_blocks(computed));"
REQUEST, SESSION, PRIORITY = (
    f"oracle/vllm_{name}.sq" for name in ("request", "session", "priority")
)

MUTANTS = (
    # In step 3 one block is free and the second request needs two, although its first chunk of
    # three tokens would fit.
    Mutant("no reserve", REQUEST, ((" reserve (known)", ""),), "reserve", 3, "tokens per request"),
    Mutant(
        "requeue tail",
        REQUEST,
        (("preempt lifo;", "preempt by (-admission) requeue tail;"),),
        "requeue",
        8,
        "tokens per request",
    ),
    # Alone in step 1, the third request takes 32 tokens; with a constant cap 24.
    Mutant("constant cap", REQUEST, (("n > 1 ? chunk : inf", "chunk"),), "alone", 1, "tokens"),
    Mutant(
        "admission in a step that preempted",
        PRIORITY,
        ((" while (running.preempted == 0)", ""),),
        "priority_inversion",
        4,
        "tokens per request",
    ),
    # An entry that has lost its first block hits nothing: as if it had to be whole.
    Mutant(
        "eviction from the head",
        SESSION,
        (
            ("request (prompt, o, prefix) {", "request (prompt, o, prefix, stored) {"),
            (
                f"shared = caching * max({_SHARED}",
                "shared = cachedin(kv) < whole_blocks(computed > 0 ? computed : stored)"
                f" ? 0 : caching * max({_SHARED}",
            ),
            ("    observe sent = now;", "    branch (turn_no == 1) { set stored = 0; }\n"
             "    observe sent = now;"),
            ("vllm (prompt, o, prefix);", "vllm (prompt, o, prefix, stored);\n"
             "    set stored = prompt + o - 1;"),
        ),
        "evict_tail",
        5,
        "admissions",
    ),
    Mutant(
        "blocks for more than the capped chunk",
        REQUEST,
        (("min(budget_left(vllm), cap_among(holders(reqs) + queued(reqs)))", "budget_left(vllm)"),),
        "caps",
        1,
        "free blocks",
    ),
    Mutant("newest evicted", SESSION, (("evict lru;", "evict by (-last);"),), "evict_oldest", 5,
           "admissions"),
    Mutant(
        "outputs forgotten",
        REQUEST,
        (("max(kept, computed + 1)", "max(prompt, computed + 1)"),),
        "twice",
        42,
        "tokens per request",
    ),
    # A prompt of which every block is cached computes its last block again, not nothing.
    Mutant("all of a prompt hit", SESSION, (("min(prefix, prompt - 1)", "min(prefix, prompt)"),),
           "last_token", 9, "tokens per request"),
    Mutant(
        "only prompts cached",
        SESSION,
        (("cache (caching * (prompt + o - 1));", "cache (caching * prompt);"),),
        "chat",
        3,
        "admissions",
    ),
    # Preempted in step 6 with 8 tokens computed, the second request needs three blocks for its 9,
    # one for its prompt; one is free in step 7.
    Mutant("restart from the prompt", REQUEST, (("max(kept, computed + 1)", "kept"),), "resume",
           7, "tokens per request"),
    Mutant(
        "the last admitted preempted",
        PRIORITY,
        (("preempt by (-priority, -t0, admission) requeue tail", "preempt lifo"),),
        "priority",
        5,
        "preempted requests",
    ),
    Mutant("to the head despite priority", PRIORITY, (("requeue tail", "requeue head"),),
           "priority_requeue", 3, "tokens per request"),
    Mutant("ties to the last admitted", PRIORITY,
           (("(-priority, -t0, admission)", "(-priority, -t0)"),), "priority_tie", 5,
           "preempted requests"),
    Mutant("arrival times ignored", PRIORITY,
           (("queue by (priority, t0, serial)", "queue by (priority)"),), "priority_order", 10,
           "tokens per request"),
)  # fmt: skip


def vllm_files(version: str = setup.DEFAULT) -> Path:
    """The prepared files of vLLM; skips the test where they cannot be had."""
    if not setup.ready(version):
        try:
            setup.ensure(version)
        except SerqError as fault:
            pytest.skip(f"vLLM {version} cannot be fetched: {fault.diagnostics[0].message}")
    return setup.directory(version)
