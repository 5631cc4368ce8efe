"""Keep the correspondence's table and page: hashes of the cited lines, and the page itself.

python tools/correspondence.py --hash     hash the lines the table cites, out of the cache
python tools/correspondence.py --page     write docs/correspondence.md
python tools/correspondence.py --show     print the cited lines, to be read against the rules
"""

from __future__ import annotations

import argparse
import re

from serq.oracle import correspondence, places, setup


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    for name in ("hash", "page", "show"):
        parser.add_argument(f"--{name}", action="store_true")
    options = parser.parse_args()
    table = correspondence.load()
    if options.hash or options.show:
        files = setup.ensure(table.version, print)
        path = places.root() / "tools" / "correspondence.toml"
        text = path.read_text(encoding="utf-8")
        for rule, one in table.citations:
            lines = (files / one.file).read_text(encoding="utf-8").split("\n")
            cited = lines[one.first - 1 : one.last]
            if options.show:
                print(f"--- {rule.name}: {one.label}", *cited, sep="\n")
            span = f"{one.first}, {one.last}" if one.first != one.last else f"{one.first}"
            pattern = rf'("{re.escape(one.file)}", lines = \[{span}\], hash = )"[0-9a-f]*"'
            text = re.sub(pattern, rf'\1"{correspondence.digest(cited)}"', text)
        if options.hash:
            path.write_text(text, encoding="utf-8")
            correspondence.load.cache_clear()
    if options.page:
        page = correspondence.page()
        (places.root() / "docs" / "correspondence.md").write_text(page, encoding="utf-8")


if __name__ == "__main__":
    main()
