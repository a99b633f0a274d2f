"""Where an input of a model ends up: the nodes that read it, through calls, branches and what hands on.

Only ways are followed on which an element stays the same: into functions, round loops, through
slices and lists. What that means for the input is decided elsewhere: `roles`.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass
from typing import Any

from numpy.typing import NDArray

from tfport.graph.attrs import FunctionRef
from tfport.graph.graph import RETURN, Function, Node, Value
from tfport.graph.inline import callee
from tfport.graph.tensors import Tensor

_HANDS_ON = """
    Identity IdentityN StopGradient PreventGradient Snapshot PlaceholderWithDefault Copy CopyHost
    Reshape ExpandDims Squeeze EnsureShape Slice StridedSlice Gather GatherV2 GatherNd Unpack Split SplitV
    ConcatV2 Concat Pack Tile BroadcastTo Transpose Batch BatchFunction Unbatch
    Enter RefEnter Exit RefExit Merge RefMerge Switch RefSwitch _SwitchN NextIteration RefNextIteration
    TensorArrayScatterV3 TensorArrayUnpackV3 TensorArrayWriteV3 TensorArraySplitV3 TensorArrayReadV3
    TensorArrayGatherV3 TensorListFromTensor TensorListGetItem TensorListSetItem TensorListStack
"""
HANDS_ON = frozenset(_HANDS_ON.split())
_SKIPPED_INPUTS = {"If": 1, "StatelessIf": 1, "Case": 1, "StatelessCase": 1}
_CALLS_BODIES = {*_SKIPPED_INPUTS, "While", "StatelessWhile"}
MOST = 100_000
"""Values that are looked at: a stranger's graph may be large."""


@dataclass(frozen=True, slots=True)
class Reading:
    """A node that reads what is followed, as one of its inputs; or the argument of a function that it is."""

    node: Node
    index: int
    passed: dict[Value, Value]
    """What was passed for each argument on the way."""

    def constant(self, index: int) -> NDArray[Any] | None:
        """The constant that the node reads as another of its inputs; None where it is none."""
        return constant(self.node.inputs[index], self.passed) if index < len(self.node.inputs) else None


Onward = Callable[[Node, int], Iterable[Value]]


def handed_on(node: Node, index: int) -> list[Value]:
    """The outputs in which the elements of an input come out again."""
    return node.outputs if node.op in HANDS_ON else []


def readings(start: Value, onward: Onward = handed_on) -> Iterator[Reading]:
    """Everything that reads a value, and each argument of a function that it becomes, nearest first.

    `onward` says which outputs of a node that reads it are followed too.
    """
    way = _Way({}, {})
    found, seen = [start], {start}
    for value in found:  # grows while we walk it
        if len(found) > MOST:
            return
        for node in value.uses:
            for index in (i for i, read in enumerate(node.inputs) if read is value):
                yield Reading(node, index, way.passed)
                inside = list(way.into(node, index))
                yield from (Reading(argument.node, argument.index, way.passed) for argument in inside)
                further = way.out_of(node, index) if node.op == RETURN else inside or onward(node, index)
                new = [one for one in dict.fromkeys(further) if one not in seen]
                seen.update(new)
                found += new


@dataclass(slots=True)
class _Way:
    """Through which calls the walk went."""

    passed: dict[Value, Value]
    callers: dict[Function, list[Node]]

    def into(self, node: Node, index: int) -> Iterator[Value]:
        """What an input of a call is called inside; notes what else is passed there."""
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
        """What a result of a function is called where it was called."""
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
    """The functions that take the inputs of a node, and how many inputs come before those."""
    if function := callee(node):
        yield function, 0
    elif node.op in _CALLS_BODIES:
        for attr in list(node.attrs.values()):
            for ref in attr if isinstance(attr, list) else [attr]:
                if isinstance(ref, FunctionRef) and (body := node.graph.library.functions.get(ref.name)):
                    yield body, _SKIPPED_INPUTS.get(node.op, 0)


def constant(value: Value, passed: dict[Value, Value]) -> NDArray[Any] | None:
    """The constant behind a value, through identities and arguments."""
    for _ in range(MOST):
        if value in passed:
            value = passed[value]
        elif value.node.op == "Identity":
            value = value.node.inputs[0]
        else:
            tensor = value.node.attrs.get("value")
            is_constant = value.node.op == "Const" and isinstance(tensor, Tensor)
            return tensor.numpy() if is_constant else None  # type: ignore[union-attr]
    return None
