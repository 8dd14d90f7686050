"""The example draws what the papers show."""

import runpy
import subprocess
import sys
from pathlib import Path

import polars as pl
import rearguard


def test_the_example_draws_both_figures(tmp_path, monkeypatch):
    monkeypatch.setenv("MPLBACKEND", "agg")
    monkeypatch.setattr(sys, "argv", ["figures.py", str(tmp_path)])
    made = runpy.run_path("python/examples/figures.py")
    for name in ["tales-4.png", "gvts-8.png"]:
        assert (tmp_path / name).read_bytes().startswith(b"\x89PNG"), name
    # Tales section 2.4: at the far end FIFO is fastest, and LIFO slowest.
    far = made["curves"].group_by("discipline").agg(pl.col("latency_ns").max())
    ends = dict(far.iter_rows())
    assert ends["fifo"] < ends["random-request"] < ends["lifo"]
    # GVTS Figure 8: an order of magnitude nearer to fair than CFS.
    worst = {row[0]: row[1] for row in made["worst"].select("policy", "threads_lag_max_s").iter_rows()}
    assert worst["gvts"] < worst["cfs"] / 10 and worst["rearguard"] < worst["cfs"] / 10


def test_the_page_s_code_runs(tmp_path):
    page = Path("docs/guide/python.md").read_text()
    code = "\n".join(part.split("```")[0] for part in page.split("```python\n")[1:])
    (tmp_path / "page.py").write_text(code)
    for folder in ["scenarios", "clusters"]:
        (tmp_path / folder).symlink_to(Path(folder).resolve())
    words = [sys.executable, "page.py"]
    ran = subprocess.run(words, cwd=tmp_path, capture_output=True, text=True, check=False)
    assert ran.returncode == 0, ran.stderr


def test_the_page_s_grid_is_one(tmp_path):
    grid = Path("docs/guide/sweeps.md").read_text().split("```toml\n")[1].split("```")[0]
    (tmp_path / "grid.toml").write_text(grid)
    (tmp_path / "scenarios").symlink_to(Path("scenarios").resolve())
    of = (tmp_path / "grid.toml", tmp_path / "folder")
    native = rearguard._native.Grid.load(*of, allow_own_policies=False)
    assert len(native) == 5 * 3 * 2
