"""Statistics of dependent samples, with intervals whose coverage is tested.

Latencies of neighbouring requests are alike, so textbook intervals are far too narrow. Samples are whole nanoseconds in the order of
arrival: a list, a NumPy array, a column of a table. ``runs`` is one of them or, for independent runs, a list of several.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import NamedTuple, cast

from rearguard import _native

Samples = Iterable[int]


class Estimate(NamedTuple):
    """A number with its 95% interval."""

    value: float
    low: float
    high: float


class Latency(NamedTuple):
    """A latency distribution in figures."""

    mean_ns: Estimate
    p50_ns: Estimate
    p90_ns: Estimate
    p99_ns: Estimate
    p99_9_ns: Estimate
    max_ns: int


class Verdict(NamedTuple):
    """``answer``: is a ``better`` or ``worse`` than b, or ``cannot tell``; ``ratio``: the metric of a over that of b."""

    answer: str
    ratio: Estimate


def latency(runs: Samples | Sequence[Samples]) -> Latency:
    """Mean, quantiles and maximum. Runs are pooled: percentiles are never averaged."""
    found = _native.latency(_several(runs))
    estimates = {name: Estimate(*value) for name, value in found.items() if isinstance(value, tuple)}
    return Latency(**estimates, max_ns=cast(int, found["max_ns"]))


def outliers(runs: Samples | Sequence[Samples], threshold_ns: int) -> Estimate:
    """The proportion of samples above a threshold."""
    return Estimate(*_native.outliers(_several(runs), threshold_ns))


def verdict(
    a: Samples | Sequence[Samples], b: Samples | Sequence[Samples], metric: str = "p99"
) -> Verdict:
    """Whether ``a`` is better than ``b`` by ``mean``, ``p50``, ``p90``, ``p99`` or ``p99_9``.

    Runs come in pairs: the first of ``a`` and the first of ``b`` had the same arrivals.
    """
    answer, ratio = _native.verdict(_several(a), _several(b), metric)
    return Verdict(answer, Estimate(*ratio))


def service_proportion(proportion: float, servers: int, per_server: int = 1) -> float:
    """The proportion of a service's requests that are outliers, where each waits for all of its servers (10-ms computing, equations 1 to 6)."""
    _check(proportion, servers, per_server)
    return _native.service_proportion(proportion, float(servers * per_server))


def required_proportion(target: float, servers: int, per_server: int = 1) -> float:
    """The proportion that each server must reach for at most ``target`` of the service's requests to be outliers (equation 7)."""
    _check(target, servers, per_server)
    return _native.required_proportion(target, float(servers * per_server))


def _check(proportion: float, servers: int, per_server: int) -> None:
    if not 0 <= proportion <= 1:
        raise _native.InputError(f"{proportion}: expected a proportion from 0 to 1, such as 0.01")
    if servers < 1 or per_server < 1:
        raise _native.InputError(f"{servers} servers, {per_server} on each: expected at least 1")


def _several(runs: Samples | Sequence[Samples]) -> Sequence[Samples]:
    """Runs; samples alone are one run. A list of numbers is one, a list of lists or arrays is several."""
    if isinstance(runs, (list, tuple)) and runs and isinstance(runs[0], Iterable):
        return cast(Sequence[Samples], runs)
    return [cast(Samples, runs)]
