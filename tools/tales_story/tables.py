"""The tables of the story, as Markdown."""

import json
from pathlib import Path

from vm_results.figures import middle, spread
from vm_results.tables import section

from .plan import PARTS, Part, Step

HEAD = ["step", "p99.9 / ideal", "p99.9 ms", "ideal p99.9 ms", "p50 ms", "a request us", "busy", "seeds"]


def markdown(folder: Path) -> str:
    """All tables that there are results for."""
    return "\n".join(filter(None, (table(folder, part) for part in PARTS)))


def table(folder: Path, part: Part) -> str:
    """A part's; empty without results."""
    known = [(step, results(folder, part, step)) for step in part.steps]
    rows = [[step.name, *cells(found)] for step, found in known if found]
    return section(f"{part.title}: {part.rate} for {part.duration}", HEAD, rows) if rows else ""


def results(folder: Path, part: Part, step: Step) -> list[dict]:
    """The results of a step, one a seed."""
    files = sorted((folder / part.file(step, 1)).parent.glob("*.json"))
    return [json.loads(file.read_text()) for file in files]


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
