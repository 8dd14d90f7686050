"""Points that are run, each once: a result that is there is not measured again."""

import subprocess
import sys
import time
from argparse import Namespace
from concurrent.futures import ThreadPoolExecutor

from .plan import Point

# A guest that hangs is the lab's to end; this is for a machine that is too busy to.
LONGEST_S = 3 * 3600


def run_all(args: Namespace, points: list[Point]) -> list[str]:
    """Runs what is missing, so many guests at once; what failed, a line each."""
    missing = [point for point in points if not (args.folder / point.file()).exists()]
    print(f"{len(points)} points, {len(missing)} of them to run", file=sys.stderr)
    with ThreadPoolExecutor(args.at_once) as pool:
        outcomes = list(pool.map(lambda point: run(args, point), missing))
    return [outcome for outcome in outcomes if outcome]


def run(args: Namespace, point: Point) -> str | None:
    """Runs one. A failure is kept beside the results, and tried again the next time."""
    file = args.folder / point.file()
    file.parent.mkdir(parents=True, exist_ok=True)
    command = [args.rearguard, "compare", f"scenarios/{point.scenario.name}.toml", "--on", args.on]
    command += ["--policy", point.policy, "--seed", str(point.seed)]
    command += ["--duration", point.scenario.duration, "--json"]
    begin = time.monotonic()
    try:
        done = subprocess.run(command, capture_output=True, text=True, timeout=LONGEST_S)
        said, failed = done.stderr.strip(), done.returncode != 0
    except subprocess.TimeoutExpired:
        said, failed = f"no end after {LONGEST_S} s", True
    name = point.file().removesuffix(".json")
    if failed:
        file.with_suffix(".failed").write_text(said + "\n")
        print(f"{name}: FAILED: {said.splitlines()[-1] if said else '?'}", file=sys.stderr)
        return f"{name}: {said}"
    file.with_suffix(".failed").unlink(missing_ok=True)
    # Written in one piece: an interrupted run leaves no half result to be taken for one.
    partial = file.with_suffix(".part")
    partial.write_text(done.stdout)
    partial.rename(file)
    print(f"{name}: {time.monotonic() - begin:.0f} s", file=sys.stderr)
    return None
