"""The distances as Markdown: counts by policy, what is outside, and everything by scenario."""

from ..figures import UNKNOWN
from ..plan import LAGS, SERVICES, Point, Scenario
from .distances import Distance, distances
from .pairs import Pair


def markdown(pairs: list[Pair], missing: list[Point]) -> str:
    """All of it."""
    every = [one for pair in pairs for one in distances(pair)]
    parts = [summary(every), outside(every), absent(missing)]
    parts += [by_scenario(every, scenario) for scenario in SERVICES + LAGS]
    return "\n".join(part for part in parts if part)


def summary(every: list[Distance]) -> str:
    """How many figures keep the promise, by policy, and on the guest's machine."""
    promised = [one for one in every if one.is_promised]
    policies = sorted({one.pair.point.policy for one in promised})
    of = lambda policy: [one for one in promised if policy in (one.pair.point.policy, "all")]
    rows = [[f"`{policy}`", *scores(of(policy))] for policy in policies]
    head = ["policy", "scenarios", "as it is", "on the guest's machine", *KINDS]
    return "### Within the promise, by policy\n\n" + grid(head, rows + [["all", *scores(of("all"))]])


# Of the figures on the guest's machine, by what their names contain.
KINDS = {"latency / ideal": "/ ideal", "latency": ", ms", "inversions": "by ", "shares": "share"}


def scores(of: list[Distance]) -> list[str]:
    """A policy's counts."""
    adapted = [score([one for one in of if kind in one.figure.name], True) for kind in KINDS.values()]
    return [str(len({one.pair.point.scenario for one in of})), score(of, False), score(of, True), *adapted]


def score(of: list[Distance], is_adapted: bool) -> str:
    """`within of all`."""
    within = sum(1 for one in of if is_within(one, one.adapted if is_adapted else one.sim))
    return f"{within} of {len(of)}" if of else UNKNOWN


def is_within(one: Distance, simulated: float | None) -> bool:
    """Against the promise. Where an arm lost requests the figure is not known, which is no promise kept."""
    times = one.times_allowed(simulated)
    return times is not None and times <= 1.0


def outside(every: list[Distance]) -> str:
    """What breaks the promise, the worst first."""
    kept = lambda one: is_within(one, one.sim) and is_within(one, one.adapted)
    broken = [one for one in every if one.is_promised and not kept(one)]
    broken.sort(key=lambda one: [-worst(one, one.adapted), -worst(one, one.sim)])
    rows = [
        [f"`{one.pair.point.scenario.name}`", f"`{one.pair.point.policy}`", one.figure.name, number(one.real),
         *against(one, one.sim), *against(one, one.adapted)]
        for one in broken
    ]
    head = ["scenario", "policy", "figure", "real", "sim", "distance", "times allowed"]
    head += ["on the guest's machine", "distance", "times allowed"]
    return "### Outside, the worst first\n\n" + (grid(head, rows) if rows else "Nothing.\n")


def worst(one: Distance, simulated: float | None) -> float:
    """What is unknown comes first."""
    times = one.times_allowed(simulated)
    return float("inf") if times is None else times


def against(one: Distance, simulated: float | None) -> list[str]:
    """A simulated figure against the real one."""
    times = one.times_allowed(simulated)
    return [number(simulated), distance(one, simulated), UNKNOWN if times is None else f"{times:.2f}"]


def distance(one: Distance, simulated: float | None) -> str:
    """As the promise says it: a difference, or percent of the real one."""
    if simulated is None or one.real is None:
        return UNKNOWN
    off = simulated - one.real
    if one.figure.difference is not None or not one.real:
        return f"{off:+.3f}"
    return f"{100.0 * off / abs(one.real):+.1f}%"


def absent(missing: list[Point]) -> str:
    """What is planned and not measured."""
    if not missing:
        return ""
    by: dict[str, list[str]] = {}
    for point in missing:
        by.setdefault(point.scenario.name, []).append(f"`{point.policy}`")
    lines = [f"* `{name}`: {', '.join(policies)}" for name, policies in by.items()]
    return "### Not measured on a real kernel yet\n\n" + "\n".join(lines) + "\n"


def by_scenario(every: list[Distance], scenario: Scenario) -> str:
    """Every figure of a scenario; simulated ones in bold outside the promise."""
    own = [one for one in every if one.pair.point.scenario == scenario]
    rows: dict[str, list[Distance]] = {}
    for one in own:
        rows.setdefault(one.pair.point.policy, []).append(one)
    if not rows:
        return ""
    first = next(iter(rows.values()))
    names = ["worst share" if one.figure.name.startswith("share") else one.figure.name for one in first]
    lines = [[f"`{policy}`", *map(cell, row), str(len(row[0].pair.real))] for policy, row in rows.items()]
    return f"### `{scenario.name}`, {scenario.duration}\n\n" + grid(["policy", *names, "seeds"], lines)


def cell(one: Distance) -> str:
    """`sim (on the guest's machine) : real`."""
    shown = lambda x: f"**{number(x)}**" if one.is_promised and not is_within(one, x) else number(x)
    adapted = f" ({shown(one.adapted)})" if one.pair.adapted else ""
    return f"{shown(one.sim)}{adapted} : {number(one.real)}"


def number(value: float | None) -> str:
    """Four digits, or what is needed before the point."""
    if value is None:
        return UNKNOWN
    return f"{value:.0f}" if abs(value) >= 100 else f"{value + 0.0:.3g}"


def grid(head: list[str], rows: list[list[str]]) -> str:
    """A Markdown table."""
    lines = [head, ["---"] * len(head), *rows]
    return "\n".join("| " + " | ".join(line) + " |" for line in lines) + "\n"
