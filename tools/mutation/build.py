"""Mutants compiled as the simulator loads them."""

import re
import shutil
import subprocess
import tempfile
from collections import defaultdict
from collections.abc import Iterable
from pathlib import Path

from .mutate import Mutant
from .schema import SWITCH, switched

ROOT = Path(__file__).resolve().parents[2]
POLICY = ROOT / "policy"
COMPILER = ["gcc", "-std=gnu11", "-O2", "-fPIC", "-w", "-fno-common"]
IN_MUTANT = re.compile(r"In function .rg_mutant_(\d+)")


def unit(platform: str) -> str:
    """The translation unit: every call of platform.h goes by a pointer that the loader fills."""
    calls = re.findall(r"^RG_CALL .*?\b(rg_\w+)\(", platform, re.MULTILINE)
    pointers = "".join(f"__typeof__({name}) *{name}_call;\n#define {name}(...) (*{name}_call)(__VA_ARGS__)\n" for name in calls)
    return f'#include "platform.h"\n{pointers}#include "scheduler.h"\n#include "sizes.h"\n'


def tree(folder: Path) -> None:
    """The policy's sources."""
    shutil.copytree(POLICY, folder, dirs_exist_ok=True)
    shutil.copy(ROOT / "crates/core/policy-native/sizes.h", folder)
    (folder / "unit.c").write_text(unit((folder / "platform.h").read_text()))


def compiled(folder: Path, *words: str) -> subprocess.CompletedProcess[str]:
    """What the compiler says of a tree."""
    command = [*COMPILER, "-I", str(folder), *words, str(folder / "unit.c")]
    return subprocess.run(command, capture_output=True, text=True, timeout=900, check=False)


def assembly(mutant: Mutant | None) -> str:
    """The code of the policy with one change, or none."""
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        tree(folder)
        if mutant:
            path = folder / mutant.path
            path.write_text(mutant.apply(path.read_text()))
        return compiled(folder, "-S", "-o", "-").stdout


def switch(folder: Path, numbered: Iterable[tuple[int, Mutant]]) -> set[int]:
    """A tree with mutants behind their numbers; the numbers of those that cannot be."""
    tree(folder)
    by_path = defaultdict(list)
    for number, mutant in numbered:
        by_path[mutant.path].append((number, mutant))
    out: set[int] = set()
    for name, of_file in by_path.items():
        text, left = switched((folder / name).read_text(), of_file)
        (folder / name).write_text(text)
        out.update(left)
    platform = folder / "platform.h"
    end = "\n#endif\n"
    platform.write_text(platform.read_text().removesuffix(end) + SWITCH + end)
    return out


def shared_object(folder: Path, numbered: dict[int, Mutant]) -> dict[int, str]:
    """Compiles mutants into one object, `policy.so`. Why those are not in it that are not."""
    wrong: set[int] = set()
    while True:
        left = switch(folder, ((number, mutant) for number, mutant in numbered.items() if number not in wrong))
        target = folder / "policy.so"
        done = compiled(folder, "-shared", "-nostartfiles", "-Wl,-z,defs", "-o", str(target))
        if done.returncode == 0:
            return dict.fromkeys(left, "part of a macro") | dict.fromkeys(wrong, "does not compile")
        found = {int(number) for number in IN_MUTANT.findall(done.stderr)} - wrong
        if not found:
            raise SystemExit(f"mutants: the policy does not compile:\n{done.stderr}")
        wrong |= found
