"""The nodes of an island, or of a branch or loop body in it, while passes change them."""

from __future__ import annotations

from collections.abc import Iterable, Sequence

from tfport.runtime.onnx.graph import OnnxGraph
from tfport.runtime.operand import Operand
from tfport.runtime.passes.drawn_pattern import Match, Pattern
from tfport.runtime.passes.pass_list import PassTarget, current_log, declared
from tfport.runtime.program import OnnxNode, Step

ON_CPU = PassTarget()


class IslandGraph(OnnxGraph):
    """A graph of ONNX nodes and what passes know beside it: for whom it is, and the steps it comes from."""

    def __init__(
        self,
        nodes: Iterable[OnnxNode],
        outputs: Iterable[Operand],
        target: PassTarget = ON_CPU,
        *,
        steps: Sequence[Step] = (),
    ) -> None:
        super().__init__(nodes, outputs)
        self.target = target
        self.steps = steps
        self.flag: Operand | None = None
        """An output that is not 0 for inputs that the engine's kernels do not handle."""
        self.same: dict[Operand, Operand] = {}
        """Operands that are no longer computed, and those that branches and bodies read instead."""

    def add_flag(self, flag: Operand) -> None:
        self.flag = flag
        self.outputs.append(flag)

    def match(self, pattern: Pattern) -> list[Match]:
        """What matches a pattern, in the graph as it is now."""
        return pattern.matches(self)

    def reads_of(self, node: OnnxNode) -> Iterable[Operand]:
        reads = super().reads_of(node)
        return [self.same.get(o, o) for o in reads] if self.same else reads

    def run(self, names: Sequence[str], *, is_body: bool = False) -> None:
        """Run the passes of these names; in a branch or loop body, those that are declared for it."""
        log = current_log()
        for each in map(declared, names):
            if (is_body and not each.bodies) or not each.when.holds(self.target):
                continue
            before = list(self.nodes) if log is not None else ()
            each.function(self)
            if self.changed:
                self.remove_unused()
                self.changed = False
            if log is not None:
                log.add(each.name, before, self.nodes)
