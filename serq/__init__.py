"""serQ: a language in which an LLM serving deployment is one program."""

from __future__ import annotations

__version__ = "0.1.0"
