"""From the IR back to the text: where each node was written, and what the sugar meant."""

from __future__ import annotations

from dataclasses import dataclass, field

from serq.diagnostics import Span
from serq.ir import nodes
from serq.lower.faults import Frames


@dataclass(frozen=True, slots=True)
class Origin:
    """Where a node was written, and the uses that expanded it there, outermost first."""

    span: Span
    frames: Frames


@dataclass(frozen=True, slots=True)
class QueueInfo:
    """A station as it was declared: its roles, and the IR names of what it is made of."""

    name: str
    roles: tuple[str, ...]
    count: int
    family: bool
    pools: tuple[str, ...]
    stage: str | None
    nic: str | None
    latency: str | None
    entries: tuple[str, ...]
    span: Span


@dataclass(frozen=True, slots=True)
class EngineInfo:
    """An engine: its stage in the IR, its device, and the queue it is the stage of."""

    name: str
    device: str | None
    queue: str | None
    pools: tuple[str, ...]
    span: Span


@dataclass(frozen=True, slots=True)
class RelationInfo:
    """The KV goes from ``source`` to ``reader``, moved by ``verb`` (pull, push)."""

    source: str
    reader: str
    verb: str
    latency: float | None
    policy: str
    span: Span


@dataclass
class SourceMap:
    """Spans of IR nodes, found by identity, and the declarations behind pools and stages.

    A node keeps its entry alive, so identities cannot be reused. Nodes that were not made from
    this text have no span.
    """

    queues: dict[str, QueueInfo] = field(default_factory=dict)
    engines: dict[str, EngineInfo] = field(default_factory=dict)
    relations: list[RelationInfo] = field(default_factory=list)
    pools: dict[str, Span] = field(default_factory=dict)
    stages: dict[str, Span] = field(default_factory=dict)
    attributes: dict[str, Span] = field(default_factory=dict)
    observations: dict[str, Span] = field(default_factory=dict)
    gauges: dict[str, Span] = field(default_factory=dict)
    claims: dict[str, Span] = field(default_factory=dict)
    marks: dict[str, Span] = field(default_factory=dict)
    paths: dict[str, Span] = field(default_factory=dict)  # parts of the IR that are no nodes
    client_tool: str | None = None  # the stage supplied for the client's tool calls
    _nodes: dict[int, tuple[object, Origin]] = field(default_factory=dict)
    _statements: dict[tuple[int, int], Origin] = field(default_factory=dict)

    def add(self, node: object, span: Span, frames: Frames = ()) -> None:
        self._nodes[id(node)] = (node, Origin(span, frames))

    def add_statement(self, block: int, position: int, span: Span, frames: Frames) -> None:
        self._statements[block, position] = Origin(span, frames)

    def origin_of(self, node: object) -> Origin | None:
        """Where an IR node was written; None for a node that no text stands for."""
        entry = self._nodes.get(id(node))
        return entry[1] if entry is not None and entry[0] is node else None

    def span_of(self, node: object) -> Span | None:
        origin = self.origin_of(node)
        return None if origin is None else origin.span

    def frames_of(self, node: object) -> Frames:
        """The uses that expanded the node's text, outermost first."""
        origin = self.origin_of(node)
        return () if origin is None else origin.frames

    def stmt_span(self, block: int, position: int) -> Span | None:
        """The statement at ``blocks[block][position]`` as it was written."""
        origin = self._statements.get((block, position))
        return None if origin is None else origin.span

    def stmt_frames(self, block: int, position: int) -> Frames:
        origin = self._statements.get((block, position))
        return () if origin is None else origin.frames

    def pool_name(self, program: nodes.Program, index: int) -> str:
        """A pool as a user names it: ``kv``, ``kv[1]``, ``D.kv[0]``."""
        pool = program.pools[index]
        return pool.name if pool.index is None else f"{pool.name}[{pool.index}]"

    def stage_name(self, program: nodes.Program, index: int) -> str:
        stage = program.stages[index]
        return stage.name if stage.index is None else f"{stage.name}[{stage.index}]"
