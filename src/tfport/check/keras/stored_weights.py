"""Where the weights of a file do not fit the layers that a release creates from its configuration."""

from __future__ import annotations

from collections.abc import Iterator, Mapping

from tfport.atlas.keras_releases import KerasRelease
from tfport.atlas.versions import version_key
from tfport.check.findings.keras_files import KerasWeightsMismatch
from tfport.check.keras.generation import is_keras_3, is_standalone, since_keras_3
from tfport.check.keras.raised import VALUE_ERROR, Raised
from tfport.formats.keras.records import BY_LAYER, Json, KerasFile

GRU = "GRU"
NORMALIZATIONS = {"BatchNormalization": "gamma", "LayerNormalization": "gamma"}
"""Layers whose weights have the sizes of `axis`, with the name of the first weight."""


def weight_problems(file: KerasFile, release: KerasRelease) -> Iterator[Raised]:
    """The errors when the weights of a file are assigned."""
    if file.weights is None or file.weights.layout != BY_LAYER or file.config is None:
        return
    lists = file.weights.lists
    with_weights = [name for name, weights in lists.items() if weights]
    for name, class_name, config in _outer_layers(file.config):
        shapes = [weight.shape for weight in lists.get(name, ())]
        if not shapes:
            continue
        number = with_weights.index(name)
        if class_name == GRU and _resets_after(release) and _has_plain_bias(config, shapes):
            yield _gru(name, number, shapes[-1], release)
        elif class_name in NORMALIZATIONS and is_keras_3(release) and _is_joint(config, shapes[0]):
            yield _mismatch(name, number, NORMALIZATIONS[class_name], shapes[0][-1:], shapes[0], release)


def _outer_layers(config: Mapping[str, Json]) -> Iterator[tuple[str, str, Mapping[str, Json]]]:
    inner = config.get("config")
    layers = inner if isinstance(inner, list) else inner.get("layers") if isinstance(inner, Mapping) else None
    for layer in layers if isinstance(layers, list) else ():
        options = layer.get("config") if isinstance(layer, Mapping) else None
        if isinstance(options, Mapping):
            yield str(options.get("name") or layer.get("name") or ""), str(layer.get("class_name")), options


def _resets_after(release: KerasRelease) -> bool:
    """Whether `reset_after` of GRU is true where the configuration has none, as since TensorFlow 2."""
    return not is_standalone(release) and version_key(release.version) >= version_key("2")


def _has_plain_bias(config: Mapping[str, Json], shapes: list[tuple[int, ...]]) -> bool:
    return "reset_after" not in config and config.get("use_bias", True) is True and len(shapes[-1]) == 1


def _is_joint(config: Mapping[str, Json], shape: tuple[int, ...]) -> bool:
    """Whether a layer has a weight for several axes together."""
    axis = config.get("axis")
    return isinstance(axis, list) and len(axis) > 1 and len(shape) > 1


def _gru(name: str, number: int, shape: tuple[int, ...], release: KerasRelease) -> Raised:
    if is_keras_3(release):
        return _mismatch(name, number, "gru_cell/bias", (2, *shape), shape, release)
    what = (
        "the file is from a release whose GRU resets before the matrix product, and this one resets after it"
    )
    text = "GRU(reset_after=False) is not compatible with GRU(reset_after=True)"
    return Raised(VALUE_ERROR, text, KerasWeightsMismatch(layer=name, class_name=GRU, op=GRU, what=what))


def _mismatch(
    name: str,
    number: int,
    weight: str,
    expected: tuple[int, ...],
    stored: tuple[int, ...],
    release: KerasRelease,
) -> Raised:
    text = (
        "The shape of the target variable and the shape of the target value in "
        "`variable.assign(value)` must match. "
        f"variable.shape={expected}, Received: value.shape={stored}. Target variable: <KerasVariable "
        f"shape={expected}, dtype=float32, path={name}/{weight}>"
    )
    if since_keras_3(release, "3.6"):
        text = (
            f"Shape mismatch in layer #{number} (named {name})for weight {name}/{weight}. Weight "
            "expects shape "
            f"{expected}. Received saved weight with shape {stored}"
        )
    what = f"it creates {name}/{weight} with the shape {expected}, and the file has {stored}"
    return Raised(VALUE_ERROR, text, KerasWeightsMismatch(layer=name, what=what))
