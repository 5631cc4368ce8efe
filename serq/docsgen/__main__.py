"""``python -m serq.docsgen`` writes the generated documentation, ``--check`` only compares."""

from __future__ import annotations

import sys

from serq.docsgen.pages import differences, pages

if __name__ == "__main__":
    if "--check" in sys.argv[1:]:
        stale = differences()
        print("\n".join(f"docs/{name} is not what the code gives" for name in stale))
        sys.exit(1 if stale else 0)
    for path, text in pages().items():
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(text, encoding="utf-8")
