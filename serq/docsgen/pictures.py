"""The pictures of the documentation: examples as ``serq draw`` draws them."""

from __future__ import annotations

from collections.abc import Callable
from functools import partial
from pathlib import Path

from serq.docsgen.fixtures import DOCS

EXAMPLES = DOCS.parent / "examples"

_DRAWN = {
    "vllm": ("multi-turn/vllm.sq", "deployment"),
    "vllm-request": ("multi-turn/vllm.sq", "request"),
    "llmd_nixl_pull": ("pd-disaggregation/llmd_nixl_pull.sq", "deployment"),
    "llmd_nixl_pull-request": ("pd-disaggregation/llmd_nixl_pull.sq", "request"),
}
"""Name of a picture → the example and the view."""


def _picture(example: str, view: str) -> str:
    from serq.api import load
    from serq.draw import draw, svg

    loaded = load(EXAMPLES / example, need_horizon=False)
    return svg(draw(loaded.program, loaded.source_map, view=view, title=Path(example).stem))


PICTURES: dict[str, Callable[[], str]] = {
    f"pictures/{name}.svg": partial(_picture, *drawn) for name, drawn in _DRAWN.items()
}
"""Files under ``docs`` that are pictures, and how they are made."""
