"""What is measured: scenarios, policies, how long, which seeds."""

from dataclasses import dataclass
from pathlib import Path

# One first come, first served queue for the machine.
GLOBAL_FIFO = "global"
SERVICE_POLICIES = (
    f"rearguard,eevdf,cfs,cts,gvts,fifo,dwrr,credit,rr,{GLOBAL_FIFO},cts:queue=cpu,scx_lavd,scx_flash,scx_beerland"
).split(",")
LAG_POLICIES = (
    f"rearguard,eevdf,cfs,gvts,cts,dwrr,credit,{GLOBAL_FIFO},scx_lavd,scx_flash,scx_beerland"
).split(",")


# What runs a service beside batch work today, and the paper whose figure that is.
SHARE_POLICIES = ("rearguard", "eevdf", "cfs", "gvts")


@dataclass(frozen=True)
class Scenario:
    """A shipped scenario, how long it is measured, values that take the place of its own, and ours without a rule that it needs."""

    name: str
    duration: str
    quantile: str = "p99_9"
    changes: tuple[tuple[str, object], ...] = ()
    controls: tuple[str, ...] = ()

    def policies(self, all_of: list[str]) -> list[str]:
        """What it is measured under: those of its kind and its controls."""
        return [*all_of, *self.controls]


def without(*options: str) -> tuple[str, ...]:
    """Ours, each time with one rule off."""
    return tuple(f"rearguard:{option}" for option in options)


# So long that 20 requests or more lie beyond the quantile, of five seeds together.
SERVICES = (
    Scenario("null-rpc", "5s", controls=without("order=lcfs")),
    Scenario("service-and-batch", "8s", controls=without("preempt=off", "wakeup_credit=off")),
    Scenario("greedy-service", "5s", controls=without("fair=process")),
    Scenario("long-service", "10s", "p99", controls=without("requeue=tail")),
    Scenario("four-cpus", "4s"),
    Scenario("four-cpus-and-batch", "5s", controls=without("preempt=off", "wakeup_credit=off", "queue=cpu")),
    Scenario("wake-up-storm", "6s"),
)
LAGS = (
    Scenario("twenty-processes", "10s"),
    Scenario("gvts-fig8", "10s", controls=without("sticky=off")),
    Scenario("gvts-fig9", "10s"),
    Scenario("gvts-fig7", "10s", controls=without("balance=steal")),
    Scenario("infeasible-weight", "10s"),
    Scenario("gvts-fig16-on-16", "10s"),
    Scenario("gvts-fig17-on-16", "10s"),
    Scenario("sleeping-siblings", "10s"),
    Scenario("napping-spinner", "10s", controls=without("burst_limit=off")),
    Scenario("weights-nice-5", "10s"),
    Scenario("weights-nice-19", "10s"),
    Scenario("weights-one-of-three", "10s"),
    Scenario("weights-groups", "10s"),
    Scenario("weights-nested", "10s"),
    Scenario("weights-nice-5-on-4", "10s"),
    Scenario("weights-nice-19-on-4", "10s"),
    Scenario("weights-one-of-three-on-4", "10s"),
    Scenario("weights-groups-on-4", "10s"),
    Scenario("weights-nested-on-4", "10s"),
)
SHARED = "batch-share-on-4"
# A daemon that sleeps is no batch work.
ALONE = (("program.batch.kind", "daemon"), ("program.batch.run", "1us"), ("program.batch.sleep", "1s"))


@dataclass(frozen=True)
class Sweep:
    """A service beside batch work that is given more and more of the weight, up to where the service's own demand is touched and beyond."""

    figure: str
    percents: tuple[int, ...]
    service: tuple[tuple[str, object], ...] = ()

    def beside(self, percent: int) -> Scenario:
        """The service beside batch work that is given so much of the weight; of nothing: alone."""
        weights = (("group.service.weight", 100 - percent), ("group.batch.weight", percent))
        return Scenario(SHARED, "6s", "p99", self.service + (weights if percent else ALONE))

    def scenarios(self) -> dict[int, Scenario]:
        """By the percentage, the service alone first."""
        return {percent: self.beside(percent) for percent in (0, *self.percents)}


# The service wants 15%, and breaks beyond 85%; then 78%, and breaks beyond 22%.
SWEEPS = (
    Sweep("GVTS Figure 18", (10, 30, 50, 70, 80, 90)),
    Sweep(
        "GVTS Figure 19",
        (5, 10, 15, 20, 30),
        (
            ("program.service.connections", 64),
            ("program.service.arrivals.utilisation", 0.78),
            # A guest's generator is not fast enough for as many requests of 2 ms.
            ("program.service.service_time", "3ms"),
        ),
    ),
)
SHARES = [scenario for sweep in SWEEPS for scenario in sweep.scenarios().values()]


@dataclass(frozen=True)
class Point:
    """A scenario under a policy: a row of a table."""

    scenario: Scenario
    policy: str

    def grid(self, seeds, file: Path | None = None) -> dict:
        """It in a plan, a run a seed; a file stands for the shipped one."""
        shipped = Path(f"scenarios/{self.scenario.name}.toml")
        values = {key: [value] for key, value in self.scenario.changes}
        values |= {"duration": [self.scenario.duration], "seeds": [[seed] for seed in seeds]}
        return {"scenario": str((file or shipped).resolve()), "policies": self.policy, "values": values}


# The results of rows, by seed.
Found = dict[Point, dict[int, dict]]


def points(scenarios, policies_of) -> list[Point]:
    """All of them, the worthiest first: each scenario under the first policy named for it, then under the second, ..."""
    rows = [(rank, Point(one, policy)) for one in scenarios for rank, policy in enumerate(policies_of(one))]
    return [point for _, point in sorted(rows, key=lambda row: row[0])]
