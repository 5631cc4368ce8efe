"""The source map: every node that the text wrote has its span, and the sugar is remembered."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import fields, is_dataclass
from enum import Enum
from pathlib import Path

import pytest
from link_programs import READER, SOURCE, engine, entry, queues, request, served

from serq.diagnostics import Source
from serq.ir import nodes
from serq.link import Linked, compile_text
from serq.settings import Settings

CORPUS = sorted((Path(__file__).parent / "programs").glob("*.sq"))


def linked(program: str, base_dir: Path | None = None) -> Linked:
    return compile_text(
        Source("t.sq", program), settings=Settings(horizon=100.0), base_dir=base_dir
    )


def nodes_of(value: object) -> Iterator[object]:
    """Every dataclass node below a value, itself included."""
    stack = [value]
    while stack:
        item = stack.pop()
        if isinstance(item, tuple):
            stack.extend(item)
        elif is_dataclass(item) and not isinstance(item, Enum):
            yield item
            stack.extend(getattr(item, f.name) for f in fields(item))


SPANLESS = (
    nodes.Program, nodes.PoolTarget, nodes.StageTarget, nodes.JointTarget, nodes.ExprArg,
    nodes.PoolArg, nodes.StageArg, nodes.SizeType, nodes.ValueType, nodes.CostType, nodes.Lru,
    nodes.EvictBy, nodes.NoPreempt, nodes.PreemptBy, nodes.ServeBy, nodes.ExclusivePrefill,
    nodes.Poisson, nodes.Renewal, nodes.Closed, nodes.Batch, nodes.NoArrivals, nodes.Register,
)  # fmt: skip
"""Wrappers around what has a span."""


@pytest.mark.parametrize("path", CORPUS, ids=lambda path: path.stem)
def test_every_node_has_a_span(path: Path):
    """Each statement, expression, reference and declaration of the IR leads back to the text."""
    result = linked(path.read_text(encoding="utf-8"), path.parent)
    seen: set[int] = set()
    for node in nodes_of(result.program):
        if isinstance(node, SPANLESS) or (isinstance(node, nodes.Num) and node.value == 0.0):
            continue
        span = result.source_map.span_of(node)
        assert span is not None, node
        assert span.text.strip()
        if isinstance(node, nodes.Set | nodes.Run | nodes.Attr | nodes.Binary | nodes.Ref):
            assert id(node) not in seen, "a node stands for one occurrence"
            seen.add(id(node))


def test_statements_are_found_by_block_and_position():
    """A statement is found by its block and place, each copy of the server's too."""
    result = linked(
        served(
            "branch (n > 1) { set a = 1; }", workload="turn { set n = 1; } session { turn; turn; }"
        )
    )
    texts = [
        [span.text for i in range(len(block)) if (span := result.source_map.stmt_span(b, i))]
        for b, block in enumerate(result.program.blocks)
    ]
    assert texts[1] == ["set n = 1"]
    assert texts[2][:3] == ["turn", "branch (n > 1) { set a = 1; }", "run svc (cost(svc, 1))"]
    assert texts[3] == texts[5] == ["set a = 1"]
    assert result.source_map.stmt_span(99, 0) is None
    assert result.source_map.span_of(nodes.Turn()) is None


def test_expansions_are_remembered():
    """A statement from a definition knows the use, one from an entry the call."""
    result = linked(served("f(1);", above="def f(x) { set a = x; } stage svc : fifo;"))
    frames = result.source_map.stmt_frames(2, 1)
    assert [frame.span.text for frame in frames] == ["f(1)"]
    result = linked(entry("set a = prompt;"))
    assert [f.span.text for f in result.source_map.stmt_frames(2, 1)] == ["P.prefill (n)"]
    assigned = result.program.blocks[2][1]
    assert isinstance(assigned, nodes.Set)
    inner = result.source_map.span_of(assigned.expr)
    assert inner is not None and inner.text == "n"


def test_what_the_sugar_meant():
    """Queues, engines, relations, marks and the client's tool are kept by name."""
    relation_text = "D pull P latency 2 share maxmin;"
    server = "P.prefill (n); D.decode (n) from P;"
    source_map = linked(queues(SOURCE + READER + relation_text, server=server)).source_map
    queue = source_map.queues["D"]
    assert (queue.roles, queue.pools, queue.nic) == (("decode",), ("D.kv",), "D.nic")
    assert queue.entries == ("decode from P",)
    (relation,) = source_map.relations
    assert (relation.source, relation.reader, relation.verb) == ("P", "D", "pull")
    assert (relation.latency, relation.policy) == (2.0, "maxmin")
    found = linked(request("mark done; prefill (1);", server="e (n, o);")).source_map
    assert found.engines["e"].device == "gpu"
    assert set(found.engines["e"].pools) == {"reqs", "kv"}
    assert list(found.marks) == ["e.done"]
    client = linked(served("", workload="session { turn; tool 1; }"))
    assert client.source_map.client_tool == "tool"
    assert linked(engine()).source_map.client_tool is None


def test_names_of_members():
    """Pools and stages are named as a user writes them."""
    result = linked(entry("", size="[2]", server="P[1].prefill (n);"))
    assert result.source_map.pool_name(result.program, 1) == "P.kv[1]"
    assert result.source_map.stage_name(result.program, 0) == "P[0]"
