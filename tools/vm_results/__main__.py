"""Measures what is missing, and writes the tables."""

import argparse
import os
from pathlib import Path

from . import tables
from .plan import LAG_POLICIES, LAGS, SERVICE_POLICIES, SERVICES, SHARE_POLICIES, SHARES, points
from .runs import run_all, todo

AFTER = """Results are kept, a file a seed, and measured again only after their file is gone or what they depend on has changed: an interrupted
command goes on where it was. What is missing is measured in the order of its worth: ours in every scenario, then its first rival, and so on.
Everything takes hours; each guest needs a core."""


def arguments() -> argparse.Namespace:
    """The command line."""
    cache = Path(os.environ.get("XDG_CACHE_HOME") or Path.home() / ".cache")
    parser = argparse.ArgumentParser("vm-results", description=__doc__, epilog=AFTER)
    parser.add_argument("--rearguard", default="rearguard", help="the executable")
    parser.add_argument("--scenario", help="only these, by comma")
    parser.add_argument("--policy", help="only these, by comma")
    parser.add_argument("--on", default="vm", help="the arm (default vm)")
    parser.add_argument("--seeds", type=int, default=5, help="how many, from 1 (default 5)")
    parser.add_argument("--jobs", type=int, default=os.cpu_count(), help="guests at a time (default: one a core)")
    parser.add_argument("--minutes", type=float, help="begin nothing after so long (default: no limit)")
    parser.add_argument("--missing", action="store_true", help="only list what is missing, the worthiest first")
    parser.add_argument("--folder", type=Path, default=cache / "rearguard/vm-results", help="the results")
    parser.add_argument("--document", type=Path, default=Path("docs/evidence/kernel.md"))
    parser.set_defaults(scenarios=Path("scenarios"))
    parser.add_argument("--tables-only", action="store_true", help="measure nothing")
    return parser.parse_args()


def chosen(args: argparse.Namespace) -> list:
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
        raise SystemExit(f"vm-results: nothing is planned for {unknown or args.scenario}")
    return points(scenarios, lambda scenario: of(args.policy, policies_of[scenario]))


def main() -> None:
    """Measures and writes."""
    args = arguments()
    if args.missing:
        for point, seeds in todo(args, chosen(args)):
            print(" ".join([point.scenario.name, *point.scenario.changes, point.policy]) + f": seeds {', '.join(map(str, seeds))}")
        return
    failed = [] if args.tables_only else run_all(args, chosen(args))
    tables.replace_between_marks(args.document, tables.markdown(args.folder, tables.standing(args.document)))
    if failed:
        raise SystemExit("vm-results: {} runs failed:\n{}".format(len(failed), "\n".join(failed)))


if __name__ == "__main__":
    main()
