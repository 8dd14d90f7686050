"""The tables of the story, as Markdown."""

from vm_results.figures import middle, spread
from vm_results.tables import section

from .plan import PARTS, Part, Step

HEAD = ["step", "p99.9 / ideal", "p99.9 ms", "ideal p99.9 ms", "p50 ms", "a request us", "busy", "seeds"]


# The results of steps, one a seed.
Found = dict[tuple[Part, Step], list[dict]]


def markdown(found: Found) -> str:
    """All tables that there are results for."""
    return "\n".join(filter(None, (table(found, part) for part in PARTS)))


def table(found: Found, part: Part) -> str:
    """A part's; empty without results."""
    known = [(step, found.get((part, step))) for step in part.steps]
    rows = [[step.name, *cells(results)] for step, results in known if results]
    return section(f"{part.title}: {part.rate} for {part.duration}", HEAD, rows) if rows else ""


def cells(found: list[dict]) -> list[str]:
    """The cells behind a step's name: medians of the seeds."""
    value_ms = lambda of, key: [one[of][key]["value"] / 1e6 for one in found]
    return [
        spread([one["excess_p99_9"] for one in found], 2),
        middle(value_ms("latency_ns", "p99_9"), 3),
        middle(value_ms("ideal_ns", "p99_9"), 3),
        middle(value_ms("latency_ns", "p50"), 3),
        middle([one["service_time"]["value_ns"] / 1e3 for one in found], 1),
        middle([one["utilisation"] for one in found], 2),
        str(len(found)),
    ]
