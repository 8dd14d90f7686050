"""Compares Linux CPU schedulers by what they do to the tail of a service.

Scenarios, policies, ideal queues, statistics of dependent samples, clusters, and sweeps over many points, in simulation; comparisons on real kernels, too. Results are
documents, the same bytes as the command ``rearguard`` prints, and Arrow tables that pandas, polars and pyarrow take without a copy.
"""

from rearguard import statistics
from rearguard._native import (
    VERSION as __version__,
    Error,
    InputError,
    MachineError,
    RunError,
    Scenario,
    check,
    policies,
)
from rearguard._results import Cluster, Comparison, Ideal, Run, Table
from rearguard._runs import cluster, compare, ideal, replay, run
from rearguard._sweep import Failed, Sweep, sweep

__all__ = [
    "Cluster",
    "Comparison",
    "Error",
    "Failed",
    "Ideal",
    "InputError",
    "MachineError",
    "Run",
    "RunError",
    "Scenario",
    "Sweep",
    "Table",
    "__version__",
    "check",
    "cluster",
    "compare",
    "ideal",
    "policies",
    "replay",
    "run",
    "statistics",
    "sweep",
]
