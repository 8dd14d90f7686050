"""M/D/4 at 80% in Python: `peers.py simpy|ciw REQUESTS` prints CPU seconds and the mean latency in microseconds."""

import random
import sys
import time

WORKERS, SERVICE_US = 4, 50.0
RATE = 0.8 * WORKERS / SERVICE_US


def simpy_mean_us(requests):
    import simpy

    env = simpy.Environment()
    workers = simpy.Resource(env, capacity=WORKERS)
    latencies = []

    def request():
        arrival = env.now
        with workers.request() as turn:
            yield turn
            yield env.timeout(SERVICE_US)
        latencies.append(env.now - arrival)

    def arrivals():
        for _ in range(requests):
            yield env.timeout(random.expovariate(RATE))
            env.process(request())

    env.process(arrivals())
    env.run()
    return sum(latencies) / len(latencies)


def ciw_mean_us(requests):
    import ciw

    ciw.seed(1)
    network = ciw.create_network(
        arrival_distributions=[ciw.dists.Exponential(rate=RATE)],
        service_distributions=[ciw.dists.Deterministic(value=SERVICE_US)],
        number_of_servers=[WORKERS],
    )
    simulation = ciw.Simulation(network)
    simulation.simulate_until_max_customers(requests, method="Complete")
    records = simulation.get_all_records()
    return sum(r.waiting_time + r.service_time for r in records) / len(records)


if __name__ == "__main__":
    random.seed(1)
    peer = {"simpy": simpy_mean_us, "ciw": ciw_mean_us}[sys.argv[1]]
    before = time.process_time()
    mean = peer(int(sys.argv[2]))
    print(f"{time.process_time() - before:.6f} {mean:.3f}")
