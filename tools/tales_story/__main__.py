"""Measures what is missing of the story, a guest a step, and writes its tables. Everything takes an hour or two of two cores."""

import experiment

from . import tables
from .plan import PARTS, TOOL


def main() -> None:
    """Measures and writes."""
    parser = experiment.options(TOOL, "docs/evidence/tales-on-real-kernels.md", 3, __doc__)
    parser.add_argument("--part", help="only these, by comma: " + ", ".join(part.name for part in PARTS))
    args = parser.parse_args()
    parts = [part for part in PARTS if args.part is None or part.name in args.part.split(",")]
    if not parts:
        raise SystemExit(f"{TOOL}: no part `{args.part}`")
    steps = [(part, step) for part in parts for step in part.steps]
    _, well = experiment.run(args, [part.grid(step, args.seeds) for part, step in steps], "sim", args.minutes)
    every = [(part, step) for part in PARTS for step in part.steps]
    results, _ = experiment.run(args, [part.grid(step, args.seeds) for part, step in every], "sim", 0)
    found = {of: [one for _, one in sorted(result.items())] for of, result in zip(every, results)}
    experiment.replace_between_marks(args.document, tables.markdown(found), TOOL)
    if not well:
        raise SystemExit(1)


if __name__ == "__main__":
    main()
