"""Documents with their tables."""

from __future__ import annotations

import json
from functools import cached_property
from os import PathLike
from typing import TYPE_CHECKING, Any

from rearguard import _native

if TYPE_CHECKING:
    import pandas as _pandas
    import polars as _polars
    import pyarrow as _pyarrow


class Table:
    """A table in Arrow's memory layout.

    Whatever speaks Arrow's PyCapsule interface takes it without a copy: ``pyarrow.table(t)``, ``polars.DataFrame(t)``,
    ``pandas.DataFrame.from_arrow(t)``, DuckDB. The three methods are the same in a word.
    """

    def __init__(self, table: _native.Table) -> None:
        self._table = table

    @property
    def name(self) -> str:
        """What a row is about."""
        return self._table.name

    @property
    def num_rows(self) -> int:
        """How many rows there are."""
        return self._table.num_rows

    @property
    def column_names(self) -> list[str]:
        """The names of the columns."""
        return self._table.column_names

    def to_pyarrow(self) -> _pyarrow.Table:
        """As a pyarrow table."""
        import pyarrow

        return pyarrow.table(self)

    def to_polars(self) -> _polars.DataFrame:
        """As a polars data frame."""
        import polars

        return polars.DataFrame(self)

    def to_pandas(self) -> _pandas.DataFrame:
        """As a pandas data frame (pandas 3)."""
        import pandas

        return pandas.DataFrame.from_arrow(self)

    def __len__(self) -> int:
        return self._table.num_rows

    def __repr__(self) -> str:
        return repr(self._table)

    def __arrow_c_stream__(self, requested_schema: object | None = None) -> object:
        return self._table.__arrow_c_stream__(requested_schema)

    def __arrow_c_schema__(self) -> object:
        return self._table.__arrow_c_schema__()


class _Document:
    """What ``--json`` prints, and its tables."""

    def __init__(self, results: _native.Results) -> None:
        self._results = results

    def json(self) -> str:
        """The document as the command prints it with ``--json``, byte for byte."""
        return self._results.json()

    @cached_property
    def document(self) -> dict[str, Any]:
        """The document as plain Python values."""
        parsed: dict[str, Any] = json.loads(self.json())
        return parsed

    @cached_property
    def tables(self) -> dict[str, Table]:
        """Every table by its name."""
        return {table.name: Table(table) for table in self._results.tables()}


class Comparison(_Document):
    """What a scenario did under several policies."""

    @classmethod
    def from_json(cls, text: str) -> Comparison:
        """Reads what ``rearguard compare ... --json`` printed, on any arm."""
        return cls(_native.Results.parse(text, "rearguard.compare/1"))

    @property
    def policies(self) -> Table:
        """A row a policy and seed (no seed: pooled): switches, migrations, lag, fairness."""
        return self.tables["policies"]

    @property
    def programs(self) -> Table:
        """A row a program: latencies with intervals beside the ideal's, inversions, outliers."""
        return self.tables["programs"]

    @property
    def groups(self) -> Table:
        """A row a group: the share of CPU time that was due, and the one that it got."""
        return self.tables["groups"]

    @property
    def verdicts(self) -> Table:
        """A row a comparison of two policies: better, worse or cannot tell."""
        return self.tables["verdicts"]

    @property
    def curves(self) -> Table:
        """Tails, measured and ideal, a row a point."""
        return self.tables["curves"]

    @property
    def shares(self) -> Table:
        """Shares of groups over time."""
        return self.tables["shares"]

    @property
    def lags(self) -> Table:
        """The band of the threads' lags over time."""
        return self.tables["lags"]

    def __repr__(self) -> str:
        policies = dict.fromkeys(result["policy"] for result in self.document["results"])
        return f"<rearguard.Comparison {self.document['scenario']}: {', '.join(policies)}>"


class Ideal(_Document):
    """What an ideal queue does."""

    @classmethod
    def from_json(cls, text: str) -> Ideal:
        """Reads what ``rearguard ideal ... --json`` printed."""
        return cls(_native.Results.parse(text, "rearguard.ideal/1"))

    @property
    def queues(self) -> Table:
        """One row: simulated latencies with intervals, and what is known in closed form."""
        return self.tables["queues"]

    @property
    def curves(self) -> Table:
        """The tail, a row a point."""
        return self.tables["curves"]

    def __repr__(self) -> str:
        return f"<rearguard.Ideal: {self.document['requests']} requests>"


class Cluster(_Document):
    """What many servers did in every case: under each load, dispatch and redundancy."""

    @classmethod
    def from_json(cls, text: str) -> Cluster:
        """Reads what ``rearguard cluster ... --json`` printed."""
        return cls(_native.Results.parse(text, "rearguard.cluster/1"))

    @property
    def cases(self) -> Table:
        """A row a case: latencies of requests and sub-requests, outliers, copies, quality."""
        return self.tables["cases"]

    @property
    def verdicts(self) -> Table:
        """Cases held against the first dispatch and redundancy at the same load."""
        return self.tables["verdicts"]

    @property
    def turns(self) -> Table:
        """Up to which load a rule helps, and from which it harms."""
        return self.tables["turns"]

    @property
    def curves(self) -> Table:
        """Tails, a row a point."""
        return self.tables["curves"]

    def __repr__(self) -> str:
        return f"<rearguard.Cluster {self.document['cluster']}: {self.cases.num_rows} cases>"


class Run:
    """One run, request by request: its trace as tables (``docs/reference/traces.md``)."""

    def __init__(self, traced: tuple[str, list[_native.Table]]) -> None:
        header, tables = traced
        self.header: dict[str, Any] = json.loads(header)
        """Where it is from: scenario, machine, policy, seed, the command that makes it again."""
        self.tables = {table.name: Table(table) for table in tables}
        """Every table by its name."""

    @classmethod
    def load(cls, path: str | PathLike[str]) -> Run:
        """Reads a trace that ``rearguard compare --trace`` wrote, on any arm."""
        return cls(_native.read_trace(path))

    @property
    def requests(self) -> Table:
        """A row a request: intended, sent, started, completed, received, service and latency."""
        return self.tables["requests"]

    @property
    def threads(self) -> Table:
        """A row a thread: its name, program and group."""
        return self.tables["threads"]

    @property
    def usage(self) -> Table:
        """The threads' CPU time at regular moments."""
        return self.tables["usage"]

    @property
    def events(self) -> Table:
        """Scheduling events, where they were asked for."""
        return self.tables["events"]

    def __repr__(self) -> str:
        head = self.header
        return f"<rearguard.Run {head['scenario']}: {head['policy']}, seed {head['seed']}>"
