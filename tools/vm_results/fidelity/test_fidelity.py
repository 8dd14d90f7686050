"""What is within the promise and what is not; nothing is left out."""

import tempfile
import unittest
from pathlib import Path

from experiment import BEGIN, END
from test_experiment import asked, sham

from ..plan import LAGS, SERVICES, Point
from .adapt import FOUND, FOUND_ELSE, longer, of_one_cpu, request_ns, simulated, with_client, with_generators_cpu
from .guest import SLEEPERS, cycle_ns, with_cycles, with_turns
from .distances import distances
from .pairs import Pair, pairs, planned
from .rows import merged, of_pairs, standing
from .tables import markdown


def service_result(p99_ns, ideal_ns=2_000_000, inversions=0.25, share=0.8, due=0.8, rate_per_s=1_000.0) -> dict:
    """A result of one seed, as far as it is read."""
    q = lambda value: {"value": value, "low": None, "high": None}
    program = {
        "name": "service", "kind": "service",
        "latency_ns": {"p50": q(1_000_000), "p99": q(p99_ns), "p99_9": q(9_000_000)},
        "ideal_ns": {key: q(ideal_ns) for key in ("p50", "p99", "p99_9")},
        "inversions_per_request": inversions, "completion_inversions_per_request": 0.0, "rate_per_s": rate_per_s,
    }
    groups = [{"name": "service", "share": share, "due_share": due}, {"name": "batch", "share": 1.0 - share, "due_share": 1.0 - due}]
    return {"programs": [program], "groups": groups, "switches": 100, "migrations": 0, "threads_lag_s": None}


def pair(policy: str, sim: list[dict], real: list[dict], scenario=SERVICES[0]) -> Pair:
    return Pair(Point(scenario, policy), sim, sim, real)


def written(*found: Pair) -> str:
    """The tables of these alone."""
    return markdown(of_pairs(list(found)), [one.point for one in found])


def times(of: Pair) -> dict:
    """How many times what is allowed, by figure."""
    return {one.figure.name: one.times_allowed(one.sim) for one in distances(of)}


class Distances(unittest.TestCase):
    """Against results made by hand; equal arms are the control of each."""

    def test_equal_arms_are_at_no_distance(self):
        same = [service_result(5_000_000)]
        told = times(pair("cts", same, same))
        promised = {name: value for name, value in told.items() if value is not None}
        self.assertEqual(set(promised.values()), {0.0})
        self.assertEqual(len(promised), 9)
        self.assertNotIn("### Outside, the worst first\n\n|", written(pair("cts", same, same)))

    def test_ten_percent_of_the_real_one_are_allowed_and_25_to_a_class(self):
        off = [service_result(6_000_000)]
        real = [service_result(5_000_000)]
        self.assertAlmostEqual(times(pair("cts", off, real))["p99, ms"], 2.0)
        self.assertAlmostEqual(times(pair("eevdf", off, real))["p99, ms"], 0.8)

    def test_the_ideal_of_each_arm_is_its_own(self):
        told = times(pair("cts", [service_result(6_000_000, 2_400_000)], [service_result(5_000_000)]))
        self.assertAlmostEqual(told["p99 / ideal"], 0.0)
        self.assertAlmostEqual(told["p99, ms"], 2.0)

    def test_inversions_are_a_difference(self):
        off, real = [service_result(5_000_000, inversions=0.45)], [service_result(5_000_000)]
        self.assertAlmostEqual(times(pair("cts", off, real))["inversions by start"], 2.0)

    def test_of_the_shares_the_one_furthest_off_is_told(self):
        off, real = [service_result(5_000_000, share=0.808)], [service_result(5_000_000)]
        self.assertAlmostEqual(times(pair("cts", off, real))["share of batch"], 2.0)

    def test_medians_over_seeds(self):
        real = [service_result(5_000_000)] * 3
        outlier = [service_result(value) for value in (5_000_000, 5_000_000, 50_000_000)]
        self.assertAlmostEqual(times(pair("cts", outlier, real))["p99, ms"], 0.0)

    def test_a_lost_tail_is_outside(self):
        lost, real = [service_result(None), service_result(5_000_000)], [service_result(5_000_000)] * 2
        self.assertIsNone(times(pair("cts", lost, real))["p99, ms"])
        self.assertIn("| p99, ms | 5 | - | - | - | - | - | - |", written(pair("cts", lost, real)))

    def test_the_worst_comes_first(self):
        off = [service_result(6_000_000, inversions=2.25)]
        text = written(pair("cts", off, [service_result(5_000_000)]))
        self.assertLess(text.index("| inversions by start | 0.25 | 2.25 |"), text.index("| p99, ms | 5 | 6 |"))

    def test_what_is_missing_is_said(self):
        text = markdown({}, [Point(LAGS[0], "cts")])
        self.assertIn("### Not measured on a real kernel yet\n\n* `twenty-processes`: `cts`", text)
        self.assertNotIn("Not measured", markdown({}, []))


class Standing(unittest.TestCase):
    """A row whose real results are gone stays as it is in the document."""

    def setUp(self):
        off, real = [service_result(6_000_000, inversions=2.25)], [service_result(5_000_000)]
        self.pairs = [pair("cts", off, real), pair("gvts", [service_result(None)], real)]
        self.points = [one.point for one in self.pairs]
        self.page = Path(self.enterContext(tempfile.TemporaryDirectory())) / "page.md"
        self.text = markdown(of_pairs(self.pairs), self.points)
        self.page.write_text(f"{BEGIN.format(tool='fidelity')}\n{self.text}\n{END}\n")

    def test_what_was_written_is_written_again(self):
        self.assertEqual(markdown(standing(self.page), self.points), self.text)

    def test_a_new_result_takes_the_place_of_its_row_alone(self):
        same = [service_result(5_000_000)]
        rows = merged(standing(self.page), of_pairs([pair("gvts", same, same)]))
        text = markdown(rows, self.points)
        self.assertIn("| `gvts` | 1 | 9 of 9 | 9 of 9 |", text)
        of_cts = [line for line in self.text.splitlines() if "`cts`" in line]
        self.assertEqual([line for line in text.splitlines() if "`cts`" in line], of_cts)

    def test_a_row_of_other_columns_goes(self):
        self.page.write_text(self.page.read_text().replace("| p99, ms |", "| p98, ms |"))
        same = [service_result(5_000_000)]
        rows = merged(standing(self.page), of_pairs([pair("gvts", same, same)]))
        self.assertEqual([policy for _, policy in rows], ["gvts"])


class Adapted(unittest.TestCase):
    """The kernel's part of the real machine, at the same rate of requests."""

    def test_longer_services_at_the_same_rate(self):
        text = Path("scenarios/four-cpus.toml").read_text()
        adapted = longer(text, 50_000)
        self.assertIn('service_time = "2050000ns"', adapted)
        self.assertIn("utilisation = 0.82 }", adapted)
        self.assertEqual(len(text.splitlines()), len(adapted.splitlines()))
        unchanged = longer(text, 0)
        self.assertIn('service_time = "2000000ns"', unchanged)
        self.assertIn("utilisation = 0.8 }", unchanged)

    def test_every_service_of_the_plan_can_be_adapted(self):
        for scenario in SERVICES:
            text = Path(f"scenarios/{scenario.name}.toml").read_text()
            self.assertNotEqual(longer(text, 1_000), longer(text, 0), scenario.name)

    def test_the_generators_cpu_leaves_the_rate_as_it_was(self):
        text = with_generators_cpu(Path("scenarios/service-and-batch.toml").read_text())
        self.assertIn("cpus = 2\nllcs = 2\n", text)
        self.assertIn('cpus = "dedicated"', text)
        self.assertIn("utilisation = 0.2 }", text)

    def test_a_worker_may_find_its_next_request(self):
        text = Path("scenarios/four-cpus.toml").read_text()
        for policy, share in (("cfs", FOUND_ELSE[4]), ("gvts", FOUND["gvts"][4])):
            expected = f'cpus = 4\nclient = "local"\nnext_request_ready = {share}\n'
            self.assertIn(expected, with_client(text, policy, 4))
        self.assertNotIn("client", with_client(Path("scenarios/null-rpc.toml").read_text(), "cfs", 1))

    def test_a_service_that_fell_behind_costs_what_was_asked_for(self):
        cost = lambda share: request_ns(service_result(1, share=share, due=0.8, rate_per_s=1_000.0))
        self.assertAlmostEqual(cost(0.79), 790_000)
        self.assertAlmostEqual(cost(0.5), 800_000)

    def test_a_result_beside_the_generators_cpu_is_one_of_one_cpu(self):
        guest, alone = service_result(5_000_000, ideal_ns=1, share=0.3), service_result(6_000_000)
        found = of_one_cpu(guest, alone)
        self.assertEqual(found["programs"][0]["ideal_ns"], alone["programs"][0]["ideal_ns"])
        self.assertEqual(found["programs"][0]["latency_ns"]["p99"]["value"], 5_000_000)
        self.assertEqual([group["share"] for group in found["groups"]], [0.6, 1.4])

    def test_ticks_wait_for_all_other_cpus_turns(self):
        text = Path("scenarios/gvts-fig8.toml").read_text()
        self.assertIn('cpus = 16\ntick_late = "1600000ns"\nstart = "barrier"\n', with_turns(text, 16, False))
        self.assertIn('tick_late = "50000ns"', with_turns(text, 4, True))
        self.assertEqual(with_turns(text, 1, False), text)

    def test_work_ends_in_a_turn_and_sleep_takes_instructions(self):
        text = Path("scenarios/infeasible-weight.toml").read_text()
        self.assertIn('run = "5770000ns"', with_cycles(text, 16, False, 5_000))
        self.assertIn('run = "5005000ns"', with_cycles(text, 1, False, 5_000))
        spinners = Path("scenarios/gvts-fig8.toml").read_text()
        self.assertEqual(with_cycles(spinners, 16, False, 5_000), spinners)

    def test_what_sleep_takes_is_of_the_policy_or_of_what_stands_for_it(self):
        def of(share: float) -> dict:
            program = {"name": "siblings", "kind": "daemon", "rounds": 20_000}
            return {1: {"programs": [program], "groups": [{"name": "siblings", "share": share}]}}

        sim = {Point(SLEEPERS, "rearguard"): of(0.03)}
        real = {Point(SLEEPERS, "rearguard"): of(0.05), Point(SLEEPERS, "cfs"): of(0.9)}
        for policy in ("rearguard", "gvts", "cfs"):
            self.assertAlmostEqual(cycle_ns(sim, real, policy), 10_000.0)
        self.assertEqual(cycle_ns(sim, real, "fifo"), 0.0)

    def test_both_are_held_to_the_promise(self):
        near, far, real = ([service_result(value)] for value in (5_100_000, 6_000_000, 5_000_000))
        text = written(Pair(Point(SERVICES[0], "cts"), far, near, real))
        self.assertIn("| `cts` | 1 | 7 of 9 | 9 of 9 |", text)
        self.assertIn("| p99, ms | 5 | 6 | +20.0% | 2.00 | 5.1 | +2.0% | 0.20 |", text)


class Pairs(unittest.TestCase):
    """With a program in place of the simulator."""

    def test_only_seeds_that_both_arms_have_are_paired(self):
        row, other = Point(SERVICES[0], "eevdf"), Point(SERVICES[1], "cts")
        real = {row: {2: {"real": 2}, 5: {"real": 5}, 6: {"real": 6}}}
        sim = {row: {2: {"sim": 2}, 5: {"sim": 5}}, other: {1: {}}}
        (found,) = pairs(sim, {row: {5: {"own": 5}}}, real, [row, other])
        self.assertEqual(found.real, [{"real": 2}, {"real": 5}])
        self.assertEqual((found.sim, found.adapted), ([{"sim": 2}, {"sim": 5}], [{"own": 5}]))

    def test_a_row_is_simulated_by_another_text_of_its_scenario(self):
        folder = Path(self.enterContext(tempfile.TemporaryDirectory()))
        args, row = sham(folder), Point(SERVICES[0], "eevdf")
        found, well = simulated(args, folder / "texts", {row: "cpus = 1\n"}, {row: [2, 5]})
        self.assertEqual((sorted(found[row]), well), ([2, 5], True))
        (grid,) = asked(args)[1]["grid"]
        self.assertEqual(Path(grid["scenario"]).read_text(), "cpus = 1\n")
        self.assertEqual(Path(grid["scenario"]).name, "null-rpc.toml")

    def test_the_simulator_has_no_foreign_schedulers(self):
        policies = {point.policy for point in planned()}
        self.assertIn("rearguard", policies)
        self.assertFalse([policy for policy in policies if policy.startswith("scx_")])


if __name__ == "__main__":
    unittest.main()
