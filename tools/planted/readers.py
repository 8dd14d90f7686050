"""What is judged: commands of rearguard that watch a server, their verdicts, and the time that each is about."""

import datetime
import json
import os
import subprocess
import time
from pathlib import Path

from planted import oracle

REARGUARD = os.environ.get("REARGUARD", "target/debug/rearguard")
# Hooks are there when the first request comes, and until the last one is answered.
BEFORE_S, AFTER_S = 2.5, 1.5
# What is planted holds requests for longer.
SLOW = "40ms"
# So many of a run are kept.
KEPT = 8


def start(*words):
    return subprocess.Popen([REARGUARD, *map(str, words)], stdout=subprocess.DEVNULL, stderr=subprocess.PIPE, text=True)


def ended(process):
    """Waits for it; what went wrong is no answer."""
    _, errors = process.communicate()
    if process.returncode != 0:
        raise RuntimeError(errors.strip()[-300:])


class Explain:
    """`stages --trace`, then `explain`: one verdict a run."""

    def __init__(self, server, folder, seconds):
        self.trace = Path(folder, "run.trace")
        duration = f"{BEFORE_S + seconds + AFTER_S}s"
        self.watching = start("stages", "--port", server.port, "--duration", duration, "--trace", self.trace)
        time.sleep(BEFORE_S)

    def verdicts(self, requests):
        """(verdict, what it says, windows), one for each."""
        ended(self.watching)
        done = subprocess.run([REARGUARD, "explain", self.trace, "--json"], capture_output=True, text=True)
        if done.returncode != 0:
            raise RuntimeError(done.stderr.strip()[-300:])
        service = json.loads(done.stdout)["services"][0]
        told = service["verdict"]
        said = f"{told['confidence']}: {told['class']} {100 * told['share']:.0f}%, {told['source']}, {told['culprit']}"
        verdict = (told["class"], told["confidence"], told["culprit"])
        return [(verdict, said, oracle.windows(requests, service))]


class Watch:
    """`watch`: a verdict for each request that is kept."""

    def __init__(self, server, folder, seconds):
        self.folder = Path(folder, "kept")
        duration = f"{BEFORE_S + seconds + AFTER_S}s"
        self.watching = start("watch", "--port", server.port, "--keep", self.folder, "--slower-than", SLOW,
                              "--worst", KEPT, "--for", duration)
        time.sleep(BEFORE_S)

    def verdicts(self, _requests):
        ended(self.watching)
        kept = [json.loads(one.read_text()) for one in sorted(self.folder.glob("*.json"))]
        return [self.verdict(one) for one in kept]

    @staticmethod
    def verdict(kept):
        told = kept["told"]
        end = datetime.datetime.strptime(kept["ended"], "%Y-%m-%d %H:%M:%S.%f UTC")
        # By CLOCK_MONOTONIC, as all else; to the millisecond.
        since = end.replace(tzinfo=datetime.timezone.utc).timestamp() - time.time() + time.monotonic()
        window = (since - kept["latency_ns"] / 1e9, since)
        return (told["class"], told["confidence"], told["culprit"]), told["line"], [window]


READERS = {"explain": Explain, "watch": Watch}
