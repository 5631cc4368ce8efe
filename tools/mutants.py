"""Do the comparisons notice small faults? Applies each of `mutants.toml` to a copy of the tree.

    python tools/mutants.py                 every mutant
    python tools/mutants.py --only NAME …   some of them
    python tools/mutants.py --check         does each still apply, in exactly one place?

What was found is kept in docs/mutants.json, where it takes the place of what was found before, and
docs/mutants.md is written from it.

The checkout is not touched. What the reference build, Lean and vLLM's scheduler answer is recorded
once, as far as the tree agrees with it; then each mutant is one process (`mutant_judge.py`, a fork
of `mutant_server.py`) that puts the changed interpreter, or Lean generator, to the answers and
stops at the first that is another one.
"""

from __future__ import annotations

import argparse
import inspect
import json
import os
import random
import shutil
import subprocess
import sys
import tempfile
import time
import tomllib
from collections import Counter
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any

ROOT = Path(__file__).resolve().parents[1]
LIST = ROOT / "tools" / "mutants.toml"
FOUND = ROOT / "docs" / "mutants.json"
PAGE = ROOT / "docs" / "mutants.md"
PROGRAMS = 400
"""Random programs for the reference build; half as many for Lean, a quarter for vLLM."""


BUDGET = {"reference": 300, "lean": 60, "vllm": 84}
"""Comparison → how many cases of it `make test` looks at; of the others it has every one."""


@dataclass(frozen=True)
class Mutant:
    """A fault: ``old`` becomes ``new`` in ``file``. ``excused`` says why nothing notices it."""

    name: str
    about: str
    file: str
    old: str
    new: str
    excused: str = ""

    @property
    def kind(self) -> str:
        """Whose rules it breaks."""
        return "generator" if self.file.startswith("serq/leangen/") else "interpreter"

    def function(self, root: Path = ROOT) -> str | None:
        """The innermost function that the old text stands in; None outside of all."""
        text = (root / self.file).read_text()
        start = text.index(self.old)
        first = text.count("\n", 0, start + len(self.old) - len(self.old.lstrip())) + 1
        found = None
        todo = [compile(text, self.file, "exec")]
        while todo:
            code = todo.pop()
            lines = [line for _, _, line in code.co_lines() if line]
            # Functions are optimized code, the bodies of classes and modules are not.
            inside = bool(lines) and min(lines) <= first <= max(lines)
            if inside and code.co_flags & inspect.CO_OPTIMIZED:
                found = code.co_qualname
            todo += [c for c in code.co_consts if inspect.iscode(c)]
        return None if found is None else f"{self.file}: {found}"

    def fault(self, root: Path = ROOT) -> str | None:
        """Why it does not apply to a tree, or None."""
        path = root / self.file
        if not path.is_file():
            return f"{self.name}: there is no {self.file}"
        count = path.read_text().count(self.old)
        if count == 1:
            return None
        where = "is no longer" if not count else f"stands {count} times"
        return f"{self.name}: its old text {where} in {self.file}"


@dataclass(frozen=True)
class Outcome:
    """What became of a mutant."""

    mutant: Mutant
    by: str | None
    after: int
    what: str
    seed: int
    programs: int


def mutants(path: Path = LIST) -> list[Mutant]:
    """The list, in its order."""
    with path.open("rb") as file:
        return [Mutant(name, **fields) for name, fields in tomllib.load(file).items()]


@contextmanager
def copied() -> Iterator[Path]:
    """A copy of the package, beside links to everything else that a run reads."""
    with tempfile.TemporaryDirectory(prefix="serq-mutants-") as directory:
        tree = Path(directory) / "tree"
        tree.mkdir()
        ignore = shutil.ignore_patterns("__pycache__")
        shutil.copytree(ROOT / "serq", tree / "serq", ignore=ignore)
        for path in ROOT.iterdir():
            if path.name not in ("serq", ".git", "build", "dist"):
                (tree / path.name).symlink_to(path)
        yield tree


class Server:
    """`mutant_server.py` in a tree."""

    def __init__(self, tree: Path) -> None:
        self._process = subprocess.Popen(
            [sys.executable, str(ROOT / "tools" / "mutant_server.py")],
            env=_environment(tree),
            cwd=tree,
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            text=True,
        )

    def judge(self, cases: Path, mutant: Mutant) -> dict[str, Any]:
        """What the tree with this fault in it makes of the cases."""
        assert self._process.stdin is not None
        assert self._process.stdout is not None
        request = {"path": str(cases), "kind": mutant.kind, "function": mutant.function()}
        self._process.stdin.write(json.dumps(request) + "\n")
        self._process.stdin.flush()
        answer: dict[str, Any] = json.loads(self._process.stdout.readline())
        return answer

    def stop(self) -> None:
        """End the process."""
        self._process.kill()
        self._process.wait()


def _environment(tree: Path) -> dict[str, str]:
    return {**os.environ, "PYTHONPATH": os.pathsep.join([str(tree), str(ROOT / "tools")])}


def recorded(tree: Path, cases: Path, programs: int, seed: int) -> str:
    """Record the other sides' answers; how many there are."""
    done = subprocess.run(
        [sys.executable, str(ROOT / "tools" / "mutant_judge.py"), cases, str(programs), str(seed)],
        env=_environment(tree),
        cwd=tree,
        stdout=subprocess.PIPE,
        text=True,
        check=True,
    )
    return done.stdout.splitlines()[-1]


def try_all(chosen: list[Mutant], programs: int, seed: int, kept: Path | None) -> list[Outcome]:
    """Each mutant in turn."""
    out = []
    with copied() as tree:
        cases = (kept or tree.parent / "cases.pickle").absolute()
        if not cases.exists():
            started = time.monotonic()
            sizes = recorded(tree, cases, programs, seed)
            took = time.monotonic() - started
            print(f"recorded in {took:.0f} s, seed {seed}: {sizes}", file=sys.stderr)
        server = Server(tree)
        for number, mutant in enumerate(chosen):
            path = tree / mutant.file
            text = path.read_text()
            path.write_text(text.replace(mutant.old, mutant.new))
            stamp = time.time() + number  # two versions of one second are two to Python, too
            os.utime(path, (stamp, stamp))
            started = time.monotonic()
            found = server.judge(cases, mutant)
            seconds = time.monotonic() - started
            path.write_text(text)
            os.utime(path, (stamp + 0.5, stamp + 0.5))
            one = Outcome(mutant, found["by"], found["after"], found["what"], seed, programs)
            out.append(one)
            caught = f"{one.by} after {one.after}" if one.by else f"NOT CAUGHT in {one.after}"
            print(f"{mutant.name}: {caught} ({seconds:.1f} s) {one.what}", file=sys.stderr)
        server.stop()
    return out


def kept(listed: list[Mutant]) -> list[Outcome]:
    """What is known of the listed mutants, in their order."""
    if not FOUND.is_file():
        return []
    found = json.loads(FOUND.read_text(encoding="utf-8"))
    return [Outcome(m, **found[m.name]) for m in listed if m.name in found]


def keep(outcomes: list[Outcome]) -> None:
    """Write what was found, a line for each mutant."""
    rows = [
        f"{json.dumps(one.mutant.name)}: "
        + json.dumps(
            {
                "by": one.by,
                "after": one.after,
                "what": one.what,
                "seed": one.seed,
                "programs": one.programs,
            },
            ensure_ascii=False,
        )
        for one in outcomes
    ]
    FOUND.write_text("{\n" + ",\n".join(rows) + "\n}\n", encoding="utf-8")


def _not_run(outcomes: list[Outcome]) -> list[str]:
    """The faults of the list that the page says nothing of."""
    run = {one.mutant.name for one in outcomes}
    names = [f"`{mutant.name}`" for mutant in mutants() if mutant.name not in run]
    if not names:
        return []
    return [f"Listed and not run for this page: {', '.join(names)}.", ""]


def page(outcomes: list[Outcome]) -> str:
    """docs/mutants.md."""
    caught = [one for one in outcomes if one.by is not None]
    by = Counter(str(one.by) for one in caught)
    seeds = ", ".join(str(seed) for seed in dict.fromkeys(one.seed for one in outcomes))
    programs = max((one.programs for one in outcomes), default=0)
    lines = [
        "# Mutation check",
        "",
        "<!-- written by `python tools/mutants.py`: run it again, do not edit -->",
        "",
        "A comparison is worth what it notices. Here the rules of the interpreter and of the Lean",
        "generator are broken on purpose, one small fault at a time (`tools/mutants.toml`), and",
        "the comparisons of [`serq fuzz`](cli.md#serq-fuzz) are put to each, the cheapest first:",
        "the corpus of cases once found, random programs whose reports the reference build gave,",
        "programs of the fragment whose steps Lean recorded, scenarios that vLLM's scheduler took,",
        "the reports of the examples on record, the invariants, and the metamorphic changes; to a",
        "generator's fault the programs of the fragment and the generated Lean files. The corpus",
        "holds what was found, and a program for each rule that random programs meet too rarely",
        "(`tests/corpus/rule-*.sq`), some of them written because a fault here went unnoticed.",
        "The number is how many cases of the comparison it took. A fault that one comparison",
        "noticed is not shown to the ones after it. `make test` looks at "
        + ", ".join(f"{count} cases of {name}" for name, count in BUDGET.items()),
        "and at all of the rest, so it notices every fault whose number is not marked with †.",
        "",
        *_not_run(outcomes),
        f"**{len(caught)} of {len(outcomes)} faults are noticed** (seed {seeds}; {programs} random",
        f"programs, {programs // 2} of the fragment, {programs // 4} random scenarios): "
        + ", ".join(f"{count} by {name}" for name, count in by.most_common())
        + ".",
        "",
    ]
    for kind, title in (("interpreter", "The interpreter"), ("generator", "The Lean generator")):
        lines += [f"## {title}", "", "| fault | what it does | noticed by | after |"]
        lines.append("|---|---|---|---|")
        for one in outcomes:
            if one.mutant.kind != kind:
                continue
            noticed = one.by or f"nothing: {one.mutant.excused or 'not explained yet'}"
            after = str(one.after) if one.by else f"{one.after} cases"
            if one.by in BUDGET and one.after > BUDGET[one.by]:
                after += " †"
            lines.append(f"| `{one.mutant.name}` | {one.mutant.about} | {noticed} | {after} |")
        lines.append("")
    return "\n".join(lines)


def main() -> None:
    """The command line."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--only", nargs="+", default=[], metavar="NAME")
    parser.add_argument("--check", action="store_true", help="do the old texts still stand there?")
    parser.add_argument("--programs", type=int, default=PROGRAMS)
    parser.add_argument("--seed", type=int, default=None, help="a fresh one by default")
    parser.add_argument("--cases", type=Path, help="record the cases here, or use those there")
    options = parser.parse_args()
    listed = mutants()
    unknown = set(options.only) - {mutant.name for mutant in listed}
    if unknown:
        parser.error(f"no mutant is called {', '.join(sorted(unknown))}")
    chosen = [m for m in listed if not options.only or m.name in options.only]
    faults = [fault for fault in (mutant.fault() for mutant in chosen) if fault is not None]
    for fault in faults:
        print(fault, file=sys.stderr)
    if faults:
        raise SystemExit(1)
    if options.check:
        print(f"{len(chosen)} mutants apply")
        return
    seed = random.SystemRandom().randrange(1 << 32) if options.seed is None else options.seed
    known = {one.mutant.name: one for one in kept(listed)}
    found = try_all(chosen, options.programs, seed, options.cases)
    known |= {one.mutant.name: one for one in found}
    outcomes = [known[mutant.name] for mutant in listed if mutant.name in known]
    keep(outcomes)
    PAGE.write_text(page(outcomes), encoding="utf-8")
    if any(one.by is None and not one.mutant.excused for one in found):
        raise SystemExit(1)


if __name__ == "__main__":
    main()
