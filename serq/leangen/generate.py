"""Every generated Lean file of the library: its text, and what each of its lines came from."""

from __future__ import annotations

import json
import re
from collections.abc import Iterator
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from serq.diagnostics import SerqError
from serq.leangen import ir_file, oracle
from serq.leangen import model as lean
from serq.leangen.claims import Claimed, Statement, camel, claims
from serq.leangen.lean_text import render
from serq.leangen.reasons import Reason

CLAIMS_FILE = Path("lean") / "claims.json"
"""The claims of the library's programs: which are proved, which are open."""

DIRECTORIES = (Path("examples") / "papers", Path("examples") / "claims")
"""Where the library's programs stand, with their claims."""

PROVED, OPEN = "proved", "open"


@dataclass(frozen=True, slots=True)
class Origin:
    """Lines ``first`` to ``last`` of a generated file, and what they stand for."""

    first: int
    last: int
    what: str
    claim: str | None = None
    """The claim's key, ``program.claim``."""


@dataclass(frozen=True, slots=True)
class GeneratedFile:
    """A file below the package's root."""

    path: Path
    text: str
    origins: tuple[Origin, ...] = ()

    @property
    def module(self) -> str:
        return ".".join(self.path.with_suffix("").parts[1:])

    def origin(self, line: int) -> Origin | None:
        """The narrowest origin of a line."""
        found = [o for o in self.origins if o.first <= line <= o.last]
        return min(found, key=lambda o: o.last - o.first, default=None)


@dataclass(frozen=True, slots=True)
class ClaimEntry:
    """One claim: its Lean names, and the sentence that its program has above it."""

    program: str
    name: str
    statement: Statement
    sentence: str
    status: str

    @property
    def key(self) -> str:
        return f"{self.program}.{self.name}"

    @property
    def proposition(self) -> str:
        return f"Serq.Claims.{camel(self.program)}.{self.name}"

    @property
    def theorem(self) -> str:
        return f"Serq.Papers.{camel(self.program)}.{self.name}"

    @property
    def reached(self) -> str:
        """The theorem that its premise is reached: without it, it might hold of nothing."""
        return f"Serq.Reached.{camel(self.program)}.{self.name}"


@dataclass(frozen=True, slots=True)
class ClaimedProgram:
    """A program file with its claims in Lean."""

    stem: str
    path: Path
    source: str
    """How the file is called in texts."""

    claimed: Claimed
    sentences: dict[str, str]
    horizon: float | None = None


@dataclass(frozen=True)
class Ledger:
    """``lean/claims.json``: per program the horizon of its path and the status of each claim."""

    programs: dict[str, dict[str, Any]] = field(default_factory=dict)

    @classmethod
    def read(cls, root: Path) -> Ledger:
        path = root / CLAIMS_FILE
        if not path.is_file():
            return cls()
        try:
            data = json.loads(path.read_text(encoding="utf-8"))
            for name, entry in data.items():
                statuses = set(entry["claims"].values())
                if not statuses <= {PROVED, OPEN}:
                    raise ValueError(f"`{name}`: a claim is `proved` or `open`")
        except (ValueError, KeyError, TypeError, AttributeError) as fault:
            raise SerqError.of(
                "claims-file",
                f"not a list of claims: {fault}",
                where=str(path),
                help='{"program": {"horizon": 1000, "claims": {"name": "proved"}}}',
            ) from fault
        return cls(data)

    def status(self, program: str, claim: str) -> str | None:
        entry = self.programs.get(program, {})
        found = entry.get("claims", {}).get(claim)
        return None if found is None else str(found)

    def horizon(self, program: str) -> float | None:
        value = self.programs.get(program, {}).get("horizon")
        return None if value is None else float(value)

    def reach(self, program: str) -> dict[str, Any]:
        """The sessions that reach the claims' premises, and after how many events."""
        found = self.programs.get(program, {}).get("reach", {})
        return dict(found)

    def entries(self) -> Iterator[tuple[str, str]]:
        for program, entry in self.programs.items():
            for claim in entry["claims"]:
                yield program, claim


# --- one program --------------------------------------------------------------------------------


def claimed_program(path: Path, shown: str, horizon: float | None = None) -> ClaimedProgram:
    """Reads a program and translates its claims; raises `SerqError` when it is outside."""
    from serq.api import load

    loaded = load(path, need_horizon=False)
    verdict = claims(loaded.program, loaded.source_map)
    if verdict.claimed is None:
        raise outside(shown, verdict.reasons)
    sentences = claim_sentences(path.read_text(encoding="utf-8"))
    for claim in loaded.program.claims:
        sentences.setdefault(claim.name, f"Claim `{claim.name}` of `{shown}`.")
    return ClaimedProgram(path.stem, path, shown, verdict.claimed, sentences, horizon)


def outside(name: str, reasons: tuple[Reason, ...]) -> SerqError:
    """The error for a program that Lean cannot express."""
    from serq.diagnostics import Diagnostic

    return SerqError(
        [
            Diagnostic(
                "outside-lean",
                reason.why,
                span=reason.span,
                where=None if reason.span else f"{name}: {reason.path}",
                help="`serq prove --why` explains every construct of a program",
            )
            for reason in reasons
        ]
    )


_CLAIM = re.compile(r"^\s*claim\s+([A-Za-z_]\w*)")


def claim_sentences(text: str) -> dict[str, str]:
    """The comment lines directly above each claim, as one text."""
    found: dict[str, str] = {}
    above: list[str] = []
    for line in text.splitlines():
        stripped = line.strip()
        if stripped.startswith("//"):
            above.append(stripped.lstrip("/").strip())
            continue
        if (match := _CLAIM.match(line)) and above:
            found[match[1]] = " ".join(above)
        above = []
    return found


def claims_file(program: ClaimedProgram) -> GeneratedFile:
    """The statements of one program."""
    name = camel(program.stem)
    claimed = program.claimed
    text = render(
        "ClaimsProgram.lean.j2",
        source=program.source,
        name=name,
        claimed=claimed,
        statements=claimed.statements,
        sentences={k: _docstring(v) for k, v in program.sentences.items()},
        slots=oracle.attribute_list(claimed.attributes),
        observations=", ".join(f"{i} {o}" for i, o in enumerate(claimed.observations)),
    )
    origins = list(_definitions(text, program))
    return GeneratedFile(Path("lean", "Serq", "Claims", f"{name}.lean"), text, tuple(origins))


def _docstring(text: str) -> str:
    """A comment that can neither end the docstring it stands in nor begin one in it, wrapped."""
    words, lines, line = text.replace("-/", "- /").replace("/-", "/ -").split(), [], "/-- "
    for word in words:
        if len(line) + len(word) > 98:
            lines.append(line.rstrip())
            line = ""
        line += word + " "
    return "\n".join([*lines, line.rstrip()]).removeprefix("/-- ")


def _definitions(text: str, program: ClaimedProgram) -> Iterator[Origin]:
    """Each `def` of the file with the claim or the part of the program it was made of."""
    names = {s.name: s.name for s in program.claimed.statements}
    names |= {f"family_{s.name}": s.name for s in program.claimed.statements}
    names |= {s.side_name: s.name for s in program.claimed.statements}
    parts = {"prog": "the session's statements", "deployment": "the pools, stages and the engine"}
    lines = text.splitlines()
    starts = [(i + 1, m[1]) for i, line in enumerate(lines) if (m := re.match(r"def (\S+)", line))]
    for (first, name), after in zip(starts, [*(s for s, _ in starts[1:]), len(lines)], strict=True):
        claim = names.get(name)
        what = f"claim `{claim}`" if claim else parts.get(name, name)
        key = f"{program.stem}.{claim}" if claim else None
        yield Origin(first, after - 1, f"{what} of {program.source}", key)


# --- the library's files ------------------------------------------------------------------------


@dataclass(frozen=True)
class Generation:
    """All generated files of the library and the claims they state."""

    files: tuple[GeneratedFile, ...]
    claims: tuple[ClaimEntry, ...]
    programs: tuple[ClaimedProgram, ...]
    problems: tuple[str, ...]
    """Claims without an entry in the ledger, and entries without a claim."""

    def differing(self, root: Path) -> list[tuple[Path, str]]:
        """The committed files that are not what is generated, with how they differ."""
        found = []
        for file in self.files:
            path = root / file.path
            if not path.is_file():
                found.append((file.path, "is missing"))
            elif path.read_text(encoding="utf-8") != file.text:
                found.append((file.path, "is not what its sources give"))
        made = {root / file.path for file in self.files}
        for directory in ("Oracle", "Claims", "Reached"):
            for path in sorted((root / "lean" / "Serq" / directory).glob("*.lean")):
                if path not in made:
                    found.append((path.relative_to(root), "is generated from nothing any more"))
        return found

    def write(self, root: Path) -> list[Path]:
        """Writes what differs; gives the files that were written or removed."""
        made = {file.path: file.text for file in self.files}
        changed = []
        for path, _ in self.differing(root):
            target = root / path
            if path in made:
                target.parent.mkdir(parents=True, exist_ok=True)
                target.write_text(made[path], encoding="utf-8")
            else:
                target.unlink()
            changed.append(path)
        return changed

    def origin(self, file: str, line: int) -> Origin | None:
        """What a line of a generated file came from; ``file`` is named from ``lean/``."""
        for generated in self.files:
            if generated.path.as_posix() in (file, f"lean/{file}"):
                return generated.origin(line)
        return None


def library(root: Path) -> Generation:
    """The generated files of the library in the checkout at ``root``."""
    ledger = Ledger.read(root)
    programs = [
        claimed_program(path, path.relative_to(root).as_posix(), ledger.horizon(path.stem))
        for directory in DIRECTORIES
        for path in sorted((root / directory).glob("*.sq"))
    ]
    entries, problems = _entries(programs, ledger)
    types = GeneratedFile(ir_file.PATH, ir_file.text())
    reached = _reached_files(programs, ledger, problems)
    files = [types, *_claim_files(programs, entries), *reached, *_oracle_files(root)]
    return Generation(tuple(files), tuple(entries), tuple(programs), tuple(problems))


def _reached_files(
    programs: list[ClaimedProgram], ledger: Ledger, problems: list[str]
) -> list[GeneratedFile]:
    """Per program the theorems that the premises of its claims are reached."""
    files, names = [], []
    for program in programs:
        statements = [s for s in program.claimed.statements if s.form != "SomeIteration"]
        given = ledger.reach(program.stem)
        if not statements:
            continue
        if "sessions" not in given:
            problems.append(
                f'{CLAIMS_FILE} has no "reach" for `{program.stem}`: give sessions that reach an '
                'iteration and the end, {"sessions": [{"attribute": 1}], "events": 9}'
            )
            continue
        name = camel(program.stem)
        names.append(name)
        text = render(
            "Reached.lean.j2",
            name=name,
            source=program.source,
            statements=statements,
            workload=_reaching(program, given["sessions"]),
            first=0 if program.claimed.gap is None else 1,
            events=int(given.get("events", 1)),
        )
        path = Path("lean", "Serq", "Reached", f"{name}.lean")
        files.append(GeneratedFile(path, text, tuple(_theorems(text, program))))
    text = render("ReachedAll.lean.j2", names=sorted(names))
    return [*files, GeneratedFile(Path("lean", "Serq", "Reached.lean"), text)]


def _reaching(program: ClaimedProgram, sessions: list[dict[str, int]]) -> lean.Workload:
    slots = {name: slot for slot, name in enumerate(program.claimed.attributes)}
    try:
        init = tuple(tuple((slots[a], int(v)) for a, v in s.items()) for s in sessions)
    except (KeyError, AttributeError, ValueError, TypeError) as fault:
        raise SerqError.of(
            "claims-file",
            f'the "reach" of `{program.stem}` names no attribute of it: {fault}',
            where=str(CLAIMS_FILE),
        ) from fault
    gap = program.claimed.gap
    return lean.Workload(init, gaps=None if gap is None else (gap,) * len(init))


def _theorems(text: str, program: ClaimedProgram) -> Iterator[Origin]:
    """Each theorem of a file of reached premises with its claim."""
    for number, line in enumerate(text.splitlines(), 1):
        if match := re.match(r"theorem (\S+)", line):
            what = f"the premise of claim `{match[1]}` of {program.source}"
            yield Origin(number, number + 1, what, f"{program.stem}.{match[1]}")


def _entries(programs: list[ClaimedProgram], ledger: Ledger) -> tuple[list[ClaimEntry], list[str]]:
    entries, problems = [], []
    called: dict[str, ClaimedProgram] = {}
    for program in programs:
        other = called.setdefault(camel(program.stem), program)
        if other is not program:
            problems.append(
                f"{other.source} and {program.source} are both `{camel(program.stem)}` in Lean: "
                "rename one of them"
            )
        for statement in program.claimed.statements:
            status = ledger.status(program.stem, statement.name)
            if status is None:
                problems.append(
                    f"claim `{statement.name}` of {program.source} is not in {CLAIMS_FILE}: prove "
                    "it and list it as `proved`, or list it as `open`"
                )
                status = OPEN
            sentence = program.sentences[statement.name]
            entries.append(ClaimEntry(program.stem, statement.name, statement, sentence, status))
    known = {(e.program, e.name) for e in entries}
    for program_name, claim in ledger.entries():
        if (program_name, claim) not in known:
            problems.append(
                f"{CLAIMS_FILE} lists `{claim}` of `{program_name}`, which claims no such thing "
                "any more: remove the line, and the proof"
            )
    return entries, problems


def _claim_files(
    programs: list[ClaimedProgram], entries: list[ClaimEntry]
) -> Iterator[GeneratedFile]:
    for program in programs:
        yield claims_file(program)
    names = sorted(camel(p.stem) for p in programs)
    yield GeneratedFile(Path("lean", "Serq", "Claims.lean"), render("Claims.lean.j2", names=names))
    yield proved_file(entries, Path("lean", "Serq", "ClaimsProved.lean"))


def proved_file(entries: list[ClaimEntry], path: Path) -> GeneratedFile:
    """The file that holds each proved claim against its theorem."""
    proved = [
        {"claim": e.proposition + suffix, "theorem": e.theorem + suffix, "entry": e}
        for e in entries
        if e.status == PROVED
        for suffix in ("", *(("_no_truncation",) if e.statement.side else ()))
    ]
    text = render(
        "ClaimsProved.lean.j2",
        proofs=sorted({camel(e.program) for e in entries if e.status == PROVED}),
        proved=proved,
        open=[e.proposition for e in entries if e.status == OPEN],
    )
    origins = []
    for row in proved:
        entry = row["entry"]
        assert isinstance(entry, ClaimEntry)
        line = 1 + text.split("\n").index(f"example : {row['claim']} := {row['theorem']}")
        what = f"claim `{entry.name}` of {entry.program}.sq"
        origins.append(Origin(line, line, what, entry.key))
    return GeneratedFile(path, text, tuple(origins))


def _oracle_files(root: Path) -> Iterator[GeneratedFile]:
    names = []
    for name, make in oracle.evaluations(root):
        evaluation = make()
        text = oracle.text_of(evaluation)
        names.append(evaluation.module)
        lines = len(text.splitlines())
        what = f"`{name}`: {evaluation.sources}"
        path = Path("lean", "Serq", "Oracle", f"{evaluation.module}.lean")
        yield GeneratedFile(path, text, (Origin(1, lines, what),))
    yield GeneratedFile(
        Path("lean", "Serq", "Oracle.lean"), render("Oracle.lean.j2", names=sorted(names))
    )
