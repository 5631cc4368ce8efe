"""The correspondence: vLLM's rules, the constructs that say them, and the lines that stand behind.

``tools/correspondence.toml`` cites lines of vLLM at one version and keeps a hash of the words
cited, not the words. `check` says which citations an installed vLLM still holds and where the
others have moved; `page` is ``docs/correspondence.md``.
"""

from __future__ import annotations

import hashlib
import tomllib
from collections.abc import Sequence
from dataclasses import dataclass
from functools import cache
from pathlib import Path

from serq.oracle import places


@dataclass(frozen=True, slots=True)
class Citation:
    """Lines ``first`` to ``last`` of a file of vLLM, and the hash of their words."""

    file: str
    first: int
    last: int
    digest: str

    @property
    def label(self) -> str:
        lines = str(self.first) if self.first == self.last else f"{self.first}-{self.last}"
        return f"{self.file.removeprefix('vllm/')}:{lines}"


@dataclass(frozen=True, slots=True)
class Rule:
    """One row of the page: ``vllm`` the rule, ``serq`` what says it, ``checked`` scenarios."""

    name: str
    vllm: str
    serq: str
    source: tuple[Citation, ...]
    checked: tuple[str, ...]


@dataclass(frozen=True, slots=True)
class Table:
    """The rules, what is left out by a named precondition, and what is not modelled."""

    version: str
    rules: tuple[Rule, ...]
    left_out: tuple[Rule, ...]
    not_modelled: tuple[str, ...]

    @property
    def citations(self) -> tuple[tuple[Rule, Citation], ...]:
        return tuple((rule, one) for rule in self.rules + self.left_out for one in rule.source)


@dataclass(frozen=True, slots=True)
class Finding:
    """What an installed vLLM has where a citation points.

    ``moved`` has the first lines at which the cited words stand now: the citation's own when it
    holds, none when the words are gone.
    """

    rule: str
    citation: Citation
    moved: tuple[int, ...]

    @property
    def holds(self) -> bool:
        return self.citation.first in self.moved

    def sentence(self) -> str:
        place = self.citation.label
        if self.holds:
            return f"{place} holds"
        if self.moved:
            length = self.citation.last - self.citation.first
            now = ", ".join(f"{n}-{n + length}" if length else str(n) for n in self.moved)
            return f"{place} moved to {now}"
        return f"{place} changed"


def digest(lines: Sequence[str]) -> str:
    """The hash of cited lines, indentation and trailing space aside."""
    words = "\n".join(line.strip() for line in lines)
    return hashlib.sha256(words.encode()).hexdigest()[:16]


@cache
def load() -> Table:
    """The table in ``tools/correspondence.toml``."""
    path = places.root() / "tools" / "correspondence.toml"
    document = tomllib.loads(path.read_text(encoding="utf-8"))

    def rule(entry: dict[str, object]) -> Rule:
        source = entry["source"]
        checked = entry.get("checked", [])
        assert isinstance(source, list) and isinstance(checked, list)
        return Rule(
            name=str(entry["name"]),
            vllm=str(entry["vllm"]),
            serq=str(entry["serq"]),
            source=tuple(
                Citation(one["file"], one["lines"][0], one["lines"][-1], one.get("hash", ""))
                for one in source
            ),
            checked=tuple(checked),
        )

    return Table(
        version=document["version"],
        rules=tuple(rule(entry) for entry in document["rule"]),
        left_out=tuple(rule(entry) for entry in document["left_out"]),
        not_modelled=tuple(document["not_modelled"]),
    )


def check(files: Path, table: Table | None = None) -> list[Finding]:
    """Every citation against the files of an installed vLLM, in the table's order."""
    found: list[Finding] = []
    texts: dict[str, list[str]] = {}
    for rule, citation in (table or load()).citations:
        if citation.file not in texts:
            path = files / citation.file
            text = path.read_text(encoding="utf-8") if path.is_file() else ""
            texts[citation.file] = text.split("\n")
        lines = texts[citation.file]
        length = citation.last - citation.first + 1
        places_ = (n for n in range(len(lines) - length + 1))
        moved = tuple(n + 1 for n in places_ if digest(lines[n : n + length]) == citation.digest)
        found.append(Finding(rule.name, citation, moved))
    return found


def page(table: Table | None = None) -> str:
    """The documentation page, in Markdown."""
    table = table or load()
    out = [
        "# vLLM v1 and serQ, rule by rule",
        "",
        f"What vLLM's scheduler does, the construct that says it, and the lines of vLLM "
        f"{table.version} behind it. `serq oracle` runs both on the scenarios named and compares "
        "every step; a test checks that the cited lines of the installed vLLM still hold the words "
        "they held, and names those that moved (`serq oracle --sources`).",
        "",
        "The programs are `examples/oracle/vllm_request.sq` (one request), `vllm_session.sq` "
        "(conversations and the prefix cache), `vllm_priority.sq` (PRIORITY scheduling) and "
        "`examples/replay/vllm_replay.sq` (a recorded trace). They correspond to synchronous "
        "scheduling with one group of full attention.",
        "",
        f"| vLLM | serQ | Lines at {table.version} | Checked by |",
        "|---|---|---|---|",
        *(_row(rule) for rule in table.rules),
        "",
        "## Left out, by name",
        "",
        "Where a scenario breaks one of these, the two may differ from that step on, and the "
        "command says so by the precondition's name; any other difference is a fault.",
        "",
        f"| Precondition | What vLLM does | Lines at {table.version} |",
        "|---|---|---|",
        *(
            f"| `{rule.name}` | {_cell(rule.vllm)} {_cell(rule.serq)} | {_places(rule)} |"
            for rule in table.left_out
        ),
        "",
        "## Not modelled",
        "",
        *(f"* {line}" for line in table.not_modelled),
        "",
    ]
    return "\n".join(out)


def _row(rule: Rule) -> str:
    checked = ", ".join(f"`{name}`" for name in rule.checked)
    return f"| {_cell(rule.vllm)} | {_cell(rule.serq)} | {_places(rule)} | {checked} |"


def _places(rule: Rule) -> str:
    return ", ".join(f"`{one.label}`" for one in rule.source)


def _cell(text: str) -> str:
    return " ".join(text.split()).replace("|", "\\|")
