"""Find the calls that led to each instruction of a compiled program, from the program's text."""

import re
from collections.abc import Iterator
from dataclasses import dataclass, replace

TABLES = ("FileNames", "FunctionNames", "FileLocations", "StackFrames")
COMPUTATION = re.compile(r"^(?:ENTRY )?%?([\w.-]+) \(.*\{$")
CALLED = re.compile(r"(?:calls|to_apply|body|condition)=%?([\w.-]+)")
INSTRUCTION = re.compile(r"^\s+(?:ROOT )?%?([\w.-]+) = (\(.*?\)|\S+) ([\w-]+)\(")
STACK = re.compile(r"stack_frame_id=(\d+)")


@dataclass(frozen=True)
class Frame:
    """A call in the source code, by which an operation was traced."""

    file: str
    function: str
    line: int


@dataclass(frozen=True)
class Instruction:
    """An instruction of a compiled program."""

    shape: str
    """Type and shape of its result, without the layout."""
    operation: str
    """Its HLO operation, such as ``fusion``."""
    stack: tuple[Frame, ...]
    """Calls that led to it, the innermost first; empty where XLA does not record them."""
    inputs: tuple[str, ...]
    """Names of its operands."""
    within: tuple[str, ...]
    """Names of the instructions of the computations that it calls."""


def instructions(text: str) -> dict[str, Instruction]:
    """Return the instructions of a compiled program by name.

    Args:
        text: optimised module, as ``compiled.as_text()`` returns it.
    """
    tables, lines = _tables(text)
    files, functions = (
        {key: line.split(" ", 1)[1].strip('"') for key, line in tables[name].items()}
        for name in TABLES[:2]
    )
    places = {}
    for key, line in tables["FileLocations"].items():
        field = _fields(line)
        file, function = files[field["file_name_id"]], functions[field["function_name_id"]]
        places[key] = Frame(file, function, field["line"])
    frames = {key: _fields(line) for key, line in tables["StackFrames"].items()}

    def stack(key: int) -> Iterator[Frame]:
        while key in frames:
            yield places[frames[key]["file_location_id"]]
            # The text has the parent's number plus one, and 1 where there is none.
            key = frames[key].get("parent_frame_id", 1) - 1

    parsed, called, members = {}, {}, {}
    for line in lines:
        if match := COMPUTATION.match(line):
            inside = members.setdefault(match[1], [])
        elif match := INSTRUCTION.match(line):
            name, shape, operation = match.groups()
            inside.append(name)
            operands, _, attributes = line[match.end() :].partition("), ")
            called[name] = CALLED.findall(attributes)
            traced = STACK.search(attributes)
            calls = tuple(stack(int(traced[1]))) if traced else ()
            names = tuple(re.findall(r"%([\w.-]+)", operands))
            parsed[name] = Instruction(re.sub(r"\{[^}]*\}", "", shape), operation, calls, names, ())
    return {
        name: replace(
            instruction, within=tuple(x for c in called[name] for x in members.get(c, ()))
        )
        for name, instruction in parsed.items()
    }


def _tables(text: str) -> tuple[dict[str, dict[int, str]], list[str]]:
    """Return the tables of the module's source locations, by their numbers, and all other lines."""
    tables: dict[str, dict[int, str]] = {name: {} for name in TABLES}
    table, rest = None, []
    for line in text.splitlines():
        if line in TABLES:
            table = tables[line]
        elif table is not None and (match := re.match(r"(\d+) ", line)):
            table[int(match[1])] = line
        else:
            table = None
            rest.append(line)
    return tables, rest


def _fields(line: str) -> dict[str, int]:
    return {key: int(value) for key, value in re.findall(r"(\w+)=(\d+)", line)}
