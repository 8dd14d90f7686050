"""Of mutants: what is changed, and what is not."""

import contextlib
import io
import os
import subprocess
import tempfile
import time
import unittest
from collections.abc import Iterable
from pathlib import Path

from .__main__ import Run, left_by, line_of
from .build import IN_MUTANT, unit
from .mutate import Mutant, code, mutants
from .schema import SWITCH, switched
from .suites import Suite, executables, measured

SOURCE = """/* if (a < 1) */
#define RG_MOST 16 /* a > 2 */
/*
 * c = d + 1;
 */
RG_INLINE u64 rg_sum(struct rg_pair *pair)
{
\tu64 sum = pair->a + 1;

\tif (sum < 2 && pair->b)
\t\treturn 0;
\tpair->a = sum;
\tpair->b++; /* once */
\treturn sum;
}
"""


MAIN = """
#include <stdio.h>
int main(void)
{
	for (int a = -1; a < 3; a++) {
		struct rg_pair pair = { a, a & 1 };
		u64 sum = rg_sum(&pair);

		printf("%lld %lld %lld %d;", sum, pair.a, pair.b, RG_MOST);
	}
	return 0;
}
"""
HEAD = "typedef unsigned long long u64;\nstruct rg_pair { u64 a, b; };\n#define RG_INLINE static inline\n"


def compiled(folder: Path, text: str) -> subprocess.CompletedProcess[str]:
    """A program of a source."""
    (folder / "a.c").write_text(HEAD + SWITCH + text + MAIN)
    command = ["gcc", "-w", "-o", folder / "a", folder / "a.c"]
    return subprocess.run(command, capture_output=True, text=True, check=False)


def answers(text: str, numbers: Iterable[int]) -> list[str]:
    """What the program of a source prints under mutants."""
    with tempfile.TemporaryDirectory() as name:
        compiled(Path(name), text).check_returncode()
        command = {"args": [Path(name) / "a"], "capture_output": True, "text": True, "check": True}
        runs = [subprocess.run(env=os.environ | {"RG_MUTANT_NUMBER": str(each)}, **command) for each in numbers]
    return [run.stdout for run in runs]


def program(folder: str, text: str) -> str:
    """A program that stands for one with tests, by what it prints."""
    path = Path(folder) / "fake-0123"
    path.write_text(f"#!/bin/bash\n{text}\n")
    path.chmod(0o755)
    return str(path)


NEEDS_POLICY = '[ "$RG_MUTANT" = /nowhere/policy.so ] && exit 134\n'
WHOLE = Path("/somewhere/policy.so")


class Judging(unittest.TestCase):
    """What programs with tests tell."""

    def setUp(self) -> None:
        self.enterContext(contextlib.redirect_stdout(io.StringIO()))

    def test_the_first_test_that_fails_ends_a_run(self) -> None:
        with tempfile.TemporaryDirectory() as name:
            suite = Suite(program(name, "echo test a ... ok; echo test b ... FAILED; exec sleep 60"), 1)
            begin = time.monotonic()
            self.assertEqual(suite.failed(WHOLE, 1), "b")
        self.assertLess(time.monotonic() - begin, 30)
        self.assertEqual(suite.name, "fake")

    def test_a_mutant_is_named_to_the_program(self) -> None:
        with tempfile.TemporaryDirectory() as name:
            suite = Suite(program(name, '[ $RG_MUTANT_NUMBER = 7 ] && echo test a ... FAILED && exit 101; echo test a ... ok'), 1)
            self.assertEqual([suite.failed(WHOLE, number) for number in (6, 7)], [None, "a"])

    def test_a_test_that_ends_its_program_fails(self) -> None:
        with tempfile.TemporaryDirectory() as name:
            self.assertEqual(Suite(program(name, "echo test a ... ok; echo -n 'test b ... '; kill -SEGV $$"), 1).failed(WHOLE, 1), "b")
            self.assertEqual(Suite(program(name, "kill -SEGV $$"), 1).failed(WHOLE, 1), "all")

    def test_a_name_of_no_program_is_refused_with_those_that_are(self) -> None:
        with self.assertRaisesRegex(ValueError, "no nonsense; there are .*promise"):
            executables(["sim"], ["promise", "nonsense"])

    def test_a_program_that_loads_no_policy_is_left_out(self) -> None:
        with tempfile.TemporaryDirectory() as name:
            self.assertIsNone(measured(program(name, "echo test a ... ok"), WHOLE, 5))

    def test_what_fails_without_a_mutant_is_left_out(self) -> None:
        with tempfile.TemporaryDirectory() as name:
            text = f"{NEEDS_POLICY}echo $*; echo test a ... ok; echo test b ... FAILED; exit 101"
            suite = measured(program(name, text), WHOLE, 5)
        self.assertEqual((suite.without, suite.tests) if suite else None, (("b",), ()))

    def test_of_what_takes_too_long_the_tests_that_end_in_time_count(self) -> None:
        with tempfile.TemporaryDirectory() as name:
            text = f"{NEEDS_POLICY}echo test a ... ok; echo -n 'test b ... '; while :; do :; done"
            suite = measured(program(name, text), WHOLE, 1)
            self.assertEqual((suite.without, suite.tests) if suite else None, ((), ("a",)))
            self.assertIsNone(measured(program(name, f"{NEEDS_POLICY}while :; do :; done"), WHOLE, 1))

    def test_a_run_says_by_which_suite_and_what_it_had_no_time_for(self) -> None:
        found = dict(enumerate(mutants("a.h", SOURCE)[:3], 1))
        with tempfile.TemporaryDirectory() as name:
            suite = Suite(program(name, '[ $RG_MUTANT_NUMBER = 2 ] && echo test a ... FAILED; exit 0'), 1)
            run = Run(found, WHOLE, 1, time.monotonic() + 60)
            run.ask_suites([suite])
            self.assertEqual(run.verdicts, {2: "killed by fake (a)"})
            run.end = time.monotonic()
            run.ask_suites([suite])
        self.assertEqual(run.verdicts[1], "not judged by fake")
        self.assertEqual(run.left(), [])

    def test_what_a_run_has_left_is_known_to_the_next(self) -> None:
        found = mutants("a.h", SOURCE)
        said = ["survived", "not judged by fake", "not judged by its code", "killed by fake (a)", "same code"]
        output = "\n".join(line_of(*each) for each in zip(said, found))
        self.assertEqual([line_of("", each) in left_by(output) for each in found[:6]], [True] * 3 + [False] * 3)


class Mutation(unittest.TestCase):
    """Mutants of a source."""

    def test_code_is_what_is_compiled(self) -> None:
        self.assertEqual([number for number, _ in code(SOURCE)], [2, 6, 7, 8, 10, 11, 12, 13, 14, 15])

    def test_each_kind_is_there_once_for_each_place(self) -> None:
        found = mutants("a.h", SOURCE)
        news = {(each.line, each.kind): each.new for each in found if each.kind != "operator"}
        self.assertEqual(news[(2, "constant")], "#define RG_MOST 32 /* a > 2 */")
        self.assertEqual(news[(10, "condition")], "\tif (!(sum < 2 && pair->b))")
        self.assertEqual(news[(11, "constant")], "\t\treturn 1;")
        self.assertEqual(news[(12, "dropped")], "\t;")
        operators = sorted(each.new.strip() for each in found if each.kind == "operator")
        self.assertEqual(operators, ["if (sum < 2 || pair->b)", "if (sum <= 2 && pair->b)", "u64 sum = pair->a - 1;"])

    def test_a_mutant_changes_its_line_alone(self) -> None:
        for each in mutants("a.h", SOURCE):
            before, after = SOURCE.split("\n"), each.apply(SOURCE).split("\n")
            differing = [at + 1 for at, pair in enumerate(zip(before, after)) if pair[0] != pair[1]]
            self.assertIn(differing, ([each.line], [each.line, each.line + 1]), each)
        with self.assertRaises(ValueError):
            Mutant("a.h", 1, "dropped", "\tgone();", "\t;").apply(SOURCE)

    def test_a_survivor_is_known_again_by_its_line(self) -> None:
        lines = [line_of("survived", each) for each in mutants("a.h", SOURCE)]
        self.assertEqual(len(set(lines)), len(lines))
        self.assertFalse(any("\n" in line for line in lines))

    def test_each_mutant_is_what_its_number_runs(self) -> None:
        found = mutants("a.h", SOURCE)
        text, left = switched(SOURCE, list(enumerate(found, 1)))
        alone = [answers(each, [0])[0] for each in (SOURCE, *(mutant.apply(SOURCE) for mutant in found))]
        self.assertEqual(left, [])
        self.assertEqual(answers(text, range(len(alone))), alone)
        self.assertGreater(len(set(alone)), 4)

    def test_what_is_in_no_function_is_left(self) -> None:
        macro = "#define RG_EACH(i) \\\n\tRG_FOR(i, 0, 4)\n"
        numbered = list(enumerate(mutants("a.h", macro), 1))
        self.assertEqual(switched(macro, numbered), (macro, [number for number, _ in numbered]))

    def test_what_does_not_compile_is_named_by_the_compiler(self) -> None:
        text, _ = switched(SOURCE, [(7, Mutant("a.h", 13, "dropped", "\tpair->b++; /* once */", "\tpair->"))])
        with tempfile.TemporaryDirectory() as name:
            self.assertEqual(IN_MUTANT.findall(compiled(Path(name), text).stderr), ["7"])

    def test_calls_go_by_pointers(self) -> None:
        text = unit("RG_CALL u64 rg_now(void);\nRG_CALL struct rg_cpu *rg_cpu(s32 cpu);\n")
        self.assertIn("#define rg_now(...) (*rg_now_call)(__VA_ARGS__)", text)
        self.assertIn("__typeof__(rg_cpu) *rg_cpu_call;", text)


if __name__ == "__main__":
    unittest.main()
