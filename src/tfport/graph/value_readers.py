"""The nodes that read a value, through calls, branches, loops and ops that pass elements on.

Only paths on which elements stay the same are followed, unless the caller follows others (`readings`).
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from typing import TYPE_CHECKING, Any

from tfport.graph.attrs import FunctionRef
from tfport.graph.constants import constant
from tfport.graph.graph import RETURN, Function, Node, Value
from tfport.graph.inline import callee
from tfport.graph.op_facts.kinds import (
    ALL_SWITCHES,
    BRANCHING,
    ENTERS,
    EXITS,
    FUNCTIONAL,
    MERGES,
    MOVING,
    NEXTS,
    PASSING,
)
from tfport.startup.dataclass import dataclass

if TYPE_CHECKING:
    from numpy.typing import NDArray


_OTHERS = """
    IdentityN PlaceholderWithDefault Copy CopyHost Tile BroadcastTo Batch BatchFunction Unbatch
    TensorArrayScatterV3 TensorArrayUnpackV3 TensorArrayWriteV3 TensorArraySplitV3 TensorArrayReadV3
    TensorArrayGatherV3 TensorListFromTensor TensorListGetItem TensorListSetItem TensorListStack
"""
PASS_THROUGH = PASSING.union(MOVING, ENTERS, EXITS, MERGES, ALL_SWITCHES, NEXTS, _OTHERS.split())
MOST = 100_000
"""The most values to visit: an untrusted graph may be large."""


@dataclass(frozen=True, slots=True)
class Reading:
    """A node that reads the followed value as one of its inputs, or the function argument that it becomes."""

    node: Node
    index: int
    passed: dict[Value, Value]
    """The value that was passed for each function argument."""

    @property
    def argument(self) -> str:
        """The name of the op's argument that the value is; empty for one after a list."""
        for i, arg in enumerate(self.node.signature.inputs if self.node.signature else ()):
            if arg.is_list:
                return ""
            if i == self.index:
                return arg.name
        return ""

    def constant(self, index: int) -> NDArray[Any] | None:
        """Another input of the node, if it is constant."""
        if index >= len(self.node.inputs):
            return None
        tensor = constant(self.node.inputs[index].source(passed=self.passed))
        return tensor.numpy() if tensor is not None else None


Onward = Callable[[Node, int], Iterable[Value]]


def pass_through_outputs(node: Node, index: int) -> list[Value]:
    """The outputs that contain the elements of an input."""
    return node.outputs if node.op in PASS_THROUGH else []


def readings(start: Value, onward: Onward = pass_through_outputs) -> Iterator[Reading]:
    """All readers of a value, and each function argument that it becomes, nearest first.

    `onward` returns the outputs of a reader that are followed too.
    """
    path = CallPath({}, {})
    values, seen = [start], {start}
    for value in values:  # grows during the loop
        if len(values) > MOST:
            return
        for node in value.uses:
            for index in (i for i, read in enumerate(node.inputs) if read is value):
                yield Reading(node, index, path.passed)
                inside = list(path.into(node, index))
                yield from (Reading(argument.node, argument.index, path.passed) for argument in inside)
                further = path.out_of(node, index) if node.op == RETURN else inside or onward(node, index)
                new = [unseen for unseen in dict.fromkeys(further) if unseen not in seen]
                seen.update(new)
                values += new


@dataclass(slots=True)
class CallPath:
    """The calls through which values were followed."""

    passed: dict[Value, Value]
    callers: dict[Function, list[Node]]

    def into(self, node: Node, index: int) -> Iterator[Value]:
        """The argument for an input of a call; records the other arguments too."""
        for function, skipped in _bodies(node):
            arguments = function.arguments
            if not 0 <= index - skipped < len(arguments):
                continue
            callers = self.callers.setdefault(function, [])
            if node not in callers:
                callers.append(node)
                for inner, outer in zip(arguments, node.inputs[skipped:], strict=False):
                    self.passed.setdefault(inner, outer)
            yield arguments[index - skipped]

    def out_of(self, node: Node, index: int) -> Iterator[Value]:
        """The outputs of calls for a result of a function."""
        function = node.graph
        assert isinstance(function, Function)
        before = 0
        for name, result in function.returns.items():
            if result is node or name == node.name:
                break
            before += len(result.inputs)
        for call in self.callers.get(function, ()):
            if call.may_have(before + index):
                yield call.output(before + index)


def _bodies(node: Node) -> Iterator[tuple[Function, int]]:
    """The functions that a node calls with its inputs, and how many inputs are skipped."""
    if function := callee(node):
        yield function, 0
    elif node.op in FUNCTIONAL:
        for attr in list(node.attrs.values()):
            for ref in attr if isinstance(attr, list) else [attr]:
                if isinstance(ref, FunctionRef) and (body := node.graph.library.functions.get(ref.name)):
                    yield body, int(node.op in BRANCHING)
