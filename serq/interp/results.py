"""The report of a finished machine."""

from __future__ import annotations

from math import nan

import serq
from serq.interp.engine import Engine
from serq.interp.machine import Machine
from serq.interp.pool import Pool
from serq.interp.report import Pool as PoolRow
from serq.interp.report import Report
from serq.interp.report import Stage as StageRow
from serq.interp.stage import Stage


def report(machine: Machine) -> Report:
    """The machine's results; its integrals are caught up with its end."""
    program = machine.program
    span = machine.now - program.warmup
    return Report(
        serq_version=serq.__version__,
        horizon=program.horizon,
        end=machine.now,
        warmup=program.warmup,
        seed=program.seed,
        events=machine.events,
        arrivals=machine.arrived,
        ended=machine.ended,
        turns=machine.turns,
        mean_live=machine.area_live / span,
        observes={
            name: samples.summary(name)
            for name, samples in zip(program.observes, machine.observes, strict=True)
        },
        client={
            name: getattr(machine.client, name).summary(name)
            for name in ("ttft", "tpot", "response")
        },
        gauges={
            name: track.summary(name, program.warmup, machine.now)
            for name, _, track in machine.gauges
        },
        claims={claim.name: claim.result() for claim in machine.claims},
        stages=[_stage(stage, span) for stage in machine.stages],
        pools=[_pool(machine, pool, span) for pool in machine.pools],
    )


def _stage(stage: Stage, span: float) -> StageRow:
    engine = stage if isinstance(stage, Engine) else None
    return StageRow(
        name=stage.name,
        index=stage.index,
        mean_number=stage.area_n / span,
        utilization=stage.area_busy / span,
        completed=stage.completed,
        throughput=stage.completed / span,
        mean_wait=stage.wait.mean,
        mean_service=stage.service.mean,
        iterations=engine.iterations if engine else 0,
        prefill_only=engine.area_prefill_only / span if engine else 0.0,
        decode_only=engine.area_decode_only / span if engine else 0.0,
        mixed=engine.area_mixed / span if engine else 0.0,
        mean_decodes=engine.area_decodes / span if engine else 0.0,
        mean_decode_batch=engine.decode_batch.mean if engine else nan,
        mean_decode_step=engine.decode_step.mean if engine else nan,
        mean_itl=engine.gaps_seen.mean if engine else nan,
        itl_p50=engine.gaps_seen.quantile(0.5) if engine else nan,
        itl_p99=engine.gaps_seen.quantile(0.99) if engine else nan,
        idle_with_work=engine.idle_with_work() if engine else False,
    )


def _pool(machine: Machine, pool: Pool, span: float) -> PoolRow:
    growing = set(pool.growers)
    return PoolRow(
        name=pool.name,
        index=pool.index,
        mean_used=pool.area_used / span,
        mean_cached=pool.area_cached / span,
        mean_queue=pool.area_queue / span,
        mean_holders=pool.area_holders / span,
        mean_wait=pool.wait.mean,
        admissions=pool.admissions,
        evicted_entries=pool.evicted_entries,
        evicted_units=pool.evicted_units,
        preemptions=pool.preemptions,
        spills=pool.spills,
        rejected=pool.rejected,
        stuck=pool.stuck,
        over_cap=pool.over_cap,
        growing_at_end=len(growing),
        growing_stalled=bool(growing) and set(pool.holders) <= growing,
    )
