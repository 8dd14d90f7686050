"""Draws mutants of the policy, runs tests under each, and lists those that none notices."""

import argparse
import random
import re
import tempfile
import time
from collections import Counter
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

from . import build
from .mutate import Mutant, mutants
from .suites import Suite, executables, measured

# Of what is not code: the seam, the types, words for policies of one file.
LEFT_OUT = {"platform.h", "state.h", "defaults.h"}
LEFT = re.compile(r"(survived|not judged by [\w ]*\w) +")
# What a mutant takes to compile, in seconds.
COMPILES_S = 3
PACKAGES = ["policy_native", "sim", "interleave", "arms_and_analyses", "swarm"]


def every() -> list[Mutant]:
    """All mutants of all files, in the order of the files."""
    paths = sorted(path for path in build.POLICY.rglob("*.h") if path.name not in LEFT_OUT)
    return [each for path in paths for each in mutants(str(path.relative_to(build.POLICY)), path.read_text())]


class Run:
    """Mutants by their numbers, and what is known of them."""

    def __init__(self, numbered: dict[int, Mutant], target: Path, jobs: int, end: float) -> None:
        self.mutants = numbered
        self.target = target
        self.jobs, self.end = jobs, end
        self.verdicts: dict[int, str] = {}

    def tell(self, verdicts: dict[int, str]) -> None:
        """Says and keeps what is known now."""
        for number, verdict in verdicts.items():
            print(line_of(verdict, self.mutants[number]), flush=True)
        self.verdicts |= verdicts

    def left(self) -> list[int]:
        """Of which nothing is known yet."""
        return [number for number in self.mutants if number not in self.verdicts]

    def ask(self, what: str, judge: Callable[[int], str | None]) -> None:
        """Asks all that are left, some at a time. For what the time does not do is not judged to the end."""
        left = self.left()
        begin = time.monotonic()

        def one(number: int) -> None:
            verdict = judge(number) if time.monotonic() < self.end else f"not judged by {what}"
            self.tell({number: verdict} if verdict else {})

        with ThreadPoolExecutor(self.jobs) as pool:
            list(pool.map(one, left))
        print(f"{time.monotonic() - begin:6.0f} s for {len(left)} mutants: {what}", flush=True)

    def ask_code(self) -> None:
        """Whether a mutant is one by its code."""
        before = build.assembly(None)
        self.ask("its code", lambda number: "same code" if build.assembly(self.mutants[number]) == before else None)

    def judge(self, suites: list[Suite]) -> None:
        """The quickest first, and the code before the first that takes longer than to compile it."""
        quick = [suite for suite in suites if suite.seconds < COMPILES_S]
        self.ask_suites(quick)
        self.ask_code()
        self.ask_suites([suite for suite in suites if suite not in quick])
        self.tell({number: "survived" for number in self.left()})

    def ask_suites(self, suites: list[Suite]) -> None:
        """Asks the quickest first."""
        for suite in sorted(suites, key=lambda suite: suite.seconds):
            self.ask(suite.name, lambda number, suite=suite: killed(suite, self.target, number))


def killed(suite: Suite, target: Path, number: int) -> str | None:
    """Whether a suite notices a mutant: by which test."""
    failed = suite.failed(target, number)
    return f"killed by {suite.name} ({failed})" if failed else None


def main() -> None:
    """Draws, runs, and reports."""
    parser = argparse.ArgumentParser(prog="mutants", description=__doc__)
    parser.add_argument("--sample", type=int, default=100, help="how many mutants [default: 100]")
    parser.add_argument("--seed", type=int, default=1, help="of the draw [default: 1]")
    parser.add_argument("--minutes", type=float, default=60, help="ask no more after so long [default: 60]")
    parser.add_argument("--packages", default=",".join(PACKAGES), help="whose tests [default: %(default)s]")
    parser.add_argument("--suites", default="", help="only tests of these names, as units,promise,quota")
    parser.add_argument("--slowest", type=float, default=60, help="of each suite the tests that end in so many seconds [default: 60]")
    parser.add_argument("--file", default="", help="only mutants of files whose path holds this")
    parser.add_argument("--again", type=Path, help="all those, and no others, that an earlier run left by its output")
    parser.add_argument("--jobs", type=int, default=2, help="how many at a time [default: 2]")
    args = parser.parse_args()
    drawn = [each for each in every() if args.file in each.path]
    print(f"{len(drawn)} mutants", flush=True)
    random.Random(args.seed).shuffle(drawn)
    if args.again:
        left = left_by(args.again.read_text())
        drawn = [each for each in drawn if line_of("", each) in left]
        args.sample = len(drawn)
    with tempfile.TemporaryDirectory() as name:
        try:
            paths = executables(args.packages.split(","), [name for name in args.suites.split(",") if name])
        except ValueError as error:
            parser.error(str(error))
        end = time.monotonic() + 60 * args.minutes
        run = Run(dict(enumerate(drawn[: args.sample], 1)), Path(name) / "policy.so", args.jobs, end)
        run.tell(build.shared_object(Path(name), run.mutants))
        run.judge([suite for path in paths if (suite := measured(path, run.target, args.slowest))])
    report([(run.mutants[number], run.verdicts[number]) for number in run.mutants])


def line_of(verdict: str, mutant: Mutant) -> str:
    """What is printed of one."""
    new = " ".join(mutant.new.split())
    return f"{verdict:<28} {mutant.path}:{mutant.line} {mutant.kind}: {new}"


def left_by(output: str) -> set[str]:
    """The lines of those that no test had noticed when a run ended, without what it said of them."""
    lines = [LEFT.sub("", line) for line in output.splitlines() if LEFT.match(line)]
    return {f"{'':<28} {line}" for line in lines}


def report(told: list[tuple[Mutant, str]]) -> None:
    """Sums, which suite killed how many, and each that is left with what it was."""
    sums = Counter(verdict.split(" by ")[0] for _, verdict in told)
    print(f"{len(told)} drawn: " + ", ".join(f"{count} {what}" for what, count in sorted(sums.items())))
    print(f"killed: {sums['killed']} of {sums['killed'] + sums['survived']} that differ and were judged to the end")
    by_suite = Counter(verdict.split(" ")[2] for _, verdict in told if verdict.startswith("killed by "))
    for suite, count in by_suite.most_common():
        print(f"{count:6} by {suite}")
    for mutant, verdict in told:
        if LEFT.match(f"{verdict} "):
            print(f"{mutant.path}:{mutant.line} {mutant.kind}, {verdict}\n  - {mutant.old.strip()}\n  + {mutant.new.strip()}")


if __name__ == "__main__":
    main()
