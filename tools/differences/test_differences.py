"""Drawn scenarios, and the judge of what is worth a look."""

import tomllib
import unittest

from differences.draw import scenario
from differences.judge import differences


def document(tail_ms=1.0, use=0.5, idle=0.0, due=0.5):
    """Ours has these figures; the other's are 1 ms, half of the machine, nothing idle."""
    def result(policy, tail_ms, use, idle):
        tail = {"p99_9": {"value": tail_ms and tail_ms * 1e6}}
        service = {"name": "web", "kind": "service", "latency_ns": tail, "ideal_ns": {"p99_9": {"value": 1e6}}}
        batch = {"name": "batch", "kind": "batch", "utilisation": use}
        groups = [{"name": "batch", "share": use, "due_share": due}]
        return {"policy": policy, "programs": [service, batch], "groups": groups, "idle_share": idle}
    return {"results": [result("eevdf", 1.0, 0.5, 0.0), result("ours", tail_ms, use, idle)]}


class Differences(unittest.TestCase):
    def test_nothing_is_said_where_nothing_differs(self):
        self.assertEqual(differences(document(), "ours"), [])
        self.assertEqual(differences(document(tail_ms=2.9, use=0.45, idle=0.02), "ours"), [])

    def test_each_difference_is_said(self):
        for figures, words in [
            ({"tail_ms": 5.0}, ["web: p99.9 5.0 ms"]),
            ({"tail_ms": None}, ["web: p99.9 inf ms"]),
            ({"use": 0.1}, ["batch: utilisation 0.1"]),
            ({"use": 0.6}, ["batch: share 0.600"]),
            ({"idle": 0.1}, ["idle 0.100"]),
        ]:
            found = differences(document(**figures), "ours")
            self.assertEqual([line.split(",")[0] for line in found], words)

    def test_who_has_its_due_has_enough(self):
        self.assertEqual(differences(document(use=0.1, due=0.1), "ours"), [])

    def test_what_is_due_may_be_unknown(self):
        self.assertEqual(differences(document(due=None), "ours"), [])
        self.assertEqual(len(differences(document(use=0.1, due=None), "ours")), 1)
        self.assertEqual(len(differences(document(use=0.6, due=None), "ours")), 1)

    def test_a_seed_draws_the_same_scenario_again(self):
        self.assertEqual(scenario(7), scenario(7))
        self.assertNotEqual(scenario(7), scenario(8))

    def test_what_is_drawn_is_toml_and_of_every_kind(self):
        drawn = [tomllib.loads(scenario(seed)) for seed in range(200)]
        kinds = {program["kind"] for one in drawn for program in one["program"]}
        self.assertEqual(kinds, {"service", "batch", "daemon", "periodic", "fork-join"})

    def test_bound_programs_keep_to_a_cpu_of_their_group_and_to_its_time(self):
        for seed in range(200):
            drawn = tomllib.loads(scenario(seed, binds=True))
            programs = {program["name"]: program for program in drawn["program"]}
            groups = {group["name"]: group.get("cpus") for group in drawn.get("group", [])}
            for change in drawn.get("change", []):
                if "cpus" in change:
                    bound = programs[change["program"]]
                    may = groups.get(bound.get("group", "").split("/")[0]) or range(drawn["machine"]["cpus"])
                    self.assertIn(change["cpus"][0], may)
                    use = bound.get("arrivals", {"utilisation": 0})["utilisation"] * drawn["machine"]["cpus"]
                    self.assertLess(use, 0.5)
