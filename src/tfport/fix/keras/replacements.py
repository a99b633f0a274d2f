"""Layers that a release does not have, or computes in another way, as others that compute the same."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from tfport.fix.keras.dialect import Dialect
from tfport.formats.keras.records import Json
from tfport.frontends.keras.config import MERGE, LayerCall, LayerConfig, ModelConfig, TensorRef
from tfport.frontends.keras.version import KerasVersion

_STANDARD = {"activation": "tanh", "recurrent_activation": "sigmoid", "use_bias": True}
CUDNN: dict[str, dict[str, Json]] = {
    "CuDNNLSTM": _STANDARD,
    "CuDNNGRU": {**_STANDARD, "reset_after": True},
}
"""The options with which LSTM and GRU compute what their CuDNN variants do."""
NEW_OPTIONS: dict[str, dict[str, Json]] = {**CUDNN, "Identity": {"activation": "linear"}}
"""The options with which another class computes what a class does."""
EQUAL_CLASSES = {
    "CuDNNLSTM": "LSTM",
    "CuDNNGRU": "GRU",
    "SyncBatchNormalization": "BatchNormalization",
    "BatchNormalizationV1": "BatchNormalization",
    "BatchNormalizationV2": "BatchNormalization",
    "Identity": "Activation",
}
"""Classes that compute the same in inference."""
MERGING = {
    "sum": ("Add", "", ""),
    "mul": ("Multiply", "", ""),
    "ave": ("Average", "", ""),
    "max": ("Maximum", "", ""),
    "concat": ("Concatenate", "concat_axis", "axis"),
    "dot": ("Dot", "dot_axes", "axes"),
}
"""The classes for the modes of Merge, with the old and the new name of an option."""
HARD_SIGMOID, CAUSAL = "hard_sigmoid", "use_causal_mask"
SLOPES = {2: 0.2, 3: 1 / 6}
"""The slope of `hard_sigmoid` in Keras 1 and 2, and in Keras 3."""
ACTIVATION_LAYERS: dict[str, tuple[str, dict[str, Json]]] = {
    "relu6": ("ReLU", {"max_value": 6.0, "negative_slope": 0.0, "threshold": 0.0}),
    "leaky_relu": ("LeakyReLU", {"negative_slope": 0.2}),
}
"""Layers that compute what activations of Keras 3 do, which Keras 2 does not have."""
EACH_STEP = "TimeDistributed"
GATED = ("LSTM", "GRU", "ConvLSTM1D", "ConvLSTM2D", "ConvLSTM3D", "LSTMCell", "GRUCell", "SimpleRNN")
"""Layers with gates, whose weights are scaled instead (`frontends.keras.weights`)."""


def slope(version: KerasVersion) -> float:
    return SLOPES[3 if version.major >= 3 else 2]


def replaced(layer: LayerConfig, dialect: Dialect) -> LayerConfig:
    """The layer to write for a layer of the file: itself, or one of a class that the target has."""
    if layer.class_name not in CUDNN and dialect.layer(layer.class_name) is not None:
        return layer
    if layer.class_name == MERGE:
        class_name, options = _merging(layer.config)
    else:
        class_name = EQUAL_CLASSES.get(layer.class_name, layer.class_name)
        options = {**layer.config, **NEW_OPTIONS.get(layer.class_name, {})}
    if class_name == layer.class_name:
        return layer
    return LayerConfig(class_name, layer.name, options, layer.calls)


def _merging(config: Mapping[str, Json]) -> tuple[str, dict[str, Json]]:
    """The layer that does what a Merge of Keras 1 does; Merge itself where there is none."""
    mode = config.get("mode", "sum")
    if mode not in MERGING or config.get("layers"):
        return MERGE, {}
    class_name, option, new_option = MERGING[mode]
    options = {"name": config.get("name")}
    return class_name, {**options, new_option: config.get(option, -1)} if option else options


def with_explicit_hard_sigmoid(model: ModelConfig, source: KerasVersion, dialect: Dialect) -> dict[str, str]:
    """Write `hard_sigmoid` out as layers where the target means another one.

    Returns the new name of each changed layer, with its old name.
    """
    renamed: dict[str, str] = {}
    if slope(source) == slope(dialect.semantics):
        return renamed
    for layer in list(model.layers):
        if layer.model is not None:
            renamed |= with_explicit_hard_sigmoid(layer.model, source, dialect)
        elif _last_activation(layer.config, layer.class_name) == HARD_SIGMOID:
            clipped = {"max_value": 1.0, "negative_slope": 0.0, "threshold": 0.0}
            scaled = {"scale": slope(source), "offset": 0.5}
            written = [("Rescaling", scaled), ("ReLU", clipped)]
            renamed |= _write_out(model, layer, HARD_SIGMOID, written)
    return renamed


def with_activation_layers(model: ModelConfig, dialect: Dialect) -> dict[str, str]:
    """Write activations that the target does not have as layers; returns new names with the old ones."""
    renamed: dict[str, str] = {}
    for layer in list(model.layers):
        if layer.model is not None:
            renamed |= with_activation_layers(layer.model, dialect)
            continue
        activation = _last_activation(layer.config, layer.class_name)
        written = ACTIVATION_LAYERS.get(activation) if isinstance(activation, str) else None
        if written is not None and dialect.release.find("activation", str(activation)) is None:
            renamed |= _write_out(model, layer, str(activation), [written])
    return renamed


def _last_activation(config: Json, class_name: str) -> Json:
    """The activation of what a layer returns, also of one that is applied to each time step."""
    if class_name == EACH_STEP and isinstance(config.get("layer"), Mapping):
        inner = config["layer"]
        return _last_activation(inner.get("config") or {}, str(inner.get("class_name")))
    return config.get("activation") if class_name not in GATED else None


def _without_activation(config: Json) -> Json:
    """The options of a layer with a linear activation, inside TimeDistributed too."""
    if isinstance(config.get("layer"), Mapping):
        inner = config["layer"]
        return {**config, "layer": {**inner, "config": _without_activation(inner["config"])}}
    return {**config, "activation": "linear"}


def with_causal_masks_of(model: ModelConfig, dialect: Dialect) -> None:
    """State causal masks as a release does: as the argument `use_causal_mask`, or as the option `causal`."""
    for layer in model.layers:
        if layer.model is not None:
            with_causal_masks_of(layer.model, dialect)
        known = dialect.layer(layer.class_name)
        if dialect.has_causal_argument:
            if known is not None and "causal" not in known.arguments and layer.config.get("causal"):
                layer.config = {name: value for name, value in layer.config.items() if name != "causal"}
                layer.calls = [LayerCall(call.args, {**call.kwargs, CAUSAL: True}) for call in layer.calls]
            continue
        causal = {bool(call.kwargs.get(CAUSAL)) for call in layer.calls}
        if known is not None and "causal" in known.arguments and causal == {True}:
            layer.config = {**layer.config, "causal": True}
            layer.calls = [LayerCall(call.args, {**call.kwargs, CAUSAL: False}) for call in layer.calls]


def _write_out(
    model: ModelConfig, layer: LayerConfig, activation: str, written: Sequence[tuple[str, dict[str, Json]]]
) -> dict[str, str]:
    """Replace the activation of a layer by layers with their options; the last one gets its name."""
    name, index = layer.name, model.layers.index(layer)
    before = f"{name}_before_activation"
    shared = {"dtype": layer.config.get("dtype", "float32")}
    stands_for = f"layer `{name}` ({layer.class_name}): its {activation} must be written as other layers, and"
    last, new = before, list[LayerConfig]()
    for number, (class_name, options) in enumerate(written, 1):
        new_name = name if number == len(written) else f"{name}_{class_name.lower()}"
        calls = [LayerCall((TensorRef(last, call),)) for call in range(len(layer.calls))]
        config = {**shared, "name": new_name, **options}
        new.append(LayerConfig(class_name, new_name, config, calls, stands_for=stands_for))
        last = new_name
    layer.stands_for = f"layer `{name}` ({layer.class_name}):"
    layer.name, layer.config = before, {**_without_activation(layer.config), "name": before}
    model.layers[index + 1 : index + 1] = new
    return {before: name}
