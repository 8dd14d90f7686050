"""What is planted while requests come: each plant says when it was at work, by CLOCK_MONOTONIC."""

import os
import signal
import socket
import struct
import subprocess
import threading
import time
from pathlib import Path

from planted.servers import BUILT, CPU, free_port

ALWAYS = (0.0, float("inf"))
EVERY_S = 0.5
HELD_S = 0.15
START_S = 0.5
CGROUP = Path("/sys/fs/cgroup")
DISK_IOPS = 20


class Plant:
    """Nothing. `cause` is the verdict that is right where the server neither runs nor waits for a CPU."""

    cause = "unknown"
    # What it may be called as well.
    also = ()
    is_real_time = True
    # Whether a thread that is runnable may wait for the cause: one that is throttled looks so.
    has_waits = False

    def __init__(self, server):
        self.server, self.intervals, self.hogs = server, [], []

    def begin(self):
        """Before the first request."""

    def act(self):
        """Every half second."""

    def end(self):
        """After the last one."""

    def during(self, begin, end):
        """Acts, and notes when it was at work."""
        begin()
        at = time.monotonic()
        time.sleep(HELD_S)
        end()
        self.intervals.append((at, time.monotonic()))

    def at_work(self):
        """When, with what the server itself wrote down."""
        lines = self.server.log.read_text().splitlines() if self.server.log.exists() else []
        return self.intervals + [tuple(map(float, line.split())) for line in lines]


class Shared(Plant):
    """Nothing, and the server has no priority over what else this machine does."""

    is_real_time = False


class OwnCode(Plant):
    """What the server does by itself."""

    cause = "own code"


class AlwaysOwnCode(OwnCode):
    """Of a server that does not tell when."""

    def begin(self):
        self.intervals = [ALWAYS]


class Behind(Plant):
    """A server that the server asks."""

    cause = "a server behind"


class Stop(Plant):
    cause = "stopped"

    def act(self):
        self.during(lambda: self.server.signal(signal.SIGSTOP), lambda: self.server.signal(signal.SIGCONT))


def move(pids, group):
    for pid in pids:
        try:
            (group / "cgroup.procs").write_text(str(pid))
        except ProcessLookupError:
            continue


class Group(Plant):
    """In a group of the first version of groups."""

    controller = ""

    def begin(self):
        self.group = CGROUP / self.controller / "rearguard-planted"
        self.group.mkdir(exist_ok=True)
        self.limit()
        move(self.server.family(), self.group)

    def limit(self):
        """What it is limited to."""

    def end(self):
        while pids := (self.group / "cgroup.procs").read_text().split():
            move(pids, self.group.parent)
        time.sleep(0.1)
        self.group.rmdir()


class Freeze(Group):
    cause = "stopped"
    controller = "freezer"

    def act(self):
        state = self.group / "freezer.state"
        self.during(lambda: state.write_text("FROZEN"), lambda: state.write_text("THAWED"))

    def end(self):
        (self.group / "freezer.state").write_text("THAWED")
        super().end()


class Quota(Group):
    """A fiftieth of a CPU, at most 4 ms at once. The kernel does not throttle real-time threads."""

    cause = "limits"
    controller = "cpu"
    is_real_time, has_waits = False, True
    most_us = 4000

    def limit(self):
        (self.group / "cpu.cfs_period_us").write_text("200000")
        (self.group / "cpu.cfs_quota_us").write_text(str(self.most_us))
        self.over = threading.Event()
        self.looking = threading.Thread(target=self.look)
        self.looking.start()

    def throttled_s(self):
        lines = (self.group / "cpu.stat").read_text().splitlines()
        return next(int(line.split()[1]) for line in lines if line.startswith("throttled_time")) / 1e9

    def look(self):
        """The kernel adds a time of throttling when it is over."""
        known = self.throttled_s()
        while not self.over.wait(0.002):
            now = self.throttled_s()
            if now > known:
                at = time.monotonic()
                self.intervals.append((at - (now - known), at))
            known = now

    def end(self):
        self.over.set()
        self.looking.join()
        super().end()


class WideQuota(Quota):
    """A tenth of a CPU: with a fiftieth a Java server that has just begun answers nothing in these seconds."""

    most_us = 20000


class SlowDisk(Group):
    """So many operations a second on the disk of the server's folder."""

    cause = "disk"
    controller = "blkio"

    def limit(self):
        number = os.stat(self.server.folder).st_dev
        # A partition's limit is its disk's.
        device = f"{os.major(number)}:{os.minor(number)}"
        for kind in ("read", "write"):
            (self.group / f"blkio.throttle.{kind}_iops_device").write_text(f"{device} {DISK_IOPS}")


class FaultsUnderALock(SlowDisk):
    """A thread that waits for the disk and holds a lock meanwhile. Its waiters time out and wait again, so no
    event says that the holder let them go."""

    also = ("own code",)


class SlowCommits(SlowDisk):
    """Of a server that does not tell when it waits for the disk."""

    def limit(self):
        super().limit()
        self.intervals = [ALWAYS]


def start_hog(name, *words):
    program = BUILT / name
    if not program.exists():
        program.hardlink_to(BUILT / "hog")
    return subprocess.Popen(["chrt", "-f", "30", "taskset", "-c", str(CPU), program, *map(str, words)])


class Hogs(Plant):
    """Processes of one program that spin, 100 ms in each 500."""

    count = 1
    program = "planted-hog"

    def begin(self):
        self.running = [start_hog(self.program, 100, 400, 0) for _ in range(self.count)]
        self.hogs = [f"{self.program}[{one.pid}]" for one in self.running]

    def end(self):
        for one in self.running:
            one.kill()
            one.wait()


class TwoHogs(Hogs):
    count = 2


class BriefHogs(Hogs):
    """A process that ends at once, another one each time."""

    def begin(self):
        self.running = []

    def act(self):
        one = start_hog(self.program, 60, 0, 1)
        self.hogs.append(f"{self.program}[{one.pid}]")
        one.wait()


class ReusedNumber(BriefHogs):
    """After each hog an innocent process gets its number, and is the last that has it."""

    def act(self):
        super().act()
        number = int(self.hogs[-1].split("[")[1][:-1])
        for _ in range(50):
            Path("/proc/sys/kernel/ns_last_pid").write_text(str(number - 1))
            one = subprocess.Popen([BUILT / "innocent", "1", "20", "5"])
            if one.pid == number:
                self.running.append(one)
                return
            one.kill()
            one.wait()

    def begin(self):
        super().begin()
        if not (BUILT / "innocent").exists():
            (BUILT / "innocent").hardlink_to(BUILT / "hog")


class RedisCommand(Plant):
    """A command of another client of the same server."""

    cause = "own code"
    words = ()

    def __init__(self, server):
        super().__init__(server)
        self.port = str(server.port)

    def act(self):
        begin = time.monotonic()
        command = ["redis-cli", "-p", self.port, *self.words]
        subprocess.run(command, stdout=subprocess.DEVNULL, check=True)
        self.intervals.append((begin, time.monotonic()))


class DebugSleep(RedisCommand):
    words = ("DEBUG", "SLEEP", str(HELD_S))


class Lua(RedisCommand):
    words = ("EVAL", "local i=0 while i<2e7 do i=i+1 end", "0")


class Keys(RedisCommand):
    words = ("KEYS", "no*such")

    def begin(self):
        fill = ["redis-cli", "-p", self.port, "DEBUG", "POPULATE", "1000000"]
        subprocess.run(fill, stdout=subprocess.DEVNULL, check=True)


class Save(Keys):
    """In a child (fork), which is the server's own."""

    words = ("BGSAVE",)


class Namesake(Lua):
    """A server of the same program that has nothing to do with this one."""

    cause = "unknown"

    def begin(self):
        words = ["chrt", "-f", "30", "taskset", "-c", str(CPU), "redis-server", "--port", str(free_port()), "--save", ""]
        self.other = subprocess.Popen(words, stdout=subprocess.DEVNULL)
        self.hogs = [f"redis-server[{self.other.pid}]"]
        self.port = words[words.index("--port") + 1]
        time.sleep(START_S)

    def end(self):
        self.other.kill()
        self.other.wait()


class LockTable(Plant):
    """A session over the unix socket that locks the table of all queries."""

    cause = "own code"

    def begin(self):
        self.session = socket.socket(socket.AF_UNIX)
        self.session.connect(f"{self.server.folder}/.s.PGSQL.{self.server.port}")
        names = b"user\0postgres\0database\0postgres\0\0"
        self.say(struct.pack(">II", 8 + len(names), 196608) + names, b"I")

    def say(self, message, status):
        self.session.sendall(message)
        answer = b""
        while not answer.endswith(b"Z\0\0\0\5" + status):
            answer += self.session.recv(4096)

    def query(self, text, status):
        self.say(b"Q" + struct.pack(">I", 5 + len(text)) + text.encode() + b"\0", status)

    def act(self):
        self.during(lambda: self.query("BEGIN; LOCK TABLE t", b"T"), lambda: self.query("COMMIT", b"I"))

    def end(self):
        self.session.close()
