"""A program: steps over operands, in an order in which they can run; `plan` cuts it into islands.

Each step is one node of the model with what can run it: ONNX nodes, a host kernel, or both.
Calls are inlined; a branch or loop is one step with inner programs.
"""

from __future__ import annotations

import functools
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from enum import StrEnum
from typing import Any

from tfport.runtime.operand import Operand
from tfport.startup.dataclass import dataclass, field

Run = Callable[[Sequence[Any]], Sequence[Any]]
"""Arrays and resources in, arrays and resources out."""
Prepare = Callable[[Sequence[Any]], Callable[[], Sequence[Any]]]


@dataclass(eq=False, slots=True)
class OnnxNode:
    """One ONNX node. An omitted input is None; an attribute may be a `Program`."""

    op: str
    inputs: tuple[Operand | None, ...]
    outputs: tuple[Operand, ...]
    attrs: dict[str, Any]
    domain: str = ""
    means: tuple[str, Operand] | None = None
    """What it computes together with the nodes before it, where ONNX has no op for that: op and input."""
    general: Program | None = None
    """Of a branch that only saves time: what is right whatever its condition is."""

    @property
    def programs(self) -> Sequence[Program]:
        if self.op not in _WITH_PROGRAMS:
            return ()
        return [value for value in self.attrs.values() if isinstance(value, Program)]


_WITH_PROGRAMS = frozenset(("If", "Loop", "Scan"))


class NeverLowered(StrEnum):
    """Reasons why no node of an op is lowered; any other reason holds for one node."""

    NO_ONNX_OP = "ONNX has no such op"
    NO_LOWERING = "it has no lowering"
    SPARSE = "it is sparse"
    XLA_OP = "an XLA op"


@dataclass(eq=False, slots=True)
class Step:
    """One node of the model that has to run."""

    name: str
    op: str
    inputs: tuple[Operand, ...]
    """What it reads, including what its programs capture."""
    outputs: tuple[Operand, ...]
    lowered: list[OnnxNode] | None = None
    run: Run | None = None
    effect: bool = False
    """Whether it must run even if nothing reads its outputs, in order with other effects."""
    why: str = ""
    """Why it is not lowered, or not run by the engine."""
    programs: tuple[Program, ...] = ()
    attrs: Mapping[str, Any] = field(default_factory=dict)
    """The attributes of the node, for recognizing what several steps compute together."""
    calls: str = ""
    """The calls around its node, if it is in a function."""
    prepare: Prepare | None = None
    """The same as `run`, in two parts: what it returns does the rest, which may be done in another thread."""
    is_faster_on_host: bool = False
    """Whether it runs on the host although it is lowered, for a model that is exported."""


@dataclass(eq=False, slots=True)
class Program:
    """Steps from arguments to results; what else they read is captured from the enclosing program.

    It says which step computes an operand, and which steps read it. `steps` and `results` are replaced as
    a whole, never changed in place, so that what it says is always about its present steps.
    """

    args: list[Operand]
    steps: list[Step] = field(default_factory=list)
    results: list[Operand] = field(default_factory=list)
    _captured: tuple[list[Step], list[Operand], list[Operand]] | None = field(default=None, init=False)
    """What it captures, beside the steps and results for which that was found."""
    _links: _Links | None = field(default=None, init=False)

    def producer(self, operand: Operand, *ops: str) -> Step | None:
        """The step that computes an operand; with `ops`, only if its op is one of them."""
        step = self._current_links().producers.get(operand)
        return step if step is None or not ops or step.op in ops else None

    def readers(self, operand: Operand) -> Sequence[Step]:
        """The steps that read an operand, in order."""
        return self._current_links().readers.get(operand, ())

    def replace(self, steps: Mapping[Step, Sequence[Step]]) -> None:
        """Put other steps in the place of some, perhaps none; then remove the steps that nothing needs."""
        replaced = (other for step in self.steps for other in steps.get(step, (step,)))
        self.steps = needed(replaced, self.results)

    def _current_links(self) -> _Links:
        links = self._links
        if links is None or links.steps is not self.steps:
            links = self._links = _Links(self.steps)
        return links

    @property
    def is_lowered(self) -> bool:
        """Whether every step is lowered to ONNX."""
        return all(step.lowered is not None and not step.effect for step in self.steps) and all(
            result.dtype.name in ONNX_TYPES for result in self.results
        )

    def why_not_lowered(self) -> str:
        """What in it cannot be lowered to ONNX; in a loop or branch, what in its body."""
        for step in self.steps:
            inner = (program.why_not_lowered() for program in step.programs if step.lowered is None)
            if reason := next(filter(None, inner), ""):
                return reason
            if step.lowered is None:
                return f"`{step.name}` ({step.op}): {step.why or 'it has no lowering'}"
            if step.effect:
                return f"`{step.name}` ({step.op}): it has side effects"
        others = (result.dtype for result in self.results if result.dtype.name not in ONNX_TYPES)
        return next((f"a result of type {dtype}" for dtype in others), "")

    def captures(self) -> Sequence[Operand]:
        """What it reads from the enclosing program, except constants."""
        known = self._captured
        if known is None or known[0] is not self.steps or known[1] is not self.results:
            known = self._captured = self.steps, self.results, self._found_captures()
        return known[2]

    def _found_captures(self) -> list[Operand]:
        inside = {*self.args}
        read: dict[Operand | None, None] = {}
        for step in self.steps:
            # what a step passes on, as a transposition in the same order does, is not computed here
            inside.update(output for output in step.outputs if output not in step.inputs)
            read.update(dict.fromkeys(step.inputs))
            for node in step.lowered or ():
                inside.update(node.outputs)
                read.update(dict.fromkeys(node.inputs))
                for program in node.programs:
                    read.update(dict.fromkeys(program.captures()))
        read.update(dict.fromkeys(self.results))
        return [o for o in read if o is not None and o not in inside and not o.is_constant]


class _Links:
    """Which of some steps computes each operand, and which read it."""

    def __init__(self, steps: list[Step]) -> None:
        self.steps = steps

    @functools.cached_property
    def producers(self) -> dict[Operand, Step]:
        """A step that passes an input on as its output does not compute it."""
        return {o: step for step in self.steps[::-1] for o in step.outputs if o not in step.inputs}

    @functools.cached_property
    def readers(self) -> dict[Operand, list[Step]]:
        readers: dict[Operand, list[Step]] = {}
        for step in self.steps:
            for operand in dict.fromkeys(step.inputs):
                readers.setdefault(operand, []).append(step)
        return readers


def needed(steps: Iterable[Step], results: Iterable[Operand], *, unread_draws: bool = True) -> list[Step]:
    """The steps that have an effect or that a result depends on; constants need no step.

    A draw of random numbers has an effect, as it advances its generator; `unread_draws`: keep it even if
    nothing reads the numbers.
    """
    wanted = {result for result in results if not result.is_constant}
    kept = []
    for step in reversed(list(steps)):
        must_run = step.effect and (unread_draws or step.op not in DRAWS)
        if must_run or any(output in wanted for output in step.outputs):
            kept.append(step)
            wanted.update(operand for operand in step.inputs if not operand.is_constant)
    return kept[::-1]


def only_asserts(steps: Iterable[Step]) -> bool:
    """Whether the only effects of steps are assertions, so that they can run a second time."""
    return all(
        not step.effect
        or step.op == ASSERT
        or (bool(step.programs) and all(only_asserts(program.steps) for program in step.programs))
        for step in steps
    )


ASSERT = "Assert"
DRAWS = frozenset(
    ("Multinomial", "ParameterizedTruncatedNormal", "RandomGamma", "RandomPoissonV2", "RandomShuffle",
     "RandomStandardNormal", "RandomUniform", "RandomUniformInt", "TruncatedNormal")
)  # fmt: skip
"""Ops that draw random numbers from a generator of their own."""
ERFC = "Erfc"
ONNX_TYPES: dict[str, int] = {
    "float32": 1, "uint8": 2, "int8": 3, "uint16": 4, "int16": 5, "int32": 6, "int64": 7, "bool": 9,
    "float16": 10, "float64": 11, "uint32": 12, "uint64": 13, "bfloat16": 16,
}  # fmt: skip
"""ONNX's number for each element type that islands compute with."""


def reads_of(step: Step, lowered: bool) -> list[Operand]:
    """The operands that a step reads in an island (`lowered`) or on the host."""
    if not lowered:
        return list(step.inputs)
    reads: dict[Operand, None] = {}
    inside: set[Operand] = set()
    for node in step.lowered or ():
        for operand in (*node.inputs, *(o for program in node.programs for o in program.captures())):
            if operand is not None and operand not in inside:
                reads[operand] = None
        inside.update(node.outputs)
    reads.update((o, None) for o in step.outputs if o not in inside and not o.is_constant)
    return list(reads)


def values_of(step: Step, lowered: bool) -> Iterator[Operand]:
    """The operands that other steps may read of a step in an island (`lowered`) or on the host."""
    yield from step.outputs
    if lowered:
        for node in step.lowered or ():
            yield from node.outputs
