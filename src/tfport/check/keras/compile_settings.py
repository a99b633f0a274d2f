"""What `load_model` raises when it compiles the model: optimizers, losses and metrics of the file.

`load_model(path)` compiles a model that was compiled when it was saved; `compile=False` does not. keras-core
and Keras 3.0 to 3.2 compile models of HDF5 files in any case.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any

from tfport.atlas.keras_releases import CLOSED, KERAS_CORE, KerasObject, KerasRelease
from tfport.check.findings.keras_files import UnknownKerasArgument, UnknownKerasObject
from tfport.check.keras.generation import is_keras_1, is_keras_3, since_keras_3
from tfport.check.keras.keras2_objects import Keras2Objects
from tfport.check.keras.keras3 import Keras3Layers
from tfport.check.keras.raised import TYPE_ERROR, VALUE_ERROR, Raised
from tfport.check.keras.stored_objects import DEEPEST, copied
from tfport.formats.keras.records import Json, KerasFile

BY_SHAPE = ("accuracy", "acc", "crossentropy", "ce")
"""Metrics whose function is chosen by the shape of the outputs."""
OF_ANY_OPTIMIZER = ("decay", "loss_scale_factor", "gradient_accumulation_steps")
"""Arguments that the base class of optimizers takes; in keras-core not the last."""
REGISTERED = "Custom>"
"""How Keras since 2.11 calls its own optimizers in HDF5 files."""
HONORS_COMPILE = "3.3"
"""The first Keras 3 that passes `compile=False` on to the loader of HDF5 files."""
SETTINGS = {"loss": "loss", "metrics": "metric", "weighted_metrics": "metric"}
"""The settings with losses and metrics, and their kinds."""


def always_compiles(file: KerasFile, release: KerasRelease) -> bool:
    """Whether a release compiles the model of a file although `compile=False` is passed."""
    return file.layout == "h5" and is_keras_3(release) and not since_keras_3(release, HONORS_COMPILE)


def compile_problems(file: KerasFile, release: KerasRelease) -> list[Raised]:
    """The errors when the model of a file is compiled as the file says."""
    training = file.training
    if training is None or is_keras_1(release):
        return []
    if file.layout == "keras":
        return Keras3Layers(release).deserialize(copied(training)) if is_keras_3(release) else []
    if file.layout != "h5":
        return []
    return list(_in_keras_3(training, release) if is_keras_3(release) else _in_keras_2(training, release))


def _in_keras_2(training: Mapping[str, Json], release: KerasRelease) -> Iterator[Raised]:
    objects = Keras2Objects(release)
    optimizer = training.get("optimizer_config")
    name = str(optimizer.get("class_name")) if isinstance(optimizer, Mapping) else ""
    registered = name.startswith(REGISTERED) and objects.since("2.11")
    if name and not registered and _class(name, release) is None:
        text = objects.unknown("optimizer", name, "").text
        yield Raised(VALUE_ERROR, text, UnknownKerasObject(kind="optimizer", object_name=name))
    for kind, name in [*_named(training), *_classes(training)]:
        tables = (kind,) if kind == "loss" else (kind, "loss")
        if name not in BY_SHAPE and not any(release.find(table, name) for table in tables):
            raised = objects.unknown(f"{kind} function", name, "", by_name=True)
            yield Raised(raised.error, raised.text, UnknownKerasObject(kind=kind, object_name=name))
    for kind, value in _settings(training):
        known = release.find(kind, str(value.get("class_name"))) if isinstance(value, Mapping) else None
        if known is not None and known.rest == CLOSED and isinstance(value.get("config"), Mapping):
            yield from objects.arguments(known, value["config"], "")


def _in_keras_3(training: Mapping[str, Json], release: KerasRelease) -> Iterator[Raised]:
    optimizer = training.get("optimizer_config")
    if isinstance(optimizer, Mapping):
        yield from _optimizer(optimizer, release)
    for kind, name in _named(training):
        known = release.find(kind, name)
        finding = UnknownKerasObject(kind=kind, object_name=name)
        if kind == "loss" and known is None:
            yield Raised(TYPE_ERROR, "string indices must be integers, not 'str'", finding)
        elif known is not None and known.is_function and (text := _not_located(known, name, release)):
            yield Raised(TYPE_ERROR, text, finding)


def _optimizer(config: Mapping[str, Json], release: KerasRelease) -> Iterator[Raised]:
    name, arguments = str(config.get("class_name")), config.get("config")
    known = _class(name, release)
    if known is None or not isinstance(arguments, Mapping):
        named = str(arguments.get("name")) if isinstance(arguments, Mapping) else ""
        if _class(named, release) is None:
            text = f"Could not interpret optimizer identifier: {named}"
            finding = UnknownKerasObject(kind="optimizer", object_name=name)
            yield Raised(VALUE_ERROR, text, finding)
        return
    accepted = OF_ANY_OPTIMIZER[:2] if release.package == KERAS_CORE else OF_ANY_OPTIMIZER
    unknown = {
        argument: value
        for argument, value in arguments.items()
        if argument not in known.arguments and argument not in accepted
    }
    for argument in unknown:
        missing = UnknownKerasArgument(class_name=known.name, op=known.name, attr=argument, argument=argument)
        yield Raised(VALUE_ERROR, f"Argument(s) not recognized: {unknown}", missing)


def _class(name: str, release: KerasRelease) -> KerasObject | None:
    """An optimizer by its name, in any case."""
    names = {other.lower(): other for other in release.names("optimizer")}
    return release.find("optimizer", names.get(name.lower(), ""))


def _not_located(known: KerasObject, name: str, release: KerasRelease) -> str | None:
    """The error for a function under a short name: the loader looks for that name beside the function."""
    function = known if known.exports else next(_same_function(name, release), known)
    module = function.exports[0].rpartition(".")[0] if function.exports else None
    if module is None or f"{module}.{name}" in release.exports:
        return None
    config: dict[str, Any] = {
        "module": module, "class_name": "function", "config": name, "registered_name": name,
    }  # fmt: skip
    located = Keras3Layers(release).retrieve(name, name, module, "function", config, "")
    return located.text if isinstance(located, Raised) else None


def _same_function(name: str, release: KerasRelease) -> Iterator[KerasObject]:
    """The function that has a name as an alias."""
    for other in release.names("loss"):
        known = release.find("loss", other)
        if known is not None and f"keras._legacy.losses.{name}" in known.exports:
            yield known


def _named(training: Mapping[str, Json]) -> Iterator[tuple[str, str]]:
    """The losses and metrics that a file names by a word."""
    for kind, value in _settings(training):
        if isinstance(value, str) and not (kind == "metric" and value in BY_SHAPE):
            yield kind, value


def _classes(training: Mapping[str, Json]) -> Iterator[tuple[str, str]]:
    """The classes of losses and metrics; those of the program that saved the file have a package."""
    for kind, value in _settings(training):
        name = value.get("class_name") if isinstance(value, Mapping) else None
        if isinstance(name, str) and name != "function":
            yield kind, name


def _settings(training: Mapping[str, Json]) -> Iterator[tuple[str, Json]]:
    """Every loss and metric, as a word or an object."""
    for key, kind in SETTINGS.items():
        yield from ((kind, value) for value in _flat(training.get(key)))


def _flat(value: Json, depth: int = 0) -> Iterator[Json]:
    """The words and objects of a value, which can be a list, or a dict by outputs."""
    if isinstance(value, str) or (isinstance(value, Mapping) and "class_name" in value):
        yield value
    elif depth < DEEPEST and isinstance(value, list | Mapping):
        for inner in value.values() if isinstance(value, Mapping) else value:
            yield from _flat(inner, depth + 1)
