"""The story: its parts, each a service on a machine, and their steps, each a row of a table."""

from dataclasses import dataclass

TOOL = "tales-story"
# What plays a step in the guest.
GUEST = "tools/tales_story/guest"
# What it calls.
PROGRAMS = ("sh", "sleep", "mkdir", "mv", "nice", "taskset", "tr", "seq", "cat", "memcached", "nginx", "wrk")
# Results in the guest.
THERE = "/root/results"
LONGEST = "60min"
# How long a virtual CPU runs until the next one's turn: as short as QEMU can.
TURNS = "10us"
CFS, EEVDF = "6.1", "7.2"


@dataclass(frozen=True)
class Step:
    """What a row differs by."""

    name: str
    kernel: str = EEVDF
    nice: int = 0
    knobs: str = ""


@dataclass(frozen=True)
class Part:
    """A table: a service, the machine that it is on, and what is done for it."""

    name: str
    title: str
    server: str
    # What is asked of it: options of `rearguard measure`.
    ask: tuple[str, ...]
    rate: str
    duration: str
    steps: tuple[Step, ...]
    # The service's CPUs; behind them that of other traffic, if there is any; the last one is the generator's.
    service_cpus: int = 1
    daemons: int = 0
    storm: bool = False
    # The ideal's service time; empty: the run's own CPU time a request.
    service: str = ""

    @property
    def cpus(self) -> int:
        """Of the guest."""
        return self.service_cpus + self.storm + 1

    def served(self, step: Step) -> list[str]:
        """What the script in the guest is to serve, and beside what."""
        cpus = ",".join(map(str, range(self.service_cpus)))
        storm = str(self.service_cpus) if self.storm else ""
        return [self.server, cpus, str(self.daemons), storm, str(step.nice), step.knobs]

    def measured(self) -> list[str]:
        """Options of the measurement."""
        given = ["--service-time", self.service] if self.service else []
        line = [*self.ask, "--rate", self.rate, "--duration", self.duration, "--cpus", str(self.cpus - 1)]
        return line + given

    def grid(self, step: Step, seeds: int) -> dict:
        """A step in a plan: what boots the guest and plays it there."""
        line = ["rearguard", "lab", "run", step.kernel, "--cpus", str(self.cpus), "--turns", TURNS]
        line += ["--timeout", LONGEST, "--get", THERE, "--into", "{folder}"]
        line += [word for program in PROGRAMS for word in ("--put", program)]
        line += ["--", GUEST, THERE, *self.served(step), "{seeds}", *self.measured()]
        return {"command": line, "seeds": list(range(1, seeds + 1))}


ALONE = (
    Step("default, CFS", CFS),
    Step("nice -20, CFS", CFS, nice=-20),
    Step("`real-time`, CFS", CFS, knobs="real-time"),
    Step("default, EEVDF"),
    Step("`real-time`", knobs="real-time"),
    Step("`dedicated-cpus=0`", knobs="dedicated-cpus=0"),
    Step("`fifo=rearguard`", knobs="fifo=rearguard"),
)
FOUR = (
    Step("default, CFS", CFS),
    Step("default, EEVDF"),
    Step("`real-time`", knobs="real-time"),
    Step("`fifo=rearguard`", knobs="fifo=rearguard"),
)
STORM = (
    Step("`real-time`", knobs="real-time"),
    Step("`real-time packet-steering=1`", knobs="real-time packet-steering=1"),
)


def null_rpc(service: str) -> tuple[str, ...]:
    """Requests that ask for so much CPU time."""
    return ("--target", f"null-rpc://127.0.0.1:7000?service={service}")


def template(port: int, request: str, end: str) -> tuple[str, ...]:
    """Requests of one text."""
    return ("--target", f"tcp://127.0.0.1:{port}", "--request", request, "--response", end)


# A single key costs memcached no more than it costs the generator, which has the same processor: 200 keys do.
KEYS = " ".join(f"{key:k>4}" for key in range(200))
ANSWER_BYTES = 200 * len("VALUE kkk0 0 10..vvvvvvvvvv..") + len("END..")
GET = template(11211, rf"get {KEYS}\r\n", f"length:{ANSWER_BYTES}")
PAGE = template(8080, r"GET / HTTP/1.1\r\nHost: here\r\nAccept-Encoding: gzip\r\n\r\n", r"until:\r\n0\r\n\r\n")
# What a request costs at saturation (Tales section 3.2): as `rearguard measure --saturate` finds it in a
# guest without daemons.
PARTS = (
    Part(
        "null-rpc", "Null RPC, 500 us a request, one CPU beside daemons",
        "null-rpc", null_rpc("500us"), "1400/s", "4s", ALONE, daemons=2, service="524us",
    ),
    Part(
        "memcached", "memcached, 200 keys a request, one CPU beside daemons",
        "memcached", GET, "1600/s", "4s", ALONE, daemons=2, service="324us",
    ),
    Part(
        "nginx", "nginx, a page of 3 KB compressed, one CPU beside daemons",
        "nginx", PAGE, "1200/s", "4s", ALONE, daemons=2, service="493us",
    ),
    Part(
        "four-cpus", "Null RPC, 2 ms a request, four CPUs",
        "null-rpc", null_rpc("2ms"), "1500/s", "4s", FOUR, service_cpus=4,
    ),
    Part(
        "packets", "Null RPC, 500 us a request, on a CPU that also processes the packets of others",
        "null-rpc", null_rpc("500us"), "1200/s", "4s", STORM, storm=True,
    ),
)
