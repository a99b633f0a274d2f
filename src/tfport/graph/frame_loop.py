"""A TF1 loop: values enter a frame, are updated in each iteration, and exit.

    loop = FrameLoop(add, frame, count)    # `add(op, *inputs, **attrs)` adds a node
    step = loop.invariant(values)          # the same in every iteration
    (h,) = loop.start([first])             # the state at the start of an iteration
    (last,) = loop.end([new])              # the state after the last iteration

Every release from 1.0 on runs such loops, also in function bodies. An iteration may read values
from outside only through `invariant`, plain numbers included: with an `OpenFrame`, a builder of nodes
does that by itself.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Sequence
from contextlib import contextmanager
from typing import Protocol

from tfport.graph.graph import Graph, Node, Value
from tfport.graph.node_inputs import OperandLike
from tfport.graph.op_facts.kinds import ENTERS

PARALLEL = 32
AddNode = Callable[..., Node]


class FrameLoop:
    """A loop over 0, 1, … up to a count."""

    def __init__(self, add: AddNode, frame: str, count: OperandLike) -> None:
        self._add, self._frame = add, frame
        self._count = self.invariant(count)
        self._step = self.invariant(1)
        self._merges: list[Node] = []
        self._switches: list[Node] = []
        self.index: Value = self._count

    def invariant(self, value: OperandLike) -> Value:
        """A value from outside, for use inside the loop."""
        return self._enter(value, constant=True)

    def start(self, states: Sequence[OperandLike]) -> list[Value]:
        """Enter the loop with initial states; returns the states at the start of an iteration."""
        add = self._add
        for state in (0, *states):
            entered = self._enter(state, constant=False)
            self._merges.append(add("Merge", [entered, entered]))
        continues = add("LoopCond", add("Less", self._merges[0], self._count))
        self._switches = [add("Switch", merge, continues) for merge in self._merges]
        self.index, *inside = [add("Identity", switch.output(1)).output(0) for switch in self._switches]
        return inside

    def end(self, states: Sequence[OperandLike]) -> list[Value]:
        """Pass states to the next iteration; returns the states after the loop."""
        add = self._add
        for merge, state in zip(self._merges, (add("Add", self.index, self._step), *states), strict=True):
            following = add("NextIteration", state)
            merge.set_inputs([merge.inputs[0], following.output(0)])
        return [add("Exit", switch).output(0) for switch in self._switches[1:]]

    def _enter(self, value: OperandLike, *, constant: bool) -> Value:
        attrs = {"frame_name": self._frame, "is_constant": constant, "parallel_iterations": PARALLEL}
        return self._add("Enter", value, **attrs).output(0)


class HasFrame(Protocol):
    """What builds nodes: in a loop, or outside of all loops."""

    frame: OpenFrame | None


class OpenFrame:
    """A loop while its iteration is built: new nodes belong to it, values from outside enter it."""

    def __init__(self, builder: HasFrame, loop: FrameLoop, start: Iterable[Value]) -> None:
        self._builder, self._loop, self._outer = builder, loop, builder.frame
        self._nodes = {value.node for value in start}
        self._entered: dict[Value, Value] = {}

    def add(self, node: Node) -> None:
        """Make a node part of the iteration; a node without inputs runs outside, once."""
        if node.inputs:
            self._nodes.add(node)

    def inside(self, value: Value) -> Value:
        """A value as nodes of the iteration may use it."""
        if value.node in self._nodes:
            return value
        if value not in self._entered:
            with self._while_open(self._outer):
                entered = self._loop.invariant(value)
            self._entered[value] = entered
        return self._entered[value]

    @contextmanager
    def open(self) -> Iterator[None]:
        """Nodes added meanwhile belong to the iteration."""
        with self._while_open(self):
            yield

    @contextmanager
    def _while_open(self, frame: OpenFrame | None) -> Iterator[None]:
        before, self._builder.frame = self._builder.frame, frame
        try:
            yield
        finally:
            self._builder.frame = before


def free_frame_name(graph: Graph, name: str) -> str:
    """A frame name that no loop of the graph has."""
    taken = {node.attr("frame_name") for node in graph if node.op in ENTERS}
    frame, n = name, 0
    while frame in taken:
        n += 1
        frame = f"{name}_{n}"
    return frame
