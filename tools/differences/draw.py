"""Draws a scenario from a seed: mixtures of programs, groups and cpusets as a node may have them."""

import json
import random

# CPUs and caches.
MACHINES = [(1, 1), (2, 1), (3, 1), (4, 1), (4, 2), (6, 2), (8, 1), (8, 2), (8, 4), (12, 2), (16, 1), (16, 2), (24, 3)]
WEIGHTS = [10, 20, 50, 100, 100, 100, 200, 300, 1000]
KINDS = ["service", "service", "batch", "daemon", "periodic", "fork-join"]
BURSTS = {"law": "mmpp", "ratio": 5, "share": 0.1, "length": 50}


def value(of) -> str:
    """A value as TOML writes it."""
    if isinstance(of, dict):
        return "{ " + ", ".join(f"{key} = {value(one)}" for key, one in of.items()) + " }"
    return json.dumps(of)


def table(head: str, keys: dict) -> list[str]:
    return [head, *(f"{key} = {value(of)}" for key, of in keys.items())]


def group(draw: random.Random, name: str, cpus: int) -> dict:
    keys = {"name": name, "weight": draw.choice(WEIGHTS)}
    if "/" not in name and cpus > 1 and draw.random() < 0.25:
        count = draw.randint(1, cpus - 1)
        first = draw.randint(0, cpus - count)
        keys["cpus"] = list(range(first, first + count))
    if draw.random() < 0.15:
        keys["max"] = f"{draw.choice([30, 50, 100, 150])}ms/100ms"
    return keys


def service(draw: random.Random, cpus: int) -> dict:
    architecture = draw.choice(["thread-per-connection", "thread-per-connection", "shared-queue", "partitioned"])
    keys = {"architecture": architecture}
    if architecture != "thread-per-connection":
        keys["workers"] = draw.choice([1, 2, 4, cpus])
    law = draw.choice([{"law": "fixed"}, {"law": "exponential"}, {"law": "lognormal", "cv": 1.5}])
    keys["service_time"] = {"mean": f"{draw.choice([50, 100, 200, 500, 1000, 2000])}us", **law}
    arrivals = draw.choice([{"law": "poisson"}, {"law": "poisson"}, {"law": "fixed"}, BURSTS])
    return keys | {"arrivals": {"utilisation": draw.choice([0.05, 0.1, 0.2, 0.3]), **arrivals}}


def work(draw: random.Random, kind: str, cpus: int) -> dict:
    """What a program of a kind does."""
    if kind == "service":
        return service(draw, cpus)
    if kind == "batch":
        return {"threads": draw.choice([1, 2, cpus, 2 * cpus, 4 * cpus, 40])}
    if kind == "fork-join":
        keys = {"threads": draw.choice([2, cpus, 2 * cpus, 4 * cpus]) if cpus > 1 else 2}
        keys["work"] = f"{draw.choice([200, 1000, 5000, 20000])}us"
        return keys | ({"wait": "yield"} if draw.random() < 0.3 else {})
    keys = {"threads": draw.choice([1, 2, cpus, 3 * cpus])}
    if kind == "daemon":
        return keys | {key: f"{draw.choice([1, 5, 20, 50, 100])}ms" for key in ("run", "sleep")}
    return keys | {"run": f"{draw.choice([100, 500, 2000])}us", "period": f"{draw.choice([10, 20, 50, 100])}ms"}


def program(draw: random.Random, number: int, groups: list[str], cpus: int) -> dict:
    # The first is a service: whoever draws wants to see a tail.
    kind = draw.choice(KINDS) if number else "service"
    keys = {"name": f"p{number}", "kind": kind, **work(draw, kind, cpus)}
    if groups and draw.random() < 0.75:
        keys["group"] = draw.choice(groups)
    if draw.random() < 0.2:
        keys["nice"] = draw.choice([-10, -5, 5, 10, 15, 19])
    return keys


def bind(draw: random.Random, program: dict, groups: list[dict], cpus: int) -> list[str]:
    """Binds the program to one CPU of those that its group may use. A service then wants a part of that one."""
    top = program.get("group", "").split("/")[0]
    may = next((keys["cpus"] for keys in groups if keys["name"] == top and "cpus" in keys), range(cpus))
    if program["kind"] == "service":
        program["arrivals"]["utilisation"] /= cpus
    return table("[[change]]", {"at": "0s", "program": program["name"], "cpus": [draw.choice(may)]})


def scenario(seed: int, binds: bool = False) -> str:
    """The text of a scenario; the same seed, the same text."""
    draw = random.Random(seed)
    cpus, llcs = draw.choice(MACHINES)
    groups: list[str] = []
    made: list[dict] = []
    lines = [f"# Drawn from seed {seed}.", 'duration = "8s"', 'warm_up = "2s"', f"seeds = [{seed}]"]
    lines += table("[machine]", {"cpus": cpus, "llcs": llcs})
    for number in range(draw.randint(0, 4)):
        above = f"{draw.choice(groups)}/" if groups and draw.random() < 0.3 else ""
        groups.append(f"{above}g{number}")
        made.append(group(draw, groups[-1], cpus))
        lines += table("[[group]]", made[-1])
    programs = draw.randint(2, 5)
    running = [program(draw, number, groups, cpus) for number in range(programs)]
    bound = [keys for keys in running if binds and draw.random() < 0.5]
    changes = [line for keys in bound for line in bind(draw, keys, made, cpus)]
    for keys in running:
        lines += table("[[program]]", keys)
    lines += changes
    if draw.random() < 0.3:
        lines += table("[[change]]", {"at": "5s", "program": f"p{draw.randrange(programs)}", "nice": draw.choice([-10, 0, 5, 19])})
    if groups and draw.random() < 0.3:
        lines += table("[[change]]", {"at": "6s", "group": draw.choice(groups), "weight": draw.choice([10, 100, 1000])})
    return "\n".join(lines) + "\n"
