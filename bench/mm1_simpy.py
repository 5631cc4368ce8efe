"""An M/M/1 queue in serQ and in SimPy: customers per second of wall time."""

from __future__ import annotations

import random

import simpy
from timing import side_by_side

import serq

LOAD, HORIZON = 0.8, 40_000

SOURCE = f"""
fn main() {{
  stage svc : fifo;
  workload {{ arrive poisson({LOAD}); }}
  server {{
    set t0 = now;
    run svc (cost(svc, ~exp(1)));
    observe response = now - t0;
  }}
}}"""


PROGRAM = serq.compile(source=SOURCE, horizon=HORIZON)


def in_serq() -> float:
    return float(serq.run(PROGRAM).arrivals)


def in_simpy() -> float:
    """The same model and statistics: response times, and the number in the system over time."""
    rng = random.Random(1)
    env = simpy.Environment()
    server = simpy.Resource(env)
    responses: list[float] = []
    state = {"number": 0, "area": 0.0, "last": 0.0, "arrivals": 0}

    def change(by: int) -> None:
        state["area"] += state["number"] * (env.now - state["last"])
        state["last"] = env.now
        state["number"] += by

    def customer():
        start = env.now
        change(1)
        with server.request() as request:
            yield request
            yield env.timeout(rng.expovariate(1))
        change(-1)
        responses.append(env.now - start)

    def arrivals():
        while True:
            state["arrivals"] += 1
            env.process(customer())
            yield env.timeout(rng.expovariate(LOAD))

    env.process(arrivals())
    env.run(until=HORIZON)
    return float(state["arrivals"])


if __name__ == "__main__":
    rates = side_by_side({"serq": in_serq, "simpy": in_simpy}, rounds=15)
    for name, rate in rates.items():
        print(f"{name:>6}  {rate:12,.0f} customers/s")
    print(f" ratio  serq / simpy = {rates['serq'] / rates['simpy']:.2f}")
