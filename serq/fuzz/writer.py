"""What the parts of a random program share: small draws, the names made so far, scopes."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from typing import Any, TypeVar

from hypothesis import strategies as st

from serq.fuzz.choices import Choices
from serq.fuzz.expressions import Expressions

T = TypeVar("T")


@dataclass
class PoolInfo:
    """A pool that the program has. ``count`` 0 is a scalar; ``engine`` admits its holds."""

    name: str
    count: int
    cap: int
    block: int
    engine: str | None = None
    memory_of: str | None = None
    preempts: bool = False

    def ref(self, index: str) -> str:
        return f"{self.name}[{index}]" if self.count else self.name


@dataclass
class StageInfo:
    """A stage that the program has: ``fifo``, ``ps``, ``delay``, ``flow``, ``engine``, ``client``.

    ``client`` is a stage of the workload's own, which nothing else names.
    """

    name: str
    count: int
    kind: str

    def ref(self, index: str) -> str:
        return f"{self.name}[{index}]" if self.count else self.name


@dataclass
class Scope:
    """What a statement may use where it stands."""

    side: str = "server"  # or: leg
    held: list[str] = field(default_factory=list)
    depth: int = 0
    preemptible: bool = False
    cached_readable: bool = True

    def inside(self) -> Scope:
        """The scope of a block of a statement here."""
        return Scope(
            self.side, list(self.held), self.depth + 1, self.preemptible, self.cached_readable
        )


class Writer:
    """Draws one program. Every choice lists its simplest option first.

    ``draw`` is Hypothesis's, or a source of independent choices.
    """

    def __init__(self, draw: Callable[[Any], Any] | Choices) -> None:
        if isinstance(draw, Choices):
            self.below = draw.below
        else:
            self.below = lambda count: int(draw(st.integers(0, count - 1)))
        self.pools: list[PoolInfo] = []
        self.stages: list[StageInfo] = []
        self.sizes: list[str] = []  # the workload's attributes
        self.values: list[str] = []  # the server's attributes
        self.hidden: list[str] = []
        self.revealed = False
        self.observes: list[str] = []
        self.registers: list[str] = []
        self.constants: list[str] = []
        self.functions: list[str] = []  # definitions of one parameter with a result
        self.notes: list[str] = []  # definitions of one parameter that are statements
        self.engine: StageInfo | None = None
        self.head: list[str] = []  # above main
        self.tight = False
        self.forks = False
        self.closed = False
        self.traced = False
        self.marked: list[str] = []
        self.draws_keys = True  # eviction keys may draw
        self.expr = Expressions(self)

    def pick(self, options: Sequence[T]) -> T:
        """One of the options; shrinks to the first."""
        return options[self.below(len(options))]

    def chance(self, percent: int) -> bool:
        """True with this probability; shrinks to False."""
        return self.below(100) >= 100 - percent

    def whole(self, low: int, high: int) -> int:
        """A whole number of the range; shrinks to ``low``."""
        return low + self.below(high - low + 1)

    def member(self, count: int) -> str:
        """An index into a family of ``count`` (0 and 1: nothing to choose)."""
        if count <= 1:
            return "0"
        return self.pick(["0", str(count - 1), f"serial - floor(serial / {count}) * {count}"])

    def server_stages(self) -> list[StageInfo]:
        """Stages that a plain run may name."""
        return [s for s in self.stages if s.kind not in ("engine", "client")]


def size(count: int) -> str:
    """The brackets of a declaration."""
    return f"[{count}]" if count else ""


def indent(lines: Sequence[str], by: int = 2) -> list[str]:
    """The lines, each moved in."""
    return [" " * by + line for line in lines]
