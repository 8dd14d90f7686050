"""A step in a guest: what of it is missing is measured, and its results brought back."""

import subprocess
import sys
import tempfile
import time
from argparse import Namespace
from pathlib import Path

from vm_results.runs import keep

from .plan import GUEST, Part, Step

# What the script in the guest calls.
PROGRAMS = ("sh", "sleep", "mkdir", "mv", "nice", "taskset", "tr", "seq", "cat", "memcached", "nginx", "wrk")
# Results in the guest.
THERE = "/root/results"
LONGEST = "60min"
# How long a virtual CPU runs until the next one's turn: as short as QEMU can.
TURNS = "10us"


def missing(args: Namespace, part: Part, step: Step) -> list[int]:
    """The seeds without a result."""
    return [seed for seed in range(1, args.seeds + 1) if not (args.folder / part.file(step, seed)).exists()]


def measure(args: Namespace, part: Part, step: Step) -> str | None:
    """Measures what is missing; what failed."""
    seeds = missing(args, part, step)
    if not seeds:
        return None
    begin = time.monotonic()
    with tempfile.TemporaryDirectory() as folder:
        done = subprocess.run(command(args, part, step, seeds, folder), capture_output=True, text=True)
        for seed in seeds:
            found = Path(folder) / "results" / f"{seed}.json"
            if found.exists():
                place = args.folder / part.file(step, seed)
                place.parent.mkdir(parents=True, exist_ok=True)
                keep(place, found.read_text())
    name = f"{part.name}, {step.name}"
    if done.returncode != 0:
        print(f"{name}: FAILED", file=sys.stderr)
        return f"{name}: {done.stderr.strip()}"
    print(f"{name}: {len(seeds)} seeds, {time.monotonic() - begin:.0f} s", file=sys.stderr)
    return None


def command(args: Namespace, part: Part, step: Step, seeds: list[int], folder: str) -> list[str]:
    """What boots the guest and plays the step in it."""
    line = [args.rearguard, "lab", "run", step.kernel, "--cpus", str(part.cpus), "--turns", TURNS]
    line += ["--timeout", LONGEST, "--get", THERE, "--into", folder]
    for program in PROGRAMS:
        line += ["--put", program]
    line += ["--", str(GUEST), THERE, *part.served(step), " ".join(map(str, seeds)), *part.measured()]
    return line
