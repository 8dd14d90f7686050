"""Which causes are planted in which servers, and which verdicts are right by the oracle."""

import re

from planted import plants

SERVERS = ("memcached", "redis", "nginx", "node", "go", "java", "python", "postgresql")


def of_servers(cause, plant, *names):
    return {f"{name}-{cause}": (name, {}, plant) for name in names}


# Name: server, its settings, what is planted.
CASES = {
    # Of PostgreSQL the slowest would be the beginnings of connections, which the client does not count.
    **of_servers("calm", plants.Plant, *SERVERS[:-1]),
    **of_servers("shared", plants.Shared, *SERVERS[:-1]),
    **of_servers("hog", plants.Hogs, *SERVERS),
    **of_servers("two-hogs", plants.TwoHogs, "memcached", "nginx", "node"),
    **of_servers("brief-hogs", plants.BriefHogs, "memcached", "redis", "nginx"),
    **of_servers("reused-number", plants.ReusedNumber, "memcached", "redis", "nginx"),
    **of_servers("sigstop", plants.Stop, *SERVERS),
    **of_servers("freezer", plants.Freeze, "memcached", "nginx", "go"),
    **of_servers("quota", plants.Quota, "memcached", "redis", "nginx", "node"),
    **of_servers("quota", plants.WideQuota, "java"),
    "redis-debug-sleep": ("redis", {}, plants.DebugSleep),
    "redis-lua": ("redis", {}, plants.Lua),
    "redis-keys": ("redis", {}, plants.Keys),
    "redis-save": ("redis", {}, plants.Save),
    "redis-namesake": ("redis", {}, plants.Namesake),
    "postgresql-lock-table": ("postgresql", {}, plants.LockTable),
    "postgresql-sleep": ("postgresql", {"query": "SELECT pg_sleep(random() / 20)"}, plants.AlwaysOwnCode),
    "node-burn": ("node", {"burn": 150}, plants.OwnCode),
    "node-sleep": ("node", {"sleep": 150}, plants.OwnCode),
    "go-burn": ("go", {"burn": 150}, plants.OwnCode),
    "java-collector": ("java", {"collect": 1}, plants.OwnCode),
    "python-lock": ("python", {"cause": "lock"}, plants.OwnCode),
    "python-sleep": ("python", {"cause": "sleep"}, plants.OwnCode),
    "python-pool-sleep": ("python", {"cause": "sleep", "shape": "pool"}, plants.OwnCode),
    "python-pool-fsync": ("python", {"cause": "fsync", "shape": "pool"}, plants.SlowDisk),
    "python-pool-behind": ("python", {"cause": "behind", "shape": "pool"}, plants.Behind),
    "python-behind": ("python", {"cause": "behind"}, plants.Behind),
    "python-flock": ("python", {"cause": "flock"}, plants.OwnCode),
    "python-child": ("python", {"cause": "child"}, plants.OwnCode),
    "python-minor-faults": ("python", {"cause": "minor"}, plants.OwnCode),
    "python-fsync": ("python", {"cause": "fsync"}, plants.SlowDisk),
    "python-major-faults": ("python", {"cause": "major"}, plants.FaultsUnderALock),
    "redis-fsync": ("redis", {"fsync": True}, plants.SlowCommits),
    "postgresql-fsync": ("postgresql", {"query": "INSERT INTO t VALUES (1)", "fsync": "on"}, plants.SlowCommits),
}

# What the server's own work may be called: a request that needs the CPU is the load.
OWN = ("own code", "load", "own request")
# A verdict is right where the oracle gives its class this much less than the greatest, or less than that.
NEAR = 0.2


def by_class(shares):
    """The oracle's shares as those of verdicts."""
    found = {}
    for key, share in shares.items():
        classes = OWN if key in ("on", "own code") else (key,)
        for one in classes:
            found[one] = found.get(one, 0) + share
    return found


def number(name):
    """That of a process, in `name[number]`."""
    return name.rsplit("[", 1)[-1]


def names_hogs(culprit, hogs):
    """Whether one of the hogs is named, or no more of them than there were: `NAME (3 processes)`."""
    programs = {hog.rsplit("[", 1)[0] for hog in hogs}
    several = re.fullmatch(r"(.*) \((\d+) processes\)", culprit or "")
    is_several = several and several[1] in programs and int(several[2]) <= len(hogs)
    return culprit in hogs or bool(is_several)


def judge(verdict, shares, neighbours, plant):
    """`right`, `cannot tell` or `wrong`, and `no answer` where ftrace has none: of a class, and of a culprit where a
    planted hog held the CPU for most of the neighbours' time. ftrace may know it by the name of the program that it
    was before."""
    class_, confidence, culprit = verdict
    if not shares:
        return "no answer"
    if confidence == "cannot tell":
        return "cannot tell"
    found = by_class(shares)
    if class_ not in plant.also and found.get(class_, 0) < max(found.values(), default=1) - NEAR:
        return "wrong"
    is_hogs = class_ == "neighbours" and number(neighbours[0]) in [number(hog) for hog in plant.hogs]
    return "wrong" if is_hogs and not names_hogs(culprit, plant.hogs) else "right"
