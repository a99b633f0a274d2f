"""Add tensors and operators to a subgraph of a TensorFlow Lite file that is being rewritten."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from typing import TYPE_CHECKING, Any

import numpy as np

from tfport.fix.rule import Refusal
from tfport.formats.lite.records import LiteFile, LiteOperator, LiteTensor, OperatorCode, Subgraph
from tfport.formats.lite.schema import lite_schema
from tfport.lite.constants import constant_array, has_data
from tfport.lite.dtypes import NAMES

if TYPE_CHECKING:
    from numpy.typing import ArrayLike, NDArray

TYPES = {numpy: lite for lite, numpy in reversed(NAMES.items())}


class SubgraphEditor:
    """Collects the operators that replace one operator."""

    def __init__(self, file: LiteFile, graph: Subgraph, scope: str) -> None:
        self.file, self.graph, self.scope = file, graph, scope
        self.made: list[LiteOperator] = []

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

    def array(self, index: int) -> NDArray[Any]:
        """The elements of a constant; Refusal for anything else."""
        tensor = self.tensor(index)
        if not has_data(self.file, tensor):
            raise Refusal(f"`{tensor.name}` is not constant")
        return constant_array(self.file, tensor)

    def require(self, index: int, *types: str) -> None:
        """Refuse unless a tensor has one of these types."""
        tensor = self.tensor(index)
        if tensor.type not in types:
            raise Refusal(f"`{tensor.name}` is {tensor.type}; expected {' or '.join(types)}")

    def constant(self, value: ArrayLike, kind: str = "float32") -> int:
        """Add a constant; returns its index."""
        array = np.asarray(value, np.dtype(kind))
        self.file.buffers.append(np.ascontiguousarray(array).tobytes())
        buffer = len(self.file.buffers) - 1
        return self._add(LiteTensor("", TYPES[kind], array.shape, buffer, has_rank=True))

    def new(self, like: int, shape: Sequence[int] | None = None, kind: str = "") -> int:
        """Add a tensor with the type and quantization of another; returns its index."""
        old = self.graph.tensors[like]
        made = replace(old, buffer=0, is_variable=False, sparsity=None, type=kind or old.type)
        if shape is not None:
            made = replace(made, shape=tuple(shape), shape_signature=())
        return self._add(made)

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
        shape: Sequence[int] | None = None,
        **options: Any,
    ) -> int:
        """Add an operator that writes to a tensor, or to a new one like another; returns the tensor."""
        if to is None:
            assert like is not None
            to = self.new(like, shape)
        code = OperatorCode(op, lite_schema().enums["BuiltinOperator"].numbers[op])
        self.made.append(LiteOperator(code, tuple(inputs), (to,), options, _options_type(op, bool(options))))
        return to


def _options_type(op: str, needed: bool) -> str:
    if not needed:
        return ""
    unions = lite_schema().unions
    names = {name.lower(): name for union in ("BuiltinOptions", "BuiltinOptions2") for name in unions[union]}
    return names[op.replace("_", "").lower() + "options"]
