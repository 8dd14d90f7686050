"""Where a policy does worse than all others do: a question for a person, not yet a fault."""

# A tail is worth a look where it is so much longer than the shortest of the others and than the ideal.
TAIL = 1.5
LEAST_TAIL_NS = 3e6
# So is a program that has less of what the worst of the others gives it.
PART = 0.85
LEAST_USE = 0.004
LEAST_ROUNDS = 20
# A program that has so much of its due is right, whatever the others give it.
DUE = 0.97
# Of the machine: what a group has above its due and all others' figure, and time that a policy leaves idle.
SHARE = 0.01
IDLE = 0.03


def tail_ns(latency: dict) -> float:
    found = latency["p99_9"]["value"]
    return float("inf") if found is None else found


def of_service(ours: dict, others: list[dict]) -> list[str]:
    found, best = tail_ns(ours["latency_ns"]), min(tail_ns(other["latency_ns"]) for other in others)
    if found > max(TAIL * best, TAIL * tail_ns(ours["ideal_ns"]), LEAST_TAIL_NS):
        return [f"{ours['name']}: p99.9 {found / 1e6:.1f} ms, others {best / 1e6:.1f}, ideal {tail_ns(ours['ideal_ns']) / 1e6:.1f}"]
    return []


def of_work(ours: dict, others: list[dict]) -> list[str]:
    key, least = ("utilisation", LEAST_USE) if ours["kind"] == "batch" else ("rounds", LEAST_ROUNDS)
    worst = min(other[key] for other in others)
    if worst > least and ours[key] < PART * worst:
        return [f"{ours['name']}: {key} {ours[key]:.4g}, others {worst:.4g} and more"]
    return []


def differences(document: dict, policy: str) -> list[str]:
    """What is worth a look in a result of `compare`, a line each."""
    results = {result["policy"]: result for result in document["results"]}
    ours = results.pop(policy)
    others = list(results.values())
    found = []
    right = {group["name"] for group in ours["groups"] if group["due_share"] is not None and group["share"] >= DUE * group["due_share"]}
    for number, program in enumerate(ours["programs"]):
        if program["kind"] != "service" and program["name"] in right:
            continue
        beside = [other["programs"][number] for other in others]
        found += (of_service if program["kind"] == "service" else of_work)(program, beside)
    for number, group in enumerate(ours["groups"]):
        most = max([group["due_share"] or 0, *(other["groups"][number]["share"] for other in others)])
        if ours["idle_share"] < SHARE and group["share"] > most + SHARE:
            found.append(f"{group['name']}: share {group['share']:.3f}, due or others {most:.3f}")
    idle = max(other["idle_share"] for other in others)
    if ours["idle_share"] > idle + IDLE:
        found.append(f"idle {ours['idle_share']:.3f}, others {idle:.3f}")
    return found
