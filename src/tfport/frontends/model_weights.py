"""The weights of a model of any format, one array after the other; each is read on request."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from functools import partial
from typing import TYPE_CHECKING, Any

from tfport.formats.keras.records import StoredWeights
from tfport.formats.lite.records import LiteFile
from tfport.frontends.keras.instance import KerasModel, LayerInstance, OwnedWeight
from tfport.graph.dtypes import RESOURCE, STRING, VARIANT, DType
from tfport.graph.graph import Node
from tfport.graph.model import Model
from tfport.graph.tensors import Tensor
from tfport.startup.dataclass import dataclass

if TYPE_CHECKING:
    from numpy.typing import NDArray

LEAST_INTEGERS = 1024
"""Constants of integers with fewer bytes are parameters of the program, such as axes and sizes."""


@dataclass(frozen=True, slots=True)
class ModelWeight:
    """One array of a model."""

    name: str
    """`dense/kernel` in a Keras file, the key of a checkpoint, the name of a constant or a tensor."""
    dtype: str
    shape: tuple[int, ...]
    read: Callable[[], NDArray[Any]]
    node: Node | None = None
    """The constant of the graph that it is."""
    owned: OwnedWeight | None = None
    """The layers that it is in, of a Keras file."""
    readers: frozenset[str] = frozenset()
    """The ops of a TensorFlow Lite file that read it as their second input."""
    scale: tuple[float, ...] = ()
    zero_point: tuple[int, ...] = ()


def model_weights(model: Model) -> Iterable[ModelWeight]:
    """The weights in the order of the file."""
    if isinstance(model, KerasModel) and model.root is not None and not model.no_graph:
        return _of_layers((model.root,), "")
    if model.keras is not None:
        return _stored(model.keras.weights) if model.keras.weights is not None else ()
    if model.lite is not None:
        return _of_lite(model.lite)
    return _of_checkpoint(model) if model.checkpoint is not None else _constants(model)


def _of_layers(layers: tuple[LayerInstance, ...], path: str) -> Iterator[ModelWeight]:
    for slot in layers[-1].weights.values():
        value = slot.node.attrs["value"]
        assert isinstance(value, Tensor)
        owned = OwnedWeight(layers, slot.name)
        yield ModelWeight(f"{path}{slot.name}", slot.dtype.name, slot.shape, value.numpy, slot.node, owned)
    for name, child in layers[-1].children.items():
        yield from _of_layers((*layers, child), f"{path}{name}/")


def _stored(weights: StoredWeights) -> Iterator[ModelWeight]:
    for arrays in weights.lists.values():
        for array in arrays:
            yield ModelWeight(array.name, array.dtype, array.shape, array.read)


def _of_lite(file: LiteFile) -> Iterator[ModelWeight]:
    from tfport.frontends.lite.constants import constant_array, has_data  # imported here, as it needs NumPy

    for subgraph in file.subgraphs:
        readers: dict[int, set[str]] = {}
        for operator in subgraph.operators:
            for kernel in operator.inputs[1:2]:
                readers.setdefault(kernel, set()).add(operator.code.name)
        for index, tensor in enumerate(subgraph.tensors):
            if tensor.type != "STRING" and has_data(file, tensor):
                quantized = tensor.quantization
                yield ModelWeight(
                    tensor.name,
                    tensor.type.lower(),
                    tensor.shape,
                    partial(constant_array, file, tensor),
                    readers=frozenset(readers.get(index, ())),
                    scale=quantized.scale if quantized else (),
                    zero_point=quantized.zero_point if quantized else (),
                )


def _of_checkpoint(model: Model) -> Iterator[ModelWeight]:
    checkpoint = model.checkpoint
    assert checkpoint is not None
    for name in checkpoint.names():
        entry = checkpoint.entry(name)
        dtype = DType.of(entry.dtype)
        if dtype not in (STRING, RESOURCE, VARIANT):
            yield ModelWeight(name, dtype.name, entry.shape, partial(checkpoint.read, name))


def _constants(model: Model) -> Iterator[ModelWeight]:
    for node in model.graph:
        tensor = node.attrs.get("value") if node.op == "Const" else None
        if not isinstance(tensor, Tensor) or tensor.dtype == STRING or not tensor.shape.dims:
            continue
        if tensor.dtype.is_floating or tensor.dtype.is_complex or tensor.nbytes >= LEAST_INTEGERS:
            shape = tuple(size or 0 for size in tensor.shape.dims)
            yield ModelWeight(node.name, tensor.dtype.name, shape, tensor.numpy, node)
