"""Running: comparisons and ideal queues."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from os import PathLike

from rearguard import _command, _native
from rearguard._results import Cluster, Comparison, Ideal, Run

Progress = Callable[[float], object]


def compare(
    scenario: _native.Scenario | str | PathLike[str],
    policies: str | Sequence[str],
    *,
    on: str = "sim",
    seeds: int | Sequence[int] | None = None,
    duration: str | None = None,
    jobs: int | None = None,
    progress: Progress | None = None,
) -> Comparison:
    """Runs a scenario under several policies; the first is the baseline of every verdict.

    ``scenario`` is a :class:`Scenario` or a file's path. ``seeds`` is how many (the scenario's own first) or which. ``duration``
    replaces the scenario's (``"2s"``), ``jobs`` is how many runs are made at a time (one a core), ``progress`` is called with the share that is done.

    ``on`` is the arm: ``"sim"``, or ``"host"`` (this machine's kernel) or ``"vm"`` (stock kernels in QEMU), which the command ``rearguard``
    in PATH runs; of these ``progress`` hears the end alone.
    """
    scenario = _loaded(scenario)
    named = [policies] if isinstance(policies, str) else list(policies)
    which = seeds if seeds is None or isinstance(seeds, int) else list(seeds)
    if on in ("host", "vm"):
        options = {"duration": duration, "jobs": None if jobs is None else str(jobs)}
        if isinstance(which, list):
            options["seed"] = ",".join(map(str, which))
        else:
            options["seeds"] = None if which is None else str(which)
        given = {name: value for name, value in options.items() if value is not None}
        found = Comparison(_command.compare(scenario, named, on, given))
        if progress is not None:
            progress(1.0)
        return found
    if on != "sim":
        raise _native.InputError(f"on: found `{on}`; expected sim, host or vm")
    return Comparison(
        _native.compare(scenario, named, seeds=which, duration=duration, jobs=jobs, progress=progress)
    )


def run(
    scenario: _native.Scenario | str | PathLike[str],
    policy: str,
    *,
    seed: int | None = None,
    duration: str | None = None,
    events: bool = False,
    progress: Progress | None = None,
) -> Run:
    """Runs a scenario once in simulation and gives its trace: every request, and with ``events`` every scheduling event.

    ``seed`` is the scenario's first unless given; the other arguments are those of :func:`compare`.
    """
    return Run(
        _native.run(
            _loaded(scenario), policy, seed=seed, duration=duration, events=events, progress=progress
        )
    )


def cluster(
    path: str | PathLike[str],
    *,
    utilisation: Sequence[float] = (),
    dispatch: Sequence[str] = (),
    redundancy: Sequence[str] = (),
    policy: str | None = None,
    duration: str | None = None,
    seed: int | None = None,
    jobs: int | None = None,
    progress: Progress | None = None,
) -> Cluster:
    """Simulates a cluster file in every case. The arguments are the options of ``rearguard cluster``, and replace what the file says."""
    return Cluster(
        _native.cluster(
            path,
            utilisation=utilisation,
            dispatch=dispatch,
            redundancy=redundancy,
            policy=policy,
            duration=duration,
            seed=seed,
            jobs=jobs,
            progress=progress,
        )
    )


def ideal(
    *,
    arrivals: str = "poisson",
    rate: float | str | None = None,
    utilisation: float = 0.8,
    service: str = "fixed",
    service_time: str = "50us",
    workers: int = 1,
    discipline: str = "fifo",
    requests: int | str = 1_000_000,
    seed: int = 1,
    progress: Progress | None = None,
) -> Ideal:
    """Simulates an ideal queue. The arguments are the options of ``rearguard ideal``; ``rate`` stands for ``utilisation``."""
    return Ideal(
        _native.ideal(
            arrivals=arrivals,
            rate=rate,
            utilisation=utilisation,
            service=service,
            service_time=service_time,
            workers=workers,
            discipline=discipline,
            requests=requests,
            seed=seed,
            progress=progress,
        )
    )


def replay(
    arrivals_ns: Iterable[int],
    services_ns: Iterable[int],
    *,
    workers: int = 1,
    discipline: str = "fifo",
    seed: int = 1,
) -> Ideal:
    """What an ideal queue makes of requests that were measured: each arrived at one stamp and takes so much service."""
    return Ideal(
        _native.replay(arrivals_ns, services_ns, workers=workers, discipline=discipline, seed=seed)
    )


def _loaded(scenario: _native.Scenario | str | PathLike[str]) -> _native.Scenario:
    return scenario if isinstance(scenario, _native.Scenario) else _native.Scenario.load(scenario)
