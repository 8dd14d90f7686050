# %% [markdown]
# # Two figures of the papers, from Python
#
# Tales of the Tail, Figure 4: what the order of service does to the tail, with four workers at 80% load.
# GVTS, Figure 8: twenty equal threads on sixteen CPUs, and how far each strays from its due. Run it as a
# script (`python figures.py FOLDER`) or cell by cell.

# %%
import sys
from pathlib import Path

import matplotlib.pyplot as plt
import polars as pl
import rearguard

scenarios = Path(__file__).resolve().parents[2] / "scenarios"
out = Path(sys.argv[1]) if len(sys.argv) > 1 else Path(".")
# A quick look; the papers' precision takes "2M" requests and all of the scenario's seeds.
requests, seeds = "200k", 1

# %% [markdown]
# ## Tales, Figure 4
#
# First come, first served has the shortest tail. Last come, first served has the best median, and pays for it
# a thousandfold later.

# %%
disciplines = ["fifo", "lifo", "random-request", "random-worker"]
curves = pl.concat(
    pl.DataFrame(
        rearguard.ideal(discipline=discipline, workers=4, utilisation=0.8, requests=requests).curves
    ).with_columns(discipline=pl.lit(discipline))
    for discipline in disciplines
)

# %%
figure, axes = plt.subplots(figsize=(7, 4), layout="constrained")
for discipline in disciplines:
    curve = curves.filter(discipline=discipline)
    axes.plot(curve["latency_ns"] / 1e3, curve["proportion"], label=discipline)
axes.set(xscale="log", yscale="log", xlabel="latency (us)", ylabel="requests slower than that")
axes.set_title("Four workers, 50 us, 80% load (Tales, Figure 4)")
axes.legend()
figure.savefig(out / "tales-4.png", dpi=120)

# %% [markdown]
# ## GVTS, Figure 8
#
# No division of twenty threads over sixteen queues is even. CFS balances queues, so some threads get ahead
# and others fall behind for as long as it runs; global virtual time keeps them together.

# %%
result = rearguard.compare(scenarios / "gvts-fig8.toml", ["cfs", "gvts", "rearguard"], seeds=seeds)
lags = pl.DataFrame(result.lags)

# %%
figure, panels = plt.subplots(1, 3, figsize=(10, 3.5), sharey=True, layout="constrained")
for panel, policy in zip(panels, ["cfs", "gvts", "rearguard"], strict=True):
    band = lags.filter(pl.col("seed").is_null(), policy=policy)
    panel.fill_between(band["at_ns"] / 1e9, band["lag_min_s"], band["lag_max_s"], alpha=0.5)
    panel.set(title=policy, xlabel="time (s)")
panels[0].set_ylabel("lag of the threads (s)")
figure.suptitle("Twenty equal threads on sixteen CPUs (GVTS, Figure 8)")
figure.savefig(out / "gvts-8.png", dpi=120)

# %%
worst = result.policies.to_polars().filter(pl.col("seed").is_null())
print(worst.select("policy", "threads_lag_min_s", "threads_lag_max_s"))
