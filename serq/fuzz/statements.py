"""The statements of a random server: runs, holds, branches, loops, legs and the rest."""

from __future__ import annotations

from serq.fuzz.writer import PoolInfo, Scope, Writer, indent


class Statements(Writer):
    """Draws statements."""

    def block(self, scope: Scope, length: int) -> list[str]:
        """Some statements in a row."""
        out: list[str] = []
        for _ in range(length):
            out += self.statement(scope)
        return out

    def statement(self, scope: Scope) -> list[str]:
        """One statement, or a few that belong together."""
        options = ["run", "run", "set", "observe"]
        if scope.depth < 3:
            options += ["branch", "while"]
            if self.free_pools():
                options += ["hold", "hold", "hold"]
        if any(s.count > 1 for s in self.server_stages()):
            options.append("choose")
        if self.pools:
            options.append("drop")
        if scope.held:
            options += ["grow", "grow", "release"]
        if self.notes:
            options.append("note")
        if scope.depth <= 1 and not scope.held and scope.side == "server":
            options.append("cost")
            if scope.depth == 1 and not self.forks:
                options.append("end")
            if scope.depth == 0 and not self.forks and self.chance(5):
                return self.until_end(scope)
        kind = self.pick(options)
        simple = {
            "set": self.set,
            "observe": self.observe,
            "grow": self.grow,
            "run": self.run,
        }
        if kind in simple:
            return [simple[kind](scope)]
        if kind == "branch":
            return self.branch(scope)
        if kind == "while":
            return self.loop(scope)
        if kind == "hold":
            return self.hold(scope)
        if kind == "choose":
            return self.choose(scope)
        if kind == "drop":
            return [f"drop {self.pick(self.pools).ref('0')};"]
        if kind == "release":
            return [f"release {self.pick(scope.held)};"]
        if kind == "note":
            self.observes.append("noted")
            return [f"note ({self.pick(['serial', 'turn_no', '3'])});"]
        if kind == "end":
            return [f"branch ({self.expr.test(scope)}) {{ end; }}"]
        return self.typed_cost(scope)

    def set(self, scope: Scope) -> str:
        name = f"v{self.whole(0, 2)}"
        value = self.expr.session(scope)
        if name not in self.values:
            self.values.append(name)
        return f"set {name} = {value};"

    def observe(self, scope: Scope) -> str:
        name = f"x{self.whole(0, 2)}"
        self.observes.append(name)
        return f"observe {name} = {self.expr.session(scope)};"

    def grow(self, scope: Scope) -> str:
        ref = self.pick(scope.held)
        more = self.whole(1, 4) if self.tight else self.whole(0, 3)
        return f"grow {ref} (cost({ref.split('[')[0]}, {more}));"

    def branch(self, scope: Scope) -> list[str]:
        inner = scope.inside()
        head = self.pick(
            [
                f"branch ({self.expr.test(scope)}) {{",
                f"branch with ({self.pick(['0.5', '0.3', '0.9'])}) {{",
            ]
        )
        out = [head, *indent(self.block(inner, self.whole(1, 2))), "}"]
        if self.chance(60):
            out[-1] = "} else {"
            out += [*indent(self.block(inner, 1)), "}"]
        return out

    def loop(self, scope: Scope) -> list[str]:
        """A ``while`` of a few passes, each of which takes time."""
        counter = f"k{scope.depth}{'l' if scope.side == 'leg' else ''}"
        plain = next(s for s in self.stages if s.name == "s0")
        pause = f"run {plain.ref('0')} (cost(s0, {self.pick(['1', '0.5', '0.5 + ~exp(1)'])}));"
        body = [pause, *self.block(scope.inside(), self.whole(0, 1))]
        return [
            f"set {counter} = 0;",
            f"while ({counter} < {self.whole(1, 3)}) {{",
            *indent([f"set {counter} = {counter} + 1;", *body]),
            "}",
        ]

    def until_end(self, scope: Scope) -> list[str]:
        """A ``loop`` that ends the session."""
        body = [self.run(scope.inside()), f"branch with ({self.pick(['0.5', '0.8'])}) {{ end; }}"]
        stage = next(s for s in self.stages if s.name == "s0")
        body.insert(0, f"run {stage.ref('0')} (cost(s0, 0.5));")
        return ["branch (serial > 4) {", "  loop {", *indent(body, 4), "  }", "}"]

    def choose(self, scope: Scope) -> list[str]:
        """A member of a family by keys, and a run there."""
        stage = self.pick([s for s in self.server_stages() if s.count > 1])
        key = self.pick(["queue({})", "work({})", "~uniform(0, 1)", "est_wait({})", "busy({})"])
        member = f"{stage.name}[j]"
        tie = self.pick(["", ", ~bernoulli(0.5)"])
        out = [f"choose j in {stage.count} by ({key.format(member)}{tie});"]
        if stage.kind != "flow":
            out.append(f"run {member} (cost({stage.name}, {self.expr.amount(scope)}));")
        return out

    def typed_cost(self, scope: Scope) -> list[str]:
        """A cost with a name, declared or composite, and the runs that take it."""
        plain = [s for s in self.server_stages() if s.kind != "flow"]
        name = f"w{self.whole(0, 1)}"
        stage = self.pick(plain)
        ref = stage.ref(self.member(stage.count))
        if len(plain) > 1 and self.chance(40):
            other = next(s for s in plain if s is not stage)
            fields = f"{stage.name} : {self.expr.amount(scope)}, {other.name} : 0.5"
            return [
                f"Cost {name}r = {{ {fields} }};",
                f"run {ref} ({name}r.{stage.name});",
                f"run {other.ref('0')} ({name}r.{other.name});",
            ]
        stem = f"{name}_{stage.name}"
        return [
            f"Cost {stem} = cost({stage.name}, {self.expr.amount(scope)});",
            f"run {ref} ({stem});",
        ]

    # --- runs -----------------------------------------------------------------------------------

    def run(self, scope: Scope) -> str:
        flows = [s for s in self.stages if s.kind == "flow"]
        if flows and self.chance(60):
            return self.flow_run(scope)
        stage = self.pick(self.server_stages())
        ref = stage.ref(self.member(stage.count))
        work = self.expr.amount(scope)
        if stage.kind != "flow" and self.chance(6):
            return f"tool on {ref} ({work});"
        return f"run {ref} (cost({stage.name}, {work}));"

    def flow_run(self, scope: Scope) -> str:
        flows = [s for s in self.stages if s.kind == "flow"]
        refs = [s.ref(self.member(s.count)) for s in flows]
        names = ", ".join(s.name for s in flows)
        return f"run {', '.join(refs)} (cost({names}, {self.expr.amount(scope)}));"

    # --- holds ----------------------------------------------------------------------------------

    def free_pools(self) -> list[PoolInfo]:
        """Pools that any statement may hold: no engine's."""
        return [p for p in self.pools if p.engine is None and p.memory_of is None]

    def hold(self, scope: Scope) -> list[str]:
        free = self.free_pools()
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
        inner = scope.inside()
        inner.held = scope.held + refs
        inner.preemptible = scope.preemptible or any(p.preempts for p in pools)
        inner.cached_readable = caches
        body = [self.run(inner)]
        if self.tight or any(p.preempts for p in pools):
            body += [self.grow(inner), self.run(inner)]
        if self.chance(12):
            body.append(f"load {refs[0]} (cost({pool.name}, min(1, used({refs[0]}))));")
        body += self.block(inner, self.whole(0, 2))
        cache = f" cache (cost({names}, {self.expr.cache_amount()}))" if caches else ""
        lease = ""
        if self.chance(15) and scope.side != "leg":
            lease = f" lease {refs[0]} ({self.pick(['1', '4', 'inf'])})"
        out = [f"hold {', '.join(clauses)}{reuse} {{", *indent(body), f"}}{cache}{lease}"]
        if lease and self.chance(60):
            out.append(f"release {refs[0]};")
        return out

    def handover(self, scope: Scope) -> list[str]:
        """A KV transfer: a lease on ``p0``, and a hold on ``p1`` that its KV is loaded into."""
        source, target = self.pools[0], self.pools[1]
        a, b = source.ref("0"), target.ref("0")
        most = max(1, min(source.cap, target.cap) // 2 - max(source.block, target.block))
        tokens = f"min({most}, 1 + n)"
        lease = self.pick(["inf", "inf", "5", "1"])
        move = self.pick(["transfer (n / 8)", "transfer on link (0.5)", "transfer (1)"])
        out = [
            f"hold {a} (cost({source.name}, {tokens})) {{",
            *indent([self.run(scope.inside())]),
            f"}} cache (cost({source.name}, {tokens})) lease {a} ({lease})",
            f"hold {b} (cost({target.name}, {tokens})) {{",
            f"  {move} from {a} to {b} ({self.pick([f'floor({tokens})', '1', '0'])});",
            *indent([self.run(scope.inside())]),
            f"}}{self.pick(['', f' cache (cost({target.name}, n))'])}",
        ]
        return out
