"""Many mutants in one source: each is a copy of its function that runs where the program's mutant has its number."""

import re
from collections import defaultdict
from collections.abc import Iterator

from .mutate import Mutant

# Behind platform.h: which mutant runs. A build that watches each access to memory does not see the question.
SWITCH = """
#include <stdlib.h>
#pragma clang diagnostic ignored "-Weverything"
#define RG_COPY static __attribute__((noinline, unused))
#define RG_UNSEEN RG_COPY __attribute__((no_sanitize("coverage")))

static int rg_mutant;

__attribute__((constructor)) RG_UNSEEN void rg_mutant_read(void)
{
	const char *number = getenv("RG_MUTANT_NUMBER");

	rg_mutant = number ? atoi(number) : 0;
}

RG_UNSEEN int rg_is_mutant(int number)
{
	return rg_mutant == number;
}
"""
FUNCTION = re.compile(
    r"^RG_(?:INLINE|SUBPROGRAM|CALLBACK) (?P<type>[\w ]+?[ *]+)(?P<name>\w+)\((?P<given>[^)]*)\)\n\{\n", re.MULTILINE
)
PARAMETER = re.compile(r"(\w+)(?: RG_TRUSTED)?(?:,|$)")
DEFINE = re.compile(r"(#define \w+) ([^/]*[^/\s])")


def functions(text: str) -> Iterator[tuple[int, int, re.Match[str]]]:
    """Of each function where its body begins and ends, in lines counted from 0, and its head."""
    for head in FUNCTION.finditer(text):
        first = text.count("\n", 0, head.end())
        yield first, first + text[head.end() :].split("\n").index("}"), head


def switched(text: str, numbered: list[tuple[int, Mutant]]) -> tuple[str, list[int]]:
    """A file with its mutants, and the numbers of those that stand in no function and define no number."""
    lines = text.split("\n")
    bodies = list(functions(text))
    before: dict[int, list[str]] = defaultdict(list)
    left = []
    for number, mutant in numbered:
        at = mutant.line - 1
        body = next((each for each in bodies if each[0] <= at < each[1]), None)
        old, new = DEFINE.match(lines[at]), DEFINE.match(mutant.new)
        if body:
            for place, added in copied(text, number, mutant, *body):
                before[place] += added
        elif old and new:
            lines[at] = f"{old[1]} (rg_is_mutant({number}) ? ({new[2]}) : {old[2]})"
        else:
            left.append(number)
    return "\n".join(line for at, old in enumerate(lines) for line in [*before[at], old]), left


def copied(text: str, number: int, mutant: Mutant, first: int, last: int, head: re.Match[str]) -> Iterator[tuple[int, list[str]]]:
    """The changed copy of a function, and its call: what stands before which lines. No copy is inlined: else it
    would be copied with each of its callers."""
    name = f"rg_mutant_{number}"
    given = ", ".join(each for each in PARAMETER.findall(head["given"]) if each != "void")
    body = mutant.apply(text).split("\n")[first:last]
    yield text.count("\n", 0, head.start()), [f"RG_COPY {head['type']}{name}({head['given']})", "{", *body, "}", ""]
    yield first, [f"\tif (rg_is_mutant({number}))", f"\t\treturn {name}({given});"]
