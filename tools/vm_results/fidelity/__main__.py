"""Simulates what was measured on real kernels, and writes how far apart they are."""

import argparse
import os
import tempfile
from argparse import Namespace
from pathlib import Path

from .. import tables as document
from ..plan import Point
from .adapt import adapt
from .pairs import Pair, pairs, planned, seeds_of, simulate
from .rows import merged, of_pairs, standing
from .tables import markdown

AFTER = """Real results are those that tools/vm-results keeps; it measures what is missing. Simulated ones take seconds and are made anew.
A row without real results stays as it is in the document."""


def arguments() -> Namespace:
    """The command line."""
    cache = Path(os.environ.get("XDG_CACHE_HOME") or Path.home() / ".cache")
    parser = argparse.ArgumentParser("fidelity", description=__doc__, epilog=AFTER)
    parser.add_argument("--rearguard", default="rearguard", help="the executable")
    parser.add_argument("--jobs", type=int, default=os.cpu_count(), help="simulations at a time (default: one a core)")
    parser.add_argument("--folder", type=Path, default=cache / "rearguard/vm-results", help="the real results")
    parser.add_argument("--document", type=Path, default=Path("docs/evidence/fidelity.md"))
    return parser.parse_args()


def both(args: Namespace, folder: Path, rows: list[Point]) -> tuple[list[Pair], list[str]]:
    """Simulates as it is and on the guest's machine, for all that is measured."""
    sim, adapted, scenarios = folder / "sim", folder / "adapted", folder / "scenarios"
    scenarios.mkdir()
    common = {"rearguard": args.rearguard, "on": "sim", "jobs": args.jobs, "minutes": None}
    failed = simulate(Namespace(**common, folder=sim, scenarios=Path("scenarios")), args.folder, rows)
    own = Namespace(**common, folder=adapted, scenarios=scenarios)
    for point in rows:
        if seeds_of(sim, point):
            failed += adapt(own, sim, args.folder, point)
    return pairs(sim, adapted, args.folder, rows), failed


def main() -> None:
    """Simulates, compares, writes."""
    args = arguments()
    points, old = planned(), standing(args.document)
    with tempfile.TemporaryDirectory() as folder:
        found, failed = both(args, Path(folder), points)
    document.replace_between_marks(args.document, markdown(merged(old, of_pairs(found)), points), "fidelity")
    if failed:
        raise SystemExit("fidelity: {} runs failed:\n{}".format(len(failed), "\n".join(failed)))


if __name__ == "__main__":
    main()
