"""A request at a random engine: the hold a server writes, or the engine's own ``request``."""

from __future__ import annotations

from serq.fuzz.writer import Scope, Writer, indent


class Requests(Writer):
    """Draws what an engine does with a request."""

    def engine_hold(self, scope: Scope) -> list[str]:
        """The hold, its prefill and its decode, with variations of vLLM's request."""
        assert self.engine is not None
        kv = next(p for p in self.pools if p.name == "kv")
        reqs = next(p for p in self.pools if p.name == "reqs")
        out = []
        index = "0"
        if self.engine.count:
            key = self.pick(["queue(e[g])", "queued(reqs[g])", "used(kv[g])", "work(e[g])"])
            out.append(f"choose g in {self.engine.count} by ({key});")
            self.values.append("g")
            index = "g"
        ref_e, ref_kv = self.engine.ref(index), kv.ref(index)
        slot = index if self.engine.count else self.pick(["0", "1"]) if reqs.count else "0"
        ref_r = reqs.ref(slot)
        growing = self.tight or self.chance(75)
        grow = f" growing {ref_kv}" if growing else ""
        out.append(f"set prompt = {self.prompt()};")
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
        if self.tight:
            reserve = self.pick(["", f" reserve (cost(kv, min({limit}, known)))"])
        elif self.registers and self.chance(30):
            reserve = f" reserve (cost(kv, min({limit}, known + max(0, {self.registers[0]}))))"
        clauses = [f"{ref_r} (cost(reqs, 1))", f"{ref_kv} (cost(kv, {units})){reserve}"]
        if self.chance(15):
            clauses.reverse()
        if self.chance(40) and growing:
            self.hidden.append("o")
        body = self.engine_body(ref_e, grow, resumes, caches)
        if self.chance(15):
            body.append(f"grow {ref_kv} (cost(kv, 1));")
        cache = " cache (cost(reqs, kv, prompt + o))" if caches else ""
        reuse = " reuse (cost(reqs, kv, reused))" if caches and self.chance(40) else ""
        out += [
            f"hold {', '.join(clauses)}{reuse}",
            f"     at admission (known = {known}, reused = {reused}) {{",
            *indent(body),
            f"}}{cache}",
        ]
        if self.chance(25):
            out.append(f"branch (turn_no > 1) {{ drop {ref_kv}; }}")
        return out

    def prompt(self) -> str:
        """The tokens of a turn's prompt."""
        prompt = "min(n, 12)" if self.chance(30) else "n"
        if "ctx" in self.sizes and self.chance(70):
            prompt = f"min(ctx, 20) + {prompt}"
        return prompt

    def engine_body(self, ref_e: str, grow: str, resumes: bool, caches: bool) -> list[str]:
        """Prefill, perhaps a pause, decode."""
        body = []
        if resumes:
            body.append("set kept = known;")
        have = "0"
        if caches:
            body.append("set hit = min(cached, max(0, known - 1));")
            self.values.append("hit")
            have = "hit"
        body.append(f"run {ref_e} prefill (cost(e, known - {have})){grow};")
        delay = next((s for s in self.stages if s.kind == "delay" and not s.count), None)
        if delay and self.chance(25):
            body.append(f"run {delay.name} (cost({delay.name}, {self.pick(['0', '0.5', '2'])}));")
        rest = "max(0, o - 1 - (known - prompt))" if resumes else "o"
        body.append(f"run {ref_e} decode (cost(e, {rest})){grow};")
        if self.chance(20):
            self.observes.append("computed_seen")
            body.append("observe computed_seen = computed;")
        return body

    def engine_request(self) -> tuple[list[str], str]:
        """An engine's ``request (prompt, output)`` and the ``taking`` of its admission."""
        growing = self.chance(80)
        grow = " growing kv" if growing else ""
        body = ["set kept = prompt;"]
        reused = self.pick(["min(cachedin(kv), max(0, known - 1))", "0"])
        caches = reused != "0"
        body.append(
            f"at admission {{ known = max(kept, computed + 1); reused = {reused}; }}",
        )
        body.append("set kept = known;")
        have = "0"
        if caches:
            body.append("set had = min(cached, max(0, known - 1));")
            have = "had"
        if self.chance(40):
            body.append(f"observe hit_seen = {have} > 0;")
            self.observes.append("hit_seen")
        body.append(f"prefill (known - {have}){grow};")
        if self.chance(40):
            body.append("mark started;")
            self.marked.append("e.started")
        body.append(f"decode (max(0, output - 1 - (known - prompt))){grow};")
        if caches:
            body.append("cache (prompt + output);")
        units = "min(known, reused + budget_left(e))" if growing else "min(10, known)"
        reserve = self.pick(["", " reserve (known)"]) if growing else ""
        reuse = " reuse (reused)" if caches and self.chance(40) else ""
        taking = f" taking reqs (1), kv ({units}){reserve}{reuse}"
        return ["request (prompt, output) {", *indent(body), "}"], taking
