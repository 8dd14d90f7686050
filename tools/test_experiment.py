"""What pages share: the plan that the engine gets, what it finds, and tables between marks."""

import json
import tempfile
import tomllib
import unittest
from argparse import Namespace
from contextlib import redirect_stderr
from io import StringIO
from pathlib import Path

import experiment

# In place of `rearguard`: finds that a seed is ten times itself, lacks what the time was too short for, and
# keeps what it was asked.
SHAM = """#!/usr/bin/env python3
import json, pathlib, sys, tomllib
plan = tomllib.loads(pathlib.Path(sys.argv[-1]).read_text())
pathlib.Path(__file__ + ".log").write_text(json.dumps([sys.argv[1:-1], plan]))
if plan["on"] == "broken":
    sys.exit(2)
grids = [grid.get("values", grid)["seeds"] for grid in plan["grid"]]
seeds = [(at, [one] if isinstance(one, int) else one) for at, all_of in enumerate(grids) for one in all_of]
pooled = lambda seeds: [{"seed": None, "found": 10 * seeds[0]}, {}]
left = 1 if "--minutes" in sys.argv else 0
results = [{"grid": at, "seeds": one, "result": pooled(one)} for at, one in seeds][left:]
print(json.dumps({"left": left, "failed": [], "results": results}))
sys.exit(plan["on"] == "failing")
"""


def sham(folder: Path) -> Namespace:
    """Arguments for a program in place of ours."""
    file = folder / "sham"
    file.write_text(SHAM)
    file.chmod(0o755)
    return Namespace(rearguard=str(file), folder=folder / "results", jobs=2, minutes=None, seeds=3)


def asked(args: Namespace) -> tuple[list[str], dict]:
    """What it was asked last."""
    return json.loads(Path(args.rearguard + ".log").read_text())


class Runs(unittest.TestCase):
    """What the engine is asked and what is made of its answer."""

    def setUp(self):
        self.args = sham(Path(self.enterContext(tempfile.TemporaryDirectory())))
        self.grids = [{"command": ["a", 'b "c"\\r\n'], "seeds": [1, 2]}, {"command": ["é"], "seeds": [7]}]

    def run_plan(self, on="vm", minutes=None):
        with redirect_stderr(StringIO()) as said:
            return *experiment.run(self.args, self.grids, on, minutes), said.getvalue()

    def test_results_are_of_their_grid_and_seed(self):
        found, well, _ = self.run_plan()
        values = [{seed: one[0]["found"] for seed, one in of.items()} for of in found]
        self.assertEqual((values, well), ([{1: 10, 2: 20}, {7: 70}], True))
        words, plan = asked(self.args)
        self.assertEqual(plan, {"on": "vm", "grid": self.grids})
        self.assertNotIn("--minutes", words)

    def test_what_is_left_and_what_fails_is_told(self):
        found, well, said = self.run_plan(minutes=5)
        self.assertEqual((sorted(found[0]), well), ([2], True))
        self.assertIn("1 runs are left", said)
        self.assertFalse(self.run_plan("failing")[1])
        self.assertRaises(SystemExit, self.run_plan, "broken")

    def test_values_are_toml(self):
        value = {"a.b": [[1], [2]], "c": ["daemon", 0.5, True]}
        self.assertEqual(tomllib.loads(f"x = {experiment.toml(value)}"), {"x": value})


class Marks(unittest.TestCase):
    """The writer of tables."""

    def test_prose_outside_the_marks_stays(self):
        page = Path(self.enterContext(tempfile.TemporaryDirectory())) / "page.md"
        page.write_text(f"before\n{experiment.BEGIN.format(tool='a')}\nold\n{experiment.END}\nafter\n")
        experiment.replace_between_marks(page, "new", "a")
        text = page.read_text()
        self.assertTrue(text.startswith("before\n") and text.endswith("\nafter\n"))
        self.assertIn("\nnew\n", text)
        self.assertNotIn("old", text)
        self.assertRaises(SystemExit, experiment.replace_between_marks, page, "new", "b")


if __name__ == "__main__":
    unittest.main()
