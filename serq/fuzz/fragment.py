"""Random programs of exactly the Lean fragment, as text and as IR.

Everything counts in whole numbers, no difference is negative, nothing is drawn and every loop
ends: there the interpreter and the Lean semantics must agree step by step.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from hypothesis import strategies as st

from serq.fuzz.case import RandomProgram
from serq.fuzz.fragment_ir import Maker
from serq.fuzz.writer import Writer, indent
from serq.ir import nodes as ir

VLLM = "running.count + waiting.count > 1 ? {} : inf"
SERVE = ["remaining", "-remaining", "-admission", "n", "serial", "decoding ? 0 : 1"]
VICTIM = ["-admission", "admission", "position", "-position", "1 - decoding", "-serial", "n"]
SELECT = ["waited", "-waited", "n", "-n", "serial", "-serial", "o"]
EVICT = ["last", "age", "size", "-size", "serial", "waiting"]
PHASE = "running.decoding > 0 ? decoding : !decoding"


class FragmentWriter(Writer):
    """Draws one program of the fragment. ``most`` bounds a request's tokens; 0 has no engine."""

    most = 0

    def write(self) -> RandomProgram:
        """The program with its horizon."""
        with_engine = self.chance(85)
        body = self.engine_text() if with_engine else []
        body += ["stage lag : delay;", f"stage desk : fifo{self.pick(['', '(2)'])};"]
        body.append(f"pool other {{ cap {self.whole(2, 6)};{self.queue_rule()} }}")
        if self.chance(50):
            self.values.append("fam")
            body.append(f"pool fam[2] {{ cap {self.whole(2, 5)}; }}")
        arrival = self.pick([f"batch({self.whole(1, 7)})", f"renewal({self.whole(1, 4)})"])
        workload = [f"arrive {arrival};"]
        turn = f"set n = {self.table(20)}; set o = {self.table(12)}; set d = {self.table(5)};"
        workload.append(f"turn {{ {turn} }}")
        if self.chance(50):
            session = self.pick(
                ["tool (serial); turn;", "turn; while (turn_no < 3) { tool (d); turn; }"]
            )
            workload.append(f"session {{ {session} }}")
        server = self.small(0)
        server += self.request() if with_engine else self.pause()
        server += [*self.small(0), "observe done = now;"]
        lines = ["fn main() {", *indent(body), "  workload {", *indent(workload, 4), "  }"]
        lines += ["  server {", *indent(server, 4), "  }"]
        lines += [*indent(self.claims(with_engine)), "}"]
        return RandomProgram("\n".join(lines) + "\n", float(self.pick([40, 80, 160])))

    def claims(self, with_engine: bool) -> list[str]:
        """Claims that read counters of the pools and the engine."""
        out = []
        for i in range(self.pick([0, 0, 1, 2])):
            of = self.pick(["other", *(["kv", "reqs", "e"] if with_engine else [])])
            counter = self.pick(["preemptions", "rejected", "stuck", "recomputed"])
            test = f"{counter}({of}) {self.pick(['==', '<=', '>'])} {self.whole(0, 4)}"
            forms = ["at end", *(["every iteration of e"] if with_engine else [])]
            out.append(f"claim counted{i}: {self.pick(forms)} ({test});")
        return out

    def table(self, most: int) -> str:
        """A whole number that depends on the session, and perhaps on the turn."""
        a, b, c = (str(self.whole(1, most)) for _ in range(3))
        return self.pick(
            [a, f"serial == 0 ? {a} : {b}", f"serial == 0 ? {a} : serial == 1 ? {b} : {c}",
             f"serial < 3 ? {a} : {b} + turn_no", f"{a} + turn_no", f"1 + floor(serial / 2) * {b}"]
        )  # fmt: skip

    def queue_rule(self) -> str:
        return f" queue by ({self.pick(SELECT)});" if self.chance(35) else ""

    def engine_text(self) -> list[str]:
        """The engine, its memory and its slots."""
        block = self.pick([0, 1, 2, 4])
        self.most = 40 if self.chance(40) else 24
        cap = self.whole(self.most, self.most + 20)
        cost = self.pick(
            ["1", "1 + batch.tokens", "2 + ceil(batch.tokens / 3)", "1 + batch.decoding",
             "2 + batch.kv_decode", "1 + 2 * batch.attention", "1 + max(2, running.count)",
             "1 + batch.kv_prefill"]
        )  # fmt: skip
        cap_rule = self.pick(["", "", str(self.whole(1, 9)), VLLM.format(self.whole(2, 6))])
        most = f" each at most ({cap_rule})" if cap_rule else ""
        order = f" by ({self.pick(SERVE)})" if self.chance(40) else ""
        only = f" only ({PHASE})" if self.chance(15) else ""
        gate = " while (running.preempted == 0)"
        schedule = f"advance running{only}{order}{most}; admit waiting{only}{gate}{most};"
        victim = f"by ({self.pick(VICTIM)}){self.pick(['', ' requeue tail'])}"
        preempt = self.pick(["lifo", victim])
        evict = self.pick(["lru", f"by ({self.pick(EVICT)})"])
        blocks = f"block {block}; " if block else ""
        return [
            f"device gpu {{ kv cap {cap}; }}",
            "engine e on gpu {",
            f"  reqs cap {self.whole(1, 5)};",
            f"  tokens cap {self.whole(3, 32)};",
            f"  schedule {{ {schedule} }}",
            f"  execute ({cost});",
            "}",
            f"pool kv on {self.pick(['gpu', 'e.gpu'])} "
            f"{{ {blocks}evict {evict}; preempt {preempt}; }}",
            f"pool reqs on e {{{self.queue_rule() or ' queue fifo;'} }}",
        ]

    # --- statements -----------------------------------------------------------------------------

    def small(self, depth: int) -> list[str]:
        """Up to two statements that may stand anywhere."""
        out: list[str] = []
        for _ in range(self.whole(0, 2)):
            options = ["observe", "pause", "count"]
            if depth < 2:
                options += ["branch", "hold", "loop"]
                options += ["family"] if "fam" in self.values else []
                options += ["tokens", "memory"] if self.most and self.chance(30) else []
            kind = self.pick(options)
            if kind == "observe":
                out.append(f"observe seen = {self.query()};")
            elif kind == "pause":
                out += self.pause()
            elif kind == "count":
                self.values.append("passes")
                out.append("set passes = passes + 1;")
            elif kind == "branch":
                test = self.pick(["d >= 3", "n < o", "turn_no == 1", "serial != 1 && d > 1"])
                out += [f"branch ({test}) {{", *indent(self.small(depth + 1)), "} else {"]
                out += [*indent(self.small(depth + 1)), "}"]
            elif kind == "loop":
                out += [f"set k{depth} = 0;", f"while (k{depth} < {self.whole(1, 2)}) {{"]
                body = [
                    f"set k{depth} = k{depth} + 1;",
                    f"run lag (cost(lag, {self.whole(1, 2)}));",
                ]
                out += [*indent([*body, *self.small(depth + 1)]), "}"]
            elif kind == "tokens":
                mode = self.pick(["prefill", "decode"])
                out.append(f"run e {mode} (cost(e, {self.pick(['1', 'd', 'o', '0'])}));")
            elif kind == "memory":
                body = [*self.pause(), *self.small(depth + 1)]
                out += ["hold kv (cost(kv, 1)) {", *indent(body), "}"]
            elif kind == "hold":
                units = self.pick(["1", "min(2, d)", "min(2, 1 + turn_no)"])
                reserve = self.pick(["", " reserve (cost(other, 2))"])
                body = [*self.pause(), *self.small(depth + 1)]
                cache = self.pick(["", " cache (cost(other, 1))"])
                out += [f"hold other (cost(other, {units})){reserve} {{", *indent(body)]
                out += [f"}}{cache}"]
            else:
                f = f"f{depth}"
                key = self.pick(["used(fam[{}])", "queued(fam[{}])", "holders(fam[{}])"])
                body = [*self.pause(), *self.small(depth + 1)]
                out += [f"choose {f} in 2 by ({key.format(f)});"]
                out += [f"hold fam[{f}] (cost(fam, 1)) {{"]
                out += [*indent(body), "}"]
        return out

    def query(self) -> str:
        options = ["now", "turn_no", "used(other)", "free(other)", "holders(other)",
                   "queued(other)", "queue(desk)", "busy(desk)", "work(desk)", "queue(lag)",
                   "busy(lag)", "work(lag)", "computed"]  # fmt: skip
        if "passes" in self.values:
            options.append("serial + passes")
        if "fam" in self.values:
            options += ["holders(fam[0])", "queued(fam[1])", "used(fam[1])", "free(fam[0])"]
        if self.most:
            options += ["used(kv)", "free(kv)", "cachedin(kv)", "holders(kv)", "holders(reqs)",
                        "queued(reqs)", "queue(e)", "busy(e)", "work(e)"]  # fmt: skip
        return self.pick(options)

    def pause(self) -> list[str]:
        """A run at the delay or the desk."""
        stage = self.pick(["lag", "desk"])
        work = self.pick(
            ["1", "d", "2", "min(d, 3)", "floor(n / 3)", "max(d, 2) - 1", "d < 2 ? 2 : d", "0"]
        )
        return [f"run {stage} (cost({stage}, {work}));"]

    def request(self) -> list[str]:
        """A turn's work at the engine, as vLLM does a request, with variations."""
        caches = self.chance(50)
        prompt = self.pick(["n", "min(n, 9)", f"min({self.most - 14}, n + d)"])
        reused = self.pick(["floor(prompt / 2)", "max(prompt, 1) - 1"]) if caches else "0"
        hit = f"min(cachedin(kv), {reused})" if caches else "0"
        units = f"min(known, {hit} + budget_left(e))" if caches else "min(known, budget_left(e))"
        reserve = self.pick([" reserve (cost(kv, known))", ""])
        pools = [f"reqs (cost(reqs, 1)), kv (cost(kv, {units})){reserve}"]
        reuse = f" reuse (cost(reqs, kv, {reused}))" if caches else ""
        have = f"min(cached, {reused})" if caches else "0"
        body = ["set kept = known;"]
        body += [*self.small(1), "run e prefill (cost(e, max(known, have) - have)) growing kv;"]
        body += self.small(1)
        rest = "max(prompt + o, known) - known"
        body.append(f"run e decode (cost(e, {rest})) growing kv;")
        body.insert(1, f"set have = {have};")
        if self.chance(20):
            body += ["release kv;", *self.pause()]
        cache = f" cache (cost(reqs, kv, {self.pick(['prompt + o', 'prompt'])}))" if caches else ""
        out = [f"set prompt = {prompt};", "set kept = prompt;"]
        out += [f"hold {pools[0]}{reuse}", "     at admission (known = max(kept, computed + 1)) {"]
        out += [*indent(body), f"}}{cache}"]
        if self.chance(20):
            out.append("drop kv;")
        return out


@st.composite
def fragment_programs(draw: Callable[[Any], Any]) -> RandomProgram:
    """Random programs of the Lean fragment as text."""
    return FragmentWriter(draw).write()


def fragment_ir_programs() -> st.SearchStrategy[ir.Program]:
    """Random programs of the Lean fragment as IR, with explicit sessions."""
    return st.randoms(use_true_random=False).map(lambda choices: Maker(choices).program())
