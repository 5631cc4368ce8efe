"""What the grammar accepts and refuses, snippet by snippet, and where a refusal points."""

from __future__ import annotations

import peer
import pytest

from serq.diagnostic_codes import CODES
from serq.diagnostics import Source
from serq.syntax.parser import parse_recovering

# Each place of a program that a snippet can stand at; `@` is the snippet.
PLACES = {
    "file": "@",
    "main": "fn main() { @ }",
    "const": "fn main() { let N = 2; let a = 1; let b = 0; let y = @; }",
    "value": """fn main() {
      stage svc : fifo; stage s[2] : fifo; pool kv[2] { cap 10; block 2; } let N = 2;
      workload { arrive none; init { set a = 1; set b = 2; } } server { set x = @; } }""",
    "server": """fn main() {
      stage svc : fifo; stage tool : delay; stage s[2] : fifo; pool kv { cap 10; } pool q { cap 9; }
      def both(x, y) { set z1 = x; set z2 = y; } def nothing() { }
      workload { arrive none; init { set a = 1; set n = 2; } } server { @ } }""",
    "held": """fn main() {
      stage link : ps(3); stage l[2] : ps(2); pool kv { cap 10; } pool q { cap 9; } share maxmin;
      workload { arrive none; init { set a = 1; set n = 2; } }
      server {
        run link, l[0] (cost(link, l, n));
        hold kv (cost(kv, n)) { hold q (cost(q, n)) { @ } }
      } }""",
    "workload": "fn main() { workload { @ } server { } }",
    "session": """fn main() {
      stage svc : fifo; workload { arrive none; init { set a = 1; } session { turn; @ } } server { }
    }""",
    "pool": "fn main() { pool p { @ } pool tier { cap 1; } stage s : fifo; }",
    "device": """fn main() { device g { @ } engine e on g {
      tokens cap 3; schedule { advance running; } execute (1); } }""",
    "engine": """fn main() { device g { f (x) = 2 * x; } engine e on g {
      tokens cap 3; schedule { advance running; } @ } }""",
    "schedule": """fn main() { device g { } engine e on g {
      tokens cap 3; state r = 0; execute (1); schedule { @ } } }""",
    "request": """fn main() { device g { k cap 9; } pool k on g { } engine e on g {
      tokens cap 3; execute (1); schedule { advance running; admit waiting taking k (1); }
      request (p, o) { @ } }
      workload { arrive none; init { set n = 2; } } server { e (n, 1); } }""",
    "queue": """fn main() { queue P : prefill {
      pool kv { cap 9; } serve fifo; @ prefill (n) { run (cost(P, n)); } } }""",
}

ACCEPTED: list[tuple[str, str]] = [
    # numbers
    *[("const", text) for text in (
        "12", "007", "1_000", "1__0", "1_", ".5", "5.", "5.e3", "1._5", "1e3", "1E+3", "1.5e-3",
        "1e999", "inf", "-inf", "9007199254740993",
    )],
    # operators, their order and their sides
    *[("const", text) for text in (
        "--2", "- - 2", "!!1", "-!1", "!-1", "!1^2", "-2^2", "2^-1", "2^--1", "2^!1", "2^3^2",
        "1 + -2", "1 * -2", "1 -- 2", "1 - !a", "a && b || N", "!a && b", "(1 < 2) < 3",
        "1 < 2 && 2 < 3", "a ? b : N ? 1 : 2", "a ? b ? 1 : 2 : 3", "a ? 1 : 2 + 3", "((((1))))",
        "1 // why\n + 2", "1 /* why */ + 2", "1 /* a /* b */ + 2",
    )],
    # functions, draws, references, aggregates
    *[("value", text) for text in (
        "max(1, a)", "max (1, a)", "pow(a, b)", "~exp(1)", "~ exp (1)", "-~exp(1)", "2^~exp(1)",
        "2 * ~exp(1) * 2", "(~exp(1))^2", "queue(svc)", "used(kv[a - 1])", "blocksize(kv[0])",
        "max j in 2 (used(kv[j]))", "min j in (N + 0) (j)", "sum j in N (sum k in 2 (j * k))",
        "1 + sum j in 3 (j) * 2", "-sum j in 2 (j)^2", "sum by in 3. (by)",
    )],
    # words as names
    *[("server", text) for text in (
        "set run = 1;", "set set = 1;", "set hold = 1; set z = hold + 1;", "set on = on + 1;",
        "set cache = 1; observe hit = cache;", "observe queue = 1;", "set end = 1; set x = end;",
        "set max = 1; set y = max + max(1, 2);", "set λ2 = 1;", "set _ = 1;",
    )],
    ("main", "let tool = 3; stage queue : fifo; pool hold { cap tool; } gauge claim = 1;"),
    ("main", "claim every : at end (1); claim given given (1) : at end (1);"),
    ("main", "let run = 1; def f() { run + 1 } let x = f();"),
    ("main", "let end = 1; def f() { end } let x = f();"),
    ("main", "let args = 3; let y = args + 1;"),
    ("main", "queue cache : gateway { route { } } workload { } server { cache.route(); }"),
    # statements
    *[("server", text) for text in (
        "set z = 1;", "Cost c = cost(svc, 1); run svc (c);", "Cost c = { svc : 1, kv : 2 };",
        "Cost c = { svc : 1, };", "observe z = 1;", "end;", "fork { } join;", "loop { end; }",
        "while (n == 3) { run svc (cost(svc, 1)); }", "branch (n == 2) { } else { }",
        "branch with (0.5) { } else { end; }", "choose j in n + 1 by (n, j);", "drop kv;",
        "choose j in (n) by (work(s[j]));", "run svc (cost(svc, 1));", "run s[1] (cost(s, 1));",
        "tool 1;", "tool 1 + 2;", "tool (1) + 2;", "tool on svc 1;", "tool on s[0] (1) + n;",
        "both (1, n);", "nothing ();", "nothing();",
        "hold kv (cost(kv, 1)) { }", "hold kv (cost(kv, 1)) { };",
        "hold kv (cost(kv, 1)) reserve (cost(kv, 2)), q (cost(q, 1)) { }",
        "hold kv (cost(kv, 1)) reuse (cost(kv, 0)) { } cache (cost(kv, 0))",
        "hold kv (cost(kv, y1)) at admission (y0 = 1, y1 = y0 + 1) { set w = y1; }",
        "hold kv (cost(kv, 1)) { } lease kv (3) release kv;",
        "hold kv (cost(kv, 1)) { } cache (cost(kv, 1)) lease kv (inf); release kv;",
    )],
    *[("held", text) for text in (
        "grow kv (cost(kv, 1));", "load q (cost(q, 1));", "release kv;",
        "transfer (n) from kv to q (n);", "transfer n from kv to q (1);",
        "transfer n + 1 from kv to q (1);", "transfer n ? 1 : 2 from kv to q (n);",
        "transfer[0] n from kv to q (n);", "transfer on link (n) from kv to q (n);",
        "transfer on link, l[1] n from kv to q (n);",
    )],
    # the workload
    *[("workload", text) for text in (
        "", "arrive none;", "arrive poisson(1);", "arrive renewal (~exp(2));", "arrive closed(3);",
        "arrive batch(2); session { turn; }", 'trace "f.csv";', 'trace "f.csv" ordered;',
        "hidden a, b; init { Size a = 1; set b = 2; } turn { set c = 1; }",
        "session { turn; while (more) { tool ~exp(3); turn; } }",
    )],
    # pools, stages, devices, engines
    *[("pool", text) for text in (
        "", "cap 1 + 2;", "block 2; evict lru; preempt none; queue fifo; reserve held;",
        "evict by (age, -size);", "preempt lifo;", "preempt by (position) requeue head;",
        "preempt by (1 - decoding, position) requeue tail;", "queue by (waited, 1);",
        "spill tier via s (size) when (size > 3);",
    )],
    ("main", "let N = 2; stage a : fifo(2); stage b [N*2] : ps (present); stage c[1] : delay;"),
    ("main", "device g[2] { f (t, u,) = t; h () = 1; kv cap 3; } pool kv on g { }"),
    ("main", "pool p[1 + 1] { cap 3; }"),
    *[("engine", text) for text in (
        "execute (f(batch.tokens));", "granule (2); execute (1);", "execute (1); request () { }",
    )],
    ("main", """device g { } engine e on g { tokens cap 3; execute (1); schedule {
        exclusive prefill each at most (3);
        admit waiting while (running.preempted == 0) each at most (3); } }"""),
    ("main", """device g { kv cap 9; } engine vllm on g {
        reqs[2] cap 3; tokens cap inf; schedule { advance running; admit waiting; } execute (1); }
      pool kv on vllm.g { } pool reqs on vllm { queue fifo; }"""),
    *[("schedule", text) for text in (
        "advance running;", "advance running admission;", "advance running decode first;",
        "advance running by (remaining, -admission);", "admit waiting;",
        "advance running only (decoding) decode first each at most (3);",
        "let t = 3; advance running each at most (t); admit waiting while (r == 0)"
        " each at most (t);",
        "branch (r == 0) { advance running; } else { admit waiting; } set r = 1 - r;",
        "advance running; branch (r == 0) { set r = 1; } else { branch (1) { } }",
    )],
    *[("request", text) for text in (
        "", "at admission { }", "set z = p; at admission { y = z; } set w = 1; cache (p + o);",
        "prefill (p) growing k; mark first; decode (o - 1) growing k; cache (p);",
    )],
    # queues and relations
    *[("queue", text) for text in ("", "nic ps(5);", "nic delay;")],
    ("main", "queue a : link { serve fifo latency 3 + 1; } queue b : link { serve fifo;"
     " transfer (n) { run (cost(b, n)); } }"),
    ("main", "queue G : gateway { route { set r = 1; } } workload { } server { G.route(); }"),
    ("main", """queue P : prefill { pool kv { cap 9; } serve fifo; nic ps(5);
        prefill (n) { hold kv (cost(kv, n)) { run (cost(P, 1)); } lease kv (inf) } }
      queue D[2] : decode { pool kv { cap 9; } serve fifo; nic ps(5);
        decode (n) from P { hold kv (cost(kv, n)) { transfer (n) from P to kv (n); } } }
      D pull P latency 1 + 2 share maxmin;
      workload { arrive none; init { set n = 2; } }
      server { set p = n; P.prefill (p); D[0].decode (p) from P; }"""),
    ("main", """queue P : prefill { pool kv { cap 9; } serve fifo; nic ps(5);
        prefill (n) { hold kv (cost(kv, n)) { run (cost(P, 1)); } lease kv (inf) } }
      queue D : decode { pool kv { cap 9; } serve fifo; nic ps(5);
        decode (n) from P { hold kv (cost(kv, n)) { transfer (n) from P to kv (n); } } }
      P push D share bottleneck;
      workload { arrive none; init { set n = 2; } }
      server { set p = n; P.prefill (p); D.decode (p) from P; }"""),
    # gauges, claims, definitions, files
    ("main", "gauge g = 1; claim c: at end (1);"),
    ("main", """device g { } engine e on g { tokens cap 3; schedule { advance running; }
        execute (1); } claim a : every iteration of e (tokens > 1);
        claim b given (1) : some iteration of e (1);"""),
    *[("main", text) for text in (
        "def f() { 1 }", "def f(x, y,) { x + y }", "def f() { }", "def f() { set x = 1; }",
        "def f(x) { x[0] }", "def f() { ~exp(1) }", "def g() { } def f() { g(); }",
        'use "std/args"; let x = args.number("x", 1 + 2);',
        'use "std/args"; let x = args . number ( "x" , 1 ) ;',
    )],
    *[("file", text) for text in (
        "fn main() { }", "let x = 1; def f() { x } fn  main  (  )  {  }", "fn main() { } // c",
        "let fn = 1; let main = 2; fn main() { }", "/* c */ fn main() { // a\n}",
        "let 变 = 1; let é = 变; fn main() { }", "fn main() {\r\n\tlet x = 1;\u00a0\u3000}\r\n",
    )],
]  # fmt: skip

# `»` stands before the first character that the diagnostic points to.
REFUSED: list[tuple[str, str, str]] = [
    # characters and numbers
    ("const", "3 »% 2", "unexpected-character"),
    ("const", "1 »# why", "unexpected-character"),
    ("const", "a »& b", "unexpected-character"),
    ("const", "2 »× 3", "unexpected-character"),
    ("const", "a»' + 1", "unexpected-character"),
    ("const", "»٣", "unexpected-character"),
    ("file", "»\x00fn main() { }", "unexpected-character"),
    ("file", "let a»😀 = 1; fn main() { }", "unexpected-character"),
    ("const", "»0x10", "bad-number"),
    ("const", "»1e", "bad-number"),
    ("const", "»1e+", "bad-number"),
    ("const", "»1e5_0", "bad-number"),
    ("const", "»1.2.3", "bad-number"),
    ("const", "»1..2", "bad-number"),
    ("const", "»3rd", "bad-number"),
    ("file", "fn main() { } »/* c", "unclosed-comment"),
    ("file", 'fn main() { use »"a; }', "unclosed-text"),
    ("file", "fn main() { use »'std/args'; }", "unexpected-character"),
    # expressions
    ("const", "1 < 2 »< 3", "chained-comparison"),
    ("const", "1 == 2 »!= 3", "chained-comparison"),
    ("const", "»+1", "syntax"),
    ("const", "1 + »+ 2", "syntax"),
    ("const", "2 *»* 3", "syntax"),
    ("const", "a »= b", "equals-sign"),
    ("const", "a »b", "syntax"),
    ("const", "sqrt »4", "syntax"),
    ("const", "a »and b", "syntax"),
    ("const", "»(1", "unbalanced-bracket"),
    ("const", "1»)", "unbalanced-bracket"),
    ("const", "(»)", "syntax"),
    ("const", "max(1, 2»,)", "trailing-comma"),
    ("const", '»"x"', "syntax"),
    ("const", "a ? 1»", "syntax"),
    ("value", "~exp»", "syntax"),
    ("value", "~exp »1", "syntax"),
    ("value", "~»~exp(1)", "syntax"),
    ("value", "~exp(1)»^2", "syntax"),
    ("value", "max j in 1»+2 (j)", "syntax"),
    ("value", "max j in 3 »j", "syntax"),
    ("value", "min j in »-3 (j)", "syntax"),
    ("value", "»avg j in 3 (j)", "unknown-aggregate"),
    ("value", "used(kv»[0)", "unbalanced-bracket"),
    ("const", "1;»", "empty-statement"),
    # statements
    ("server", "set z = 1»", "missing-semicolon"),
    ("server", "set z = 1»\n      set y = 2;", "missing-semicolon"),
    ("server", "set z »:= 1;", "equals-sign"),
    ("server", "set z »== 1;", "equals-sign"),
    ("server", "set z »+= 1;", "equals-sign"),
    ("server", "set z»[0] = 1;", "syntax"),
    ("server", "set »= 1;", "syntax"),
    ("server", "»z = 1;", "unknown-statement"),
    ("server", "»f;", "unknown-statement"),
    ("server", "»if (n == 2) { }", "unknown-statement"),
    ("server", "»return 1;", "unknown-statement"),
    ("server", "»request;", "unknown-statement"),
    ("server", "»let z = 1;", "wrong-place"),
    ("server", "»pool p { }", "wrong-place"),
    ("server", "»;", "empty-statement"),
    ("server", "branch (n == 2) { }»;", "empty-statement"),
    ("server", "while (n == 3) { run svc (cost(svc, 1)); }»;", "empty-statement"),
    ("server", "hold kv (cost(kv, 1)) { };»;", "empty-statement"),
    ("server", "»{ set z = 1; }", "syntax"),
    ("server", "»1;", "syntax"),
    ("server", "run svc »cost(svc, 1);", "syntax"),
    ("server", "run svc», (1);", "trailing-comma"),
    ("server", "run prefill »svc (1);", "syntax"),
    ("server", "tool»;", "syntax"),
    ("server", "set on = 1; tool on»;", "syntax"),
    ("server", "both(1»,);", "trailing-comma"),
    ("server", "both (1, n) »from P;", "syntax"),
    ("server", "P[0].x»;", "syntax"),
    ("server", "P.x»[1](1);", "syntax"),
    ("server", "P.x(1) to kv (1) »from Q;", "syntax"),
    ("server", "branch »1 { }", "syntax"),
    ("server", "branch (n == 2) { } else »branch (1) { }", "syntax"),
    ("server", "branch (n == 2) »set z = 1;", "syntax"),
    ("server", "loop »(1) { end; }", "syntax"),
    ("server", "choose j »n by (n);", "syntax"),
    ("server", "choose j in n by »n;", "syntax"),
    ("server", "choose j in n by (»);", "syntax"),
    ("server", "Cost z = { svc »= 1 };", "syntax"),
    ("server", "set z = »{ svc : 1 };", "syntax"),
    ("server", "observe z »1;", "syntax"),
    ("server", "release kv», q;", "syntax"),
    ("server", "hold kv »1 { }", "syntax"),
    ("server", "hold kv (cost(kv, 1))», { }", "trailing-comma"),
    ("server", "hold kv (cost(kv, 1)) at admission (») { }", "syntax"),
    ("server", "hold kv (cost(kv, 1)) at admission (y = 1) »reuse (0) { }", "clause-order"),
    ("server", "hold kv (cost(kv, 1)) { } lease kv (3) »cache (cost(kv, 1));", "clause-order"),
    ("server", "hold kv (cost(kv, 1)) { } lease kv (3) »lease kv (2);", "clause-order"),
    ("held", "»transfer (n);", "transfer-without-pools"),
    ("held", "»transfer (n) from kv;", "transfer-without-pools"),
    ("held", "transfer (n) from kv to q »n;", "syntax"),
    ("held", "transfer[0] »on link (n) from kv to q (n);", "syntax"),
    # the workload
    ("workload", "arrive poisson »1;", "syntax"),
    ("workload", "arrive »uniform(1);", "syntax"),
    ("workload", "trace »f;", "syntax"),
    ("workload", "hidden a», ;", "trailing-comma"),
    ("workload", "init { }»;", "empty-statement"),
    ("workload", "»stage s : fifo;", "syntax"),
    # declarations
    ("main", "stage s : »lifo;", "unknown-stage-kind"),
    ("main", "stage s : »step { tokens cap 3; }", "step-stage"),
    ("main", "stage s : fifo »2;", "syntax"),
    ("main", "stage s : ps»;", "syntax"),
    ("main", "stage s»[2][2] : fifo;".replace("»[2][2]", "[2]»[2]"), "syntax"),
    ("main", "stage s »fifo;", "syntax"),
    ("main", "stage s : fifo»\n  stage t : fifo;", "missing-semicolon"),
    ("pool", "cap »= 3;", "syntax"),
    ("pool", "cap 3»", "missing-semicolon"),
    ("pool", "evict by »age;", "syntax"),
    ("pool", "evict »fifo;", "syntax"),
    ("pool", "preempt lifo »requeue head;", "syntax"),
    ("pool", "reserve»;", "syntax"),
    ("pool", "»admit via s;", "syntax"),
    ("pool", "»set x = 1;", "syntax"),
    ("device", "»f = 1;", "unknown-item"),
    ("engine", "»budget 3;", "unknown-item"),
    ("engine", "execute »1;", "syntax"),
    ("engine", "execute (1); request »{ }", "syntax"),
    ("engine", "execute (1); request (a, b») { }".replace("b»)", "b»,)"), "trailing-comma"),
    ("schedule", "advance running; »let t = 3;", "wrong-place"),
    ("schedule", "advance running; »while (1) { }", "wrong-place"),
    ("schedule", "advance »waiting;", "syntax"),
    ("schedule", "advance running decode first »only (decoding);", "clause-order"),
    ("schedule", "admit waiting each at most (3) »while (1);", "clause-order"),
    ("schedule", "advance running each at most »3;", "syntax"),
    ("request", "at admission »(z = 1);", "syntax"),
    ("request", "prefill »1;", "syntax"),
    ("request", "cache (1)»", "missing-semicolon"),
    ("queue", "»stage t : fifo;", "unknown-item"),
    ("queue", "serve »step;", "step-stage"),
    ("main", "queue G »link { serve fifo; }", "syntax"),
    ("main", "queue G : »{ serve fifo; }", "syntax"),
    ("main", "D pull P»;", "syntax"),
    ("main", "D pull P share maxmin »latency 1;", "clause-order"),
    ("main", "»D copy P share maxmin;", "unknown-declaration"),
    ("main", "share »fair;", "syntax"),
    ("main", "gauge g »1;", "syntax"),
    ("main", "claim c »at end (1);", "syntax"),
    ("main", "claim c : »all iteration of e (1);", "syntax"),
    ("main", "def f(x) »= x;", "definition-body"),
    ("main", "def f(x) { x }»;", "empty-statement"),
    ("main", "def f() { set x = 1; »3 }", "syntax"),
    ("main", "def f »{ 1 }", "syntax"),
    ("main", "use »std/args;", "syntax"),
    ("main", 'use "std/args"; let x = args.number("x"»);', "syntax"),
    ("main", 'use "std/args"; let x = args.number("x", 1) »+ 1;', "syntax"),
    ("main", 'use "std/args"; let x = 1 + »args.number("x", 1);', "syntax"),
    ("main", 'use "std/args"; let x = »args.string("x", 1);', "unknown-function"),
    ("main", 'use "std/args"; let x = args.number(»"x y", 1);', "bad-argument-name"),
    ("main", "let x»;", "syntax"),
    ("main", "let x = 1», y = 2;", "syntax"),
    ("main", "»run { horizon 1; }", "settings-in-program"),
    ("main", "»session { turn; }", "wrong-place"),
    ("main", "»set x = 1;", "wrong-place"),
    ("main", "»constant x = 1;", "unknown-declaration"),
    ("main", "»fn f() { }", "duplicate-main"),
    ("main", "»fn main() { }", "duplicate-main"),
    # the file
    ("file", "»stage s : fifo; fn main() { }", "outside-main"),
    ("file", "fn main() { } »let x = 1;", "after-main"),
    ("file", "fn main() { } »pool p { }", "after-main"),
    ("file", "fn main() { } »fn main() { }", "duplicate-main"),
    ("file", "fn main() { }»;", "after-main"),
    ("file", "fn main() { } »}", "unbalanced-bracket"),
    ("file", "fn main() »{", "unbalanced-bracket"),
    ("file", "fn main »{ }", "syntax"),
    ("file", "fn main(»x) { }", "syntax"),
    ("file", "fn »Main() { }", "syntax"),
    ("file", "»main() { }", "syntax"),
    ("file", "let x = 1»\nfn main() { }", "missing-semicolon"),
    ("file", 'use "std/args"»\nfn main() { }', "missing-semicolon"),
]


def whole(place: str, snippet: str) -> str:
    """The program that has the snippet at its place."""
    return PLACES[place].replace("@", snippet)


def test_the_tables_are_large_and_have_no_entry_twice() -> None:
    """There are at least 80 accepted and 80 refused snippets, all different."""
    accepted, refused = set(ACCEPTED), {entry[:2] for entry in REFUSED}
    assert len(accepted) == len(ACCEPTED) >= 80
    assert len(refused) == len(REFUSED) >= 80


@pytest.mark.parametrize(("place", "snippet"), ACCEPTED)
def test_accepted(place: str, snippet: str) -> None:
    """A snippet that follows the grammar is read without a diagnostic."""
    _, diagnostics = parse_recovering(Source("p.sq", whole(place, snippet)))
    assert diagnostics == []


@pytest.mark.parametrize(("place", "snippet", "code"), REFUSED)
def test_refused(place: str, snippet: str, code: str) -> None:
    """A mistake is one diagnostic, with the code of the mistake, at the line and column of it."""
    marked = whole(place, snippet)
    at = marked.index("»")
    source = Source("p.sq", marked.replace("»", ""))
    _, diagnostics = parse_recovering(source)
    assert [d.code for d in diagnostics] == [code]
    span = diagnostics[0].span
    assert span is not None
    assert source.position(span.start) == source.position(at)
    assert code in CODES


@peer.needs_peer
def test_the_reference_build_accepts_the_same() -> None:
    """Every accepted snippet is a program that the reference build compiles."""
    for place, snippet in ACCEPTED:
        if snippet.startswith("trace"):  # it wants the file, which is no matter of syntax
            continue
        peer.compile(whole(place, snippet), horizon=1)


@peer.needs_peer
def test_the_reference_build_refuses_the_same() -> None:
    """Every refused snippet is a program that the reference build does not compile."""
    for place, snippet, _ in REFUSED:
        with pytest.raises(peer.Refused):
            peer.compile(whole(place, snippet).replace("»", ""), horizon=1)
            pytest.fail(f"the reference build accepts: {snippet}")
