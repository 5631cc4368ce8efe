"""Almost well-formed programs: a good text with a few words changed."""

from __future__ import annotations

import re
from collections.abc import Callable
from typing import Any

from hypothesis import strategies as st

from serq.fuzz.case import RandomProgram
from serq.fuzz.fragment import fragment_programs
from serq.fuzz.programs import programs
from serq.fuzz.stations import station_programs

_TOKEN = re.compile(r"\s+|//[^\n]*|\"[^\"\n]*\"|[A-Za-z_]\w*|[0-9][\w.]*|<=|>=|==|!=|&&|\|\||\S")

NAMES = [
    "n", "o", "c", "v0", "v1", "t0", "hit", "kept", "known", "reused", "prompt", "ctx", "serial",
    "turn_no", "cached", "computed", "now", "waited", "present", "decoding", "admission",
    "position", "remaining", "size", "age", "last", "waiting", "inf", "j", "tokens", "residents",
    "s0", "s1", "p0", "p1", "kv", "reqs", "e", "f0", "f1", "link", "D", "P", "self", "new", "more",
]  # fmt: skip
NUMBERS = ["0", "1", "2", "3", "0.5", "7", "100", "1e9", "1.5", "4.25"]
SIGNS = ["+", "-", "*", "/", "<", "<=", ">", ">=", "==", "!=", "&&", "||", "^"]
CALLS = ["used(kv)", "used(p0)", "queue(s0)", "work(s0)", "cachedin(kv)", "cachedin(p0)",
         "budget_left(e)", "~exp(1)", "~det(1)", "~bernoulli(0.5)", "est_wait(s0)", "now",
         "running.count", "batch.tokens", "waited", "o", "hit", "computed", "cached",
         "blocksize(kv)", "(1 - 1)", "-1", "0", "inf", "total(response)"]  # fmt: skip
WORDS = [
    "n", "o", "c", "serial", "cached", "computed", "now", "inf", "present", "decoding", "waited",
    "s0", "s1", "p0", "kv", "reqs", "e", "g", "v0", "t0", "tool", "turn", "end", "join", "cost",
    "used", "queue", "set", "run", "hold", "cache", "reserve", "growing", "prefill", "decode",
    "min", "floor", "exp", "stage", "pool", "hidden", "x", "0", "1", "2", "0.5", "7", "-1", "1e9",
    "batch.tokens", "running.count", "budget_left", "cachedin", "work", "(", ")", "{", "}", ";",
    ",", "=", "+", "-", "*", "/", "<", "?", ":", "~", "!", "[", "]", ".", "\"", "@", "é",
]  # fmt: skip
"""What a word may be replaced by; the first is what a case shrinks to."""


@st.composite
def broken_programs(draw: Callable[[Any], Any]) -> RandomProgram:
    """A well-formed program with one to three changes, which most often break it."""
    case: RandomProgram = draw(st.one_of(programs(), fragment_programs(), station_programs()))
    text = case.text
    for _ in range(draw(st.sampled_from([1, 1, 1, 2, 3]))):
        text = _changed(draw, text)
    return RandomProgram(text, case.horizon, case.warmup, case.seed, case.arrivals, case.trace)


def _changed(draw: Callable[[Any], Any], text: str) -> str:
    kind = draw(
        st.sampled_from(["alike", "alike", "alike", "alike", "call", "call", "line out", "line in",
                         "line moved", "line moved", "replace", "delete", "borrow", "swap",
                         "double", "cut"])
    )  # fmt: skip
    if kind.startswith("line"):
        return _changed_lines(draw, text, kind)
    if kind == "cut":
        return text[: draw(st.integers(0, len(text)))]
    tokens = _TOKEN.findall(text)
    words = [i for i, token in enumerate(tokens) if not token.isspace()]
    if not words:
        return text
    i = draw(st.sampled_from(words))
    if kind in ("alike", "call"):
        _change_alike(draw, tokens, words, kind)
    elif kind == "replace":
        tokens[i] = draw(st.sampled_from(WORDS))
    elif kind == "delete":
        tokens[i] = ""
    elif kind == "borrow":  # a word of the program's own in another place
        tokens[i] = tokens[draw(st.sampled_from(words))]
    elif kind == "double":
        tokens[i] += " " + tokens[i]
    else:
        j = draw(st.sampled_from(words))
        tokens[i], tokens[j] = tokens[j], tokens[i]
    return "".join(tokens)


def _change_alike(
    draw: Callable[[Any], Any], tokens: list[str], words: list[int], kind: str
) -> None:
    """A name for a name, a number for a number, a sign for a sign, a call for a value."""
    names = [i for i in words if tokens[i][0].isalpha()]
    numbers = [i for i in words if tokens[i][0].isdigit()]
    signs = [i for i in words if tokens[i] in SIGNS]
    if kind == "call":
        values = numbers + [i for i in names if tokens[i] in NAMES]
        if values:
            tokens[draw(st.sampled_from(values))] = draw(st.sampled_from(CALLS))
        return
    groups = [
        (group, options)
        for group, options in ((names, NAMES), (numbers, NUMBERS), (signs, SIGNS))
        if group
    ]
    group, options = draw(st.sampled_from(groups)) if groups else ([0], WORDS)
    i = draw(st.sampled_from(group))
    own = [tokens[j] for j in group]
    tokens[i] = draw(st.one_of(st.sampled_from(options), st.sampled_from(own)))


def _changed_lines(draw: Callable[[Any], Any], text: str, kind: str) -> str:
    lines = text.split("\n")
    i = draw(st.integers(0, len(lines) - 1))
    if kind == "line out":
        del lines[i]
    elif kind == "line in":
        lines.insert(draw(st.integers(0, len(lines))), lines[i])
    else:
        line = lines.pop(i)
        lines.insert(draw(st.integers(0, len(lines))), line)
    return "\n".join(lines)
