"""Runs every contender by turns and prints medians: `compare.py SPEED_BINARY [ROUNDS]`."""

import statistics
import subprocess
import sys

SPEED, PEERS = sys.argv[1], [sys.executable, "benches/cluster/peers.py"]
ROUNDS = int(sys.argv[2]) if len(sys.argv) > 2 else 3
# Requests that take Python some seconds; the means of all must agree, or a contender simulates something
# else.
REQUESTS, AGREE = {"simpy": 60_000, "ciw": 10_000}, 0.15
TEN_THOUSAND = ["random", "choices:d=2", "shortest", "batch-sampling:d=2", "central"]


def run(command):
    output = subprocess.run(command, check=True, capture_output=True, text=True)
    return [float(word) for word in output.stdout.split()]


def ours():
    cpu_s, decisions, events, mean_ns, _ = run([SPEED, "benches/cluster/shortest.toml", "shortest", "60s"])
    return decisions / cpu_s, events / cpu_s, mean_ns / 1e6


def peer(name):
    cpu_s, mean_ms = run(PEERS + [name, str(REQUESTS[name])])
    return REQUESTS[name] / cpu_s, None, mean_ms


def main():
    contenders = {"ours": ours, "SimPy 4.1.2": lambda: peer("simpy"), "Ciw 3.2.7": lambda: peer("ciw")}
    rates = {name: [] for name in contenders}
    mean = None
    for _ in range(ROUNDS):
        for name, contender in contenders.items():
            decisions, events, found = contender()
            mean = mean or found
            if abs(found / mean - 1) > AGREE:
                sys.exit(f"{name}: mean latency {found} ms, ours {mean} ms")
            rates[name].append((decisions, events))
    print(f"Twenty servers, the shortest queue, 90%: medians of {ROUNDS} rounds by turns, a CPU second\n")
    print(f"{'':20}{'decisions':>14}{'events':>14}{'ours is':>12}")
    first = statistics.median(rate for rate, _ in rates["ours"])
    for name in contenders:
        rate = statistics.median(rate for rate, _ in rates[name])
        events = [events for _, events in rates[name] if events]
        shown = f"{statistics.median(events):14,.0f}" if events else f"{'':14}"
        print(f"{name:20}{rate:14,.0f}{shown}{first / rate:10.1f} x")
    print("\n10,000 machines of 16 cores, 1.6 million tasks a second, one simulated second after one of warm-up\n")
    print(f"{'':20}{'CPU s':>8}{'decisions/s':>14}{'events/s':>14}{'MiB':>8}")
    for dispatch in TEN_THOUSAND:
        cpu_s, decisions, events, _, memory = run([SPEED, "clusters/ten-thousand.toml", dispatch])
        print(f"{dispatch:20}{cpu_s:8.1f}{decisions / cpu_s:14,.0f}{events / cpu_s:14,.0f}{memory:8.0f}")


if __name__ == "__main__":
    main()
