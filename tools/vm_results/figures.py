"""Figures out of results: medians over seeds, and their spread."""

from argparse import Namespace
from statistics import median

import experiment

from .plan import Found, Point

UNKNOWN = "-"


def found(args: Namespace, rows: dict[Point, list[int]], on: str, minutes: int | None, files=None) -> tuple[Found, bool]:
    """What an arm found for the seeds of rows, and whether all went well; measures what is missing."""
    rows = {point: seeds for point, seeds in rows.items() if seeds}
    grids = [point.grid(seeds, (files or {}).get(point)) for point, seeds in rows.items()]
    results, well = experiment.run(args, grids, on, minutes)
    single = lambda of: {seed: pooled for seed, (pooled, _) in sorted(of.items())}
    return {point: single(of) for point, of in zip(rows, results) if of}, well


def service(result: dict) -> dict:
    """Its service."""
    return next(program for program in result["programs"] if program["kind"] == "service")


def excess(result: dict, quantile: str) -> float | None:
    """A quantile over the ideal's, of the same arrivals. A request that never came back has no ratio."""
    program = service(result)
    measured = program["latency_ns"][quantile]["value"]
    ideal = program["ideal_ns"][quantile]["value"]
    return None if measured is None else measured / ideal


def spread(values: list, digits: int) -> str:
    """`median (least to most)`; a single value alone."""
    known = [value for value in values if value is not None]
    if len(known) < len(values) or not known:
        return UNKNOWN
    middle, least, most = (rounded(x, digits) for x in (median(known), min(known), max(known)))
    return middle if least == most else f"{middle} ({least} to {most})"


def middle(values: list, digits: int) -> str:
    """The median alone."""
    known = [value for value in values if value is not None]
    return rounded(median(known), digits) if known and len(known) == len(values) else UNKNOWN


def rounded(value: float, digits: int) -> str:
    """In so many digits, and no negative zero."""
    return f"{round(value, digits) + 0.0:.{digits}f}"


def worst_share_error(result: dict) -> float | None:
    """How far the share of a group is from its due, at most, in percent of its due; its programs where there are no groups."""
    errors = [
        abs(group["share"] / group["due_share"] - 1.0) * 100.0
        for group in result["groups"]
        if group["share"] is not None and group["due_share"]
    ]
    return max(errors) if errors else None
