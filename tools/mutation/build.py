"""A mutant compiled as the simulator loads it."""

import re
import shutil
import subprocess
from pathlib import Path

from .mutate import Mutant

ROOT = Path(__file__).resolve().parents[2]
POLICY = ROOT / "policy"
FLAGS = ["-std=gnu11", "-O2", "-fPIC", "-w", "-fno-common"]


def unit(platform: str) -> str:
    """The translation unit: every call of platform.h goes by a pointer that the loader fills."""
    calls = re.findall(r"^RG_CALL .*?\b(rg_\w+)\(", platform, re.MULTILINE)
    pointers = "".join(f"__typeof__({name}) *{name}_call;\n#define {name}(...) (*{name}_call)(__VA_ARGS__)\n" for name in calls)
    return f'#include "platform.h"\n{pointers}#include "scheduler.h"\n#include "sizes.h"\n'


def tree(folder: Path, mutant: Mutant | None) -> None:
    """The policy's sources with one change."""
    shutil.copytree(POLICY, folder, dirs_exist_ok=True)
    shutil.copy(ROOT / "crates/core/policy-native/sizes.h", folder)
    if mutant:
        path = folder / mutant.path
        path.write_text(mutant.apply(path.read_text()))
    (folder / "unit.c").write_text(unit((folder / "platform.h").read_text()))


def assembly(folder: Path) -> str | None:
    """What the compiler makes of it; nothing where it does not compile."""
    command = ["gcc", *FLAGS, "-S", "-I", str(folder), "-o", "-", str(folder / "unit.c")]
    done = subprocess.run(command, capture_output=True, text=True, timeout=900, check=False)
    return done.stdout if done.returncode == 0 else None


def link(folder: Path, text: str) -> Path:
    """The shared object of an assembly."""
    source, target = folder / "unit.s", folder / "policy.so"
    source.write_text(text)
    subprocess.run(["gcc", "-shared", "-nostartfiles", "-Wl,-z,defs", "-o", str(target), str(source)], check=True, timeout=900)
    return target
