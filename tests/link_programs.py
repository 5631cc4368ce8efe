"""Small programs for the linker's tests: a statement, a declaration or a clause in its place."""

from __future__ import annotations

RUN = "run svc (cost(svc, 1));"
BASE = "stage svc : fifo; pool kv { cap 100; block 4; } pool m[2] { cap 50; }"


def served(
    statements: str,
    *,
    above: str = BASE,
    workload: str = "arrive poisson(1); turn { set n = 5; }",
    below: str = "",
) -> str:
    """A server with these statements; ``n`` is the turn's size."""
    return "\n".join(
        [
            "fn main() {",
            f"  {above}",
            f"  workload {{ {workload} }}",
            f"  server {{ {statements} {RUN} }}",
            f"  {below}",
            "}",
        ]
    )


def client(statements: str, *, above: str = BASE) -> str:
    """A session with these statements after its first turn."""
    return served("", above=above, workload=f"arrive poisson(1); session {{ turn; {statements} }}")


def declared(declarations: str, *, outside: str = "") -> str:
    """These declarations beside a server that runs ``svc``."""
    return "\n".join(
        [
            outside,
            "fn main() {",
            f"  {declarations}",
            "  stage svc : fifo;",
            "  workload { arrive poisson(1); }",
            f"  server {{ {RUN} }}",
            "}",
        ]
    )


SCHEDULE = "advance running; admit waiting while (running.preempted == 0);"


def engine(
    schedule: str = SCHEDULE,
    *,
    items: str = "",
    tokens: str = "16",
    execute: str = "1",
    device: str = "kv cap 100;",
    pools: str = "pool kv on gpu { block 4; } pool reqs on e { }",
    server: str = "run e prefill (cost(e, n));",
    above: str = "",
    below: str = "",
    workload: str = "arrive poisson(1); hidden o; turn { set n = 5; set o = 3; }",
) -> str:
    """An engine ``e`` on ``gpu`` with the pools ``kv`` and ``reqs``."""
    return "\n".join(
        [
            "fn main() {",
            f"  {above}",
            f"  device gpu {{ {device} }}",
            "  engine e on gpu {",
            f"    reqs cap 4; tokens cap {tokens}; {items}",
            f"    schedule {{ {schedule} }}",
            f"    execute ({execute});",
            "  }",
            f"  {pools}",
            f"  workload {{ {workload} }}",
            f"  server {{ {server} }}",
            f"  {below}",
            "}",
        ]
    )


def request(
    body: str,
    *,
    params: str = "prompt, output",
    taking: str = "taking reqs (1), kv (prompt)",
    server: str = "e (n, o);",
    above: str = "",
    below: str = "",
    workload: str = "arrive poisson(1); hidden o; turn { set n = 5; set o = 3; }",
) -> str:
    """An engine whose request has this body."""
    return engine(
        f"advance running; admit waiting while (running.preempted == 0) {taking};",
        items=f"request ({params}) {{ {body} }}",
        server=server,
        above=above,
        below=below,
        workload=workload,
    )


def entry(
    body: str,
    *,
    params: str = "prompt",
    server: str = "P.prefill (n);",
    size: str = "",
    above: str = "",
    below: str = "",
) -> str:
    """A queue ``P`` (a pool ``kv``, a ``fifo``, a NIC) whose ``prefill`` has this body."""
    return queues(
        f"queue P{size} : prefill {{ pool kv {{ cap 100; }} serve fifo; nic ps(4);"
        f" prefill ({params}) {{ {body} run (cost(P, 1)); }} }}",
        server=server,
        above=above,
        below=below,
    )


SOURCE = (
    "queue P : prefill { pool kv { cap 100; } serve fifo; nic ps(4);"
    " prefill (prompt) { hold kv (cost(kv, prompt)) { run (cost(P, prompt)); } lease kv (inf) } }"
)
READER = (
    "queue D : decode { pool kv { cap 100; } serve fifo; nic ps(4);"
    " decode (prompt) from P { hold kv (cost(kv, prompt)) {"
    " transfer (prompt) from P to kv (prompt); run (cost(D, 1)); } } }"
)


def queues(declarations: str, *, server: str = "", above: str = "", below: str = "") -> str:
    """These queues and a server."""
    return "\n".join(
        [
            "fn main() {",
            f"  {above}",
            f"  {declarations}",
            "  workload { arrive poisson(1); hidden o; turn { set n = 5; set o = 3; } }",
            f"  server {{ {server} }}",
            f"  {below}",
            "}",
        ]
    )
