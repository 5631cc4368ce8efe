"""What a broken rule is reported as, and where it is."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class Place:
    """A node of the program and the way to it.

    ``step`` continues the path of ``parent``, or is a path of its own from the root (a statement
    hangs under the statement whose body it is in, but is reached as ``blocks[3][2]``).
    """

    parent: Place | None
    step: str
    node: object = None

    def under(self, step: str, node: object = None) -> Place:
        """The place of a part of this one."""
        return Place(self, step, node)

    def _outwards(self) -> Iterator[Place]:
        place: Place | None = self
        while place is not None:
            yield place
            place = place.parent

    @property
    def path(self) -> str:
        """The path in the JSON document, such as ``blocks[3][2].Hold.pools[0][1]``."""
        steps: list[str] = []
        for place in self._outwards():
            steps.append(place.step)
            if place.step[:1] not in (".", "[", ""):
                break
        return "".join(reversed(steps)).removeprefix(".")

    @property
    def trail(self) -> tuple[object, ...]:
        """The nodes around this place, the innermost first."""
        return tuple(place.node for place in self._outwards() if place.node is not None)


ROOT = Place(None, "")


@dataclass(frozen=True, slots=True)
class Issue:
    """One broken rule of a program.

    ``path`` is where it is in the JSON document; ``trail`` are the IR nodes there, the innermost
    first, by which a program's text is found from its source map.
    """

    code: str
    message: str
    help: str | None
    path: str
    trail: tuple[object, ...]


class Issues:
    """The issues found so far; the same fault at the same place is kept once."""

    def __init__(self) -> None:
        self.found: list[Issue] = []
        self._seen: set[tuple[str, str, str]] = set()

    def add(self, place: Place, code: str, message: str, help: str | None = None) -> None:
        """Report a fault."""
        path = place.path
        key = (code, path, message)
        if key not in self._seen:
            self._seen.add(key)
            self.found.append(Issue(code, message, help, path, place.trail))

    def __bool__(self) -> bool:
        return bool(self.found)
