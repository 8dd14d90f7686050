"""A real Prometheus loads the rules, scrapes what the programs emit, and answers the dashboard's queries."""

import json
import re
import shutil
import socket
import subprocess
import tempfile
import time
import unittest
from contextlib import suppress
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from threading import Thread
from urllib.parse import urlencode
from urllib.request import urlopen

from test_monitoring import DASHBOARD, GUIDE, RULES, RULES_TEST, TOP, WATCH, alerts, fetched, queries

# Until something is seen.
PATIENCE_S = 60
# Alerts for which the programs' texts are no reason: the control of those that fire.
SILENT = {"RearguardTailRisen", "RearguardGroupThrottled", "RearguardPromiseBudgetSpent"}


def program(name: str) -> str | None:
    """Prometheus' program: what was fetched, or what is installed."""
    ours = fetched() and fetched() / "prometheus/usr/bin" / name
    return str(ours) if ours and ours.exists() else shutil.which(name)


def free_port() -> int:
    """A port of loopback that was free just now."""
    with socket.create_server(("127.0.0.1", 0)) as server:
        return server.getsockname()[1]


def faults(rules: str) -> str:
    """What the rules' own tests say of rules; nothing where they pass."""
    with tempfile.TemporaryDirectory() as folder:
        (Path(folder) / RULES.name).write_text(rules)
        tests = shutil.copy(RULES_TEST, folder)
        command = [program("promtool"), "test", "rules", tests]
        said = subprocess.run(command, capture_output=True, text=True)
        return "" if said.returncode == 0 else said.stdout + said.stderr


def with_expression(name: str, expression: str) -> str:
    """The rules, of which one alert has another expression."""
    rule = rf"(- alert: {name}\n +expr: ).*?(\n +for:)"
    return re.sub(rule, lambda found: found[1] + expression + found[2], RULES.read_text(), flags=re.S)


@unittest.skipUnless(program("promtool"), "no promtool: run tools/monitoring/fetch")
class Rules(unittest.TestCase):
    """The rules and their tests, as promtool reads them."""

    def test_the_rules_pass_their_tests(self):
        subprocess.run([program("promtool"), "check", "rules", str(RULES)], check=True, capture_output=True)
        self.assertEqual(faults(RULES.read_text()), "")

    def test_an_alert_that_never_or_always_fires_fails_them(self):
        for name in alerts():
            self.assertIn(f'alertname="{name}"', faults(with_expression(name, "vector(1) > 2")))
        self.assertIn("time: 2h", faults(with_expression("RearguardTailRisen", "vector(1)")))

    def test_the_configurations_of_the_guide_are_some(self):
        found = re.findall(r"```yaml\n(.*?)```", GUIDE.read_text(), flags=re.S)
        self.assertEqual(len(found), 2)
        for text in found:
            # Debian's Prometheus is built without discovery in Kubernetes.
            text = re.sub(r"kubernetes_sd_configs: .*", "static_configs: []", text)
            with tempfile.NamedTemporaryFile("w", suffix=".yml") as file:
                file.write(text)
                file.flush()
                subprocess.run([program("promtool"), "check", "config", "--syntax-only", file.name],
                               check=True, capture_output=True)


class Exporter(BaseHTTPRequestHandler):
    """Serves the texts of the programs. Counters have grown with each scrape."""

    scrapes = 0

    def do_GET(self):
        Exporter.scrapes += 1
        text = {"/watch": WATCH, "/top": TOP}[self.path].read_text()
        counter = r"^(\w+_(?:total|bucket|sum|count)(?:\{.*\})?) (\S+)$"
        body = re.sub(counter, self.grow, text, flags=re.M).encode()
        self.send_response(200)
        self.send_header("Content-Type", "application/openmetrics-text; version=1.0.0; charset=utf-8")
        self.send_header("Content-Length", str(len(body)))
        self.end_headers()
        # At the end Prometheus hangs up.
        with suppress(ConnectionError):
            self.wfile.write(body)

    def grow(self, sample: re.Match) -> str:
        return f"{sample[1]} {float(sample[2]) * Exporter.scrapes}"

    def log_message(self, *_):
        pass


CONFIGURATION = """
global: {{scrape_interval: 1s, evaluation_interval: 1s}}
rule_files: [{rules}]
scrape_configs:
  - {{job_name: rearguard-watch, metrics_path: /watch, static_configs: [{{targets: {targets}}}]}}
  - {{job_name: rearguard-top, metrics_path: /top, static_configs: [{{targets: {targets}}}]}}
"""


@unittest.skipUnless(program("prometheus"), "no prometheus: run tools/monitoring/fetch")
class Prometheus(unittest.TestCase):
    """One that runs on loopback, with rules that wait for nothing."""

    @classmethod
    def setUpClass(cls):
        folder = Path(cls.enterClassContext(tempfile.TemporaryDirectory()))
        server = ThreadingHTTPServer(("127.0.0.1", 0), Exporter)
        cls.addClassCleanup(server.server_close)
        cls.addClassCleanup(server.shutdown)
        Thread(target=server.serve_forever, daemon=True).start()
        rules = folder / RULES.name
        rules.write_text(re.sub(r"for: \d+m", "for: 0s", RULES.read_text()))
        # At the second one nothing answers.
        targets = [f"127.0.0.1:{port}" for port in (server.server_port, free_port())]
        (folder / "prometheus.yml").write_text(CONFIGURATION.format(rules=rules, targets=targets))
        cls.address = f"127.0.0.1:{free_port()}"
        cls.start(folder)

    @classmethod
    def start(cls, folder: Path):
        """Starts the program, and ends it after the tests."""
        log = cls.enterClassContext((folder / "log").open("w"))
        command = [program("prometheus"), f"--config.file={folder}/prometheus.yml",
                   f"--storage.tsdb.path={folder}/data", f"--web.listen-address={cls.address}"]
        child = subprocess.Popen(command, stdout=log, stderr=subprocess.STDOUT)
        cls.addClassCleanup(child.wait)
        cls.addClassCleanup(child.terminate)

    def ask(self, what: str, **given: str):
        """The data of an answer of its API."""
        with urlopen(f"http://{self.address}/api/v1/{what}?{urlencode(given)}", timeout=10) as answer:
            return json.load(answer)["data"]

    def wait(self, seen):
        """What is seen, as soon as something is."""
        deadline = time.monotonic() + PATIENCE_S
        while True:
            try:
                if found := seen():
                    return found
            except OSError:
                # It does not listen yet.
                pass
            self.assertLess(time.monotonic(), deadline, "Prometheus does not come so far")
            time.sleep(0.2)

    def firing(self) -> dict[str, dict]:
        active = self.ask("alerts")["alerts"]
        return {one["labels"]["alertname"]: one for one in active if one["state"] == "firing"}

    def test_what_the_programs_emit_is_taken(self):
        targets = lambda: [one for one in self.ask("targets")["activeTargets"] if one["health"] != "unknown"]
        seen = self.wait(lambda: len(targets()) == 4 and targets())
        found = sorted((one["labels"]["job"], one["health"]) for one in seen)
        jobs = ["rearguard-top", "rearguard-watch"]
        self.assertEqual(found, [(job, health) for job in jobs for health in ("down", "up")])

    def test_alerts_fire_and_every_rule_is_evaluated(self):
        shall = set(alerts()) - SILENT
        self.wait(lambda: shall <= self.firing().keys())
        self.assertEqual(self.firing().keys(), shall)
        said = [text for one in self.firing().values() for text in one["annotations"].values()]
        self.assertFalse([text for text in said if "<" in text or "{{" in text])
        rules = [rule for group in self.ask("rules")["groups"] for rule in group["rules"]]
        self.assertEqual({rule["name"]: rule["health"] for rule in rules if rule["health"] != "ok"}, {})
        self.assertEqual({rule["name"] for rule in rules if rule["type"] == "alerting"}, set(alerts()))

    def test_each_query_of_the_dashboard_has_an_answer(self):
        self.wait(lambda: "RearguardRequestsSlow" in self.firing())
        for query in queries(json.loads(DASHBOARD.read_text())):
            plain = re.sub(r"\$(?:instance|port)\b", ".*", query).replace("$__rate_interval", "1m")
            plain = re.sub(r"label_values\((.*), \w+\)", r"\1", plain)
            self.assertTrue(self.ask("query", query=plain)["result"], query)
        self.assertFalse(self.ask("query", query="rearguard_misspelt")["result"])


if __name__ == "__main__":
    unittest.main()
