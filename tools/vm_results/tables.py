"""The tables, as Markdown between two marks of a document."""

from pathlib import Path

from experiment import around_marks, grid

from .figures import UNKNOWN, excess, middle, service, spread, worst_share_error
from .plan import (
    LAG_POLICIES, LAGS, SERVICE_POLICIES, SERVICES, SHARE_POLICIES, SHARED, SWEEPS, Found, Point, Scenario, Sweep,
)

TOOL = "vm-results"
Standing = dict[str, dict[str, list[str]]]


def standing(document: Path) -> Standing:
    """The rows of a document's tables by title and policy: they stay where there are no results to write them anew."""
    rows: Standing = {}
    title = ""
    for line in around_marks(document, TOOL)[1].splitlines():
        if line.startswith("### "):
            title = line.removeprefix("### ")
        elif line.startswith("| `"):
            cells = [cell.strip() for cell in line.strip("|").split("|")]
            rows.setdefault(title, {})[cells[0].strip("`")] = cells
    return rows


def markdown(found: Found, old: Standing) -> str:
    """All tables that there are results or rows for."""
    parts = [service_table(found, scenario, old) for scenario in SERVICES]
    parts += [lag_table(found, scenario, old) for scenario in LAGS]
    parts += [share_table(found, sweep, old) for sweep in SWEEPS]
    return "\n".join(part for part in parts if part)


def service_table(found: Found, scenario: Scenario, old: Standing) -> str:
    """A service's tail under each policy."""
    name = scenario.quantile.replace("_", ".")
    head = [
        "policy", f"{name} / ideal", f"{name} ms", "p50 ms",
        "inversions by start", "by completion", "share", "due",
    ]
    return table(found, scenario, scenario.policies(SERVICE_POLICIES), head, lambda r: service_row(r, scenario.quantile), old)


def service_row(results: list[dict], quantile: str) -> list[str]:
    """The cells behind a policy's name."""
    services = [service(result) for result in results]
    latency_ms = lambda key: [scaled(one["latency_ns"][key]["value"], 1e-6) for one in services]
    group = [own_group(result) for result in results]
    return [
        spread([excess(result, quantile) for result in results], 2),
        middle(latency_ms(quantile), 1),
        middle(latency_ms("p50"), 2),
        middle([one["inversions_per_request"] for one in services], 3),
        middle([one["completion_inversions_per_request"] for one in services], 3),
        middle([one.get("share") for one in group], 3),
        middle([one.get("due_share") for one in group], 3),
    ]


def own_group(result: dict) -> dict:
    """The group of the service, or nothing."""
    name = service(result)["name"]
    return next((group for group in result["groups"] if group["name"] == name), {})


def lag_table(found: Found, scenario: Scenario, old: Standing) -> str:
    """Fairness under each policy."""
    head = [
        "policy", "lag s, least", "most", "share off its due by, %",
        "pulls a second", "migrations a second", "kernel",
    ]
    return table(found, scenario, scenario.policies(LAG_POLICIES), head, lambda r: lag_row(r, scenario), old)


def lag_row(results: list[dict], scenario: Scenario) -> list[str]:
    """The cells behind a policy's name."""
    seconds = float(scenario.duration.removesuffix("s"))
    lag = lambda key: [result["threads_lag_s"] and result["threads_lag_s"][key] for result in results]
    return [
        spread(lag("min"), 3),
        spread(lag("max"), 3),
        spread([worst_share_error(result) for result in results], 2),
        middle([result["pulls_per_s"] for result in results], 1),
        middle([scaled(result["migrations"], 1 / seconds) for result in results], 0),
        results[0]["kernel"] or UNKNOWN,
    ]


def share_table(found: Found, sweep: Sweep, old: Standing) -> str:
    """The tail of a service beside batch work of any share, over its tail alone."""
    rows = {policy: share_row(found, policy, sweep) for policy in SHARE_POLICIES}
    head = ["policy", "p99 ms alone"] + [f"beside {percent}%" for percent in sweep.percents]
    duration = sweep.beside(0).duration
    title = f"{sweep.figure}, `{SHARED}`, {duration}: p99 over p99 alone, by the batch's share of the weight"
    return merged(title, head, rows, old)


def share_row(found: Found, policy: str, sweep: Sweep) -> list[str]:
    """The tails under a policy; nothing before all are there."""
    results = {percent: documents(found, scenario, policy) for percent, scenario in sweep.scenarios().items()}
    if not all(results.values()):
        return []
    p99_ms = lambda result: scaled(service(result)["latency_ns"]["p99"]["value"], 1e-6)
    tails = {percent: [p99_ms(result) for result in ones] for percent, ones in results.items()}
    alone = tails.pop(0)
    ratio = lambda pair: None if None in pair else pair[0] / pair[1]
    ratios = [spread(list(map(ratio, zip(tail, alone))), 2) for tail in tails.values()]
    return [f"`{policy}`", middle(alone, 2), *ratios, str(len(alone))]


def scaled(value, factor: float):
    """Its product; unknown stays unknown."""
    return None if value is None else value * factor


def table(found: Found, scenario: Scenario, policies, head, cells, old: Standing) -> str:
    """A table of policies in a scenario."""
    results = {policy: documents(found, scenario, policy) for policy in policies}
    rows = {
        policy: [f"`{policy}`", *cells(ones), str(len(ones))] if ones else []
        for policy, ones in results.items()
    }
    return merged(f"`{scenario.name}`, {scenario.duration}", head, rows, old)


def merged(title: str, head: list[str], rows: dict[str, list[str]], old: Standing) -> str:
    """A table in which a policy without results keeps the row that stands. Empty without any."""
    head = [*head, "seeds"]
    kept = {policy: cells for policy, cells in old.get(title, {}).items() if len(cells) == len(head)}
    lines = [cells or kept.get(policy) for policy, cells in rows.items()]
    return section(title, head, [line for line in lines if line]) if any(lines) else ""


def section(title: str, head: list[str], rows: list[list[str]]) -> str:
    """A table under its title."""
    return f"### {title}\n\n{grid(head, rows)}"


def documents(found: Found, scenario: Scenario, policy: str) -> list[dict]:
    """The results of a policy, one a seed."""
    return list(found.get(Point(scenario, policy), {}).values())
