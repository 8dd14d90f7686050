"""Runs drawn scenarios and prints what is worth a look."""

import argparse
import json
import subprocess
import tempfile
from pathlib import Path

from .draw import scenario
from .judge import differences

OTHERS = ["eevdf", "cfs"]


def compare(program: str, file: Path, policy: str) -> dict:
    """The result document of one scenario."""
    policies = ",".join([*OTHERS, policy])
    command = [program, "compare", str(file), "--policy", policies, "--seeds", "1", "--json"]
    return json.loads(subprocess.run(command, check=True, capture_output=True, text=True).stdout)


def main():
    parser = argparse.ArgumentParser(prog="tools/differential", description=__doc__)
    parser.add_argument("--policy", default="rearguard", help="the policy that is held against cfs and eevdf")
    parser.add_argument("--first", type=int, default=0, help="the first seed")
    parser.add_argument("--seeds", type=int, default=100, help="how many: some seconds each")
    parser.add_argument("--bound", action="store_true", help="bind half of the programs to one CPU each")
    parser.add_argument("--keep", type=Path, help="a folder for the scenarios with a difference")
    parser.add_argument("--program", default="target/release/rearguard", help="the rearguard to run")
    args = parser.parse_args()
    with tempfile.TemporaryDirectory() as folder:
        for seed in range(args.first, args.first + args.seeds):
            file = Path(folder) / f"drawn-{seed}.toml"
            file.write_text(scenario(seed, args.bound))
            found = differences(compare(args.program, file, args.policy), args.policy)
            for line in found:
                print(f"seed {seed}: {line}", flush=True)
            if found and args.keep:
                args.keep.mkdir(parents=True, exist_ok=True)
                (args.keep / file.name).write_text(file.read_text())


main()
