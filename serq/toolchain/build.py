"""Compiling Lean modules with a bare ``lean``: what `lake build` does, as far as serQ needs it.

Modules are found below source roots by their imports, compiled in import order by several
processes, and skipped when neither their text nor anything they import nor the compiler has
changed since they were compiled without an error.
"""

from __future__ import annotations

import hashlib
import json
import os
import re
import signal
import subprocess
import threading
import time
from collections.abc import Callable, Sequence
from concurrent.futures import FIRST_COMPLETED, Future, ThreadPoolExecutor, wait
from contextlib import suppress
from dataclasses import dataclass, replace
from functools import lru_cache
from pathlib import Path

from serq.diagnostics import SerqError
from serq.toolchain.install import hidden_definitions, lean_environment
from serq.toolchain.messages import BuildResult, Level, Message, ModuleResult, parse_json
from serq.toolchain.places import locked, storage

_HEADER = frozenset({"module", "prelude", "public", "meta", "import", "all"})
"""The words of a source's header that are not modules."""

_PIECE = re.compile(
    r"""(?P<line>--[^\n]*)
    | (?P<block>/-)
    | r(?P<raw>\#*)".*?"(?P=raw)
    | "(?:\\.|[^"\\])*"
    | '(?:\\.[^'\n]{0,8}|[^'\\\n])'
    | [^\W\d][\w.!?']*
    | [^"'/\-\w]+
    | .""",
    re.X | re.S,
)
_BLOCK = re.compile(r"/-|-/")


@lru_cache(maxsize=512)
def without_comments(text: str) -> str:
    """A Lean source with spaces in place of its comments, which may stand in each other; line
    breaks and strings stay."""
    kept: list[str] = []
    at = 0
    while at < len(text):
        match = _PIECE.match(text, at)
        assert match is not None
        end = match.end()
        if match["block"]:
            depth = 1
            while depth and (mark := _BLOCK.search(text, end)) is not None:
                depth += 1 if mark[0] == "/-" else -1
                end = mark.end()
            end = end if depth == 0 else len(text)
        comment = match["block"] or match["line"]
        piece = text[at:end]
        kept.append(re.sub(r"[^\n]", " ", piece) if comment else piece)
        at = end
    return "".join(kept)


def header_imports(text: str) -> list[str]:
    """The modules that a Lean source imports, in order."""
    found: list[str] = []
    names = False
    for line in without_comments(text).splitlines():
        for word in line.split():
            if word in _HEADER:
                names = word == "import" or (names and word == "all")
            elif names:
                found.append(word)
            else:
                return found
        names = names and line.split()[-1:] in ([], ["import"], ["all"])
    return found


@dataclass(frozen=True, slots=True)
class Module:
    name: str
    path: Path
    root: Path
    """The source root below which it lies; its path from there is its name."""

    text: str
    imports: tuple[str, ...]
    """Only those that are among the source roots."""

    key: str
    """A hash of everything its compilation depends on, but for the options."""


class Graph:
    """Modules of some source roots and their imports; earlier roots hide later ones."""

    def __init__(self, roots: Sequence[Path]) -> None:
        self.roots = tuple(roots)
        self.modules: dict[str, Module] = {}
        """In an order in which imports come first."""

        self._open: list[str] = []

    def path_of(self, name: str) -> tuple[Path, Path] | None:
        """The root and the file of a module."""
        for root in self.roots:
            path = root.joinpath(*name.split(".")).with_suffix(".lean")
            if path.is_file():
                return root, path
        return None

    def add(self, name: str, wanted_by: str | None = None) -> Module:
        """Adds a module and all it imports."""
        if name in self.modules:
            return self.modules[name]
        if name in self._open:
            cycle = " → ".join([*self._open[self._open.index(name) :], name])
            raise SerqError.of("lean-import-cycle", f"modules import each other: {cycle}")
        place = self.path_of(name)
        if place is None:
            raise SerqError.of(
                "lean-no-module",
                f"there is no Lean module {name}",
                help="looked for it below " + ", ".join(map(str, self.roots)),
            )
        root, path = place
        text = path.read_text(encoding="utf-8")
        self._open.append(name)
        imports = tuple(i for i in header_imports(text) if self.path_of(i) is not None)
        keys = [self.add(i).key for i in imports]
        self._open.pop()
        key = hashlib.sha256("\0".join([name, text, *keys]).encode()).hexdigest()
        self.modules[name] = Module(name, path, root, text, imports, key)
        return self.modules[name]


def default_jobs() -> int:
    """Processes at a time: ``SERQ_JOBS``, or what processors and memory (1.5 GB each) allow."""
    if (set_by_user := os.environ.get("SERQ_JOBS", "")).isdigit():
        return max(1, int(set_by_user))
    processors = len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else 1
    try:
        memory = os.sysconf("SC_PHYS_PAGES") * os.sysconf("SC_PAGE_SIZE")
    except (ValueError, OSError):
        memory = 4 << 30
    return max(1, min(processors, memory // 1_500_000_000))


Listener = Callable[[ModuleResult, int, int], None]
"""Told each finished module, how many are finished and how many there are."""


@dataclass(frozen=True)
class Builder:
    """Compiles modules with ``lean`` (a command) into ``output``.

    ``compiler`` identifies it (a hash, a version): another one compiles everything again.
    ``search`` are further directories with compiled modules. A module that takes longer than
    ``timeout`` seconds has failed.
    """

    lean: tuple[str, ...]
    compiler: str
    output: Path
    options: tuple[str, ...] = ()
    search: tuple[Path, ...] = ()
    directory: Path | None = None
    """Where ``lean`` is run; by default the module's source root."""

    jobs: int = 0
    timeout: float = 1800
    explain_hidden: bool = False
    """Say so when an error names a core definition that the registry Lean cannot unfold."""

    def build(
        self,
        roots: Sequence[Path],
        targets: Sequence[str],
        listener: Listener | None = None,
        waiting: Callable[[], None] | None = None,
    ) -> BuildResult:
        """Compiles ``targets`` and what they import.

        Raises `SerqError` for a missing module or a cycle of imports; a module with errors is a
        result. Two builds into one directory wait for each other.
        """
        started = time.monotonic()
        graph = Graph(roots)
        for target in targets:
            graph.add(target)
        with storage(self.output):
            self.output.mkdir(parents=True, exist_ok=True)
        with locked(self.output / ".lock", waiting), storage(self.output):
            results = _Run(self, graph, listener).results()
        return BuildResult(tuple(results), time.monotonic() - started)

    def compiled(self, name: str) -> Path:
        return self.output.joinpath(*name.split(".")).with_suffix(".olean")

    def up_to_date(self, module: Module) -> ModuleResult | None:
        """The earlier result of a module nothing has changed for."""
        olean = self.compiled(module.name)
        try:
            record = json.loads(olean.with_suffix(".json").read_text(encoding="utf-8"))
            if record["key"] != self.key(module) or not olean.is_file():
                return None
            messages = tuple(Message(Level(m[0]), *m[1:]) for m in record["messages"])
            return ModuleResult(module.name, True, True, record["seconds"], messages)
        except (OSError, ValueError, KeyError, TypeError):
            return None

    def key(self, module: Module) -> str:
        parts = [self.compiler, *self.options, module.key]
        return hashlib.sha256("\0".join(parts).encode()).hexdigest()

    def compile(self, module: Module, stop: threading.Event) -> ModuleResult:
        """Compiles one module whose imports are compiled."""
        olean = self.compiled(module.name)
        record = olean.with_suffix(".json")
        olean.parent.mkdir(parents=True, exist_ok=True)
        for stale in (record, olean):
            with suppress(FileNotFoundError):
                stale.unlink()
        command = [
            *self.lean,
            "--json",
            *(f"-D{o}" for o in self.options),
            "-R",
            str(module.root),
            "-o",
            str(olean),
            "-i",
            str(olean.with_suffix(".ilean")),
            str(module.path),
        ]
        started = time.monotonic()
        status, out, err = self._process(command, self.directory or module.root, stop)
        seconds = time.monotonic() - started
        file = module.path.relative_to(module.root).as_posix()
        messages = list(parse_json(out, file))
        if status == 0 and not olean.is_file():
            status = 139
        if err.strip() or status not in (0, 1):
            level = Level.ERROR if status else Level.INFO
            text = err.strip() or f"Lean ended with status {status}"
            messages.append(Message(level, file, 0, 0, text))
        if status and not any(m.level is Level.ERROR for m in messages):
            messages.append(Message(Level.ERROR, file, 0, 0, f"Lean ended with status {status}"))
        if self.explain_hidden:
            messages = [_with_hidden(m) for m in messages]
        if status == 0:
            _write_record(record, self.key(module), seconds, messages)
        return ModuleResult(module.name, status == 0, False, seconds, tuple(messages))

    def _process(
        self, command: list[str], directory: Path, stop: threading.Event
    ) -> tuple[int, str, str]:
        process = subprocess.Popen(
            command,
            cwd=directory,
            env=lean_environment([self.output, *self.search]),
            stdin=subprocess.DEVNULL,
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
            text=True,
            errors="replace",
            start_new_session=True,
        )
        deadline = time.monotonic() + self.timeout
        while True:
            try:
                out, err = process.communicate(timeout=0.5)
                return process.returncode, out, err
            except subprocess.TimeoutExpired:
                if stop.is_set() or time.monotonic() > deadline:
                    with suppress(ProcessLookupError):
                        os.killpg(process.pid, signal.SIGKILL)
                    process.communicate()
                    return 124, "", f"stopped after {self.timeout:.0f} s"


def _write_record(path: Path, key: str, seconds: float, messages: list[Message]) -> None:
    """Written last and in one piece: a killed build leaves no record, so its module is redone."""
    rows = [[m.level, m.file, m.line, m.column, m.text] for m in messages]
    fresh = path.with_suffix(".json.new")
    fresh.write_text(json.dumps({"key": key, "seconds": seconds, "messages": rows}))
    fresh.replace(path)


def _with_hidden(message: Message) -> Message:
    if message.level is not Level.ERROR:
        return message
    names = {n.rstrip(".") for n in re.findall(r"[A-Za-z_][\w.!?']*", message.text)}
    hidden = sorted(n for n in names & hidden_definitions() if "." in n)
    if not hidden:
        return message
    note = (
        f"{message.text}\nnote: the registry Lean has no body of {', '.join(hidden[:5])}: "
        "its kernel cannot unfold that, a native Lean can"
    )
    return replace(message, text=note)


class _Run:
    """One pass over a graph."""

    def __init__(self, builder: Builder, graph: Graph, listener: Listener | None) -> None:
        self._builder = builder
        self._graph = graph
        self._listener = listener
        self._done: dict[str, ModuleResult] = {}
        self._stop = threading.Event()

    def results(self) -> list[ModuleResult]:
        todo = dict(self._graph.modules)
        running: dict[Future[ModuleResult], str] = {}
        jobs = self._builder.jobs or default_jobs()
        with ThreadPoolExecutor(jobs) as pool:
            try:
                while todo or running:
                    for name in [n for n in todo if self._ready(todo[n])]:
                        if len(running) >= jobs:
                            break
                        module = todo.pop(name)
                        early = self._without_work(module)
                        if early is not None:
                            self._finish(early)
                        else:
                            job = pool.submit(self._builder.compile, module, self._stop)
                            running[job] = name
                    if running and (len(running) >= jobs or not self._any_ready(todo)):
                        for job in wait(running, return_when=FIRST_COMPLETED)[0]:
                            del running[job]
                            self._finish(job.result())
            except BaseException:
                self._stop.set()
                raise
        return [self._done[n] for n in self._graph.modules]

    def _ready(self, module: Module) -> bool:
        return all(i in self._done for i in module.imports)

    def _any_ready(self, todo: dict[str, Module]) -> bool:
        return any(self._ready(m) for m in todo.values())

    def _without_work(self, module: Module) -> ModuleResult | None:
        for name in module.imports:
            failed = self._done[name]
            if not failed.ok:
                return ModuleResult(module.name, False, blocked_by=failed.blocked_by or name)
        return self._builder.up_to_date(module)

    def _finish(self, result: ModuleResult) -> None:
        self._done[result.module] = result
        if self._listener is not None:
            self._listener(result, len(self._done), len(self._graph.modules))
