"""Add tensors and operators to a subgraph of a TensorFlow Lite file that is being rewritten."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

import numpy as np

from tfport.formats.lite.records import (
    LiteFile,
    LiteOperator,
    LiteTensor,
    OperatorCode,
    Subgraph,
    TensorQuantization,
)
from tfport.formats.lite.schema import lite_schema
from tfport.frontends.lite.constants import NAMES, constant_array, has_data
from tfport.graph.building.node_builder import Refusal
from tfport.startup.dataclass import replace

if TYPE_CHECKING:
    from numpy.typing import ArrayLike, NDArray

TYPES = {numpy: lite for lite, numpy in reversed(NAMES.items())}
SHARED_OPTIONS = {
    **dict.fromkeys(("AVERAGE_POOL_2D", "MAX_POOL_2D", "L2_POOL_2D"), "Pool2DOptions"),
    **dict.fromkeys(("SUM", "MEAN", "REDUCE_MAX", "REDUCE_MIN", "REDUCE_PROD"), "ReducerOptions"),
    **dict.fromkeys(("REDUCE_ALL", "REDUCE_ANY"), "ReducerOptions"),
    "MAXIMUM": "MaximumMinimumOptions",
    "MINIMUM": "MaximumMinimumOptions",
    "L2_NORMALIZATION": "L2NormOptions",
}
"""Tables of options that are not named after their op."""


class SubgraphEditor:
    """Collects the operators that replace one operator."""

    def __init__(self, file: LiteFile, graph: Subgraph, scope: str) -> None:
        self.file, self.graph, self.scope = file, graph, scope
        self.added: list[LiteOperator] = []

    def tensor(self, index: int) -> LiteTensor:
        """The tensor with this index; Refusal for an input that is left out."""
        if index < 0:
            raise Refusal("an optional input is left out")
        return self.graph.tensors[index]

    def option(self, node: LiteOperator, name: str) -> Any:
        """An option of an operator, or its default."""
        fields = lite_schema().tables.get(node.options_type, ())
        default = next((field.default for field in fields if field.name == name), None)
        return node.options.get(name, default)

    def static_shape(self, index: int) -> tuple[int, ...]:
        """The shape of a tensor; Refusal if a size is unknown."""
        tensor = self.tensor(index)
        if None in tensor.dims or not (tensor.shape or tensor.has_rank):
            raise Refusal(f"the shape of `{tensor.name}` is not known")
        return tensor.shape

    def is_constant(self, index: int) -> bool:
        """Whether a tensor is a constant of the file."""
        return has_data(self.file, self.tensor(index))

    def array(self, index: int) -> NDArray[Any]:
        """The elements of a constant, or of one stored as float16; Refusal for anything else."""
        tensor = self.tensor(index)
        if has_data(self.file, tensor):
            return constant_array(self.file, tensor)
        maker = next((node for node in self.graph.operators if index in node.outputs), None)
        if maker is not None and maker.code.op == "DEQUANTIZE":
            stored = self.tensor(maker.inputs[0])
            if stored.type == "FLOAT16" and has_data(self.file, stored):
                return constant_array(self.file, stored).astype(np.float32)
        raise Refusal(f"`{tensor.name}` is not constant")

    def require(self, index: int, *types: str) -> None:
        """Refuse unless a tensor has one of these types."""
        tensor = self.tensor(index)
        if tensor.type not in types:
            raise Refusal(f"`{tensor.name}` is {tensor.type}; expected {' or '.join(types)}")

    def constant(
        self, value: ArrayLike, dtype: str = "float32", quantization: TensorQuantization | None = None
    ) -> int:
        """Add a constant; returns its index."""
        array = np.asarray(value, np.dtype(dtype))
        self.file.buffers.append(np.ascontiguousarray(array).tobytes())
        buffer = len(self.file.buffers) - 1
        return self._add(LiteTensor("", TYPES[dtype], array.shape, buffer, quantization, has_rank=True))

    def new(self, like: int, shape: Sequence[int | None] | None = None, dtype: str = "") -> int:
        """Add a tensor with the type and quantization of another, or of another type; returns its index.

        None is a size that is not known.
        """
        old = self.graph.tensors[like]
        tensor = replace(old, buffer=0, is_variable=False, sparsity=None)
        if dtype:
            tensor = replace(tensor, type=dtype, quantization=None)
        if shape is not None:
            stated = tuple(-1 if size is None else size for size in shape) if None in shape else ()
            sizes = tuple(1 if size is None else size for size in shape)
            tensor = replace(tensor, shape=sizes, shape_signature=stated)
        return self._add(tensor)

    def _add(self, tensor: LiteTensor) -> int:
        index = len(self.graph.tensors)
        self.graph.tensors.append(replace(tensor, name=f"{self.scope}/{index}"))
        return index

    def op(
        self,
        op: str,
        inputs: Sequence[int],
        *,
        to: int | None = None,
        like: int | None = None,
        shape: Sequence[int | None] | None = None,
        dtype: str = "",
        **options: Any,
    ) -> int:
        """Add an operator that writes to a tensor, or to a new one like another; returns the tensor."""
        if to is None:
            assert like is not None
            to = self.new(like, shape, dtype)
        self.node(op, inputs, (to,), **options)
        return to

    def node(self, op: str, inputs: Sequence[int], outputs: Sequence[int], **options: Any) -> None:
        """Add an operator that writes to these tensors."""
        code = OperatorCode(op, lite_schema().enums["BuiltinOperator"].numbers[op])
        table = _options_type(op) if options else ""
        self.added.append(LiteOperator(code, tuple(inputs), tuple(outputs), options, table))

    def inline(self, number: int, inputs: Sequence[int], outputs: Sequence[int]) -> None:
        """Add the operators of another subgraph, which read and write these tensors."""
        graph = self.file.subgraphs[number]
        indices = dict(zip(graph.inputs, inputs, strict=True))
        indices |= dict(zip(graph.outputs, outputs, strict=True))
        if set(graph.outputs) - {index for node in graph.operators for index in node.outputs}:
            raise Refusal(f"an output of subgraph {number} is not computed there")
        for index, tensor in enumerate(graph.tensors):
            if index not in indices:
                indices[index] = self._add(tensor)
        for node in graph.operators:
            self.added.append(
                replace(
                    node,
                    inputs=tuple(indices.get(index, index) for index in node.inputs),
                    outputs=tuple(indices.get(index, index) for index in node.outputs),
                    intermediates=tuple(indices[index] for index in node.intermediates),
                    options=copied_options(node.options),
                )
            )

    def reshaped(self, index: int, shape: Sequence[int], to: int | None = None) -> int:
        """The same elements in another shape."""
        sizes = self.constant(shape, "int32")
        return self.op("RESHAPE", (index, sizes), to=to, like=index, shape=shape)

    def transposed(self, index: int, order: Sequence[int], to: int | None = None) -> int:
        """The same elements with the axes in another order."""
        sizes = self.static_shape(index)
        shape = [sizes[axis] for axis in order]
        return self.op("TRANSPOSE", (index, self.constant(order, "int32")), to=to, like=index, shape=shape)


def copied_options(value: Any) -> Any:
    """Options that may be changed; bytes are shared."""
    if isinstance(value, dict):
        return {name: copied_options(part) for name, part in value.items()}
    return [copied_options(part) for part in value] if isinstance(value, list) else value


def _options_type(op: str) -> str:
    unions = lite_schema().unions
    names = {name.lower(): name for union in ("BuiltinOptions", "BuiltinOptions2") for name in unions[union]}
    return SHARED_OPTIONS.get(op) or names[op.replace("_", "").lower() + "options"]
