"""The comparisons that random cases are put to, one module each."""

from __future__ import annotations

from types import ModuleType

from serq.fuzz.target import Target
from serq.fuzz.targets import checker, invariants, lean, metamorphic, reference, text, vllm


def _target(name: str, module: ModuleType) -> Target:
    assert module.__doc__ is not None
    about = " ".join(module.__doc__.split("\n\n")[0].split())
    draw = getattr(module, "draw", None)
    return Target(name, about, module.cases, module.check, module.missing, module.files, draw)


TARGETS = {
    name: _target(name, module)
    for name, module in {
        "lean": lean,
        "reference": reference,
        "vllm": vllm,
        "text": text,
        "checker": checker,
        "invariants": invariants,
        "metamorphic": metamorphic,
    }.items()
}
"""Every target by name; its sentence is its module's."""
