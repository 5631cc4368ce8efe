"""Comparing answers: the first step that differs, the state there, the preconditions."""

from __future__ import annotations

import json
from dataclasses import replace
from pathlib import Path

import pytest

from serq.diagnostics import SerqError
from serq.oracle import answer as answers
from serq.oracle import correspondence, preconditions
from serq.oracle.answer import Answer, Request, Step
from serq.oracle.check import Verdict, compare, third
from serq.oracle.compare import Running, first_difference, state_at
from serq.oracle.scenario import Scenario, Session, Turn, parse
from serq.oracle.shrink import candidates, shrink

# Two requests on three blocks of four tokens: #1 waits for #0's end.
SCENARIO = Scenario("two", 4, 4, 8, 2, (Session((Turn(6, 2),)), Session((Turn(5, 2),), arrive=1)))
ANSWER = Answer(
    "vllm",
    "0.31.0",
    (Request(0, 0, 0, 1, 2, (0,), 0), Request(1, 0, 1, 3, 4, (0,), 0)),
    (
        Step(1, ((0, 6),), ((0, 0),), (), 1),
        Step(2, ((0, 1),), (), (), 1),
        Step(3, ((1, 5),), ((1, 0),), (), 1),
        Step(4, ((1, 1),), (), (), 1),
    ),
)


def changed(number: int, **fields: object) -> Answer:
    """The answer with one of its steps changed."""
    steps = list(ANSWER.steps)
    steps[number] = replace(steps[number], **fields)  # type: ignore[arg-type]
    return replace(ANSWER, steps=tuple(steps))


def test_equal_answers_do_not_differ() -> None:
    """An answer does not differ from itself, whichever side made it."""
    assert first_difference(ANSWER, replace(ANSWER, scheduler="serq", version="")) is None


@pytest.mark.parametrize(
    ("number", "fields", "words"),
    [
        (2, {"tokens": ((1, 4),)}, "step 3: tokens per request"),
        (1, {"free": 2}, "step 2: free blocks"),
        (3, {"preempted": (1,)}, "step 4: preempted requests"),
        (2, {"admitted": ((1, 4),)}, "step 3: admissions (request, cached tokens)"),
        (0, {"tokens": ()}, "step 1: tokens per request"),
    ],
)
def test_every_field_of_a_step_counts(number: int, fields: dict[str, object], words: str) -> None:
    """Tokens, admissions, preemptions and free blocks each make a step differ."""
    found = first_difference(changed(number, **fields), ANSWER)
    assert found is not None and found.sentence() == words


def test_the_first_step_that_differs_is_named() -> None:
    """Of several steps that differ the first is named, whatever follows."""
    ours = replace(changed(3, free=7), steps=changed(3, free=7).steps[:1] + ANSWER.steps[2:])
    found = first_difference(ours, ANSWER)
    assert found is not None
    assert (found.step, found.left, found.right) == (2, (), ((0, 1),))


def test_serving_order_counts() -> None:
    """Two requests served in another order are a difference."""
    both = changed(1, tokens=((0, 1), (1, 2)))
    found = first_difference(changed(1, tokens=((1, 2), (0, 1))), both)
    assert found is not None and found.step == 2


def test_a_step_of_one_side_alone() -> None:
    """A step in which one side was idle differs from what the other did."""
    longer = replace(ANSWER, steps=(*ANSWER.steps, Step(9, ((1, 1),), (), (), 3)))
    found = first_difference(ANSWER, longer)
    assert found is not None and (found.step, found.left) == (9, ())


def test_times_are_compared_when_all_steps_agree() -> None:
    """First and last token, the step sent and cached tokens are compared too."""
    late = replace(ANSWER.requests[1], done=5)
    found = first_difference(replace(ANSWER, requests=(ANSWER.requests[0], late)), ANSWER)
    assert found is not None
    assert (found.step, found.request, found.field) == (None, 1, "last-token step")
    stuck = first_difference(replace(ANSWER, stuck=4), ANSWER)
    assert stuck is not None and "stuck" in stuck.sentence()


def test_the_state_before_a_step() -> None:
    """The state before a step has who runs, with the tokens computed and known, and who waits."""
    state = state_at(SCENARIO, ANSWER, 2)
    assert state.running == (Running(0, 6, 7),)
    assert state.waiting == (1,)
    assert state.step == ANSWER.steps[1]
    state = state_at(SCENARIO, ANSWER, 4)
    assert (state.running, state.waiting) == ((Running(1, 5, 6),), ())


def test_the_waiting_line_follows_the_policy() -> None:
    """Waiting requests stand by the policy: the preempted first, or by priority and arrival."""
    sessions = tuple(Session((Turn(4, 2),), 0, priority) for priority in (2, 0, 1))
    steps = (
        Step(1, ((0, 4), (1, 4), (2, 4)), ((0, 0), (1, 0), (2, 0)), (), 0),
        Step(2, (), (), (2, 1), 2),
    )
    requests = tuple(Request(s, 0, 0, 1, None, (0,), 0) for s in range(3))
    there = Answer("vllm", "0.31.0", requests, steps)
    fcfs = Scenario("s", 4, 4, 16, 3, sessions)
    assert state_at(fcfs, there, 3).waiting == (1, 2)
    assert state_at(replace(fcfs, policy="priority"), there, 1).waiting == (1, 2, 0)


# --- outcomes -------------------------------------------------------------------------------------


def test_a_difference_is_a_failure() -> None:
    """A difference with no broken precondition before it is a fault."""
    outcome = compare(SCENARIO, lambda _: changed(1, free=0), lambda _: ANSWER)
    assert outcome.verdict is Verdict.DIFFERS and outcome.failed


def test_a_program_that_fails_is_an_outcome() -> None:
    """A program that stops with an error fails the scenario, with its message."""

    def broken(_: Scenario) -> Answer:
        raise SerqError.of("run", "a loop without end")

    outcome = compare(SCENARIO, broken, lambda _: ANSWER)
    assert outcome.verdict is Verdict.ERROR and outcome.failed
    assert "a loop without end" in str(outcome.error)


def test_lean_must_do_what_the_program_does() -> None:
    """Lean is equal to both, or does as the program, or it is a failure."""
    equal = compare(SCENARIO, lambda _: ANSWER, lambda _: ANSWER)
    assert third(equal, ANSWER).words == "equal"
    other = third(equal, changed(2, free=0))
    assert other.failed and other.words == "differs, step 3: free blocks"
    assert not third(equal, "not in the fragment: a draw").failed
    parted = compare(SCENARIO, lambda _: changed(1, free=0), lambda _: ANSWER)
    assert third(parted, changed(1, free=0)).words == "as the program"


CACHED = replace(SCENARIO, prefix_caching=True, policy="priority")


def outside(scenario: Scenario, theirs: Answer, step: int) -> str | None:
    """The precondition broken before a difference in ``step``, by name."""
    ours = replace(
        theirs,
        steps=tuple(replace(one, free=99) if one.step == step else one for one in theirs.steps),
    )
    outcome = compare(scenario, lambda _: ours, lambda _: theirs)
    assert outcome.failed is (outcome.precondition is None)
    return outcome.precondition.name if outcome.precondition else None


def test_served_victim() -> None:
    """A victim that its step had served excuses later differences, with the cache only."""
    theirs = changed(1, preempted=(0,), withdrawn=(0,))
    assert outside(CACHED, theirs, 3) == "served-victim"
    assert outside(CACHED, theirs, 2) is None
    assert outside(replace(CACHED, prefix_caching=False), theirs, 3) is None


def test_repeated_block() -> None:
    """A prompt that ends with a whole shared block excuses what follows its prefill."""
    turns = (Turn(6, 2), Turn(4, 2, 0, 4))
    scenario = replace(SCENARIO, sessions=(Session(turns),), prefix_caching=True)
    theirs = replace(
        ANSWER, requests=(ANSWER.requests[0], replace(ANSWER.requests[1], session=0, turn=1))
    )
    assert outside(scenario, theirs, 4) == "repeated-block"
    assert outside(scenario, theirs, 3) is None
    longer = replace(scenario, sessions=(Session((turns[0], Turn(5, 2, 0, 5))),))
    assert outside(longer, theirs, 4) is None


def test_cap_of_one() -> None:
    """Before 0.31.0 a cap excuses differences once one request was alone, later never."""
    capped = replace(SCENARIO, chunk=2)
    old = replace(ANSWER, version="0.30.0")
    assert outside(capped, old, 1) == "cap-of-one"
    assert outside(capped, ANSWER, 1) is None
    assert outside(SCENARIO, old, 1) is None
    together = replace(old, requests=tuple(replace(r, sent=0, done=4) for r in old.requests))
    assert outside(capped, together, 3) is None


def test_preconditions_are_in_the_correspondence() -> None:
    """Each precondition the command names has its cause, with lines, in the correspondence."""
    named = {one.name for one in preconditions.ALL}
    assert named == {rule.name for rule in correspondence.load().left_out}


# --- records and shrinking ------------------------------------------------------------------------


def test_answers_read_back() -> None:
    """A recorded answer is the answer that was recorded."""
    one = changed(1, withdrawn=(0,), preempted=(0,))
    assert answers.from_json(json.loads(answers.to_text(one, "two"))) == one


def test_unreadable_records(tmp_path: Path) -> None:
    """A missing, broken or older record is an error that says how to make one."""
    with pytest.raises(SerqError, match="no recorded answer"):
        answers.load(tmp_path / "gone.json")
    for text in ("{", '{"format": 1}', "[]"):
        (tmp_path / "a.json").write_text(text)
        with pytest.raises(SerqError):
            answers.load(tmp_path / "a.json")
    (tmp_path / "a.json").write_text('{"format": 0}')
    with pytest.raises(SerqError, match="serq oracle --record"):
        answers.load(tmp_path / "a.json")


def possible(one: Scenario) -> bool:
    """Whether a scenario is one that may be written in a file."""
    try:
        parse(one.to_json())
    except SerqError:
        return False
    return True


def test_shrinking_keeps_what_differs() -> None:
    """Shrinking ends at a scenario that still differs and none of whose candidates does."""

    def differs(one: Scenario) -> bool:
        return any(turn.out >= 3 for s in one.sessions for turn in s.turns) and one.budget > 1

    large = replace(
        SCENARIO,
        chunk=3,
        prefix_caching=True,
        policy="priority",
        num_blocks=60,
        sessions=tuple(Session((Turn(9, 8, 2), Turn(20, 5, 0, 9)), s, s) for s in range(6)),
    )
    small = shrink(large, differs)
    assert small.sessions == (Session((Turn(1, 3),)),)
    assert (small.chunk, small.prefix_caching, small.policy) == (0, False, "fcfs")
    assert (small.num_blocks, small.budget) == (2, 2)
    assert not any(differs(one) and possible(one) for one in candidates(small))


def test_shrinking_stops_in_time() -> None:
    """Shrinking tries no more scenarios than it may."""
    tried = []

    def differs(one: Scenario) -> bool:
        tried.append(one)
        return True

    shrink(SCENARIO, differs, tries=4)
    assert len(tried) == 4
