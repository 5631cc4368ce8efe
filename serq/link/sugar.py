"""What the sugar of a program meant: kept beside the IR for messages and pictures."""

from __future__ import annotations

from serq.diagnostics import Span
from serq.link.source_map import EngineInfo, QueueInfo, RelationInfo, SourceMap
from serq.lower.tables import Engine, Queue, Relation, Tables
from serq.syntax import ast


def remember(tables: Tables, source_map: SourceMap) -> None:
    """Fill the map with the declarations behind the IR."""
    source_map.pools = {f.name: f.span for f in tables.pool_order}
    source_map.stages = {f.name: f.span for f in tables.stage_order}
    source_map.attributes = {**tables.attributes, **tables.dotted}
    source_map.observations = dict(tables.observations)
    source_map.marks = dict(tables.marks)
    source_map.gauges = {n: d.target.span for n, d in tables.gauges.items()}
    source_map.claims = {n: d.target.span for n, d in tables.claims.items()}
    source_map.queues = {q.name: _queue(q) for q in tables.queues.values()}
    engines = [*tables.engines.values()]
    engines += [q.engine for q in tables.queues.values() if q.engine is not None]
    source_map.engines = {e.name: _engine(e) for e in engines}
    source_map.relations = [_relation(r) for r in tables.relations]
    source_map.paths = _paths(tables)
    source_map.client_tool = None if tables.tool is None else tables.tool.name


def _paths(tables: Tables) -> dict[str, Span]:
    """The places of what has no node of its own in the IR."""
    paths: dict[str, Span] = {}
    if tables.share is not None:
        paths["share"] = tables.share.span
    elif tables.relations:
        paths["share"] = tables.relations[0].span
    for number, (name, engine, _) in enumerate(tables.registers):
        for item in engine.decl.items:
            if isinstance(item, ast.StateItem) and item.target.name == name:
                paths[f"registers[{number}]"] = item.target.span
    hidden = 0
    for part in () if tables.workload is None else tables.workload.items:
        match part:
            case ast.ArriveItem():
                paths.setdefault("arrival", part.span)
            case ast.TraceItem():
                paths.setdefault("trace", part.span)
            case ast.HiddenItem(names=names):
                for ident in names:
                    paths[f"hidden[{hidden}]"] = ident.span
                    hidden += 1
    return paths


def _queue(queue: Queue) -> QueueInfo:
    return QueueInfo(
        queue.name,
        queue.roles,
        queue.count,
        queue.family,
        tuple(pool.name for pool in queue.pools.values()),
        None if queue.stage is None else queue.stage.name,
        None if queue.nic is None else queue.nic.name,
        None if queue.latency is None else queue.latency.name,
        tuple(
            entry.verb if entry.source_name is None else f"{entry.verb} from {entry.source_name}"
            for entry in queue.entries
        ),
        queue.span,
    )


def _engine(engine: Engine) -> EngineInfo:
    device = engine.device
    pools = [*engine.pools.values(), *(device.pools.values() if device is not None else ())]
    return EngineInfo(
        engine.name,
        None if device is None else device.name,
        None if engine.queue is None else engine.queue.name,
        tuple(pool.name for pool in pools),
        engine.span,
    )


def _relation(relation: Relation) -> RelationInfo:
    verb = "pull" if relation.poster is relation.reader else "push"
    return RelationInfo(
        relation.source.name,
        relation.reader.name,
        verb,
        relation.latency,
        relation.policy,
        relation.span,
    )
