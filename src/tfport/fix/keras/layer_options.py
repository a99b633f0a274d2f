"""The options of a layer as a release of Keras accepts them.

An option that the release does not have is dropped if it has the value that counts without the option,
or if it is only about training; otherwise the layer is refused.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any

from tfport.atlas.keras_releases import IGNORED
from tfport.fix.keras.dialect import Dialect
from tfport.formats.keras.records import Json
from tfport.frontends.keras.config import INPUT_LAYER, INPUT_SHAPES, LayerConfig
from tfport.frontends.keras.layer import NO_EFFECT, REQUIRED, find_layer
from tfport.startup.dataclass import dataclass, field

TRAINING = {"initializer": "initializers", "regularizer": "regularizers", "constraint": "constraints"}
"""The last words of options that only training uses, with the module of their objects."""
NOT_WRITTEN = frozenset(
    {"batch_input_shape", "batch_shape", "build_config", "build_input_shape", "input_shape", "input_dtype",
     "module", "rank", "registered_name", "shared_object_id", "num_constants"}
)  # fmt: skip
"""Options that other parts of the file or the class state."""
BOTH_WAYS = "Bidirectional"
SET_BY_BOTH_WAYS = ("zero_output_for_mask",)
OF_ONE_WAY = ("name", "go_backwards", "seed", "initializer", "build_config", "shared_object_id")
"""Options in which the layers of both ways differ without an effect on what is computed."""
INNER_LAYERS = ("layer", "backward_layer", "cell")
EQUAL_NAMES = {"swish": "silu", "silu": "swish", "hard_swish": "hard_silu", "hard_silu": "hard_swish"}
"""Activations with two names."""
OTHER_NAMES = {"LeakyReLU": {"alpha": "negative_slope", "negative_slope": "alpha"}}
"""Options of a class that have another name in other releases."""
ABSENT_VALUES: dict[str, tuple[Any, ...]] = {
    "time_major": (False,),
    "groups": (1,),
    "ragged": (False,),
    "sparse": (False,),
    "optional": (False,),
    "renorm": (False,),
    "stateful": (False,),
    "zero_output_for_mask": (False,),
    "autocast": (True,),
    "dynamic": (False,),
    "crop_to_aspect_ratio": (False,),
    "pad_to_aspect_ratio": (False,),
    "keepdims": (False,),
    "use_gate": (False,),
    "invert": (False,),
    "data_format": ("channels_last",),
    "oov_method": ("floormod",),
}
"""The values of options with which a layer does what it does in releases without the option."""
NEWER_VALUES: dict[tuple[str, str], tuple[tuple[int, int], tuple[Json, ...]]] = {
    ("UpSampling2D", "interpolation"): ((2, 9), ("nearest", "bilinear")),
    ("Normalization", "mean"): ((2, 6), (None,)),
}
"""Options of classes whose other values only count since a version."""
ONE_AXIS = (("BatchNormalization", "axis"),)
"""Options that are a list in Keras 2 and one number in Keras 3."""
NO_EFFECT_ON_ANSWERS = frozenset(
    {"implementation", "unroll", "fused", "synchronized", "seed", "use_cudnn", "unit_forget_bias",
     "renorm_momentum", "renorm_clipping", "experimental_autocast", "dropout", "recurrent_dropout",
     "return_runtime", "consume_less", "enable_caching_device", "query_shape", "key_shape", "value_shape"}
)  # fmt: skip


@dataclass
class RewrittenOptions:
    """Options for the target, and what happened to the others."""

    options: dict[str, Json] = field(default_factory=dict)
    dropped: list[str] = field(default_factory=list)
    refused: list[str] = field(default_factory=list)


def rewritten_options(
    layer: LayerConfig, dialect: Dialect, write_layer: Callable[[Json], Json]
) -> RewrittenOptions:
    """The options of a layer for a release; `write_layer` writes a layer inside it."""
    known, declared = dialect.layer(layer.class_name), find_layer(layer)
    result = RewrittenOptions()
    if known is None:
        result.refused.append(f"{dialect.release.name} has no class {layer.class_name}")
        return result
    defaults = declared.options if declared is not None else {}
    others = OTHER_NAMES.get(layer.class_name, {})
    names = {old: new for old, new in others.items() if old not in known.arguments}
    config = _without_implied(layer.config) if layer.class_name == BOTH_WAYS else layer.config
    stated = {names.get(name, name): value for name, value in config.items()}
    for name, value in {**_plain_defaults(defaults), **stated}.items():
        if name in NOT_WRITTEN:
            continue
        since, always = NEWER_VALUES.get((layer.class_name, name), ((0, 0), ()))
        if (layer.class_name, name) in ONE_AXIS and dialect.is_3 and _several(value):
            result.refused.append(f"{dialect.release.name} takes only one {name}, but it is {plain(value)}")
        elif dialect.semantics.numbers < since and value not in always:
            result.refused.append(f"{dialect.release.name} does not support {name}={value!r:.60}")
        elif name in known.arguments or (known.rest == IGNORED and name in stated):
            _put(result, name, value, dialect, write_layer)
        elif name not in stated:
            continue
        elif may_be_dropped(name, value, defaults):
            result.dropped += [name] * (value is not None)
        else:
            result.refused.append(f"{dialect.release.name} has no option `{name}`, which is {value!r:.60}")
    if layer.class_name == INPUT_LAYER:
        shape = next((layer.config[key] for key in INPUT_SHAPES if key in layer.config), None)
        result.options["batch_shape" if dialect.is_3 else "batch_input_shape"] = plain(shape)
        if layer.config.get("input_dtype"):  # Keras 1
            result.options.setdefault("dtype", layer.config["input_dtype"])
    return result


def _without_implied(config: Mapping[str, Json]) -> dict[str, Json]:
    """The options of Bidirectional without what it does by itself.

    It decides what its layers show for masked steps, and makes the backward layer from the other one.
    """
    layers = {name: _without(config.get(name), SET_BY_BOTH_WAYS) for name in ("layer", "backward_layer")}
    forward, backward = (_without(stored, OF_ONE_WAY) for stored in layers.values())
    ways = [_option(stored, "go_backwards") for stored in layers.values()]
    if backward is None or (backward == forward and ways == [False, True]):
        del layers["backward_layer"]
    return {**{name: value for name, value in config.items() if name != "backward_layer"}, **layers}


def _without(stored: Json, names: tuple[str, ...]) -> Json:
    """A stored layer without options whose names end so."""
    if not isinstance(stored, Mapping) or not isinstance(stored.get("config"), Mapping):
        return stored
    kept = {name: value for name, value in stored["config"].items() if not name.endswith(names)}
    return {**stored, "config": kept}


def _option(stored: Json, name: str) -> Json:
    config = stored.get("config") if isinstance(stored, Mapping) else None
    return config.get(name, False) if isinstance(config, Mapping) else None


def _several(value: Json) -> bool:
    return isinstance(plain(value), list) and len(plain(value)) > 1


def _plain_defaults(defaults: Mapping[str, Any]) -> dict[str, Json]:
    """What counts for options that the file does not state; written, as another release may differ."""
    return {
        name: value
        for name, value in defaults.items()
        if value is not REQUIRED and isinstance(value, bool | int | float | str)
    }


def may_be_dropped(name: str, value: Json, defaults: Mapping[str, Any]) -> bool:
    if value is None or NO_EFFECT.fullmatch(name) or name in NO_EFFECT_ON_ANSWERS:
        return True
    known = (*ABSENT_VALUES.get(name, ()), *((defaults[name],) if name in defaults else ()))
    return any(_same(value, other) for other in known)


def _same(value: Json, other: Any) -> bool:
    plain_value = plain(value)
    if isinstance(plain_value, list) and isinstance(other, int):
        return all(item == other for item in plain_value)
    return bool(plain_value == (list(other) if isinstance(other, tuple) else other))


def _put(
    result: RewrittenOptions, name: str, value: Json, dialect: Dialect, write_layer: Callable[[Json], Json]
) -> None:
    if name == "dtype":
        value = _policy(value, dialect, result)
    elif name.rpartition("_")[2] in TRAINING and value is not None:
        value = _training_object(name.rpartition("_")[2], value, dialect)
        if value is None:
            result.dropped.append(name)
            return
    elif name.endswith("activation"):
        value = _activation(value, dialect, result, write_layer)
    elif name in INNER_LAYERS and isinstance(value, Mapping):
        value = write_layer(value)
    elif name == "cells" and isinstance(value, list):
        value = [write_layer(cell) for cell in value]
    elif name == "axis" and isinstance(plain(value), list) and len(plain(value)) == 1:
        value = plain(value)[0]
    result.options[name] = plain(value)


def _policy(stored: Json, dialect: Dialect, result: RewrittenOptions) -> Json:
    name = stored
    while isinstance(name, Mapping):
        config = name.get("config")
        name = config.get("name") if isinstance(config, Mapping) else None
    if not isinstance(name, str) or dialect.is_3:
        return stored if isinstance(stored, Mapping) and "module" in stored else name
    if "_from_" in name:
        result.refused.append(f"{dialect.release.name} has no dtype policy {name}")
    if name == "bfloat16":
        result.refused.append(f"{dialect.release.name} does not load weights of type bfloat16")
    return {"class_name": "Policy", "config": {"name": name}} if name.startswith("mixed_") else name


def _training_object(kind: str, stored: Json, dialect: Dialect) -> Json:
    """An initializer, regularizer or constraint; None for the default of the layer."""
    if isinstance(stored, str):
        camel = "".join(word.capitalize() for word in stored.split("_"))
        known = dialect.release.find(kind, stored) or dialect.release.find(kind, camel)
        return stored if known is not None else None
    if not isinstance(stored, Mapping) or not isinstance(stored.get("class_name"), str):
        return None
    known = dialect.release.find(kind, stored["class_name"])
    config = stored.get("config")
    if known is None or not isinstance(config, Mapping):
        return None
    options = {name: plain(value) for name, value in config.items() if name in known.arguments}
    return typed(stored["class_name"], options, f"keras.{TRAINING[kind]}", dialect)


def _activation(
    stored: Json, dialect: Dialect, result: RewrittenOptions, write_layer: Callable[[Json], Json]
) -> Json:
    """The name of an activation function, or a layer that is used as one."""
    name = stored
    if isinstance(stored, Mapping) and dialect.layer(str(stored.get("class_name"))) is not None:
        return write_layer(stored)
    if isinstance(stored, Mapping) and stored.get("class_name") == "function":
        name = stored.get("config")
    if name is None:
        return None
    for candidate in (name, EQUAL_NAMES.get(name) if isinstance(name, str) else None):
        if isinstance(candidate, str) and dialect.release.find("activation", candidate) is not None:
            return candidate
    result.refused.append(f"{dialect.release.name} has no activation {name!r:.60}")
    return name


def typed(class_name: str, config: Json, module: str, dialect: Dialect) -> dict[str, Json]:
    """An object of a class, as Keras 3 and Keras 2 write it."""
    if not dialect.is_3:
        return {"class_name": class_name, "config": config}
    return {"module": module, "class_name": class_name, "config": config, "registered_name": None}


def plain(value: Json) -> Json:
    """A value without the tuples of Keras 3."""
    if isinstance(value, Mapping):
        if value.get("class_name") == "__tuple__":
            return [plain(item) for item in value.get("items", ())]
        return {key: plain(inner) for key, inner in value.items()}
    return [plain(item) for item in value] if isinstance(value, list | tuple) else value
