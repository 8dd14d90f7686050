"""What slow requests waited for, from ftrace and the plants' own clocks: nothing of it comes from what is judged.

ftrace writes every switch of the servers' CPU and every wake-up, by CLOCK_MONOTONIC. At each moment of a slow
request (as the client saw it) the first of these that holds has the time:

1. `on`: a thread of the server, or of a process that it started, has the CPU.
2. `neighbours`: one is runnable, and another program's thread has the CPU.
3. The planted cause, where it is at work: `own code`, `disk`, `stopped`, `limits`. A thread that is throttled
   looks runnable, so this comes before 2 there.
4. `disk`: one that can not be interrupted sleeps (state D).
5. `unknown`.
"""

import re
from pathlib import Path

FOLDER = Path("/sys/kernel/tracing/instances/rearguard-planted")
SWITCH = re.compile(
    r"\[(\d+)\] .*? (\d+\.\d+): sched_switch: .*?prev_pid=(\d+) .*?prev_state=(\S+) ==> next_comm=(.*?) next_pid=(\d+)")
FORK = re.compile(r" sched_process_fork: .*? pid=(\d+) child_comm=.*? child_pid=(\d+)")
WAKE = re.compile(r" (\d+\.\d+): sched_wakeup(?:_new)?: .*? pid=(\d+) ")


class Ftrace:
    """An instance of ftrace of its own, for the time of a run."""

    def __init__(self):
        if not FOLDER.parent.is_dir():
            raise SystemExit("the oracle takes root and tracefs: `mount -t tracefs none /sys/kernel/tracing`")
        FOLDER.mkdir(exist_ok=True)
        self.write("tracing_on", "0")
        self.write("trace_clock", "mono")
        self.write("buffer_size_kb", "65536")
        self.write("trace", "")
        for event in ("sched_switch", "sched_wakeup", "sched_wakeup_new", "sched_process_fork"):
            self.write(f"events/sched/{event}/enable", "1")
        self.write("tracing_on", "1")

    @staticmethod
    def write(name, text):
        (FOLDER / name).write_text(text)

    def end(self):
        self.write("tracing_on", "0")
        text = (FOLDER / "trace").read_text(errors="replace")
        FOLDER.rmdir()
        return text


def parse(text, cpu):
    """(moment, what, ...) of a CPU's switches and of all wake-ups, in order."""
    events = []
    for line in text.splitlines():
        if match := SWITCH.search(line):
            if int(match[1]) == cpu:
                events.append((float(match[2]), "switch", int(match[3]), match[4], match[5], int(match[6])))
        elif match := WAKE.search(line):
            events.append((float(match[1]), "wake", int(match[2])))
    return sorted(events, key=lambda event: event[0])


def with_children(text, threads):
    """These threads, and those that they started, which may have ended before anything looked."""
    found = set(threads)
    for match in FORK.finditer(text):
        if int(match[1]) in found:
            found.add(int(match[2]))
    return found


def spans(events, threads):
    """(from, to, state, program): what the server's CPU is at, `on`, `neighbours` or `off`."""
    found, states, holder, begin = [], {}, None, None
    for event in events:
        if holder is not None and event[0] > begin:
            state = state_of(holder, set(states.values()), threads)
            found.append((begin, event[0], state, f"{holder[1]}[{holder[0]}]"))
        begin = event[0]
        if event[1] == "wake":
            if event[2] in threads:
                states[event[2]] = "R"
            continue
        _, _, before, state, name, after = event
        if before in threads:
            states[before] = state.rstrip("+")
        holder = (after, name)
    return found


def state_of(holder, states, threads):
    """What the server is at: `states` are those of its threads."""
    if holder[0] in threads:
        return "on"
    if "R" in states and holder[0] != 0:
        return "neighbours"
    return "blocked" if "D" in states else "off"


def overlap(begin, end, intervals):
    return sum(max(0.0, min(end, to) - max(begin, at)) for at, to in intervals)


def shares(windows, found, planted, cause, has_waits):
    """The part of these windows' time that each has, and the neighbours' names by weight."""
    parts, names = {}, {}
    for begin, end in windows:
        parts["all"] = parts.get("all", 0) + end - begin
        for at, to, state, name in found:
            at, to = max(at, begin), min(to, end)
            if at >= to:
                continue
            if state == "neighbours":
                names[name] = names.get(name, 0) + to - at
            if state in ("off", "blocked") or has_waits and state == "neighbours":
                has = overlap(at, to, planted)
                parts[cause] = parts.get(cause, 0) + has
                rest = {"off": "unknown", "blocked": "disk"}.get(state, state)
                parts[rest] = parts.get(rest, 0) + to - at - has
                continue
            parts[state] = parts.get(state, 0) + to - at
    whole = parts.pop("all", 0) or 1
    return {key: value / whole for key, value in parts.items()}, sorted(names, key=names.get, reverse=True)


def windows(requests, service):
    """The slow requests by the client's clock, from arrival to answer. Where `explain` saw just the client's
    requests, their places are those of the client's; else they are the slowest as the client saw them."""
    sent = sorted(requests)
    slow = service["slow"]
    if service["requests"] != len(sent) or not slow:
        return sorted(requests, key=lambda one: one[0] - one[1])[:service["slow_requests"]]
    bases = sorted(sent[one["request"]][0] - one["intended_ns"] / 1e9 for one in slow)
    base = bases[len(bases) // 2]
    return [(base + one["intended_ns"] / 1e9, base + one["completed_ns"] / 1e9) for one in slow]
