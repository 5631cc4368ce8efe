"""Trace events: valid, nested, complete, in microseconds."""

from __future__ import annotations

import json
from collections import defaultdict
from pathlib import Path
from typing import Any

import pytest
from timeline_programs import HOSTILE, STAGES, TWO_ENGINES, engine

from serq.api import Overrides, load
from serq.draw.perfetto import trace
from serq.draw.timeline_record import record

PULL = Path(__file__).parent.parent / "examples/pd-disaggregation/llmd_nixl_pull.sq"
Events = list[dict[str, Any]]


def events(source: str | Path, horizon: float = 15.0) -> Events:
    given = Overrides(horizon=horizon)
    program = (
        load(source, overrides=given)
        if isinstance(source, Path)
        else load(source=source, overrides=given)
    )
    document = json.loads(trace(record(program), HOSTILE))
    assert document["otherData"]["program"] == HOSTILE
    found: Events = document["traceEvents"]
    return found


def named(found: Events, kind: str) -> dict[Any, str]:
    return {
        (e["pid"], e["tid"]) if kind == "thread" else e["pid"]: e["args"]["name"]
        for e in found
        if e["ph"] == "M" and e["name"] == f"{kind}_name"
    }


@pytest.mark.parametrize("source", [engine(), TWO_ENGINES, STAGES, PULL],
                         ids=["engine", "engines", "stages", "example"])  # fmt: skip
def test_every_event_is_complete(source: str | Path) -> None:
    """Each event has its phase's fields, a named process, and times that ascend from 0."""
    found = events(source)
    processes = named(found, "process")
    times = [e["ts"] for e in found if e["ph"] != "M"]
    assert times == sorted(times) and times[0] >= 0
    for e in found:
        assert e["pid"] in processes and isinstance(e["name"], str) and "tid" in e
        match e["ph"]:
            case "X":
                assert e["dur"] >= 0
            case "C":
                assert all(isinstance(value, int | float) for value in e["args"].values())
            case "i":
                assert e["s"] == "t"
            case _:
                assert e["ph"] == "M"


def test_an_iteration_is_a_slice_of_a_second() -> None:
    """An iteration of one unit of the clock lasts a million microseconds."""
    found = events(engine())
    (pid,) = [pid for pid, name in named(found, "process").items() if name == "engine e"]
    its = [e for e in found if e["ph"] == "X" and (e["pid"], e["tid"]) == (pid, 1)]
    assert [(e["ts"], e["dur"]) for e in its] == [(i * 1_000_000, 1_000_000) for i in range(4)]
    assert [e["name"] for e in its] == ["prefill", "prefill", "decode", "decode"]
    assert its[1]["args"] == {
        "iteration": 1, "prefill": 4, "decode": 0, "admitted": ["session 1, turn 1"],
    }  # fmt: skip


@pytest.mark.parametrize("source", [engine(6, (3, 2), 3), PULL], ids=["engine", "example"])
def test_slices_nest(source: str | Path) -> None:
    """On one track, a slice lies within the one that encloses it, or behind it."""
    tracks: dict[Any, Events] = defaultdict(list)
    for e in events(source):
        if e["ph"] == "X":
            tracks[e["pid"], e["tid"]].append(e)
    for slices in tracks.values():
        stack: list[float] = []
        for e in slices:
            end = round(e["ts"] + e["dur"], 3)
            while stack and stack[-1] <= e["ts"]:
                stack.pop()
            assert not stack or end <= stack[-1]
            stack.append(end)
        assert slices


def test_a_slot_has_a_request_with_what_it_was_given() -> None:
    """A request's slice has its session and turn, and in it the prefill and the decodes."""
    found = events(engine(cap=6, prompts=(3, 2), decodes=3))
    threads = named(found, "thread")
    mine = [e for e in found if e["ph"] == "X" and threads[e["pid"], e["tid"]] == "slot 1"]
    assert [(e["name"], e["ts"] / 1e6, e["dur"] / 1e6) for e in mine] == [
        ("session 1, turn 1", 0, 2),
        ("prefill", 0, 2),
    ]
    assert mine[0]["args"] == {"session": 1, "turn": 1, "cached": 0, "preempted": True}
    assert mine[1]["args"] == {"tokens per iteration": 1, "iterations": 2}
    assert [e["ts"] for e in found if e["ph"] == "i" and e["name"] == "preempted"] == [2_000_000]


def test_pools_and_stages_are_counters() -> None:
    """A pool's use and queue and a stage's jobs are counters that change with the run."""
    found = events(STAGES, 30)
    counters = {e["name"] for e in found if e["ph"] == "C"}
    assert counters == {"mem used", "mem waiting", "jobs at svc"}
    used = [e["args"]["units"] for e in found if e["name"] == "mem used"]
    assert set(used) <= {0, 4, 8} and len(used) > 5 and 4 in used
