"""The same scenario, policy and seeds on both arms."""

from argparse import Namespace
from dataclasses import dataclass
from pathlib import Path

from .. import figures, runs
from ..plan import LAG_POLICIES, LAGS, SERVICE_POLICIES, SERVICES, Point, points


@dataclass(frozen=True)
class Pair:
    """Results of the same seeds, in their order."""

    point: Point
    sim: list[dict]
    # Simulated on the guest's machine; empty where that is the scenario's.
    adapted: list[dict]
    real: list[dict]


def planned() -> list[Point]:
    """Every row of the plan that the simulator can run: it has no other sched_ext schedulers than ours."""
    modelled = lambda policies: [policy for policy in policies if not policy.startswith("scx_")]
    of = lambda one: modelled(SERVICE_POLICIES if one in SERVICES else LAG_POLICIES)
    return points(SERVICES + LAGS, of)


def seeds_of(folder: Path, point: Point) -> list[int]:
    """The seeds that there are results for."""
    files = (folder / point.folder()).glob(f"{point.scenario.duration}-*.json")
    return sorted(int(file.stem.rsplit("-", 1)[1]) for file in files)


def simulate(args: Namespace, real: Path, rows: list[Point]) -> list[str]:
    """Runs the sim arm for every seed with a real result; what failed."""
    wanted = [(point, seeds_of(real, point)) for point in rows]
    return runs.run_rows(args, [(point, seeds) for point, seeds in wanted if seeds])


def pairs(sim: Path, adapted: Path, real: Path, rows: list[Point]) -> list[Pair]:
    """Those that both arms have results for."""
    found = []
    for point in rows:
        seeds = sorted(set(seeds_of(sim, point)) & set(seeds_of(real, point)))
        own = [seed for seed in seeds if seed in seeds_of(adapted, point)]
        read = lambda folder, of: [figures.result(folder, point, seed) for seed in of]
        if seeds:
            found.append(Pair(point, read(sim, seeds), read(adapted, own), read(real, seeds)))
    return found
