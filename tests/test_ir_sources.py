"""The rules that follow a program's flow, on programs as they are written.

The reference build applies these rules (hidden, lints, an `end` in a hold) to a program's text
only, not to a document; here both are given the same text.
"""

from __future__ import annotations

from random import Random

import peer
import pytest
from ir_sources import DECLARATIONS, program

from serq.diagnostics import SerqError, Source
from serq.ir.validate import validate
from serq.link import compile_text
from serq.settings import Settings

RUN = "run svc (cost(svc, 1)); "
SHOW = "run svc (cost(svc, h)); "
OF_D = "run svc (cost(svc, d)); "
DECIDE = "branch (h == 1) {} "
D_IS = "branch (d == 1) {} "
STALE = "set u = used(kv); "
BY_U = "hold kw (cost(kw, u)) {} "

CACHE = " cache (cost(kw, 1))"
HOLD = "hold kw (cost(kw, 1)) { "
INNER = "hold pp (cost(pp, 1)) {} "

# (statements of the server, whether they are a program)
SERVERS = [
    (DECIDE, False),
    (SHOW + DECIDE, True),
    ("set d = h; " + SHOW + D_IS, True),
    ("set d = h; " + D_IS, False),
    ("set d = h; run svc (cost(svc, d)); " + DECIDE, True),
    ("set d = h; set d = 1; " + D_IS, True),
    ("set d = h; set e = d; branch (e == 1) {}", False),
    ("set d = h + g; " + SHOW + D_IS, False),
    ("set d = h + g; " + SHOW + "run svc (cost(svc, g)); " + D_IS, True),
    ("branch (a == 1) { set d = h; } run svc (cost(svc, d)); " + DECIDE, False),
    ("branch (a == 1) { set d = h; } else { set d = h + 1; } " + OF_D + DECIDE, True),
    ("branch (a == 1) { " + SHOW + "} " + DECIDE, False),
    ("branch (a == 1) { " + SHOW + "} else { " + SHOW + "} " + DECIDE, True),
    ("branch (a == 1) { " + SHOW + "} else { end; } " + DECIDE, False),
    ("while (a == 1) { " + SHOW + "} " + DECIDE, False),
    ("while (a == 1) { " + SHOW + DECIDE + "}", True),
    ("loop { " + D_IS + RUN + "set d = h; }", False),
    ("loop { " + D_IS + SHOW + "set d = h; }", False),
    ("fork { " + SHOW + "} join; " + DECIDE, False),
    ("fork { set d = h; } join; " + D_IS, True),
    ("run svc (cost(svc, a > 1 ? h : 1)); " + DECIDE, False),
    ("run svc (cost(svc, a > 1 ? h : h)); " + DECIDE, True),
    ("run svc (cost(svc, a && h)); " + DECIDE, False),
    ("run svc (cost(svc, h && a)); " + DECIDE, True),
    ("run svc (cost(svc, queue(q[h]))); " + DECIDE, True),
    ("run q[a] (cost(q[h], a)); " + DECIDE, False),
    ("set z = used(fam[h]); branch (z == 1) {}", False),
    ("choose d in 2 by (h); ", False),
    ("choose j in h by (j); ", False),
    ("drop fam[h]; observe o = queue(q[h]); ", True),
    ("hold kw (cost(kw, 1)) {} lease kw (h)", False),
    ("hold kw (cost(kw, 1)) { " + SHOW + "} lease kw (h)", False),
    (SHOW + "hold kw (cost(kw, 1)) {} lease kw (h)", True),
    ("hold kw (cost(kw, 1)) { " + RUN + "} cache (cost(kw, h)) " + DECIDE, False),
    ("hold kw (cost(kw, h)) {}", False),
    (SHOW + "hold kw (cost(kw, h)) {}", False),
    ("set e = h; " + SHOW + "hold kw (cost(kw, e)) {}", True),
    (STALE + BY_U, False),
    (STALE + RUN + BY_U, False),
    (STALE + "set u = 1; " + BY_U, True),
    (STALE + "branch (a == 1) { set u = 1; } else { set u = 2; } " + BY_U, False),
    ("branch (a == 1) { " + STALE + "} " + BY_U, True),
    ("branch (a == 1) { " + STALE + "} else { " + STALE + "} " + BY_U, True),
    ("hold pp (cost(pp, 1)) { " + STALE + BY_U + "}", False),
    (STALE + "hold pp (cost(pp, 1)) { " + BY_U + "}", True),
    (STALE + "fork { " + BY_U + "} join; ", False),
    ("loop { " + BY_U + RUN + STALE + "}", True),
    (STALE + "set v = u + 1; hold kw (cost(kw, v)) {}", True),
    (STALE + "hold fam[u] (cost(fam, 1)) {}", True),
    (STALE + "hold kw (cost(kw, 1)) {} cache (cost(kw, u))", False),
    ("set u = now; " + BY_U, True),
    ("set u = 0 && used(kv); " + BY_U, False),
    ("set u = cost(kw, used(kv)); hold kw (u) {}", False),
    ("hold kw (cost(kw, 1)) { set c = cached; }", False),
    ("hold kw (cost(kw, 1)) { set c = cached; } cache (cost(kw, 0))", True),
    ("hold kw (cost(kw, 1)) reuse (cost(kw, 1)) {}", False),
    ("hold kw (cost(kw, cached)) {}", True),
    ("hold kw (cost(kw, 1)) { hold pp (cost(pp, cached)) {} }", False),
    (HOLD + "hold pp (cost(pp, 1)) { set c = cached; } cache (cost(pp, 1)) }", True),
    (HOLD + INNER + "set c = cached; }" + CACHE, False),
    ("hold kw (cost(kw, 1)) { fork { set c = cached; } join; }", True),
    ("hold kw (cost(kw, 1)) { run q[cached] (cost(q, 1)); }", True),
    (HOLD + "while (a == 1) { set c = cached; " + INNER + RUN + "} }" + CACHE, False),
    ("hold kw (cost(kw, 1)) { end; }", False),
    ("branch (a == 1) { end; } ", True),
    ("branch (2) {}", False),
    ("while (0.5) { " + RUN + "}", False),
    ("branch (1 - 1) {}", True),
    ("branch (a ? 2 : 3) {}", True),
]


def source(server: str, session: str = "") -> str:
    return (
        f"fn main() {{ {DECLARATIONS} workload {{ arrive poisson(1); init {{ set n = 3; set h = 2; "
        f"set g = 1; }} hidden h, g; {session} }} server {{ set a = 1; {server} "
        "run A, B (cost(A, B, 1)); } }"
    )


def accepts(text: str) -> bool:
    """Whether a program links and breaks no rule."""
    try:
        return not validate(
            compile_text(Source("p", text), settings=Settings(horizon=100.0)).program
        )
    except SerqError:
        return False


def reference_accepts(text: str) -> bool:
    try:
        peer.compile(source=text, horizon=100)
    except peer.Refused:
        return False
    return True


@pytest.mark.parametrize(("server", "good"), SERVERS)
def test_servers(server, good):
    """A server that decides, admits and ends by the rules is a program, and another is none."""
    assert accepts(source(server)) == good


@peer.needs_peer
@pytest.mark.parametrize(("server", "good"), SERVERS)
def test_the_reference_agrees_on_servers(server, good):
    """The reference build accepts and refuses the same servers."""
    assert reference_accepts(source(server)) == good


@pytest.mark.parametrize(
    ("server", "session", "good"),
    [
        (SHOW + DECIDE, "session { turn; set h = 4; turn; }", True),
        (RUN + DECIDE, "session { tool (h); turn; }", False),
        (RUN + "branch (e == 1) {} set e = h; ", "session { turn; turn; }", True),
        (BY_U + STALE, "session { turn; turn; }", False),
        ("set c = cached; ", "session { hold my (cost(my, 1)) { turn; } }", False),
        (
            "set c = cached; ",
            "session { hold my (cost(my, 1)) { turn; } cache (cost(my, 1)) }",
            True,
        ),
        ("branch (a == 1) { end; } ", "session { hold my (cost(my, 1)) { turn; } }", True),
        (RUN, "session { branch (h == 1) {} turn; while (h == 1) { turn; } }", True),
    ],
)
def test_servers_and_sessions(server, session, good):
    """Each turn's server starts with nothing revealed; the client's statements are free."""
    text = source(server, session)
    assert accepts(text) == good
    if peer.AVAILABLE:
        assert reference_accepts(text) == good


@peer.needs_peer
def test_random_servers():
    """Random servers, most with a fault or two, are accepted exactly when the reference accepts."""
    random, accepted = Random(20), 0
    for _ in range(120):
        text = program(random)
        ours = accepts(text)
        assert ours == reference_accepts(text), text
        accepted += ours
    assert 20 < accepted < 100  # the test tells little when nearly all go one way
