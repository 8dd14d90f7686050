"""Twenty servers at 90%, join the shortest queue: `peers.py simpy|ciw REQUESTS` prints CPU seconds and the mean latency in ms."""

import random
import sys
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parents[1]))
import simulators

SERVERS, SERVICE_MS = 20, 1.0
RATE = 0.9 * SERVERS / SERVICE_MS


def servers(env):
    import simpy

    all_servers = [simpy.Resource(env, capacity=1) for _ in range(SERVERS)]

    def visit():
        lengths = [len(server.queue) + server.count for server in all_servers]
        least = min(lengths)
        server = all_servers[random.choice([at for at, length in enumerate(lengths) if length == least])]
        with server.request() as turn:
            yield turn
            yield env.timeout(random.expovariate(1 / SERVICE_MS))

    return visit


def network(ciw):
    nodes = range(2, SERVERS + 2)
    routers = [ciw.routing.LoadBalancing(destinations=list(nodes))] + [ciw.routing.Leave() for _ in nodes]
    return ciw.create_network(
        arrival_distributions=[ciw.dists.Exponential(rate=RATE)] + [None for _ in nodes],
        service_distributions=[ciw.dists.Deterministic(value=0)]
        + [ciw.dists.Exponential(rate=1 / SERVICE_MS) for _ in nodes],
        number_of_servers=[float("inf")] + [1 for _ in nodes],
        routing=ciw.routing.NetworkRouting(routers=routers),
    )


if __name__ == "__main__":
    simulators.main(
        simpy=lambda requests: simulators.simpy_mean(requests, RATE, servers),
        ciw=lambda requests: simulators.ciw_mean(requests, network, "Finish"),
    )
