"""Distances between the arms, figure by figure, and what is promised of them."""

from dataclasses import dataclass
from statistics import median
from typing import Callable

from ..figures import excess, service
from ..plan import SERVICES, Scenario
from .pairs import Pair

CLASSES = ("cfs", "eevdf")


@dataclass(frozen=True)
class Figure:
    """A quantity of a result, and how far the arms may be apart."""

    name: str
    read: Callable[[dict], float | None]
    # As a part of the real one; for the default classes; or as a difference. Neither: no promise.
    part: float | None = None
    part_of_classes: float | None = None
    difference: float | None = None


@dataclass(frozen=True)
class Distance:
    """A figure on both arms: medians over the same seeds. What needs no adapting is adapted as it is."""

    pair: Pair
    figure: Figure
    sim: float | None
    adapted: float | None
    real: float | None

    @property
    def allowed(self) -> float | None:
        """How far apart they may be, in the figure's unit."""
        figure = self.figure
        is_class = self.pair.point.policy in CLASSES
        part = figure.part_of_classes if is_class and figure.part_of_classes else figure.part
        known = [figure.difference] if figure.difference is not None else []
        if part is not None and self.real is not None:
            known.append(part * abs(self.real))
        return max(known) if known else None

    def times_allowed(self, simulated: float | None) -> float | None:
        """The distance over what is allowed: above 1 it is outside. Unknown where an arm lost requests."""
        if simulated is None or self.real is None or self.allowed is None:
            return None
        off = abs(simulated - self.real)
        return off / self.allowed if self.allowed else (float("inf") if off else 0.0)

    @property
    def is_promised(self) -> bool:
        """Whether anything is said of this figure."""
        return (self.figure.part, self.figure.difference) != (None, None)


def latency_ms(quantile: str) -> Callable[[dict], float | None]:
    """A quantile of the service."""

    def read(result: dict) -> float | None:
        value = service(result)["latency_ns"][quantile]["value"]
        return None if value is None else value * 1e-6

    return read


def quantile_figures(scenario: Scenario) -> list[Figure]:
    """Those that enough requests lie beyond: against the ideal of the same arrivals, and alone."""
    parts = {"p50": 0.10, "p99": 0.10, "p99_9": 0.20}
    names = [one for one in parts if scenario.quantile == "p99_9" or one != "p99_9"]
    shown = lambda one: one.replace("_", ".")
    over = [
        Figure(f"{shown(one)} / ideal", lambda r, one=one: excess(r, one), parts[one], 0.25) for one in names
    ]
    return over + [Figure(f"{shown(one)}, ms", latency_ms(one), parts[one], 0.25) for one in names]


def service_figures(scenario: Scenario) -> list[Figure]:
    """What is compared where there is a service."""
    by = lambda key: lambda result: service(result)[key]
    return quantile_figures(scenario) + [
        Figure("inversions by start", by("inversions_per_request"), None, 0.25, 0.1),
        Figure("by completion", by("completion_inversions_per_request"), None, 0.25, 0.1),
    ]


def rate(key: str, scenario: Scenario) -> Callable[[dict], float | None]:
    """A count a second."""
    seconds = float(scenario.duration.removesuffix("s"))
    return lambda result: None if result[key] is None else result[key] / seconds


def lag_figures() -> list[Figure]:
    """How far threads are ahead and behind."""
    of = lambda end: lambda result: (result["threads_lag_s"] or {}).get(end)
    return [Figure("lag s, least", of("min")), Figure("lag s, most", of("max"))]


def share_figures(pair: Pair) -> list[Figure]:
    """The share of every group."""
    names = [group["name"] for group in pair.real[0]["groups"]]
    return [Figure(f"share of {name}", lambda r, name=name: share(r, name), 0.02) for name in names]


def share(result: dict, name: str) -> float | None:
    """What a group received of the machine."""
    return next((one["share"] for one in result["groups"] if one["name"] == name), None)


def distances(pair: Pair) -> list[Distance]:
    """Every figure of a pair; of the shares the one that is furthest off."""
    scenario = pair.point.scenario
    own = service_figures(scenario) if scenario in SERVICES else lag_figures()
    work = [Figure("switches a second", rate("switches", scenario))]
    work.append(Figure("migrations a second", rate("migrations", scenario)))
    shares = [measured(pair, figure) for figure in share_figures(pair)]
    worst = sorted(shares, key=lambda one: -(one.times_allowed(one.sim) or 0.0))[:1]
    return [measured(pair, figure) for figure in own] + worst + [measured(pair, figure) for figure in work]


def measured(pair: Pair, figure: Figure) -> Distance:
    """Its medians. One seed without a value leaves none: lost requests are not to be left out."""
    values = lambda results: [figure.read(result) for result in results]
    middle = lambda all_of: None if None in all_of or not all_of else median(all_of)
    arms = (pair.sim, pair.adapted or pair.sim, pair.real)
    return Distance(pair, figure, *(middle(values(results)) for results in arms))
