"""M/D/4 at 80% in Python: `peers.py simpy|ciw REQUESTS` prints CPU seconds and the mean latency in microseconds."""

import sys
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parents[1]))
import simulators

WORKERS, SERVICE_US = 4, 50.0
RATE = 0.8 * WORKERS / SERVICE_US


def servers(env):
    import simpy

    workers = simpy.Resource(env, capacity=WORKERS)

    def visit():
        with workers.request() as turn:
            yield turn
            yield env.timeout(SERVICE_US)

    return visit


def network(ciw):
    return ciw.create_network(
        arrival_distributions=[ciw.dists.Exponential(rate=RATE)],
        service_distributions=[ciw.dists.Deterministic(value=SERVICE_US)],
        number_of_servers=[WORKERS],
    )


if __name__ == "__main__":
    simulators.main(
        simpy=lambda requests: simulators.simpy_mean(requests, RATE, servers),
        ciw=lambda requests: simulators.ciw_mean(requests, network, "Complete"),
    )
