"""The matrix's table: answers that are kept, and the page's own where there are none."""

import importlib.machinery
import importlib.util
import tempfile
import unittest
from pathlib import Path
from unittest import mock

SCRIPT = Path(__file__).with_name("kernel-matrix")
LOADER = importlib.machinery.SourceFileLoader("kernel_matrix", str(SCRIPT))
matrix = importlib.util.module_from_spec(importlib.util.spec_from_loader("kernel_matrix", LOADER))
LOADER.exec_module(matrix)

PAGE = """
<!-- tests -->
| kernel | load | gone |
|---|---|---|
| 6.18.15-a | fails | holds |
| 7.3.4-a | holds | - |
<!-- /tests -->
"""


class Record(unittest.TestCase):
    """What stands in the page's table."""

    def rows(self, releases: list[str], page: str, answers: dict[str, str]) -> dict[str, str]:
        """The first cell of each row, by kernel, with answers to `load` kept by kernel."""
        with tempfile.TemporaryDirectory() as cache, mock.patch.object(matrix, "CACHE", Path(cache)):
            for release, said in answers.items():
                file = Path(cache) / "kernel-matrix" / release / "load"
                file.parent.mkdir(parents=True)
                file.write_text(f"{said}\nrunning 1 test\n")
            lines = matrix.tests(releases, page).splitlines()[2:]
        return {kernel: load for _, kernel, load, *_ in (map(str.strip, line.split("|")) for line in lines)}

    def test_a_new_machine_keeps_what_the_page_says(self) -> None:
        """Also of kernels that its lab does not have; the control is an empty page."""
        self.assertEqual(self.rows(["7.3.4-a"], PAGE, {}), {"6.18.15-a": "fails", "7.3.4-a": "holds"})
        self.assertEqual(self.rows(["7.3.4-a"], "", {}), {"7.3.4-a": "-"})

    def test_an_answer_that_is_kept_comes_first(self) -> None:
        """And a kernel that the page does not know finds its place by its version."""
        rows = self.rows(["6.12.117-scx", "6.18.15-a"], PAGE, {"6.18.15-a": "holds", "6.12.117-scx": "fails"})
        self.assertEqual(list(rows.items()), [("6.12.117-scx", "fails"), ("6.18.15-a", "holds"), ("7.3.4-a", "holds")])

    def test_the_page_as_it_is_stays_as_it_is(self) -> None:
        """Where nothing is kept and no kernel is in the lab."""
        page = matrix.PAGE.read_text()
        with tempfile.TemporaryDirectory() as cache, mock.patch.object(matrix, "CACHE", Path(cache)):
            self.assertIn(matrix.tests([], page), page)

    def test_kernels_with_sched_ext_are_told_by_their_release(self) -> None:
        """Debian's 6.12 has none, the one that is built here has it."""
        releases = ["6.1.0-50-cloud-amd64", "6.12.117+deb13-cloud-amd64", "6.12.117-scx", "6.16.12+deb13-cloud-amd64"]
        self.assertEqual([matrix.has_sched_ext(release) for release in releases], [False, False, True, True])


if __name__ == "__main__":
    unittest.main()
