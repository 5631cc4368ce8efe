"""Random servers for the rules that follow a program's flow, mostly with a fault or two."""

from __future__ import annotations

from random import Random

DECLARATIONS = """
  stage svc : fifo; stage q[3] : fifo; stage A : ps(3); stage B : ps(4); share maxmin;
  pool kv { cap 64; block 4; } pool kw { cap 64; } pool pp { cap 64; preempt lifo; }
  pool fam[3] { cap 20; } pool my { cap 9; }
"""
SESSIONS = (
    "",
    "",
    "session { turn; while (n == 1) { tool (1); turn; } }",
    "session { hold my (cost(my, 1)) { turn; } }",
    "session { turn; set n = n + 1; turn; }",
)
NAMES = ("a", "b", "d", "e", "n", "h", "g", "cached", "computed", "turn_no")
STATE = ("used(kw)", "cachedin(kv)", "queue(svc)", "now", "~exp(1)", "work(svc)")
SET_ALL = (
    "set a = 1; set b = 1; set d = 1; set e = 1; "
    "set k = cost(svc, 1); set kk = cost(kv, 2); set m = cost(svc, 1); "
)
USE_ALL = "run A, B (cost(A, B, 1)); hold kw (cost(kw, 1)) {} hold fam[0] (cost(fam, 1)) {} "


def program(random: Random) -> str:
    """A whole program; its server sets every name at its start or at its end."""
    server = _Server(random)
    body = server.block(0, [])
    start, end = (SET_ALL, "") if random.random() < 0.8 else ("set a = 1; ", SET_ALL)
    turn = random.choice(("", "turn { set h = 5; }"))
    return (
        f"fn main() {{ {DECLARATIONS} workload {{ arrive poisson(1); "
        f"init {{ set n = 3; set h = 2; set g = 1; }} {turn} hidden h, g; "
        f"{random.choice(SESSIONS)} }} server {{ {start}{body}{end}{USE_ALL} }} }}"
    )


class _Server:
    def __init__(self, random: Random) -> None:
        self.random = random

    def pick(self, *options: str) -> str:
        return self.random.choice(options)

    def number(self, depth: int = 0) -> str:
        chance = self.random.random()
        if chance < 0.45 or depth > 2:
            return self.pick(*NAMES)
        if chance < 0.6:
            return self.pick("0", "1", "2", "3")
        if chance < 0.7:
            return self.pick(*STATE, f"used(fam[{self.pick(*NAMES)}])")
        left, right = self.number(depth + 1), self.number(depth + 1)
        if chance < 0.8:
            return f"({self.number(depth + 1)} ? {left} : {right})"
        return f"({left} {self.pick('+', '-', '*', '&&', '||', '<')} {right})"

    def cost(self, resource: str) -> str:
        own = {"svc": ("k", "m"), "kv": ("kk",)}.get(resource)
        if own and self.random.random() < 0.35:
            name = self.pick(*own)
            return self.pick(name, f"{name} * 2", f"min({name}, cost({resource}, 1))")
        return f"cost({resource}, {self.number(1)})"

    def index(self) -> str:
        return self.pick("0", "1", "2", "a", "b", "e", "h", "turn_no", "cached", "now", "n")

    def block(self, depth: int, held: list[str]) -> str:
        count = self.random.randrange(1, 3 if depth else 4)
        return "".join(self.statement(depth, held) for _ in range(count))

    def statement(self, depth: int, held: list[str]) -> str:
        simple = [
            self.set,
            self.set_cost,
            self.run,
            self.run,
            self.observe,
            self.choose,
            self.other,
        ]
        if held:
            simple.append(lambda: self.on_hold(held))
        nested = [self.branch, self.loop, self.hold, self.hold, self.fork]
        if depth < 3 and self.random.random() < 0.45:
            return self.random.choice(nested)(depth + 1, held)
        return self.random.choice(simple)()

    def set(self) -> str:
        return f"set {self.pick('a', 'b', 'd', 'e', 'cached')} = {self.number()}; "

    def set_cost(self) -> str:
        name, resource = self.random.choice((("k", "svc"), ("m", "svc"), ("kk", "kv")))
        return f"set {name} = {self.cost(resource)}; "

    def run(self) -> str:
        return self.pick(
            f"run svc ({self.cost('svc')}); ",
            f"run svc ({self.cost('svc')}); ",
            f"run q[{self.index()}] (cost(q, {self.number(2)})); ",
            f"run A, B (cost(A, B, {self.number(2)})); ",
        )

    def observe(self) -> str:
        return f"observe o = {self.number()}; "

    def choose(self) -> str:
        count = self.pick("2", "n", "a", "h")
        return f"choose {self.pick('a', 'b')} in {count} by ({self.number(1)}); "

    def other(self) -> str:
        return self.pick("end; ", "release kv; ", "drop kv; ", f"drop fam[{self.index()}]; ")

    def on_hold(self, held: list[str]) -> str:
        pool = self.random.choice(held)
        amount = self.cost(pool.partition("[")[0])
        return self.pick(
            f"grow {pool} ({amount}); ", f"load {pool} ({amount}); ", f"release {pool}; "
        )

    def guard(self) -> str:
        return f"{self.pick('a', 'b', 'd', 'e', 'h', 'g', 'n', 'cached')} == 1"

    def branch(self, depth: int, held: list[str]) -> str:
        first = f"branch ({self.guard()}) {{ {self.block(depth, held)}}} "
        if self.random.random() < 0.5:
            return first
        return f"{first}else {{ {self.block(depth, held)}}} "

    def loop(self, depth: int, held: list[str]) -> str:
        head = self.pick("loop", f"while ({self.guard()})")
        last = self.pick("", "run svc (cost(svc, 1)); ", "run svc (cost(svc, 1)); ", "end; ")
        return f"{head} {{ {self.block(depth, held)}{last}}} "

    def fork(self, depth: int, held: list[str]) -> str:
        return f"fork {{ {self.block(depth, held)}}} join; "

    def hold(self, depth: int, held: list[str]) -> str:
        pool = self.pick("kv", "kw", "pp", f"fam[{self.index()}]", f"fam[{self.index()}]")
        family = pool.partition("[")[0]
        chance = self.random.random
        out = f"hold {pool} ({self.cost(family)}) "
        if chance() < 0.2:
            out += f"reserve ({self.cost(family)}) "
        if chance() < 0.25:
            out += f"reuse ({self.cost(family)}) "
        out += f"{{ {self.block(depth, [*held, pool])}}} "
        if chance() < 0.5:
            out += f"cache ({self.cost(family)}) "
        if chance() < 0.15:
            out += f"lease {pool} ({self.number(2)}) "
        return out
