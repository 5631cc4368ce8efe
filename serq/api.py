"""Programs from Python: compile, run, look at the report; what the commands are made of too.

    program = serq.compile("mg1.sq", horizon=3000, sets={"rho": 0.8})
    report = serq.run(program)
    print(report.observe("response").mean)

Times are in the program's clock unit. What is wrong with a program, a file or a run raises
`serq.SerqError`, a `ValueError` whose text shows the place; arguments of a wrong Python type
raise `TypeError`, integers outside their range `OverflowError`.
"""

from __future__ import annotations

import os
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from math import inf, isnan
from pathlib import Path
from typing import TYPE_CHECKING

from serq.diagnostics import Diagnostic, SerqError, Source
from serq.files import read_text
from serq.ir import nodes
from serq.ir.codec import from_json, to_json
from serq.settings import Settings
from serq.syntax.read import read_source

if TYPE_CHECKING:
    from serq.interp.report import Report
    from serq.link.source_map import SourceMap

MAX_SEED = 2**64 - 1

Path_ = str | os.PathLike[str]


@dataclass
class Overrides:
    """What is set from outside the program; None where it is not.

    ``sets`` gives inputs (declared with ``args.number``) a number or the text of a constant
    expression, ``defs`` gives definitions of expressions another body.
    """

    horizon: float | None = None
    warmup: float | None = None
    seed: int | None = None
    arrivals: int | None = None
    trace: str | None = None
    sets: dict[str, float | str] = field(default_factory=dict)
    defs: dict[str, str] = field(default_factory=dict)


@dataclass(frozen=True)
class Loaded:
    """A linked program with what the text knew; an IR read from JSON has no source map.

    ``base_dir`` is where a relative trace path starts, "" for the current directory.
    """

    program: nodes.Program
    source_map: SourceMap | None
    warnings: tuple[Diagnostic, ...]
    base_dir: str


def load(
    path: Path_ | None = None,
    *,
    source: str | None = None,
    overrides: Overrides | None = None,
    need_horizon: bool = True,
) -> Loaded:
    """Read, link and validate a program: a ``.sq`` text, a ``.json`` IR, or a text given here.

    ``need_horizon`` is False where nothing runs. Raises `SerqError` with everything that is wrong.
    """
    given = Overrides() if overrides is None else overrides
    check_values(given)
    if path is None:
        assert source is not None
        return _from_text(Source("<source>", source), None, given, need_horizon)
    name = os.fspath(path)
    directory = os.path.dirname(name)
    if name.endswith(".json"):
        return _from_ir(read_text(path, "program"), name, directory, given)
    return _from_text(read_source(path), directory, given, need_horizon)


def check_values(given: Overrides) -> None:
    """Refuse settings no run can have, whatever the program. Raises `SerqError`."""
    faults = []

    def refuse(flag: str, message: str) -> None:
        faults.append(Diagnostic("bad-setting", message, where=flag))

    if given.horizon is not None and not 0.0 < given.horizon < inf:
        refuse("horizon", f"the horizon is positive and finite, not {given.horizon:g}")
    if given.warmup is not None and not 0.0 <= given.warmup < inf:
        refuse("warmup", f"the warm-up is 0 or more and finite, not {given.warmup:g}")
    if given.seed is not None and not 0 <= given.seed <= MAX_SEED:
        refuse("seed", f"the seed lies in 0 … 2⁶⁴ − 1, not {given.seed}")
    if given.arrivals is not None and given.arrivals < 1:
        refuse("arrivals", f"the number of arrivals is positive, not {given.arrivals}")
    for name, value in given.sets.items():
        if isinstance(value, float) and isnan(value):
            refuse(f"input {name}", "the value is NaN; a number or inf is needed")
    if faults:
        raise SerqError(faults)


def _check_run(horizon: float, warmup: float) -> None:
    if not warmup < horizon:
        raise SerqError.of(
            "bad-setting",
            f"the warm-up ({warmup:g}) has to end before the horizon ({horizon:g})",
            where="warmup",
        )


def _from_text(
    source: Source, directory: str | None, given: Overrides, need_horizon: bool
) -> Loaded:
    from serq.link import compile_text

    warmup = 0.0 if given.warmup is None else given.warmup
    settings = Settings(
        horizon=given.horizon,
        warmup=warmup,
        seed=1 if given.seed is None else given.seed,
        arrivals=given.arrivals,
        trace=given.trace,
    )
    if given.horizon is not None:
        _check_run(given.horizon, warmup)
    linked = compile_text(
        source,
        settings=settings,
        sets=given.sets,
        defs=given.defs,
        base_dir=None if directory is None else Path(directory),
    )
    if given.horizon is None and need_horizon:
        raise SerqError.of(
            "no-horizon",
            "how long to run is not said",
            help="give a horizon: --horizon T, `run { horizon T; }` in an instance file, or "
            "horizon= in Python",
        )
    base = "" if given.trace is not None or directory is None else directory
    return Loaded(linked.program, linked.source_map, tuple(linked.warnings), base)


def _from_ir(text: str, name: str, directory: str, given: Overrides) -> Loaded:
    for values, what in ((given.sets, "inputs"), (given.defs, "definitions")):
        if values:
            raise SerqError.of(
                "inputs-on-ir",
                f"{what} can be set for a program's text, not for its IR: "
                f"{', '.join(values)} already stand in {name} with their values",
                help="set them on the .sq file that this IR was made from",
            )
    program = validated(apply_settings(from_json(text, name), given), name)
    base = "" if given.trace is not None else directory
    return Loaded(program, None, (), base)


def validated(program: nodes.Program, name: str) -> nodes.Program:
    """The program, or `SerqError` with every rule that it breaks."""
    from serq.ir.validate import validate

    issues = validate(program)
    if issues:
        raise SerqError(
            [
                Diagnostic(
                    issue.code, issue.message, where=f"{name}: {issue.path}", help=issue.help
                )
                for issue in issues
            ]
        )
    return program


def apply_settings(program: nodes.Program, given: Overrides) -> nodes.Program:
    """The program with the settings that ``given`` sets. Raises `SerqError`."""
    from serq.ir.rewrite import with_settings

    horizon = program.horizon if given.horizon is None else given.horizon
    warmup = program.warmup if given.warmup is None else given.warmup
    _check_run(horizon, warmup)
    return with_settings(
        program,
        horizon=horizon,
        warmup=warmup,
        seed=program.seed if given.seed is None else given.seed,
        arrivals=program.arrivals if given.arrivals is None else given.arrivals,
        trace=program.trace if given.trace is None else given.trace,
    )


# --- what users call ----------------------------------------------------------------------------


class Program:
    """A compiled program with its execution settings; made by `compile` or `Program.from_json`.

    ``ir`` is its IR as dataclasses, ``warnings`` what the linker found doubtful, as text.
    """

    __slots__ = ("_loaded",)

    def __init__(self, loaded: Loaded) -> None:
        self._loaded = loaded

    @property
    def ir(self) -> nodes.Program:
        return self._loaded.program

    @property
    def warnings(self) -> list[str]:
        return [str(SerqError([warning])) for warning in self._loaded.warnings]

    def to_json(self) -> str:
        """The IR as indented JSON, as ``serq ir`` prints it without the last newline."""
        return to_json(self._loaded.program)

    @staticmethod
    def from_json(text: str) -> Program:
        """The program of an IR's JSON text, validated. Raises `SerqError`."""
        if not isinstance(text, str):
            raise TypeError(f"the IR is a str, not {type(text).__name__}")
        name = "<ir>"
        return Program(Loaded(validated(from_json(text, name), name), None, (), ""))


def compile(
    path: Path_ | None = None,
    *,
    source: str | None = None,
    sets: Mapping[str, float | str] | None = None,
    defs: Mapping[str, str] | None = None,
    seed: int | None = None,
    horizon: float | None = None,
    warmup: float | None = None,
    arrivals: int | None = None,
    trace: Path_ | None = None,
) -> Program:
    """The program of a ``.sq`` file, a ``.json`` IR (``path``) or a text (``source``), linked.

    ``horizon`` (needed for a text) and ``warmup`` are in the program's clock unit, ``seed`` (0 …
    2⁶⁴ − 1, default 1) picks the random numbers, ``arrivals`` makes an open workload end after so
    many sessions, ``trace`` replaces the program's trace. ``sets`` maps inputs to a number or a
    constant expression, ``defs`` definitions to another body. Settings override an IR's.

    Raises `SerqError` (a `ValueError`) for what is wrong with the program or a setting,
    `TypeError` and `OverflowError` for arguments of a wrong type or range.
    """
    if (path is None) == (source is None):
        raise ValueError("compile takes either a path or a source")
    overrides = Overrides(
        horizon=_float(horizon, "horizon"),
        warmup=_float(warmup, "warmup"),
        seed=_int(seed, "seed"),
        arrivals=_int(arrivals, "arrivals"),
        trace=None if trace is None else os.fspath(trace),
        sets={name: _input(value, name) for name, value in (sets or {}).items()},
        defs={name: _str(body, f"the definition {name}") for name, body in (defs or {}).items()},
    )
    return Program(load(path, source=source, overrides=overrides))


def run(
    program: Program,
    *,
    fast: bool = True,
    progress: Callable[[float, int], None] | None = None,
) -> Report:
    """Run a program from its beginning and give the report; the program stays as it is.

    ``progress`` is called now and then with the clock and the sessions arrived; ``fast=False``
    takes every iteration of an engine one by one (the report is the same, only slower).
    Raises `SerqError` for a fault of the run: a broken trace, a negative amount, a cycle of waits.
    """
    from serq import interp

    if not isinstance(program, Program):
        raise TypeError(f"run takes a Program, not {type(program).__name__}")
    loaded = program._loaded
    return interp.run(
        loaded.program,
        base_dir=loaded.base_dir,
        source_map=loaded.source_map,
        fast=fast,
        progress=progress,
    )


def _float(value: object, name: str) -> float | None:
    if value is None:
        return None
    if isinstance(value, str) or not hasattr(value, "__float__"):
        raise TypeError(f"{name} is a number, not {type(value).__name__}")
    return float(value)  # an int too large raises OverflowError


def _int(value: object, name: str) -> int | None:
    if value is None:
        return None
    if not hasattr(value, "__index__"):
        raise TypeError(f"{name} is an int, not {type(value).__name__}")
    number = value.__index__()
    if not 0 <= number <= MAX_SEED:
        raise OverflowError(f"{name} lies in 0 … 2⁶⁴ − 1, not {number}")
    return int(number)


def _input(value: object, name: str) -> float | str:
    if isinstance(value, str):
        return value
    number = _float(value, f"the input {name}")
    if number is None:
        raise TypeError(f"the input {name} is a number or an expression, not None")
    return number


def _str(value: object, name: str) -> str:
    if not isinstance(value, str):
        raise TypeError(f"{name} is a str, not {type(value).__name__}")
    return value
