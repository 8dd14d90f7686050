"""Twenty servers at 90%, join the shortest queue: `peers.py simpy|ciw REQUESTS` prints CPU seconds and the mean latency in ms."""

import random
import sys
import time

SERVERS, SERVICE_MS = 20, 1.0
RATE = 0.9 * SERVERS / SERVICE_MS


def simpy_mean_ms(requests):
    import simpy

    env = simpy.Environment()
    servers = [simpy.Resource(env, capacity=1) for _ in range(SERVERS)]
    latencies = []

    def request():
        arrival = env.now
        lengths = [len(server.queue) + server.count for server in servers]
        least = min(lengths)
        server = servers[random.choice([at for at, length in enumerate(lengths) if length == least])]
        with server.request() as turn:
            yield turn
            yield env.timeout(random.expovariate(1 / SERVICE_MS))
        latencies.append(env.now - arrival)

    def arrivals():
        for _ in range(requests):
            yield env.timeout(random.expovariate(RATE))
            env.process(request())

    env.process(arrivals())
    env.run()
    return sum(latencies) / len(latencies)


def ciw_mean_ms(requests):
    import ciw

    ciw.seed(1)
    nodes = range(2, SERVERS + 2)
    routers = [ciw.routing.LoadBalancing(destinations=list(nodes))] + [ciw.routing.Leave() for _ in nodes]
    network = ciw.create_network(
        arrival_distributions=[ciw.dists.Exponential(rate=RATE)] + [None for _ in nodes],
        service_distributions=[ciw.dists.Deterministic(value=0)]
        + [ciw.dists.Exponential(rate=1 / SERVICE_MS) for _ in nodes],
        number_of_servers=[float("inf")] + [1 for _ in nodes],
        routing=ciw.routing.NetworkRouting(routers=routers),
    )
    simulation = ciw.Simulation(network)
    simulation.simulate_until_max_customers(requests, method="Finish")
    records = [r for r in simulation.get_all_records() if r.node > 1]
    return sum(r.waiting_time + r.service_time for r in records) / len(records)


if __name__ == "__main__":
    random.seed(1)
    peer = {"simpy": simpy_mean_ms, "ciw": ciw_mean_ms}[sys.argv[1]]
    before = time.process_time()
    mean = peer(int(sys.argv[2]))
    print(f"{time.process_time() - before:.6f} {mean:.3f}")
