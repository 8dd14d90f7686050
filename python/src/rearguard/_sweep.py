"""Sweeps: many points, run by any executor, kept as they finish."""

from __future__ import annotations

import json
import sys
from collections.abc import Callable, Mapping, Sequence
from concurrent.futures import Executor, Future, ProcessPoolExecutor, as_completed
from concurrent.futures.process import BrokenProcessPool
from dataclasses import dataclass
from os import PathLike, fspath
from pathlib import Path
from typing import Any

from rearguard import _native
from rearguard._results import Table

# How often points are given to a new pool after a worker process died: one that dies each time must not go on
# for ever.
_NEW_POOLS = 2

_Outcome = tuple[str | None, str | None]


@dataclass(frozen=True)
class Failed:
    """A point that failed."""

    file: str
    """The scenario's file."""
    values: dict[str, str]
    """The grid's values by key, as TOML."""
    policy: str
    """The policy."""
    seed: int | None
    """The seed that failed; None where no run was to blame."""
    reason: str
    """Why."""
    replay: str
    """The command that makes the failure again."""


@dataclass(frozen=True)
class Sweep:
    """How a sweep went, and what it found."""

    tables: dict[str, Table]
    """``programs``, ``groups`` and ``policies`` as of a comparison, with the point's id and the grid's values in front; empty without a finished point."""
    points: int
    """Points of the grid."""
    reused: int
    """Of these, finished before."""
    failed: list[Failed]
    """Those that failed, in the grid's order. They are tried again when the sweep is run again."""


def sweep(
    grid: Mapping[str, Any] | str | PathLike[str],
    *,
    folder: str | PathLike[str],
    executor: Executor | None = None,
    progress: Callable[[int, int], object] | None = None,
    allow_own_policies: bool = False,
) -> Sweep:
    """Runs every point of a grid that ``folder`` does not have yet.

    ``grid`` is a grid file, or a dict with its keys, whose ``scenario`` may be a :class:`Scenario`, a path, or a list of these.
    ``executor`` is any of ``concurrent.futures``: a process a core by default, Dask's ``client.get_executor()`` for a cluster. It needs
    no folder: points come back as text and are kept here. ``progress`` is called with the finished points and all; by default a terminal shows them.
    ``allow_own_policies`` runs policies in files, ``./mine.c``, that the grid names: they are code, and refused otherwise.
    """
    native = _grid(grid, Path(folder), allow_own_policies)
    missing = native.missing()
    board = _Board(native, len(missing), progress or _terminal)
    if executor is not None:
        board.run(executor, missing)
    else:
        board.run_in_pools(missing)
    tables = {table.name: Table(table) for table in native.tables()}
    failed = [board.failed[place] for place in sorted(board.failed)]
    return Sweep(tables, len(native), len(native) - len(missing), failed)


class _Board:
    """What is done and what is not."""

    def __init__(
        self, grid: _native.Grid, missing: int, progress: Callable[[int, int], object]
    ) -> None:
        self.grid = grid
        self.missing = missing
        self.progress = progress
        self.done = 0
        self.failed: dict[int, Failed] = {}

    def run_in_pools(self, places: Sequence[int]) -> None:
        for _ in range(_NEW_POOLS + 1):
            if not places:
                return
            with ProcessPoolExecutor() as pool:
                places = self.run(pool, places, forgive=True)
        for place in places:
            self._report(place, self.grid.failed(place, "its worker process died, again and again"))

    def run(self, executor: Executor, places: Sequence[int], forgive: bool = False) -> list[int]:
        """Runs points; those whose pool broke are the answer if that is forgiven."""
        futures = {executor.submit(_native.run_point, self.grid.point(place)): place for place in places}
        try:
            return self._gather(futures, forgive)
        except BaseException:
            for future in futures:
                future.cancel()
            raise

    def _gather(self, futures: dict[Future[_Outcome], int], forgive: bool) -> list[int]:
        orphans = []
        for future in as_completed(futures):
            place = futures[future]
            try:
                found, failed = future.result()
            except BrokenProcessPool as broken:
                if forgive:
                    orphans.append(place)
                    continue
                found, failed = None, self.grid.failed(place, str(broken))
            except Exception as error:
                # A worker that was lost, say: the other points do not depend on it.
                found, failed = None, self.grid.failed(place, f"{type(error).__name__}: {error}")
            if found is not None:
                self.grid.keep(place, found)
            self._report(place, failed)
        return sorted(orphans)

    def _report(self, place: int, failed: str | None) -> None:
        if failed is not None:
            fields = json.loads(failed)
            self.failed[place] = Failed(**{**fields, "values": dict(fields["values"])})
        self.done += 1
        self.progress(self.done, self.missing)


def _grid(
    grid: Mapping[str, Any] | str | PathLike[str], folder: Path, allow_own_policies: bool
) -> _native.Grid:
    if not isinstance(grid, Mapping):
        return _native.Grid.load(fspath(grid), folder, allow_own_policies=allow_own_policies)
    entries = dict(grid)
    named = entries.pop("scenario", [])
    several = named if isinstance(named, (list, tuple)) else [named]
    scenarios = [
        one if isinstance(one, _native.Scenario) else _native.Scenario.load(one) for one in several
    ]
    if not scenarios:
        raise _native.InputError("missing key `scenario`")
    return _native.Grid.of(entries, scenarios, folder, allow_own_policies=allow_own_policies)


def _terminal(done: int, of: int) -> None:
    if sys.stderr.isatty():
        end = "\n" if done == of else ""
        print(f"\rsweep: {done} of {of} points", end=end, file=sys.stderr, flush=True)
