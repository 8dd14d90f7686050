"""What pages of measurements share: plans for `rearguard sweep`, which runs them, resumes and keeps; and tables between marks of a page."""

import argparse
import json
import os
import subprocess
import sys
import tempfile
from pathlib import Path

BEGIN = "<!-- measured: tools/{tool} writes what stands between these marks -->"
END = "<!-- end of measured -->"


def options(tool: str, page: str, seeds: int, says: str) -> argparse.ArgumentParser:
    """The command line of a tool that writes a page."""
    cache = Path(os.environ.get("XDG_CACHE_HOME") or Path.home() / ".cache")
    after = """Results are kept and measured again only after what they depend on has changed: an interrupted command goes on where it was."""
    parser = argparse.ArgumentParser(tool, description=says, epilog=after)
    parser.add_argument("--rearguard", default="rearguard", help="the executable")
    parser.add_argument("--seeds", type=int, default=seeds, help=f"how many, from 1 (default {seeds})")
    parser.add_argument("--jobs", type=int, default=os.cpu_count(), help="guests at a time (default: one a core)")
    parser.add_argument("--minutes", type=int, help="begin nothing after so long (default: no limit)")
    parser.add_argument("--folder", type=Path, default=cache / "rearguard/results", help="the results")
    parser.add_argument("--document", type=Path, default=Path(page))
    parser.add_argument("--tables-only", dest="minutes", action="store_const", const=0, help="measure nothing")
    return parser


def run(args: argparse.Namespace, grids: list[dict], on: str, minutes: int | None) -> tuple[list[dict], bool]:
    """Runs what is missing of a plan. The results of each grid by seed, and whether all went well."""
    if not grids:
        return [], True
    line = [args.rearguard, "sweep", "--allow-own-policies", "--folder", str(args.folder), "--jobs", str(args.jobs), "--json", "--results"]
    line += [] if minutes is None else ["--minutes", str(minutes)]
    with tempfile.TemporaryDirectory() as folder:
        plan = Path(folder) / "plan.toml"
        plan.write_text("\n".join([f"on = {toml(on)}", *map(section, grids)]))
        done = subprocess.run([*line, str(plan)], stdout=subprocess.PIPE, text=True)
    if not done.stdout:
        raise SystemExit(done.returncode)
    outcome = json.loads(done.stdout)
    if outcome["left"] and minutes:
        print(f"the time is over: {outcome['left']} runs are left", file=sys.stderr)
    found: list[dict] = [{} for _ in grids]
    for one in outcome.get("results", []):
        found[one["grid"]][one["seeds"][0]] = one["result"]
    return found, done.returncode == 0


def section(grid: dict) -> str:
    """A grid of a plan."""
    return "\n".join(["[[grid]]", *(f"{key} = {toml(value)}" for key, value in grid.items())])


def toml(value) -> str:
    """A value as TOML, which writes words, numbers and lists as JSON does."""
    if isinstance(value, dict):
        return "{ " + ", ".join(f"{json.dumps(key)} = {toml(one)}" for key, one in value.items()) + " }"
    return json.dumps(value)


def around_marks(document: Path, tool: str) -> tuple[str, str, str]:
    """The document's text before a tool's marks, between and after them."""
    text, begin = document.read_text(), BEGIN.format(tool=tool)
    if text.count(begin) != 1 or text.count(END) != 1:
        raise SystemExit(f"{tool}: {document}: the marks `{begin}` and `{END}` must stand there once")
    head, rest = text.split(begin)
    return head, *rest.split(END)


def replace_between_marks(document: Path, text: str, tool: str) -> None:
    """Puts the tables of a tool into the document; its prose stays."""
    head, _, tail = around_marks(document, tool)
    document.write_text(f"{head}{BEGIN.format(tool=tool)}\n\n{text}\n{END}{tail}")


def grid(head: list[str], rows: list[list[str]]) -> str:
    """A Markdown table."""
    lines = [head, ["---"] * len(head), *rows]
    return "\n".join("| " + " | ".join(line) + " |" for line in lines) + "\n"
