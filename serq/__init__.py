"""serQ: a language in which an LLM serving deployment is one program.

import serq

program = serq.compile("mg1.sq", horizon=3000, seed=7)
report = serq.run(program)
print(report.observe("response").mean, report.json())
"""

from __future__ import annotations

from importlib import import_module
from typing import TYPE_CHECKING

__version__ = "0.1.0"

if TYPE_CHECKING:
    from serq.api import Program, compile, run
    from serq.diagnostics import Diagnostic, SerqError
    from serq.interp.random import Rng
    from serq.interp.report import (
        REPORT_VERSION,
        Claim,
        Gauge,
        Observe,
        Pool,
        Report,
        Stage,
    )
    from serq.interp.trace import read_trace
    from serq.ir.nodes import VERSION as IR_VERSION

_HOME = {
    "IR_VERSION": ("serq.ir.nodes", "VERSION"),
    "REPORT_VERSION": ("serq.interp.report", "REPORT_VERSION"),
    "Claim": ("serq.interp.report", "Claim"),
    "Diagnostic": ("serq.diagnostics", "Diagnostic"),
    "Gauge": ("serq.interp.report", "Gauge"),
    "Observe": ("serq.interp.report", "Observe"),
    "Pool": ("serq.interp.report", "Pool"),
    "Program": ("serq.api", "Program"),
    "Report": ("serq.interp.report", "Report"),
    "Rng": ("serq.interp.random", "Rng"),
    "SerqError": ("serq.diagnostics", "SerqError"),
    "Stage": ("serq.interp.report", "Stage"),
    "compile": ("serq.api", "compile"),
    "read_trace": ("serq.interp.trace", "read_trace"),
    "run": ("serq.api", "run"),
}

__all__ = [
    "IR_VERSION",
    "REPORT_VERSION",
    "Claim",
    "Diagnostic",
    "Gauge",
    "Observe",
    "Pool",
    "Program",
    "Report",
    "Rng",
    "SerqError",
    "Stage",
    "__version__",
    "compile",
    "read_trace",
    "run",
]


def __getattr__(name: str) -> object:
    """The public names, imported when they are first used: ``serq --version`` needs no numpy."""
    if name not in _HOME:
        raise AttributeError(f"module 'serq' has no attribute {name!r}")
    module, attribute = _HOME[name]
    value = getattr(import_module(module), attribute)
    globals()[name] = value
    return value
