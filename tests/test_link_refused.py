"""Programs that do not link: for each the code, and the words under the caret.

Each program breaks one rule, so exactly one error is reported, and the reference build refuses it
too (except where the language says more than it checks: `STRICTER`).
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

from serq.diagnostics import SerqError, Source
from serq.link import compile_text
from serq.settings import Settings

HOLD = "hold kv (cost(kv, a)) at admission (%s) { run svc (cost(svc, 1)); %s }"
CAPS = "advance running each at most (%s); admit waiting each at most (%s);"


def hold(bindings: str, body: str = "") -> str:
    return served(HOLD % (bindings, body))


def capped(cap: str) -> str:
    return engine(CAPS % (cap, cap))


NAMES = [
    (served("set z = nn;"), "unknown-name", "nn"),
    (served("set z = serail;"), "unknown-name", "serail"),
    (served("set z = foo(1);"), "unknown-function", "foo"),
    (served("set z = used(kvv);"), "unknown-pool", "kvv"),
    (served("set z = queue(kv);"), "unknown-stage", "kv"),
    (served("run svv (cost(svc, 1));"), "unknown-stage", "svv"),
    (served("set z = cost(n, 1);"), "unknown-resource", "n"),
    (served("set z = ~foo(2);"), "unknown-distribution", "foo"),
    (served("foo(2);"), "unknown-statement", "foo"),
    (served("P.prefill (n);"), "unknown-queue", "P"),
    (served("set z = P.done;"), "unknown-name", "P.done"),
    (served("", below="claim c: at end (total(oo) > 1);"), "unknown-observation", "oo"),
    (served("", workload="hidden z;"), "unknown-hidden", "z"),
    (served("set z = svc;"), "not-a-value", "svc"),
    (served("set z = kv + 1;"), "not-a-value", "kv"),
    (served("set z = n[0];"), "not-a-value", "n[0]"),
    (served("set z = min(1);"), "argument-count", "min"),
    (served("set z = min(1, 2, 3);"), "argument-count", "min"),
    (served("set z = ~exp(1, 2);"), "argument-count", "~exp(1, 2)"),
    (served("set z = cost(kv);"), "argument-count", "cost"),
    (served("set z = price(2, 3, 4);"), "not-a-resource", "2"),
    (served("set z = cost(3, 4);"), "not-a-resource", "3"),
    (served("set z = used(m);"), "needs-index", "m"),
    (served("hold m (cost(m, 1)) { }"), "needs-index", "m"),
    (served("set z = used(m[2]);"), "index-out-of-range", "m[2]"),
    (served("set z = used(m[0 - 1]);"), "index-out-of-range", "m[0 - 1]"),
    (served("set z = used(m[1 / 2]);"), "index-out-of-range", "m[1 / 2]"),
    (served("set z = used(kv[1]);"), "index-out-of-range", "kv[1]"),
    (served("set z = cost(m[3], 1);"), "index-out-of-range", "m[3]"),
    (served("set z = cost(m[~bernoulli(1)], 1);"), "cost-index-draws", "m[~bernoulli(1)]"),
    (served("set z = blocksize(m[0]);"), "no-block", "m[0]"),
]

COLLISIONS = [
    (declared("let svc = 3;"), "name-collision", "svc"),
    (declared("pool svc { }"), "name-collision", "svc"),
    (declared("def p() { 1 } pool p { }"), "name-collision", "p"),
    (declared("gauge g = 1; claim g: at end (1);"), "name-collision", "g"),
    (declared("gauge g = 1; gauge g = 2;"), "declared-twice", "g"),
    (declared("pool p { } pool p { }"), "declared-twice", "p"),
    (declared("stage s : fifo; stage s : delay;"), "declared-twice", "s"),
    (declared("def f() { 1 } def f() { 2 }"), "declared-twice", "f"),
    (served("set svc = 1;"), "name-collision", "svc"),
    (served("choose kv in 2 by (1);"), "name-collision", "kv"),
    (served("observe svc = 1;"), "name-collision", "svc"),
    (served("set f = 1;", above="def f() { 1 } " + BASE), "name-collision", "f"),
    (served("set waited = 1;"), "supplied-name", "waited"),
    (served("set running = 1;"), "supplied-name", "running"),
    (served("observe admitted = now;"), "supplied-name", "admitted"),
    (served("observe think = now;"), "builtin-name", "think"),
    (declared("let now = 3;"), "supplied-name", "now"),
    (declared("let cached = 3;"), "builtin-name", "cached"),
    (declared("stage think : fifo;"), "builtin-name", "think"),
    (declared("pool batch { }"), "supplied-name", "batch"),
    (declared("def min(x) { x }"), "language-word", "min"),
    (declared("def f(pool) { pool }"), "language-word", "pool"),
    (declared("def f(now) { now }"), "supplied-name", "now"),
    (declared("def f(x, x) { x }"), "parameter-twice", "x"),
    (declared("device share { }"), "language-word", "share"),
    (served("set a = 1; " + HOLD % ("a = 2", "")), "name-collision", "a"),
    (declared("gauge q = max svc in 2 (svc);"), "index-name-taken", "svc"),
    (declared("gauge q = max serial in 2 (serial);"), "index-name-taken", "serial"),
    (declared("gauge q = max now in 2 (now);"), "index-name-taken", "now"),
    (declared("let j = 2; gauge q = max j in 2 (j);"), "index-name-taken", "j"),
    (served("set z = max n in 2 (n);"), "index-name-taken", "n"),
]

CONSTANTS = [
    (declared("let k = k2; let k2 = 3;"), "not-constant", "k2"),
    (declared("pool p { cap zz; }"), "not-constant", "zz"),
    (declared("pool p { cap now; }"), "not-constant", "now"),
    (declared("pool p { cap used(p); }"), "not-constant", "used"),
    (declared("pool p { cap ~exp(1); }"), "constant-draws", "~exp(1)"),
    (
        declared("pool q { block 3; } pool p { cap blocksize(q); }"),
        "not-constant",
        "blocksize",
    ),
    (declared("let z = 0; pool p { cap z / z; }"), "not-a-number", "z / z"),
    (declared("let z = inf - inf;"), "not-a-number", "inf - inf"),
    (declared("pool p { block 0; }"), "not-positive", "0"),
    (declared("pool p { block 0 - 1; }"), "not-positive", "0 - 1"),
    (declared("pool p[0] { }"), "not-a-size", "0"),
    (declared("pool p[3 / 2] { }"), "not-a-size", "3 / 2"),
    (declared("pool p[10001] { }"), "not-a-size", "10001"),
    (declared("pool p[k] { } let k = 2;"), "not-constant", "k"),
    (declared("stage a : fifo(0);"), "not-a-count", "0"),
    (declared("stage a : fifo(1.5);"), "not-a-count", "1.5"),
    (declared("gauge q = max j in 0 (j);"), "not-a-count", "0"),
    (declared("gauge q = max j in 1.5 (j);"), "not-a-count", "1.5"),
    (declared("gauge q = max j in zz (j);"), "not-constant", "zz"),
    (declared("gauge q = sum j in 4097 (j);"), "too-many-terms", "sum j in 4097 (j)"),
    (
        declared("gauge q = sum j in 70 (sum i in 60 (1));"),
        "too-many-terms",
        "sum i in 60 (1)",
    ),
    (
        declared("let k = sum j in 4000 (j); gauge g = sum j in 200 (j);"),
        "too-many-terms",
        "sum j in 200 (j)",
    ),
    (served("", workload="arrive poisson(0);"), "not-a-rate", "0"),
    (served("", workload="arrive poisson(1 / 0);"), "not-a-rate", "1 / 0"),
    (served("", workload="arrive poisson(n);"), "not-constant", "n"),
    (served("", workload="arrive closed(1.5);"), "not-a-count", "1.5"),
    (served("", workload="arrive batch(0);"), "not-a-count", "0"),
    (served("", workload="arrive batch(1e7);"), "not-a-count", "1e7"),
    (
        declared("pool p { spill q[1] via svc (size) when (1); } pool q[2] { }"),
        "spill-index",
        "q[1]",
    ),
]

DEFINITIONS = [
    (declared("def f(p) { p > 3 ? f(p - 1) : 0 }"), "recursive-definition", "f"),
    (declared("def f(x) { g(x) } def g(x) { x }"), "used-before-defined", "g"),
    (served("set z = f(1);", below="def f(x) { x }"), "used-before-defined", "f"),
    (served("set z = f(1, 2);", above="def f(x) { x } " + BASE), "argument-count", "f"),
    (served("f(1);", above="def f(x) { x } " + BASE), "value-as-statement", "f(1)"),
    (
        served("set z = f(1);", above="def f(x) { set q = x; } " + BASE),
        "statements-as-value",
        "f(1)",
    ),
    (served("set z = f;", above="def f() { 1 } " + BASE), "not-a-value", "f"),
    (
        served("set z = f(~exp(1));", above="def f(x) { x + x } " + BASE),
        "argument-draws",
        "~exp(1)",
    ),
    (
        served("f(~exp(1));", above="def f(x) { set q = x; set w = x; } " + BASE),
        "argument-draws",
        "~exp(1)",
    ),
    (
        served("set z = 1; f(z);", above="def f(x) { set q = x; set z = 1; } " + BASE),
        "argument-assigned",
        "z",
    ),
    (
        served("f(now);", above="def f(x) { set q = x; } " + BASE),
        "argument-changes",
        "now",
    ),
    (
        served("f(used(kv));", above="def f(x) { set q = x; } " + BASE),
        "argument-changes",
        "used(kv)",
    ),
    (
        served("set z = f(3);", above="def f(p) { used(p) } " + BASE),
        "not-a-resource",
        "p",
    ),
    (
        served("set z = f(m[0]);", above="def f(p) { used(p[1]) } " + BASE),
        "indexed-twice",
        "p[1]",
    ),
    (
        served("set z = g(1);", above="def f() { x + 1 } def g(x) { f() } " + BASE),
        "unknown-name",
        "x",
    ),
    (
        declared('let a = args.number("a", 3);'),
        "input-place",
        'args.number("a", 3)',
    ),
    (
        declared(
            'let a = args.number("x", 1); let b = args.number("x", 2);', outside='use "std/args";'
        ),
        "declared-twice",
        'args.number("x", 2)',
    ),
    (declared("", outside='use "lib.sq";'), "no-directory", 'use "lib.sq"'),
]

SIDES = [
    ("fn main() { stage svc : fifo; workload { arrive none; } }", "no-server", "workload"),
    ("fn main() { stage svc : fifo; server { } }", "no-workload", "server"),
    (served("turn;"), "turn-in-server", "turn"),
    (served("hold kv (cost(kv, 1)) { end; }"), "end-inside", "end"),
    (served("fork { end; } join;"), "end-inside", "end"),
    (served("Size q = 2;"), "size-in-server", "Size q = 2"),
    (served("Cost q = 2;"), "not-a-cost", "Cost q = 2"),
    (served("mark x;"), "mark-place", "mark x"),
    (served("prefill (n);"), "request-only", "prefill (n)"),
    (served("at admission { x = 1; }"), "request-only", "at admission { x = 1; }"),
    (served("run (cost(svc, n));"), "run-without-stage", "run (cost(svc, n))"),
    (
        served("", workload="session { set x = 1; }"),
        "session-without-turn",
        "{ set x = 1; }",
    ),
    (
        served("", workload="turn { run svc (cost(svc, 1)); }"),
        "workload-statement",
        "run svc (cost(svc, 1))",
    ),
    (
        served("", workload="init { branch (1) { set a = 1; } }"),
        "workload-statement",
        "branch (1) { set a = 1; }",
    ),
    (
        served(
            "", workload="turn { f(1); }", above="def f(x) { tool x; } stage tool : fifo; " + BASE
        ),
        "workload-statement",
        "tool x",
    ),
    (
        served("", workload="hidden cached;"),
        "hidden-scheduler",
        "cached",
    ),
    (
        served("", workload="session { turn; } session { turn; }"),
        "declared-twice",
        "session { turn; }",
    ),
    (served("Cost c = { kv : 1, kv : 2 };"), "declared-twice", "kv"),
    (served("Cost c = { m[0] : 1 };"), "record-index", "m[0]"),
    (served("Cost c = { kv : 1 }; set z = c;"), "not-a-value", "c"),
    (
        served("Cost c = { kv : 1 }; Cost c = { svc : 1 };"),
        "record-fields",
        "Cost c = { svc : 1 }",
    ),
]

ADMISSION = [
    (hold("a = b, b = 1"), "binding-order", "b"),
    (hold("a = ~exp(1)"), "binding-draws", "~exp(1)"),
    (hold("a = 1, a = 2"), "declared-twice", "a"),
    (hold("a = now", "set z = a;"), "binding-reads-state", "a"),
    (hold("a = cachedin(kv)", "set z = a;"), "binding-reads-state", "a"),
    (hold("b = used(kv), a = b", "set z = a;"), "binding-reads-state", "a"),
    (hold("a = n, new = 1"), "builtin-name", "new"),
    (hold("a = n, now = 1"), "supplied-name", "now"),
    (
        served("set y = a; " + HOLD % ("a = 2", "set z = a;")),
        "binding-outside",
        "a",
    ),
    (
        served("hold m[j] (cost(m, 1)) at admission (j = n) { run svc (cost(svc, 1)); }"),
        "binding-outside",
        "j",
    ),
]

SERVING = [
    (served("tool n;"), "no-stage", "tool"),
    (
        served("hold kv (cost(kv, 1)) { transfer n from m[0] to kv (1); }"),
        "no-stage",
        "transfer",
    ),
    (
        served(
            "hold kv (cost(kv, 1)) { transfer n from m[0] to kv (1); }",
            above="stage link : fifo; stage transfer : fifo; " + BASE,
        ),
        "ambiguous-stage",
        "transfer",
    ),
    (served("tool n;", above="stage tool[2] : fifo; " + BASE), "needs-index", "tool"),
    (
        served("", workload="session { turn; tool 1; }", below="stage tool : fifo;"),
        "stage-below",
        "tool",
    ),
    (
        served("", workload="session { turn; tool 1; }", above="let tool = 1; " + BASE),
        "name-collision",
        "tool",
    ),
    (client("tool[0] 1;"), "no-stage", "tool"),
]

ENGINES = [
    (engine(tokens="0"), "not-positive", "0"),
    (engine(items="granule 0;"), "not-positive", "0"),
    (engine(items="granule n;"), "not-constant", "n"),
    (engine(""), "empty-schedule", "schedule {  }"),
    (engine(tokens="batch.tokens"), "engine-value", "batch.tokens"),
    (engine(tokens="running.preempted"), "engine-value", "running.preempted"),
    (engine(tokens="tokens"), "engine-value", "tokens"),
    (engine(execute="running.decoding"), "engine-value", "running.decoding"),
    (engine(execute="waiting.admitted"), "engine-value", "waiting.admitted"),
    (engine(execute="batch.foo"), "unknown-name", "foo"),
    (engine("advance running by (batch.tokens);"), "engine-value", "batch.tokens"),
    (engine("advance running only (running.preempted);"), "engine-value", "running.preempted"),
    (
        engine("advance running; admit waiting while (batch.decoding < 3);"),
        "engine-value",
        "batch.decoding",
    ),
    (engine("advance running; admit waiting while (residents < 3);"), "engine-value", "residents"),
    (served("set z = running.count;"), "engine-value", "running.count"),
    (capped("0"), "cap-could-be-zero", "0"),
    (capped("0 - 3"), "cap-could-be-zero", "0 - 3"),
    (capped("running.count"), "cap-could-be-zero", "running.count"),
    (capped("min(3, running.count)"), "cap-could-be-zero", "min(3, running.count)"),
    (capped("max(0, running.count)"), "cap-could-be-zero", "max(0, running.count)"),
    (capped("running.count > 2 ? 0 : inf"), "cap-could-be-zero", "0"),
    (capped("2 * inf"), "cap-arithmetic", "2 * inf"),
    (capped("max(3, inf)"), "cap-arithmetic", "max(3, inf)"),
    (
        engine("advance running each at most (3); admit waiting;"),
        "caps-differ",
        "admit waiting",
    ),
    (
        engine("advance running each at most (3); admit waiting each at most (4);"),
        "caps-differ",
        "4",
    ),
    (
        engine("exclusive prefill; admit waiting;"),
        "exclusive-prefill",
        "exclusive prefill",
    ),
    (
        engine("exclusive prefill; admit waiting only (decoding) while (running.preempted == 0);"),
        "exclusive-prefill",
        "exclusive prefill",
    ),
    (engine("set q = 2; advance running;"), "not-a-register", "q"),
    (engine("let t = 2; branch (t > 1) { advance running; } admit waiting;"), "unknown-name", "t"),
    (engine("let now = 2; advance running;"), "supplied-name", "now"),
    (engine("let k = 2; advance running;", above="let k = 3;"), "name-collision", "k"),
    (engine("let a = 1; let a = 2; advance running;"), "declared-twice", "a"),
    (engine(items="state r = inf;"), "not-finite", "inf"),
    (engine(items="state r = n;"), "not-constant", "n"),
    (engine(items="state kv = 1;"), "name-collision", "kv"),
    (engine(items="tokens cap 3;"), "declared-twice", "tokens cap 3"),
    (engine(items="reqs cap 3;"), "declared-twice", "reqs"),
    (engine(pools="pool kv on gpu { }"), "capacity-without-pool", "reqs"),
    (engine(pools="pool reqs on e { }"), "capacity-without-pool", "kv"),
    (
        engine(pools="pool kv on gpu { } pool reqs on e { cap 3; }"),
        "cap-of-owner",
        "cap 3",
    ),
    (
        engine(pools="pool kv on gpu { } pool reqs[2] on e { }"),
        "size-of-owner",
        "2",
    ),
    (
        engine(pools="pool kv on gpu { } pool reqs on e { } pool x on gpu { }"),
        "no-such-capacity",
        "x",
    ),
    (
        engine(pools="pool kv on gpu { } pool reqs on e { } pool y on nowhere { }"),
        "unknown-owner",
        "nowhere",
    ),
    (
        engine(
            device="kv cap 1; ram cap 2;",
            pools="pool kv on gpu { } pool ram on gpu { } pool reqs on e { }",
        ),
        "two-memories",
        "gpu",
    ),
    (engine(device="kv cap 1; kv cap 2;"), "declared-twice", "kv"),
    (engine(device="kv cap 1; f (t, t) = t;"), "parameter-twice", "t"),
    (engine(device="kv cap 1; f (t) = t;", execute="f(1, 2)"), "argument-count", "f"),
    (engine(device="kv cap 1; f (t) = t;", tokens="f(1)"), "unknown-function", "f"),
    (
        declared(
            "device gpu[2] { } engine e on gpu { tokens cap 1; schedule { advance running; }"
            " execute (1); }"
        ),
        "family-mismatch",
        "e",
    ),
    (
        declared(
            "device gpu { } engine e on gpu { tokens cap 1; schedule { advance running; }"
            " execute (1); } engine f on gpu { tokens cap 1; schedule { advance running; }"
            " execute (1); }"
        ),
        "device-taken",
        "f",
    ),
    (
        declared("engine e on gpu { tokens cap 1; schedule { advance running; } execute (1); }"),
        "unknown-device",
        "gpu",
    ),
    (
        declared("device gpu { } engine e on gpu { tokens cap 1; schedule { advance running; } }"),
        "engine-needs",
        "e",
    ),
    (
        declared(
            "device gpu[2] { } engine e[2] on gpu { tokens cap waiting.count;"
            " schedule { advance running; } execute (1); }"
        ),
        "waiting-of-family",
        "waiting.count",
    ),
    (
        declared(
            "device gpu[2] { } engine e[2] on gpu { tokens cap 1; state r = 1;"
            " schedule { set r = 2; advance running; } execute (1); }"
        ),
        "state-of-family",
        "r",
    ),
    (declared("claim c: every iteration of svc (1);"), "not-an-engine", "svc"),
]

REQUESTS = [
    (request("set prompt = 1;"), "sets-parameter", "prompt"),
    (request("set z = n;"), "reads-outside", "n"),
    (request("set z = serial;"), "reads-outside", "serial"),
    (request("set z = queue(svc);", above="stage svc : fifo;"), "reads-outside", "svc"),
    (request("mark a; set z = e.a;"), "reads-outside", "e.a"),
    (request("", taking="taking kv (n)"), "reads-outside", "n"),
    (request("", taking="taking kv (now)"), "header-reads", "now"),
    (request("", taking="taking kv (o)"), "header-reads", "o"),
    (request("set z = 1;", taking="taking kv (z)"), "header-reads-later", "z"),
    (
        request("branch (prompt > 1) { set z = 1; } at admission { }", taking="taking kv (z)"),
        "header-reads-later",
        "z",
    ),
    (
        request(
            "while (prompt > 9) { set z = 1; prefill (1); } at admission { }",
            taking="taking kv (z)",
        ),
        "header-reads-later",
        "z",
    ),
    (request("cache (1); prefill (1);"), "cache-last", "cache (1)"),
    (request("prefill (1); cache (1);", taking=""), "admission-takes-nothing", "cache (1)"),
    (
        request("at admission { } prefill (1);", taking=""),
        "admission-takes-nothing",
        "at admission { }",
    ),
    (request("at admission { } at admission { }"), "declared-twice", "at admission { }"),
    (request("end;"), "end-inside", "end"),
    (request("turn;"), "turn-in-server", "turn"),
    (request("", taking="taking reqs (1), reqs (2)"), "declared-twice", "reqs"),
    (request("", taking="taking m (1)", above="pool m { }"), "taking-not-own", "m"),
    (request("hold m (cost(m, 1)) { }", above="pool m { }"), "holds-outside", "m"),
    (request("release m;", above="pool m { }"), "holds-outside", "m"),
    (request("", server="e (n);"), "argument-count", "e"),
    (request("", server="e (~exp(1), o);"), "argument-draws", "~exp(1)"),
    (
        request("", workload="arrive none; session { turn; e (1, 2); }", server=""),
        "call-in-session",
        "e (1, 2)",
    ),
    (request("set z = 1;", server="e (n, o); set y = z;"), "request-names", "z"),
    (request("set z = 1;", server="set z = 2; e (n, o);"), "request-names", "z"),
    (
        engine("advance running; admit waiting taking reqs (1);"),
        "taking-without-request",
        "reqs (1)",
    ),
    (
        engine(
            "branch (running.count > 1) { admit waiting taking reqs (1); } else"
            " { admit waiting taking reqs (2); }",
            items="request (x) { prefill (x); }",
            server="e (n);",
        ),
        "takings-differ",
        "reqs (2)",
    ),
]

QUEUES = [
    (entry("set prompt = 1;"), "sets-parameter", "prompt"),
    (entry("set z = n;"), "reads-outside", "n"),
    (entry("set z = queue(s);", above="stage s : fifo;"), "reads-outside", "s"),
    (entry("set z = used(P.kv);"), "reads-outside", "P.kv"),
    (entry("mark a; set z = P.a;"), "reads-outside", "P.a"),
    (entry("end;"), "end-inside", "end"),
    (entry("hold m (cost(m, 1)) { }", above="pool m { }"), "holds-outside", "m"),
    (entry("P.prefill (1);"), "entries-in-a-cycle", "P.prefill (1)"),
    (
        entry("hold kv (cost(kv, z)) { run (cost(P, 1)); } set z = 1;"),
        "header-reads-later",
        "z",
    ),
    (entry("hold kv (cost(kv, now)) { run (cost(P, 1)); }"), "header-reads", "now"),
    (entry("hold kv (cost(kv, o)) { run (cost(P, 1)); }"), "header-reads", "o"),
    (entry("set z = self;"), "unknown-name", "self"),
    (entry("", size="[2]"), "needs-index", "P"),
    (entry("", size="[2]", server="P[2].prefill (n);"), "index-out-of-range", "P[2]"),
    (entry("", server="P[0].prefill (n);"), "index-of-single", "P[0]"),
    (
        entry("", size="[2]", server="P[~bernoulli(1)].prefill (n);"),
        "argument-draws",
        "~bernoulli(1)",
    ),
    (entry("", server="P.prefill (n, 1);"), "argument-count", "prefill"),
    (entry("", server="P.prefill (~exp(1));"), "argument-draws", "~exp(1)"),
    (entry("", server="P.decode (n);"), "unknown-verb", "decode"),
    (entry("", server="P.prefill (n) from P;"), "unknown-verb", "prefill"),
    (entry("", server="P.prefill (n) to kv (1);"), "to-place", "to kv (1)"),
    (entry("", server="Q.prefill (n);"), "unknown-queue", "Q"),
    (entry("", server="P.prefill (n); set z = P.y;"), "unknown-name", "P.y"),
    (entry("", server="hold P.kv (cost(P.kv, 1)) { }"), "holds-outside", "P.kv"),
    (entry("", server="release P.kv;"), "holds-outside", "P.kv"),
    (entry("", below="def P() { 1 }"), "name-collision", "P"),
    (entry("", below="def kv() { 1 }"), "name-collision", "kv"),
    (entry("", below="let kv = 1;"), "name-collision", "kv"),
    (entry("set kv = 1;"), "name-collision", "kv"),
    (entry("", params="prompt, more"), "parameter-count", "prefill"),
    (entry("", params="now"), "supplied-name", "now"),
    (queues("queue Q : foo { serve fifo; }"), "unknown-role", "foo"),
    (queues("queue Q : prefill { serve fifo; }"), "role-without-entry", "Q"),
    (
        queues("queue Q : gateway { serve fifo; route { } decode (x) { run (cost(Q, x)); } }"),
        "entry-without-role",
        "decode",
    ),
    (queues("queue Q[2] : gateway { route { } }"), "gateway-family", "2"),
    (queues("queue decode : gateway { route { } }"), "language-word", "decode"),
    (
        queues("queue Q : gateway { serve fifo; serve delay; route { } }"),
        "declared-twice",
        "serve delay",
    ),
    (
        queues("queue Q : gateway { serve fifo; pool m { } route { } }"),
        "queue-order",
        "pool m { }",
    ),
    (queues("queue Q : gateway { route { } serve fifo; }"), "queue-order", "serve fifo"),
    (queues("queue Q : gateway { pool m[2] { } route { } }"), "size-of-owner", "2"),
    (
        queues("queue Q : gateway { serve fifo latency 3; route { } }"),
        "latency-place",
        "3",
    ),
    (queues("queue L : link { }"), "link-without-cost", "L"),
    (
        queues("queue L : link { serve fifo latency 3; transfer (n) { run (cost(L, n)); } }"),
        "link-called-and-waits",
        "3",
    ),
    (
        queues(
            "queue L : link { serve fifo; }",
            server="L.transfer (n) from a to b (1);",
            above="pool a { } pool b { }",
        ),
        "unknown-verb",
        "transfer",
    ),
    (
        queues(
            "queue L : link { serve fifo; transfer (x) { run (cost(L, x)); } }",
            server="L.transfer (n);",
        ),
        "transfer-without-ends",
        "L.transfer (n)",
    ),
    (queues(SOURCE + READER + "D pull Q share maxmin;"), "unknown-queue", "Q"),
    (queues(SOURCE + READER + "D pull D share maxmin;"), "relation-self", "D"),
    (
        queues(SOURCE.replace("nic ps(4);", "") + READER + "D pull P share maxmin;"),
        "relation-without-nic",
        "P",
    ),
    (
        queues(
            SOURCE + READER + "D pull P share maxmin; P push D share maxmin;",
            server="P.prefill (n); D.decode (n) from P;",
        ),
        "declared-twice",
        "P push D share maxmin",
    ),
    (
        queues(
            SOURCE + READER + "D pull P latency n share maxmin;",
            server="P.prefill (n); D.decode (n) from P;",
        ),
        "not-constant",
        "n",
    ),
    (
        queues(
            SOURCE + READER + "share maxmin; D pull P share maxmin;",
            server="P.prefill (n); D.decode (n) from P;",
        ),
        "declared-twice",
        "share maxmin",
    ),
    (
        queues(SOURCE + READER + "D pull P share maxmin;", server="P.prefill (n); D.decode (n);"),
        "unknown-verb",
        "decode",
    ),
    (
        queues(SOURCE.replace("lease kv (inf)", "") + READER + "D pull P share maxmin;"),
        "from-leases-nothing",
        "P",
    ),
    (
        queues(
            SOURCE.replace("hold kv", "branch (prompt > 1) { hold kv").replace("(inf)", "(inf) }")
            + READER
            + "D pull P share maxmin;"
        ),
        "from-leases-nothing",
        "P",
    ),
    (
        queues(
            SOURCE + READER.replace("from P to kv", "from kv to kv") + "D pull P share maxmin;",
            server="P.prefill (n); D.decode (n) from P;",
        ),
        "copy-source",
        "kv",
    ),
    (
        queues(
            SOURCE + READER.replace("run (cost(D, 1))", "set z = P") + "D pull P share maxmin;",
            server="P.prefill (n); D.decode (n) from P;",
        ),
        "not-a-value",
        "P",
    ),
    (
        queues(SOURCE + READER, server="P.prefill (n); D.decode (n) from P;"),
        "no-relation",
        "transfer",
    ),
]

MORE_QUEUES = [
    (
        queues(
            SOURCE + SOURCE.replace("P", "Q") + READER + "D pull Q share maxmin;",
            server="P.prefill (n); Q.prefill (n);",
        ),
        "relation-other-source",
        "D pull Q share maxmin",
    ),
    (
        queues(
            SOURCE
            + SOURCE.replace("P", "Q")
            + "queue D : decode { serve fifo; decode (x) from P { release P; run (cost(D, 1)); }"
            " decode (x) from Q { release Q; run (cost(D, 1)); } }",
            server="P.prefill (n);",
        ),
        "declared-twice",
        "decode",
    ),
    (
        entry("hold kv (cost(kv, 1)) at admission (kv = prompt) { run (cost(P, 1)); }"),
        "name-collision",
        "kv",
    ),
    (
        queues(
            SOURCE
            + READER
            + READER.replace("D", "E")
            + "D pull P share maxmin; E pull P share bottleneck;",
            server="P.prefill (n); D.decode (n) from P; P.prefill (n); E.decode (n) from P;",
        ),
        "shares-differ",
        "E pull P share bottleneck",
    ),
    (
        queues(
            SOURCE
            + READER
            + READER.replace("D", "E")
            + "P push D latency 1 share maxmin; P push E latency 1 share maxmin;",
            server="P.prefill (n); D.decode (n) from P; P.prefill (n); E.decode (n) from P;",
        ),
        "declared-twice",
        "P push E latency 1 share maxmin",
    ),
]

ENGINE_ITEMS = "tokens cap 1; schedule { advance running; } execute (1);"

MORE = [
    (
        client("transfer 1 from m[0] to kv (1);"),
        "transfer-in-session",
        "transfer 1 from m[0] to kv (1)",
    ),
    (
        declared("device gpu { } engine on gpu { " + ENGINE_ITEMS + " }"),
        "engine-without-name",
        "gpu",
    ),
    (
        queues(
            "queue Q : gateway { device gpu { } engine x on gpu { "
            + ENGINE_ITEMS
            + " } route { } }"
        ),
        "engine-named",
        "x",
    ),
    (
        declared(
            "device gpu[2] { } engine e[2] on gpu { request (x) { prefill (x); } "
            + ENGINE_ITEMS
            + " }"
        ),
        "request-of-family",
        "request (x) { prefill (x); }",
    ),
    (
        queues(
            "queue Q : gateway { device gpu { } engine on gpu { request (x) { prefill (x); } "
            + ENGINE_ITEMS
            + " } route { } }"
        ),
        "request-of-family",
        "request (x) { prefill (x); }",
    ),
    (engine(pools="pool kv on f.gpu { } pool reqs on e { }"), "unknown-engine", "f"),
    (
        queues(
            SOURCE + "queue Q : prefill { serve fifo; prefill (x) from P { run (cost(Q, 1)); } }"
        ),
        "from-place",
        "P",
    ),
    (
        entry("", size="[2]", server="P[0].prefill (n); set z = used(P.kv[1]);"),
        "index-of-member",
        "kv[1]",
    ),
]

STRICTER = [
    # language.md: a request sets no parameter, a binding of its admission included.
    (request("at admission { prompt = 1; }"), "sets-parameter", "prompt"),
    # api.md: a repeated option is accepted silently by the reference; refusing it is safer.
    (declared("pool p { cap 3; cap 4; }"), "option-twice", "cap 4"),
    (served("", workload="arrive none; arrive none;"), "declared-twice", "arrive none"),
    # language.md: an index of an aggregate is a name the program does not already have.
    (declared("def j() { 2 } gauge q = max j in 2 (j);"), "index-name-taken", "j"),
    # language.md: two declarations of different kinds do not share a name.
    (
        engine("set r = 2; advance running;", items="state r = 1;", below="gauge r = 1;"),
        "name-collision",
        "r",
    ),
    # language.md: a `from` on a queue that is not declared above does not link.
    (
        queues(READER + SOURCE + "D pull P share maxmin;"),
        "unknown-queue",
        "P",
    ),
    # language.md: a transfer without `on` in a queue that pulls from none is an error.
    (queues(SOURCE + READER, server="P.prefill (n); "), "no-relation", "transfer"),
]

TABLE = [
    *NAMES, *COLLISIONS, *CONSTANTS, *DEFINITIONS, *SIDES, *ADMISSION, *SERVING, *ENGINES,
    *REQUESTS, *QUEUES, *MORE_QUEUES, *MORE,
]  # fmt: skip


def refused(program: str) -> list[tuple[str, str]]:
    with pytest.raises(SerqError) as caught:
        compile_text(Source("t.sq", program), settings=Settings(horizon=100.0))
    return [(d.code, d.span.text if d.span else "") for d in caught.value.diagnostics]


def test_the_table_is_large():
    """At least 150 refused programs are in the table."""
    assert len(TABLE) >= 150


@pytest.mark.parametrize(
    ("program", "code", "words"),
    [*TABLE, *STRICTER],
    ids=[f"{code}-{i}" for i, (_, code, _) in enumerate([*TABLE, *STRICTER])],
)
def test_refused_with_one_error_at_the_words(program: str, code: str, words: str):
    """A program that breaks one rule gets one error, with its code, at the words it is about."""
    assert refused(program) == [(code, words)]


@peer.needs_peer
def test_the_reference_refuses_them_too():
    """Every program of the table is refused by the reference build too."""
    accepted = []
    for program, code, words in TABLE:
        try:
            peer.compile(program, horizon=100)
            accepted.append((code, words))
        except peer.Refused:
            pass
    assert accepted == []
