"""The `output_padding` of transposed convolutions, which Keras 3 before 3.15 does not store.

The file has the shapes that the layers were built with: those of the tensors of calls in a functional model,
and in a `.keras` file the input shape of each layer. What a layer's output is longer than its options say is
its `output_padding`. A layer whose result no other layer uses stays as it is.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from itertools import pairwise

from tfport.formats.keras.records import Json

TRANSPOSED = ("Conv1DTranspose", "Conv2DTranspose", "Conv3DTranspose")
OPTION = "output_padding"
Shapes = dict[str, tuple[Json, Json]]
"""The shapes before and after a layer, by its name."""


def with_output_padding(layers: Sequence[Json]) -> Sequence[Json]:
    """The stored layers of a model; transposed convolutions with what the shapes in the file say."""
    if not any(_lacks_it(entry) for entry in layers):
        return layers
    shapes = _shapes_of_calls(layers) | _build_shapes(layers)
    return [_restored(entry, *shapes.get(_name(entry), (None, None))) for entry in layers]


def _lacks_it(entry: Json) -> bool:
    return (
        isinstance(entry, Mapping)
        and entry.get("class_name") in TRANSPOSED
        and isinstance(entry.get("config"), Mapping)
        and OPTION not in entry["config"]
    )


def _name(entry: Json) -> str:
    return str(entry["config"].get("name")) if _lacks_it(entry) else ""


def _shapes_of_calls(layers: Sequence[Json]) -> Shapes:
    """The shapes of the tensors before and after the first call of each layer."""
    before: dict[str, Json] = {}
    after: dict[str, Json] = {}
    for entry in layers:
        for shape, history in _tensors(entry):
            before.setdefault(_name(entry), shape)
            if history[1:2] == [0]:
                after[str(history[0])] = shape
    return {name: (shape, after[name]) for name, shape in before.items() if name in after}


def _tensors(entry: Json) -> Iterator[tuple[Json, list[Json]]]:
    """The shapes and origins of the tensors that a layer of Keras 3 is called with."""
    nodes = entry.get("inbound_nodes") if isinstance(entry, Mapping) else None
    for node in nodes if isinstance(nodes, list) else ():
        args = node.get("args") if isinstance(node, Mapping) else None
        waiting = list(args) if isinstance(args, list) else []
        for value in waiting:  # grows during the loop
            if isinstance(value, list):
                waiting += value
            config = value.get("config") if isinstance(value, Mapping) else None
            if isinstance(config, Mapping) and isinstance(config.get("keras_history"), list):
                yield config.get("shape"), config["keras_history"]


def _build_shapes(layers: Sequence[Json]) -> Shapes:
    """The input shapes of layers, and of those that follow them in a Sequential model."""
    if any(isinstance(entry, Mapping) and "inbound_nodes" in entry for entry in layers):
        return {}
    return {_name(entry): (_built_with(entry), _built_with(after)) for entry, after in pairwise(layers)}


def _built_with(entry: Json) -> Json:
    stored = entry.get("build_config") if isinstance(entry, Mapping) else None
    return stored.get("input_shape") if isinstance(stored, Mapping) else None


def _restored(entry: Json, before: Json, after: Json) -> Json:
    if not _lacks_it(entry):
        return entry
    config = entry["config"]
    first = 2 if config.get("data_format") == "channels_first" else 1
    options = [config.get("kernel_size"), config.get("strides")]
    if not all(isinstance(numbers, list) for numbers in (before, after, *options)):
        return entry
    spatial = slice(first, first + len(options[0]))
    axes = list(zip(before[spatial], after[spatial], *options, strict=False))
    if len(axes) != len(options[0]) or not all(type(n) is int for axis in axes for n in axis):
        return entry
    is_same = config.get("padding") == "same"
    extra = [
        length - (size - 1) * stride - window + (2 * (window // 2) if is_same else 0)
        for size, length, window, stride in axes
    ]
    usual = [size * stride + (0 if is_same else max(window - stride, 0)) for size, _, window, stride in axes]
    is_possible = all(0 <= more < axis[3] for more, axis in zip(extra, axes, strict=True))
    if not is_possible or usual == [length for _, length, *_ in axes]:
        return entry
    return {**entry, "config": {**config, OPTION: extra}}
