"""Queues whose answers are known: the simulated mean lies in its own confidence interval."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from math import factorial

import pytest

import serq

SEEDS = range(21, 41)
WITHIN = 18
"""A 95 % interval misses the truth once in twenty seeds; two misses are allowed."""


def _queue(stage: str, law: str, load: float) -> str:
    return f"""
    fn main() {{
      stage svc : {stage};
      workload {{ arrive poisson({load}); turn {{ set work = {law}; }} }}
      server {{
        set t0 = now;
        run svc (cost(svc, work));
        observe response = now - t0;
      }}
      gauge number = queue(svc);
    }}"""


def _closed(users: int, think: float, service: float) -> str:
    return f"""
    fn main() {{
      stage svc : fifo;
      workload {{
        arrive closed({users});
        turn {{ set work = ~exp({service}); }}
        session {{ loop {{ tool (~exp({think})); turn; }} }}
      }}
      server {{
        set t0 = now;
        run svc (cost(svc, work));
        observe response = now - t0;
      }}
      gauge number = queue(svc);
    }}"""


def mm1(load: float, service: float) -> float:
    """M/M/1: mean response E[S] / (1 - rho)."""
    return service / (1 - load * service)


def mg1(load: float, service: float, cv2: float) -> float:
    """Pollaczek and Khinchine: E[S] + rho E[S] (1 + c2) / (2 (1 - rho))."""
    rho = load * service
    return service + rho * service * (1 + cv2) / (2 * (1 - rho))


def mmc(load: float, service: float, servers: int) -> float:
    """Erlang C: E[S] + C(c, a) E[S] / (c - a)."""
    a = load * service
    top = a**servers / factorial(servers) * servers / (servers - a)
    wait = top / (sum(a**k / factorial(k) for k in range(servers)) + top)
    return service + wait * service / (servers - a)


def machine_repair(users: int, think: float, service: float) -> float:
    """M/M/1//N: the mean number at the server, from the product form."""
    weights = [factorial(users) / factorial(users - k) * (service / think) ** k
               for k in range(users + 1)]  # fmt: skip
    return sum(k * w for k, w in enumerate(weights)) / sum(weights)


@dataclass(frozen=True)
class Case:
    name: str
    source: str
    expected: float
    horizon: float
    read: Callable[[serq.Report], tuple[float, float]]


def _response(report: serq.Report) -> tuple[float, float]:
    row = report.observe("response")
    assert row is not None
    return row.mean, row.ci


def _number(report: serq.Report) -> tuple[float, float]:
    row = report.gauge("number")
    assert row is not None
    return row.mean, row.ci


CASES = [
    Case("M/M/1", _queue("fifo", "~exp(1)", 0.4), mm1(0.4, 1), 10000, _response),
    Case("M/G/1", _queue("fifo", "~h2(1, 3)", 0.3), mg1(0.3, 1, 3), 24000, _response),
    Case("M/E2/1", _queue("fifo", "~erlang(2, 1)", 0.6), mg1(0.6, 1, 0.5), 8000, _response),
    Case("M/M/3", _queue("fifo(3)", "~exp(1)", 1.8), mmc(1.8, 1, 3), 6000, _response),
    Case("M/G/1-PS", _queue("ps(1)", "~h2(1, 3)", 0.4), mm1(0.4, 1), 12000, _response),
    Case("M/M/1//10", _closed(10, 9, 1), machine_repair(10, 9, 1), 8000, _number),
    Case("M/D/inf", _queue("delay", "2", 1.5), 3.0, 3000, _number),
]


@pytest.mark.parametrize("case", CASES, ids=lambda case: case.name)
def test_mean_lies_in_its_confidence_interval(case: Case) -> None:
    """On at least 18 of 20 seeds the closed form lies in the reported confidence interval."""
    inside = []
    for seed in SEEDS:
        program = serq.compile(
            source=case.source, horizon=case.horizon, warmup=case.horizon / 20, seed=seed
        )
        mean, ci = case.read(serq.run(program))
        inside.append(abs(mean - case.expected) <= ci)
    assert sum(inside) >= WITHIN, f"{case.name}: {sum(inside)} of {len(inside)} intervals"
