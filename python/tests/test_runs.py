"""Comparisons and ideal queues: what the command says, from Python."""

import json
import os
import pickle
import shlex
import signal
import threading
import time

import pyarrow
import pytest
import rearguard


def test_a_comparison_is_what_the_command_prints_byte_for_byte(scenario, command):
    result = rearguard.compare(scenario, ["cfs", "cts:queue=cpu"], seeds=2)
    printed = command(result.document["command"])
    assert printed.returncode == 0, printed.stderr
    assert result.json() == printed.stdout
    other = rearguard.compare(scenario, ["cfs", "cts:queue=cpu"], seeds=[1, 4])
    assert other.json() != printed.stdout
    assert command(other.document["command"]).stdout == other.json()


def test_a_duration_is_the_command_s(command):
    result = rearguard.compare("scenarios/null-rpc.toml", "cts", seeds=1, duration="300ms", jobs=1)
    assert result.json() == command(result.document["command"]).stdout


def test_an_ideal_is_what_the_command_prints(command):
    result = rearguard.ideal(service="exponential", workers=4, requests="20k", seed=7)
    assert result.json() == command(result.document["command"]).stdout
    by_rate = rearguard.ideal(rate=1000.0, service_time="500us", requests=10_000)
    printed = command(by_rate.document["command"])
    assert by_rate.json() == printed.stdout
    assert by_rate.document["rate_per_s"] == 1000.0
    assert result.queues.to_pyarrow()["exact_mean_ns"][0].as_py() == pytest.approx(87_300, rel=1e-3)


def test_a_replayed_run_is_the_ideal_of_its_own_arrivals():
    queue = rearguard.replay([0, 10, 20], [100, 100, 100])
    assert queue.document["latency_ns"]["max"] == 280
    assert rearguard.replay([0, 10, 20], [100, 100, 100], workers=3).document["latency_ns"]["max"] == 100
    with pytest.raises(rearguard.InputError, match="as many of each"):
        rearguard.replay([0, 10], [100])


def test_documents_read_back(scenario):
    result = rearguard.compare(scenario, ["cts"], seeds=1)
    again = rearguard.Comparison.from_json(result.json())
    assert again.json() == result.json()
    assert again.programs.to_pyarrow().equals(result.programs.to_pyarrow())
    with pytest.raises(rearguard.InputError, match="the document: "):
        rearguard.Comparison.from_json("{}")


def test_other_values_change_what_runs_and_nothing_else(scenario):
    key = "program.service.arrivals.utilisation"
    busy = scenario.with_values({key: 0.2})
    assert busy.edits[-1] == f"{key}=0.2" and "utilisation = 0.2" in busy.text
    assert busy != scenario and busy == scenario.with_values({key: 0.2})
    assert (busy.duration_ns, busy.cpus, busy.services) == (500_000_000, 1, ["service"])
    again = pickle.loads(pickle.dumps(busy))
    assert (again, again.text, again.edits) == (busy, busy.text, busy.edits)
    listed = busy.with_values({"seeds": [5, 6], "program.service.arrivals": {"rate": "200/s"}})
    assert listed.seeds == [5, 6] and "0.2" not in listed.text


@pytest.mark.parametrize(
    ("values", "said"),
    [
        ({"program.servise.connections": 1}, "did you mean `service`?"),
        ({"program.service.connections": 0}, "expected a whole number from 1"),
        ({"machine.cpu": 1}, "did you mean `cpus`?"),
        ({"duration": object()}, "no value of a scenario"),
    ],
)
def test_wrong_values_say_what_is_right(scenario, values, said):
    with pytest.raises(rearguard.InputError, match=said.replace("?", r"\?")):
        scenario.with_values(values)


def test_errors_have_the_command_s_messages(scenario, command):
    with pytest.raises(rearguard.InputError) as raised:
        rearguard.compare(scenario, ["ctss"])
    words = ["rearguard", "compare", scenario.file, "--policy", "ctss"]
    assert command(words).stderr == f"rearguard: {raised.value}\n"
    with pytest.raises(rearguard.InputError) as raised:
        rearguard.ideal(utilisation=1.5)
    words = ["rearguard", "ideal", "--utilisation", "1.5"]
    assert command(words).stderr == f"rearguard: {raised.value}\n"
    for wrong in [{"seeds": 0}, {"seeds": [1, 1]}, {"duration": "0s"}, {"duration": "2"}, {"jobs": 0}]:
        with pytest.raises(rearguard.InputError):
            rearguard.compare(scenario, ["cts"], **wrong)
    with pytest.raises(rearguard.InputError):
        rearguard.Scenario.load("nowhere.toml")
    with pytest.raises(rearguard.InputError, match="has no options"):
        rearguard.check(scenario, "cfs:queue=cpu")
    assert issubclass(rearguard.InputError, rearguard.Error) and "gvts" in rearguard.policies()


# Minutes of work, were it not stopped.
LONG = {"service": "exponential", "requests": "2G"}


def test_ctrl_c_stops_the_work_at_once():
    # The signal goes to the main thread, where Python runs its handler, while the work is in a thread of
    # Rust's.
    import _thread

    for long in [
        lambda: rearguard.ideal(**LONG),
        lambda: rearguard.compare("scenarios/gvts-fig8.toml", "cts", seeds=1, duration="80000s"),
    ]:
        threading.Timer(0.3, _thread.interrupt_main).start()
        with pytest.raises(KeyboardInterrupt):
            long()


def test_the_interpreter_goes_on_meanwhile():
    stop, ticks = threading.Event(), []
    worker = threading.Thread(target=lambda: ticks.extend(iter_ticks(stop)))
    worker.start()
    rearguard.ideal(service="exponential", requests="3M")
    stop.set()
    worker.join()
    assert len(ticks) > 3


def iter_ticks(stop):
    """A tick a moment: none while something else holds the interpreter."""
    while not stop.is_set():
        time.sleep(0.001)
        yield 1


def test_progress_rises_to_the_end_and_may_stop_the_work():
    shares = []
    rearguard.ideal(service="exponential", requests="3M", progress=shares.append)
    assert shares == sorted(shares) and shares[-1] == 1.0

    def enough(_):
        raise LookupError("enough")

    with pytest.raises(LookupError, match="enough"):
        rearguard.ideal(**LONG, progress=enough)


def test_statistics_are_the_document_s(scenario):
    result = rearguard.ideal(service="exponential", requests=100_000, seed=3)
    assert isinstance(result.curves.to_pyarrow(), pyarrow.Table)
    steady = [1_000 + n % 7 for n in range(5_000)]
    slow = [2 * latency for latency in steady]
    figures = rearguard.statistics.latency(steady)
    assert figures.p50_ns.value == 1_003 and figures.max_ns == 1_006
    assert rearguard.statistics.latency([steady, slow]).max_ns == 2_012
    assert rearguard.statistics.outliers(steady, 1_005).value == pytest.approx(1 / 7, rel=0.01)
    assert rearguard.statistics.verdict(steady, slow, "p50").answer == "better"
    assert rearguard.statistics.verdict(slow, steady, "p50").answer == "worse"
    assert rearguard.statistics.verdict(steady, steady, "p50").answer == "cannot tell"
    for column in [pyarrow.array(steady), memoryview(__import__("array").array("q", steady))]:
        assert rearguard.statistics.latency(column) == figures
    with pytest.raises(rearguard.InputError, match="expected nanoseconds"):
        rearguard.statistics.latency([-1])
    with pytest.raises(rearguard.InputError, match="metric `p42`"):
        rearguard.statistics.verdict(steady, slow, "p42")


def test_fan_out_amplifies_outliers_and_its_inverse_takes_that_back():
    # 10-ms computing section II: 1% of 100 servers is 63.4% of requests.
    statistics = rearguard.statistics
    assert statistics.service_proportion(0.01, 100) == pytest.approx(1 - 0.99**100)
    assert statistics.service_proportion(0.01, 50, per_server=2) == pytest.approx(0.634, abs=5e-4)
    required = statistics.required_proportion(0.1, 10_000)
    assert statistics.service_proportion(required, 10_000) == pytest.approx(0.1)
    for wrong in [(1.5, 1), (0.1, 0)]:
        with pytest.raises(rearguard.InputError):
            statistics.service_proportion(*wrong)


def test_a_run_is_what_the_command_traces(scenario, command, tmp_path):
    run = rearguard.run(scenario, "cts", seed=7, events=True)
    words = shlex.split(run.header["replay"])
    assert command([*words, "--trace", str(tmp_path / "a.trace")]).returncode == 0
    traced = rearguard.Run.load(tmp_path / "a.trace")
    assert traced.header == run.header
    for name, table in run.tables.items():
        assert table.to_pyarrow().equals(traced.tables[name].to_pyarrow()), name
    assert run.events.num_rows > run.requests.num_rows > 100
    assert rearguard.run(scenario, "cts", seed=7).events.num_rows == 0
    # The same statistics as the comparison's, from the requests themselves.
    rows = run.requests.to_pyarrow().to_pylist()
    inside = [row["latency_ns"] for row in rows if row["intended_ns"] >= run.header["window_start_ns"]]
    compared = rearguard.compare(scenario, "cts", seeds=[7]).document["results"][0]
    p99 = compared["programs"][0]["latency_ns"]["p99"]
    ours = rearguard.statistics.latency(inside).p99_ns
    assert ours.low <= ours.value == p99["value"] and ours.low == p99["low"]
    with pytest.raises(rearguard.InputError, match="No such file"):
        rearguard.Run.load("nowhere.trace")


@pytest.fixture
def in_path(monkeypatch, tmp_path):
    """Puts a command `rearguard` into PATH: the real one, or a script."""

    def put(script=None):
        folder = tmp_path / "bin"
        folder.mkdir()
        if script is None:
            (folder / "rearguard").symlink_to(os.environ["RG_COMMAND"])
        else:
            (folder / "rearguard").write_text(f"#!/bin/sh\n{script}\n")
            (folder / "rearguard").chmod(0o755)
        monkeypatch.setenv("PATH", f"{folder}:/usr/bin:/bin")

    return put


def test_the_host_arm_is_the_command_s(in_path, scenario):
    in_path()
    light = scenario.with_values({"program.service.arrivals.utilisation": 0.1})
    told = []
    try:
        found = rearguard.compare(light, "default", on="host", seeds=[3], progress=told.append)
    except rearguard.RunError as busy:
        # A machine whose own noise delays the generator measures nothing, and says so.
        assert "could not keep the schedule" in str(busy)
        return
    assert (found.document["arm"], found.document["seeds"], told) == ("host", [3], [1.0])
    assert found.document["scenario"] == "service-and-batch" and found.programs.num_rows > 0
    words = found.document["command"]
    assert words[2] == "scenarios/service-and-batch.toml" and "program.service.arrivals.utilisation=0.1" in words


def test_other_arms_fail_with_the_command_s_words(in_path, scenario, monkeypatch):
    monkeypatch.setenv("PATH", "/nowhere")
    with pytest.raises(rearguard.MachineError, match="`rearguard`, which is not in PATH"):
        rearguard.compare(scenario, "default", on="host")
    with pytest.raises(rearguard.InputError, match="expected sim, host or vm"):
        rearguard.compare(scenario, "default", on="hots")
    in_path()
    with pytest.raises(rearguard.InputError, match="did you mean `fifo`") as raised:
        rearguard.compare(scenario, "fifoo", on="host")
    assert not str(raised.value).startswith("rearguard")


@pytest.mark.parametrize(
    ("code", "error"), [(1, "RunError"), (2, "InputError"), (3, "MachineError"), (101, "RunError")]
)
def test_exit_codes_are_exceptions(in_path, scenario, code, error):
    in_path(f"echo 'rearguard: late\nrearguard: once more\nrearguard: why\nand so' >&2; exit {code}")
    with pytest.raises(rearguard.Error, match="^why\nand so$") as raised:
        rearguard.compare(scenario, "default", on="host")
    assert type(raised.value).__name__ == error


def test_ctrl_c_reaches_the_command_and_waits_for_its_undo(in_path, scenario, tmp_path):
    undone, begun = tmp_path / "undone", tmp_path / "begun"
    in_path(f"trap 'sleep 0.3; touch {undone}; exit 1' INT; touch {begun}; while :; do sleep 0.05; done")

    def interrupt():
        while not begun.exists():
            time.sleep(0.01)
        # As a terminal does it: a signal that ends the wait for the command.
        signal.pthread_kill(threading.main_thread().ident, signal.SIGINT)

    threading.Thread(target=interrupt).start()
    with pytest.raises(KeyboardInterrupt):
        rearguard.compare(scenario, "default", on="host")
    assert undone.exists()
