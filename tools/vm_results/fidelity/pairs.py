"""The same scenario, policy and seeds on both arms."""

from dataclasses import dataclass

from ..plan import LAG_POLICIES, LAGS, SERVICE_POLICIES, SERVICES, Found, Point, points


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


def pairs(sim: Found, adapted: Found, real: Found, rows: list[Point]) -> list[Pair]:
    """Those that both arms have results for."""
    found = []
    for point in rows:
        seeds = common(sim, real, point)
        own = [seed for seed in seeds if seed in adapted.get(point, {})]
        read = lambda of, seeds: [of[point][seed] for seed in seeds]
        if seeds:
            found.append(Pair(point, read(sim, seeds), read(adapted, own), read(real, seeds)))
    return found


def common(one: Found, other: Found, point: Point) -> list[int]:
    """The seeds that both have results for."""
    return sorted(one.get(point, {}).keys() & other.get(point, {}).keys())
