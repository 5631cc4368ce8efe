"""Small programs that link: nothing of the language is refused by mistake.

Each is one use of one rule; the IR is the reference build's.
"""

from __future__ import annotations

import peer
import pytest
from link_programs import (
    BASE,
    READER,
    SOURCE,
    client,
    declared,
    engine,
    entry,
    queues,
    request,
    served,
)

from serq.diagnostics import Source
from serq.ir.codec import to_json
from serq.link import compile_text
from serq.settings import Settings

CAPS = "advance running each at most (%s); admit waiting each at most (%s);"
HOLD = "hold kv (cost(kv, %s)) at admission (%s) { run svc (cost(svc, 1)); %s }"
LINKED = SOURCE + READER + "D pull P latency 1 share maxmin;"
SERVED = "P.prefill (n); D.decode (n) from P;"


def hold(units: str, bindings: str, body: str = "") -> str:
    return served(HOLD % (units, bindings, body))


EXPRESSIONS = [
    "1", ".5", "5.", "1_000", "1e3", "1E+3", "1.5e-3", "inf", "-inf", "0 / 0", "1 / 0", "- -n",
    "!n", "!!n", "-n ^ 2", "(-n) ^ 2", "2 ^ -1", "2 ^ 3 ^ 2", "n + 1 * 2 - 3 / 4",
    "n > 1 ? 2 : 3", "n > 1 ? n > 2 ? 1 : 2 : 3", "n && more || forced", "(1 < 2) == (2 < 3)",
    "n >= 1 && n <= 2 && n != 3 && n == 4", "min(n, 1)", "max(min(n, 1), 2)", "abs(-n)",
    "floor(n / 2) + ceil(n / 2)", "sqrt(n) + exp(n) + ln(n)", "pow(n, 2) + n ^ 2", "now", "serial",
    "turn_no", "cached", "computed", "new + out + think + more + forced", "queue(svc)",
    "busy(svc) + work(svc)", "est_lambda(svc) + est_rho(svc) + est_wait(svc)",
    "price(svc, n, n + 1)", "used(kv)", "free(kv[0])", "cachedin(m[1])", "holders(m[n - 5])",
    "queued(m[1 - 1])", "blocksize(kv)", "cost(kv, 1)", "cost(m, kv, svc, n)", "cost(m[n], 1)",
    "2 * cost(kv, n) / 3", "min(cost(kv, 1), cost(kv, 2))", "-cost(kv, n)",
    "cost(kv, 1) > cost(kv, 2)", "n > 1 ? cost(kv, 1) : cost(kv, 2)", "~exp(n)",
    "~det(1) + ~uniform(1, 2) + ~erlang(2, 1) + ~h2(1, 2) + ~bernoulli(1 / 2)",
    "max j in 3 (j)", "min j in 2 (used(m[j]))", "sum i in 2 (sum j in (i + 1) (i * j))",
    "max j in 1 (j)", "max j in 2 (max j in 2 (j))", "used(m[max(0, 1)])", "used(m[1 > 0 ? 1 : n])",
]  # fmt: skip

STATEMENTS = [
    "set a = 1; set b = a; set a = b;",
    "set min = 1; set z = min + min(min, 2);",
    "set hold = 1; set server = hold;",
    "set b = a; set a = 1;",
    "observe o = 1; observe o = 2; observe p = n > 1;",
    "choose j in 2 by (j); choose j in n by (used(m[0]), -j);",
    "choose j in 0 by (1);",
    "branch (1) { } branch (0) { set a = 1; } else { }",
    "branch with (n / 10) { set a = 1; } else { set b = 2; }",
    "while (n < 3) { run svc (cost(svc, 1)); }",
    "loop { run svc (cost(svc, 1)); end; }",
    "fork { } join;",
    "fork { set a = 1; run svc (cost(svc, a)); } fork { } join;",
    "end;",
    "drop kv; drop m[1];",
    "hold kv (cost(kv, 1)) { };",
    "hold kv (cost(kv, 1)) { hold m[0] (cost(m, 1)), m[1] (cost(m, 1)) { } }",
    "hold kv (cost(kv, 1)) { grow kv (cost(kv, n)); load kv (cost(kv, 1)); release kv; }",
    "hold kv (cost(kv, 1)) reserve (cost(kv, n)) reuse (cost(kv, 0)) { } cache (cost(kv, 2))",
    "hold kv (cost(kv, 1)) { } cache (cost(kv, now)) lease kv (inf) release kv;",
    "hold m[n - 5] (cost(m, 1)) { grow m[n - 5] (cost(m, 1)); }",
    "hold m[1] (cost(m, 1)) { grow m[2 - 1] (cost(m, 1)); }",
    "Cost c = cost(kv, n); hold kv (c) { grow kv (c); }",
    "Cost c = { kv : n, svc : 2 }; hold kv (c.kv) { run svc (c.svc); }",
    "Cost c = { m : 1 }; branch (n > 1) { Cost c = { m : 2 }; } hold m[0] (c.m) { }",
    "tool on svc (3); tool on svc n * 2;",
    "run svc (cost(svc, 0)); run svc (cost(svc, inf));",
]

SESSIONS = [
    "turn; turn;",
    "while (more) { turn; }",
    "loop { turn; branch (more) { } else { end; } }",
    "end;",
    "tool 1; tool (n2); Size n2 = 3; run tool (cost(tool, 1));",
    "choose j in 2 by (j); set last_one = j;",
    "branch (0) { turn; }",
]

DECLARATIONS = [
    "pool a { } pool b { cap inf; } pool c { cap 0; } pool d { cap 0 - 3; }",
    "pool a { block inf; } pool b { block 1 / 2; cap 2 * 3; evict lru; queue fifo; preempt none; }",
    "pool a[2] { evict by (size, last, age, waiting, serial); }",
    "pool a { preempt by (position, decoding, admission, serial); queue by (waited, used(a)); }",
    "pool a { spill b via s (size) when (age > 1); } pool b[2] { } stage s[2] : delay;",
    "stage a : fifo(2 * 2); stage b : ps(present); stage c : ps(~exp(1) + now); stage d : ps(0);",
    "let a = 1; let b = a + 1; pool p[b] { } pool q[a + b] { } pool r[(b)] { }",
    "let c = max j in 3 (j) + sum k in 2 (k); pool p { cap c; }",
    "def f() { 1 } let a = f(); pool p { cap f(); }",
    "pool p { cap later; } let later = 3;",
    "gauge g = 1; gauge h = used(p[1]) + g2; pool p[2] { } let g2 = 2;",
    "claim c: at end (now > 1); claim d given (serial > 1): at end (1);",
    "def unused(x) { nowhere(x) + ~what(2) } def also() { run nowhere (1); }",
    "pool min { } stage fifo : fifo; gauge server = used(min) + queue(fifo);",
    "let exp = 2; let prefill = 3; pool pool { cap exp; }",
    "device d { c cap 3; f (x) = x; g () = f(1); } pool c on d { evict by (age); }",
    "device d[2] { c cap 3; } pool c on d { } gauge g = used(c[1]);",
]

WORKLOADS = [
    "",
    "arrive none;",
    "arrive poisson(1 / 3);",
    "arrive renewal(~exp(2));",
    "arrive renewal(1 + 2);",
    "arrive closed(1);",
    "arrive batch(1000000);",
    'trace "a b.csv"; arrive closed(3);',
    'trace "x.csv" ordered; hidden out, new;',
    "init { set a = 1; observe o = a; } turn { set a = a + 1; Size b = ~exp(a); }",
    "hidden a; turn { set a = 1; } session { while (a > 1) { turn; } turn; }",
]

DEFINITIONS = [
    served("set z = f(1, n);", above="def f(x, y) { x * y } " + BASE),
    served("set z = f(g(2));", above="def g(x) { x + 1 } def f(x) { x * x } " + BASE),
    served("set z = f(~exp(1));", above="def f(x) { x + 1 } " + BASE),
    served("set z = f(~exp(1));", above="def f(x) { max k in 2 (x) } " + BASE),
    served("f(kv); f(m[1]); f(m[n - 5]);", above="def f(p) { set z = used(p); } " + BASE),
    served("f(m, 1); f(m, 0);", above="def f(p, i) { set z = used(p[i]); } " + BASE),
    served("set z = f(kv, 3);", above="def f(p, x) { cost(p, x) } " + BASE),
    served("f(~exp(1));", above="def f(x) { set q = x; set w = 1; } " + BASE),
    served("set z = 1; f(z); f(z + n);", above="def f(x) { set q = x; } " + BASE),
    served("f(); f();", above="def f() { } " + BASE),
    served("g(2);", above="def f(x) { set a = x; } def g(x) { f(x); f(x + 1); } " + BASE),
    served("set z = max a in 3 (f());", above="def f() { a + 1 } " + BASE),
    served("set z = f(4);", above="def f(n) { n + n } " + BASE),
    served("set z = f(4);", above="let k = 1; def f(k) { k } " + BASE),
    served("set z = f(2);", above="def f(svc) { svc } " + BASE),
    served("set z = f(2);", above="def f(n) { sum j in n (j) } " + BASE),
    client("f(3);", above="def f(x) { tool x; turn; } " + BASE),
    declared("gauge g = f(p);", outside="def f(q) { used(q) }").replace(
        "stage svc", "pool p { } stage svc"
    ),
]

ADMISSIONS = [
    hold("a", "a = n"),
    hold("a", "a = n, unused = cachedin(kv)"),
    hold("a", "a = n", "set z = a;"),
    hold("b", "a = n, b = a + 1", "set z = b;"),
    hold("b", "a = n, b = a + 1", "set z = a + b;"),
    hold("a", "a = computed", "set z = a;"),
    hold("a", "a = budget + now", "").replace("stage svc", "let budget = 2; stage svc"),
    hold("a", "a = n", "hold m[0] (cost(m, a)) { set z = 1; }"),
    hold("a", "a = n", "hold m[0] (cost(m, a)) at admission (a = 1) { }"),
    hold("a", "a = n", "hold m[0] (cost(m, b)) at admission (b = a) { }"),
    served("hold kv (c) at admission (c = cost(kv, 2)) { } "),
    served("set z = max j in 2 (j); " + HOLD % ("j", "j = 3", "")),
]

ENGINES = [
    engine(),
    engine(tokens="inf", execute="batch.tokens + batch.attention"),
    engine(tokens="0 - running.count"),
    engine(items="granule inf;"),
    engine(items="granule 2 * 2;"),
    engine("advance running;"),
    engine("admit waiting;"),
    engine("admit waiting; advance running;"),
    engine("advance running admission; admit waiting;"),
    engine("advance running by (now, serial); admit waiting;"),
    engine("advance running; admit waiting while (!running.preempted);"),
    engine("advance running; admit waiting while (running.preempted < 1);"),
    engine(
        "advance running only (decoding); admit waiting only (decoding) while (!running.preempted);"
    ),
    engine("branch (running.count > 1) { } else { advance running; } admit waiting;"),
    engine("set r = r + 1; advance running;", items="state r = 0 - 2;"),
    engine("let r = 4; advance running each at most (r);", items="state q = 0;").replace(
        "state q = 0;", ""
    ),
    engine("let kv = 4; advance running each at most (kv);"),
    engine(CAPS % (("max(running.count, 3)",) * 2)),
    engine(CAPS % (("running.count > 1 ? 2 * 4 : inf",) * 2)),
    engine(CAPS % (("1 / 0",) * 2)),
    engine(CAPS % (("1 > 0 ? 4 : running.count",) * 2)),
    engine("exclusive prefill; admit waiting while (running.preempted == 0);"),
    engine(device="kv cap 1; f (t, u) = t + u + running.count;", execute="f(batch.tokens, now)"),
    engine(pools="pool kv on e.gpu { } pool reqs on e { reserve held; queue by (waited); }"),
    engine(server="run e decode (cost(e, n)); set z = budget_left(e) + work(e) + queue(e);"),
    engine(below="claim c: every iteration of e (tokens <= 16 && demand > 0); gauge g = busy(e);"),
]

REQUESTS = [
    request("prefill (prompt) growing kv; decode (output); cache (prompt);"),
    request("prefill (prompt);", taking=""),
    request("cache (1);", taking="taking kv (prompt) reserve (prompt + 1) reuse (1)"),
    request("set z = prompt; at admission { x = z; } set z = x;", taking="taking kv (x)"),
    request(
        "branch (prompt > 1) { set z = 1; } else { set z = 2; } at admission { }",
        taking="taking kv (z)",
    ),
    request("mark a; mark a;", server="e (n, o); set z = e.a;"),
    request("set y = now + cached + computed; cache (1);"),
    request("set y = queue(e) + used(kv) + budget_left(e);"),
    request("prefill (prompt);", server="e (n + 1, 2 * o); e (used(kv), now);"),
    request("prefill (prompt);", server="branch (n > 1) { e (n, o); } else { e (1, 2); }"),
    request("run svc (cost(svc, 1));", below="stage svc : fifo;"),
    request("fork { set q = 1; } join; at admission { } prefill (1);"),
    request("release kv; load kv (cost(kv, 0));"),
    request("prefill (new);", params="new, output", taking="taking reqs (1)"),
    request("prefill (reqs);", params="reqs, output", taking="taking kv (1)"),
]

QUEUES = [
    entry(""),
    entry("set z = prompt; mark m;", server="P.prefill (n); set z = P.z + P.m;"),
    entry("set z = o + cached + computed + now;"),
    entry("hold kv (cost(kv, prompt + used(kv) + queue(P))) { run (cost(P, o)); }"),
    entry("set z = self;", size="[2]", server="P[1].prefill (n); P[n - 5].prefill (n);"),
    entry("run s (cost(s, 1)); tool 2;", above="stage s : fifo; stage tool : delay;"),
    entry("run P.nic (cost(P.nic, 1));"),
    entry("set new = 1; set z = new;"),
    entry("set z = prompt;", server="set z = 1; P.prefill (z); P.prefill (P.z);"),
    entry("", server="P.prefill (n);", below="gauge kv = used(P.kv); stage reqs : fifo;"),
    entry("", params="kv"),
    entry("", server="run P (cost(P, 1)); run P.nic (cost(P.nic, 2));"),
    entry("", server=""),
    queues(LINKED, server=SERVED),
    queues(SOURCE + READER + "P push D share bottleneck;", server=SERVED),
    queues(
        "queue L : link { serve ps(1) latency 2; }"
        + SOURCE
        + READER.replace("transfer (", "transfer on L ("),
        server=SERVED,
    ),
    queues(
        "queue L : link { serve ps(1); transfer (x) { run (cost(L, x)); } }"
        + SOURCE
        + READER.replace("transfer (", "L.transfer ("),
        server=SERVED,
    ),
    queues(
        SOURCE + "queue gw : gateway { route { P.prefill (n); set p = n; } }",
        server="gw.route(); set z = p;",
    ),
    queues(
        "queue gw : gateway { pool s { } serve fifo;"
        " route { hold s (cost(s, 1)) { run (cost(gw, 1)); } } }",
        server="gw.route();",
    ),
]

TABLE = [
    *[served(f"set z = {expression};") for expression in EXPRESSIONS],
    *[served(statements) for statements in STATEMENTS],
    *[client(statements) for statements in SESSIONS],
    *[declared(declarations) for declarations in DECLARATIONS],
    *[served("", workload=workload) for workload in WORKLOADS],
    *DEFINITIONS,
    *ADMISSIONS,
    *ENGINES,
    *REQUESTS,
    *QUEUES,
]


def linked(program: str) -> str:
    return to_json(compile_text(Source("t.sq", program), settings=Settings(horizon=100.0)).program)


def test_the_table_is_large():
    """At least 150 accepted programs are in the table."""
    assert len(TABLE) >= 150


@pytest.mark.parametrize("program", TABLE, ids=range(len(TABLE)))
def test_accepted(program: str):
    """A program within the language links."""
    assert '"version": 13' in linked(program)


@peer.needs_peer
@pytest.mark.parametrize("program", TABLE, ids=range(len(TABLE)))
def test_the_reference_gives_the_same_ir(program: str):
    """The IR of every program of the table is the reference build's."""
    assert peer.first_difference(linked(program), peer.compile(program, horizon=100)) is None
