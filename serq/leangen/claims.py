"""Claims as Lean statements: about every path, or some path, of a family of workloads."""

from __future__ import annotations

import re
from dataclasses import dataclass, field, replace

from serq.deep import run_deep
from serq.ir import nodes as ir
from serq.ir.walk import everything
from serq.leangen import model as lean
from serq.leangen import moments
from serq.leangen.expressions import Folded, Moment, Translator
from serq.leangen.fragment import Parts, is_drawn, read_attributes
from serq.leangen.propositions import (
    Writer,
    over_machine,
    over_record,
    over_workload,
    written_out,
)
from serq.leangen.reasons import Log, Reason, Spans

SESSIONS = 500
"""Families have at most this many sessions."""

LEAN_WORDS = frozenset(
    """
    abbrev attribute axiom break by catch class continue def deployment deriving do else end example
    extends false finally for from fun have if import in inductive infix infixl infixr instance let
    macro match mut namespace noncomputable notation open partial postfix prefix private prog
    protected public return section set show structure syntax then theorem throw true try universe
    unsafe variable where while with
    """.split()  # noqa: SIM905
)


@dataclass(frozen=True, slots=True)
class Statement:
    """One claim in Lean.

    ``conjuncts`` describe its family of workloads ``w``; ``proposition`` is about the record
    ``r`` of an iteration or the machine ``m`` at the end; ``side`` says that none of its
    subtractions is cut off at 0, when it has any. ``before`` bounds the start of a witness
    by the arrival after the last one (``some iteration`` under a renewal).
    """

    name: str
    form: str
    """``EveryIteration``, ``SomeIteration`` or ``AtEnd``."""

    conjuncts: tuple[str, ...]
    proposition: str
    side: str | None = None
    before: int | None = None
    members: tuple[str, ...] = ()
    """For each conjunct, how Lean sees that given sessions satisfy it."""

    @property
    def variable(self) -> str:
        return "m : Machine" if self.form == "AtEnd" else "r : IterRec"

    @property
    def side_name(self) -> str:
        return f"{self.name}_no_truncation"


@dataclass(frozen=True, slots=True)
class Claimed:
    """A program of the fragment with the claims about it."""

    deployment: lean.Deployment
    program: lean.Block
    statements: tuple[Statement, ...]
    attributes: tuple[str, ...]
    observations: tuple[str, ...]
    gap: int | None = None
    """The time between the sessions of a workload in the families: nothing for a batch."""


@dataclass(frozen=True, slots=True)
class ClaimVerdict:
    """Inside with its statements, or outside with the reasons."""

    claimed: Claimed | None
    reasons: tuple[Reason, ...] = ()
    conditions: tuple[Reason, ...] = field(default=())


def claims(program: ir.Program, spans: Spans | None = None) -> ClaimVerdict:
    """The claims of a program, or why the program or one of its claims is outside the fragment."""
    log = Log(spans)
    made = run_deep(lambda: _Claims(program, log).made())
    return ClaimVerdict(made, tuple(log.reasons), tuple(log.conditions))


class _Claims:
    def __init__(self, program: ir.Program, log: Log) -> None:
        self.program = program
        self.log = log
        self.parts = Parts(program, log)
        self.drawn: set[int] = set()
        """Slots of attributes that init draws: any natural number in the family."""

        self.known: dict[int, Folded] = {}
        """What init computes of others without drawing and without the clock."""

        self.timed: set[int] = set()
        """Slots of attributes that init computes from the clock."""

    def made(self) -> Claimed | None:
        deployment = self.parts.deployment()
        front = self._init()
        gaps = self._gaps()
        session = self.program.session
        chain = self.parts.block(session, f"blocks[{session}]", lean.Done())
        if deployment is None or chain is None or gaps is None:
            return None
        statements = [
            self._statement(c, f"claims[{i}]", deployment, gaps)
            for i, c in enumerate(self.program.claims)
        ]
        if self.log.reasons:
            return None
        for slot, expr in reversed(front):
            chain = lean.Set(slot, expr, chain)
        made = tuple(s for s in statements if s is not None)
        gap = self._gap()
        return Claimed(deployment, chain, made, self.program.attrs, self.program.observes, gap)

    # -- the family

    def _init(self) -> list[tuple[int, lean.Expr]]:
        """The init sets that do not draw, which every session executes as it arrives."""
        if self.program.trace is not None:
            self.log.out("trace", "claims are about families of workloads, not about a trace")
        front = []
        for s, path, _ in self.parts.init_sets():
            if is_drawn(s.expr):
                self._draw(s, path)
                continue
            value = self.parts.translate.natural(s.expr, path, moments.INIT)
            if value is None:
                continue
            front.append((s.slot, value))
            self._remember(s)
        return front

    def _draw(self, s: ir.Set, path: str) -> None:
        if not whole_by_form(s.expr):
            name = self.program.attrs[s.slot]
            why = f"`{name}` is drawn and may be fractional; Lean's attributes are whole (`floor`)"
            self.log.out(path, why, s.expr)
        self.log.condition(path, "what is drawn is never negative", s.expr)
        self.drawn.add(s.slot)
        self.known.pop(s.slot, None)
        self.timed.discard(s.slot)

    def _remember(self, s: ir.Set) -> None:
        self.known.pop(s.slot, None)
        self.timed.discard(s.slot)
        with self.log.forgetting():
            value = Translator(self.log, dict(self.known)).folded(s.expr, "", moments.GIVEN)
        if value is None:
            self.timed.add(s.slot)
        else:
            self.known[s.slot] = value

    def _gaps(self) -> str | None:
        """What the family says of the times between arrivals."""
        match self.program.arrival:
            case ir.Batch(size):
                if size > SESSIONS:
                    self.log.out("arrival.Batch", f"a family has at most {SESSIONS} sessions")
                return "w.gaps = none"
            case ir.Poisson():
                return "(∃ gs, w.gaps = some gs ∧ gs.length = w.init.length)"
            case ir.Renewal(gap):
                if is_drawn(gap):
                    return "(∃ gs, w.gaps = some gs ∧ gs.length = w.init.length)"
                step = self.parts.translate.natural_constant(gap, "arrival.Renewal", "the gap")
                if step is None:
                    return None
                return f"w.gaps = some (List.replicate w.init.length {step})"
        kind = type(self.program.arrival).__name__
        self.log.out("arrival", f"claims are not modelled for arrivals of kind {kind}")
        return None

    def _gap(self) -> int | None:
        """A gap that sessions of every family may have."""
        match self.program.arrival:
            case ir.Batch():
                return None
            case ir.Renewal(gap) if not is_drawn(gap):
                with self.log.forgetting():
                    return self.parts.translate.natural_constant(gap, "", "the gap")
        return 1

    # -- the claims

    def _statement(
        self, claim: ir.Claim, path: str, deployment: lean.Deployment, gaps: str
    ) -> Statement | None:
        if claim.name in LEAN_WORDS or claim.name.startswith("family_"):
            self.log.out(path, f"`{claim.name}` means something in Lean; rename the claim", claim)
        conjuncts = [f"w.init.length ≤ {SESSIONS}", "w.turns = []", gaps]
        members = ["by decide", "rfl", "⟨_, rfl, rfl⟩" if "∃" in gaps else "rfl"]
        if fresh := self._fresh():
            zeros = " ∧ ".join(f"w.attr i {slot} = 0" for slot in fresh)
            conjuncts.append(f"(∀ i, i < w.init.length → {zeros})")
            members.append("by decide +kernel")
        if claim.given is not None and (given := self._given(claim.given, f"{path}.given")):
            conjuncts.append(f"∀ i, i < w.init.length → {given}")
            members.append("by decide +kernel")
        match claim.kind:
            case ir.AtEnd():
                form, moment = "AtEnd", moments.END_CLAIM
                writer = Writer(over_machine)
            case ir.EveryIteration() | ir.SomeIteration():
                every = isinstance(claim.kind, ir.EveryIteration)
                form = "EveryIteration" if every else "SomeIteration"
                moment = moments.ITERATION_CLAIM
                writer = Writer(over_record)
        expr = self._claim_expression(claim, path, moment)
        if expr is None:
            return None
        before = self._witness(claim, path) if form == "SomeIteration" else None
        caps = tuple(p.cap for p in deployment.pools)
        text = writer.proposition(written_out(expr, caps, deployment.memory))
        side = " ∧ ".join(f"{b} ≤ {a}" for a, b in writer.differences) or None
        return Statement(claim.name, form, tuple(conjuncts), text, side, before, tuple(members))

    def _claim_expression(self, claim: ir.Claim, path: str, moment: Moment) -> lean.Expr | None:
        """A claim's subtractions are no conditions: a side proposition is stated for each."""
        mark = self.log.mark()
        expr = self.parts.translate.natural(claim.expr, f"{path}.expr", moment)
        del self.log.conditions[mark[1] :]
        return expr

    def _fresh(self) -> list[int]:
        """What the server and the machine set, and the program reads: 0 as a session starts."""
        program = self.program
        first = {s.slot for s in program.blocks[program.init] if isinstance(s, ir.Set)}
        sets = {s.slot for block in program.blocks for s in block if isinstance(s, ir.Set)}
        sets |= {program.slot_cached, program.slot_computed}
        parts = everything((program.blocks, program.pools, program.stages))
        reads = {node.slot for node in parts if isinstance(node, ir.Attr)}
        return sorted((sets & reads) - first)

    def _given(self, given: ir.Expr, path: str) -> str | None:
        """The claim's ``given`` about session ``i``, init's sets written out."""
        for slot in self.timed:
            if slot in read_attributes(given):
                name = self.program.attrs[slot]
                self.log.out(path, f"`{name}` depends on the clock and cannot be in `given`", given)
                return None
        translate = Translator(self.log, dict(self.known))
        part = translate.folded(given, path, replace(moments.GIVEN, name="a claim's `given`"))
        if part is None:
            return None
        if isinstance(part, float):
            return None if part else "False"
        return Writer(over_workload).proposition(part)

    def _witness(self, claim: ir.Claim, path: str) -> int | None:
        """A witness must be on a path of the program itself, so nothing may be drawn."""
        if self.drawn or isinstance(self.program.arrival, ir.Poisson):
            self.log.out(
                path,
                "`some iteration` needs a workload that draws nothing: a path of the family "
                "need not be one of the program's",
                claim,
            )
            return None
        match self.program.arrival:
            case ir.Renewal(gap):
                return self.parts.translate.natural_constant(gap, "arrival.Renewal", "the gap")
        return None


def whole_by_form(expr: ir.Expr) -> bool:
    """Whether an expression that draws can only be a whole number."""
    match expr:
        case ir.Num(value):
            return value == int(value)
        case ir.Attr():
            return True
        case ir.Sample(dist, _):
            return dist is ir.Dist.BERNOULLI
        case ir.Call(fun, args):
            if fun in (ir.Fun.FLOOR, ir.Fun.CEIL):
                return True
            return fun in (ir.Fun.MIN, ir.Fun.MAX, ir.Fun.ABS) and all(
                isinstance(a, ir.ExprArg) and whole_by_form(a.expr) for a in args
            )
        case ir.Unary(_, inner) | ir.Cost(_, inner):
            return whole_by_form(inner)
        case ir.Binary(op, left, right):
            if op in (ir.BinaryOp.ADD, ir.BinaryOp.SUB, ir.BinaryOp.MUL):
                return whole_by_form(left) and whole_by_form(right)
            return op not in (ir.BinaryOp.DIV, ir.BinaryOp.POW)
        case ir.Cond(_, then, orelse):
            return whole_by_form(then) and whole_by_form(orelse)
    return False


def camel(stem: str) -> str:
    """The Lean name of a program file: ``kong_svf`` is ``KongSvf``."""
    parts = [p for p in re.split(r"[^A-Za-z0-9]+", stem) if p]
    name = "".join(p[0].upper() + p[1:] for p in parts)
    return name if name[:1].isalpha() else f"P{name}"
