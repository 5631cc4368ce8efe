"""``serq lean``: the Lean behind ``serq prove``, found or installed, and used directly."""

from __future__ import annotations

import json
import os
import sys
import tempfile
from pathlib import Path
from typing import TYPE_CHECKING

import click
from rich.console import Console
from rich.markup import escape
from rich.table import Table

from serq.cli.options import ReadablePath, Time
from serq.diagnostics import SerqError
from serq.toolchain.install import (
    install,
    install_directory,
    is_installed,
    lean_environment,
    self_test,
)
from serq.toolchain.lean import (
    Lean,
    NativeLean,
    RegistryLean,
    ensure_lean,
    find_lean,
    native_lake,
    toolchain_of,
)
from serq.toolchain.messages import BuildResult, Level
from serq.toolchain.places import LeanPackage, cache_directory, lean_package
from serq.toolchain.progress import Reporter

if TYPE_CHECKING:
    from serq.ir.nodes import Program
    from serq.leangen.fragment import Executable

LIBRARY = "Serq"
"""The root module of the library: it imports all others."""

EXECUTABLE = "Main"
"""The module of the executable `serq-exec`."""


@click.group()
def command() -> None:
    """Find, install and use a Lean."""


_offline = click.option("--offline", is_flag=True, help="Fetch nothing; use what is there.")
_jobs = click.option("-j", "--jobs", type=click.IntRange(1), help="Processes at a time.")


@command.command("install")
@_offline
@click.option("--again", is_flag=True, help="Replace an installation that is there.")
def install_(offline: bool, again: bool) -> None:
    """Install the registry Lean into the cache (SERQ_CACHE), also when there is a native one."""
    prefix = install(Reporter(), offline=offline, again=again)
    click.echo(prefix)


@command.command()
@click.option("--json", "as_json", is_flag=True, help="Print a JSON object.")
def doctor(as_json: bool) -> None:
    """Say which Lean is found, whether it works, and what it can do."""
    package = lean_package()
    lean = find_lean(package)
    facts: dict[str, object] = {
        "lean": lean.kind if lean else None,
        "home": str(lean.home) if lean else None,
        "pinned": toolchain_of(package),
        "library": str(package.source),
        "native lake": str(native_lake() or "") or None,
        "registry installation": str(install_directory()) if is_installed() else None,
        "cache": str(cache_directory()),
    }
    problems: list[str] = []
    if lean is None:
        problems.append("no Lean is installed; `serq prove` and `serq lean install` install one")
    else:
        try:
            facts["version"] = lean.version()
            facts["abilities"] = _abilities(lean)
            facts["self-test"] = _tried(lean, package, problems)
        except SerqError as error:
            problems += [d.message for d in error.diagnostics]
    facts["problems"] = problems
    if as_json:
        click.echo(json.dumps(facts, indent=2))
    else:
        _show_facts(facts)
    if problems:
        sys.exit(1)


def _abilities(lean: Lean) -> list[str]:
    common = ["proofs", "kernel evaluation", "lean --run", "code generation"]
    if isinstance(lean, RegistryLean):
        return [
            *common,
            "not: lake, executables, the bodies of some core definitions in the kernel",
        ]
    return [*common, "lake build", "executables", "an official release: `proved` is final"]


def _tried(lean: Lean, package: LeanPackage, problems: list[str]) -> list[str]:
    lines: list[str] = []
    with tempfile.TemporaryDirectory(prefix="serq-doctor-") as scratch:
        command_line = lean.lean_command(package)
        if isinstance(lean, NativeLean):  # lake must be run in its package
            command_line = [command_line[0], "--dir", str(package.root), *command_line[1:]]
        problems += self_test(
            command_line,
            Path(scratch),
            lambda name, good, seconds: lines.append(
                f"{name}: {'ok' if good else 'FAILED'} ({seconds:.1f} s)"
            ),
        )
    return lines


def _show_facts(facts: dict[str, object]) -> None:
    console = Console(highlight=False)
    table = Table(show_header=False, box=None, padding=(0, 2, 0, 0))
    for name, value in facts.items():
        if name == "problems":
            continue
        text = "\n".join(value) if isinstance(value, list) else str(value or "none")
        table.add_row(f"[bold]{name}[/]", escape(text))
    console.print(table)
    for problem in facts["problems"] or ():  # type: ignore[attr-defined]
        console.print(f"[red]problem:[/] {escape(problem)}")


@command.command()
@click.argument("modules", nargs=-1)
@_offline
@_jobs
@click.option("--json", "as_json", is_flag=True, help="Print a JSON object.")
def build(modules: tuple[str, ...], offline: bool, jobs: int | None, as_json: bool) -> None:
    """Compile the Lean library (or MODULES of it)."""
    package = lean_package()
    reporter = Reporter()
    lean = ensure_lean(reporter, package=package, offline=offline)
    result = lean.build(
        package, modules or (LIBRARY, EXECUTABLE), jobs=jobs or 0, reporter=reporter
    )
    if as_json:
        click.echo(json.dumps(build_record(result), indent=2))
    else:
        show_build(result)
    if not result.ok:
        sys.exit(1)


def build_record(result: BuildResult) -> dict[str, object]:
    """A build as JSON data."""
    return {
        "ok": result.ok,
        "seconds": round(result.seconds, 3),
        "compiled": result.compiled,
        "modules": [
            {
                "module": m.module,
                "ok": m.ok,
                "cached": m.cached,
                "seconds": None if m.seconds is None else round(m.seconds, 3),
                "blocked_by": m.blocked_by,
                "messages": [
                    {
                        "level": str(x.level),
                        "file": x.file,
                        "line": x.line,
                        "column": x.column,
                        "text": x.text,
                    }
                    for x in m.messages
                ],
            }
            for m in result.modules
        ],
    }


def show_build(result: BuildResult) -> None:
    """Errors and warnings of a build on standard error, one summary line on standard output."""
    for module in result.modules:
        for message in module.messages:
            if message.level is not Level.INFO:
                click.echo(str(message), err=True)
        if module.blocked_by is not None:
            click.echo(f"{module.module}: not tried, {module.blocked_by} failed", err=True)
    if result.failed:
        click.echo(result.output.rstrip(), err=True)
    bad = sum(not m.ok for m in result.modules) + result.failed
    good = len(result.modules) - bad + result.failed
    if bad:
        click.echo(f"{bad} of {good + bad} modules failed ({result.seconds:.1f} s)", err=True)
    else:
        click.echo(f"{good} modules, {result.compiled} compiled ({result.seconds:.1f} s)")


@command.command(
    context_settings={"ignore_unknown_options": True, "allow_interspersed_args": False}
)
@_offline
@click.argument("file", type=ReadablePath("Lean file", path_type=Path))
@click.argument("arguments", nargs=-1, type=click.UNPROCESSED)
def run(offline: bool, file: Path, arguments: tuple[str, ...]) -> None:
    """Run the `main` of a Lean FILE that may import the library; its status is ours."""
    package = lean_package()
    reporter = Reporter()
    lean = ensure_lean(reporter, package=package, offline=offline)
    build_imports(lean, package, file, reporter)
    done = lean.run(package, ["--run", file.absolute(), *arguments])
    sys.exit(done.returncode)


def build_imports(lean: Lean, package: LeanPackage, file: Path, reporter: Reporter) -> None:
    """Compiles what a Lean file imports from the library; its errors end the command."""
    from serq.toolchain.build import Graph, header_imports

    graph = Graph([package.source])
    wanted = [
        m for m in header_imports(file.read_text(encoding="utf-8")) if graph.path_of(m) is not None
    ]
    if wanted:
        require_build(lean.build(package, wanted, reporter=reporter))


def require_build(result: BuildResult) -> None:
    """Ends the command with the errors of a failed build."""
    if not result.ok:
        show_build(result)
        sys.exit(1)


@command.command(
    "exec", context_settings={"ignore_unknown_options": True, "allow_interspersed_args": False}
)
@_offline
@click.argument("arguments", nargs=-1, type=click.UNPROCESSED)
def exec_(offline: bool, arguments: tuple[str, ...]) -> None:
    """Run `serq-exec`: programs on standard input, one JSON per line; step traces out."""
    package = lean_package()
    reporter = Reporter()
    lean = ensure_lean(reporter, package=package, offline=offline)
    main = package.source / f"{EXECUTABLE}.lean"
    build_imports(lean, package, main, reporter)
    command_line = [*lean.lean_command(package), "--run", str(main), *arguments]
    directory = lean.working_directory(package)
    if directory is not None:
        os.chdir(directory)
    sys.stdout.flush()
    os.execvpe(command_line[0], command_line, lean_environment(lean.search_path(package)))


@command.command()
@click.argument("programs", nargs=-1, required=True, type=ReadablePath())
@click.option(
    "--horizon",
    type=Time(positive=True),
    metavar="T",
    help="How far to run (a program in IR brings its own).",
)
@click.option("--set", "sets", multiple=True, metavar="NAME=EXPR", help="An input's value.")
@_offline
@click.option("--json", "as_json", is_flag=True, help="Print a JSON list.")
def compare(
    programs: tuple[str, ...],
    horizon: float | None,
    sets: tuple[str, ...],
    offline: bool,
    as_json: bool,
) -> None:
    """Run PROGRAMS in the interpreter and in Lean; show the first step that differs.

    A program is text, IR in JSON, or a scenario of the oracle. Its workload must be one that Lean
    can run: explicit sessions, a batch or a constant renewal, without draws (an ordered trace is
    inlined).
    """
    from serq.leangen.compare import EXEC_MAIN, first_difference
    from serq.leangen.compare import executed as run_in_lean
    from serq.leangen.compare import interpreted as run_here

    cases = [_case(name, horizon, sets) for name in programs]
    package = lean_package()
    reporter = Reporter()
    lean = ensure_lean(reporter, package=package, offline=offline)
    main = package.source / f"{EXEC_MAIN}.lean"
    build_imports(lean, package, main, reporter)
    theirs = run_in_lean(lean, package, cases)
    rows = []
    for name, (program, _), trace in zip(programs, cases, theirs, strict=True):
        ours = run_here(program)
        rows.append((name, len(ours.steps), first_difference(ours, trace)))
    if as_json:
        records = [
            {"program": n, "iterations": k, "difference": None if d is None else str(d)}
            for n, k, d in rows
        ]
        click.echo(json.dumps(records, indent=2))
    else:
        for name, count, difference in rows:
            verdict = f"{count} iterations, equal" if difference is None else str(difference)
            click.echo(f"{name}: {verdict}")
    if any(difference is not None for _, _, difference in rows):
        sys.exit(1)


def _case(name: str, horizon: float | None, sets: tuple[str, ...]) -> tuple[Program, Executable]:
    """A program and its translation; refuses what is outside with all the reasons."""
    from serq.api import Overrides, load
    from serq.interp.trace import read_trace
    from serq.ir.rewrite import inline_trace
    from serq.leangen.fragment import Outside, executable
    from serq.leangen.generate import outside

    spans = None
    if (program := _scenario(name)) is None:
        given = dict(pair.partition("=")[::2] for pair in sets)
        loaded = load(name, overrides=Overrides(horizon=horizon, sets=dict(given)))
        program, spans, base = loaded.program, loaded.source_map, Path(loaded.base_dir)
    else:
        base = Path()
    if program.trace is not None and program.trace_ordered:
        program = inline_trace(program, read_trace(base / program.trace))
    verdict = executable(program, spans)
    if isinstance(verdict.result, Outside):
        raise outside(name, verdict.result.reasons)
    return program, verdict.result


def _scenario(name: str) -> Program | None:
    """The program of a scenario file, or nothing when the file is none."""
    from serq.oracle import program, scenario

    if not name.endswith(".json"):
        return None
    try:
        data = json.loads(Path(name).read_text(encoding="utf-8"))
    except (OSError, ValueError):
        return None
    if not isinstance(data, dict) or "budget" not in data:
        return None
    case = scenario.load(Path(name))
    return program.build(case, program.Text.read(program.choose(case)))
