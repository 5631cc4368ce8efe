"""How wide a text is, without a font file: advance widths of sans and monospaced faces.

A picture is drawn here and shown elsewhere, in whichever of its fonts is there. The sans widths
are therefore, character for character, the greater of Helvetica's (Adobe's published metrics,
which Arial and Liberation Sans share) and Noto Sans's, and a little slack on top. Letters beyond
ASCII get the width of the widest in their group; a text with any of them carries its measured
length into the picture, so that it fits whatever the viewer's font does.
"""

from __future__ import annotations

import re
import unicodedata
from dataclasses import dataclass
from functools import lru_cache

_SANS = (
    278, 278, 408, 646, 572, 889, 732, 225, 333, 333, 551, 584, 278, 333, 278, 372, 572, 572, 572,
    572, 572, 572, 572, 572, 572, 572, 278, 278, 584, 584, 584, 556, 1015, 667, 667, 722, 730, 667,
    611, 778, 741, 339, 500, 667, 556, 907, 760, 781, 667, 781, 722, 667, 611, 731, 667, 944, 667,
    667, 611, 329, 372, 329, 572, 556, 333, 561, 615, 500, 615, 564, 344, 615, 618, 258, 258, 534,
    258, 935, 618, 605, 615, 615, 413, 500, 361, 618, 508, 786, 529, 510, 500, 380, 551, 380, 584,
)  # fmt: skip
_BOLD = (
    278, 333, 474, 646, 572, 901, 750, 266, 339, 339, 545, 584, 285, 333, 285, 413, 572, 572, 572,
    572, 572, 572, 572, 572, 572, 572, 333, 333, 584, 584, 584, 611, 975, 722, 722, 722, 740, 667,
    611, 778, 765, 389, 556, 722, 611, 943, 813, 796, 667, 796, 722, 667, 611, 756, 667, 967, 667,
    667, 611, 333, 413, 333, 584, 556, 362, 604, 633, 556, 633, 591, 387, 633, 657, 305, 305, 620,
    305, 982, 657, 619, 633, 633, 454, 556, 434, 657, 569, 856, 578, 569, 500, 394, 551, 394, 584,
)  # fmt: skip
"""Thousandths of the size, for the characters from space to tilde."""

_MONO = 610
_SLACK = 1.05
ELLIPSIS = "…"

_SIGNS = {"×": 840, "→": 1000, "·": 320, "…": 1000, "—": 1000, "–": 560, "−": 840, "≤": 840,
          "≥": 840, "φ": 720, "≠": 840, "’": 260, "↓": 1000}  # fmt: skip


@dataclass(frozen=True, slots=True)
class Font:
    """A face at a size: ``family`` is sans or mono; sizes are in px."""

    family: str
    size: float
    bold: bool = False

    @property
    def ascent(self) -> float:
        """From the baseline to the top of the tallest letters."""
        return 0.78 * self.size

    @property
    def descent(self) -> float:
        return 0.24 * self.size


@lru_cache(maxsize=4096)
def _advance(ch: str, family: str, bold: bool) -> int:
    code = ord(ch)
    if 32 <= code < 127:
        return _MONO if family == "mono" else (_BOLD if bold else _SANS)[code - 32]
    if ch in _SIGNS:
        return max(_MONO, _SIGNS[ch]) if family == "mono" else _SIGNS[ch]
    category = unicodedata.category(ch)
    if category in ("Mn", "Me", "Cf"):  # marks stand over their letter
        return 0
    if unicodedata.east_asian_width(ch) in "WF":
        return 1050
    if category == "Ll":
        return 760
    return 1000


def measure(text: str, font: Font) -> float:
    """The width of a text in px, rather too wide than too narrow."""
    units = sum(_advance(ch, font.family, font.bold) for ch in text)
    return units * font.size / 1000 * _SLACK


def is_plain(text: str) -> bool:
    """Whether every character is one whose width is known."""
    return all(32 <= ord(ch) < 127 or ch in _SIGNS for ch in text)


_HIDDEN = re.compile(
    r"[\x00-\x1f\x7f-\x9f\u200b-\u200f\u2028-\u202e\u2060-\u206f\ufeff\ufffe\uffff]"
)
_SURROGATE = re.compile("[\ud800-\udfff]")


def clean(text: str) -> str:
    """One line of visible characters: blanks joined, control and direction marks spelled out."""
    text = re.sub(r"[ \t\r\n]+", " ", text).strip()
    text = _HIDDEN.sub(lambda m: m[0].encode("unicode_escape").decode(), text)
    return _SURROGATE.sub("\ufffd", text)


def elide(text: str, font: Font, width: float) -> str:
    """The text, or as much of its start as fits into ``width`` px and an ellipsis."""
    if measure(text, font) <= width:
        return text
    room = width - measure(ELLIPSIS, font)
    used, kept = 0.0, 0
    for ch in text:
        used += _advance(ch, font.family, font.bold) * font.size / 1000 * _SLACK
        if used > room:
            break
        kept += 1
    return text[:kept].rstrip() + ELLIPSIS


def wrap(text: str, font: Font, width: float, lines: int) -> list[str]:
    """The text on at most ``lines`` lines, broken at blanks; what is left over is elided."""
    out: list[str] = []
    words = text.split(" ")
    while words and len(out) < lines:
        if len(out) == lines - 1:
            out.append(elide(" ".join(words), font, width))
            break
        line = words.pop(0)
        while words and measure(f"{line} {words[0]}", font) <= width:
            line += " " + words.pop(0)
        out.append(elide(line, font, width))
    return out
