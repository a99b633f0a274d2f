"""Steps that ONNX cannot say: random numbers, tables, variables and strings by operators, others as Flex ops.

Tables and variables are filled by a subgraph of their own, which CALL_ONCE runs before anything else. A Flex
op is a custom op with the NodeDef of a TensorFlow op; only an interpreter with the Flex delegate runs it.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import TYPE_CHECKING, Any

import numpy as np

from tfport.formats.lite.flexbuffer import flex_options
from tfport.formats.lite.records import FLEX
from tfport.formats.proto import graph_pb2
from tfport.graph.attrs import encode_all
from tfport.graph.dtypes import DType
from tfport.runtime.engines.litert.island_node import IslandNode, IslandValue, NotInLite, constant_value
from tfport.runtime.engines.litert.lite_scribe import TYPES, LiteScribe
from tfport.runtime.engines.litert.rules.elementwise import broadcast
from tfport.runtime.engines.litert.rules.whole_axes import reduced
from tfport.runtime.engines.litert.translator import GraphTranslator, shape_value
from tfport.runtime.hosted import STEP
from tfport.runtime.ops.tables.table import StaticTable
from tfport.runtime.program import Step
from tfport.runtime.state import Variable
from tfport.startup.dataclass import dataclass

if TYPE_CHECKING:
    from numpy.typing import NDArray

DONE = constant_value(np.array(True))
"""The result of an effect."""


@dataclass(frozen=True, slots=True, eq=False)
class HostedNode:
    """A step, with the values that it reads."""

    step: Step
    values: Sequence[IslandValue | None]

    @property
    def attrs(self) -> Mapping[str, Any]:
        return self.step.attrs

    def resource(self, number: int) -> Any:
        """The table or variable that an input stands for."""
        return self.step.inputs[number].value

    def value(self, out: LiteScribe, number: int) -> IslandValue:
        """An input as a tensor."""
        value = self.values[number]
        if value is not None:
            return out.as_tensor(out.computed(value) if value.is_of_sizes else value)
        operand = self.step.inputs[number]
        if operand.array is None or operand.dtype.name != "string":
            raise NotInLite(f"{self.step.op} reads a {operand.dtype}")
        return out.texts(operand.array)

    def constant(self, number: int) -> NDArray[Any]:
        array = self.step.inputs[number].array
        value = self.values[number]
        if array is None and value is not None:
            array = value.constant()
        if array is None:
            raise NotInLite(f"{self.step.op} whose input {number} is computed")
        return array

    def sizes(self, number: int) -> list[int | None]:
        """What is known of the sizes of a result."""
        shape = self.step.outputs[number].shape
        if shape is None:
            raise NotInLite(f"{self.step.op} with a result of unknown rank")
        return list(shape)

    def results(self) -> list[tuple[list[int | None], str]]:
        return [(self.sizes(i), o.dtype.name) for i, o in enumerate(self.step.outputs)]


HostedRule = Callable[[GraphTranslator, HostedNode], Sequence[IslandValue]]


def hosted(t: GraphTranslator, node: IslandNode) -> Sequence[IslandValue]:
    """A step by operators if they can say it, else as a Flex op if that is allowed."""
    step = t.steps[node.attrs[STEP]]
    own = HostedNode(step, node.inputs)
    rule = RULES.get(step.op)
    try:
        if rule is None:
            raise NotInLite(f"{step.op} has no translation")
        results = rule(t, own)
    except NotInLite as error:
        if step.op in DIRECT:
            raise
        if not t.allow_flex:
            raise NotInLite(f"{error}; --allow-flex writes it as a Flex op") from None
        results = flex_op(t, own)
    return [*results, DONE]


def flex_op(t: GraphTranslator, node: HostedNode) -> list[IslandValue]:
    """The step as a custom op, with its NodeDef."""
    if node.step.programs:
        raise NotInLite(f"{node.step.op}: a Flex op has no branches or loops")
    inputs = [_flex_input(t, node, number) for number in range(len(node.step.inputs))]
    results = [(o.shape, o.dtype.name) for o in node.step.outputs]
    return _flex(t.out, node.step.op, node.attrs, inputs, results)


def _flex_input(t: GraphTranslator, node: HostedNode, number: int) -> int:
    match node.resource(number):
        case StaticTable() as table:
            return _flex_table(t, table)
        case _:
            return t.out.plain(node.value(t.out, number))


def _flex(
    out: LiteScribe,
    op: str,
    attrs: Mapping[str, Any],
    inputs: Sequence[int],
    results: Sequence[tuple[Sequence[int | None] | None, str]],
) -> list[IslandValue]:
    record = graph_pb2.NodeDef(name=op, op=op)
    encode_all({name: value for name, value in attrs.items() if not name.startswith("_")}, record.attr)
    options = flex_options(op, record.SerializeToString(deterministic=True))
    return out.custom(f"{FLEX}{op}", inputs, results, options)


# Random numbers


def random_numbers(t: GraphTranslator, node: HostedNode) -> Sequence[IslandValue]:
    op = {"RandomStandardNormal": "RANDOM_STANDARD_NORMAL", "RandomUniform": "RANDOM_UNIFORM"}[node.step.op]
    if node.attrs["dtype"].name != "float32":
        raise NotInLite(f"{node.step.op} of {node.attrs['dtype']}")
    shape = t.out.plain(t.out.cast(node.value(t.out, 0), "int32"))
    seeds = {name: node.attrs[name] for name in ("seed", "seed2")}
    return t.out.add_all(op, [shape], node.results(), **seeds)


# Tables and variables


def table_find(t: GraphTranslator, node: HostedNode) -> Sequence[IslandValue]:
    table = _table(t, node.resource(0))
    keys, default = (t.out.plain(node.value(t.out, number)) for number in (1, 2))
    return t.out.add_all("HASHTABLE_FIND", [table, keys, default], node.results())


def table_size(t: GraphTranslator, node: HostedNode) -> Sequence[IslandValue]:
    size = t.out.add("HASHTABLE_SIZE", [_table(t, node.resource(0))], (1,), dtype="int64")
    return [t.out.reshaped(size.tensor, (), None, "int64")]


PAIRS = (("int64", "string"), ("string", "int64"))


def _table(t: GraphTranslator, table: Any) -> int:
    """The handle of a table in this subgraph; the first use adds what fills it."""
    if not isinstance(table, StaticTable) or (table.key.name, table.value_type.name) not in PAIRS:
        raise NotInLite("a table that can be changed, or whose keys and values are not int64 and string")
    started = t.out.file.started
    options = {"key_dtype": TYPES[table.key.name], "value_dtype": TYPES[table.value_type.name]}
    if table not in started:
        started[table] = number = len(started)
        start = t.inner()
        handle = _handle(start.out, "HASHTABLE", table_id=number, **options)
        keys, values = (_stored(start.out, array) for array in table.export())
        start.out.effect("HASHTABLE_IMPORT", [handle, keys, values])
        t.out.file.add_start(start.out.model.subgraph("fill_table", [], []))
    return _handle(t.out, "HASHTABLE", table_id=started[table], **options)


def _flex_table(t: GraphTranslator, table: StaticTable) -> int:
    started = t.out.file.started
    attrs = {
        "container": "", "shared_name": f"table_{table.name}", "use_node_name_sharing": False,
        "key_dtype": table.key, "value_dtype": table.value_type,
    }  # fmt: skip
    handle = [((), "resource")]
    if table not in started:
        started[table] = len(started)
        start = t.inner()
        (own,) = _flex(start.out, "HashTableV2", attrs, [], handle)
        arrays = [_stored(start.out, array) for array in table.export()]
        types = {"Tkey": table.key, "Tval": table.value_type}
        _flex(start.out, "InitializeTableV2", types, [own.tensor, *arrays], [])
        t.out.file.add_start(start.out.model.subgraph("fill_table", [], []))
    return _flex(t.out, "HashTableV2", attrs, [], handle)[0].tensor


def _stored(out: LiteScribe, array: NDArray[Any]) -> int:
    return out.texts(array).tensor if array.dtype == object else out.array(array)


def _handle(out: LiteScribe, op: str, **options: Any) -> int:
    return out.add(op, [], (), dtype="resource", **options).tensor


def read_variable(t: GraphTranslator, node: HostedNode) -> Sequence[IslandValue]:
    variable = node.resource(0)
    return t.out.add_all("READ_VARIABLE", [_variable(t, variable)], _results_of(node, variable))


def assign_variable(t: GraphTranslator, node: HostedNode) -> Sequence[IslandValue]:
    value = node.value(t.out, 1)
    t.out.effect("ASSIGN_VARIABLE", [_variable(t, node.resource(0)), t.out.plain(value)])
    return []


def add_to_variable(t: GraphTranslator, node: HostedNode) -> Sequence[IslandValue]:
    """AssignAddVariableOp and AssignSubVariableOp: a read, a sum and a write."""
    variable, change = node.resource(0), node.value(t.out, 1)
    handle = _variable(t, variable)
    old = t.out.add("READ_VARIABLE", [handle], _shape(variable), dtype=variable.dtype.name)
    op = "ADD" if node.step.op == "AssignAddVariableOp" else "SUB"
    new = t.out.add(op, [old.tensor, t.out.plain(change)], _shape(variable), dtype=variable.dtype.name)
    t.out.effect("ASSIGN_VARIABLE", [handle, new.tensor])
    return []


def _results_of(node: HostedNode, variable: Any) -> list[tuple[list[int | None], str]]:
    return [(_shape(variable), node.step.outputs[0].dtype.name)]


def _shape(variable: Any) -> list[int | None]:
    if not isinstance(variable, Variable) or variable.shape is None:
        raise NotInLite("a variable of unknown rank")
    return list(variable.shape)


def _variable(t: GraphTranslator, variable: Any) -> int:
    """The handle of a variable in this subgraph; the first use adds what sets it."""
    if not isinstance(variable, Variable) or variable.value is None:
        raise NotInLite("a variable without a value")
    started = t.out.file.started
    if variable not in started:
        started[variable] = len(started)
        start = t.inner()
        handle = _handle(start.out, "VAR_HANDLE", shared_name=variable.name)
        start.out.effect("ASSIGN_VARIABLE", [handle, start.out.array(np.asarray(variable.value))])
        t.out.file.add_start(start.out.model.subgraph("set_variable", [], []))
    return _handle(t.out, "VAR_HANDLE", shared_name=variable.name)


# Transposed convolutions, whose sizes an operator takes as TensorFlow states them


def transposed_convolution(t: GraphTranslator, node: HostedNode) -> Sequence[IslandValue]:
    attrs, is_image = node.attrs, node.step.op == "Conv2DBackpropInput"
    count = 2 if is_image else 3
    if attrs["data_format"] != ("NHWC" if is_image else "NDHWC") or attrs["padding"] == "EXPLICIT":
        raise NotInLite(f"{node.step.op} in the layout {attrs['data_format']} or with explicit padding")
    if set(attrs["dilations"]) != {1}:
        raise NotInLite(f"{node.step.op} with dilations")
    weights, x = node.constant(1), node.value(t.out, 2)
    if weights.dtype != np.float32:
        raise NotInLite(f"{node.step.op} of {weights.dtype}")
    sizes = t.out.plain(t.out.cast(node.value(t.out, 0), "int32"))
    steps = dict(zip(("stride_d", "stride_h", "stride_w")[3 - count :], attrs["strides"][1:], strict=False))
    kernel = t.out.array(np.ascontiguousarray(weights.transpose(2, 0, 1, 3)) if is_image else weights)
    op = "TRANSPOSE_CONV" if is_image else "CONV_3D_TRANSPOSE"
    options = {"padding": attrs["padding"], **steps}
    (result,) = t.out.add_all(op, [sizes, kernel, t.out.plain(x)], [_volume(node, weights, x)], **options)
    return [result]


def _volume(node: HostedNode, weights: NDArray[Any], x: IslandValue) -> tuple[list[int | None], str]:
    shape = node.step.outputs[0].shape
    stated = list(shape) if shape is not None else [None] * len(x.sizes)
    return [*stated[:-1], int(weights.shape[-2])], "float32"


# Largest and smallest elements, whose ONNX nodes differ for NaN, and images of other sizes


def largest_element(t: GraphTranslator, node: HostedNode) -> Sequence[IslandValue]:
    """Max and Min; an operator passes over NaN."""
    x, axes = node.value(t.out, 0), node.constant(1).reshape(-1)
    if x.dtype not in REDUCED:
        raise NotInLite(f"{node.step.op} of {x.dtype}")
    gone = {int(axis) % len(x.sizes) for axis in axes}
    if not gone:
        return [x]
    op = "REDUCE_MAX" if node.step.op == "Max" else "REDUCE_MIN"
    return [reduced(t.out, x, op, gone, keep=node.attrs["keep_dims"])]


REDUCED = ("float32", "int8", "int16", "int32", "int64", "uint8")
RESIZED = ("float32", "int8", "int16", "uint8")


def resized(t: GraphTranslator, node: HostedNode) -> Sequence[IslandValue]:
    x, attrs, is_linear = node.value(t.out, 0), node.attrs, node.step.op == "ResizeBilinear"
    x = t.out.cast(x, "float32") if is_linear else x
    options = {name: True for name in ("align_corners", "half_pixel_centers") if attrs[name]}
    if len(x.sizes) != 4 or x.dtype not in RESIZED or len(options) > 1:
        raise NotInLite(f"{node.step.op} of {x.dtype} with such settings")
    stated = node.values[1]
    known = stated.array.tolist() if stated is not None and stated.array is not None else node.sizes(0)[1:3]
    if list(x.sizes[1:3]) == known and None not in known:
        return [x]
    vector = t.out.plain(t.out.cast(node.value(t.out, 1), "int32"))
    op = "RESIZE_BILINEAR" if is_linear else "RESIZE_NEAREST_NEIGHBOR"
    sizes = [x.sizes[0], *known, x.sizes[3]]
    return [t.out.add(op, [t.out.plain(x), vector], sizes, None, x.dtype, **options)]


DIRECT = frozenset(
    ("Conv2DBackpropInput", "Conv3DBackpropInputV2", "Max", "Min", "ResizeBilinear", "ResizeNearestNeighbor")
)
"""Ops that operators say better than their ONNX nodes do."""


# Strings are moved by the operators that move numbers


def reshape(t: GraphTranslator, node: HostedNode) -> Sequence[IslandValue]:
    x = node.value(t.out, 0)
    target = t.out.plain(t.out.cast(node.value(t.out, 1), "int32"))
    return t.out.add_all("RESHAPE", [t.out.plain(x), target], node.results())


def with_new_axes(t: GraphTranslator, node: HostedNode) -> Sequence[IslandValue]:
    """ExpandDims and Squeeze."""
    x = node.value(t.out, 0)
    sizes = _known(node.sizes(0))
    return [t.out.reshaped(t.out.plain(x), sizes, None, x.dtype)]


def _known(sizes: Sequence[int | None]) -> list[int]:
    if sum(size is None for size in sizes) > 1:
        raise NotInLite("strings of several unknown sizes")
    return [-1 if size is None else size for size in sizes]


def gather(t: GraphTranslator, node: HostedNode) -> Sequence[IslandValue]:
    x, indices = node.value(t.out, 0), node.value(t.out, 1)
    axis = int(node.constant(2)) if len(node.step.inputs) > 2 else 0
    if node.attrs.get("batch_dims"):
        raise NotInLite("GatherV2 of strings by batches")
    tensors = [t.out.plain(x), t.out.plain(indices)]
    return t.out.add_all("GATHER", tensors, node.results(), axis=axis % len(x.sizes), batch_dims=0)


def comparison(t: GraphTranslator, node: HostedNode) -> Sequence[IslandValue]:
    op = {"Equal": "EQUAL", "NotEqual": "NOT_EQUAL"}[node.step.op]
    tensors = [t.out.plain(node.value(t.out, number)) for number in (0, 1)]
    return t.out.add_all(op, tensors, node.results())


def shape(t: GraphTranslator, node: HostedNode) -> Sequence[IslandValue]:
    """Shape, Size and Rank."""
    x, dtype = node.value(t.out, 0), node.step.outputs[0].dtype.name
    if not x.has_rank:
        raise NotInLite(f"{node.step.op} of a value of unknown rank")
    if node.step.op == "Shape":
        return [shape_value(x.sizes, dtype)]
    number = x.elements if node.step.op == "Size" else len(x.sizes)
    (value,) = (shape_value([number], dtype),)
    assert value.array is not None
    return [constant_value(value.array.reshape(()), dtype)]


def two(op: str, *dtypes: str) -> HostedRule:
    """An operator on two values, which the interpreter broadcasts."""

    def rule(t: GraphTranslator, node: HostedNode) -> Sequence[IslandValue]:
        values = [node.value(t.out, number) for number in (0, 1)]
        if values[0].dtype not in dtypes:
            raise NotInLite(f"{node.step.op} of {values[0].dtype}")
        return [broadcast(t.out, op, values)]

    return rule


def identity(t: GraphTranslator, node: HostedNode) -> Sequence[IslandValue]:
    return [node.value(t.out, 0)]


def _of_strings(rule: HostedRule) -> HostedRule:
    def checked(t: GraphTranslator, node: HostedNode) -> Sequence[IslandValue]:
        if node.step.inputs[0].dtype != STRING:
            raise NotInLite(f"{node.step.op} of {node.step.inputs[0].dtype}")
        return rule(t, node)

    return checked


STRING = DType.parse("string")
RULES: dict[str, HostedRule] = {
    "AssignAddVariableOp": add_to_variable,
    "AssignSubVariableOp": add_to_variable,
    "AssignVariableOp": assign_variable,
    "Atan2": two("ATAN2", "float32", "float64"),
    "Conv2DBackpropInput": transposed_convolution,
    "Conv3DBackpropInputV2": transposed_convolution,
    "Equal": _of_strings(comparison),
    "ExpandDims": _of_strings(with_new_axes),
    "FloorDiv": two("FLOOR_DIV", "int32", "float32"),
    "FloorMod": two("FLOOR_MOD", "int32", "int64", "float32"),
    "Gather": _of_strings(gather),
    "GatherV2": _of_strings(gather),
    "Identity": identity,
    "LookupTableFind": table_find,
    "LookupTableFindV2": table_find,
    "LookupTableSize": table_size,
    "LookupTableSizeV2": table_size,
    "Max": largest_element,
    "Min": largest_element,
    "NotEqual": _of_strings(comparison),
    "RandomStandardNormal": random_numbers,
    "RandomUniform": random_numbers,
    "ReadVariableOp": read_variable,
    "Rank": shape,
    "Reshape": _of_strings(reshape),
    "ResizeBilinear": resized,
    "ResizeNearestNeighbor": resized,
    "Shape": shape,
    "Size": shape,
    "Squeeze": _of_strings(with_new_axes),
}
