"""The tables, as Markdown between two marks of a document."""

from pathlib import Path

from .figures import UNKNOWN, documents, excess, middle, service, spread, worst_share_error
from .plan import LAG_POLICIES, LAGS, SERVICE_POLICIES, SERVICES, SHARE_POLICIES, SHARED, SWEEPS, Scenario, Sweep

BEGIN = "<!-- measured: tools/{tool} writes what stands between these marks -->"
END = "<!-- end of measured -->"


def replace_between_marks(document: Path, text: str, tool: str = "vm-results") -> None:
    """Puts the tables of a tool into the document; its prose stays."""
    old, begin = document.read_text(), BEGIN.format(tool=tool)
    if old.count(begin) != 1 or old.count(END) != 1:
        raise SystemExit(f"{tool}: {document}: the marks `{begin}` and `{END}` must stand there once")
    head, rest = old.split(begin)
    _, tail = rest.split(END)
    document.write_text(f"{head}{begin}\n\n{text}\n{END}{tail}")


def markdown(folder: Path) -> str:
    """All tables that there are results for."""
    parts = [service_table(folder, scenario) for scenario in SERVICES]
    parts += [lag_table(folder, scenario) for scenario in LAGS]
    parts += [share_table(folder, sweep) for sweep in SWEEPS]
    return "\n".join(part for part in parts if part)


def service_table(folder: Path, scenario: Scenario) -> str:
    """A service's tail under each policy."""
    name = scenario.quantile.replace("_", ".")
    head = [
        "policy", f"{name} / ideal", f"{name} ms", "p50 ms",
        "inversions by start", "by completion", "share", "due",
    ]
    return table(folder, scenario, SERVICE_POLICIES, head, lambda r: service_row(r, scenario.quantile))


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


def lag_table(folder: Path, scenario: Scenario) -> str:
    """Fairness under each policy."""
    head = [
        "policy", "lag s, least", "most", "share off its due by, %",
        "pulls a second", "migrations a second", "kernel",
    ]
    return table(folder, scenario, LAG_POLICIES, head, lambda r: lag_row(r, scenario))


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


def share_table(folder: Path, sweep: Sweep) -> str:
    """The tail of a service beside batch work of any share, over its tail alone."""
    rows = [share_row(folder, policy, sweep) for policy in SHARE_POLICIES]
    rows = [row for row in rows if row]
    head = ["policy", "p99 ms alone"] + [f"beside {percent}%" for percent in sweep.percents]
    duration = sweep.beside(0).duration
    title = f"{sweep.figure}, `{SHARED}`, {duration}: p99 over p99 alone, by the batch's share of the weight"
    return section(title, head + ["seeds"], rows) if rows else ""


def share_row(folder: Path, policy: str, sweep: Sweep) -> list[str]:
    """The tails under a policy; nothing before all are there."""
    results = {percent: documents(folder, scenario, policy) for percent, scenario in sweep.scenarios().items()}
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


def table(folder: Path, scenario: Scenario, policies, head, cells) -> str:
    """A table of the policies that have results; empty without any."""
    rows = []
    for policy in policies:
        results = documents(folder, scenario, policy)
        if results:
            rows.append([f"`{policy}`", *cells(results), str(len(results))])
    if not rows:
        return ""
    return section(f"`{scenario.name}`, {scenario.duration}", head + ["seeds"], rows)


def section(title: str, head: list[str], rows: list[list[str]]) -> str:
    """A table under its title."""
    lines = [head, ["---"] * len(head), *rows]
    body = "\n".join("| " + " | ".join(line) + " |" for line in lines)
    return f"### {title}\n\n{body}\n"
