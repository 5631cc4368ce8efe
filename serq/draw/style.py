"""The look of the pictures: fonts, and one small palette for white, dark and printed pages.

Parts are told apart by their glyph and place first, by lightness and hue second, so that a
picture reads in grey. Colours are written out, not as CSS variables: few viewers of SVG outside
of browsers know those.
"""

from __future__ import annotations

from dataclasses import dataclass

from serq.draw.fonts import Font

FONTS: dict[str, Font] = {
    "title": Font("sans", 15, True),
    "head": Font("sans", 13.5, True),
    "name": Font("sans", 12, True),
    "text": Font("sans", 11.5),
    "small": Font("sans", 10.5),
    "code": Font("mono", 10.5),
    "codebold": Font("mono", 11.5, True),
}
"""The kinds of text in a picture."""


@dataclass(frozen=True, slots=True)
class Paint:
    """Fill and stroke of a kind of shape, on white and on dark; empty for none."""

    fill: str = ""
    stroke: str = ""
    dark_fill: str = ""
    dark_stroke: str = ""
    width: float = 1.0
    dash: str = ""


INK, MUTED, PAPER = "#1d2733", "#566273", "#ffffff"
DARK_INK, DARK_MUTED, DARK_PAPER = "#e8edf3", "#a7b3c2", "#14191f"

PAINTS: dict[str, Paint] = {
    "paper": Paint(PAPER, "", DARK_PAPER, ""),
    "panel": Paint("#f4f6f8", "#8794a3", "#1e252d", "#6d7b8b", 1.2),
    "client": Paint("#f4f6f8", "#8794a3", "#1e252d", "#6d7b8b", 1.2, "5 3"),
    "frame": Paint("#e9edf1", "#a3aeba", "#27303a", "#5b6877"),
    "member": Paint("#f4f6f8", "#a3aeba", "#1e252d", "#5b6877"),
    "memory": Paint("#d3e3f6", "#3f6fae", "#1d3350", "#7fadea", 1.1),
    "compute": Paint("#fdeed2", "#b0700a", "#443010", "#e3a846", 1.1),
    "server": Paint("#fcf5e6", "#b0700a", "#352a16", "#e3a846", 1.1),
    "transfer": Paint("#d3efe6", "#0f7a63", "#123c33", "#4cc6a8", 1.1),
    "choice": Paint("#ece5f7", "#7450a6", "#332649", "#b79ae2", 1.1),
    "plain": Paint("#ffffff", "#a3aeba", "#14191f", "#5b6877"),
    "chip": Paint("#ffffff", "#8794a3", "#14191f", "#6d7b8b"),
    "memory-ink": Paint("#3f6fae", "", "#7fadea", ""),
    "compute-ink": Paint("#b0700a", "", "#e3a846", ""),
    "transfer-ink": Paint("#0f7a63", "", "#4cc6a8", ""),
    "choice-ink": Paint("#7450a6", "", "#b79ae2", ""),
    "memory-line": Paint("", "#3f6fae", "", "#7fadea", 1.2),
    "compute-line": Paint("", "#b0700a", "", "#e3a846", 1.2),
    "transfer-line": Paint("", "#0f7a63", "", "#4cc6a8", 1.2),
    "choice-line": Paint("", "#7450a6", "", "#b79ae2", 1.2),
    "rule": Paint("", "#c9d1d9", "", "#3a4551"),
    "band": Paint("#f4f6f8", "", "#1a2129", ""),
    "hair": Paint("", "#e6eaee", "", "#262e37"),
    "dot": Paint("#38444f", "", "#c4ced9", ""),
    "stripe": Paint("#8794a3", "", "#6d7b8b", ""),
    "leg-frame": Paint("", "#8794a3", "", "#6d7b8b", 1.0, "6 4"),
    "alt": Paint("", "#8794a3", "", "#6d7b8b"),
    "wait": Paint("#ffffff", "#3f6fae", "#14191f", "#7fadea", 1.1, "2 2"),
    "kept": Paint("#ffffff", "#3f6fae", "#14191f", "#7fadea", 1.1, "4 2"),
}
"""Shapes by what they show."""

FLOWS: dict[str, Paint] = {
    "request": Paint("", "#38444f", "", "#c4ced9", 1.5),
    "answer": Paint("", "#38444f", "", "#c4ced9", 1.5),
    "leg": Paint("", "#38444f", "", "#c4ced9", 1.5, "6 4"),
    "joint": Paint("", "#b0700a", "", "#e3a846", 1.5, "2 3"),
    "kv": Paint("", "#0f7a63", "", "#4cc6a8", 3.0),
    "spill": Paint("", "#3f6fae", "", "#7fadea", 2.4, "8 3"),
}
"""Lines with an arrow, by what goes along them."""

FLOW_WORDS = {
    "request": "a request’s way",
    "leg": "a leg beside it (fork … join)",
    "kv": "KV moves",
    "spill": "evicted prefixes are written out",
    "joint": "one job on both",
}

INKS = {"ink": (INK, DARK_INK), "muted": (MUTED, DARK_MUTED)}
"""Colours of text."""
