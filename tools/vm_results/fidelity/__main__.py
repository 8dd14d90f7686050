"""Simulates what was measured on real kernels, and writes how far apart they are. tools/vm-results measures what is missing. A row without
real results stays as it is in the document."""

import tempfile
from argparse import Namespace
from pathlib import Path

import experiment

from .. import figures
from ..plan import Point
from .adapt import adapted
from .pairs import Pair, pairs, planned
from .rows import TOOL, merged, of_pairs, standing
from .tables import markdown


def both(args: Namespace, rows: list[Point]) -> tuple[list[Pair], bool]:
    """Simulates as it is and on the guest's machine, for all that is measured."""
    real, _ = figures.found(args, dict.fromkeys(rows, list(range(1, args.seeds + 1))), "vm", 0)
    sim, well = figures.found(args, {point: list(of) for point, of in real.items()}, "sim", args.minutes)
    with tempfile.TemporaryDirectory() as folder:
        own, adapted_well = adapted(args, Path(folder), sim, real)
    return pairs(sim, own, real, rows), well and adapted_well


def main() -> None:
    """Simulates, compares, writes."""
    args = experiment.options(TOOL, "docs/evidence/fidelity.md", 5, __doc__).parse_args()
    points, old = planned(), standing(args.document)
    found, well = both(args, points)
    experiment.replace_between_marks(args.document, markdown(merged(old, of_pairs(found)), points), TOOL)
    if not well:
        raise SystemExit(1)


if __name__ == "__main__":
    main()
