"""What the tests share: scenarios, the command, short runs."""

import os
import signal
import subprocess
from pathlib import Path

import pytest
import rearguard

ROOT = Path(__file__).resolve().parents[2]

# A shell that runs the tests in its background lets them ignore Ctrl-C, which some of them are about.
signal.signal(signal.SIGINT, signal.default_int_handler)


@pytest.fixture(autouse=True)
def in_the_project(monkeypatch):
    """Paths as a user of the project has them."""
    monkeypatch.chdir(ROOT)


@pytest.fixture
def scenario():
    """Half a second of a service beside batch work."""
    whole = rearguard.Scenario.load("scenarios/service-and-batch.toml")
    return whole.with_values({"duration": "500ms", "warm_up": "100ms"})


@pytest.fixture
def command():
    """Runs the command with these words, the program's name first."""

    def run(words):
        return subprocess.run(
            words, executable=os.environ["RG_COMMAND"], capture_output=True, text=True, check=False
        )

    return run
