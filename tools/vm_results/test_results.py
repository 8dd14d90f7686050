"""What a table says, and what is planned."""

import tempfile
import unittest
from pathlib import Path

from experiment import BEGIN, END
from test_experiment import asked, sham

from . import figures, tables
from .__main__ import missing
from .plan import SERVICES, SHARES, SWEEPS, Point, points


def result(p99_9_ns, ideal_ns=2_000_000) -> dict:
    """A result of one seed, as far as a table reads it."""
    q = lambda value: {"value": value, "low": None, "high": None}
    keys = lambda value: {key: q(value) for key in ("p50", "p99", "p99_9")}
    program = {
        "name": "service", "kind": "service", "latency_ns": keys(p99_9_ns), "ideal_ns": keys(ideal_ns),
        "inversions_per_request": 0.25, "completion_inversions_per_request": 0.5,
    }
    group = {"name": "service", "share": 0.8, "due_share": 0.81}
    return {"seed": None, "programs": [program], "groups": [group]}


class Tables(unittest.TestCase):
    """Against results made by hand."""

    def setUp(self):
        self.found = {}

    def keep(self, seed: int, one: dict, scenario=SERVICES[0]):
        self.found.setdefault(Point(scenario, "eevdf"), {})[seed] = one

    def test_medians_and_spread(self):
        for seed, value in enumerate((3_000_000, 2_000_000, 8_000_000)):
            self.keep(seed, result(value))
        text = tables.markdown(self.found, {})
        self.assertIn("| `eevdf` | 1.50 (1.00 to 4.00) | 3.0 | 3.00 | 0.250 | 0.500 | 0.800 | 0.810 | 3 |", text)
        self.assertNotIn("`cfs`", text)

    def test_a_lost_tail_is_not_left_out_of_the_median(self):
        self.keep(1, result(3_000_000))
        self.keep(2, result(None))
        self.assertIn("| `eevdf` | - | - |", tables.markdown(self.found, {}))

    def test_a_tail_beside_batch_work_is_held_against_the_same_seeds_tail_alone(self):
        sweep, other = SWEEPS
        for percent, scenario in sweep.scenarios().items():
            self.assertEqual(tables.share_table(self.found, sweep, {}), "", "no row before all of it is there")
            for seed, alone in enumerate((2_000_000, 4_000_000, 1_000_000)):
                factor = 1 if percent == 0 else 1 + percent / 10 + seed
                self.keep(seed, result(alone * factor), scenario)
        row = "| `eevdf` | 2.00 | 3.00 (2.00 to 4.00) | 5.00 (4.00 to 6.00) |"
        self.assertIn(row, tables.share_table(self.found, sweep, {}))
        self.assertEqual(tables.share_table(self.found, other, {}), "", "the same scenario, of another service")

    def test_a_row_without_results_stays(self):
        page = Path(self.enterContext(tempfile.TemporaryDirectory())) / "page.md"
        self.keep(1, result(3_000_000))
        begin = BEGIN.format(tool=tables.TOOL)
        page.write_text("\n".join([begin, tables.markdown(self.found, {}), END, "| `eevdf` | elsewhere |"]))
        with_it = tables.standing(page)
        self.found = {Point(SERVICES[0], "cfs"): self.found.pop(Point(SERVICES[0], "eevdf"))}
        lines = tables.markdown(self.found, with_it).splitlines()
        self.assertEqual([line.split("`")[1] for line in lines if line.startswith("| `")], ["eevdf", "cfs"])
        self.assertNotIn("`eevdf`", tables.markdown(self.found, {}), "the control")
        page.write_text(page.read_text().replace(" 0.800 |", ""))
        self.assertNotIn("`eevdf`", tables.markdown(self.found, tables.standing(page)), "other columns")

    def test_no_negative_zero(self):
        self.assertEqual(figures.rounded(-0.0001, 3), "0.000")
        self.assertEqual(figures.rounded(-0.001, 3), "-0.001")


class Plan(unittest.TestCase):
    """With a program in place of `rearguard`, which writes down what it was asked."""

    def setUp(self):
        self.args = sham(Path(self.enterContext(tempfile.TemporaryDirectory())))

    def test_a_row_is_a_grid_of_a_run_a_seed(self):
        rows = {Point(SERVICES[0], "eevdf"): [1, 3], Point(SERVICES[1], "cfs"): []}
        found, well = figures.found(self.args, rows, "vm", None)
        self.assertEqual([one["found"] for one in found[Point(SERVICES[0], "eevdf")].values()], [10, 30])
        self.assertEqual((len(found), well), (1, True))
        (grid,) = asked(self.args)[1]["grid"]
        self.assertEqual((Path(grid["scenario"]).name, grid["policies"]), ("null-rpc.toml", "eevdf"))
        self.assertEqual(grid["values"], {"duration": ["5s"], "seeds": [[1], [3]]})

    def test_a_scenario_with_changes_is_run_with_them(self):
        alone, beside = (Point(scenario, "eevdf").grid([1])["values"] for scenario in SHARES[:2])
        self.assertEqual(alone["program.batch.kind"], ["daemon"])
        self.assertEqual(beside["group.batch.weight"], [10])

    def test_what_is_missing_is_named(self):
        rows = dict.fromkeys([Point(SERVICES[0], "cfs"), Point(SHARES[1], "cfs")], [1, 2])
        found = {Point(SERVICES[0], "cfs"): {1: {}, 2: {}}, Point(SHARES[1], "cfs"): {2: {}}}
        (line,) = missing(found, rows)
        self.assertEqual(line, "batch-share-on-4 group.service.weight=90 group.batch.weight=10 cfs: seeds 1")

    def test_the_worthiest_comes_first(self):
        both = points(SERVICES[:2], lambda _: ["rearguard", "eevdf"])
        ranked = [(point.policy, point.scenario) for point in both]
        first, second = SERVICES[:2]
        self.assertEqual(
            ranked, [("rearguard", first), ("rearguard", second), ("eevdf", first), ("eevdf", second)]
        )


if __name__ == "__main__":
    unittest.main()
