"""Rows that are measured: the missing seeds of each in one guest, since its boot takes as long as several runs."""

import json
import subprocess
import sys
import time
from argparse import Namespace
from concurrent.futures import ThreadPoolExecutor

from .plan import Point

# A guest that hangs is the lab's to end; this is for a machine that is too busy to.
LONGEST_S = 3 * 3600


def todo(args: Namespace, points: list[Point]) -> list[tuple[Point, list[int]]]:
    """The rows that are not complete, with their missing seeds, in the order of the points."""
    rows = [(point, point.missing(args.folder, range(1, args.seeds + 1))) for point in points]
    return [(point, seeds) for point, seeds in rows if seeds]


def run_all(args: Namespace, points: list[Point]) -> list[str]:
    """Measures what is missing; what failed, a line each."""
    rows = todo(args, points)
    print(f"{len(points)} rows, {len(rows)} of them to complete", file=sys.stderr)
    return run_rows(args, rows)


def run_rows(args: Namespace, rows: list[tuple[Point, list[int]]]) -> list[str]:
    """Measures rows, so many at once, until the time is over; what failed, a line each."""
    end = time.monotonic() + 60 * args.minutes if args.minutes else float("inf")
    left = []

    def attempt(row: tuple[Point, list[int]]) -> str | None:
        if time.monotonic() < end:
            return run(args, *row)
        left.append(row)
        return None

    with ThreadPoolExecutor(args.jobs) as pool:
        outcomes = list(pool.map(attempt, rows))
    if left:
        print(f"the time is over: {len(left)} rows are left", file=sys.stderr)
    return [outcome for outcome in outcomes if outcome]


def command(args: Namespace, point: Point, seeds: list[int]) -> list[str]:
    """What measures a row, in one guest: rows are what goes on at once."""
    line = [args.rearguard, "compare", str(args.scenarios / f"{point.scenario.name}.toml"), "--on", args.on]
    line += ["--policy", point.policy, "--seed", ",".join(map(str, seeds)), "--jobs", "1"]
    line += [word for change in point.scenario.changes for word in ("--set", change)]
    return line + ["--duration", point.scenario.duration, "--json"]


def run(args: Namespace, point: Point, seeds: list[int]) -> str | None:
    """Measures a row. A failure is kept beside the results, and tried again the next time."""
    folder = args.folder / point.folder()
    folder.mkdir(parents=True, exist_ok=True)
    note = folder / f"{point.scenario.duration}.failed"
    begin = time.monotonic()
    try:
        done = subprocess.run(command(args, point, seeds), capture_output=True, text=True, timeout=LONGEST_S)
        said, failed = done.stderr.strip(), done.returncode != 0
    except subprocess.TimeoutExpired:
        said, failed = f"no end after {LONGEST_S} s", True
    name = point.folder()
    if failed:
        note.write_text(said + "\n")
        print(f"{name}: FAILED: {said.splitlines()[-1] if said else '?'}", file=sys.stderr)
        return f"{name}: {said}"
    note.unlink(missing_ok=True)
    for seed, text in by_seed(done.stdout):
        keep(args.folder / point.file(seed), text)
    print(f"{name}: {len(seeds)} seeds, {time.monotonic() - begin:.0f} s", file=sys.stderr)
    return None


def by_seed(text: str) -> list[tuple[int, str]]:
    """The results of single seeds of a document, each as a document of its own."""
    document = json.loads(text)
    singles = [result for result in document["results"] if result["seed"] is not None]
    return [(one["seed"], json.dumps({**document, "results": [one]})) for one in singles]


def keep(file, text: str) -> None:
    """Written in one piece: an interrupted run leaves no half result to be taken for one."""
    partial = file.with_suffix(".part")
    partial.write_text(text)
    partial.rename(file)
