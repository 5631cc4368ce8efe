"""The workload of a random program: arrivals, turns, sessions; and what stands above ``main``."""

from __future__ import annotations

from serq.fuzz.writer import StageInfo, Writer


class Workloads(Writer):
    """Declares the workload."""

    def arrival(self) -> tuple[str, bool]:
        """The arrival law, and whether it takes a number of arrivals."""
        law = self.pick(["batch", "renewal", "poisson", "closed", "renewal"])
        if law == "poisson":
            return f"arrive poisson({self.pick(['0.5', '0.3', '1'])});", True
        if law == "renewal":
            gap = self.pick(["2", "1", "~exp(2)", "~uniform(0.5, 3)", "~erlang(2, 3)", "~h2(2, 2)"])
            return f"arrive renewal({gap});", True
        least = 3 if self.tight else 1
        if law == "closed":
            self.closed = True
            return f"arrive closed({self.whole(least, 5)});", False
        return f"arrive batch({self.whole(least, 8)});", False

    def workload(self, arrival: str) -> list[str]:
        """The items of the workload, ``hidden`` left out."""
        out = [arrival]
        self.sizes += ["n", "o"]
        draw_n = self.pick(["5", "1 + floor(~exp(8))", "1 + floor(~uniform(0, 20))", "~exp(6)"])
        draw_o = self.pick(["3", "1 + floor(~exp(5))", "4 + floor(~uniform(0, 16))", "~exp(3)"])
        if self.tight:
            draw_n = self.pick(["5", "1 + floor(~uniform(0, 8))"])
            draw_o = self.pick(["9", "4 + floor(~uniform(0, 16))"])
        if self.traced:
            draw_n, draw_o = self.pick(["new", "1 + new"]), "out"
        word = self.pick(["set", "set", "Size"])
        turn = [f"{word} n = {draw_n};", f"{word} o = {draw_o};"]
        if self.chance(8):
            turn.append("observe drawn = n;")
            self.observes.append("drawn")
        if self.chance(50):
            self.sizes.append("c")
            out.append(f"init {{ set c = {self.pick(['1', 'floor(~uniform(0, 3))', 'serial'])}; }}")
        out.append(f"turn {{ {' '.join(turn)} }}")
        shape = self.pick(["one", "one", "turns", "tool", "loop"])
        if self.traced:
            shape = self.pick(["trace", "one"])
        if shape != "one":
            out.append(f"session {{ {self.session_block(shape)} }}")
        return out

    def session_block(self, shape: str) -> str:
        """The statements of a session of several turns."""
        think = self.pick(["1", "~exp(2)", "~uniform(0, 3)"])
        if self.traced:
            think = "think"
        pause = f"tool ({think});"
        if not any(s.name == "tool" for s in self.stages):
            self.stages.append(StageInfo("tool", 0, "client"))
        self.sizes.append("ctx")
        grown = "set ctx = ctx + n;"
        if shape == "loop":
            return f"loop {{ turn; {grown} branch (turn_no >= 3) {{ end; }} {pause} }}"
        again = {"trace": "more", "tool": "turn_no < 2 || ~bernoulli(0.5)"}.get(
            shape, "turn_no < 3"
        )
        return f"turn; while ({again}) {{ {grown} {pause} turn; }}"

    def hidden_items(self) -> list[str]:
        """What the scheduler may not read."""
        return [f"hidden {', '.join(self.hidden)};"] if self.hidden else []

    def library(self) -> None:
        """Now and then: constants and definitions above ``main``."""
        if self.chance(20):
            self.head.append(f"let K0 = {self.pick(['2', '1.5', '4 / 3'])};")
            self.constants.append("K0")
        if self.chance(15):
            body = self.pick(["2 * x_in + 1", "x_in > 2 ? 1 : x_in", "min(x_in, 4)"])
            self.head.append(f"def twist(x_in) {{ {body} }}")
            self.functions.append("twist")
        if self.chance(10):
            self.head.append("def note(x_in) { observe noted = x_in; }")
            self.notes.append("note")
