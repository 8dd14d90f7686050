"""The oracle of planted causes: what ftrace says, divided by who had the time, and the judge."""

import unittest
from types import SimpleNamespace

from planted import cases, oracle

# Thread 7 is the server's: it wakes at 1.0, waits behind `rustc` until 1.2, runs until 1.3 and sleeps.
SWITCH = ("  {task}  [001] d..2. {at}: sched_switch: prev_comm={of} prev_pid={before} prev_prio=120 "
          "prev_state={state} ==> next_comm={to} next_pid={after} next_prio=120")
IDLE = {"task": "idle-0", "of": "swapper/1", "before": 0, "state": "R"}
TEXT = "\n".join([
    SWITCH.format(at="0.900000", to="opt cgu.0", after=9, **IDLE),
    " x-1 [000] dNs4. 1.000000: sched_wakeup: comm=server pid=7 prio=120 target_cpu=001",
    SWITCH.format(task="opt cgu.0-9", at="1.200000", of="opt cgu.0", before=9, state="R+", to="server", after=7),
    SWITCH.format(task="server-7", at="1.300000", of="server", before=7, state="{last}", to="swapper/1", after=0),
    SWITCH.format(at="1.600000", to="opt cgu.0", after=9, **IDLE),
    # Of another CPU.
    SWITCH.format(at="1.700000", to="b", after=8, **IDLE).replace("[001]", "[000]"),
])


def shares(last="S", planted=(), has_waits=False):
    found = oracle.spans(oracle.parse(TEXT.format(last=last), 1), {7})
    got, names = oracle.shares([(1.0, 1.5)], found, planted, "stopped", has_waits)
    return {key: round(share, 3) for key, share in got.items() if share > 0}, names


class Planted(unittest.TestCase):
    def test_a_wait_behind_another_program_is_the_neighbours(self):
        self.assertEqual(shares(), ({"neighbours": 0.4, "on": 0.2, "unknown": 0.4}, ["opt cgu.0[9]"]))
        throttled = {"stopped": 0.2, "neighbours": 0.2, "on": 0.2, "unknown": 0.4}
        self.assertEqual(shares(planted=[(0.5, 1.1)], has_waits=True)[0], throttled, "the control")

    def test_what_the_server_starts_is_the_servers(self):
        fork = " x-{of} [000] ..... 0.5: sched_process_fork: comm=a pid={of} child_comm=a child_pid={child}\n"
        text = "".join(fork.format(of=of, child=child) for of, child in ((7, 8), (8, 9), (5, 6)))
        self.assertEqual(oracle.with_children(text, {7}), {7, 8, 9})
        self.assertEqual(oracle.with_children("", {7}), {7}, "the control")

    def test_what_is_planted_has_the_time_in_which_the_server_sleeps(self):
        found = {"neighbours": 0.4, "on": 0.2, "stopped": 0.2, "unknown": 0.2}
        self.assertEqual(shares(planted=[(1.1, 1.4)])[0], found)
        self.assertEqual(shares(last="D")[0], {"neighbours": 0.4, "on": 0.2, "disk": 0.4})

    def test_the_greatest_share_is_right_and_what_is_near_it(self):
        truth, plant = {"neighbours": 0.5, "on": 0.4, "disk": 0.1}, SimpleNamespace(hogs=[], also=())
        classes = ("neighbours", "own code", "disk")
        said = [cases.judge((one, "sure", "a[1]"), truth, ["a[1]"], plant) for one in classes]
        self.assertEqual(said, ["right", "right", "wrong"])
        self.assertEqual(cases.judge(("disk", "cannot tell", None), truth, [], plant), "cannot tell")
        self.assertEqual(cases.judge(("disk", "sure", None), {}, [], plant), "no answer")
        plant.also = ("disk",)
        self.assertEqual(cases.judge(("disk", "sure", None), truth, [], plant), "right")

    def test_a_hog_must_be_named_where_it_was_the_neighbour(self):
        plant = SimpleNamespace(hogs=["hog[5]"], also=())

        def said(culprit, neighbour):
            return cases.judge(("neighbours", "sure", culprit), {"neighbours": 1.0}, [neighbour], plant)

        self.assertEqual(said("hog[5]", "chrt[5]"), "right")
        self.assertEqual(said("innocent[5]", "chrt[5]"), "wrong")
        self.assertEqual(said("rustc[6]", "rustc[6]"), "right", "the control: a compiler was")

    def test_several_hogs_are_named_by_their_program(self):
        hogs = ["hog[5]", "hog[6]"]
        self.assertTrue(cases.names_hogs("hog (2 processes)", hogs))
        for other in ("hog (3 processes)", "rustc (2 processes)", "hog", "hog[7]", None):
            self.assertFalse(cases.names_hogs(other, hogs), other)

    def test_slow_requests_are_at_the_places_that_explain_gives(self):
        requests = [(10.0, 10.1), (10.5, 11.5), (12.0, 12.1)]
        slow = [{"request": 1, "intended_ns": 500_000_000, "completed_ns": 1_400_000_000}]
        service = {"requests": 3, "slow_requests": 1, "slow": slow}
        self.assertEqual(oracle.windows(requests, service), [(10.5, 11.4)])
        self.assertEqual(oracle.windows(requests, {**service, "requests": 4}), [(10.5, 11.5)])


if __name__ == "__main__":
    unittest.main()
