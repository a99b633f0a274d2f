"""Write nodes and operands as an ONNX ModelProto.

Large constants stay outside the message and are referred to by name, so that the engine uses them without a
copy. bfloat16, which NumPy and most engines do not take as inputs or outputs, is passed as float32. Islands
with average pooling are written in an older version of ONNX's ops, where it is faster (`PoolingOpset`).
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from typing import TYPE_CHECKING, Any

import numpy as np

from tfport.formats.proto import onnx_pb2 as pb
from tfport.graph.dtypes import FLOAT32, STRING, DType
from tfport.runtime.hosted import OTHER_TYPES, type_number
from tfport.runtime.onnx.builder import OPSET
from tfport.runtime.operand import Operand
from tfport.runtime.program import ONNX_TYPES, OnnxNode, Program
from tfport.startup.dataclass import dataclass, field

if TYPE_CHECKING:
    from numpy.typing import NDArray


IR_VERSION = 9
SMALL = 1024
"""Constants of at most this many bytes are written into the message."""
SMALL_SIZES = 2**16
"""The same for vectors of int64, which may be sizes: shape inference reads those only there."""
TINY = 64
"""Equal constants of at most this many bytes are written once: a large loop has thousands of indices, and the
time to make a session grows with their number."""
CONTRIB = "com.microsoft"
ML = "ai.onnx.ml"
DOMAINS = {CONTRIB: 1, ML: 3}
"""The versions of other sets of ops."""
ELEMENT_TYPES = {**ONNX_TYPES, STRING.name: OTHER_TYPES[STRING.name]}
"""ONNX's number for each element type of a file."""
_AT_BORDER: dict[str, DType] = {"bfloat16": FLOAT32}
BEFORE_NEW_POOLING = 18
_NEWER = frozenset(
    ("AffineGrid", "ConstantOfShape", "DFT", "DeformConv", "Gelu", "GridSample", "ImageDecoder", "IsInf",
     "IsNaN", "ReduceMax", "ReduceMin", "RegexFullMatch", "StringConcat", "StringSplit")
)  # fmt: skip
"""The ops that later versions brought, or extended to more types."""


@dataclass
class OnnxModel:
    """A ModelProto, and the constants outside of it."""

    model: pb.ModelProto
    weights: dict[str, NDArray[Any]] = field(default_factory=dict)


def border_type(dtype: DType) -> DType:
    """The type in which a tensor is passed into or out of an island."""
    return _AT_BORDER.get(dtype.name, dtype)


def is_narrow(dtype: DType) -> bool:
    """Whether a type is passed as another type."""
    return dtype.name in _AT_BORDER


def onnx_model(
    nodes: Sequence[OnnxNode],
    inputs: Sequence[Operand],
    outputs: Sequence[Operand],
    *,
    names: dict[Operand, str] | None = None,
    exported: bool = False,
    plain: bool = True,
    keeps_bfloat16: bool = False,
    same: Mapping[Operand, Operand] | None = None,
    version: int = OPSET,
) -> OnnxModel:
    """A model of these nodes; `names` are the public names of its inputs and outputs.

    An exported model has output shapes, and keeps bfloat16 inputs and outputs. One that is not plain is for
    ONNX Runtime on a CPU. `same`: operands that nodes read instead of others, which are not computed.
    `version` is that of ONNX's ops, which the nodes are in.
    """
    model = pb.ModelProto(ir_version=IR_VERSION, producer_name="tfport")
    opset = model.opset_import.add(domain="", version=version)
    model.graph.name = "tfport"
    shown = names or {operand: operand.name for operand in (*inputs, *outputs)}  # messages have these names
    writer = _Writer(
        model.graph, shown, same or {}, exported, plain, keeps_bfloat16=exported or keeps_bfloat16
    )
    writer.borders(inputs, outputs, nodes)
    if not plain:
        opset.version = writer.opset.version
    for domain in writer.domains:
        model.opset_import.add(domain=domain, version=DOMAINS.get(domain, 1))
    return OnnxModel(model, writer.weights)


class _Writer:
    """Writes the top-level graph; subgraphs share its constants."""

    def __init__(
        self,
        graph: pb.GraphProto,
        names: dict[Operand, str],
        same: Mapping[Operand, Operand],
        exported: bool,
        plain: bool,
        *,
        keeps_bfloat16: bool,
    ) -> None:
        self.graph, self.names, self.exported = graph, dict(names), exported
        self._same, self._plain_nodes, self._keeps_bfloat16 = same, plain, keeps_bfloat16
        self.weights: dict[str, NDArray[Any]] = {}
        self.domains: dict[str, None] = {}
        self.opset = PoolingOpset()
        self._written: dict[int, str] = {}
        self._tiny: dict[tuple[Any, ...], str] = {}
        self._kept: list[Any] = []
        self._copies = 0
        """Copies among the results of subgraphs, which are nested: no two may have the same name."""

    def borders(
        self, inputs: Sequence[Operand], outputs: Sequence[Operand], nodes: Sequence[OnnxNode]
    ) -> None:
        for operand in inputs:
            outside = self._border(self.graph.input, operand)
            if outside != self.name(operand):
                to = ONNX_TYPES[operand.dtype.name]
                self._plain(self.graph, "Cast", [outside], [self.name(operand)], {"to": to})
        self.nodes(self.graph, nodes)
        computed = {operand for node in nodes for operand in node.outputs}
        for operand in outputs:
            outside = self._border(self.graph.output, operand)
            name = self.name(operand)
            if outside != name:
                self._plain(self.graph, "Cast", [name], [outside], {"to": ONNX_TYPES["float32"]})
            elif operand not in computed:  # a constant, or an input that is an output too
                raise AssertionError(f"{operand} is not an output of these nodes")

    def _border(self, into: Any, operand: Operand) -> str:
        dtype = operand.dtype if self._keeps_bfloat16 else border_type(operand.dtype)
        name = self.name(operand) if dtype == operand.dtype else f"{self.name(operand)}@border"
        info = into.add(name=name)
        shape = operand.shape if self.exported or into is self.graph.input else None
        _set_type(info.type, dtype, shape, exported=self.exported)
        if into is self.graph.input and not self._plain_nodes:
            _name_unknown_sizes(info, len(into))
        return name

    def name(self, operand: Operand) -> str:
        operand = self._same.get(operand, operand)
        if operand.array is not None:
            return self._constant(operand)
        return self.names.get(operand) or self._own_name(operand)

    def _own_name(self, operand: Operand) -> str:
        """The name of an operand; for an engine only its number, as thousands of long names take time."""
        name = operand.name
        return name if self.exported else name[name.rindex("#") :]

    def _constant(self, operand: Operand) -> str:
        array = operand.array
        assert array is not None
        known = self._written.get(id(array))
        if known is not None:
            return known
        self._kept.append(array)
        name = own = self._own_name(operand)
        if operand.dtype == STRING:
            self._written[id(array)] = name
            texts = [bytes(text) for text in array.reshape(-1).tolist()]
            self.graph.initializer.add(
                name=name, dims=array.shape, data_type=ELEMENT_TYPES[STRING.name], string_data=texts
            )
            return name
        if array.nbytes <= TINY:
            content = operand.dtype.name, array.shape, np.ascontiguousarray(array).tobytes()
            name = self._tiny.setdefault(content, own)
        self._written[id(array)] = name
        if name != own:
            return name
        tensor = self.graph.initializer.add(
            name=name, dims=array.shape, data_type=ONNX_TYPES[operand.dtype.name]
        )
        if array.nbytes <= (SMALL_SIZES if array.ndim == 1 and array.dtype == np.int64 else SMALL):
            tensor.raw_data = np.ascontiguousarray(array).tobytes()
        else:
            tensor.data_location = pb.TensorProto.EXTERNAL
            tensor.external_data.add(key="location", value=name)
            self.weights[name] = array
        return name

    def nodes(self, graph: pb.GraphProto, nodes: Iterable[OnnxNode]) -> None:
        for node in nodes:
            inputs = ["" if operand is None else self.name(operand) for operand in node.inputs]
            outputs = [self.name(operand) for operand in node.outputs]
            if node.domain:
                self.domains[node.domain] = None
            self.opset.add(node)
            label = node.outputs[0].name if node.outputs else node.op
            self._plain(graph, node.op, inputs, outputs, node.attrs, node.domain, label)

    def _plain(
        self,
        graph: pb.GraphProto,
        op: str,
        inputs: Sequence[str],
        outputs: Sequence[str],
        attrs: dict[str, Any],
        domain: str = "",
        label: str = "",
    ) -> None:
        """`label`: the name of what it computes, for its own name."""
        name = label or outputs[0]
        proto = graph.node.add(op_type=op, input=inputs, output=outputs, name=f"{op}:{name}", domain=domain)
        for key, value in attrs.items():
            self._attribute(proto.attribute.add(name=key), value)

    def _attribute(self, out: pb.AttributeProto, value: Any) -> None:
        types = pb.AttributeProto
        match value:
            case Program():
                out.type = types.GRAPH
                self._subgraph(out.g, value)
            case bool() | int() | np.integer():
                out.type, out.i = types.INT, int(value)
            case float() | np.floating():
                out.type, out.f = types.FLOAT, float(value)
            case str():
                out.type, out.s = types.STRING, value.encode()
            case np.ndarray():
                out.type = types.TENSOR
                out.t.dims.extend(value.shape)
                out.t.data_type = ONNX_TYPES[value.dtype.name]
                out.t.raw_data = np.ascontiguousarray(value).tobytes()
            case [str(), *_]:
                out.type = types.STRINGS
                out.strings.extend(text.encode() for text in value)
            case [float(), *_]:
                out.type = types.FLOATS
                out.floats.extend(value)
            case _:
                out.type = types.INTS
                out.ints.extend(map(int, value))

    def _subgraph(self, graph: pb.GraphProto, program: Program) -> None:
        graph.name = "body"
        for operand in program.args:
            info = graph.input.add(name=self.name(operand))
            _set_type(info.type, operand.dtype, operand.shape, exported=self.exported)
        nodes = list(nodes_of(program))
        self.nodes(graph, nodes)
        computed = {output for node in nodes for output in node.outputs}
        seen: set[str] = set()
        carried = len(program.args) - 1  # of a loop: its condition and variables; then what it stacks
        for index, operand in enumerate(program.results):
            name = self.name(operand)
            if (
                operand not in computed or name in seen
            ):  # an output of a graph must be an output of one of its nodes
                self._copies += 1
                fresh = f"{name}@{self._copies}"
                self._plain(graph, "Identity", [name], [fresh], {})
                name = fresh
            seen.add(name)
            # a loop without iterations stacks nothing, and takes the sizes from here
            shape = operand.shape if 0 < carried <= index else None
            _set_type(graph.output.add(name=name).type, operand.dtype, shape, exported=self.exported)


def nodes_of(program: Program) -> Iterator[OnnxNode]:
    """All ONNX nodes of a lowered program."""
    for step in program.steps:
        yield from step.lowered or ()


def _set_type(
    into: pb.TypeProto, dtype: DType, shape: Sequence[int | None] | None, *, exported: bool
) -> None:
    tensor = into.tensor_type
    tensor.elem_type = type_number(dtype) if exported else ELEMENT_TYPES[dtype.name]  # no engine gets others
    if shape is not None:
        tensor.shape.SetInParent()
        for size in shape:
            dim = tensor.shape.dim.add()
            if size is not None:
                dim.dim_value = size


def _name_unknown_sizes(info: pb.ValueInfoProto, number: int) -> None:
    """Name the unknown sizes of an input by its number: names of tensors differ between processes.

    ONNX Runtime compares the shape of a node's output with those of all free tensors, to reuse their memory.
    One with an unnamed size equals none, so the list only grows, and a session for n nodes takes n² steps.
    """
    for axis, dim in enumerate(info.type.tensor_type.shape.dim):
        if not dim.HasField("dim_value"):
            dim.dim_param = f"size {axis} of input {number}"


class PoolingOpset:
    """Decides on the version of ONNX's ops while the nodes of an island are written.

    ONNX Runtime's kernel of AveragePool from version 19 on visits each window with all its pixels, one after
    another; the kernel before uses the routines that MaxPool uses. Measured on ARM64 in one thread, the newer
    one takes 3 times as long for windows of the whole image and 13 times for windows of 3x3 pixels. Both
    compute the same. An exported model has the usual version.
    """

    def __init__(self) -> None:
        self._has_pooling = self._needs_newest = False

    def add(self, node: OnnxNode) -> None:
        self._has_pooling |= node.op == "AveragePool"
        self._needs_newest |= _needs_newest(node)

    @property
    def version(self) -> int:
        return BEFORE_NEW_POOLING if self._has_pooling and not self._needs_newest else OPSET


def _needs_newest(node: OnnxNode) -> bool:
    """Whether a node has a type or an attribute that the older version does not have."""
    match node.op:
        case "AveragePool":
            return node.outputs[0].dtype != FLOAT32 or "dilations" in node.attrs
        case "Equal":
            return any(operand is not None and operand.dtype == STRING for operand in node.inputs)
        case "Pad":
            return node.attrs.get("mode") == "wrap"
        case "Resize":
            return node.attrs.get("coordinate_transformation_mode") == "half_pixel_symmetric"
    return node.op in _NEWER
