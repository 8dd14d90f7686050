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
    """How many figures keep the promise, by policy; latencies against the ideal and alone apart."""
    promised = [one for one in every if one.is_promised]
    policies = sorted({one.pair.point.policy for one in promised})
    kinds = {"latency / ideal": "/ ideal", "latency": ", ms", "inversions": "by ", "shares": "share"}
    rows = []
    for policy in policies:
        own = [one for one in promised if one.pair.point.policy == policy]
        cells = [score([one for one in own if kind in one.figure.name]) for kind in kinds.values()]
        rows.append([f"`{policy}`", score(own), *cells, str(len({one.pair.point for one in own}))])
    rows.append(["all", score(promised)] + [""] * (len(kinds) + 1))
    return "### Within the promise, by policy\n\n" + grid(["policy", "all figures", *kinds, "scenarios"], rows)


def score(of: list[Distance]) -> str:
    """`within of all`."""
    within = sum(1 for one in of if verdict(one) == "within")
    return f"{within} of {len(of)}" if of else UNKNOWN


def verdict(one: Distance) -> str:
    """Against the promise. Where an arm lost requests the figure is not known, which is no promise kept."""
    if one.times_allowed is None:
        return "unknown"
    return "within" if one.times_allowed <= 1.0 else "outside"


def outside(every: list[Distance]) -> str:
    """What breaks the promise, the worst first."""
    broken = [one for one in every if one.is_promised and verdict(one) != "within"]
    broken.sort(key=lambda one: -(one.times_allowed if one.times_allowed is not None else float("inf")))
    rows = [
        [f"`{one.pair.point.scenario.name}`", f"`{one.pair.point.policy}`", one.figure.name,
         number(one.sim), number(one.real), distance(one), number(one.times_allowed)]
        for one in broken
    ]
    head = ["scenario", "policy", "figure", "sim", "real", "distance", "times what is allowed"]
    return "### Outside, the worst first\n\n" + (grid(head, rows) if rows else "Nothing.\n")


def distance(one: Distance) -> str:
    """As the promise says it: a difference, or percent of the real one."""
    if one.sim is None or one.real is None:
        return UNKNOWN
    off = one.sim - one.real
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
    """Every figure of a scenario: `sim : real`, in bold outside the promise."""
    own = [one for one in every if one.pair.point.scenario == scenario]
    rows: dict[str, list[Distance]] = {}
    for one in own:
        rows.setdefault(one.pair.point.policy, []).append(one)
    if not rows:
        return ""
    first = next(iter(rows.values()))
    names = ["worst share" if one.figure.name.startswith("share") else one.figure.name for one in first]
    lines = [[f"`{policy}`", *map(cell, row), str(len(row[0].pair.real))] for policy, row in rows.items()]
    return f"### `{scenario.name}`, {scenario.duration}, sim : real\n\n" + grid(["policy", *names, "seeds"], lines)


def cell(one: Distance) -> str:
    """Both arms."""
    text = f"{number(one.sim)} : {number(one.real)}"
    return f"**{text}**" if one.is_promised and verdict(one) != "within" else text


def number(value: float | None) -> str:
    """Four digits, or what is needed before the point."""
    if value is None:
        return UNKNOWN
    return f"{value:.0f}" if abs(value) >= 100 else f"{value + 0.0:.3g}"


def grid(head: list[str], rows: list[list[str]]) -> str:
    """A Markdown table."""
    lines = [head, ["---"] * len(head), *rows]
    return "\n".join("| " + " | ".join(line) + " |" for line in lines) + "\n"
