"""Encoded categories in a form whose shapes the target states as it computes them.

Before 3.14, Keras 3 states that Discretization returns the shape of its input, whatever it encodes: layers
after it get weights of a wrong size. Before 3.5, a one-hot encoding keeps an axis of size 1, which the stated
shape does not have. CategoryEncoding states its shape, and a multi-hot encoding of one category is one-hot.
"""

from __future__ import annotations

from tfport.fix.keras.config_writer import shape_of
from tfport.fix.keras.dialect import Dialect
from tfport.frontends.keras.config import (
    SEQUENTIAL,
    LayerCall,
    LayerConfig,
    ModelConfig,
    TensorRef,
    every_ref,
)
from tfport.frontends.keras.instance import LayerInstance
from tfport.frontends.keras.version import KerasVersion

BINS, ENCODING = "Discretization", "CategoryEncoding"
ENCODING_LAYERS = (BINS, ENCODING, "StringLookup", "IntegerLookup", "Hashing", "HashedCrossing")
BINS_STATED_SINCE, ONE_HOT_SQUEEZED_SINCE = (3, 14), (3, 5)


def with_stated_encodings(
    model: ModelConfig, source: KerasVersion, dialect: Dialect, instance: LayerInstance | None
) -> list[str]:
    """Write encodings as layers whose shapes the target states; returns the layers that changed."""
    changed: list[str] = []
    if not dialect.is_3 or dialect.semantics.numbers >= BINS_STATED_SINCE:
        return changed
    for layer in list(model.layers):
        if layer.model is not None:
            inner = instance.children.get(layer.name) if instance is not None else None
            changed += with_stated_encodings(layer.model, source, dialect, inner)
        mode = layer.config.get("output_mode", "int")
        if layer.class_name not in ENCODING_LAYERS or mode == "int":
            continue
        is_squeezed = mode == "one_hot" and _keeps_axes(dialect.semantics) and not _keeps_axes(source)
        if is_squeezed and _encodes_one(layer, model, instance):
            layer.config = {**layer.config, "output_mode": "multi_hot"}
            changed.append(layer.name)
        if layer.class_name == BINS and layer.config.get("bin_boundaries") is not None:
            changed.append(layer.name)
            _write_out(model, layer)
    return list(dict.fromkeys(changed))


def _keeps_axes(version: KerasVersion) -> bool:
    """Whether the one-hot encoding of an axis of size 1 has one axis more."""
    return version.major >= 3 and version.numbers < ONE_HOT_SQUEEZED_SINCE


def _encodes_one(layer: LayerConfig, model: ModelConfig, instance: LayerInstance | None) -> bool:
    """Whether the last axis of each input of a layer has size 1."""
    refs = [ref for call in layer.calls for ref in every_ref(list(call.args))]
    if model.class_name == SEQUENTIAL:
        index = model.layers.index(layer)
        refs = [TensorRef(model.layers[index - 1].name)] if index else []
    shapes = [shape_of(ref, model, instance)[0] for ref in refs]
    return bool(shapes) and all(len(shape) > 1 and shape[-1] == 1 for shape in shapes)


def _write_out(model: ModelConfig, layer: LayerConfig) -> None:
    """Write a Discretization as one that numbers bins, and an encoding, which gets its name."""
    name, bins, index = layer.name, f"{layer.name}_bins", model.layers.index(layer)
    options = {
        "name": name,
        "num_tokens": len(layer.config["bin_boundaries"]) + 1,
        "output_mode": layer.config["output_mode"],
        "dtype": layer.config.get("dtype", "float32"),
    }
    stands_for = f"layer `{name}` ({BINS}): its categories must be encoded by {ENCODING}, and"
    calls = [LayerCall((TensorRef(bins, number),)) for number in range(len(layer.calls))]
    encoding = LayerConfig(ENCODING, name, options, calls, stands_for=stands_for)
    layer.stands_for = f"layer `{name}` ({BINS}):"
    kept = {key: value for key, value in layer.config.items() if key != "dtype"}
    layer.name, layer.config = bins, {**kept, "name": bins, "output_mode": "int"}
    model.layers.insert(index + 1, encoding)
