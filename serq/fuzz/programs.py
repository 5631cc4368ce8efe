"""Well-formed random programs as text, over the constructs of a deployment with one station kind
after another: stages, pools, engines, flows, legs.

`programs()` is the Hypothesis strategy. A program is well formed by construction: names are
declared before they are read, costs name the consumer's resources, amounts are not negative,
every loop lets time pass, and what a clause reads is what its moment supplies. It is small
enough that a run to its horizon takes some milliseconds.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from typing import Any, TypeVar

from hypothesis import strategies as st

from serq.fuzz.case import RandomProgram
from serq.fuzz.expressions import Expressions

T = TypeVar("T")


@dataclass
class PoolInfo:
    name: str
    count: int  # 0: a scalar
    cap: int
    block: int
    engine: str | None = None  # the engine that admits it
    memory_of: str | None = None
    preempts: bool = False
    leased: bool = False

    def ref(self, index: str) -> str:
        return f"{self.name}[{index}]" if self.count else self.name


@dataclass
class StageInfo:
    name: str
    count: int
    kind: str  # fifo ps delay flow engine

    def ref(self, index: str) -> str:
        return f"{self.name}[{index}]" if self.count else self.name


@dataclass
class Scope:
    """What a statement may use where it stands."""

    side: str  # server workload leg
    held: list[str] = field(default_factory=list)  # references held around it
    depth: int = 0
    preemptible: bool = False
    cached_readable: bool = True


class Writer:
    """Draws one program; `draw` is Hypothesis's."""

    def __init__(self, draw: Callable[[Any], Any]) -> None:
        self.draw = draw
        self.pools: list[PoolInfo] = []
        self.stages: list[StageInfo] = []
        self.sizes: list[str] = []  # the workload's attributes
        self.values: list[str] = []  # the server's attributes
        self.hidden: list[str] = []
        self.observes: list[str] = []
        self.registers: list[str] = []
        self.engine: StageInfo | None = None
        self.lines: list[str] = []
        self.forks = False
        self.closed = False
        self.expr = Expressions(self)

    # --- small draws ----------------------------------------------------------------------------

    def pick(self, options: Sequence[T]) -> T:
        return self.draw(st.sampled_from(list(options)))  # type: ignore[no-any-return]

    def chance(self, percent: int) -> bool:
        """True with this probability; shrinks to False."""
        return bool(self.draw(st.integers(0, 99)) >= 100 - percent)

    def whole(self, low: int, high: int) -> int:
        return int(self.draw(st.integers(low, high)))

    # --- the program ----------------------------------------------------------------------------

    def write(self) -> RandomProgram:
        kinds = ["stages", "pools", "engine", "engine", "flows", "legs"]
        kind = self.pick(kinds)
        body: list[str] = []
        if kind in ("engine",):
            body += self.engine_declarations()
        body += self.stage_declarations(flows=kind == "flows")
        if kind != "stages":
            body += self.pool_declarations(2 if kind == "pools" else 1)
        arrival, finite = self.arrival()
        workload = self.workload(arrival)
        self.forks = kind == "legs"
        server = self.server()
        if kind == "flows" and not any(", f1" in line for line in server):
            server.insert(-1, self.flow_run(Scope("server")))
        workload += self.hidden_items()
        gauges = [self.gauge(i) for i in range(self.whole(0, 2))]
        claims = [self.claim(i) for i in range(self.whole(0, 2))]
        lines = ["fn main() {", *indent(body)]
        lines += ["  workload {", *indent(workload, 4), "  }"]
        lines += ["  server {", *indent(server, 4), "  }"]
        lines += [*indent(gauges + claims), "}"]
        text = "\n".join(lines) + "\n"
        horizon = self.pick([20, 50, 90])
        warmup = self.pick([0, 0, 0, 7.5])
        arrivals = self.whole(1, 12) if finite and self.chance(15) else None
        return RandomProgram(
            text,
            horizon=2000.0 if arrivals is not None else float(horizon),
            warmup=0.0 if arrivals is not None else float(warmup),
            seed=self.whole(1, 1000),
            arrivals=arrivals,
        )

    # --- declarations ---------------------------------------------------------------------------

    def stage_declarations(self, flows: bool) -> list[str]:
        out = []
        for i in range(self.whole(1, 3)):
            name = f"s{i}"
            count = self.pick([0, 0, 0, 1, 2, 3])
            kind, text = self.pick(
                [
                    ("fifo", "fifo"),
                    ("fifo", "fifo(2)"),
                    ("delay", "delay"),
                    ("ps", "ps(1)"),
                    ("ps", "ps(2.5)"),
                    ("ps", "ps(min(present, 3))"),
                    ("ps", "ps(1 + present / 2)"),
                    ("ps", "ps(0.5 + ~bernoulli(0.5))"),
                ]
            )
            self.stages.append(StageInfo(name, count, kind))
            out.append(f"stage {name}{_size(count)} : {text};")
        if flows:
            for i in range(2):
                name = f"f{i}"
                count = self.pick([0, 2, 3])
                self.stages.append(StageInfo(name, count, "flow"))
                out.append(f"stage {name}{_size(count)} : ps({self.pick(['1', '2', '1.5', '4'])});")
            out.append(f"share {self.pick(['maxmin', 'bottleneck'])};")
        return out

    def pool_declarations(self, most: int) -> list[str]:
        out = []
        for i in range(self.whole(1, most)):
            name = f"p{i}"
            count = self.pick([0, 0, 0, 2])
            cap = self.whole(4, 24)
            block = self.pick([0, 0, 2, 3])
            preempts = not self.forks and self.chance(30)
            self.pools.append(PoolInfo(name, count, cap, block, preempts=preempts))
            options = [f"cap {cap};"]
            options += [f"block {block};"] if block else []
            options += self.pool_options(preempts)
            out.append(f"pool {name}{_size(count)} {{ {' '.join(options)} }}")
        if len(self.pools) > 1 and self.chance(25):
            tier, pool = self.pools[-1], self.pools[-2]
            stage = next((s for s in self.stages if s.count == 0 and s.kind != "engine"), None)
            if stage and not tier.count and not pool.count and pool.engine is None:
                when = self.pick(["1", "size > 2", "waiting == 0"])
                spill = f"spill {tier.name} via {stage.name} (size * 0.25) when ({when});"
                out[-2] = out[-2][:-1] + spill + " }"
        return out

    def pool_options(self, preempts: bool) -> list[str]:
        options = []
        if self.chance(40):
            options.append(f"evict by ({', '.join(self.expr.keys('evict'))});")
        if preempts:
            rule = self.pick(["lifo", f"by ({', '.join(self.expr.keys('victim'))})"])
            tail = self.pick(["", " requeue tail", " requeue head"]) if rule != "lifo" else ""
            options.append(f"preempt {rule}{tail};")
        if self.chance(30):
            options.append(f"queue by ({', '.join(self.expr.keys('select'))});")
        if self.chance(20):
            options.append("reserve held;")
        return options

    def engine_declarations(self) -> list[str]:
        name, device = "e", "gpu"
        count = self.pick([0, 0, 0, 0, 2])
        cap = self.whole(12, 80)
        block = self.pick([0, 0, 1, 4, 8])
        slots = self.whole(1, 6)
        self.engine = StageInfo(name, count, "engine")
        self.stages.append(self.engine)
        admitted_kv = self.chance(40)
        queues = self.pick([1, 1, 1, 2]) if not count else 1
        memory = PoolInfo(
            "kv", count, cap, block, name if admitted_kv else None, name, preempts=True
        )
        requests = PoolInfo("reqs", count or (queues if queues > 1 else 0), slots, 0, name)
        self.pools += [memory, requests]
        if not count and self.chance(40):
            self.registers.append("r0")
        items = [f"reqs{f'[{queues}]' if queues > 1 else ''} cap {slots};"]
        budget = self.pick(
            ["8", "16", "32", "5", "16 - running.count", "inf", "4 + running.kv_decode / 8"]
        )
        items.append(f"tokens cap {budget};")
        chunk, granule = self.chunk()
        if granule:
            items.append(f"granule {granule};")
        schedule = self.schedule(chunk, granule)
        self.registers = [r for r in self.registers if f"set {r} " in schedule]
        items += [f"state {r} = {self.pick(['0', '1', '2.5'])};" for r in self.registers]
        items.append(schedule)
        cost = self.pick(
            [
                "1",
                "0.5 + 0.01 * batch.tokens",
                "0.2 + 0.05 * batch.prefilled + 0.03 * batch.decoding",
                "max(0.3, 0.02 * batch.kv_decode + 0.01 * batch.kv_prefill)",
                "0.4 + 0.001 * batch.attention + 0.1 * running.count",
                "0.3 + ~exp(0.2)",
                "0.25 + work_time(batch.tokens)",
            ]
        )
        items.append(f"execute ({cost});")
        preempt = self.pick(["preempt lifo;", "preempt lifo;", "preempt none;",
                             f"preempt by ({', '.join(self.expr.keys('victim'))}) requeue tail;",
                             f"preempt by ({', '.join(self.expr.keys('victim'))});"])  # fmt: skip
        memory.preempts = preempt != "preempt none;"
        kv_options = [f"block {block};"] if block else []
        kv_options.append(
            self.pick(["evict lru;", f"evict by ({', '.join(self.expr.keys('evict'))});"])
        )
        kv_options.append(preempt)
        if self.chance(15):
            kv_options.append("reserve held;")
        owner = f"{name}.{device}" if admitted_kv else device
        slot_queue = self.pick(
            ["queue fifo;", "queue fifo;", f"queue by ({', '.join(self.expr.keys('select'))});"]
        )
        declarations = [
            f"device {device}{_size(count)} {{ work_time (t) = t * 0.02; kv cap {cap}; }}",
            f"engine {name}{_size(count)} on {device} {{",
            *("  " + item for item in items),
            "}",
        ]
        kv = f"pool kv on {owner} {{ {' '.join(kv_options)} }}"
        reqs = f"pool reqs on {name} {{ {slot_queue} }}"
        return declarations + (self.pick([[kv, reqs], [reqs, kv]]))

    def chunk(self) -> tuple[str, str]:
        rule = "running.count + waiting.count > 1 ? 3 : inf"
        other = ["running.decoding > 0 ? 2 : 8", "max(2, 10 - running.count)"]
        chunk = self.pick(["", "", "4", "6", rule, *other])
        granule = ""
        if self.chance(15):
            granule = "2" if chunk != "" else self.pick(["2", "4", "inf"])
        return chunk, granule

    def schedule(self, chunk: str, granule: str) -> str:
        cap = f" each at most ({chunk})" if chunk else ""
        order = self.pick(["", "", " admission", " decode first",
                           f" by ({', '.join(self.expr.keys('serve'))})"])  # fmt: skip
        gate = " while (running.preempted == 0)"
        shape = self.pick(["vllm", "vllm", "only", "exclusive", "free", "free"])
        if shape == "exclusive" and not granule:
            return f"schedule {{ exclusive prefill{cap}; admit waiting{gate}{cap}; }}"
        if shape == "only":
            only = f" only ({self.expr.only()})"
            other = only if self.chance(70) else ""
            advance = f"advance running{only}{order}{cap};"
            return f"schedule {{ {advance} admit waiting{other}{gate}{cap}; }}"
        if shape == "free":
            return f"schedule {{ {' '.join(self.schedule_body(order, cap))} }}"
        return f"schedule {{ advance running{order}{cap}; admit waiting{gate}{cap}; }}"

    def schedule_body(self, order: str, cap: str) -> list[str]:
        out = []
        for register in self.registers:
            value = self.pick([f"{register} + 1", "running.count", "batch.tokens", "0"])
            out.append(f"set {register} = {value};")
        advance = f"advance running{self.pick(['', f' only ({self.expr.only()})'])}{order}{cap};"
        gate = self.pick(["", " while (running.preempted == 0)", " while (waiting.admitted < 2)",
                          " while (batch.tokens < 12)"])  # fmt: skip
        admit = f"admit waiting{gate}{cap};"
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

    # --- workload -------------------------------------------------------------------------------

    def arrival(self) -> tuple[str, bool]:
        law = self.pick(["batch", "poisson", "renewal", "closed", "renewal"])
        if law == "poisson":
            return f"arrive poisson({self.pick(['0.5', '0.3', '1'])});", True
        if law == "renewal":
            gap = self.pick(["2", "~exp(2)", "~uniform(0.5, 3)", "1", "~erlang(2, 3)", "~h2(2, 2)"])
            return f"arrive renewal({gap});", True
        if law == "closed":
            self.closed = True
            return f"arrive closed({self.whole(1, 5)});", False
        return f"arrive batch({self.whole(1, 8)});", False

    def workload(self, arrival: str) -> list[str]:
        out = [arrival]
        self.sizes += ["n", "o"]
        draw_n = self.pick(["1 + floor(~exp(8))", "5", "1 + floor(~uniform(0, 20))", "~exp(6)"])
        draw_o = self.pick(["1 + floor(~exp(5))", "3", "1 + floor(~uniform(0, 9))", "~exp(3)"])
        turn = [f"set n = {draw_n};", f"set o = {draw_o};"]
        if self.chance(50):
            self.sizes.append("c")
            out.append(f"init {{ set c = {self.pick(['floor(~uniform(0, 3))', '1', 'serial'])}; }}")
        out.append(f"turn {{ {' '.join(turn)} }}")
        shape = self.pick(["one", "one", "turns", "tool", "closed loop"])
        if shape != "one":
            think = self.pick(["~exp(2)", "1", "~uniform(0, 3)"])
            pause = f"tool ({think});"
            again = "turn_no < 3" if shape != "tool" else "turn_no < 2 || ~bernoulli(0.5)"
            self.sizes.append("ctx")
            session = f"turn; while ({again}) {{ set ctx = ctx + n; {pause} turn; }}"
            out.append(f"session {{ {session} }}")
            if self.stages is not None:
                self.stages.append(StageInfo("tool", 0, "client"))
        return out

    def hidden_items(self) -> list[str]:
        return [f"hidden {', '.join(self.hidden)};"] if self.hidden else []

    # --- server ---------------------------------------------------------------------------------

    def server(self) -> list[str]:
        out: list[str] = ["set t0 = now;"]
        scope = Scope("server")
        if self.closed:  # a new session starts when one ends: time must pass in each
            first = next(s for s in self.stages if s.name == "s0")
            out.append(f"run {first.ref('0')} (cost(s0, 0.5));")
        if self.engine is not None:
            out += self.engine_hold(scope)
        out += self.block(scope, self.whole(1, 4))
        if self.forks:
            leg = Scope("leg", depth=1)
            out += ["fork {", *indent(self.block(leg, self.whole(1, 2))), "}"]
            if self.chance(40):
                out += ["fork {", *indent(self.block(leg, 1)), "}"]
            out += self.block(scope, 1)
            out += ["join;"]
        if not any(line.strip().startswith(("run", "hold")) for line in out):
            out.append(self.run(scope))
        self.observes.append("response")
        out.append("observe response = now - t0;")
        return out

    def block(self, scope: Scope, length: int) -> list[str]:
        out: list[str] = []
        for _ in range(length):
            out += self.statement(scope)
        return out

    def statement(self, scope: Scope) -> list[str]:
        options = ["run", "run", "set", "observe"]
        if scope.depth < 3:
            options += ["branch", "while"]
            if any(p.engine is None and p.memory_of is None for p in self.pools):
                options += ["hold", "hold", "hold"]
        if any(s.count > 1 and s.kind not in ("client", "engine") for s in self.stages):
            options.append("choose")
        if self.pools:
            options.append("drop")
        if scope.held:
            options += ["grow", "release"]
        kind = self.pick(options)
        if kind == "set":
            return [self.set(scope)]
        if kind == "observe":
            name = f"x{self.whole(0, 2)}"
            self.observes.append(name)
            return [f"observe {name} = {self.expr.session(scope)};"]
        if kind == "branch":
            return self.branch(scope)
        if kind == "while":
            inner = Scope(scope.side, list(scope.held), scope.depth + 1, scope.preemptible)
            counter = f"k{scope.depth}{'l' if scope.side == 'leg' else ''}"
            plain = next(s for s in self.stages if s.name == "s0")
            pause = f"run {plain.ref('0')} (cost(s0, {self.pick(['1', '0.5', '0.5 + ~exp(1)'])}));"
            body = [pause, *self.block(inner, self.whole(0, 1))]
            return [
                f"set {counter} = 0;",
                f"while ({counter} < {self.whole(1, 3)}) {{",
                *indent([f"set {counter} = {counter} + 1;", *body]),
                "}",
            ]
        if kind == "hold":
            return self.hold(scope)
        if kind == "choose":
            stage = self.pick(
                [s for s in self.stages if s.count > 1 and s.kind not in ("client", "engine")]
            )
            key = self.pick(["queue({})", "work({})", "~uniform(0, 1)", "est_wait({})", "busy({})"])
            member = f"{stage.name}[j]"
            tie = self.pick(["", ", ~bernoulli(0.5)"])
            return (
                [
                    f"choose j in {stage.count} by ({key.format(member)}{tie});",
                    f"run {member} (cost({stage.name}, {self.expr.amount(scope)}));",
                ]
                if stage.kind != "flow"
                else [f"choose j in {stage.count} by ({key.format(member)}{tie});"]
            )
        if kind == "drop":
            pool = self.pick(self.pools)
            return [f"drop {pool.ref('0')};"]
        if kind == "grow":
            ref = self.pick(scope.held)
            return [f"grow {ref} (cost({ref.split('[')[0]}, {self.whole(0, 3)}));"]
        if kind == "release":
            return [f"release {self.pick(scope.held)};"]
        return [self.run(scope)]

    def set(self, scope: Scope) -> str:
        name = f"v{self.whole(0, 2)}"
        if name not in self.values:
            self.values.append(name)
        return f"set {name} = {self.expr.session(scope)};"

    def branch(self, scope: Scope) -> list[str]:
        inner = Scope(scope.side, list(scope.held), scope.depth + 1, scope.preemptible)
        head = self.pick(
            [
                f"branch ({self.expr.test(scope)}) {{",
                f"branch with ({self.pick(['0.3', '0.5', '0.9'])}) {{",
            ]
        )
        out = [head, *indent(self.block(inner, self.whole(1, 2))), "}"]
        if self.chance(60):
            out[-1] = "} else {"
            out += [*indent(self.block(inner, 1)), "}"]
        return out

    def run(self, scope: Scope) -> str:
        flows = [s for s in self.stages if s.kind == "flow"]
        if flows and self.chance(60):
            return self.flow_run(scope)
        plain = [s for s in self.stages if s.kind not in ("engine", "client")]
        stage = self.pick(plain)
        ref = stage.ref(self.member(stage.count))
        return f"run {ref} (cost({stage.name}, {self.expr.amount(scope)}));"

    def flow_run(self, scope: Scope) -> str:
        flows = [s for s in self.stages if s.kind == "flow"]
        refs = [s.ref(self.member(s.count)) for s in flows]
        names = ", ".join(s.name for s in flows)
        return f"run {', '.join(refs)} (cost({names}, {self.expr.amount(scope)}));"

    def member(self, count: int) -> str:
        if count <= 1:
            return "0"
        return self.pick([str(count - 1), "0", f"serial - floor(serial / {count}) * {count}"])

    def hold(self, scope: Scope) -> list[str]:
        free = [p for p in self.pools if p.engine is None and p.memory_of is None]
        pool = self.pick(free)
        pools = [pool]
        if len(free) > 1 and self.chance(30):
            pools.append(next(p for p in free if p is not pool))
        refs = [p.ref(self.pick(["0", "1"]) if p.count else "0") for p in pools]
        clauses = []
        for p, ref in zip(pools, refs, strict=True):
            most = max(1, p.cap // 2 - p.block)
            units = self.expr.units(scope, most)
            reserve = ""
            if self.chance(25):
                reserve = f" reserve (cost({p.name}, {self.whole(1, most)}))"
            clauses.append(f"{ref} (cost({p.name}, {units})){reserve}")
        names = ", ".join(p.name for p in pools)
        caches = self.chance(55)
        reuse = f" reuse (cost({names}, {self.whole(0, 6)}))" if caches and self.chance(30) else ""
        inner = Scope(
            scope.side,
            scope.held + refs,
            scope.depth + 1,
            scope.preemptible or any(p.preempts for p in pools),
            cached_readable=caches,
        )
        body = [self.run(inner), *self.block(inner, self.whole(0, 2))]
        cache = f" cache (cost({names}, {self.expr.cache_amount()}))" if caches else ""
        lease = ""
        if self.chance(15) and scope.side != "leg":
            lease = f" lease {refs[0]} ({self.pick(['1', '4', 'inf'])})"
        out = [f"hold {', '.join(clauses)}{reuse} {{", *indent(body), f"}}{cache}{lease}"]
        if lease and self.chance(60):
            out.append(f"release {refs[0]};")
        return out

    def engine_hold(self, scope: Scope) -> list[str]:
        assert self.engine is not None
        kv = next(p for p in self.pools if p.name == "kv")
        reqs = next(p for p in self.pools if p.name == "reqs")
        out = []
        e = self.engine
        index = "0"
        if e.count:
            key = self.pick(["queue(e[g])", "queued(reqs[g])", "used(kv[g])", "work(e[g])"])
            out.append(f"choose g in {e.count} by ({key});")
            self.values.append("g")
            index = "g"
        ref_e, ref_kv = e.ref(index), kv.ref(index)
        ref_r = reqs.ref(index if e.count else self.pick(["0", "1"]) if reqs.count else "0")
        growing = self.chance(75)
        grow = f" growing {ref_kv}" if growing else ""
        prompt = "min(n, 12)" if self.chance(30) else "n"
        if "ctx" in self.sizes and self.chance(70):
            prompt = f"min(ctx, 20) + {prompt}"
        out.append(f"set prompt = {prompt};")
        self.values.append("prompt")
        resumes = self.chance(60)
        caches = self.chance(70)
        limit = max(1, kv.cap - max(kv.block, 1))
        known = "max(kept, computed + 1)" if resumes else "prompt"
        if resumes:
            out.append("set kept = prompt;")
        reused = f"min(cachedin({ref_kv}), max(0, known - 1))" if caches else "0"
        units = (
            f"min(known, reused + budget_left({ref_e}))" if growing else f"min({limit}, known + o)"
        )
        reserve = self.pick(
            ["", " reserve (cost(kv, known))", f" reserve (cost(kv, min({limit}, known + 4)))"]
        )
        clauses = [f"{ref_r} (cost(reqs, 1))", f"{ref_kv} (cost(kv, {units})){reserve}"]
        if self.chance(15):
            clauses.reverse()
        bindings = [f"known = {known}", f"reused = {reused}"]
        hidden_o = self.chance(40) and growing
        if hidden_o:
            self.hidden.append("o")
        body = []
        if resumes:
            body.append("set kept = known;")
        c = "0"
        if caches:
            body.append("set hit = min(cached, max(0, known - 1));")
            self.values.append("hit")
            c = "hit"
        body.append(f"run {ref_e} prefill (cost(e, known - {c})){grow};")
        delay = next((s for s in self.stages if s.kind == "delay" and not s.count), None)
        if delay and self.chance(25):
            body.append(f"run {delay.name} (cost({delay.name}, {self.pick(['0', '0.5', '2'])}));")
        if resumes:
            body.append(f"run {ref_e} decode (cost(e, max(0, o - 1 - (known - prompt)))){grow};")
        else:
            body.append(f"run {ref_e} decode (cost(e, o)){grow};")
        if self.chance(20):
            self.observes.append("computed_seen")
            body.append("observe computed_seen = computed;")
        if self.chance(15):
            body.append(f"grow {ref_kv} (cost(kv, 1));")
        cache = " cache (cost(reqs, kv, prompt + o))" if caches else ""
        reuse = " reuse (cost(reqs, kv, reused))" if caches and self.chance(40) else ""
        out += [
            f"hold {', '.join(clauses)}{reuse}",
            f"     at admission ({', '.join(bindings)}) {{",
            *indent(body),
            f"}}{cache}",
        ]
        if self.chance(25):
            out.append(f"branch (turn_no > 1) {{ drop {ref_kv}; }}")
        return out

    # --- gauges and claims ----------------------------------------------------------------------

    def gauge(self, i: int) -> str:
        return f"gauge g{i}x = {self.expr.gauge()};"

    def claim(self, i: int) -> str:
        name = f"c{i}x"
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
            return f"claim {name}{given}: {form} iteration of {member} ({body});"
        observe = self.pick(self.observes)
        body = self.pick(
            ["count({o}) > 3", "total({o}) <= 40", "largest({o}) < 20", "smallest({o}) >= 0",
             "prefix_total({o}) < 300", "now < 60"]
        ).format(o=observe)  # fmt: skip
        return f"claim {name}{given}: at end ({body});"


def _size(count: int) -> str:
    return f"[{count}]" if count else ""


def indent(lines: Sequence[str], by: int = 2) -> list[str]:
    """The lines, each moved in."""
    return [" " * by + line for line in lines]


@st.composite
def programs(draw: Callable[[Any], Any]) -> RandomProgram:
    """Well-formed random programs with their settings."""
    return Writer(draw).write()
