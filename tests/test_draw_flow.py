"""The graphs behind the pictures say what the program does, whatever the program."""

from __future__ import annotations

from collections.abc import Callable, Iterator

import pytest
from draw_programs import STRATEGIES, random_programs

from serq.api import load
from serq.draw.flow import Flow, Node
from serq.draw.script import Script
from serq.draw.stations import Stations
from serq.draw.uses import Uses
from serq.draw.words import Words
from serq.ir import nodes as n
from serq.ir.constants import fold
from serq.link.source_map import SourceMap


def uses_of(program: n.Program, source_map: SourceMap | None) -> Uses:
    return Uses(program, Stations(program, source_map), Words(program, source_map))


def reached(program: n.Program, block: int) -> Iterator[tuple[n.Stmt, n.Side]]:
    """The statements that a block may execute, by the semantics: dead arms and code left out."""
    for stmt, side in zip(program.blocks[block], program.sides[block], strict=True):
        yield stmt, side
        match stmt:
            case n.End():
                return
            case n.Hold(body=body) | n.Fork(body=body):
                yield from reached(program, body)
            case n.While(guard=guard, body=body) if fold(guard) != 0.0:
                yield from reached(program, body)
            case n.Loop(body=body):
                yield from reached(program, body)
                return
            case n.Branch(guard=guard, then=then, orelse=orelse):
                value = fold(guard)
                if value != 0.0:
                    yield from reached(program, then)
                if not value:
                    yield from reached(program, orelse)


def every_program(check: Callable[[n.Program, SourceMap | None], None]) -> None:
    """Run a check on the random programs of both kinds, with and without their source maps."""
    for kind in STRATEGIES:
        for _, linked in random_programs(kind):
            check(linked.program, linked.source_map)
            check(linked.program, None)


def reachable(flow: Flow) -> set[int]:
    """The nodes that arrows lead to from the clients."""
    found, queue = {id(flow.client)}, [flow.client]
    while queue:
        node = queue.pop()
        for edge in flow.edges:
            if edge.src is node and id(edge.dst) not in found:
                found.add(id(edge.dst))
                queue.append(edge.dst)
    return found


def test_every_station_that_runs_reach_is_on_a_way() -> None:
    """From the clients, arrows lead to each station at which the session may run something."""

    def check(program: n.Program, source_map: SourceMap | None) -> None:
        uses = uses_of(program, source_map)
        flow = Flow(uses)
        ways = reachable(flow)
        for stmt, _ in reached(program, program.session):
            if isinstance(stmt, n.Run):
                for ref in (stmt.stage, *stmt.also):
                    if uses.stations.family_of_stage[ref.base] not in uses.client:
                        assert id(flow.at(uses.stations.stage(ref))) in ways

    every_program(check)


def test_every_way_comes_back() -> None:
    """From a place that arrows lead to, others lead back to the clients, and none is a dead end."""

    def check(program: n.Program, source_map: SourceMap | None) -> None:
        flow = Flow(uses_of(program, source_map))
        ways = reachable(flow)
        joint = {id(e.dst) for e in flow.edges if e.kind in ("joint", "spill")}
        for node in flow.nodes:
            if id(node) in ways and id(node) not in joint:
                assert any(edge.src is node for edge in flow.edges)
            assert node.kind in ("client", "station", "router", "join")

    every_program(check)


def test_decisions_have_all_their_arms() -> None:
    """Each test of a router is left on both sides, by arrows or through what its arm decides."""

    def check(program: n.Program, source_map: SourceMap | None) -> None:
        flow = Flow(uses_of(program, source_map))
        for node in flow.nodes:
            arms = [e.arm for e in flow.edges if e.src is node]
            if node.kind != "router" or None in arms:
                continue
            out = {(arm[0].number, arm[1]) for arm in arms if arm is not None}
            inner = {row.arm for row in node.rows if row.arm}
            for row in node.tests():
                for arm in ("yes", "no") if row.kind == "test" else ("again", "done"):
                    assert (row.number, arm) in out or arm in inner

    every_program(check)


def test_the_script_has_a_step_for_each_statement_of_a_turn() -> None:
    """Holds are admitted and freed once each; every run on the first turn's way has its step."""

    def check(program: n.Program, source_map: SourceMap | None) -> None:
        uses = uses_of(program, source_map)
        script = Script(uses)
        steps = [step.kind for step in script.steps]
        assert steps.count("wait") == steps.count("admit") == steps.count("free")
        assert steps.count("open") == steps.count("close")
        told = {lane for step in script.steps for lane in step.lanes}
        for stmt, _ in reached(program, program.session):
            match stmt:
                case n.Run(stage=ref):
                    assert uses.stations.family_of_stage[ref.base] in told
                case n.Hold(pools=pools):
                    for held in pools:
                        assert uses.stations.family_of_pool[held.pool.base] in told

    every_program(check)


@pytest.mark.parametrize("mapped", [True, False])
def test_the_edges_of_a_pull(mapped: bool) -> None:
    """Gateway to both instances, prefill to decode, KV beside it, the decoder answers."""
    from test_draw import EXAMPLES, NIXL

    loaded = load(EXAMPLES / NIXL, need_horizon=False)
    flow = Flow(uses_of(loaded.program, loaded.source_map if mapped else None))

    def named(node: Node) -> str:
        return node.station.title if node.station else node.kind

    edges = [(named(e.src), named(e.dst), e.kind, e.arm and e.arm[1]) for e in flow.edges]
    assert sorted(edges, key=str) == sorted(
        [
            ("client", "router", "request", None),
            ("router", "D", "request", "yes"),
            ("router", "P", "request", "no"),
            ("P", "D", "request", None),
            ("P", "D", "kv", None),
            ("D", "client", "answer", None),
        ],
        key=str,
    )
    assert [node.gateway for node in flow.nodes if node.kind == "router"] == [
        "gw" if mapped else None
    ]
