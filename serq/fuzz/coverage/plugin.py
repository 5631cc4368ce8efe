"""A pytest plugin that records which constructs the programs use that the tests run.

``SERQ_COVERAGE=FILE pytest -p serq.fuzz.coverage.plugin tests/…`` writes the counts as JSON.
"""

from __future__ import annotations

import json
import os
from collections import Counter
from contextlib import ExitStack
from pathlib import Path
from typing import Any

from serq.fuzz.coverage.constructs import used, written
from serq.fuzz.reach import watching
from serq.interp.machine import Machine
from serq.ir import nodes as ir
from serq.link.program import Linked, Linker
from serq.syntax.parser import parse

_stack = ExitStack()
_reached: Counter[str] = Counter()
_texts: dict[int, tuple[ir.Program, set[str]]] = {}
_seen: dict[int, ir.Program] = {}
_programs = 0
_constructs: Counter[str] = Counter()
_situations: Counter[str] = Counter()


def pytest_configure() -> None:
    """Wrap the linker, which knows the text, and the machine, which runs the IR."""
    link, run = Linker.link, Machine.run

    def linked(self: Linker) -> Linked:
        made = link(self)
        _texts[id(made.program)] = (made.program, written(parse(self.source)))
        return made

    def ran(self: Machine, *arguments: Any, **options: Any) -> Any:
        global _programs
        program = self.program
        before = Counter(_reached)
        try:
            return run(self, *arguments, **options)
        finally:
            _situations.update(name for name in _reached if _reached[name] > before[name])
            if id(program) not in _seen:
                _seen[id(program)] = program
                _programs += 1
                known = _texts.get(id(program))
                _constructs.update(used(program) | (known[1] if known else set()))

    Linker.link = linked  # type: ignore[method-assign]
    Machine.run = ran  # type: ignore[method-assign]
    _stack.enter_context(watching(_reached))


def pytest_unconfigure() -> None:
    """Write what was seen."""
    _stack.close()
    found = {"programs": _programs, "constructs": _constructs, "situations": _situations}
    Path(os.environ["SERQ_COVERAGE"]).write_text(json.dumps(found), encoding="utf-8")
