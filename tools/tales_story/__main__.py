"""Measures what is missing of the story, a guest a step, and writes its tables."""

import argparse
import os
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

from vm_results import tables as marked

from . import guests, tables
from .plan import PARTS, TOOL

AFTER = """Results are kept, a file a seed, and measured again only after their file is gone or their step has changed: an interrupted command goes on
where it was. Everything takes an hour or two of two cores."""


def arguments() -> argparse.Namespace:
    """The command line."""
    cache = Path(os.environ.get("XDG_CACHE_HOME") or Path.home() / ".cache")
    parser = argparse.ArgumentParser(TOOL, description=__doc__, epilog=AFTER)
    parser.add_argument("--rearguard", default="rearguard", help="the executable")
    parser.add_argument("--part", help="only these, by comma: " + ", ".join(part.name for part in PARTS))
    parser.add_argument("--seeds", type=int, default=3, help="how many, from 1 (default 3)")
    parser.add_argument("--jobs", type=int, default=os.cpu_count(), help="guests at a time (default: one a core)")
    parser.add_argument("--folder", type=Path, default=cache / "rearguard/tales-story", help="the results")
    parser.add_argument("--document", type=Path, default=Path("docs/evidence/tales-on-real-kernels.md"))
    parser.add_argument("--tables-only", action="store_true", help="measure nothing")
    return parser.parse_args()


def main() -> None:
    """Measures and writes."""
    args = arguments()
    parts = [part for part in PARTS if args.part is None or part.name in args.part.split(",")]
    if not parts:
        raise SystemExit(f"{TOOL}: no part `{args.part}`")
    failed = []
    if not args.tables_only:
        steps = [(part, step) for part in parts for step in part.steps]
        with ThreadPoolExecutor(args.jobs) as pool:
            said = pool.map(lambda one: guests.measure(args, *one), steps)
        failed = [one for one in said if one]
    marked.replace_between_marks(args.document, tables.markdown(args.folder), TOOL)
    if failed:
        raise SystemExit("{}: {} steps failed:\n{}".format(TOOL, len(failed), "\n".join(failed)))


if __name__ == "__main__":
    main()
