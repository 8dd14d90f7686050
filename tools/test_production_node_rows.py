"""Rows of a production node: what the page has, what a case becomes, and how figures are written."""

import unittest
from contextlib import redirect_stdout
from io import StringIO
from unittest import mock

import production_node_rows as rows


def result(share: float, excess: float | None) -> dict:
    """A policy's part of a document."""
    program = {"name": "web", "excess_p99_9": excess, "latency_ns": {"p99": {"value": 1.07e6}}}
    return {"groups": [{"name": "web", "share": share}], "programs": [program]}


class Rows(unittest.TestCase):
    """The list, the page and the cases belong together."""

    def test_each_row_stands_on_the_page_and_its_words_in_the_file(self) -> None:
        page, counts = rows.PAGE.read_text(), {}
        for name, part, _, texts in rows.ROWS:
            counts[name] = counts.get(name, 0) + 1
            for replaced in texts:
                self.assertIn(f'name = "{part}"', rows.scenario(name, replaced))
        for name, count in counts.items():
            self.assertEqual(len(rows.cells(page, name)), count, name)
        with self.assertRaises(SystemExit):
            rows.scenario("helpers", [("nothing", "")])

    def test_figures_are_written_as_on_the_page(self) -> None:
        self.assertEqual([rows.figure(result(0.091, None), "web", what) for what in ("share", "p99", "excess")], [9.1, 1.07, float("inf")])
        self.assertEqual(rows.like("2.4 ms", [2.41]), "2.4 ms")
        self.assertEqual(rows.like("18.8%", [18.83]), "18.8%")
        self.assertEqual(rows.like("3.4 to 6.4", [6.41, 3.36]), "3.4 to 6.4")
        self.assertEqual(rows.like("1.00", [1.004, 1.001]), "1.00")

    def test_what_differs_is_said(self) -> None:
        found = {"rearguard": result(0.5, 1.004), "eevdf": result(0.5, 300.6)}
        page = "| `quota-of-one` | what | 270 | 1.00 | 263 |\n"
        with mock.patch.object(rows, "results", lambda *_: found), mock.patch.object(rows, "PAGE", mock.Mock(read_text=lambda: page)), redirect_stdout(StringIO()) as out:
            self.assertEqual(rows.check(["quota-of-one"], "rearguard"), 1)
        self.assertIn("263   is 301\n1 differ", out.getvalue())
        with self.assertRaises(SystemExit):
            rows.check(["unknown"], "rearguard")


if __name__ == "__main__":
    unittest.main()
