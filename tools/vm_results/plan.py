"""What is measured: scenarios, policies, how long, which seeds."""

from dataclasses import dataclass

from . import marks

SERVICE_POLICIES = (
    "cfs,eevdf,fifo,rr,cts,cts:queue=cpu,gvts,rearguard,dwrr,credit,scx_lavd,scx_flash,scx_beerland"
).split(",")
LAG_POLICIES = "cfs,eevdf,cts,gvts,rearguard,dwrr,credit,scx_lavd,scx_flash,scx_beerland".split(",")


@dataclass(frozen=True)
class Scenario:
    """A shipped scenario and how long it is measured."""

    name: str
    duration: str
    quantile: str = "p99_9"


# So long that 20 requests or more lie beyond the quantile, of five seeds together.
SERVICES = (
    Scenario("null-rpc", "5s"),
    Scenario("service-and-batch", "8s"),
    Scenario("greedy-service", "5s"),
    Scenario("long-service", "10s", "p99"),
    Scenario("four-cpus", "4s"),
    Scenario("four-cpus-and-batch", "5s"),
)
LAGS = (
    Scenario("gvts-fig8", "10s"),
    Scenario("gvts-fig9", "10s"),
    Scenario("gvts-fig7", "10s"),
    Scenario("infeasible-weight", "10s"),
    Scenario("weights-nice-5", "10s"),
    Scenario("weights-nice-19", "10s"),
    Scenario("weights-one-of-three", "10s"),
    Scenario("weights-groups", "10s"),
    Scenario("weights-nested", "10s"),
    Scenario("weights-nice-5-on-4", "10s"),
    Scenario("weights-groups-on-4", "10s"),
    Scenario("weights-nested-on-4", "10s"),
)


@dataclass(frozen=True)
class Point:
    """One run: a scenario under a policy with a seed."""

    scenario: Scenario
    policy: str
    seed: int

    def folder(self) -> str:
        """Where its results of all seeds are kept."""
        policy = self.policy.replace(":", "-").replace("=", "-")
        scenario = self.scenario.name
        parts = [policy, marks.of_policy(self.policy)]
        return f"{scenario}-{marks.of_scenario(scenario)}/{'-'.join(filter(None, parts))}"

    def file(self) -> str:
        """Where its result is kept."""
        return f"{self.folder()}/{self.scenario.duration}-{self.seed}.json"


def points(scenarios, policies, seeds):
    """All of them, seed by seed, so that an early end leaves whole tables of fewer seeds."""
    return [
        Point(scenario, policy, seed)
        for seed in seeds
        for scenario in scenarios
        for policy in policies(scenario)
    ]
