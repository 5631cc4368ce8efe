"""Well-formed random programs as text, over the constructs of a deployment with one station kind
after another: stages, pools, engines, flows, transfers, legs.

`programs()` is the Hypothesis strategy. A program is well formed by construction: names are
declared before they are read, costs name the consumer's resources, amounts are not negative,
every loop lets time pass, and what a clause reads is what its moment supplies. It is small
enough that a run to its horizon takes some milliseconds.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from hypothesis import strategies as st

from serq.fuzz.case import RandomProgram
from serq.fuzz.requests import Requests
from serq.fuzz.resources import Resources
from serq.fuzz.statements import Statements
from serq.fuzz.workloads import Workloads
from serq.fuzz.writer import Scope, indent

KINDS = [
    "stages", "pools", "memory", "memory", "engine", "engine", "pressure", "pressure", "request",
    "flows", "transfer", "legs",
]  # fmt: skip
"""What a program is about; in ``memory`` and ``pressure`` there is little of it, and fights."""


class ProgramWriter(Resources, Workloads, Statements, Requests):
    """Draws one program."""

    def write(self) -> RandomProgram:
        """The program with the settings it is to run with."""
        kind = self.pick(KINDS)
        self.forks = kind == "legs"
        self.tight = kind in ("memory", "pressure")
        self.library()
        self.traced = self.chance(8)
        body = self.declarations(kind)
        arrival, finite = self.arrival()
        workload = self.workload(arrival)
        if self.traced:
            workload.append(f'trace "trace.csv"{self.pick([" ordered", ""])};')
        if any(s.name == "tool" for s in self.stages) and self.chance(15):
            body.append(f"stage tool : {self.pick(['fifo', 'ps(2)', 'fifo(2)'])};")
        server = self.server(kind)
        workload += self.hidden_items()
        gauges = [f"gauge g{i}x = {self.expr.gauge()};" for i in range(self.whole(0, 2))]
        claims = [self.claim(i) for i in range(self.whole(0, 2))]
        lines = [*self.head, "fn main() {", *indent(body)]
        lines += ["  workload {", *indent(workload, 4), "  }"]
        lines += ["  server {", *indent(server, 4), "  }"]
        lines += [*indent(gauges + claims), "}"]
        return self.settled(lines, finite)

    def settled(self, lines: list[str], finite: bool) -> RandomProgram:
        """The lines with settings: a horizon, or a number of arrivals and a distant one."""
        horizon = self.pick([20, 50, 90])
        warmup = self.pick([0, 0, 0, 7.5])
        arrivals = self.whole(1, 12) if finite and self.chance(15) else None
        return RandomProgram(
            "\n".join(lines) + "\n",
            horizon=2000.0 if arrivals is not None else float(horizon),
            warmup=0.0 if arrivals is not None else float(warmup),
            seed=self.whole(1, 1000),
            arrivals=arrivals,
            trace=self.trace_text() if self.traced else None,
        )

    def trace_text(self) -> str:
        """A small trace: sessions of one to three turns."""
        rows = []
        for session in range(self.whole(1, 3)):
            for turn in range(self.whole(1, 3)):
                new, out, think = self.whole(1, 12), self.whole(0, 8), self.whole(0, 3)
                forced = ",1" if self.chance(10) else ""
                rows.append(f"{session},{turn},{new},{out},{think}{forced}")
        return "\n".join(rows) + "\n"

    def declarations(self, kind: str) -> list[str]:
        """The resources of a program of this kind."""
        if kind == "stages":
            return self.stage_declarations()
        if kind == "memory":
            return self.stage_declarations() + self.pool_declarations(2)
        if kind == "transfer":
            return self.stage_declarations(link=True) + self.pool_declarations(2, least=2)
        body: list[str] = []
        if kind in ("engine", "pressure"):
            body = self.engine_declarations()
        elif kind == "request":
            request, taking = self.engine_request()
            body = self.engine_declarations(request, taking)
        body += self.stage_declarations(flows=kind == "flows")
        if kind == "pools" or (kind != "stages" and self.chance(60)):
            body += self.pool_declarations(2 if kind == "pools" else 1)
        return body

    def server(self, kind: str) -> list[str]:
        """The server's statements."""
        out: list[str] = ["set t0 = now;"]
        scope = Scope()
        if self.closed:  # a new session starts when one ends: time must pass in each
            first = next(s for s in self.stages if s.name == "s0")
            out.append(f"run {first.ref('0')} (cost(s0, 0.5));")
        if kind in ("engine", "pressure"):
            out += self.engine_hold(scope)
        elif kind == "request":
            marked, self.marked = self.marked, []
            out.append("e (n, o);")
            self.marked = marked
        elif kind == "transfer":
            out += self.handover(scope)
        elif kind == "flows":
            out.append(self.flow_run(scope))
        elif kind == "memory":
            out += self.hold(scope)
        out += self.block(scope, self.whole(0 if len(out) > 1 else 1, 4))
        if self.forks:
            leg = Scope("leg", depth=1)
            out += ["fork {", *indent(self.block(leg, self.whole(1, 2))), "}"]
            if self.chance(40):
                out += ["fork {", *indent(self.block(leg, 1)), "}"]
            out += self.block(scope, 1)
            out += ["join;"]
        if not any(line.strip().startswith(("run", "hold", "e (")) for line in out):
            out.append(self.run(scope))
        self.observes.append("response")
        out.append("observe response = now - t0;")
        return out

    def claim(self, i: int) -> str:
        """A claim of one of the three forms."""
        given = ""
        if self.chance(20):
            test = self.pick(["serial < 3", "c >= 0" if "c" in self.sizes else "serial >= 0"])
            given = f" given ({test})"
        if self.engine is not None and self.chance(60):
            member = "e[0]" if self.engine.count else "e"
            form = self.pick(["every", "some"])
            body = self.pick(
                ["tokens <= 8", "demand >= tokens", "decoders < 2 || prefilled == 0", "arrived > 2",
                 "served < 40", "residents <= 2", "now < 30", "kv_decode + kv_prefill <= 20",
                 "attention < 50"]
            )  # fmt: skip
            return f"claim c{i}x{given}: {form} iteration of {member} ({body});"
        body = self.pick(
            ["count({o}) > 3", "total({o}) <= 40", "largest({o}) < 20", "smallest({o}) >= 0",
             "prefix_total({o}) < 300", "now < 60"]
        ).format(o=self.pick(self.observes))  # fmt: skip
        return f"claim c{i}x{given}: at end ({body});"


@st.composite
def programs(draw: Callable[[Any], Any]) -> RandomProgram:
    """Well-formed random programs with their settings."""
    return ProgramWriter(draw).write()
