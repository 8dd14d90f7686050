"""Executables with tests of the policy: what each takes, and which of its tests a mutant fails."""

import json
import os
import re
import subprocess
from dataclasses import dataclass
from pathlib import Path
from threading import Timer

from .build import ROOT

# Longer than any test takes: a mutant that goes round in circles is noticed by that.
TIMES_SLOWER = 4
# A test that waits for ever uses no CPU. A shared machine may be slow by this.
TIMES_WAITING = 30
PASSED = re.compile(r"^test (\S+) .*\bok$")
# Also the test that ran when its program ended.
FAILED = re.compile(r"^test (\S+) .*(?:\bFAILED|\.\.\. )$")


def executables(packages: list[str], suites: list[str]) -> list[str]:
    """The tests in folders `tests`, or those of some names, built so that mutants can take the place of the
    policy. Of the whole workspace, so that what `cargo test --workspace` has built is not built again."""
    told = json.loads(output_of("metadata", "--no-deps", "--format-version=1"))["packages"]
    chosen = {package["id"]: package["targets"] for package in told if package["name"] in packages}
    names = {target["name"] for targets in chosen.values() for target in targets if "test" in target["kind"]}
    if unknown := set(suites) - names:
        raise ValueError(f"--suites: no {', '.join(sorted(unknown))}; there are {', '.join(sorted(names))}")
    words = [word for name in sorted(set(suites) or names) for word in ("--test", name)]
    built = output_of("test", "--workspace", "--no-run", "--quiet", "--message-format=json", "--features", "policy_native/mutants", *words)
    messages = [json.loads(line) for line in built.splitlines()]
    return [one["executable"] for one in messages if one.get("package_id") in chosen and one.get("executable") and one["profile"]["test"]]


def output_of(*words: str) -> str:
    """What cargo prints."""
    return subprocess.run(["cargo", *words], cwd=ROOT, stdout=subprocess.PIPE, text=True, check=True).stdout


@dataclass(frozen=True)
class Outcome:
    """Tests that passed and that failed, and whether it came to its end, or as far as was asked."""

    passed: list[str]
    failed: list[str]
    ended: bool


@dataclass(frozen=True)
class Suite:
    """An executable with tests: what it takes under the policy as it is, and which of them count."""

    path: str
    seconds: float
    without: tuple[str, ...] = ()
    tests: tuple[str, ...] = ()

    @property
    def name(self) -> str:
        """Without the hash."""
        return Path(self.path).name.rsplit("-", 1)[0]

    @property
    def limit(self) -> float:
        """Of CPU time, in seconds: the machine may be shared."""
        return 10 + TIMES_SLOWER * self.seconds

    def failed(self, target: Path, number: int) -> str | None:
        """The first test that fails under a mutant, if one does: nothing is run after it."""
        return next(iter(self.run(target, number, self.limit, 1).failed), None)

    def run(self, target: Path, number: int, limit: float, most: int) -> Outcome:
        """Runs it under a mutant, 0: the policy as it is, until so many tests have failed."""
        environment = os.environ | {"RG_MUTANT": str(target), "RG_MUTANT_NUMBER": str(number), "RUST_BACKTRACE": "0"}
        limits = ["--as=8000000000", "--core=0", f"--cpu={limit:.0f}"]
        left_out = [word for test in self.without for word in ("--skip", test)]
        command = ["prlimit", *limits, self.path, "--test-threads=1", "--exact", *left_out, *self.tests]
        pipes = {"stdout": subprocess.PIPE, "stderr": subprocess.DEVNULL, "text": True}
        with subprocess.Popen(command, env=environment, cwd=ROOT, **pipes) as child:
            late = Timer(60 + TIMES_WAITING * limit, child.kill)
            late.start()
            passed, failed = results_of(child, most)
            late.cancel()
        if len(failed) < most and child.returncode not in (0, 101):
            return Outcome(passed, failed or ["all"], False)
        return Outcome(passed, failed, True)


def results_of(child: "subprocess.Popen[str]", most: int) -> tuple[list[str], list[str]]:
    """The tests that pass, and the first that fail, after which the program is stopped."""
    passed: list[str] = []
    failed: list[str] = []
    for line in child.stdout or ():
        passed += PASSED.findall(line)
        failed += FAILED.findall(line)
        if len(failed) >= most:
            child.kill()
    return passed, failed[:most]


def measured(path: str, whole: Path, slowest: float) -> Suite | None:
    """A suite that loads the policy: of its tests those that pass under the policy as it is, and as many as
    end in time. What loads none passes without a policy to load."""
    suite = Suite(path, slowest)
    if not suite.run(Path("/nowhere/policy.so"), 0, slowest, 1).failed:
        return None
    before = os.times()
    outcome = suite.run(whole, 0, slowest, 1000)
    after = os.times()
    seconds = after.children_user + after.children_system - before.children_user - before.children_system
    why = "".join(f", without {test}" for test in outcome.failed)
    if not outcome.ended:
        why = f": {len(outcome.passed)} of its tests pass in that time"
    print(f"{seconds:6.1f} s {suite.name}{why}", flush=True)
    if not outcome.passed:
        return None
    return Suite(path, seconds, *((tuple(outcome.failed), ()) if outcome.ended else ((), tuple(outcome.passed))))
