"""Draws mutants of the policy, runs tests under each, and lists those that none notices."""

import argparse
import json
import os
import random
import re
import subprocess
import tempfile
import time
from collections import Counter
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from pathlib import Path

from . import build
from .mutate import Mutant, mutants

# Of what is not code: the seam, the types, words for policies of one file.
LEFT_OUT = {"platform.h", "state.h", "defaults.h"}
PACKAGES = ["policy_native", "sim", "interleave", "arms_and_analyses", "swarm"]
# Longer than any of them takes: a mutant that goes round in circles is noticed by that.
TIMES_SLOWER = 8
FAILED = re.compile(r"^test (\S+) .*\bFAILED$", re.MULTILINE)


def every() -> list[Mutant]:
    """All mutants of all files, in the order of the files."""
    paths = sorted(path for path in build.POLICY.rglob("*.h") if path.name not in LEFT_OUT)
    return [each for path in paths for each in mutants(str(path.relative_to(build.POLICY)), path.read_text())]


def executables(packages: list[str]) -> list[str]:
    """The tests, built so that mutants can take the place of the policy."""
    chosen = [word for package in packages for word in ("--package", package)]
    command = ["cargo", "test", "--no-run", "--tests", "--quiet", "--message-format=json", "--features", "policy_native/mutants", *chosen]
    output = subprocess.run(command, cwd=build.ROOT, stdout=subprocess.PIPE, text=True, check=True).stdout
    messages = [json.loads(line) for line in output.splitlines()]
    return [one["executable"] for one in messages if one.get("executable") and one["profile"]["test"]]


@dataclass(frozen=True)
class Suite:
    """An executable with tests: what it takes under the policy as it is, and which of them fail there."""

    path: str
    seconds: float = 75
    failing: tuple[str, ...] = ()

    @property
    def name(self) -> str:
        """Without the hash."""
        return Path(self.path).name.rsplit("-", 1)[0]

    def failed(self, target: Path, number: int) -> list[str]:
        """The tests that fail under a mutant, 0: the policy as it is. The limit is of CPU time: the machine may
        be shared."""
        environment = os.environ | {"RG_MUTANT": str(target), "RG_MUTANT_NUMBER": str(number), "RUST_BACKTRACE": "0"}
        limits = ["--as=8000000000", "--core=0", f"--cpu={10 + TIMES_SLOWER * self.seconds:.0f}"]
        left_out = [word for test in self.failing for word in ("--skip", test)]
        command = ["prlimit", *limits, self.path, "--test-threads=1", "--exact", *left_out]
        done = subprocess.run(command, env=environment, cwd=build.ROOT, capture_output=True, text=True, check=False)
        return [] if done.returncode == 0 else FAILED.findall(done.stdout) or ["all"]


def measured(path: str, whole: Path, slowest: float) -> Suite | None:
    """A suite that loads the policy, and passes in time under the policy as it is. What loads none passes
    without a policy to load."""
    suite = Suite(path)
    if not suite.failed(Path("/nowhere/policy.so"), 0):
        return None
    before = os.times()
    failing = suite.failed(whole, 0)
    after = os.times()
    seconds = after.children_user + after.children_system - before.children_user - before.children_system
    print(f"{seconds:6.1f} s {suite.name}" + "".join(f", without {test}" for test in failing), flush=True)
    return None if "all" in failing or seconds > slowest else Suite(path, seconds, tuple(failing))


class Run:
    """Mutants by their numbers, and what is known of them."""

    def __init__(self, numbered: dict[int, Mutant], folder: Path, jobs: int, end: float) -> None:
        self.mutants = numbered
        self.target = folder / "policy.so"
        self.jobs, self.end = jobs, end
        self.verdicts: dict[int, str] = {}
        self.tell(build.shared_object(folder, numbered))

    def tell(self, verdicts: dict[int, str]) -> None:
        """Says and keeps what is known now."""
        for number, verdict in verdicts.items():
            print(line_of(verdict, self.mutants[number]), flush=True)
        self.verdicts |= verdicts

    def ask(self, what: str, judge: Callable[[int], str | None]) -> None:
        """Asks all of which nothing is known yet, some at a time. What the time does not do for is not judged."""
        left = [number for number in self.mutants if number not in self.verdicts]
        begin = time.monotonic()

        def one(number: int) -> None:
            verdict = judge(number) if time.monotonic() < self.end else "not judged"
            self.tell({number: verdict} if verdict else {})

        with ThreadPoolExecutor(self.jobs) as pool:
            list(pool.map(one, left))
        print(f"{time.monotonic() - begin:6.0f} s for {len(left)} mutants: {what}", flush=True)

    def judge(self, suites: list[Suite]) -> None:
        """The quickest first. Whether a mutant is one by its code is asked of those that the first leaves."""
        before = build.assembly(None)
        for at, suite in enumerate(sorted(suites, key=lambda suite: suite.seconds)):
            self.ask(suite.name, lambda number, suite=suite: killed(suite, self.target, number))
            if at == 0:
                self.ask("same code", lambda number: "same code" if build.assembly(self.mutants[number]) == before else None)
        self.tell({number: "survived" for number in self.mutants if number not in self.verdicts})


def killed(suite: Suite, target: Path, number: int) -> str | None:
    """Whether a suite notices a mutant: by which test."""
    failed = suite.failed(target, number)
    return f"killed by {suite.name} ({failed[0]})" if failed else None


def main() -> None:
    """Draws, runs, and reports."""
    parser = argparse.ArgumentParser(prog="mutants", description=__doc__)
    parser.add_argument("--sample", type=int, default=100, help="how many mutants [default: 100]")
    parser.add_argument("--seed", type=int, default=1, help="of the draw [default: 1]")
    parser.add_argument("--minutes", type=float, default=60, help="ask no more after so long [default: 60]")
    parser.add_argument("--packages", default=",".join(PACKAGES), help="whose tests [default: %(default)s]")
    parser.add_argument("--slowest", type=float, default=60, help="leave out tests that take more seconds [default: 60]")
    parser.add_argument("--file", default="", help="only mutants of files whose path holds this")
    parser.add_argument("--again", type=Path, help="all those, and no others, that survived by the output of an earlier run")
    parser.add_argument("--jobs", type=int, default=2, help="how many at a time [default: 2]")
    args = parser.parse_args()
    drawn = [each for each in every() if args.file in each.path]
    print(f"{len(drawn)} mutants", flush=True)
    random.Random(args.seed).shuffle(drawn)
    if args.again:
        before = args.again.read_text().splitlines()
        drawn = [each for each in drawn if line_of("survived", each) in before]
        args.sample = len(drawn)
    with tempfile.TemporaryDirectory() as name:
        paths = executables(args.packages.split(","))
        end = time.monotonic() + 60 * args.minutes
        run = Run(dict(enumerate(drawn[: args.sample], 1)), Path(name), args.jobs, end)
        run.judge([suite for path in paths if (suite := measured(path, run.target, args.slowest))])
    report([(run.mutants[number], run.verdicts[number]) for number in run.mutants])


def line_of(verdict: str, mutant: Mutant) -> str:
    """What is printed of one."""
    new = " ".join(mutant.new.split())
    return f"{verdict:<28} {mutant.path}:{mutant.line} {mutant.kind}: {new}"


def report(told: list[tuple[Mutant, str]]) -> None:
    """Sums, and each survivor with what it was."""
    sums = Counter(verdict.split(" by ")[0] for _, verdict in told)
    judged = sums["killed"] + sums["survived"]
    print(f"{len(told)} drawn: " + ", ".join(f"{count} {what}" for what, count in sorted(sums.items())))
    print(f"killed: {sums['killed']} of {judged} that differ")
    for mutant, verdict in told:
        if verdict == "survived":
            print(f"{mutant.path}:{mutant.line} {mutant.kind}\n  - {mutant.old.strip()}\n  + {mutant.new.strip()}")


if __name__ == "__main__":
    main()
