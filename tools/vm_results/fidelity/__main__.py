"""Simulates what was measured on real kernels, and writes how far apart they are."""

import argparse
import os
import tempfile
from argparse import Namespace
from pathlib import Path

from .. import tables as document
from .pairs import pairs, planned, simulate
from .tables import markdown

AFTER = """Real results are those that tools/vm-results keeps; it measures what is missing. Simulated ones take seconds and are made anew."""


def arguments() -> Namespace:
    """The command line."""
    cache = Path(os.environ.get("XDG_CACHE_HOME") or Path.home() / ".cache")
    parser = argparse.ArgumentParser("fidelity", description=__doc__, epilog=AFTER)
    parser.add_argument("--rearguard", default="rearguard", help="the executable")
    parser.add_argument("--jobs", type=int, default=os.cpu_count(), help="simulations at a time (default: one a core)")
    parser.add_argument("--folder", type=Path, default=cache / "rearguard/vm-results", help="the real results")
    parser.add_argument("--document", type=Path, default=Path("docs/fidelity.md"))
    return parser.parse_args()


def main() -> None:
    """Simulates, compares, writes."""
    args = arguments()
    rows = planned()
    with tempfile.TemporaryDirectory() as folder:
        sim = Path(folder)
        of_sim = Namespace(rearguard=args.rearguard, on="sim", jobs=args.jobs, minutes=None, folder=sim)
        failed = simulate(of_sim, args.folder, rows)
        found = pairs(sim, args.folder, rows)
    known = {pair.point for pair in found}
    missing = [point for point in rows if point not in known]
    document.replace_between_marks(args.document, markdown(found, missing), "fidelity")
    if failed:
        raise SystemExit("fidelity: {} runs failed:\n{}".format(len(failed), "\n".join(failed)))


if __name__ == "__main__":
    main()
