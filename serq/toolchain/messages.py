"""What Lean says while it compiles: records with a place, whichever program printed them."""

from __future__ import annotations

import json
import re
from dataclasses import dataclass, field
from enum import StrEnum


class Level(StrEnum):
    ERROR = "error"
    WARNING = "warning"
    INFO = "information"


@dataclass(frozen=True, slots=True)
class Message:
    """One message of Lean. ``line`` counts from 1, ``column`` from 0 as Lean prints it."""

    level: Level
    file: str
    line: int
    column: int
    text: str

    def __str__(self) -> str:
        return f"{self.file}:{self.line}:{self.column}: {self.level}: {self.text}"


@dataclass(frozen=True, slots=True)
class ModuleResult:
    """How one module's compilation went.

    ``cached``: nothing had changed, so nothing was done; ``seconds`` is then what it took when it
    was compiled, if that is known. ``blocked_by`` names a failed import that kept it from being
    tried.
    """

    module: str
    ok: bool
    cached: bool = False
    seconds: float | None = None
    messages: tuple[Message, ...] = ()
    blocked_by: str | None = None

    @property
    def errors(self) -> tuple[Message, ...]:
        return tuple(m for m in self.messages if m.level is Level.ERROR)


@dataclass(frozen=True, slots=True)
class BuildResult:
    """All modules of a build, in an order in which imports come first."""

    modules: tuple[ModuleResult, ...]
    seconds: float
    output: str = ""
    """What a native build printed, for failures that belong to no module."""

    failed: bool = False
    """The build failed although no module is to blame."""

    @property
    def ok(self) -> bool:
        return not self.failed and all(m.ok for m in self.modules)

    @property
    def compiled(self) -> int:
        return sum(not m.cached and m.blocked_by is None for m in self.modules)

    def module(self, name: str) -> ModuleResult | None:
        return next((m for m in self.modules if m.module == name), None)


_LEVELS = {
    "error": Level.ERROR,
    "warning": Level.WARNING,
    "info": Level.INFO,
    "information": Level.INFO,
    "trace": Level.INFO,
}


def parse_json(output: str, file: str) -> tuple[Message, ...]:
    """The messages of ``lean --json``; a line that is none is an error of ``file`` itself."""
    found = []
    for line in output.splitlines():
        if not line.strip():
            continue
        try:
            entry = json.loads(line)
            found.append(
                Message(
                    _LEVELS[entry["severity"]],
                    file,
                    entry["pos"]["line"],
                    entry["pos"]["column"],
                    entry["data"].rstrip(),
                )
            )
        except (ValueError, KeyError, TypeError):
            found.append(Message(Level.INFO, file, 0, 0, line))
    return tuple(found)


_LAKE_MODULE = re.compile(
    r"^(?P<mark>[✔⚠ℹ✖]) \[\d+/\d+\] (?P<verb>\w+) (?P<module>[^\s(]+)"
    r"(?: \((?P<time>[\d.]+)(?P<unit>ms|s)\))?"
)
_LAKE_MESSAGE = re.compile(
    r"^(?P<level>error|warning|info|trace): "
    r"(?:(?P<file>[^:\n]+\.lean):(?P<line>\d+):(?P<column>\d+): )?(?P<text>.*)$"
)


@dataclass
class _Open:
    module: str
    ok: bool
    cached: bool
    seconds: float | None
    messages: list[Message] = field(default_factory=list)


def parse_lake(output: str) -> tuple[ModuleResult, ...]:
    """The modules and messages of ``lake build``: a marked line per job, its messages below it.

    Jobs that are no modules (``serq-exec:exe``) are left out; quiet cached modules are not
    printed by Lake and so are not here.
    """
    modules: list[_Open] = []
    inside = False
    for line in re.sub(r"\x1b\[[0-9;]*m", "", output).splitlines():
        if head := _LAKE_MODULE.match(line):
            name = head["module"]
            inside = ":" not in name
            if inside:
                scale = 0.001 if head["unit"] == "ms" else 1.0
                seconds = float(head["time"]) * scale if head["time"] else None
                modules.append(
                    _Open(name, head["mark"] != "✖", head["verb"] == "Replayed", seconds)
                )
        elif not inside:
            continue
        elif said := _LAKE_MESSAGE.match(line):
            if said["level"] != "trace":
                place = (said["file"] or "", int(said["line"] or 0), int(said["column"] or 0))
                file = re.sub(r"^(\./)+", "", place[0])
                modules[-1].messages.append(
                    Message(_LEVELS[said["level"]], file, *place[1:], said["text"])
                )
        elif line.startswith(("Some required", "Build completed", "- ")):
            inside = False
        elif modules[-1].messages:
            last = modules[-1].messages[-1]
            modules[-1].messages[-1] = Message(
                last.level, last.file, last.line, last.column, f"{last.text}\n{line}"
            )
    return tuple(
        ModuleResult(m.module, m.ok, m.cached, m.seconds, tuple(m.messages)) for m in modules
    )
