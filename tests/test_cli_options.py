"""Settings and inputs on the command line: what they mean, in which order, what is refused."""

from __future__ import annotations

import json
from dataclasses import asdict

import click
import pytest
from click.testing import CliRunner

from serq.cli import main
from serq.cli.options import (
    FileCommand,
    file_argument,
    inputs_options,
    overrides_of,
    settings_options,
    trace_option,
)
from serq.diagnostics import SerqError


@click.command(cls=FileCommand)
@file_argument
@settings_options
@inputs_options
@trace_option
@click.pass_context
def probe(ctx, file, trace):
    """Print what the command line sets."""
    try:
        click.echo(json.dumps(asdict(overrides_of(ctx, trace))))
    except SerqError as error:
        click.echo(str(error), err=True)
        ctx.exit(1)


def parsed(*args: str) -> dict:
    """What a command line sets, without what it leaves alone."""
    result = CliRunner().invoke(probe, ["f.sq", *args])
    assert result.exit_code == 0, result.stderr
    return {k: v for k, v in json.loads(result.stdout).items() if v not in (None, {})}


def refused(*args: str, code: int = 2) -> str:
    """The complaint about a command line; nothing is on standard output."""
    result = CliRunner().invoke(probe, ["f.sq", *args])
    assert result.exit_code == code and result.stdout == ""
    return result.stderr


def test_nothing_is_set_by_default():
    """Defaults belong to the program's kind of file, so an IR keeps its own settings."""
    assert parsed() == {}


def test_settings():
    """Settings are numbers; the last one of a name counts."""
    got = parsed("--horizon", "3e3", "--warmup", "0", "--seed", "18446744073709551615",
                 "--arrivals", "10", "--trace", "t.csv", "--seed=4", "--horizon=.5")  # fmt: skip
    assert got == {"horizon": 0.5, "warmup": 0.0, "seed": 4, "arrivals": 10, "trace": "t.csv"}


def test_inputs():
    """--set and --def take name=expression, the arguments after -- take numbers; last one wins."""
    got = parsed("--set", "a=1+2", "--set", "b = x == 1", "--def", "f=~exp(2)", "--",
                 "--a", "-3", "--c=inf", "--c", "1e3")  # fmt: skip
    assert got == {"sets": {"a": -3.0, "b": " x == 1", "c": 1000.0}, "defs": {"f": "~exp(2)"}}


@pytest.mark.parametrize(
    "args",
    [
        ["--horizon", "0"],
        ["--horizon", "-1"],
        ["--horizon", "inf"],
        ["--horizon", "nan"],
        ["--horizon", "1_000"],
        ["--horizon", "long"],
        ["--horizon"],
        ["--warmup", "-0.5"],
        ["--warmup", "inf"],
        ["--seed", "-1"],
        ["--seed", "1.5"],
        ["--seed", "18446744073709551616"],
        ["--seed", "\u0661"],
        ["--arrivals", "0"],
        ["--arrivals", "1e3"],
        ["--set", "a"],
        ["--set", "=1"],
        ["--set", "a="],
        ["--def", "f"],
        ["--", "x"],
        ["--", "-a", "1"],
        ["--", "--a"],
        ["--", "--a", "1+1"],
        ["--", "--a=nan"],
        ["--", "--=3"],
        ["--", "--a", "1", "--", "--b", "2"],
        ["--no-such"],
        ["second.sq"],
    ],
)
def test_usage_errors(args):
    """A wrong value or an unknown option is a usage error: exit status 2, before FILE is opened."""
    assert "Error" in refused(*args)


def test_a_command_without_inputs_takes_no_arguments():
    """Arguments after -- are refused where a command has no inputs."""

    @click.command(cls=FileCommand)
    @file_argument
    def bare(file):
        click.echo(file)

    result = CliRunner().invoke(bare, ["f.sq", "--", "--a", "1"])
    assert result.exit_code == 2 and "program arguments" in result.stderr


@pytest.mark.parametrize(
    ("command", "options"),
    [
        ("check", ["--horizon", "3"]),
        ("check", ["--seed", "3"]),
        ("check", ["--trace", "t"]),
        ("check", ["--dump", "d"]),
        ("run", ["--inline-trace"]),
        ("ir", ["--json"]),
        ("ir", ["--dump", "d"]),
    ],
)
def test_options_of_other_commands_are_refused(command, options):
    """An option that belongs to another command is refused, not ignored."""
    result = CliRunner().invoke(main, [command, "no-such-file.sq", *options])
    assert result.exit_code == 2 and "No such option" in result.stderr


# --- instance files -----------------------------------------------------------------------------


@pytest.fixture
def instance(tmp_path):
    """Writes an instance file and gives its path."""

    def write(text: str, name: str = "i.sq") -> str:
        path = tmp_path / name
        path.write_text(text, encoding="utf-8")
        return str(path)

    return write


def test_instance_sets_inputs_and_settings(instance):
    """An instance gives inputs expressions and settings numbers."""
    path = instance(
        "// small\nlet a = 2 * (3 + 1);\nlet b = inf;\n"
        "run { horizon 1e3; warmup 10; seed 18446744073709551615; arrivals 5; }\n"
    )
    assert parsed("--instance", path) == {
        "horizon": 1000.0,
        "warmup": 10.0,
        "seed": 2**64 - 1,
        "arrivals": 5,
        "sets": {"a": "2 * (3 + 1)", "b": "inf"},
    }


def test_instance_applies_where_it_stands(instance):
    """Later options override an instance, it overrides earlier ones, and so do two instances."""
    one = instance("let a = 1; let b = 1; run { seed 1; horizon 1; }", "one.sq")
    two = instance("let b = 2; run { horizon 2; }", "two.sq")
    got = parsed("--seed", "9", "--set", "a=9", "--instance", one, "--set", "a=8",
                 "--instance", two, "--horizon", "8", "--", "--b", "7")  # fmt: skip
    assert got == {"seed": 1, "horizon": 8.0, "sets": {"a": "8", "b": 7.0}}
    got = parsed("--instance", two, "--horizon", "8", "--instance", one)
    assert got == {"seed": 1, "horizon": 1.0, "sets": {"a": "1", "b": "1"}}


@pytest.mark.parametrize(
    ("text", "place"),
    [
        ("let a = ;", ":1:"),
        ("let a = 1", ":1:"),
        ("stage s : fifo;", ":1:1:"),
        ("let a = 1;\nrun { speed 3; }", ":2:"),
        ("run { horizon 0; }", ":1:15:"),
        ("run { horizon inf; }", ":1:15:"),
        ("run { warmup inf; }", ":1:14:"),
        ("run { seed 1.5; }", ":1:12:"),
        ("run { seed 18446744073709551616; }", ":1:12:"),
        ("run { seed 1; }\nrun { arrivals 0; }", ":2:"),
        ("run { horizon 1 + 1; }", ":1:"),
        ("run { horizon 1; horizon 2; }", ":1:"),
        ("let a = 1; let a = 2;", ":1:"),
    ],
)
def test_instance_faults(instance, text, place):
    """Anything else in an instance file is an error with its place, exit status 1."""
    path = instance(text)
    assert refused("--instance", path, code=1).startswith(path + place)


def test_instance_that_cannot_be_read(tmp_path):
    """A missing instance file is an error that names it."""
    assert "cannot read instance file" in refused("--instance", str(tmp_path / "x"), code=1)


@pytest.mark.parametrize(
    "command",
    [
        ["prove", "--why", "missing.sq"],
        ["prove", "missing.sq"],
        ["lean", "compare", "missing.sq"],
        ["lean", "run", "missing.lean"],
        ["oracle", "--recorded", "--program", "missing.sq"],
        ["run", "missing.sq"],
    ],
    ids=" ".join,
)
def test_a_missing_file_is_the_same_fault_everywhere(command):
    """A file that cannot be read is one error with status 1, whichever command reads it."""
    result = CliRunner().invoke(main, command)
    assert result.exit_code == 1 and result.stdout == ""
    assert result.stderr.count("error[unreadable-file]") == 1
    assert result.stderr.endswith(f"{command[-1]}: No such file or directory\n")


@pytest.mark.parametrize(
    "command", [["fuzz", "text", "--seconds", "nan"], ["lean", "compare", "--horizon", "nan"]]
)
def test_no_number_of_seconds(command):
    """NaN is no time to run for, and the command line's fault."""
    result = CliRunner().invoke(main, command)
    assert result.exit_code == 2 and result.stdout == ""
    assert "'nan' is not a" in result.stderr
