"""Programs whose iterations can be worked out by hand, or that have one thing of each kind."""

from __future__ import annotations

HOSTILE = "<script>alert('x')</script>&\"'λ世界"
"""A text that would be a script, end an attribute, or fall out of ASCII."""


def engine(cap: float = 100, prompts: tuple[int, int] = (6, 2), decodes: int = 2) -> str:
    """Two requests at time 0 on an engine of 4 tokens an iteration, each of which takes 1."""
    first, second = prompts
    return f"""fn main() {{
  device gpu {{ kv cap {cap}; }}
  engine e on gpu {{
    reqs cap 8;
    tokens cap 4;
    schedule {{ advance running; admit waiting while (running.preempted == 0); }}
    execute (1);
  }}
  pool kv on gpu {{ block 1; evict lru; preempt lifo; }}
  pool reqs on e {{ queue fifo; }}
  workload {{
    arrive batch(2);
    init {{ set p = serial == 0 ? {first} : {second}; }}
    turn {{ Size n = p; }}
  }}
  server {{
    hold reqs (cost(reqs, 1)), kv (cost(kv, min(n, budget_left(e)))) {{
      run e prefill (cost(e, n)) growing kv;
      run e decode (cost(e, {decodes})) growing kv;
    }}
  }}
}}
"""


STAGES = """fn main() {
  pool mem { cap 10; queue fifo; }
  stage svc : fifo;
  gauge used_mem = used(mem);
  gauge share = used(mem) / 10;
  claim fits : at end (smallest(answer) >= 0);
  workload { arrive poisson(0.8); turn { Size x = ~exp(1); } }
  server {
    hold mem (cost(mem, 4)) { run svc (cost(svc, x)); }
    observe answer = now;
    observe long = x > 50;
  }
}
"""
"""A queue behind a pool, without an engine; ``long`` is never 1."""

TWO_ENGINES = """fn main() {
  device gpu[2] { kv cap 100; }
  engine e[2] on gpu {
    reqs cap 8;
    tokens cap 4;
    schedule { advance running; admit waiting while (running.preempted == 0); }
    execute (1);
  }
  pool kv on gpu { block 1; evict lru; preempt lifo; }
  pool reqs on e { queue fifo; }
  workload { arrive batch(6); turn { Size n = 3 + serial; } }
  server {
    choose i in 2 by (queued(reqs[i]));
    set j = serial > 2;
    hold reqs[j] (cost(reqs, 1)), kv[j] (cost(kv, min(n, budget_left(e[j])))) {
      run e[j] prefill (cost(e, n)) growing kv[j];
      run e[j] decode (cost(e, 5)) growing kv[j];
    }
  }
}
"""
