"""Arms that need more than this process: the command runs them, as it starts servers, cgroups and guests of its own."""

from __future__ import annotations

import json
import shutil
import signal
import subprocess
import tempfile
from collections.abc import Sequence
from pathlib import Path

from rearguard import _native

_SCHEMA = "rearguard.compare/1"
_FAILURES = {2: _native.InputError, 3: _native.MachineError}


def compare(
    scenario: _native.Scenario, policies: Sequence[str], on: str, options: dict[str, str]
) -> _native.Results:
    """Runs a comparison on an arm and reads what the command printed."""
    words = ["--on", on, "--policy", ",".join(policies)]
    words += [word for name, value in options.items() for word in (f"--{name}", value)]
    with tempfile.TemporaryDirectory() as folder:
        # The scenario as it is in memory, which need not be in its file.
        file = Path(folder, Path(scenario.file).name)
        file.write_text(scenario.text)
        printed = _run(["compare", str(file), *words, "--json"])
    document = json.loads(printed)
    edits = [word for edit in scenario.edits for word in ("--set", edit)]
    document["command"] = ["rearguard", "compare", scenario.file, *edits, *words, "--json"]
    return _native.Results.parse(json.dumps(document), _SCHEMA)


def _run(words: Sequence[str]) -> str:
    path = shutil.which("rearguard")
    if path is None:
        raise _native.MachineError(
            "the arms `host` and `vm` take the command `rearguard`, which is not in PATH: "
            "`make build` makes it, target/release/rearguard"
        )
    # A session of its own: a Ctrl-C reaches it once, from us.
    pipes = subprocess.Popen(
        [path, *words],
        stdin=subprocess.DEVNULL,
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
        start_new_session=True,
    )
    try:
        printed, said = pipes.communicate()
    except BaseException:
        # It undoes what it changed, and ends.
        pipes.send_signal(signal.SIGINT)
        pipes.communicate()
        raise
    if pipes.returncode != 0:
        # What it said before was about runs that it repeated.
        _, _, reason = f"\n{said.strip()}".rpartition("\nrearguard: ")
        raise _FAILURES.get(pipes.returncode, _native.RunError)(reason)
    return printed
