"""Stand-ins for the modules that vLLM's scheduler imports and never needs on a CPU.

The scheduler, the KV-cache manager and the request classes are plain Python, yet they import most
of vLLM, torch and transformers. With `install`, the modules named are loaded from their files and
every other one is a *stand-in*: a module whose attributes are inert classes.

A stand-in may be named, called, subclassed, written in an annotation and entered as a context.
It decides nothing: asked for its truth, an order, an equality, arithmetic, a length, an element
or an iteration, it raises `Inert`, so no scheduling decision can rest on one silently.
"""

from __future__ import annotations

import importlib
import importlib.abc
import importlib.machinery
import importlib.util
import os
import sys
from collections.abc import Iterable
from types import FunctionType, ModuleType
from typing import Any, ClassVar, NoReturn


class Inert(RuntimeError):
    """A stand-in was asked for a value that only the real object has."""


_OPERATORS = (
    "bool len iter next contains lt le gt ge add radd iadd sub rsub isub mul rmul imul truediv "
    "rtruediv floordiv rfloordiv mod rmod pow rpow and rand xor rxor lshift rshift neg pos abs "
    "invert int float index round reversed divmod rdivmod matmul"
)
_REFUSED = _OPERATORS.split()


def _refuse(name: str) -> Any:
    def method(self: Any, *_args: Any) -> NoReturn:
        raise Inert(f"{_label(self)} stands in for a module that is not loaded: no __{name}__")

    method.__name__ = f"__{name}__"
    return method


def _label(it: Any) -> str:
    kind = it if isinstance(it, type) else type(it)
    return f"{kind.__module__}.{kind.__qualname__}"


class _Kind(type):
    """The class of the stand-in classes; ``X | None`` and ``X[int]`` stay usable as annotations."""

    def __getattr__(cls, name: str) -> Any:
        if name.startswith("__") and name.endswith("__"):
            raise AttributeError(name)
        made = _make(name, f"{cls.__module__}.{cls.__qualname__}")
        setattr(cls, name, made)
        return made

    def __getitem__(cls, _item: Any) -> Any:
        return cls

    def __call__(cls, *args: Any, **kwargs: Any) -> Any:
        # A decorator without arguments hands back what it decorates.
        if len(args) == 1 and isinstance(args[0], (FunctionType, type)) and not kwargs:
            return args[0]
        return super().__call__(*args, **kwargs)

    for _name in _REFUSED:
        locals()[f"__{_name}__"] = _refuse(_name)


class _StandIn(metaclass=_Kind):
    """The base of the stand-in classes."""

    def __init__(self, *_args: Any, **_kwargs: Any) -> None: ...

    def __init_subclass__(cls, **_kwargs: Any) -> None: ...

    def __getattr__(self, name: str) -> Any:
        if name.startswith("__") and name.endswith("__"):
            raise AttributeError(name)
        return getattr(type(self), name)

    def __call__(self, *args: Any, **_kwargs: Any) -> Any:
        # A decorator with arguments hands back what it decorates.
        if len(args) == 1 and callable(args[0]):
            return args[0]
        return self

    def __enter__(self) -> Any:
        return self

    def __exit__(self, *_exc: Any) -> None:
        return None

    for _name in [*_REFUSED, "getitem"]:
        locals()[f"__{_name}__"] = _refuse(_name)

    def __eq__(self, other: object) -> bool:
        if self is other:
            return True
        raise Inert(f"{_label(self)} stands in for a module that is not loaded: no __eq__")

    __hash__ = object.__hash__


def _make(name: str, module: str) -> _Kind:
    return _Kind(name, (_StandIn,), {"__module__": module})


class _Module(ModuleType):
    """A module whose every attribute is a real module inside it, or a stand-in class."""

    def __getattr__(self, name: str) -> Any:
        if name.startswith("__") and name.endswith("__"):
            raise AttributeError(name)
        full = f"{self.__name__}.{name}"
        if full in _Finder.real_modules:
            return importlib.import_module(full)
        made = _make(name, self.__name__)
        setattr(self, name, made)
        return made


class _Loader(importlib.abc.Loader):
    def create_module(self, spec: importlib.machinery.ModuleSpec) -> ModuleType:
        module = _Module(spec.name)
        module.__path__ = []
        return module

    def exec_module(self, module: ModuleType) -> None: ...


class _Finder(importlib.abc.MetaPathFinder):
    """Loads ``real`` modules of ``package`` from ``root``; the rest are stand-ins."""

    real_modules: ClassVar[set[str]] = set()

    def __init__(self, root: str, package: str, real: frozenset[str], absent: frozenset[str]):
        self.root, self.package, self.real, self.absent = root, package, real, absent
        self.real_modules |= real

    def find_spec(
        self, fullname: str, path: Any = None, target: Any = None
    ) -> importlib.machinery.ModuleSpec | None:
        top = fullname.partition(".")[0]
        if top == self.package and fullname in self.real:
            base = os.path.join(self.root, *fullname.split("."))
            for file in (base + ".py", os.path.join(base, "__init__.py")):
                if os.path.exists(file):
                    inner = [base] if file.endswith("__init__.py") else None
                    return importlib.util.spec_from_file_location(
                        fullname, file, submodule_search_locations=inner
                    )
            raise ModuleNotFoundError(f"{base}.py is missing", name=fullname)
        if top == self.package or top in self.absent:
            return importlib.machinery.ModuleSpec(fullname, _Loader(), is_package=True)
        return None


def install(root: str, package: str, real: Iterable[str], absent: Iterable[str]) -> None:
    """Load the ``real`` modules of ``package`` under ``root`` and stand in for the others.

    ``absent`` names further top-level packages (torch, transformers, …), none of which is looked
    for anywhere.
    """
    sys.meta_path.insert(0, _Finder(root, package, frozenset(real), frozenset(absent)))
