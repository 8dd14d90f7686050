"""Measures what is missing, and writes the tables. What is missing is measured in the order of its worth: ours in every scenario, then its
first rival, and so on. Everything takes hours; each guest needs a core."""

import argparse

import experiment

from . import figures, tables
from .plan import LAG_POLICIES, LAGS, SERVICE_POLICIES, SERVICES, SHARE_POLICIES, SHARES, Found, Point, points


def arguments() -> argparse.Namespace:
    """The command line."""
    parser = experiment.options(tables.TOOL, "docs/evidence/kernel.md", 5, __doc__)
    parser.add_argument("--scenario", help="only these, by comma")
    parser.add_argument("--policy", help="only these, by comma")
    parser.add_argument("--on", default="vm", help="the arm (default vm)")
    parser.add_argument("--missing", action="store_true", help="only list what is missing, the worthiest first")
    return parser.parse_args()


def chosen(args: argparse.Namespace) -> list[Point]:
    """The points to run."""
    of = lambda text, all_of: [one for one in all_of if text is None or one in text.split(",")]
    policies_of = {one: one.policies(SERVICE_POLICIES) for one in SERVICES}
    policies_of |= {one: one.policies(LAG_POLICIES) for one in LAGS}
    policies_of |= dict.fromkeys(SHARES, SHARE_POLICIES)
    names = of(args.scenario, [scenario.name for scenario in policies_of])
    scenarios = [scenario for scenario in policies_of if scenario.name in names]
    known = {policy for policies in policies_of.values() for policy in policies}
    unknown = set((args.policy or "").split(",")) - known - {""}
    if unknown or not scenarios:
        raise SystemExit(f"{tables.TOOL}: nothing is planned for {unknown or args.scenario}")
    return points(scenarios, lambda scenario: of(args.policy, policies_of[scenario]))


def missing(found: Found, rows: dict[Point, list[int]]) -> list[str]:
    """The rows that are not complete, with their missing seeds."""
    lacks = {point: [seed for seed in seeds if seed not in found.get(point, {})] for point, seeds in rows.items()}
    changes = lambda point: [f"{key}={value}" for key, value in point.scenario.changes]
    line = lambda point: " ".join([point.scenario.name, *changes(point), point.policy])
    return [f"{line(point)}: seeds {', '.join(map(str, seeds))}" for point, seeds in lacks.items() if seeds]


def main() -> None:
    """Measures and writes."""
    args = arguments()
    rows = dict.fromkeys(chosen(args), list(range(1, args.seeds + 1)))
    found, well = figures.found(args, rows, args.on, 0 if args.missing else args.minutes)
    if args.missing:
        print("\n".join(missing(found, rows)))
        return
    text = tables.markdown(found, tables.standing(args.document))
    experiment.replace_between_marks(args.document, text, tables.TOOL)
    if not well:
        raise SystemExit(1)


if __name__ == "__main__":
    main()
