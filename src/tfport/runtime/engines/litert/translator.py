"""Translate the nodes of one ONNX graph into a subgraph of TensorFlow Lite.

Nodes that are known before a run have no operator: those on constants, and those that compute sizes, whose
results may be expressions of unknown sizes. If a node cannot be said, the others are still looked at, so that
all reasons are known.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import TYPE_CHECKING, Any

import numpy as np

from tfport.formats.proto import onnx_pb2 as pb
from tfport.runtime.engines.litert.island_node import (
    NAMES,
    IslandNode,
    IslandValue,
    NotInLite,
    array_of,
    attributes_of,
    constant_value,
)
from tfport.runtime.engines.litert.lite_scribe import LiteScribe
from tfport.runtime.hosted import DOMAIN, STEP
from tfport.runtime.onnx.known_results import KNOWN, OF_SIZES, NotKnown, known_result
from tfport.runtime.program import Step
from tfport.runtime.size_expression import Number, SizeExpression

if TYPE_CHECKING:
    from numpy.typing import NDArray

Results = IslandValue | Sequence[IslandValue]
Rule = Callable[[LiteScribe, IslandNode], Results]
ControlRule = Callable[["GraphTranslator", IslandNode], Results]
MOVING = frozenset(["Concat", "Gather", "Identity", "Reshape", "Slice", "Squeeze", "Transpose", "Unsqueeze"])
ARITHMETIC = frozenset(["Add", "Mul", "ReduceProd", "Sub"])
"""Beside `MOVING`: what is computed with expressions of sizes as with integers."""
TAKES_SIZES: Mapping[str, tuple[int, ...]] = {
    "ConstantOfShape": (0,), "Expand": (1,), "Reshape": (1,), "Resize": (3,), "Slice": (1, 2), "Tile": (1,)
}  # fmt: skip
"""Inputs that may be expressions of sizes; others become tensors."""


HALF = "float16"
TAKES_CONSTANTS = frozenset(
    ["Add", "Concat", "Div", "Max", "Min", "Mul", "Pow", "Sub", "Sum", "Where", "And", "Or", "Xor", "Equal",
     "Greater", "GreaterOrEqual", "Less", "LessOrEqual", "BitwiseAnd", "Mod", "MatMul", "Range"]
)  # fmt: skip
"""Ops whose first input may be a constant; that of others becomes a tensor."""


class GraphTranslator:
    """Translates nodes one after the other; `values` are those of the names of the graph."""

    def __init__(
        self,
        out: LiteScribe,
        weights: Mapping[str, NDArray[Any]],
        rules: Mapping[str, Rule],
        control: Mapping[str, ControlRule],
        reasons: dict[str, str] | None = None,
        steps: Sequence[Step] = (),
        *,
        allow_flex: bool = False,
    ) -> None:
        self.out, self.weights, self.rules, self.control = out, weights, rules, control
        self.values: dict[str, IslandValue | None] = {"": None}
        self.steps, self.allow_flex = steps, allow_flex
        """The steps of nodes that ONNX does not have, and whether they may be Flex ops."""
        self.reasons = reasons
        """Where reasons are collected, with the names of nodes; None if the first one is raised."""
        self._lost: set[str] = set()
        """Names of values that nodes without a translation would have."""

    def inner(self) -> GraphTranslator:
        """A translator of another subgraph of the same file."""
        return GraphTranslator(
            LiteScribe(self.out.file),
            self.weights,
            self.rules,
            self.control,
            self.reasons,
            self.steps,
            allow_flex=self.allow_flex,
        )

    def constants(self, graph: pb.GraphProto) -> None:
        for tensor in graph.initializer:
            array = self._array(tensor)
            self.values[tensor.name] = (
                self.out.texts(array) if array.dtype == object else constant_value(array)
            )

    def _array(self, tensor: pb.TensorProto) -> NDArray[Any]:
        return np.asarray(self.weights[tensor.name]) if tensor.name in self.weights else array_of(tensor)

    def translate(self, nodes: Sequence[pb.NodeProto]) -> None:
        for proto in nodes:
            self.add(proto)

    def add(self, proto: pb.NodeProto) -> Sequence[IslandValue]:
        """Translate a node; its values are empty if they cannot be said."""
        try:
            if self._lost.intersection(proto.input):
                if not self._is_possible(proto):
                    raise NotInLite(_no_rule(proto))
                self._lost.update(proto.output)
                return ()
            reads = tuple(self._value(name) for name in proto.input)
            node = IslandNode(proto.op_type, reads, attributes_of(proto), len(proto.output))
            results = self._results(node, proto)
        except NotInLite as error:
            if self.reasons is None:
                raise
            name, op = proto.output[0].partition("#")[0], self._op_of(proto)
            self.reasons[f"`{name}` ({op}): {error}"] = name
            self._lost.update(proto.output)
            return ()
        self.values.update(zip(proto.output, results, strict=False))
        return results

    def _op_of(self, proto: pb.NodeProto) -> str:
        """The op for people: of TensorFlow for a step that ONNX does not have."""
        return self.steps[attributes_of(proto)[STEP]].op if proto.domain == DOMAIN else proto.op_type

    def _value(self, name: str) -> IslandValue | None:
        if name not in self.values:
            raise NotInLite("a value of another graph")
        return self.values[name]

    def value(self, name: str) -> IslandValue:
        """A result; `NotInLite` if it could not be said."""
        if name in self._lost:
            raise NotInLite("it depends on nodes without a translation")
        value = self._value(name)
        assert value is not None
        return value

    def _is_possible(self, proto: pb.NodeProto) -> bool:
        op = proto.op_type
        return proto.domain == DOMAIN or (
            not proto.domain and (op in self.rules or op in self.control or op in KNOWN or op in OF_SIZES)
        )

    def _results(self, node: IslandNode, proto: pb.NodeProto) -> Sequence[IslandValue]:
        if not proto.domain and (known := known_value(node)) is not None:
            return [known]
        if proto.domain not in ("", DOMAIN) or not (node.op in self.rules or node.op in self.control):
            raise NotInLite(_no_rule(proto))
        if proto.domain != DOMAIN and any(value is not None and not value.has_rank for value in node.inputs):
            raise NotInLite(f"{node.op} of a value of unknown rank")
        if node.op in self.control:
            results = self.control[node.op](self, node)
        else:
            results = self._by_rule(self._readable(node))
        return [results] if isinstance(results, IslandValue) else results

    def _by_rule(self, node: IslandNode) -> Results:
        """What the rule of a node says; float32 is computed where it says float16, and rounded.

        LiteRT's kernels know float16 only as a type to cast to and from.
        """
        rule = self.rules[node.op]
        if node.op == "Cast" or all(value is None or value.dtype != HALF for value in node.inputs):
            return rule(self.out, node)
        reads = tuple(value and self._in_type(value, HALF, "float32") for value in node.inputs)
        results = rule(self.out, IslandNode(node.op, reads, node.attrs, node.outputs))
        results = [results] if isinstance(results, IslandValue) else results
        return [self._in_type(value, "float32", HALF) for value in results]

    def _in_type(self, value: IslandValue, source: str, dtype: str) -> IslandValue:
        """A value of one type in another one; values of other types as they are."""
        if value.dtype != source:
            return value
        return (
            self.out.cast(value, dtype) if value.array is None else constant_value(value.array.astype(dtype))
        )

    def _readable(self, node: IslandNode) -> IslandNode:
        """The node, with expressions that its rule does not take replaced by tensors."""
        taken = TAKES_SIZES.get(node.op, ())
        reads = list(node.inputs)
        for number, value in enumerate(reads):
            if value is not None and value.is_of_sizes and number not in taken:
                reads[number] = self.out.computed(value)
        if node.op not in TAKES_CONSTANTS and reads and reads[0] is not None and 0 not in taken:
            reads[0] = self.out.as_tensor(reads[0])
        return IslandNode(node.op, tuple(reads), node.attrs, node.outputs)


def _no_rule(proto: pb.NodeProto) -> str:
    return f"{proto.domain + ' ' if proto.domain else ''}{proto.op_type} has no translation"


def known_value(node: IslandNode) -> IslandValue | None:
    """The result of a node on constants or sizes; None if it is computed in each run."""
    if node.op in OF_SIZES:
        return _of_sizes(node)
    arrays = [value.array if value is not None else None for value in node.inputs]
    if not node.inputs or any(value is not None and value.array is None for value in node.inputs):
        return None
    if any(value is not None and value.is_of_sizes for value in node.inputs):
        return _of_expressions(node, arrays)
    try:
        return constant_value(known_result(node.op, node.attrs, arrays))
    except NotKnown:
        return None


def _of_sizes(node: IslandNode) -> IslandValue:
    sizes = node.first.sizes
    if node.op == "Size":
        return _sizes_value(np.array(node.first.elements, object))
    return shape_value(sizes[node.attrs.get("start", 0) : node.attrs.get("end")])


def shape_value(sizes: Sequence[Number], dtype: str = "int64") -> IslandValue:
    """A vector of sizes."""
    return _sizes_value(_objects(sizes), dtype)


def _of_expressions(node: IslandNode, arrays: Sequence[NDArray[Any] | None]) -> IslandValue | None:
    dtype = node.first.dtype
    if node.op == "Cast":
        to = NAMES[node.attrs["to"]]
        return _sizes_value(node.first.array, to) if to in ("int32", "int64") else None
    if node.op == "Div":
        return _quotient(arrays, dtype)
    if node.op not in MOVING and node.op not in ARITHMETIC:
        return None
    read = [None if a is None else a.astype(object) if _is_data(node, i) else a for i, a in enumerate(arrays)]
    try:
        result = known_result(node.op, node.attrs, read)
    except NotKnown:
        return None
    return _sizes_value(np.asarray(result, object), dtype)


def _is_data(node: IslandNode, number: int) -> bool:
    """Whether an input has the elements, not axes or indices."""
    return number == 0 or node.op == "Concat" or node.op in ARITHMETIC - {"ReduceProd"}


def _quotient(arrays: Sequence[NDArray[Any] | None], dtype: str) -> IslandValue | None:
    """A quotient of sizes, which are not negative, by positive numbers."""
    dividend, divisor = (np.asarray(array).astype(object) for array in arrays)
    try:
        result = np.asarray(np.floor_divide(dividend, divisor), object)
    except TypeError:
        return None
    least = [n.least if isinstance(n, SizeExpression) else n for n in dividend.reshape(-1)]
    return None if any(n is None or n < 0 for n in least) else _sizes_value(result, dtype)


def _objects(numbers: Sequence[Any]) -> NDArray[Any]:
    array = np.empty(len(numbers), object)
    array[:] = numbers
    return array


def _sizes_value(array: NDArray[Any] | None, dtype: str = "int64") -> IslandValue:
    """Expressions, or a constant if no size is unknown."""
    assert array is not None
    if any(isinstance(number, SizeExpression) for number in array.reshape(-1)):
        return constant_value(array, dtype)
    return constant_value(array.astype(dtype))
