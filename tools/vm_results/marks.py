"""What a result depends on, as a mark in its path: after a change it is measured anew."""

from functools import cache
from hashlib import sha256
from pathlib import Path

# Policies of the kernel itself and rivals do not depend on our sources.
OTHERS = ("cfs", "eevdf", "fifo", "rr", "default", "nice")
SOURCES = ("policy", "crates/arms/scx/src/bpf")
# Programs beside them that are no part of any policy: the stamps of stages.
BESIDE = "stages"


@cache
def of_scenario(name: str) -> str:
    """The scenario's text."""
    return mark([Path(f"scenarios/{name}.toml")])


def of_policy(policy: str) -> str:
    """The policy's sources."""
    name = policy.split(":")[0]
    return "" if name in OTHERS or name.startswith("scx_") else of_sources()


@cache
def of_sources() -> str:
    """All sources of policies."""
    files = [file for root in SOURCES for file in Path(root).rglob("*.[ch]")]
    return mark(sorted(file for file in files if not file.name.startswith(BESIDE)))


def mark(files: list[Path], words: str = "") -> str:
    """A few digits of a hash over words, and names and contents of files."""
    digest = sha256(words.encode())
    for file in files:
        digest.update(f"{file}\0".encode() + file.read_bytes())
    return digest.hexdigest()[:8]
