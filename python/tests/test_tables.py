"""Tables: from memory and from files, to whatever reads Arrow."""

import json
import subprocess
import sys
from pathlib import Path

import pandas
import polars
import pyarrow
import pyarrow.parquet
import pytest
import rearguard


# A short look at a cluster.
CLUSTER = {"utilisation": [0.5], "dispatch": ["random"], "redundancy": ["none"], "duration": "200ms"}


@pytest.fixture
def result(scenario):
    return rearguard.compare(scenario, ["cfs", "cts"], seeds=2)


def test_every_cell_is_the_document_s(result):
    rows = result.programs.to_pyarrow().to_pylist()
    programs = [
        (entry, program) for entry in result.document["results"] for program in entry["programs"]
    ]
    assert len(rows) == len(programs) == 3 * 2 * 2
    for row, (entry, program) in zip(rows, programs, strict=True):
        assert (row["policy"], row["seed"], row["program"]) == (entry["policy"], entry["seed"], program["name"])
        assert row["requests"] == program["requests"]
        for source, column in [("latency_ns", "latency"), ("ideal_ns", "ideal")]:
            for part in ["mean", "p50", "p90", "p99", "p99_9"]:
                figure = (program[source] or {}).get(part) or {}
                for name, key in [("", "value"), ("_low", "low"), ("_high", "high")]:
                    assert row[f"{column}_{part}{name}_ns"] == figure.get(key)
    verdicts = result.verdicts.to_pyarrow().to_pylist()
    assert [row["answer"] for row in verdicts] == [v["answer"] for v in result.document["verdicts"]]
    points = sum(len(p["ccdf"]) + len(p["ideal_ccdf"]) for _, p in programs)
    assert result.curves.num_rows == points > 100


def test_pandas_polars_and_pyarrow_take_the_same_table(result):
    for name, table in result.tables.items():
        arrow = pyarrow.table(table)
        assert arrow.num_rows == len(table) == table.num_rows and table.name == name
        assert arrow.column_names == table.column_names == pyarrow.schema(table).names
        assert polars.DataFrame(table).to_arrow().to_pylist() == arrow.to_pylist()
        assert table.to_polars().height == len(table.to_pandas()) == len(table)
    frame = pandas.DataFrame.from_arrow(result.programs)
    pooled = frame[frame.seed.isna() & (frame.program == "service")].set_index("policy")
    figures = {r["policy"]: r["programs"] for r in result.document["results"] if r["seed"] is None}
    for policy, programs in figures.items():
        assert pooled.latency_p99_ns[policy] == programs[0]["latency_ns"]["p99"]["value"]


def test_nothing_is_copied(result):
    curves = result.curves
    first, second = (pyarrow.table(curves)["latency_ns"].chunk(0).buffers()[1] for _ in range(2))
    assert first.address == second.address != 0
    del result, curves
    assert second.to_pybytes()[:8] != b"", "the memory outlives the object that lent it"


def test_files_hold_the_tables(result, command, tmp_path: Path):
    words = [*result.document["command"], "--parquet", str(tmp_path), "--arrow", str(tmp_path)]
    assert command(words).returncode == 0
    for name, table in result.tables.items():
        ours = table.to_pyarrow()
        parquet = pyarrow.parquet.read_table(tmp_path / f"{name}.parquet")
        assert parquet.equals(ours) and parquet.schema.types == ours.schema.types
        with pyarrow.OSFile(str(tmp_path / f"{name}.arrow")) as file:
            assert pyarrow.ipc.open_file(file).read_all().equals(ours)
        note = json.loads(parquet.schema.metadata[b"rearguard.tables/1"])
        assert (note["table"], note["document"]) == (name, "rearguard.compare/1")


def test_a_cluster_is_what_the_command_prints_byte_for_byte(command):
    ours = rearguard.cluster("clusters/dispatch.toml", **CLUSTER, seed=5)
    printed = command(ours.document["command"])
    assert printed.returncode == 0, printed.stderr
    assert ours.json() == printed.stdout
    (case,) = ours.cases.to_pyarrow().to_pylist()
    assert case["latency_p99_ns"] == ours.document["cases"][0]["latency_ns"]["p99"]["value"]
    assert rearguard.Cluster.from_json(printed.stdout).json() == printed.stdout
    with pytest.raises(rearguard.InputError):
        rearguard.cluster("clusters/dispatch.toml", dispatch=["shortes"])


# Commands whose tables Python has no call for, with what they need: the document's schema, and a table that
# has rows.
OTHERS = [
    (["paper", "tales", "1", "--requests", "10k"], "rearguard.paper/1", "queues"),
    (["fanout", "--proportion", "0.01"], "rearguard.fanout/1", "fanout"),
    (["explain", "{folder}/one.trace"], "rearguard.explain/1", "splits"),
    (["sweep", "{folder}/grid.toml"], "rearguard.sweep/2", "programs"),
]


@pytest.mark.parametrize(("words", "schema", "filled"), OTHERS)
def test_other_commands_write_tables_too(words, schema, filled, command, tmp_path: Path):
    text = Path("scenarios/service-and-batch.toml").read_text()
    (tmp_path / "s.toml").write_text(text)
    values = '[values]\nduration = ["200ms"]\nwarm_up = ["50ms"]\n'
    (tmp_path / "grid.toml").write_text(f'scenario = "s.toml"\npolicies = ["cts"]\n{values}')
    short = ["--duration", "300ms", "--policy", "cfs", "--seed", "1"]
    trace = ["--trace", str(tmp_path / "one.trace")]
    made = command(["rearguard", "compare", "scenarios/service-and-batch.toml", *short, *trace])
    assert made.returncode == 0, made.stderr
    given = [word.format(folder=tmp_path) for word in words]
    out = tmp_path / "tables"
    both = ["--parquet", str(out), "--arrow", str(out)]
    ran = command(["rearguard", *given, *both])
    assert ran.returncode == 0, ran.stderr
    files = sorted(out.glob("*.parquet"))
    assert out / f"{filled}.parquet" in files
    for file in files:
        table = pyarrow.parquet.read_table(file)
        with pyarrow.OSFile(str(file.with_suffix(".arrow"))) as arrow:
            assert pyarrow.ipc.open_file(arrow).read_all().equals(table)
        note = json.loads(table.schema.metadata[b"rearguard.tables/1"])
        assert (note["table"], note["document"]) == (file.stem, schema)
        assert table.num_rows > 0 or file.stem != filled


def test_a_trace_is_exported_to_both_formats(command, tmp_path: Path):
    short = ["--duration", "300ms", "--policy", "cfs", "--seed", "1"]
    trace = str(tmp_path / "one.trace")
    command(["rearguard", "compare", "scenarios/null-rpc.toml", *short, "--trace", trace])
    run = rearguard.Run.load(trace)
    for to in ["parquet", "arrow"]:
        out = tmp_path / to
        assert command(["rearguard", "trace", "export", trace, "--to", to, str(out)]).returncode == 0
        for name, table in run.tables.items():
            if to == "parquet":
                found = pyarrow.parquet.read_table(out / f"{name}.{to}")
            else:
                with pyarrow.OSFile(str(out / f"{name}.{to}")) as file:
                    found = pyarrow.ipc.open_file(file).read_all()
            assert found.equals(table.to_pyarrow()) and found.num_rows > 0


def mypy(*words):
    """mypy or one of its modules, with the package's configuration."""
    return subprocess.run(
        [sys.executable, "-m", *words], cwd="python", capture_output=True, text=True, check=False
    )


def test_the_stubs_say_what_the_module_has():
    checked = mypy("mypy.stubtest", "rearguard", "--mypy-config-file", "pyproject.toml")
    assert checked.returncode == 0, checked.stdout + checked.stderr


def test_the_package_is_typed_for_itself_and_for_its_users(tmp_path: Path):
    checked = mypy("mypy", "src/rearguard")
    assert checked.returncode == 0, checked.stdout
    program = tmp_path / "typed.py"
    lines = [
        "import rearguard",
        "rows: int = rearguard.ideal().queues.num_rows",
        "wrong: str = rearguard.ideal().queues.num_rows",
    ]
    program.write_text("\n".join(lines))
    checked = mypy("mypy", str(program))
    assert "typed.py:3" in checked.stdout and "Found 1 error" in checked.stdout, checked.stdout
