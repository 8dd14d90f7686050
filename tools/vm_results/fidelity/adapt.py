"""The simulated machine as the guest is: what belongs to the machine and not to the policy's order (turns and what sleep takes: `guest`).

In a guest an instruction takes a nanosecond and all CPUs share them, so the kernel's part of a request takes longer there than on the machine that the simulator's
costs are from. Services are made longer by the difference of means, at the same rate: arrivals stay the same.

A guest has the generator's CPU besides, in a socket of its own, where no program may run: a policy that keeps something a CPU or a cache knows of two. It is given to
scenarios of one CPU; with four, caches would be of unequal size, which no scenario can say, so it is the client's alone (`client` of `[machine]`). An answer reaches the client there, and with it a request that was held
for its connection; a worker sleeps before it gets that, but for one in nine on one CPU and one in forty on four.
"""

import re
from argparse import Namespace
from pathlib import Path
from statistics import median

from .. import figures, tables
from ..plan import SERVICES, Found, Point
from .guest import CPUS, UNITS_NS, cycle_ns, with_cycles, with_turns
from .pairs import common

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
    for program, same in zip(guest["programs"], alone["programs"], strict=True):
        program["ideal_ns"] = same.get("ideal_ns")
    for group in guest["groups"]:
        group["share"] = group["share"] and 2 * group["share"]
    return guest


def text_of(point: Point, sim: Found, real: Found) -> str | None:
    """A row's scenario on the guest's machine; nothing where that is the scenario's."""
    text = Path(f"scenarios/{point.scenario.name}.toml").read_text()
    cpus, serves = int(CPUS.search(text)[1]), point.scenario in SERVICES
    changed = with_cycles(with_turns(text, cpus, serves), cpus, serves, cycle_ns(sim, real, point.policy))
    if serves:
        seeds = common(sim, real, point)
        cost = lambda of: median(request_ns(of[point][seed]) for seed in seeds) * cpus
        changed = with_client(longer(changed, cost(real) - cost(sim)), point.policy, cpus)
    return None if changed == text else changed


def adapted(args: Namespace, folder: Path, sim: Found, real: Found) -> tuple[Found, bool]:
    """Simulates rows on the guest's machine, where that is another than the scenario's; and whether all went well."""
    texts = {point: text_of(point, sim, real) for point in sim}
    texts = {point: text for point, text in texts.items() if text is not None}
    seeds = {point: common(sim, real, point) for point in texts}
    found, well = simulated(args, folder / "alone", texts, seeds)
    # Rows of one CPU once more, beside the generator's.
    beside = {point: with_generators_cpu(texts[point]) for point in found if is_alone(point, texts[point])}
    guests, guests_well = simulated(args, folder / "guest", beside, seeds)
    for point, of in guests.items():
        found[point] = {seed: of_one_cpu(one, found[point][seed]) for seed, one in of.items() if seed in found[point]}
    return found, well and guests_well


def is_alone(point: Point, text: str) -> bool:
    """Whether a service has a single CPU."""
    return point.scenario in SERVICES and int(CPUS.search(text)[1]) == 1


def simulated(args: Namespace, folder: Path, texts: dict[Point, str], seeds: dict) -> tuple[Found, bool]:
    """Runs rows with other texts of their scenarios."""
    files = {}
    for number, (point, text) in enumerate(texts.items()):
        files[point] = folder / str(number) / f"{point.scenario.name}.toml"
        files[point].parent.mkdir(parents=True)
        files[point].write_text(text)
    return figures.found(args, {point: seeds[point] for point in texts}, "sim", args.minutes, files)
