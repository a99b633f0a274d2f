"""A loop as TF1 has it, made by a rule: values enter a frame, go round in it, and leave.

    loop = FrameLoop(op, count)
    step = loop.given(values)              # the same in every turn
    (h,) = loop.start([first])             # what a turn begins with
    (last,) = loop.end([new])              # what the turns end with

Every release from 1.0 on runs such loops, in function bodies too. Nothing from outside may be
read in a turn but through `given`, plain numbers included.
"""

from __future__ import annotations

from collections.abc import Sequence

from tfport.fix.nodes.builder import Given, NodeBuilder
from tfport.graph.graph import Graph, Node, Value

ENTERS = ("Enter", "RefEnter")
PARALLEL = 32


class FrameLoop:
    """A loop over 0, 1, … as far as a count."""

    def __init__(self, op: NodeBuilder, count: Given) -> None:
        self.op = op
        self._frame = _free_frame(op.beside.graph, f"{op.beside.name}/loop")
        self._count = self.given(count)
        self._one = self.given(1)
        self._merges: list[Node] = []
        self._switches: list[Node] = []
        self.index: Value = self._count

    def given(self, value: Given) -> Value:
        """A value from outside, as each turn reads it."""
        return self._enter(value, constant=True)

    def start(self, states: Sequence[Given]) -> list[Value]:
        """What is handed from turn to turn, where a turn begins."""
        op = self.op
        for state in (0, *states):
            entered = self._enter(state, constant=False)
            self._merges.append(op.Merge([entered, entered]))
        goes_on = op.LoopCond(op.Less(self._merges[0], self._count))
        self._switches = [op.Switch(merge, goes_on) for merge in self._merges]
        self.index, *turn = [op.Identity(switch.output(1)).output(0) for switch in self._switches]
        return turn

    def end(self, states: Sequence[Given]) -> list[Value]:
        """What was handed on by the last turn, outside of the loop."""
        op = self.op
        for merge, state in zip(self._merges, (op.Add(self.index, self._one), *states), strict=True):
            following = op.NextIteration(state)
            merge.set_inputs([merge.inputs[0], following.output(0)])
        return [op.Exit(switch).output(0) for switch in self._switches[1:]]

    def _enter(self, value: Given, *, constant: bool) -> Value:
        return self.op.Enter(
            value, frame_name=self._frame, is_constant=constant, parallel_iterations=PARALLEL
        ).output(0)


def _free_frame(graph: Graph, name: str) -> str:
    taken = {node.attr("frame_name") for node in graph if node.op in ENTERS}
    frame, n = name, 0
    while frame in taken:
        n += 1
        frame = f"{name}_{n}"
    return frame
