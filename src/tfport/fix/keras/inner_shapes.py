"""The inputs of Sequential models inside others, where the file states another shape than that of the call.

Such a model may have been called on a single image before, without the axis of the batch: Keras 2 stores that
shape as `build_input_shape` and goes by the call. Keras 3 builds the model for the stored shape.
"""

from __future__ import annotations

from collections.abc import Sequence

from tfport.fix.keras.config_writer import shape_of
from tfport.frontends.keras.config import INPUT_SHAPES, SEQUENTIAL, LayerConfig, ModelConfig, every_ref
from tfport.frontends.keras.instance import LayerInstance


def with_called_shapes(model: ModelConfig, instance: LayerInstance | None) -> None:
    """State the shape of the calls as the input of each inner Sequential model whose own rank differs."""
    for layer in model.layers:
        inner = layer.model
        if inner is None:
            continue
        shapes = [shape_of(ref, model, instance)[0] for call in layer.calls for ref in every_ref(call.args)]
        if inner.class_name == SEQUENTIAL and shapes and all(shape == shapes[0] for shape in shapes):
            _set_shape(inner.layers[0], shapes[0])
        with_called_shapes(inner, instance.children.get(layer.name) if instance is not None else None)


def _set_shape(entry: LayerConfig, shape: Sequence[int | None]) -> None:
    stated = next(
        (entry.config[key] for key in INPUT_SHAPES if isinstance(entry.config.get(key), list)), None
    )
    if stated is not None and len(stated) != len(shape):
        others = {name: value for name, value in entry.config.items() if name not in INPUT_SHAPES}
        entry.config = {**others, "batch_shape": [None, *shape[1:]]}
