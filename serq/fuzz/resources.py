"""The resources of a random program: stages, flows, pools, devices and engines."""

from __future__ import annotations

from serq.fuzz.writer import PoolInfo, StageInfo, Writer, size

KINDS = [
    ("fifo", "fifo"),
    ("fifo", "fifo(2)"),
    ("delay", "delay"),
    ("ps", "ps(1)"),
    ("ps", "ps(2.5)"),
    ("ps", "ps(min(present, 3))"),
    ("ps", "ps(1 + present / 2)"),
    ("ps", "ps(0.5 + ~bernoulli(0.5))"),
]
COSTS = [
    "1",
    "0.5 + 0.01 * batch.tokens",
    "0.2 + 0.05 * batch.prefilled + 0.03 * batch.decoding",
    "max(0.3, 0.02 * batch.kv_decode + 0.01 * batch.kv_prefill)",
    "0.4 + 0.001 * batch.attention + 0.1 * running.count",
    "0.3 + ~exp(0.2)",
    "0.25 + work_time(batch.tokens)",
    "now > 20 ? 0.5 : 1",
]
BUDGETS = ["8", "16", "32", "5", "16 - running.count", "inf", "4 + running.kv_decode / 8",
           "8 + min(4, waiting.count)"]  # fmt: skip
VLLM = "running.count + waiting.count > 1 ? 3 : inf"


class Resources(Writer):
    """Declares resources."""

    def stage_declarations(self, flows: bool = False, link: bool = False) -> list[str]:
        """One to three stages ``s0``…, with ``flows`` two more that runs hold together."""
        out = []
        for i in range(self.whole(1, 3)):
            kind, text = self.pick(KINDS)
            count = self.pick([0, 0, 0, 1, 2, 3])
            self.stages.append(StageInfo(f"s{i}", count, kind))
            out.append(f"stage s{i}{size(count)} : {text};")
        if flows:
            for i in range(2):
                count = self.pick([0, 2, 3])
                self.stages.append(StageInfo(f"f{i}", count, "flow"))
                out.append(f"stage f{i}{size(count)} : ps({self.pick(['1', '2', '1.5', '4'])});")
            out.append(f"share {self.pick(['maxmin', 'bottleneck'])};")
        if link:
            self.stages.append(StageInfo("link", 0, "ps"))
            out.append(f"stage link : {self.pick(['fifo', 'ps(2)', 'delay'])};")
        return out

    # --- pools ----------------------------------------------------------------------------------

    def pool_declarations(self, most: int, least: int = 1) -> list[str]:
        """Pools ``p0``…; of a `tight` program small, most with preemption: growth meets the cap."""
        tight = self.tight and self.engine is None
        out: list[str] = []
        spills = most > 1 and self.chance(45)
        for i in range(self.whole(2 if spills else least, most)):
            count = 0 if spills else self.pick([0, 0, 0, 2])
            cap = self.whole(4, 9 if tight else 24)
            block = self.pick([0, 0, 2, 3]) if not tight else self.pick([0, 0, 2])
            preempts = not self.forks and self.chance(80 if tight else 30)
            self.pools.append(PoolInfo(f"p{i}", count, cap, block, preempts=preempts))
            options = [f"cap {cap};"] if self.chance(95) else [f"cap {cap}.5;"]
            options += [f"block {block};"] if block else []
            options += self.pool_options(preempts)
            out.append(f"pool p{i}{size(count)} {{ {' '.join(options)} }}")
        if spills:
            self.spill(out)
        return out

    def spill(self, declared: list[str]) -> None:
        """The last pool but one writes what it evicts to the last."""
        tier, pool = self.pools[-1], self.pools[-2]
        stage = next((s for s in self.server_stages() if s.count == 0 and s.kind != "flow"), None)
        if stage and not tier.count and not pool.count and pool.engine is None:
            when = self.pick(["1", "1", "size > 2", "waiting == 0", "~bernoulli(0.7)"])
            text = f"spill {tier.name} via {stage.name} (size * 0.25) when ({when});"
            declared[-2] = declared[-2][:-1] + text + " }"

    def pool_options(self, preempts: bool) -> list[str]:
        """Rules of a pool that no engine admits."""
        options = []
        if self.chance(40):
            options.append(f"evict by ({', '.join(self.expr.keys('evict'))});")
        if preempts:
            by = f"by ({', '.join(self.expr.keys('victim'))})"
            rule = self.pick(["lifo", by, by])
            tail = self.pick(["", " requeue tail", " requeue tail", " requeue head"])
            tail = tail if rule != "lifo" else ""
            options.append(f"preempt {rule}{tail};")
        if self.chance(30):
            options.append(f"queue by ({', '.join(self.expr.keys('select'))});")
        if self.chance(20):
            options.append("reserve held;")
        return options

    # --- engines --------------------------------------------------------------------------------

    def engine_declarations(self, request: list[str] | None = None, taking: str = "") -> list[str]:
        """An engine ``e`` on ``gpu`` with the pools ``kv`` and ``reqs``.

        ``request`` is what it does with a request, ``taking`` what its admission takes of one.
        A `tight` one has memory for a few requests, and preempts.
        """
        plain = request is None and not self.tight
        count = self.pick([0, 0, 0, 0, 2]) if plain else 0
        cap = self.whole(12, 24 if self.tight else 80 if self.chance(30) else 30)
        block = self.pick([0, 0, 1, 4, 8] if not self.tight else [0, 1, 2, 4])
        slots = self.whole(3 if self.tight else 1, 6)
        self.engine = StageInfo("e", count, "engine")
        self.stages.append(self.engine)
        admitted_kv = self.chance(40)
        queues = self.pick([1, 1, 1, 2]) if not count and plain else 1
        via = "e" if admitted_kv else None
        memory = PoolInfo("kv", count, cap, block, via, "e", preempts=True)
        requests = PoolInfo("reqs", count or (queues if queues > 1 else 0), slots, 0, "e")
        self.pools += [memory, requests]
        if not count and self.chance(40):
            self.registers.append("r0")
        chunk, granule = self.chunk()
        if count:  # a member of a family does not read the queues of all
            chunk = chunk.replace("running.count + waiting.count > 1", "running.count > 1")
        schedule = self.schedule(chunk, granule, taking)
        self.registers = [r for r in self.registers if f"set {r} " in schedule]
        budgets = [b for b in BUDGETS if not count or "waiting" not in b]
        budgets += [f"8 + min(4, max(0, {r}))" for r in self.registers]
        costs = COSTS + [f"0.5 + min(2, max(0, {r}))" for r in self.registers]
        items = [f"reqs{size(queues) if queues > 1 else ''} cap {slots};"]
        items.append(f"tokens cap {self.pick(budgets)};")
        if granule:
            items.append(f"granule {granule};")
        items += [f"state {r} = {self.pick(['0', '1', '2.5'])};" for r in self.registers]
        items += request or []
        items += [schedule, f"execute ({self.pick(costs)});"]
        return [
            f"device gpu{size(count)} {{ work_time (t) = t * 0.02; kv cap {cap}; }}",
            f"engine e{size(count)} on gpu {{",
            *("  " + item for item in items),
            "}",
            *self.engine_pools(memory, admitted_kv, block),
        ]

    def engine_pools(self, memory: PoolInfo, admitted: bool, block: int) -> list[str]:
        """``kv`` on the device and ``reqs`` on the engine, in one order or the other."""
        keys = ", ".join(self.expr.keys("victim"))
        rules = ["preempt lifo;", "preempt lifo;", f"preempt by ({keys});",
                 f"preempt by ({keys}) requeue tail;", "preempt none;"]  # fmt: skip
        if self.tight:  # the first in line loses: what it was served returns to the budget
            rules[1:2] = ["preempt by (admission);", "preempt by (admission) requeue tail;"]
            rules[-1] = "preempt by (1 - decoding, admission);"
        preempt = self.pick(rules)
        memory.preempts = preempt != "preempt none;"
        options = [f"block {block};"] if block else []
        options.append(
            self.pick(["evict lru;", f"evict by ({', '.join(self.expr.keys('evict'))});"])
        )
        options.append(preempt)
        if self.chance(15):
            options.append("reserve held;")
        select = self.expr.keys("select")
        if self.registers and self.chance(50):
            select.insert(0, f"{self.registers[0]} > 1 ? n : -n")
        queue = f"queue by ({', '.join(select)});"
        kv = f"pool kv on {'e.gpu' if admitted else 'gpu'} {{ {' '.join(options)} }}"
        reqs = f"pool reqs on e {{ {self.pick(['queue fifo;', 'queue fifo;', queue])} }}"
        return self.pick([[kv, reqs], [reqs, kv]])

    def chunk(self) -> tuple[str, str]:
        """``each at most`` and the granule, "" for none."""
        chunk = self.pick(
            ["", "", "4", "6", VLLM, "running.decoding > 0 ? 2 : 8", "max(2, 10 - running.count)"]
        )
        granule = ""
        if self.chance(15):
            granule = "2" if chunk != "" else self.pick(["2", "4", "inf"])
        return chunk, granule

    def schedule(self, chunk: str, granule: str, taking: str) -> str:
        """What each iteration does."""
        let = ""
        if chunk and self.chance(25):
            let, chunk = f"let cap_now = {chunk}; ", "cap_now"
        cap = f" each at most ({chunk})" if chunk else ""
        order = self.pick(["", "", " admission", " decode first",
                           f" by ({', '.join(self.expr.keys('serve'))})"])  # fmt: skip
        gate = " while (running.preempted == 0)"
        shape = self.pick(["vllm", "vllm", "only", "only", "exclusive", "free", "free"])
        if shape == "exclusive" and not granule:
            body = f"exclusive prefill{cap}; admit waiting{gate}{cap}{taking};"
        elif shape == "only":
            only = f" only ({self.expr.only()})"
            other = only if self.chance(70) else ""
            body = f"advance running{only}{order}{cap}; admit waiting{other}{gate}{cap}{taking};"
        elif shape == "free":
            body = " ".join(self.schedule_body(order, cap, taking))
        else:
            body = f"advance running{order}{cap}; admit waiting{gate}{cap}{taking};"
        return f"schedule {{ {let}{body} }}"

    def schedule_body(self, order: str, cap: str, taking: str) -> list[str]:
        """A schedule of the program's own."""
        out = []
        for register in self.registers:
            value = self.pick([f"{register} + 1", "running.count", "batch.tokens", "0"])
            out.append(f"set {register} = {value};")
        only = f" only ({self.expr.only()})"
        advance = f"advance running{self.pick(['', only])}{order}{cap};"
        gate = self.pick(["", " while (running.preempted == 0)", " while (waiting.admitted < 2)",
                          " while (batch.tokens < 12)"])  # fmt: skip
        admit = f"admit waiting{gate}{cap}{taking};"
        shape = self.pick(["both", "reverse", "branch", "guarded"])
        if shape == "both":
            out += [advance, admit]
        elif shape == "reverse":
            out += [admit, f"advance running{cap};"]
        elif shape == "branch":
            test = self.expr.plan_test()
            out.append(f"branch ({test}) {{ {advance} }} else {{ {admit} advance running{cap}; }}")
        else:
            out += [advance, f"branch ({self.expr.plan_test()}) {{ {admit} }}"]
        return out
