"""Rows of docs/evidence/production-node.md: runs them in the simulator and says which figures differ from the page."""

import argparse
import json
import re
import subprocess
import tempfile
from functools import cache
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent
PAGE = ROOT / "docs/evidence/production-node.md"
CASES = ROOT / "tests/arms-and-analyses/cases"
POLICIES = ["rearguard", "eevdf"]
Texts = list[list[tuple[str, str]]]
AS_IS: Texts = [[]]


def batch(weight: int) -> list[tuple[str, str]]:
    """`batch-share` with that share for the batch."""
    return [("weight = 30", f"weight = {100 - weight}"), ("weight = 70", f"weight = {weight}")]


# Of each row of the table, in the order of the page: the case, the program or group, the figure, and words of
# the file to replace; where there are several such lists, the row has the least and the most of them.
ROWS: list[tuple[str, str, str, Texts]] = [
    ("cpuset-fork-join", "pod", "share", AS_IS),
    ("cpuset-service", "pod", "p99_9", AS_IS),
    ("released-spinners", "service", "share", AS_IS),
    ("released-spinners", "service", "p99", AS_IS),
    ("helpers", "service", "excess", AS_IS),
    ("event-loop", "service", "excess", AS_IS),
    ("taking-turns", "turns", "share", AS_IS),
    ("nested-groups", "light", "share", AS_IS),
    ("light-subgroup", "mixed", "share", AS_IS),
    ("subgroups", "a", "share", AS_IS),
    ("subgroups", "lower", "excess", AS_IS),
    ("changing-weight", "changing", "share", AS_IS),
    ("raised-weight", "raised", "share", AS_IS),
    ("heavy-neighbour", "service", "share", AS_IS),
    ("naps", "spin", "share", AS_IS),
    ("barrier-group", "barrier", "share", AS_IS),
    ("light-neighbour", "spin", "share", AS_IS),
    ("light-neighbour", "web", "excess", AS_IS),
    ("nice-siblings", "service", "excess", AS_IS),
    ("bound-neighbours", "web", "excess", AS_IS),
    ("bound-neighbours", "low", "share", AS_IS),
    ("bound-and-turns", "turns", "share", AS_IS),
    ("bound-service", "web", "excess", AS_IS),
    ("bound-light-group", "web", "excess", AS_IS),
    ("bound-fork-join", "web", "excess", AS_IS),
    ("bound-and-periodic", "web", "excess", AS_IS),
    ("bound-heavy-group", "web", "excess", AS_IS),
    ("alone-then-met", "web", "excess", AS_IS),
    ("alone-then-met", "web", "excess", [[("cpus = [0, 1]", "threads = 3"), ("cpus = [1]", "threads = 0")]]),
    (
        "alone-then-met",
        "web",
        "excess",
        [[("cpus = [0, 1]", "cpus = [0, 1, 2, 3]"), ("cpus = [0]", "cpus = [0, 1]"), ("cpus = [1]", "cpus = [2, 3]"), ("cpus = 2", "cpus = 4"), ("threads = 3", "threads = 9"), ("utilisation = 0.3", "utilisation = 0.2")]],
    ),
    ("starved-siblings", "web", "excess", AS_IS),
    ("light-and-fork-join", "light", "share", AS_IS),
    ("quota-of-all", "web", "excess", AS_IS),
    ("quota-of-all", "web", "excess", [[("200ms/100ms", "150ms/100ms")]]),
    ("quota-of-one", "web", "excess", AS_IS),
    ("quota-and-neighbour", "next", "excess", AS_IS),
    ("quota-and-neighbour", "web", "excess", AS_IS),
    ("quota-and-daemons", "web", "excess", AS_IS),
    ("quota-and-event-loop", "web", "excess", AS_IS),
    ("quota-of-short-periods", "long", "excess", AS_IS),
    ("bound-and-idle", "bound", "share", AS_IS),
    ("bound-and-idle", "bound", "share", [[("cpus = 2\n", "cpus = 4\n"), ("[1]", "[0, 1]"), ("threads = 1", "threads = 2"), ("threads = 4", "threads = 8")]]),
    ("bound-in-set", "bound", "share", AS_IS),
    ("bound-in-set", "bound", "share", [[("weight = 10000", "weight = 100")]]),
    ("overlapping-sets", "first", "share", AS_IS),
    ("overlapping-sets", "first", "share", [[('"first"\nweight = 300', '"first"\nweight = 10000')]]),
    ("overlapping-sets", "first", "share", [[
        ('"first"\nweight = 300\ncpus = [2, 6]', '"first"\nweight = 1000\ncpus = [0, 2, 6]'),
        ("weight = 300\ncpus = [0, 2, 6]", "weight = 100\ncpus = [2, 6]"),
        ("weight = 300\ncpus = [0, 6]", "weight = 100\ncpus = [2, 6]"),
        ("threads = 8", "threads = 3"),
    ]]),
    ("heavy-in-set", "light", "share", AS_IS),
    ("three-change-places", "chain", "share", AS_IS),
    ("nested-sets", "web", "excess", AS_IS),
    ("moved-group", "web", "excess", AS_IS),
    ("set-meets-service", "pod", "excess", AS_IS),
    ("set-shrinks", "pod", "excess", AS_IS),
    ("loop-and-service", "loop", "excess", AS_IS),
    ("loop-and-service", "loop", "excess", [[("cpus = 4", "cpus = 8\nllcs = 2"), ("0.7", "0.6"), ("0.025", "0.0125"), ("500us", "2ms")]]),
    ("loop-and-service", "loop", "excess", [[("cpus = 4", "cpus = 1"), ("0.7", "0.3"), ("0.025", "0.1")]]),
    ("batch-share", "service", "excess", [batch(50), batch(83)]),
]


def cells(page: str, name: str) -> list[list[str]]:
    """What the page has for a case: of each of its rows what is now, and what EEVDF has."""
    found = re.findall(rf"^\| `{re.escape(name)}` \|.*\| ([^|]+) \| ([^|]+) \|$", page, re.M)
    return [list(row) for row in found]


def scenario(name: str, replaced: list[tuple[str, str]]) -> str:
    """The text of a case with other words; each must stand there."""
    file = CASES / f"{name}.toml"
    text = (file if file.is_file() else ROOT / f"scenarios/{name}.toml").read_text()
    for old, new in replaced:
        if old not in text:
            raise SystemExit(f"production-node: {name}: there is no `{old}`")
        text = text.replace(old, new)
    return text


@cache
def results(rearguard: str, text: str) -> dict[str, dict]:
    """Seeds 1 to 3 together, by policy."""
    with tempfile.TemporaryDirectory() as folder:
        (path := Path(folder) / "case.toml").write_text(text)
        line = [rearguard, "compare", str(path), "--on", "sim", "--policy", ",".join(POLICIES), "--seeds", "3", "--json"]
        document = json.loads(subprocess.run(line, stdout=subprocess.PIPE, check=True).stdout)
    return {one["policy"]: one for one in document["results"] if one["seed"] is None}


def figure(result: dict, part: str, what: str) -> float:
    """A figure in the page's units: shares in per cent, times in ms; lost requests are infinitely late."""
    if what == "share":
        return 100 * next(group for group in result["groups"] if group["name"] == part)["share"]
    program = next(program for program in result["programs"] if program["name"] == part)
    value = program["excess_p99_9"] if what == "excess" else program["latency_ns"][what]["value"]
    return float("inf") if value is None else value / (1 if what == "excess" else 1e6)


def like(written: str, values: list[float]) -> str:
    """Values as the page has them: with as many digits and the same unit."""
    if min(values) == float("inf"):
        return "lost"
    number, unit = (re.findall(r"([\d.,]+)( ms|%)?", written) or [("0.00", "")])[-1]
    digits = len(number.partition(".")[2])
    ends = dict.fromkeys(f"{value:,.{digits}f}{unit}" for value in (min(values), max(values)))
    return " to ".join(ends)


def check(names: list[str], rearguard: str) -> int:
    """Runs the rows of these cases, or all, and says what differs; 1 where something does."""
    page, differ, seen = PAGE.read_text(), 0, dict.fromkeys((row[0] for row in ROWS), 0)
    for name in names:
        if name not in seen:
            raise SystemExit(f"production-node: no row that can be run is of `{name}`; there are {', '.join(seen)}")
    for name, part, what, texts in ROWS:
        at, seen[name] = seen[name], seen[name] + 1
        if names and name not in names:
            continue
        runs = [results(rearguard, scenario(name, replaced)) for replaced in texts]
        for policy, written in zip(POLICIES, cells(page, name)[at]):
            found = like(written, [figure(run[policy], part, what) for run in runs])
            differ += found != written
            print(f"{name:<20} {part:<10} {what:<7} {policy:<10} {written:>12} {'' if found == written else '  is ' + found}".rstrip(), flush=True)
    print(f"{differ} differ")
    return min(differ, 1)


def main(arguments: list[str]) -> int:
    """`--check` of tools/production-node."""
    parser = argparse.ArgumentParser("production-node --check", description=__doc__)
    parser.add_argument("--rearguard", default="rearguard", help="the executable")
    parser.add_argument("--check", nargs="*", metavar="NAME", help="these cases; all if none is named")
    args = parser.parse_args(arguments)
    return check(args.check, args.rearguard)
