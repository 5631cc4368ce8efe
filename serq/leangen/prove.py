"""Regenerate, build, audit: what is proved, what is open, what fails, and where."""

from __future__ import annotations

import hashlib
import json
import re
import time
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any

from serq.diagnostics import SerqError
from serq.interp import run
from serq.leangen.generate import (
    OPEN,
    PROVED,
    ClaimedProgram,
    ClaimEntry,
    GeneratedFile,
    Generation,
    library,
)
from serq.leangen.unchecked import resting_on, unchecked_modules
from serq.toolchain.build import Graph
from serq.toolchain.lean import Lean, ensure_lean
from serq.toolchain.messages import BuildResult, Level, Message, ModuleResult
from serq.toolchain.places import LeanPackage, make_directory
from serq.toolchain.progress import Reporter

ROOT = "Serq"
"""The library's root module: what it does not reach is not built."""

AUDIT = "Serq/Audit.lean"
DRIVERS = frozenset({"Serq.Audit"})
"""Modules below ``Serq`` that are programs, not part of the library."""

FAILED = "failed"
ALLOWED_AXIOMS = frozenset({"propext", "Classical.choice", "Quot.sound"})


@dataclass(frozen=True, slots=True)
class Theorem:
    """A theorem of the library as the audit saw it."""

    name: str
    module: str
    line: int | None
    doc: str | None
    axioms: tuple[str, ...]
    ok: bool
    seconds: float | None = None
    """What compiling its module took."""

    unchecked: str | None = None
    """The module below it, or its own, that the audit cannot judge."""

    @property
    def file(self) -> str:
        return f"lean/{self.module.replace('.', '/')}.lean"


@dataclass(frozen=True, slots=True)
class ClaimRow:
    """One claim: on the interpreted path, and over all paths."""

    program: str
    name: str
    sentence: str
    form: str
    path: str
    """The interpreter's result, with the time of a failure or a witness."""

    status: str
    """``proved``, ``open`` or ``failed``."""

    theorem: str
    why: str | None = None
    proof: Theorem | None = None

    def record(self) -> dict[str, Any]:
        proof = self.proof
        return {
            "program": self.program,
            "claim": self.name,
            "sentence": self.sentence,
            "form": self.form,
            "path": self.path,
            "status": self.status,
            "theorem": self.theorem,
            "file": proof.file if proof else None,
            "line": proof.line if proof else None,
            "axioms": list(proof.axioms) if proof else None,
            "seconds": proof.seconds if proof else None,
            "why": self.why,
        }


@dataclass(frozen=True, slots=True)
class Fault:
    """An error of the build, at its Lean line, with the construct that the line came from."""

    message: Message
    origin: str | None = None
    claim: str | None = None

    def __str__(self) -> str:
        source = f"\n  from {self.origin}" if self.origin else ""
        return f"{self.message}{source}"


@dataclass
class Outcome:
    """Everything `serq prove` found out."""

    claims: list[ClaimRow] = field(default_factory=list)
    theorems: list[Theorem] = field(default_factory=list)
    faults: list[Fault] = field(default_factory=list)
    problems: list[str] = field(default_factory=list)
    stale: set[str] = field(default_factory=set)
    """The claims whose committed statements are not what their programs claim."""

    written: list[Path] = field(default_factory=list)
    build: BuildResult | None = None
    lean: str = ""
    kind: str = ""
    seconds: float = 0.0

    @property
    def ok(self) -> bool:
        """Whether everything required is proved: all that is not listed as open."""
        return (
            not self.problems
            and not self.faults
            and (self.build is None or self.build.ok)
            and all(c.status != FAILED for c in self.claims)
            and all(t.ok for t in self.theorems)
        )

    def record(self) -> dict[str, Any]:
        return {
            "ok": self.ok,
            "lean": {"kind": self.kind, "version": self.lean},
            "claims": [c.record() for c in self.claims],
            "theorems": [
                {
                    "theorem": t.name,
                    "file": t.file,
                    "line": t.line,
                    "doc": t.doc,
                    "axioms": list(t.axioms),
                    "ok": t.ok,
                    "unchecked": t.unchecked,
                    "seconds": t.seconds,
                }
                for t in self.theorems
            ],
            "faults": [
                {
                    "file": f.message.file,
                    "line": f.message.line,
                    "column": f.message.column,
                    "text": f.message.text,
                    "from": f.origin,
                    "claim": f.claim,
                }
                for f in self.faults
            ],
            "problems": self.problems,
            "written": [p.as_posix() for p in self.written],
            "compiled": self.build.compiled if self.build else 0,
            "seconds": round(self.seconds, 3),
        }


@dataclass(frozen=True)
class Request:
    """What to prove: ``only`` are stems of the library's programs, none for all of it."""

    package: LeanPackage
    update: bool = False
    offline: bool = False
    jobs: int = 0
    only: tuple[str, ...] = ()


def prove(request: Request, reporter: Reporter) -> Outcome:
    """Regenerates, compares, builds and audits the library.

    Raises `SerqError` where it cannot even begin: a program with errors or outside the fragment,
    no Lean. Everything else is in the outcome.
    """
    started = time.monotonic()
    outcome = Outcome()
    package = request.package
    generation = _generate(request, outcome)
    lean = ensure_lean(reporter, package=package, offline=request.offline)
    outcome.kind, outcome.lean = lean.kind, lean.version()
    outcome.problems += unreached(package)
    targets = [ROOT]
    result = lean.build(package, targets, jobs=request.jobs, reporter=reporter)
    outcome.build = result
    outcome.faults = list(faults(result, generation, package.root))
    with reporter.step("auditing"):
        outcome.theorems = audit(lean, package, sound_modules(package, result), result)
    outcome.problems += [
        f"`{t.name}` rests on {', '.join(sorted(set(t.axioms) - ALLOWED_AXIOMS)) or 'unseen code'}"
        for t in outcome.theorems
        if not t.ok
    ]
    outcome.problems += _refuse_unchecked(package, outcome)
    outcome.claims = claim_rows(generation, outcome, request.only)
    outcome.seconds = time.monotonic() - started
    return outcome


def _generate(request: Request, outcome: Outcome) -> Generation:
    generation = library(request.package.root)
    outcome.problems += generation.problems
    if request.update and not request.package.in_tree:
        raise SerqError.of(
            "not-a-checkout",
            "--update writes the generated files of a checkout; this is an installed serQ",
            help="run it in a checkout installed with `pip install --editable .`",
        )
    if request.update:
        outcome.written = generation.write(request.package.root)
    for path, how in generation.differing(request.package.root):
        names = _about(generation, request.package.root, path)
        outcome.stale.update(names)
        about = f" ({', '.join(f'claim `{n}`' for n in names)})" if names else ""
        outcome.problems.append(
            f"{path} {how}{about}: `serq prove --update` writes it (generated files are not edited)"
        )
    return generation


def _about(generation: Generation, root: Path, path: Path) -> list[str]:
    """Which claims a stale file states otherwise than their program does."""
    for file in generation.files:
        if file.path == path:
            committed = root / path
            text = committed.read_text(encoding="utf-8") if committed.is_file() else ""
            return stale_claims(file, text)
    return []


def stale_claims(file: GeneratedFile, committed: str) -> list[str]:
    """The claims whose statements are not in the committed text: all of the file's when what they
    are about, the program or its deployment, is not."""
    lines = file.text.split("\n")
    stale: set[str] = set()
    for origin in file.origins:
        made = "\n".join(lines[origin.first - 1 : origin.last])
        made = made.split("\n\n/--")[0].rstrip()  # without the sentence above the next one
        if f"\n{made}\n" in f"\n{committed}\n":
            continue
        if origin.claim is None:
            return sorted({o.claim for o in file.origins if o.claim})
        stale.add(origin.claim)
    return sorted(stale)


def unreached(package: LeanPackage) -> list[str]:
    """Files of the library that its root does not import: they would never be checked."""
    graph = Graph([package.source])
    graph.add(ROOT)
    problems = []
    for path in sorted((package.source / ROOT).rglob("*.lean")):
        name = ".".join(path.relative_to(package.source).with_suffix("").parts)
        if name not in graph.modules and name not in DRIVERS:
            problems.append(
                f"lean/{path.relative_to(package.source)} is not imported by {ROOT}.lean, directly "
                "or through others: nothing in it is checked"
            )
    return problems


def _refuse_unchecked(package: LeanPackage, outcome: Outcome) -> list[str]:
    """What the sources contain that the audit cannot see behind; the theorems above it are not
    proved."""
    graph = Graph([package.source])
    graph.add(ROOT)
    places = unchecked_modules(graph)
    rests = resting_on(graph, places)
    outcome.theorems = [
        replace(t, ok=False, unchecked=rests[t.module]) if t.module in rests else t
        for t in outcome.theorems
    ]
    return [
        f"lean/{graph.modules[name].path.relative_to(package.source)}:{place.line} {place}"
        for name, place in places.items()
    ]


# --- faults -------------------------------------------------------------------------------------

_THEOREM = re.compile(r"^\s*(?:private\s+|protected\s+)?(?:theorem|lemma|def|example)\s+(\S+)")


def faults(result: BuildResult, generation: Generation, root: Path) -> Iterable[Fault]:
    """The build's errors and its `sorry`s with the program constructs behind them.

    ``root`` is the directory with the ``lean`` that was compiled.
    """
    for module in result.modules:
        for message in module.messages:
            if message.level is Level.ERROR or is_sorry(message):
                yield _fault(message, module, generation, root)
    if result.failed:
        lines = [x for x in result.output.splitlines() if x.startswith("error")] or ["error"]
        yield Fault(Message(Level.ERROR, "lakefile.toml", 0, 0, "\n".join(lines[:5])))


def is_sorry(message: Message) -> bool:
    """Whether Lean warns that something was left out."""
    return message.level is Level.WARNING and "declaration uses" in message.text


def _fault(
    message: Message,
    module: ModuleResult,
    generation: Generation,
    root: Path,
) -> Fault:
    file = "lean/" + message.file.removeprefix("lean/")
    shown = Message(Level.ERROR, file, message.line, message.column, message.text)
    origin = generation.origin(file, message.line)
    if origin is not None:
        return Fault(shown, origin.what, origin.claim)
    entry = _proof_entry(generation, module.module, root / file, message.line)
    if entry is not None:
        return Fault(shown, f"claim `{entry.name}` of {entry.program}.sq", entry.key)
    return Fault(shown)


def _proof_entry(generation: Generation, module: str, path: Path, line: int) -> ClaimEntry | None:
    """The claim whose proof has an error: the theorem that the line belongs to."""
    if not path.is_file():
        return None
    name = None
    for text in path.read_text(encoding="utf-8").splitlines()[:line]:
        if match := _THEOREM.match(text):
            name = match[1]
    for entry in generation.claims:
        proofs = entry.theorem.rsplit(".", 1)[0]
        if module == proofs and name is not None and name.split(".")[-1] == entry.name:
            return entry
    return None


# --- audit --------------------------------------------------------------------------------------


def sound_modules(package: LeanPackage, result: BuildResult) -> list[str]:
    """The root if all of it was compiled, else every module that neither failed nor needs one
    that did."""
    if result.ok:
        return [ROOT]
    graph = Graph([package.source])
    graph.add(ROOT)
    bad = {m.module for m in result.modules if not m.ok} | ({ROOT} if result.failed else set())
    good = []
    for name, module in graph.modules.items():
        if name in bad or bad & set(module.imports):
            bad.add(name)
        else:
            good.append(name)
    return [] if result.failed else good


def audit(
    lean: Lean, package: LeanPackage, modules: Sequence[str], result: BuildResult | None = None
) -> list[Theorem]:
    """Every theorem of the modules and what it imports, with its axioms.

    The answer is kept beside the compiled modules for as long as they stay the same.
    """
    if not modules:
        return []
    graph = Graph([package.source])
    keys = [graph.add(m).key for m in modules]
    program = package.source / AUDIT
    text = "\0".join([lean.identity(), program.read_text(encoding="utf-8"), *modules, *keys])
    key = hashlib.sha256(text.encode()).hexdigest()
    kept = package.root / ".lake" / f"audit-{lean.kind}.json"
    rows = _kept(kept, key)
    if rows is None:
        rows = run_audit(lean, package, modules)
        make_directory(kept.parent)
        kept.write_text(json.dumps({"key": key, "rows": rows}), encoding="utf-8")
    seconds = {m.module: m.seconds for m in result.modules} if result else {}
    return [theorem_of(row, seconds) for row in rows if "theorem" in row]


def _kept(path: Path, key: str) -> list[dict[str, Any]] | None:
    try:
        data = json.loads(path.read_text(encoding="utf-8"))
        return data["rows"] if data["key"] == key else None
    except (OSError, ValueError, KeyError, TypeError):
        return None


def run_audit(
    lean: Lean, package: LeanPackage, modules: Sequence[str], search: Sequence[Path] = ()
) -> list[dict[str, Any]]:
    """What the audit program prints, line by line; its last line says how much it visited."""
    done = lean.run(
        package,
        ["--run", package.source / AUDIT, *modules],
        capture=True,
        search=search,
    )
    rows = []
    for line in done.stdout.splitlines():
        try:
            rows.append(json.loads(line))
        except ValueError:
            continue
    if not rows or "visited" not in rows[-1]:
        raise SerqError.of(
            "lean-audit",
            "the audit of the library did not finish: "
            + (done.stderr or done.stdout).strip()[-300:],
            where="lean/" + AUDIT,
        )
    return rows


def theorem_of(row: dict[str, Any], seconds: dict[str, float | None]) -> Theorem:
    return Theorem(
        name=row["theorem"],
        module=row["module"],
        line=row["line"],
        doc=row["doc"],
        axioms=tuple(row["axioms"]),
        ok=bool(row["ok"]),
        seconds=seconds.get(row["module"]),
    )


# --- claims -------------------------------------------------------------------------------------


def claim_rows(
    generation: Generation, outcome: Outcome, only: tuple[str, ...] = ()
) -> list[ClaimRow]:
    """The table of claims; a proof that is missing or does not fit makes its claim fail."""
    theorems = {t.name: t for t in outcome.theorems}
    paths = {p.stem: path_results(p) for p in generation.programs if _wanted(p, only)}
    rows = []
    for entry in generation.claims:
        if entry.program not in paths:
            continue
        proof = theorems.get(entry.theorem)
        status, why = _status(entry, proof, theorems, outcome)
        if why is not None and status == FAILED:
            outcome.problems.append(f"claim `{entry.name}` of {entry.program}.sq: {why}")
        rows.append(
            ClaimRow(
                program=entry.program,
                name=entry.name,
                sentence=entry.sentence,
                form=entry.statement.form,
                path=paths[entry.program].get(entry.name, "not run"),
                status=status,
                theorem=entry.theorem,
                why=why,
                proof=proof,
            )
        )
    return rows


def _wanted(program: ClaimedProgram, only: tuple[str, ...]) -> bool:
    return not only or program.stem in only


def _status(
    entry: ClaimEntry,
    proof: Theorem | None,
    theorems: dict[str, Theorem],
    outcome: Outcome,
) -> tuple[str, str | None]:
    """``proved``, ``open`` or ``failed``, and what to do."""
    if entry.status == OPEN:
        if proof is not None:
            return OPEN, f"`{entry.theorem}` exists: list the claim as `proved`"
        return OPEN, None
    if entry.key in outcome.stale:
        return FAILED, "what Lean has checked is not what the program claims now"
    broken = next((f for f in outcome.faults if f.claim == entry.key), None)
    if broken is not None:
        place = f"{broken.message.file}:{broken.message.line}"
        if proof is not None and broken.message.file.endswith("ClaimsProved.lean"):
            return FAILED, f"the theorem proves something else than the program claims ({place})"
        return FAILED, f"its proof has an error ({place})"
    module = outcome.build.module(entry.theorem.rsplit(".", 1)[0]) if outcome.build else None
    if module is not None and module.blocked_by is not None:
        return FAILED, f"its proof could not be checked: {module.blocked_by} has an error"
    if module is not None and module.errors:
        first = module.errors[0]
        return FAILED, f"the file of its proof has an error ({first.file}:{first.line})"
    if proof is None:
        return FAILED, f"there is no theorem `{entry.theorem}`: prove it, or list it as `open`"
    if entry.statement.side and f"{entry.theorem}_no_truncation" not in theorems:
        return FAILED, f"`{entry.theorem}_no_truncation` is missing: a difference may be cut off"
    some = entry.statement.form == "SomeIteration"
    if not some and entry.reached not in theorems:
        return FAILED, f"it may hold of nothing: there is no `{entry.reached}`"
    if proof.unchecked is not None:
        return FAILED, f"it rests on {proof.unchecked}, which the audit cannot judge"
    if not proof.ok:
        return (
            FAILED,
            f"it rests on {', '.join(proof.axioms) or 'code that the kernel does not see'}",
        )
    return PROVED, None


def path_results(program: ClaimedProgram) -> dict[str, str]:
    """What the interpreter finds on the program's own path up to the ledger's horizon."""
    from serq.api import Overrides, load

    if program.horizon is None:
        return {}
    loaded = load(program.path, overrides=Overrides(horizon=program.horizon))
    report = run(loaded.program, source_map=loaded.source_map, base_dir=loaded.base_dir)
    found = {}
    for name, claim in report.claims.items():
        text = claim.result.replace("_", " ")
        shown = claim.result in ("fails", "witnessed") and claim.first is not None
        found[name] = f"{text} at {claim.first:g}" if shown else text
    return found
