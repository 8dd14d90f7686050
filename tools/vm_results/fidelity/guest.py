"""What a guest's virtual CPUs do to time (docs/reference/vm.md): they take turns, and an instruction takes a nanosecond of a turn.

There, as on every real machine, programs wait at a barrier: their threads are created, block, and begin together.

A CPU's timer interrupts it when its turn comes: a tick is late by up to a turn of each other CPU. A thread that works for so much CPU time asks the clock while it has a
turn; what it wants is over somewhere between two of them, so it works longer by half of what lies between, on average.

What sleep and a wake-up take of instructions is measured in one scenario, `sleeping-siblings`, by policy; in all others it is foretold.
"""

import re
from statistics import median

from ..plan import LAGS, Found, Point
from .pairs import common

UNITS_NS = {"ns": 1, "us": 1_000, "ms": 1_000_000, "s": 1_000_000_000}
RUN = re.compile(r'^run = "(\d+)([a-z]+)"$', re.MULTILINE)
CPUS = re.compile(r"^cpus = (\d+)$", re.MULTILINE)
# One CPU: no turns; its instructions are all that sleep takes.
SLEEPERS = next(one for one in LAGS if one.name == "sleeping-siblings")


def turn_ns(cpus: int, serves: bool) -> float:
    """How long a turn lasts: beside services 50 us over the number of the other CPUs, the generator's among them, but at least 10 us."""
    return max(50_000 / cpus, 10_000) if serves else 100_000


def with_turns(text: str, cpus: int, serves: bool) -> str:
    """The scenario with ticks that wait for their CPU's turn, as long as all others take, the generator's among them; and with programs that wait for a sign."""
    if cpus == 1:
        return text
    late = round(turn_ns(cpus, serves) * cpus)
    return CPUS.sub(lambda found: f'{found[0]}\ntick_late = "{late}ns"\nstart = "barrier"', text, count=1)


def with_cycles(text: str, cpus: int, serves: bool, sleep_ns: float) -> str:
    """The scenario with work that ends in its CPU's turn, and what the guest's kernel takes more of a thread that sleeps and wakes up."""
    # With 16 CPUs or more an instruction takes 4 ns.
    extra = turn_ns(cpus, serves) * (cpus - 1) / 2 + sleep_ns * (4 if cpus >= 16 else 1)
    longer = lambda found: f'run = "{round(int(found[1]) * UNITS_NS[found[2]] + extra)}ns"'
    return RUN.sub(longer, text)


def cycle_ns(sim: Found, real: Found, policy: str) -> float:
    """By how much a cycle of a thread that works and sleeps takes longer in the guest, one CPU, nothing else different."""
    for one in (policy, standing_for(policy)):
        point = Point(SLEEPERS, one)
        own = common(sim, real, point)
        if own:
            of = lambda found: median(whole_ns(found[point][seed]) for seed in own)
            return of(real) - of(sim)
    return 0.0


def standing_for(policy: str) -> str:
    """Under a real-time class programs other than services are in the default one; policies of ours are one scheduler with other options."""
    return "eevdf" if policy in ("fifo", "rr") else "rearguard"


def whole_ns(result: dict) -> float:
    """CPU time of a cycle of the sleepers."""
    program = next(one for one in result["programs"] if one["kind"] == "daemon")
    share = next(group["share"] for group in result["groups"] if group["name"] == program["name"])
    return share * float(SLEEPERS.duration.removesuffix("s")) * 1e9 / program["rounds"]
