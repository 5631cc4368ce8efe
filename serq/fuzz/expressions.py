"""Random expressions: for each moment, what it supplies."""

from __future__ import annotations

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from serq.fuzz.writer import Scope, Writer

_KEYS = {
    "evict": ["last", "age", "size", "-size", "waiting", "serial", "turn_no", "age > 3 ? 0 : 1",
              "~uniform(0, 1)", "size / (1 + age)"],
    "victim": ["-admission", "admission", "position", "-position", "serial", "-serial",
               "1 - decoding", "decoding", "-turn_no", "now - position"],
    "select": ["waited", "-waited", "n", "-n", "serial", "-serial", "turn_no", "-turn_no",
               "n - 2 * waited"],
    "serve": ["remaining", "-remaining", "decoding", "-admission", "admission", "serial",
              "running.decoding > 1 ? remaining : -remaining", "n",
              "running.kv_prefill > 6 ? serial : -serial"],
}  # fmt: skip

_SHAPES = [
    "({a} + {b})", "({a} - {b})", "({a} * {b})", "min({a}, {b})", "max({a}, {b})", "({a} < {b})",
    "({a} == {b} ? {a} : {b})", "floor({a} / 3)", "ceil({a} / 2)", "abs({a})", "!{a}",
    "({a} && {b})", "({a} || {b})", "-{a}", "sqrt(abs({a}))", "({a} / {b})", "({a} != {b})",
    "({a} >= {b})", "({a} <= {b})", "max j_in in 3 ({a} + j_in)", "min j_in in 2 ({a} * j_in)",
    "sum j_in in 2 ({b} - j_in)", "exp(-abs({a}))", "ln(1 + abs({a}))", "pow(abs({a}), 0.5)",
    "({a})^2",
]  # fmt: skip


class Expressions:
    """Draws expressions for a `Writer`, which knows the names that exist so far."""

    def __init__(self, writer: Writer) -> None:
        self.w = writer

    def keys(self, moment: str) -> list[str]:
        """One or two keys of ``evict by``, ``preempt by``, ``queue by``, ``advance running by``."""
        options = list(_KEYS[moment])
        if not self.w.draws_keys:
            options = [key for key in options if "~" not in key]
        if moment == "select" and "o" in self.w.sizes and "o" not in self.w.hidden:
            options.append("o")
        return [self.w.pick(options) for _ in range(self.w.whole(1, 2))]

    def only(self) -> str:
        """The predicate of ``only``."""
        return self.w.pick(
            ["1", "decoding", "!decoding", "running.decoding > 0 ? decoding : !decoding",
             "running.decoding < running.count ? !decoding : decoding",
             "remaining < 10", "serial != 1", "admission > 0 || running.count > 1"]
        )  # fmt: skip

    def plan_test(self) -> str:
        """A guard in a schedule."""
        tests = ["running.decoding > 0", "running.count < 2", "batch.tokens == 0",
                 "running.preempted == 0", "waiting.count > 0", "running.kv_decode < 12",
                 "batch.prefilled == 0", "waiting.admitted == 0"]  # fmt: skip
        if self.w.engine is not None and self.w.engine.count:
            tests.remove("waiting.count > 0")
        tests += [f"{register} > 1" for register in self.w.registers]
        return self.w.pick(tests)

    def state(self, gauge: bool = False) -> str:
        """A query of the deployment's state that any moment may make."""
        w = self.w
        options = []
        for pool in w.pools:
            ref = pool.ref(str(pool.count - 1) if pool.count else "0")
            options += [f"used({ref})", f"free({ref})", f"queued({ref})", f"holders({ref})"]
            if pool.block and not gauge:
                options.append(f"blocksize({ref})")
        for stage in w.stages:
            if stage.kind != "client":
                ref = stage.ref("0")
                options += [f"queue({ref})", f"busy({ref})"]
        return w.pick(options or ["1"])

    def session(self, scope: Scope, depth: int = 2) -> str:
        """Any expression of a server statement."""
        w = self.w
        if depth == 0 or w.chance(40):
            return self.atom(scope)
        a, b = self.session(scope, depth - 1), self.session(scope, depth - 1)
        return w.pick(_SHAPES).format(a=a, b=b)

    def atom(self, scope: Scope) -> str:
        """A number, an attribute, a query, a draw, a call of a definition."""
        w = self.w
        options = ["1", "2.5", "serial", "turn_no", "now", "0"]
        options += [name for name in w.sizes if name not in w.hidden]
        options += w.values + w.constants + w.marked
        if w.pools or w.stages:
            options.append(self.state())
        if w.pools:
            options.append(f"cachedin({w.pick(w.pools).ref('0')})")
        options += ["~exp(2)", "~bernoulli(0.4)", "~uniform(1, 4)", "~det(3)"]
        plain = w.server_stages()
        if plain:
            ref = w.pick(plain).ref("0")
            options += [f"est_wait({ref})", f"est_rho({ref})", f"est_lambda({ref})",
                        f"work({ref})", f"price({ref}, 0.5, 1)"]  # fmt: skip
        if w.engine is not None:
            options += [f"budget_left({w.engine.ref('0')})", f"work({w.engine.ref('0')})"]
        options += [f"{name}({w.pick(['n', 'serial', '2'])})" for name in w.functions]
        return w.pick(options)

    def test(self, scope: Scope) -> str:
        """A guard: 0 or 1, and nothing hidden."""
        w = self.w
        return w.pick(
            ["turn_no == 1", "serial < 3", f"{self.atom(scope)} > 2", "now > 10",
             f"{self.state()} < 2", "~bernoulli(0.5)"]
        )  # fmt: skip

    def amount(self, scope: Scope) -> str:
        """Work that is not negative."""
        w = self.w
        options = ["1", "0.5", "2", "0", "~exp(1)", "~uniform(0, 2)", "~erlang(2, 1)", "~h2(1, 3)"]
        options += [f"{name} / 8" for name in ("n", "o")]
        if w.chance(20):
            return f"min(5, abs({self.session(scope, 1)}))"
        return w.pick(options)

    def units(self, scope: Scope, most: int) -> str:
        """Units of a hold: no draw, nothing hidden; now and then more than the pool has."""
        w = self.w
        visible = [name for name in w.sizes if name not in w.hidden]
        options = [str(w.whole(1, most)), f"min({most}, n)", f"min({most}, 1 + serial)"]
        options += [f"min({most}, abs({value}))" for value in visible]
        if w.chance(15):
            options = [f"min({most}, 1 + {self.state()})"]
        if w.chance(6):
            options = [f"serial > 2 ? {4 * most + 8} : 1"]  # the refused and the admitted
        return w.pick(options)

    def cache_amount(self) -> str:
        """What a hold leaves cached."""
        return self.w.pick(["3", "n", "8", "0", "turn_no * 2", "inf"])

    def gauge(self) -> str:
        """A function of the state."""
        w = self.w
        a, b = self.state(gauge=True), self.state(gauge=True)
        options = [a, f"{a} + {b}", f"{a} > {b}", f"max({a}, {b})"]
        options += [f"{register} * 2" for register in w.registers]
        for pool in w.pools:
            if pool.count > 1:
                options.append(f"max j_in in {pool.count} (used({pool.name}[j_in]))")
        return w.pick(options)
