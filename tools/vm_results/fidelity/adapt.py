"""The simulated machine as slow as the real one: a request's kernel part is a property of the machine, not of the policy's order.

In a guest an instruction takes a nanosecond and all CPUs share them, so the kernel's part of a request takes longer there than on the machine that the simulator's
costs are from. Services are made longer by the difference of means, at the same rate: arrivals stay the same.
"""

import re
from argparse import Namespace
from pathlib import Path
from statistics import median

from .. import figures, runs, tables
from ..plan import Point
from .pairs import seeds_of

UNITS_NS = {"ns": 1, "us": 1_000, "ms": 1_000_000, "s": 1_000_000_000}
SERVICE_TIME = re.compile(r'^service_time = "(\d+)([a-z]+)"$', re.MULTILINE)
CPUS = re.compile(r"^cpus = (\d+)$", re.MULTILINE)
UTILISATION = re.compile(r"utilisation = ([0-9.]+)")


def request_ns(result: dict) -> float:
    """CPU time that the service's threads used a request, over the number of CPUs."""
    return tables.own_group(result)["share"] / figures.service(result)["rate_per_s"] * 1e9


def longer(text: str, extra_ns: float) -> str:
    """The scenario with longer services, the rate as it was."""
    digits, unit = SERVICE_TIME.search(text).groups()
    before = int(digits) * UNITS_NS[unit]
    after = max(before + round(extra_ns), 1)
    utilisation = lambda found: f"utilisation = {float(found[1]) * after / before}"
    return UTILISATION.sub(utilisation, SERVICE_TIME.sub(f'service_time = "{after}ns"', text))


def adapt(args: Namespace, sim: Path, real: Path, point: Point) -> list[str]:
    """Simulates a row with services that cost what they cost the real kernel; what failed."""
    seeds = [seed for seed in seeds_of(sim, point) if seed in seeds_of(real, point)]
    text = Path(f"scenarios/{point.scenario.name}.toml").read_text()
    cpus = int(CPUS.search(text)[1])
    cost = lambda folder: median(request_ns(figures.result(folder, point, seed)) for seed in seeds) * cpus
    scenario = args.scenarios / f"{point.scenario.name}.toml"
    scenario.write_text(longer(text, cost(real) - cost(sim)))
    return runs.run_rows(args, [(point, seeds)])
