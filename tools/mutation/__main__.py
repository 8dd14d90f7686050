"""Draws mutants of the policy, runs quick tests under each, and lists those that none notices."""

import argparse
import json
import os
import random
import subprocess
import tempfile
import time
from collections import Counter
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

from . import build
from .mutate import Mutant, mutants

# Of what is not code: the seam, the types, words for policies of one file.
LEFT_OUT = {"platform.h", "state.h", "defaults.h"}
PACKAGES = ["policy_native", "sim", "arms_and_analyses", "swarm"]
# Longer than any of them takes: a mutant that goes round in circles is noticed by that.
TIMES_SLOWER = 8


def every() -> list[Mutant]:
    """All mutants of all files, in the order of the files."""
    paths = sorted(path for path in build.POLICY.rglob("*.h") if path.name not in LEFT_OUT)
    return [each for path in paths for each in mutants(str(path.relative_to(build.POLICY)), path.read_text())]


def executables(packages: list[str]) -> list[str]:
    """The tests, built so that a mutant can take the place of the policy."""
    chosen = [word for package in packages for word in ("--package", package)]
    command = ["cargo", "test", "--no-run", "--quiet", "--message-format=json", "--features", "policy_native/mutants", *chosen]
    output = subprocess.run(command, cwd=build.ROOT, stdout=subprocess.PIPE, text=True, check=True).stdout
    messages = [json.loads(line) for line in output.splitlines()]
    return [one["executable"] for one in messages if one.get("executable") and one["profile"]["test"]]


def sees_mutants(test: str) -> bool:
    """Whether a test loads the policy at all: one that passes without a mutant to load cannot notice any."""
    return not passes(test, Path("/nowhere/policy.so"), 600)


def passes(test: str, mutant: Path, seconds: float) -> bool:
    """Whether a test passes under a mutant, in time."""
    environment = os.environ | {"RG_MUTANT": str(mutant), "RUST_BACKTRACE": "0"}
    command = ["prlimit", "--as=8000000000", "--core=0", test, "--test-threads=1"]
    try:
        done = subprocess.run(command, env=environment, cwd=build.ROOT, capture_output=True, timeout=seconds, check=False)
    except subprocess.TimeoutExpired:
        return False
    return done.returncode == 0


class Run:
    """The tests with what each takes under the policy as it is, the quickest first."""

    def __init__(self, tests: list[str], folder: Path, most_seconds: float) -> None:
        build.tree(folder, None)
        self.assembly = build.assembly(folder)
        if self.assembly is None:
            raise SystemExit("mutants: the policy does not compile")
        whole = build.link(folder, self.assembly)
        self.tests = []
        for test in filter(sees_mutants, tests):
            begin = time.monotonic()
            passed = passes(test, whole, 600)
            seconds = time.monotonic() - begin
            if passed and seconds <= most_seconds:
                self.tests.append((seconds, test))
            else:
                print(f"left out, {'slow' if passed else 'fails under the policy itself'}: {Path(test).name}", flush=True)
        self.tests.sort()
        for seconds, test in self.tests:
            print(f"{seconds:6.1f} s {Path(test).name}", flush=True)

    def verdict(self, mutant: Mutant) -> str:
        """`killed by TEST`, `survived`, `same code`, or `does not compile`."""
        with tempfile.TemporaryDirectory() as name:
            folder = Path(name)
            build.tree(folder, mutant)
            text = build.assembly(folder)
            if text is None:
                return "does not compile"
            if text == self.assembly:
                return "same code"
            target = build.link(folder, text)
            for seconds, test in self.tests:
                if not passes(test, target, 10 + TIMES_SLOWER * seconds):
                    return f"killed by {Path(test).name.rsplit('-', 1)[0]}"
        return "survived"


def main() -> None:
    """Draws, runs, and reports."""
    parser = argparse.ArgumentParser(prog="mutants", description=__doc__)
    parser.add_argument("--sample", type=int, default=100, help="how many mutants [default: 100]")
    parser.add_argument("--seed", type=int, default=1, help="of the draw [default: 1]")
    parser.add_argument("--minutes", type=float, default=60, help="draw no more after so long [default: 60]")
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
        run = Run(executables(args.packages.split(",")), Path(name), args.slowest)
        end = time.monotonic() + 60 * args.minutes
        with ThreadPoolExecutor(args.jobs) as pool:
            told = list(pool.map(lambda each: (each, tell(run, each, end)), drawn[: args.sample]))
    report([(mutant, verdict) for mutant, verdict in told if verdict])


def tell(run: Run, mutant: Mutant, end: float) -> str | None:
    """Judges one, unless the time is over, and says so at once."""
    if time.monotonic() >= end:
        return None
    verdict = run.verdict(mutant)
    print(line_of(verdict, mutant), flush=True)
    return verdict


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
