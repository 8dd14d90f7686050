"""What is said of a scenario under a policy: a line of its table, and lines of what is outside; of results, or as they stand in the document."""

import re
from dataclasses import dataclass
from pathlib import Path

from experiment import around_marks

from ..figures import UNKNOWN
from ..plan import Scenario
from .distances import Distance, distances
from .pairs import Pair

TITLE = re.compile(r"### `(.+)`, (.+)")
TOOL = "fidelity"
OUTSIDE = "### Outside, the worst first"


@dataclass(frozen=True)
class Row:
    """The cells of each, as they are written."""

    names: list[str]
    figures: list[str]
    seeds: str
    outside: list[list[str]]

    def line(self, policy: str) -> list[str]:
        """That of the scenario's table."""
        return [f"`{policy}`", *self.figures, self.seeds]


# By title and policy.
Rows = dict[tuple[str, str], Row]


def of_pairs(pairs: list[Pair]) -> Rows:
    """What was measured and simulated."""
    return {(title(pair.point.scenario), pair.point.policy): of_pair(pair) for pair in pairs}


def title(scenario: Scenario) -> str:
    """Of a scenario's table."""
    return f"`{scenario.name}`, {scenario.duration}"


def of_pair(pair: Pair) -> Row:
    """Every figure; simulated ones in bold outside the promise."""
    every = distances(pair)
    names = ["worst share" if one.figure.name.startswith("share") else one.figure.name for one in every]
    kept = lambda one: is_within(one, one.sim) and is_within(one, one.adapted)
    broken = [one for one in every if one.is_promised and not kept(one)]
    return Row(names, [cell(one) for one in every], str(len(pair.real)), [outside(one) for one in broken])


def standing(document: Path) -> Rows:
    """What the document says."""
    rows: Rows = {}
    broken: dict[tuple[str, str], list[list[str]]] = {}
    section, head = "", []
    for line in around_marks(document, TOOL)[1].splitlines():
        cells = [cell.strip() for cell in line.strip("|").split("|")]
        if line.startswith("### "):
            section = line
        elif line.startswith("| policy |"):
            head = cells
        elif line.startswith("| `") and section == OUTSIDE:
            broken.setdefault((cells[0].strip("`"), cells[1].strip("`")), []).append(cells)
        elif line.startswith("| `") and (found := TITLE.fullmatch(section)):
            policy = cells[0].strip("`")
            own = broken.get((found[1], policy), [])
            rows[section.removeprefix("### "), policy] = Row(head[1:-1], cells[1:-1], cells[-1], own)
    return rows


def merged(old: Rows, new: Rows) -> Rows:
    """The new ones, and old ones where there are none, but of other columns."""
    names = {title: row.names for (title, _), row in new.items()}
    kept = {key: row for key, row in old.items() if names.get(key[0], row.names) == row.names}
    return {**kept, **new}


def is_within(one: Distance, simulated: float | None) -> bool:
    """Against the promise. Where an arm lost requests the figure is not known, which is no promise kept."""
    times = one.times_allowed(simulated)
    return times is not None and times <= 1.0


def outside(one: Distance) -> list[str]:
    """The cells of a broken promise."""
    point = one.pair.point
    said = [f"`{point.scenario.name}`", f"`{point.policy}`", one.figure.name, number(one.real)]
    return [*said, *against(one, one.sim), *against(one, one.adapted)]


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
