"""Real servers on one CPU, in folders of their own, on the loopback address."""

import os
import shutil
import signal
import socket
import subprocess
import sys
import time
from pathlib import Path

HERE = Path(__file__).parent
CPU = max(os.sched_getaffinity(0))
BUILT = Path("target/planted")
HTTP = b"GET / HTTP/1.1\r\nHost: a\r\n\r\n"
END = b"END\r\n"
DEFAULT_CONNECTIONS = 60
START_S = 30


def free_port():
    with socket.socket() as one:
        one.bind(("127.0.0.1", 0))
        return one.getsockname()[1]


def descendants(pid):
    """A process and those that it started, and theirs."""
    found = [pid]
    for one in found:
        for children in Path(f"/proc/{one}/task").glob("*/children"):
            try:
                found += map(int, children.read_text().split())
            except OSError:
                continue
    return found


def postgresql_programs():
    folders = sorted(Path("/usr/lib/postgresql").glob("*/bin/initdb"))
    return folders[-1].parent if folders else None


class Server:
    """A server of this name with settings of its own, real-time or not."""

    request, tail, connections, rate = HTTP, END, DEFAULT_CONNECTIONS, 500

    def __init__(self, name, folder, settings, is_real_time):
        self.name, self.folder, self.port = name, Path(folder), free_port()
        self.folder.chmod(0o755)
        self.log = self.folder / "log"
        priority = ["chrt", "-f", "10"] if is_real_time else []
        words = getattr(self, name)(**settings)
        self.process = subprocess.Popen([*priority, "taskset", "-c", str(CPU), *words],
                                        stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
        self.wait_until_it_listens()

    def wait_until_it_listens(self):
        end = time.monotonic() + START_S
        while time.monotonic() < end:
            try:
                socket.create_connection(("127.0.0.1", self.port), 1).close()
                return
            except OSError:
                time.sleep(0.05)
        self.end()
        raise RuntimeError(f"{self.name} does not listen")

    def memcached(self):
        self.request = b"get a\r\n"
        return ["memcached", "-u", "nobody", "-l", "127.0.0.1", "-p", str(self.port), "-t", "1"]

    def redis(self, fsync=False):
        self.request, self.tail = b"PING\r\n", b"+PONG\r\n"
        words = ["redis-server", "--port", str(self.port), "--save", "", "--enable-debug-command", "yes",
                 "--dir", str(self.folder)]
        if fsync:
            self.request, self.tail, self.rate = b"INCR a\r\n", b"\r\n", 50
            words += ["--appendonly", "yes", "--appendfsync", "always"]
        return words

    def nginx(self):
        (self.folder / "index.html").write_bytes(b"x" * 607 + END)
        config = self.folder / "nginx.conf"
        config.write_text(
            f"pid {self.folder}/pid; error_log {self.folder}/errors; worker_processes 1; daemon off;\n"
            "events {} http { access_log off; server { listen 127.0.0.1:%d; root %s; } }" % (self.port, self.folder))
        return ["nginx", "-c", str(config)]

    def node(self, burn=0, sleep=0):
        return ["node", str(HERE / "server.js"), str(self.port), str(burn), str(sleep), str(self.log)]

    def python(self, cause="none", shape="threads"):
        self.rate = 100
        return [sys.executable, str(HERE / "server.py"), str(self.port), cause, str(self.log), str(self.folder),
                str(free_port()), shape]

    def go(self, burn=0):
        return [str(BUILT / "go-server"), str(self.port), str(burn)]

    def java(self, collect=0):
        return ["java", "-Xmx512m", "-XX:+UseSerialGC", "-cp", str(BUILT), "Server", str(self.port), str(collect)]

    def postgresql(self, query="SELECT * FROM t", fsync="off"):
        self.request = b"Q" + (5 + len(query)).to_bytes(4, "big") + query.encode() + b"\0"
        self.tail, self.connections = b"Z\0\0\0\5I", 20
        self.rate = 200 if fsync == "off" else 50
        data, programs = self.folder / "data", postgresql_programs()
        shutil.chown(self.folder, "postgres")
        as_postgres = ["setpriv", "--reuid", "postgres", "--regid", "postgres", "--clear-groups"]
        quiet = {"stdout": subprocess.DEVNULL, "stderr": subprocess.DEVNULL, "cwd": "/"}
        subprocess.run([*as_postgres, programs / "initdb", "-D", data, "-U", "postgres", "-A", "trust", "-N"],
                       check=True, **quiet)
        subprocess.run([*as_postgres, programs / "postgres", "--single", "-D", data, "postgres"],
                       input=b"CREATE TABLE t (a int);\n", check=True, **quiet)
        return [*as_postgres, str(programs / "postgres"), "-D", str(data), "-p", str(self.port), "-h", "127.0.0.1",
                "-c", f"fsync={fsync}", "-c", "autovacuum=off", "-k", str(self.folder)]

    def family(self):
        return descendants(self.process.pid)

    def threads(self):
        """The kernel's numbers of all of its threads."""
        found = set()
        for pid in self.family():
            try:
                found |= {int(one.name) for one in Path(f"/proc/{pid}/task").iterdir()}
            except OSError:
                continue
        return found

    def signal(self, which):
        for pid in self.family():
            try:
                os.kill(pid, which)
            except ProcessLookupError:
                continue

    def end(self):
        self.signal(signal.SIGCONT)
        if self.name == "postgresql":
            self.process.send_signal(signal.SIGQUIT)
        else:
            self.signal(signal.SIGKILL)
        self.process.wait()


def build():
    """What is no script: the hog, and the servers in Go and Java."""
    BUILT.mkdir(parents=True, exist_ok=True)
    subprocess.run(["cc", "-O1", "-o", BUILT / "hog", HERE / "hog.c"], check=True)
    subprocess.run(["go", "build", "-o", BUILT / "go-server", HERE / "server.go"], check=True)
    subprocess.run(["javac", "-d", BUILT, HERE / "Server.java"], check=True)
