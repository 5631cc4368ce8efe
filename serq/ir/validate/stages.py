"""Runs and the stages they run on; runs that hold several stages at once."""

from __future__ import annotations

from .. import nodes as n
from ..nodes import Mode
from .issues import ROOT, Place
from .model import Model


def check(model: Model) -> None:
    """Modes, `growing`, the stages of joint runs, and `share`."""
    for i, stage in enumerate(model.program.stages):
        if isinstance(stage.kind, n.Fifo) and stage.kind.servers < 1:
            model.issues.add(
                ROOT.under(f".stages[{i}]", stage).under(".kind.Fifo"),
                "not-a-count",
                f"stage `{model.stage(i)}` has no server: `fifo(c)` has 1 or more",
            )
    flows: Place | None = None
    for stmt, place, _ in model.statements():
        if isinstance(stmt, n.Run):
            _check_mode(model, stmt, place)
            if stmt.also:
                flows = flows or place
                _check_flow(model, stmt, place)
    if flows is not None and model.program.share is None:
        model.issues.add(
            flows,
            "share-missing",
            "a run holds several stages, and the program does not say how such runs divide them",
            "write `share maxmin;` or `share bottleneck;`",
        )
    if flows is None and model.program.share is not None:
        model.issues.add(
            ROOT.under(".share"),
            "share-unused",
            "`share` says how runs over several stages divide them, and there is none",
        )


def _check_mode(model: Model, run: n.Run, place: Place) -> None:
    kinds = [isinstance(stage.kind, n.Step) for stage in model.stages_of(run.stage)]
    name = model.stage_ref(run.stage)
    if run.mode is Mode.PLAIN and any(kinds):
        model.issues.add(
            place.under(".Run.stage", run.stage),
            "run-mode",
            f"`run {name}`: a run on an engine says what it does, `prefill` or `decode`",
        )
    elif run.mode is not Mode.PLAIN and not all(kinds):
        word = run.mode.value.lower()
        model.issues.add(
            place.under(".Run.stage", run.stage),
            "run-mode",
            f"`run {name} {word}`: only a run on an engine is a `{word}`",
        )
    if run.growing is not None and not all(kinds):
        model.issues.add(
            place.under(".Run.growing", run.growing),
            "growing-stage",
            f"`growing` on `{name}`: a hold grows with the tokens of an engine's run",
        )


def _check_flow(model: Model, run: n.Run, place: Place) -> None:
    """Each family once, each a `ps` of constant capacity."""
    taken: set[tuple[int, int]] = set()
    refs = [(".Run.stage", run.stage)]
    refs += [(f".Run.also[{i}]", ref) for i, ref in enumerate(run.also)]
    covered: set[int] = set()
    for path, ref in refs:
        at = place.under(path, ref)
        members = set(range(ref.base, ref.base + ref.count))
        if (ref.base, ref.count) in taken or covered & members:
            model.issues.add(
                at,
                "stage-twice",
                f"the run names stage `{model.program.stages[ref.base].name}` twice: a run "
                "holds a member of each array once",
            )
        taken.add((ref.base, ref.count))
        covered |= members
        for stage in model.stages_of(ref):
            kind = stage.kind
            constant = isinstance(kind, n.Ps) and isinstance(kind.capacity, n.Num)
            if not (constant and kind.capacity.value > 0):  # type: ignore[union-attr]
                model.issues.add(
                    at,
                    "flow-stage",
                    f"stage `{stage.name}` is held together with another stage, so its capacity "
                    "is shared: it is `ps(c)` with a constant c above 0",
                )
                break
