"""The shapes that the layers of a Keras file return, where a verdict depends on them."""

from __future__ import annotations

from collections.abc import Iterator

from tfport.atlas.known_ops import known_ops
from tfport.errors import Error
from tfport.formats.keras.records import KerasFile
from tfport.frontends.keras.build import ModelBuilder
from tfport.frontends.keras.instance import LayerInstance
from tfport.frontends.keras.tensor import flat_tensors
from tfport.graph.op_signature import OpTable

Shape = tuple[int | None, ...]


def layer_shapes(file: KerasFile) -> dict[str, list[Shape]]:
    """The shapes of what each layer returns, by its name; none of a layer that cannot be built."""
    builder = ModelBuilder(file, OpTable(known_ops()))
    try:
        root, _ = builder.build_layers()
    except Error:
        if builder.root is None:
            return {}
        root = builder.root
    shapes: dict[str, list[Shape]] = {}
    for instance in _every_layer(root):
        shapes.setdefault(instance.name, []).extend(
            tuple(tensor.dims) for tensor in flat_tensors(instance.outputs) if tensor.dims is not None
        )
    return shapes


def _every_layer(instance: LayerInstance) -> Iterator[LayerInstance]:
    yield instance
    for child in instance.children.values():
        yield from _every_layer(child)
