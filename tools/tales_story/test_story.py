"""Of steps and their results: what a result depends on, and what the table makes of it."""

import json
import tempfile
import unittest
from argparse import Namespace
from dataclasses import replace
from pathlib import Path

from . import tables
from .guests import command, missing
from .plan import PARTS

PART = PARTS[0]
STEP = PART.steps[0]


def result(excess: float) -> str:
    """A document of a measurement, as far as the table reads it."""
    quantile = {"value": excess * 1e6}
    return json.dumps({
        "excess_p99_9": excess,
        "latency_ns": {"p50": quantile, "p99_9": quantile},
        "ideal_ns": {"p99_9": {"value": 1e6}},
        "service_time": {"value_ns": 500_000},
        "utilisation": 0.75,
    })


class Story(unittest.TestCase):
    """The story without guests."""

    def test_a_result_is_a_steps_own(self) -> None:
        files = [part.file(step, 1) for part in PARTS for step in part.steps]
        self.assertEqual(len(files), len(set(files)))
        self.assertEqual(PART.file(STEP, 1), PART.file(replace(STEP, name="renamed"), 1))
        self.assertNotEqual(PART.file(STEP, 1), replace(PART, rate="1/s").file(STEP, 1))

    def test_what_is_there_is_not_measured_again_and_stands_in_the_table(self) -> None:
        with tempfile.TemporaryDirectory() as name:
            folder = Path(name)
            args = Namespace(folder=folder, seeds=3, rearguard="rearguard")
            self.assertEqual((missing(args, PART, STEP), tables.markdown(folder)), ([1, 2, 3], ""))
            for seed, excess in ((1, 2.0), (3, 4.0)):
                file = folder / PART.file(STEP, seed)
                file.parent.mkdir(parents=True, exist_ok=True)
                file.write_text(result(excess))
            self.assertEqual(missing(args, PART, STEP), [2])
            row = next(line for line in tables.markdown(folder).splitlines() if line.startswith(f"| {STEP.name}"))
            self.assertIn("3.00 (2.00 to 4.00) | 3.000 | 1.000 | 3.000 | 500.0 | 0.75 | 2 |", row)

    def test_the_guest_is_told_all_that_its_script_reads(self) -> None:
        args = Namespace(rearguard="rearguard")
        line = command(args, PART, replace(STEP, knobs="real-time"), [1, 2], "/here")
        script = line[line.index("--") + 1 :]
        self.assertEqual(script[1:9], ["/root/results", "null-rpc", "0", "2", "", "0", "real-time", "1 2"])


if __name__ == "__main__":
    unittest.main()
