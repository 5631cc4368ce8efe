"""Random programs of stations: a gateway, prefill and decode queues, links and KV transfers.

`station_programs()` is the strategy; the shapes are those of disaggregated deployments, with
small memories and short leases, so that waits, evictions, preemptions and expiries happen.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from hypothesis import strategies as st

from serq.fuzz.case import RandomProgram
from serq.fuzz.programs import ProgramWriter
from serq.fuzz.writer import indent


class StationWriter(ProgramWriter):
    """Draws one program of stations."""

    def write(self) -> RandomProgram:
        shape = self.pick(["pull", "push", "links", "plain"])
        p_count, d_count = self.pick([0, 1, 2]), self.pick([0, 1, 2])
        items = self.prefill_station(p_count, shape)
        items += self.links(shape)
        items += self.decode_station(p_count, d_count, shape)
        if shape in ("pull", "push"):
            latency = self.pick(["", " latency 0.25", " latency x0"])
            pair = "D pull P" if shape == "pull" else "P push D"
            items.append(f"{pair}{latency} share {self.pick(['maxmin', 'bottleneck'])};")
        route = self.route(p_count, d_count, shape)
        gateway = ["queue gw : gateway {", "  route {", *indent(route, 4), "  }", "}"]
        at_front = self.chance(50)
        arrival, finite = self.arrival()
        workload = [*self.workload(arrival), "hidden o;"]
        self.observes.append("response")
        server = ["set t0 = now;", "gw.route();", "observe response = now - t0;"]
        if self.chance(40):
            server.append("observe read_at = D.read_done - t0;")
        gauges = self.station_gauges(p_count, d_count)
        claims = [self.claim(0)] if self.chance(30) else []
        lines = ["fn main() {", "  let x0 = 0.5;"]
        lines += indent(gateway if at_front else [])
        lines += indent(items)
        lines += indent([] if at_front else gateway)
        lines += ["  workload {", *indent(workload, 4), "  }"]
        lines += ["  server {", *indent(server, 4), "  }"]
        lines += indent(gauges) + indent(claims) + ["}"]
        arrivals = self.whole(1, 10) if finite and self.chance(15) else None
        return RandomProgram(
            "\n".join(lines) + "\n",
            horizon=2000.0 if arrivals is not None else float(self.pick([30, 60])),
            warmup=0.0,
            seed=self.whole(1, 1000),
            arrivals=arrivals,
        )

    def engine_station(self, name: str, cap: int, block: int, on_engine: bool) -> list[str]:
        order = self.pick(["", "", " decode first"])
        chunk = self.pick(["", "", " each at most (4)"])
        preempt = self.pick(["preempt lifo;", "preempt none;"])
        evict = self.pick(["evict lru;", "evict by (age, serial);"])
        blocks = f"block {block}; " if block else ""
        return [
            f"device gpu {{ flop (t) = t * 0.02; kv cap {cap}; }}",
            "engine on gpu {",
            f"  reqs cap {self.whole(1, 4)};",
            f"  tokens cap {self.pick(['8', '16', '6'])};",
            f"  schedule {{ advance running{order}{chunk};"
            f" admit waiting while (running.preempted == 0){chunk}; }}",
            f"  execute ({self.pick(['1', '0.3 + flop(batch.tokens)', '0.5'])});",
            "}",
            f"pool reqs on {name} {{ queue fifo; }}",
            f"pool kv on {f'{name}.gpu' if on_engine else 'gpu'} {{ {blocks}{evict} {preempt} }}",
        ]

    def nic(self, shape: str) -> list[str]:
        return [f"nic ps({self.pick(['4', '10', '2.5'])});"] if shape in ("pull", "push") else []

    def prefill_station(self, count: int, shape: str) -> list[str]:
        block = self.pick([0, 2, 4])
        lease = self.pick(["inf", "6", "2"]) if shape != "plain" else None
        cache = self.chance(50)
        reused = "min(cachedin(kv), max(0, prompt - 1))" if cache else "0"
        units = "min(prompt, reused + budget_left(P))"
        body = ["set c = min(cached, max(0, prompt - 1));"] if cache else ["set c = 0;"]
        body.append("run P prefill (cost(P, prompt - c)) growing kv;")
        tail = " cache (cost(reqs, kv, prompt))" if cache else ""
        tail += f" lease kv ({lease})" if lease else ""
        entry = [
            "prefill (prompt) {",
            f"  hold reqs (cost(reqs, 1)), kv (cost(kv, {units})) reserve (cost(kv, prompt))",
            f"       at admission (reused = {reused}) {{",
            *indent(body, 4),
            f"  }}{tail}",
            *(["  mark prefilled_at;"] if self.chance(40) else []),
            "}",
        ]
        size = f"[{count}]" if count else ""
        return [
            f"queue P{size} : prefill {{",
            *indent(self.engine_station("P", self.whole(20, 60), block, False)),
            *indent(self.nic(shape)),
            *indent(entry),
            "}",
        ]

    def links(self, shape: str) -> list[str]:
        if shape != "links":
            return []
        self.link = self.pick(["entry", "cost", "joint"])
        if self.link == "joint":
            waits = self.pick(["", " latency 0.25", " latency x0"])
            return [
                f"queue up[2] : link {{ serve ps({self.pick(['4', '1.5'])}); }}",
                f"queue down : link {{ serve ps({self.pick(['3', '8'])}){waits}; }}",
                f"share {self.pick(['maxmin', 'bottleneck'])};",
            ]
        if self.link == "entry":
            return [
                "queue net : link {",
                f"  serve {self.pick(['fifo', 'ps(2)', 'delay'])};",
                "  transfer (n) { run (cost(net, n / 4)); }",
                "}",
            ]
        latency = self.pick(["", " latency 0.25"])
        return ["queue net : link {", f"  serve ps({self.pick(['4', '8'])}){latency};", "}"]

    def decode_station(self, p_count: int, d_count: int, shape: str) -> list[str]:
        block = self.pick([0, 2, 4])
        cache = self.chance(50)
        on_engine = self.chance(50)
        done = self.pick(["cost(D, 1)", "cost(D, max(1, known - have))"])
        steps = "max(0, o - 1 - (known - prompt))"
        move = "max(0, prompt - 1 - c)" if cache else "max(0, prompt - 1)"
        if shape in ("pull", "push"):
            transfer = f"transfer ({move}) from P to kv ({move});"
        elif shape == "links" and self.link == "entry":
            transfer = f"net.transfer ({move}) from P to kv ({move});"
        elif shape == "links" and self.link == "joint":
            member = self.pick(["0", "1", "self"] if d_count else ["0", "1"])
            transfer = f"transfer on up[{member}], down ({move}) from P to kv ({move});"
        else:
            transfer = f"transfer on net ({move}) from P to kv ({move});"
        tail = " cache (cost(kv, prompt + o))" if cache else ""
        remote = [
            "decode (prompt) from P {",
            "  set kept = prompt;",
            "  hold kv (cost(kv, known)) reserve (cost(kv, known))"
            + (" reuse (cost(kv, max(0, prompt - 1)))" if cache else ""),
            "       at admission (known = max(kept, computed + 1)) {",
            *(["    set c = min(cached, max(0, prompt - 1));"] if cache else []),
            "    branch (known == prompt && computed == 0) {",
            f"      {transfer}",
            "      mark read_done;",
            "      set have = max(0, prompt - 1);",
            "    } else {",
            f"      set have = {'c' if cache else '0'};",
            "    }",
            "    set kept = known;",
            "    hold reqs (cost(reqs, 1)) {",
            f"      run D prefill ({done}) growing kv;",
            f"      run D decode (cost(D, {steps})) growing kv;",
            "    }",
            f"  }}{tail}",
            "}",
        ]
        local = [
            "decode (prompt) {",
            "  set kept = prompt;",
            "  hold reqs (cost(reqs, 1)), kv (cost(kv, min(known, budget_left(D))))"
            " reserve (cost(kv, known))",
            "       at admission (known = max(kept, computed + 1)) {",
            "    set kept = known;",
            "    run D prefill (cost(D, known)) growing kv;",
            "    mark read_done;",
            f"    run D decode (cost(D, {steps})) growing kv;",
            "  }" + (" cache (cost(reqs, kv, prompt + o))" if cache else ""),
            "}",
        ]
        size = f"[{d_count}]" if d_count else ""
        entries = [] if shape == "plain" else indent(remote)
        return [
            f"queue D{size} : decode {{",
            *indent(self.engine_station("D", self.whole(24, 80), block, on_engine)),
            *indent(self.nic(shape)),
            *indent(local),
            *entries,
            "}",
        ]

    def route(self, p_count: int, d_count: int, shape: str) -> list[str]:
        out = []
        prompt = self.pick(["min(n, 14)", "min(n + 1, 9)"])
        out.append(f"set prompt = 1 + {prompt};")
        p, d = "P", "D"
        if d_count:
            key = self.pick(["queue(D[j])", "used(D[j].kv)", "queued(D[j].reqs) + work(D[j])"])
            out.append(f"choose j in {d_count} by ({key});")
            d = "D[j]"
        if p_count:
            key = self.pick(["queue(P[i])", "queued(P[i].reqs)", "~uniform(0, 1)"])
            out.append(f"choose i in {p_count} by ({key});")
            p = "P[i]"
        remote = f"{d}.decode (prompt) from {p};"
        if shape == "plain":
            calls = [f"{p}.prefill (prompt);", f"{d}.decode (prompt);"]
        elif self.chance(35):
            self.forks = True
            calls = [f"fork {{ {p}.prefill (prompt); }}", "join;", remote]
        else:
            calls = [f"{p}.prefill (prompt);", remote]
        if self.chance(40):
            test = self.pick(["n < 4", "turn_no > 1", f"cachedin({d}.kv) > 2"])
            return [
                *out,
                f"branch ({test}) {{",
                f"  {d}.decode (prompt);",
                "} else {",
                *indent(calls),
                "}",
            ]
        return out + calls

    def station_gauges(self, p_count: int, d_count: int) -> list[str]:
        p, d = ("P[0]" if p_count else "P"), ("D[0]" if d_count else "D")
        options = [f"used({p}.kv)", f"queued({d}.kv) + queue({d})", f"free({d}.kv) < 4"]
        return [f"gauge g{k}x = {self.pick(options)};" for k in range(self.whole(0, 2))]


@st.composite
def station_programs(draw: Callable[[Any], Any]) -> RandomProgram:
    """Well-formed random programs of stations with their settings."""
    return StationWriter(draw).write()
