"""Where the scenarios, the recorded answers, the programs and the driver are."""

from __future__ import annotations

from pathlib import Path

from serq.diagnostics import SerqError

_HERE = Path(__file__).resolve()
_ROOTS = (_HERE.parents[2], _HERE.parent / "data")
"""A checkout's root, or the copy that a built distribution has beside this module."""


def root() -> Path:
    """The directory with ``oracle/``, ``tools/`` and ``examples/``."""
    for place in _ROOTS:
        if (place / "tools" / "vllm_oracle.py").is_file() and (place / "oracle").is_dir():
            return place
    raise SerqError.of(
        "oracle-files",
        "the oracle's scenarios and driver are not in this installation",
        help="run `serq oracle` from a checkout installed with `pip install --editable .`",
    )


def scenarios() -> list[Path]:
    """The scenarios that come with serQ, by name."""
    return sorted((root() / "oracle").glob("*.json"))


def recorded(name: str, version: str) -> Path:
    """The recorded answer of one version of vLLM to one scenario."""
    return root() / "oracle" / "recorded" / f"{name}.{version}.json"


def driver() -> Path:
    """The script that drives vLLM's scheduler."""
    return root() / "tools" / "vllm_oracle.py"


def program(name: str) -> Path:
    """A program of ``examples/oracle`` or ``examples/replay``."""
    return root() / "examples" / name
