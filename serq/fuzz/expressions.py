"""Random expressions: for each moment, what it supplies."""

from __future__ import annotations

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from serq.fuzz.programs import Scope, Writer

_KEYS = {
    "evict": ["last", "age", "size", "-size", "waiting", "serial", "turn_no", "age > 3 ? 0 : 1",
              "~uniform(0, 1)"],
    "victim": ["-admission", "admission", "position", "-position", "serial", "-serial",
               "1 - decoding", "decoding", "-turn_no"],
    "select": ["waited", "-waited", "n", "-n", "serial", "-serial", "turn_no", "-turn_no",
               "n - 2 * waited"],
    "serve": ["remaining", "-remaining", "decoding", "-admission", "admission", "serial",
              "running.decoding > 1 ? remaining : -remaining", "n"],
}  # fmt: skip


class Expressions:
    """Draws expressions for a `Writer`, which knows the names that exist so far."""

    def __init__(self, writer: Writer) -> None:
        self.w = writer

    def keys(self, moment: str) -> list[str]:
        """One or two keys of ``evict by``, ``preempt by``, ``queue by``, ``advance running by``."""
        return [self.w.pick(_KEYS[moment]) for _ in range(self.w.whole(1, 2))]

    def only(self) -> str:
        return self.w.pick(
            ["decoding", "!decoding", "running.decoding > 0 ? decoding : !decoding",
             "remaining < 10", "serial != 1", "admission > 0 || running.count > 1", "1"]
        )  # fmt: skip

    def plan_test(self) -> str:
        tests = ["running.decoding > 0", "running.count < 2", "batch.tokens == 0"]
        tests += ["running.preempted == 0", "waiting.count > 0", "running.kv_decode < 12"]
        tests += [f"{register} > 1" for register in self.w.registers]
        return self.w.pick(tests)

    def state(self) -> str:
        """A query of the deployment's state that any moment may make."""
        w = self.w
        options = []
        for pool in w.pools:
            ref = pool.ref("0")
            options += [f"used({ref})", f"free({ref})", f"queued({ref})", f"holders({ref})"]
        for stage in w.stages:
            if stage.kind == "client":
                continue
            ref = stage.ref("0")
            options += [f"queue({ref})", f"busy({ref})"]
        return w.pick(options)

    def session(self, scope: Scope, depth: int = 2) -> str:
        """Any expression of a server statement."""
        w = self.w
        if depth == 0 or w.chance(40):
            return self.atom(scope)
        a, b = self.session(scope, depth - 1), self.session(scope, depth - 1)
        shape = w.pick(
            ["({a} + {b})", "({a} - {b})", "({a} * {b})", "min({a}, {b})", "max({a}, {b})",
             "({a} < {b})", "({a} == {b} ? {a} : {b})", "floor({a} / 3)", "ceil({a} / 2)",
             "abs({a})", "!{a}", "({a} && {b})", "({a} || {b})", "-{a}", "sqrt(abs({a}))",
             "({a} / {b})", "max j_in in 3 ({a} + j_in)"]
        )  # fmt: skip
        return shape.format(a=a, b=b)

    def atom(self, scope: Scope) -> str:
        w = self.w
        options = ["1", "2.5", "serial", "turn_no", "now", "0"]
        options += [size for size in w.sizes if size not in w.hidden]
        options += w.values
        if w.pools or w.stages:
            options.append(self.state())
        if w.pools:
            options.append(f"cachedin({w.pick(w.pools).ref('0')})")
        options += ["~exp(2)", "~bernoulli(0.4)", "~uniform(1, 4)"]
        plain = [s for s in w.stages if s.kind not in ("client", "engine")]
        if plain:
            ref = w.pick(plain).ref("0")
            options += [f"est_wait({ref})", f"est_rho({ref})", f"work({ref})"]
        return w.pick(options)

    def test(self, scope: Scope) -> str:
        """A guard: 0 or 1, and nothing hidden."""
        w = self.w
        return w.pick(
            [f"{self.atom(scope)} > 2", "turn_no == 1", "serial < 3", "now > 10",
             f"{self.state()} < 2", "~bernoulli(0.5)"]
        )  # fmt: skip

    def amount(self, scope: Scope) -> str:
        """Work that is not negative."""
        w = self.w
        options = ["1", "0.5", "2", "0", "~exp(1)", "~uniform(0, 2)", "~erlang(2, 1)", "~h2(1, 3)"]
        options += [f"{size} / 8" for size in ("n", "o")]
        if w.chance(20):
            return f"min(5, abs({self.session(scope, 1)}))"
        return w.pick(options)

    def units(self, scope: Scope, most: int) -> str:
        """Units of a hold: not negative, no draw, hidden attributes unread, at most ``most``."""
        w = self.w
        visible = [size for size in w.sizes if size not in w.hidden]
        options = [str(w.whole(1, most)), f"min({most}, n)", f"min({most}, 1 + serial)"]
        options += [f"min({most}, abs({value}))" for value in visible]
        if w.chance(15):
            options = [f"min({most}, 1 + {self.state()})"]
        return w.pick(options)

    def cache_amount(self) -> str:
        return self.w.pick(["3", "n", "8", "0", "turn_no * 2", "inf"])

    def gauge(self) -> str:
        w = self.w
        a, b = self.state(), self.state()
        options = [a, f"{a} + {b}", f"{a} > {b}", f"max({a}, {b})"]
        options += [f"{register} * 2" for register in w.registers]
        return w.pick(options)
