"""``python -m serq``."""

from __future__ import annotations

from serq.cli import main

main(prog_name="serq")
