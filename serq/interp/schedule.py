"""The statements of an engine's schedule, compiled: what `serq.interp.engine` carries out."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any


class ServeStmt:
    """``advance running``: serve the residents not yet served, in order of the keys."""

    __slots__ = ("keys", "live", "only")

    def __init__(self, keys: Any, only: Any, live: bool) -> None:
        self.keys: Callable[..., tuple[float, ...]] | None = keys
        self.only: Callable[..., float] | None = only
        self.live = live


class AdmitStmt:
    """``admit waiting``: admit heads while the gate is open, each served at once."""

    __slots__ = ("gate", "only")

    def __init__(self, gate: Any, only: Any) -> None:
        self.gate: Callable[..., float] | None = gate
        self.only: Callable[..., float] | None = only


class BranchStmt:
    """``branch``: one of two lists of statements."""

    __slots__ = ("guard", "orelse", "then")

    def __init__(self, guard: Any, then: Sequence[Any], orelse: Sequence[Any]) -> None:
        self.guard: Callable[..., float] = guard
        self.then = then
        self.orelse = orelse


class SetStmt:
    """``set``: a register of the engine takes a value."""

    __slots__ = ("expr", "register")

    def __init__(self, register: int, expr: Any) -> None:
        self.register = register
        self.expr: Callable[..., float] = expr
