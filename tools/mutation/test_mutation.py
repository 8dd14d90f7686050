"""Of mutants: what is changed, and what is not."""

import unittest

from .__main__ import line_of
from .build import unit
from .mutate import Mutant, code, mutants

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

    def test_calls_go_by_pointers(self) -> None:
        text = unit("RG_CALL u64 rg_now(void);\nRG_CALL struct rg_cpu *rg_cpu(s32 cpu);\n")
        self.assertIn("#define rg_now(...) (*rg_now_call)(__VA_ARGS__)", text)
        self.assertIn("__typeof__(rg_cpu) *rg_cpu_call;", text)


if __name__ == "__main__":
    unittest.main()
