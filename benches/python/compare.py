"""A call from Python beside the command, and sweeps with one and two workers."""

import argparse
import os
import resource
import statistics
import subprocess
import tempfile
import time
from concurrent.futures import ProcessPoolExecutor
from pathlib import Path

import rearguard

SWEEP = {
    "scenario": "scenarios/null-rpc.toml",
    "policies": ["eevdf", "cts"],
    "values": {
        "duration": ["1s"],
        "warm_up": ["100ms"],
        "program.service.arrivals.utilisation": [n / 101 for n in range(1, 101)],
        "seeds": [[seed] for seed in range(1, 6)],
    },
}


def cpu_s() -> float:
    """CPU time of this process and of its children that ended."""
    used = [resource.getrusage(who) for who in (resource.RUSAGE_SELF, resource.RUSAGE_CHILDREN)]
    return sum(one.ru_utime + one.ru_stime for one in used)


def timed(run) -> tuple[float, float]:
    """What it takes: wall time and CPU time, in seconds."""
    wall, cpu = time.monotonic(), cpu_s()
    run()
    return time.monotonic() - wall, cpu_s() - cpu


def calls(command: str, rounds: int) -> None:
    def from_shell() -> None:
        words = ["compare", "scenarios/null-rpc.toml", "--policy", "cfs,cts", "--jobs", "1", "--json"]
        subprocess.run([command, *words], stdout=subprocess.DEVNULL, check=True)

    def from_python() -> None:
        rearguard.compare("scenarios/null-rpc.toml", ["cfs", "cts"], jobs=1).json()

    pairs = [(timed(from_python), timed(from_shell)) for _ in range(rounds)]
    for at, what in enumerate(["wall", "CPU"]):
        python = statistics.median(pair[0][at] for pair in pairs)
        shell = statistics.median(pair[1][at] for pair in pairs)
        ratio = statistics.median(pair[0][at] / pair[1][at] for pair in pairs)
        print(f"call, {what} time: Python {python:.3f} s, command {shell:.3f} s, ratio {ratio:.3f}")


def sweeps(rounds: int) -> None:
    def sweep(workers: int) -> None:
        with tempfile.TemporaryDirectory() as folder, ProcessPoolExecutor(workers) as executor:
            found = rearguard.sweep(SWEEP, folder=folder, executor=executor)
            assert found.points == 1_000 and not found.failed

    walls: dict[int, list[float]] = {1: [], 2: []}
    for _ in range(rounds):
        for workers, taken in walls.items():
            taken.append(timed(lambda workers=workers: sweep(workers))[0])
    medians = {workers: statistics.median(taken) for workers, taken in walls.items()}
    for workers, wall in medians.items():
        print(f"sweep of 1,000 points, {workers} workers: {wall:.1f} s, {1_000 / wall:.0f} points/s")
    print(f"sweep: 2 workers are {medians[1] / medians[2]:.2f} times as fast as 1")
    print(f"(load of the machine meanwhile: {os.getloadavg()[0]:.1f} on {os.cpu_count()} CPUs)")


parser = argparse.ArgumentParser()
parser.add_argument("command")
parser.add_argument("--rounds", type=int, default=7)
parser.add_argument("--sweeps", type=int, default=3)
args = parser.parse_args()
os.chdir(Path(__file__).resolve().parents[2])
calls(args.command, args.rounds)
sweeps(args.sweeps)
