"""Files for Prometheus, Grafana and Kubernetes ask for what the programs emit, and have their schemas."""

import json
import os
import re
import sys
import unittest
from collections.abc import Iterator
from pathlib import Path

ROOT = Path(__file__).parent.parent
RULES = ROOT / "packaging/prometheus/rearguard.rules.yml"
RULES_TEST = ROOT / "packaging/prometheus/rearguard.rules.test.yml"
DASHBOARD = ROOT / "packaging/grafana/rearguard.json"
MANIFEST = ROOT / "packaging/kubernetes/rearguard-watch.yaml"
GUIDE = ROOT / "docs/guide/monitoring.md"
# What `watch --metrics` and `top --metrics` emit: tests in Rust hold the programs against these texts.
WATCH = ROOT / "crates/front/cli/src/watch/tests/metrics.txt"
TOP = ROOT / "crates/arms/scx/src/stats/tests/report.txt"
# What Prometheus adds to the labels of samples and alerts.
ADDED = {"job", "instance", "alertname", "alertstate"}


def fetched() -> Path | None:
    """The folder that tools/monitoring/fetch has filled; it says why where it could not."""
    if named := os.environ.get("RG_MONITORING"):
        return Path(named)
    target = Path(os.environ.get("CARGO_TARGET_DIR", ROOT / "target"))
    return next(iter(sorted(target.glob("monitoring-*"))), None)


def emitted() -> dict[str, set[str]]:
    """The labels of each sample's name."""
    found: dict[str, set[str]] = {}
    text = WATCH.read_text() + TOP.read_text()
    for line in text.splitlines():
        if sample := re.match(r"(\w+)(?:\{(.*)\})? \S+$", line):
            found.setdefault(sample[1], set()).update(re.findall(r'(\w+)="', sample[2] or ""))
    # As protobuf a histogram is one sample.
    for name in re.findall(r"^# TYPE (\w+) histogram$", text, flags=re.M):
        found[name] = found[f"{name}_count"]
    return found


def without_comments(text: str) -> str:
    """YAML whose comments stand in lines of their own."""
    return "\n".join(line for line in text.splitlines() if not line.lstrip().startswith("#"))


def queries(dashboard: dict) -> list[str]:
    """Every expression of panels, variables and annotations."""
    targets = [target for panel in dashboard["panels"] for target in panel.get("targets", [])]
    variables = [one["query"]["query"] for one in dashboard["templating"]["list"] if one["type"] == "query"]
    return variables + [one["expr"] for one in targets + dashboard["annotations"]["list"]]


def unknown(text: str, known: dict[str, set[str]]) -> set[str]:
    """Names of metrics, and labels that they are chosen by, that no program emits."""
    names = set(re.findall(r"(?<![\w:])rearguard_\w+(?![\w:])", text))
    chosen = re.findall(r"(?<![\w:])(rearguard_\w+)\{(.*?)\}", text)
    labels = {f"{name}{{{label}}}" for name, inside in chosen for label in re.findall(r"(\w+)!?=", inside)
              if label not in known.get(name, set()) | ADDED}
    return (names - known.keys()) | labels


def alerts() -> list[str]:
    """The names of all alerts."""
    return re.findall(r"- alert: (\w+)", RULES.read_text())


class Names(unittest.TestCase):
    """Rules and dashboard ask for what is emitted."""

    def test_rules_and_dashboard_ask_for_what_is_emitted(self):
        known = emitted()
        self.assertIn("rearguard_watch_latency_seconds_bucket", known)
        for file in RULES, RULES_TEST:
            self.assertEqual(unknown(without_comments(file.read_text()), known), set(), file)
        self.assertEqual(unknown("\n".join(queries(json.loads(DASHBOARD.read_text()))), known), set())

    def test_what_no_program_emits_is_found(self):
        known = emitted()
        for good, bad in [
            ("rearguard_watch_requests_total", "rearguard_watch_requests"),
            ("rearguard_watch_latency_seconds_sum", "rearguard_watch_latency_sum"),
            ("rearguard_watch_latency_seconds", "rearguard_watch_threshold"),
            ('rearguard_group_share_ratio{group="/"}', 'rearguard_group_share_ratio{port="80"}'),
            ('rearguard_watch_stage_seconds{stage="t2_t3"}', 'rearguard_watch_stage_seconds{le="1"}'),
            ("rearguard_cpus", "rearguard_cpu"),
        ]:
            self.assertEqual(unknown(f"rate({good}[5m])", known), set())
            self.assertTrue(unknown(f"rate({bad}[5m])", known), bad)

    def test_recorded_figures_are_recorded(self):
        text = without_comments(RULES.read_text())
        used = set(re.findall(r"\w+:rearguard_\w+:\w+", text))
        self.assertEqual(used, set(re.findall(r"- record: (\S+)", text)))

    def test_every_alert_is_tested_and_in_the_guide(self):
        tested, guide = RULES_TEST.read_text(), GUIDE.read_text()
        self.assertTrue(alerts())
        for name in alerts():
            self.assertIn(f'alertname="{name}", alertstate="firing"', tested)
            self.assertIn(f"| `{name}` |", guide)


def lost(given: object, kept: object, at: str = "") -> Iterator[str]:
    """What a schema's reader does not know of a document: where it is."""
    if isinstance(given, dict) and isinstance(kept, dict):
        for key, value in given.items():
            yield from lost(value, kept.get(key), f"{at}.{key}")
    elif isinstance(given, list) and isinstance(kept, list) and len(given) == len(kept):
        for place, pair in enumerate(zip(given, kept)):
            yield from lost(*pair, f"{at}[{place}]")
    elif given != kept:
        yield at


@unittest.skipUnless(fetched(), "no schemas: run tools/monitoring/fetch")
class Schemas(unittest.TestCase):
    """The dashboard is one to Grafana's schema, the manifest to that of Kubernetes."""

    def setUp(self):
        before = sys.path[:]
        self.addCleanup(lambda: sys.path.__setitem__(slice(None), before))
        sys.path.insert(0, str(fetched() / "python"))

    def read_back(self, dashboard: dict) -> dict:
        """As Grafana's own library for dashboards writes what it has read."""
        from grafana_foundation_sdk.cog import encoder, plugins
        from grafana_foundation_sdk.models.dashboard import Dashboard

        plugins.register_default_plugins()
        return json.loads(json.dumps(Dashboard.from_json(dashboard), cls=encoder.JSONEncoder))

    def test_the_dashboard_is_all_in_the_schema(self):
        dashboard = json.loads(DASHBOARD.read_text())
        # The data source of Prometheus reads these two, which the schema leaves to it.
        own = {f".annotations.list[0].{key}" for key in ("titleFormat", "textFormat")}
        self.assertEqual(set(lost(dashboard, self.read_back(dashboard))), own)
        dashboard["panels"][1]["gridPosition"] = dashboard["panels"][1].pop("gridPos")
        self.assertIn(".panels[1].gridPosition", set(lost(dashboard, self.read_back(dashboard))))

    def test_panels_have_places_and_numbers_of_their_own(self):
        panels = json.loads(DASHBOARD.read_text())["panels"]
        self.assertEqual(len({panel["id"] for panel in panels}), len(panels))
        places = [panel["gridPos"] for panel in panels]
        cells = [(at["x"] + x, at["y"] + y) for at in places for x in range(at["w"]) for y in range(at["h"])]
        self.assertEqual(len(set(cells)), len(cells), "panels overlap")
        self.assertTrue(all(x < 24 for x, _ in cells))

    def test_the_manifest_has_the_schema_of_kubernetes(self):
        import kubernetes_validate
        import yaml

        documents = list(yaml.safe_load_all(MANIFEST.read_text()))
        self.assertEqual([one["kind"] for one in documents], ["Namespace", "DaemonSet"])
        for version in "1.30", kubernetes_validate.latest_version():
            for one in documents:
                kubernetes_validate.validate(one, version, strict=True)
        pod = documents[1]["spec"]["template"]["spec"]
        pod["containers"][0]["securityContext"]["capability"] = {}
        with self.assertRaises(kubernetes_validate.ValidationError):
            kubernetes_validate.validate(documents[1], "1.30", strict=True)

    def test_the_pod_has_the_capabilities_of_the_service(self):
        import yaml

        pod = list(yaml.safe_load_all(MANIFEST.read_text()))[1]["spec"]["template"]["spec"]
        of_pod = pod["containers"][0]["securityContext"]
        unit = (ROOT / "packaging/rearguard-watch.service").read_text()
        of_unit = re.search(r"CapabilityBoundingSet=(.*)", unit)[1].split()
        self.assertEqual({f"CAP_{one}" for one in of_pod["capabilities"]["add"]}, set(of_unit))
        self.assertEqual(of_pod["capabilities"]["drop"], ["ALL"])
        self.assertTrue(of_pod["readOnlyRootFilesystem"])
        self.assertFalse(of_pod["allowPrivilegeEscalation"])


if __name__ == "__main__":
    unittest.main()
