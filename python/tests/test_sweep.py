"""Sweeps: any executor, the same bytes; what fails is said, what died is run again."""

import os
import shlex
import signal
from concurrent.futures import ProcessPoolExecutor, ThreadPoolExecutor
from pathlib import Path

import pytest
import rearguard

GRID = {
    "policies": ["cts", "lcfs"],
    "seeds": [1, 2],
    "values": {
        "program.service.arrivals.utilisation": [0.2, 0.3, 0.4],
        "slice": ["4ms", "8ms"],
    },
}


@pytest.fixture
def grid(scenario):
    return {"scenario": scenario.with_values({"duration": "200ms"}), **GRID}


def files(folder: Path) -> dict[str, bytes]:
    return {str(p.relative_to(folder)): p.read_bytes() for p in folder.rglob("*") if p.is_file()}


def test_any_executor_gives_the_same_bytes(grid, tmp_path):
    whole = rearguard.sweep(grid, folder=tmp_path / "one")
    assert (whole.points, whole.reused, whole.failed) == (12, 0, [])
    assert len(files(tmp_path / "one")) == 12 + 3
    for executor in [ThreadPoolExecutor(3), ProcessPoolExecutor(2)]:
        folder = tmp_path / type(executor).__name__
        with executor:
            rearguard.sweep(grid, folder=folder, executor=executor)
        assert files(folder) == files(tmp_path / "one")
    other = {**grid, "seeds": [1, 3]}
    rearguard.sweep(other, folder=tmp_path / "other")
    assert files(tmp_path / "other")["programs.parquet"] != files(tmp_path / "one")["programs.parquet"]


def test_the_command_and_python_share_grids_folders_and_bytes(command, tmp_path):
    text = Path("scenarios/service-and-batch.toml").read_text()
    (tmp_path / "s.toml").write_text(text)
    (tmp_path / "grid.toml").write_text(
        'scenario = "s.toml"\npolicies = ["cts", "lcfs"]\nseeds = [1]\n'
        '[values]\nduration = ["200ms", "300ms"]\nwarm_up = ["50ms"]\n'
    )
    printed = command(["rearguard", "sweep", str(tmp_path / "grid.toml"), "--jobs", "2"])
    assert printed.returncode == 0, printed.stderr
    assert "4 points: 0 finished before, 4 run now, 0 failed" in printed.stdout
    ours = rearguard.sweep(tmp_path / "grid.toml", folder=tmp_path / "ours")
    assert files(tmp_path / "ours") == files(tmp_path / "grid")
    again = rearguard.sweep(tmp_path / "grid.toml", folder=tmp_path / "grid")
    assert (again.points, again.reused) == (4, 4)
    table = again.tables["programs"].to_pyarrow()
    assert table.equals(ours.tables["programs"].to_pyarrow())
    assert table.column_names[:3] == ["point", "duration", "warm_up"]


def test_values_stand_beside_what_they_led_to(grid, tmp_path):
    frame = rearguard.sweep(grid, folder=tmp_path).tables["programs"].to_pandas()
    service = frame[(frame.program == "service") & frame.seed.isna()]
    rates = service.groupby("program.service.arrivals.utilisation").rate_per_s.mean()
    # A request takes 500 us, so these shares are 400, 600 and 800 a second; seeds stray from that.
    assert list(rates) == pytest.approx([400, 600, 800], rel=0.2) and rates.is_monotonic_increasing
    assert sorted(set(service.slice)) == ["4ms", "8ms"]


def test_progress_is_told(grid, tmp_path):
    told = []
    rearguard.sweep(grid, folder=tmp_path, progress=lambda done, of: told.append((done, of)))
    assert told == [(n, 12) for n in range(1, 13)]


def broken_policy(tmp_path) -> str:
    template = Path("policy/examples/template.c").read_text()
    source = template.replace("(void)prev;", "(void)prev; rg_kick(999, 0);", 1)
    assert source != template
    (tmp_path / "broken.c").write_text(source)
    return str(tmp_path / "broken.c")


def test_failed_points_name_their_seed_and_the_command_that_fails_again(command, tmp_path):
    policy = broken_policy(tmp_path)
    grid = {
        "scenario": "scenarios/null-rpc.toml",
        "policies": ["cts", policy],
        "seeds": [3],
        "values": {"duration": ["200ms"]},
    }
    found = rearguard.sweep(
        grid, folder=tmp_path / "f", executor=ThreadPoolExecutor(2), allow_own_policies=True
    )
    assert found.points == 2 and found.tables["policies"].num_rows == 2
    (failed,) = found.failed
    assert (failed.seed, failed.policy, failed.values) == (3, policy, {"duration": '"200ms"'})
    assert "CPU 999" in failed.reason
    again = command(shlex.split(failed.replay))
    assert again.returncode == 1 and "CPU 999" in again.stderr


def test_a_grid_is_data_unless_it_is_allowed_code(tmp_path):
    (tmp_path / "mine.c").write_text(Path("policy/examples/template.c").read_text())
    (tmp_path / "s.toml").write_text(Path("scenarios/null-rpc.toml").read_text())
    mine = str(tmp_path / "mine.c")
    in_a_file = tmp_path / "grid.toml"
    in_a_file.write_text(
        f'scenario = "s.toml"\npolicies = ["cts", "{mine}"]\nseeds = [1]\n[values]\nduration = ["100ms"]\n'
    )
    commands = tmp_path / "commands.toml"
    commands.write_text(f'command = ["touch", "{tmp_path / "ran"}"]\nseeds = [1]\n')
    values = {"duration": ["100ms"]}
    as_a_dict = {"scenario": tmp_path / "s.toml", "policies": [mine], "seeds": [1], "values": values}
    for grid in [in_a_file, commands, as_a_dict]:
        with pytest.raises(rearguard.InputError, match="allow_own_policies=True"):
            rearguard.sweep(grid, folder=tmp_path / "kept")
    assert not (tmp_path / "kept").exists() and not (tmp_path / "ran").exists()
    for grid, points in [(in_a_file, 2), (as_a_dict, 1)]:
        folder = tmp_path / f"kept-{points}"
        found = rearguard.sweep(
            grid, folder=folder, executor=ThreadPoolExecutor(1), allow_own_policies=True
        )
        assert (found.points, found.failed) == (points, []), "the control"


def test_mistakes_are_said_before_anything_runs(grid, tmp_path):
    for wrong, said in [
        ({"policies": ["ctss"]}, "did you mean `cts`"),
        ({"values": {"duration": ["0s"]}}, "expected a duration above 0"),
        ({"value": {}}, "did you mean `values`"),
        ({"scenario": []}, "missing key `scenario`"),
    ]:
        with pytest.raises(rearguard.InputError, match=said):
            rearguard.sweep({**grid, **wrong}, folder=tmp_path)
    assert not list(tmp_path.rglob("*.parquet"))


def killed_once(marker: str, point: str):
    """A worker that dies at its first point, as if the machine had taken it."""
    if not os.path.exists(marker):
        Path(marker).touch()
        os.kill(os.getpid(), signal.SIGKILL)
    return RUN_POINT(point)


RUN_POINT = rearguard._native.run_point


class Killing:
    """Any executor whose first task takes its worker with it."""

    def __init__(self, executor, marker):
        self.executor, self.marker = executor, str(marker)

    def submit(self, _, point):
        return self.executor.submit(killed_once, self.marker, point)


def test_a_pool_that_dies_is_replaced(grid, tmp_path, monkeypatch):
    expected = rearguard.sweep(grid, folder=tmp_path / "whole")
    assert not expected.failed

    class Dying(ProcessPoolExecutor):
        def submit(self, _, point):
            return super().submit(killed_once, str(tmp_path / "marker"), point)

    # The control: an executor of the user's own is not replaced, so its points fail and say why.
    with Dying(1) as executor:
        found = rearguard.sweep(grid, folder=tmp_path / "theirs", executor=executor)
    assert found.failed and "terminated abruptly" in found.failed[0].reason
    (tmp_path / "marker").unlink()
    monkeypatch.setattr("rearguard._sweep.ProcessPoolExecutor", Dying)
    rearguard.sweep(grid, folder=tmp_path / "ours")
    assert (tmp_path / "marker").exists()
    assert files(tmp_path / "ours") == files(tmp_path / "whole")


def test_a_dask_worker_killed_during_the_sweep_changes_nothing(grid, tmp_path):
    from distributed import Client, LocalCluster

    rearguard.sweep(grid, folder=tmp_path / "whole")
    with (
        LocalCluster(
            n_workers=3, threads_per_worker=1, processes=True, dashboard_address=None
        ) as cluster,
        Client(cluster) as client,
    ):
        pids = set(client.run(os.getpid).values())
        executor = Killing(client.get_executor(), tmp_path / "marker")
        found = rearguard.sweep(grid, folder=tmp_path / "dask", executor=executor)
        assert (tmp_path / "marker").exists()
        assert (found.points, found.failed) == (12, [])
        assert pids - set(client.run(os.getpid).values()), "a worker is another process now"
    assert files(tmp_path / "dask") == files(tmp_path / "whole")
