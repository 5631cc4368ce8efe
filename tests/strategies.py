"""All random strategies in one place, for properties of one's own.

`programs` and `station_programs` are well-formed programs over the whole language,
`fragment_programs` and `fragment_ir_programs` those of exactly the Lean fragment,
`broken_programs` almost well-formed ones, `scenarios` cases for vLLM's scheduler.
"""

from __future__ import annotations

from serq.fuzz.fragment import fragment_ir_programs, fragment_programs
from serq.fuzz.mutate import broken_programs
from serq.fuzz.programs import programs
from serq.fuzz.stations import station_programs
from serq.fuzz.targets.vllm import cases as scenarios

__all__ = [
    "broken_programs",
    "fragment_ir_programs",
    "fragment_programs",
    "programs",
    "scenarios",
    "station_programs",
]
