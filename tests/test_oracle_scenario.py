"""Scenarios: the format, its defaults and what it refuses."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from serq.diagnostics import SerqError
from serq.oracle import generate, places
from serq.oracle.scenario import Scenario, Session, Turn, load, parse

SMALL: dict[str, Any] = {
    "block_size": 16,
    "num_blocks": 10,
    "budget": 32,
    "max_seqs": 8,
    "requests": [{"prompt": 60, "out": 12}],
}


def faults(document: object) -> list[tuple[str | None, str]]:
    """The places and messages of what is wrong with a document."""
    with pytest.raises(SerqError) as caught:
        parse(document, where="s")
    return [(one.where, one.message) for one in caught.value.diagnostics]


def test_defaults() -> None:
    """What a scenario leaves out is: no cap, no cache, first come first served, arrival 0."""
    found = parse(SMALL, "small")
    assert found == Scenario("small", 16, 10, 32, 8, (Session((Turn(60, 12),)),))
    assert (found.chunk, found.prefix_caching, found.policy) == (0, False, "fcfs")


def test_the_null_block_is_not_handed_out() -> None:
    """The blocks count vLLM's null block, so one fewer can hold tokens."""
    assert parse(SMALL).units == 9 * 16


def test_requests_are_numbered_first_then_sessions_turn_by_turn() -> None:
    """Requests are numbered from 0: the single ones, then session by session, turn by turn."""
    turns = [{"prompt": 4, "out": 2}, {"prompt": 8, "out": 1, "prefix": 6}]
    document = SMALL | {"sessions": [{"turns": turns}, {"turns": turns[:1]}]}
    assert parse(document).requests == ((0, 0), (1, 0), (1, 1), (2, 0))
    assert parse(document).turn(2) == Turn(8, 1, 0, 6)


def test_all_faults_are_told_at_once_with_their_places() -> None:
    """Every fault of a scenario is named with its place, not only the first."""
    document = SMALL | {
        "budget": 0,
        "policy": "lottery",
        "colour": "red",
        "requests": [{"prompt": 1.5, "out": 1}, {"out": 1}],
    }
    assert faults(document) == [
        ("s", "unknown field `colour`"),
        ("s: budget", "0 is not between 1 and 1000000"),
        ("s: requests[0].prompt", "a whole number is expected here"),
        ("s: requests[1]", "the field `prompt` is missing"),
        ("s: policy", "unknown policy `lottery`"),
    ]


@pytest.mark.parametrize(
    ("change", "message"),
    [
        ({"requests": []}, "a scenario has a request or a session at least"),
        ({"requests": [], "sessions": [{"turns": []}]}, "a session has a turn at least"),
        ({"budget": True}, "a whole number is expected here"),
        ({"prefix_caching": 1}, "true or false is expected here"),
        ({"adaptive": True}, "an adaptive cap is at least `chunk`, and that is 0, no cap"),
        ({"gap": 2}, "a gap is between the sessions of a trace, and there is none"),
        ({"trace": "x.csv"}, "a scenario has a trace or requests and sessions, not both"),
        ({"num_blocks": 4}, "it needs 5 blocks of the 3 there are, so it would never end"),
    ],
)
def test_what_is_refused(change: dict[str, Any], message: str) -> None:
    """A scenario that means nothing, or that vLLM would never end, is refused."""
    assert message in [text for _, text in faults(SMALL | change)]


def test_the_last_token_needs_no_room() -> None:
    """A request fits when all its tokens but the last, which is never computed, fit."""
    parse(SMALL | {"requests": [{"prompt": 140, "out": 5}]})
    assert faults(SMALL | {"requests": [{"prompt": 140, "out": 6}]})


def test_a_prefix_is_at_most_the_turn_before() -> None:
    """A turn shares no more tokens than the turn before had, prompt and output."""
    first = {"prompt": 4, "out": 2}
    parse(
        SMALL
        | {"requests": [], "sessions": [{"turns": [first, {**first, "prompt": 9, "prefix": 6}]}]}
    )
    for turns in ([first, {**first, "prefix": 7}], [{**first, "prefix": 1}]):
        found = faults(SMALL | {"requests": [], "sessions": [{"turns": turns}]})
        assert "but the turn before has" in found[0][1]


def test_a_trace_becomes_sessions(tmp_path: Path) -> None:
    """A row of a trace is a turn that shares the prompt before it, or nothing when forced."""
    (tmp_path / "t.csv").write_text(
        "session,turn,new,out,think,forced\n0,1,20,3,2,0\n0,2,30,1,9,0\n0,3,40,2,1,1\n1,1,8,2,5,0\n"
    )
    document = {k: v for k, v in SMALL.items() if k != "requests"} | {"trace": "t.csv", "gap": 7}
    (tmp_path / "s.json").write_text(json.dumps(document))
    found = load(tmp_path / "s.json")
    assert found.sessions == (
        Session((Turn(20, 3, 2), Turn(30, 1, 9, 20), Turn(40, 2)), 0),
        Session((Turn(8, 2),), 7),
    )
    assert found.name == "s"


def test_a_trace_has_whole_numbers(tmp_path: Path) -> None:
    """A trace whose lengths are no token counts is refused, with the session and turn."""
    (tmp_path / "t.csv").write_text("0,1,20.5,3,2,0\n")
    document = {k: v for k, v in SMALL.items() if k != "requests"} | {"trace": "t.csv"}
    with pytest.raises(SerqError, match=r"session 0, turn 0: new and out are whole numbers"):
        parse(document, base=tmp_path)


def test_files_that_are_no_scenario(tmp_path: Path) -> None:
    """A missing file and one that is not JSON are errors with the file's name."""
    with pytest.raises(SerqError, match=r"gone\.json"):
        load(tmp_path / "gone.json")
    (tmp_path / "bad.json").write_text("{")
    with pytest.raises(SerqError, match=r"bad\.json.*not JSON"):
        load(tmp_path / "bad.json")


def test_the_format_in_the_documentation() -> None:
    """The example of the documentation is a scenario, and each field has its row."""
    text = (places.root() / "oracle" / "README.md").read_text(encoding="utf-8")
    example = text.split("```json\n")[1].split("```")[0]
    assert parse(json.loads(example)).chunk == 24
    for name in ("block_size", "num_blocks", "budget", "max_seqs", "chunk", "adaptive"):
        assert f"| `{name}` |" in text


@pytest.mark.parametrize("path", places.scenarios(), ids=lambda path: path.stem)
def test_scenarios_say_what_they_are_for(path: Path) -> None:
    """Every scenario that comes with serQ says in a sentence what it is there for."""
    found = load(path)
    assert found.about.endswith(".")
    if found.trace is None:
        assert path.read_text(encoding="utf-8") == found.to_text()


def test_written_scenarios_read_back() -> None:
    """A scenario written as a file is the same scenario when read."""
    for number in range(40):
        one = generate.scenario(5, number)
        assert parse(json.loads(one.to_text()), one.name) == one


def test_random_scenarios_repeat_and_vary() -> None:
    """A stream and a number give one scenario; policies, caching and reuse all occur."""
    some = [generate.scenario(1, number) for number in range(60)]
    assert some == [generate.scenario(1, number) for number in range(60)]
    assert some != [generate.scenario(2, number) for number in range(60)]
    assert {(one.policy, one.prefix_caching) for one in some} == {
        (policy, cache) for policy in ("fcfs", "priority") for cache in (False, True)
    }
    assert any(turn.prefix for one in some for s in one.sessions for turn in s.turns)
    assert {
        one.policy for one in map(lambda n: generate.scenario(1, n, policy="fcfs"), range(9))
    } == {"fcfs"}
