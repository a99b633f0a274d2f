"""What a Keras release loads without an error, and computes differently than the release that saved it.

Measured on small models saved by one release and loaded by another.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping

from tfport.atlas.keras_releases import KerasRelease
from tfport.check.findings.finding import RUN
from tfport.check.findings.keras_files import (
    KerasChangedMeaning,
    KerasConfigForm,
    KerasFileFinding,
    KerasInputRank,
)
from tfport.check.keras.generation import is_keras_3, is_standalone, since_keras_3
from tfport.check.keras.stored_objects import ACTIVATIONS, DEEPEST
from tfport.formats.keras.records import Json, KerasFile
from tfport.frontends.keras.version import KerasVersion

HARD_SIGMOID = (
    "`hard_sigmoid` is clip(0.2·x + 0.5, 0, 1) in Keras 1 and 2, and clip(x/6 + 0.5, 0, 1) in Keras 3"
)
DEFAULT_AXIS = -1
"""The default of `axis` in every class that has it."""
CROP = (
    "RandomCrop crops also when the model only predicts in Keras 2 and 3.0 to 3.7, and since Keras 3.8 only "
    "in training"
)
NO_CROP = (3, 8)
CORNERS = (
    "bilinear interpolation measures from the corners of pixels in Keras before 2.4, and from their centers "
    "in the Keras of TensorFlow and in Keras 3"
)
IN_TENSORFLOW = (2, 4)
MASKED = (
    "at masked steps, Bidirectional returns the output before in Keras before 2.4, and zeros in the Keras of "
    "TensorFlow"
)
INTERPOLATIONS = ("bicubic", "bilinear", "lanczos3", "lanczos5", "nearest")
"""The interpolations of Keras 3 with any backend; Keras 2 has more."""
AREA, FIRST_AREA = "area", "3.6"
"""The interpolation that Keras 3 has since then with the backend TensorFlow."""
SWAPPED = (
    "interpolation with channels first enlarges other axes than those of the images in Keras 3.0 and 3.1"
)


def silent_changes(
    file: KerasFile, release: KerasRelease, has_tensorflow: bool
) -> Iterator[KerasFileFinding]:
    """The layers of a file that a release gives another meaning; with TensorFlow, that is the backend."""
    if file.config is None:
        return
    version = KerasVersion.of(file)
    legacy = file.layout == "h5" and is_keras_3(release)
    for name, class_name, config in stored_layers(file.config):
        for argument, what in _other_meanings(class_name, config, version, release):
            yield _changed(name, class_name, argument, what)
        missing = _interpolation(name, class_name, config, release) if is_keras_3(release) else None
        if missing and not (missing.doubt and has_tensorflow):
            yield missing
        if legacy and (change := dropped_axis(class_name, config, release)):
            yield _changed(name, class_name, "axis", change)
    if legacy:
        yield from _with_shapes(file.config)
    if _is_by_standalone(version) and not is_standalone(release) and not is_keras_3(release):
        yield from _masked(file.config)


def _interpolation(
    name: str, class_name: str, config: Mapping[str, Json], release: KerasRelease
) -> KerasFileFinding | None:
    """The interpolation of a layer, if this Keras 3 does not have it, or not with every backend."""
    value = config.get("interpolation")
    if not isinstance(value, str) or value.lower() in INTERPOLATIONS:
        return None
    depends = value.lower() == AREA and since_keras_3(release, FIRST_AREA)
    return KerasConfigForm(
        layer=name,
        class_name=class_name,
        op=class_name,
        attr="interpolation",
        what=f"`interpolation={value}`: the layer loads, and each call of it fails",
        stage=RUN,
        doubt="it runs with the backend TensorFlow" if depends else "",
    )


def _is_by_standalone(version: KerasVersion) -> bool:
    return not version.is_tensorflow and version.numbers < IN_TENSORFLOW


def _masked(config: Mapping[str, Json]) -> Iterator[KerasFileFinding]:
    """The bidirectional layers that return sequences, in a model that masks steps."""
    layers = list(stored_layers(config))
    if not any(kind == "Masking" or (kind == "Embedding" and c.get("mask_zero")) for _, kind, c in layers):
        return
    for name, class_name, options in layers:
        inner = options.get("layer") if class_name == "Bidirectional" else None
        inner = inner.get("config") if isinstance(inner, Mapping) else None
        if isinstance(inner, Mapping) and inner.get("return_sequences"):
            yield _changed(name, class_name, "layer", MASKED)


def _other_meanings(
    class_name: str, config: Mapping[str, Json], version: KerasVersion, release: KerasRelease
) -> Iterator[tuple[str, str]]:
    """The arguments of a layer that mean something else in a release, and what."""
    if (version.major >= 3) != is_keras_3(release):
        for argument in ACTIVATIONS:
            if _named(config.get(argument)) == "hard_sigmoid":
                yield argument, HARD_SIGMOID
    if class_name == "RandomCrop" and (version.numbers >= NO_CROP) != since_keras_3(release, "3.8"):
        yield "height", CROP
    is_other = _is_by_standalone(version) != is_standalone(release)
    interpolation = config.get("interpolation", "nearest") if class_name == "UpSampling2D" else "nearest"
    if interpolation == "bilinear" and is_other:
        yield "interpolation", CORNERS
    swaps = is_keras_3(release) and not since_keras_3(release, "3.2")
    if interpolation != "nearest" and config.get("data_format") == "channels_first" and swaps:
        yield "data_format", SWAPPED


def _changed(layer: str, class_name: str, argument: str, what: str) -> KerasFileFinding:
    return KerasChangedMeaning(
        layer=layer, class_name=class_name, op=class_name, attr=argument, what=what, stage=RUN
    )


def _named(value: Json) -> str | None:
    """The name of a stored function."""
    if isinstance(value, Mapping):
        inner = value.get("config")
        return inner if isinstance(inner, str) else None
    return value if isinstance(value, str) else None


def dropped_axis(class_name: str, config: Mapping[str, Json], release: KerasRelease) -> str | None:
    """What becomes of `axis`, which the HDF5 loader of Keras 3 reads only in some forms."""
    axis = config.get("axis")
    known = release.find("layer", class_name)
    if axis is None or axis == DEFAULT_AXIS or known is None or "axis" not in known.arguments:
        return None
    if isinstance(axis, list) and len(axis) == 1:
        return None
    if isinstance(axis, int | float) and since_keras_3(release, "3.9"):
        return None
    return f"the loader drops `axis={axis}`, so that the layer works along its default axis"


def _with_shapes(config: Mapping[str, Json], depth: int = 0) -> Iterator[KerasFileFinding]:
    """The first layers of Sequential models that store the shape of the input, also of inner models."""
    inner = config.get("config")
    layers = inner.get("layers") if isinstance(inner, Mapping) else None
    if not isinstance(layers, list) or depth > DEEPEST:
        return
    if config.get("class_name") == "Sequential" and (first := _with_shape(layers)):
        yield first
    for layer in layers:
        if isinstance(layer, Mapping):
            yield from _with_shapes(layer, depth + 1)


def _with_shape(layers: list[Json]) -> KerasFileFinding | None:
    """The first of some layers, if it stores the shape of the input."""
    first = layers[0] if layers else None
    if not isinstance(first, Mapping) or first.get("class_name") == "InputLayer" or "module" in first:
        return None
    options = first.get("config")
    shape = options.get("batch_input_shape") if isinstance(options, Mapping) else None
    if shape is None or not isinstance(options, Mapping):
        return None
    return KerasInputRank(
        layer=str(options.get("name") or ""),
        class_name=str(first.get("class_name")),
        op=str(first.get("class_name")),
        attr="batch_input_shape",
        shape=str(tuple(shape)) if isinstance(shape, list) else str(shape),
        stage=RUN,
    )


def stored_layers(config: Json, depth: int = 0) -> Iterator[tuple[str, str, Mapping[str, Json]]]:
    """The name, class and configuration of every layer, also inside models and wrappers."""
    if depth > DEEPEST:
        return
    if isinstance(config, list):
        for inner in config:
            yield from stored_layers(inner, depth + 1)
    if not isinstance(config, Mapping):
        return
    inner = config.get("config")
    if isinstance(config.get("class_name"), str) and isinstance(inner, Mapping):
        yield str(inner.get("name") or config.get("name") or ""), config["class_name"], inner
    elif isinstance(config.get("class_name"), str) and isinstance(inner, list):
        yield from stored_layers(inner, depth + 1)
        return
    for value in (inner if isinstance(inner, Mapping) else config).values():
        if isinstance(value, Mapping | list):
            yield from stored_layers(value, depth + 1)
