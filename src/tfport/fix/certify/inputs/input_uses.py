"""The nodes that read an input of a model, through calls, branches and pass-through ops.

Only paths on which elements stay the same are followed: into functions, around loops, through
slices and lists. `input_roles` interprets the result. Two answers are given here: how many rows a table
has that an input selects from (`index_limit`), and whether its value determines a size (`decides_sizes`).
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
    SHAPE_OPS,
    WHILES,
)
from tfport.graph.shapes import Shape
from tfport.graph.tensors import Tensor
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


# Inputs that select rows of a table: ids beyond its end would be refused. The input is followed to
# ops that gather rows, also through casts: Keras feeds ids as float32.

TABLES = {"Gather": 0, "GatherV2": 0, "ResourceGather": 0, "SparseSegmentSum": 0, "SparseSegmentMean": 0}
"""Ops that read indices as their second input, and the input that is the table."""
MOST_ROWS = 1 << 31


def index_limit(start: Value) -> int | None:
    """The rows of the smallest table that a value selects from; None if it selects from none."""
    rows = [n for reading in readings(start, _same_ids) if (n := _rows(reading)) is not None]
    return min(rows, default=None)


def _same_ids(node: Node, index: int) -> Iterable[Value]:
    """Outputs with the same ids: also after a cast to integers."""
    is_cast = node.op == "Cast" and node.outputs and node.outputs[0].dtype.is_integer
    return node.outputs if is_cast or (node.op in PASS_THROUGH and index == 0) else ()


def _rows(reading: Reading) -> int | None:
    """The number of rows of the table, for a reading as indices."""
    node = reading.node
    if node.op not in TABLES or reading.index != 1:
        return None
    table = node.inputs[TABLES[node.op]]
    axis = reading.constant(2) if node.op == "GatherV2" else None
    if axis is not None and (axis.size != 1 or int(axis.flat[0]) != 0):
        return None
    dims = _shape(table, reading).dims
    return dims[0] if dims and dims[0] is not None and 0 < dims[0] < MOST_ROWS else None


def _shape(value: Value, reading: Reading) -> Shape:
    """The shape of a table: of the value, or of the variable behind it."""
    value = value.source(("Identity", "ReadVariableOp"), reading.passed)
    stated = value.node.attrs.get("shape")
    if isinstance(stated, Shape):
        return stated
    tensor = value.node.attrs.get("value")
    return tensor.shape if isinstance(tensor, Tensor) else value.shape


# Inputs that determine a size or an iteration count: a huge value would only fill the memory. Sizes are
# recognized by the argument names of ops; a sum, product or cast of the input counts as the input.

SIZES = {
    "count", "depth", "dims", "input_sizes", "k", "limit", "limits", "maxlen", "maxlength", "minlength",
    "multiples", "num", "num_cols", "num_columns", "num_elements", "num_rows", "num_segments", "output_shape",
    "padding", "paddings", "segment_ids", "shape", "size", "sizes", "starts", "start",
}  # fmt: skip
NO_SIZES = {"Reshape", "EnsureShape", "Slice"}
"""Ops whose result never has more elements than their input."""
NO_VALUES = {"sparse_indices", "sparse_shapes", "ragged_row_splits"}
"""Outputs of ops that parse Examples, whose values do not come from the input."""
LOOPS = {*WHILES, *ENTERS}
FORGETS = {*SHAPE_OPS, "ZerosLike", "OnesLike", "Gather", "GatherV2", "ResourceGather"}
"""Ops whose result does not depend on the magnitude of their input."""


def decides_sizes(start: Value) -> bool:
    for reading in readings(start, _numbers):
        node, value = reading.node, None
        if reading.index < len(node.inputs):
            value = node.inputs[reading.index]
        if node.op in LOOPS and value is not None and value.dtype.is_integer:
            return True
        if node.op not in NO_SIZES and reading.argument in SIZES:
            return True
    return False


def _numbers(node: Node, index: int) -> Iterable[Value]:
    """Outputs whose values may be as large as the input's."""
    if node.op in FORGETS:
        return ()
    outputs = [v for v in node.outputs if v.dtype.is_integer or v.dtype.is_floating]
    return [v for v in outputs if (v.port or ("",))[0] not in NO_VALUES]
