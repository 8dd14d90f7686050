"""Runs the generator and wrk in turn against one nginx, undisturbed and with a second of SIGSTOP, and prints a table."""

import argparse
import json
import os
import re
import shutil
import signal
import subprocess
import sys
import tempfile
import threading
import time
from pathlib import Path

CONFIGURATION = """
daemon off; {user} worker_processes 1; pid {folder}/pid; error_log {folder}/log warn;
events {{ worker_connections 1024; }}
http {{ access_log off; keepalive_requests 1000000000; client_body_temp_path {folder}/b; proxy_temp_path {folder}/p;
 fastcgi_temp_path {folder}/f; uwsgi_temp_path {folder}/u; scgi_temp_path {folder}/s;
 server {{ listen 127.0.0.1:{port}; root {folder}; }} }}
"""
UNITS_MS = {"us": 1e-3, "ms": 1.0, "s": 1e3, "m": 6e4}
STALL_S = 1.0
TRIES = 4


def start_nginx(folder: Path, port: int, cpus: str) -> subprocess.Popen:
    """An nginx of one worker on these CPUs."""
    os.chmod(folder, 0o755)
    (folder / "index.html").write_text("x" * 612)
    user = "user nobody nogroup;" if os.geteuid() == 0 else ""
    (folder / "nginx.conf").write_text(CONFIGURATION.format(user=user, folder=folder, port=port))
    command = ["taskset", "-c", cpus, "nginx", "-p", str(folder), "-e", "stderr", "-c", str(folder / "nginx.conf")]
    server = subprocess.Popen(command, start_new_session=True)
    time.sleep(1.0)
    return server


def stall(server: subprocess.Popen, after_s: float) -> threading.Thread:
    """Stops the server for a second, so long after now."""

    def work() -> None:
        time.sleep(after_s)
        os.killpg(server.pid, signal.SIGSTOP)
        time.sleep(STALL_S)
        os.killpg(server.pid, signal.SIGCONT)

    thread = threading.Thread(target=work)
    thread.start()
    return thread


def ours(rearguard: str, url: str, options: argparse.Namespace) -> dict[str, object] | None:
    """What our generator reports; None where it says that it was too late."""
    command = [rearguard, "measure", "--target", url, "--rate", f"{options.rate}/s", "--duration", f"{options.seconds}s"]
    command += ["--connections", str(options.connections), "--json"]
    done = subprocess.run(command, capture_output=True, text=True)
    # A run that it made again is not the one in which the server stood still.
    if done.returncode != 0 or "once more" in done.stderr:
        print(done.stderr, file=sys.stderr)
        return None
    result = json.loads(done.stdout)
    latency = {name: result["latency_ns"][name]["value"] for name in ("p50", "p99", "p99_9")}
    check = result["self_check"]
    return {
        "rate": check["achieved_rate_per_s"],
        "p50": latency["p50"] / 1e6,
        "p99": latency["p99"] / 1e6,
        "p99.9": latency["p99_9"] / 1e6,
        "lag": f"{check['lag_p50_ns'] / 1e3:.1f} / {check['lag_p99_ns'] / 1e3:.1f} / {check['lag_p99_9_ns'] / 1e3:.0f} us",
    }


def wrk(url: str, options: argparse.Namespace, script: Path) -> dict[str, object]:
    """What wrk reports: a closed loop, as fast as its connections go; the script prints p99.9, too."""
    command = ["wrk", "-t1", f"-c{options.connections}", f"-d{options.seconds}s", "--timeout", "10s", "-s", str(script), url]
    said = subprocess.run(command, capture_output=True, text=True, check=True).stdout
    quantile = {name: float(re.search(rf"^p{name} (\S+)", said, re.M)[1]) / 1e3 for name in ("50", "99", "99.9")}
    rate = float(re.search(r"Requests/sec:\s*(\S+)", said)[1])
    return {"rate": rate, "p50": quantile["50"], "p99": quantile["99"], "p99.9": quantile["99.9"], "lag": "closed loop"}


REPORT = """done = function(summary, latency)
  for _, p in ipairs({50, 99, 99.9}) do print(string.format("p%g %g", p, latency:percentile(p))) end
end
"""


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("rearguard")
    parser.add_argument("--rate", type=int, default=2000)
    parser.add_argument("--seconds", type=int, default=8)
    parser.add_argument("--connections", type=int, default=16)
    parser.add_argument("--port", type=int, default=18089)
    parser.add_argument("--server-cpus", default="1")
    options = parser.parse_args()
    for program in ("nginx", "wrk"):
        if not shutil.which(program):
            sys.exit(f"{program} is missing: sudo apt-get install nginx-light wrk")
    with tempfile.TemporaryDirectory(prefix="rearguard-bench-") as name:
        folder = Path(name)
        script = folder / "report.lua"
        script.write_text(REPORT)
        server = start_nginx(folder, options.port, options.server_cpus)
        url = f"http://127.0.0.1:{options.port}/index.html"
        try:
            print(f"{'':24}{'requests/s':>12}{'p50 ms':>10}{'p99 ms':>10}{'p99.9 ms':>10}   send lag p50 / p99 / p99.9")
            for stalled in (False, True):
                for tool in ("rearguard", "wrk"):
                    found = None
                    for _ in range(TRIES):
                        halting = stall(server, options.seconds / 2) if stalled else None
                        found = ours(options.rearguard, url, options) if tool == "rearguard" else wrk(url, options, script)
                        if halting:
                            halting.join()
                        if found:
                            break
                    label = f"{tool}{', stalled 1 s' if stalled else ''}"
                    if found:
                        print(f"{label:24}{found['rate']:12.0f}{found['p50']:10.3f}{found['p99']:10.3f}{found['p99.9']:10.3f}   {found['lag']}")
                    else:
                        print(f"{label:24}{'the generator was too late on this machine: no result':>40}")
        finally:
            os.killpg(server.pid, signal.SIGKILL)
            server.wait()


main()
