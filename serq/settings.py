"""The execution settings of a run: what is not part of the model."""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class Settings:
    """How long and with which seed a program runs, in its own clock unit.

    ``horizon`` may be missing only where nothing runs (``serq check``, ``draw``, ``target``).
    ``arrivals`` makes a finite run of exactly that many open-workload arrivals; ``trace`` replaces
    the path of the program's trace.
    """

    horizon: float | None = None
    warmup: float = 0.0
    seed: int = 1
    arrivals: int | None = None
    trace: str | None = None
