"""The program's statements as code: one flat tuple of instructions, each a Python closure.

Blocks are laid out one inside the other with jumps, so a session's continuation is an index and
its stack only the holds it is in. An instruction takes the session and gives the index of the
next one, or -1 when the session waits, yields or has ended. Neighbouring ``set`` and ``observe``
statements become one generated function, with the plain run behind them.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING, Any

from serq.interp.expr import (
    SESSION,
    SUBMIT,
    Emitter,
    Scope,
    compile_value,
    constant,
)
from serq.interp.faults import Fault, number, walk
from serq.interp.flow import SharedStage
from serq.interp.memory import Growth, HoldSpec, amount
from serq.interp.pool import SLACK, Pool
from serq.interp.session import JOINING, RUNNING, Session
from serq.ir import nodes as ir

if TYPE_CHECKING:
    from serq.interp.machine import Machine

Instruction = Callable[[Session], int]

_STATIC = (ir.Num, ir.Attr, ir.Unary, ir.Binary, ir.Cond, ir.Cost)
_STATE = {
    ir.Fun.QUEUE, ir.Fun.BUSY, ir.Fun.WORK, ir.Fun.USED, ir.Fun.FREE, ir.Fun.CACHED_IN,
    ir.Fun.HOLDERS, ir.Fun.QUEUED, ir.Fun.PRICE, ir.Fun.BUDGET_LEFT, ir.Fun.EST_LAMBDA,
    ir.Fun.EST_RHO, ir.Fun.EST_WAIT,
}  # fmt: skip


def is_static(expr: ir.Expr) -> bool:
    """Whether the expression reads attributes and numbers alone."""
    for node in walk(expr):
        if isinstance(node, ir.Call):
            if node.fun in _STATE:
                return False
        elif not isinstance(node, _STATIC):
            return False
    return True


class Code:
    """The compiled statements: ``program[pc]`` and where each came from.

    ``places[pc]`` is (block, statement) of the instruction, for messages; ``lines`` maps the
    line of a generated function to the place of the statement it executes.
    """

    def __init__(self, machine: Machine) -> None:
        self.machine = machine
        self.program: list[Instruction] = []
        self.places: list[tuple[int, int] | None] = []
        self.lines: dict[str, list[tuple[int, int]]] = {}
        self.holds: list[HoldSpec] = []
        self.entry = 0
        ir_program = machine.program
        self.init = self._straight(ir_program.init)
        self.turn = self._straight(ir_program.turn)
        self._lay_out(ir_program.session)

    # --- straight code ---

    def _emit_set(self, emitter: Emitter, stmt: ir.Set | ir.Observe) -> None:
        text = emitter.value(stmt.expr)
        if isinstance(stmt, ir.Set):
            emitter.line(f"s.attrs[{stmt.slot}] = {text}")
        else:
            emitter.library.names[f"OBS{stmt.observe}"] = self.machine.observes[stmt.observe].add
            emitter.line(f"OBS{stmt.observe}(({text}, M.now, s.serial, s.turn))")

    def _sequence(
        self, block: int, first: int, last: int, pc: int, scope: Scope = SESSION
    ) -> Instruction:
        """Statements ``first`` to ``last - 1`` of a block as one function, which goes on at ``pc``.

        All are set or observe; the last may be a run at a fifo or ps stage.
        """
        emitter = Emitter(self.machine.library, scope)
        places: list[tuple[int, int]] = [(block, first)]
        for i in range(first, last):
            stmt = self.machine.program.blocks[block][i]
            if isinstance(stmt, ir.Run):
                self._emit_run(emitter, stmt, pc)
            else:
                assert isinstance(stmt, ir.Set | ir.Observe)
                self._emit_set(emitter, stmt)
            places += [(block, i)] * (len(emitter.lines) + 1 - len(places))
        emitter.line(f"return {pc}")
        name = self.machine.library.fresh("statements")
        self.lines[f"<{name}>"] = places
        return emitter.function(name)

    def _straight(self, block: int) -> Instruction | None:
        count = len(self.machine.program.blocks[block])
        return self._sequence(block, 0, count, 0, SUBMIT) if count else None

    # --- layout ---

    def _add(self, instruction: Instruction | None, place: tuple[int, int] | None) -> int:
        self.program.append(instruction)  # type: ignore[arg-type]
        self.places.append(place)
        return len(self.program) - 1

    def _lay_out(self, root: int) -> None:
        """Emits the session block and everything in it, without recursion on its nesting."""
        tasks: list[Callable[[], None] | tuple[int, int]] = [(root, 0)]
        self._tasks = tasks
        self._add_final = True
        while tasks:
            task = tasks.pop()
            if callable(task):
                task()
            else:
                self._block(*task)
        machine = self.machine
        self._add(machine.end_of_session, None)
        self.nothing = self._add(_stop, None)

    def _block(self, block: int, start: int) -> None:
        """Emits statements from ``start`` on until one with blocks of its own, then queues work."""
        statements = self.machine.program.blocks[block]
        sides = self.machine.program.sides[block]
        i = start
        while i < len(statements):
            stmt = statements[i]
            place = (block, i)
            if isinstance(stmt, ir.Set | ir.Observe):
                j = i + 1
                while (
                    j < len(statements)
                    and isinstance(statements[j], ir.Set | ir.Observe)
                    and sides[j] == sides[i]
                ):
                    j += 1
                answered = self._answers(block, j - 1)
                if not answered and j < len(statements) and _is_plain_run(statements[j]):
                    answered = self._answers(block, j)
                    j += 1
                pc = len(self.program)
                self._add(self._sequence(block, i, j, pc + 1), place)
                if answered:
                    self._answer()
                i = j
                continue
            answered = self._answers(block, i)
            rest = self._nested(stmt, place)
            if rest is not None:
                self._tasks.append((block, i + 1))
                if answered:
                    self._tasks.append(self._answer)
                self._tasks.extend(rest)
                return
            self._simple(stmt, place)
            if answered:
                self._answer()
            i += 1

    def _answers(self, block: int, i: int) -> bool:
        """Whether the server's statements for a turn end with statement ``i``."""
        statements = self.machine.program.blocks[block]
        sides = self.machine.program.sides[block]
        workload = ir.Side.WORKLOAD
        if sides[i] is workload and not isinstance(statements[i], ir.Turn):
            return False
        if i + 1 < len(statements) and sides[i + 1] is ir.Side.SERVER:
            return False
        # The last server statement after a turn; a block of the server's own answers nothing.
        while i >= 0:
            if isinstance(statements[i], ir.Turn):
                return True
            if sides[i] is workload:
                return False
            i -= 1
        return False

    def _answer(self) -> None:
        pc = len(self.program)
        client, machine = self.machine.client, self.machine

        def answer(s: Session) -> int:
            client.answered(s, machine.now)
            return pc + 1

        self._add(answer, None)

    def _value(self, expr: ir.Expr) -> Callable[[Session], float]:
        return compile_value(self.machine.library, SESSION, expr)

    def _member(self, kind: str, ref: ir.Ref) -> Callable[[Session], Any]:
        emitter = Emitter(self.machine.library, SESSION)
        emitter.line(f"return {emitter.ref(kind, ref)}")
        return emitter.function(self.machine.library.fresh("member"))

    # --- statements with blocks ---

    def _nested(self, stmt: Any, place: tuple[int, int]) -> list[Any] | None:
        """The work left, in reverse order, for a statement that has blocks; None for others."""
        match stmt:
            case ir.Branch(guard=guard, then=then, orelse=orelse):
                return self._branch(guard, then, orelse, place)
            case ir.Loop(body=body):
                start = len(self.program)
                return [lambda: self._jump(start, place), (body, 0)]
            case ir.While(guard=guard, body=body):
                start = self._add(None, place)

                def close_while() -> None:
                    self._jump(start, place)
                    self.program[start] = self._test(guard, start + 1, len(self.program), "`while`")

                return [close_while, (body, 0)]
            case ir.Hold():
                return self._hold(stmt, place)
            case ir.Fork(body=body):
                fork = self._add(None, place)

                def close_fork() -> None:
                    machine = self.machine
                    self._add(machine.end_of_leg, place)
                    after = len(self.program)

                    def start_leg(s: Session) -> int:
                        machine.fork(s, fork + 1)
                        return after

                    self.program[fork] = start_leg

                return [close_fork, (body, 0)]
        return None

    def _branch(self, guard: ir.Expr, then: int, orelse: int, place: tuple[int, int]) -> list[Any]:
        test = self._add(None, place)
        marks: list[int] = []

        def between() -> None:
            if self.machine.program.blocks[orelse]:
                marks.append(self._add(None, place))
            marks.append(len(self.program))

        def close() -> None:
            end = len(self.program)
            self.program[test] = self._test(guard, test + 1, marks[-1], "`branch`")
            if len(marks) == 2:
                self.program[marks[0]] = _jump_to(end)

        return [close, (orelse, 0), between, (then, 0)]

    def _test(self, guard: ir.Expr, yes: int, no: int, what: str) -> Instruction:
        """The instruction that goes on at ``yes`` or ``no``; a guard is 0 or 1."""

        def refuse(value: float) -> int:
            raise Fault(
                "guard-not-a-test",
                f"the guard of a {what} is {number(value)}",
                "a guard is 0 or 1; write a comparison",
            )

        emitter = Emitter(self.machine.library, SESSION)
        if _is_test(guard):
            emitter.line(f"return {yes} if {emitter.test(guard)} else {no}")
        else:
            emitter.library.names["refuse_guard"] = refuse
            text = emitter.stored(emitter.value(guard))
            emitter.line(f"if {text} == 1.0: return {yes}")
            emitter.line(f"if {text} == 0.0: return {no}")
            emitter.line(f"refuse_guard({text})")
        return emitter.function(self.machine.library.fresh("guard"))

    def _jump(self, target: int, place: tuple[int, int]) -> None:
        self._add(_jump_to(target), place)

    def _hold(self, stmt: ir.Hold, place: tuple[int, int]) -> list[Any]:
        machine = self.machine
        pc = self._add(None, place)
        spec = self.hold_spec(stmt, pc)
        self.holds.append(spec)
        join = machine.memory.join

        def hold(s: Session) -> int:
            join(s, spec)
            return -1

        self.program[pc] = hold

        def close() -> None:
            end = len(self.program)
            memory = machine.memory

            def leave(s: Session) -> int:
                s.pc = end
                memory.end_hold(s)
                return end + 1

            self._add(leave, place)

        return [close, (stmt.body, 0)]

    def hold_spec(self, stmt: ir.Hold, pc: int) -> HoldSpec:
        """Compiles a hold's header."""
        spec = HoldSpec(stmt, pc)
        library = self.machine.library
        emitter = Emitter(library, SESSION)
        rows = []
        for entry in stmt.pools:
            pool = emitter.stored(emitter.ref("pool", entry.pool))
            units = emitter.stored(emitter.value(entry.units))
            reserve = "None"
            if entry.reserve is not None:
                reserve = emitter.stored(emitter.value(entry.reserve))
            rows.append(f"({pool}, {units}, {reserve})")
        emitter.line(f"return ({', '.join(rows)},)")
        spec.needs = emitter.function(library.fresh("needs"))
        emitter = Emitter(library, SESSION)
        rows = []
        for entry in stmt.pools:
            index = entry.pool.index
            if index is not None and not is_static(index):
                continue
            demands = [entry.units] if entry.reserve is None else [entry.units, entry.reserve]
            for demand in demands:
                if is_static(demand):
                    pool = emitter.stored(emitter.ref("pool", entry.pool))
                    rows.append(f"({pool}, {emitter.stored(emitter.value(demand))})")
        emitter.line(f"return ({', '.join(rows)}{',' if rows else ''})")
        spec.judged = emitter.function(library.fresh("judged"))
        spec.first = self._member("pool", stmt.pools[0].pool)
        if stmt.reuse is not None:
            spec.reuse = self._value(stmt.reuse)
        if stmt.cache is not None:
            spec.cache = self._value(stmt.cache)
        if stmt.lease is not None:
            names = [entry.pool for entry in stmt.pools]
            spec.lease = (names.index(stmt.lease.pool), self._value(stmt.lease.time))
        return spec

    # --- simple statements ---

    def _simple(self, stmt: Any, place: tuple[int, int]) -> None:
        pc = len(self.program)
        self._add(self._instruction(stmt, pc), place)

    def _instruction(self, stmt: Any, pc: int) -> Instruction:
        machine = self.machine
        match stmt:
            case ir.Turn():
                return machine.turn_instruction(self.turn, pc + 1)
            case ir.End():
                return machine.end_of_session
            case ir.Join():

                def join(s: Session) -> int:
                    if s.legs:
                        s.status = JOINING
                        s.since = machine.now
                        s.pc = pc + 1
                        return -1
                    return pc + 1

                return join
            case ir.Run():
                return self._run(stmt, pc)
            case ir.Grow(pool=ref, amount=units):
                return self._grow(ref, units, pc)
            case ir.Load(pool=ref, amount=units):
                return self._load(ref, units, pc)
            case ir.Drop(pool=ref):
                member = self._member("pool", ref)

                def drop(s: Session) -> int:
                    member(s).drop(s.parent or s)
                    return pc + 1

                return drop
            case ir.Release(pool=ref):
                member, release = self._member("pool", ref), machine.memory.release

                def give_back(s: Session) -> int:
                    release(s, member(s))
                    return pc + 1

                return give_back
            case ir.Choose(var=var, count=count, key=key):
                return self._choose(var, count, key, pc)
        raise AssertionError(f"no such statement: {stmt!r}")

    def _grow(self, ref: ir.Ref, units: ir.Expr, pc: int) -> Instruction:
        member, value = self._member("pool", ref), self._value(units)
        memory = self.machine.memory

        def grow(s: Session) -> int:
            pool, more = member(s), value(s)
            more = amount(more, f"the growth on pool `{pool.name}`")
            alloc = s.alloc_on(pool)
            if alloc is None:
                raise outside("grow", pool)
            s.pc = pc + 1
            outcome = memory.enlarge(s, alloc, more)
            if outcome is Growth.GROWN:
                return pc + 1
            if outcome is Growth.STALLED:
                memory.stall(s, alloc, more)
            return -1

        return grow

    def _load(self, ref: ir.Ref, units: ir.Expr, pc: int) -> Instruction:
        member, value = self._member("pool", ref), self._value(units)

        def load(s: Session) -> int:
            pool, more = member(s), value(s)
            more = amount(more, f"the load into pool `{pool.name}`")
            alloc = s.alloc_on(pool)
            if alloc is None:
                raise outside("load", pool)
            reached = alloc.position + more
            if reached > alloc.units + SLACK:
                raise Fault(
                    "load-beyond-allocation",
                    f"a load of {number(more)} into pool `{pool.name}` would reach position "
                    f"{number(reached)}, but the hold has {number(alloc.units)} there",
                    "hold or grow enough of the pool before the load",
                )
            alloc.position = reached
            alloc.moved = True
            if alloc.hold is not None:
                alloc.hold.moved = True
            return pc + 1

        return load

    def _choose(self, var: int, count: ir.Expr, key: tuple[ir.Expr, ...], pc: int) -> Instruction:
        library = self.machine.library
        limit = self._value(count)
        emitter = Emitter(library, SESSION)
        texts = [emitter.stored(emitter.value(k)) for k in key]
        emitter.line(f"return ({', '.join(texts)},)")
        keys = emitter.function(library.fresh("keys"))

        def choose(s: Session) -> int:
            n = limit(s)
            if not (n >= 0.0 and n == n // 1.0):
                raise Fault(
                    "choose-count",
                    f"the count of a `choose` is {number(n)}",
                    "a count is a whole number, at least 0",
                )
            attrs = s.attrs
            best, least = 0.0, None
            i = 0.0
            while i < n:
                attrs[var] = i
                row = keys(s)
                if least is None or row < least:
                    best, least = i, row
                i += 1.0
            attrs[var] = best
            return pc + 1

        return choose

    def _run(self, stmt: ir.Run, pc: int) -> Instruction:
        if stmt.mode is not ir.Mode.PLAIN:
            return self._run_engine(stmt, pc)
        if stmt.also:
            return self._run_flow(stmt, pc)
        emitter = Emitter(self.machine.library, SESSION)
        self._emit_run(emitter, stmt, pc + 1)
        return emitter.function(self.machine.library.fresh("run"))

    def _emit_run(self, emitter: Emitter, stmt: ir.Run, after: int) -> None:
        """The lines of a run at one fifo or ps stage, whose session goes on at ``after``."""
        ready = self.machine.ready

        def run_nothing(s: Session, work: float, stage: Any) -> None:
            amount(work, f"the work of a run on `{stage.name}`")
            ready.append(s)

        emitter.library.names["run_nothing"] = run_nothing
        work = emitter.stored(emitter.value(stmt.work))
        stage = emitter.ref("stage", stmt.stage)
        emitter.line(f"s.pc = {after}")
        emitter.line(f"if {work} > 0.0:")
        emitter.line(f"  s.status = {RUNNING}")
        emitter.line(f"  {stage}.submit(s, {work})")
        emitter.line(f"else: run_nothing(s, {work}, {stage})")
        emitter.line("return -1")

    def _run_engine(self, stmt: ir.Run, pc: int) -> Instruction:
        machine = self.machine
        work_of, member = self._value(stmt.work), self._member("stage", stmt.stage)
        ready, client = machine.ready, machine.client
        after = pc + 1
        decoding = 1.0 if stmt.mode is ir.Mode.DECODE else 0.0
        growing = None if stmt.growing is None else self._member("pool", stmt.growing)

        def run_engine(s: Session) -> int:
            work = work_of(s)
            stage = member(s)
            s.pc = after
            if decoding:
                client.decodes(s, machine.now)
            if work > 0.0:
                alloc = None
                if growing is not None:
                    alloc = s.alloc_on(growing(s))
                s.status = RUNNING
                stage.enter(s, decoding, work, alloc)
                return -1
            amount(work, f"the work of a run on `{stage.name}`")
            ready.append(s)
            return -1

        return run_engine

    def _run_flow(self, stmt: ir.Run, pc: int) -> Instruction:
        ready, after = self.machine.ready, pc + 1
        work_of = self._value(stmt.work)
        members = [self._member("stage", ref) for ref in (stmt.stage, *stmt.also)]

        def run_flow(s: Session) -> int:
            work = work_of(s)
            stages = tuple(m(s) for m in members)
            s.pc = after
            if work > 0.0:
                s.status = RUNNING
                first: SharedStage = stages[0]
                first.system.submit(s, stages, work)
                return -1
            amount(work, f"the work of a run on `{stages[0].name}`")
            ready.append(s)
            return -1

        return run_flow


def _is_plain_run(stmt: Any) -> bool:
    """Whether the statement is a run at one stage that is no engine."""
    return isinstance(stmt, ir.Run) and stmt.mode is ir.Mode.PLAIN and not stmt.also


def outside(what: str, pool: Pool) -> Fault:
    """The fault of a statement inside a hold whose allocation was released before."""
    return Fault(
        "nothing-held",
        f"a `{what}` finds no allocation of this session on pool `{pool.name}`: "
        "it was released before",
        f"`{what}` stands before the `release`",
    )


def _stop(_: Session) -> int:
    return -1


def _jump_to(target: int) -> Instruction:
    def jump(_: Session) -> int:
        return target

    return jump


def _is_test(expr: Any) -> bool:
    """Whether the value is 0 or 1 whatever it reads."""
    match expr:
        case ir.Unary(op=ir.UnaryOp.NOT) | ir.Sample(dist=ir.Dist.BERNOULLI):
            return True
        case ir.Binary(op=op):
            return op not in (
                ir.BinaryOp.ADD, ir.BinaryOp.SUB, ir.BinaryOp.MUL, ir.BinaryOp.DIV,
                ir.BinaryOp.POW,
            )  # fmt: skip
    return constant(expr) in (0.0, 1.0)
