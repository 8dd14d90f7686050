"""Small changes to C sources: an operator, a constant, a condition, a statement dropped, two swapped."""

import re
from collections.abc import Iterator
from dataclasses import dataclass

OPERATORS = {
    "<": "<=",
    "<=": "<",
    ">": ">=",
    ">=": ">",
    "==": "!=",
    "!=": "==",
    "&&": "||",
    "||": "&&",
    "+": "-",
    "-": "+",
    "*": "+",
    "/": "*",
    "<<": ">>",
    ">>": "<<",
    "+=": "-=",
    "-=": "+=",
    "&": "|",
    "|": "&",
}
LONGEST_FIRST = sorted(OPERATORS, key=len, reverse=True)
OPERATOR = re.compile(r"(?<= )(" + "|".join(re.escape(each) for each in LONGEST_FIRST) + r")(?= )")
CONSTANT = re.compile(r"(?<![\w.])(\d+)(?=(?:ULL)?(?![\w.]))")
CONDITION = re.compile(r"\bif \((.+)\)$")
# An assignment or a call that stands alone on its line.
NO_STATEMENT = "return|break|continue|else|if|for|struct |u32 |u64 |s32 |bool |rg_maybe "
STATEMENT = re.compile(rf"^\t+(?!{NO_STATEMENT})[a-zA-Z_*(+].*;$")


# Whether the platform has a state: the kernel's verifier asks for it, and the simulator always has one.
GUARD = re.compile(r"^\tif \(!\w+( \|\| !\w+)*(\)| \|\|$)")


@dataclass(frozen=True)
class Mutant:
    """One change of a file: the lines from `line` on (counted from 1) that become others."""

    path: str
    line: int
    kind: str
    old: str
    new: str

    def apply(self, text: str) -> str:
        """The changed text."""
        lines = text.split("\n")
        old = self.old.split("\n")
        at = self.line - 1
        if lines[at : at + len(old)] != old:
            raise ValueError(f"{self.path}:{self.line} is not `{self.old}`")
        lines[at : at + len(old)] = self.new.split("\n")
        return "\n".join(lines)


def code(text: str) -> Iterator[tuple[int, str]]:
    """Lines that hold code, with their numbers: no comments, no directives but numbers that are defined."""
    comment = False
    for number, line in enumerate(text.split("\n"), 1):
        begins = "/*" in line
        if not comment and not begins and line and not (line.startswith("#") and not re.match(r"#define RG_\w+ \d", line)):
            yield number, line
        elif begins and not comment and re.match(r"#define RG_\w+ \d|\t", line) and "*/" in line:
            yield number, line
        if begins or comment:
            comment = "*/" not in line[line.rfind("/*") if begins else 0 :]


def changed(line: str) -> Iterator[tuple[str, str]]:
    """Other forms of a line: the kind, and the line."""
    end = line.find("/*") if "/*" in line else len(line)
    for found in OPERATOR.finditer(line, 0, end):
        if found.group() == "||" and GUARD.match(line):
            continue
        yield "operator", line[: found.start()] + OPERATORS[found.group()] + line[found.end() :]
    for found in CONSTANT.finditer(line, 0, end):
        value = int(found.group())
        other = 1 - value if value < 2 else 2 * value if line.startswith("#") else value + 1
        yield "constant", line[: found.start()] + str(other) + line[found.end() :]
    condition = CONDITION.search(line)
    if condition and condition.group(1).count("(") == condition.group(1).count(")"):
        yield "condition", f"{line[: condition.start()]}if (!({condition.group(1)}))"
    if STATEMENT.match(line):
        yield "dropped", line[: len(line) - len(line.lstrip())] + ";"


def mutants(path: str, text: str) -> list[Mutant]:
    """All mutants of a file."""
    lines = list(code(text))
    found = [Mutant(path, number, kind, line, new) for number, line in lines for kind, new in changed(line)]
    for (number, line), (next_number, after) in zip(lines, lines[1:]):
        indents = [len(each) - len(each.lstrip()) for each in (line, after)]
        if next_number == number + 1 and indents[0] == indents[1] and STATEMENT.match(line) and STATEMENT.match(after):
            found.append(Mutant(path, number, "swapped", f"{line}\n{after}", f"{after}\n{line}"))
    return found
