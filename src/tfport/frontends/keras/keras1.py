"""Configurations of Keras 1 in the words of Keras 2: classes, options and their values.

The tables say what was renamed. An option is translated only where a layer states it, so that newer
configurations stay as they are.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping

from tfport.formats.keras.records import Json

DEEPEST = 120
"""Objects inside objects of a configuration, down to this depth."""
CLASSES = {
    "AtrousConvolution1D": "Conv1D",
    "AtrousConvolution2D": "Conv2D",
    "Convolution1D": "Conv1D",
    "Convolution2D": "Conv2D",
    "Convolution3D": "Conv3D",
    "Deconvolution2D": "Conv2DTranspose",
    "SeparableConvolution2D": "SeparableConv2D",
    "TimeDistributedDense": "Dense",
}

_ANY = {"bias": "use_bias", "border_mode": "padding", "dim_ordering": "data_format"}
_CONVOLUTION = {
    "nb_filter": "filters", "filter_length": "kernel_size", "subsample": "strides",
    "subsample_length": "strides", "atrous_rate": "dilation_rate",
}  # fmt: skip
_RECURRENT = {"output_dim": "units", "inner_activation": "recurrent_activation"}
_POOLING_1D = {"pool_length": "pool_size", "stride": "strides"}
_DROPOUT = {"p": "rate"}
OPTIONS: dict[str, dict[str, str]] = {
    "Conv1D": _CONVOLUTION,
    "Conv2D": _CONVOLUTION,
    "Conv3D": _CONVOLUTION,
    "Conv2DTranspose": _CONVOLUTION,
    "SeparableConv2D": _CONVOLUTION,
    "ConvLSTM2D": {**_CONVOLUTION, **_RECURRENT},
    "SimpleRNN": _RECURRENT,
    "LSTM": _RECURRENT,
    "GRU": _RECURRENT,
    "LocallyConnected1D": _CONVOLUTION,
    "LocallyConnected2D": _CONVOLUTION,
    "MaxPooling1D": _POOLING_1D,
    "AveragePooling1D": _POOLING_1D,
    "UpSampling1D": {"length": "size"},
    "Dense": {"output_dim": "units"},
    "Dropout": _DROPOUT,
    "GaussianDropout": _DROPOUT,
    "SpatialDropout1D": _DROPOUT,
    "SpatialDropout2D": _DROPOUT,
    "SpatialDropout3D": _DROPOUT,
    "GaussianNoise": {"sigma": "stddev"},
}
"""The options of each class that have another name in Keras 2."""

JOINED = (
    ("kernel_size", ("nb_row", "nb_col")),
    ("kernel_size", ("kernel_dim1", "kernel_dim2", "kernel_dim3")),
)
"""Options of Keras 2 that are several in Keras 1."""
INITIALIZERS = frozenset(
    """
    init alpha_init beta_init gamma_init depthwise_init pointwise_init inner_init forget_bias_init t_left_init
    a_left_init t_right_init a_right_init
    """.split()  # noqa: SIM905
)
"""Options that only say how weights began."""
WITHOUT_ORDERING = frozenset(
    """
    UpSampling2D UpSampling3D ZeroPadding2D ZeroPadding3D Cropping2D Cropping3D
    """.split()  # noqa: SIM905
)
"""Classes whose files do not have their `dim_ordering`, a setting of the whole program."""
DATA_FORMATS = {"tf": "channels_last", "th": "channels_first"}


def with_class_name(stored: Json) -> Json:
    """A layer of files before Keras 1, whose `name` is its class, in the form of Keras 1."""
    if isinstance(stored, Mapping) and "class_name" not in stored and isinstance(stored.get("name"), str):
        return {"class_name": stored["name"], "config": {**stored, "name": stored.get("custom_name")}}
    return stored


def with_dim_ordering(stored: Json) -> Json:
    """The model with its `dim_ordering` in the layers that lack it, if all others state the same."""
    stated = {ordering for layer in _every_config(stored) if (ordering := layer.get("dim_ordering"))}
    return _completed(stored, stated.pop()) if len(stated) == 1 else stored


def _every_config(stored: Json, depth: int = 0) -> Iterator[Mapping[str, Json]]:
    """Every object inside a configuration."""
    if isinstance(stored, list | Mapping) and depth < DEEPEST:
        if isinstance(stored, Mapping):
            yield stored
        for inner in stored.values() if isinstance(stored, Mapping) else stored:
            yield from _every_config(inner, depth + 1)


def _completed(stored: Json, ordering: str, depth: int = 0) -> Json:
    if depth > DEEPEST:
        return stored
    if isinstance(stored, list):
        return [_completed(inner, ordering, depth + 1) for inner in stored]
    if not isinstance(stored, Mapping):
        return stored
    if stored.get("class_name") in WITHOUT_ORDERING and isinstance(stored.get("config"), Mapping):
        return {**stored, "config": {"dim_ordering": ordering, **stored["config"]}}
    return {key: _completed(inner, ordering, depth + 1) for key, inner in stored.items()}


def translated(class_name: str, config: Mapping[str, Json]) -> tuple[str, Mapping[str, Json]]:
    """The class and the options in the words of Keras 2."""
    class_name = CLASSES.get(class_name, class_name)
    names = {**_ANY, **OPTIONS[class_name]} if class_name in OPTIONS else _ANY
    options = {names.get(name, name): value for name, value in config.items() if name not in INITIALIZERS}
    if class_name in OPTIONS:
        for joined, parts in JOINED:
            if all(part in options for part in parts):
                options[joined] = [options.pop(part) for part in parts]
    if options.get("data_format") in DATA_FORMATS:
        options["data_format"] = DATA_FORMATS[options["data_format"]]
    if class_name == "ZeroPadding2D":
        options["padding"] = _pairs(options.get("padding"))
    return class_name, options


def _pairs(padding: Json) -> Json:
    """Four numbers, above, below, left and right, as pairs."""
    if isinstance(padding, list) and len(padding) == 4:
        return [padding[:2], padding[2:]]
    return padding
