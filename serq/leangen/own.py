"""Claims of a program that is not the library's: its proofs stand in a Lean file beside it.

For ``system.sq`` the statements become the module ``Serq.Claims.System``; a file ``system.lean``
beside it imports that and proves ``Serq.Papers.System.<claim>``. Nothing is written beside the
program: everything is compiled in the cache.
"""

from __future__ import annotations

import hashlib
import time
from dataclasses import dataclass, replace
from pathlib import Path

from serq.diagnostics import SerqError
from serq.leangen.claims import camel
from serq.leangen.generate import (
    PROVED,
    ClaimEntry,
    GeneratedFile,
    Generation,
    claimed_program,
    claims_file,
    proved_file,
)
from serq.leangen.prove import (
    ALLOWED_AXIOMS,
    FAILED,
    ClaimRow,
    Fault,
    Outcome,
    Theorem,
    faults,
    path_results,
    run_audit,
    theorem_of,
)
from serq.leangen.unchecked import unchecked
from serq.toolchain.build import header_imports
from serq.toolchain.lean import Lean
from serq.toolchain.messages import BuildResult, ModuleResult
from serq.toolchain.places import LeanPackage, cache_directory, make_directory, storage
from serq.toolchain.progress import Reporter


@dataclass(frozen=True)
class Own:
    """A program, its horizon for the interpreter, and the claims that may stay open."""

    path: Path
    horizon: float | None = None
    open: frozenset[str] = frozenset()
    jobs: int = 0

    @property
    def proofs(self) -> Path:
        return self.path.with_suffix(".lean")

    @property
    def name(self) -> str:
        return camel(self.path.stem)


def prove_own(own: Own, package: LeanPackage, lean: Lean, reporter: Reporter) -> Outcome:
    """States the program's claims in Lean and checks the proofs that stand beside it.

    Raises `SerqError` for a program with errors or outside the fragment.
    """
    started = time.monotonic()
    program = claimed_program(own.path, own.path.name, own.horizon)
    if not program.claimed.statements:
        raise SerqError.of(
            "no-claims",
            f"{own.path.name} claims nothing",
            help="write `claim NAME: every iteration of ENGINE (…);` in the program",
        )
    entries = [
        ClaimEntry(own.path.stem, s.name, s, program.sentences[s.name], PROVED)
        for s in program.claimed.statements
    ]
    statements = claims_file(program)
    checks = [proved_file([e], _check_path(own, e)) for e in entries] if _has(own) else []
    generation = Generation((statements, *checks), tuple(entries), (program,), ())
    outcome = Outcome(kind=lean.kind, lean=lean.version())
    work = _workspace(own, [statements, *checks])
    result = _build(own, package, lean, reporter, work, generation)
    audited = _audited(own, package, lean, result, work)
    outcome.build = _without_missing(result, generation, audited)
    outcome.faults = _faults(own, outcome.build, generation, work)
    paths = path_results(program)
    outcome.claims = [_row(e, own, paths, audited, outcome) for e in entries]
    outcome.theorems = list(audited.values())
    outcome.problems += _unproved(own, outcome) + [
        f"claim `{r.name}` of {own.path.name}: {r.why}"
        for r in outcome.claims
        if r.status == FAILED
    ]
    outcome.seconds = time.monotonic() - started
    return outcome


def _has(own: Own) -> bool:
    return own.proofs.is_file()


def _check_path(own: Own, entry: ClaimEntry) -> Path:
    return Path("lean", "Serq", "Proved", f"{own.name}_{entry.name}.lean")


def _workspace(own: Own, files: list[GeneratedFile]) -> Path:
    """A directory of the cache with the statements, the checks and a copy of the proofs."""
    digest = hashlib.sha256(str(own.path.resolve()).encode()).hexdigest()[:16]
    work = make_directory(cache_directory() / "programs" / f"{own.path.stem}-{digest}")
    texts = {work / f.path: f.text for f in files}
    if _has(own):
        copy = work / "lean" / "Serq" / "Papers" / f"{own.name}.lean"
        texts[copy] = own.proofs.read_text(encoding="utf-8")
    with storage(work):
        for path in [*(work / "lean").rglob("*.lean")]:
            if path not in texts:
                path.unlink()
        for path, text in texts.items():
            path.parent.mkdir(parents=True, exist_ok=True)
            if not path.is_file() or path.read_text(encoding="utf-8") != text:
                path.write_text(text, encoding="utf-8")
    return work


def _build(
    own: Own,
    package: LeanPackage,
    lean: Lean,
    reporter: Reporter,
    work: Path,
    generation: Generation,
) -> BuildResult:
    """Compiles what the files need of the library, then the files."""
    source = work / "lean"
    wanted = {
        name
        for path in source.rglob("*.lean")
        for name in header_imports(path.read_text(encoding="utf-8"))
        if (package.source / name.replace(".", "/")).with_suffix(".lean").is_file()
        and not (source / name.replace(".", "/")).with_suffix(".lean").is_file()
    }
    below = lean.build(package, sorted(wanted), jobs=own.jobs, reporter=reporter)
    if not below.ok:
        return below
    resting = _resting_on(package.source, source)
    _link_library(lean.search_path(package)[0], work / "out" / lean.kind, resting)
    builder = lean.builder(package, work / "out" / lean.kind, own.jobs)
    with reporter.step(f"checking {own.path.name}"):
        return builder.build([source], [f.module for f in generation.files])


def _resting_on(library: Path, source: Path) -> set[str]:
    """The library's modules that ``source`` replaces, and those that import such a module.

    What was proved of the library's statements says nothing of the ones that replace them, and Lean
    does not notice when a compiled module meets another text than it was compiled with.
    """
    resting = {_module(p.relative_to(source)) for p in source.rglob("*.lean")}
    imports = {
        _module(p.relative_to(library)): header_imports(p.read_text(encoding="utf-8"))
        for p in library.rglob("*.lean")
    }
    while found := {m for m, names in imports.items() if resting.intersection(names)} - resting:
        resting |= found
    return resting


def _module(path: Path) -> str:
    return ".".join(path.with_suffix("").parts)


def _link_library(compiled: Path, out: Path, without: set[str]) -> None:
    """Links the library's compiled modules into ``out``, all but the modules ``without``.

    Lean looks for all modules below one name in the first directory that has the name.
    """
    for path in compiled.rglob("*.olean"):
        name = path.relative_to(compiled)
        link = out / name
        if _module(name) in without:
            if link.is_symlink():
                link.unlink()
        elif not link.exists():
            link.parent.mkdir(parents=True, exist_ok=True)
            link.unlink(missing_ok=True)
            link.symlink_to(path)


def _audited(
    own: Own, package: LeanPackage, lean: Lean, result: BuildResult, work: Path
) -> dict[str, Theorem]:
    """The theorems of the proof file, when it was compiled."""
    module = f"Serq.Papers.{own.name}"
    compiled = result.module(module)
    if compiled is None or not compiled.ok:
        return {}
    rows = run_audit(lean, package, [module], [work / "out" / lean.kind])
    found = [
        theorem_of(row, {module: compiled.seconds}) for row in rows if row.get("module") == module
    ]
    if unchecked(own.proofs.read_text(encoding="utf-8")) is not None:
        found = [replace(t, ok=False, unchecked=module) for t in found]
    return {t.name: t for t in found}


def _without_missing(
    result: BuildResult, generation: Generation, audited: dict[str, Theorem]
) -> BuildResult:
    """The build without the checks of theorems that do not exist: that is said of the claim."""
    missing = {e.key for e in generation.claims if e.theorem not in audited}
    kept: list[ModuleResult] = []
    for module in result.modules:
        check = next((f for f in generation.files if f.module == module.module), None)
        claims = {o.claim for o in check.origins} if check else set()
        if not (module.module.startswith("Serq.Proved.") and claims & missing):
            kept.append(module)
    return BuildResult(tuple(kept), result.seconds, result.output, result.failed)


def _faults(own: Own, result: BuildResult, generation: Generation, work: Path) -> list[Fault]:
    """The build's errors; those in the copy of the proofs are shown in the user's file."""
    copy = f"lean/Serq/Papers/{own.name}.lean"
    return [
        replace(f, message=replace(f.message, file=str(own.proofs)))
        if f.message.file == copy
        else f
        for f in faults(result, generation, work)
    ]


def _unproved(own: Own, outcome: Outcome) -> list[str]:
    """What keeps the file beside the program from counting, besides its errors."""
    if _has(own) and (place := unchecked(own.proofs.read_text(encoding="utf-8"))) is not None:
        return [f"{own.proofs}:{place.line} {place}"]
    return [f"`{t.name}` rests on {_below(t)}" for t in outcome.theorems if not t.ok]


def _below(theorem: Theorem) -> str:
    """What a theorem that is refused rests on."""
    unseen = "code that the kernel does not see"
    return ", ".join(sorted(set(theorem.axioms) - ALLOWED_AXIOMS)) or unseen


def _row(
    entry: ClaimEntry,
    own: Own,
    paths: dict[str, str],
    audited: dict[str, Theorem],
    outcome: Outcome,
) -> ClaimRow:
    proof = audited.get(entry.theorem)
    status, why = _status(entry, own, proof, outcome)
    return ClaimRow(
        program=entry.program,
        name=entry.name,
        sentence=entry.sentence,
        form=entry.statement.form,
        path=paths.get(entry.name, "not run"),
        status=status,
        theorem=entry.theorem,
        why=why,
        proof=proof,
    )


def _status(
    entry: ClaimEntry, own: Own, proof: Theorem | None, outcome: Outcome
) -> tuple[str, str | None]:
    broken = next((f for f in outcome.faults if f.claim == entry.key), None)
    if broken is None and proof is not None and proof.ok:
        return PROVED, None
    if entry.name in own.open:
        return "open", None
    if broken is not None:
        return FAILED, f"see the error at {broken.message.file}:{broken.message.line}"
    if proof is not None and proof.unchecked is not None:
        return FAILED, f"the audit cannot judge {own.proofs.name}"
    if proof is not None:
        return FAILED, f"its proof rests on {_below(proof)}"
    if not _has(own):
        return FAILED, f"there is no {own.proofs.name} with a theorem `{entry.theorem}`"
    return FAILED, f"{own.proofs.name} has no theorem `{entry.theorem}`"
