"""What the simulators that we stand beside have in common: requests that come, and a clock over the whole."""

import random
import sys
import time


def simpy_mean(requests, rate, servers):
    """The mean latency in SimPy: `servers(environment)` gives what a request goes through, a generator."""
    import simpy

    env = simpy.Environment()
    visit, latencies = servers(env), []

    def request():
        arrival = env.now
        yield from visit()
        latencies.append(env.now - arrival)

    def arrivals():
        for _ in range(requests):
            yield env.timeout(random.expovariate(rate))
            env.process(request())

    env.process(arrivals())
    env.run()
    return sum(latencies) / len(latencies)


def ciw_mean(requests, network, until):
    """The mean latency in Ciw, over all nodes that take time."""
    import ciw

    ciw.seed(1)
    simulation = ciw.Simulation(network(ciw))
    simulation.simulate_until_max_customers(requests, method=until)
    records = [record for record in simulation.get_all_records() if record.service_time > 0]
    return sum(record.waiting_time + record.service_time for record in records) / len(records)


def main(**peers):
    """`peers.py NAME REQUESTS` prints CPU seconds and the mean latency."""
    random.seed(1)
    before = time.process_time()
    mean = peers[sys.argv[1]](int(sys.argv[2]))
    print(f"{time.process_time() - before:.6f} {mean:.3f}")
