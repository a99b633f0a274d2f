"""Find strings that several ops change one after another, and replace these ops by one step.

Models that clean up text replace one character after another, each by an op of its own. What is done byte
by byte becomes one change for all of them.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import Any

from tfport.errors import RunFailed
from tfport.runtime.engines.engine import Engine
from tfport.runtime.operand import Operand
from tfport.runtime.ops.strings.byte_strings import ByteChange, attr_bytes, map_strings
from tfport.runtime.passes.pass_list import program_pass
from tfport.runtime.program import Program, Run, Step

Change = Callable[[bytes], bytes]
"""What an op does with each string."""

_OPS = frozenset(("StaticRegexReplace", "StringLower", "StringUpper", "StringStrip"))


@program_pass
def string_chains(program: Program, engine: Engine) -> None:
    """Ops that change strings one after another are one step."""
    if sum(step.op in _OPS for step in program.steps) < 2:
        return
    chains: dict[Operand, tuple[Step, Step, list[Change]]] = {}
    replaced: dict[Step, list[Step]] = {}
    for step in program.steps:
        change = _change(step)
        if change is not None:
            source, joined, changes = step.inputs[0], step, [change]
            if source in chains and program.readers(source) == [step] and source not in program.results:
                last, before, earlier = chains[source]
                changes = _with(earlier, change)
                joined = _joined(before, step, changes)
                replaced |= {last: [], step: [joined]}
            chains[step.outputs[0]] = step, joined, changes
    if replaced:
        program.replace(replaced)


def _change(step: Step) -> Change | None:
    """What a step does with each string; None if it does anything else, or fails."""
    if step.op not in _OPS or step.run is None:
        return None
    try:
        return _change_of(step.op, step.attrs)
    except RunFailed:
        return None  # its kernel says so when it runs


def _change_of(op: str, attrs: Mapping[str, Any]) -> Change:
    from tfport.runtime.ops.strings.kernels.regex import replacement
    from tfport.runtime.ops.strings.kernels.substrings import lower_case, upper_case

    match op:
        case "StaticRegexReplace":
            pattern, rewrite = attr_bytes(attrs["pattern"]), attr_bytes(attrs["rewrite"])
            return replacement(pattern, rewrite, attrs["replace_global"])
        case "StringLower":
            return lower_case(attrs["encoding"])
        case "StringUpper":
            return upper_case(attrs["encoding"])
    return bytes.strip


def _with(changes: Sequence[Change], change: Change) -> list[Change]:
    """The changes and one more; two that go byte by byte become one."""
    if isinstance(changes[-1], ByteChange) and isinstance(change, ByteChange):
        return [*changes[:-1], changes[-1].then(change)]
    return [*changes, change]


def _joined(before: Step, step: Step, changes: Sequence[Change]) -> Step:
    """One step for two; it has the name and op of the second."""
    return Step(step.name, step.op, before.inputs, step.outputs, run=_run(tuple(changes)), why=step.why)


def _run(changes: Sequence[Change]) -> Run:
    def changed(text: bytes) -> bytes:
        for change in changes:
            text = change(text)
        return text

    return lambda inputs: (map_strings(inputs[0], changed),)
