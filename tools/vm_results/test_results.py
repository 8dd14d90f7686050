"""What a table says, and when a result is measured again."""

import json
import tempfile
import unittest
from argparse import Namespace
from contextlib import redirect_stderr
from io import StringIO
from pathlib import Path

from . import figures, marks, tables
from .plan import SERVICES, SHARES, SWEEPS, Point, points
from .runs import command, run_all


def document(p99_9_ns, ideal_ns=2_000_000) -> str:
    """A result document of one seed, as far as a table reads it."""
    q = lambda value: {"value": value, "low": None, "high": None}
    keys = lambda value: {key: q(value) for key in ("p50", "p99", "p99_9")}
    program = {
        "name": "service", "kind": "service", "latency_ns": keys(p99_9_ns), "ideal_ns": keys(ideal_ns),
        "inversions_per_request": 0.25, "completion_inversions_per_request": 0.5,
    }
    group = {"name": "service", "share": 0.8, "due_share": 0.81}
    return json.dumps({"results": [{"seed": None, "programs": [program], "groups": [group]}]})


class Tables(unittest.TestCase):
    """Against results made by hand."""

    def setUp(self):
        self.folder = Path(self.enterContext(tempfile.TemporaryDirectory()))

    def keep(self, seed: int, text: str, scenario=SERVICES[0]):
        file = self.folder / Point(scenario, "eevdf").file(seed)
        file.parent.mkdir(parents=True, exist_ok=True)
        file.write_text(text)

    def test_medians_and_spread(self):
        for seed, value in enumerate((3_000_000, 2_000_000, 8_000_000)):
            self.keep(seed, document(value))
        text = tables.markdown(self.folder, {})
        self.assertIn("| `eevdf` | 1.50 (1.00 to 4.00) | 3.0 | 3.00 | 0.250 | 0.500 | 0.800 | 0.810 | 3 |", text)
        self.assertNotIn("`cfs`", text)

    def test_a_lost_tail_is_not_left_out_of_the_median(self):
        self.keep(1, document(3_000_000))
        self.keep(2, document(None))
        self.assertIn("| `eevdf` | - | - |", tables.markdown(self.folder, {}))

    def test_a_tail_beside_batch_work_is_held_against_the_same_seeds_tail_alone(self):
        sweep, other = SWEEPS
        for percent, scenario in sweep.scenarios().items():
            self.assertEqual(tables.share_table(self.folder, sweep, {}), "", "no row before all of it is there")
            for seed, alone in enumerate((2_000_000, 4_000_000, 1_000_000)):
                factor = 1 if percent == 0 else 1 + percent / 10 + seed
                self.keep(seed, document(alone * factor), scenario)
        row = "| `eevdf` | 2.00 | 3.00 (2.00 to 4.00) | 5.00 (4.00 to 6.00) |"
        self.assertIn(row, tables.share_table(self.folder, sweep, {}))
        self.assertEqual(tables.share_table(self.folder, other, {}), "", "the same scenario, of another service")

    def test_a_row_without_results_stays(self):
        page = self.folder / "page.md"
        self.keep(1, document(3_000_000))
        between = [tables.BEGIN.format(tool="vm-results"), tables.markdown(self.folder, {}), tables.END, "| `eevdf` | elsewhere |"]
        page.write_text("\n".join(between))
        with_it = tables.standing(page)
        eevdf = self.folder / Point(SERVICES[0], "eevdf").file(1)
        cfs = self.folder / Point(SERVICES[0], "cfs").file(1)
        cfs.parent.mkdir(parents=True)
        eevdf.rename(cfs)
        lines = tables.markdown(self.folder, with_it).splitlines()
        self.assertEqual([line.split("`")[1] for line in lines if line.startswith("| `")], ["eevdf", "cfs"])
        self.assertNotIn("`eevdf`", tables.markdown(self.folder, {}), "the control")
        page.write_text(page.read_text().replace(" 0.800 |", ""))
        self.assertNotIn("`eevdf`", tables.markdown(self.folder, tables.standing(page)), "other columns")

    def test_prose_outside_the_marks_stays(self):
        page = self.folder / "page.md"
        page.write_text(f"before\n{tables.BEGIN.format(tool='vm-results')}\nold\n{tables.END}\nafter\n")
        tables.replace_between_marks(page, "new")
        text = page.read_text()
        self.assertTrue(text.startswith("before\n") and text.endswith("\nafter\n"))
        self.assertIn("\nnew\n", text)
        self.assertNotIn("old", text)
        page.write_text("no marks")
        self.assertRaises(SystemExit, tables.replace_between_marks, page, "new")


class Runs(unittest.TestCase):
    """With a program in place of `rearguard`, which writes down what it was asked."""

    SHAM = """#!/usr/bin/env python3
import json, sys
seeds = sys.argv[sys.argv.index("--seed") + 1].split(",")
policy = sys.argv[sys.argv.index("--policy") + 1]
open(__file__ + ".log", "a").write(f"{policy} {','.join(seeds)}\\n")
if policy == "cfs":
    sys.exit("no such kernel")
print(json.dumps({"results": [{"seed": None}] + [{"seed": int(seed)} for seed in seeds]}))
"""

    def setUp(self):
        self.folder = Path(self.enterContext(tempfile.TemporaryDirectory()))
        sham = self.folder / "sham"
        sham.write_text(self.SHAM)
        sham.chmod(0o755)
        self.args = Namespace(
            rearguard=str(sham), on="vm", seeds=3, jobs=1, minutes=None, folder=self.folder / "results",
            scenarios=Path("scenarios"),
        )
        self.points = points(SERVICES[:1], lambda _: ["rearguard", "eevdf"])

    def run_all(self):
        with redirect_stderr(StringIO()) as said:
            failed = run_all(self.args, self.points)
        log = self.folder / "sham.log"
        asked = log.read_text().split("\n")[:-1] if log.exists() else []
        log.unlink(missing_ok=True)
        return failed, asked, said.getvalue()

    def test_a_row_is_one_guest_and_only_what_is_missing_is_measured(self):
        self.assertEqual(self.run_all()[:2], ([], ["rearguard 1,2,3", "eevdf 1,2,3"]))
        (self.args.folder / self.points[1].file(2)).unlink()
        self.assertEqual(self.run_all()[:2], ([], ["eevdf 2"]))
        self.assertEqual(self.run_all()[:2], ([], []))
        kept = json.loads((self.args.folder / self.points[0].file(3)).read_text())
        self.assertEqual(kept["results"], [{"seed": 3}])

    def test_a_scenario_with_changes_is_run_with_them_and_kept_by_itself(self):
        alone, beside = (Point(scenario, "eevdf") for scenario in SHARES[:2])
        self.assertNotEqual(alone.folder(), beside.folder())
        self.assertNotIn("--set", command(self.args, Point(SERVICES[0], "eevdf"), [1]))
        words = command(self.args, beside, [1])
        self.assertEqual([words[at + 1] for at, word in enumerate(words) if word == "--set"], list(beside.scenario.changes))
        self.assertTrue(beside.scenario.changes)

    def test_after_its_time_nothing_begins(self):
        self.args.minutes = -1
        failed, asked, said = self.run_all()
        self.assertEqual((failed, asked), ([], []))
        self.assertIn("2 rows are left", said)

    def test_a_failure_is_told_and_tried_again(self):
        self.points = points(SERVICES[:1], lambda _: ["cfs"])
        for _ in range(2):
            failed, asked, _ = self.run_all()
            self.assertEqual((len(failed), asked), (1, ["cfs 1,2,3"]))

    def test_the_worthiest_comes_first(self):
        both = points(SERVICES[:2], lambda _: ["rearguard", "eevdf"])
        ranked = [(point.policy, point.scenario) for point in both]
        first, second = SERVICES[:2]
        self.assertEqual(
            ranked, [("rearguard", first), ("rearguard", second), ("eevdf", first), ("eevdf", second)]
        )


class Marks(unittest.TestCase):
    """A change of what a result depends on gives it another place."""

    def test_another_text_is_another_mark(self):
        with tempfile.NamedTemporaryFile("w") as file:
            before = marks.mark([Path(file.name)])
            file.write("x")
            file.flush()
            self.assertNotEqual(before, marks.mark([Path(file.name)]))

    def test_only_our_policies_depend_on_our_sources(self):
        self.assertEqual([marks.of_policy(name) for name in ("eevdf", "scx_lavd")], ["", ""])
        self.assertNotEqual(marks.of_policy("cts:queue=cpu"), "")

    def test_no_negative_zero(self):
        self.assertEqual(figures.rounded(-0.0001, 3), "0.000")
        self.assertEqual(figures.rounded(-0.001, 3), "-0.001")


if __name__ == "__main__":
    unittest.main()
