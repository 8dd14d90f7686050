"""The distances as Markdown: counts by policy, what is outside, and everything by scenario."""

from experiment import grid

from ..figures import UNKNOWN
from ..plan import LAGS, SERVICES, Point, Scenario
from .rows import OUTSIDE, Row, Rows, title

# What is promised, by what its name contains.
KINDS = {"latency / ideal": "/ ideal", "latency": ", ms", "inversions": "by ", "shares": "share"}


def markdown(rows: Rows, planned: list[Point]) -> str:
    """All of it, in the order of the plan."""
    known = {point: rows[key] for point in planned if (key := (title(point.scenario), point.policy)) in rows}
    missing = [point for point in planned if point not in known]
    parts = [summary(known), outside(known), absent(missing)]
    parts += [by_scenario(known, scenario) for scenario in SERVICES + LAGS]
    return "\n".join(part for part in parts if part)


def summary(known: dict[Point, Row]) -> str:
    """How many figures keep the promise, by policy, and on the guest's machine."""
    of = lambda policy: {point: row for point, row in known.items() if policy in (point.policy, "all")}
    rows = [[f"`{policy}`", *scores(of(policy))] for policy in sorted({point.policy for point in known})]
    head = ["policy", "scenarios", "as it is", "on the guest's machine", *KINDS]
    return "### Within the promise, by policy\n\n" + grid(head, rows + [["all", *scores(of("all"))]])


def scores(of: dict[Point, Row]) -> list[str]:
    """A policy's counts: by kinds of those on the guest's machine."""
    cells = [pair for row in of.values() for pair in zip(row.names, row.figures)]
    kinds = [[cell for name, cell in cells if kind in name] for kind in KINDS.values()]
    every = sum(kinds, [])
    return [str(len({point.scenario for point in of})), score(every, 0), score(every, -1), *(score(kind, -1) for kind in kinds)]


def score(cells: list[str], which: int) -> str:
    """`within of all`, of the first or the last simulated figure of each."""
    within = sum("**" not in cell.split(" : ")[0].split(" (")[which] for cell in cells)
    return f"{within} of {len(cells)}" if cells else UNKNOWN


def outside(known: dict[Point, Row]) -> str:
    """What breaks the promise, the worst first."""
    worst = lambda cell: float("inf") if cell == UNKNOWN else float(cell)
    rows = sorted((cells for row in known.values() for cells in row.outside), key=lambda cells: (-worst(cells[9]), -worst(cells[6])))
    head = ["scenario", "policy", "figure", "real", "sim", "distance", "times allowed"]
    head += ["on the guest's machine", "distance", "times allowed"]
    return f"{OUTSIDE}\n\n" + (grid(head, rows) if rows else "Nothing.\n")


def absent(missing: list[Point]) -> str:
    """What is planned and not measured."""
    if not missing:
        return ""
    by: dict[str, list[str]] = {}
    for point in missing:
        by.setdefault(point.scenario.name, []).append(f"`{point.policy}`")
    lines = [f"* `{name}`: {', '.join(policies)}" for name, policies in by.items()]
    return "### Not measured on a real kernel yet\n\n" + "\n".join(lines) + "\n"


def by_scenario(known: dict[Point, Row], scenario: Scenario) -> str:
    """Every figure of a scenario."""
    rows = {point.policy: row for point, row in known.items() if point.scenario == scenario}
    if not rows:
        return ""
    names = next(iter(rows.values())).names
    lines = [row.line(policy) for policy, row in rows.items()]
    return f"### {title(scenario)}\n\n" + grid(["policy", *names, "seeds"], lines)
