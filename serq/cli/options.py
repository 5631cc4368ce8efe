"""The options that several commands share: settings of a run, inputs of a program.

Settings and inputs apply in the order in which they stand, an instance file where it stands;
program arguments after ``--`` come last. All of it is read before the program is opened, so that
a mistake on the command line is found first, with exit status 2.
"""

from __future__ import annotations

import re
from collections.abc import Callable
from math import inf, isnan
from typing import TYPE_CHECKING, Any, TypeVar

import click

from serq.api import MAX_SEED, Loaded, Overrides, load
from serq.cli.output import show
from serq.diagnostics import Diagnostic, SerqError, Source
from serq.files import read_text

if TYPE_CHECKING:
    from serq.syntax.ast import Ident, Setting

F = TypeVar("F", bound=Callable[..., Any])

_NUMBER = re.compile(
    r"[+-]?(?:inf|infinity|nan|(?:[0-9]+\.?[0-9]*|\.[0-9]+)(?:e[+-]?[0-9]+)?)",
    re.IGNORECASE | re.ASCII,
)


def parse_number(text: str) -> float | None:
    """A number as it is written on a command line, ``inf`` included; None for anything else."""
    if not _NUMBER.fullmatch(text):
        return None
    value = float(text)
    return None if isnan(value) else value


class ReadablePath(click.Path):
    """A file to read; one that cannot be read is a fault of the file, not of the command line."""

    def __init__(self, what: str = "program", path_type: type[Any] | None = None) -> None:
        super().__init__(path_type=path_type)
        self.what = what

    def convert(self, value: Any, param: click.Parameter | None, ctx: click.Context | None) -> Any:
        read_text(value, self.what)
        return super().convert(value, param, ctx)


class NumberRange(click.FloatRange):
    """A number in a range, which NaN is not."""

    name = "float range"

    def convert(
        self, value: Any, param: click.Parameter | None, ctx: click.Context | None
    ) -> float:
        number = super().convert(value, param, ctx)
        if isnan(number):
            self.fail(f"{value!r} is not a number", param, ctx)
        return float(number)


class Time(click.ParamType):  # type: ignore[type-arg]  # generic from click 8.2 on
    """A finite time; ``positive`` leaves 0 out."""

    name = "time"

    def __init__(self, positive: bool) -> None:
        self.positive = positive

    def convert(
        self, value: Any, param: click.Parameter | None, ctx: click.Context | None
    ) -> float:
        number = parse_number(value) if isinstance(value, str) else value
        if number is None or not (0.0 < number < inf or (number == 0.0 and not self.positive)):
            what = "positive, finite" if self.positive else "finite, not negative"
            self.fail(f"{value!r} is not a {what} number", param, ctx)
        return float(number)


class _Count(click.ParamType):  # type: ignore[type-arg]  # generic from click 8.2 on
    """A whole number from ``least`` to ``most``."""

    name = "n"

    def __init__(self, least: int, most: int) -> None:
        self.least, self.most = least, most

    def convert(self, value: Any, param: click.Parameter | None, ctx: click.Context | None) -> int:
        number = int(value) if re.fullmatch("[0-9]{1,20}", str(value), re.ASCII) else -1
        if not self.least <= number <= self.most:
            most = "2⁶⁴ − 1" if self.most == MAX_SEED else str(self.most)
            self.fail(f"{value!r} is not a whole number from {self.least} to {most}", param, ctx)
        return number


class _Assignment(click.ParamType):  # type: ignore[type-arg]  # generic from click 8.2 on
    """``name=expression`` as a pair."""

    name = "name=expr"

    def convert(
        self, value: Any, param: click.Parameter | None, ctx: click.Context | None
    ) -> tuple[str, str]:
        name, equals, text = value.partition("=")
        if not equals or not name.strip() or not text.strip():
            self.fail(f"{value!r} is not of the form name=expression", param, ctx)
        return name.strip(), text


class _Ordered(click.Option):
    """An option whose place among the others counts; `FileCommand` collects them."""

    def __init__(self, *args: Any, **kwargs: Any) -> None:
        super().__init__(*args, **kwargs | {"multiple": True, "expose_value": False})


class FileCommand(click.Command):
    """A command on a program FILE: collects ordered options, and arguments after ``--``."""

    def parse_args(self, ctx: click.Context, args: list[str]) -> list[str]:
        own, arguments = args, None
        if "--" in args:
            own, arguments = args[: args.index("--")], args[args.index("--") + 1 :]
        values, _, order = self.make_parser(ctx).parse_args(args=list(own))
        places = {name: iter(given) for name, given in values.items() if isinstance(given, list)}
        ctx.meta[_SETTINGS] = [
            (param.name, param.type.convert(next(places[param.name]), param, ctx))
            for param in order
            if isinstance(param, _Ordered) and param.name is not None
        ]
        if arguments is not None:
            if not any(param.name == "inputs" for param in self.params):
                raise click.UsageError("this command takes no program arguments after `--`", ctx)
            ctx.meta[_SETTINGS] += [("argument", pair) for pair in _arguments(arguments, ctx)]
        return super().parse_args(ctx, own)


_SETTINGS = "serq.settings"


def _arguments(words: list[str], ctx: click.Context) -> list[tuple[str, float]]:
    """Program arguments: ``--name value`` or ``--name=value``, numbers."""
    found = []
    rest = iter(words)
    for word in rest:
        match = re.fullmatch(r"--([^=]+)(?:=(.*))?", word, re.DOTALL)
        if match is None:
            raise click.UsageError(
                f"program argument {word!r}: write --name value or --name=value", ctx
            )
        name, text = match[1], match[2]
        if text is None:
            text = next(rest, None)
            if text is None:
                raise click.UsageError(f"program argument --{name} has no value", ctx)
        value = parse_number(text)
        if value is None:
            raise click.UsageError(f"program argument --{name}: {text!r} is not a number", ctx)
        found.append((name, value))
    return found


# --- decorators ---------------------------------------------------------------------------------


def _stack(options: list[Callable[[F], F]]) -> Callable[[F], F]:
    def decorate(function: F) -> F:
        for option in reversed(options):
            function = option(function)
        return function

    return decorate


file_argument = click.argument("file", type=click.Path())

settings_options: Callable[[F], F] = _stack(
    [
        click.option(
            "--horizon", cls=_Ordered, type=Time(positive=True), metavar="T",
            help="How long to run, in the program's clock unit.",
        ),
        click.option(
            "--warmup", cls=_Ordered, type=Time(positive=False), metavar="T",
            help="Statistics start here.  [default: 0]",
        ),
        click.option(
            "--seed", cls=_Ordered, type=_Count(0, MAX_SEED), metavar="N",
            help="Which random numbers.  [default: 1]",
        ),
        click.option(
            "--arrivals", cls=_Ordered, type=_Count(1, MAX_SEED), metavar="N",
            help="End after so many arrivals of an open workload.",
        ),
    ]
)  # fmt: skip

inputs_options: Callable[[F], F] = _stack(
    [
        click.option(
            "--instance", cls=_Ordered, type=click.Path(), metavar="F",
            help="Read inputs and settings from a file.",
        ),
        click.option(
            "--set", "inputs", cls=_Ordered, type=_Assignment(), metavar="NAME=EXPR",
            help="Give an input a value; also as `-- --name value` at the end.",
        ),
        click.option(
            "--def", "defs", cls=_Ordered, type=_Assignment(), metavar="NAME=EXPR",
            help="Give a definition of an expression another body.",
        ),
    ]
)  # fmt: skip

trace_option = click.option(
    "--trace", type=click.Path(), metavar="F", help="Replay this trace instead of the program's."
)


def overrides_of(ctx: click.Context, trace: str | None = None) -> Overrides:
    """What the command line sets; reads the instance files. Raises `SerqError`."""
    given = Overrides(trace=trace)
    for name, value in ctx.meta.get(_SETTINGS, []):
        if name in ("horizon", "warmup", "seed", "arrivals"):
            setattr(given, name, value)
        elif name == "defs":
            given.defs[value[0]] = value[1]
        elif name == "instance":
            read_instance(value, given)
        else:
            given.sets[value[0]] = value[1]
    return given


def load_file(
    ctx: click.Context, file: str, *, trace: str | None = None, need_horizon: bool = True
) -> Loaded:
    """Load a command's FILE with the command line's settings; warnings go to standard error."""
    loaded = load(file, overrides=overrides_of(ctx, trace), need_horizon=need_horizon)
    if loaded.warnings:
        show(loaded.warnings)
    return loaded


# --- instance files -----------------------------------------------------------------------------


def read_instance(path: str, given: Overrides) -> None:
    """Apply an instance file: inputs and settings. Raises `SerqError` with all its faults."""
    from serq.syntax.parser import parse_instance

    instance = parse_instance(Source(path, read_text(path, "instance file")))
    faults = []
    lets: dict[str, Ident] = {}
    for let in instance.lets:
        name = let.target.name
        if name in lets:
            note = (f"`{name}` has a value here already", lets[name].span)
            message = f"the input `{name}` is given twice"
            faults.append(
                Diagnostic("duplicate-input", message, span=let.target.span, notes=(note,))
            )
        lets[name] = let.target
        given.sets[name] = let.value.span.text
    for setting in instance.settings:
        name, value = setting.target.name, _setting(setting)
        if isinstance(value, str):
            faults.append(Diagnostic("bad-setting", value, span=setting.value.span))
        else:
            setattr(given, name, value)
    if faults:
        raise SerqError(faults)


def _setting(setting: Setting) -> float | int | str:
    """The value of a setting, or what is wrong with it."""
    name, value = setting.target.name, setting.value.value
    if name == "horizon":
        return value if 0.0 < value < inf else "the horizon is positive and finite"
    if name == "warmup":
        return value if 0.0 <= value < inf else "the warm-up is 0 or more and finite"
    # By the digits: 2⁶⁴ − 1 is a seed that no double holds.
    digits = setting.value.text.replace("_", "")
    whole = int(digits) if digits.isdecimal() else int(value) if value.is_integer() else -1
    least = 1 if name == "arrivals" else 0
    if least <= whole <= MAX_SEED:
        return whole
    return f"`{name}` is a whole number from {least} to 2⁶⁴ − 1"
