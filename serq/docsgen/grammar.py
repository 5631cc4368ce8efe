"""The grammar as the language page shows it, from the parser's own."""

from __future__ import annotations

import re
import textwrap
from pathlib import Path

import serq.syntax

FILE = Path(serq.syntax.__file__).with_name("grammar.lark")
_RULE = re.compile(r"^[?_]?(\w+): (.*)$")
WIDTH = 100
_HIDDEN = ("bad", "instance", "instance_items", "expression")


def grammar() -> str:
    """The rules, without what only serves recovery from errors and the building of trees."""
    out = []
    for line in FILE.read_text(encoding="utf-8").splitlines():
        if line.startswith("// ---"):
            out += ["", f"-- {line.strip('/- ')}"]
        rule = _RULE.match(line)
        if rule is None or rule[1] in _HIDDEN or not rule[1].islower():
            continue
        right = re.sub(r" \| bad\b|\bbad \| ", "", rule[2])
        right = re.sub(r" -> \w+", "", right)
        right = re.sub(r"\b_(\w+)", r"\1", right)
        right = right.replace("EXPR_BRACE", '"{"').replace("ARGS", '"args"')
        head = f"{rule[1]:<17} = "
        out += textwrap.wrap(
            head + right, WIDTH, subsequent_indent=" " * len(head), break_long_words=False
        )
    return "```text\n" + "\n".join(out).strip() + "\n```"
