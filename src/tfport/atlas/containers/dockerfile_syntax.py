"""The syntax of a Dockerfile: instructions, build stages, and the variables of ARG and ENV.

`read_stages(text)` gives the stages with their instructions, variables replaced as far as their
values are in the file. What the instructions install is in `dockerfile`. Nothing is executed.
"""

from __future__ import annotations

import re
from bisect import bisect_left
from collections import defaultdict
from collections.abc import Iterator
from itertools import islice

from tfport.startup.dataclass import dataclass, field

MOST_INSTRUCTIONS = 10_000
MOST_HEREDOCS = 16
LONGEST_VALUE = 4096
"""Longest value of a variable, in characters: values can contain each other."""
MOST_REPLACED = 1 << 18
"""How many characters variables may add to one instruction."""
ESCAPE = re.compile(r"#\s*escape\s*=\s*(\S)\s*", re.IGNORECASE)
DIRECTIVE = re.compile(r"#\s*(syntax|check|escape)\s*=", re.IGNORECASE)
INSTRUCTION = re.compile(r"\s*([A-Za-z]+)(?:\s+(.*))?", re.DOTALL)
HEREDOC = re.compile(r"<<-?\s*([\"']?)(\w+)\1")
VARIABLE = re.compile(r"\$(?:(\w+)|\{(\w+)(?::?([-+])([^{}]*))?\})")
FROM = re.compile(r"((?:--\S+\s+)*)(\S+)(?:\s+[Aa][Ss]\s+(\S+))?\s*")
ASSIGNMENT = re.compile(r"(\w+)=(\"(?:[^\"\\]|\\.)*\"|'[^']*'|(?:[^\s\\]|\\.)*)")


@dataclass
class DockerInstruction:
    """One instruction of a stage, such as `RUN` with its arguments."""

    name: str
    arguments: str
    line: int


@dataclass
class DockerStage:
    """What follows one `FROM`."""

    image: str
    """Its base: an image, or the name or number of an earlier stage."""
    name: str
    platform: str = ""
    instructions: list[DockerInstruction] = field(default_factory=list)


def read_stages(text: str) -> list[DockerStage]:
    """Return the stages of a Dockerfile; empty if it has no `FROM`."""
    stages: list[DockerStage] = []
    shared: dict[str, str] = {}
    variables: dict[str, str] = {}
    for instruction in _instructions(text):
        match instruction.name:
            case "FROM":
                if base := FROM.fullmatch(substitute(instruction.arguments, shared)):
                    stages.append(DockerStage(base[2], (base[3] or "").lower(), _platform(base[1])))
                    variables = _inherited(stages, base[2], variables)
            case "ARG":
                _declare(instruction.arguments, variables if stages else shared, shared)
            case "ENV":
                variables |= _environment(substitute(instruction.arguments, variables))
            case _ if stages:
                arguments = substitute(instruction.arguments, variables)
                stages[-1].instructions.append(
                    DockerInstruction(instruction.name, arguments, instruction.line)
                )
    return stages


def substitute(text: str, variables: dict[str, str]) -> str:
    """Replace the variables of a text that have a value; others stay as they are."""
    left = MOST_REPLACED

    def value(match: re.Match[str]) -> str:
        nonlocal left
        name, operator, other = match[1] or match[2], match[3], match[4] or ""
        known = variables.get(name, "")
        if operator == "+":
            new = other if known else ""
        else:
            new = known or (other if operator == "-" else match[0])
        left -= len(new)
        return new if left > 0 else match[0]

    return VARIABLE.sub(value, text)


def _instructions(text: str) -> Iterator[DockerInstruction]:
    escape = "\\"
    lines = text.splitlines()
    for line in lines:
        if directive := ESCAPE.fullmatch(line.strip()):
            escape = directive[1]
        if not DIRECTIVE.match(line.strip()):
            break
    ends = defaultdict[str, list[int]](list)
    for number, line in enumerate(lines):
        ends[line.strip()].append(number)
    at = count = 0
    while at < len(lines) and count < MOST_INSTRUCTIONS:
        first, (at, whole) = at, _logical_line(lines, at, escape)
        if match := INSTRUCTION.fullmatch(whole):
            body, at = _heredocs(lines, ends, at, match[2] or "")
            count += 1
            yield DockerInstruction(match[1].upper(), f"{match[2] or ''}{body}".strip(), first + 1)


def _logical_line(lines: list[str], at: int, escape: str) -> tuple[int, str]:
    """The line at a position joined with its continuations, without comments; and the next position."""
    parts: list[str] = []
    while at < len(lines):
        line, at = lines[at], at + 1
        if line.lstrip().startswith("#") or (parts and not line.strip()):
            if not parts:
                return at, ""
            continue
        stripped = line.rstrip()
        if not stripped.endswith(escape):
            return at, "".join([*parts, line])
        parts.append(stripped[:-1] + " ")
    return at, "".join(parts)


def _heredocs(lines: list[str], ends: dict[str, list[int]], at: int, arguments: str) -> tuple[str, int]:
    """The bodies of the here-documents of an instruction, and the position after them."""
    body: list[str] = []
    for match in islice(HEREDOC.finditer(arguments), MOST_HEREDOCS):
        marks = ends.get(match[2], [])
        if (place := bisect_left(marks, at)) < len(marks):
            body += lines[at : marks[place]]
            at = marks[place] + 1
    return "".join(f"\n{line}" for line in body), at


def _platform(flags: str) -> str:
    """The machine that `--platform=linux/arm64` names."""
    if "arm64" in flags or "aarch64" in flags:
        return "aarch64"
    return "x86_64" if "amd64" in flags else ""


def _inherited(stages: list[DockerStage], image: str, variables: dict[str, str]) -> dict[str, str]:
    """A stage that continues the one before it keeps its variables."""
    earlier = stages[-2] if len(stages) > 1 else None
    return dict(variables) if earlier is not None and image.lower() == earlier.name else {}


def _declare(arguments: str, variables: dict[str, str], shared: dict[str, str]) -> None:
    """`ARG NAME=default`, or `ARG NAME`, which takes the default before the first `FROM`."""
    for match in re.finditer(r"(\w+)(?:=(\"[^\"]*\"|'[^']*'|\S*))?", arguments):
        name, default = match[1], match[2]
        if default is not None:
            variables[name] = substitute(default.strip("\"'"), {**shared, **variables})[:LONGEST_VALUE]
        elif name in shared:
            variables[name] = shared[name]


def _environment(arguments: str) -> dict[str, str]:
    """`ENV NAME=value …`, or the old form `ENV NAME value`."""
    first, _, rest = arguments.strip().partition(" ")
    if "=" in first:
        return {m[1]: m[2].strip("\"'")[:LONGEST_VALUE] for m in ASSIGNMENT.finditer(arguments)}
    return {first: rest.strip()[:LONGEST_VALUE]} if first else {}
