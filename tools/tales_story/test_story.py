"""Of steps and their results: what is run, and what the table makes of it."""

import unittest
from dataclasses import replace

from . import tables
from .plan import PARTS

PART = PARTS[0]
STEP = PART.steps[0]


def result(excess: float) -> dict:
    """A document of a measurement, as far as the table reads it."""
    quantile = {"value": excess * 1e6}
    return {
        "excess_p99_9": excess,
        "latency_ns": {"p50": quantile, "p99_9": quantile},
        "ideal_ns": {"p99_9": {"value": 1e6}},
        "service_time": {"value_ns": 500_000},
        "utilisation": 0.75,
    }


class Story(unittest.TestCase):
    """The story without guests."""

    def test_a_step_is_a_grid_of_its_own_whatever_its_name(self) -> None:
        grids = [str(part.grid(step, 3)) for part in PARTS for step in part.steps]
        self.assertEqual(len(grids), len(set(grids)))
        self.assertEqual(PART.grid(STEP, 3), PART.grid(replace(STEP, name="renamed"), 3))
        self.assertNotEqual(PART.grid(STEP, 3), replace(PART, rate="1/s").grid(STEP, 3))

    def test_what_was_found_stands_in_the_table(self) -> None:
        self.assertEqual(tables.markdown({}), "")
        lines = tables.markdown({(PART, STEP): [result(2.0), result(4.0)]}).splitlines()
        row = next(line for line in lines if line.startswith(f"| {STEP.name}"))
        self.assertIn("3.00 (2.00 to 4.00) | 3.000 | 1.000 | 3.000 | 500.0 | 0.75 | 2 |", row)

    def test_the_guest_is_told_all_that_its_script_reads(self) -> None:
        line = PART.grid(replace(STEP, knobs="real-time"), 2)["command"]
        script = line[line.index("--") + 1 :]
        self.assertEqual(script[1:9], ["/root/results", "null-rpc", "0", "2", "", "0", "real-time", "{seeds}"])


if __name__ == "__main__":
    unittest.main()
