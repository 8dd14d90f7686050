"""The story: its parts, each a service on a machine, and their steps, each a row of a table."""

from dataclasses import dataclass
from pathlib import Path

from vm_results.marks import mark

TOOL = "tales-story"
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
    target: str
    rate: str
    duration: str
    steps: tuple[Step, ...]
    # The service's CPUs; behind them that of other traffic, if there is any; the last one is the generator's.
    service_cpus: int = 1
    daemons: int = 0
    storm: bool = False

    @property
    def cpus(self) -> int:
        """Of the guest."""
        return self.service_cpus + self.storm + 1

    @property
    def turns_us(self) -> int:
        """How long a virtual CPU runs until the next one's turn: as short as QEMU can."""
        return 10

    def served(self, step: Step) -> list[str]:
        """What the script in the guest is to serve, and beside what."""
        cpus = ",".join(map(str, range(self.service_cpus)))
        storm = str(self.service_cpus) if self.storm else ""
        return [self.server, self.target, cpus, str(self.daemons), storm, str(step.nice), step.knobs]

    def measured(self, step: Step) -> list[str]:
        """Options of the measurement."""
        return ["--rate", self.rate, "--duration", self.duration, "--cpus", str(self.cpus - 1)]

    def file(self, step: Step, seed: int) -> str:
        """Where the result of a seed is kept: by all that it depends on but our own executable."""
        words = "\0".join([step.kernel, str(self.cpus), *self.served(step), *self.measured(step)])
        return f"{self.name}/{mark([Path(__file__).with_name('guest')], words)}/{seed}.json"


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
PAGE = "http://127.0.0.1:0/index.html"
PARTS = (
    Part(
        "null-rpc", "Null RPC, 500 us a request, one CPU beside daemons",
        "null-rpc", "null-rpc://127.0.0.1:0?service=500us", "1400/s", "4s", ALONE, daemons=2,
    ),
    Part(
        "memcached", "memcached, one CPU beside daemons",
        "memcached", "memcached://127.0.0.1:0", "3k/s", "3s", ALONE, daemons=2,
    ),
    Part("nginx", "nginx, one CPU beside daemons", "nginx", PAGE, "3k/s", "3s", ALONE, daemons=2),
    Part(
        "four-cpus", "Null RPC, 2 ms a request, four CPUs",
        "null-rpc", "null-rpc://127.0.0.1:0?service=2ms", "1500/s", "4s", FOUR, service_cpus=4,
    ),
    Part(
        "packets", "Null RPC, 500 us a request, on a CPU that also processes the packets of others",
        "null-rpc", "null-rpc://127.0.0.1:0?service=500us", "1200/s", "4s", STORM, storm=True,
    ),
)
