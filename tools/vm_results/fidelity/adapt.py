"""The simulated machine as the guest is: what belongs to the machine and not to the policy's order (turns and what sleep takes: `guest`).

In a guest an instruction takes a nanosecond and all CPUs share them, so the kernel's part of a request takes longer there than on the machine that the simulator's
costs are from. Services are made longer by the difference of means, at the same rate: arrivals stay the same.

A guest has the generator's CPU besides, in a socket of its own, where no program may run: a policy that keeps something a CPU or a cache knows of two. It is given to
scenarios of one CPU; with four, caches would be of unequal size, which no scenario can say, so it is the client's alone (`client` of `[machine]`). An answer reaches the client there, and with it a request that was held
for its connection; a worker sleeps before it gets that, but for one in nine on one CPU and one in forty on four.
"""

import json
import re
from argparse import Namespace
from pathlib import Path
from statistics import median

from .. import figures, runs, tables
from ..plan import SERVICES, Point
from .guest import CPUS, UNITS_NS, cycle_ns, with_cycles, with_turns
from .pairs import seeds_of

SERVICE_TIME = re.compile(r'^service_time = "(\d+)([a-z]+)"$', re.MULTILINE)
# The share of the requests held by the client that a worker in a guest finds without having slept, by CPUs:
# where its next `start` comes before a `block` of it. Counted in traces, seed 1: `gvts` 378 of 3,340 in
# `service-and-batch`, 703 of 5,960 in `greedy-service`, 101 of 6,725 in `four-cpus-and-batch`; `global` 431
# of 4,806 in the first and 228 of 7,269 in the last. Other policies, which hold few, take both together. On
# four CPUs turns are shorter.
FOUND = {"gvts": {1: 0.116, 4: 0.015}, "global": {1: 0.090, 4: 0.031}}
FOUND_ELSE = {1: 0.107, 4: 0.024}
# Of what a service asks for: one that has so much keeps up, and differs by requests under way at the window's
# ends.
BEHIND = 0.95
UTILISATION = re.compile(r"utilisation = ([0-9.]+)")


def request_ns(result: dict) -> float:
    """CPU time that the service's threads used a request, over the number of CPUs. One that fell behind answered fewer than were sent: there what was asked counts."""
    group = tables.own_group(result)
    fell_behind = group["share"] < BEHIND * group["due_share"]
    return group["due_share" if fell_behind else "share"] / figures.service(result)["rate_per_s"] * 1e9


def longer(text: str, extra_ns: float) -> str:
    """The scenario with longer services, the rate as it was."""
    digits, unit = SERVICE_TIME.search(text).groups()
    before = int(digits) * UNITS_NS[unit]
    after = max(before + round(extra_ns), 1)
    utilisation = lambda found: f"utilisation = {float(found[1]) * after / before}"
    return UTILISATION.sub(utilisation, SERVICE_TIME.sub(f'service_time = "{after}ns"', text))


def with_client(text: str, policy: str, cpus: int) -> str:
    """The scenario with a client that is sometimes faster than a worker that goes to sleep; with several CPUs, beside these."""
    found_share = FOUND.get(policy, FOUND_ELSE)[cpus]
    beside = '\nclient = "local"' if cpus > 1 else ""
    return CPUS.sub(lambda found: f"{found[0]}{beside}\nnext_request_ready = {found_share}", text, count=1)


def with_generators_cpu(text: str) -> str:
    """The scenario of one CPU beside a second one without programs, which requests come through in no time, at the same rate."""
    through = 'interrupts = { cpus = "dedicated", hard = "0", soft = "1ns" }'
    text = CPUS.sub(f"cpus = 2\nllcs = 2\n{through}", text, count=1)
    return UTILISATION.sub(lambda found: f"utilisation = {float(found[1]) / 2}", text)


def of_one_cpu(guest: dict, alone: dict) -> dict:
    """A result on two CPUs as one of the scenario's: shares of its one CPU, and the ideal that one CPU has for the same requests."""
    (result,), (other,) = guest["results"], alone["results"]
    for program, same in zip(result["programs"], other["programs"], strict=True):
        program["ideal_ns"] = same.get("ideal_ns")
    for group in result["groups"]:
        group["share"] = group["share"] and 2 * group["share"]
    return guest


def adapt(args: Namespace, sim: Path, real: Path, point: Point) -> list[str]:
    """Simulates a row on the guest's machine, if that is another than the scenario's; what failed."""
    seeds = [seed for seed in seeds_of(sim, point) if seed in seeds_of(real, point)]
    text = Path(f"scenarios/{point.scenario.name}.toml").read_text()
    cpus, serves = int(CPUS.search(text)[1]), point.scenario in SERVICES
    changed = with_cycles(with_turns(text, cpus, serves), cpus, serves, cycle_ns(sim, real, point.policy))
    if serves:
        cost = lambda folder: median(request_ns(figures.result(folder, point, seed)) for seed in seeds) * cpus
        changed = with_client(longer(changed, cost(real) - cost(sim)), point.policy, cpus)
    if changed == text:
        return []
    scenario = args.scenarios / f"{point.scenario.name}.toml"
    scenario.write_text(changed)
    failed = runs.run_rows(args, [(point, seeds)])
    return failed if failed or cpus > 1 or not serves else on_guests_cpus(args, point, seeds)


def on_guests_cpus(args: Namespace, point: Point, seeds: list[int]) -> list[str]:
    """Simulates a row of one CPU once more, beside the generator's, in place of what there is; what failed."""
    guest = Namespace(**{**vars(args), "folder": args.folder / "guest"})
    scenario = args.scenarios / f"{point.scenario.name}.toml"
    scenario.write_text(with_generators_cpu(scenario.read_text()))
    failed = runs.run_rows(guest, [(point, seeds)])
    if not failed:
        for seed in seeds:
            file = args.folder / point.file(seed)
            found = json.loads((guest.folder / point.file(seed)).read_text())
            file.write_text(json.dumps(of_one_cpu(found, json.loads(file.read_text()))))
    return failed
