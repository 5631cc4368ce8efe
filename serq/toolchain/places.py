"""Where things are: the cache directory, the Lean package, and locks between processes."""

from __future__ import annotations

import hashlib
import os
import shutil
import tempfile
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from errno import EACCES, EDQUOT, EEXIST, ELOOP, ENAMETOOLONG, ENOSPC, ENOTDIR, EPERM, EROFS
from pathlib import Path

from filelock import FileLock, Timeout
from platformdirs import user_cache_path

from serq.diagnostics import SerqError

DATA = Path(__file__).parent / "data"
"""The files a registry Lean is assembled with."""


def cache_directory() -> Path:
    """The user's cache directory for serQ; the environment variable ``SERQ_CACHE`` overrides it."""
    override = os.environ.get("SERQ_CACHE")
    return Path(override).absolute() if override else user_cache_path("serq", appauthor=False)


def make_directory(path: Path) -> Path:
    """Creates a directory of the cache, or says why it cannot be written."""
    with storage(path):
        try:
            path.mkdir(parents=True, exist_ok=True)
        except FileNotFoundError as error:  # a file system that takes no directories
            raise PermissionError(EACCES, error.strerror, error.filename) from error
        if not os.access(path, os.W_OK | os.X_OK):
            raise PermissionError(EACCES, "Permission denied", str(path))
    return path


_UNWRITABLE = (EACCES, EPERM, EROFS, ENOTDIR, EEXIST, ENAMETOOLONG, ELOOP)
"""What the operating system says of a place that takes no files."""


@contextmanager
def storage(path: Path) -> Iterator[None]:
    """Turns a full disk and an unwritable place into errors that say what to do."""
    try:
        yield
    except OSError as error:
        place = Path(error.filename) if isinstance(error.filename, str) else path
        if error.errno in (ENOSPC, EDQUOT):
            raise SerqError.of(
                "disk-full",
                f"no space left while writing {place}",
                help="free some space, or set SERQ_CACHE to a directory on another disk",
            ) from error
        if error.errno in _UNWRITABLE:
            raise SerqError.of(
                "cache-unwritable",
                f"cannot write {place}: {error.strerror}",
                help="set SERQ_CACHE to a directory you can write",
            ) from error
        raise


def require_space(path: Path, needed: int) -> None:
    """Refuses early when fewer than ``needed`` bytes are free where ``path`` will be."""
    probe = path
    while not probe.exists():
        probe = probe.parent
    free = shutil.disk_usage(probe).free
    if free < needed:
        raise SerqError.of(
            "disk-full",
            f"{needed / 1e9:.1f} GB are needed under {path}, {free / 1e9:.1f} GB are free",
            help="free some space, or set SERQ_CACHE to a directory on another disk",
        )


@contextmanager
def locked(path: Path, waiting: Callable[[], None] | None = None) -> Iterator[None]:
    """Holds the lock file ``path`` among all processes; ``waiting`` is called if it is taken.

    The operating system frees the lock when its holder dies, so a killed process leaves none.
    """
    make_directory(path.parent)
    lock = FileLock(path)
    with storage(path):
        try:
            lock.acquire(timeout=0)
        except Timeout:
            if waiting is not None:
                waiting()
            lock.acquire()
    try:
        yield
    finally:
        lock.release()


@dataclass(frozen=True, slots=True)
class LeanPackage:
    """The Lake package of serQ: ``root`` has the lakefile, ``source`` the modules.

    ``in_tree`` says that it is a checkout's own (generated files are committed there).
    """

    root: Path
    source: Path
    in_tree: bool

    @property
    def registry_output(self) -> Path:
        """Where the registry Lean puts compiled modules (Lake's own are not exchangeable)."""
        return self.root / ".lake" / "registry" / "lib" / "lean"

    @property
    def native_output(self) -> Path:
        """Where Lake puts compiled modules."""
        return self.root / ".lake" / "build" / "lib" / "lean"


_ROOT_FILES = ("lakefile.toml", "lean-toolchain")


def lean_package() -> LeanPackage:
    """The checkout's Lean package, or else the shipped one, copied to the cache to be built."""
    above = Path(__file__).resolve().parents[2]
    if (above / "lakefile.toml").is_file() and (above / "lean" / "Serq").is_dir():
        return LeanPackage(above, above / "lean", in_tree=True)
    shipped = Path(__file__).resolve().parents[1] / "_lean"
    if not shipped.is_dir():
        raise SerqError.of(
            "lean-library-missing",
            "this installation of serQ has no Lean library",
            help="install serQ from a wheel, or work in a checkout of it",
        )
    return _copied(shipped)


def tree_hash(root: Path, pattern: str = "**/*") -> str:
    """A hash of the names and contents of the files below ``root``."""
    digest = hashlib.sha256()
    for path in sorted(p for p in root.glob(pattern) if p.is_file()):
        digest.update(f"{path.relative_to(root).as_posix()}\0".encode())
        digest.update(hashlib.sha256(path.read_bytes()).digest())
    return digest.hexdigest()


def _copied(shipped: Path) -> LeanPackage:
    """The shipped package in the cache: one copy per content, made atomically."""
    base = make_directory(cache_directory())
    root = base / f"library-{tree_hash(shipped)[:16]}"
    with locked(base / "library.lock"), storage(root):
        if not root.is_dir():
            fresh = Path(tempfile.mkdtemp(prefix="library-new-", dir=base))
            shutil.copytree(shipped, fresh, dirs_exist_ok=True)
            fresh.rename(root)
    return LeanPackage(root, root / "lean", in_tree=False)
