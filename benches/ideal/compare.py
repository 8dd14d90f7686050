"""Runs every contender by turns and prints medians: `compare.py SPEED_BINARY [ROUNDS]`."""

import statistics
import subprocess
import sys

SPEED, PEERS = [sys.argv[1]], [sys.executable, "benches/ideal/peers.py"]
ROUNDS = int(sys.argv[2]) if len(sys.argv) > 2 else 5

# Name, command, requests (about half a second), goal in millions a second. The means of M/D/4 at 80%
# must be that of its closed form, or a contender simulates something else.
CONTENDERS = [
    ("FIFO, fixed service", SPEED + ["fifo/fixed"], 100_000_000, 150),
    ("FIFO, exponential service", SPEED + ["fifo/exponential"], 50_000_000, 80),
    ("FIFO, exponential, 64 workers", SPEED + ["fifo/exponential/64"], 50_000_000, 80),
    ("LIFO, fixed service", SPEED + ["lifo/fixed"], 40_000_000, 60),
    ("random request, fixed service", SPEED + ["random-request/fixed"], 40_000_000, 60),
    ("random worker, fixed service", SPEED + ["random-worker/fixed"], 40_000_000, None),
    ("processor sharing, fixed", SPEED + ["processor-sharing/fixed"], 5_000_000, None),
    ("BinaryHeap loop in Rust", SPEED + ["heap"], 5_000_000, None),
    ("desque 0.4", SPEED + ["desque"], 5_000_000, None),
    ("SimPy 4.1.2", PEERS + ["simpy"], 50_000, None),
    ("Ciw 3.2.7", PEERS + ["ciw"], 20_000, None),
]
FIRST = "FIFO, fixed service"
SAME_QUEUE = {FIRST, "LIFO, fixed service", "random request, fixed service", "BinaryHeap loop in Rust"}
SAME_QUEUE |= {"desque 0.4", "SimPy 4.1.2", "Ciw 3.2.7"}
EXACT_MEAN_US = 69.30475


def measure(name, command, requests):
    output = subprocess.run(command + [str(requests)], check=True, capture_output=True, text=True)
    seconds, mean = map(float, output.stdout.split())
    if name in SAME_QUEUE and abs(mean / EXACT_MEAN_US - 1) > 0.1:
        sys.exit(f"{name}: mean latency {mean} us, but M/D/4 at 80% has {EXACT_MEAN_US}")
    return requests / seconds


def main():
    rates = {name: [] for name, *_ in CONTENDERS}
    for _ in range(ROUNDS):
        for name, command, requests, _ in CONTENDERS:
            rates[name].append(measure(name, command, requests))
    print(f"Simulated requests per CPU second at 80%, four workers: medians of {ROUNDS} rounds by turns\n")
    print(f"{'':32}{'million/s':>12}{'least':>10}{'most':>10}{'goal':>7}{'FIFO fixed is':>15}")
    first = statistics.median(rates[FIRST])
    for name, _, _, goal in CONTENDERS:
        median = statistics.median(rates[name])
        low, high = min(rates[name]) / 1e6, max(rates[name]) / 1e6
        wanted = "" if goal is None else f"{goal}"
        print(f"{name:32}{median / 1e6:12.3f}{low:10.3f}{high:10.3f}{wanted:>7}{first / median:13.1f} x")


if __name__ == "__main__":
    main()
